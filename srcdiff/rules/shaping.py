"""Changing the shape of arrays, joining, splitting, repeating, padding: each result arranges the argument's elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.errors import NoRule
from srcdiff.rules import shaping_shapes as shapes
from srcdiff.rules.places import adjoint_or_zeros, along, positions, scatter, since, unbroadcast
from srcdiff.rules.registry import Fixed, Many, case, linear, vjp
from srcdiff.rules.shapes import same

_sizes = [case((2, 3)), case((3,)), case(())]


# ---------------------------------------------------------------- the same elements, other axes


@linear("a", of=np.reshape, shape=shapes.reshape, is_view=True, at=[
    case((2, 3), Fixed((3, 2))), case((2, 3), Fixed((-1, 2))), case((2, 3), -1), case((2, 3), Fixed((3, 2)), order="F"),
    case((2, 1, 2), Fixed((4,))), case((1,), Fixed(())), case((2, 2), Fixed((2, -1, 1))),
])  # fmt: skip
def reshape(a: Any, /, shape: Any, order: Any = "C", *, y_bar: Any) -> Any:
    return _shaped_back(y_bar, a, order)


def _shaped_back(y_bar: Any, a: Any, order: Any) -> Any:
    if order not in ("C", "F"):
        raise NoRule(f"no derivative rule for a change of shape with order={order!r}", instead='order="C" or order="F"')
    return np.reshape(y_bar, np.shape(a)) if order == "C" else np.reshape(y_bar, np.shape(a), order=order)


@linear("a", of=np.ravel, shape=shapes.ravel, is_view=True, at=[*_sizes, case((2, 3), order="F")])
def ravel(a: Any, order: Any = "C", *, y_bar: Any) -> Any:
    return _shaped_back(y_bar, a, order)


@linear("a", of=np.transpose, shape=shapes.transpose, is_view=True, at=[
    case((2, 3)), case((3,)), case((2, 3, 1)), case((2, 3, 1), axes=(2, 0, 1)), case((2, 3, 1), axes=(-1, 1, 0)),
])  # fmt: skip
def transpose(a: Any, axes: Any = None, *, y_bar: Any) -> Any:
    return y_bar.T if axes is None else np.transpose(y_bar, _inverse(axes))


def _inverse(order: Any) -> tuple[int, ...]:
    places = [i % len(order) for i in order]
    return tuple(places.index(i) for i in range(len(places)))


@linear("a", of=np.swapaxes, shape=shapes.swapaxes, is_view=True, at=[case((2, 3), 0, 1), case((2, 3, 1), -1, 0)])
def swapaxes(a: Any, axis1: int, axis2: int, *, y_bar: Any) -> Any:
    return np.swapaxes(y_bar, axis1, axis2)


@linear(
    "x",
    of=[np.matrix_transpose, np.linalg.matrix_transpose],
    shape=shapes.matrix_transpose,
    is_view=True,
    at=[case((2, 3)), case((2, 3, 1))],
)
def matrix_transpose(x: Any, /, *, y_bar: Any) -> Any:
    return np.swapaxes(y_bar, -1, -2)


@linear("a", of=np.moveaxis, shape=shapes.moveaxis, is_view=True, at=[
    case((2, 3, 1), 0, -1), case((2, 3, 1), 2, 0), case((2, 3, 1), Fixed((0, 1)), Fixed((-1, 0))),
])  # fmt: skip
def moveaxis(a: Any, source: Any, destination: Any, *, y_bar: Any) -> Any:
    return np.moveaxis(y_bar, destination, source)


@linear(
    "a",
    of=np.rollaxis,
    shape=shapes.rollaxis,
    is_view=True,
    at=[case((2, 3, 1), 2), case((2, 3, 1), 0, start=3), case((2, 3, 1), -1, start=1)],
)
def rollaxis(a: Any, axis: int, start: int = 0, *, y_bar: Any) -> Any:
    return np.transpose(y_bar, _inverse(shapes.rollaxis_order(a.ndim, axis, start)))


@linear("a", of=np.expand_dims, shape=shapes.expand_dims, is_view=True, at=[
    case((2, 3), axis=0), case((2, 3), axis=-1), case((2,), axis=(0, 2)), case((), axis=0),
])  # fmt: skip
def expand_dims(a: Any, axis: Any, *, y_bar: Any) -> Any:
    return np.reshape(y_bar, ()) if np.ndim(a) == 0 else np.squeeze(y_bar, axis)


@linear("a", of=np.squeeze, shape=shapes.squeeze, is_view=True, at=[
    case((2, 1, 3)), case((2, 1), axis=1), case((1, 2, 1), axis=(0, -1)), case((1, 1)), case((2, 3)),
])  # fmt: skip
def squeeze(a: Any, axis: Any = None, *, y_bar: Any) -> Any:
    return np.reshape(y_bar, np.shape(a)) if axis is None else np.expand_dims(y_bar, axis)


@linear("array", of=np.broadcast_to, shape=shapes.broadcast_to, is_view=True, at=[
    case((3,), Fixed((2, 3))), case((2, 1), Fixed((2, 3))), case((), Fixed((2,))), case((2, 3), Fixed((2, 3))),
    case((1, 3), Fixed((2, 2, 3))),
])  # fmt: skip
def broadcast_to(array: Any, shape: Any, *, y_bar: Any) -> Any:
    return unbroadcast(y_bar, array)


@linear(
    "args", of=np.broadcast_arrays, shape=shapes.broadcast_arrays, is_view=True, at=[case((2, 1), (3,)), case((), (2,), (2,))]
)
def broadcast_arrays(*args: Any, y_bar: Any) -> Any:
    return [None if b is None else unbroadcast(b, x) for x, b in zip(args, y_bar)]


@linear("x", of=np.atleast_1d, shape=shapes.atleast_1d, is_view=True, at=_sizes)
def atleast_1d(x: Any, /, *, y_bar: Any) -> Any:
    return np.reshape(y_bar, ()) if np.ndim(x) == 0 else y_bar


@linear("x", of=np.atleast_2d, shape=shapes.atleast_2d, is_view=True, at=[*_sizes, case((2, 1, 3))])
def atleast_2d(x: Any, /, *, y_bar: Any) -> Any:
    return np.reshape(y_bar, np.shape(x)) if np.ndim(x) < 2 else y_bar


@linear("x", of=np.atleast_3d, shape=shapes.atleast_3d, is_view=True, at=[*_sizes, case((2, 1, 3))])
def atleast_3d(x: Any, /, *, y_bar: Any) -> Any:
    return np.reshape(y_bar, np.shape(x)) if np.ndim(x) < 3 else y_bar


# ---------------------------------------------------------------- joining


@linear("arrays", of=np.concatenate, shape=shapes.concatenate, at=[
    case(Many(((2,), (3,)))), case(Many(((2, 3), (1, 3)))), case(Many(((2, 1), (2, 2), (2, 3))), axis=1),
    case(Many(((2, 1), (2, 2))), axis=-1), case(Many(((2, 2), (3,))), axis=None), case(Many(((2, 3),))), case((2, 2, 3)),
])  # fmt: skip
def concatenate(arrays: Any, /, axis: int | None = 0, *, y_bar: Any) -> Any:
    if not isinstance(arrays, (list, tuple)):
        return _unjoined(arrays, axis, y_bar)
    if axis is None:
        return [_as(x, part) for x, part in zip(arrays, _parts(y_bar, [np.size(x) for x in arrays], 0))]
    return _parts(y_bar, [np.shape(x)[axis] for x in arrays], axis)


def _parts(y_bar: Any, lengths: list[Any], axis: int) -> list[Any]:
    """The parts of an array along an axis: `y_bar[:n]`, `y_bar[n:n + m]`, `y_bar[n + m:]`."""
    parts, start = [], None
    for i, n in enumerate(lengths):
        stop = None if i == len(lengths) - 1 else n if start is None else start + n
        parts.append(y_bar if start is None and stop is None else y_bar[along(axis, slice(start, stop))])
        start = stop
    return parts


def _as(x: Any, part: Any) -> Any:
    return part if np.ndim(x) == 1 else np.reshape(part, np.shape(x))


def _unjoined(arrays: Any, axis: int | None, y_bar: Any) -> Any:
    """Where the items are the rows of one array."""
    if axis not in (0, None):
        raise NoRule(
            "no derivative rule for joining the items of an array along another axis than the first", instead="a list of arrays"
        )
    return np.reshape(y_bar, np.shape(arrays))


@linear("arrays", of=np.stack, shape=shapes.stack, at=[
    case(Many(((2,), (2,)))), case(Many(((2, 3), (2, 3))), axis=1), case(Many(((2, 3), (2, 3))), axis=-1),
    case(Many(((), (), ()))), case((2, 3), axis=1),
])  # fmt: skip
def stack(arrays: Any, axis: int = 0, *, y_bar: Any) -> Any:
    if not isinstance(arrays, (list, tuple)):
        return y_bar if axis == 0 else np.moveaxis(y_bar, axis, 0)
    return [y_bar[along(axis, i)] for i in range(len(arrays))]


@linear(
    "tup",
    of=np.vstack,
    shape=shapes.vstack,
    at=[case(Many(((2,), (2,)))), case(Many(((2, 3), (1, 3)))), case(Many(((3,), (2, 3)))), case((2, 3))],
)
def vstack(tup: Any, *, y_bar: Any) -> Any:
    if not isinstance(tup, (list, tuple)):
        return _unjoined(tup, 0, y_bar)
    if all(np.ndim(x) == 1 for x in tup):
        return [y_bar[i] for i in range(len(tup))]
    parts = _parts(y_bar, [1 if np.ndim(x) < 2 else np.shape(x)[0] for x in tup], 0)
    return [np.reshape(part, np.shape(x)) if np.ndim(x) < 2 else part for x, part in zip(tup, parts)]


@linear(
    "tup", of=np.hstack, shape=shapes.hstack, at=[case(Many(((2,), (3,)))), case(Many(((2, 3), (2, 1)))), case(Many(((), ())))]
)
def hstack(tup: Any, *, y_bar: Any) -> Any:
    if not isinstance(tup, (list, tuple)):
        return _unjoined(tup, 0 if np.ndim(tup) <= 2 else 1, y_bar)
    if all(np.ndim(x) == 0 for x in tup):
        return [y_bar[i] for i in range(len(tup))]
    axis = 0 if np.ndim(tup[0]) <= 1 else 1
    parts = _parts(y_bar, [1 if np.ndim(x) == 0 else np.shape(x)[axis] for x in tup], axis)
    return [np.reshape(part, ()) if np.ndim(x) == 0 else part for x, part in zip(tup, parts)]


@linear(
    "tup",
    of=np.dstack,
    shape=shapes.dstack,
    at=[case(Many(((2,), (2,)))), case(Many(((2, 3), (2, 3)))), case(Many(((2, 1, 2), (2, 1))))],
)
def dstack(tup: Any, *, y_bar: Any) -> Any:
    if not isinstance(tup, (list, tuple)):
        return _unjoined(tup, 2, y_bar)
    parts = _parts(y_bar, [1 if np.ndim(x) < 3 else np.shape(x)[2] for x in tup], 2)
    return [np.reshape(part, np.shape(x)) if np.ndim(x) < 3 else part for x, part in zip(tup, parts)]


@linear("tup", of=np.column_stack, shape=shapes.column_stack, at=[case(Many(((2,), (2,)))), case(Many(((2, 3), (2,))))])
def column_stack(tup: Any, *, y_bar: Any) -> Any:
    if not isinstance(tup, (list, tuple)):
        return _unjoined(tup, 1, y_bar)
    if all(np.ndim(x) == 1 for x in tup):
        return [y_bar[:, i] for i in range(len(tup))]
    parts = _parts(y_bar, [1 if np.ndim(x) < 2 else np.shape(x)[1] for x in tup], 1)
    return [np.reshape(part, np.shape(x)) if np.ndim(x) < 2 else part for x, part in zip(tup, parts)]


@linear(
    "arr",
    "values",
    of=np.append,
    shape=shapes.append,
    at=[case((2,), (3,)), case((2,), ()), case((2, 3), (1, 3), axis=0), case((2, 2), (2,))],
)
def append(arr: Any, values: Any, axis: int | None = None, *, y_bar: Any) -> Any:
    return tuple(concatenate([arr, values], axis, y_bar=y_bar))


# ---------------------------------------------------------------- splitting


@linear("ary", of=np.split, shape=shapes.split, is_view=True, at=[
    case((4,), 2), case((2, 3), Fixed((1,)), axis=1), case((3, 2), [1, 2]), case((2, 3), 3, axis=-1), case((3,), [0, 2]),
])  # fmt: skip
def split(ary: Any, indices_or_sections: Any, axis: int = 0, *, y: Any, y_bar: Any) -> Any:
    return _rejoined(y, y_bar, axis)


@linear(
    "ary", of=np.array_split, shape=shapes.array_split, is_view=True, at=[case((3,), 2), case((2, 3), 2, axis=1), case((3,), [1])]
)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0, *, y: Any, y_bar: Any) -> Any:
    return _rejoined(y, y_bar, axis)


@linear("ary", of=np.vsplit, shape=shapes.vsplit, is_view=True, at=[case((2, 3), 2), case((3, 2), [1])])
def vsplit(ary: Any, indices_or_sections: Any, *, y: Any, y_bar: Any) -> Any:
    return _rejoined(y, y_bar, 0)


@linear("ary", of=np.hsplit, shape=shapes.hsplit, is_view=True, at=[case((4,), 2), case((2, 3), [1])])
def hsplit(ary: Any, indices_or_sections: Any, *, y: Any, y_bar: Any) -> Any:
    return _rejoined(y, y_bar, 0 if ary.ndim == 1 else 1)


@linear("ary", of=np.dsplit, shape=shapes.dsplit, is_view=True, at=[case((1, 2, 2), 2)])
def dsplit(ary: Any, indices_or_sections: Any, *, y: Any, y_bar: Any) -> Any:
    return _rejoined(y, y_bar, 2)


@linear(
    "x", of=since("unstack"), shape=shapes.unstack, is_view=True, at=[case((2, 3)), case((2, 3), axis=1), case((2, 3), axis=-1)]
)
def unstack(x: Any, /, *, axis: int = 0, y: Any, y_bar: Any) -> Any:
    return np.stack([adjoint_or_zeros(part, part_bar) for part, part_bar in zip(y, y_bar)], axis)


def _rejoined(y: Any, y_bar: Any, axis: int) -> Any:
    parts = [adjoint_or_zeros(part, part_bar) for part, part_bar in zip(y, y_bar)]
    return np.concatenate(parts) if axis == 0 else np.concatenate(parts, axis)


# ---------------------------------------------------------------- repeating


@linear("A", of=np.tile, shape=shapes.tile, at=[
    case((3,), 2), case((2, 3), 2), case((3,), Fixed((2, 1))), case((2, 3), Fixed((2, 2))), case((2, 3), Fixed((2, 1, 1))),
    case((), 3), case((2,), Fixed((2, 3))), case((2, 3), 1),
])  # fmt: skip
def tile(A: Any, reps: Any, *, y_bar: Any) -> Any:
    counts = tuple(reps) if isinstance(reps, (tuple, list)) else (reps,)
    ndim = max(np.ndim(A), len(counts))
    counts = (1,) * (ndim - len(counts)) + counts
    lengths = (None,) * (ndim - np.ndim(A)) + tuple(np.shape(A))
    spread: list[Any] = []
    repeated: list[int] = []
    for count, n in zip(counts, lengths):
        if not _is_known_one(count):
            repeated.append(len(spread))
            spread.append(count)
        if n is not None:
            spread.append(n)
    if not repeated:
        return np.reshape(y_bar, np.shape(A))
    return np.sum(np.reshape(y_bar, tuple(spread)), axis=repeated[0] if len(repeated) == 1 else tuple(repeated))


def _is_known_one(count: Any) -> bool:
    return isinstance(count, int) and count == 1


@linear("a", of=np.repeat, shape=shapes.repeat, at=[
    case((3,), 2), case((2, 3), 2), case((2, 3), 2, axis=0), case((2, 3), 3, axis=-1), case((3,), np.array([2, 0, 1])),
    case((2, 3), np.array([2, 1]), axis=0), case((2, 3), [1, 0, 2], axis=-1), case((), 3),
])  # fmt: skip
def repeat(a: Any, repeats: Any, axis: int | None = None, *, y_bar: Any) -> Any:
    if axis is None and np.ndim(a) != 1:
        return np.reshape(repeat(np.reshape(a, -1), repeats, 0, y_bar=y_bar), np.shape(a))
    axis = (axis or 0) % np.ndim(a)
    if isinstance(repeats, (list, tuple)) or np.ndim(repeats) > 0:
        return scatter(a, along(axis, np.repeat(positions(a, axis), repeats)), y_bar)
    shape = tuple(np.shape(a))
    return np.sum(np.reshape(y_bar, (*shape[: axis + 1], repeats, *shape[axis + 1 :])), axis=axis + 1)


# ---------------------------------------------------------------- other orders


@linear("a", of=np.roll, shape=same, at=[
    case((3,), 1), case((2, 3), 1), case((2, 3), -1, axis=0), case((2, 3), Fixed((1, 2)), axis=(0, 1)),
    case((2, 3), 2, axis=(0, 1)), case((2, 3), 1, axis=-1),
])  # fmt: skip
def roll(a: Any, shift: Any, axis: Any = None, *, y_bar: Any) -> Any:
    back = tuple(-s for s in shift) if isinstance(shift, (tuple, list)) else -shift
    return np.roll(y_bar, back) if axis is None else np.roll(y_bar, back, axis)


@linear(
    "m", of=np.flip, shape=same, is_view=True, at=[case((3,)), case((2, 3)), case((2, 3), axis=1), case((2, 3), axis=(0, -1))]
)
def flip(m: Any, axis: Any = None, *, y_bar: Any) -> Any:
    return np.flip(y_bar) if axis is None else np.flip(y_bar, axis)


@linear("m", of=np.fliplr, shape=same, is_view=True, at=[case((2, 3))])
def fliplr(m: Any, *, y_bar: Any) -> Any:
    return np.fliplr(y_bar)


@linear("m", of=np.flipud, shape=same, is_view=True, at=[case((2, 3)), case((3,))])
def flipud(m: Any, *, y_bar: Any) -> Any:
    return np.flipud(y_bar)


@linear(
    "m",
    of=np.rot90,
    shape=shapes.rot90,
    is_view=True,
    at=[case((2, 3)), case((2, 3), k=2), case((2, 3), k=-1), case((2, 3, 1), axes=(2, 1))],
)
def rot90(m: Any, k: int = 1, axes: Any = (0, 1), *, y_bar: Any) -> Any:
    return np.rot90(y_bar, -k) if tuple(axes) == (0, 1) else np.rot90(y_bar, -k, axes)


# ---------------------------------------------------------------- padding, removing


_PAD_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


@vjp("array", of=np.pad, shape=shapes.pad, at=[
    case((3,), 1), case((2, 3), 1), case((2, 3), Fixed((1, 2))), case((2, 3), Fixed(((0, 1), (2, 0)))),
    case((2, 3), Fixed(((1, 1),))), case((3,), 2, constant_values=7.0), case((3,), 2, mode="edge"),
    case((2, 3), 1, mode="edge"), case((2, 3), Fixed(((0, 0), (1, 2))), mode="reflect"), case((2,), 3, mode="reflect"),
    case((2, 3), 1, mode="symmetric"), case((3,), Fixed((2, 1)), mode="wrap"),
])  # fmt: skip
def pad(array: Any, pad_width: Any, mode: Any = "constant", constant_values: Any = 0, *, y_bar: Any) -> Any:
    """Linear but for the constants around."""
    if mode not in _PAD_MODES:
        raise NoRule(f"no derivative rule for np.pad with mode={mode!r}", instead=f"one of {', '.join(_PAD_MODES)}")
    widths = shapes.pad_widths(pad_width, np.ndim(array))
    if mode == "constant":
        place = tuple(_inside(before, after, np.shape(array)[axis]) for axis, (before, after) in enumerate(widths))
        return y_bar[place if len(place) > 1 else place[0]]
    for axis, (before, after) in enumerate(widths):
        if not (_is_known_zero(before) and _is_known_zero(after)):
            y_bar = scatter(
                _cropped(y_bar, axis, np.shape(array)[axis]),
                along(axis, np.pad(positions(array, axis), (before, after), mode)),
                y_bar,
            )
    return y_bar


def _is_known_zero(width: Any) -> bool:
    return isinstance(width, int) and width == 0


def _inside(before: Any, after: Any, n: Any) -> slice:
    start = None if _is_known_zero(before) else before
    if isinstance(after, int):
        return slice(start, None if after == 0 else -after)
    return slice(start, n if start is None else before + n)


def _cropped(y_bar: Any, axis: int, n: Any) -> Any:
    return y_bar[along(axis, slice(None, n))]


@linear(
    "arr",
    of=np.delete,
    shape=shapes.delete,
    at=[case((3,), 1), case((2, 3), -1, axis=1), case((2, 3), [0, 2], axis=-1), case((2, 2), 1), case((3,), np.array([0, 0]))],
)
def delete(arr: Any, obj: Any, axis: int | None = None, *, y_bar: Any) -> Any:
    if axis is None and np.ndim(arr) != 1:
        return np.reshape(delete(np.reshape(arr, -1), obj, y_bar=y_bar), np.shape(arr))
    axis = axis or 0
    return scatter(arr, along(axis, np.delete(positions(arr, axis), obj)), y_bar, repeats=False)


@linear("m", of=np.tril, shape=shapes.triangle, at=[case((2, 3)), case((3, 2), k=1), case((2, 2, 2), k=-1), case((2,))])
def tril(m: Any, k: int = 0, *, y_bar: Any) -> Any:
    below = np.tril(y_bar, k) if k else np.tril(y_bar)
    return np.sum(below, axis=0) if m.ndim == 1 else below


@linear("m", of=np.triu, shape=shapes.triangle, at=[case((2, 3)), case((3, 2), k=1), case((2, 2, 2), k=-1), case((2,))])
def triu(m: Any, k: int = 0, *, y_bar: Any) -> Any:
    above = np.triu(y_bar, k) if k else np.triu(y_bar)
    return np.sum(above, axis=0) if m.ndim == 1 else above
