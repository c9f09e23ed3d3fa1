"""Shapes of arrays that are made. See `shapes`."""

from __future__ import annotations

from typing import Any

from srcdiff.ir.kinds import Dim, Length, opaque
from srcdiff.rules.registry import Shaped
from srcdiff.rules.shapes import Shape, broadcast


def given(shape: Any) -> Shape | None:
    """A shape as NumPy takes it, a length or a tuple of lengths; None for one that only the run knows."""
    parts = shape if isinstance(shape, (tuple, list)) else (shape,)
    lengths = [part for part in parts if isinstance(part, (int, Dim))]
    return tuple(lengths) if len(lengths) == len(parts) else None


def length(n: Any) -> Length:
    return n if isinstance(n, (int, Dim)) else opaque()


def own(x: Any) -> Shape:
    return x.shape if isinstance(x, Shaped) else ()


def of_shape(shape: Any, dtype: Any = None, order: str = "C") -> Shape | None:
    return given(shape)


def like_a(a: Any, dtype: Any = None) -> Shape:
    return own(a)


def like_prototype(prototype: Any, /, dtype: Any = None) -> Shape:
    return own(prototype)


def like_object(object: Any, dtype: Any = None, *, copy: Any = True) -> Shape:
    return own(object)


def like_x(x: Any, dtype: Any) -> Shape:
    return own(x)


def eye(N: Any, M: Any = None, k: int = 0, dtype: Any = None) -> Shape:
    return length(N), length(N if M is None else M)


def identity(n: Any, dtype: Any = None) -> Shape:
    return length(n), length(n)


def tri(N: Any, M: Any = None, k: int = 0, dtype: Any = None) -> Shape:
    return eye(N, M)


def indices(dimensions: Any, dtype: Any = None) -> Shape | None:
    dims = given(dimensions)
    return None if dims is None else (len(dims), *dims)


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Shape | None:
    return given(shape)


def full_like(a: Any, fill_value: Any, dtype: Any = None) -> Shape:
    return own(a)


def linspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True) -> Shape:
    return (length(num), *broadcast(own(start), own(stop)))


def logspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0) -> Shape:
    return linspace(start, stop, num)


def arange(start_or_stop: Any, /, stop: Any = None, step: Any = 1) -> Shape:
    is_simple = stop is None and (step == 1 or isinstance(step, Shaped) and step.length == 1)
    end = start_or_stop.length if isinstance(start_or_stop, Shaped) else start_or_stop
    return (end if is_simple and isinstance(end, (int, Dim)) and _is_length(end) else opaque(),)


def _is_length(n: Length) -> bool:
    """Whether a number is that of something's items, and so not negative: not `n`, not `len(u) - 2`."""
    if isinstance(n, int):
        return n >= 0
    return n.expr is not None and not n.expr.isidentifier() and " " not in n.expr
