"""From a primal program to the function that computes its value and the tangent of its value.

f(x, w)  ⟶  f_jvp(x, w, *, x_dot, w_dot): return (out, out_dot)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from srcdiff.ir.kinds import Array, Number, Opaque, is_differentiable
from srcdiff.ir.nodes import (
    Apply,
    Block,
    Const,
    DictDisplay,
    Function,
    ListDisplay,
    Op,
    Operand,
    Parameter,
    RecordDisplay,
    Return,
    SliceOf,
    Var,
)
from srcdiff.ir.ops import ITEM
from srcdiff.ir.walk import variables_of, vars_of
from srcdiff.prepare.entry import Fields, Leaf, Mapping, Structure
from srcdiff.prepare.entry import Sequence as SequenceOf
from srcdiff.prepare.program import Primal
from srcdiff.prepare.values import Value, operand_of
from srcdiff.rules.builder import Builder
from srcdiff.rules.inference import kind_of
from srcdiff.rules.staging import Staged
from srcdiff.transform.adjoints import full, zero
from srcdiff.transform.forward import Forwarder, dot_kind, named
from srcdiff.transform.gradient import Selector, inputs_of, parts_of, primal_atom, selected_of, split_aux, two_functions
from srcdiff.transform.procedures import BETWEEN, Pairs
from srcdiff.transform.split import split

Selected = tuple[Structure, Value, str]


Named = tuple[str, int | None, str]
"""A parameter, or an item of *args, and the name of the parameter that is its tangent."""


def tangent_program(
    primal: Primal, argnums: Sequence[Selector], pairs: Pairs, *, has_aux: bool, name: str
) -> tuple[list[Function], list[Named]]:
    """The function of the value and its tangent; the tangents of the arguments are parameters that go by name."""
    result, aux = split_aux(primal, has_aux)
    head = operand_of(result, primal.store)
    b = Builder()
    selected = [selected_of(primal, a) for a in argnums]
    forwarder = forwarder_of(primal, selected, head, pairs)
    params = tangent_parameters(primal, selected, forwarder, b)
    forwarder.block(primal.stmts, b)
    b.origin = None
    value: Operand = (head, out_dot(forwarder, head, b))
    if aux is not None:
        value = (*value, aux)  # type: ignore[misc]
    body = Block(tuple(b.stmts), Return(value))
    names = [(name, item, p.name) for (name, item), p in zip(argnums, params)]
    return [Function(name, with_parameters(primal.params, params), body, primal.docstring)], names


def tangents_inside(primal: Primal, argnums: Sequence[Selector], pairs: Pairs) -> tuple[Block, dict[Var, Var]]:
    """The same for a jvp that is taken inside a function: statements that return (out, out_dot), and the tangent of each leaf."""
    head = operand_of(primal.result, primal.store)
    b = Builder()
    selected = [selected_of(primal, a) for a in argnums]
    inputs = inputs_of(primal, selected, needs_each=False)
    outputs = list(dict.fromkeys(v for v in vars_of((head,)) if is_differentiable(v.kind)))
    forwarder = Forwarder.of(primal.stmts, inputs, outputs, pairs, column=-2)
    dots = {leaf: Var(f"{leaf.hint}_dot", dot_kind(leaf.kind)) for leaf in inputs}
    forwarder.tangents.update({leaf: Staged(b, dot) for leaf, dot in dots.items()})
    forwarder.block(primal.stmts, b)
    b.origin = None
    dot = out_dot(forwarder, head, b)
    return Block(tuple(b.stmts), Return((head, dot))), dots


def linear_program(
    primal: Primal, argnums: Sequence[Selector], pairs: Pairs, *, has_aux: bool, name: str
) -> tuple[list[Function], Any]:
    """Two functions: arguments → (result, what tangents read), and (what tangents read, tangents) → tangent of the result."""
    result, aux = split_aux(primal, has_aux)
    head = operand_of(result, primal.store)
    b = Builder()
    selected = [selected_of(primal, a) for a in argnums]
    forwarder = forwarder_of(primal, selected, head, pairs, column=-1)
    params = tangent_parameters(primal, selected, forwarder, b, style="positional")
    forwarder.block(primal.stmts, b)
    b.origin = None
    dot = out_dot(forwarder, head, b)
    still, moving = split(b.stmts, [p.var for p in params], pairs.behind())
    value = head if aux is None else (head, aux)
    whole = Block((*still, Apply((), BETWEEN, (Const(None),)), *moving), Return((value, dot)))
    program = Function(name, (*primal.params, *params), whole, primal.docstring)
    taken = {p.name for p in program.params}
    return two_functions(program, primal, params, taken, pairs, second="tangent"), list(argnums)


def forwarder_of(primal: Primal, selected: Sequence[Selected], head: Operand, pairs: Pairs, *, column: int = -2) -> Forwarder:
    inputs = inputs_of(primal, selected, needs_each=len(selected) == 1)
    outputs = list(dict.fromkeys(v for v in vars_of((head,)) if is_differentiable(v.kind)))
    return Forwarder.of(primal.stmts, inputs, outputs, pairs, column=column)


def with_parameters(own: Sequence[Parameter], tangents: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """The parameters of the function with those of the tangents, which go by name."""
    last = [p for p in own if p.style == "double_star"]
    return (*(p for p in own if p.style != "double_star"), *tangents, *last)


def tangent_parameters(
    primal: Primal, selected: Sequence[Selected], forwarder: Forwarder, b: Builder, *, style: str = "keyword_only"
) -> list[Parameter]:
    """A parameter for the tangent of each argument; what an argument contains gets its tangent from there."""
    whole = Function("", primal.params, Block(primal.stmts, Return(Const(None))))
    taken = {v.hint for v in variables_of(whole) if v.is_users} | {p.name for p in primal.params}
    params: list[Parameter] = []
    for structure, value, path in selected:
        name = unused(re.sub(r"\W+", "_", path).strip("_") + "_dot", taken)
        taken.add(name)
        kind = dot_kind(structure.kind) if isinstance(structure, Leaf) else Opaque("container")
        var = Var(name, kind)
        params.append(Parameter(name, var, style))
        _open(primal, structure, value, var, forwarder, b)
    return params


def _open(primal: Primal, s: Structure, value: Value, dot: Var, forwarder: Forwarder, b: Builder) -> None:
    if isinstance(s, Leaf):
        atom = primal_atom(value, primal)
        if isinstance(atom, Var) and is_differentiable(s.kind):
            forwarder.tangents[atom] = Staged(b, dot)
        return
    for key, (part, inner) in zip(_keys(s), parts_of(s, value, primal)):
        if not _has_leaf(part):
            continue
        kind = dot_kind(part.kind) if isinstance(part, Leaf) else Opaque("container")
        hint = f"{_hint(part, inner)}_dot"
        if isinstance(s, Fields):
            read = b.apply(Op(f"field {key}", "attribute", key), (dot,), kind=kind, hint=hint)
        else:
            read = b.apply(ITEM, (dot, Const(key)), kind=kind, hint=hint)
        _open(primal, part, inner, read, forwarder, b)


def _keys(s: Structure) -> Sequence[Any]:
    match s:
        case SequenceOf(_, items, _):
            return range(len(items))
        case Mapping(_, keys, _, _, _):
            return keys
        case Fields(_, fields, _, _):
            return fields
        case _:
            return ()


def _has_leaf(s: Structure) -> bool:
    if isinstance(s, Leaf):
        return is_differentiable(s.kind)
    return any(_has_leaf(part) for part in getattr(s, "items", ()))


def _hint(s: Structure, value: Value) -> str:
    if isinstance(value, Var):
        return value.hint
    return re.sub(r"\W+", "_", s.path).strip("_")


def out_dot(forwarder: Forwarder, head: Operand, b: Builder) -> Operand:
    """The tangent of a result in its structure: None for what carries no derivative, zeros for what does not change."""
    match head:
        case Var():
            if not is_differentiable(head.kind):
                return Const(None)
            if forwarder.tangents.get(head) is None and isinstance(head.kind, (Array, Number)):
                return full(zero(head, b), head).atom
            whole = forwarder.whole(head, b)
            if isinstance(whole, Var):
                named(Staged(b, whole), head)
            return whole
        case tuple():
            return tuple(out_dot(forwarder, item, b) for item in head)
        case ListDisplay(items):
            return ListDisplay(tuple(out_dot(forwarder, item, b) for item in items))
        case DictDisplay(keys, items):
            return DictDisplay(keys, tuple(out_dot(forwarder, item, b) for item in items))
        case RecordDisplay(cls, fields, items, hint):
            return RecordDisplay(cls, fields, tuple(out_dot(forwarder, item, b) for item in items), f"{hint or 'out'}_dot")
        case Const() | SliceOf():
            return Const(0.0) if isinstance(head, Const) and type(head.value) is float else Const(None)
        case _:
            return forwarder.whole(head, b) if is_differentiable(kind_of(head)) else Const(None)


def unused(name: str, taken: set[str]) -> str:
    """A name that no parameter has."""
    while name in taken:
        name += "_"
    return name
