"""Drop the test that a name is bound where something else reads the name.

y                                        z = mul(y, 2)
z = mul(y, 2); return z           →      return z
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from srcdiff.ir import ops
from srcdiff.ir.nodes import Apply, Block, Function, Var
from srcdiff.ir.walk import blocks_of, operands_of, vars_of, with_blocks


def drop_needless_tests(function: Function) -> Function:
    reads: Counter[Var] = Counter()
    _count(function.body, reads)
    return replace(function, body=_block(function.body, reads))


def _count(block: Block, reads: Counter[Var]) -> None:
    for node in (*block.stmts, block.end):
        if not _is_test(node):
            reads.update(vars_of(operands_of(node)))
        for inner in blocks_of(node):
            _count(inner, reads)


def _is_test(node: object) -> bool:
    return isinstance(node, Apply) and node.op is ops.BOUND


def _block(block: Block, reads: Counter[Var]) -> Block:
    stmts = []
    for stmt in block.stmts:
        if isinstance(stmt, Apply) and stmt.op is ops.BOUND:
            if reads[stmt.args[0]]:  # type: ignore[index]
                continue
            reads[stmt.args[0]] += 1  # type: ignore[index]
        stmts.append(with_blocks(stmt, lambda inner: _block(inner, reads)))
    return Block(tuple(stmts), with_blocks(block.end, lambda inner: _block(inner, reads)))
