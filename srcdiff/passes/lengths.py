"""A length's expression over the parameters as statements.

    (X.shape[0] - 2) * k        shape = shape(X);  n = item(shape, 0);  difference = sub(n, 2);  product = mul(difference, k)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from srcdiff.ir import ops
from srcdiff.ir.kinds import INT, Opaque
from srcdiff.ir.nodes import Apply, Atom, Const, Op, Operand, Origin, Stmt, Var

_TOKEN = re.compile(r"\s*(?:(\d+)|(\w+)|'([^'\\]*)'|(//|[-+*%()\[\].]))")
_OPERATORS = {"+": ops.ADD, "-": ops.SUB, "*": ops.MUL, "//": ops.FLOORDIV}
_HINTS = {"+": "total", "-": "n", "*": "product", "//": "n"}


class NoExpression(Exception):
    """A length that no statements over the parameters give."""


@dataclass
class Statements:
    """New statements of a pass; what is already there is not made again."""

    origin: Origin | None
    stmts: list[Stmt] = field(default_factory=list)
    known: dict[tuple[Op, tuple[Operand, ...]], Var] = field(default_factory=dict)

    def apply(self, op: Op, args: tuple[Operand, ...], target: Var) -> Var:
        found = self.known.get((op, args))
        if found is None:
            found = self.known[op, args] = target
            self.stmts.append(Apply((target,), op, args, (), self.origin))
        return found

    def length(self, value: Atom, axis: int) -> Var:
        """`value.shape[axis]`"""
        shape = self.apply(ops.SHAPE, (value,), Var("shape", Opaque("shape")))
        return self.apply(ops.ITEM, (shape, Const(axis)), Var("n", INT))


Find = Callable[[str, Statements], Atom | None]


def expressed(expression: str, roots: Mapping[str, Atom], out: Statements, find: Find) -> Atom:
    """The value of a length's expression. `find` may know a shorter way to a part of it."""
    parser = _Parser(_tokens(expression), roots, out, find)
    value = parser.sum()
    if parser.tokens:
        raise NoExpression
    return value


Token = tuple[str, str]


def _tokens(text: str) -> list[Token]:
    """The tokens from last to first: kind and text."""
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise NoExpression
        assert match.lastindex is not None
        found.append((("number", "name", "string", "sign")[match.lastindex - 1], match[match.lastindex]))
        at = match.end()
    found.reverse()
    return found


class _Parser:
    def __init__(self, tokens: list[Token], roots: Mapping[str, Atom], out: Statements, find: Find) -> None:
        self.tokens, self.roots, self.out, self.find = tokens, roots, out, find

    def next_is(self, *signs: str) -> bool:
        return bool(self.tokens) and self.tokens[-1][0] == "sign" and self.tokens[-1][1] in signs

    def take(self, kind: str, text: str | None = None) -> str:
        if not self.tokens or self.tokens[-1][0] != kind or text not in (None, self.tokens[-1][1]):
            raise NoExpression
        return self.tokens.pop()[1]

    def sum(self) -> Atom:
        value = self.product()
        while self.next_is("+", "-"):
            value = self.combine(self.take("sign"), value, self.product())
        return value

    def product(self) -> Atom:
        value = self.part()
        while self.next_is("*", "//"):
            value = self.combine(self.take("sign"), value, self.part())
        return value

    def combine(self, sign: str, a: Atom, b: Atom) -> Atom:
        return self.out.apply(_OPERATORS[sign], (a, b), Var(_HINTS[sign], INT))

    def part(self) -> Atom:
        if self.next_is("("):
            self.take("sign")
            value = self.sum()
            self.take("sign", ")")
            return value
        if self.tokens and self.tokens[-1][0] == "number":
            return Const(int(self.take("number")))
        name = self.take("name")
        if name == "len" and self.next_is("("):
            self.take("sign")
            path = self.path(self.take("name"))
            self.take("sign", ")")
            return self.read("len", path)
        return self.read("value", self.path(name))

    def path(self, root: str) -> list[str | int]:
        """A parameter's name, and the keys that lead from it: ["params", "W1", "shape", 0]; the shape as one key."""
        keys: list[str | int] = [root]
        while self.next_is("[", "."):
            if self.take("sign") == ".":
                if self.take("name") != "shape":
                    raise NoExpression
                keys.append("shape")
                self.take("sign", "[")
                keys.append(int(self.take("number")))
                self.take("sign", "]")
                return keys
            is_number = self.tokens and self.tokens[-1][0] == "number"
            keys.append(int(self.take("number")) if is_number else self.take("string"))
            self.take("sign", "]")
        return keys

    def read(self, what: str, keys: list[str | int]) -> Atom:
        is_shape = len(keys) > 2 and keys[-2] == "shape" and what == "value"
        path = keys[:-2] if is_shape else keys
        text = str(path[0]) + "".join(f"[{key!r}]" for key in path[1:])
        whole = f"{text}.shape[{keys[-1]}]" if is_shape else f"len({text})" if what == "len" else text
        found = self.find(whole, self.out)
        if found is not None:
            return found
        root = self.roots.get(str(path[0]))
        if root is None:
            raise NoExpression
        for key in path[1:]:
            root = self.out.apply(ops.ITEM, (root, Const(key)), Var(key if isinstance(key, str) and key.isidentifier() else "item", Opaque("part")))
        if is_shape:
            axis = keys[-1]
            assert isinstance(axis, int)
            return self.out.length(root, axis)
        if what == "len":
            return self.out.apply(ops.LEN, (root,), Var("n", INT))
        return root
