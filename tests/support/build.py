"""Writing IR by hand, for tests."""

from __future__ import annotations

from typing import Any

from srcdiff.ir.kinds import FLOAT, Kind
from srcdiff.ir.nodes import UNBOUND, Apply, Block, Const, Free, Function, Op, Origin, Parameter, Ref, Return, Var

KNOWN = (Var, Const, Free, Ref, tuple)


def atom(value: Any) -> Any:
    """An operand: Python numbers, strings and None become constants."""
    return Const(value) if value is None or value is UNBOUND or isinstance(value, (int, float, str)) else value


class Build:
    """Collects the statements of a block."""

    def __init__(self) -> None:
        self.stmts: list[Any] = []

    def __call__(
        self, op: Op, *args: Any, hint: str = "t", kind: Kind = FLOAT, users: bool = False, line: Any = None, **kwargs: Any
    ) -> Var:
        target = Var(hint, kind, users)
        pairs = tuple((key, atom(value)) for key, value in kwargs.items())
        self.stmts.append(Apply((target,), op, tuple(atom(arg) for arg in args), pairs, line))
        return target

    def several(self, op: Op, targets: tuple[Var, ...], *args: Any, line: Any = None) -> tuple[Var, ...]:
        self.stmts.append(Apply(targets, op, tuple(atom(arg) for arg in args), (), line))
        return targets

    def add(self, stmt: Any) -> Any:
        self.stmts.append(stmt)
        return stmt

    def end(self, end: Any) -> Block:
        return Block(tuple(self.stmts), end)

    def function(self, name: str, params: list[Var], value: Any, docstring: str | None = None) -> Function:
        return Function(name, tuple(Parameter(var.hint, var) for var in params), self.end(Return(atom(value))), docstring)


def user(hint: str, kind: Kind = FLOAT) -> Var:
    return Var(hint, kind, True)


def reverse(line: int, text: str) -> Origin:
    return Origin("model.py", line, text, -1)
