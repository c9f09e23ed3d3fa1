"""Expressions: a value for each, statements for what the run computes.

(1 - x / K) * r      t1 = div(x, K);  t2 = sub(1, t1);  t3 = mul(t2, r)
layers[-1]           the tuple of values that is known to stand there
"""

from __future__ import annotations

import ast
import builtins
import enum
import importlib
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.errors import KindError, SrcdiffError, SyntaxNotAccepted, add_line_note
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, Dim, ListOf, Number, Opaque, TupleOf, Unknown, is_scalar, spoken_kind
from srcdiff.ir.nodes import UNBOUND, Const, Free, ListDisplay, Op, Ref, SliceOf, Var
from srcdiff.prepare import (
    arrays,
    calls,
    containers,
    exceptions,
    generators,
    loops,
    nested,
    objects,
    procedures,
    statements,
    tables,
)
from srcdiff.prepare.entry import open_global
from srcdiff.prepare.lowering import Arm, Frame, Lowering, join_arms, truth
from srcdiff.prepare.values import (
    REFERENCES,
    Closure,
    DictRef,
    Instance,
    Iterable,
    ListRef,
    Method,
    ObjectRef,
    Partial,
    Poison,
    Record,
    Super,
    Value,
    is_atom,
)
from srcdiff.read.source import FunctionSource
from srcdiff.rules.inference import kind_of

_ARRAY_ATTRIBUTES = {"shape": ops.SHAPE, "size": ops.SIZE, "ndim": ops.NDIM, "dtype": ops.DTYPE, "T": ops.TRANSPOSE}


def lower(low: Lowering, node: ast.expr) -> Value:
    """The value of an expression; an error without a place gets this expression's."""
    try:
        value = _lower(low, node)
        if isinstance(value, Poison):
            raise low.refuse(KindError, value.reason, node)
        return value
    except SrcdiffError as error:
        if error.origin is None:
            raise type(error)(error.what, low.origin(node), error.why, error.instead) from None
        raise


def _lower(low: Lowering, node: ast.expr) -> Value:
    match node:
        case ast.Constant(value):
            return Const(value)
        case ast.Name(name):
            return read_name(low, name, node)
        case ast.BinOp(left, op, right):
            return binary(low, type(op).__name__, lower(low, left), lower(low, right), node)
        case ast.UnaryOp(op, operand):
            return lower_unary(low, type(op).__name__, lower(low, operand), node)
        case ast.Compare():
            return _compare(low, node)
        case ast.BoolOp(op, values):
            return _bool(low, isinstance(op, ast.And), values, node)
        case ast.IfExp(test, body, orelse):
            return _conditional(low, objects.truth_of(low, lower(low, test), test), body, orelse, node)
        case ast.Call():
            return calls.lower_call(low, node)
        case ast.Attribute(owner, name):
            return attribute(low, lower(low, owner), name, node)
        case ast.Subscript(owner, index):
            return subscript(low, lower(low, owner), lower(low, index), node)
        case ast.Slice(start, stop, step):
            parts = [Const(None) if p is None else low.atom(lower(low, p)) for p in (start, stop, step)]
            return SliceOf(*parts)
        case ast.Tuple(parts):
            return tuple(_spread(low, parts))
        case ast.List(parts):
            return low.new_list(tuple(_spread(low, parts)))
        case ast.Dict(keys, values):
            return _dict(low, keys, values, node)
        case ast.Lambda():
            return closure(low, node, "lambda")
        case ast.ListComp() | ast.DictComp():
            return _comprehension(low, node)
        case ast.GeneratorExp():
            return generators.expression(low, node)
        case generators.OuterName():
            return read_name_in(low, node.id, node.frame, node.source, node)
        case ast.NamedExpr(target, value):
            bound = lower(low, value)
            statements.bind_name(low, target.id, bound)
            return bound
        case ast.Set(parts):
            return _set(low, parts, node)
        case ast.JoinedStr():
            return _format(low, node)
        case _:
            raise low.refuse(SyntaxNotAccepted, f"`{type(node).__name__}` is not accepted", node)


def _set(low: Lowering, parts: list[ast.expr], node: ast.AST) -> Value:
    """A set of what is known when compiling, each once."""
    keys = [containers.key_of(v) for v in _spread(low, parts)]
    if containers.MISSING in keys:
        raise low.refuse(
            KindError,
            "a set holds values that only the run knows",
            node,
            why="A set of numbers keeps one of two equal ones, so its elements have no adjoints of their own.",
            instead="use a list or a tuple.",
        )
    return Iterable("set", tuple(containers.key_value(k) for k in dict.fromkeys(keys)))


def _spread(low: Lowering, parts: list[ast.expr]) -> list[Value]:
    out: list[Value] = []
    for part in parts:
        if isinstance(part, ast.Starred):
            out.extend(items_of(low, lower(low, part.value), None, part))
        else:
            out.append(lower(low, part))
    return out


