"""Shapes of results from shapes of arguments: plain functions on tuples of lengths.

A shape function has the signature of the rule's text. Arrays and numbers come as `Shaped`, lists of them as lists, static
arguments (axis, keepdims) as they are, integers that the run decides as lengths (`Dim`). It returns a tuple of lengths, a
`Shaped` where the dtype is special, or a list of these for several results; None where the number of axes is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from srcdiff.ir.kinds import Length, combine, is_one, opaque
from srcdiff.rules.registry import Shaped

Shape = tuple[Length, ...]


def broadcast(*shapes: Shape) -> Shape:
    """NumPy's broadcasting on lengths; an axis of which nothing is known stays unknown unless all agree."""
    ndim = max((len(s) for s in shapes), default=0)
    out: list[Length] = []
    for axis in range(-ndim, 0):
        lengths = [s[axis] for s in shapes if len(s) >= -axis]
        out.append(broadcast_length(lengths))
    return tuple(out)


def broadcast_length(lengths: Sequence[Length]) -> Length:
    first = lengths[0]
    if all(length == first for length in lengths[1:]):
        return first
    ones = [is_one(length) for length in lengths]
    for length, one in zip(lengths, ones):
        if one is False:
            return length
    rest = [length for length, one in zip(lengths, ones) if one is None]
    if not rest:
        return 1
    return rest[0] if len(rest) == 1 else opaque()


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """`axis` as NumPy takes it (None, an int, a tuple), as sorted non-negative ints."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    return tuple(sorted(a % ndim for a in axes))


def reduced(x: Shaped, axis: Any = None, keepdims: bool = False) -> Shape:
    axes = axes_of(axis, x.ndim)
    if keepdims:
        return tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    return tuple(n for i, n in enumerate(x.shape) if i not in axes)


def same(*args: Any, **kwargs: Any) -> Shape:
    """The shape of the first argument, whatever its name."""
    first: Shaped = next(iter((*args, *kwargs.values())))
    return first.shape


def matmul(a: Shaped, b: Shaped) -> Shape:
    if a.ndim == 1 and b.ndim == 1:
        return ()
    if a.ndim == 1:
        return b.shape[:-2] + b.shape[-1:]
    if b.ndim == 1:
        return a.shape[:-1]
    return broadcast(a.shape[:-2], b.shape[:-2]) + (a.shape[-2], b.shape[-1])


def size_of(shape: Shape) -> Length:
    size: Length = 1
    for n in shape:
        size = combine("*", size, n)
    return size


def diagonal_length(rows: Length, columns: Length, offset: int = 0) -> Length:
    if isinstance(rows, int) and isinstance(columns, int):
        return max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    return rows if rows == columns and offset == 0 else opaque()


def shifted_sum(n: Length, m: Length, mode: str) -> Length:
    """The length of np.convolve of two rows."""
    if mode == "full":
        return combine("-", combine("+", n, m), 1)
    if isinstance(n, int) and isinstance(m, int):
        return max(n, m) if mode == "same" else max(n, m) - min(n, m) + 1
    return n if n == m and mode == "same" else opaque()


def promoted(*xs: Any) -> str:
    """The dtype of several arrays and numbers together, in lists or not."""
    import numpy as np

    flat = [part for x in xs for part in (x if isinstance(x, list) else [x]) if isinstance(part, Shaped)]
    return np.result_type(*[x.weak_dtype for x in flat]).name if flat else "float64"


def floating(*xs: Any) -> str:
    """The dtype of np.linalg's results: integers count as float64."""
    dtype = promoted(*xs)
    return dtype if dtype.startswith(("float", "complex")) else "float64"


def typed(shape: Shape, x: Shaped) -> Shaped:
    """A result that has x's dtype whatever else the function is given (indices, a mask)."""
    return Shaped(shape, x.dtype_name)


def spliced(shape: Shape, axis: int, middle: Shape) -> Shape:
    """The shape with the axis replaced."""
    axis %= len(shape)
    return shape[:axis] + middle + shape[axis + 1 :]
