"""Running a function on symbols: the same code, in a namespace whose NumPy makes arrays of symbols.

def f(x):                              np.zeros(3) is an array that symbols can be written to, math.exp and
    out = np.zeros(3)            →     float take symbols, and so do the functions that f calls
    out[0] = math.exp(x)
"""

from __future__ import annotations

import builtins
import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.proofs.symbolic import SymbolArray, apply, bare, entries, filled, has_symbols

_OURS = frozenset({"numpy", "math", "scipy"})


class Proxy:
    """A module whose functions take symbols."""

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value = _CREATORS.get(name) if self._module is np else None
        if value is None:
            value = translated(getattr(self._module, name))
        setattr(self, name, value)
        return value

    def __repr__(self) -> str:
        return f"<{self._module.__name__} on symbols>"


def translated(value: Any, memo: dict[int, Any] | None = None) -> Any:
    """A global, or what a cell holds, as the translated code is to see it."""
    memo = {} if memo is None else memo
    match value:
        case types.ModuleType() if value.__name__.split(".")[0] in _OURS:
            return Proxy(value)
        case types.FunctionType() if (value.__module__ or "").split(".")[0] not in _OURS:
            return translated_function(value, memo)
        case type():
            return _FLOATS.get(value, value)
        case np.ufunc():
            return value if _is_numpys(value) else _taking_symbols(value)
        case functools.partial():
            return functools.partial(translated(value.func, memo), *value.args, **value.keywords)
        case _ if callable(value) and (getattr(value, "__module__", None) or "").split(".")[0] in _OURS:
            return _taking_symbols(value)
        case np.ndarray() if value.dtype.kind == "f":
            return SymbolArray(entries(value))
        case _:
            return value


def _is_numpys(ufunc: np.ufunc) -> bool:
    return getattr(np, ufunc.__name__, None) is ufunc


@functools.cache
def _taking_symbols(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        return apply(fn, *args, **kwargs)

    return call


def translated_function(fn: types.FunctionType, memo: dict[int, Any] | None = None) -> types.FunctionType:
    """The same code with translated globals and cells; so are the functions that it calls."""
    memo = {} if memo is None else memo
    if id(fn) in memo:
        return memo[id(fn)]  # type: ignore[no-any-return]
    namespace: dict[str, Any] = {"__builtins__": builtins.__dict__ | _BUILTINS, "__name__": fn.__module__}
    cells = tuple(types.CellType() for _ in fn.__closure__ or ())
    out = types.FunctionType(fn.__code__, namespace, fn.__name__, fn.__defaults__, cells or None)
    out.__kwdefaults__ = fn.__kwdefaults__
    memo[id(fn)] = out
    for name in _names(fn.__code__):
        if name in fn.__globals__:
            namespace[name] = translated(fn.__globals__[name], memo)
    for cell, own in zip(cells, fn.__closure__ or ()):
        try:
            cell.cell_contents = translated(own.cell_contents, memo)
        except ValueError:  # an empty cell
            continue
    return out


def _names(code: types.CodeType) -> set[str]:
    """The global names that a code object reads, with those of the functions defined in it."""
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _import(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    module = builtins.__import__(name, globals, locals, fromlist, level)
    return translated(module) if isinstance(module, types.ModuleType) else module


# ---------------------------------------------------------------------------------------------------- creators


def _is_float(dtype: Any) -> bool:
    return dtype is None or np.dtype(dtype).kind == "f"


def _filled_with(value: int, of: Callable[..., Any]) -> Callable[..., Any]:
    def create(shape: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        return SymbolArray(filled(shape, value)) if _is_float(dtype) else of(bare(shape), dtype, *args, **kwargs)

    return create


def _full(shape: Any, fill_value: Any, dtype: Any = None, **kwargs: Any) -> Any:
    if has_symbols(fill_value) or np.asarray(fill_value, dtype).dtype.kind == "f":
        out = SymbolArray(filled(shape, 0))
        out[...] = fill_value
        return out
    return np.full(bare(shape), fill_value, dtype)


def _from_numbers(of: Callable[..., Any]) -> Callable[..., Any]:
    """A creator of floats that needs no symbols: its result may be written to."""

    def create(*args: Any, **kwargs: Any) -> Any:
        result = apply(of, *args, **kwargs)
        return SymbolArray(entries(result)) if isinstance(result, np.ndarray) and result.dtype.kind == "f" else result

    return create


def _array(value: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    if has_symbols(value) or _has_arrays_of_symbols(value):
        return SymbolArray(np.array(entries(value)))
    return _from_numbers(np.array)(value, dtype)


def _has_arrays_of_symbols(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == object


def _as_array(value: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    return value if isinstance(value, SymbolArray) else _array(value, dtype)


_CREATORS: dict[str, Callable[..., Any]] = {
    "zeros": _filled_with(0, np.zeros),
    "empty": _filled_with(0, np.empty),
    "ones": _filled_with(1, np.ones),
    "full": _full,
    "eye": _from_numbers(np.eye),
    "identity": _from_numbers(np.identity),
    "tri": _from_numbers(np.tri),
    "arange": _from_numbers(np.arange),
    "linspace": _from_numbers(np.linspace),
    "array": _array,
    "asarray": _as_array,
    "asanyarray": _as_array,
    "ascontiguousarray": _as_array,
}


class _Float64(np.float64):
    """`np.float64` in translated code: a dtype, and a conversion that takes symbols."""

    def __new__(cls, value: Any = 0.0) -> Any:
        return SymbolArray(entries(value)) if has_symbols(value) else np.float64(value)


_FLOATS: dict[type, type] = {np.float64: _Float64}


# ---------------------------------------------------------------------------------------------------- builtins


class _FloatType(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, float) or (isinstance(value, SymbolArray) and value.is_number)

    def __call__(cls, value: Any = 0.0) -> Any:
        return apply(float, value)


class _Float(metaclass=_FloatType):
    """`float` in translated code: it takes symbols, and a number of symbols is one."""


def _isinstance(value: Any, types_: Any) -> bool:
    kinds = types_ if isinstance(types_, tuple) else (types_,)
    if isinstance(value, SymbolArray):
        return any((k is _Float and value.is_number) or (k is np.ndarray and not value.is_number) for k in kinds)
    return isinstance(value, kinds)


class _IntType(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, int)

    def __call__(cls, value: Any = 0, *args: Any) -> Any:
        return int(bare(value), *args)


class _Int(metaclass=_IntType):
    """`int` in translated code: of symbols it is refused."""


def _silent(*args: Any, **kwargs: Any) -> None:
    """`print`: symbols are nothing to show."""


_BUILTINS: dict[str, Any] = {
    name: _taking_symbols(getattr(builtins, name)) for name in ("abs", "min", "max", "sum", "round", "pow", "divmod")
} | {"float": _Float, "int": _Int, "isinstance": _isinstance, "print": _silent, "__import__": _import}
