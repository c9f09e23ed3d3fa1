"""The value of a SymPy expression at a point, to 40 digits, each shared part evaluated once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath  # type: ignore[import-untyped]
import sympy

Expr = Any

reals = mpmath.MPContext()
reals.dps = 40


def evaluate(expr: Expr, value: Callable[[Expr], Any]) -> Any:
    if hasattr(expr, "at"):
        return expr.at(value)
    if expr.is_Rational:
        return reals.mpf(int(expr.p)) / int(expr.q)
    if expr.is_Add:
        return reals.fsum([value(a) for a in expr.args])
    if expr.is_Mul:
        return reals.fprod([value(a) for a in expr.args])
    if expr.is_Pow:
        base, exponent = expr.args
        return value(base) ** (int(exponent) if exponent.is_Integer else value(exponent))
    if expr.is_Piecewise:
        for branch, condition in expr.args:
            if condition == True or (condition != False and holds(condition, value)):  # noqa: E712
                return value(branch)
    name = _NAMES.get(expr.func.__name__, expr.func.__name__)
    if expr.is_Function and name is not None and hasattr(reals, name):
        args = [int(a) if a.is_Integer else value(a) for a in expr.args]
        return getattr(reals, name)(*args)
    if expr.is_Function and expr.func.__name__ in _DIRECT:
        return _DIRECT[expr.func.__name__](*[value(a) for a in expr.args])
    if not expr.args:
        return reals.mpmathify(expr.evalf(45))
    numbers = {a: sympy.Float(str(value(a)), 45) for a in expr.args if not a.is_number}
    return reals.mpmathify(expr.func(*[numbers.get(a, a) for a in expr.args]).evalf(40))


def holds(condition: Any, value: Callable[[Expr], Any]) -> bool:
    difference = value(condition.lhs) - value(condition.rhs)
    return bool(condition.func(sympy.Float(str(difference), 30), 0))


_NAMES = {
    "LambertW": "lambertw",
    "Ei": "ei",
    "Si": "si",
    "Ci": "ci",
    "elliptic_k": "ellipk",
    "elliptic_e": "ellipe",
    "Max": None,
    "Min": None,
}
_NAMES |= {"Heaviside": None, "Abs": "fabs"}
_DIRECT: dict[str, Callable[..., Any]] = {
    "lowergamma": lambda a, x: reals.gammainc(a, 0, x),
    "betainc_regularized": lambda a, b, low, high: reals.betainc(a, b, low, high, regularized=True),
    "Max": max,
    "Min": min,
    "Heaviside": lambda x, at_zero=0.5: (x > 0) + at_zero * (x == 0),
}
