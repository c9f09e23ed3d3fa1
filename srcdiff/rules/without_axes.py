"""Whether a result without axes is an array, which can be written to, or a scalar of NumPy's, which cannot.

    np.where(c, x, y)  →  an array            np.sum(a)  →  a scalar
    np.squeeze(a)      →  an array            np.squeeze(np.sum(a))  →  a scalar

NumPy has no rule for it: the function is run once on samples of one element.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, ListOf, Number, is_scalar
from srcdiff.ir.nodes import Apply, Const, Free, ListDisplay, Operand, Ref, Var
from srcdiff.rules.inference import kind_of

_NUMBERS: dict[str, Any] = {"float": 0.5, "int": 1, "bool": True, "complex": 0.5j}


class _NoSample(Exception):
    """Of an operand there is no sample."""


def gives_array(stmt: Apply, place: int, is_array: Callable[[Operand], bool]) -> bool | None:
    """Whether a result of a statement that has no axes is an array; `is_array` says it of the operands without axes.

    None where the samples do not tell.
    """
    op = stmt.op
    if op is ops.ITEM:
        parts = stmt.args[1] if isinstance(stmt.args[1], tuple) else (stmt.args[1],)
        return any(isinstance(part, Const) and part.value is Ellipsis for part in parts)
    if op in (ops.TRANSPOSE, ops.ASTYPE, ops.ARRAY_COPY):
        return not is_scalar(kind_of(stmt.args[0])) or is_array(stmt.args[0])
    if op.style != "call" or op.fn is None or isinstance(op.fn, np.ufunc):
        return False
    try:
        args = tuple(_spec(arg, is_array) for arg in stmt.args)
        named = tuple((name, _spec(value, is_array)) for name, value in stmt.kwargs)
        return _run(op.fn, args, named, place)
    except (_NoSample, TypeError):  # or an operand cannot be hashed
        return None


def _spec(operand: Operand, is_array: Callable[[Operand], bool]) -> Any:
    """An operand's sort, which can be hashed."""
    match operand:
        case tuple():
            return "tuple", tuple(_spec(part, is_array) for part in operand)
        case ListDisplay(items):
            return "list", tuple(_spec(part, is_array) for part in items)
        case Const() | Ref():
            return "value", operand.value
        case Var() | Free():
            pass
        case _:
            raise _NoSample
    match kind_of(operand):
        case Number(name):
            return "value", _NUMBERS[name]
        case Array(dtype, ()):
            return "array" if is_array(operand) else "scalar", dtype, 0
        case Array(dtype, dims) if dims is not None:
            return "array", dtype, len(dims)
        case ListOf(Number(name)):
            return "list", (("value", _NUMBERS[name]),)
        case ListOf(Array(dtype, dims)) if dims is not None:
            return "list", (("array", dtype, len(dims)),)
        case _:
            raise _NoSample


def _sample(spec: Any) -> Any:
    match spec:
        case ("tuple", parts):
            return tuple(_sample(part) for part in parts)
        case ("list", parts):
            return [_sample(part) for part in parts]
        case ("value", value):
            return value
        case (sort, dtype, ndim):
            return np.ones((1,) * ndim, dtype)[... if sort == "array" else ()]
        case _:
            raise AssertionError(spec)


@lru_cache(maxsize=4096)
def _run(fn: Callable[..., Any], args: tuple[Any, ...], named: tuple[tuple[str, Any], ...], place: int) -> bool | None:
    try:
        with np.errstate(all="ignore"):
            result = fn(*[_sample(spec) for spec in args], **{name: _sample(spec) for name, spec in named})
    except Exception:  # the run raises as well, or the function asks for more than one element
        return None
    if isinstance(result, (tuple, list)):
        result = result[place] if place < len(result) else None
    return isinstance(result, np.ndarray)
