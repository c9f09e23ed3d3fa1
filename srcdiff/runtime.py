"""What the general form of a gradient calls when it runs: the facts that were not known when it was compiled."""

from __future__ import annotations

from typing import Any

import numpy as np


def unbroadcast(value: Any, like: Any) -> Any:
    """Sum `value` to the shape of `like`, which was broadcast; a smaller value stands for one of that shape.

    >>> unbroadcast(np.ones((2, 3)), np.zeros((2, 1))).shape
    (2, 1)
    """
    value = np.asarray(value)
    dtype = getattr(like, "dtype", value.dtype)
    if dtype.kind == "f" and value.dtype != dtype:
        value = value.astype(dtype)
    shape = np.shape(like)
    lead = value.ndim - len(shape)
    if lead > 0:
        value = value.sum(axis=tuple(range(lead)))
    ones = tuple(i for i, n in enumerate(shape) if n == 1 and value.ndim > i and value.shape[i] != 1)
    value = value.sum(axis=ones, keepdims=True) if ones else value
    return np.broadcast_to(value, shape).copy() if value.shape != shape else value[()]
