"""Copy a part of an array rather than the array: what a view shows is copied before the array is written to.

    v = item(u, 1:-1);  index_add(u, …);  … v …      →      v = copy(item(u, 1:-1));  index_add(u, …);  … v …

`place` tells which views keep an array from being written in place.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from srcdiff.ir import ops
from srcdiff.ir.kinds import Array
from srcdiff.ir.nodes import Apply, Block, Branch, Function, If, Loop, Stmt, Var
from srcdiff.ir.walk import blocks_of, vars_of, with_blocks
from srcdiff.rules.inference import is_basic_index


def detach(function: Function, views: Set[Var]) -> Function:
    """The function in which these views are copies."""
    return replace(function, body=_block(function.body, views))


def _block(block: Block, views: Set[Var]) -> Block:
    stmts: list[Stmt] = []
    for stmt in block.stmts:
        if isinstance(stmt, Apply) and stmt.op is ops.ITEM and stmt.targets[0] in views:
            target = stmt.targets[0]
            part = Var(target.hint, target.kind)
            stmts.append(replace(stmt, targets=(part,)))
            stmts.append(Apply((target,), ops.ARRAY_COPY, (part,), (), stmt.origin))
        else:
            stmts.append(with_blocks(stmt, lambda inner: _block(inner, views)))
    return Block(tuple(stmts), with_blocks(block.end, lambda inner: _block(inner, views)))


def views_of(function: Function) -> tuple[set[Var], set[Var]]:
    """The views by a basic index, and those of them that go into a container or out of a block."""
    views: set[Var] = set()
    handed_on: set[Var] = set()
    _collect(function.body, views, handed_on)
    return views, views & handed_on


def _collect(block: Block, views: set[Var], handed_on: set[Var]) -> None:
    for stmt in block.stmts:
        match stmt:
            case Apply(targets, op, args):
                kind = targets[0].kind if targets else None
                if op is ops.ITEM and isinstance(kind, Array) and kind.dims != () and isinstance(args[0], Var):
                    if isinstance(args[0].kind, Array) and is_basic_index(args[1]):
                        views.add(targets[0])
                elif op.style in ("append", "display", "index_set", "call"):
                    handed_on.update(vars_of(args))
            case Loop(inits=inits):
                handed_on.update(vars_of(inits))
            case If():
                pass
        for inner in blocks_of(stmt):
            _collect(inner, views, handed_on)
    end = block.end
    if isinstance(end, Branch):
        for inner in blocks_of(end):
            _collect(inner, views, handed_on)
    else:
        handed_on.update(vars_of(getattr(end, "values", ())))
