"""From a primal program to the function that computes its gradient, value and gradient, or pullback.

loss(w, b)  ⟶  loss_grad(w, b): forward sweep, reverse sweep, return (w_bar, b_bar)
"""

from __future__ import annotations

import re
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from srcdiff.errors import NotDifferentiable
from srcdiff.ir.kinds import Array, Kind, Number, Opaque, Unknown, is_differentiable
from srcdiff.ir.nodes import (
    UNBOUND,
    Apply,
    Atom,
    Block,
    Const,
    DictDisplay,
    Function,
    If,
    ListDisplay,
    Loop,
    Op,
    Operand,
    Parameter,
    RecordDisplay,
    Ref,
    Return,
    Stmt,
    Var,
)
from srcdiff.ir.ops import ARRAY_COPY, ASTYPE, DISPLAY, ITEM, call_op
from srcdiff.ir.walk import bound_by, ends_of, free_vars, map_block, operands_of, read_in, vars_of
from srcdiff.passes.dead_code import drop_dead_code, drop_dead_code_in
from srcdiff.passes.split_records import split_records
from srcdiff.prepare.entry import Bound, Fields, Known, Leaf, Mapping, Object, Structure
from srcdiff.prepare.entry import Sequence as SequenceOf
from srcdiff.prepare.program import Primal
from srcdiff.prepare.values import DictRef, ListRef, ObjectRef, Record, Value, flatten, is_atom, operand_of
from srcdiff.rules.builder import Builder
from srcdiff.rules.inference import kind_of
from srcdiff.rules.registry import rule_for
from srcdiff.rules.staging import Staged, scalar_of
from srcdiff.transform.adjoints import Adjoints, full, zero
from srcdiff.transform.procedures import BETWEEN, Pairs, sweeps
from srcdiff.transform.records import bound_everywhere
from srcdiff.transform.restoring import Plan
from srcdiff.transform.reverse import Reverser, carrying

Selector = tuple[str, int | None]
"""A parameter, or an item of *args."""


def gradient(
    primal: Primal, argnums: Sequence[Selector], pairs: Pairs, *, is_single: bool, has_aux: bool, with_value: bool, name: str
) -> Function:
    """The function of the gradient by the parameters `argnums`."""
    result, aux = split_aux(primal, has_aux)
    inputs_of(primal, [selected_of(primal, a) for a in argnums], needs_each=True)
    _check_scalar(primal, result)
    forward, builder, gradients, _ = _swept(primal, argnums, pairs, lambda b: (_one(result), None))
    value: Operand = gradients[0] if is_single else gradients
    head: Operand = result if aux is None else (result, aux)
    if with_value:
        if isinstance(result, Var) and not result.is_users:
            result.hint = "value"
        value = (head, value)
    elif aux is not None:
        value = (value, aux)
    return Function(name, primal.params, Block((*forward, *builder.stmts), Return(value)), primal.docstring)


def _one(result: Value) -> list[tuple[Var, Any]]:
    return [(result, Const(1.0))] if isinstance(result, Var) else []


Seeds = Callable[[Builder], tuple[Sequence[tuple[Var, Any]], Any]]
"""Adds what reads the adjoints of the results to a builder; gives these adjoints by result, and what else the caller wants."""


def _swept(
    primal: Primal, argnums: Sequence[Selector], procedures: Pairs, seeds: Seeds, needs_each: bool = True
) -> tuple[list[Stmt], Builder, tuple[Operand, ...], Any]:
    """The forward sweep, the reverse sweep in its builder, the gradients, and what the seeds gave beside the adjoints.

    Where arrays are overwritten, a first sweep shows of which of them it is cheaper to restore what they held, and a second
    one through which loops that has to go back.
    """
    swept, reverser = _sweep(primal, argnums, procedures, seeds, needs_each, Plan())
    plan = reverser.keeping.plan(reverser.objects, swept[1].stmts)
    if plan.restored:
        swept, reverser = _sweep(primal, argnums, procedures, seeds, needs_each, plan)
        block = Block((*swept[0], *swept[1].stmts), Return(swept[2]))
        read = set(read_in(drop_dead_code_in(block)))
        flows = frozenset(key for key, var in reverser.restorer.flowed.items() if var in read)
        swept, _ = _sweep(primal, argnums, procedures, seeds, needs_each, replace(plan, flows=flows))
    return swept


