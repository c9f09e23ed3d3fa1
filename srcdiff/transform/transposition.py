"""The tangent of a function whose rule tells its reverse only: the reverse of the rule's text by y_bar.

    x_bar = y_bar @ inv(a)        (the text)
    y_dot = x_dot @ inv(a).T      (what the reverse sweep gives y_bar, where the adjoint of x_bar is x_dot)

A text is linear in `y_bar`; so its reverse by it is the transpose of the transpose of the derivative. The shape of y_bar is
that of the result, which stands for it where only its shape is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from srcdiff.ir import ops
from srcdiff.ir.kinds import Number
from srcdiff.ir.nodes import Apply, Block, ListDisplay, Operand, Var, Yield
from srcdiff.ir.walk import bound_by, map_block
from srcdiff.passes.dead_code import drop_dead_code_in
from srcdiff.rules.builder import Builder
from srcdiff.rules.inference import bind, call_bound
from srcdiff.rules.registry import Rule
from srcdiff.rules.staging import Staged, dims_of, staged_argument, unbroadcast
from srcdiff.transform.adjoints import Adjoints
from srcdiff.transform.procedures import Pairs
from srcdiff.transform.reverse import Reverser, carrying


def transposed(rule: Rule, stmt: Apply, tangents: Mapping[Var, Staged], pairs: Pairs, b: Builder) -> Sequence[Staged | None]:
    """The tangents of a statement's results, from those of its operands."""
    scratch = b.inside()
    bars = [Var(t.hint, Number("float") if isinstance(t.kind, Number) else t.kind) for t in stmt.targets]
    found = list(_contributions(rule, stmt, bars, scratch))
    after = scratch.inside()
    adjoints = Adjoints()
    outputs = []
    for operand, part in found:
        if operand not in tangents or not isinstance(part.atom, Var):
            continue
        tangent = tangents[operand]
        seed = Staged(after, tangent.atom, tangent.dims, tangent.like)
        seed = unbroadcast(seed, dims_of(part.kind), part.atom)
        known = adjoints.get(part.atom)
        adjoints.put(part.atom, seed if known is None else known + seed)
        outputs.append(part.atom)
    reverser = Reverser(carrying(scratch.stmts, bars, outputs), scratch.stmts, pairs)
    forward = reverser.block(scratch.stmts, adjoints, after)
    results = [adjoints.get(bar) for bar in bars]
    wanted = tuple(r.atom for r in results if r is not None)
    names: dict[Var, Operand] = dict(zip(bars, stmt.targets))
    block = drop_dead_code_in(Block((*forward, *after.stmts), Yield(wanted)))
    reverse = {v for s in after.stmts for v in bound_by(s)}
    for made in map_block(block, lambda v: names.get(v, v)).stmts:
        made = replace(made, origin=b.origin)
        b.add(made)
        if isinstance(made, Apply):
            for target in made.targets:
                b.made[target] = made
                if target in reverse:
                    target.hint = f"{target.hint.removesuffix('_bar')}_dot"
            if made.op is ops.TRANSPOSE:
                b.transposed[made.targets[0]] = made.args[0]  # type: ignore[assignment]
        b.foresee((made,))
    return [
        None if r is None else Staged(b, _renamed(r.atom, names), dims_of(t.kind), lambda t=t: t)  # type: ignore[misc]
        for r, t in zip(results, stmt.targets)
    ]


def _renamed(atom: Any, names: Mapping[Var, Operand]) -> Any:
    return names.get(atom, atom) if isinstance(atom, Var) else atom


def _contributions(rule: Rule, stmt: Apply, bars: Sequence[Var], b: Builder) -> Any:
    """What the rule's text gives each variable among its operands."""
    bound = bind(rule, stmt.args, stmt.kwargs)
    values = {name: staged_argument(b, v, is_static=name not in rule.wrt) for name, v in bound.items()}
    extra: dict[str, Any] = {}
    if "y" in rule.needs:
        results = tuple(Staged(b, t) for t in stmt.targets)
        extra["y"] = results if len(results) > 1 else results[0]
    if "y_bar" in rule.needs:
        staged = [Staged(b, bar) for bar in bars]
        extra["y_bar"] = staged if len(staged) > 1 else staged[0]
    assert rule.text is not None
    parts = call_bound(rule, rule.text, values, **extra)
    for part, name in zip(parts if isinstance(parts, tuple) else (parts,), rule.wrt):
        if name in bound:
            yield from _by_variable(bound[name], part)


def _by_variable(operand: Operand, part: Any) -> Any:
    if isinstance(operand, Var) and isinstance(part, Staged):
        yield operand, part
    elif isinstance(operand, (tuple, ListDisplay)) and isinstance(part, (list, tuple)):
        for item, inner in zip(operand if isinstance(operand, tuple) else operand.items, part):
            yield from _by_variable(item, inner)
