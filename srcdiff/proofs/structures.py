"""Nested tuples and lists of arrays, and the sums that undo a broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def flat(value: Any) -> list[Any]:
    """The leaves of nested tuples and lists."""
    return [leaf for v in value for leaf in flat(v)] if isinstance(value, (tuple, list)) else [value]


def rebuilt(like: Any, leaves: Sequence[Any]) -> Any:
    """The leaves in the structure of `like`."""
    remaining = iter(leaves)

    def build(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            items = [build(v) for v in value]
            return items if isinstance(value, list) else tuple(items)
        return next(remaining)

    return build(like)


def copied(args: Sequence[Any]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else copied(a) if isinstance(a, list) else a for a in args]


def arrays_of(value: Any) -> list[Any]:
    return [v for v in flat(value) if isinstance(v, np.ndarray)]


def without(y_bars: Sequence[Any], missing: tuple[int, ...]) -> list[Any]:
    return [None if i in missing else b for i, b in enumerate(y_bars)]


def unbroadcast_numbers(x: Any, shape: tuple[int, ...]) -> Any:
    x = x.sum(axis=tuple(range(x.ndim - len(shape)))) if x.ndim > len(shape) else x
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and x.shape[i] != 1)
    return x.sum(axis=axes, keepdims=True) if axes else np.broadcast_to(x, shape)
