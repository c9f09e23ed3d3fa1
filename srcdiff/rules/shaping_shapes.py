"""Shapes of reshaped, joined, split and padded arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from srcdiff.errors import NoRule
from srcdiff.ir.kinds import Dim, Length, combine, opaque
from srcdiff.rules.registry import Shaped
from srcdiff.rules.shapes import Shape, axes_of, broadcast, size_of, spliced, typed


def lengths_of(shape: Any) -> Shape:
    """A shape argument as lengths."""
    entries = shape if isinstance(shape, (tuple, list)) else (shape,)
    return tuple(n if isinstance(n, (int, Dim)) else opaque() for n in entries)


def reshape(a: Shaped, shape: Any, order: str = "C") -> Shape:
    lengths = lengths_of(shape)
    if not any(isinstance(n, int) and n == -1 for n in lengths):
        return lengths
    place = lengths.index(-1)
    rest = size_of(lengths[:place] + lengths[place + 1 :])
    return spliced(lengths, place, (_quotient(a.shape, lengths[:place] + lengths[place + 1 :], rest),))


def _quotient(shape: Shape, lengths: Shape, rest: Length) -> Length:
    """The size over the product of the given lengths; lengths that are in both cancel."""
    left = list(shape)
    for n in lengths:
        if n not in left:
            break
        left.remove(n)
    else:
        return size_of(tuple(left))
    size = size_of(shape)
    if isinstance(size, int) and isinstance(rest, int):
        return size // rest if rest else 0
    return combine("//", size, rest)


def ravel(a: Shaped, order: str = "C") -> Shape:
    return (size_of(a.shape),)


def transpose(a: Shaped, axes: Any = None) -> Shape:
    return a.shape[::-1] if axes is None else tuple(a.shape[i] for i in axes)


def swapaxes(a: Shaped, axis1: int, axis2: int) -> Shape:
    shape = list(a.shape)
    shape[axis1], shape[axis2] = shape[axis2], shape[axis1]
    return tuple(shape)


def matrix_transpose(x: Shaped) -> Shape:
    return swapaxes(x, -1, -2)


def moveaxis_order(ndim: int, source: Any, destination: Any) -> tuple[int, ...]:
    sources = [i % ndim for i in (source if isinstance(source, (tuple, list)) else (source,))]
    destinations = [i % ndim for i in (destination if isinstance(destination, (tuple, list)) else (destination,))]
    order = [i for i in range(ndim) if i not in sources]
    for to, start in sorted(zip(destinations, sources)):
        order.insert(to, start)
    return tuple(order)


def moveaxis(a: Shaped, source: Any, destination: Any) -> Shape:
    return transpose(a, moveaxis_order(a.ndim, source, destination))


def rollaxis_order(ndim: int, axis: int, start: int = 0) -> tuple[int, ...]:
    axis %= ndim
    start = start + ndim if start < 0 else start
    order = [i for i in range(ndim) if i != axis]
    order.insert(start - (axis < start), axis)
    return tuple(order)


def rollaxis(a: Shaped, axis: int, start: int = 0) -> Shape:
    return transpose(a, rollaxis_order(a.ndim, axis, start))


def expand_dims(a: Shaped, axis: Any) -> Shape:
    axes = axes_of(
        tuple(axis) if isinstance(axis, list) else axis, a.ndim + (len(axis) if isinstance(axis, (tuple, list)) else 1)
    )
    rest = iter(a.shape)
    return tuple(1 if i in axes else next(rest) for i in range(a.ndim + len(axes)))


def squeeze(a: Shaped, axis: Any = None) -> Shape | None:
    if axis is None:
        from srcdiff.ir.kinds import is_one

        ones = [is_one(n) for n in a.shape]
        return None if None in ones else tuple(n for n, one in zip(a.shape, ones) if not one)
    axes = axes_of(axis, a.ndim)
    return tuple(n for i, n in enumerate(a.shape) if i not in axes)


def broadcast_to(array: Shaped, shape: Any) -> Shape:
    return lengths_of(shape)


def broadcast_arrays(args: list[Shaped]) -> list[Shaped]:
    shape = broadcast(*[x.shape for x in args])
    return [typed(shape, x) for x in args]


def atleast_1d(x: Shaped) -> Shape:
    return x.shape or (1,)


def atleast_2d(x: Shaped) -> Shape:
    return (1,) * (2 - x.ndim) + x.shape


def atleast_3d(x: Shaped) -> Shape:
    if x.ndim == 1:
        return (1, x.shape[0], 1)
    return x.shape + (1,) * (3 - x.ndim)


# ---------------------------------------------------------------- joining


def items_of(arrays: Any) -> tuple[list[Shaped], Length]:
    """The items of a list of arrays, and how many; one stands for all in an array or a list of unknown length."""
    if isinstance(arrays, Shaped):
        return [Shaped(arrays.shape[1:], arrays.dtype)], arrays.shape[0]
    if isinstance(arrays, (list, tuple)) and not arrays:
        return [Shaped((0,), "float64")], 0  # a loop that appends nothing: NumPy itself raises where the run gets here
    if isinstance(arrays, (list, tuple)) and all(isinstance(x, Shaped) for x in arrays):
        return list(arrays), getattr(arrays, "length", len(arrays))
    raise NoRule("no derivative rule for joining a list whose items differ in kind")


def concatenate(arrays: Any, axis: int | None = 0) -> Shape:
    items, count = items_of(arrays)
    if axis is None:
        return (_total([size_of(x.shape) for x in items], count),)
    return spliced(items[0].shape, axis, (_total([x.shape[axis] for x in items], count),))


def _total(lengths: Sequence[Length], count: Length) -> Length:
    if count != len(lengths):
        return combine("*", lengths[0], count)
    total = lengths[0]
    for n in lengths[1:]:
        total = combine("+", total, n)
    return total


def stack(arrays: Any, axis: int = 0) -> Shape:
    items, count = items_of(arrays)
    place = axis % (items[0].ndim + 1)
    return items[0].shape[:place] + (count,) + items[0].shape[place:]


def _joined(tup: Any, at_least: Any, axis: int) -> Shape:
    items, count = items_of(tup)
    return spliced(at_least(items[0]), axis, (_total([at_least(x)[axis] for x in items], count),))


def vstack(tup: Any) -> Shape:
    return _joined(tup, atleast_2d, 0)


def hstack(tup: Any) -> Shape:
    items, _ = items_of(tup)
    return _joined(tup, atleast_1d, 0 if items[0].ndim <= 1 else 1)


def dstack(tup: Any) -> Shape:
    return _joined(tup, atleast_3d, 2)


def column_stack(tup: Any) -> Shape:
    return _joined(tup, lambda x: (x.shape or (1,)) + (1,) * (x.ndim <= 1), 1)


def append(arr: Shaped, values: Shaped, axis: int | None = None) -> Shape:
    return concatenate([arr, values], axis)


# ---------------------------------------------------------------- splitting


def split(ary: Shaped, indices_or_sections: Any, axis: int = 0) -> list[Shape]:
    return [spliced(ary.shape, axis, (n,)) for n in _pieces(ary.shape[axis], indices_or_sections, is_even=True)]


def array_split(ary: Shaped, indices_or_sections: Any, axis: int = 0) -> list[Shape]:
    return [spliced(ary.shape, axis, (n,)) for n in _pieces(ary.shape[axis], indices_or_sections, is_even=False)]


def _pieces(n: Length, where: Any, is_even: bool) -> list[Length]:
    if isinstance(where, int):
        if isinstance(n, int):
            return [n // where + (i < n % where) for i in range(where)]
        return [combine("//", n, where) if is_even else opaque()] * where
    if not isinstance(where, (tuple, list)):
        raise NoRule("no derivative rule for splitting into a number of parts that is not known when the function is compiled")
    if isinstance(n, int) and all(isinstance(i, int) for i in where):
        places = [None, *where, None]
        return [len(range(*slice(a, b).indices(n))) for a, b in pairwise(places)]
    return [opaque() for _ in range(len(where) + 1)]


def vsplit(ary: Shaped, indices_or_sections: Any) -> list[Shape]:
    return split(ary, indices_or_sections, 0)


def hsplit(ary: Shaped, indices_or_sections: Any) -> list[Shape]:
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def dsplit(ary: Shaped, indices_or_sections: Any) -> list[Shape]:
    return split(ary, indices_or_sections, 2)


def unstack(x: Shaped, axis: int = 0) -> list[Shape]:
    count = x.shape[axis]
    if not isinstance(count, int):
        raise NoRule("no derivative rule for np.unstack of an array whose length is not known when the function is compiled")
    return [spliced(x.shape, axis, ())] * count


# ---------------------------------------------------------------- repeating, padding, removing


def tile(A: Shaped, reps: Any) -> Shape:
    counts = lengths_of(reps)
    ndim = max(A.ndim, len(counts))
    counts = (1,) * (ndim - len(counts)) + counts
    return tuple(combine("*", n, count) for n, count in zip((1,) * (ndim - A.ndim) + A.shape, counts))


def repeat(a: Shaped, repeats: Any, axis: int | None = None) -> Shape | Shaped:
    n = size_of(a.shape) if axis is None else a.shape[axis]
    length = combine("*", n, repeats) if isinstance(repeats, (int, Dim)) else opaque()
    return typed((length,) if axis is None else spliced(a.shape, axis, (length,)), a)


def rot90(m: Shaped, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Shape:
    return swapaxes(m, *axes) if k % 2 else m.shape


def pad_widths(pad_width: Any, ndim: int) -> list[tuple[Any, Any]]:
    """`pad_width` as NumPy takes it: for each axis how many before and after."""
    if not isinstance(pad_width, (tuple, list)):
        return [(pad_width, pad_width)] * ndim
    pairs = [tuple(p) if isinstance(p, (tuple, list)) else p for p in pad_width]
    if not any(isinstance(p, tuple) for p in pairs):
        return [(pairs[0], pairs[-1])] * ndim
    spelled = [(p[0], p[-1]) if isinstance(p, tuple) else (p, p) for p in pairs]
    return spelled * ndim if len(spelled) == 1 else spelled


def pad(array: Shaped, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Shaped:
    if isinstance(pad_width, dict):
        raise NoRule("no derivative rule for np.pad with widths in a dict", instead="a pair for each axis")
    widths = [lengths_of(pair) for pair in pad_widths(pad_width, array.ndim)]
    shape = tuple(combine("+", combine("+", n, before), after) for n, (before, after) in zip(array.shape, widths))
    return typed(shape, array)


def delete(arr: Shaped, obj: Any, axis: int | None = None) -> Shaped:
    n = size_of(arr.shape) if axis is None else arr.shape[axis]
    left = combine("-", n, 1) if isinstance(obj, (int, Dim)) else opaque()
    return typed((left,) if axis is None else spliced(arr.shape, axis, (left,)), arr)


def triangle(m: Shaped, k: int = 0) -> Shape:
    return m.shape if m.ndim > 1 else m.shape * 2
