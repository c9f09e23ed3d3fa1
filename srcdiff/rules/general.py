"""The general form of a rule: its text run on the actual values, where a fact that it asks for is not known before.

contribution(np.mean, "a", y, y_bar, x)      the contribution to the adjoint of np.mean's argument `a`
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.rules import chapters
from srcdiff.rules.inference import call_bound
from srcdiff.runtime import unbroadcast


def contribution(fn: Callable[..., Any], name: str, y: Any, y_bar: Any, *args: Any, **kwargs: Any) -> Any:
    """What the adjoint `y_bar` of `y = fn(*args, **kwargs)` contributes to the adjoint of the argument `name`.

    >>> contribution(np.mean, "a", 2.0, 1.0, np.array([1.0, 3.0]))
    array([0.5, 0.5])
    """
    rule = chapters.find(fn)
    if rule is None or rule.text is None or rule.signature is None or name not in rule.wrt:
        raise NotImplementedError(f"no derivative rule for `{getattr(fn, '__name__', fn)}` by `{name}`")
    bound = rule.signature.bind(*args, **kwargs).arguments
    extra = {key: value for key, value in (("y", y), ("y_bar", y_bar)) if key in rule.needs}
    with np.errstate(all="ignore"):
        parts = call_bound(rule, rule.text, bound, **extra)
        parts = parts if isinstance(parts, tuple) else (parts,)
        part = parts[rule.wrt.index(name)]
        if rule.sort == "elementwise":
            return unbroadcast(y_bar * part, bound[name])
    return np.array(part) if isinstance(part, np.ndarray) else part
