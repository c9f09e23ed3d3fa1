"""Sorting and what picks by order: the order is decided on the piece."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sympy

from srcdiff.proofs.exact import exact
from srcdiff.proofs.forms.reductions import reduce_along
from srcdiff.proofs.formulas import compare, note
from srcdiff.proofs.symbolic import FUNCTIONS, NotSymbolic, SymbolArray, bare, bare_shape, entries, form_of, truths_of, wrap


def _order(values: Sequence[Any]) -> list[int]:
    """The stable permutation that sorts."""
    out: list[int] = []
    for i, v in enumerate(values):
        at = len(out)
        while at and compare("less", v, values[out[at - 1]]):
            at -= 1
        out.insert(at, i)
    return out


@form_of(np.argsort)
def _argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, **kwargs: Any) -> Any:
    if isinstance(a, SymbolArray) and a.data.dtype != object:
        return SymbolArray(np.argsort(a.data, axis=axis, kind="stable"))
    data = entries(a)
    if axis is None:
        data, axis = data.ravel(), 0
    moved = np.moveaxis(data, axis, -1)
    out = np.empty(moved.shape, np.int64)
    for index in np.ndindex(*moved.shape[:-1]):
        out[index] = _order(list(moved[index]))
    note("sort", tuple(out.ravel().tolist()))
    return SymbolArray(np.moveaxis(out, -1, axis))


@form_of(np.sort)
def _sort(a: Any, axis: Any = -1, **kwargs: Any) -> Any:
    data = entries(a)
    if axis is None:
        data, axis = data.ravel(), 0
    return SymbolArray(np.take_along_axis(data, _argsort(SymbolArray(data), axis).data, axis))


@form_of(np.partition)
def _partition(a: Any, kth: Any, axis: Any = -1, **kwargs: Any) -> Any:
    return _sort(a, axis)


@form_of(np.argpartition)
def _argpartition(a: Any, kth: Any, axis: Any = -1, **kwargs: Any) -> Any:
    return _argsort(a, axis)


def _arg_extreme(sign: int) -> Callable[..., Any]:
    def form(a: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
        def pick(values: list[Any]) -> int:
            at = 0
            for i, v in enumerate(values):
                if compare("greater" if sign > 0 else "less", v, values[at]):
                    at = i
            return at

        return reduce_along(entries(a), axis, keepdims, pick, np.int64)

    return form


FUNCTIONS[np.argmax], FUNCTIONS[np.argmin] = _arg_extreme(1), _arg_extreme(-1)


@form_of(np.median, np.nanmedian)
def _median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    def form(values: list[Any]) -> Any:
        ordered = [values[i] for i in _order(values)]
        n = len(ordered)
        return (ordered[(n - 1) // 2] + ordered[n // 2]) / 2

    note("sort", None)
    return reduce_along(entries(a), axis, keepdims, form)


def _quantile(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
              keepdims: bool = False, **kwargs: Any) -> Any:  # fmt: skip
    if method != "linear" or isinstance(q, SymbolArray):
        raise NotSymbolic("np.quantile with another method, or of a symbolic q")

    def form_of(share: Any) -> Callable[[list[Any]], Any]:
        def form(values: list[Any]) -> Any:
            ordered = [values[i] for i in _order(values)]
            place = exact(float(share)) * (len(ordered) - 1)
            low = int(sympy.floor(place))
            high = min(low + 1, len(ordered) - 1)
            return ordered[low] + (ordered[high] - ordered[low]) * (place - low)

        return form

    parts = [reduce_along(entries(a), axis, keepdims, form_of(share)) for share in np.ravel(q)]
    return parts[0] if np.ndim(q) == 0 else SymbolArray(np.stack([p.data for p in parts]).reshape(np.shape(q) + parts[0].shape))


FUNCTIONS[np.quantile] = FUNCTIONS[np.nanquantile] = _quantile
FUNCTIONS[np.percentile] = FUNCTIONS[np.nanpercentile] = lambda a, q, *args, **kwargs: _quantile(
    a, np.asarray(q) / 100, *args, **kwargs
)


@form_of(np.take_along_axis)
def _take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    return wrap(np.take_along_axis(bare_shape(arr), bare(indices), axis))


@form_of(np.put_along_axis)
def _put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    np.put_along_axis(arr.data, bare(indices), entries(values), axis)


@form_of(np.copyto)
def _copyto(dst: Any, src: Any, where: Any = True, **kwargs: Any) -> None:
    np.copyto(dst.data, entries(src), where=truths_of(where))
