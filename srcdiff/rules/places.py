"""Where contributions go: what a rule's text does with places and axes, whichever way it runs.

    scatter(x, index, y_bar)     staged: an array of zeros to which the emitted source adds;  on arrays: such an array

Each function asks the value first (`__srcdiff_scatter__` and so on), and otherwise works on arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def zeros_like(x: Any) -> Any:
    method = getattr(x, "__srcdiff_zeros_like__", None)
    return np.zeros_like(x) if method is None else method()


def scatter(like: Any, index: Any, value: Any, repeats: bool = True) -> Any:
    """Zeros like `like`, to which `value` is added at `index`; it may broadcast to that place.

    `repeats=False` promises that the index names no place twice.
    """
    method = getattr(like, "__srcdiff_scatter__", None)
    if method is not None:
        return method(index, value, repeats)
    result = np.zeros_like(like)
    if repeats:
        np.add.at(result, index, value)
    else:
        result[index] += value
    return result


def unbroadcast(value: Any, like: Any) -> Any:
    """The sum of `value` over the axes along which `like` was broadcast to its shape."""
    method = getattr(value, "__srcdiff_unbroadcast__", None)
    if method is not None:
        return method(like) if hasattr(like, "shape") else np.sum(value)
    shape = np.shape(like)
    lead = np.ndim(value) - len(shape)
    if lead:
        value = np.sum(value, axis=tuple(range(lead)))
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and np.shape(value)[i] != 1)
    return np.sum(value, axis=axes, keepdims=True) if axes else value


def choose(condition: Any, then: Callable[..., Any], orelse: Callable[..., Any], *values: Any) -> Any:
    """`then(*values)` if the condition holds for all elements, otherwise `orelse(*values)`: an `if` in the emitted source."""
    method = getattr(condition, "__srcdiff_choose__", None)
    if method is not None:
        return method(then, orelse, values)
    return then(*values) if np.all(condition) else orelse(*values)


def accumulate_windows(y_bar: Any, x: Any, axes: tuple[int, ...], windows: tuple[Any, ...]) -> Any:
    """The adjoint of sliding windows along some axes of x; the last axes of `y_bar` run within a window."""
    method = getattr(y_bar, "__srcdiff_accumulate_windows__", None)
    if method is not None:
        return method(x, axes, windows)
    result = np.zeros_like(x)
    for start in np.ndindex(*windows):
        place = [slice(None)] * np.ndim(x)
        for axis, i in zip(axes, start):
            place[axis] = slice(i, i + np.shape(y_bar)[axis])
        result[tuple(place)] += y_bar[(Ellipsis, *start)]
    return result


def positions(x: Any, axis: int = 0) -> Any:
    """0, 1, … for each place along an axis of x."""
    builder = getattr(x, "builder", None)
    if builder is None:
        return np.arange(np.shape(x)[axis])
    from srcdiff.ir.kinds import Array
    from srcdiff.rules.staging import call_for, operand, wrap

    end = operand(builder, x.shape[axis])
    return wrap(builder, builder.apply(call_for(np.arange), (end,), kind=Array("int64", (x.dims[axis],))))


def since(name: str) -> list[Any]:
    """A function of NumPy that not every version has, if this one does."""
    return [getattr(np, name)] if hasattr(np, name) else []


def along(axis: int, part: Any) -> Any:
    """The index that takes `part` of one axis: `[part]`, `[:, part]`, `[..., part]`, `[..., part, :]`."""
    if axis == 0:
        return part
    every = slice(None)
    return (every,) * axis + (part,) if axis > 0 else (Ellipsis, part) + (every,) * (-axis - 1)


def adjoint_or_zeros(y: Any, y_bar: Any) -> Any:
    """The adjoint of one of several results, zeros where it has none."""
    return zeros_like(y) if y_bar is None else y_bar


def scatter_diagonal(like: Any, value: Any, offset: int = 0) -> Any:
    """Matrices of zeros like `like` (its last two axes), to whose diagonal `value` is added."""
    i = positions(value, value.ndim - 1)
    rows, columns = i - offset if offset < 0 else i, i + offset if offset > 0 else i
    return scatter(like, (rows, columns) if like.ndim == 2 else (Ellipsis, rows, columns), value, repeats=False)
