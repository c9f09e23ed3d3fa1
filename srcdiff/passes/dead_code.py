"""Drop what nothing reads.

    a = exp(x)                           b = exp(y)
    b = exp(y)                    →      return b
    for … carrying n from 0:
        n_1 = add(n, 1); next n_1
    return b

Statements with an effect stay. A carried value that is read only to compute its own next value goes too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from srcdiff.errors import InternalError
from srcdiff.ir.effects import may_raise
from srcdiff.ir.nodes import (
    Apply,
    Block,
    Branch,
    Caught,
    End,
    Exit,
    Function,
    If,
    Loop,
    Next,
    Operand,
    Return,
    Stmt,
    Var,
    Yield,
)
from srcdiff.ir.walk import ends_of, operands_of, statements_of, vars_of


def has_effect(stmt: Apply) -> bool:
    return stmt.op.has_effect or stmt.op.style in ("effect", "assert", "raise")


def drop_dead_code(function: Function) -> Function:
    """The function without the statements, results and carried values that it doesn't need."""
    return replace(function, body=drop_dead_code_in(function.body))


def drop_dead_code_in(block: Block) -> Block:
    """The same for a block by itself: all that its end reads is needed."""
    return _sweep_block(block, Marks(block))


class Marks:
    """What is needed of a block: variables, and statements that hold an effect.

    `reads` says what a statement reads, where that is to be less than its operands.
    """

    def __init__(self, block: Block, reads: Callable[[Stmt], tuple[Operand, ...]] = operands_of) -> None:
        self.reads = reads
        self.needs: dict[Var, tuple[Operand, ...]] = {}
        self.holder: dict[Var, If | Loop] = {}
        self.parent: dict[Stmt, If | Loop | None] = {}
        self.needed: set[Var] = set()
        self.kept: set[Stmt] = set()
        self.todo: list[Operand] = []
        self.bodies: list[tuple[Block, list[type[BaseException]]]] = []  # of try statements that are needed, and what they catch
        self.block(block)
        self.run()

    def need(self, operand: Operand) -> None:
        """Mark one more operand, and all that it takes."""
        self.todo.append(operand)
        self.run()

    def block(self, block: Block) -> None:
        self.statements(block, None)
        self.whole_end(block.end)

    def whole_end(self, end: End) -> None:
        self.todo += operands_of(end)
        if isinstance(end, Branch):
            for inner in (end.then, end.orelse):
                self.statements(inner, None)
                self.whole_end(inner.end)

    def statements(self, block: Block, parent: If | Loop | None) -> None:
        for stmt in block.stmts:
            self.parent[stmt] = parent
            match stmt:
                case Apply(targets):
                    for target in targets:
                        self.needs[target] = self.reads(stmt)
                    if has_effect(stmt):
                        self.todo += self.reads(stmt)
                        self.keep(stmt)
                case If(_, then, orelse, results):
                    self.statements(then, stmt)
                    self.statements(orelse, stmt)
                    for i, result in enumerate(results):
                        self.holder[result] = stmt
                        self.needs[result] = (_yielded(then, i), _yielded(orelse, i))
                case Loop():
                    self.loop(stmt)
                case _:
                    raise InternalError(f"not a statement: {stmt!r}")

    def loop(self, loop: Loop) -> None:
        self.leaves(loop.body, loop)
        ends = list(ends_of(loop.body))
        for i, (param, result) in enumerate(zip(loop.params, loop.results)):
            self.holder[param] = self.holder[result] = loop
            exits = tuple(end.values[i] for end in ends if isinstance(end, Exit))
            nexts = tuple(end.values[i] for end in ends if isinstance(end, Next))
            self.needs[param] = (loop.inits[i], *nexts, *exits)
            self.needs[result] = (param,)

    def leaves(self, block: Block, loop: Loop) -> None:
        self.statements(block, loop)
        if isinstance(block.end, Branch):
            self.leaves(block.end.then, loop)
            self.leaves(block.end.orelse, loop)

    def keep(self, stmt: Stmt | None) -> None:
        """Mark a statement and those around it, with what decides whether they run."""
        while stmt is not None and stmt not in self.kept:
            self.kept.add(stmt)
            if isinstance(stmt, If):
                self.todo += operands_of(stmt)
                if isinstance(stmt.around, Caught):
                    self.bodies.append((stmt.then, [error.value for error in stmt.around.errors]))
            elif isinstance(stmt, Loop):
                self.todo += operands_of(stmt)[len(stmt.inits) :]
                self.todo += _conditions(stmt.body)
            stmt = self.parent[stmt]

    def keep_what_may_raise(self, body: Block, errors: list[type[BaseException]]) -> None:
        """In the body of a try, what may raise decides which arm runs."""
        for stmt in statements_of(body):
            if isinstance(stmt, Apply) and may_raise(stmt, errors):
                self.todo += self.reads(stmt)
                self.keep(stmt)

    def run(self) -> None:
        while self.todo or self.bodies:
            if not self.todo:
                self.keep_what_may_raise(*self.bodies.pop())
                continue
            operand = self.todo.pop()
            for var in (operand,) if type(operand) is Var else vars_of((operand,)):
                if var not in self.needed:
                    self.needed.add(var)
                    self.todo += self.needs.get(var, ())
                    self.keep(self.holder.get(var))


def _conditions(block: Block) -> Iterable[Operand]:
    if isinstance(block.end, Branch):
        yield block.end.cond
        yield from _conditions(block.end.then)
        yield from _conditions(block.end.orelse)


def _yielded(arm: Block, i: int) -> Operand:
    if not isinstance(arm.end, Yield):
        raise InternalError(f"an arm ends in {arm.end!r}")
    return arm.end.values[i]


def _sweep_block(block: Block, marks: Marks, keep: tuple[int, ...] | None = None) -> Block:
    stmts: list[Stmt] = []
    for stmt in block.stmts:
        match stmt:
            case Apply(targets):
                if stmt in marks.kept or any(target in marks.needed for target in targets):
                    stmts.append(stmt)
            case If(_, then, orelse, results) if stmt in marks.kept:
                places = _places(marks, results)
                chosen = tuple(results[i] for i in places)
                arms = _sweep_block(then, marks, places), _sweep_block(orelse, marks, places)
                stmts.append(replace(stmt, then=arms[0], orelse=arms[1], results=chosen))
            case Loop(_, params, inits, body, results) if stmt in marks.kept:
                places = _places(marks, params)
                new_params, new_results = tuple(params[i] for i in places), tuple(results[i] for i in places)
                new_body = _sweep_block(body, marks, places)
                new_inits = tuple(inits[i] for i in places)
                stmts.append(replace(stmt, params=new_params, inits=new_inits, body=new_body, results=new_results))
            case _:
                pass
    return Block(tuple(stmts), _sweep_end(block.end, marks, keep))


def _places(marks: Marks, variables: tuple[Var, ...]) -> tuple[int, ...]:
    return tuple(i for i, var in enumerate(variables) if var in marks.needed)


def _sweep_end(end: End, marks: Marks, keep: tuple[int, ...] | None) -> End:
    match end:
        case Branch(cond, then, orelse):
            return Branch(cond, _sweep_block(then, marks, keep), _sweep_block(orelse, marks, keep))
        case Yield(values) if keep is not None:
            return Yield(tuple(values[i] for i in keep))
        case Next(values) if keep is not None:
            return Next(tuple(values[i] for i in keep))
        case Exit(values) if keep is not None:
            return Exit(tuple(values[i] for i in keep))
        case Return() | Yield() | Next() | Exit():
            return end
        case _:
            raise InternalError(f"not the end of a block: {end!r}")
