"""Index letters of einsum, and the axes that tensordot contracts.

"...ij,jk", ranks (3, 2)   ⟶   ["Aij", "jk"], "Aik", "A"
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any


def contraction(axes: Any, a_ndim: int, b_ndim: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """`axes` of tensordot as two tuples of non-negative ints."""
    if isinstance(axes, int):
        return tuple(range(a_ndim - axes, a_ndim)), tuple(range(axes))
    first, second = ((axis,) if isinstance(axis, int) else tuple(axis) for axis in axes)
    return tuple(i % a_ndim for i in first), tuple(i % b_ndim for i in second)


def einsum_terms(subscripts: str, ndims: Sequence[int]) -> tuple[list[str], str, str]:
    """A letter for every axis of every operand, the letters of the result, and those that an ellipsis stands for."""
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    unused = [c for c in string.ascii_uppercase + string.ascii_lowercase if c not in subscripts]
    widths = [ndim - len(term.replace("...", "")) if "..." in term else 0 for term, ndim in zip(terms, ndims)]
    extra = "".join(unused[: max(widths, default=0)])
    spelled = [term.replace("...", extra[len(extra) - width :]) for term, width in zip(terms, widths)]
    if arrow:
        return spelled, output.replace("...", extra), extra
    letters = "".join(spelled)
    once = sorted(c for c in set(letters) if letters.count(c) == 1 and c not in extra)
    return spelled, extra + "".join(once), extra


def with_ellipsis(term: str, extra: str) -> str:
    """The term with an ellipsis for the letters that stand for one: "ABij" is "...ij"."""
    for width in range(len(extra), 0, -1):
        if extra[-width:] in term:
            return term.replace(extra[-width:], "...")
    return term
