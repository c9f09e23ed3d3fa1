"""Sums and products as the program forms them: SymPy's own would flatten and distribute, and shared parts would be lost.

    s = a + b;  2 * s + c   →   Add(c, Mul(2, Add(a, b)))        where SymPy makes 2*a + 2*b + c

Only zeros, ones and operations of numbers are simplified.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import sympy
from sympy import Add, Integer, Mul

from srcdiff.proofs.exact import exact

Expr = Any

ZERO, ONE, MINUS_ONE = Integer(0), Integer(1), Integer(-1)


_serials = itertools.count()


@functools.lru_cache(maxsize=50_000)
def serial(expr: Expr) -> int:
    """An order in which a + b and b + a are the same, and that is the same in each run (hashes are not)."""
    return next(_serials)


@functools.lru_cache(maxsize=50_000)
def _made(of: Any, args: tuple[Expr, ...]) -> Expr:
    """Equal terms are one object: to compare deep copies would take as long as to write them out."""
    return of(*args, evaluate=False)


def plus(*addends: Expr) -> Expr:
    kept = [a for a in addends if a is not ZERO]
    if len(kept) < 2:
        return kept[0] if kept else ZERO
    if all(a.is_Rational for a in kept):
        return Add(*kept)
    return _made(Add, tuple(sorted(kept, key=serial)))


def times(*factors: Expr) -> Expr:
    kept = [a for a in factors if a is not ONE]
    if any(a is ZERO for a in kept):
        return ZERO
    if len(kept) < 2:
        return kept[0] if kept else ONE
    numbers = [a for a in kept if a.is_Rational]
    if len(numbers) > 1:
        return times(Mul(*numbers), *[a for a in kept if not a.is_Rational])
    return _made(Mul, tuple(sorted(kept, key=serial)))


def negative(a: Expr) -> Expr:
    if a.is_Rational:
        return -a
    if a.is_Mul and MINUS_ONE in a.args:
        return times(*[f for f in a.args if f is not MINUS_ONE])
    return times(MINUS_ONE, a)


def minus(a: Expr, b: Expr) -> Expr:
    return ZERO if a == b else plus(a, negative(b))


def over(a: Expr, b: Expr) -> Expr:
    if a is ZERO or b is ONE:
        return a
    return times(a, 1 / b)


class Term:
    """An expression for NumPy's own code on arrays of objects, which adds and multiplies the entries."""

    __slots__ = ("expr",)

    def __init__(self, expr: Expr) -> None:
        self.expr = expr

    def __add__(self, other: Any) -> Term:
        return Term(plus(self.expr, expr_of(other)))

    def __sub__(self, other: Any) -> Term:
        return Term(minus(self.expr, expr_of(other)))

    def __rsub__(self, other: Any) -> Term:
        return Term(minus(expr_of(other), self.expr))

    def __mul__(self, other: Any) -> Term:
        return Term(times(self.expr, expr_of(other)))

    def __truediv__(self, other: Any) -> Term:
        return Term(over(self.expr, expr_of(other)))

    def __rtruediv__(self, other: Any) -> Term:
        return Term(over(expr_of(other), self.expr))

    def __pow__(self, other: Any) -> Term:
        return Term(self.expr ** expr_of(other))

    def __rpow__(self, other: Any) -> Term:
        return Term(expr_of(other) ** self.expr)

    def __neg__(self) -> Term:
        return Term(negative(self.expr))

    def __pos__(self) -> Term:
        return self

    def conjugate(self) -> Term:
        return self

    __radd__, __rmul__ = __add__, __mul__


def expr_of(value: Any) -> Expr:
    if isinstance(value, Term):
        return value.expr
    return value if isinstance(value, sympy.Basic) else exact(value)
