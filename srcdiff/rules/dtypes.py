"""Dtypes of results from dtypes of arguments, where they are not simply those of the arguments.

A dtype function takes what the shape function takes, and returns the name of a dtype. A Python number has the dtype None.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from srcdiff.rules.registry import Shaped


def as_by(fn: Callable[..., Any], arity: int | None = None) -> Callable[..., str]:
    """What `fn` makes of one element: `as_by(np.sum)` takes bool to int64, `as_by(np.mean)` takes int64 to float64.

    `arity` says how many of the arguments count, from the first.
    """

    @lru_cache(maxsize=256)
    def of(*names: str) -> str:
        with np.errstate(all="ignore"):
            return np.asarray(fn(*[np.ones(1, name) for name in names])).dtype.name

    def dtype(**arguments: Any) -> str:
        return of(*[value.dtype_name for value in arguments.values() if isinstance(value, Shaped)][:arity])

    return dtype


def given(default: str | None = None) -> Callable[..., str]:
    """The argument `dtype`; without it `default`, or the dtype of the first array."""

    def dtype_of(*, dtype: Any = None, **arguments: Any) -> str:
        if dtype is not None:
            return named(dtype)
        if default is not None:
            return default
        return next((value.dtype_name for value in arguments.values() if isinstance(value, Shaped)), "float64")

    return dtype_of


def named(dtype: Any) -> str:
    """The name of a dtype as NumPy takes it; float64 for one that only the run knows."""
    try:
        return str(np.dtype(dtype))
    except TypeError:
        return "float64"


def of_full(shape: Any, fill_value: Any, dtype: Any = None) -> str:
    if dtype is not None:
        return named(dtype)
    if isinstance(fill_value, Shaped):
        return fill_value.dtype_name
    return named(type(fill_value))


def of_arange(start_or_stop: Any, stop: Any = None, step: Any = 1) -> str:
    given = [x for x in (start_or_stop, stop, step) if x is not None]
    dtypes = {x.dtype_name if isinstance(x, Shaped) else "int64" for x in given}
    return named(np.result_type(*dtypes))
