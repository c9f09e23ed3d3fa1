"""Traversal of the IR: what a node reads, binds and holds, and rebuilding it with other operands.

    stmt = t = item(x, (i, SliceOf(1, n, None)))       vars_of(stmt.args) → x, i, n

Whatever reads or rewrites operands goes through here, so that a new sort of operand has one place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from srcdiff.errors import InternalError
from srcdiff.ir.nodes import (
    Apply,
    Atom,
    Block,
    Branch,
    Caught,
    Const,
    DictDisplay,
    End,
    Exit,
    Free,
    Function,
    If,
    ListDisplay,
    Loop,
    Managed,
    Next,
    Operand,
    Procedure,
    Range,
    RecordDisplay,
    Ref,
    Return,
    SliceOf,
    Source,
    Stmt,
    Var,
    Yield,
)

_CONSTANT = frozenset([Const, Free, Ref])  # the atoms that are no variables


def atoms_of(operands: Iterable[Operand]) -> Iterator[Atom]:
    """The atoms of operands, from left to right."""
    for operand in operands:
        match operand:
            case Var() | Const() | Free() | Ref():
                yield operand
            case _:
                yield from atoms_of(parts_of(operand))


def vars_of(operands: Iterable[Operand]) -> list[Var]:
    """The variables that operands read, from left to right, as often as they are read."""
    found: list[Var] = []
    for operand in operands:
        if type(operand) is Var:
            found.append(operand)
        elif type(operand) not in _CONSTANT:
            found += vars_of(parts_of(operand))
    return found


def parts_of(operand: Operand) -> tuple[Operand, ...]:
    """The operands that an operand consists of; none for an atom."""
    match operand:
        case Var() | Const() | Free() | Ref():
            return ()
        case tuple():
            return operand
        case SliceOf(start, stop, step):
            return start, stop, step
        case ListDisplay(items) | DictDisplay(_, items):
            return items
        case RecordDisplay(cls, _, items):
            return cls, *items
        case _:
            raise InternalError(f"not an operand: {operand!r}")


def operands_of(node: Stmt | End) -> tuple[Operand, ...]:
    """What a statement or the end of a block itself reads, without its blocks, in the order of evaluation."""
    if type(node) is Apply:
        return node.args if not node.kwargs else (*node.args, *(value for _, value in node.kwargs))
    match node:
        case If(cond, around=around):
            return (cond,) if around is None else (cond, *around_operands(around))
        case Branch(cond):
            return (cond,)
        case Loop(sources, _, inits):
            return (*inits, *(atom for source in sources for atom in source_atoms(source)))
        case Yield(values) | Next(values) | Exit(values):
            return values
        case Return(value):
            return (value,)
        case _:
            raise InternalError(f"not a statement: {node!r}")


def around_operands(around: Caught | Managed) -> tuple[Operand, ...]:
    """What the header of a try or with statement reads."""
    if isinstance(around, Caught):
        return around.errors
    return (*around.args, *(value for _, value in around.kwargs))


def map_around(around: Caught | Managed | None, rename: Rename) -> Caught | Managed | None:
    if not isinstance(around, Managed):
        return around
    named = tuple((name, map_operand(value, rename)) for name, value in around.kwargs)
    return replace(around, args=map_operands(around.args, rename), kwargs=named)


def source_atoms(source: Source) -> tuple[Atom, ...]:
    """What a loop's header reads."""
    match source.iterable:
        case Range(start, None, step):
            return start, step
        case Range(start, stop, step):
            assert stop is not None
            return start, stop, step
        case atom:
            return (atom,)


def source_targets(source: Source) -> tuple[Var, ...]:
    return source.target if isinstance(source.target, tuple) else (source.target,)


def bound_by(stmt: Stmt) -> tuple[Var, ...]:
    """The variables that a statement binds for what follows it."""
    return stmt.targets if isinstance(stmt, Apply) else stmt.results


def blocks_of(node: Stmt | End) -> tuple[Block, ...]:
    match node:
        case If(_, then, orelse) | Branch(_, then, orelse):
            return then, orelse
        case Loop(body=body):
            return (body,)
        case _:
            return ()


def ends_of(block: Block) -> Iterator[End]:
    """The leaves of a loop's body: the ends that are no Branch."""
    if isinstance(block.end, Branch):
        yield from ends_of(block.end.then)
        yield from ends_of(block.end.orelse)
    else:
        yield block.end


