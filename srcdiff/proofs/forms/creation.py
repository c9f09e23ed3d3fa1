"""Making, copying and selecting: `zeros_like`, `where`, `clip`, `nonzero` and what asks for a shape or a dtype."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from srcdiff.proofs.formulas import note
from srcdiff.proofs.symbolic import (
    FUNCTIONS,
    DataDependent,
    SymbolArray,
    as_truths,
    bare_shape,
    depends,
    elementwise,
    entries,
    filled,
    form_of,
    truths_of,
)


def _filled_like(value: Any) -> Callable[..., Any]:
    def form(a: Any, dtype: Any = None, *, shape: Any = None, **kwargs: Any) -> Any:
        shape = np.shape(bare_shape(a)) if shape is None else shape
        kind = np.dtype(dtype).kind if dtype is not None else "f"
        return SymbolArray(filled(shape, value)) if kind in "fc" else np.full(shape, value, dtype)

    return form


FUNCTIONS[np.zeros_like] = FUNCTIONS[np.empty_like] = _filled_like(0)
FUNCTIONS[np.ones_like] = _filled_like(1)


@form_of(np.full_like)
def _full_like(a: Any, value: Any, dtype: Any = None, *, shape: Any = None, **kwargs: Any) -> SymbolArray:
    out = SymbolArray(filled(np.shape(bare_shape(a)) if shape is None else shape, 0))
    out[...] = value
    return out


@form_of(np.full)
def _full(shape: Any, value: Any, dtype: Any = None, **kwargs: Any) -> SymbolArray:
    out = SymbolArray(filled(shape, 0))
    out[...] = value
    return out


@form_of(np.copy, np.array, np.asarray, np.ascontiguousarray, np.asanyarray)
def _copy(a: Any, *args: Any, **kwargs: Any) -> SymbolArray:
    data = a.data if isinstance(a, SymbolArray) else entries(a)
    return SymbolArray(np.array(data))


for _creator in (np.asarray, np.ascontiguousarray, np.asanyarray):
    FUNCTIONS[_creator] = lambda a, *args, **kwargs: a if isinstance(a, SymbolArray) else _copy(a)


@form_of(np.astype)
def _astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    return x.astype(dtype)


@form_of(np.shape)
def _shape(a: Any) -> Any:
    return bare_shape(a).shape


@form_of(np.ndim)
def _ndim(a: Any) -> Any:
    return bare_shape(a).ndim


@form_of(np.size)
def _size(a: Any, axis: Any = None) -> Any:
    return bare_shape(a).size if axis is None else bare_shape(a).shape[axis]


@form_of(np.result_type, np.min_scalar_type)
def _result_type(*args: Any) -> Any:
    return np.result_type(*[a.dtype if isinstance(a, SymbolArray) else a for a in args])


@form_of(np.iscomplexobj)
def _iscomplexobj(a: Any) -> bool:
    return False


@form_of(np.isrealobj)
def _isrealobj(a: Any) -> bool:
    return True


@form_of(np.isneginf, np.isposinf)
def _never(a: Any) -> Any:
    return np.zeros(np.shape(bare_shape(a)), bool)


@form_of(np.real, np.nan_to_num, np.real_if_close)
def _itself(a: Any, *args: Any, **kwargs: Any) -> Any:
    return a


@form_of(np.imag)
def _imag(a: Any) -> Any:
    return a * 0


@form_of(np.where)
def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    truths = truths_of(condition)
    if x is None:
        return tuple(SymbolArray(i) for i in np.nonzero(truths))
    if depends(condition):
        note("where", tuple(np.ravel(truths).tolist()))
    a, b = entries(x), entries(y)
    shape = np.broadcast_shapes(np.shape(truths), a.shape, b.shape)
    out = np.empty(shape, object)
    truths, a, b = (np.broadcast_to(v, shape) for v in (truths, a, b))
    for index in np.ndindex(*shape):
        out[index] = a[index] if truths[index] else b[index]
    return SymbolArray(out)


@form_of(np.select)
def _select(conditions: Sequence[Any], choices: Sequence[Any], default: Any = 0) -> Any:
    out = default
    for condition, choice in zip(reversed(conditions), reversed(choices)):
        out = _where(condition, choice, out)
    return out


@form_of(np.clip)
def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None, out: Any = None) -> Any:
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if low is not None:
        a = elementwise("maximum", a, low)
    if high is not None:
        a = elementwise("minimum", a, high)
    return a


@form_of(np.sinc)
def _sinc(x: Any) -> Any:
    return elementwise("sinc", x)


@form_of(np.i0)
def _i0(x: Any) -> Any:
    return elementwise("i0", x)


@form_of(np.fix)
def _fix(x: Any) -> Any:
    return elementwise("trunc", x)


@form_of(np.around, np.round, builtins.round)
def _round(x: Any, decimals: int | None = 0, **kwargs: Any) -> Any:
    scale = 10 ** (decimals or 0)
    return elementwise("rint", x * scale) / scale


@form_of(np.count_nonzero)
def _count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return SymbolArray(np.asarray(np.count_nonzero(truths_of(a), axis=axis, keepdims=keepdims)))


@form_of(np.nonzero)
def _nonzero(a: Any) -> Any:
    return tuple(SymbolArray(i) for i in np.nonzero(truths_of(a)))


@form_of(np.any)
def _any(a: Any, axis: Any = None, **kwargs: Any) -> Any:
    return as_truths(np.any(truths_of(a), axis=axis, **kwargs), a)


@form_of(np.all)
def _all(a: Any, axis: Any = None, **kwargs: Any) -> Any:
    return as_truths(np.all(truths_of(a), axis=axis, **kwargs), a)


@form_of(np.array_equal, np.allclose)
def _array_equal(a: Any, b: Any, *args: Any, **kwargs: Any) -> Any:
    raise DataDependent("whether two arrays are equal depends on the data")
