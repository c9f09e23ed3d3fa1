"""The text of a function: the node of the syntax tree that its code object was compiled from, and what it refers to.

    read_function(loss).node         ast.FunctionDef, with the line numbers and columns of the file
    read_function(loss).origin(n)    the line of the user's that a node of it stands in

The node is found from the code object that really runs, never through `__wrapped__`, and the text is compiled again and
compared with that code, so a file that was edited after its import is refused. A file is parsed once.
"""

from __future__ import annotations
import __future__

import ast
import functools
import linecache
import operator
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import decode_source
from types import CellType, CodeType, FunctionType
from typing import Any

from srcdiff.errors import SourceNotFound
from srcdiff.ir.nodes import Origin

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_FUTURE_FLAGS = functools.reduce(operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names))
_WRITE_IN_A_FILE = "write the function in a file or in a notebook cell, and import or call it from there."

_TAKES_A_VALUE = re.compile("[WXcm]")  # the options of Python that do, behind others in one word too: -Ic


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """A function as it was written, and the values it refers to.

    `lines` are the lines of the whole file, so that `lines[node.lineno - 1]` is the line of a node; `first_line` is that
    of the first decorator, if there are any. `name` is the name in the text; `docstring` is the one in the text, with
    its indentation taken off. `class_cell` is the cell of `__class__`, which `super()` reads.
    """

    node: FunctionNode
    file: str
    first_line: int
    lines: tuple[str, ...] = field(repr=False)
    name: str
    qualname: str
    code: CodeType
    globals: dict[str, Any] = field(repr=False)
    cells: dict[str, CellType]
    defaults: tuple[Any, ...]
    kwdefaults: dict[str, Any]
    docstring: str | None

    @property
    def class_cell(self) -> CellType | None:
        return self.cells.get("__class__")

    def origin(self, node: ast.AST) -> Origin:
        """Where a statement or an expression of this function stands; columns count characters."""
        return _origin(self.file, self.lines, node)


def read_function(f: object) -> FunctionSource:
    """The source of a function written in Python.

    >>> source = read_function(lambda x: 2 * x)
    >>> ast.unparse(source.node)
    'lambda x: 2 * x'
    """
    if not isinstance(f, FunctionType):
        raise _no_python_source(f)
    code = f.__code__
    file = _parsed_file(code, f.__globals__)
    node = file.node_of(code)
    return FunctionSource(
        node=node,
        file=code.co_filename,
        first_line=code.co_firstlineno,
        lines=file.lines,
        name=code.co_name,
        qualname=code.co_qualname,
        code=code,
        globals=f.__globals__,
        cells=dict(zip(code.co_freevars, f.__closure__ or (), strict=True)),
        defaults=f.__defaults__ or (),
        kwdefaults=f.__kwdefaults__ or {},
        docstring=None if isinstance(node, ast.Lambda) else ast.get_docstring(node),
    )


