"""Which variables may be without a value where they are in scope.

y = if c: yield x          reading y fails where c is false
    else: yield UNBOUND
"""

from __future__ import annotations

import numpy as np

from srcdiff.ir.kinds import Array, ListOf, Number, Opaque
from srcdiff.ir.nodes import UNBOUND, Apply, Block, Branch, Const, Exit, If, Loop, Managed, Next, Operand, Var
from srcdiff.ir.walk import ends_of, operands_of, statements_of, vars_of
from srcdiff.rules.shapes import broadcast

_NOTHING = Const(UNBOUND)


def unbound_in(body: Block) -> set[Var]:
    """The variables that some way through the program leaves unbound, or smaller than their kind says."""
    found: set[Var] = set()
    size = -1
    while size < len(found):
        size = len(found)
        _block(body, found)
    return found


def _block(block: Block, found: set[Var]) -> None:
    for stmt in block.stmts:
        match stmt:
            case If(_, then, _, results, _, Managed()):
                _block(then, found)
                _join(results, (operands_of(then.end),), found)
            case If(_, then, orelse, results):
                _block(then, found)
                _block(orelse, found)
                _join(results, (operands_of(then.end), operands_of(orelse.end)), found)
            case Loop():
                _loop(stmt, found)
            case Apply(targets):
                if _is_made_of_missing(stmt, found):
                    found.update(targets)
    if isinstance(block.end, Branch):
        _block(block.end.then, found)
        _block(block.end.orelse, found)


def _is_made_of_missing(stmt: Apply, found: set[Var]) -> bool:
    """Whether all arrays that a statement reads may be missing: `np.zeros_like(z)` is no array then, but a number."""
    first = stmt.args[0] if stmt.args else None
    if stmt.op.text == "np.array" and isinstance(first, Var) and isinstance(first.kind, ListOf):
        return isinstance(first.kind.item, Array) and first.kind.item.dims != ()  # of no item it has one axis
    if not found:
        return False
    arrays = [var for var in vars_of(stmt.args) if isinstance(var.kind, Array) and var.kind.dims != ()]
    return bool(arrays) and all(var in found for var in arrays)


def enlarged_in(body: Block, missing: set[Var] | None = None) -> set[Var]:
    """The values whose kind is larger than they may be: `sum(xs) + x` where xs may be empty, so that its sum is 0.

    Of their operands only the run knows which were broadcast. `missing` is what `unbound_in` found, where that is known.
    """
    missing = unbound_in(body) if missing is None else missing
    found: set[Var] = set()
    size = -1
    while missing and size < len(found):
        size = len(found)
        for stmt in statements_of(body):
            match stmt:
                case Apply(targets, op) if op.style in ("binary", "unary") or isinstance(op.fn, np.ufunc):
                    if any(v in found for v in vars_of(stmt.args)) or _is_enlarged(stmt, missing):
                        found.update(t for t in targets if isinstance(t.kind, Array) and t.kind.dims)
                case If(_, then, orelse, results):
                    _pass_on(results, (operands_of(then.end), operands_of(orelse.end)), found)
                case Loop(_, params, inits, inner, results):
                    ends = tuple(operands_of(end) for end in ends_of(inner))
                    _pass_on(params, (inits, *ends), found)
                    _pass_on(results, (params, *ends), found)
    return found


def _is_enlarged(stmt: Apply, missing: set[Var]) -> bool:
    """Whether only operands that may be missing give the result its lengths, beside other arrays."""
    kinds = [a.kind for a in stmt.args if isinstance(a, Var) and a not in missing]
    firm = [kind.dims for kind in kinds if isinstance(kind, Array) and kind.dims]
    kind = stmt.targets[0].kind
    if not firm or not isinstance(kind, Array) or not any(v in missing for v in vars_of(stmt.args)):
        return False
    return all(dims != kind.dims for dims in firm) and broadcast(*firm) != kind.dims


def _pass_on(variables: tuple[Var, ...], rows: tuple[tuple[Operand, ...], ...], found: set[Var]) -> None:
    for var, values in zip(variables, zip(*rows)):
        if any(isinstance(value, Var) and value in found for value in values):
            found.add(var)


def _loop(loop: Loop, found: set[Var]) -> None:
    ends = list(ends_of(loop.body))
    nexts = tuple(operands_of(end) for end in ends if isinstance(end, Next))
    _join(loop.params, (loop.inits, *nexts), found)
    _block(loop.body, found)
    _join(loop.params, nexts, found)
    _join(loop.results, (loop.params, *nexts, *(operands_of(end) for end in ends if isinstance(end, Exit))), found)


def _join(variables: tuple[Var, ...], rows: tuple[tuple[Operand, ...], ...], found: set[Var]) -> None:
    for var, values in zip(variables, zip(*rows)):
        if any(
            value == _NOTHING
            or (value == Const(None) and not isinstance(var.kind, Opaque))
            or (isinstance(value, Var) and value in found)
            or _is_smaller(value, var)
            for value in values
        ):
            found.add(var)


def _is_smaller(value: Operand, var: Var) -> bool:
    """Whether a number stands for an array: `s = 0`, then `s = s + x` in a loop that may run no trip."""
    if not isinstance(var.kind, Array) or not var.kind.dims:
        return False
    kind = getattr(value, "kind", None)
    return isinstance(kind, Number) or (isinstance(kind, Array) and kind.dims == ())