def _sweep(
    primal: Primal, argnums: Sequence[Selector], procedures: Pairs, seeds: Seeds, needs_each: bool, plan: Plan
) -> tuple[tuple[list[Stmt], Builder, tuple[Operand, ...], Any], Reverser]:
    builder = Builder()
    pairs, beside = seeds(builder)
    selected = [selected_of(primal, a) for a in argnums]
    inputs, outputs = inputs_of(primal, selected, needs_each=needs_each), [v for v, _ in pairs]
    reverser = Reverser(carrying(primal.stmts, inputs, outputs), primal.stmts, procedures, plan=plan)
    builder.foresee(primal.stmts, reverser.objects.versions)
    adjoints = Adjoints()
    for var, seed in pairs:
        existing = adjoints.get(var)
        adjoints.put(var, Staged(builder, seed) if existing is None else existing + Staged(builder, seed))
    forward = reverser.block(primal.stmts, adjoints, builder)
    builder.origin = None
    builder.current = None
    has_single = _has_single(primal)
    gradients = tuple(
        structured(s, v, primal, builder, lambda leaf: _leaf_gradient(leaf, adjoints, builder, has_single=has_single))
        for s, v, _ in selected
    )
    return (forward, builder, gradients, beside), reverser


def selected_of(primal: Primal, selector: Selector) -> tuple[Structure, Value, str]:
    name, item = selector
    structure, value = primal.structures[name], primal.values[name]
    if item is None:
        return structure, value, name
    part, inner = parts_of(structure, value, primal)[item]
    return part, inner, f"{name}[{item}]"


def pullback(
    primal: Primal, argnums: Sequence[Selector], pairs: Pairs, *, is_single: bool, has_aux: bool, name: str
) -> tuple[list[Function], Value]:
    """Two functions: arguments → (result, what the pullback reads), and (what it reads, adjoint of the result) → gradients."""
    result, aux = split_aux(primal, has_aux)
    taken = {p.name for p in primal.params}

    def seeded(b: Builder) -> tuple[Sequence[tuple[Var, Any]], Var]:
        seeds: list[tuple[Var, Any]] = []
        y_bar = _seed(primal, result, b, seeds, _unused("y_bar", taken))
        return seeds, y_bar

    forward, builder, gradients, y_bar = _swept(primal, argnums, pairs, seeded, needs_each=len(argnums) == 1)
    head: Operand = operand_of(result, primal.store)
    if aux is not None:
        head = (head, aux)
    whole = Block(
        (*forward, Apply((), BETWEEN, (Const(None),)), *builder.stmts), Return((head, gradients[0] if is_single else gradients))
    )
    params = (*primal.params, Parameter(y_bar.hint, y_bar))
    program = Function(name, params, whole, primal.docstring)
    return two_functions(program, primal, [params[-1]], taken, pairs, second="pullback"), result


@dataclass(frozen=True)
class Pulled:
    """The two sweeps of a vjp that is taken inside a function.

    `seeds` are the adjoints of the result's leaves, by their place among all leaves; `reverse` returns the gradients.
    """

    forward: tuple[Stmt, ...]
    seeds: tuple[tuple[int, Var], ...]
    reverse: Block


def pulled(primal: Primal, argnums: Sequence[Selector], pairs: Pairs) -> Pulled:
    """The sweeps of a vjp as pieces of a program: the reverse one may be put in several times."""
    leaves = flatten(primal.result, primal.store, lambda ref: True)[1]

    def seeded(b: Builder) -> tuple[Sequence[tuple[Var, Any]], Any]:
        seeds = [
            (i, leaf, Var(f"{leaf.hint}_bar", Number("float") if isinstance(leaf.kind, Number) else leaf.kind))
            for i, leaf in enumerate(leaves)
            if isinstance(leaf, Var) and is_differentiable(leaf.kind)
        ]
        return [(leaf, bar) for _, leaf, bar in seeds], tuple((i, bar) for i, _, bar in seeds)

    forward, builder, gradients, seeds = _swept(primal, argnums, pairs, seeded, needs_each=False)
    head = operand_of(primal.result, primal.store)
    whole = Block((*forward, Apply((), BETWEEN, (Const(None),)), *builder.stmts), Return((head, gradients)))
    program = split_records(drop_dead_code(Function(primal.name, primal.params, whole)))
    stmts, end = program.body.stmts, program.body.end
    at = next(i for i, s in enumerate(stmts) if isinstance(s, Apply) and s.op is BETWEEN)
    assert isinstance(end, Return) and isinstance(end.value, tuple)
    return Pulled(stmts[:at], seeds, Block(stmts[at + 1 :], Return(end.value[1])))