# ---------------------------------------------------------------- names


def read_name(low: Lowering, name: str, node: ast.AST) -> Value:
    """The value of a name: of this call, of the functions around it, a cell, a global, a builtin."""
    return read_name_in(low, name, low.frame, low.frame.source, node)


def read_name_in(low: Lowering, name: str, frame: Frame | None, source: FunctionSource, node: ast.AST) -> Value:
    """The value of a name in a frame, or in none, where only the cells and globals of the source are around."""
    while frame is not None:
        if name in frame.vars or name in frame.cells:
            value = frame.vars[name] if name in frame.vars else low.store[frame.cells[name]][0]
            if isinstance(value, Poison):
                raise low.refuse(KindError, value.reason, node, instead="give it one kind on every path.")
            if isinstance(value, Const) and value.value is UNBOUND:
                raise low.refuse(KindError, f"`{name}` is read before it is bound", node)
            if isinstance(value, Var) and value in low.unsure:
                low.builder.apply_all(ops.BOUND, (value,), kind=())
            return value
        if name in frame.locals:
            raise low.refuse(KindError, f"`{name}` is read before it is bound", node)
        source = frame.source
        frame = frame.outer
    if name in source.cells:
        return open_global(low, source.cells[name].cell_contents, name, source, is_cell=True)
    if name in source.globals:
        return open_global(low, source.globals[name], name, source, is_cell=False)
    if hasattr(builtins, name):
        return Ref(getattr(builtins, name), name)
    error = NameError(f"name '{name}' is not defined")
    origin = low.origin(node)
    if origin is not None:
        add_line_note(error, origin)
    raise error


def decorated(low: Lowering, node: ast.FunctionDef) -> Value:
    """A function within a function, as its decorators leave it."""
    decorators = [lower(low, decorator) for decorator in node.decorator_list]
    value: Value = closure(low, node, node.name)
    for decorator in reversed(decorators):
        value = calls.call_value(low, decorator, (value,), {}, node)
    return value


def closure(low: Lowering, node: ast.FunctionDef | ast.Lambda, name: str) -> Closure:
    args = node.args
    defaults = {}
    positional = [*args.posonlyargs, *args.args]
    for arg, default in zip(positional[len(positional) - len(args.defaults) :], args.defaults):
        defaults[arg.arg] = lower(low, default)
    for arg, kw_default in zip(args.kwonlyargs, args.kw_defaults):
        if kw_default is not None:
            defaults[arg.arg] = lower(low, kw_default)
    return Closure(node, low.frame, low.frame.source, defaults, name)


def import_module(low: Lowering, alias: ast.alias) -> None:
    module = importlib.import_module(alias.name)
    name = alias.asname or alias.name.split(".")[0]
    low.frame.vars[name] = Ref(module if alias.asname else importlib.import_module(name), name)


def import_from(low: Lowering, node: ast.ImportFrom) -> None:
    package = low.frame.source.globals.get("__package__")
    module = importlib.import_module("." * node.level + (node.module or ""), package)
    for alias in node.names:
        name = alias.asname or alias.name
        low.frame.vars[name] = open_global(low, getattr(module, alias.name), name, low.frame.source, is_cell=False)


# ---------------------------------------------------------------- operators


def binary(low: Lowering, symbol: str, a: Value, b: Value, node: ast.AST) -> Value:
    op = ops.BINARY[symbol]
    if op not in (ops.IS, ops.IS_NOT, ops.IN, ops.NOT_IN):
        a, b = objects.number_of(a), objects.number_of(b)
    found = objects.binary(low, symbol, a, b, node)
    if found is not None:
        return found
    folded = _fold_containers(low, op, a, b, node)
    if folded is not None:
        return folded
    if (
        isinstance(a, Const)
        and isinstance(b, Const)
        and not isinstance(a.value, (float, complex))
        and not isinstance(b.value, (float, complex))
    ):
        constant = _fold(op, a, b)
        if constant is not None:
            return constant
    if op in (ops.IN, ops.NOT_IN) and isinstance(b, Iterable):
        b = tuple(items) if (items := known_items(low, b)) is not None else b
    a, b = _dispatching(low, a, op, b, node)
    a, b = low.atom(a), low.atom(b)
    if any(isinstance(kind_of(x), Opaque) for x in (a, b)):
        if kind_of(a) == Opaque("str") and (op.text == "%" or op.text == "+" and kind_of(b) == Opaque("str")):
            return low.builder.apply(op, (a, b), kind=Opaque("str"))
        bad = a if isinstance(kind_of(a), Opaque) else b
        if op in (ops.EQ, ops.NE) and isinstance(bad, Const) and is_scalar(kind_of(b if bad is a else a)):
            return Const(op is ops.NE)
        raise low.refuse(KindError, f"`{op.text}` is given a value that is neither number nor array ({_spoken(bad)})", node)
    return low.builder.apply(op, (a, b))


