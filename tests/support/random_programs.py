"""Random IR programs full of aliases, versions, lists, branches and loops, to hold the emitted source against the interpreter."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from srcdiff.ir import ops
from srcdiff.ir.kinds import BOOL, FLOAT, INT, Array, Kind, ListOf, Opaque, opaque
from srcdiff.ir.nodes import (
    Apply,
    Block,
    Branch,
    Const,
    Exit,
    Function,
    If,
    ListDisplay,
    Loop,
    Next,
    Op,
    Operand,
    Origin,
    Parameter,
    Range,
    Return,
    SliceOf,
    Source,
    Stmt,
    Var,
    Yield,
)

VECTOR = Array("float64", (3,))
MATRIX = Array("float64", (3, 3))
SCALAR = Array("float64", ())
LENGTH = opaque()
VECTORS = ListOf(VECTOR, LENGTH)
NUMBERS = ListOf(FLOAT, LENGTH)
HINTS = ["x", "y", "x_bar", "y_bar", "t", "a", "acc_bar", "row"]
KINDS: list[Kind] = [VECTOR, MATRIX, FLOAT, SCALAR, VECTORS, NUMBERS]
NONE = Const(None)
TICK = Op("tick", "effect", "tick", lambda value: value, True)


class Writer:
    """Writes one program. `scope` holds the variables that may be read."""

    def __init__(self, seed: int, size: int = 12) -> None:
        self.rng = random.Random(seed)
        self.size = size
        self.scope: list[Var] = []
        self.stmts: list[Stmt] = []
        self.line = 0
        # Every other program is about a few arrays only, so that views, writes and temporaries meet more often.
        self.is_narrow = seed % 2 == 1
        self.kinds = [VECTOR, VECTOR, VECTOR, MATRIX, VECTORS] if self.is_narrow else KINDS
        self.hints = ["t", "u", "v", "w", "x_bar"] if self.is_narrow else HINTS

    def program(self) -> Function:
        params = []
        for i, kind in enumerate([VECTOR, VECTOR, MATRIX, FLOAT, INT, SCALAR]):
            var = Var("xyMcns"[i], kind, True)
            params.append(Parameter(var.hint, var))
            self.scope.append(var)
        self.statements(self.size, 0)
        returned = tuple(self.pick(kind) for kind in self.rng.choices(KINDS[:2] + self.kinds, k=self.rng.randint(1, 6)))
        if self.rng.random() < 0.3:
            return Function("program", tuple(params), self.block(Return(returned[0])))
        return Function("program", tuple(params), self.block(Return(returned)))

    def block(self, end: Any) -> Block:
        return Block(tuple(self.stmts), end)

    # ------------------------------------------------------------ parts

    def var(self, kind: Kind, hint: str | None = None) -> Var:
        hint = hint or self.rng.choice(self.hints)
        return Var(hint, kind, self.rng.random() < 0.35 and not hint.endswith("_bar"))

    def pick(self, kind: Kind, recent: bool = True) -> Operand:
        """A value of a kind, preferably a late one; made if there is none."""
        found = [var for var in self.scope if var.kind == kind]
        if found and self.rng.random() < 0.93:
            return found[-1] if recent and self.rng.random() < 0.5 else self.rng.choice(found)
        if kind == FLOAT:
            return Const(self.rng.choice([0.5, -2.0, 1.5]))
        if kind == INT:
            return Const(self.rng.randint(0, 2))
        if kind == BOOL:
            return self.apply(ops.LT, (self.pick(FLOAT), self.pick(FLOAT)), BOOL)
        if isinstance(kind, ListOf):
            return self.apply(
                ops.DISPLAY, (ListDisplay(tuple(self.pick(kind.item) for _ in range(self.rng.randint(1, 3)))),), kind
            )
        if kind == SCALAR:
            return self.apply(ops.ITEM, (self.pick(VECTOR), self.index()), SCALAR)
        shape = tuple(Const(3) for _ in range(1 if kind == VECTOR else 2))
        return self.apply(ops.call_op(np.ones, "np.ones"), (shape,), kind)

    def index(self) -> Operand:
        return Const(self.rng.randint(0, 2)) if self.rng.random() < 0.8 else self.pick(INT)

    def apply(self, op: Op, args: tuple[Operand, ...], kind: Kind, hint: str | None = None) -> Var:
        target = self.var(kind, hint)
        self.add(Apply((target,), op, args, (), self.origin()))
        return target

    def add(self, stmt: Apply) -> None:
        self.stmts.append(stmt)
        self.scope += stmt.targets

    def origin(self) -> Origin | None:
        self.line += 1
        return self.rng.choice(
            [None, Origin("m.py", self.line, "x += y", -1), Origin("m.py", self.line, "x = y", 0), Origin("m.py", 1, "y *= 2", 0)]
        )

    # ------------------------------------------------------------ statements

    def statements(self, count: int, depth: int) -> None:
        for _ in range(count):
            choice = self.rng.random()
            if depth < 3 and choice < 0.1:
                self.branch(depth)
            elif depth < 2 and choice < 0.2:
                self.loop(depth)
            else:
                self.simple()

    def simple(self) -> None:
        rng = self.rng
        choice = rng.choice([0, 1, 2, 5, 6, 6, 7, 8, 10, 11, 11, 12, 14, 15, 16]) if self.is_narrow else rng.randint(0, 19)
        if choice <= 3:
            kind = rng.choice([VECTOR, MATRIX, VECTOR if self.is_narrow else SCALAR])
            a = self.pick(kind)
            hint = a.hint if isinstance(a, Var) and rng.random() < 0.6 else None
            b = self.pick(rng.choice([kind, FLOAT]))
            args = (a, b) if rng.random() < 0.8 else (b, a)
            self.apply(rng.choice([ops.ADD, ops.SUB, ops.MUL]), args, kind, hint)
        elif choice == 4:
            a = self.pick(FLOAT)
            hint = a.hint if isinstance(a, Var) and rng.random() < 0.5 else None
            self.apply(rng.choice([ops.ADD, ops.MUL]), (a, self.pick(FLOAT)), FLOAT, hint)
        elif choice == 5:
            kind = rng.choice([VECTOR, MATRIX, FLOAT])
            self.apply(ops.NEG, (self.pick(kind),), kind)
        elif choice == 6:
            self.apply(ops.ITEM, (self.pick(VECTOR), SliceOf(NONE, NONE, Const(-1))), VECTOR)
        elif choice == 7:
            self.apply(ops.ITEM, (self.pick(MATRIX), self.index()), VECTOR, rng.choice([None, "row"]))
        elif choice == 8:
            self.apply(ops.TRANSPOSE, (self.pick(MATRIX),), MATRIX)
        elif choice == 9:
            kind = rng.choice(self.kinds)
            self.apply(ops.COPY, (self.pick(kind),), kind)
        elif choice == 10:
            self.apply(ops.call_op(np.tanh, "np.tanh"), (self.pick(VECTOR),), VECTOR)
        elif choice <= 13:
            self.version()
        elif choice == 14:
            kind = rng.choice([VECTORS, NUMBERS])
            held = self.pick(kind)
            self.apply(ops.APPEND, (held, self.pick(kind.item)), kind, held.hint if isinstance(held, Var) else None)
        elif choice == 15:
            kind = rng.choice([VECTORS, NUMBERS])
            held = self.pick(kind)
            targets = self.var(kind, held.hint if isinstance(held, Var) else None), self.var(kind.item)
            self.add(Apply(targets, ops.POP, (held,), (), self.origin()))
        elif choice == 16:
            kind = rng.choice([VECTORS, NUMBERS])
            self.apply(ops.ITEM, (self.pick(kind), Const(-1)), kind.item)
        elif choice == 17:
            a, b = self.var(VECTOR), self.var(MATRIX)
            pair = self.apply(ops.DISPLAY, ((self.pick(VECTOR), (self.pick(MATRIX), self.pick(FLOAT))),), Opaque("tuple"))
            self.add(Apply((a, b), Op("unpack", "unpack", pattern=(0, (1, None))), (pair,), (), None))
        elif choice == 18:
            self.apply(TICK, (self.pick(rng.choice([FLOAT, VECTOR])),), Opaque("NoneType"))
        else:
            self.apply(ops.ITEM, (self.pick(VECTOR), self.index()), SCALAR)

    def version(self) -> None:
        rng = self.rng
        kind = rng.choice([VECTOR, VECTOR, MATRIX, VECTORS, NUMBERS])
        base = self.pick(kind)
        hint = base.hint if isinstance(base, Var) and rng.random() < 0.7 else None
        index: Operand = self.index()
        op, value = rng.choice([ops.INDEX_ADD, ops.INDEX_SET]), self.pick(kind.item if isinstance(kind, ListOf) else FLOAT)
        if isinstance(kind, ListOf):
            index = Const(-1)
        elif kind == MATRIX:
            value = self.pick(VECTOR)
        elif rng.random() < 0.3:
            index, value = SliceOf(NONE, NONE, NONE), self.pick(VECTOR)
        elif rng.random() < 0.2:
            index, op = ListDisplay((Const(0), Const(0))), ops.SCATTER_ADD
        elif rng.random() < 0.4:
            index, op = ListDisplay((Const(2), Const(0), Const(1))), rng.choice([ops.SCATTER_ADD, ops.INDEX_ADD, ops.INDEX_SET])
            value = self.pick(VECTOR)
        self.apply(op, (base, index, value), kind, hint)

    def inner(self, size: int, depth: int) -> list[Stmt]:
        """The statements of a block; the caller restores the scope."""
        outer, self.stmts = self.stmts, []
        self.statements(size, depth)
        stmts, self.stmts = self.stmts, outer
        return stmts

    def ended(self, stmts: list[Stmt], make: Any, kinds: list[Kind]) -> Block:
        outer, self.stmts = self.stmts, stmts
        end = make(tuple(self.pick(kind) for kind in kinds))
        block = self.block(end)
        self.stmts = outer
        return block

    def branch(self, depth: int) -> None:
        kinds = self.rng.choices(self.kinds, k=self.rng.randint(1, 3))
        cond = self.pick(BOOL)
        arms = []
        for _ in range(2):
            size = len(self.scope)
            stmts = self.inner(self.rng.randint(0, 4), depth + 1)
            arms.append(self.ended(stmts, Yield, kinds))
            del self.scope[size:]
        results = tuple(self.var(kind) for kind in kinds)
        self.stmts.append(If(cond, arms[0], arms[1], results, self.origin()))  # type: ignore[arg-type]
        self.scope += results

    def loop(self, depth: int) -> None:
        rng = self.rng
        kinds = rng.choices(self.kinds, k=rng.randint(1, 3))
        inits = tuple(self.pick(kind) for kind in kinds)
        hints = [init.hint if isinstance(init, Var) and rng.random() < 0.7 else rng.choice(self.hints) for init in inits]
        sources = []
        for _ in range(rng.choice([0, 1, 1, 1, 2])):
            if rng.random() < 0.5:
                bounds = rng.choice([Range(Const(0), Const(3)), Range(Const(0), Const(2)), Range(Const(0), self.pick(INT))])  # type: ignore[arg-type]
                sources.append(Source(Var("i", INT, True), bounds, rng.random() < 0.3))
            else:
                kind = rng.choice([VECTORS, MATRIX])
                iterable = self.pick(kind)
                item = kind.item if isinstance(kind, ListOf) else VECTOR
                sources.append(Source(Var(rng.choice(self.hints), item), iterable, rng.random() < 0.3))  # type: ignore[arg-type]
        if sources and rng.random() < 0.3:
            sources.insert(0, Source(Var("k", INT, True), Range(Const(0), None)))
        if not sources:
            kinds.append(INT)
            inits += (Const(0),)
            hints.append("n")
        params = tuple(Var(hint, kind, rng.random() < 0.3) for hint, kind in zip(hints, kinds, strict=True))
        size = len(self.scope)
        self.scope += params
        for source in sources:
            if source.target.kind != INT or source.target.hint == "i":
                self.scope.append(source.target)
        body = self.body(kinds, params, depth, has_count=not sources)
        del self.scope[size:]
        results = tuple(self.var(kind, hint if rng.random() < 0.7 else None) for hint, kind in zip(hints, kinds, strict=True))
        self.stmts.append(Loop(tuple(sources), params, inits, body, results, self.origin()))
        self.scope += results

    def body(self, kinds: list[Kind], params: tuple[Var, ...], depth: int, has_count: bool) -> Block:
        rng = self.rng
        head: list[Stmt] = []
        if has_count or rng.random() < 0.3:
            outer, self.stmts = self.stmts, head
            if not has_count:
                self.statements(rng.randint(0, 2), depth + 1)
            cond = self.apply(ops.LT, (params[-1] if has_count else self.pick(FLOAT), Const(2)), BOOL)
            self.stmts = outer
            size = len(self.scope)
            then = self.next(kinds, params, depth, has_count)
            del self.scope[size:]
            if has_count and rng.random() < 0.6:
                orelse = Block((), Exit(params))
            else:
                orelse = self.ended(self.inner(rng.randint(0, 2), depth + 1), Exit, kinds)
            del self.scope[size:]
            flip = rng.random() < 0.3
            if flip:
                negated = Var("t", BOOL)
                head.append(Apply((negated,), ops.NOT, (cond,)))
                return Block(tuple(head), Branch(negated, orelse, then))
            return Block(tuple(head), Branch(cond, then, orelse))
        return self.next(kinds, params, depth, has_count)

    def next(self, kinds: list[Kind], params: tuple[Var, ...], depth: int, has_count: bool) -> Block:
        stmts = self.inner(self.rng.randint(1, 5), depth + 1)
        block = self.ended(stmts, Next, kinds)
        if not has_count:
            return block
        count = Var("n", INT, True)
        more = Apply((count,), ops.ADD, (params[-1], Const(1)))
        assert isinstance(block.end, Next)
        return Block((*block.stmts, more), Next((*block.end.values[:-1], count)))
