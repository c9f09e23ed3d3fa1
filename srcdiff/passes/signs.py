"""Put a minus where it costs least and reads best.

    t = mul(2 / n, A);  y = neg(t)        y = mul(-2 / n, A)
    t = sub(a, b);  y = neg(t)            y = sub(b, a)
    t = neg(b);  y = add(a, t)            y = sub(a, b)
    t = matmul(A, s * x);  y = neg(t)     y = matmul(A, -s * x)        where s is a constant's

Only what the reverse sweep computes, and only where the inner value is read once: the user's expressions stay as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from srcdiff.errors import InternalError
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, is_scalar
from srcdiff.ir.nodes import Apply, Block, Branch, Const, End, Function, If, Loop, Operand, Stmt, Var
from srcdiff.ir.walk import map_around, map_atom, map_end, map_operands, map_source, map_stmt, read_in, statements_of, vars_of
from srcdiff.passes.shapes import is_of_users

# In these a minus passes from the result to any one operand.
_PRODUCTS: dict[Callable[..., object], int] = {
    np.multiply: 2,
    np.divide: 2,
    np.matmul: 2,
    np.outer: 2,
    np.dot: 2,
    np.sum: 1,
    np.transpose: 1,
    np.expand_dims: 1,
}


def place_signs(function: Function) -> Function:
    """The function with the minus signs of its reverse sweep in their places."""
    if not any(isinstance(stmt, Apply) and _has_minus(stmt) for stmt in statements_of(function.body)):
        return function
    return replace(function, body=_Signs(Counter(read_in(function.body))).block(function.body))


def _has_minus(stmt: Apply) -> bool:
    return stmt.op is ops.NEG or any(_is_minus(arg) for arg in stmt.args)


def _is_number(operand: Operand) -> bool:
    return isinstance(operand, Const) and type(operand.value) in (int, float)


def _is_mask(operand: Operand) -> bool:
    """Whether a value is of booleans, which NumPy does not negate."""
    kind = getattr(operand, "kind", None)
    return isinstance(kind, Array) and kind.dtype == "bool"


def _is_minus(operand: Operand) -> bool:
    return _is_number(operand) and operand.value < 0  # type: ignore[union-attr]


@dataclass
class _Signs:
    """`wanted` gives for a value the variable that is to hold its negative instead."""

    counts: dict[Var, int]
    made: dict[Var, Apply] = field(default_factory=dict)
    wanted: dict[Var, Var] = field(default_factory=dict)
    same: dict[Var, Operand] = field(default_factory=dict)
    is_free: dict[Var, bool] = field(default_factory=dict)

    def block(self, block: Block) -> Block:
        """Statements are visited from the last to the first, so that a reader decides before what it reads."""
        outer = self.made
        self.made = {s.targets[0]: s for s in block.stmts if isinstance(s, Apply) and len(s.targets) == 1 and not is_of_users(s)}
        backwards: list[Stmt] = []
        for stmt in reversed(block.stmts):
            match stmt:
                case Apply():
                    backwards += reversed(self.apply(stmt))
                case If() | Loop():
                    backwards.append(stmt)
                case _:
                    raise InternalError(f"not a statement: {stmt!r}")
        stmts = tuple(self.inside(stmt) for stmt in reversed(backwards))
        end: End = block.end
        if isinstance(end, Branch):
            end = Branch(map_atom(end.cond, self.rename), self.block(end.then), self.block(end.orelse))
        else:
            end = map_end(end, self.rename)
        self.made = outer
        return Block(stmts, end)

    def inside(self, stmt: Stmt) -> Stmt:
        match stmt:
            case If(cond, then, orelse, around=around):
                arms = self.block(then), self.block(orelse)
                header = map_atom(cond, self.rename), map_around(around, self.rename)
                return replace(stmt, cond=header[0], then=arms[0], orelse=arms[1], around=header[1])
            case Loop(sources, _, inits, body):
                sources = tuple(map_source(source, self.rename) for source in sources)
                return replace(stmt, sources=sources, inits=map_operands(inits, self.rename), body=self.block(body))
            case _:
                return map_stmt(stmt, self.rename)

    def rename(self, var: Var) -> Operand:
        return self.same.get(var, var)

    # ------------------------------------------------------------ one statement

    def apply(self, stmt: Apply) -> list[Stmt]:
        target = stmt.targets[0] if stmt.targets else None
        if target in self.wanted:
            return self.negated(stmt, self.wanted[target])
        if is_of_users(stmt) or target is None:
            return [stmt]
        if stmt.op in (ops.ADD, ops.SUB):
            return self.sum(stmt)
        if stmt.op is ops.NEG and not self.is_absorbed(stmt):
            inner = self.inner(stmt.args[0])
            if inner is not None and inner.op is ops.NEG:
                self.same[target] = inner.args[0]
                self.move(inner, self.counts.get(target, 0))
                return []
            if inner is not None and (self.takes_sign(inner.targets[0]) or inner.op in (ops.MUL, ops.DIV)):
                self.wanted[inner.targets[0]] = target
                return []
        return [stmt]

    def is_absorbed(self, stmt: Apply) -> bool:
        return self.counts.get(stmt.targets[0], 0) == 0

    def sum(self, stmt: Apply) -> list[Stmt]:
        """A sum with a term that begins with a minus is a difference, and the other way round."""
        a, b = stmt.args
        other = ops.SUB if stmt.op is ops.ADD else ops.ADD
        positive = self.without_minus(b)
        if positive is not None:
            return [replace(stmt, op=other, args=(a, positive))]
        positive = self.without_minus(a) if stmt.op is ops.ADD else None
        if positive is not None:
            return [replace(stmt, op=ops.SUB, args=(b, positive))]
        return [stmt]

    def without_minus(self, operand: Operand) -> Operand | None:
        """The negative of a term that begins with a minus."""
        stmt = self.made.get(operand) if isinstance(operand, Var) else None
        if stmt is not None and stmt.op is ops.NEG and operand not in self.wanted:
            self.move(stmt, 1)
            return stmt.args[0]
        return self.negative(operand) if self.begins_with_minus(operand) else None

    def move(self, minus: Apply, readers: int) -> None:
        """One reader of a minus now reads what it is the minus of, as do that reader's own readers."""
        target = minus.targets[0]
        self.counts[target] -= 1
        for var in vars_of(minus.args):
            self.counts[var] += readers - (self.counts[target] == 0)

    def begins_with_minus(self, operand: Operand) -> bool:
        while True:
            stmt = self.inner(operand)
            if stmt is None or stmt.op not in (ops.MUL, ops.DIV):
                return False
            operand = stmt.args[0]
            if _is_number(operand):
                return _is_minus(operand)

    def inner(self, operand: Operand) -> Apply | None:
        """The statement of a value that only this reads."""
        if not isinstance(operand, Var) or self.counts.get(operand) != 1 or operand in self.wanted:
            return None
        return self.made.get(operand)

    # ------------------------------------------------------------ negatives

    def takes_sign(self, operand: Operand) -> bool:
        """Whether the negative of a value costs nothing."""
        if _is_number(operand):
            return True
        stmt = self.inner(operand)
        if stmt is None:
            return False
        assert isinstance(operand, Var)
        if operand not in self.is_free:
            known = stmt.op in (ops.NEG, ops.SUB)
            self.is_free[operand] = known or any(self.takes_sign(arg) for arg in self.places(stmt))
        return self.is_free[operand]

    def places(self, stmt: Apply) -> tuple[Operand, ...]:
        return stmt.args[: _PRODUCTS.get(stmt.op.fn, 0)] if stmt.op.fn is not None else ()

    def negative(self, operand: Operand) -> Operand:
        """The negative of a value that takes the sign, or that the statement which makes it can hold."""
        if isinstance(operand, Const):
            return Const(-operand.value)
        assert isinstance(operand, Var)
        if operand not in self.wanted:
            self.wanted[operand] = Var(operand.hint, operand.kind, operand.is_users)
        return self.wanted[operand]

    def negated(self, stmt: Apply, target: Var) -> list[Stmt]:
        """The statement of the negative value."""
        args = stmt.args
        if stmt.op is ops.NEG:
            self.same[target] = args[0]
            return []
        if stmt.op is ops.SUB:
            return self.sum(replace(stmt, targets=(target,), args=(args[1], args[0])))
        places = self.places(stmt)
        chosen = next((i for i, arg in enumerate(places) if self.takes_sign(arg)), None)
        if chosen is not None:
            new = self.negative(args[chosen])
            return [replace(stmt, targets=(target,), args=(*args[:chosen], new, *args[chosen + 1 :]))]
        takes_second = is_scalar(args[1].kind) and not is_scalar(args[0].kind)  # type: ignore[union-attr]
        chosen = 1 if stmt.op is ops.MUL and (takes_second or _is_mask(args[0])) else 0
        if _is_mask(args[chosen]):
            chosen = 1 - chosen  # NumPy does not negate booleans
        factor = args[chosen]
        inner = self.inner(factor)
        if inner is not None and inner.op in (ops.MUL, ops.DIV):
            new = self.negative(factor)
            return [replace(stmt, targets=(target,), args=(*args[:chosen], new, *args[chosen + 1 :]))]
        minus = Var("negative", factor.kind)  # type: ignore[union-attr]
        first = Apply((minus,), ops.NEG, (factor,), (), stmt.origin)
        return [first, replace(stmt, targets=(target,), args=(*args[:chosen], minus, *args[chosen + 1 :]))]
