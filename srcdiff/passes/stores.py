"""Store at once what a place of an adjoint is cleared for and then given.

    b1 = index_set(b, i, 0.0)                     b2 = index_set(b, i, w)
    b2 = index_add(b1, j, v)             →        b3 = index_add(b2, j, v)
    b3 = index_add(b2, i, w)

Additions commute, and a place that was cleared and given the same is the same, whichever was first.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from srcdiff.ir import ops
from srcdiff.ir.kinds import Array
from srcdiff.ir.nodes import Apply, Block, Const, Function, Stmt, Var
from srcdiff.ir.walk import operands_of, read_in, vars_of, with_blocks

_ADDS = (ops.INDEX_ADD, ops.SCATTER_ADD)


def merge_stores(function: Function) -> Function:
    return replace(function, body=_block(function.body, Counter(read_in(function.body))))


def _block(block: Block, uses: Counter[Var]) -> Block:
    stmts = [with_blocks(stmt, lambda inner: _block(inner, uses)) for stmt in block.stmts]
    end = with_blocks(block.end, lambda inner: _block(inner, uses))
    position = 0
    while position < len(stmts):
        chain = _chain(stmts, position, uses) if _is_clearing(stmts[position]) else None
        if chain is None:
            position += 1
        else:
            stmts = _merged(stmts, chain)
    return Block(tuple(stmts), end)


def _is_clearing(stmt: Stmt) -> bool:
    """Whether a statement of the reverse sweep sets a place of an array to zero."""
    return (
        isinstance(stmt, Apply)
        and stmt.op is ops.INDEX_SET
        and stmt.args[2] == Const(0.0)
        and isinstance(stmt.targets[0].kind, Array)
        and not stmt.targets[0].is_users
    )


def _chain(stmts: list[Stmt], start: int, uses: Counter[Var]) -> list[int] | None:
    """Where the versions stand from the clearing of a place to the addition at the same index; None without one."""
    first = stmts[start]
    assert isinstance(first, Apply)
    chain, last = [start], first.targets[0]
    for i in range(start + 1, len(stmts)):
        if last not in vars_of(operands_of(stmts[i])):
            continue
        stmt = stmts[i]
        is_next = isinstance(stmt, Apply) and stmt.op in _ADDS and stmt.args[0] is last and uses[last] == 1
        if not is_next:
            return None
        assert isinstance(stmt, Apply)
        chain.append(i)
        if stmt.op is ops.INDEX_ADD and stmt.args[1] == first.args[1]:
            return chain
        last = stmt.targets[0]
    return None


def _merged(stmts: list[Stmt], chain: list[int]) -> list[Stmt]:
    links = [stmts[i] for i in chain]
    first, last = links[0], links[-1]
    assert isinstance(first, Apply) and isinstance(last, Apply)
    store: Apply = replace(first, args=(*first.args[:2], last.args[2]))
    moved: list[Stmt] = [store, *links[1:-1]]
    final = moved[-1]
    assert isinstance(final, Apply)
    moved[-1] = replace(final, targets=last.targets)
    dropped = set(chain)
    kept = [stmt for i, stmt in enumerate(stmts[: chain[-1]]) if i not in dropped]
    return [*kept, *moved, *stmts[chain[-1] + 1 :]]
