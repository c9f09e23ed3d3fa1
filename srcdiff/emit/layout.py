"""The text of a syntax tree: astor prints it, long lines are wrapped, marks become comments.

result = f(aaa, bbb)           result = f(
                        →          aaa,
                                   bbb,
                               )
"""

from __future__ import annotations

import ast
import functools
import re
from typing import Any

_WIDTH = 100
_OPEN, _CLOSE = "([{", ")]}"
_MARK = re.compile(r"^(\s*)__comment_(\d+)__$")


def lay_out(tree: ast.FunctionDef, comments: list[str], docstring: str | None) -> str:
    """The source of a function; `comments` stand where their marks are."""
    to_source, generator = _astor()
    source: str = to_source(tree, pretty_string=_quoted, pretty_source="".join, source_generator_class=generator)
    lines: list[str] = []
    for line in source.split("\n"):
        mark = _MARK.match(line) if "__comment_" in line else None
        if mark is not None:
            lines.append(mark[1] + comments[int(mark[2])])
        elif len(line) > _WIDTH:
            lines += wrapped(line)
        elif line:
            lines.append(line)
    if docstring is not None:
        lines[_after_header(lines) : 0] = _docstring(docstring)
    return "\n".join(lines) + "\n"


@functools.cache
def _astor() -> tuple[Any, Any]:
    import astor

    class Generator(astor.code_gen.SourceGenerator):  # type: ignore[misc]
        """Writes `x**2` where both are simple, as formatters do."""

        def visit_BinOp(self, node: ast.BinOp) -> None:
            if isinstance(node.op, ast.Pow) and _is_simple(node.left) and _is_simple(node.right):
                self.write(node.left, "**", node.right)
            else:
                super().visit_BinOp(node)

    return astor.to_source, Generator


def _is_simple(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) or (isinstance(node, ast.Constant) and isinstance(node.value, (int, float)))


def _quoted(text: str, *_: object, **__: object) -> str:
    """A string literal in double quotes, unless that needs more escapes."""
    plain = repr(text)
    if plain.startswith("'") and '"' not in text:
        return '"' + plain[1:-1].replace("\\'", "'") + '"'
    return plain


def _after_header(lines: list[str]) -> int:
    return next(i for i, line in enumerate(lines) if line.endswith(":") and not line.startswith("     ")) + 1


def _docstring(docstring: str) -> list[str]:
    import inspect

    text = inspect.cleandoc(docstring).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    if text.endswith('"'):
        text = text[:-1] + '\\"'
    lines = f'"""{text}"""'.split("\n") if "\n" not in text else [*f'"""{text}'.split("\n"), '"""']
    return [f"    {line}" if line.strip() else "" for line in lines]


# ------------------------------------------------------------ long lines


def wrapped(line: str) -> list[str]:
    """A line over several: what is in its last bracket moves to lines of its own, one item a line if need be."""
    if len(line) <= _WIDTH:
        return [line]
    split = _split(line)
    if split is None:
        return [line]
    start, stop = split
    indent = line[: len(line) - len(line.lstrip())]
    head, items, tail = line[: start + 1], _items(line[start + 1 : stop]), line[stop:]
    inner = indent + "    "
    joined = inner + ", ".join(items)
    has_comma = line[start] != "(" or len(items) > 1 or _is_call(head)
    if len(joined) <= _WIDTH and not has_comma:
        body = [joined]
    else:
        body = [part for item in items for part in wrapped(inner + item + ("," if has_comma else ""))]
    return [head, *body, *wrapped(indent + tail)]


def _is_call(head: str) -> bool:
    return len(head) > 1 and (head[-2].isalnum() or head[-2] in "_])")


def _split(line: str) -> tuple[int, int] | None:
    """The outermost bracket that stands last and holds enough: its first and last character."""
    depth, start, best = 0, 0, None
    for i, char in _code(line):
        if char in _OPEN:
            depth += 1
            if depth == 1:
                start = i
        elif char in _CLOSE:
            depth -= 1
            if depth == 0 and i > start + 1 and (best is None or i - start >= min(best[1] - best[0], 20)):
                best = (start, i)
    return best


def _items(text: str) -> list[str]:
    items, depth, last = [], 0, 0
    for i, char in _code(text):
        if char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
        elif char == "," and depth == 0:
            items.append(text[last:i].strip())
            last = i + 1
    items.append(text[last:].strip())
    return [item for item in items if item]


def _code(text: str) -> list[tuple[int, str]]:
    """The characters outside of string literals, with their places."""
    out, quote, skip = [], "", False
    for i, char in enumerate(text):
        if skip:
            skip = False
        elif quote:
            if char == "\\":
                skip = True
            elif char == quote:
                quote = ""
        elif char in "\"'":
            quote = char
        else:
            out.append((i, char))
    return out
