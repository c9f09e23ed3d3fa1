"""Add to a number once instead of twice, or not at all.

    x_bar_1 = augment(x_bar, a)
    y_bar_1 = augment(y_bar, c)          y_bar_1 = augment(y_bar, c)
    x_bar_2 = augment(x_bar_1, -b)   →   x_bar_2 = augment(x_bar, add(a, -b))       prints  x_bar += a - b

    y_bar = mul(a, b)
    y_bar_1 = augment(y_bar, c)      →   y_bar_1 = add(mul(a, b), c)

It works on the folded program, where it shows which statements stand one behind another and how long they are. Arrays
are left alone: each of their sums would be an array more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeGuard

from srcdiff.analysis.liveness import leaves_of
from srcdiff.errors import InternalError
from srcdiff.ir.kinds import is_scalar
from srcdiff.ir.nodes import Apply, Block, Branch, If, Loop, Operand, Stmt, Var
from srcdiff.ir.ops import ADD, SUB
from srcdiff.ir.walk import operands_of, statements_of, vars_of
from srcdiff.passes.augment import augment_op
from srcdiff.passes.dead_code import has_effect
from srcdiff.passes.fold import Folded, is_own, width_of

_WIDTH = 70


def merge_sums(folded: Folded) -> Folded:
    sums = [stmt for stmt in statements_of(folded.function.body) if _is_sum(stmt)]
    if not sums:
        return folded
    merging = _Merging(dict(folded.folds), dict.fromkeys(vars_of(stmt.args[0] for stmt in sums), 0))
    merging.count(folded)
    body = merging.block(folded.function.body)
    return replace(folded, function=replace(folded.function, body=body), folds=merging.folds)


def _is_sum(stmt: Stmt) -> TypeGuard[Apply]:
    """Whether a statement of ours adds to a number, or takes from it."""
    return (
        isinstance(stmt, Apply)
        and stmt.op.style == "augment"
        and stmt.op.text in ("+", "-")
        and is_own(stmt)
        and is_scalar(stmt.targets[0].kind)
        and is_scalar(getattr(stmt.args[0], "kind", stmt.targets[0].kind))
    )


def _is_begin(stmt: Stmt) -> TypeGuard[Apply]:
    """Whether a statement of ours computes a number by arithmetic."""
    is_ours = isinstance(stmt, Apply) and is_own(stmt) and len(stmt.targets) == 1 and not stmt.targets[0].is_users
    return is_ours and stmt.op.style in ("binary", "unary") and is_scalar(stmt.targets[0].kind)  # type: ignore[union-attr]


@dataclass
class _Merging:
    folds: dict[Var, Apply | If]
    uses: dict[Var, int]

    def count(self, folded: Folded) -> None:
        """How often sums are read: in statements, at the ends of blocks, and in folded expressions."""
        self.count_in(folded.function.body)
        for stmt in folded.folds.values():
            self.read(operands_of(stmt))
            if isinstance(stmt, If):
                self.read((*operands_of(stmt.then.end), *operands_of(stmt.orelse.end)))

    def count_in(self, block: Block) -> None:
        for node in (*block.stmts, block.end):
            self.read(operands_of(node))
            match node:
                case If(_, then, orelse) | Branch(_, then, orelse):
                    self.count_in(then)
                    self.count_in(orelse)
                case Loop(body=body):
                    self.count_in(body)
                case _:
                    pass

    def read(self, operands: Iterable[Operand]) -> None:
        for var in vars_of(operands):
            if var in self.uses:
                self.uses[var] += 1

    def block(self, block: Block) -> Block:
        stmts: list[Stmt] = []
        for stmt in block.stmts:
            match stmt:
                case Apply():
                    stmts.append(self.merged(stmts, stmt) if _is_sum(stmt) else stmt)
                case If(_, then, orelse):
                    is_plain = not then.stmts and not orelse.stmts
                    stmts.append(stmt if is_plain else replace(stmt, then=self.block(then), orelse=self.block(orelse)))
                case Loop(body=body):
                    stmts.append(replace(stmt, body=self.block(body)))
                case _:
                    raise InternalError(f"not a statement: {stmt!r}")
        end = block.end
        if isinstance(end, Branch):
            end = Branch(end.cond, self.block(end.then), self.block(end.orelse))
        return Block(tuple(stmts), end)

    def merged(self, stmts: list[Stmt], second: Apply) -> Apply:
        """A sum, with the one before taken out of `stmts` and added to it if that may be."""
        place = self.place(stmts, second)
        if place is None:
            return second
        first = stmts[place]
        assert isinstance(first, Apply)
        if not _is_sum(first):
            return self.begun(stmts, place, first, second)
        (base, a), b = first.args, second.args[1]
        text, a = self.signed(first.op.text, a)
        inner = Var("total", second.targets[0].kind)
        op = ADD if text == second.op.text else SUB
        if width_of(a, self.folds) + width_of(b, self.folds) > _WIDTH:
            return second
        del stmts[place]
        self.folds[inner] = Apply((inner,), op, (a, b))
        return Apply(second.targets, augment_op(text), (base, inner), (), second.origin)

    def begun(self, stmts: list[Stmt], place: int, first: Apply, second: Apply) -> Apply:
        """A sum that begins with the value of the statement before."""
        base, added = first.targets[0], second.args[1]
        if width_of(added, self.folds) + sum(width_of(operand, self.folds) for operand in operands_of(first)) > _WIDTH:
            return second
        del stmts[place]
        self.folds[base] = first
        return Apply(second.targets, ADD if second.op.text == "+" else SUB, (base, added), (), second.origin)

    def place(self, stmts: list[Stmt], second: Apply) -> int | None:
        """Where the sum stands that the second adds to, if it may move down to it: only other sums stand between."""
        base = second.args[0]
        between: set[str] = set()
        for place in range(len(stmts) - 1, max(len(stmts) - 4, -1), -1):
            stmt = stmts[place]
            if not _is_sum(stmt) and not (_is_begin(stmt) and stmt.targets[0] is base):
                return None
            if stmt.targets[0] is base:
                is_free = not between or self.may_pass(between, stmt)
                return place if is_free and self.uses.get(base) == 1 else None
            between.add(stmt.targets[0].hint)
        return None

    def may_pass(self, between: set[str], stmt: Apply) -> bool:
        """Whether a statement may move behind sums of those names: it reads none of them, and takes nothing off a list."""
        if not between.isdisjoint(leaf.hint for leaf in leaves_of(stmt.args, self.folds)):
            return False
        return not self.has_effect(stmt.args)

    def has_effect(self, operands: Iterable[Operand]) -> bool:
        found = [stmt for var in vars_of(operands) if (stmt := self.folds.get(var)) is not None]
        return any(isinstance(s, If) or has_effect(s) or s.op.style == "pop" or self.has_effect(operands_of(s)) for s in found)

    def signed(self, text: str, operand: Operand) -> tuple[str, Operand]:
        """A minus in front of what is added goes into the operator."""
        stmt = self.folds.get(operand) if isinstance(operand, Var) else None
        if isinstance(stmt, Apply) and stmt.op.style == "unary" and stmt.op.text == "-" and is_own(stmt):
            return ("-" if text == "+" else "+"), stmt.args[0]
        return text, operand
