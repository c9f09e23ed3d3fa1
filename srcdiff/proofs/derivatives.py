"""SymPy's derivatives of expressions whose parts are shared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

from srcdiff.proofs.terms import plus, times

Expr = Any


class Derivatives:
    """SymPy's derivatives by one symbol, each shared subexpression differentiated once.

    >>> x = sympy.Symbol("x", real=True)
    >>> sympy.expand(Derivatives(x).of(sympy.tanh(2 * x)))
    2 - 2*tanh(2*x)**2
    """

    def __init__(self, symbol: Any) -> None:
        self._known: dict[Any, Any] = {symbol: sympy.S.One}

    def of(self, expr: Expr) -> Expr:
        found = self._known.get(expr)
        if found is None:
            found = self._known[expr] = self._derive(expr)
        return found

    def _derive(self, expr: Expr) -> Expr:
        if not expr.args:
            return sympy.S.Zero
        inner = [self.of(a) for a in expr.args]
        if not any(inner):
            return sympy.S.Zero
        if hasattr(expr, "differential"):
            return expr.differential(inner)
        if expr.is_Add:
            return plus(*inner)
        if expr.is_Mul:
            return plus(*[times(*expr.args[:i], d, *expr.args[i + 1 :]) for i, d in enumerate(inner) if d])
        stand_ins = [sympy.Dummy(real=True, positive=a.is_positive) for a in expr.args]
        held = [a if not d else s for a, d, s in zip(expr.args, inner, stand_ins)]
        outer = expr.func(*held)
        back = dict(zip(stand_ins, expr.args))
        return plus(*[times(_put_back(sympy.diff(outer, s), back), d) for s, d in zip(stand_ins, inner) if d])


def _put_back(expr: Expr, back: Mapping[Any, Any]) -> Expr:
    if expr in back:
        return back[expr]
    return expr.func(*[_put_back(a, back) for a in expr.args]) if expr.args else expr
