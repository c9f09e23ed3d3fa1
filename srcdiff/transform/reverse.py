"""Reverse mode: the forward sweep, then for each statement from the last to the first the contributions of its rule.

    h = tanh(a)              a_bar = h_bar * (1 - h * h)
    a = x @ W        ⟶       W_bar = x.T @ a_bar
    return sum(h)

The adjoint of a structured statement is one: of an If an If with the same condition, of a Loop a Loop that runs backwards
(`loops` in this package). What the reverse sweep of a loop reads of a trip is found by `saving`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from srcdiff import runtime
from srcdiff.analysis.activity import active, without_rule
from srcdiff.analysis.binding import enlarged_in
from srcdiff.analysis.offsets import cancelling_offsets
from srcdiff.errors import KindError, NoRule, NotDifferentiable, SrcdiffError
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, ListOf, Number, TupleOf, Unknown
from srcdiff.ir.nodes import (
    UNBOUND,
    Apply,
    Block,
    Caught,
    Const,
    If,
    ListDisplay,
    Loop,
    Managed,
    Operand,
    Origin,
    Ref,
    Stmt,
    Var,
    Yield,
)
from srcdiff.ir.walk import bound_by, free_vars, map_block, operands_of, vars_of
from srcdiff.rules import factors
from srcdiff.rules.builder import Builder
from srcdiff.rules.complex_values import TEXTS, is_complex, is_holomorphic
from srcdiff.rules.general import contribution
from srcdiff.rules.inference import bind, call_bound, kind_of
from srcdiff.rules.registry import Rule, rule_for
from srcdiff.rules.repetition import is_without_repetition
from srcdiff.rules.staging import (
    Staged,
    dims_of,
    lift,
    materialise,
    staged_argument,
    staged_partials,
    unbroadcast,
    unbroadcast_at_run_time,
)
from srcdiff.transform import lists
from srcdiff.transform.adjoints import Adjoints, accumulate, add_item, as_float, full, parts_of_joined, zero
from srcdiff.transform.customs import reverse_custom
from srcdiff.transform.loops import reverse_loop
from srcdiff.transform.procedures import Pairs
from srcdiff.transform.records import with_replayed
from srcdiff.transform.restoring import Keeping, Objects, Plan, Restorer, is_write
from srcdiff.transform.writes import reverse_write


def without_rule_for(stmt: Apply) -> NoRule:
    """The refusal of a function without a rule; a derivative may have come to need one that only the run can tell."""
    if stmt.op.fn is not contribution:
        return NoRule(f"no derivative rule for `{stmt.op.text}`")
    return NoRule(
        "a second derivative through a value whose number of axes is not known when the function is compiled",
        why="It is a number on one path, or before a loop, and an array on another.",
        instead="make it an array on every path: np.zeros(n) in place of 0.0.",
    )


def carrying(stmts: Sequence[Stmt], inputs: Sequence[Var], outputs: Sequence[Var]) -> set[Var]:
    """The values that have an adjoint."""
    for stmt, parameter in without_rule(stmts, inputs, outputs):
        raise NoRule(
            f"no derivative rule for `{stmt.op.text}` by its argument `{parameter}`",
            stmt.origin,
            instead="differentiate by arguments that it does not depend on, or write it in terms of functions that have rules.",
        )
    return active(stmts, inputs, outputs) - cancelling_offsets(stmts, outputs)


class Reverser:
    """What a reverse sweep needs to know of the whole program: the active values."""

    def __init__(
        self,
        active: set[Var],
        stmts: Sequence[Stmt],
        pairs: Pairs,
        given: frozenset[Var] | None = None,
        plan: Plan | None = None,
    ) -> None:
        """`given` is what the reverse sweep is given anyway, where it is a function of its own."""
        self.active, self.pairs, self.given = active, pairs, given
        self.depth = 0
        self.keeping = Keeping()
        plan = plan or Plan()
        self.objects = Objects(stmts, plan.read)
        self.restorer = Restorer(self.objects, plan)
        self.enlarged = enlarged_in(Block(tuple(stmts), Yield(())))
        self.permutations = {
            s.targets[0]
            for s in stmts
            if isinstance(s, Apply) and s.op.fn in (np.arange, np.argsort) and kind_of(s.targets[0]).ndim == 1  # type: ignore[union-attr]
        }

    def block(self, stmts: Sequence[Stmt], adjoints: Adjoints, b: Builder) -> list[Stmt]:
        """Add the reverse of the statements to `b`; returns the statements of the forward sweep."""
        for stmt in stmts:
            if isinstance(stmt, Apply) and stmt.op is ops.TRANSPOSE:
                b.transposed[stmt.targets[0]] = stmt.args[0]  # type: ignore[assignment]
        forward: list[Stmt] = []
        self.restorer.attend(b, adjoints)
        read = {s.args: s.targets[0] for s in stmts if isinstance(s, Apply) and s.op is ops.ITEM}
        for stmt in reversed(stmts):
            b.origin = _reverse_origin(stmt.origin)
            match stmt:
                case Apply() if stmt.op.procedure is not None:
                    forward.append(self.pairs.call(self, stmt, adjoints, b))
                case Apply() if stmt.op.style == "custom":
                    forward.extend(reversed(reverse_custom(self, stmt, adjoints, b)))
                case Apply():
                    self.apply(stmt, adjoints, b)
                    forward.append(stmt)
                    if is_write(stmt):
                        self.restorer.restore(stmt, read, adjoints, b, forward)
                case If():
                    forward.append(self.branch(stmt, adjoints, b))
                case Loop() if stmt.checkpoint is not None:
                    from srcdiff.transform.checkpoints import reverse_checkpointed

                    forward.extend(reverse_checkpointed(self, stmt, adjoints, b))
                case Loop():
                    forward.extend(reversed(reverse_loop(self, stmt, adjoints, b)))
        forward.reverse()
        return forward

    # ------------------------------------------------------------ primitives

    def apply(self, stmt: Apply, adjoints: Adjoints, b: Builder) -> None:
        if not any(t in self.active for t in stmt.targets) or not any(v in self.active for v in vars_of(operands_of(stmt))):
            return
        try:
            self._apply(stmt, adjoints, b)
        except SrcdiffError as error:
            if error.origin is None and stmt.origin is not None:
                raise type(error)(error.what, stmt.origin, error.why, error.instead) from None
            raise

    def _apply(self, stmt: Apply, adjoints: Adjoints, b: Builder) -> None:
        if any(is_complex(getattr(o, "kind", None)) for o in (*stmt.targets, *stmt.args)) and not may_be_complex(stmt):
            raise NotDifferentiable(
                f"`{stmt.op.text or stmt.op.key}` is given a complex value that depends on the arguments",
                why="Its derivative rule is that of real numbers.",
                instead="write it with real and imaginary parts.",
            )
        bars = [adjoints.take(t) for t in stmt.targets]
        for target in stmt.targets:
            if isinstance(target.kind, TupleOf):
                self._components(stmt, target, adjoints, b)
        if all(bar is None for bar in bars):
            return
        staged = [None if bar is None else Staged(b, bar.atom, bar.dims, bar.like) for bar in bars]
        first = staged[0]
        op, args = stmt.op, stmt.args
        match op.style:
            case "binary" | "unary" | "call":
                self._rule(stmt, staged, adjoints, b)
            case "attribute" if op is ops.TRANSPOSE and first is not None:
                self.give(adjoints, args[0], first.T, b)
            case "item" if first is not None:
                self._item(stmt, first, adjoints, b)
            case "display" | "copy":
                self.give(adjoints, args[0], first, b)
            case "method" if first is not None:
                dtype = kind_of(args[0])
                value = first.astype(dtype.dtype) if op is ops.ASTYPE and isinstance(dtype, Array) else first
                self.give(adjoints, args[0], value, b)
            case "append" | "insert" | "pop" | "index_set" | "index_add" if isinstance(stmt.targets[0].kind, ListOf):
                lists.reverse(stmt, staged, self.give, adjoints, b)
            case "index_set" | "index_add" | "scatter_add" if first is not None:
                reverse_write(self, stmt, first, adjoints, b)
            case _:
                raise NoRule(f"no derivative rule for `{op.text or op.key}`")

    def give(self, adjoints: Adjoints, target: Operand, contribution: Any, b: Builder) -> None:
        """A contribution to what is active."""
        if isinstance(target, Var):
            if target in self.active:
                accumulate(adjoints, target, contribution, b)
            return
        if isinstance(target, (tuple, ListDisplay)):
            items = target if isinstance(target, tuple) else target.items
            for i, item in enumerate(items):
                if not any(v in self.active for v in vars_of((item,))):
                    continue
                part = contribution[i] if not isinstance(contribution, Staged) else _row(contribution, i, b)
                self.give(adjoints, item, part, b)

    def _components(self, stmt: Apply, target: Var, adjoints: Adjoints, b: Builder) -> None:
        """The adjoints of a tuple's parts go to what it was made of."""
        kind = target.kind
        assert isinstance(kind, TupleOf)
        parts = [adjoints.take((target, i)) for i in range(len(kind.items))]
        for i, part in enumerate(parts):
            if part is None:
                continue
            source = stmt.args[0]
            if stmt.op is ops.DISPLAY and isinstance(source, tuple):
                self.give(adjoints, source[i], part, b)
            else:
                raise KindError("the derivative of a tuple in a list is not accepted", instead="keep a list for each part.")

    def is_unique(self, stmt: Apply) -> bool:
        """Whether the index of a statement certainly names each place at most once."""
        return stmt in self.objects.distinct or is_without_repetition(
            stmt.args[1], lambda part: isinstance(part, Var) and part in self.permutations
        )

    def _item(self, stmt: Apply, y_bar: Staged, adjoints: Adjoints, b: Builder) -> None:
        base, index = stmt.args
        if isinstance(base, Var) and base in self.active:
            add_item(adjoints, base, index, y_bar, b, is_unique=self.is_unique(stmt))

    def _rule(self, stmt: Apply, bars: list[Staged | None], adjoints: Adjoints, b: Builder) -> None:
        rule = rule_for(stmt.op.fn)
        if stmt.op.fn in TEXTS and is_complex(kind_of(stmt.args[0])) and bars[0] is not None:
            text = TEXTS[stmt.op.fn]
            z, y = Staged(b, stmt.args[0]), Staged(b, stmt.targets[0])  # type: ignore[arg-type]
            self.give(adjoints, stmt.args[0], lift(b, text(z, y, bars[0])), b)
            return
        if stmt.op.style == "binary" and isinstance(stmt.targets[0].kind, ListOf):
            lists.reverse_operator(stmt, bars[0], self.active, self.give, adjoints, b)
            return
        if rule is None:
            if stmt.op.text == "np.array":
                self._array(stmt, bars[0], adjoints, b)
                return
            if isinstance(stmt.op.fn, type) and issubclass(stmt.op.fn, np.floating):
                kind = kind_of(stmt.args[0])
                value = bars[0]
                if value is not None:
                    self.give(adjoints, stmt.args[0], value.astype(kind.dtype) if isinstance(kind, Array) else value, b)
                return
            if stmt.op.fn is sum and bars[0] is not None:
                kind = kind_of(stmt.args[0])
                assert isinstance(kind, ListOf)
                n = b.apply(ops.LEN, (stmt.args[0],))
                each = ListDisplay((full(bars[0], stmt.targets[0]).atom,))
                self.give(
                    adjoints, stmt.args[0], Staged(b, b.apply(ops.MUL, (each, n), kind=ListOf(Number("float"), kind.length))), b
                )
                return
            if stmt.op.fn is list and bars[0] is not None:
                self._copied_list(stmt, bars[0], adjoints, b)
                return
            if stmt.op.fn is runtime.unbroadcast and bars[0] is not None:
                narrowed = stmt.args[0]
                assert isinstance(narrowed, Var)
                self.give(adjoints, narrowed, unbroadcast_at_run_time(bars[0], narrowed), b)
                return
            raise without_rule_for(stmt)
        if any(_is_unknown(a) for a in (*stmt.args, *(v for _, v in stmt.kwargs))) and rule.fn not in _SIMPLE:
            self._general(rule, stmt, bars[0], adjoints, b)
            return
        if rule.sort == "elementwise":
            assert bars[0] is not None
            self._elementwise(rule, stmt, bars[0], adjoints, b)
            return
        assert rule.signature is not None
        bound = bind(rule, stmt.args, stmt.kwargs)
        stack = self._stack_of_list(rule, bound, bars[0], b)
        if stack is not None:
            self.give(adjoints, bound[rule.wrt[0]], stack, b)
            return
        given: dict[Any, Any] = {}
        for part, name in zip(self._contributions(rule, stmt, bound, bars, b), rule.wrt):
            if part is None or name not in bound:
                continue
            operand = bound[name]
            if isinstance(operand, Var) and operand in given and isinstance(part, Staged) and isinstance(given[operand], Staged):
                given[operand] = given[operand] + part  # equal operands add their parts first: `2 * x`
            elif isinstance(operand, Var):
                given[operand] = part
            else:
                self.give(adjoints, operand, part, b)
        for operand, part in given.items():
            self.give(adjoints, operand, part, b)

    def _general(self, rule: Rule, stmt: Apply, y_bar: Staged | None, adjoints: Adjoints, b: Builder) -> None:
        """Of operands of unknown rank: the rule itself is called when the gradient runs."""
        if y_bar is None or rule.signature is None or len(stmt.targets) > 1:
            raise KindError(f"the number of axes of `{rule.name}`'s argument is not known")
        bar = y_bar if dims_of(y_bar.kind) is None else materialise(y_bar)
        fn = Ref(rule.fn, rule.name)
        for name, operand in bind(rule, stmt.args, stmt.kwargs).items():
            if name in rule.wrt and isinstance(operand, Var) and operand in self.active:
                kind = operand.kind if isinstance(operand.kind, Array) and operand.kind.dims is not None else Unknown()
                args = (fn, Const(name), stmt.targets[0], bar.atom, *stmt.args)
                atom = b.apply(ops.call_op(contribution, "contribution"), args, stmt.kwargs, kind=kind)
                self.give(adjoints, operand, Staged(b, atom), b)

    def _contributions(
        self, rule: Rule, stmt: Apply, bound: dict[str, Any], bars: list[Staged | None], b: Builder
    ) -> tuple[Any, ...]:
        values = {name: staged_argument(b, v, is_static=name not in rule.wrt) for name, v in bound.items()}
        extra: dict[str, Any] = {}
        if "y" in rule.needs:
            results = tuple(Staged(b, t) for t in stmt.targets)
            extra["y"] = results if len(results) > 1 else results[0]
        if "y_bar" in rule.needs:
            extra["y_bar"] = list(bars) if len(bars) > 1 else bars[0]
        assert rule.text is not None
        contributions = call_bound(rule, rule.text, values, **extra)
        return contributions if isinstance(contributions, tuple) else (contributions,)

    def _stack_of_list(self, rule: Rule, bound: dict[str, Any], y_bar: Staged | None, b: Builder) -> Any:
        """The adjoint of a list of unknown length that np.stack joined: its rows."""
        if rule.sort != "linear" or not rule.wrt or rule.wrt[0] not in bound or y_bar is None:
            return None
        operand = bound[rule.wrt[0]]
        if not (isinstance(operand, Var) and isinstance(operand.kind, ListOf)):
            return None
        axis = bound.get("axis", Const(0))
        item = operand.kind.item
        ndim = item.ndim if isinstance(item, Array) else 0
        if rule.fn in (np.concatenate, np.hstack, np.vstack) and axis == Const(0) and (rule.fn is not np.hstack or ndim == 1):
            return y_bar if rule.fn is np.vstack and ndim == 1 else parts_of_joined(operand, y_bar, b)
        if rule.fn in (np.array, np.asarray, np.asanyarray):
            return y_bar
        if rule.fn is not np.stack or not isinstance(axis, Const):
            raise NoRule(f"no derivative rule for `{rule.name}` of a list whose length the run decides", instead="use np.stack.")
        return y_bar if axis.value == 0 else np.moveaxis(y_bar, axis.value, 0)  # type: ignore[type-var]

    def _copied_list(self, stmt: Apply, y_bar: Staged, adjoints: Adjoints, b: Builder) -> None:
        """Of `list(xs)`: the adjoint of a list is that of its copy, of an array the rows that make one."""
        source = stmt.args[0]
        if isinstance(kind_of(source), Array):
            stacked = b.apply(ops.call_op(np.asarray, "np.asarray"), (y_bar.atom,), kind=kind_of(source))
            y_bar = Staged(b, stacked)
        self.give(adjoints, source, y_bar, b)

    def _array(self, stmt: Apply, y_bar: Staged | None, adjoints: Adjoints, b: Builder) -> None:
        source = stmt.args[0]
        if isinstance(source, Var):
            self.give(adjoints, source, y_bar, b)
        elif isinstance(source, ListDisplay) and y_bar is not None:
            for i, item in enumerate(source.items):
                if isinstance(item, Var) and item in self.active:
                    self.give(adjoints, item, _row(y_bar, i, b), b)

    def _elementwise(self, rule: Rule, stmt: Apply, y_bar: Staged, adjoints: Adjoints, b: Builder) -> None:
        wanted = [i for i, a in enumerate(stmt.args) if isinstance(a, Var) and a in self.active]
        if not wanted:
            return
        partials = staged_partials(rule, stmt, b)
        by_operand: dict[Var, Any] = {}
        for i in wanted:
            arg = stmt.args[i]
            assert isinstance(arg, Var)
            partial = partials[i]
            if partial is None or (isinstance(partial, (int, float)) and partial == 0):
                continue
            by_operand[arg] = partial if arg not in by_operand else by_operand[arg] + partial
        is_vague = any(v in self.enlarged for v in (*vars_of(stmt.args), *stmt.targets))
        order = list(by_operand.items())
        # The operand whose adjoint takes over the result's name comes last.
        order.sort(key=lambda item: item[0].hint == stmt.targets[0].hint)
        for arg, partial in order:
            contribution = factors.mul(y_bar, lift(b, partial))
            if is_vague:
                contribution = unbroadcast_at_run_time(contribution, arg)
            else:
                contribution = unbroadcast(contribution, dims_of(arg.kind), arg)
            accumulate(adjoints, arg, contribution, b)

    # ------------------------------------------------------------ branches

    def branch(self, stmt: If, adjoints: Adjoints, b: Builder) -> If:
        wanted = [(i, bar) for i, r in enumerate(stmt.results) if r in self.active and (bar := adjoints.take(r)) is not None]
        restored = [i for i, r in enumerate(stmt.results) if self.restorer.restores(r)]
        if not wanted and not restored:
            return stmt
        arms: list[tuple[Builder, Adjoints, list[Stmt]]] = []
        for arm in (stmt.then, stmt.orelse):
            inner, table = b.inside(), Adjoints(adjoints)
            assert isinstance(arm.end, Yield)
            self.restorer.attend(inner, table)
            for i in restored:
                self.restorer.hand(arm.end.values[i], adjoints.array(stmt.results[i]) or stmt.results[i], table)
            for i, bar in wanted:
                self.give(table, arm.end.values[i], bar, inner)
            forward = self.block(arm.stmts, table, inner)
            arms.append((inner, table, forward))
        new = replace(stmt, then=Block(tuple(arms[0][2]), stmt.then.end), orelse=Block(tuple(arms[1][2]), stmt.orelse.end))
        cond = told(new) if isinstance(stmt.around, Caught) else stmt.cond
        joined = join_tables(cond, arms[:1] if isinstance(stmt.around, Managed) else arms, adjoints, b)
        if joined is None:
            return new
        if isinstance(stmt.around, Caught) and cond not in new.results:
            new = telling(new, cond)
        before = len(new.results)
        new, joined = export(new, joined, self.given)
        for result, *values in zip(new.results[before:], _yielded(new.then)[before:], _yielded(new.orelse)[before:]):
            self.keeping.exported.update((result, v) for v in values if isinstance(v, Var))
        if isinstance(stmt.around, Managed) and not stmt.around.is_mirrored:
            for step in joined.then.stmts:
                b.add(step)
            for result, value in zip(joined.results, _yielded(joined.then)):
                b.add(Apply((result,), ops.COPY, (value,), (), b.origin))
        else:
            b.add(replace(joined, around=stmt.around) if isinstance(stmt.around, Managed) else joined)
        return new


