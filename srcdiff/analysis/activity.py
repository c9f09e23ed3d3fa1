"""Which values carry a derivative: those that depend on the active inputs and reach the result.

Both are reachability in one graph, whose edges go from what a statement reads differentiably to what it binds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from srcdiff.ir import ops
from srcdiff.ir.custom import Custom
from srcdiff.ir.kinds import Array, Kind, ListOf, Number, TupleOf, Unknown, is_differentiable
from srcdiff.ir.nodes import Apply, Block, If, Loop, Next, Operand, Range, Source, Stmt, Var, Yield
from srcdiff.ir.walk import ends_of, statements_of, vars_of
from srcdiff.rules.registry import Rule, rule_for

Edges = dict[Var, list[Var]]


def may_carry(kind: Kind) -> bool:
    match kind:
        case TupleOf(items):
            return any(may_carry(k) for k in items)
        case Number() | Array() | ListOf() | Unknown():
            return is_differentiable(kind) or isinstance(kind, ListOf) and may_carry(kind.item)
        case _:
            return False


def differentiable_args(stmt: Apply) -> Iterator[Operand]:
    """The operands of a primitive in which it is differentiable."""
    op, args = stmt.op, stmt.args
    if op.procedure is not None:
        yield from args
        return
    match op.style:
        case "binary" | "unary" | "call":
            rule = rule_for(op.fn)
            if op.text in ("is", "in", "is not", "not in", "and", "or", "not"):
                return
            if rule is None:
                converts = op.text in ("np.array", "list", "sum", "unbroadcast") or _is_scalar_type(op.fn)
                yield from args[:1] if converts else args  # what has no rule is refused later, not taken for a constant
                return
            if rule.sort == "nondifferentiable":
                if _is_scalar_type(op.fn):
                    yield args[0]
                return
            for name, arg in named_args(rule, stmt):
                if name in rule.wrt:
                    yield arg
        case "attribute":
            if op is ops.TRANSPOSE:
                yield args[0]
        case "custom":
            custom: Custom = op.pattern
            yield from (arg for i, arg in enumerate(args) if i < custom.count or i in custom.fixed)
        case "copy" if op is ops.STOP:
            return
        case "item" | "display" | "copy" | "method" | "pop":
            yield args[0]
        case "append":
            yield from args
        case "insert" | "index_add" | "index_set" | "scatter_add":
            yield args[0]
            yield args[2]


def _is_scalar_type(fn: Any) -> bool:
    return isinstance(fn, type) and issubclass(fn, np.floating)


def named_args(rule: Rule, stmt: Apply) -> Iterator[tuple[str, Operand]]:
    """The arguments of a call by the names of its rule's parameters."""
    parameters = {} if rule.signature is None else rule.signature.parameters
    names = list(parameters)
    star = next((i for i, p in enumerate(parameters.values()) if p.kind is p.VAR_POSITIONAL), None)
    for i, arg in enumerate(stmt.args):
        yield (names[star] if star is not None and i >= star else names[i] if i < len(names) else ""), arg
    yield from stmt.kwargs


def edges_of(stmts: Iterable[Stmt], edges: Edges) -> None:
    def link(source: Operand, target: Var) -> None:
        if may_carry(target.kind):
            for var in vars_of((source,)):
                if may_carry(var.kind):
                    edges[var].append(target)

    for stmt in stmts:
        match stmt:
            case Apply(targets):
                for arg in differentiable_args(stmt):
                    for target in targets:
                        link(arg, target)
            case If(_, then, orelse, results):
                for arm in (then, orelse):
                    edges_of(arm.stmts, edges)
                    assert isinstance(arm.end, Yield)
                    for value, result in zip(arm.end.values, results):
                        link(value, result)
            case Loop():
                for source in stmt.sources:
                    for target in _source_targets(source):
                        if not isinstance(source.iterable, Range):
                            link(source.iterable, target)
                for init, param, result in zip(stmt.inits, stmt.params, stmt.results):
                    link(init, param)
                    link(param, result)
                _tree(stmt.body, edges)
                for end in ends_of(stmt.body):
                    ways = stmt.params if isinstance(end, Next) else stmt.results
                    for value, way in zip(end.values, ways):  # type: ignore[union-attr]
                        link(value, way)


def _source_targets(source: Source) -> tuple[Var, ...]:
    return source.target if isinstance(source.target, tuple) else (source.target,)


def _tree(block: Block, edges: Edges) -> None:
    from srcdiff.ir.walk import blocks_of

    edges_of(block.stmts, edges)
    for inner in blocks_of(block.end):
        _tree(inner, edges)


def _reachable(starts: Iterable[Var], edges: Edges) -> set[Var]:
    seen = set(starts)
    todo = list(seen)
    while todo:
        for after in edges.get(todo.pop(), ()):
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return seen


def without_rule(stmts: Sequence[Stmt], inputs: Iterable[Var], outputs: Iterable[Var]) -> Iterator[tuple[Apply, str]]:
    """The calls on the way to an output that read an input through a parameter by which their rule does not differentiate."""
    edges: Edges = defaultdict(list)
    edges_of(stmts, edges)
    backwards: Edges = defaultdict(list)
    for source, targets in edges.items():
        for target in targets:
            backwards[target].append(source)
    dependent, reaching = _reachable(inputs, edges), _reachable(outputs, backwards)
    for stmt in statements_of(Block(tuple(stmts), Yield(()))):
        if not isinstance(stmt, Apply) or stmt.op.style not in ("binary", "unary", "call"):
            continue
        rule = rule_for(stmt.op.fn)
        if rule is None or rule.sort in ("nondifferentiable", "decomposed") or not any(t in reaching for t in stmt.targets):
            continue
        for name, arg in named_args(rule, stmt):
            if name not in (*rule.wrt, *rule.constant) and any(v in dependent and may_carry(v.kind) for v in vars_of((arg,))):
                yield stmt, name


def active(stmts: Iterable[Stmt], inputs: Iterable[Var], outputs: Iterable[Var]) -> set[Var]:
    """The values that depend on an input and reach an output."""
    edges: Edges = defaultdict(list)
    edges_of(stmts, edges)
    backwards: Edges = defaultdict(list)
    for source, targets in edges.items():
        for target in targets:
            backwards[target].append(source)
    return _reachable(inputs, edges) & _reachable(outputs, backwards)
