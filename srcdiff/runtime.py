"""What guards and the general form of a gradient call when they run: facts that were not known when it was compiled."""

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
    absent = max(-lead, 0)
    ones = tuple(i - absent for i, n in enumerate(shape) if n == 1 and i >= absent and value.shape[i - absent] != 1)
    value = value.sum(axis=ones, keepdims=True) if ones else value
    return np.broadcast_to(value, shape).copy() if value.shape != shape else value[()]


def are_apart(x: Any, y: Any) -> bool:
    """Whether two arrays share no memory, or two other objects are two; what is too hard to tell counts as shared.

    >>> x = np.zeros(4)
    >>> are_apart(x, x[1:]), are_apart(x[::2], x[1::2]), are_apart(x, np.zeros(4))
    (False, True, True)
    """
    if not (isinstance(x, np.ndarray) and isinstance(y, np.ndarray)):
        return x is not y
    if not np.may_share_memory(x, y):
        return True
    try:
        return not np.shares_memory(x, y, max_work=10_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return False