def told(stmt: If) -> Var:
    """What tells whether the body of a try statement came to its end: a result of it, or a new one."""
    for result, ended, failed in zip(stmt.results, _yielded(stmt.then), _yielded(stmt.orelse)):
        if (ended, failed) == (Const(True), Const(False)):
            return result
    return Var("succeeded", Number("bool"))


def telling(stmt: If, succeeded: Any) -> If:
    """A try statement that tells whether its body came to its end."""
    arms = [
        Block(arm.stmts, Yield((*_yielded(arm), Const(is_body)))) for arm, is_body in ((stmt.then, True), (stmt.orelse, False))
    ]
    return replace(stmt, then=arms[0], orelse=arms[1], results=(*stmt.results, succeeded))


def join_tables(cond: Any, arms: list[tuple[Builder, Adjoints, list[Stmt]]], adjoints: Adjoints, b: Builder) -> If | None:
    """The If of the reverse sweep, whose results are the adjoints that an arm has changed."""
    inside = {v for _, _, forward in arms for s in forward for v in bound_by(s)}
    made = {v for inner, _, _ in arms for s in inner.stmts for v in bound_by(s)}
    keys: dict[Any, None] = {}
    versions = [v for v in dict.fromkeys(v for _, table, _ in arms for v in table.arrays) if v not in inside]
    for _, table, _ in arms:
        for key in table.own:
            if (key if isinstance(key, Var) else key[0]) not in inside:
                keys[key] = None
    results: list[Var] = []
    yields: tuple[list[Operand], list[Operand]] = ([], [])
    changed: list[tuple[Any, Staged]] = []
    for key in keys:
        owner: Any = key if isinstance(key, Var) else key[0]
        before = adjoints.get(key)
        values = [table.get(key) for _, table, _ in arms]
        if all(v is before or (v is not None and before is not None and v.atom == before.atom) for v in values) or all(
            v is None for v in values
        ):
            continue
        first = values[0]
        if first is not None and first.atom not in made:
            if all(v is not None and _is_same_atom(v.atom, first.atom) and v.dims == first.dims for v in values):
                changed.append((key, first))
                continue
        parts = []
        kind = owner.kind if isinstance(key, Var) else owner.kind.items[key[1]]
        for value, (inner, _, _) in zip(values, arms):
            of = owner if isinstance(key, Var) else Var(owner.hint, kind)
            value = zero(of, inner) if value is None else Staged(inner, value.atom, value.dims, value.like)
            parts.append(as_float(full(value, of), inner).atom)
        result = Var(f"{owner.hint}_bar", kind_of(parts[0]) if isinstance(kind, ListOf) else _bar_kind(kind))
        results.append(result)
        for values_of_arm, part in zip(yields, parts):
            values_of_arm.append(part)
        changed.append((key, Staged(b, result)))
    for version in versions:
        held = [table.arrays.get(version) for _, table, _ in arms]
        if held[0] is None or any(of_arm is None for of_arm in held):
            continue
        if len(held) == 2 and held[0] is held[1]:
            adjoints.put_array(version, held[0])
            continue
        result = Var(version.hint, version.kind, version.is_users)
        results.append(result)
        for side, of_arm in zip(yields, held):
            side.append(of_arm)  # type: ignore[arg-type]
        adjoints.put_array(version, result)
    for key, value in changed:
        adjoints.put(key, value if value.builder is b else Staged(b, value.atom, value.dims, value.like))
    if not results:
        return None
    blocks = [Block(tuple(inner.stmts), Yield(tuple(y))) for (inner, _, _), y in zip(arms, yields)]
    if len(arms) == 1:
        blocks.append(Block((), Yield((Const(UNBOUND),) * len(results))))
    return If(cond, blocks[0], blocks[1], tuple(results), b.origin)


