"""Add up in a list what a loop adds to one element of an array after another.

    b = np.zeros_like(x)                              l = mul([0.0], len(x))
    for i in range(len(x)) carrying p from b:   →     for i in range(len(x)) carrying q from l:
        p_1 = index_add(p, i, v); next p_1                q_1 = index_add(q, i, v); next q_1
                                                      result = np.array(result of the list)

An element of a list is added to in a fifth of the time. Only an adjoint of one axis and of float64, to which the loop does
nothing else, nor another one after it, and only where it has about as many trips as the array has elements: a list of many that
few are added to would cost more than it spares.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from srcdiff.errors import InternalError
from srcdiff.ir import ops
from srcdiff.ir.kinds import FLOAT, INT, Array, Dim, Length, ListOf, Number
from srcdiff.ir.nodes import Apply, Block, Branch, Const, Function, If, ListDisplay, Loop, Operand, Range, Source, Stmt, Var
from srcdiff.ir.walk import map_stmt, operands_of, read_in, statements_of, vars_of, with_blocks
from srcdiff.passes.shapes import is_of_users

_ARRAY = ops.call_op(np.array, "np.array")


def add_up_in_lists(function: Function) -> Function:
    if not any(isinstance(stmt, Apply) and _is_zeros(stmt) for stmt in statements_of(function.body)):
        return function
    return replace(function, body=_block(function.body, Counter(read_in(function.body))))


def _is_zeros(stmt: Apply) -> bool:
    """Whether the reverse sweep makes zeros of one axis here."""
    kind = stmt.targets[0].kind if stmt.targets else None
    is_vector = isinstance(kind, Array) and kind.dtype == "float64" and kind.ndim == 1
    return is_vector and stmt.op.fn is np.zeros_like and len(stmt.args) == 1 and not stmt.kwargs and not is_of_users(stmt)


def _block(block: Block, uses: Counter[Var]) -> Block:
    zeros = {stmt.targets[0] for stmt in block.stmts if isinstance(stmt, Apply) and _is_zeros(stmt)}
    carried_on = {init for stmt in block.stmts if isinstance(stmt, Loop) for init in stmt.inits}
    lists: dict[Operand, Var] = {}
    stmts: list[Stmt] = []
    for stmt in block.stmts:
        stmt = with_blocks(stmt, lambda inner: _block(inner, uses))
        arrays: list[Stmt] = []
        if isinstance(stmt, Loop):
            for i, (init, result) in enumerate(zip(stmt.inits, stmt.results)):
                if not isinstance(init, Var) or init not in zeros or uses[init] > 1 or result in carried_on:
                    continue
                versions = _versions(stmt, i) if _is_worth_it(stmt, i) else None
                if versions is not None:
                    lists[init] = Var(init.hint, _list_kind(init))
                    stmt, array = _listed(stmt, i, lists[init], versions)
                    arrays.append(array)
        stmts += [stmt, *arrays]
    stmts = [new for stmt in stmts for new in _list_of_zeros(stmt, lists)]
    return Block(tuple(stmts), with_blocks(block.end, lambda inner: _block(inner, uses)))


def _is_worth_it(loop: Loop, position: int) -> bool:
    """Whether a loop has about as many trips as the array that it carries there has elements."""
    kind = loop.params[position].kind
    if not isinstance(kind, Array) or not kind.dims:
        return False
    return any(_is_about(trips, kind.dims[0]) for trips in map(_trips, loop.sources) if trips is not None)


def _trips(source: Source) -> Length | None:
    match source.iterable:
        case Range(Const(), (Var() | Const()) as stop, Const(1)) if isinstance(stop.kind, Number):
            return stop.kind.length if isinstance(stop, Var) else stop.value
        case Var(kind=Array(_, dims)) if dims:
            return dims[0]
        case Var(kind=ListOf(_, length)):
            return length
        case _:
            return None


def _is_about(trips: Length, length: Length) -> bool:
    if isinstance(trips, int) and isinstance(length, int):
        return 2 * trips >= length
    bases = [n.base[0] if isinstance(n, Dim) and n.base is not None else n for n in (trips, length)]
    return bases[0] == bases[1]


def _versions(loop: Loop, position: int) -> set[Var] | None:
    """The versions of a carried array, if the loop does nothing but add to single elements of it."""
    versions = {loop.params[position]}
    if not _only_adds(loop.body, versions, position):
        return None
    return versions


def _only_adds(block: Block, versions: set[Var], position: int | None) -> bool:
    """Whether a block only adds to single elements of an array; `position` is where its leaves carry it, if they do.

    What the additions make joins the versions.
    """
    if isinstance(block.end, Branch):
        return False
    for stmt in block.stmts:
        read = [i for i, operand in enumerate(operands_of(stmt)) if not versions.isdisjoint(vars_of((operand,)))]
        match stmt:
            case Apply((target,), op, (_, index, value)) if read == [0] and op is ops.INDEX_ADD:
                if not (_is_int(index) and _is_float(value)):
                    return False
                versions.add(target)
            case If(_, then, orelse, results, around=None) if not read:
                if not (_only_adds(then, versions, None) and _only_adds(orelse, versions, None)):
                    return False
                for result, values in zip(results, zip(operands_of(then.end), operands_of(orelse.end))):
                    given = [value in versions for value in values]
                    if any(given):
                        if not all(given):
                            return False
                        versions.add(result)
            case Loop(_, params, inits, body, results) if len(read) <= 1:
                at = next((i for i, init in enumerate(inits) if init in versions), None)
                if at is None and (read or not versions.isdisjoint(read_in(body))):
                    return False
                if at is not None:
                    versions |= {params[at], results[at]}
                    if not _only_adds(body, versions, at):
                        return False
            case _ if read:
                return False
    return position is None or [i for i, value in enumerate(operands_of(block.end)) if value in versions] == [position]


def _is_int(operand: Operand) -> bool:
    return getattr(operand, "kind", None) in (Number("int"), Array("int64", ()))


def _is_float(operand: Operand) -> bool:
    return getattr(operand, "kind", None) in (Number("float"), Number("int"), Array("float64", ()))


# ------------------------------------------------------------ as a list


def _list_of_zeros(stmt: Stmt, lists: Mapping[Operand, Var]) -> list[Stmt]:
    """`[0.0] * len(x)` in place of the zeros that a list is for."""
    made = lists.get(stmt.targets[0]) if isinstance(stmt, Apply) and stmt.targets else None
    if made is None:
        return [stmt]
    assert isinstance(stmt, Apply)
    length = Var(f"len_{getattr(stmt.args[0], 'hint', 'x')}", INT)
    return [
        Apply((length,), ops.LEN, stmt.args, (), stmt.origin),
        Apply((made,), ops.MUL, (ListDisplay((Const(0.0),)), length), (), stmt.origin),
    ]


def _list_kind(var: Var) -> ListOf:
    assert isinstance(var.kind, Array) and var.kind.dims is not None
    return ListOf(FLOAT, var.kind.dims[0])


def _listed(loop: Loop, position: int, start: Var, versions: set[Var]) -> tuple[Loop, Apply]:
    """The loop with the versions as lists, and the array of what it gives."""
    listed = {var: Var(var.hint, _list_kind(var), var.is_users) for var in versions}
    result = loop.results[position]
    listed[result] = Var(result.hint, _list_kind(result), result.is_users)
    inner = _rebound(replace(loop, inits=_replaced(loop.inits, position, start)), listed)
    assert isinstance(inner, Loop)
    return inner, Apply((result,), _ARRAY, (listed[result],), (), loop.origin)


def _replaced(operands: tuple[Operand, ...], position: int, new: Operand) -> tuple[Operand, ...]:
    return (*operands[:position], new, *operands[position + 1 :])


def _rebound(stmt: Stmt, listed: Mapping[Var, Var]) -> Stmt:
    """A statement with some variables replaced, those that it and its blocks bind included."""

    def inside(block: Block) -> Block:
        return Block(tuple(_rebound(inner, listed) for inner in block.stmts), block.end)

    def new(variables: tuple[Var, ...]) -> tuple[Var, ...]:
        return tuple(listed.get(var, var) for var in variables)

    match stmt:
        case Apply():
            bound: Stmt = replace(stmt, targets=new(stmt.targets))
        case If():
            bound = replace(stmt, then=inside(stmt.then), orelse=inside(stmt.orelse), results=new(stmt.results))
        case Loop():
            bound = replace(stmt, params=new(stmt.params), body=inside(stmt.body), results=new(stmt.results))
        case _:
            raise InternalError(f"not a statement: {stmt!r}")
    return map_stmt(bound, lambda var: listed.get(var, var))
