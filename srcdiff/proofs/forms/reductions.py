"""Sums, means and extremes along axes: the entries along the axes, for each of the other indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy

from srcdiff.proofs.formulas import FORMULAS, note
from srcdiff.proofs.symbolic import (
    FUNCTIONS,
    NotSymbolic,
    SymbolArray,
    accumulated,
    depends,
    elementwise,
    entries,
    entry,
    form_of,
)
from srcdiff.proofs.terms import minus, over, plus, times


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    return tuple(sorted(a % ndim for a in (axis if isinstance(axis, tuple) else (axis,))))


def reduce_along(data: Any, axis: Any, keepdims: bool, form: Callable[[list[Any]], Any], dtype: Any = object) -> Any:
    """`form` on the entries along the axes, for each of the other indices."""
    axes = axes_of(axis, data.ndim)
    rest = tuple(i for i in range(data.ndim) if i not in axes)
    moved = data.transpose(*rest, *axes).reshape(*[data.shape[i] for i in rest], -1)
    out = np.empty(moved.shape[:-1], dtype)
    for index in np.ndindex(*out.shape):
        out[index] = form(list(moved[index]))
    if keepdims:
        out = out.reshape([1 if i in axes else n for i, n in enumerate(data.shape)])
    return SymbolArray(out)


@form_of(np.sum)
def np_sum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, **kwargs: Any) -> Any:
    if isinstance(a, SymbolArray) and a.data.dtype != object:
        return SymbolArray(np.asarray(np.sum(a.data, axis=axis, keepdims=keepdims)))
    if kwargs:
        raise NotSymbolic(f"np.sum with {', '.join(kwargs)}")
    return reduce_along(entries(a), axis, keepdims, lambda e: plus(*e))


@form_of(np.prod)
def _np_prod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    return reduce_along(entries(a), axis, keepdims, lambda e: times(*e))


@form_of(np.mean)
def _np_mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    return reduce_along(entries(a), axis, keepdims, lambda e: over(plus(*e), sympy.Integer(len(e))))


def _variance(values: list[Any], ddof: Any) -> Any:
    mean = over(plus(*values), sympy.Integer(len(values)))
    return over(plus(*[minus(e, mean) ** 2 for e in values]), len(values) - ddof)


@form_of(np.var)
def _np_var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: bool = False, **kwargs: Any
) -> Any:
    ddof = kwargs.get("correction", ddof)
    return reduce_along(entries(a), axis, keepdims, lambda e: _variance(e, entry(ddof)))


@form_of(np.std)
def _np_std(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: bool = False, **kwargs: Any
) -> Any:
    return elementwise("sqrt", _np_var(a, axis, None, None, ddof, keepdims, **kwargs))


def _extreme(name: str) -> Callable[..., Any]:
    best = FORMULAS[name]

    def form(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, **kwargs: Any) -> Any:
        if isinstance(a, SymbolArray) and a.data.dtype != object:
            return SymbolArray(np.asarray(getattr(np, name).reduce(a.data, axis=axis, keepdims=keepdims)))
        if initial is not None or kwargs:
            raise NotSymbolic("a maximum with `initial` or `where`")
        data = entries(a)
        chosen: list[int] = []

        def pick(values: list[Any]) -> Any:
            at = 0
            for i, v in enumerate(values):
                if i and best(values[at], v) is not values[at]:
                    at = i
            chosen.append(at)
            return values[at]

        result = reduce_along(data, axis, keepdims, pick)
        if data.size and depends(SymbolArray(data)):
            note("max" if name == "maximum" else "min", tuple(chosen))
        return result

    return form


FUNCTIONS[np.max] = FUNCTIONS[np.amax] = FUNCTIONS[np.nanmax] = _extreme("maximum")
FUNCTIONS[np.min] = FUNCTIONS[np.amin] = FUNCTIONS[np.nanmin] = _extreme("minimum")
FUNCTIONS[np.nansum], FUNCTIONS[np.nanmean], FUNCTIONS[np.nanprod] = np_sum, _np_mean, _np_prod
FUNCTIONS[np.nanvar], FUNCTIONS[np.nanstd] = _np_var, _np_std


@form_of(np.ptp)
def _ptp(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    return FUNCTIONS[np.max](a, axis, keepdims=keepdims) - FUNCTIONS[np.min](a, axis, keepdims=keepdims)


@form_of(np.cumsum, np.nancumsum)
def _cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return accumulated("add", a, axis)


@form_of(np.cumprod)
def _cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return accumulated("multiply", a, axis)


@form_of(np.average)
def _average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    if weights is None:
        return _np_mean(a, axis, keepdims=keepdims)
    w = entries(weights)
    data = entries(a)
    if w.shape != data.shape:
        w = np.broadcast_to(w.reshape([-1 if i == axis % data.ndim else 1 for i in range(data.ndim)]), data.shape)
    return np_sum(elementwise("multiply", data, w), axis, keepdims=keepdims) / np_sum(SymbolArray(w), axis, keepdims=keepdims)
