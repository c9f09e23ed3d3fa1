"""Derivatives inside of a function that is differentiated: `grad(loss)(w)` as statements of its own.

    g = grad(energy)(x)        the sweeps of energy's gradient, in place, with x for its argument

The function is lowered on fresh variables for what it is differentiated by, and the transform (`Lowering.derive`) makes of
these statements those of its gradient, which the outer derivative then sees as if the user had written them.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any

from srcdiff.errors import KindError, NoRule, SyntaxNotAccepted
from srcdiff.ir import ops
from srcdiff.ir.kinds import Kind, ListOf, Number
from srcdiff.ir.nodes import (
    Apply,
    Block,
    Const,
    DictDisplay,
    Free,
    ListDisplay,
    Operand,
    Parameter,
    RecordDisplay,
    Ref,
    Return,
    Stmt,
    Var,
    Yield,
)
from srcdiff.ir.walk import renewed, substitute_block
from srcdiff.prepare import arrays, calls, objects, procedures
from srcdiff.prepare.entry import Fields, Known, Leaf, Mapping, Object, Sequence, Structure
from srcdiff.prepare.lowering import Lowering
from srcdiff.prepare.values import (
    Closure,
    Derivative,
    DictRef,
    Instance,
    ListRef,
    Method,
    ObjectRef,
    Partial,
    Pulled,
    Record,
    Value,
    flatten,
    is_atom,
    rebuild,
)
from srcdiff.rules.inference import kind_of
from srcdiff.task import Task

Args = tuple[Value, ...]
Kwargs = dict[str, Value]


def make(low: Lowering, mode: str, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    """`grad(f, argnums)`: what differentiates f when it is called; `vjp(f, *primals)` does at once."""
    if mode == "vjp":
        return pull(low, args, dict(kwargs), node)
    if mode == "jvp":
        return push(low, args, kwargs, node)
    bound = dict(zip(("f", "argnums", "has_aux", "holomorphic"), args)) | kwargs
    fn = bound.pop("f", None)
    if fn is None:
        raise low.refuse(SyntaxNotAccepted, f"`{mode}` is used as a decorator inside a function", node, instead="call it.")
    argnums = bound.get("argnums", Const(0))
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    if not all(isinstance(n, Const) and isinstance(n.value, (int, str)) for n in numbers):
        raise low.refuse(KindError, "argnums is not known when the function is compiled", node)
    has_aux = bound.get("has_aux", Const(False)) == Const(True)
    chosen = tuple(n.value for n in numbers)
    is_single = not isinstance(argnums, tuple)
    if mode == "hessian":
        return Derivative(Derivative(fn, Task("grad", chosen, is_single, has_aux)), Task("jacfwd", chosen, is_single, has_aux))
    return Derivative(fn, Task(mode, chosen, is_single, has_aux))


def call(low: Lowering, derivative: Derivative, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    """The value of `grad(f)(*args)`."""
    fn, task = derivative.fn, derivative.task
    if task.mode == "value":
        return calls.call_value(low, fn, args, kwargs, node)
    if task.mode in ("hvp", "vhp"):
        return _product(low, derivative, args, kwargs, node)
    names = parameter_names(fn, len(args))
    given: dict[str, Value] = {**dict(zip(names, args)), **kwargs}
    chosen = [_name_of(low, a, names, len(args), node) for a in task.argnums]
    piece, atoms = _lowered(low, fn, names[: len(args)], given, chosen, node)
    body = substitute_block(low.derive(piece, task, [(name, None) for name in chosen]).body, atoms)
    low.derived.update(piece.procedures)
    assert isinstance(body.end, Return)
    _add(low, body.stmts)
    return _value_of(low, body.end.value)


def _product(low: Lowering, derivative: Derivative, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    """`hvp(f)(*args, v)`: the tangent of the gradient."""
    task = derivative.task
    slope = Derivative(derivative.fn, Task("grad", task.argnums, task.is_single))
    vectors = (args[-1],) if task.is_single else args[-1]
    chosen = tuple(Const(a) for a in task.argnums)
    return push(low, (slope, args[:-1], vectors, chosen), kwargs, node)[1]


def pull(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    """`vjp(f, *primals)`: the value of f, and the pullback as something that can be called."""
    fn, primals = args[0], args[1:]
    argnums = kwargs.pop("argnums", Const(None))
    has_aux = kwargs.pop("has_aux", Const(False)) == Const(True)
    names = parameter_names(fn, len(primals))
    chosen = _chosen(low, argnums, names, len(primals), node)
    is_single = argnums != Const(None) and not isinstance(argnums, tuple)
    given: dict[str, Value] = {**dict(zip(names, primals)), **kwargs}
    piece, atoms = _lowered(low, fn, names[: len(primals)], given, chosen, node)
    aux: Value = None
    if has_aux:
        if not (isinstance(piece.result, tuple) and len(piece.result) == 2):
            raise low.refuse(KindError, "has_aux=True takes a function that returns a pair", node)
        piece.result, aux = piece.result
    sweeps = low.derive(piece, Task("vjp", (), is_single), [(name, None) for name in chosen])
    low.derived.update(piece.procedures)
    forward = substitute_block(Block(sweeps.forward, Yield(())), atoms)
    _add(low, forward.stmts)
    count = len(flatten(piece.result, low.store, lambda r: True)[1])
    made = Pulled(sweeps.seeds, substitute_block(sweeps.reverse, atoms), count, is_single)
    head = _replaced(low, piece.result, atoms)
    return (head, made) if not has_aux else (head, made, _replaced(low, aux, atoms))


def pull_back(low: Lowering, pullback: Pulled, y_bar: Value, node: ast.AST) -> Value:
    """The gradients of a vjp that was taken before, for an adjoint of its result."""
    leaves = flatten(y_bar, low.store, lambda r: True)[1]
    if len(leaves) != pullback.count:
        raise low.refuse(KindError, "the adjoint has another structure than the result", node)
    mapping: dict[Var, Operand] = {}
    for place, seed in pullback.seeds:
        mapping[seed] = _like(low, low.atom(leaves[place]), seed, node)
    body = renewed(pullback.block, mapping)
    assert isinstance(body.end, Return)
    _add(low, body.stmts)
    value = _value_of(low, body.end.value)
    return value[0] if pullback.is_single else value


def push(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    """`jvp(f, primals, tangents)`: the value of f, and its tangent."""
    bound = dict(zip(("f", "primals", "tangents", "argnums", "has_aux"), args))
    named = {k: v for k, v in kwargs.items() if k not in ("primals", "tangents", "argnums", "has_aux")}
    bound.update({k: v for k, v in kwargs.items() if k not in named})
    primals, tangents = (_items(low, bound.get(key), key, node) for key in ("primals", "tangents"))
    if bound.get("has_aux", Const(False)) != Const(False):
        raise low.refuse(SyntaxNotAccepted, "has_aux of a jvp inside a function is not accepted", node)
    fn, argnums = bound["f"], bound.get("argnums", Const(None))
    names = parameter_names(fn, len(primals))
    chosen = _chosen(low, argnums, names, len(primals), node)
    if len(tangents) != len(chosen):
        raise low.refuse(KindError, f"jvp takes {len(chosen)} tangents here, one for each argument", node)
    moving = {name: dot for name, dot in zip(chosen, tangents) if dot != Const(None)}
    given: dict[str, Value] = {**dict(zip(names, primals)), **named}
    piece, atoms = _lowered(low, fn, names[: len(primals)], given, list(moving), node)
    block, dots = low.derive(piece, Task("jvp", ()), [(name, None) for name in moving])
    low.derived.update(piece.procedures)
    mapping: dict[Var, Operand] = dict(atoms)
    for name, tangent in moving.items():
        leaves = flatten(piece.values[name], piece.entry, lambda r: True)[1]
        theirs = flatten(tangent, low.store, lambda r: True)[1]
        if len(leaves) != len(theirs):
            raise low.refuse(KindError, f"the tangent of `{name}` has another structure than the argument", node)
        for leaf, dot in zip(leaves, theirs):
            if leaf in dots:
                mapping[dots[leaf]] = _like(low, low.atom(dot), dots[leaf], node)
    body = substitute_block(block, mapping)
    assert isinstance(body.end, Return)
    _add(low, body.stmts)
    return _value_of(low, body.end.value)


def _items(low: Lowering, value: Value, what: str, node: ast.AST) -> tuple[Value, ...]:
    items = low.items(value) if isinstance(value, ListRef) else value
    if not isinstance(items, tuple):
        raise low.refuse(KindError, f"jvp takes its {what} in a tuple or list", node)
    return items


def _like(low: Lowering, atom: Any, var: Var, node: ast.AST) -> Any:
    """What stands for a tangent or an adjoint: of as many axes, a number that is a variable."""
    given, wanted = (getattr(kind, "ndim", 0) for kind in (kind_of(atom), var.kind))
    if given != wanted:
        raise low.refuse(KindError, f"`{var.hint}` has {given} axes, and what it is of has {wanted}", node)
    if isinstance(atom, Const):
        return low.builder.apply(ops.DISPLAY, (Const(float(atom.value)),), kind=Number("float"), hint=var.hint)
    return atom


def _replaced(low: Lowering, value: Value, atoms: dict[Var, Operand]) -> Value:
    """A value in which the fresh variables of the arguments stand for the arguments themselves."""
    skeleton, leaves = flatten(value, low.store, lambda r: True)
    new = [atoms.get(leaf, leaf) if isinstance(leaf, Var) else leaf for leaf in leaves]
    return rebuild(skeleton, new, low.new_list, low.new_dict, low.new_object)  # type: ignore[arg-type]


def _lowered(
    low: Lowering, fn: Value, positional: list[str], given: dict[str, Value], chosen: list[str], node: ast.AST
) -> tuple[Piece, dict[Var, Operand]]:
    """The function on fresh variables for what it is differentiated by, and what each of these stands for."""
    if low.derive is None:
        raise low.refuse(NoRule, "a derivative is taken inside a function that is not differentiated", node)
    for name in chosen:
        if name not in given:
            raise low.refuse(KindError, f"the argument `{name}` is differentiated by, and not given", node)
    values, atoms = dict(given), {}
    for name in dict.fromkeys(chosen):
        values[name], found = opened(low, given[name], name)
        atoms.update(found)
    outer, before = low.builder, dict(low.store)
    low.builder = outer.inside()
    named = {name: value for name, value in values.items() if name not in positional}
    result = arrays.settled(low, calls.call_value(low, fn, tuple(values[name] for name in positional), named, node))
    stmts, low.builder = tuple(low.builder.stmts), outer
    stmts, functions = procedures.apart(*procedures.linked(low, stmts))
    check_unchanged(low, before, node)
    structures = {name: _structure(low, values[name], name) for name in dict.fromkeys(chosen)}
    by_name = {name: values[name] for name in structures}
    piece = Piece(low, spoken(fn), tuple(atoms), structures, by_name, stmts, result, before)
    piece.procedures = functions
    return piece, atoms


class Piece:
    """A lowered function to be differentiated: what `Primal` is of a whole one."""

    def __init__(
        self,
        low: Lowering,
        name: str,
        params: tuple[Var, ...],
        structures: dict[str, Structure],
        values: dict[str, Value],
        stmts: tuple[Stmt, ...],
        result: Value,
        entry: Any,
    ) -> None:
        self.source, self.name, self.docstring = low.frame.source, name, None
        self.params = tuple(Parameter(v.hint, v) for v in params)
        self.structures, self.values, self.stmts, self.result = structures, values, stmts, result
        self.procedures: dict[Any, Any] = {}
        self.entry = low.store
        self.store, self.entry_lists = low.store, {**entry, **{k: v for k, v in low.store.items() if k not in entry}}


def _add(low: Lowering, stmts: tuple[Stmt, ...]) -> None:
    for stmt in stmts:
        low.builder.add(stmt)
        if isinstance(stmt, Apply):
            for target in stmt.targets:
                low.builder.made[target] = stmt


def opened(low: Lowering, value: Value, name: str) -> tuple[Value, dict[Var, Operand]]:
    """An argument with fresh variables for its numbers and arrays, and what each of these stands for."""
    skeleton, leaves = flatten(value, low.store, lambda r: True)
    fresh: list[Any] = []
    atoms: dict[Var, Operand] = {}
    for i, leaf in enumerate(leaves):
        now = low.current(leaf) if isinstance(leaf, Var) else leaf
        if isinstance(leaf, Const) and not isinstance(leaf.value, float):
            fresh.append(leaf)
            continue
        var = Var(name if len(leaves) == 1 else f"{name}_{i}", _open_kind(kind_of(leaf)))
        if (nature := arrays.without_axes(low, leaf)) is not False:
            low.without_axes[var] = nature
        fresh.append(var)
        atoms[var] = now
    return rebuild(skeleton, fresh, low.new_list, low.new_dict, low.new_object), atoms


def _open_kind(kind: Kind) -> Kind:
    return Number(kind.type) if isinstance(kind, Number) else kind


def check_unchanged(low: Lowering, before: dict[Any, Any], node: ast.AST) -> None:
    for key, state in before.items():
        if low.store.get(key) is not state and low.store.get(key) != state:
            raise low.refuse(
                SyntaxNotAccepted,
                "a function that is differentiated inside another one changes what is outside of it",
                node,
                instead="let it work on a copy, and return what it makes.",
            )


def _structure(low: Lowering, value: Value, path: str) -> Structure:
    """The structure of an argument, from the value that stands for it."""
    match value:
        case tuple():
            return Sequence(tuple, tuple(_structure(low, v, f"{path}[{i}]") for i, v in enumerate(value)), path)
        case ListRef():
            state = low.store[value]
            if is_atom(state):
                return Leaf(kind_of(state), path)
            return Sequence(list, tuple(_structure(low, v, f"{path}[{i}]") for i, v in enumerate(state)), path)
        case DictRef():
            pairs = low.store[value]
            parts = tuple(_structure(low, v, f"{path}[{k!r}]") for k, v in pairs)
            return Mapping(low.classes.get(value, dict), tuple(k for k, _ in pairs), parts, path)
        case Record():
            parts = tuple(_structure(low, v, f"{path}.{f}") for f, v in zip(value.fields, value.values))
            return Fields(value.cls, value.fields, parts, path)
        case ObjectRef():
            pairs = low.store[value]
            parts = tuple(_structure(low, v, f"{path}.{k}") for k, v in pairs)
            return Fields(value.cls, tuple(k for k, _ in pairs), parts, path)
        case Var() | Free():
            return Leaf(kind_of(value), path)
        case Const():
            is_number = isinstance(value.value, (bool, int, float))
            return Leaf(_open_kind(value.kind), path) if is_number else Known(value.value, path)
        case Instance():
            return Object(value.value, path)
        case Ref():
            return Known(value.value, path)
        case _:
            return Known(value, path)


def _value_of(low: Lowering, operand: Operand) -> Value:
    """What the gradient's source returns, as a value; its arrays are arrays of their own."""
    match operand:
        case tuple():
            return tuple(_value_of(low, v) for v in operand)
        case ListDisplay(items):
            return low.new_list(tuple(_value_of(low, v) for v in items))
        case DictDisplay(keys, items):
            return low.new_dict(tuple(zip(keys, (_value_of(low, v) for v in items))))
        case RecordDisplay():
            parts = tuple(_value_of(low, v) for v in operand.items)
            cls = operand.cls.value
            if issubclass(cls, tuple):
                return Record(cls, operand.fields, parts)
            return low.new_object(cls, tuple(zip(operand.fields, parts)))
        case Var() if isinstance(operand.kind, ListOf):
            return low.new_list(operand)
        case Var() if arrays.is_array(low, operand):
            return _own(low, operand)
        case _:
            return operand


