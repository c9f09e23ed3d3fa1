"""A length's expression over the parameters as statements.

(X.shape[0] - 2) * k        shape = shape(X);  X_0 = item(shape, 0);  difference = sub(X_0, 2);  product = mul(difference, k)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from srcdiff.ir import ops
from srcdiff.ir.kinds import INT, Opaque
from srcdiff.ir.nodes import Atom, Const
from srcdiff.rules.builder import Builder

_TOKEN = re.compile(r"\s*(?:(\d+)|(\w+)|'([^'\\]*)'|(//|[-+*()\[\].]))")
_OPERATORS = {"+": ops.ADD, "-": ops.SUB, "*": ops.MUL, "//": ops.FLOORDIV}

Key = str | int
Find = Callable[[str, Builder], Atom | None]


class NoExpression(Exception):
    """A length that no statements over the parameters give."""


def expressed(expression: str, roots: Mapping[str, Atom], b: Builder, find: Find) -> Atom:
    """The value of a length's expression; `find` may know a shorter way to a part of it."""
    parser = _Parser(_tokens(expression), roots, b, find)
    value = parser.sum()
    if parser.tokens:
        raise NoExpression
    return value


def _tokens(text: str) -> list[tuple[str, str]]:
    """The tokens from last to first: sort and text."""
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastindex is None:
            raise NoExpression
        found.append((("number", "name", "string", "sign")[match.lastindex - 1], match[match.lastindex]))
        at = match.end()
    found.reverse()
    return found


class _Parser:
    def __init__(self, tokens: list[tuple[str, str]], roots: Mapping[str, Atom], b: Builder, find: Find) -> None:
        self.tokens, self.roots, self.b, self.find = tokens, roots, b, find

    def next_is(self, *texts: str, sort: str = "sign") -> bool:
        return bool(self.tokens) and self.tokens[-1][0] == sort and (not texts or self.tokens[-1][1] in texts)

    def take(self, sort: str, text: str | None = None) -> str:
        if not self.tokens or self.tokens[-1][0] != sort or text not in (None, self.tokens[-1][1]):
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
        return self.b.apply(_OPERATORS[sign], (a, b), kind=INT)

    def part(self) -> Atom:
        if self.next_is("("):
            self.take("sign")
            value = self.sum()
            self.take("sign", ")")
            return value
        if self.next_is("-"):
            self.take("sign")
            return Const(-int(self.take("number")))
        if self.next_is(sort="number"):
            return Const(int(self.take("number")))
        name = self.take("name")
        if name == "len" and self.next_is("("):
            self.take("sign")
            path, axis = self.path(self.take("name"))
            self.take("sign", ")")
            if axis is not None:
                raise NoExpression
            return self.found(f"len({_text(path)})") or self.b.apply(ops.LEN, (self.value(path),), kind=INT)
        path, axis = self.path(name)
        text = _text(path) if axis is None else f"{_text(path)}.shape[{axis}]"
        return self.found(text) or self.item(path, axis)

    def path(self, root: str) -> tuple[list[Key], int | None]:
        """A parameter's name with the keys that lead from it, and an axis of the array there."""
        keys: list[Key] = [root]
        while self.next_is("[", "."):
            if self.take("sign") == ".":
                self.take("name", "shape")
                self.take("sign", "[")
                axis = int(self.take("number"))
                self.take("sign", "]")
                return keys, axis
            keys.append(int(self.take("number")) if self.next_is(sort="number") else self.take("string"))
            self.take("sign", "]")
        return keys, None

    def found(self, text: str) -> Atom | None:
        return self.find(text, self.b)

    def value(self, path: list[Key]) -> Atom:
        value = self.roots.get(str(path[0]))
        if value is None:
            raise NoExpression
        for key in path[1:]:
            value = self.b.apply(ops.ITEM, (value, Const(key)), kind=Opaque("item"))
        return value

    def item(self, path: list[Key], axis: int | None) -> Atom:
        """An int or an axis inside a container; `find` knows those that are parameters themselves."""
        if len(path) == 1:
            raise NoExpression
        if axis is None:
            return self.value(path)
        shape = self.b.apply(ops.SHAPE, (self.value(path),), kind=Opaque("shape"))
        return self.b.apply(ops.ITEM, (shape, Const(axis)), kind=INT)


def _text(path: list[Key]) -> str:
    return str(path[0]) + "".join(f"[{key!r}]" for key in path[1:])
