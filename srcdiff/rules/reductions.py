"""Reductions and what runs along an axis: sums, products, means, extremes, sorting, differences.

At odd points:

- `max`, `min`, `amax`, `amin`, `ptp`: elements that tie share the adjoint equally.
- `prod` is right with zeros, to second order; `cumprod` to first order. There is no division by an element that is 0.
- `std` of equal elements has the derivative 0, not 0 / 0.
- `sort`, `median`, `quantile`, `percentile`: of equal elements, that which a sort puts there.
- `nansum`, `nanmean`, `nanmax`, `nanmin`: the adjoint of a nan is 0.
"""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any

import numpy as np

from srcdiff.errors import NoRule
from srcdiff.rules import dtypes
from srcdiff.rules import reductions_shapes as shapes
from srcdiff.rules.asking import like, ndim_of
from srcdiff.rules.registry import case, decomposed, jvp, linear, nondifferentiable, vjp

_axes = [
    case((2, 3)), case((2, 3), keepdims=True), case((2, 3), axis=0), case((2, 3), axis=-1, keepdims=True), case((2, 3), 1),
    case((2, 1, 3), axis=(0, 2)), case((2, 1, 3), axis=(-1, 0), keepdims=True), case((3,)), case(()),
]  # fmt: skip
_one_axis = [case((2, 3)), case((2, 3), axis=0), case((2, 3), axis=-1), case((3,)), case((3,), axis=0)]

# ---------------------------------------------------------------- sums and means


def expanded(y: Any, axis: Any, keepdims: bool) -> Any:
    """A result with the axes that were reduced, of length 1, so that it broadcasts against the argument."""
    return y if axis is None or keepdims else np.expand_dims(y, axis)


def count(a: Any, axis: Any) -> Any:
    """How many elements go into one of the result."""
    if axis is None:
        return np.size(a)
    axes = axis if isinstance(axis, tuple) else (axis,)
    return reduce(operator.mul, [np.shape(a)[i] for i in axes]) if axes else 1


def kept(axis: Any) -> dict[str, Any]:
    """The keywords of a reduction whose result broadcasts against the argument."""
    return {} if axis is None else {"axis": axis, "keepdims": True}


def given(axis: Any, keepdims: bool) -> dict[str, Any]:
    """The keywords of a reduction, without those that say nothing."""
    return ({} if axis is None else {"axis": axis}) | ({"keepdims": True} if keepdims else {})


@linear("a", of=np.sum, shape=shapes.reduced, dtype=dtypes.as_by(np.sum), at=_axes)
def sum(a: Any, axis: Any = None, *, keepdims: bool = False, y_bar: Any) -> Any:
    return np.broadcast_to(expanded(y_bar, axis, keepdims), np.shape(a))


@linear("a", of=np.mean, shape=shapes.reduced, dtype=dtypes.as_by(np.mean), at=_axes)
def mean(a: Any, axis: Any = None, *, keepdims: bool = False, y_bar: Any) -> Any:
    return np.broadcast_to(expanded(y_bar / count(a, axis), axis, keepdims), np.shape(a))


