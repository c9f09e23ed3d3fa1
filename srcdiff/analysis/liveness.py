"""Which values are still to be read, at each point of a program, by one walk from its end.

    t = mul(x, x)       # dies: x
    s = add(t, y)       # dies: t, y
    return s

A variable in `folds` is no value of its own: what its expression reads is read where it is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from srcdiff.errors import InternalError
from srcdiff.ir.nodes import Apply, Block, Branch, Caught, End, Function, If, Loop, Operand, Stmt, Var, Yield
from srcdiff.ir.walk import blocks_of, bound_by, operands_of, source_atoms, source_targets, vars_of

Folds = Mapping[Var, Apply | If]
"""The statement whose expression is printed where the variable is read; the program holds it no more (see `passes.fold`)."""


def leaves_of(operands: Iterable[Operand], folds: Folds) -> list[Var]:
    """The variables that operands read, those of folded expressions in place of their names."""
    found: list[Var] = []
    for var in vars_of(operands):
        stmt = folds.get(var)
        if stmt is None:
            found.append(var)
        elif isinstance(stmt, Apply):
            found += leaves_of(operands_of(stmt), folds)
        else:
            found += leaves_of((stmt.cond, *_yields(stmt)), folds)
    return found


def resolved(operand: Operand, folds: Folds) -> Operand:
    """The variable whose name a folded name stands for; any other operand is itself."""
    while isinstance(operand, Var) and isinstance(stmt := folds.get(operand), Apply) and stmt.op.style == "copy":
        operand = stmt.args[0]
    return operand


def _yields(stmt: If) -> tuple[Operand, ...]:
    ends = stmt.then.end, stmt.orelse.end
    if not all(isinstance(end, Yield) for end in ends):
        raise InternalError(f"an arm ends in {ends!r}")
    return tuple(value for end in ends for value in operands_of(end))


def iterables_of(loop: Loop) -> list[Operand]:
    """What a loop reads item by item, and so needs at every trip."""
    return [atom for source in loop.sources if len(atoms := source_atoms(source)) == 1 for atom in atoms]


class Backward:
    """A walk from the end of a function to its start that holds the live variables in `live`.

    `at_apply` is called with the variables that are live after the statement but for those it binds; `add` and
    `discard` may be extended to keep counts.
    """

    def __init__(self, folds: Folds) -> None:
        self.folds = folds
        self.live: dict[Var, None] = {}
        self.trail: list[Var] = []
        self.free: dict[Block, dict[Var, None]] = {}

    def run(self, function: Function) -> None:
        self.find_free(function.body)
        self.block(function.body)

    # ------------------------------------------------------------ to be extended

    def add(self, var: Var) -> None:
        self.live[var] = None

    def discard(self, var: Var) -> None:
        del self.live[var]

    def at_apply(self, stmt: Apply) -> None:
        pass

    def at_dying(self, stmt: Stmt | Branch, dying: list[Var]) -> None:
        pass

    def at_entry(self, block: Block, entering: list[Var]) -> None:
        pass

    def at_unread(self, variables: list[Var]) -> None:
        pass

    # ------------------------------------------------------------ the walk

    def read(self, operands: Iterable[Operand]) -> list[Var]:
        """Make what operands read live; what of it was not live before."""
        new = []
        for var in leaves_of(operands, self.folds):
            if var not in self.live:
                self.add(var)
                self.trail.append(var)
                new.append(var)
        return new

    def unbind(self, variables: Iterable[Var]) -> None:
        unread = []
        for var in variables:
            if var in self.live:
                self.discard(var)
            else:
                unread.append(var)
        self.at_unread(unread)

    def block(self, block: Block) -> None:
        self.end(block.end)
        for stmt in reversed(block.stmts):
            self.stmt(stmt)

    def end(self, end: End) -> None:
        if isinstance(end, Branch):
            self.arms(end, end.then, end.orelse)
        else:
            self.read(operands_of(end))

    def stmt(self, stmt: Stmt) -> None:
        self.unbind(bound_by(stmt))
        match stmt:
            case Apply():
                self.at_apply(stmt)
                self.at_dying(stmt, self.read(operands_of(stmt)))
            case If(_, then, orelse):
                self.arms(stmt, then, orelse)
            case Loop():
                self.loop(stmt)
            case _:
                raise InternalError(f"not a statement: {stmt!r}")

    def arms(self, node: If | Branch, then: Block, orelse: Block) -> None:
        mark = len(self.trail)
        self.block(orelse)
        if isinstance(node, If) and isinstance(node.around, Caught):  # the body may end at any of its statements
            of_orelse = [var for var in self.trail[mark:] if var in self.live]
        else:
            of_orelse = self.undo(mark)
        self.block(then)
        of_then = [var for var in self.trail[mark:] if var in self.live]
        for var in of_orelse:
            if var not in self.live:
                self.add(var)
                self.trail.append(var)
        self.at_entry(then, of_then)
        self.at_entry(orelse, of_orelse)
        self.at_dying(node, self.read(operands_of(node)))

    def undo(self, mark: int) -> list[Var]:
        added = [var for var in self.trail[mark:] if var in self.live]
        for var in added:
            self.discard(var)
        del self.trail[mark:]
        return added

    def loop(self, loop: Loop) -> None:
        """What the body reads of outer values is live in the whole of it: there may be another trip."""
        entering = []
        inside = {*loop.params, *(target for source in loop.sources for target in source_targets(source))}
        for var in (*self.free[loop.body], *leaves_of(iterables_of(loop), self.folds)):
            if var not in self.live and var not in inside:
                self.add(var)
                self.trail.append(var)
                entering.append(var)
        self.at_entry(loop.body, entering)
        self.block(loop.body)
        self.unbind(loop.params)
        for source in loop.sources:
            self.unbind(source_targets(source))
        self.at_dying(loop, self.read(operands_of(loop)))

    def find_free(self, block: Block) -> dict[Var, None]:
        """The outer variables that each loop's body reads."""
        free: dict[Var, None] = {}
        for stmt in (*block.stmts, block.end):
            free.update(dict.fromkeys(leaves_of(operands_of(stmt), self.folds)))
            for inner in blocks_of(stmt):
                free.update(self.find_free(inner))
        for stmt in block.stmts:
            for var in bound_by(stmt):
                free.pop(var, None)
            if isinstance(stmt, Loop):
                for var in (*stmt.params, *(t for source in stmt.sources for t in source_targets(source))):
                    free.pop(var, None)
        self.free[block] = free
        return free


@dataclass
class Liveness:
    """Where values end. In `dies` a variable stands at the statement that reads it last.

    `enters`: what is live at a block's start and not behind the statement that the block belongs to.
    `unread`: what is bound and never read.
    """

    dies: dict[Stmt | Branch, list[Var]] = field(default_factory=dict)
    enters: dict[Block, list[Var]] = field(default_factory=dict)
    unread: set[Var] = field(default_factory=set)


def liveness(function: Function, folds: Folds) -> Liveness:
    walk = _Recorder(folds)
    walk.run(function)
    walk.unbind(parameter.var for parameter in function.params)
    return walk.found


class _Recorder(Backward):
    def __init__(self, folds: Folds) -> None:
        super().__init__(folds)
        self.found = Liveness()

    def at_dying(self, stmt: Stmt | Branch, dying: list[Var]) -> None:
        self.found.dies[stmt] = dying

    def at_entry(self, block: Block, entering: list[Var]) -> None:
        self.found.enters[block] = entering

    def at_unread(self, variables: list[Var]) -> None:
        self.found.unread.update(variables)
