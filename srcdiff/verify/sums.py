"""Sums that are taken as indeterminates, and how to find them in larger sums, which SymPy has flattened.

with s = a + b known:   2*a + 2*b + c   →   2*s + c
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sympy

Expr = Any


class Sums:
    """Known sums, each up to a factor."""

    def __init__(self, sums: Iterable[Expr] = ()) -> None:
        self._by_term: dict[Any, list[tuple[Any, dict[Any, Any]]]] = {}
        self._ranks: dict[Any, int] = {}
        heights: dict[Any, int] = {}
        seen: set[Any] = set()
        for whole in sums:
            primitive = whole.primitive()[1]
            if primitive in seen or -primitive in seen:
                continue
            seen.add(primitive)
            self._ranks[primitive] = _nesting(primitive, heights)
            terms = dict(primitive.as_coefficients_dict())
            for term in terms:
                self._by_term.setdefault(term, []).append((primitive, terms))
        for known in self._by_term.values():
            known.sort(key=lambda item: -len(item[1]))

    def __len__(self) -> int:
        return len(self._ranks)

    def rank(self, known: Expr) -> int:
        """Higher for sums that contain others."""
        return self._ranks[known]

    def split(self, total: Expr, other_than: Expr | None = None) -> tuple[list[tuple[Any, Expr]], Expr]:
        """((factor, known sum), …) and the rest, which add up to `total`; larger sums are taken first."""
        terms = dict(total.as_coefficients_dict())
        found: list[tuple[Any, Expr]] = []
        candidates = {id(known): known for term in terms for known in self._by_term.get(term, ())}
        for primitive, parts in sorted(candidates.values(), key=lambda item: -len(item[1])):
            first = next(iter(parts))
            if primitive is other_than or len(parts) > len(terms) or first not in terms:
                continue
            factor = terms[first] / parts[first]
            if all(terms.get(t) == factor * c for t, c in parts.items()):
                for t in parts:
                    del terms[t]
                found.append((factor, primitive))
        if not found:
            return [], total
        return found, sympy.Add(*[c * t for t, c in terms.items()])


def _nesting(expr: Expr, heights: dict[Any, int]) -> int:
    """How many sums are nested in an expression at most."""
    found = heights.get(expr)
    if found is None:
        found = heights[expr] = max((_nesting(a, heights) for a in expr.args), default=0) + bool(expr.is_Add)
    return found