def _spoken(atom: Any) -> str:
    return repr(atom.value) if isinstance(atom, Const) else spoken_kind(kind_of(atom))


def _dispatching(low: Lowering, a: Value, op: Op, b: Value, node: ast.AST) -> tuple[Value, Value]:
    """A list beside an array becomes an array, as NumPy has it."""
    sides = [a, b]
    for i, other in ((0, b), (1, a)):
        if isinstance(sides[i], (ListRef, tuple)) and is_atom(other) and isinstance(kind_of(other), Array):
            sides[i] = calls.call_numpy(low, np.array, (sides[i],), {}, node)
        elif isinstance(sides[i], (Closure, Partial, Method, Iterable)):
            raise low.refuse(KindError, f"`{op.text}` is given a function or an iterator", node)
    return sides[0], sides[1]


def _fold(op: Op, a: Const, b: Const) -> Const | None:
    """Integers, strings and booleans that are known are computed when compiling; floats stay as the user wrote them."""
    import operator

    functions: dict[str, Any] = {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "//": operator.floordiv,
        "%": operator.mod,
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
        "==": operator.eq,
        "!=": operator.ne,
        "is": operator.is_,
        "is not": operator.is_not,
        "in": lambda x, y: x in y,
        "not in": lambda x, y: x not in y,
    }
    fn = functions.get(op.text)
    if op.text == "**" and isinstance(a.value, int) and isinstance(b.value, int) and 0 <= b.value < 64:
        return Const(a.value**b.value)
    if fn is None:
        return None
    try:
        return Const(fn(a.value, b.value))
    except (TypeError, ZeroDivisionError):
        return None


def _fold_containers(low: Lowering, op: Op, a: Value, b: Value, node: ast.AST) -> Value | None:
    if isinstance(a, tuple) and isinstance(b, tuple) and op is ops.ADD:
        return a + b
    if op is ops.ADD and isinstance(a, ListRef) and isinstance(b, ListRef):
        x, y = low.items(a), low.items(b)
        if x is not None and y is not None:
            return low.new_list(x + y)
        return containers.joined(low, a, b, node)
    if op is ops.BITOR and isinstance(a, DictRef) and isinstance(b, DictRef):
        return containers.united(low, a, b)
    if op is ops.MUL:
        for x, n in ((a, b), (b, a)):
            if isinstance(n, Const) and isinstance(n.value, int):
                if isinstance(x, tuple):
                    return x * n.value
                if isinstance(x, ListRef) and low.items(x) is not None:
                    return low.new_list(low.items(x) * n.value)  # type: ignore[operator]
            if isinstance(x, ListRef) and is_atom(n) and kind_of(n) == Number("int"):
                return low.new_list(low.builder.apply(ops.MUL, (low.operand(x), n), hint="items"))
    if (
        op in (ops.EQ, ops.NE)
        and isinstance(a, (Ref, Const))
        and isinstance(b, (Ref, Const))
        and (isinstance(a, Ref) or isinstance(b, Ref))
    ):
        return Const(bool(a.value == b.value) == (op is ops.EQ))
    if op in (ops.IS, ops.IS_NOT):
        same = is_same(a, b)
        if same is not None:
            return Const(same == (op is ops.IS))
    if op in (ops.IN, ops.NOT_IN):
        found = _is_in(low, a, b)
        if found is not None:
            return Const(found == (op is ops.IN))
    if op in (ops.EQ, ops.NE) and isinstance(a, tuple) and isinstance(b, tuple):
        if len(a) != len(b):
            return Const(op is ops.NE)
        parts = [binary(low, "Eq", x, y, node) for x, y in zip(a, b)]
        result = parts[0] if parts else Const(True)
        for part in parts[1:]:
            result = low.builder.apply(ops.AND, (low.atom(result), low.atom(part)), kind=Number("bool"))
        return result if op is ops.EQ else lower_unary(low, "Not", result, node)
    return None


def is_same(a: Value, b: Value) -> bool | None:
    """`a is b` for what is known: None, functions, classes, lists, dicts and objects."""
    if isinstance(a, REFERENCES) and isinstance(b, REFERENCES):
        return a == b
    values = [x.value if isinstance(x, (Const, Ref)) else _MISSING for x in (a, b)]
    if _MISSING not in values and all(v is None or isinstance(v, bool) or isinstance(x, Ref) for v, x in zip(values, (a, b))):
        return values[0] is values[1]
    for x, other in ((a, b), (b, a)):
        if isinstance(x, Const) and x.value is None:
            return isinstance(other, Const) and other.value is None
    return None


_MISSING = object()