@decomposed(np.average, at=[
    case((2, 3)), case((2, 3), axis=0), case((2, 3), 0, (2,), domain="positive"),
    case((2, 3), 1, (2, 3), keepdims=True, domain="positive"), case((2, 3), keepdims=True),
])  # fmt: skip
def average(a: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    if weights is None:
        return np.mean(a, **given(axis, keepdims))
    if weights.ndim != a.ndim:
        weights = np.reshape(weights, tuple(-1 if i == axis % a.ndim else 1 for i in range(a.ndim)))
        return np.sum(a * weights, **given(axis, keepdims)) / np.sum(weights)
    return np.sum(a * weights, **given(axis, keepdims)) / np.sum(weights, **given(axis, keepdims))


@vjp("a", of=np.nansum, shape=shapes.reduced, dtype=dtypes.as_by(np.nansum), at=_axes)
def nansum(a: Any, axis: Any = None, *, keepdims: bool = False, y_bar: Any) -> Any:
    return expanded(y_bar, axis, keepdims) * (a == a)


@vjp("a", of=np.nanmean, shape=shapes.reduced, dtype=dtypes.as_by(np.nanmean), at=_axes)
def nanmean(a: Any, axis: Any = None, *, keepdims: bool = False, y_bar: Any) -> Any:
    return share_among(a == a, a, axis, expanded(y_bar, axis, keepdims))


def share_among(at: Any, a: Any, axis: Any, y_bar: Any) -> Any:
    """The adjoint shared equally among the elements of `a` where `at` is true."""
    return at * (y_bar / like(np.sum(at, **kept(axis)), a))


# ---------------------------------------------------------------- spread

_spread = [*[c for c in _axes if c.args[0] != ()], case((2, 3), ddof=1), case((2, 3), axis=1, ddof=1, keepdims=True)]


@vjp("a", of=np.var, shape=shapes.spread, dtype=dtypes.as_by(np.var), at=_spread)
def var(a: Any, axis: Any = None, *, ddof: Any = 0, keepdims: bool = False, y_bar: Any) -> Any:
    share = 2 * y_bar / (count(a, axis) - ddof)
    return expanded(share, axis, keepdims) * (a - mean_of(a, axis))


@vjp("a", of=np.std, shape=shapes.spread, dtype=dtypes.as_by(np.std), at=_spread)
def std(a: Any, axis: Any = None, *, ddof: Any = 0, keepdims: bool = False, y: Any, y_bar: Any) -> Any:
    share = y_bar / (count(a, axis) - ddof) / (y + (y == 0))
    return expanded(share, axis, keepdims) * (a - mean_of(a, axis))


def mean_of(a: Any, axis: Any) -> Any:
    return np.mean(a, **kept(axis))


# ---------------------------------------------------------------- extremes


_EXTREMES = [np.max, np.amax, np.min, np.amin, np.nanmax, np.nanmin]


@vjp("a", of=_EXTREMES, shape=shapes.reduced, at=_axes)
def extreme(a: Any, axis: Any = None, *, keepdims: bool = False, y: Any, y_bar: Any) -> Any:
    at = a == expanded(y, axis, keepdims)
    return share_among(at, a, axis, expanded(y_bar, axis, keepdims))


@decomposed(np.ptp, at=_axes)
def ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return np.max(a, **given(axis, keepdims)) - np.min(a, **given(axis, keepdims))


# ---------------------------------------------------------------- products


@vjp("a", of=np.prod, shape=shapes.reduced, dtype=dtypes.as_by(np.prod), at=_axes)
def prod(a: Any, axis: Any = None, *, keepdims: bool = False, y_bar: Any) -> Any:
    if ndim_of(a) == 0:
        return y_bar
    if axis is None:
        return y_bar * (product_of_others(a, 0) if a.ndim == 1 else np.reshape(product_of_others(np.ravel(a), 0), np.shape(a)))
    first, *rest = axis if isinstance(axis, tuple) else (axis,)
    y_bar = expanded(y_bar, axis, keepdims)
    if rest:
        inner = np.prod(a, axis=first, keepdims=True)
        y_bar = prod(inner, tuple(rest), keepdims=True, y_bar=y_bar)
    return y_bar * product_of_others(a, first)


def product_of_others(a: Any, axis: int) -> Any:
    """For each element the product of all the others along the axis: of those before it and of those after it."""
    return product_of_former(a, axis) * flipped(product_of_former(flipped(a, axis), axis), axis)


def product_of_former(a: Any, axis: int) -> Any:
    padded = np.pad(a, padding(a, axis, (1, 0)), constant_values=1)
    return np.cumprod(padded, **given(axis if a.ndim > 1 else None, False))[along(a, axis, slice(-1))]


def along(a: Any, axis: int, part: slice) -> Any:
    """The index that takes `part` of one axis and the whole of the others."""
    return part if a.ndim == 1 else (slice(None),) * (axis % a.ndim) + (part,)


def padding(a: Any, axis: int, width: tuple[int, int]) -> Any:
    """The widths that `np.pad` takes to pad one axis."""
    return width if a.ndim == 1 else [width if i == axis % a.ndim else (0, 0) for i in range(a.ndim)]


def flipped(a: Any, axis: int) -> Any:
    return a[::-1] if a.ndim == 1 else np.flip(a, axis)


# ---------------------------------------------------------------- running sums and products


@linear("a", of=np.cumsum, shape=shapes.accumulated, dtype=dtypes.as_by(np.cumsum), at=_one_axis)
def cumsum(a: Any, axis: Any = None, *, y_bar: Any) -> Any:
    if axis is None:
        return like_argument(sum_from_end(y_bar, 0), a)
    return sum_from_end(y_bar, axis)


def sum_from_end(y_bar: Any, axis: int) -> Any:
    return flipped(np.cumsum(flipped(y_bar, axis), **given(axis if y_bar.ndim > 1 else None, False)), axis)


def like_argument(flat: Any, a: Any) -> Any:
    return flat if ndim_of(a) == 1 else np.reshape(flat, np.shape(a))


@vjp("a", of=np.cumprod, shape=shapes.accumulated, dtype=dtypes.as_by(np.cumprod), at=_one_axis)
def cumprod(a: Any, axis: Any = None, *, y: Any, y_bar: Any) -> Any:
    if axis is None:
        return like_argument(cumprod(np.ravel(a), 0, y=y, y_bar=y_bar), a)
    is_zero = a == 0
    filled = a + is_zero
    until_second_zero = np.cumprod(filled, axis=axis) * (np.cumsum(is_zero, axis=axis) == 1)
    return np.where(is_zero, sum_from_end(y_bar * until_second_zero, axis), sum_from_end(y_bar * y, axis)) / filled


# ---------------------------------------------------------------- sorting


@vjp("a", of=np.sort, shape=shapes.sorted_along, at=[
    case((2, 3)), case((2, 3), 0), case((2, 3), axis=None), case((3,)),
])  # fmt: skip
def sort(a: Any, axis: Any = -1, kind: Any = None, *, y_bar: Any) -> Any:
    if axis is None:
        return like_argument(sort(np.ravel(a), 0, kind, y_bar=y_bar), a)
    places = np.argsort(np.argsort(a, axis=axis, kind=kind), axis=axis)
    return y_bar[places] if a.ndim == 1 else np.take_along_axis(y_bar, places, axis=axis)


@jvp(np.sort)
def sort_tangent(a: Any, axis: Any = -1, kind: Any = None, *, a_dot: Any) -> Any:
    if axis is None:
        return sort_tangent(np.ravel(a), 0, kind, a_dot=np.ravel(a_dot))
    places = np.argsort(a, axis=axis, kind=kind)
    return a_dot[places] if a.ndim == 1 else np.take_along_axis(a_dot, places, axis=axis)


_quantiles = [
    case((2, 3), 0.3), case((2, 3), 0.5, axis=0), case((2, 3), 0.25, -1, keepdims=True), case((2, 3), 0.3, keepdims=True),
    case((3,), 0.5), case((4,), 0.75), case((3,), 1.0),
]  # fmt: skip


@vjp("a", of=np.quantile, shape=shapes.quantile, dtype=dtypes.as_by(np.median, 1), at=_quantiles)
def quantile(a: Any, q: Any, axis: Any = None, *, keepdims: bool = False, y_bar: Any) -> Any:
    """Between two neighbours of the sorted elements: y = (1 - t) * former + t * latter."""
    if isinstance(axis, tuple) or ndim_of(q) > 0:
        raise NoRule(
            "no derivative rule for a quantile over several axes, or for several quantiles at once",
            instead="reshape the array first, to one axis; call it for one quantile at a time.",
        )
    if axis is None:
        y_bar = np.reshape(y_bar, (1,)) if keepdims else y_bar
        return like_argument(quantile(np.ravel(a), q, 0, keepdims=True, y_bar=y_bar), a)
    y_bar = expanded(y_bar, axis, keepdims)
    places = np.argsort(np.argsort(a, axis=axis), axis=axis)
    where = q * (a.shape[axis] - 1)
    former, t = where // 1, where % 1
    return (1 - t) * y_bar * (places == former) + t * y_bar * (places == former + 1)


@vjp(
    "a",
    of=np.percentile,
    shape=shapes.quantile,
    dtype=dtypes.as_by(np.median, 1),
    at=[case((3,), 30), case((2, 3), 70.0, axis=0)],
)
def percentile(a: Any, q: Any, axis: Any = None, *, keepdims: bool = False, y_bar: Any) -> Any:
    return quantile(a, q / 100, axis, keepdims=keepdims, y_bar=y_bar)


@vjp("a", of=np.median, shape=shapes.reduced, dtype=dtypes.as_by(np.median), at=[
    case((2, 3)), case((2, 3), axis=0), case((2, 3), axis=-1, keepdims=True), case((2, 3), keepdims=True), case((3,)), case((4,)),
])  # fmt: skip
def median(a: Any, axis: Any = None, *, keepdims: bool = False, y_bar: Any) -> Any:
    return quantile(a, 0.5, axis, keepdims=keepdims, y_bar=y_bar)


# ---------------------------------------------------------------- differences and integrals


@linear("a", of=np.diff, shape=shapes.differences, at=[
    case((3,)), case((2, 3)), case((3, 2), axis=0), case((4,), n=2), case((3,), n=0),
])  # fmt: skip
def diff(a: Any, n: int = 1, axis: int = -1, *, y_bar: Any) -> Any:
    if n == 0:
        return y_bar
    padded = np.pad(y_bar, padding(a, axis, (n, n)))
    options: dict[str, int] = ({} if n == 1 else {"n": n}) | ({} if axis in (-1, a.ndim - 1) else {"axis": axis})
    return -np.diff(padded, **options) if n % 2 else np.diff(padded, **options)


@decomposed(np.trapezoid, at=[case((3,)), case((2, 3), dx=0.5), case((3, 2), (3,), axis=0), case((2, 3), (2, 3))])
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    step = dx
    if x is not None:
        step = np.diff(x, axis=axis if x.ndim > 1 else -1)
        if x.ndim == 1 and y.ndim > 1:
            step = np.reshape(step, tuple(-1 if i == axis % y.ndim else 1 for i in range(y.ndim)))
    total = y[along(y, axis, slice(1, None))] + y[along(y, axis, slice(-1))]
    return np.sum(step * total / 2.0, axis=axis)


# ---------------------------------------------------------------- positions and counts

nondifferentiable(np.argmax, np.argmin, np.nanargmax, np.nanargmin, np.count_nonzero, shape=shapes.reduced, dtype="int64")
nondifferentiable(np.any, np.all, shape=shapes.reduced, dtype="bool")
nondifferentiable(np.argsort, shape=shapes.sorted_along, dtype="int64")
nondifferentiable(np.argpartition, shape=shapes.partitioned, dtype="int64")
nondifferentiable(np.allclose, shape=shapes.compared, dtype="bool")
nondifferentiable(np.array_equal, shape=shapes.compared_whole, dtype="bool")
