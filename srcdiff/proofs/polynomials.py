"""Polynomials with rational coefficients in many indeterminates, and quotients of them.

3*x**2*y - 1   →   {2 + (1 << 32): 3, 0: -1}
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

Poly = dict[int, Any]


class Undecided(Exception):
    """An expression that the algebra cannot take apart."""


# A monomial is one integer: exponent e of indeterminate i adds e << (32 * i). Exponents may be negative, and the product
# of monomials is the sum of their integers. Exponents stay far below 2**31: a million at entry, powers up to a thousand.
BITS = 32
MAX_EXPONENT = 1_000_000
MAX_POWER = 1_000
MAX_ROOT = 10_000
MAX_WORK = 1_500_000
_HALF = 1 << (BITS - 1)


def exponents_of(monomial: int) -> Iterator[tuple[int, int]]:
    index = 0
    while monomial:
        exponent = ((monomial + _HALF) & (2 * _HALF - 1)) - _HALF
        if exponent:
            yield index, exponent
        monomial = (monomial - exponent) >> BITS
        index += 1


def add_to(a: Poly, b: Poly) -> None:
    for monomial, c in b.items():
        total = a.get(monomial, 0) + c
        if total:
            a[monomial] = total
        else:
            a.pop(monomial, None)


def sum_of(a: Poly, b: Poly) -> Poly:
    out = dict(a)
    add_to(out, b)
    return out


def integral(a: Poly) -> tuple[Poly, int]:
    """(a multiple with integer coefficients, the factor)."""
    scale = math.lcm(*[c.denominator for c in a.values()])
    return {m: int(c * scale) for m, c in a.items()}, scale


def product_of(a: Poly, b: Poly) -> Poly:
    if len(a) > len(b):
        a, b = b, a
    if len(a) == 1:
        ((m, c),) = a.items()
        return {m + n: c * d for n, d in b.items()}
    out: Poly = {}
    get = out.get
    for m, c in a.items():
        for n, d in b.items():
            out[m + n] = get(m + n, 0) + c * d
    return {m: c for m, c in out.items() if c}


class Quotient:
    """`num` over the product of numbered divisors, each to a power."""

    __slots__ = ("den", "num")

    def __init__(self, num: Poly, den: tuple[tuple[int, int], ...] = ()) -> None:
        self.num = num
        self.den = den

    def negative(self) -> Quotient:
        return Quotient({m: -c for m, c in self.num.items()}, self.den)