class _ParsedFile:
    """The syntax tree of a file, and the nodes that were found in it for code objects."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.lines = tuple(text.split("\n"))
        self.body = ast.parse(text, name).body
        self.nodes: dict[CodeType, FunctionNode] = {}

    def node_of(self, code: CodeType) -> FunctionNode:
        node = self.nodes.get(code)
        if node is None:
            node = self.nodes[code] = self._find(code)
        return node

    def _find(self, code: CodeType) -> FunctionNode:
        line = code.co_firstlineno
        statements = [s for s in self.body if _first_line(s) <= line <= (s.end_lineno or 0)]
        nodes = [
            node
            for statement in statements
            for node in ast.walk(statement)
            if isinstance(node, FunctionNode) and _first_line(node) == line and getattr(node, "name", "<lambda>") == code.co_name
        ]
        if not nodes or not any(_compiles_to(body, code, self.name) for body in self._compiled_together(statements)):
            raise _not_what_runs(code, self.lines)
        return nodes[0] if len(nodes) == 1 else self._tell_apart(nodes, code)

    def _compiled_together(self, statements: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
        """The modules that the code may come from, least first; what a module imports changes how calls compile."""
        yield [*(s for s in self.body if isinstance(s, ast.Import | ast.ImportFrom)), *statements]
        yield statements  # a notebook compiles the statements of a cell one by one
        yield self.body

    def _tell_apart(self, nodes: list[FunctionNode], code: CodeType) -> FunctionNode:
        """Of several lambdas in a line, the one that the code was compiled from."""
        places = [
            (line, column, end_line, end_column)
            for line, end_line, column, end_column in code.co_positions()
            if line and end_line and column is not None and end_column
        ]
        around = [
            (span, node)
            for span, node in ((_span(node), node) for node in nodes)
            if all(span[:2] <= place[:2] and place[2:] <= span[2:] for place in places)
        ]
        if places and around:
            return max(around, key=lambda pair: pair[0][:2])[1]  # the innermost
        alike = [node for node in nodes if isinstance(node, ast.Lambda) and _names_of(node) == _names(code)]
        if not alike or any(ast.dump(node) != ast.dump(alike[0]) for node in alike):
            line = code.co_firstlineno
            raise SourceNotFound(
                f"which of the {len(nodes)} functions in this line is `{code.co_name}` cannot be told",
                _line_origin(code, self.lines),
                "They use the same names, and the running code has no column numbers that would settle it.",
                f"give each of the functions in line {line} a line of its own.",
            )
        return alike[0]


# By file name: what shows that the text is still the same, and the file.
_parsed: dict[str, tuple[object, _ParsedFile]] = {}


def _parsed_file(code: CodeType, module_globals: dict[str, Any]) -> _ParsedFile:
    name = code.co_filename
    stamp: object
    try:
        status = os.stat(name)
    except (OSError, ValueError):
        # A notebook cell, a doctest, a module in a zip file: linecache has the lines, or gets them from the loader.
        lines: list[str] | None = linecache.getlines(name, module_globals) or _command_lines(name)
        if not lines:
            raise _not_available(code) from None
        stamp = lines
    else:
        lines, stamp = None, (status.st_mtime_ns, status.st_size)
    known = _parsed.get(name)
    if known is not None and known[0] == stamp:
        return known[1]
    try:
        file = _ParsedFile(name, _read(name) if lines is None else "".join(lines))
    except (OSError, SyntaxError, ValueError):
        raise _not_what_runs(code, ()) from None
    _parsed[name] = (stamp, file)
    return file


def _command_lines(name: str) -> list[str]:
    """The lines of `python -c`, which linecache has from Python 3.13 on."""
    if name != "<string>":
        return []
    words = iter(sys.orig_argv[1:])
    for word in words:
        if not word.startswith("-") or word.startswith("--"):
            break
        takes = _TAKES_A_VALUE.search(word)
        if takes is not None:
            value = word[takes.end() :] or next(words, "")
            if takes[0] != "c":
                continue
            return value.splitlines(keepends=True)
    return []


def _read(name: str) -> str:
    with open(name, "rb") as stream:
        return decode_source(stream.read())


def _first_line(node: ast.stmt | FunctionNode) -> int:
    decorators = getattr(node, "decorator_list", None)
    return decorators[0].lineno if decorators else node.lineno


def _span(node: FunctionNode) -> tuple[int, int, int, int]:
    """First line and column, last line and column, of the code that runs when the function is called."""
    first, last = (node.body, node.body) if isinstance(node, ast.Lambda) else (node.body[0], node.body[-1])
    return first.lineno, first.col_offset, last.end_lineno or 0, last.end_col_offset or 0


def _compiles_to(body: list[ast.stmt], code: CodeType, file: str) -> bool:
    """Whether the code comes from this text; the body is one of a module, so that its scopes are whole."""
    module = compile(ast.Module(body, []), file, "exec", code.co_flags & _FUTURE_FLAGS, dont_inherit=True)
    alike = [c for c in _codes(module) if c.co_name == code.co_name and c.co_firstlineno == code.co_firstlineno]
    return any(c == code for c in alike) or (
        _has_rewritten_asserts(code) and any(frozenset().union(*_names(c)) <= frozenset().union(*_names(code)) for c in alike)
    )


def _has_rewritten_asserts(code: CodeType) -> bool:
    """pytest rewrites the assert statements of test modules, with names that start like this."""
    return any(name.startswith("@py") for c in _codes(code) for name in (*c.co_names, *c.co_varnames, *c.co_cellvars))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _codes(const)


def _names_of(node: ast.Lambda) -> list[frozenset[str]]:
    expression = compile(ast.Expression(node), "<lambda>", "eval", dont_inherit=True)
    *_, code = (const for const in expression.co_consts if isinstance(const, CodeType))  # lambdas in default values come first
    return _names(code)


def _names(code: CodeType) -> list[frozenset[str]]:
    """The names and literals of the code, and of each function in it."""
    return [
        frozenset((*c.co_varnames, *c.co_names, *c.co_freevars, *c.co_cellvars))
        | {repr(const) for const in c.co_consts if not isinstance(const, CodeType)}
        for c in _codes(code)
    ]


def _origin(file: str, lines: tuple[str, ...], node: Any) -> Origin:
    text, last = lines[node.lineno - 1], lines[node.end_lineno - 1]
    return Origin(
        file, node.lineno, text, _characters(text, node.col_offset), _characters(last, node.end_col_offset), node.end_lineno
    )  # fmt: skip


def _characters(text: str, utf8_bytes: int) -> int:
    return utf8_bytes if text.isascii() else len(text.encode()[:utf8_bytes].decode(errors="ignore"))


def _line_origin(code: CodeType, lines: tuple[str, ...]) -> Origin:
    line = code.co_firstlineno
    text = lines[line - 1] if line <= len(lines) else ""
    return Origin(code.co_filename, line, text, len(text) - len(text.lstrip()), len(text.rstrip()), line)


def _no_python_source(f: object) -> SourceNotFound:
    name = getattr(f, "__name__", None) or type(f).__name__
    if hasattr(f, "__wrapped__"):
        return SourceNotFound(
            f"`{name}` has no source of its own",
            why=f"It is a {type(f).__name__} around a function.",
            instead=f"differentiate the function inside: {name}.__wrapped__.",
        )
    return SourceNotFound(
        f"`{name}` has no source in Python",
        why=f"It is a {type(f).__name__}, and srcdiff has no derivative rule for it.",
        instead="write it as a Python function of operations that have rules.",
    )


def _not_available(code: CodeType) -> SourceNotFound:
    return SourceNotFound(
        f"the source of `{code.co_name}` is not available",
        why=f"It was compiled from {code.co_filename}, line {code.co_firstlineno}, and that text is not kept: "
        "it was made by exec or eval, or typed at a prompt, or the file is gone.",
        instead=_WRITE_IN_A_FILE,
    )


def _not_what_runs(code: CodeType, lines: tuple[str, ...]) -> SourceNotFound:
    if code.co_filename.startswith("<"):
        return _not_available(code)
    return SourceNotFound(
        f"the text of `{code.co_name}` is not the code that runs",
        _line_origin(code, lines),
        "The file changed after it was imported, or an import hook rewrites it.",
        "import the module again: restart, or importlib.reload(module).",
    )
