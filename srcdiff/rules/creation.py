"""Making arrays: of a value, like another array, ranges, grids; copies and conversions.

The derivative of a conversion is a conversion back, and 0 where it goes to integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.rules import creation_shapes as shapes
from srcdiff.rules import dtypes
from srcdiff.rules.asking import call, dtype_name, like, m
from srcdiff.rules.places import positions, unbroadcast
from srcdiff.rules.registry import Fixed, case, decomposed, linear, nondifferentiable, vjp

# ---------------------------------------------------------------- constants

nondifferentiable(np.zeros, np.ones, np.empty, shape=shapes.of_shape, dtype=dtypes.given("float64"))
nondifferentiable(np.zeros_like, np.ones_like, shape=shapes.like_a, dtype=dtypes.given())
nondifferentiable(np.empty_like, shape=shapes.like_prototype, dtype=dtypes.given())
nondifferentiable(np.eye, shape=shapes.eye, dtype=dtypes.given("float64"))
nondifferentiable(np.identity, shape=shapes.identity, dtype=dtypes.given("float64"))
nondifferentiable(np.tri, shape=shapes.tri, dtype=dtypes.given("float64"))
nondifferentiable(np.indices, shape=shapes.indices, dtype=dtypes.given("int64"))


@linear("fill_value", of=np.full, shape=shapes.full, dtype=dtypes.of_full, at=[case(Fixed((2, 3)), ()), case(3, ())])
def full(shape: Any, fill_value: Any, dtype: Any = None, *, y_bar: Any) -> Any:
    return back(unbroadcast(y_bar, fill_value), fill_value, dtype)


@linear("fill_value", of=np.full_like, shape=shapes.full_like, dtype=dtypes.given(), constant=("a",), at=[case((2, 3), ())])
def full_like(a: Any, fill_value: Any, dtype: Any = None, *, y_bar: Any) -> Any:
    return back(unbroadcast(y_bar, fill_value), fill_value, dtype if dtype is not None else dtype_name(a))


# ---------------------------------------------------------------- conversions and copies


def back(y_bar: Any, x: Any, dtype: Any = None) -> Any:
    """The adjoint of a value that was converted to `dtype`, in the dtype of the value."""
    target = "float64" if dtype is None else dtypes.named(dtype)
    if not target.startswith(("float", "complex")):
        return 0
    own = dtype_name(x)
    is_changed = own in ("float32", "float64") and dtype_name(y_bar) not in (None, own)
    return y_bar.astype(np.dtype(own).type) if is_changed else y_bar


@linear("a", of=[np.copy, np.ascontiguousarray], shape=shapes.like_a, at=[case((2, 3)), case((3,))])
def copy(a: Any, *, y_bar: Any) -> Any:
    return y_bar


_converted = [case((2, 3)), case((3,), float)]


@linear("object", of=np.array, shape=shapes.like_object, dtype=dtypes.given(), at=_converted)
def array(object: Any, dtype: Any = None, *, copy: Any = True, y_bar: Any) -> Any:
    return back(y_bar, object, dtype)


@linear("a", of=[np.asarray, np.asanyarray], shape=shapes.like_a, dtype=dtypes.given(), at=_converted, is_view=True)
def asarray(a: Any, dtype: Any = None, *, y_bar: Any) -> Any:
    return back(y_bar, a, dtype)


@linear("x", of=np.astype, shape=shapes.like_x, dtype=dtypes.given(), at=[case((2, 3), float)])
def astype(x: Any, dtype: Any, *, y_bar: Any) -> Any:
    return back(y_bar, x, dtype)


# ---------------------------------------------------------------- ranges and grids


_ranges = [case((), (), 3), case((), (), num=4, endpoint=False)]


@linear(
    "start", "stop", of=np.linspace, shape=shapes.linspace, dtype=dtypes.as_by(np.linspace), at=[*_ranges, case((2,), (3, 1), 4)]
)
def linspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, *, y_bar: Any) -> Any:
    steps = call(max, num - 1, 1) if endpoint else num
    to_stop = like(positions(y_bar) / steps, y_bar)
    if y_bar.ndim > 1:
        to_stop = np.reshape(to_stop, (-1,) + (1,) * (y_bar.ndim - 1))
    return unbroadcast(y_bar * (1 - to_stop), start), unbroadcast(y_bar * to_stop, stop)


@vjp(
    "start",
    "stop",
    of=np.logspace,
    shape=shapes.logspace,
    dtype=dtypes.as_by(np.logspace),
    at=[*_ranges, case((), (), 3, base=2)],
)
def logspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0, *, y: Any, y_bar: Any) -> Any:
    return linspace(start, stop, num, endpoint, y_bar=m.log(base) * y * y_bar)


_positive = [case((), (), 3, domain="positive"), case((), (), num=4, endpoint=False, domain="positive")]


@vjp("start", "stop", of=np.geomspace, shape=shapes.linspace, dtype=dtypes.as_by(np.geomspace), at=_positive)
def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, *, y: Any, y_bar: Any) -> Any:
    to_start, to_stop = linspace(start, stop, num, endpoint, y_bar=y * y_bar)
    return to_start / start, to_stop / stop


@vjp("start_or_stop", "stop", "step", of=np.arange, shape=shapes.arange, dtype=dtypes.of_arange, trusted="its length jumps")
def arange(start_or_stop: Any, /, stop: Any = None, step: Any = 1, *, y_bar: Any) -> Any:
    by_step = np.sum(y_bar * like(positions(y_bar), y_bar))
    return 0 if stop is None else np.sum(y_bar), 0, by_step


@decomposed(np.meshgrid, at=[case((2,), (3,)), case((2,), (3,), indexing="ij"), case((2,), (3,), (2,))])
def meshgrid(*xi: Any, indexing: str = "xy") -> Any:
    places = [1 - i if indexing == "xy" and i < 2 <= len(xi) else i for i in range(len(xi))]
    lengths = [np.size(xi[places.index(i)]) for i in range(len(xi))]
    rows = [np.reshape(x, tuple(-1 if i == place else 1 for i in range(len(xi)))) for x, place in zip(xi, places)]
    return tuple(np.broadcast_to(row, tuple(lengths)).copy() for row in rows)
