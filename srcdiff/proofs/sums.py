"""Sums that are taken as indeterminates, and how to find them in larger sums, which SymPy has flattened.

with s = a + b known:   2*a + 2*b + c   →   2*s + c
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sympy

from srcdiff.proofs.terms import plus, serial, times

Expr = Any


class Sums:
    """Known sums, each up to a factor."""

    def __init__(self, sums: Iterable[Expr] = ()) -> None:
        self._by_term: dict[Any, list[tuple[Any, dict[Any, Any]]]] = {}
        self._ranks: dict[Any, int] = {}
        heights: dict[Any, int] = {}
        seen: set[Any] = set()
        for whole in sums:
            terms = dict(whole.as_coefficients_dict())
            unit = terms[min(terms, key=serial)]
            terms = {t: c / unit for t, c in terms.items()}
            key = frozenset(terms.items())
            if key in seen or len(terms) < 2:
                continue
            seen.add(key)
            known = sympy.Add(*[times(c, t) for t, c in terms.items()], evaluate=False)
            self._ranks[known] = _nesting(known, heights)
            for term in terms:
                self._by_term.setdefault(term, []).append((known, terms))

    def __len__(self) -> int:
        return len(self._ranks)

    def rank(self, known: Expr) -> int:
        """Higher for sums that contain others."""
        return self._ranks[known]

    def split(self, total: Expr, within: Expr | None = None) -> tuple[list[tuple[Any, Expr]], Expr]:
        """((factor, known sum), …) and the rest, which add up to `total`; larger sums are taken first.

        Where the total is the known sum `within`, only those of lower rank are.
        """
        terms = dict(total.as_coefficients_dict())
        found: list[tuple[Any, Expr]] = []
        candidates = {id(known): known for term in terms for known in self._by_term.get(term, ())}
        for known, parts in sorted(candidates.values(), key=lambda item: -len(item[1])):
            first = next(iter(parts))
            if (
                len(parts) > len(terms)
                or first not in terms
                or (within is not None and self._ranks[known] >= self._ranks[within])
            ):
                continue
            factor = terms[first] / parts[first]
            if all(terms.get(t) == factor * c for t, c in parts.items()):
                for t in parts:
                    del terms[t]
                found.append((factor, known))
        if not found:
            return [], total
        return found, plus(*[times(c, t) for t, c in terms.items()])


def _nesting(expr: Expr, heights: dict[Any, int]) -> int:
    """How many sums are nested in an expression at most."""
    found = heights.get(expr)
    if found is None:
        found = heights[expr] = max((_nesting(a, heights) for a in expr.args), default=0) + bool(expr.is_Add)
    return found
