"""Multiply by a diagonal matrix or an outer product without making it.

    D[a, a] += d;  y = matmul(A, D)                          y = mul(A, d)                     a = np.arange(n), D of zeros
    t = outer(u, v);  y = matmul(A, t)                       p = matmul(A, u);  y = outer(p, v)
    t = sub(D, outer(u, v));  y = matmul(A, t)               y = sub(mul(A, d), outer(p, v))

Only what the reverse sweep computes, and only where nothing else reads the matrix. The same on the other side of the product.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from srcdiff.errors import InternalError
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, Kind
from srcdiff.ir.nodes import Apply, Block, Branch, Const, Function, If, Loop, Operand, SliceOf, Stmt, Var
from srcdiff.ir.walk import read_in, statements_of
from srcdiff.passes.shapes import is_of_users
from srcdiff.rules.builder import Builder

_WHOLE = SliceOf(Const(None), Const(None), Const(None))
_OUTER = ops.call_op(np.outer, "np.outer")


@dataclass(frozen=True)
class _Term:
    """A diagonal matrix (`right` is None) or an outer product, with its sign."""

    is_negative: bool
    left: Operand
    right: Operand | None


def multiply_by_structure(function: Function) -> Function:
    if not any(isinstance(stmt, Apply) and _has_structure(stmt) for stmt in statements_of(function.body)):
        return function
    return replace(function, body=_Products(Counter(read_in(function.body)), {}).block(function.body))


def _has_structure(stmt: Apply) -> bool:
    """Whether this is an outer product of ours, or writes a diagonal."""
    return not is_of_users(stmt) and (stmt.op.fn is np.outer or stmt.op is ops.INDEX_ADD)


@dataclass
class _Products:
    counts: dict[Var, int]
    made: dict[Var, Apply]

    def block(self, block: Block) -> Block:
        outer, self.made = self.made, dict(self.made)
        stmts: list[Stmt] = []
        for stmt in block.stmts:
            match stmt:
                case Apply():
                    found = self.product(stmt)
                    stmts += found
                    self.made.update((s.targets[0], s) for s in found if len(s.targets) == 1)
                case If(_, then, orelse):
                    stmts.append(replace(stmt, then=self.block(then), orelse=self.block(orelse)))
                case Loop(body=body):
                    stmts.append(replace(stmt, body=self.block(body)))
                case _:
                    raise InternalError(f"not a statement: {stmt!r}")
        end = block.end
        if isinstance(end, Branch):
            end = Branch(end.cond, self.block(end.then), self.block(end.orelse))
        self.made = outer
        return Block(tuple(stmts), end)

    def product(self, stmt: Apply) -> Iterable[Apply]:
        if stmt.op is not ops.MATMUL or is_of_users(stmt) or not all(_is_matrix(x) for x in (*stmt.args, *stmt.targets)):
            return [stmt]
        a, b = stmt.args
        terms, is_right = self.terms(b, False), True
        if terms is None:
            a, terms, is_right = b, self.terms(a, False), False
        if terms is None:
            return [stmt]
        builder = Builder()
        builder.origin = stmt.origin
        kind = stmt.targets[0].kind
        first, *rest = sorted(terms, key=lambda term: term.is_negative)
        total = _times(a, first, is_right, kind, builder)
        if first.is_negative:
            total = builder.apply(ops.NEG, (total,), kind=kind)
        for term in rest:
            op = ops.SUB if term.is_negative else ops.ADD
            total = builder.apply(op, (total, _times(a, term, is_right, kind, builder)), kind=kind)
        made = [s for s in builder.stmts if isinstance(s, Apply)]
        return [*made[:-1], replace(made[-1], targets=stmt.targets)]

    def terms(self, operand: Operand, is_negative: bool) -> list[_Term] | None:
        """The diagonals and outer products that a matrix is the sum of; None where it has other parts."""
        stmt = self.made.get(operand) if isinstance(operand, Var) and self.counts.get(operand) == 1 else None
        if stmt is None or is_of_users(stmt):
            return None
        if stmt.op is ops.NEG:
            return self.terms(stmt.args[0], not is_negative)
        if stmt.op in (ops.ADD, ops.SUB):
            a = self.terms(stmt.args[0], is_negative)
            b = self.terms(stmt.args[1], is_negative != (stmt.op is ops.SUB))
            return None if a is None or b is None else [*a, *b]
        if stmt.op.fn is np.outer and all(getattr(getattr(arg, "kind", None), "ndim", None) == 1 for arg in stmt.args):
            return [_Term(is_negative, stmt.args[0], stmt.args[1])]
        if stmt.op is ops.INDEX_ADD and self.is_diagonal(stmt):
            return [_Term(is_negative, stmt.args[2], None)]
        return None

    def is_diagonal(self, stmt: Apply) -> bool:
        """Whether a statement adds to the diagonal of a square matrix of zeros that only it reads."""
        base, index, value = stmt.args
        kind, zeros = getattr(base, "kind", None), self.made.get(base) if isinstance(base, Var) else None
        if zeros is None or zeros.op.fn is not np.zeros_like or self.counts.get(base) != 1 or is_of_users(zeros):  # type: ignore[arg-type]
            return False
        if not isinstance(kind, Array) or kind.dims is None or len(kind.dims) != 2 or kind.dims[0] != kind.dims[1]:
            return False
        if not isinstance(index, tuple) or len(index) != 2 or index[0] is not index[1] or not isinstance(index[0], Var):
            return False
        places, own = self.made.get(index[0]), getattr(value, "kind", None)
        is_count = places is not None and places.op.fn is np.arange and len(places.args) == 1 and not is_of_users(places)
        return is_count and isinstance(own, Array) and own.ndim == 1 and own.dtype == kind.dtype


def _is_matrix(operand: Operand) -> bool:
    kind = getattr(operand, "kind", None)
    return isinstance(kind, Array) and kind.ndim == 2


def _times(a: Operand, term: _Term, is_right: bool, kind: Kind, b: Builder) -> Var:
    """The product of a matrix and a term, which stands on the right or on the left."""
    assert isinstance(kind, Array) and kind.dims is not None
    left, right = term.left, term.right
    if right is None and is_right:
        return b.apply(ops.MUL, (a, left), kind=kind)
    if right is None:
        column = b.apply(ops.ITEM, (left, (_WHOLE, Const(None))), kind=Array(kind.dtype, (kind.dims[0], 1)))
        return b.apply(ops.MUL, (column, a), kind=kind)
    row = Array(kind.dtype, (kind.dims[0 if is_right else 1],))
    if is_right:
        return b.apply(_OUTER, (b.apply(ops.MATMUL, (a, left), kind=row), right), kind=kind)
    return b.apply(_OUTER, (left, b.apply(ops.MATMUL, (right, a), kind=row)), kind=kind)
