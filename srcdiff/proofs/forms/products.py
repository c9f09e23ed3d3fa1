"""Products, and linear algebra written out: determinants by minors, inverses by cofactors, Cholesky row by row."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sympy

from srcdiff.proofs.forms.reductions import axes_of, np_sum, reduce_along
from srcdiff.proofs.formulas import FORMULAS
from srcdiff.proofs.matrices import are_implicit, determinant, inverse
from srcdiff.proofs.polynomials import Undecided
from srcdiff.proofs.symbolic import (
    ARRAY_UFUNCS,
    FUNCTIONS,
    NotSymbolic,
    SymbolArray,
    bare,
    elementwise,
    entries,
    entry,
    filled,
    form_of,
    terms_of,
    wrap,
)
from srcdiff.proofs.terms import minus, over, plus, times


def _matmul(a: Any, b: Any, **kwargs: Any) -> Any:
    return wrap(np.matmul(terms_of(a), terms_of(b)))


ARRAY_UFUNCS["matmul"] = _matmul
ARRAY_UFUNCS["vecdot"] = lambda a, b, axis=-1, **kwargs: np_sum(SymbolArray(entries(a)) * b, axis)
ARRAY_UFUNCS["matvec"] = lambda a, b, **kwargs: wrap(np.matmul(terms_of(a), terms_of(b)[..., None])[..., 0])
ARRAY_UFUNCS["vecmat"] = lambda a, b, **kwargs: wrap(np.matmul(terms_of(a)[..., None, :], terms_of(b))[..., 0, :])


@form_of(np.linalg.vecdot)
def _vecdot(a: Any, b: Any, *, axis: Any = -1) -> Any:
    return np_sum(SymbolArray(entries(a)) * b, axis)


@form_of(np.linalg.multi_dot)
def _multi_dot(arrays: Sequence[Any], **kwargs: Any) -> Any:
    out = arrays[0]
    for a in arrays[1:]:
        out = np.dot(out, a)
    return out


@form_of(np.einsum)
def _einsum(subscripts: str, *operands: Any, **kwargs: Any) -> Any:
    return wrap(np.einsum(subscripts, *[terms_of(o) for o in operands], optimize=False))


@form_of(np.bincount)
def _bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    places = bare(x)
    out = filled((max(minlength, *(int(p) + 1 for p in places)),), 0)
    for place, weight in zip(places, entries(weights), strict=True):
        out[place] = plus(out[place], weight)
    return SymbolArray(out)


def _minor(a: Any, i: int, j: int) -> Any:
    return np.delete(np.delete(a, i, 0), j, 1)


def _determinant(a: Any) -> Any:
    n = len(a)
    if n == 0:
        return sympy.Integer(1)
    return plus(*[times(sympy.Integer((-1) ** j), a[0, j], _determinant(_minor(a, 0, j))) for j in range(n)])


def _inverse(a: Any) -> Any:
    n = len(a)
    if are_implicit(a):
        return inverse(a)
    if n > 4:
        raise Undecided("the inverse of a matrix of more than four rows")
    factor = 1 / _determinant(a)
    out = np.empty((n, n), object)
    for i, j in itertools.product(range(n), repeat=2):
        out[j, i] = times(sympy.Integer((-1) ** (i + j)), _determinant(_minor(a, i, j)), factor)
    return out


def by_matrix(a: Any, form: Callable[[Any], Any], *, is_matrix: bool) -> Any:
    data = entries(a)
    batch = data.shape[:-2]
    out = np.empty(batch + (data.shape[-2:] if is_matrix else ()), object)
    for index in np.ndindex(*batch):
        out[index] = form(data[index])
    return SymbolArray(out)


@form_of(np.linalg.det, "scipy.det")
def _det(a: Any, **kwargs: Any) -> Any:
    return by_matrix(a, lambda m: determinant(list(m.ravel())) if are_implicit(m) else _determinant(m), is_matrix=False)


@form_of(np.linalg.inv, "scipy.inv")
def _inv(a: Any, **kwargs: Any) -> Any:
    return by_matrix(a, _inverse, is_matrix=True)


@form_of(np.linalg.pinv, "scipy.pinv")
def _pinv(a: Any, **kwargs: Any) -> Any:
    rows, columns = np.shape(a)[-2:]
    transposed = np.swapaxes(a, -1, -2)
    if rows >= columns:
        return _inv(transposed @ a) @ transposed
    return transposed @ _inv(a @ transposed)


@form_of(np.linalg.solve)
def _solve(a: Any, b: Any) -> Any:
    inverse = _inv(a)
    return inverse @ b


@form_of("scipy.solve")
def _scipy_solve(a: Any, b: Any, *, transposed: bool = False, **kwargs: Any) -> Any:
    return _solve(np.swapaxes(a, -1, -2) if transposed else a, b)


def _triangle(a: Any, lower: bool) -> Any:
    return wrap((np.tril if lower else np.triu)(terms_of(a)))


@form_of("scipy.solve_triangular")
def _solve_triangular(a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False, **kwargs: Any) -> Any:
    data = entries(_triangle(a, lower))
    if unit_diagonal:
        data = data.copy()
        for i in range(len(data)):
            data[i, i] = sympy.Integer(1)
    return _inv(SymbolArray(data.T if trans in (1, 2, "T", "C") else data)) @ b


@form_of("scipy.cho_solve")
def _cho_solve(factor: Any, b: Any, **kwargs: Any) -> Any:
    c, lower = factor
    t = _triangle(c, lower)
    return _inv(_matmul(t, t.T) if lower else _matmul(t.T, t)) @ b


@form_of(np.linalg.slogdet)
def _slogdet(a: Any) -> Any:
    det = _det(a)
    return elementwise("sign", det), elementwise("log", elementwise("absolute", det))


def _lower_factor(a: Any) -> Any:
    n = len(a)
    out = filled((n, n), 0)
    for j in range(n):
        for i in range(j, n):
            rest = minus(a[i, j], plus(*[times(out[i, k], out[j, k]) for k in range(j)]))
            out[i, j] = sympy.sqrt(rest) if i == j else over(rest, out[j, j])
    return out


@form_of(np.linalg.cholesky)
def _cholesky(a: Any, *, upper: bool = False) -> Any:
    lower = by_matrix(a, _lower_factor, is_matrix=True)
    return np.swapaxes(lower, -1, -2) if upper else lower


@form_of("scipy.cholesky")
def _scipy_cholesky(a: Any, lower: bool = False, **kwargs: Any) -> Any:
    return _cholesky(a, upper=not lower)


@form_of(np.linalg.matrix_power)
def _matrix_power(a: Any, n: int) -> Any:
    if n < 0:
        a, n = _inv(a), -n
    out: Any = by_matrix(a, lambda m: entries(np.eye(len(m))), is_matrix=True)
    for _ in range(n):
        out = out @ a
    return out


def _norm_of(order: Any) -> Callable[[list[Any]], Any]:
    absolute, larger, smaller = FORMULAS["absolute"], FORMULAS["maximum"], FORMULAS["minimum"]

    def form(values: list[Any]) -> Any:
        if order == 2:
            return sympy.sqrt(plus(*[v**2 for v in values]))
        sizes = [absolute(v) for v in values]
        if order in (np.inf, -np.inf):
            best = sizes[0]
            for s in sizes[1:]:
                best = (larger if order > 0 else smaller)(best, s)
            return best
        p = entry(order)
        return plus(*[s**p for s in sizes]) ** (1 / p)

    return form


@form_of(np.linalg.norm)
def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    data = entries(x)
    axes = axes_of(axis, data.ndim)
    if ord in (None, "fro") or (len(axes) == 1 and ord not in ("nuc", 0)):
        return reduce_along(data, axis, keepdims, _norm_of(2 if ord in (None, "fro") else ord))
    if ord in (1, -1, np.inf, -np.inf) and len(axes) == 2:
        rows, columns = axis if axis is not None else (0, 1)
        inner, outer = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = np_sum(elementwise("absolute", x), inner, keepdims=True)
        out = FUNCTIONS[np.max if ord > 0 else np.min](sums, outer, keepdims=True)
        return out if keepdims else np.squeeze(out, axis=axes)
    raise NotSymbolic(f"a matrix norm of order {ord}")


@form_of(np.linalg.vector_norm)
def _vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    return reduce_along(entries(x), axis, keepdims, _norm_of(ord))


@form_of(np.linalg.matrix_norm)
def _matrix_norm(x: Any, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return _norm(x, ord, (-2, -1), keepdims)