def _own(low: Lowering, array: Var) -> Var:
    """An array that the caller may write to: where it is another's, a copy is made as soon as one of them is written to."""
    root = arrays.root_of(low, array)
    merged = low.builder.merged
    if low.builder.keeps_apart:
        return low.builder.apply(ops.ARRAY_COPY, (array,), kind=array.kind, hint=array.hint)
    if merged is not None:
        merged.update((root, array))
    return array


def spoken(fn: Value) -> str:
    match fn:
        case Closure():
            return fn.name
        case Ref():
            return str(getattr(fn.value, "__name__", fn.text))
        case Partial():
            return spoken(fn.fn)
        case Derivative():
            return f"{spoken(fn.fn)}_grad"
        case _:
            return "function"


def parameter_names(fn: Value, count: int) -> list[str]:
    """The names of the parameters that can be given by position; further ones are numbered."""
    names: list[str] = []
    match fn:
        case Closure():
            args = fn.node.args
            names = [a.arg for a in (*args.posonlyargs, *args.args)]
        case Partial(inner, bound, _):
            names = parameter_names(inner, count + len(bound))[len(bound) :]
        case Derivative():
            names = parameter_names(fn.fn, count)
        case Ref(value) if hasattr(type(value), "runs_again"):
            names = parameter_names(Ref(value.runs_again, fn.text), count)
        case Ref(value) if hasattr(type(value), "custom_rule"):
            names = parameter_names(Ref(value.custom_rule.fn, fn.text), count)
        case Ref(value) if hasattr(type(value), "as_derivative"):
            names = parameter_names(value.as_derivative(Ref)[0], count)
        case Ref():
            try:
                parameters = inspect.signature(fn.value, follow_wrapped=False).parameters.values()
            except (TypeError, ValueError):
                parameters = ()  # type: ignore[assignment]
            names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        case Instance() | ObjectRef() | Record():
            call_method = objects.method_of(fn, "__call__")
            names = parameter_names(call_method, count + 1)[1:] if call_method is not None else []
        case Method():
            names = []
    return [*names, *(f"<{i}>" for i in range(len(names), count))]


def _chosen(low: Lowering, argnums: Value, names: list[str], count: int, node: ast.AST) -> list[str]:
    """The parameters that a vjp or a jvp of `count` primals is by; all of these where `argnums` is None."""
    if argnums == Const(None):
        return names[:count]
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    if all(isinstance(n, Const) and isinstance(n.value, (int, str)) for n in numbers):
        return [_name_of(low, n.value, names, count, node) for n in numbers]
    raise low.refuse(KindError, "argnums is not known when the function is compiled", node)


def _name_of(low: Lowering, argnum: int | str, names: list[str], count: int, node: ast.AST) -> str:
    if isinstance(argnum, str):
        return argnum
    position = argnum + count if argnum < 0 else argnum
    if not 0 <= position < len(names):
        raise low.refuse(KindError, f"argnums={argnum}, but {count} arguments are given", node)
    return names[position]
