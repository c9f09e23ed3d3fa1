"""Sum a product without making it.

    t = mul(a, b);  y = np.sum(t)                     y = matmul(a, b)                       one axis
                                                      y = np.vdot(a, b)                      several axes
                                                      y = np.sum(np.vecdot(a, b))            a view like c[:, 1:]
    t = mul(a, b);  y = np.sum(t, axis=1)             y = np.vecdot(a, b)                    the last axis
    t = mul(a, b);  y = np.sum(t, axis=0)             y = np.einsum("ij,ij->j", a, b)
    y = np.sum(t, axis=(0, 1))                        y = np.einsum("ijk->k", t)             all axes but the last
    t = mul(s, x);  y = np.sum(t)                     u = np.sum(x);  y = mul(s, u)          s without axes

Only what the reverse sweep computes, from whole arrays of float64, and only where nothing else reads the product: a
float32 sum of products loses digits that np.sum keeps. Along all axes but the last np.einsum adds in the order of np.sum,
and is several times faster where the last axis is short. np.vdot would copy a view that leaves something out of each row.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, Kind, Length, Number, is_one, is_scalar
from srcdiff.ir.nodes import Apply, Block, Branch, Const, Function, If, Loop, Operand, SliceOf, Stmt, Var
from srcdiff.ir.walk import read_in, statements_of
from srcdiff.passes.shapes import is_of_users
from srcdiff.rules.builder import Builder

_VDOT, _VECDOT = ops.call_op(np.vdot, "np.vdot"), ops.call_op(np.vecdot, "np.vecdot")
_EINSUM = ops.call_op(np.einsum, "np.einsum")
_WHOLE = SliceOf(Const(None), Const(None), Const(None))
_FLOAT = Array("float64", ())
_LETTERS = "ijklmnop"


def contract(function: Function) -> Function:
    """The function with its sums of products as inner products. The products are left to dead code."""
    if not any(isinstance(stmt, Apply) and _is_sum(stmt) for stmt in statements_of(function.body)):
        return function
    return replace(function, body=_Contraction(Counter(read_in(function.body))).block(function.body))


def _is_sum(stmt: Apply) -> bool:
    if stmt.op.fn is not np.sum or stmt.op.style != "call" or is_of_users(stmt) or len(stmt.args) != 1:
        return False
    return all(name in ("axis", "keepdims") and isinstance(_known(value), Const) for name, value in stmt.kwargs)


def _known(operand: Operand) -> Operand:
    """A tuple of constants as one constant."""
    if isinstance(operand, tuple) and all(isinstance(item, Const) for item in operand):
        return Const(tuple(item.value for item in operand))  # type: ignore[union-attr]
    return operand


@dataclass
class _Factors:
    """A product: its sign, the scalars above and below, and the one or two arrays."""

    arrays: tuple[Var, ...]
    scalars: list[Operand] = field(default_factory=list)
    divisors: list[Operand] = field(default_factory=list)
    is_negative: bool = False


@dataclass
class _Contraction:
    counts: dict[Var, int]
    made: dict[Var, Apply] = field(default_factory=dict)
    parts: set[Var] = field(default_factory=set)  # views that do not lie in one piece

    def block(self, block: Block) -> Block:
        outer = self.made
        self.made = {}
        stmts: list[Stmt] = []
        for stmt in block.stmts:
            if isinstance(stmt, Apply) and _is_in_pieces(stmt):
                self.parts.add(stmt.targets[0])
            match stmt:
                case Apply() if _is_sum(stmt):
                    stmts += self.sum(stmt)
                case Apply((target,)) if not is_of_users(stmt):
                    self.made[target] = stmt
                    stmts.append(stmt)
                case If(_, then, orelse):
                    stmts.append(replace(stmt, then=self.block(then), orelse=self.block(orelse)))
                case Loop(body=body):
                    stmts.append(replace(stmt, body=self.block(body)))
                case _:
                    stmts.append(stmt)
        end = block.end
        if isinstance(end, Branch):
            end = Branch(end.cond, self.block(end.then), self.block(end.orelse))
        self.made = outer
        return Block(tuple(stmts), end)

    # ------------------------------------------------------------ what is summed

    def inner(self, operand: Operand) -> Apply | None:
        """The statement of a value that only this reads."""
        return self.made.get(operand) if isinstance(operand, Var) and self.counts.get(operand) == 1 else None

    def stripped(self, operand: Operand, found: _Factors) -> Operand:
        """The operand without its factors that have no axes, which join `found`."""
        while True:
            stmt = self.inner(operand)
            if stmt is None:
                return operand
            if stmt.op is ops.NEG:
                found.is_negative = not found.is_negative
                operand = stmt.args[0]
            elif stmt.op is ops.MUL and _is_plain(stmt.args[0]) and not _is_plain(stmt.args[1]):
                found.scalars.append(stmt.args[0])
                operand = stmt.args[1]
            elif stmt.op is ops.MUL and _is_plain(stmt.args[1]) and not _is_plain(stmt.args[0]):
                found.scalars.append(stmt.args[1])
                operand = stmt.args[0]
            elif stmt.op is ops.DIV and _is_plain(stmt.args[1]) and not _is_plain(stmt.args[0]):
                found.divisors.append(stmt.args[1])
                operand = stmt.args[0]
            else:
                return operand

    def factors(self, operand: Operand) -> _Factors | None:
        """What the summed value is a product of, where that is worth taking apart."""
        found = _Factors(())
        whole = operand
        operand = self.stripped(operand, found)
        stmt = self.inner(operand)
        if stmt is not None and (stmt.op is ops.MUL or (stmt.op is ops.POW and stmt.args[1] == Const(2))):
            pair = stmt.args if stmt.op is ops.MUL else (stmt.args[0], stmt.args[0])
            tried = _Factors((), list(found.scalars), list(found.divisors), found.is_negative)
            arrays = tuple(self.stripped(factor, tried) for factor in pair)
            if all(isinstance(a, Var) and _is_whole(a.kind, operand.kind) for a in arrays):  # type: ignore[union-attr]
                tried.arrays = arrays  # type: ignore[assignment]
                return tried
        if operand is whole or not isinstance(operand, Var) or not _is_real(operand.kind):
            return None
        found.arrays = (operand,)
        return found

    # ------------------------------------------------------------ the sum

    def sum(self, stmt: Apply) -> list[Stmt]:
        found = self.factors(stmt.args[0])
        if found is None:
            if not (isinstance(stmt.args[0], Var) and _is_real(stmt.args[0].kind) and _is_over_leading(stmt)):
                return [stmt]
            found = _Factors((stmt.args[0],))
        b = Builder()
        b.origin = stmt.origin
        given = dict(stmt.kwargs)
        axis, keepdims = _known(given.get("axis", Const(None))), given.get("keepdims", Const(False))
        assert isinstance(axis, Const) and isinstance(keepdims, Const)
        inner = self.product(found, stmt, axis.value, bool(keepdims.value), b)
        if inner is None:
            return [stmt]
        kind = stmt.targets[0].kind
        value = inner
        for scalar in found.scalars:
            value = b.apply(ops.MUL, (scalar, value), kind=kind)
        for divisor in found.divisors:
            value = b.apply(ops.DIV, (value, divisor), kind=kind)
        if found.is_negative:
            value = b.apply(ops.NEG, (value,), kind=kind)
        return _bound_to(b.stmts, stmt.targets[0])

    def product(self, found: _Factors, stmt: Apply, axis: Any, keepdims: bool, b: Builder) -> Var | None:
        """The sum of the arrays' product."""
        kind = stmt.targets[0].kind
        if _is_over_leading(stmt):
            letters = _LETTERS[: found.arrays[0].kind.ndim]  # type: ignore[union-attr]
            terms = f"{','.join(letters for _ in found.arrays)}->{letters[-1]}"
            return b.apply(_EINSUM, (Const(terms), *found.arrays), kind=kind)
        if len(found.arrays) == 1:
            return b.apply(stmt.op, found.arrays, stmt.kwargs, kind=kind)
        first, second = found.arrays
        assert isinstance(first.kind, Array) and first.kind.dims is not None
        ndim = len(first.kind.dims)
        if axis is None and not keepdims and ndim > 1 and not self.parts.isdisjoint(found.arrays):
            rows = b.apply(_VECDOT, (first, second), kind=Array("float64", first.kind.dims[:-1]))
            return b.apply(stmt.op, (rows,), kind=kind)
        if axis is None and not keepdims:
            return b.apply(ops.MATMUL if ndim == 1 else _VDOT, (first, second), kind=kind)
        if type(axis) is not int or ndim < 2:
            return None
        rest = Array("float64", tuple(n for i, n in enumerate(first.kind.dims) if i != axis % ndim))
        if axis in (-1, ndim - 1):
            reduced = b.apply(_VECDOT, (first, second), kind=rest)
        elif ndim == 2:
            reduced = b.apply(_EINSUM, (Const("ij,ij->j"), first, second), kind=rest)
        else:
            return None
        if not keepdims:
            return reduced
        if axis % ndim == 0:
            index: Operand = Const(None)
        else:
            index = (_WHOLE if ndim == 2 else Const(Ellipsis), Const(None))
        return b.apply(ops.ITEM, (reduced, index), kind=kind)


