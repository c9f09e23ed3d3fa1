"""Which variables have to be bound on every path, since their value goes on under another name.

if c: y = f(x)                  if c: y = f(x)
z = y                     →     else: y = None
                                z = y

A value that one arm leaves unbound is read only where that arm did not run. A copy to another name reads it everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from srcdiff.analysis.binding import unbound_in
from srcdiff.analysis.liveness import Folds, resolved
from srcdiff.ir.nodes import Exit, Function, If, Loop, Operand, Var
from srcdiff.ir.walk import ends_of, operands_of, statements_of


def to_bind(function: Function, names: Mapping[Var, str], folds: Folds) -> frozenset[Var]:
    """The variables that must be bound everywhere: to None where they have no value."""
    maybe = unbound_in(function.body)
    if not maybe:
        return frozenset()
    sources: dict[Var, list[Var]] = {}

    def flow(into: Iterable[Var], values: Iterable[Operand]) -> None:
        for var, operand in zip(into, values):
            value = resolved(operand, folds)
            if isinstance(value, Var) and value in maybe and value not in folds:
                sources.setdefault(var, []).append(value)

    for stmt in statements_of(function.body):
        match stmt:
            case If(_, then, orelse, results):
                flow(results, operands_of(then.end))
                flow(results, operands_of(orelse.end))
            case Loop(_, params, inits, body, results):
                flow(params, inits)
                flow(results, params)
                for end in ends_of(body):
                    flow(results if isinstance(end, Exit) else params, operands_of(end))
    found = {v for var, values in sources.items() for v in values if var in names and names.get(v) not in (None, names[var])}
    todo = list(found)
    while todo:
        for value in sources.get(todo.pop(), ()):
            if value not in found:
                found.add(value)
                todo.append(value)
    return frozenset(found)