def _is_same_atom(a: Any, b: Any) -> bool:
    return a == b or (
        isinstance(a, Const) and isinstance(b, Const) and isinstance(a.value, (int, float)) and bool(a.value == b.value)
    )


def _bar_kind(kind: Any) -> Any:
    return Number("float") if isinstance(kind, Number) else kind


def export(forward: If, reverse: If, given: frozenset[Var] | None = None) -> tuple[If, If]:
    """Give what the reverse arms read of the forward arms as results of the forward If.

    Where that has to be kept, `given` is there anyway, and what is cheap is computed again from it.
    """
    if given is not None:
        again = [with_replayed(mine.stmts, theirs, given)[0] for mine, theirs in _pairs_of_arms(forward, reverse)]
        reverse = replace(reverse, then=again[0], orelse=again[1])
    results, arms, ends = list(forward.results), [], [list(_yielded(forward.then)), list(_yielded(forward.orelse))]
    bodies = [forward.then.stmts, forward.orelse.stmts]
    for position, (mine, theirs) in enumerate(_pairs_of_arms(forward, reverse)):
        bound = {v for s in mine.stmts for v in bound_by(s)}
        renamed: dict[Var, Operand] = {}
        for var in free_vars(theirs):
            if var in bound:
                result = Var(var.hint, var.kind, var.is_users)
                renamed[var] = result
                results.append(result)
                ends[position].append(var)
                ends[1 - position].append(Const(UNBOUND))
        arms.append(map_block(theirs, lambda v, names=renamed: names.get(v, v)) if renamed else theirs)  # type: ignore[misc]
        bodies[position] = tuple(_bound_for(s, renamed) for s in mine.stmts)
    new = replace(
        forward,
        then=Block(bodies[0], Yield(tuple(ends[0]))),
        orelse=Block(bodies[1], Yield(tuple(ends[1]))),
        results=tuple(results),
    )
    return new, replace(reverse, then=arms[0], orelse=arms[1])


