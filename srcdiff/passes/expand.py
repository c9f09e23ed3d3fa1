"""Put the statements of a function in the place of its call, once no derivative is taken of it any more.

y = custom f(x)                     y = sin(x)
t = stop_gradient(y)                t2 = mul(x, y)
t2 = mul(x, t)             →
"""

from __future__ import annotations

from dataclasses import replace

from srcdiff.ir import ops
from srcdiff.ir.nodes import Apply, Block, Function, Stmt, Yield
from srcdiff.ir.walk import statements_of, with_blocks
from srcdiff.passes.forward_copies import forward_copies


def expand(function: Function) -> Function:
    """The function without calls that have a derivative of their own."""
    applied = [s for s in statements_of(function.body) if isinstance(s, Apply)]
    results = {t for s in applied if s.op.style == "custom" or s.op in ops.ALIASES for t in s.targets}
    if not results:
        return function
    return forward_copies(replace(function, body=_block(function.body)), results)


def _block(block: Block) -> Block:
    stmts: list[Stmt] = []
    for stmt in block.stmts:
        if isinstance(stmt, Apply) and stmt.op.style == "custom":
            stmts.extend(_block(Block(stmt.op.pattern.value(stmt.args, stmt.targets), Yield(()))).stmts)
        elif isinstance(stmt, Apply) and stmt.op in ops.ALIASES:
            stmts.append(replace(stmt, op=ops.COPY))
        else:
            stmts.append(with_blocks(stmt, _block))
    return Block(tuple(stmts), with_blocks(block.end, _block))
