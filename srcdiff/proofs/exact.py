"""The exact numbers that floats stand for."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import sympy

Expr = Any

_PI = sympy.pi
_CONSTANTS = [
    *(_PI, 1 / _PI, _PI**2, sympy.sqrt(_PI), 1 / sympy.sqrt(_PI), sympy.sqrt(2 * _PI), 1 / sympy.sqrt(2 * _PI)),
    *(sympy.sqrt(_PI / 2), sympy.sqrt(2 / _PI), sympy.log(_PI), sympy.log(2 * _PI), sympy.log(2), sympy.log(10)),
    *(1 / sympy.log(2), 1 / sympy.log(10), sympy.sqrt(2), sympy.sqrt(3), sympy.E, sympy.EulerGamma),
]
_FLOATS = [(c, float(c)) for c in _CONSTANTS]
_read: dict[float, Any] = {}


def exact(number: Any) -> Expr:
    """The number that a float stands for: a fraction, or a fraction of a well-known constant.

    >>> exact(0.1), exact(2 / 3), exact(2 / math.sqrt(math.pi))
    (1/10, 2/3, 2/sqrt(pi))
    """
    if isinstance(number, int):
        return sympy.Integer(number)
    if isinstance(number, complex):
        return exact(number.real) + sympy.I * exact(number.imag)
    found = _read.get(number)
    if found is None:
        found = _read[number] = _recognise(number)
    return found


def _recognise(number: float) -> Expr:
    if not math.isfinite(number):
        return sympy.oo if number > 0 else -sympy.oo if number < 0 else sympy.nan
    for constant, value in ((sympy.S.One, 1.0), *_FLOATS):
        fraction = Fraction(number / value).limit_denominator(10_000 if value == 1.0 else 400)
        if fraction and abs(float(fraction) * value - number) <= 4e-16 * abs(number):
            return sympy.Rational(fraction.numerator, fraction.denominator) * constant
    return _root_or_logarithm(number) or _rounded(number)


def _root_or_logarithm(number: float) -> Expr | None:
    """sqrt(5), 1 / sqrt(7), sqrt(3 * pi), log(6)."""
    for factor, value in ((sympy.S.One, 1.0), (sympy.pi, math.pi)):
        square = Fraction(number * number / value).limit_denominator(400)
        if square and abs(math.sqrt(float(square) * value) - abs(number)) <= 4e-16 * abs(number):
            return sympy.sqrt(sympy.Rational(square.numerator, square.denominator) * factor) * (1 if number > 0 else -1)
    if abs(number) < 10:
        power = Fraction(math.exp(number)).limit_denominator(100)
        if power > 0 and abs(math.log(power) - number) <= 3e-16 * abs(number):
            return sympy.log(sympy.Rational(power.numerator, power.denominator))
    return None


def _rounded(number: float) -> Expr:
    """A fraction, or a decimal of a few digits, after some rounding; failing that, exactly the float."""
    fraction = Fraction(number).limit_denominator(1000)
    decimal = Fraction(f"{number:.10g}")
    if abs(fraction - Fraction(number)) > 3e-15 * max(1, abs(number)):
        fraction = decimal if abs(decimal - Fraction(number)) <= 1e-15 * abs(number) else Fraction(number)
    return sympy.Rational(fraction.numerator, fraction.denominator)
