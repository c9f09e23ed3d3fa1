"""The text of a syntax tree: astor prints it, long lines are wrapped, marks become comments.

FunctionDef(…)      →      def f(x):
                               # line 4: y = x ** 2
                               return 2 * x
"""

from __future__ import annotations

import ast
import functools
import re
import warnings
from typing import Any

from srcdiff.emit.wrapping import WIDTH, wrapped

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
        elif len(line) > WIDTH:
            lines += wrapped(line)
        elif line:
            lines.append(line)
    if docstring is not None:
        lines[_after_header(lines) : 0] = _docstring(docstring)
    return "\n".join(lines) + "\n"


@functools.cache
def _astor() -> tuple[Any, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it asks `ast` for names that newer Pythons deprecate
        import astor

    set_precedence, precedence = astor.code_gen.set_precedence, astor.op_util.Precedence

    class Generator(astor.code_gen.SourceGenerator):  # type: ignore[misc]
        """Writes `x**2` where both are simple, and `(x,)`, as formatters do."""

        def visit_BinOp(self, node: ast.BinOp) -> None:
            if not (isinstance(node.op, ast.Pow) and _is_simple(node.left) and _is_simple(node.right)):
                super().visit_BinOp(node)
                return
            with self.delimit(node, node.op):
                set_precedence(precedence.Pow + 1, node.left)
                set_precedence(precedence.PowRHS, node.right)
                self.write(node.left, "**", node.right)

        def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
            text = ast.unparse(node)  # astor asks for ast.Str, which newer Pythons lack, and escapes quotes within braces
            is_plain = not text.startswith("f'''") and '"' not in text and "\\" not in text
            self.write('f"' + text[2:-1] + '"' if is_plain else text)

        def visit_Tuple(self, node: ast.Tuple) -> None:
            if len(node.elts) != 1 or isinstance(node.elts[0], ast.Slice):
                super().visit_Tuple(node)
                return
            self.write("(")
            self.comma_list(node.elts, True)
            self.write(")")

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