def _is_in(low: Lowering, a: Value, b: Value) -> bool | None:
    if isinstance(b, DictRef) or isinstance(b, Iterable) and b.sort == "keys":
        key = containers.key_of(a)
        return (
            None if key is containers.MISSING else any(k == key for k, _ in low.store[b if isinstance(b, DictRef) else b.args[0]])
        )
    items = known_items(low, b)
    if isinstance(a, Const) and items is not None and all(isinstance(i, Const) for i in items):
        return any(i.value == a.value for i in items)
    return None


def lower_unary(low: Lowering, symbol: str, value: Value, node: ast.AST) -> Value:
    """`-value`, `not value` and so on; the symbol is the name of its node."""
    op = ops.UNARY[symbol]
    found = objects.unary(low, symbol, value, node)
    if found is not None:
        return found
    value = objects.truth_of(low, value, node) if op is ops.NOT else value
    if op is ops.NOT:
        known = truth(value, low)
        if known is not None:
            return Const(not known)
        return low.builder.apply(op, (low.store[value] if isinstance(value, ListRef) else value,))
    if isinstance(value, Const) and isinstance(value.value, (int, float)) and op in (ops.NEG, ops.POS):
        return Const(-value.value if op is ops.NEG else +value.value)
    return low.builder.apply(op, (low.atom(value),))


def _compare(low: Lowering, node: ast.Compare) -> Value:
    for later in node.comparators[1:]:
        if any(isinstance(n, ast.NamedExpr) for n in ast.walk(later)):
            raise low.refuse(
                SyntaxNotAccepted,
                "an assignment expression (:=) in a chain of comparisons is not accepted",
                later,
                why="It binds its name only where the comparison before it holds.",
                instead="assign in a statement of its own before.",
            )
    left = lower(low, node.left)
    result: Value = None
    for op, right_node in zip(node.ops, node.comparators):
        right = lower(low, right_node)
        part = binary(low, type(op).__name__, left, right, node)
        if result is None:
            result = part
        elif truth(result, low) is True:
            result = part
        elif truth(result, low) is not False:
            result = low.builder.apply(ops.AND, (low.atom(result), low.atom(part)), kind=Number("bool"))
        left = right
    return result


def _bool(low: Lowering, is_and: bool, nodes: list[ast.expr], node: ast.AST) -> Value:
    """`a and b`: the second is evaluated only where the first decides nothing."""
    first = lower(low, nodes[0])
    if len(nodes) == 1:
        return first
    tested = objects.truth_of(low, first, node)
    known = truth(tested, low)
    if known is not None:
        return _bool(low, is_and, nodes[1:], node) if known == is_and else first
    cond = low.atom(tested) if tested is not first else low.store[first] if isinstance(first, ListRef) else low.atom(first)
    before, outer = low.snapshot(), low.builder
    low.builder = outer.inside()
    done = procedures.attempt(low, lambda: _arm(low, lambda: _bool(low, is_and, nodes[1:], node)))
    if done is None:
        low.builder = outer
        return first
    second: Arm = done
    low.builder = outer
    binds = any(before[0].get(n) is not v for n, v in second.state[0].items())  # by an assignment expression
    is_plain = not (binds or second.is_dead) and all(_is_boolean(v) for v in (cond, second.value))
    if is_plain and all(_is_harmless(s) for s in second.builder.stmts):
        for stmt in second.builder.stmts:
            low.builder.add(stmt)
        low.builder.known.update(second.builder.known)
        return low.builder.apply(ops.AND if is_and else ops.OR, (cond, second.value), kind=Number("bool"))
    low.restore(before)
    short = Arm(outer.inside(), before, first)
    then, orelse = (second, short) if is_and else (short, second)
    return join_arms(low, cond, then, orelse, before, with_value=True, origin=low.origin(node))


def _is_boolean(value: Value) -> bool:
    return is_atom(value) and kind_of(value) in (Number("bool"), Array("bool", ()))


def _is_harmless(stmt: Any) -> bool:
    """Cheap and without an error or effect: it may be evaluated although nobody asks."""
    op = getattr(stmt, "op", None)
    return (
        op is not None
        and op.style in ("binary", "unary")
        and op.text not in ("/", "//", "%", "**", "@", "<<", ">>")
        and all(isinstance(kind_of(a), Number) for a in stmt.args)
    )


def _arm(low: Lowering, value: Callable[[], Value]) -> Arm:
    """The arm of a part of an expression that may not be evaluated, in the builder that stands."""
    builder = low.builder
    try:
        found = value()
    except exceptions.PathEnds:
        if low.builder is not builder:
            raise
        return Arm(builder, low.snapshot(), None, is_dead=True)
    return Arm(low.builder, low.snapshot(), found)


