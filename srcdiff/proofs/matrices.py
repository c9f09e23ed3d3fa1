"""Inverses and determinants as functions of their own, instead of quotients of many products.

    np.linalg.inv(A)[0, 1]   →   InverseEntry(0, 1, A[0,0], A[0,1], …),   whose differential is -(A⁻¹ dA A⁻¹)[0, 1]

Whole functions are proved with these; the rules of inverses themselves are proved on the quotients.
"""

from __future__ import annotations

import contextlib
import contextvars
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import sympy

from srcdiff.proofs.terms import ZERO, negative, plus, serial, times
from srcdiff.proofs.values import reals

Expr = Any

_implicit: contextvars.ContextVar[list[str] | None] = contextvars.ContextVar("implicit", default=None)


@contextlib.contextmanager
def implicit_inverses() -> Iterator[list[str]]:
    """Within it, inverses and determinants are functions of their own; the list tells which were."""
    used: list[str] = []
    token = _implicit.set(used)
    try:
        yield used
    finally:
        _implicit.reset(token)


def are_implicit(a: Any) -> bool:
    """Whether the inverse of this matrix is to be a function of its own: not if it is small or triangular."""
    used = _implicit.get()
    if used is None or len(a) < 3:
        return False
    n = len(a)
    for triangle in ([(i, j) for i in range(n) for j in range(i)], [(j, i) for i in range(n) for j in range(i)]):
        if all(a[place] is ZERO for place in triangle):
            return False
    used.append("an inverse")
    return True


def _square(entries: Sequence[Expr]) -> int:
    return math.isqrt(len(entries))


class InverseEntry(sympy.Function):  # type: ignore[misc]
    """The entry i, j of the inverse of a matrix: InverseEntry(i, j, *entries)."""

    is_real = True
    is_commutative = True

    @classmethod
    def eval(cls, *args: Any) -> None:
        return None

    def differential(self, inner: Sequence[Expr]) -> Expr:
        """From the differentials of the arguments."""
        i, j, *entries = self.args
        n = _square(entries)
        parts = []
        for place, d in enumerate(inner[2:]):
            if d is not ZERO:
                a, b = divmod(place, n)
                parts.append(times(inverse_entry(int(i), a, entries), d, inverse_entry(b, int(j), entries)))
        return negative(plus(*parts))

    def at(self, value: Callable[[Expr], Any]) -> Any:
        i, j, *entries = self.args
        n = _square(entries)
        return (reals.matrix([[value(entries[n * r + c]) for c in range(n)] for r in range(n)]) ** -1)[int(i), int(j)]


class Determinant(sympy.Function):  # type: ignore[misc]
    """The determinant of a matrix: Determinant(*entries)."""

    is_real = True
    is_commutative = True

    @classmethod
    def eval(cls, *args: Any) -> None:
        return None

    def differential(self, inner: Sequence[Expr]) -> Expr:
        n = _square(self.args)
        parts = [times(inverse_entry(place % n, place // n, self.args), d) for place, d in enumerate(inner) if d is not ZERO]
        return times(self, plus(*parts))

    def at(self, value: Callable[[Expr], Any]) -> Any:
        n = _square(self.args)
        return reals.det(reals.matrix([[value(self.args[n * r + c]) for c in range(n)] for r in range(n)]))


def inverse_entry(i: int, j: int, entries: Sequence[Expr]) -> Expr:
    """The same expression for an entry of the inverse, and for that of the transposed matrix."""
    n = _square(entries)
    transposed = [entries[n * c + r] for r in range(n) for c in range(n)]
    own, other = [serial(e) for e in entries], [serial(e) for e in transposed]
    if other < own or (own == other and j < i):
        return InverseEntry(j, i, *transposed)
    return InverseEntry(i, j, *entries)


def determinant(entries: Sequence[Expr]) -> Expr:
    n = _square(entries)
    transposed = [entries[n * c + r] for r in range(n) for c in range(n)]
    return Determinant(*min(list(entries), transposed, key=lambda of: [serial(e) for e in of]))


def inverse(a: Any) -> Any:
    n = len(a)
    out = np.empty((n, n), object)
    for i, j in np.ndindex(n, n):
        out[i, j] = inverse_entry(i, j, list(a.ravel()))
    return out
