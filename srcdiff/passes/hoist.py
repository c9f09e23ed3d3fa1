"""Compute before a loop what is the same in every trip, where that cannot fail.

    for x in xs carrying y from 0.0:            half = mul(0.5, dt)
        half = mul(0.5, dt)               →     for x in xs carrying y from 0.0:
        y_1 = mul(half, x); next y_1                y_1 = mul(half, x); next y_1

Arithmetic on numbers, lengths and transposes; of the user's statements only what has no name and is read more than once.
A loop without trips must not fail for it: so no calls, no items of arrays, and division by constants only.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from srcdiff.analysis.binding import unbound_in
from srcdiff.errors import InternalError
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, Number, TupleOf, is_scalar
from srcdiff.ir.nodes import Apply, Block, Branch, Const, Free, Function, If, Loop, Operand, Ref, Stmt, Var
from srcdiff.ir.walk import blocks_of, bound_by, operands_of, source_targets, statements_of, vars_of
from srcdiff.passes.shapes import is_of_users

_ARITHMETIC = frozenset([ops.ADD, ops.SUB, ops.MUL, ops.NEG, ops.POS, ops.LT, ops.LE, ops.GT, ops.GE, ops.EQ, ops.NE, ops.NOT])
_DIVISIONS = frozenset([ops.DIV, ops.FLOORDIV])
_FACTS = frozenset([ops.TRANSPOSE, ops.SHAPE, ops.SIZE, ops.NDIM])


def hoist(function: Function) -> Function:
    """The function with invariants before the loops that they are invariants of."""
    if not any(isinstance(stmt, Loop) for stmt in statements_of(function.body)):
        return function
    hoisting = _Hoisting(unbound_in(function.body))
    hoisting.count(function.body)
    return replace(function, body=hoisting.block(function.body, 0, 0))


@dataclass
class _Hoisting:
    """`level` is the number of loops around a variable's binding; `before` holds what goes before the loop at each level."""

    unbound: set[Var]
    level: dict[Var, int] = field(default_factory=dict)
    before: list[list[Apply]] = field(default_factory=list)
    uses: dict[Var, int] = field(default_factory=dict)

    def count(self, block: Block) -> None:
        for node in (*block.stmts, block.end):
            for var in vars_of(operands_of(node)):
                self.uses[var] = self.uses.get(var, 0) + 1
            for inner in blocks_of(node):
                self.count(inner)

    def block(self, block: Block, level: int, floor: int) -> Block:
        """`floor` is the level that statements may not leave: that of the innermost arm of an If around them."""
        stmts: list[Stmt] = []
        for stmt in block.stmts:
            match stmt:
                case Apply(targets):
                    home = self.home(stmt, floor) if floor < level else level
                    for target in targets:
                        self.level[target] = home
                    if home == level:
                        stmts.append(stmt)
                    else:
                        self.before[home].append(stmt)
                case If(_, then, orelse):
                    stmts.append(replace(stmt, then=self.block(then, level, level), orelse=self.block(orelse, level, level)))
                case Loop():
                    stmts += self.loop(stmt, level, floor)
                case _:
                    raise InternalError(f"not a statement: {stmt!r}")
            if not isinstance(stmt, Apply):
                for var in bound_by(stmt):
                    self.level[var] = level
        end = block.end
        if isinstance(end, Branch):
            end = Branch(end.cond, self.block(end.then, level, floor), self.block(end.orelse, level, floor))
        return Block(tuple(stmts), end)

    def loop(self, loop: Loop, level: int, floor: int) -> list[Stmt]:
        for var in (*loop.params, *(target for source in loop.sources for target in source_targets(source))):
            self.level[var] = level + 1
        self.before.append([])
        body = self.block(loop.body, level + 1, floor)
        origin = None if is_of_users(loop) else loop.origin
        hoisted = [replace(stmt, origin=origin) for stmt in self.before.pop()]
        return [*hoisted, replace(loop, body=body)]

    def home(self, stmt: Apply, floor: int) -> int:
        """The level that a statement belongs to."""
        here = len(self.before)
        if len(stmt.targets) != 1 or not (self.is_safe(stmt) and self.is_worth_it(stmt)):
            return here
        read = vars_of(operands_of(stmt))
        if any(var in self.unbound for var in read):
            return here
        return max(floor, *(self.level.get(var, 0) for var in read), 0)

    def is_worth_it(self, stmt: Apply) -> bool:
        target = stmt.targets[0]
        if not is_of_users(stmt):
            return True
        return not target.is_users and self.uses.get(target, 0) > 1

    def is_safe(self, stmt: Apply) -> bool:
        """Whether a statement can neither fail nor cost much."""
        op, args = stmt.op, stmt.args
        if op in _ARITHMETIC:
            return all(_is_number(arg) for arg in args)
        if op in _DIVISIONS:
            return (
                _is_number(args[0]) and isinstance(args[1], Const) and type(args[1].value) in (int, float) and args[1].value != 0
            )
        if op in _FACTS:
            return isinstance(args[0], Var) and isinstance(args[0].kind, Array)
        if op is ops.ITEM and isinstance(args[0], Var) and isinstance(args[1], Const):
            kind, index = args[0].kind, args[1].value
            return isinstance(kind, TupleOf) and type(index) is int and -len(kind.items) <= index < len(kind.items)
        return False


def _is_number(operand: Operand) -> bool:
    """A value without axes. What is read from outside may have changed by the time."""
    if isinstance(operand, (Free, Ref)) or not isinstance(operand, (Var, Const)):
        return False
    return isinstance(operand.kind, (Number, Array)) and is_scalar(operand.kind)