def _bound_for(stmt: Stmt, exported: Mapping[Var, Operand]) -> Stmt:
    """A branch whose results are given on: None where one of its arms binds nothing, since all of them are copied."""
    if not isinstance(stmt, If) or not any(r in exported for r in stmt.results):
        return stmt
    places = {i for i, r in enumerate(stmt.results) if r in exported}

    def ended(block: Block) -> Block:
        values = (Const(None) if i in places and v == Const(UNBOUND) else v for i, v in enumerate(_yielded(block)))
        return Block(block.stmts, Yield(tuple(values)))

    return replace(stmt, then=ended(stmt.then), orelse=ended(stmt.orelse))


def _pairs_of_arms(forward: If, reverse: If) -> list[tuple[Block, Block]]:
    return [(forward.then, reverse.then), (forward.orelse, reverse.orelse)]


def _yielded(block: Block) -> tuple[Operand, ...]:
    assert isinstance(block.end, Yield)
    return block.end.values


# ---------------------------------------------------------------- parts


_SIMPLE = (np.add, np.subtract, np.multiply, np.divide, np.negative)


def _is_unknown(operand: Operand) -> bool:
    kind = kind_of(operand)
    return isinstance(kind, Unknown) or (isinstance(kind, Array) and kind.dims is None)


def may_be_complex(stmt: Apply) -> bool:
    """Whether a primitive has a derivative for complex values."""
    if stmt.op.style not in ("binary", "unary", "call"):
        return True
    return is_holomorphic(stmt.op.fn) or stmt.op.fn in TEXTS or stmt.op.text in ("np.array", "==", "!=")


def _row(value: Staged, i: int, b: Builder) -> Staged:
    """`value[i]`; of a value that is broadcast along its first axis, the value itself."""
    own = dims_of(value.kind)
    if value.dims is not None and own is not None and len(own) < len(value.dims):
        return Staged(b, value.atom, value.dims[1:], lambda: b.item(value.like(), Const(i)))
    return Staged(b, value.atom, value.dims, value.like)[i]  # type: ignore[no-any-return]


def _reverse_origin(origin: Origin | None) -> Origin | None:
    return None if origin is None else replace(origin, column=-1)