def two_functions(
    program: Function, primal: Primal, given: Sequence[Parameter], taken: set[str], pairs: Pairs, *, second: str
) -> list[Function]:
    """The two functions of a program in two halves; the passes see it whole, so that facts and scopes hold in both.

    The second takes what it reads of the first, and the parameters `given`.
    """
    forward, head, reverse = sweeps(program)
    kept = [v for v in free_vars(reverse) if all(v is not p.var for p in given)]
    record = Var(_unused("record", taken), Opaque("tuple"), True)
    copies = [Var(v.hint, v.kind, v.is_users) for v in kept]
    opening: list[Stmt] = []
    if kept:
        opening.append(Apply(tuple(copies), Op("unpack", "unpack", pattern=tuple(range(len(kept)))), (record,)))
    renamed: dict[Var, Operand] = dict(zip(kept, copies))
    reverse = map_block(reverse, lambda v: renamed.get(v, v))
    ending = Builder()
    shared = _shared_with_caller(primal, forward, head)
    forward = pairs.with_own_arrays(forward, shared)
    owned = tuple(ending.apply(ARRAY_COPY, (v,), kind=v.kind, hint=v.hint) if v in shared else v for v in kept)
    whole = ending.apply(DISPLAY, (owned,), hint="record")
    bound = (*[bound_everywhere(s) for s in forward], *ending.stmts)
    first = Function(f"{program.name}_forward", primal.params, Block(bound, Return((head, whole))), primal.docstring)
    params = (Parameter(record.hint, record), *given)
    return [first, Function(f"{program.name}_{second}", params, Block((*opening, *reverse.stmts), reverse.end))]


def _shared_with_caller(primal: Primal, forward: Sequence[Stmt], head: Operand) -> set[Var]:
    """Arrays that the caller may write to later: arguments, views of them, and what is returned."""
    shared = {p.var for p in primal.params} | set(vars_of((head,)))
    for stmt in forward:
        if isinstance(stmt, Apply) and stmt.op.style in ("item", "attribute", "unpack", "call", "copy", "display"):
            rule = rule_for(stmt.op.fn)
            if stmt.op.style != "call" or stmt.op.procedure is not None or (rule is not None and rule.is_view):
                if any(v in shared for v in vars_of(stmt.args)):
                    shared.update(stmt.targets)
        elif isinstance(stmt, (If, Loop)):
            shared.update(_shared_results(stmt, shared))
    return {v for v in shared if isinstance(v.kind, Array) and v.kind.dims != ()}


def _shared_results(stmt: If | Loop, shared: set[Var]) -> list[Var]:
    """The results that may be one of the shared arrays; what some path leaves unbound is no array to copy."""
    if isinstance(stmt, If):
        rows = [operands_of(stmt.then.end), operands_of(stmt.orelse.end)]
    else:
        rows = [stmt.inits, *(operands_of(end) for end in ends_of(stmt.body))]
    found = []
    for result, values in zip(stmt.results, zip(*rows)):
        is_bound = not any(isinstance(v, Const) and v.value is UNBOUND for v in values)
        if is_bound and any(v in shared for v in vars_of(values)):
            found.append(result)
    return found


def _unused(name: str, taken: set[str]) -> str:
    """A name that no parameter of the user's has: lengths refer to parameters by name."""
    while name in taken:
        name += "_"
    return name


def value_function(primal: Primal, name: str) -> Function:
    """The primal itself as emitted source."""
    return Function(name, primal.params, Block(primal.stmts, Return(operand_of(primal.result, primal.store))), primal.docstring)


def _seed(primal: Primal, result: Value, b: Builder, seeds: list[tuple[Var, Any]], name: str) -> Var:
    if isinstance(result, Var) and is_differentiable(result.kind):
        kind = Number("float") if isinstance(result.kind, Number) else result.kind
        bar = Var(name, kind, True)
        seeds.append((result, _in_precision_of(bar, b)))
        return bar
    y_bar = Var(name, Opaque("container"), True)
    _open_seed(primal, result, y_bar, b, seeds)
    return y_bar


