"""A reference interpreter of the IR: every operation works on copies, so nothing is ever shared or overwritten."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np

from srcdiff.ir.nodes import (
    Apply,
    Block,
    Branch,
    Caught,
    Const,
    DictDisplay,
    Exit,
    Free,
    Function,
    If,
    ListDisplay,
    Loop,
    Next,
    Range,
    RecordDisplay,
    Ref,
    Return,
    SliceOf,
    Yield,
)

BINARY = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b, "@": lambda a, b: a @ b,
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b, "**": lambda a, b: a**b, "//": lambda a, b: a // b, "%": lambda a, b: a % b,
    "and": lambda a, b: a and b, "or": lambda a, b: a or b,
}  # fmt: skip
UNARY = {"-": lambda a: -a, "+": lambda a: +a, "not": lambda a: not a, "~": lambda a: ~a}


def run(function: Function, args: list[Any], free: dict[str, Any] | None = None) -> Any:
    """What the function returns for these arguments, which stay as they are."""
    env = {parameter.var: copy.deepcopy(arg) for parameter, arg in zip(function.params, args, strict=True)}
    return _Run(env, free or {}).body(function.body)


class _Run:
    def __init__(self, env: dict[Any, Any], free: dict[str, Any]) -> None:
        self.env, self.free = env, free

    def value(self, operand: Any) -> Any:
        match operand:
            case Const(value) | Ref(value):
                return value
            case Free(text):
                return copy.deepcopy(self.free[text])
            case tuple():
                return tuple(self.value(item) for item in operand)
            case SliceOf(start, stop, step):
                return slice(self.value(start), self.value(stop), self.value(step))
            case ListDisplay(items):
                return [self.value(item) for item in items]
            case DictDisplay(keys, items):
                return {key: self.value(item) for key, item in zip(keys, items)}
            case RecordDisplay(cls, fields, items):
                return cls.value(**{field: self.value(item) for field, item in zip(fields, items)})
            case _:
                return copy.deepcopy(self.env[operand])

    def bind(self, variables: Any, values: Any) -> None:
        self.env.update(zip(variables, [copy.deepcopy(value) for value in values], strict=True))

    def body(self, block: Block) -> Any:
        """The Return's value, or the end that was reached with its values."""
        for stmt in block.stmts:
            match stmt:
                case Apply():
                    self.apply(stmt)
                case If(_, then, orelse, results, _, Caught(errors)):
                    before = dict(self.env)
                    try:
                        _, values = self.body(then)
                    except tuple(error.value for error in errors):
                        self.env = before
                        _, values = self.body(orelse)
                    self.bind(results, values)
                case If(cond, then, orelse, results):
                    _, values = self.body(then if self.value(cond) else orelse)
                    self.bind(results, values)
                case Loop():
                    self.loop(stmt)
        match block.end:
            case Return(value):
                return self.value(value)
            case Branch(cond, then, orelse):
                return self.body(then if self.value(cond) else orelse)
            case Yield(values) | Next(values) | Exit(values):
                return block.end, [self.value(value) for value in values]

    def loop(self, loop: Loop) -> None:
        values = [self.value(init) for init in loop.inits]
        trips = zip(*[self.items(source) for source in loop.sources]) if loop.sources else itertools.repeat(())
        for items in trips:
            self.bind(loop.params, values)
            for source, item in zip(loop.sources, items):
                self.bind(*((source.target, item) if isinstance(source.target, tuple) else ([source.target], [item])))
            end, values = self.body(loop.body)
            if isinstance(end, Exit):
                break
        self.bind(loop.results, values)

    def items(self, source: Any) -> Any:
        match source.iterable:
            case Range(start, None, step):
                return itertools.count(self.value(start), self.value(step))
            case Range(start, stop, step):
                items: Any = range(self.value(start), self.value(stop), self.value(step))
            case atom:
                items = self.value(atom)
        return reversed(items) if source.is_reversed else items

    def apply(self, stmt: Apply) -> None:
        args = [self.value(arg) for arg in stmt.args]
        kwargs = {key: self.value(value) for key, value in stmt.kwargs}
        op = stmt.op
        match op.style:
            case "binary":
                results = [BINARY[op.text](*args)]
            case "unary":
                results = [UNARY[op.text](*args)]
            case "call" | "effect":
                assert op.fn is not None
                results = [op.fn(*args, **kwargs)]
            case "attribute":
                results = [getattr(args[0], op.text)]
            case "method":
                results = [getattr(args[0], op.text)(*args[1:], **kwargs)]
            case "item":
                results = [args[0][args[1]]]
            case "display" | "copy":
                results = [args[0]]
            case "unpack":
                results = self.unpacked(op.pattern, args[0], [None] * len(stmt.targets))
            case "index_add" | "scatter_add":
                base, index, value = args
                if op.style == "scatter_add":
                    np.add.at(base, index, value)
                elif isinstance(base, list):
                    base[index] = base[index] + value
                else:
                    base[index] += value
                results = [base]
            case "index_set":
                base, index = args[0], args[1]
                while isinstance(base, list) and isinstance(index, tuple):
                    base, index = base[index[0]], index[1] if len(index) == 2 else index[1:]
                base[index] = args[2]
                results = [args[0]]
            case "append":
                results = [[*args[0], args[1]]]
            case "insert":
                results = [[*args[0]]]
                results[0].insert(args[1], args[2])
            case "pop":
                results = [[*args[0]]]
                results.append(results[0].pop(*args[1:]))
            case "assert":
                assert args[0]
                results = []
            case style:
                raise NotImplementedError(style)
        if op.style in ("call", "effect") and len(stmt.targets) != 1:
            results = list(results[0]) if stmt.targets else []
        self.bind(stmt.targets, results)

    def unpacked(self, pattern: Any, value: Any, out: list[Any]) -> list[Any]:
        if isinstance(pattern, int):
            out[pattern] = value
        elif pattern is not None:
            for part, item in zip(pattern, value, strict=True):
                self.unpacked(part, item, out)
        return out
