"""Sums of integers that the run knows, and whether inequalities between such sums can hold together.

    2*i - j + 1          {i: 2, j: -1, 1: 1}
    i >= j, j >= i + 1   cannot hold together

The answer is sure where it is no; numbers count as fractions, and what takes long counts as possible.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

Sum = dict[Hashable, int]
"""Factors by symbol; that of 1 is the number without a symbol."""

_MANY = 120


def number(n: int) -> Sum:
    return {1: n} if n else {}


def added(a: Sum, b: Sum, factor: int = 1) -> Sum:
    """`a + factor * b`."""
    total = dict(a)
    for symbol, n in b.items():
        total[symbol] = total.get(symbol, 0) + factor * n
        if not total[symbol]:
            del total[symbol]
    return total


def can_hold(claims: Iterable[Sum]) -> bool:
    """Whether all these sums can be at least zero, by eliminating one symbol after another (Fourier and Motzkin)."""
    rows = {frozenset(c.items()) for c in claims}
    while True:
        if any(all(s == 1 for s, _ in row) and sum(n for _, n in row) < 0 for row in rows):
            return False
        counts: dict[Hashable, tuple[int, int]] = {}
        for row in rows:
            for symbol, n in row:
                below, above = counts.get(symbol, (0, 0))
                counts[symbol] = (below + (n > 0), above + (n < 0))
        counts.pop(1, None)
        if not counts or len(rows) > _MANY:
            return True
        symbol = min(counts, key=lambda s: counts[s][0] * counts[s][1])
        without = {row for row in rows if all(s != symbol for s, _ in row)}
        sums = [dict(row) for row in rows - without]
        for low in sums:
            for high in sums:
                if low[symbol] > 0 > high[symbol]:
                    scaled = {s: n * -high[symbol] for s, n in low.items()}
                    without.add(frozenset(added(scaled, high, low[symbol]).items()))
        rows = without
