"""Functions of numbers, interpolation, and functions of `scipy.special` on arrays."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy

from srcdiff.proofs.exact import exact
from srcdiff.proofs.forms.reductions import np_sum
from srcdiff.proofs.formulas import compare
from srcdiff.proofs.symbolic import FUNCTIONS, NotSymbolic, SymbolArray, elementwise, entries, entry, form_of


@form_of(np.trapezoid)
def _trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    data = np.moveaxis(entries(y), axis, -1)
    if x is None:
        steps = entry(dx)
    else:
        at = entries(x)
        steps = np.diff(at if at.ndim == 1 else np.moveaxis(at, axis, -1), axis=-1)
    heights = elementwise("add", data[..., 1:], data[..., :-1])
    return np_sum(elementwise("multiply", heights, entries(steps) / sympy.Integer(2)), -1)


@form_of(np.interp)
def _interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    if period is not None:
        raise NotSymbolic("np.interp with a period")
    grid, table = entries(xp), entries(fp)

    def form(v: Any) -> Any:
        if compare("less", v, grid[0]):
            return table[0] if left is None else entry(left)
        if compare("greater", v, grid[-1]):
            return table[-1] if right is None else entry(right)
        i = next(i for i in range(len(grid) - 1) if compare("less_equal", v, grid[i + 1]))
        return table[i] + (v - grid[i]) * (table[i + 1] - table[i]) / (grid[i + 1] - grid[i])

    return SymbolArray(np.frompyfunc(form, 1, 1)(entries(x)))


@form_of(np.linspace)
def _linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0
) -> Any:
    a, b = (entries(v) for v in (start, stop))
    step = (b - a) / sympy.Integer(max(num - 1 if endpoint else num, 1))
    out = SymbolArray(entries(np.stack([np.asarray(a + i * step, object) for i in range(num)], axis=axis)))
    return (out, SymbolArray(step)) if retstep else out


@form_of(np.geomspace)
def _geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    return elementwise("exp", _linspace(elementwise("log", start), elementwise("log", stop), num, endpoint, axis=axis))


@form_of("scipy.logsumexp")
def _logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    terms = elementwise("exp", a)
    return elementwise("log", np_sum(terms if b is None else terms * b, axis, keepdims=keepdims))


@form_of("scipy.softmax")
def _softmax(x: Any, axis: Any = None) -> Any:
    e = elementwise("exp", x)
    return e / np_sum(e, axis, keepdims=True)


@form_of("scipy.log_softmax")
def _log_softmax(x: Any, axis: Any = None) -> Any:
    return x - elementwise("log", np_sum(elementwise("exp", x), axis, keepdims=True))


@form_of("scipy.multigammaln")
def _multigammaln(a: Any, d: int) -> Any:
    out: Any = exact(d * (d - 1)) / 4 * sympy.log(sympy.pi)
    for j in range(d):
        out = elementwise("add", elementwise("gammaln", a - exact(j) / 2), out)
    return out


@form_of(builtins.abs)
def _abs(x: Any) -> Any:
    return elementwise("absolute", x)


@form_of(builtins.pow, math.pow)
def _pow(x: Any, y: Any, modulus: None = None) -> Any:
    return elementwise("power", x, y)


@form_of(builtins.float, builtins.complex)
def _float(x: Any = 0.0) -> Any:
    if not isinstance(x, SymbolArray):
        return float(x)
    return SymbolArray(x.data.reshape(()), is_number=True)


@form_of(builtins.divmod)
def _divmod(x: Any, y: Any) -> Any:
    return elementwise("divmod", x, y)


def _of_several(name: str) -> Callable[..., Any]:
    def form(*args: Any, key: Any = None, default: Any = None) -> Any:
        items = list(args[0]) if len(args) == 1 else list(args)
        out = items[0]
        for item in items[1:]:
            out = elementwise(name, out, item)
        return out

    return form


FUNCTIONS[builtins.max], FUNCTIONS[builtins.min] = _of_several("maximum"), _of_several("minimum")


@form_of(builtins.sum, math.fsum)
def _sum(items: Any, start: Any = 0) -> Any:
    out = start
    for item in items:
        out = out + item
    return out


@form_of(math.prod)
def _prod(items: Any, *, start: Any = 1) -> Any:
    out = start
    for item in items:
        out = out * item
    return out


@form_of(math.log)
def _log(x: Any, base: Any = None) -> Any:
    out = elementwise("log", x)
    return out if base is None else out / elementwise("log", SymbolArray(entries(base)))


@form_of(math.hypot)
def _hypot(*coordinates: Any) -> Any:
    return elementwise("sqrt", SymbolArray(entries(_sum([c * c for c in coordinates]))))


@form_of(math.remainder)
def _remainder(x: Any, y: Any) -> Any:
    return x - y * elementwise("rint", x / y)


@form_of(math.dist)
def _dist(p: Any, q: Any) -> Any:
    return _hypot(*[a - b for a, b in zip(p, q)])


if hasattr(math, "sumprod"):

    @form_of(math.sumprod)
    def _sumprod(p: Any, q: Any) -> Any:
        return _sum([a * b for a, b in zip(p, q)])


if hasattr(math, "fma"):

    @form_of(math.fma)
    def _fma(x: Any, y: Any, z: Any) -> Any:
        return x * y + z
