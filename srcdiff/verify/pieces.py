"""Pieces of a domain, on which comparisons are decided and equality is proved."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from srcdiff.verify.algebra import Algebra, FinerRoot
from srcdiff.verify.polynomials import Undecided
from srcdiff.verify.values import evaluate, reals

Expr = Any


class Tie(Exception):
    """Two different expressions are equal at the point of a piece: the point lies on the border of pieces."""


class Piece:
    """An open region in which every comparison has one outcome, given by a point inside it.

    >>> x, y = sympy.symbols("x y", real=True)
    >>> piece = Piece({x: Fraction(1, 2), y: Fraction(2)})
    >>> piece.sign(x - y), piece.vanishes(sympy.Abs(x - y) - (y - x))
    (-1, True)
    """

    def __init__(self, point: Mapping[Any, Fraction]) -> None:
        self.point = dict(point)
        self._values: dict[Any, Any] = {s: reals.mpf(v.numerator) / v.denominator for s, v in point.items()}
        self._algebras: dict[tuple[bool, int], Algebra] = {}

    def value(self, expr: Expr) -> Any:
        """The value at the point, to 40 digits."""
        found = self._values.get(expr)
        if found is None:
            found = self._values[expr] = evaluate(expr, self.value)
        return found

    def sign(self, expr: Expr) -> int:
        """1, -1, or 0 if the expression vanishes on the whole piece."""
        value = self.value(expr)
        if isinstance(value, reals.mpc):
            if abs(value.imag) > 1e-18:
                raise Undecided("a number that is not real is compared")
            value = value.real
        if abs(value) > 1e-18:
            return 1 if value > 0 else -1
        if self.vanishes(expr):
            return 0
        raise Tie(str(expr))

    def differs(self, a: Expr, b: Expr) -> bool:
        """Whether numbers refute a = b."""
        u, v = self.value(a), self.value(b)
        return not abs(u - v) <= 1e-18 * (1 + abs(u) + abs(v))

    def vanishes(self, *terms: Expr) -> bool:
        """Whether the sum of the terms is proved to be zero on the piece."""
        root = 1
        for as_exponentials in (False, True):
            while True:
                algebra = self._algebras.setdefault((as_exponentials, root), Algebra(self, as_exponentials, root))
                try:
                    if algebra.is_zero(algebra.total([algebra.quotient(t) for t in terms])):
                        return True
                except FinerRoot as finer:
                    root = finer.root
                    continue
                except Undecided:
                    pass
                break
        return False