def _is_in_pieces(stmt: Apply) -> bool:
    """Whether a statement shows a part of an array that leaves something out within its rows: `a[1:-1, 1:-1]`."""
    if stmt.op is not ops.ITEM or not isinstance(stmt.args[1], tuple):
        return False
    return any(isinstance(part, SliceOf) and part != _WHOLE for part in stmt.args[1][1:])


def _is_over_leading(stmt: Apply) -> bool:
    """Whether a sum runs over several axes, all but the last."""
    given = dict(stmt.kwargs)
    axis, ndim = _known(given.get("axis", Const(None))), getattr(getattr(stmt.args[0], "kind", None), "ndim", None)
    if not isinstance(axis, Const) or not isinstance(axis.value, tuple) or given.get("keepdims", Const(False)) != Const(False):
        return False
    return ndim is not None and 2 < ndim <= len(_LETTERS) and sorted(a % ndim for a in axis.value) == list(range(ndim - 1))


def _bound_to(stmts: list[Stmt], target: Var) -> list[Stmt]:
    """The statements with the last one's result under the name that is read."""
    last = stmts[-1]
    assert isinstance(last, Apply)
    return [*stmts[:-1], replace(last, targets=(target,))]


def _is_plain(operand: Operand) -> bool:
    """A real number without axes, which may be taken out of a sum of float64."""
    kind = getattr(operand, "kind", None)
    if not isinstance(kind, (Number, Array)) or not is_scalar(kind):
        return False
    return kind.type in ("int", "float") if isinstance(kind, Number) else kind.dtype == "float64"


def _is_real(kind: Kind) -> bool:
    return isinstance(kind, Array) and kind.dtype == "float64" and bool(kind.dims)


def _is_whole(kind: Kind, of: Kind) -> bool:
    """Whether a factor has all axes of the product."""
    if not (_is_real(kind) and _is_real(of)):
        return False
    assert isinstance(kind, Array) and isinstance(of, Array)
    own, dims = kind.dims or (), of.dims or ()
    return len(own) == len(dims) and all(_is_same(a, b) for a, b in zip(own, dims))


def _is_same(own: Length, other: Length) -> bool:
    """Two lengths of which neither is 1 are equal where they broadcast."""
    return own == other or (is_one(own) is False and is_one(other) is False)
