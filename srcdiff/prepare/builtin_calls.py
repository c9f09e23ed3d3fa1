"""Builtins that work on structure, and the methods of arrays, lists, dicts and strings.

zip(xs, ys)      an Iterable, which a loop takes apart        sum(parts)     the sum written out, or a loop
x.dot(y)         np.dot(x, y)                                 hs.append(h)   a new version of hs
"""

from __future__ import annotations

import ast
import collections
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.errors import KindError, NoRule, SyntaxNotAccepted
from srcdiff.ir import ops
from srcdiff.ir.kinds import BOOL, Array, ListOf, Number, Opaque, TupleOf, Unknown, is_scalar
from srcdiff.ir.nodes import Const, ListDisplay, Op, Ref, Var
from srcdiff.prepare import calls, containers, expressions, functional, objects, statements, tables, writes
from srcdiff.prepare.lowering import Lowering, truth
from srcdiff.prepare.values import (
    Closure,
    DictRef,
    Instance,
    Iterable,
    ListRef,
    Method,
    ObjectRef,
    Partial,
    Record,
    Value,
    is_atom,
)
from srcdiff.rules import chapters
from srcdiff.rules.inference import kind_of

Args = tuple[Value, ...]
Kwargs = dict[str, Value]
Handler = Callable[[Lowering, Args, Kwargs, ast.AST], Value]