def _conditional(low: Lowering, cond: Value, body: ast.expr, orelse: ast.expr, node: ast.AST) -> Value:
    known = truth(cond, low)
    if known is not None:
        return lower(low, body if known else orelse)
    if isinstance(cond, ListRef):
        cond = low.store[cond]
    before, outer = low.snapshot(), low.builder
    arms = []
    for part in (body, orelse):
        low.restore(before)
        low.builder = outer.inside()
        done = procedures.attempt(low, lambda part=part: _arm(low, lambda: lower(low, part)))  # type: ignore[misc]
        if done is not None:
            arms.append(done)
    low.builder = outer
    low.restore(before if len(arms) == 2 else arms[0].state if arms else before)
    if len(arms) < 2:
        if not arms:
            assert low.unknown is not None
            raise low.unknown
        if arms[0].is_dead:
            raise exceptions.PathEnds
        return arms[0].value
    if all(arm.is_dead for arm in arms):
        join_arms(low, cond, arms[0], arms[1], before, origin=low.origin(node))
        raise exceptions.PathEnds
    result = join_arms(low, cond, arms[0], arms[1], before, with_value=True, origin=low.origin(node))
    if isinstance(result, Poison):
        raise low.refuse(KindError, "the two sides of this conditional expression have no common kind", node)
    return result


def chosen(low: Lowering, cond: Value, a: Value, b: Value, node: ast.AST) -> Value:
    """`a if cond else b`, of values that are there already."""
    known = truth(cond, low)
    if known is not None:
        return a if known else b
    before, outer = low.snapshot(), low.builder
    arms = [Arm(outer.inside(), before, value) for value in (a, b)]
    result = join_arms(low, low.atom(cond), arms[0], arms[1], before, with_value=True, origin=low.origin(node))
    if isinstance(result, Poison):
        raise low.refuse(KindError, "what is chosen between has no common kind", node)
    return result


# ---------------------------------------------------------------- attributes and subscripts


def attribute(low: Lowering, owner: Value, name: str, node: ast.AST) -> Value:
    match owner:
        case Instance() | ObjectRef() | Record() | Super():
            return objects.attribute(low, owner, name, node)
        case Partial() | Closure():
            return _function_attribute(low, owner, name, node)
        case Ref(np.ufunc() as ufunc) if name in ("at", "reduce", "accumulate", "outer", "reduceat"):
            return Method(owner, f"{ufunc.__name__}.{name}")
        case Ref(enum.Enum()):
            return objects.member_attribute(low, owner, name, node)
        case Ref(value) if isinstance(value, (types.ModuleType, type)) or not callable(value):
            if not hasattr(value, name):
                raise low.refuse(KindError, f"`{owner.text}` has no attribute `{name}`", node)
            return open_global(low, getattr(value, name), name, low.frame.source, is_cell=False, owner=owner)
        case ListRef() | DictRef() | Iterable():
            return Method(owner, name)
        case tuple():
            return Method(owner, name)
    if not is_atom(owner):
        raise low.refuse(KindError, f"the attribute `.{name}` of this value is not accepted", node)
    kind = kind_of(owner)
    if isinstance(kind, (Number, Array, Unknown)):
        if name == "ndim" and isinstance(kind, Array) and kind.ndim is not None:
            return Const(kind.ndim)
        if name == "dtype" and isinstance(kind, Array):
            return Ref(np.dtype(kind.dtype), f"np.{kind.dtype}")
        if name == "shape" and isinstance(kind, Array) and kind.dims is not None:
            shape = low.builder.apply(ops.SHAPE, (owner,))
            return tuple(
                low.builder.item(shape, Const(i)) if not isinstance(n, int) else Const(n) for i, n in enumerate(kind.dims)
            )
        if name in ("real", "imag") and not getattr(kind, "dtype", getattr(kind, "type", "")).startswith("complex"):
            return owner if name == "real" else calls.call_numpy(low, np.zeros_like, (owner,), {}, node)
        if name in ("real", "imag"):
            return calls.call_numpy(low, np.real if name == "real" else np.imag, (owner,), {}, node)
        if name == "T" and isinstance(kind, Array) and kind.dims == ():
            return owner
        if name in _ARRAY_ATTRIBUTES:
            return low.builder.apply(_ARRAY_ATTRIBUTES[name], (owner,))
        sample = kind.type if isinstance(kind, Number) else "array"
        if not hasattr({"float": 0.0, "int": 0, "bool": False, "complex": 0j}.get(sample, np.empty(0)), name):
            what = "an array" if isinstance(kind, Array) and kind.dims != () else spoken_kind(kind)
            raise low.refuse(KindError, f"{what} has no attribute `.{name}`", node)
        return Method(owner, name)
    if isinstance(kind, (ListOf, Opaque)):
        return Method(owner, name)
    raise low.refuse(KindError, f"the attribute `.{name}` of this value is not accepted", node)