def statements_of(block: Block) -> Iterator[Stmt]:
    """All statements of a block, those of its blocks included, from top to bottom."""
    for stmt in block.stmts:
        yield stmt
        for inner in blocks_of(stmt):
            yield from statements_of(inner)
    for inner in blocks_of(block.end):
        yield from statements_of(inner)


def read_in(block: Block) -> Iterator[Var]:
    """All variables that a block and those in it read, each as often as it is read."""
    for node in (*block.stmts, block.end):
        yield from vars_of(operands_of(node))
        for inner in blocks_of(node):
            yield from read_in(inner)


def variables_of(function: Function) -> Iterator[Var]:
    """All variables, in the order of their binding."""
    for parameter in function.params:
        yield parameter.var
    yield from variables_in(function.body)


def variables_in(block: Block) -> Iterator[Var]:
    for stmt in block.stmts:
        if isinstance(stmt, Loop):
            yield from stmt.params
            for source in stmt.sources:
                yield from source_targets(source)
        for inner in blocks_of(stmt):
            yield from variables_in(inner)
        yield from bound_by(stmt)
    for inner in blocks_of(block.end):
        yield from variables_in(inner)


def free_vars(block: Block) -> list[Var]:
    """The variables that a block reads and does not bind, in the order of their first reading."""
    bound = set(variables_in(block))
    found: dict[Var, None] = {}

    def visit(inner: Block) -> None:
        for node in (*inner.stmts, inner.end):
            for var in vars_of(operands_of(node)):
                if var not in bound:
                    found[var] = None
            for child in blocks_of(node):
                visit(child)

    visit(block)
    return list(found)


def procedures_in(block: Block) -> list[Procedure]:
    """The procedures that a block calls, in the order of the calls."""
    found = (s.op.procedure for s in statements_of(block) if isinstance(s, Apply))
    return list(dict.fromkeys(p for p in found if p is not None))


def map_applies(block: Block, change: Callable[[Apply], Apply]) -> Block:
    """The block with each primitive, those of its blocks included, changed."""

    def inside(node: Any) -> Any:
        return change(node) if isinstance(node, Apply) else with_blocks(node, lambda inner: map_applies(inner, change))

    return Block(tuple(inside(stmt) for stmt in block.stmts), inside(block.end))


# ------------------------------------------------------------ rebuilding

Rename = Callable[[Var], Operand]


def map_operand(operand: Operand, rename: Rename) -> Operand:
    """The operand with each variable replaced; itself where nothing changes."""
    if type(operand) is Var:
        return rename(operand)
    match operand:
        case Const() | Free() | Ref():
            return operand
        case tuple():
            items = map_operands(operand, rename)
            return operand if items is operand else items
        case SliceOf(start, stop, step):
            return SliceOf(map_operand(start, rename), map_operand(stop, rename), map_operand(step, rename))
        case ListDisplay(items):
            return ListDisplay(map_operands(items, rename))
        case DictDisplay(keys, items):
            return DictDisplay(keys, map_operands(items, rename))
        case RecordDisplay(cls, fields, items, hint):
            return RecordDisplay(cls, fields, map_operands(items, rename), hint)
        case _:
            raise InternalError(f"not an operand: {operand!r}")


def map_operands(operands: tuple[Operand, ...], rename: Rename) -> tuple[Operand, ...]:
    mapped = tuple([map_operand(operand, rename) for operand in operands])
    for a, b in zip(mapped, operands):
        if a is not b:
            return mapped
    return operands


def map_atom(atom: Atom, rename: Rename) -> Atom:
    new = rename(atom) if isinstance(atom, Var) else atom
    if not isinstance(new, (Var, Const, Free, Ref)):
        raise InternalError(f"an atom is needed in place of {atom!r}, not {new!r}")
    return new


def map_source(source: Source, rename: Rename) -> Source:
    iterable: Range | Atom
    match source.iterable:
        case Range(start, stop, step):
            mapped = None if stop is None else map_atom(stop, rename)
            iterable = Range(map_atom(start, rename), mapped, map_atom(step, rename))
        case atom:
            iterable = map_atom(atom, rename)
    return Source(source.target, iterable, source.is_reversed)


