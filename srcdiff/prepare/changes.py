"""Lists and dicts that change while a loop runs over them: what Python then reads is read, or the loop is refused.

for i, x in enumerate(xs): xs[i] = 2 * x      accepted: what is written is behind the loop
for x in xs: xs[3] = 0.0                      the fourth trip reads the 0.0: of a list that is unrolled; otherwise refused
"""

from __future__ import annotations

import ast
from typing import Any

from srcdiff.errors import SrcdiffError, SyntaxNotAccepted
from srcdiff.ir import ops
from srcdiff.ir.nodes import Apply, Const, If, Loop, Operand, Range, Var
from srcdiff.ir.walk import ends_of, operands_of, statements_of
from srcdiff.prepare import expressions, functional
from srcdiff.prepare.lowering import Lowering
from srcdiff.prepare.values import DictRef, Iterable, ListRef, Value

MOST_GROWN = 64


class Running:
    """What an unrolled loop runs over, read as the loop runs."""

    def __init__(self, low: Lowering, node: ast.For, iterable: Value, items: list[Value]) -> None:
        self.low, self.node, self.iterable, self.items = low, node, iterable, items
        self.refs = [ref for ref in _run_over(iterable) if low.classes.get(ref) is not functional.Iterator]
        self.states = {ref: low.store[ref] for ref in self.refs}

    def now(self) -> list[Value]:
        """The items as they are at this point of the walk."""
        if all(self.low.store[ref] is self.states[ref] for ref in self.refs):
            return self.items
        live = expressions.known_items(self.low, self.iterable)
        is_list = isinstance(self.iterable, ListRef)
        if live is None or len(live) > len(self.items) + MOST_GROWN or not is_list and len(live) != len(self.items):
            raise while_it_runs(self.low, self.node)
        return live


def _run_over(iterable: Value) -> list[Any]:
    """The lists and dicts that a loop runs over."""
    match iterable:
        case ListRef() | DictRef():
            return [iterable]
        case Iterable("set"):
            return []
        case Iterable(_, args):
            return [ref for arg in args for ref in _run_over(arg)]
    return []


def while_it_runs(low: Lowering, node: ast.AST) -> SrcdiffError:
    return low.refuse(
        SyntaxNotAccepted,
        "a list or dict is changed while a loop runs over it",
        node.iter if isinstance(node, ast.For) else node,
        instead="loop over a copy of it: for x in list(xs).",
    )


_WRITES = ("index_set", "index_add", "append", "insert", "pop", "scatter_add")


def refuse_ahead(low: Lowering, node: ast.AST, param: Var, init: Operand) -> None:
    """Refuse a loop over a list of the run's length that it changes elsewhere than at the item of the trip."""
    loop = low.builder.stmts[-1]
    assert isinstance(loop, Loop)
    if not any(source.iterable is init for source in loop.sources):
        return
    counters = [s.target for s in loop.sources if isinstance(s.iterable, Range) and s.iterable.start == Const(0)]
    origins = _origins(loop)
    for stmt in statements_of(loop.body):
        if isinstance(stmt, Apply) and stmt.op.style in _WRITES and _may_be(stmt.args[0], param, origins):
            index = stmt.args[1] if stmt.op in (ops.INDEX_SET, ops.INDEX_ADD) else None
            if (index[0] if isinstance(index, tuple) and index else index) not in counters:
                raise while_it_runs(low, node)


def _origins(loop: Loop) -> dict[Any, list[Operand]]:
    """Of each variable that may be another one, or another version of one, these."""
    found: dict[Any, list[Operand]] = {}
    for stmt in statements_of(loop.body):
        if isinstance(stmt, Apply):
            if stmt.op.style in (*_WRITES, "copy"):
                found.update({t: [stmt.args[0]] for t in stmt.targets})
        elif isinstance(stmt, If):
            rows = [operands_of(stmt.then.end), operands_of(stmt.orelse.end)]
            found.update({r: [row[i] for row in rows] for i, r in enumerate(stmt.results)})
        else:
            rows = [stmt.inits, *(operands_of(end) for end in ends_of(stmt.body))]
            for i, (param, result) in enumerate(zip(stmt.params, stmt.results)):
                found[param] = found[result] = [row[i] for row in rows]
    return found


def _may_be(value: Operand, param: Var, origins: dict[Any, list[Operand]]) -> bool:
    seen: list[Operand] = []
    todo = [value]
    while todo:
        one = todo.pop()
        if one is param:
            return True
        if isinstance(one, Var) and one not in seen:
            seen.append(one)
            todo += origins.get(one, [])
    return False
