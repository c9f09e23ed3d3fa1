"""Choosing from arrays: where and its relatives, take, windows, interpolation. Conditions and indices carry no derivative."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view as windows_view

from srcdiff.errors import NoRule
from srcdiff.rules import indexing_shapes as shapes
from srcdiff.rules.creation import back
from srcdiff.rules.places import accumulate_windows, along, positions, scatter, unbroadcast
from srcdiff.rules.registry import Many, case, linear, nondifferentiable, vjp

_yes = np.array([True, False, True])
_mixed = np.array([[True, False, False], [False, True, True]])


# ---------------------------------------------------------------- by conditions


@linear("x", "y", of=np.where, shape=shapes.where, constant=("condition",), at=[
    case(_mixed, (2, 3), (2, 3)), case(_yes, (2, 3), (3,)), case(_yes, (), (3,)), case(_mixed, (2, 1), (1, 3)),
    case(_mixed, (2, 3), 0.0), case(_yes, (1,), ()),
])  # fmt: skip
def where(condition: Any, x: Any = None, y: Any = None, /, *, y_bar: Any) -> Any:
    """The condition is constant. (This y is the argument.)"""
    return unbroadcast(np.where(condition, y_bar, 0), x), unbroadcast(np.where(condition, 0, y_bar), y)


@linear("choicelist", "default", of=np.select, shape=shapes.select, constant=("condlist",), at=[
    case([_mixed, ~_mixed], Many(((2, 3), (2, 3)))), case([_yes, _mixed], Many(((3,), (2, 3))), ()),
    case([_mixed], Many(((2, 1),)), (3,)),
])  # fmt: skip
def select(condlist: Any, choicelist: Any, default: Any = 0, *, y_bar: Any) -> Any:
    """The first condition that holds counts."""
    choices, rest = [], y_bar
    for condition, choice in zip(condlist, choicelist):
        choices.append(unbroadcast(np.where(condition, rest, 0), choice))
        rest = np.where(condition, 0, rest)
    return choices, unbroadcast(rest, default)


@linear("choices", of=np.choose, shape=shapes.choose, at=[
    case(np.array([1, 0, 1]), Many(((3,), (3,)))), case(np.array([2, 0, 1]), Many(((3,), (), (1,)))),
    case(np.array([[0], [1]]), Many(((3,), (2, 3)))),
])  # fmt: skip
def choose(a: Any, choices: Any, *, y_bar: Any) -> Any:
    return [unbroadcast(np.where(a == i, y_bar, 0), choice) for i, choice in enumerate(choices)]


@linear("a", of=np.compress, shape=shapes.compress, constant=("condition",), at=[
    case(_yes, (3,)), case(_yes, (2, 3), axis=1), case(_yes[:2], (2, 3), axis=0), case(_yes, (2, 3)),
    case(_yes, (2, 3), axis=-1),
])  # fmt: skip
def compress(condition: Any, a: Any, axis: int | None = None, *, y_bar: Any) -> Any:
    if axis is None and np.ndim(a) != 1:
        return np.reshape(compress(condition, np.reshape(a, -1), y_bar=y_bar), np.shape(a))
    return scatter(a, along(axis or 0, np.flatnonzero(condition)), y_bar, repeats=False)


@linear("arr", of=np.extract, shape=shapes.extract, constant=("condition",), at=[case(_yes, (3,)), case(_mixed, (2, 3))])
def extract(condition: Any, arr: Any, *, y_bar: Any) -> Any:
    if np.ndim(arr) == 1:
        return scatter(arr, np.flatnonzero(condition), y_bar, repeats=False)
    return np.reshape(scatter(np.reshape(arr, -1), np.flatnonzero(condition), y_bar, repeats=False), np.shape(arr))


# ---------------------------------------------------------------- by indices


@linear("a", of=np.take, shape=shapes.take, at=[
    case((3,), 1), case((2, 3), 4), case((3,), np.array([0, 0, -1])), case((2, 3), np.array([[0, 2], [1, 0]]), axis=1),
    case((2, 3), np.array([1, 1]), axis=0), case((2, 3), np.array([1, 1]), axis=-1), case((2, 3), np.array([5, 0])),
    case((2, 3), -1, axis=-1), case((2, 3), [0, 0], axis=1),
])  # fmt: skip
def take(a: Any, indices: Any, axis: int | None = None, *, y_bar: Any) -> Any:
    if axis is None and np.ndim(a) != 1:
        return np.reshape(take(np.reshape(a, -1), indices, 0, y_bar=y_bar), np.shape(a))
    return scatter(a, along(axis or 0, indices), y_bar, repeats=not _is_single(indices))


def _is_single(indices: Any) -> bool:
    return not isinstance(indices, (list, tuple)) and np.ndim(indices) == 0


@linear("arr", of=np.take_along_axis, shape=shapes.take_along_axis, at=[
    case((3,), np.array([2, 0, 2]), axis=0), case((2, 3), np.array([[0, 0], [2, 1]]), axis=1),
    case((2, 3), np.array([[0, 1, 1]]), axis=0), case((2, 3), np.array([[0, 0], [2, 1]])),
    case((2, 3), np.array([[1]]), axis=-1), case((1, 3), np.array([[1], [1]]), axis=1),
    case((2, 3), np.array([5, 5, 0]), axis=None),
])  # fmt: skip
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1, *, y_bar: Any) -> Any:
    if axis is None:
        return np.reshape(scatter(np.reshape(arr, -1), indices, y_bar), np.shape(arr))
    ndim, place = arr.ndim, axis % arr.ndim
    every = [
        positions(arr, i)[(...,) + (None,) * (ndim - 1 - i)] if i < ndim - 1 else positions(arr, i)
        for i in range(ndim)
        if i != place
    ]
    return scatter(arr, (*every[:place], indices, *every[place:]), y_bar)


@linear(
    "weights",
    of=np.bincount,
    shape=shapes.bincount,
    checked="np.bincount takes no symbols",
    at=[case(np.array([0, 2, 2]), (3,)), case(np.array([1, 0, 1]), (3,), minlength=4)],
)
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0, *, y_bar: Any) -> Any:
    return back(np.take(y_bar, x), weights)


# ---------------------------------------------------------------- windows


@linear("x", of=windows_view, shape=shapes.sliding_window_view, is_view=True, at=[
    case((4,), 2), case((2, 3), 2, axis=1), case((2, 3), 2, axis=-1), case((3, 3), window_shape=(2, 2)),
    case((3, 1, 3), window_shape=(2, 3), axis=(2, 0)), case((3,), 3), case((3,), 1),
])  # fmt: skip
def sliding_window_view(x: Any, window_shape: Any, axis: Any = None, *, y_bar: Any) -> Any:
    """Each place gets the sum over the windows that show it."""
    axes, windows = shapes.windows_of(x.ndim, window_shape, axis)
    if len(set(axes)) < len(axes):
        raise NoRule("no derivative rule for sliding_window_view with an axis that occurs twice")
    return accumulate_windows(y_bar, x, axes, windows)


# ---------------------------------------------------------------- interpolation

_grid = np.array([-1.0, -0.2, 0.3, 0.9])


@vjp("x", "fp", of=np.interp, shape=shapes.interp, checked="the place in the grid is searched", at=[
    case((3,), _grid, (4,)), case((2, 3), _grid, (4,)), case((), _grid, (4,)), case(np.array([-2.0, 0.0, 2.0]), _grid, (4,)),
])  # fmt: skip
def interp(x: Any, xp: Any, fp: Any, *, y_bar: Any) -> Any:
    """The grid is constant. At a point of it the slope is that to its right, at the last that to its left; outside 0."""
    last = np.size(xp) - 1
    left = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, last - 1)
    start, width = np.take(xp, left), np.take(xp, left + 1) - np.take(xp, left)
    share = np.clip((x - start) / width, 0, 1)
    slope = (np.take(fp, left + 1) - np.take(fp, left)) / width
    is_inside = (x >= xp[0]) & (x <= xp[-1])
    fp_bar = scatter(fp, left, y_bar * (1 - share)) + scatter(fp, left + 1, y_bar * share)
    return back(np.where(is_inside, y_bar * slope, 0), x), fp_bar


# ---------------------------------------------------------------- without derivative

nondifferentiable(np.nonzero, shape=shapes.nonzero, dtype=shapes.INDEX)
nondifferentiable(np.argwhere, shape=shapes.argwhere, dtype=shapes.INDEX)
nondifferentiable(np.flatnonzero, shape=shapes.flatnonzero, dtype=shapes.INDEX)
nondifferentiable(np.searchsorted, shape=shapes.searchsorted, dtype=shapes.INDEX)
nondifferentiable(np.digitize, shape=shapes.digitize, dtype=shapes.INDEX)
nondifferentiable(np.unique, shape=shapes.unique, dtype="same")
nondifferentiable(np.lexsort, shape=shapes.lexsort, dtype=shapes.INDEX)
nondifferentiable(np.isin, shape=shapes.isin, dtype="bool")
nondifferentiable(np.diag_indices, shape=shapes.diag_indices, dtype=shapes.INDEX)
nondifferentiable(np.diag_indices_from, shape=shapes.diag_indices_from, dtype=shapes.INDEX)
nondifferentiable(np.tril_indices, np.triu_indices, shape=shapes.tri_indices, dtype=shapes.INDEX)
nondifferentiable(np.tril_indices_from, np.triu_indices_from, shape=shapes.tri_indices_from, dtype=shapes.INDEX)
nondifferentiable(np.ix_, shape=shapes.ix_, dtype=shapes.INDEX, signature=shapes.ix_model)
nondifferentiable(np.unravel_index, shape=shapes.unravel_index, dtype=shapes.INDEX)
nondifferentiable(np.ravel_multi_index, shape=shapes.ravel_multi_index, dtype=shapes.INDEX)
