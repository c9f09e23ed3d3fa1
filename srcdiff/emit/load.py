"""Make a function of emitted source: in the user's own globals, with the user's own cells.

    source + bindings      →      a function with the user's globals, `np` and the like in cells, its text in linecache

Nothing is written into the user's globals: what they lack reaches the function through its closure.
"""

from __future__ import annotations

import ast
import hashlib
import linecache
from collections.abc import Mapping
from types import CellType, CodeType, FunctionType
from typing import Any

from srcdiff.emit.python import Emitted
from srcdiff.errors import InternalError

_MISSING = object()


def filename_for(emitted: Emitted, name: str) -> str:
    """The name of the file that the source pretends to be in: the same text, the same name."""
    return f"<srcdiff {name} {hashlib.sha256(emitted.source.encode()).hexdigest()[:8]}>"


def load(
    emitted: Emitted,
    *,
    name: str,
    globals: dict[str, Any],
    cells: Mapping[str, CellType] | None = None,
    filename: str | None = None,
) -> FunctionType:
    """The function that the source defines. `cells` are those of the user's function, by name."""
    filename = filename_for(emitted, name) if filename is None else filename
    cells = cells or {}
    outer = {key: value for key, value in emitted.bindings.items() if globals.get(key, _MISSING) is not value or key in cells}
    definitions = _definitions(emitted, name)
    codes = _codes(definitions, [*outer, *(key for key in cells if key not in outer)], filename)
    held: dict[str, CellType] = {key: CellType(value) for key, value in outer.items()}
    held |= {key: cell for key, cell in cells.items() if key not in held}
    held |= {key: CellType() for key in codes}
    for key, code in codes.items():
        function = FunctionType(code, globals, key, None, tuple(held[free] for free in code.co_freevars))
        function.__module__ = globals.get("__name__", "__main__")
        held[key].cell_contents = function
    definition = definitions[-1]
    values = {**globals, **emitted.bindings}
    function.__defaults__ = tuple(_value(node, values) for node in definition.args.defaults) or None
    pairs = zip(definition.args.kwonlyargs, definition.args.kw_defaults, strict=True)
    function.__kwdefaults__ = {arg.arg: _value(node, values) for arg, node in pairs if node is not None} or None
    register(filename, emitted.source)
    return function


def register(filename: str, source: str) -> None:
    """Let tracebacks, `inspect` and debuggers find the source."""
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)


def _definitions(emitted: Emitted, name: str) -> list[ast.FunctionDef]:
    found = [node for node in ast.parse(emitted.source).body if isinstance(node, ast.FunctionDef)]
    if not found or found[-1].name != name:
        raise InternalError(f"the emitted source does not define {name} last")
    return found


def _codes(definitions: list[ast.FunctionDef], free: list[str], filename: str) -> dict[str, CodeType]:
    """The code of each function; the names in `free` and the functions' own are closure variables, lines are the source's."""
    # The factory is never called: its code holds the functions'.
    factory = ast.parse(f"def make({', '.join(free)}): pass")
    make = factory.body[0]
    assert isinstance(make, ast.FunctionDef)
    make.body = list(definitions)
    module = compile(factory, filename, "exec", dont_inherit=True)
    codes = {d.name: _inner(_inner(module, "make"), d.name) for d in definitions}
    if not hasattr(CodeType, "co_qualname"):
        return codes
    return {name: code.replace(co_qualname=name) for name, code in codes.items()}


def _inner(code: CodeType, name: str) -> CodeType:
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and constant.co_name == name:
            return constant
    raise InternalError(f"the emitted source does not define {name}")


def _value(node: ast.expr, values: Mapping[str, object]) -> object:
    """The value of a default: a literal, or a name from outside."""
    first, *rest = ast.unparse(node).split(".") if isinstance(node, (ast.Name, ast.Attribute)) else [""]
    if not first:
        return ast.literal_eval(node)
    value = values[first]
    for attribute in rest:
        value = getattr(value, attribute)
    return value
