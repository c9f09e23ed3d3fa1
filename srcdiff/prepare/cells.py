"""Names that a function within writes to (`nonlocal`): cells in the store, which branches join and loops carry.

total = 0.0                     store[total's cell] = (0.0,)
def add(v):
    nonlocal total
    total += v                  store[total's cell] = (t,)
"""

from __future__ import annotations

import ast
import functools

from srcdiff.errors import SyntaxNotAccepted
from srcdiff.ir.nodes import UNBOUND, Const
from srcdiff.prepare.lowering import Frame, Lowering
from srcdiff.prepare.values import ListRef, Value

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@functools.lru_cache(maxsize=1024)
def declared(fn: ast.AST) -> tuple[frozenset[str], frozenset[str]]:
    """The names that a function declares nonlocal, and those that it declares global."""
    found: tuple[set[str], set[str]] = (set(), set())

    def visit(node: ast.AST) -> None:
        if isinstance(node, (ast.Nonlocal, ast.Global)):
            found[isinstance(node, ast.Global)].update(node.names)
        if not isinstance(node, (*_SCOPES, ast.ClassDef)):
            for child in ast.iter_child_nodes(node):
                visit(child)

    for stmt in fn.body if isinstance(fn, ast.FunctionDef) else ():
        visit(stmt)
    return frozenset(found[0]), frozenset(found[1])


@functools.lru_cache(maxsize=1024)
def _written_within(fn: ast.AST) -> frozenset[str]:
    """The names that functions within a function declare nonlocal."""
    inner = [n for n in ast.walk(fn) if isinstance(n, ast.FunctionDef) and n is not fn]
    return frozenset(name for n in inner for name in declared(n)[0])


def open_cells(low: Lowering, frame: Frame, fn: ast.AST) -> None:
    """The names of a call that functions within it write to become cells."""
    for name in sorted(_written_within(fn) & frame.locals):
        ref = low.new_list((frame.vars.pop(name, Const(UNBOUND)),))
        frame.cells[name] = ref
        low.cell_names[ref] = name


def cell_of(frame: Frame | None, name: str) -> ListRef | None:
    """The cell that a name stands for in a frame, if it is one."""
    while frame is not None:
        if name in frame.cells:
            return frame.cells[name]
        if name in frame.locals:
            return None
        frame = frame.outer
    return None


def bind(low: Lowering, name: str, value: Value) -> None:
    """Bind a name of the frame, or of the function around where it is nonlocal."""
    cell = cell_of(low.frame, name)
    if cell is not None:
        low.store[cell] = (value,)
        return
    nonlocals, globals_ = declared(low.frame.node) if low.frame.node is not None else (frozenset(), frozenset())
    if name in globals_ or name in nonlocals:
        where = "the module" if name in globals_ else "the function around"
        raise low.refuse(
            SyntaxNotAccepted,
            f"`{name}`, a variable of {where}, is assigned",
            None,
            why="It outlives the call, and a gradient leaves no trace there.",
            instead="pass the value as an argument, and return the new one.",
        )
    low.frame.vars[name] = value
