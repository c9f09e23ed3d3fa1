"""Which variables may be without a value where they are in scope.

y = if c: yield x          reading y fails where c is false
    else: yield UNBOUND
"""

from __future__ import annotations

from srcdiff.ir.kinds import Array, Number, Opaque
from srcdiff.ir.nodes import UNBOUND, Apply, Block, Branch, Const, Exit, Function, If, Loop, Next, Operand, Var
from srcdiff.ir.walk import ends_of, operands_of

_NOTHING = Const(UNBOUND)


def unbound_in(function: Function) -> set[Var]:
    """The joined and carried variables that some way through the program leaves unbound, or smaller than their kind says."""
    found: set[Var] = set()
    _block(function.body, found)
    return found


def _block(block: Block, found: set[Var]) -> None:
    for stmt in block.stmts:
        match stmt:
            case If(_, then, orelse, results):
                _block(then, found)
                _block(orelse, found)
                _join(results, (operands_of(then.end), operands_of(orelse.end)), found)
            case Loop():
                _loop(stmt, found)
            case Apply():
                pass
    if isinstance(block.end, Branch):
        _block(block.end.then, found)
        _block(block.end.orelse, found)


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
