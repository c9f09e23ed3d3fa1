"""A call of a function whose derivative the user gives: one statement, until a transform puts the user's own in its place.

    y = custom f(x)     of nobody's derivative                      the statements of f
                        in reverse mode                             those of f_fwd, and of f_bwd in the reverse sweep
                        in forward mode                             those of f_jvp

The pieces are statements on variables of their own: `params` for what the call is given, `given` for the adjoints of its
results, or for the tangents of its arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from srcdiff.ir.nodes import Apply, Block, Op, Operand, Stmt, Var, Yield
from srcdiff.ir.ops import SAME
from srcdiff.ir.walk import bound_by, renewed


@dataclass(eq=False)
class Custom:
    """A function with a derivative of its own; `sort` is "vjp" or "jvp".

    The arguments of a call are one for each of the first `count` params, which the derivative is by, and what the pieces read of
    the function around; `fixed` are the places of those of them that the value depends on. `primal` yields the results. `first`
    computes the results `outs` again, with what `second` reads of it; `second` gives `slopes`: the adjoints of the first params
    (None where there is none), or the tangents of the results. `is_watched` says that the derivative is the function's own.
    """

    name: str
    sort: str
    params: tuple[Var, ...]
    count: int = 0
    fixed: frozenset[int] = frozenset()
    primal: Block = field(default_factory=lambda: Block((), Yield(())))
    first: tuple[Stmt, ...] = ()
    second: tuple[Stmt, ...] = ()
    outs: tuple[Operand, ...] = ()
    slopes: tuple[Operand, ...] = ()
    given: tuple[Var, ...] = ()
    is_watched: bool = False

    def value(self, args: tuple[Operand, ...], targets: tuple[Var, ...]) -> tuple[Stmt, ...]:
        """The statements of the function itself, which bind the targets."""
        taken, copies = _as_targets(self.primal.stmts, _values(self.primal), targets)
        block = renewed(Block((*self.primal.stmts, *copies), Yield(())), self._mapping(args), taken)
        return block.stmts

    def rule(
        self, args: tuple[Operand, ...], given: Mapping[Var, Operand], targets: tuple[Var, ...]
    ) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...], tuple[Operand, ...]]:
        """The first statements of the derivative, which bind the targets, the second ones, and the slopes."""
        taken, copies = _as_targets(self.first, self.outs, targets)
        whole = Block((*self.first, *copies, *self.second), Yield(self.slopes))
        block = renewed(whole, {**self._mapping(args), **given}, taken)
        count = len(self.first) + len(copies)
        return block.stmts[:count], block.stmts[count:], _values(block)

    def _mapping(self, args: tuple[Operand, ...]) -> dict[Var, Operand]:
        return dict(zip(self.params, args, strict=True))


def _as_targets(
    stmts: Sequence[Stmt], outs: Sequence[Operand], targets: Sequence[Var]
) -> tuple[dict[Var, Var], tuple[Stmt, ...]]:
    """The targets that results among the statements become, and copies for what is no result of one, or one twice."""
    bound = {v for stmt in stmts for v in bound_by(stmt)}
    taken: dict[Var, Var] = {}
    copies: list[Stmt] = []
    for out, target in zip(outs, targets, strict=True):
        if isinstance(out, Var) and out in bound and out not in taken:
            taken[out] = target
        else:
            copies.append(Apply((target,), SAME, (out,)))
            taken[target] = target
    return taken, tuple(copies)


def _values(block: Block) -> tuple[Operand, ...]:
    assert isinstance(block.end, Yield)
    return block.end.values


def custom_op(custom: Custom, *, has_effect: bool = False) -> Op:
    """The primitive that calls a function with a derivative of its own."""
    return Op(custom.name, "custom", custom.name, has_effect=has_effect, pattern=custom)
