"""Return from within the arms of an If that only computes what is returned.

    r = if c: yield 0.0                    branch c: return 0.0
        else: …; yield x_bar       →       else: …; return x_bar
    return r

The block of the function then ends in a tree of branches.
"""

from __future__ import annotations

from dataclasses import replace

from srcdiff.ir.nodes import UNBOUND, Block, Branch, Const, Function, If, Return, Stmt
from srcdiff.ir.walk import operands_of, statements_of, substitute_block, vars_of

_SHORT = 3


def return_early(function: Function) -> Function:
    return replace(function, body=_block(function.body))


def _block(block: Block) -> Block:
    if not block.stmts or not isinstance(block.end, Return) or not isinstance(block.stmts[-1], If):
        return block
    *before, last = block.stmts
    assert isinstance(last, If)
    if last.around is not None or not _is_only_returned(last, block.end) or not _has_statements(last):
        return block
    arms = [_block(_returning(arm, last, block.end)) for arm in (last.then, last.orelse)]
    return Block(tuple(before), Branch(last.cond, arms[0], arms[1]))


def _is_only_returned(stmt: If, end: Return) -> bool:
    """Whether the results are the function's, under no name of the user's, and an arm is short enough to go first."""
    returned = vars_of((end.value,))
    if any(result.is_users or returned.count(result) != 1 for result in stmt.results):
        return False
    if any(Const(UNBOUND) in operands_of(arm.end) for arm in (stmt.then, stmt.orelse)):
        return False
    return min(_size(stmt.then), _size(stmt.orelse)) <= _SHORT


def _has_statements(stmt: If) -> bool:
    """An If without statements is a conditional expression, which reads well where it is."""
    return bool(stmt.then.stmts or stmt.orelse.stmts)


def _size(block: Block) -> int:
    stmts: list[Stmt] = []
    for stmt in statements_of(block):
        stmts.append(stmt)
        if len(stmts) > 4 * _SHORT:
            break
    return len({stmt.origin for stmt in stmts})


def _returning(arm: Block, stmt: If, end: Return) -> Block:
    mapping = dict(zip(stmt.results, operands_of(arm.end), strict=True))
    returned = substitute_block(Block((), end), mapping).end
    return Block(arm.stmts, returned)