def _in_precision_of(y_bar: Var, b: Builder) -> Atom:
    """A seed that the caller gives for a float32 scalar may be any number."""
    kind = y_bar.kind
    if not isinstance(kind, Array) or kind.dims != () or kind.dtype == "float64":
        return y_bar
    return scalar_of(Staged(b, y_bar), kind.dtype).atom


def _open_seed(primal: Primal, result: Value, y_bar: Var, b: Builder, seeds: list[tuple[Var, Any]]) -> None:
    def read(part: Value, key: Any, *, field: str | None = None) -> None:
        if is_atom(part):
            if not isinstance(part, Var) or not is_differentiable(part.kind):
                return
            kind: Any = Number("float") if isinstance(part.kind, Number) else part.kind
        else:
            kind = Opaque("container")
        if field is None:
            bar = b.apply(ITEM, (y_bar, Const(key)), kind=kind, hint="y_bar")
        else:
            bar = b.apply(Op(f"field {field}", "attribute", field), (y_bar,), kind=kind, hint="y_bar")
        if is_atom(part):
            seeds.append((part, bar))
        else:
            _open_seed(primal, part, bar, b, seeds)

    match result:
        case tuple():
            for i, part in enumerate(result):
                read(part, i)
        case ListRef():
            state = primal.store[result]
            if is_atom(state):
                seeds.append((state, y_bar))
                return
            for i, part in enumerate(state):
                read(part, i)
        case DictRef():
            for key, part in primal.store[result]:
                read(part, key)
        case Record():
            for field, part in zip(result.fields, result.values):
                read(part, None, field=field)
        case ObjectRef():
            for field, part in primal.store[result]:
                read(part, None, field=field)


def split_aux(primal: Primal, has_aux: bool) -> tuple[Value, Operand | None]:
    result = primal.result
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise NotDifferentiable(
            f"`{primal.name}` returns no pair",
            _definition(primal),
            why="has_aux=True takes a function that returns a tuple (result, auxiliary data).",
            instead="return a pair, or leave has_aux out.",
        )
    return result[0], operand_of(result[1], primal.store)


def _definition(primal: Primal) -> Any:
    return primal.source.origin(primal.source.node)


def _check_scalar(primal: Primal, result: Value) -> None:
    place = _definition(primal)
    name = primal.name
    if isinstance(result, Const) and result.value is None:
        raise NotDifferentiable(
            f"`{name}` returns None, not a scalar",
            place,
            why="Every path must return the number to differentiate.",
            instead="add a return statement.",
        )
    if not is_atom(result):
        spoken = {"tuple": "a tuple", "ListRef": "a list", "DictRef": "a dict"}.get(type(result).__name__, "a container")
        if type(result).__name__ == "Poison":
            raise NotDifferentiable(
                f"`{name}` does not return a scalar on every path",
                place,
                why=result.reason.replace("`value`", "The result") + ".",
                instead="return a number on every path.",
            )
        raise NotDifferentiable(
            f"`{name}` returns {spoken}, not a scalar",
            place,
            why="A gradient is of one number.",
            instead="return a number, or use has_aux=True for a pair (loss, data), or vjp.",
        )
    kind = kind_of(result)
    if isinstance(kind, Array) and kind.dims is not None and kind.dims != ():
        shape = ", ".join(str(getattr(n, "hint", n)) for n in kind.dims)
        raise NotDifferentiable(
            f"`{name}` returns an array of shape ({shape}{',' if len(kind.dims) == 1 else ''}), not a scalar",
            place,
            why="A gradient is of one number.",
            instead="reduce it with np.sum or np.mean, or use vjp or jacobian.",
        )
    if isinstance(kind, Array) and kind.dims is None:
        raise NotDifferentiable(
            f"`{name}` returns an array whose number of axes is not known, not a scalar",
            place,
            why="It may differ from path to path.",
            instead="reduce it with np.sum or np.mean on every path.",
        )
    if isinstance(kind, (Number, Array)):
        dtype = kind.type if isinstance(kind, Number) else kind.dtype
        if dtype.startswith("complex"):
            raise NotDifferentiable(
                f"`{name}` returns a complex number, not a real scalar",
                place,
                instead="return its real part, its imaginary part or its absolute value.",
            )
        if dtype.startswith(("int", "uint", "bool")):
            raise NotDifferentiable(
                f"`{name}` returns {'a' if dtype[0] != 'i' else 'an'} {dtype}, not a real scalar",
                place,
                instead="return a float.",
            )
        return
    if not isinstance(kind, Unknown):
        raise NotDifferentiable(f"`{name}` returns a value of kind {getattr(kind, 'type', kind)}, not a scalar", place)