def _function_attribute(low: Lowering, owner: Closure | Partial, name: str, node: ast.AST) -> Value:
    """Of a partial what it holds, of a method what it is bound to."""
    if name == "__name__" and isinstance(owner, Closure):
        return Const(owner.name)
    if isinstance(owner, Partial) and name in ("func", "__func__"):
        return owner.fn
    if isinstance(owner, Partial) and name == "args":
        return owner.args
    if isinstance(owner, Partial) and name == "keywords":
        return low.new_dict(tuple(owner.kwargs.items()))
    if isinstance(owner, Partial) and name == "__self__" and owner.args:
        return owner.args[0]
    raise low.refuse(KindError, f"the attribute `.{name}` of a function is not accepted", node)


def subscript(low: Lowering, owner: Value, index: Value, node: ast.AST) -> Value:
    match owner:
        case tuple():
            return _sequence_item(low, owner, index, node, lambda part: part)
        case ListRef():
            items = low.items(owner)
            if low.depth == 0 and items and all(isinstance(i, ListRef) for i in items):  # no loop that could be unrolled
                if not isinstance(index, SliceOf) and static_int(low, index) is None:
                    containers.own(low, owner)
                    items = None
            if items is not None:
                return _sequence_item(low, items, index, node, lambda part: low.new_list(part))
            part = nested.item(low, owner, index)
            if part is not None:
                return part
            item = low.builder.item(low.store[owner], low.operand(index))
            if isinstance(index, SliceOf):
                part = low.new_list(item)
                arrays.tie(low, part, owner)
                return part
            value = containers.inner(low, item)
            nested.link(low, value, owner, index)
            arrays.item_of_list(low, owner, value, low.operand(index))
            return value
        case DictRef():
            return containers.read_key(low, owner, index, node)
        case Iterable("table"):
            return tables.item(low, owner, index, node)
        case Record() if issubclass(owner.cls, tuple) and objects.method_of(owner, "__getitem__") is None:
            return _sequence_item(low, owner.values, index, node, lambda part: part)
        case ObjectRef() | Instance() | Record():
            found = objects.call_special(low, owner, "__getitem__", (index,), node)
            if found is not None:
                return found
        case Ref(cls) if isinstance(cls, type):
            return _class_item(low, owner, index, node)
    if not is_atom(owner):
        raise low.refuse(KindError, "this value cannot be indexed", node)
    if isinstance(owner, Const) and isinstance(owner.value, str):
        part = _sequence_item(low, tuple(known_items(low, owner) or ()), index, node, lambda items: items)
        return Const("".join(c.value for c in part)) if isinstance(part, tuple) else part
    kind = kind_of(owner)
    if kind == Opaque("tuple") and kind_of(low.atom(index)) == Number("int"):
        return low.builder.apply(ops.ITEM, (owner, low.atom(index)), kind=Number("int"), hint="n")  # of a shape
    if isinstance(kind, Opaque):
        raise low.refuse(KindError, f"a value of kind `{kind.type}` is indexed", node)
    if isinstance(kind, Number):
        raise low.refuse(KindError, "a number is indexed", node)
    place = _index_operand(low, index)
    parts = place if isinstance(place, tuple) else (place,)
    if isinstance(kind, Array) and kind.dims == () and all(isinstance(p, Const) and p.value is Ellipsis for p in parts):
        if not parts:
            return low.builder.apply(ops.COPY, (owner,))  # a scalar
        return calls.call_numpy(low, np.array, (owner,), {}, node) if arrays.without_axes(low, owner) is False else owner
    return opened(low, low.builder.item(owner, place))


def _class_item(low: Lowering, owner: Ref, index: Value, node: ast.AST) -> Value:
    """`Mode["FAST"]`, the member of an enumeration; `list[float]`, which is the class as far as calls go."""
    if isinstance(index, Const) and issubclass(owner.value, enum.Enum):
        return Ref(owner.value[index.value], f"{owner.text}.{index.value}")
    return owner


def _index_operand(low: Lowering, index: Value) -> Any:
    if isinstance(index, tuple):
        return tuple(_index_operand(low, i) for i in index)
    if isinstance(index, ListRef):
        return low.operand(index)
    return low.operand(index)


def _sequence_item(low: Lowering, items: tuple[Value, ...], index: Value, node: ast.AST, many: Any) -> Value:
    if isinstance(index, SliceOf):
        parts = [static_int(low, p) for p in (index.start, index.stop, index.step)]
        return many(items[slice(*parts)])
    position = static_int(low, index)
    if position is None:
        if len({type(i) for i in items}) == 1 and items and all(is_atom(i) for i in items):
            kinds = {kind_of(i) for i in items}
            if len(kinds) == 1 and all(isinstance(k, (Number, Array)) for k in kinds):
                display = low.builder.apply(ops.DISPLAY, (low.operand(low.new_list(items)),), hint="items")
                return low.builder.item(display, low.atom(index))
        raise loops.NeedsUnrolling
    if not items and low.builder.parent is not None:  # Python raises, if the run gets here
        return low.builder.apply(ops.ITEM, (ListDisplay(()), Const(position)), kind=Number("int"), hint="item")
    if not -len(items) <= position < len(items):
        refusal = low.refuse(KindError, f"index {position} is out of range for {len(items)} items", node)
        raise exceptions.known_to_raise(low, IndexError, "list index out of range", refusal)
    return items[position]


