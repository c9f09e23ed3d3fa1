"""Pieces of a domain, on which comparisons are decided and equality is proved."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from srcdiff.proofs.algebra import Algebra, FinerRoot, real_part
from srcdiff.proofs.polynomials import Undecided
from srcdiff.proofs.sums import Sums
from srcdiff.proofs.values import evaluate, reals

Expr = Any


class Tie(Exception):
    """Two different expressions are equal at the point of a piece: the point lies on the border of pieces."""


class Piece:
    """An open region in which every comparison has one outcome, given by a point inside it.

    >>> import sympy
    >>> x, y = sympy.symbols("x y", real=True)
    >>> piece = Piece({x: Fraction(1, 2), y: Fraction(2)})
    >>> piece.sign(x - y), piece.vanishes(sympy.Abs(x - y) - (y - x))
    (-1, True)
    """

    def __init__(self, point: Mapping[Any, Fraction]) -> None:
        self.point = dict(point)
        self._values: dict[Any, Any] = {s: reals.mpf(v.numerator) / v.denominator for s, v in point.items()}
        self._algebras: dict[Any, Algebra] = {}
        self._opaque = [Sums()]
        self._way = False, 0

    def take_as_opaque(self, expr: Expr) -> None:
        """Try first with the sums within this expression as indeterminates: what holds for all values holds for theirs."""
        sums = Sums(s for s in _sums_within(expr) if s is not expr)
        self._opaque = [sums, Sums()] if len(sums) else [Sums()]

    def value(self, expr: Expr) -> Any:
        """The value at the point, to 40 digits."""
        found = self._values.get(expr)
        if found is None:
            found = self._values[expr] = evaluate(expr, self.value)
        return found

    def sign(self, expr: Expr) -> int:
        """1, -1, or 0 if the expression vanishes on the whole piece."""
        value = real_part(self.value(expr))
        if abs(value) > 1e-18:
            return 1 if value > 0 else -1
        if self.vanishes(expr):
            return 0
        raise Tie(str(expr))

    def distance(self, a: Expr, b: Expr) -> float:
        """How far apart two values are at the point, relative to their size."""
        u, v = self.value(a), self.value(b)
        return float(abs(u - v) / (1 + abs(u) + abs(v)))

    def vanishes(self, *terms: Expr) -> bool:
        """Whether the sum of the terms is proved to be zero on the piece."""
        for way in sorted(itertools.product((False, True), range(len(self._opaque))), key=lambda way: way != self._way):
            if self._vanishes(terms, self._opaque[way[1]], way[0]):
                self._way = way  # what worked for one entry works for the next
                return True
        return False

    def _vanishes(self, terms: Sequence[Expr], opaque: Sums, as_exponentials: bool) -> bool:
        root = 1
        while True:
            algebra = self._algebras.get((opaque, as_exponentials, root))
            if algebra is None:
                algebra = self._algebras[opaque, as_exponentials, root] = Algebra(self, as_exponentials, root, opaque)
            algebra.work = 0
            try:
                return algebra.is_zero(algebra.total([algebra.quotient(t) for t in terms]))
            except FinerRoot as finer:
                root = finer.root
            except Undecided:
                return False


def _sums_within(expr: Expr) -> Iterator[Expr]:
    seen: set[Any] = set()
    waiting = [expr]
    while waiting:
        e = waiting.pop()
        if e not in seen:
            seen.add(e)
            waiting += e.args
            if e.is_Add:
                yield e
