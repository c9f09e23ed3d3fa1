"""Prepare: a function and the structures of its arguments become a program in the IR.

prepare(read_function(loss), bound)    Primal: the parameters, the statements, the result
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Mapping as Map
from dataclasses import dataclass, field
from typing import Any

from srcdiff.errors import KindError, SyntaxNotAccepted
from srcdiff.ir.kinds import Kind, Opaque
from srcdiff.ir.nodes import Const, Function, Operand, Parameter, Procedure, Ref, Stmt, Var
from srcdiff.prepare import arrays, cells, expressions, generators, objects, procedures, statements
from srcdiff.prepare.calls import function_locals
from srcdiff.prepare.entry import Leaf, Structure, open_structure
from srcdiff.prepare.lowering import Frame, Lowering
from srcdiff.prepare.specialisations import Procedures, Recursion, TooLong
from srcdiff.prepare.values import Store, Value, operand_of
from srcdiff.read.source import FunctionSource
from srcdiff.read.subset import YIELD
from srcdiff.rules import chapters
from srcdiff.rules.builder import Builder


@dataclass(frozen=True)
class Primal:
    """A lowered function: `values` are its parameters as values, `result` what it returns, in terms of `stmts`."""

    source: FunctionSource
    name: str
    params: tuple[Parameter, ...]
    structures: Map[str, Structure]
    values: Map[str, Value]
    stmts: tuple[Stmt, ...]
    result: Value
    store: Store
    requirements: Map[str, Any] = field(default_factory=dict)
    docstring: str | None = None
    entry_lists: Store = field(default_factory=dict)
    holders: Map[str, Any] = field(default_factory=dict)
    procedures: Map[Procedure, Function] = field(default_factory=dict)

    def returned(self) -> Operand:
        """The result as an operand; None where it has no single structure, which the transform refuses."""
        try:
            return operand_of(self.result, self.store)
        except TypeError:
            return Const(None)


def prepare(source: FunctionSource, structures: Map[str, Structure], derive: Any = None) -> Primal:
    """Lower a function for arguments of these structures.

    `derive` makes of a lowered function the program of its gradient, for derivatives that the function takes itself.
    Which functions are called while they run, or are long and called in several places, is found by lowering; it begins
    again when one is.
    """
    chapters.load()
    if isinstance(source.node, ast.AsyncFunctionDef):
        raise SyntaxNotAccepted("an async function is not accepted", source.origin(source.node))
    if generators.is_generator(source.node):
        raise SyntaxNotAccepted(YIELD.what, source.origin(source.node), YIELD.why, YIELD.instead)
    recursive: dict[ast.AST, dict[int, Kind]] = {}
    unrolled: dict[ast.AST, Exception] = {}
    long: set[ast.AST] = set()
    short: set[ast.AST] = set()
    keeps_apart = asks_layout = False
    while True:
        try:
            known = Procedures(dict(recursive), dict(unrolled), set(long), set(short))
            return _prepare(source, structures, known, derive, keeps_apart=keeps_apart, asks_layout=asks_layout)
        except Recursion as found:
            if found.fn in recursive and found.lists.keys() <= recursive[found.fn].keys():
                raise found.otherwise from None
            long.discard(found.fn)
            recursive[found.fn] = {**recursive.get(found.fn, {}), **found.lists}
        except procedures.ProcedureFailed as failed:
            if failed.fn in long:
                long.remove(failed.fn)
                short.add(failed.fn)
            else:
                del recursive[failed.fn]
                unrolled[failed.fn] = failed.error
        except TooLong as lengthy:
            long.add(lengthy.fn)
        except arrays.WrittenTwice:
            keeps_apart = True
        except arrays.LayoutMatters:
            asks_layout = True


def _prepare(
    source: FunctionSource,
    structures: Map[str, Structure],
    known: Procedures,
    derive: Any,
    *,
    keeps_apart: bool,
    asks_layout: bool,
) -> Primal:
    """`keeps_apart`: two expressions that give equal arrays give two arrays, since one of them is written to. `asks_layout`:
    whether arguments lie in the order of their indices is asked, since a reshape of one is written to.
    """
    fn = source.node
    assert not isinstance(fn, ast.AsyncFunctionDef)
    prologue = Builder()
    frame = Frame(source, locals=function_locals(fn))
    frame.node = fn
    low = Lowering(frame, prologue, serial=itertools.count(), procedures=known)
    low.root_source, low.prologue, low.derive = source, prologue, derive
    low.asks_layout = asks_layout
    prologue.current, prologue.written = low.current, low.changed
    prologue.merged, prologue.keeps_apart = set(), keeps_apart
    params: list[Parameter] = []
    values: dict[str, Value] = {}
    for name, style, default in parameters(source):
        s = structures[name]
        kind: Kind = s.kind if isinstance(s, Leaf) else Opaque(type(s).__name__)
        var = Var(name, kind, True)
        params.append(Parameter(name, var, style, default))
        values[name] = open_structure(low, s, var, name)
    frame.vars = dict(values)
    cells.open_cells(low, frame, fn)
    entry_lists = dict(low.store)
    low.foreign.clear()  # what the function changes of its arguments is a view of its own
    builder = low.builder = Builder()
    builder.made, builder.transposed, builder.known = prologue.made, prologue.transposed, prologue.known
    builder.current, builder.written = prologue.current, prologue.written
    builder.merged, builder.keeps_apart = prologue.merged, keeps_apart
    if fn in known.recursive:
        low.builder.origin = low.origin(fn)
        result = procedures.call(low, procedures.Callee(source, fn, None, source.name), values, fn)
    elif isinstance(fn, ast.Lambda):
        low.builder.origin = low.origin(fn.body)
        result = expressions.lower(low, fn.body)
    else:
        tree = statements.lower_stmts(low, _without_docstring(fn), lambda: statements.leaf(low, "return", Const(None)))
        arm = statements.settle(low, tree, builder)
        if arm.is_dead:
            raise low.refuse(KindError, f"`{source.name}` raises an exception on every path", fn)
        result = arm.value
    result = arrays.settled(low, result)
    objects.require_distinct(low)
    stmts, functions = procedures.linked(low, (*prologue.stmts, *builder.stmts))
    return Primal(
        source,
        source.name,
        tuple(params),
        structures,
        values,
        stmts,
        result,
        low.store,
        low.requirements,
        source.docstring,
        entry_lists,
        low.holders,
        functions,
    )


def _without_docstring(fn: ast.FunctionDef) -> list[ast.stmt]:
    body = fn.body
    first = body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return body[1:]
    return body


def parameters(source: FunctionSource) -> list[tuple[str, str, Ref | None]]:
    """Name, style and default of each parameter, in order."""
    a = source.node.args
    out: list[tuple[str, str, Ref | None]] = []
    positional = [*[(p.arg, "positional_only") for p in a.posonlyargs], *[(p.arg, "positional") for p in a.args]]
    missing = len(positional) - len(source.defaults)
    for i, (name, style) in enumerate(positional):
        default = Ref(source.defaults[i - missing], name) if i >= missing else None
        out.append((name, style, default))
    if a.vararg is not None:
        out.append((a.vararg.arg, "star", None))
    for p in a.kwonlyargs:
        out.append((p.arg, "keyword_only", Ref(source.kwdefaults[p.arg], p.arg) if p.arg in source.kwdefaults else None))
    if a.kwarg is not None:
        out.append((a.kwarg.arg, "double_star", None))
    return out
