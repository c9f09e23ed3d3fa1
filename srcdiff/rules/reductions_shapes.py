"""Shapes of reductions, of what runs along an axis, and of positions and counts. See `shapes`."""

from __future__ import annotations

from typing import Any

from srcdiff.ir.kinds import BOOL, Kind, Length, combine
from srcdiff.rules.registry import Shaped
from srcdiff.rules.shapes import Shape, axes_of


def reduced(a: Shaped, axis: Any = None, *, keepdims: bool = False) -> Shape:
    axes = axes_of(axis, a.ndim)
    if keepdims:
        return tuple(1 if i in axes else n for i, n in enumerate(a.shape))
    return tuple(n for i, n in enumerate(a.shape) if i not in axes)


def spread(a: Shaped, axis: Any = None, *, ddof: Any = 0, keepdims: bool = False) -> Shape:
    return reduced(a, axis, keepdims=keepdims)


def quantile(a: Shaped, q: Any, axis: Any = None, *, keepdims: bool = False) -> Shape:
    return reduced(a, axis, keepdims=keepdims)


def size(shape: Shape) -> Length:
    total: Length = 1
    for n in shape:
        total = combine("*", total, n)
    return total


def accumulated(a: Shaped, axis: Any = None) -> Shape:
    """As `a`, or flat."""
    return (size(a.shape),) if axis is None else a.shape


def sorted_along(a: Shaped, axis: Any = -1, kind: Any = None) -> Shape:
    return (size(a.shape),) if axis is None else a.shape


def partitioned(a: Shaped, kth: Any, axis: Any = -1) -> Shape:
    return (size(a.shape),) if axis is None else a.shape


def differences(a: Shaped, n: int = 1, axis: int = -1) -> Shape:
    axis %= a.ndim
    length = combine("-", a.shape[axis], n)
    return a.shape[:axis] + (max(0, length) if isinstance(length, int) else length,) + a.shape[axis + 1 :]


def compared(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Kind:
    """A bool, no array."""
    return BOOL


def compared_whole(a1: Any, a2: Any, equal_nan: bool = False) -> Kind:
    return BOOL


def softmaxed(x: Shaped, axis: Any = None) -> Shape:
    return x.shape
