"""Compute what a while loop tests in its header, and again in its body where the body reads it too.

    for ever:                                  for ever:
        t = mul(x, x)                              t_1 = mul(x, x); c = lt(t_1, 9)
        c = lt(t, 9)                  →            branch c:
        branch c: … t …; next …                        t = mul(x, x); … t …; next …
        else: exit …                               else: exit …

The header then prints as `while x * x < 9:`. Only arithmetic on numbers is done twice.
"""

from __future__ import annotations

import math
from dataclasses import replace

from srcdiff.ir.kinds import is_scalar
from srcdiff.ir.nodes import Apply, Block, Branch, End, Exit, Function, If, Loop, Stmt, Var
from srcdiff.ir.walk import map_stmt, operands_of, vars_of
from srcdiff.passes.dead_code import has_effect

_MOST = 8
_STYLES = frozenset(["binary", "unary", "attribute", "item"])
_FUNCTIONS = (abs, len)


def free_head_tests(function: Function) -> Function:
    return replace(function, body=_block(function.body))


def _block(block: Block) -> Block:
    end = block.end
    if isinstance(end, Branch):
        end = Branch(end.cond, _block(end.then), _block(end.orelse))
    return Block(tuple(_stmt(stmt) for stmt in block.stmts), end)


def _stmt(stmt: Stmt) -> Stmt:
    match stmt:
        case If(_, then, orelse):
            return replace(stmt, then=_block(then), orelse=_block(orelse))
        case Loop(sources, body=body):
            body = _block(body)
            return replace(stmt, body=body if sources else _freed(body))
        case _:
            return stmt


def _freed(body: Block) -> Block:
    """The body of a while loop, with nothing before its test but what the test reads."""
    end = body.end
    if not body.stmts or not isinstance(end, Branch) or not isinstance(end.cond, Var):
        return body
    bound = {target: stmt for stmt in body.stmts if isinstance(stmt, Apply) for target in stmt.targets}
    exits = [arm for arm in (end.then, end.orelse) if not arm.stmts and isinstance(arm.end, Exit)]
    if len(exits) != 1 or not bound.keys().isdisjoint(vars_of(operands_of(exits[0].end))):
        return body
    if len(body.stmts) > _MOST or not all(isinstance(stmt, Apply) and _is_cheap(stmt) for stmt in body.stmts):
        return body
    test: list[Stmt] = []
    again: dict[Var, Var] = {}

    def copied(var: Var) -> Var:
        stmt = bound.get(var)
        if stmt is None:
            return var
        if var not in again:
            new = map_stmt(stmt, copied)
            assert isinstance(new, Apply)
            again[var] = Var(var.hint, var.kind)
            test.append(replace(new, targets=(again[var],)))
        return again[var]

    cond = copied(end.cond)
    arms = [arm if arm is exits[0] else _after(body.stmts, arm) for arm in (end.then, end.orelse)]
    return Block(tuple(test), Branch(cond, *arms))


def _after(stmts: tuple[Stmt, ...], arm: Block) -> Block:
    """The arm behind those statements that it reads."""
    read = _read_by(arm)
    kept: list[Stmt] = []
    for stmt in reversed(stmts):
        assert isinstance(stmt, Apply)
        if not read.isdisjoint(stmt.targets):
            kept.append(stmt)
            read.update(vars_of(operands_of(stmt)))
    return Block((*reversed(kept), *arm.stmts), arm.end) if kept else arm


def _read_by(block: Block) -> set[Var]:
    read: set[Var] = set()
    todo: list[Stmt | End] = [*block.stmts, block.end]
    while todo:
        node = todo.pop()
        read.update(vars_of(operands_of(node)))
        match node:
            case If(_, then, orelse) | Branch(_, then, orelse):
                todo += [*then.stmts, then.end, *orelse.stmts, orelse.end]
            case Loop(body=body):
                todo += [*body.stmts, body.end]
            case _:
                pass
    return read


def _is_cheap(stmt: Apply) -> bool:
    """Whether a statement is arithmetic on numbers, under no name of the user's."""
    if has_effect(stmt) or len(stmt.targets) != 1 or stmt.targets[0].is_users or not is_scalar(stmt.targets[0].kind):
        return False
    fn = stmt.op.fn
    is_simple = stmt.op.style == "call" and (fn in _FUNCTIONS or getattr(math, getattr(fn, "__name__", ""), None) is fn)
    return is_simple or stmt.op.style in _STYLES
