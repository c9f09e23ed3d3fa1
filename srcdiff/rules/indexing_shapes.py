"""Shapes of what is chosen from arrays, by masks, indices and windows."""

from __future__ import annotations

from typing import Any

from srcdiff.ir.kinds import Dim, Length, combine, opaque
from srcdiff.rules.registry import Shaped
from srcdiff.rules.shapes import Shape, broadcast, promoted, spliced, typed

INDEX = "int64"


def shape_of(x: Any) -> Shape:
    """The shape of an argument that may be an int, a list of ints, or an array."""
    if isinstance(x, Shaped):
        return x.shape
    if isinstance(x, (list, tuple)):
        return (len(x), *(shape_of(x[0]) if x else ()))
    return ()


def where(condition: Any, x: Any = None, y: Any = None) -> Shaped | list[Shaped]:
    if x is None and y is None:
        return nonzero(condition)
    return Shaped(broadcast(shape_of(condition), shape_of(x), shape_of(y)), promoted(x, y))


def nonzero(a: Any) -> list[Shaped]:
    count = opaque()
    return [Shaped((count,), INDEX) for _ in shape_of(a)] or [Shaped((count,), INDEX)]


def argwhere(a: Any) -> Shaped:
    return Shaped((opaque(), len(shape_of(a))), INDEX)


def flatnonzero(a: Any) -> Shaped:
    return Shaped((opaque(),), INDEX)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Shaped:
    shapes = [shape_of(x) for x in (*condlist, *choicelist, default)]
    return Shaped(broadcast(*shapes), promoted(*choicelist, default))


def choose(a: Any, choices: Any) -> Shaped:
    return Shaped(broadcast(shape_of(a), *[shape_of(x) for x in choices]), promoted(*choices))


def take(a: Shaped, indices: Any, axis: int | None = None) -> Shaped:
    chosen = shape_of(indices)
    return typed(chosen if axis is None else spliced(a.shape, axis, chosen), a)


def take_along_axis(arr: Shaped, indices: Shaped, axis: int | None = -1) -> Shaped:
    if axis is None:
        return typed(indices.shape, arr)
    place = axis % arr.ndim
    shape = broadcast(spliced(arr.shape, place, (1,)), spliced(indices.shape, place, (1,)))
    return typed(spliced(shape, place, (indices.shape[place],)), arr)


def compress(condition: Any, a: Shaped, axis: int | None = None) -> Shaped:
    return typed((opaque(),) if axis is None else spliced(a.shape, axis, (opaque(),)), a)


def extract(condition: Any, arr: Shaped) -> Shaped:
    return typed((opaque(),), arr)


def bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Shaped:
    return Shaped((opaque(),), INDEX if weights is None else "float64")


def interp(x: Any, xp: Any, fp: Any) -> Shaped:
    return Shaped(shape_of(x), "float64")


def windows_of(ndim: int, window_shape: Any, axis: Any) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """The axes along which windows slide, and the length of the window along each."""
    windows = tuple(window_shape) if isinstance(window_shape, (tuple, list)) else (window_shape,)
    axes = tuple(range(ndim)) if axis is None else tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    places = tuple(a % ndim for a in axes)
    return places, windows


def sliding_window_view(x: Shaped, window_shape: Any, axis: Any = None) -> Shape:
    shape = list(x.shape)
    axes, windows = windows_of(x.ndim, window_shape, axis)
    lengths = [length(n) for n in windows]
    for a, n in zip(axes, lengths):
        shape[a] = combine("+", combine("-", shape[a], n), 1)
    return (*shape, *lengths)


# ---------------------------------------------------------------- without derivative


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Shaped:
    return Shaped(shape_of(v), INDEX)


def digitize(x: Any, bins: Any, right: bool = False) -> Shaped:
    return Shaped(shape_of(x), INDEX)


def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None
) -> Shaped | list[Shaped]:
    count = opaque()
    values = typed((count,) if axis is None else spliced(ar.shape, axis, (count,)), ar)
    inverse = ar.shape if axis is None else (ar.shape[axis],)
    asked = [(return_index, (count,)), (return_inverse, inverse), (return_counts, (count,))]
    others = [Shaped(shape, INDEX) for is_asked, shape in asked if is_asked]
    return [values, *others] if others else values


def diag_indices(n: Any, ndim: int = 2) -> list[Shaped]:
    return [Shaped((length(n),), INDEX) for _ in range(ndim)]


def length(n: Any) -> Length:
    return n if isinstance(n, (int, Dim)) else opaque()


def diag_indices_from(arr: Shaped) -> list[Shaped]:
    return [Shaped((arr.shape[0],), INDEX) for _ in range(arr.ndim)]


def tri_indices(n: Any, k: Any = 0, m: Any = None) -> list[Shaped]:
    count = opaque()
    return [Shaped((count,), INDEX), Shaped((count,), INDEX)]


def tri_indices_from(arr: Any, k: Any = 0) -> list[Shaped]:
    return tri_indices(None)


def ix_(args: list[Any]) -> list[Shaped]:
    return [Shaped((1,) * i + shape_of(x) + (1,) * (len(args) - 1 - i), INDEX) for i, x in enumerate(args)]


def ix_model(*args: Any) -> None: ...


def unravel_index(indices: Any, shape: Any, order: str = "C") -> list[Shaped]:
    return [Shaped(shape_of(indices), INDEX) for _ in (shape if isinstance(shape, (tuple, list)) else (shape,))]


def ravel_multi_index(multi_index: Any, dims: Any) -> Shaped:
    return Shaped(broadcast(*[shape_of(x) for x in multi_index]), INDEX)


def lexsort(keys: Any, axis: int = -1) -> Shaped:
    return Shaped(shape_of(keys[0]) if isinstance(keys, (list, tuple)) else shape_of(keys)[1:], INDEX)


def isin(element: Any, test_elements: Any) -> Shaped:
    return Shaped(shape_of(element), "bool")
