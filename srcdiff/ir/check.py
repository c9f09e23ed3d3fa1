"""The checker of well-formedness, which runs after each step in the tests.

    y = exp(x);  return y            passes
    return y;                        InternalError: in f: y is read before it is bound

Each variable is bound once, before its reads and in their scope; the numbers of carried values, results and yields agree;
blocks end in what their place asks for.
"""

from __future__ import annotations

from collections.abc import Iterable

from srcdiff.errors import InternalError
from srcdiff.ir.nodes import Apply, Block, Branch, End, Exit, Function, If, Loop, Next, Operand, Return, Stmt, Var, Yield
from srcdiff.ir.text import show
from srcdiff.ir.walk import atoms_of, operands_of, source_targets

_TARGETS = {
    "pop": 2, "index_add": 1, "index_set": 1, "scatter_add": 1, "append": 1, "insert": 1, "copy": 1, "display": 1,
    "assert": 0, "raise": 0, "caught": 1,
}  # fmt: skip
_ARGS = {
    "binary": 2, "unary": 1, "attribute": 1, "item": 2, "display": 1, "unpack": 1, "copy": 1,
    "index_add": 3, "index_set": 3, "scatter_add": 3, "append": 2, "insert": 3,
}  # fmt: skip


def check(function: Function, *, returns_early: bool = False) -> Function:
    """The function itself, if it is well-formed. `returns_early` accepts a tree of branches at its end."""
    _Checker(function, returns_early).run()
    return function


class _Checker:
    def __init__(self, function: Function, returns_early: bool) -> None:
        self.function = function
        self.returns_early = returns_early
        self.bound: set[Var] = set()
        self.scope: dict[Var, None] = {}

    def run(self) -> None:
        self.bind(parameter.var for parameter in self.function.params)
        ends = ("Return", "Branch") if self.returns_early else ("Return",)
        self.block(self.function.body, ends, 0)

    def fail(self, what: str) -> InternalError:
        return InternalError(f"in {self.function.name}: {what}", why="in the program\n" + show(self.function))

    def bind(self, variables: Iterable[Var]) -> None:
        for var in variables:
            if var in self.bound:
                raise self.fail(f"{var.hint} is bound twice")
            self.bound.add(var)
            self.scope[var] = None

    def read(self, operands: Iterable[Operand]) -> None:
        for atom in atoms_of(operands):
            if isinstance(atom, Var) and atom not in self.scope:
                reason = "out of its scope" if atom in self.bound else "before it is bound"
                raise self.fail(f"{atom.hint} is read {reason}")

    def block(self, block: Block, ends: tuple[str, ...], arity: int) -> None:
        size = len(self.scope)
        for stmt in block.stmts:
            self.stmt(stmt)
        self.end(block.end, ends, arity)
        for _ in range(len(self.scope) - size):
            self.scope.popitem()

    def stmt(self, stmt: Stmt) -> None:
        self.read(operands_of(stmt))
        match stmt:
            case Apply():
                self.apply(stmt)
            case If(_, then, orelse, results):
                self.block(then, ("Yield",), len(results))
                self.block(orelse, ("Yield",), len(results))
                self.bind(results)
            case Loop():
                self.loop(stmt)
            case _:
                raise self.fail(f"{stmt!r} is no statement")

    def apply(self, stmt: Apply) -> None:
        style = stmt.op.style
        for what, got, wanted in (("targets", len(stmt.targets), _TARGETS), ("arguments", len(stmt.args), _ARGS)):
            if what == "targets" and stmt.op.has_effect and got == 0:
                continue  # what is done for its effect alone
            if style in wanted and got != wanted[style]:
                raise self.fail(f"{stmt.op.key} has {got} {what}, not {wanted[style]}")
        self.bind(stmt.targets)

    def loop(self, loop: Loop) -> None:
        if not len(loop.params) == len(loop.inits) == len(loop.results):
            counts = f"{len(loop.inits)} first values, {len(loop.params)} carried, {len(loop.results)} results"
            raise self.fail(f"a loop has {counts}")
        size = len(self.scope)
        self.bind(loop.params)
        for source in loop.sources:
            self.bind(source_targets(source))
        self.block(loop.body, ("Next", "Exit", "Branch"), len(loop.params))
        for _ in range(len(self.scope) - size):
            self.scope.popitem()
        self.bind(loop.results)

    def end(self, end: End, ends: tuple[str, ...], arity: int) -> None:
        if type(end).__name__ not in ends:
            raise self.fail(f"a block ends in {type(end).__name__} where one of {', '.join(ends)} is due")
        self.read(operands_of(end))
        match end:
            case Yield(values) | Next(values) | Exit(values):
                if len(values) != arity:
                    raise self.fail(f"a {type(end).__name__} has {len(values)} values where {arity} are due")
            case Branch(_, then, orelse):
                self.block(then, ends, arity)
                self.block(orelse, ends, arity)
            case Return():
                pass
            case _:
                raise self.fail(f"{end!r} is no end of a block")
