"""Multiply by an inverse that is there anyway, rather than solve the same system again.

    i = inv(S)                                i = inv(S)
    x = solve(transpose(S), b)        →       x = matmul(transpose(i), b)

Only in the reverse sweep, and only where the inverse has been computed before in a block around, or the reverse sweep computes
it later in the same block: then it moves up.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from srcdiff.ir import ops
from srcdiff.ir.kinds import Array
from srcdiff.ir.nodes import Apply, Block, Branch, Function, If, Loop, Operand, Stmt, Var
from srcdiff.passes.shapes import is_of_users


def multiply_by_inverses(function: Function) -> Function:
    return replace(function, body=_block(function.body, {}, {}))


Inverses = dict[Operand, Var]


def _block(block: Block, inverses: Inverses, bases: Inverses) -> Block:
    """`inverses` maps a matrix to its inverse, `bases` a transpose to the matrix that it is of."""
    inverses, bases = dict(inverses), dict(bases)
    later = {s.args[0]: s for s in block.stmts if isinstance(s, Apply) and s.op.fn is np.linalg.inv and not is_of_users(s)}
    stmts: list[Stmt] = []
    for stmt in block.stmts:
        match stmt:
            case Apply((target,), op, (matrix,)) if op.fn is np.linalg.inv:
                if inverses.get(matrix) is target:
                    continue  # it has moved up
                inverses[matrix] = target
            case Apply((target,), op, (Var() as matrix,)) if op is ops.TRANSPOSE:
                bases[target] = matrix
            case Apply(_, op, (matrix, _)) if op.fn is np.linalg.solve and not is_of_users(stmt):
                base = bases.get(matrix, matrix)
                if base not in inverses and base in later and _is_matrix(base):
                    inverses[base] = later[base].targets[0]
                    stmts.append(replace(later[base], origin=stmt.origin))
                stmts.extend(_solved(stmt, inverses, bases))
                continue
            case If(_, then, orelse):
                stmt = replace(stmt, then=_block(then, inverses, bases), orelse=_block(orelse, inverses, bases))
            case Loop(body=body):
                stmt = replace(stmt, body=_block(body, inverses, bases))
        stmts.append(stmt)
    end = block.end
    if isinstance(end, Branch):
        end = replace(end, then=_block(end.then, inverses, bases), orelse=_block(end.orelse, inverses, bases))
    return Block(tuple(stmts), end)


def _solved(stmt: Apply, inverses: Inverses, bases: Inverses) -> list[Stmt]:
    matrix, right = stmt.args
    if not _is_matrix(matrix):
        return [stmt]
    inverse = inverses.get(matrix)
    if inverse is not None:
        return [replace(stmt, op=ops.MATMUL, args=(inverse, right), kwargs=())]
    base = bases.get(matrix)
    inverse = inverses.get(base) if base is not None else None
    if inverse is None:
        return [stmt]
    transposed = Var(f"{inverse.hint}_T", matrix.kind)  # type: ignore[union-attr]
    return [
        Apply((transposed,), ops.TRANSPOSE, (inverse,), (), stmt.origin),
        replace(stmt, op=ops.MATMUL, args=(transposed, right), kwargs=()),
    ]


def _is_matrix(operand: Operand) -> bool:
    kind = getattr(operand, "kind", None)
    return isinstance(kind, Array) and kind.ndim == 2
