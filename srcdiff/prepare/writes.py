"""Writes into arrays: each makes a new version of the array that a handle shows.

A[i] = v            A_1 = index_set(A, i, v)
A[i] += v           A_1 = index_add(A, i, v)
x *= 2.0            x_1 = mul(x, 2.0)
np.exp(x, out=y)    y_1 = exp(x)
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from srcdiff.errors import KindError, NoRule, SrcdiffError, SyntaxNotAccepted
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, Number, Opaque, Unknown, is_scalar
from srcdiff.ir.nodes import Const, Ref, SliceOf, Var
from srcdiff.prepare import arrays, calls, expressions
from srcdiff.prepare.lowering import Lowering
from srcdiff.prepare.values import ListRef, Value, is_atom
from srcdiff.rules.inference import kind_of
from srcdiff.rules.registry import rule_for
from srcdiff.rules.repetition import is_without_repetition

Args = tuple[Value, ...]
Kwargs = dict[str, Value]

_EVERYTHING = Const(Ellipsis)
SYMBOL = {"Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "Pow": "**", "MatMult": "@", "Mod": "%", "FloorDiv": "//"}


# ---------------------------------------------------------------- items


def write_item(low: Lowering, owner: Value, index: Value, value: Value, node: ast.AST) -> None:
    """`owner[index] = value`, of an array."""
    _check_array(low, owner, node)
    place = low.operand(index)
    new = _fitting(low, value, owner, node)
    arrays.store_item(low, owner, place, new, ops.INDEX_SET, node)


def update_item(low: Lowering, owner: Value, index: Value, operator: str, value: Value, node: ast.AST) -> None:
    """`owner[index] += value`, of an array; the operator is the name of its node."""
    _check_array(low, owner, node)
    place = low.operand(index)
    kind, added = kind_of(owner), kind_of(low.atom(_as_array(low, value, node)))
    adds = operator in ("Add", "Sub") and is_without_repetition(place)
    if adds and isinstance(kind, Array) and kind.dtype.startswith(("float", "complex")) and isinstance(added, (Number, Array)):
        new = low.atom(_as_array(low, value, node))
        if operator == "Sub":
            new = _negative(low, new, node)
        arrays.store_item(low, owner, place, new, ops.INDEX_ADD, node)
        return
    item = expressions.subscript(low, owner, index, node)
    write_item(low, owner, index, expressions.binary(low, operator, item, value, node), node)


def _negative(low: Lowering, value: Value, node: ast.AST) -> Any:
    """`-value`, which the user has not written: it prints as the minus of `-=`."""
    origin = low.builder.origin
    low.builder.origin = None if origin is None else replace(origin, column=-1)
    negative = expressions.lower_unary(low, "USub", value, node)
    low.builder.origin = origin
    return negative


def _check_array(low: Lowering, owner: Value, node: ast.AST) -> None:
    kind = kind_of(owner) if is_atom(owner) else None
    if isinstance(kind, (Array, Unknown)) and (isinstance(kind, Unknown) or arrays.is_array(low, owner)):
        if isinstance(kind, Array) and is_scalar(kind) and arrays.without_axes(low, owner) is None:
            raise refuse_either(low, owner, node)
        return
    if isinstance(owner, tuple) or isinstance(kind, (Number, Array)):
        what = "a tuple" if isinstance(owner, tuple) else "a number"
        raise low.refuse(KindError, f"{what} cannot be written to", node)
    if isinstance(kind, Opaque):
        raise low.refuse(KindError, f"a value of kind `{kind.type}` cannot be written to", node)
    raise low.refuse(SyntaxNotAccepted, "a write into this value is not accepted", node, instead="build the new value.")


def refuse_either(low: Lowering, owner: Value, node: ast.AST) -> SrcdiffError:
    """What is an array without axes on one path, and a number on another, is changed in place."""
    return low.refuse(
        SyntaxNotAccepted,
        f"`{getattr(owner, 'hint', 'the value')}` may be an array without axes or a number, and is changed in place",
        node,
        why="Of an array every name and view changes, of a number none.",
        instead="make it a number first: float(x); or write `x = x + …`.",
    )


def _as_array(low: Lowering, value: Value, node: ast.AST) -> Value:
    return calls.call_numpy(low, np.array, (value,), {}, node) if isinstance(value, (ListRef, tuple)) else value


def _fitting(low: Lowering, value: Value, owner: Value, node: ast.AST) -> Any:
    """A value as one atom that can be stored in an array."""
    new = low.atom(_as_array(low, value, node))
    kind, held = kind_of(new), kind_of(owner)
    if not isinstance(kind, (Number, Array, Unknown)):
        raise low.refuse(KindError, "this value cannot be stored in an array", node)
    is_complex = getattr(kind, "dtype", getattr(kind, "type", "")).startswith("complex")
    if is_complex and isinstance(held, Array) and not held.dtype.startswith("complex"):
        raise low.refuse(KindError, f"a complex value is stored in an array of {held.dtype}", node)
    return new


# ---------------------------------------------------------------- whole arrays


def update_whole(low: Lowering, owner: Value, operator: str, value: Value, node: ast.AST) -> None:
    """`owner += value`, of an array: every name and view of it sees the new values."""
    result = expressions.binary(low, operator, owner, value, node)
    replace_whole(low, owner, result, node, symbol=f"{SYMBOL.get(operator, '+')}=")


def replace_whole(low: Lowering, owner: Value, result: Value, node: ast.AST, *, symbol: str) -> None:
    """The array holds `result` from here on, in its own dtype."""
    _check_array(low, owner, node)
    kind, new = kind_of(owner), kind_of(result)
    if not isinstance(kind, Array) or kind.dims is None or not isinstance(new, (Array, Number)):
        raise low.refuse(
            SyntaxNotAccepted,
            f"`{getattr(owner, 'hint', 'the array')}` is changed in place, and may be an array or a number",
            node,
            why="Of an array every name and view changes, of a number none.",
            instead=f"write `x = x {symbol.rstrip('=')} …`.",
        )
    dims = new.dims if isinstance(new, Array) else ()
    if dims is not None and len(dims) > len(kind.dims):
        raise low.refuse(KindError, "the result has more axes than the array that is changed in place", node)
    dtype = (
        new.dtype
        if isinstance(new, Array)
        else np.dtype({"complex": complex, "float": float, "int": int}.get(new.type, bool)).name
    )
    if dtype != kind.dtype:
        if not np.can_cast(dtype, kind.dtype, "same_kind"):
            raise low.refuse(
                KindError,
                f"an array of {kind.dtype} is changed in place by values of {dtype}",
                node,
                why="NumPy does not convert them.",
                instead=f"make it an array of {dtype} first: x = x.astype({dtype.rstrip('0123456789')}).",
            )
        result = low.builder.apply(
            ops.ASTYPE, (low.atom(result), Ref(getattr(np, kind.dtype), f"np.{kind.dtype}")), kind=Array(kind.dtype, dims)
        )
    atom = low.atom(result)
    if kind_of(atom) != kind and (dims is None or len(dims) < len(kind.dims)):
        arrays.store_item(low, owner, _EVERYTHING, atom, ops.INDEX_SET, node)
        return
    if isinstance(atom, Var) and atom.kind != kind and low.builder.made.get(atom) is not None:
        atom.kind = kind  # of the same shape, or NumPy raises
    arrays.store_whole(low, owner, atom, node)


def augmented(low: Lowering, owner: Value, operator: str, value: Value, node: ast.AST) -> None:
    """`x += value` of an array. Of a view its place in the array is added to."""
    stmt = arrays.view_of(low, arrays.handle_of(low, owner)) if isinstance(owner, Var) else None
    if stmt is not None and stmt.op is ops.ITEM and operator in ("Add", "Sub"):
        whole = _EVERYTHING if is_scalar(kind_of(owner)) else SliceOf(Const(None), Const(None), Const(None))
        update_item(low, owner, whole, operator, value, node)
        return
    update_whole(low, owner, operator, value, node)


# ---------------------------------------------------------------- functions and methods that write


def out_of(fn: Any, args: Args, kwargs: Kwargs) -> tuple[Value | None, Args, Kwargs]:
    """The array that a call is told to write its result to, and the arguments without it."""
    out = kwargs.get("out")
    if out is not None:
        kwargs = {k: v for k, v in kwargs.items() if k != "out"}
        out = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    elif isinstance(fn, np.ufunc) and fn.nout == 1 and len(args) == fn.nin + 1:
        out, args = args[-1], args[:-1]
    return (None if isinstance(out, Const) and out.value is None else out), args, kwargs


def call_with_out(low: Lowering, fn: Any, out: Value, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    """`np.add(a, b, out=c)`: c holds the sum, and is the result."""
    where = kwargs.pop("where", None)
    result = calls.call_numpy(low, fn, args, kwargs, node)
    if where is not None:
        result = calls.call_numpy(low, np.where, (where, result, out), {}, node)
    if isinstance(result, tuple):
        raise low.refuse(NoRule, f"`out=` of `{getattr(fn, '__name__', 'a function')}` is not accepted", node)
    replace_whole(low, out, result, node, symbol="out=")
    return out


def _fill(low: Lowering, owner: Value, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    write_item(low, owner, _EVERYTHING, args[0] if args else kwargs["value"], node)
    return Const(None)


def _sort(low: Lowering, owner: Value, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    replace_whole(low, owner, calls.call_numpy(low, np.sort, (owner, *args), kwargs, node), node, symbol="sort")
    return Const(None)


def _copyto(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    bound = dict(zip(("dst", "src", "casting", "where"), args)) | kwargs
    dst, src, where = bound["dst"], _as_array(low, bound["src"], node), bound.get("where")
    if where is not None and not (isinstance(where, Const) and where.value is True):
        src = calls.call_numpy(low, np.where, (where, src, dst), {}, node)
    write_item(low, dst, _EVERYTHING, src, node)
    return Const(None)


def _put(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    bound = dict(zip(("a", "ind", "v", "mode"), args)) | kwargs
    owner, index, value = bound["a"], _as_array(low, bound["ind"], node), _as_array(low, bound["v"], node)
    kind, given, placed = kind_of(owner), kind_of(low.atom(value)), kind_of(low.atom(index))
    if "mode" in bound or not isinstance(kind, Array) or kind.dims is None:
        raise low.refuse(NoRule, "`np.put` called so is not accepted", node, instead="write a[index] = v.")
    many = isinstance(given, Array) and given.dims not in ((), (1,))
    if many and not (isinstance(placed, Array) and isinstance(given, Array) and given.dims == placed.dims):
        raise low.refuse(
            NoRule, "`np.put` that repeats its values is not accepted", node, instead="give as many values as places."
        )
    if kind.ndim == 1:
        place: Value = index
    else:
        shape = low.builder.apply(ops.SHAPE, (owner,))
        place = calls.call_numpy(low, np.unravel_index, (index, shape), {}, node)
    write_item(low, owner, place, value, node)
    return Const(None)


def _fill_diagonal(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    bound = dict(zip(("a", "val", "wrap"), args)) | kwargs
    owner, kind = bound["a"], kind_of(bound["a"])
    if "wrap" in bound or not isinstance(kind, Array) or kind.ndim != 2:
        raise low.refuse(NoRule, "`np.fill_diagonal` called so is not accepted", node, instead="write a[i, i] = v.")
    shape = expressions.attribute(low, owner, "shape", node)
    n = shape[0] if shape[0] == shape[1] else calls.call_value(low, Ref(min, "min"), tuple(shape), {}, node)
    places = calls.call_numpy(low, np.arange, (n,), {}, node)
    write = _fitting(low, bound["val"], owner, node)
    arrays.store_item(low, owner, (low.atom(places), low.atom(places)), write, ops.INDEX_SET, node)
    return Const(None)


def _putmask(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    bound = dict(zip(("a", "mask", "values"), args)) | kwargs
    value = low.atom(_as_array(low, bound["values"], node))
    given, kind = kind_of(value), kind_of(bound["a"])
    if isinstance(given, Array) and given.dims != () and given.dims != getattr(kind, "dims", None):
        raise low.refuse(
            NoRule, "`np.putmask` that repeats its values is not accepted", node, instead="use np.copyto with where=."
        )
    return _copyto(low, (bound["a"], value), {"where": bound["mask"]}, node)


WRITERS: dict[Any, Callable[[Lowering, Args, Kwargs, ast.AST], Value]] = {
    np.copyto: _copyto,
    np.put: _put,
    np.fill_diagonal: _fill_diagonal,
    np.putmask: _putmask,
}
"""Functions that write into their first argument."""

METHODS: dict[str, Callable[[Lowering, Value, Args, Kwargs, ast.AST], Value]] = {"fill": _fill, "sort": _sort}
"""Methods of arrays that write into them."""


# ---------------------------------------------------------------- methods of ufuncs


def call_ufunc_method(low: Lowering, fn: np.ufunc, name: str, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    """`np.add.at(x, i, v)`, `np.multiply.reduce(x)`, `np.add.accumulate(x)`, `np.subtract.outer(a, b)`."""
    if name == "at" and fn in (np.add, np.subtract):
        owner, index, value = args[0], low.operand(args[1]), _fitting(low, args[2], args[0], node)
        if fn is np.subtract:
            value = _negative(low, value, node)
        is_once = is_without_repetition(index)
        arrays.store_item(low, owner, index, value, ops.INDEX_ADD if is_once else ops.SCATTER_ADD, node)
        return Const(None)
    if name == "at" and is_without_repetition(low.operand(args[1])):
        item = expressions.subscript(low, args[0], args[1], node)
        write_item(low, args[0], args[1], calls.call_numpy(low, fn, (item, *args[2:]), {}, node), node)
        return Const(None)
    if name == "reduce" and fn in _REDUCTIONS:
        bound = dict(zip(("axis",), args[1:])) | kwargs
        bound.setdefault("axis", Const(0))
        return calls.call_numpy(low, _REDUCTIONS[fn], (args[0],), bound, node)
    if name == "accumulate" and fn in _ACCUMULATIONS:
        bound = dict(zip(("axis",), args[1:])) | kwargs
        bound.setdefault("axis", Const(0))
        return calls.call_numpy(low, _ACCUMULATIONS[fn], (args[0],), bound, node)
    if name == "outer" and rule_for(fn) is not None and len(args) == 2 and not kwargs:
        a, b = (_as_array(low, arg, node) for arg in args)
        ndim = getattr(kind_of(low.atom(b)), "ndim", None if isinstance(kind_of(low.atom(b)), Unknown) else 0)
        if ndim is not None:
            index = (Const(Ellipsis), *([Const(None)] * ndim))
            wide = expressions.subscript(low, a, index, node) if getattr(kind_of(low.atom(a)), "ndim", 0) else a
            return calls.call_numpy(low, fn, (wide, b), {}, node)
    raise low.refuse(NoRule, f"no derivative rule for `np.{fn.__name__}.{name}`", node, instead="write it as a loop.")


_REDUCTIONS: dict[Any, Any] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
    np.logical_and: np.all,
    np.logical_or: np.any,
}
_ACCUMULATIONS: dict[Any, Any] = {np.add: np.cumsum, np.multiply: np.cumprod}
