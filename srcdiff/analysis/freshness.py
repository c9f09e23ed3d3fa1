"""Which results of procedures are made in them, and so belong to who calls.

def f(x): … return exp(x), x          the first is fresh, the second is not

A call says what is known of its results (`Op.pattern`): all are taken to be fresh at first, until nothing contradicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from srcdiff.analysis.ownership import Ownership
from srcdiff.ir.nodes import Apply, Function, Operand, Procedure, Return
from srcdiff.ir.walk import map_applies

Fresh = Mapping[Procedure, tuple[bool, ...]]


def fresh_results(functions: Mapping[Procedure, Function]) -> Fresh:
    """For each procedure, which of its results share memory with nothing else."""
    found: dict[Procedure, tuple[bool, ...]] = {p: (True,) * len(_results(f)) for p, f in functions.items()}
    while True:
        before = dict(found)
        for p, function in functions.items():
            found[p] = tuple(a and b for a, b in zip(found[p], fresh_in(with_fresh(function, found))))
        if found == before:
            return found


def with_fresh(function: Function, fresh: Fresh) -> Function:
    """The function with what is known noted at its calls."""

    def noted(stmt: Apply) -> Apply:
        p = stmt.op.procedure
        return stmt if p is None else replace(stmt, op=replace(stmt.op, pattern=fresh[p]))

    return replace(function, body=map_applies(function.body, noted))


def _results(function: Function) -> tuple[Operand, ...]:
    assert isinstance(function.body.end, Return)
    value = function.body.end.value
    return value if isinstance(value, tuple) else (value,)


def fresh_in(function: Function) -> list[bool]:
    """Which results of a function share memory with nothing else, as far as its statements tell."""
    ownership = Ownership(function)
    reached = [ownership.of(result).reached for result in _results(function)]
    return [
        ownership.escaped.isdisjoint(sites) and all(sites.isdisjoint(others) for j, others in enumerate(reached) if j != i)
        for i, sites in enumerate(reached)
    ]