def _iterable(sort: str) -> Handler:
    def handler(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
        if kwargs:
            raise low.refuse(KindError, f"`{sort}` takes no keyword `{next(iter(kwargs))}`", node)
        return Iterable(sort, args)

    return handler


def _len(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    value = args[0]
    items = expressions.known_items(low, value)
    if items is not None:
        return Const(len(items))
    if isinstance(value, Iterable) and value.sort == "table":
        return tables.length(low, value)
    atom = low.store[value] if isinstance(value, ListRef) else value
    if not is_atom(atom):
        raise low.refuse(KindError, "the length of this value is not known", node)
    kind = kind_of(atom)
    if isinstance(kind, Array) and kind.dims and isinstance(kind.dims[0], int):
        return Const(kind.dims[0])
    if isinstance(kind, Number) or (isinstance(kind, Array) and kind.dims == ()):
        raise low.refuse(KindError, "a number has no length", node)
    return low.builder.apply(ops.LEN, (atom,))


def _sequence_of(cls: str) -> Handler:
    def handler(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
        if not args:
            return low.new_list(()) if cls == "list" else ()
        items = expressions.known_items(low, args[0])
        if items is None and isinstance(args[0], ListRef) and cls == "list":
            return low.new_list(low.store[args[0]])
        if items is None and isinstance(args[0], (Iterable, Var)) and cls == "list":
            return collected(low, args[0], node)
        if items is None:
            items = expressions.items_of(low, args[0], None, node)
        return low.new_list(tuple(items)) if cls == "list" else tuple(items)

    return handler


def collected(low: Lowering, iterable: Value, node: ast.AST) -> Value:
    """list(iterable), as the comprehension that it stands for."""
    return with_names(low, node, "[v for v in it]", it=iterable)


def with_names(low: Lowering, node: ast.AST, text: str, **values: Value) -> Value:
    """The value of a small expression of ours, its names bound to values."""
    tree = ast.parse(text, mode="eval").body
    hidden = _hidden_names(low, tree, node)
    low.frame.vars.update({hidden[name]: value for name, value in values.items()})
    result = expressions.lower(low, tree)
    for name in hidden.values():
        low.frame.vars.pop(name, None)
    return result


def _hidden_names(low: Lowering, tree: ast.AST, node: ast.AST) -> dict[str, str]:
    """Give the names in a tree of ours hidden ones, which are those of no other."""
    serial, hidden = next(low.serial), dict[str, str]()
    for child in ast.walk(tree):
        if hasattr(child, "lineno"):
            ast.copy_location(child, node)
        if isinstance(child, ast.Name):
            child.id = hidden.setdefault(child.id, f"<{child.id}<{serial}>")
            low.frame.woven[child.id] = tree
    return hidden


def _dict(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    entries = containers.entries_of(low, args[0], node) if args else {}
    return low.new_dict(tuple({**entries, **kwargs}.items()))


def _sum(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    start = args[1] if len(args) > 1 else kwargs.get("start", Const(0))
    items = expressions.known_items(low, args[0])
    if items is None:
        atom = low.store[args[0]] if isinstance(args[0], ListRef) else args[0]
        kind = kind_of(atom) if is_atom(atom) else None
        if isinstance(kind, ListOf) and is_scalar(kind.item) and start in (Const(0), Const(0.0)):
            extra = () if start == Const(0) else (start,)
            return low.builder.apply(ops.call_op(sum, "sum"), (atom, *extra), kind=kind.item, hint="total")
        return _accumulate(low, args[0], start, node)
    total = start
    for item in items:
        total = item if isinstance(total, Const) and total == Const(0) else expressions.binary(low, "Add", total, item, node)
    return total


def _accumulate(low: Lowering, iterable: Value, start: Value, node: ast.AST) -> Value:
    return accumulated(low, node, it=iterable, total=start, add=Ref(_added, "sum"))


def _added(total: Any, item: Any) -> Any:
    return total + item


def _multiplied(total: Any, item: Any) -> Any:
    return total * item


def _unless_neutral(symbol: str, neutral: int) -> Handler:
    """The first item of a sum or product stands for itself."""

    def handler(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
        total, item = args
        return item if total == Const(neutral) else expressions.binary(low, symbol, total, item, node)

    return handler


def accumulated(low: Lowering, node: ast.AST, *, it: Value, total: Value, add: Value) -> Value:
    """What comes of `total` when each item is added, by `add`."""
    tree = ast.parse("for item in it: total = add(total, item)").body
    hidden = _hidden_names(low, tree[0], node)
    low.frame.vars.update({hidden["it"]: it, hidden["total"]: total, hidden["add"]: add})
    statements.lower_whole(low, tree)
    result = low.frame.vars[hidden["total"]]
    for name in hidden.values():
        low.frame.vars.pop(name, None)
    return result


def first(low: Lowering, node: ast.AST, *, it: Value, default: Value) -> Value:
    """The first item of a generator; the default where it has none."""
    tree = ast.parse("for item in it:\n    found = item\n    break").body
    hidden = _hidden_names(low, tree[0], node)
    low.frame.vars.update({hidden["it"]: it, hidden["found"]: default})
    low.frame.woven[hidden["found"]] = ast.Module([*tree, ast.Expr(ast.Name(hidden["found"], ast.Load()))], [])
    statements.lower_whole(low, tree)
    result = expressions.read_name(low, hidden["found"], node)
    for name in hidden.values():
        low.frame.vars.pop(name, None)
    return result


def as_scalar(low: Lowering, cls: type, value: Value, node: ast.AST) -> Value:
    """`np.float64(x)`, `np.float32(x)`: x as a scalar or array of that dtype."""
    if isinstance(value, (ListRef, tuple)):
        value = array(low, (value,), {}, node)
    name = np.dtype(cls).name
    kind = kind_of(low.atom(value))
    if not isinstance(kind, (Number, Array)):
        raise low.refuse(KindError, f"`np.{name}` is given a value that is neither number nor array", node)
    dims = kind.dims if isinstance(kind, Array) else ()
    return low.builder.apply(Op(f"np.{name}", "call", f"np.{name}", cls), (low.atom(value),), kind=Array(name, dims), hint=name)


def _asarray(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    if args and isinstance(args[0], (ListRef, tuple)):
        return array(low, args, kwargs, node)
    kind = kind_of(args[0]) if args and is_atom(args[0]) else None
    dtype = args[1] if len(args) > 1 else kwargs.get("dtype")
    if (
        isinstance(kind, Array)
        and kind.dims
        and (dtype is None or isinstance(dtype, Ref) and np.dtype(dtype.value).name == kind.dtype)
    ):
        return args[0]  # the array itself
    return calls.call_primitive(low, _rule(low, np.asarray, node), args, kwargs, node)


def _product(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    start = kwargs.get("start", Const(1))
    items = expressions.known_items(low, args[0])
    if items is None:
        return accumulated(low, node, it=args[0], total=start, add=Ref(_multiplied, "prod"))
    total = start
    for item in items:
        total = item if total == Const(1) else expressions.binary(low, "Mult", total, item, node)
    return total


def _frexp(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    """math.frexp: the exponent is locally constant, and the mantissa is math.ldexp(x, -exponent)."""
    pair = low.builder.apply(
        ops.call_op(math.frexp, "math.frexp"), (low.atom(args[0]),), kind=TupleOf((Number("float"), Number("int")))
    )
    exponent = low.builder.item(pair, Const(1), hint="exponent")
    negative = low.builder.apply(ops.NEG, (exponent,))
    return calls.call_numpy(low, math.ldexp, (args[0], negative), {}, node), exponent


def _extreme(name: str) -> Handler:
    fn = {"min": min, "max": max}[name]

    def handler(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
        found = functional.extreme(low, name, args, kwargs, node)
        if found is not None:
            return found
        items: list[Value] | None = list(args)
        if len(args) == 1:
            items = expressions.known_items(low, args[0])
            if items is None:
                reduction: Any = np.min if name == "min" else np.max
                value = low.store[args[0]] if isinstance(args[0], ListRef) else args[0]
                if is_atom(value) and isinstance(kind_of(value), Array):
                    return calls.call_numpy(low, reduction, (value,), {}, node)
                if is_atom(value):
                    stacked = calls.call_numpy(low, np.stack, (args[0],), {}, node)
                    return calls.call_numpy(low, reduction, (stacked,), {}, node)
                return calls.call_numpy(low, reduction, (array(low, (collected(low, value, node),), {}, node),), {}, node)
        if not items:
            raise low.refuse(KindError, f"{name}() of nothing", node)
        if all(isinstance(i, Const) for i in items):
            return Const(fn(i.value for i in items))
        rule = chapters.find(fn)
        if rule is None:
            raise low.refuse(NoRule, f"no derivative rule for `{name}`", node)
        result = items[0]
        for item in items[1:]:
            result = low.builder.apply(ops.call_op(fn, name), (low.atom(result), low.atom(item)))
        return result

    return handler


def _every(is_all: bool) -> Handler:
    def handler(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
        items = expressions.known_items(low, args[0])
        if items is None:
            value = low.store[args[0]] if isinstance(args[0], ListRef) else args[0]
            if is_atom(value):
                return low.builder.apply(
                    Op("all" if is_all else "any", "call", "all" if is_all else "any", all if is_all else any),
                    (value,),
                    kind=BOOL,
                )
            return handler(low, (collected(low, value, node),), {}, node)
        result: Value = Const(is_all)
        for item in items:
            known = truth(item, low)
            if known is not None:
                if known != is_all:
                    return Const(not is_all)
                continue
            if isinstance(result, Const):
                result = item
            else:
                result = low.builder.apply(ops.AND if is_all else ops.OR, (low.atom(result), low.atom(item)), kind=BOOL)
        return result

    return handler


def _print(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    op = ops.call_op(print, "print", True)
    named = tuple((k, low.operand(v)) for k, v in kwargs.items())
    low.builder.apply_all(op, tuple(low.operand(a) for a in args), named, kind=())
    return Const(None)


def _isinstance(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    value, classes = args
    wanted = classes if isinstance(classes, tuple) else (classes,)
    types = tuple(c.value for c in wanted if isinstance(c, Ref))
    kind = kind_of(value) if is_atom(value) else None
    if isinstance(kind, Array) and kind.dims == () and len(types) == len(wanted):  # a scalar of NumPy's, or an array without axes
        answers = {issubclass(cls, types) for cls in (np.dtype(kind.dtype).type, np.ndarray)}
        if len(answers) == 1:
            return Const(answers.pop())
        asked = tuple(Ref(t, t.__name__) for t in types)
        return low.builder.apply(ops.call_op(isinstance, "isinstance"), (value, asked if len(asked) > 1 else asked[0]), kind=BOOL)
    sample = type_of(low, value)
    if sample is None or len(types) != len(wanted):
        raise low.refuse(KindError, "the class of this value is not known when the function is compiled", node)
    return Const(issubclass(sample, types))


def type_of(low: Lowering, value: Value) -> type | None:
    match value:
        case tuple():
            return tuple
        case ListRef():
            return low.classes.get(value, list)
        case DictRef():
            return low.classes.get(value, dict)
        case Record() | ObjectRef():
            return value.cls
        case Instance():
            return type(value.value)
        case Const(None):
            return type(None)
        case Ref():
            return type(value.value)
        case Closure() | Partial():
            return type(type_of)
    if not is_atom(value):
        return None
    match kind_of(value):
        case Number(name):
            return {"float": float, "int": int, "bool": bool, "complex": complex}[name]
        case Array(dtype, dims) if dims is not None:
            return np.ndarray if dims else np.dtype(dtype).type
        case ListOf():
            return list
        case Opaque("str"):
            return str
        case Opaque("NoneType"):
            return type(None)
        case Opaque("bytes"):
            return bytes
    return None


_ARRAY = Op("np.array", "call", "np.array", np.array)


def array(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    """np.array of lists of values: their stack."""
    value = args[0]
    if kwargs.keys() - {"dtype"} or len(args) > 2:
        raise low.refuse(NoRule, "no derivative rule for `np.array` called so", node)
    dtype = args[1] if len(args) > 1 else kwargs.get("dtype")
    if dtype is not None and not (isinstance(dtype, Ref) and dtype.value in (float, np.float64, np.float32)):
        if expressions.known_items(low, value) is None or not _is_constant(low, value):
            raise low.refuse(NoRule, "no derivative rule for `np.array` with a dtype that is not float", node)
    named = () if dtype is None else (("dtype", dtype),)
    if _is_constant(low, value):
        concrete = np.array(_concrete(low, value), dtype=None if dtype is None else dtype.value)
        return low.builder.apply(
            _ARRAY, (low.operand(value),), named, kind=Array(concrete.dtype.name, concrete.shape), hint="array"
        )
    if is_atom(value) and not isinstance(value, ListRef):
        kind = kind_of(value)
        if isinstance(kind, (Number, Array, Unknown)):
            return low.builder.apply(_ARRAY, (value,), named, kind=_array_kind(kind, dtype), hint="array")
    items = expressions.known_items(low, value)
    if items is not None:
        parts = tuple(array(low, (i,), {}, node) if isinstance(i, (ListRef, tuple)) else i for i in items)
        atoms = tuple(low.atom(p) for p in parts)
        if all(is_scalar(kind_of(a)) for a in atoms) and not any(isinstance(kind_of(a), Unknown) for a in atoms):
            kinds = [kind_of(a) for a in atoms]
            sample = np.array([_sample(k) for k in kinds], dtype=None if dtype is None else dtype.value)
            return low.builder.apply(
                _ARRAY, (ListDisplay(atoms),), named, kind=Array(sample.dtype.name, (len(atoms),)), hint="array"
            )
        result = calls.call_numpy(low, np.stack, (low.new_list(atoms),), {}, node)
    else:
        rows = low.store[value] if isinstance(value, ListRef) else value
        of = kind_of(rows) if is_atom(rows) else None
        if isinstance(of, ListOf) and is_scalar(of.item):
            sample = np.array([_sample(of.item)], dtype=None if dtype is None else dtype.value)
            return low.builder.apply(_ARRAY, (rows,), named, kind=Array(sample.dtype.name, (of.length,)), hint="array")
        if isinstance(of, ListOf) and isinstance(of.item, Array) and of.item.dims is not None:  # which may be empty
            dtype_name = of.item.dtype if dtype is None else np.dtype(dtype.value).name
            return low.builder.apply(_ARRAY, (rows,), named, kind=Array(dtype_name, (of.length, *of.item.dims)), hint="array")
        if isinstance(of, ListOf) and isinstance(of.item, ListOf):
            value = with_names(low, node, "[array(row) for row in it]", it=value, array=Ref(np.array, "np.array"))
        result = calls.call_numpy(low, np.stack, (value,), {}, node)
    return result if dtype is None else _astype(low, result, dtype, node)


def _array_kind(kind: Any, dtype: Any) -> Any:
    if isinstance(kind, Unknown):
        return kind
    name = np.array(
        _sample(kind) if is_scalar(kind) else np.ones(1, kind.dtype), dtype=None if dtype is None else dtype.value
    ).dtype.name
    return Array(name, kind.dims if isinstance(kind, Array) else ())


def _sample(kind: Any) -> Any:
    if isinstance(kind, Number):
        return {"float": 0.5, "int": 1, "bool": True, "complex": 1j}[kind.type]
    return np.dtype(kind.dtype).type(1)


def _is_constant(low: Lowering, value: Value) -> bool:
    items = expressions.known_items(low, value) if not is_atom(value) else None
    if items is not None:
        return all(_is_constant(low, i) for i in items)
    return isinstance(value, Const) and isinstance(value.value, (bool, int, float))


def _concrete(low: Lowering, value: Value) -> Any:
    items = expressions.known_items(low, value) if not is_atom(value) else None
    return value.value if items is None else [_concrete(low, i) for i in items]


def _astype(low: Lowering, value: Value, dtype: Value, node: ast.AST) -> Value:
    if not isinstance(dtype, Ref):
        raise low.refuse(KindError, "the dtype is not known when the function is compiled", node)
    name = np.dtype(dtype.value).name
    kind = kind_of(value)
    dims = kind.dims if isinstance(kind, Array) else ()
    return low.builder.apply(ops.ASTYPE, (low.atom(value), dtype), kind=Array(name, dims))


def _shape(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    return expressions.attribute(low, args[0], "shape", node) if not _is_number(args[0]) else ()


def _size(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    if len(args) > 1 or kwargs:
        axis = args[1] if len(args) > 1 else kwargs["axis"]
        return expressions.subscript(low, expressions.attribute(low, args[0], "shape", node), axis, node)
    return Const(1) if _is_number(args[0]) else expressions.attribute(low, args[0], "size", node)


def _ndim(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    return Const(0) if _is_number(args[0]) else expressions.attribute(low, args[0], "ndim", node)


def _is_number(value: Value) -> bool:
    return is_atom(value) and isinstance(kind_of(value), Number)


def _float(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    value = args[0] if args else Const(0.0)
    if isinstance(value, Const):
        return Const(float(value.value))
    kind = kind_of(value) if is_atom(value) else None
    if kind == Number("float"):
        return value
    return calls.call_primitive(low, _rule(low, float, node), (value,), {}, node)


def _int(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    if isinstance(args[0], Const):
        return Const(int(args[0].value))
    kind = kind_of(args[0]) if is_atom(args[0]) else None
    if isinstance(kind, Number) and kind.type == "int":
        return args[0]
    return low.builder.apply(ops.call_op(int, "int"), (low.atom(args[0]),), kind=Number("int"))


def _bool(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    known = truth(args[0], low)
    return Const(known) if known is not None else low.builder.apply(ops.call_op(bool, "bool"), (low.atom(args[0]),), kind=BOOL)


def _str(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    return low.builder.apply(Op("str", "call", "str", str), tuple(low.operand(a) for a in args), kind=Opaque("str"))


def _rule(low: Lowering, fn: Any, node: ast.AST) -> Any:
    rule = chapters.find(fn)
    if rule is None:
        raise low.refuse(NoRule, f"no derivative rule for `{fn.__name__}`", node)
    return rule


def _stop_gradient(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    raise low.refuse(NoRule, "stop_gradient", node)


HANDLERS: dict[Any, Handler] = {
    len: _len,
    range: _iterable("range"),
    reversed: _iterable("reversed"),
    list: _sequence_of("list"),
    tuple: _sequence_of("tuple"),
    dict: _dict,
    collections.deque: containers.make_deque,
    collections.defaultdict: containers.make_default_dict,
    collections.OrderedDict: containers.make_ordered_dict,
    sum: _sum,
    _added: _unless_neutral("Add", 0),
    _multiplied: _unless_neutral("Mult", 1),
    min: _extreme("min"),
    max: _extreme("max"),
    any: _every(False),
    all: _every(True),
    print: _print,
    isinstance: _isinstance,
    float: _float,
    int: _int,
    bool: _bool,
    str: _str,
    repr: _str,
    math.fsum: _sum,
    math.prod: _product,
    math.frexp: _frexp,
    np.array: array,
    np.asarray: _asarray,
    np.asanyarray: _asarray,
    np.ascontiguousarray: _asarray,
    np.shape: _shape,
    np.size: _size,
    np.ndim: _ndim,
}


# ---------------------------------------------------------------- methods

_ARRAY_METHODS = (
    "sum",
    "mean",
    "std",
    "var",
    "max",
    "min",
    "prod",
    "cumsum",
    "cumprod",
    "dot",
    "ravel",
    "squeeze",
    "swapaxes",
    "trace",
    "diagonal",
    "round",
    "repeat",
    "take",
    "clip",
    "argmax",
    "argmin",
    "argsort",
    "any",
    "all",
    "nonzero",
    "ptp",
    "searchsorted",
)


def call_method(low: Lowering, method: Method, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    owner, name = method.owner, method.name
    match owner:
        case ListRef():
            return containers.list_method(low, owner, name, args, kwargs, node)
        case DictRef():
            return containers.dict_method(low, owner, name, args, kwargs, node)
        case Iterable("table"):
            return tables.call_method(low, owner, name, args, node)
        case tuple():
            if name in ("index", "count"):
                return search(low, list(owner), name, args, node)
        case Record():
            made = objects.replaced if name == "_replace" else objects.as_dict
            return made(low, (owner, *args), kwargs, node)
    if isinstance(owner, Ref) and isinstance(owner.value, np.ufunc):
        return writes.call_ufunc_method(low, owner.value, name.rsplit(".", 1)[-1], args, kwargs, node)
    if is_atom(owner):
        kind = kind_of(owner)
        if isinstance(kind, (Number, Array, Unknown)):
            return _array_method(low, owner, name, args, kwargs, node)
        if isinstance(owner, Const) and isinstance(owner.value, str) and all(isinstance(a, Const) for a in args) and not kwargs:
            folded = getattr(owner.value, name)(*(a.value for a in args))
            if folded is None or isinstance(folded, (str, bool, int)):
                return Const(folded)
            if isinstance(folded, list):
                return low.new_list(tuple(Const(v) for v in folded))
        if isinstance(kind, Opaque) and kind.type == "str":
            op = Op(f"str.{name}", "method", name)
            return low.builder.apply(op, (owner, *(low.operand(a) for a in args)), kind=Opaque("str"))
    if is_atom(owner) and kind_of(owner) == Opaque("list"):
        raise low.refuse(
            KindError,
            "a list whose length the run decides holds empty lists, or lists of values of several kinds",
            node,
            instead="begin with lists that hold their first items, or use a list for each.",
        )
    raise low.refuse(NoRule, f"the method `.{name}` of this value is not accepted", node)


def search(low: Lowering, items: list[Value], name: str, args: Args, node: ast.AST) -> Value:
    if not all(isinstance(i, Const) for i in (*items, args[0])):
        raise low.refuse(KindError, f"`.{name}` on values that only the run knows", node)
    found = [i for i, x in enumerate(items) if x.value == args[0].value]
    if name == "count":
        return Const(len(found))
    if not found:
        raise low.refuse(KindError, f"{args[0].value!r} is not in the list", node)
    return Const(found[0])


def _array_method(low: Lowering, owner: Value, name: str, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    if name == "copy":
        return low.builder.apply(ops.ARRAY_COPY, (owner,), kind=kind_of(owner), hint="copy")
    if name == "astype":
        return _astype(low, owner, args[0], node)
    if name == "item" and not args:
        return calls.call_primitive(low, _rule(low, float, node), (owner,), {}, node)
    if name in ("reshape", "transpose"):
        fn = getattr(np, name)
        if name == "transpose" and (not args or args == (Const(None),)):
            return calls.call_numpy(low, fn, (owner,), kwargs, node)
        shape = args[0] if len(args) == 1 else tuple(args)
        return calls.call_numpy(low, fn, (owner, shape), kwargs, node)
    if name == "flatten":
        flat = calls.call_numpy(low, np.ravel, (owner, *args), kwargs, node)
        return low.builder.apply(ops.ARRAY_COPY, (flat,), kind=kind_of(flat), hint="flat")
    if name in ("conj", "conjugate") and not getattr(kind_of(owner), "dtype", "complex").startswith("complex"):
        return owner
    if name == "conj" or name == "conjugate":
        return calls.call_numpy(low, np.conj, (owner,), {}, node)
    if name in _ARRAY_METHODS:
        return calls.call_numpy(low, getattr(np, name), (owner, *args), kwargs, node)
    if name in writes.METHODS:
        return writes.METHODS[name](low, owner, args, kwargs, node)
    if name == "put":
        return writes.WRITERS[np.put](low, (owner, *args), kwargs, node)
    if name in ("itemset", "partition", "resize", "setflags", "byteswap", "setfield"):
        raise low.refuse(
            SyntaxNotAccepted,
            f"the method `.{name}` changes the array in place",
            node,
            instead="write into it with x[i] = v, x[:] = v, x.fill(v) or x.sort().",
        )
    raise low.refuse(NoRule, f"no derivative rule for the method `.{name}` of arrays", node)