# ---------------------------------------------------------------- inputs and their gradients


def inputs_of(primal: Primal, selected: Sequence[tuple[Structure, Value, str]], *, needs_each: bool) -> list[Var]:
    """The leaves to differentiate by; `needs_each` refuses an argument that has none."""
    found: list[Var] = []
    for structure, value, name in selected:
        before = len(found)
        _refuse_foreign_containers(structure, name, primal)
        _leaves(structure, value, primal, found)
        kind = getattr(structure, "kind", None)
        if isinstance(kind, (Number, Array)) and (kind.type if isinstance(kind, Number) else kind.dtype).startswith("complex"):
            raise NotDifferentiable(
                f"the argument `{name}` of `{primal.name}` is complex",
                _definition(primal),
                why="Complex arguments have no gradient here yet.",
                instead="differentiate by the real and the imaginary part.",
            )
        if needs_each and len(found) == before and isinstance(structure, (Leaf, Known, Object, Bound)):
            raise NotDifferentiable(
                f"the argument `{name}` of `{primal.name}` {_why_not(structure)}",
                _definition(primal),
                instead=_instead(structure),
            )
    return found


def _refuse_foreign_containers(s: Structure, name: str, primal: Primal) -> None:
    """A gradient has the structure of the argument: how an object of a subclass of a container is made is not known."""
    cls = getattr(s, "cls", None)
    if isinstance(s, (SequenceOf, Mapping)) and cls not in (list, tuple, dict, OrderedDict, defaultdict):
        raise NotDifferentiable(
            f"the argument `{name}` of `{primal.name}` holds a `{s.cls.__name__}`, a {s.cls.__mro__[1].__name__} of its own kind",
            _definition(primal),
            instead="pass a plain list, tuple or dict, or a dataclass.",
        )
    for part in getattr(s, "items", ()):
        _refuse_foreign_containers(part, name, primal)


def _why_not(s: Structure) -> str:
    if isinstance(s, (Known, Object)):
        if s.value is None or isinstance(s.value, str):
            return f"is {s.value!r}, which has no derivative"
        return f"is an object of type `{type(s.value).__name__}`, which has no derivative"
    kind = getattr(s, "kind", None)
    if isinstance(kind, Number):
        return f"is of type {kind.type}, which has no derivative"
    if isinstance(kind, Array):
        return f"is an array of dtype {kind.dtype}, which has no derivative"
    if isinstance(kind, Opaque):
        return f"is an {kind.type}, which has no derivative"
    return "has no derivative"


def _instead(s: Structure) -> str:
    kind = getattr(s, "kind", None)
    if isinstance(kind, (Number, Array)):
        return "pass a float (3.0 rather than 3), or an array of a float dtype (x.astype(float))."
    return "choose another argument with argnums."


def _leaves(s: Structure, value: Value, primal: Primal, found: list[Var]) -> None:
    for part, inner in parts_of(s, value, primal):
        _leaves(part, inner, primal, found)
    if isinstance(s, Leaf):
        atom = primal_atom(value, primal)
        if isinstance(atom, Var) and is_differentiable(s.kind):
            found.append(atom)


def primal_atom(value: Value, primal: Primal) -> Value:
    """The argument's atom: of a long list, the list as it was on entry."""
    return primal.entry_lists.get(value, value) if isinstance(value, ListRef) else value


def parts_of(s: Structure, value: Value, primal: Primal) -> list[tuple[Structure, Value]]:
    match s:
        case SequenceOf(_, items, _):
            values = primal.entry_lists[value] if isinstance(value, ListRef) else value
            return list(zip(items, values))
        case Mapping(_, _, items, _):
            return list(zip(items, (v for _, v in primal.entry_lists[value])))
        case Fields(_, _, items, _):
            held = [v for _, v in primal.entry_lists[value]] if isinstance(value, ObjectRef) else value.values
            return list(zip(items, held))
        case _:
            return []


