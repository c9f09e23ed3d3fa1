"""The derivative of a call that has one of its own (`ir.custom`): the user's statements in both sweeps.

    y = custom f(x)        →      y = …, residuals = …          (f_fwd)
                                  x_bar = …                     (f_bwd, in the reverse sweep)

A rule for tangents is reversed: its statements are linear in the tangents, and so their reverse by these is its transpose.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from srcdiff.analysis.activity import may_carry
from srcdiff.errors import NotDifferentiable
from srcdiff.ir import ops
from srcdiff.ir.custom import Custom
from srcdiff.ir.kinds import Array
from srcdiff.ir.nodes import Apply, Block, Const, Operand, Stmt, Var, Yield
from srcdiff.ir.walk import bound_by, free_vars, map_operands, map_stmt, operands_of, statements_of, vars_of
from srcdiff.passes.dead_code import drop_dead_code_in
from srcdiff.rules.builder import Builder
from srcdiff.rules.inference import kind_of
from srcdiff.rules.staging import Staged, astype, dims_of
from srcdiff.transform.adjoints import Adjoints, accumulate, as_float, full, zero
from srcdiff.transform.procedures import BETWEEN

if TYPE_CHECKING:
    from srcdiff.transform.forward import Forwarder
    from srcdiff.transform.reverse import Reverser


def reverse_custom(reverser: Reverser, stmt: Apply, adjoints: Adjoints, b: Builder) -> list[Stmt]:
    """Add the reverse of a call to `b`; returns the statements of the forward sweep."""
    custom: Custom = stmt.op.pattern
    bars = {t: bar for t in stmt.targets if t in reverser.active and (bar := adjoints.take(t)) is not None}
    if not bars:
        return [stmt]
    _refuse_fixed(custom, stmt, reverser.active)
    if custom.sort == "jvp":
        return _transposed(reverser, custom, stmt, bars, adjoints, b)
    given: dict[Var, Operand] = {}
    for var, target in zip(custom.given, stmt.targets):
        given[var] = Const(None)
        if may_carry(target.kind):
            bar = bars.get(target)
            whole = zero(target, b) if bar is None else full(Staged(b, bar.atom, bar.dims, bar.like), target)
            given[var] = _atom(whole, var, custom.second, b)
    first, second, slopes = custom.rule(stmt.args, given, stmt.targets)
    same = _add(second, b)
    for arg, slope in zip(stmt.args, map_operands(slopes, lambda v: same.get(v, v))):
        if slope != Const(None) and isinstance(arg, Var) and arg in reverser.active:
            reverser.give(adjoints, arg, _of_dtype(Staged(b, slope), arg), b)  # type: ignore[arg-type]
    return list(first)


def _transposed(
    reverser: Reverser, custom: Custom, stmt: Apply, bars: dict[Var, Staged], adjoints: Adjoints, b: Builder
) -> list[Stmt]:
    """The reverse of a rule for tangents, by the tangents."""
    from srcdiff.transform.reverse import Reverser, carrying

    dots = {var: Var(var.hint, var.kind) for var in custom.given}
    stmts, _, slopes = custom.rule(stmt.args, dots, stmt.targets)
    scratch, own = b.inside(), Adjoints()
    outputs = []
    for target, slope in zip(stmt.targets, slopes):
        if target in bars and isinstance(slope, Var):
            bar = bars[target]
            seed = Staged(scratch, bar.atom, bar.dims, bar.like)
            accumulate(own, slope, seed, scratch)
            outputs.append(slope)
    wanted = {dot: arg for dot, arg in zip(dots.values(), stmt.args) if isinstance(arg, Var) and arg in reverser.active}
    inner = Reverser(carrying(stmts, list(wanted), outputs), stmts, reverser.pairs, reverser.given)
    scratch.foresee(stmts, inner.objects.versions)
    forward = inner.block(stmts, own, scratch)
    found = {dot: given for dot in wanted if (given := own.get(dot)) is not None}
    ends = (*stmt.targets, *(bar.atom for bar in found.values()))
    whole = drop_dead_code_in(Block((*forward, Apply((), BETWEEN, (Const(None),)), *scratch.stmts), Yield(ends)))
    if any(v in free_vars(whole) for v in dots.values()):
        raise NotDifferentiable(
            f"the tangent that the rule of `{custom.name}` gives is not linear in the tangents of its arguments",
            stmt.origin,
            why="Reverse mode transposes the rule.",
            instead="give the function a custom_vjp.",
        )
    at = next(i for i, s in enumerate(whole.stmts) if isinstance(s, Apply) and s.op is BETWEEN)
    same = _add(whole.stmts[at + 1 :], b)
    for dot, bar in found.items():
        atom = same.get(bar.atom, bar.atom) if isinstance(bar.atom, Var) else bar.atom
        reverser.give(adjoints, wanted[dot], _of_dtype(Staged(b, atom, bar.dims, bar.like), wanted[dot]), b)  # type: ignore[arg-type]
    return list(whole.stmts[:at])


def forward_custom(forwarder: Forwarder, stmt: Apply, b: Builder) -> None:
    """Add a call, or the statements of its rule, beside those of its tangents."""
    from srcdiff.transform.forward import named, rebuilt, settled

    custom: Custom = stmt.op.pattern
    _refuse_fixed(custom, stmt, forwarder.active)
    if custom.is_watched:
        b.add(stmt)
        for target, arg in zip(stmt.targets, stmt.args):
            if target in forwarder.active and isinstance(arg, Var):
                forwarder.tangents[target] = rebuilt(forwarder.tangents.get(arg), b)
        return
    if custom.sort == "vjp":
        raise NotDifferentiable(
            f"forward mode reaches `{custom.name}`, which has a derivative rule for reverse mode only",
            stmt.origin,
            why="A custom_vjp, or map_adjoint, says what becomes of adjoints, and nothing of tangents.",
            instead="take it in reverse mode (grad, vjp, jacrev), or give the function a custom_jvp, which is for both.",
        )
    given: dict[Var, Operand] = {
        dot: forwarder.whole(arg, b) if may_carry(kind_of(arg)) else Const(0.0) for dot, arg in zip(custom.given, stmt.args)
    }
    stmts, _, slopes = custom.rule(stmt.args, given, stmt.targets)
    for part in stmts:
        b.add(part)
        if isinstance(part, Apply):
            for target in part.targets:
                b.made[target] = forwarder.made_by[target] = part
    for target, slope in zip(stmt.targets, slopes):
        if target in forwarder.active and slope != Const(None):
            forwarder.tangents[target] = named(settled(Staged(b, slope), target), target)  # type: ignore[arg-type]


def _refuse_fixed(custom: Custom, stmt: Apply, active: Container[Var]) -> None:
    """The derivative by what a function reads from around it is not told by its rule."""
    for i in sorted(custom.fixed):
        for var in vars_of((stmt.args[i],)):
            if var in active:
                raise NotDifferentiable(
                    f"`{custom.name}` reads `{var.hint}`, which depends on what is differentiated by, beside its arguments",
                    stmt.origin,
                    why="Its rule gives the derivative by its own arguments, without those in nondiff_argnums.",
                    instead="pass it as an argument, or stop_gradient of it.",
                )


def _add(stmts: tuple[Stmt, ...], b: Builder) -> dict[Var, Operand]:
    """Add statements of a rule to the reverse sweep: they are no expressions of the user's there.

    A product with 1.0 is left out; the result says what stands for it.
    """
    same: dict[Var, Operand] = {}
    for stmt in stmts:
        stmt = map_stmt(stmt, lambda v: same.get(v, v))
        factor = _factor_of_one(stmt)
        if factor is not None:
            same[bound_by(stmt)[0]] = factor
            continue
        origin = None if stmt.origin is None else replace(stmt.origin, column=-1)
        new = replace(stmt, origin=origin)
        b.add(new)
        if isinstance(new, Apply):
            for target in new.targets:
                b.made[target] = new
            if new.op is ops.TRANSPOSE:
                b.transposed[new.targets[0]] = new.args[0]  # type: ignore[assignment]
    return same


def _factor_of_one(stmt: Stmt) -> Operand | None:
    """What a product with 1.0 is, which is of the same kind."""
    if not isinstance(stmt, Apply) or stmt.op is not ops.MUL or Const(1.0) not in stmt.args:
        return None
    factor = stmt.args[1] if stmt.args[0] == Const(1.0) else stmt.args[0]
    return factor if kind_of(factor) == stmt.targets[0].kind else None


def _atom(bar: Staged, var: Var, second: Sequence[Stmt], b: Builder) -> Operand:
    """An adjoint in full: as a variable, unless it is a constant that only arithmetic reads."""
    atom = as_float(bar, b).atom
    if not isinstance(atom, Const):
        return atom
    readers = [s for s in statements_of(Block(tuple(second), Yield(()))) if var in vars_of(operands_of(s))]
    if all(isinstance(s, Apply) and s.op.style in ("binary", "unary", "custom") for s in readers):
        return atom
    return b.apply(ops.DISPLAY, (atom,), kind=atom.kind, hint="out_bar")


def _of_dtype(bar: Staged, of: Var) -> Staged:
    wanted, kind = of.kind, bar.kind
    if isinstance(wanted, Array) and isinstance(kind, Array) and kind.dtype != wanted.dtype and dims_of(kind) != ():
        return astype(bar, wanted.dtype)
    return bar