def map_stmt(stmt: Stmt, rename: Rename) -> Stmt:
    """The statement with the variables that it reads replaced, in its blocks too; it binds what it bound."""
    match stmt:
        case Apply(targets, op, args, kwargs, origin):
            new_args = map_operands(args, rename)
            new_kwargs = kwargs and tuple((name, map_operand(value, rename)) for name, value in kwargs)
            if new_args is args and all(a[1] is b[1] for a, b in zip(new_kwargs, kwargs)):
                return stmt
            return Apply(targets, op, new_args, new_kwargs, origin)
        case If(cond, then, orelse, results, origin, around):
            arms = map_block(then, rename), map_block(orelse, rename)
            return If(map_atom(cond, rename), *arms, results, origin, map_around(around, rename))
        case Loop(sources, params, inits, body, results, origin, checkpoint):
            mapped = tuple(map_source(source, rename) for source in sources)
            return Loop(mapped, params, map_operands(inits, rename), map_block(body, rename), results, origin, checkpoint)
        case _:
            raise InternalError(f"not a statement: {stmt!r}")


def map_block(block: Block, rename: Rename) -> Block:
    return Block(tuple(map_stmt(stmt, rename) for stmt in block.stmts), map_end(block.end, rename))


def map_end(end: End, rename: Rename) -> End:
    match end:
        case Yield(values):
            return Yield(map_operands(values, rename))
        case Next(values):
            return Next(map_operands(values, rename))
        case Exit(values):
            return Exit(map_operands(values, rename))
        case Branch(cond, then, orelse):
            return Branch(map_atom(cond, rename), map_block(then, rename), map_block(orelse, rename))
        case Return(value):
            return Return(map_operand(value, rename))
        case _:
            raise InternalError(f"not the end of a block: {end!r}")


def substitute_block(block: Block, mapping: Mapping[Var, Operand]) -> Block:
    """The block with variables replaced by operands."""
    return map_block(block, lambda var: mapping.get(var, var)) if mapping else block


def renewed(block: Block, mapping: Mapping[Var, Operand], names: Mapping[Var, Var] | None = None) -> Block:
    """A copy of a block that binds variables of its own; `mapping` replaces some that it reads from outside.

    `names` says which variables some are to be bound to.
    """
    new: dict[Var, Operand] = dict(mapping)
    bound = {var: Var(var.hint, var.kind, var.is_users) for var in variables_in(block)}
    bound.update(names or {})
    new.update(bound)
    return _rebound(substitute_block(block, new), bound)


def _rebound(block: Block, bound: Mapping[Var, Var]) -> Block:
    def each(variables: tuple[Var, ...]) -> tuple[Var, ...]:
        return tuple(bound.get(v, v) for v in variables)

    def one(stmt: Stmt) -> Stmt:
        match stmt:
            case Apply():
                return replace(stmt, targets=each(stmt.targets))
            case If():
                then, orelse = _rebound(stmt.then, bound), _rebound(stmt.orelse, bound)
                return replace(stmt, then=then, orelse=orelse, results=each(stmt.results))
            case _:
                sources = tuple(
                    replace(s, target=each(s.target) if isinstance(s.target, tuple) else bound.get(s.target, s.target))
                    for s in stmt.sources
                )
                body = _rebound(stmt.body, bound)
                return replace(stmt, sources=sources, params=each(stmt.params), body=body, results=each(stmt.results))

    end = block.end
    if isinstance(end, Branch):
        end = replace(end, then=_rebound(end.then, bound), orelse=_rebound(end.orelse, bound))
    return Block(tuple(one(stmt) for stmt in block.stmts), end)


def with_end(block: Block, replace: Callable[[End], Block | End]) -> Block:
    """The block with the leaves of its tree replaced, each by another end or by a block that goes on."""
    if isinstance(block.end, Branch):
        then, orelse = with_end(block.end.then, replace), with_end(block.end.orelse, replace)
        return Block(block.stmts, Branch(block.end.cond, then, orelse))
    new = replace(block.end)
    if isinstance(new, Block):
        return Block((*block.stmts, *new.stmts), new.end)
    return Block(block.stmts, new)


def with_blocks(node: Any, change: Callable[[Block], Block]) -> Any:
    """A statement or an end with its blocks changed."""
    match node:
        case If(_, then, orelse) | Branch(_, then, orelse):
            return replace(node, then=change(then), orelse=change(orelse))
        case Loop(body=body):
            return replace(node, body=change(body))
        case _:
            return node