def structured(s: Structure, value: Value, primal: Primal, b: Builder, of_leaf: Callable[[Var], Operand]) -> Operand:
    """What there is for each leaf of an argument, in the structure of the argument."""
    parts = [structured(p, v, primal, b, of_leaf) for p, v in parts_of(s, value, primal)]
    match s:
        case Leaf(kind, _):
            atom = primal_atom(value, primal)
            return of_leaf(atom) if is_differentiable(kind) and isinstance(atom, Var) else Const(None)
        case Known() | Object() | Bound():
            return Const(None)
        case SequenceOf(cls, _, _):
            return ListDisplay(tuple(parts)) if issubclass(cls, list) else tuple(parts)
        case Mapping(cls, keys, _, _, factory):
            display = DictDisplay(keys, tuple(parts))
            if cls is dict:
                return display
            first = (Ref(factory, getattr(factory, "__name__", "default_factory")),) if cls is defaultdict else ()
            return b.apply(call_op(cls, cls.__name__), (*first, display), kind=Opaque("dict"))
        case Fields(cls, fields, _, path):
            return RecordDisplay(Ref(cls, cls.__name__), fields, tuple(parts), _bar_name(path))


def _bar_name(path: str) -> str:
    """What the gradient by the argument at a path is called: `layers_0_bar`."""
    return re.sub(r"\W+", "_", path).strip("_") + "_bar"


def _has_single(primal: Primal) -> bool:
    """Whether an argument is in float32: it reaches adjoints of scalars that are not."""
    return any(isinstance(p.var.kind, Array) and p.var.kind.dtype == "float32" for p in primal.params) or any(
        isinstance(t.kind, Array) and t.kind.dtype == "float32" for stmt in primal.stmts for t in bound_by(stmt)
    )


def leaf_gradient(leaf: Var, adjoints: Adjoints, b: Builder, primal: Primal) -> Operand:
    """The adjoint of one number or array of the arguments, of its shape and dtype."""
    return _leaf_gradient(leaf, adjoints, b, has_single=_has_single(primal))


def _leaf_gradient(var: Var, adjoints: Adjoints, b: Builder, *, has_single: bool) -> Operand:
    bar = adjoints.get(var)
    if bar is None:
        return _scalar(zero(var, b).atom, var, b)
    value = full(Staged(b, bar.atom, bar.dims, bar.like), var)
    kind, wanted = value.kind, var.kind
    if isinstance(wanted, Array) and isinstance(kind, Array) and kind.dtype != wanted.dtype and kind.dims != ():
        ref = Ref(getattr(np, wanted.dtype), f"np.{wanted.dtype}")
        return b.apply(ASTYPE, (value.atom, ref), kind=Array(wanted.dtype, kind.dims))
    return _scalar(value.atom, var, b, may_be_single=has_single and not isinstance(value.atom, Const))


def _scalar(atom: Operand, var: Var, b: Builder, *, may_be_single: bool = False) -> Operand:
    """A constant in the dtype of a NumPy scalar that is no float64; where float32 mixes in, any float64 scalar."""
    kind = var.kind
    is_whole = _is_whole(kind_of(atom)) and not isinstance(atom, Const)
    if is_whole and isinstance(kind, Number):
        return b.apply(call_op(float, "float"), (atom,), kind=kind)
    held = kind_of(atom)
    is_other = isinstance(kind, Array) and (
        kind.dtype != "float64" or may_be_single or (isinstance(held, Array) and held.dtype != "float64")
    )
    is_there = isinstance(atom, Var) and atom in b.made and b.made[atom].op.fn is getattr(np, getattr(kind, "dtype", ""), None)
    if (is_whole or is_other) and isinstance(kind, Array) and kind.dims == () and not is_there:
        return b.apply(call_op(getattr(np, kind.dtype), f"np.{kind.dtype}"), (atom,), kind=kind)
    if not (isinstance(atom, Const) and isinstance(kind, Array) and kind.dims == () and kind.dtype != "float64"):
        return atom
    return b.apply(call_op(getattr(np, kind.dtype), f"np.{kind.dtype}"), (atom,), kind=kind)


def _is_whole(kind: Kind) -> bool:
    """Whether a scalar is of integers or booleans."""
    return kind in (Number("int"), Number("bool")) or (
        isinstance(kind, Array) and kind.dims == () and not kind.dtype.startswith("float")
    )