def static_int(low: Lowering, value: Value) -> int | None:
    """An integer that is known when compiling; None also for a literal None."""
    if isinstance(value, Const):
        return value.value  # type: ignore[no-any-return]
    kind = kind_of(value)
    if isinstance(kind, Number) and isinstance(kind.length, int):
        return kind.length
    return None


def opened(low: Lowering, atom: Any) -> Value:
    """A tuple that lives at run time, as a tuple of its items."""
    kind = kind_of(atom)
    if isinstance(kind, TupleOf):
        return tuple(opened(low, low.builder.item(atom, Const(i))) for i in range(len(kind.items)))
    if isinstance(kind, ListOf) and isinstance(atom, Var):
        return low.new_list(atom)
    return atom


def known_items(low: Lowering, value: Value) -> list[Value] | None:
    """The items of an iterable, where they are known when compiling."""
    match value:
        case Const(str() as text):
            return [Const(c) for c in text]
        case tuple():
            return list(value)
        case Record() if issubclass(value.cls, tuple):
            return list(value.values)
        case ListRef():
            held = low.items(value)
            return None if held is None else list(held)
        case DictRef():
            return [containers.key_value(k) for k, _ in low.store[value]]
        case Iterable("set", parts):
            return list(parts)
        case Iterable("items", (ref,)):
            return [(containers.key_value(k), v) for k, v in low.store[ref]]
        case Iterable("values", (ref,)):
            return [v for _, v in low.store[ref]]
        case Iterable("keys", (ref,)):
            return [containers.key_value(k) for k, _ in low.store[ref]]
        case Iterable("range", args):
            numbers = [static_int(low, a) for a in args]
            return None if None in numbers else [Const(i) for i in range(*numbers)]  # type: ignore[arg-type]
        case Iterable("enumerate", (inner, start)):
            items = known_items(low, inner)
            first = static_int(low, start)
            return None if items is None or first is None else [(Const(i), x) for i, x in enumerate(items, first)]
        case Iterable("zip", parts):
            lists = [known_items(low, p) for p in parts]
            return None if any(x is None for x in lists) else [tuple(x) for x in zip(*lists)]
        case Iterable("reversed", (inner,)):
            items = known_items(low, inner)
            return None if items is None else items[::-1]
        case _:
            return None


def items_of(low: Lowering, value: Value, count: int | None, node: ast.AST) -> list[Value]:
    """The items of a value that is unpacked into `count` names."""
    value = generators.collected(low, objects.iterated(low, value, node), node)
    items = known_items(low, value)
    if items is not None:
        return items
    atom = low.store[value] if isinstance(value, ListRef) else value
    kind = kind_of(atom) if is_atom(atom) else None
    if isinstance(kind, Array) and kind.dims:
        n = kind.dims[0] if isinstance(kind.dims[0], int) else count if count is not None else static_length(low, kind.dims[0])
        if n is not None:
            return [low.builder.item(atom, Const(i)) for i in range(n)]
    if isinstance(kind, ListOf) and count is not None:
        return [opened(low, low.builder.item(atom, Const(i))) for i in range(count)]
    raise low.refuse(
        KindError,
        "how many values are unpacked here is not known when the function is compiled",
        node,
        instead="index them, or slice.",
    )


def static_length(low: Lowering, length: Any) -> int | None:
    """A length that the actual argument tells; the guard then tests it."""
    if isinstance(length, int):
        return length
    if length.expr is None or length.hint is None:
        return None
    low.requirements[f"{length.expr} == {length.hint}"] = True
    return length.hint  # type: ignore[no-any-return]


MOST_PINNED = 64


def pinned_items(low: Lowering, value: Value) -> list[Value] | None:
    """The items of an iterable whose length the actual arguments tell; the guard then tests it."""
    match value:
        case Iterable("range", args):
            numbers = [_pinned_int(low, a) for a in args]
            if None in numbers or len(found := range(*numbers)) > MOST_PINNED:  # type: ignore[arg-type]
                return None
            return [Const(i) for i in found]
        case Iterable("enumerate", (inner, start)):
            items, first = pinned_items(low, inner), static_int(low, start)
            return None if items is None or first is None else [(Const(i), x) for i, x in enumerate(items, first)]
        case Iterable("zip", parts):
            lists = [pinned_items(low, p) for p in parts]
            return None if any(x is None for x in lists) else [tuple(x) for x in zip(*lists)]
        case Iterable("reversed", (inner,)):
            items = pinned_items(low, inner)
            return None if items is None else items[::-1]
        case ListRef() | Var() | Free():
            atom = low.store[value] if isinstance(value, ListRef) else value
            kind = kind_of(atom) if is_atom(atom) else None
            length = kind.length if isinstance(kind, ListOf) else kind.dims[0] if isinstance(kind, Array) and kind.dims else None
            hint = length if isinstance(length, int) else getattr(length, "hint", None)
            if hint is None or hint > MOST_PINNED or static_length(low, length) is None:
                return known_items(low, value)
            return [opened(low, low.builder.item(atom, Const(i))) for i in range(hint)]
    return known_items(low, value)


