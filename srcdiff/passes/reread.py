"""Read a transpose, a shape or a length again where it is used: each costs nothing, and a name for it says nothing.

    t = transpose(W)
    a = matmul(t, x)               a = matmul(transpose(W), x)       as the text will be: each use gets a read of its own
    b = matmul(t, y)        →      b = matmul(transpose(W), y)

A shape is read again only where it was read, not in a loop within, and only of a value that gets no next version: its
memory must not be bound to live on. A transpose shares the memory anyway.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from srcdiff.errors import InternalError
from srcdiff.ir.nodes import Apply, Block, Branch, Const, End, Exit, Free, Function, If, Loop, Next, Operand, Stmt, Var, Yield
from srcdiff.ir.walk import map_around, map_atom, map_end, map_operands, map_source, map_stmt, operands_of, vars_of
from srcdiff.passes.augment import augmentable, augmented
from srcdiff.passes.place import VERSIONS

_SHAPES = frozenset(["shape", "size", "ndim"])


def reread(function: Function) -> Function:
    found = _Reads()
    found.block(function.body, 0)
    chosen = found.chosen()
    return replace(function, body=_Rereading(chosen).block(function.body)) if chosen else function


@dataclass
class _Reads:
    """The reads that cost nothing, where their results are used, and what becomes a next version of something."""

    reads: dict[Var, tuple[Apply, int]] = field(default_factory=dict)
    uses: dict[Var, list[int]] = field(default_factory=dict)
    continued: set[Var] = field(default_factory=set)
    loops: int = 0

    def block(self, block: Block, loop: int) -> None:
        for stmt in block.stmts:
            self.used(operands_of(stmt), loop)
            match stmt:
                case Apply():
                    self.apply(stmt, loop)
                case If(_, then, orelse):
                    self.block(then, loop)
                    self.block(orelse, loop)
                case Loop(inits=inits, body=body):
                    self.continued.update(vars_of(inits))
                    self.loops += 1
                    self.block(body, self.loops)
                case _:
                    raise InternalError(f"not a statement: {stmt!r}")
        self.end(block.end, loop)

    def end(self, end: End, loop: int) -> None:
        self.used(operands_of(end), loop)
        match end:
            case Branch(_, then, orelse):
                self.block(then, loop)
                self.block(orelse, loop)
            case Yield(values) | Next(values) | Exit(values):
                self.continued.update(vars_of(values))
            case _:
                pass

    def used(self, operands: tuple[Operand, ...], loop: int) -> None:
        for var in vars_of(operands):
            if var in self.reads:
                self.uses.setdefault(var, []).append(loop)

    def apply(self, stmt: Apply, loop: int) -> None:
        if stmt.op.style in VERSIONS:
            self.continued.update(vars_of(stmt.args[:1]))
        elif augmentable(stmt):
            self.continued.update(vars_of(order.args[0] for order in augmented(stmt)))
        elif len(stmt.targets) == 1 and not stmt.targets[0].is_users and (is_transpose(stmt) or self.is_shape(stmt)):
            self.reads[stmt.targets[0]] = stmt, loop

    def is_shape(self, stmt: Apply) -> bool:
        match stmt:
            case Apply(_, op, (Var() | Free(),)) if op.style == "attribute":
                return op.text in _SHAPES
            case Apply(_, op, (Var() | Free(),), ()) if op.style == "call":
                return op.fn is len
            case Apply(_, op, (Var() as shape, Const()), ()) if op.style == "item" and shape in self.reads:
                return self.reads[shape][0].op.text == "shape"
            case _:
                return False

    def chosen(self) -> dict[Var, Apply]:
        """What is read again: what is used more than once, or in a loop within."""
        chosen: dict[Var, Apply] = {}
        for var, (stmt, loop) in self.reads.items():
            if self.uses.get(var, []) != [loop] and self.may_reread(var):
                chosen[var] = stmt
                base = stmt.args[0]
                if isinstance(base, Var) and base in self.reads:
                    chosen[base] = self.reads[base][0]
        return chosen

    def may_reread(self, var: Var) -> bool:
        stmt, loop = self.reads[var]
        if is_transpose(stmt):
            return var not in self.continued
        base = stmt.args[0]
        if isinstance(base, Var) and base in self.reads and not is_transpose(self.reads[base][0]) and not self.may_reread(base):
            return False
        return self.continued.isdisjoint([var, *vars_of([base])]) and all(use == loop for use in self.uses.get(var, []))


def is_transpose(stmt: Apply) -> bool:
    return stmt.op.style == "attribute" and stmt.op.text == "T" and isinstance(stmt.args[0], (Var, Free))


@dataclass
class _Rereading:
    chosen: dict[Var, Apply]
    reads: list[Stmt] = field(default_factory=list)

    def block(self, block: Block) -> Block:
        outer, self.reads = self.reads, []
        for stmt in block.stmts:
            if not (isinstance(stmt, Apply) and stmt.targets and stmt.targets[0] in self.chosen):
                self.reads.append(self.stmt(stmt))
        end = self.end(block.end)
        stmts, self.reads = tuple(self.reads), outer
        return Block(stmts, end)

    def stmt(self, stmt: Stmt) -> Stmt:
        match stmt:
            case If(cond, then, orelse, around=around):
                arms = self.block(then), self.block(orelse)
                header = map_atom(cond, self.read), map_around(around, self.read)
                return replace(stmt, cond=header[0], then=arms[0], orelse=arms[1], around=header[1])
            case Loop(sources, _, inits, body):
                sources = tuple(map_source(source, self.read) for source in sources)
                return replace(stmt, sources=sources, inits=map_operands(inits, self.read), body=self.block(body))
            case _:
                return map_stmt(stmt, self.read)

    def end(self, end: End) -> End:
        if isinstance(end, Branch):
            return Branch(map_atom(end.cond, self.read), self.block(end.then), self.block(end.orelse))
        return map_end(end, self.read)

    def read(self, var: Var) -> Var:
        """The variable itself, or what reads the same once more."""
        stmt = self.chosen.get(var)
        if stmt is None:
            return var
        again = map_stmt(stmt, self.read)
        target = Var(var.hint, var.kind)
        assert isinstance(again, Apply)
        self.reads.append(Apply((target,), again.op, again.args, again.kwargs, again.origin))
        return target
