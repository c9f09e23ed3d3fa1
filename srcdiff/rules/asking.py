"""What a rule's text may ask of a value, whatever it runs on: arrays and numbers, symbols, staged values.

    m.cos(x)          math.cos of a number; staged, the call `math.cos(x)`
    like(count, x)    the count in the dtype of x, so that no float32 is lost to it

A staged value offers `ndim`, `dtype`, `is_number` (a Python number, not an array) and `__srcdiff_call__(fn, args)`, which
stages a call of a function that NumPy's dispatch does not reach. So may any other stand-in for a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np


def is_static_number(x: Any) -> bool:
    """A Python number that is known when the function is compiled."""
    return type(x) in (int, float)


def is_static_zero(x: Any) -> bool:
    return is_static_number(x) and bool(x == 0)


def is_number(x: Any) -> bool:
    """A Python number rather than an array or one of NumPy's scalars."""
    return type(x) in (int, float, bool) or getattr(x, "is_number", False) is True


def is_scalar(x: Any) -> bool:
    return ndim_of(x) == 0


def ndim_of(x: Any) -> int:
    return getattr(x, "ndim", 0)


def lengths_of(x: Any) -> tuple[Any, ...]:
    """The length of each axis, a number or (staged) what is known of it."""
    dims = getattr(x, "dims", None)
    return tuple(np.shape(x)) if dims is None else tuple(dims)


def dtype_name(x: Any) -> str | None:
    """The name of x's dtype; None for a Python number, and where it is not known."""
    return None if is_number(x) else getattr(getattr(x, "dtype", None), "name", None)


def like(value: Any, *xs: Any) -> Any:
    """`value` in the dtype of the xs together, where that is narrower than float64: masks and counts must not widen it."""
    names = {name for name in map(dtype_name, xs) if name is not None}
    if not names <= {"float32", "float16", "bool"} or names <= {"bool"} or dtype_name(value) is None:
        return value
    return value.astype(np.float32 if "float32" in names else np.float16)


def call(fn: Callable[..., Any], *args: Any) -> Any:
    """`fn(*args)`, also on values that fn itself does not take."""
    for arg in args:
        stage = getattr(arg, "__srcdiff_call__", None)
        if stage is not None:
            return stage(fn, args)
    return fn(*args)


class Staging:
    """A module whose functions take any value: `m = Staging(math)`, then `m.cos(x)`."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Callable[..., Any]:
        fn = getattr(self._module, name)
        return lambda *args: call(fn, *args)


m = Staging(math)