def _pinned_int(low: Lowering, value: Value) -> int | None:
    known = static_int(low, value)
    kind = kind_of(value) if is_atom(value) else None
    if known is None and isinstance(kind, Number) and isinstance(kind.length, Dim):
        return static_length(low, kind.length)
    return known


# ---------------------------------------------------------------- displays


def _dict(low: Lowering, keys: list[ast.expr | None], values: list[ast.expr], node: ast.AST) -> Value:
    entries: dict[Any, Value] = {}
    for key, value in zip(keys, values):
        if key is None:
            spread = lower(low, value)
            if not isinstance(spread, DictRef):
                raise low.refuse(KindError, "only a dict can be spread into a dict", value)
            entries.update(dict(low.store[spread]))
            continue
        name = containers.known_key(low, lower(low, key), key)
        entries[name] = lower(low, value)
    return low.new_dict(tuple(entries.items()))


def _comprehension(low: Lowering, node: ast.ListComp | ast.DictComp) -> Value:
    """As the loop that it stands for; its targets are names of its own."""
    if not isinstance(node, ast.DictComp) or not tables.has_counted_keys(node):
        return _collected(low, node)[0]
    back = loops.way_back(low)
    try:
        return _collected(low, node)[0]
    except loops.NeedsUnrolling:
        back()
        return Iterable("table", _collected(low, node, is_table=True))


def _collected(low: Lowering, node: ast.ListComp | ast.DictComp, *, is_table: bool = False) -> tuple[Value, ...]:
    """What a comprehension collects: its list or dict; of a table the keys and the values."""
    hidden = f"<items{next(low.serial)}>"
    keys = f"<keys{next(low.serial)}>"
    saved = {name: low.frame.vars.get(name) for name in loops.assigned_names([g.target for g in node.generators])}
    low.frame.vars[hidden] = low.new_dict(()) if isinstance(node, ast.DictComp) and not is_table else low.new_list(())
    body: list[ast.stmt] = []
    if isinstance(node, ast.DictComp) and is_table:
        low.frame.vars[keys] = low.new_list(())
        body.append(ast.Expr(_appended(keys, node.key)))
        add: ast.expr = _appended(hidden, node.value)
    elif isinstance(node, ast.DictComp):
        add = ast.Call(ast.Name("<set item>", ast.Load()), [ast.Name(hidden, ast.Load()), node.key, node.value], [])
    else:
        add = _appended(hidden, node.elt)
    body.append(ast.Expr(add))
    for generator in reversed(node.generators):
        for test in reversed(generator.ifs):
            body = [ast.If(test, body, [])]
        body = [ast.For(generator.target, generator.iter, body, [])]
    for child in ast.walk(body[0]):
        if not hasattr(child, "lineno"):
            ast.copy_location(child, node)
    statements.lower_whole(low, body)
    result: tuple[Value, ...] = (low.frame.vars.pop(hidden),)
    if is_table:
        result = (low.frame.vars.pop(keys), *result)
    for name, value in saved.items():
        if value is None:
            low.frame.vars.pop(name, None)
        else:
            low.frame.vars[name] = value
    return result


def _appended(name: str, value: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load()), [value], [])


def _format(low: Lowering, node: ast.JoinedStr) -> Value:
    pieces: list[Any] = []
    pattern: list[tuple[int, str]] = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            pieces.append(Const(part.value))
            pattern.append((-1, ""))
            continue
        assert isinstance(part, ast.FormattedValue)
        value = low.operand(lower(low, part.value))
        spec = ""
        if part.format_spec is not None:
            inner = part.format_spec
            if not (isinstance(inner, ast.JoinedStr) and all(isinstance(p, ast.Constant) for p in inner.values)):
                raise low.refuse(SyntaxNotAccepted, "a computed format is not accepted", node)
            spec = "".join(str(p.value) for p in inner.values)  # type: ignore[attr-defined]
        pieces.append(value)
        pattern.append((part.conversion, spec))
    op = Op("format", "format", pattern=tuple(pattern))
    return low.builder.apply(op, tuple(pieces), kind=Opaque("str"), hint="text")
