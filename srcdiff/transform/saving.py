"""What the reverse sweep of a loop reads of each trip, and where it gets it from.

    kept        in a list, one append a trip; the reverse loop runs over `reversed(kept)`
    replayed    computed again from what is kept, where that is a cheap step
    restored    the carried value after a trip is the one before the next: the reverse loop carries it back
    the user's  a list that the program builds anyway is the record

Nothing is consumed: a sweep may run twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, Kind, ListOf, Number, TupleOf, combine, is_scalar, opaque
from srcdiff.ir.nodes import (
    Apply,
    Atom,
    Block,
    Branch,
    Const,
    End,
    Exit,
    ListDisplay,
    Loop,
    Next,
    Operand,
    Range,
    Source,
    Stmt,
    Var,
)
from srcdiff.ir.walk import bound_by, ends_of, free_vars, map_block, operands_of, source_targets, vars_of
from srcdiff.rules.builder import Builder
from srcdiff.rules.inference import is_basic_index, kind_of

if TYPE_CHECKING:
    from srcdiff.transform.restoring import Objects
    from srcdiff.transform.reverse import Reverser


_STEPS = frozenset([ops.ADD, ops.SUB])


@dataclass(frozen=True)
class Trip:
    """The forward loop, and the reverse loop without sources, which reads values of a trip as if they were in scope.

    `index` is the variable of the trip's number, where the reverse body reads one.
    """

    forward: Loop
    reverse: Loop
    index: Var | None
    active: frozenset[int] = frozenset()


def going_on_arm(block: Block, params: tuple[Var, ...], active: set[int] | frozenset[int]) -> Block | None:
    """Where one arm of a block's Branch leaves the loop with every active value as it came: the other arm."""
    end = block.end
    if not isinstance(end, Branch):
        return None
    for arm, other in ((end.then, end.orelse), (end.orelse, end.then)):
        if isinstance(arm.end, Exit) and all(arm.end.values[i] is params[i] for i in active):
            return other
    return None


def save(trip: Trip, b: Builder, reverser: Reverser) -> tuple[list[Stmt], list[Stmt]]:
    """The statements of the forward sweep, and those of the reverse sweep."""
    plan = _Plan(trip, b, reverser.objects)
    plan.decide()
    reverser.keeping.read |= plan.read
    for var in plan.kept:
        reverser.keeping.kept[var] = reverser.depth + 1
    return plan.build()


class _Plan:
    def __init__(self, trip: Trip, b: Builder, objects: Objects) -> None:
        self.trip, self.b, self.objects = trip, b, objects
        self.loop, self.reverse = trip.forward, trip.reverse
        self.made = _definitions(self.loop.body)
        self.local = (
            set(self.loop.params)
            | {t for s in self.loop.sources for t in source_targets(s)}
            | set(self.made)
            | _bound_in_tree(self.loop.body)
        )
        self.always = set(_always_run(self.loop.body, self.loop.params, trip.active))
        self.leaves_early = any(isinstance(e, Exit) for e in ends_of(self.loop.body)) or not self.loop.sources
        self.is_plain = not self.leaves_early and self._sources_align()
        self.read: set[Var] = set()
        self.kept: list[Var] = []
        self.replayed: list[Apply] = []
        self.restored: dict[Var, int] = {}
        self.recorded: dict[Var, int] = {}

    # ------------------------------------------------------------ what is read

    def decide(self) -> None:
        needed = [v for v in _reads_of(self.reverse) if v in self.local]
        targets = {t for s in self.loop.sources for t in source_targets(s)}
        done: dict[Var, None] = {}
        order: list[Apply] = []
        todo = list(needed)
        while todo:
            var = todo.pop(0)
            if var in done:
                continue
            done[var] = None
            stmt = self.made.get(var)
            if stmt is not None and self._is_cheap(stmt, done, needed):
                order.append(stmt)
                todo.extend(v for v in vars_of(operands_of(stmt)) if v in self.local)
        self.read = set(done)
        replayed = {t for s in order for t in s.targets}
        self.replayed = [s for s in self.made_in_order() if any(t in replayed for t in s.targets)]
        rest = [v for v in done if v not in replayed]
        self._restore(rest)
        rest = [v for v in rest if v not in self.restored]
        self._record(rest)
        rest = [v for v in rest if v not in self.recorded]
        self.sources_read = [v for v in rest if v in targets and self._comes_from_header(v)]
        self.kept = [v for v in rest if v not in self.sources_read]
        if self.kept and all(is_scalar(v.kind) for v in self.kept):
            # In a record of numbers one more costs less than reading it from its array again.
            entries = [s.targets[0] for s in self.replayed if s.op is ops.ITEM and is_scalar(s.targets[0].kind)]
            self.kept += entries
            self.replayed = [s for s in self.replayed if s.targets[0] not in entries]

    def made_in_order(self) -> list[Apply]:
        seen: dict[int, Apply] = {}
        for stmt in self.made.values():
            seen[id(stmt)] = stmt
        return list(seen.values())

    def _is_cheap(self, stmt: Apply, done: dict[Var, None], needed: list[Var]) -> bool:
        """Whether a value is rather computed again: one cheap step from what is read anyway."""
        if len(stmt.targets) != 1 or stmt.op.has_effect or stmt not in self.always:
            return False
        reads = [v for v in vars_of(operands_of(stmt)) if v in self.local]
        is_gone = stmt.op in (ops.TRANSPOSE, ops.ITEM, *ops.ALIASES) and stmt.args[0] in self.objects.gone
        is_view = stmt.op in (ops.TRANSPOSE, ops.SHAPE, ops.SIZE, ops.NDIM, ops.LEN, *ops.ALIASES) or (
            stmt.op is ops.ITEM and is_basic_index(stmt.args[1]) and not isinstance(kind_of(stmt.args[0]), ListOf)
        )
        if is_view and not is_gone or (not reads and stmt.op.style in ("binary", "unary", "attribute")):
            return True  # what no trip changes is computed before the loops afterwards
        # A float is kept: that costs as much as one more operation, or less. Only what one constant makes of another float that
        # is read anyway (`1.0 - x`) is not worth a name in the record; nor is a test.
        if stmt.targets[0].kind == Number("float") and stmt.op in _STEPS and len(reads) == 1 and len(stmt.args) == 2:
            return reads[0].kind == Number("float") and reads[0] in needed and any(isinstance(a, Const) for a in stmt.args)
        if stmt.op.style not in ("binary", "unary") or stmt.targets[0].kind not in (Number("bool"), Number("int")):
            return False
        have = set(needed) | set(done) | {t for s in self.loop.sources for t in source_targets(s) if self._comes_from_header(t)}
        return all(v in have for v in reads)

    def _comes_from_header(self, var: Var) -> bool:
        return self.is_plain

    def _sources_align(self) -> bool:
        """Whether the sources, walked backwards together, give the same trips."""
        counts = [_length(s) for s in self.loop.sources]
        bounded = [c for c in counts if c is not None]
        return len(bounded) <= 1 or all(c == bounded[0] for c in bounded)

    def _restore(self, needed: list[Var]) -> None:
        """A value that goes into the next trip, beside the one that came into this trip: the reverse loop carries it back."""
        ends = list(ends_of(self.loop.body))
        wanted = set(needed)
        for i, param in enumerate(self.loop.params):
            if param not in wanted:
                continue
            nexts = {e.values[i] for e in ends if isinstance(e, Next)}
            exits = {e.values[i] for e in ends if isinstance(e, Exit)}
            if any(e.values[i] == param and self._is_counted(e) for e in ends if isinstance(e, Exit)):
                continue  # after that trip the value is not the one that the next trip would have had
            exits_with_param = param in exits
            exits -= {param}
            if len(nexts) != 1 or not exits <= nexts:
                continue
            value = next(iter(nexts))
            if (
                isinstance(value, Var)
                and value in wanted
                and value not in self.restored
                and (not exits_with_param or i in self.trip.active)
            ):
                self.restored[value] = i

    def _is_counted(self, end: Exit) -> bool:
        """Whether a trip that ends here is walked backwards: it has changed an active value."""
        return any(end.values[i] != self.loop.params[i] for i in self.trip.active)

    def _record(self, needed: list[Var]) -> None:
        """A value that the program appends to a list of its own, once in every trip, from an empty list."""
        if self.leaves_early:
            return
        for i, param in enumerate(self.loop.params):
            init = self.loop.inits[i]
            if not isinstance(param.kind, ListOf) or not (
                isinstance(init, Var) and isinstance(init.kind, ListOf) and init.kind.length == 0
            ):
                continue
            ends = list(ends_of(self.loop.body))
            if len(ends) != 1 or not isinstance(ends[0], Next):
                continue
            last = ends[0].values[i]
            stmt = self.made.get(last) if isinstance(last, Var) else None
            if stmt is None or stmt.op is not ops.APPEND or stmt.args[0] is not param:
                continue
            item = stmt.args[1]
            if isinstance(item, Var) and item in needed and item not in self.recorded:
                self.recorded[item] = i

    # ------------------------------------------------------------ building

    def build(self) -> tuple[list[Stmt], list[Stmt]]:
        b = self.b
        counts_trips = self._needs_count()
        forward: list[Stmt] = []
        loop = self.loop
        kept_result: Var | None = None
        if self.kept:
            kept_kind = ListOf(self.kept[0].kind if len(self.kept) == 1 else TupleOf(tuple(v.kind for v in self.kept)), opaque())
            start, param, kept_result = (Var("kept", kept_kind) for _ in range(3))
            forward.append(Apply((start,), ops.DISPLAY, (ListDisplay(()),), (), loop.origin))
            loop = replace(
                loop,
                params=(*loop.params, param),
                inits=(*loop.inits, start),
                results=(*loop.results, kept_result),
                body=_Appender(loop, self.trip.active, param, self.kept).tree(loop.body, _entry_scope(loop)),
            )
        count_result: Var | None = None
        if counts_trips and kept_result is None:
            count_param, count_result = Var("trips", Number("int")), Var("trips", Number("int"))
            loop = replace(
                loop,
                params=(*loop.params, count_param),
                inits=(*loop.inits, Const(0)),
                results=(*loop.results, count_result),
                body=_Recorder(loop, self.trip.active, count_param).tree(loop.body, _entry_scope(loop)),
            )
        forward.append(loop)
        backward = self._reverse_loop(loop, kept_result, count_result, b)
        return forward, backward

    def _needs_count(self) -> bool:
        return not self.is_plain and not self.kept

    def _reverse_loop(self, loop: Loop, kept: Var | None, count: Var | None, b: Builder) -> list[Stmt]:
        before: list[Stmt] = []
        renamed: dict[Var, Operand] = {}
        head: list[Stmt] = []
        sources: list[Source] = []

        def copy_of(var: Var) -> Var:
            new = Var(var.hint, var.kind, var.is_users)
            renamed[var] = new
            return new

        trips: Operand | None = None
        index = self.trip.index
        for source in loop.sources:
            read = [t for t in source_targets(source) if t in self.sources_read]
            if not read:
                continue
            target = copy_of(source.target) if isinstance(source.target, Var) else tuple(copy_of(t) for t in source.target)
            sources.append(Source(target, self._bounded(source, loop, before), not source.is_reversed))
        for var, i in self.recorded.items():
            sources.append(Source(copy_of(var), loop.results[i], True))
        if kept is not None:
            target_of = tuple(copy_of(v) for v in self.kept)
            sources.append(Source(target_of[0] if len(target_of) == 1 else target_of, kept, True))
        if index is not None:
            stop: Operand
            if kept is not None and not self.is_plain:
                stop = self._length_of(kept, before)
            elif count is not None:
                stop = count
            else:
                stop = self._trip_count(loop, before)
            shared = next(
                (
                    s
                    for s in sources
                    if isinstance(s.iterable, Range)
                    and s.is_reversed
                    and s.iterable.start == Const(0)
                    and s.iterable.step == Const(1)
                ),
                None,
            )
            if shared is not None and isinstance(shared.target, Var):
                renamed[index] = shared.target
            else:
                sources.insert(0, Source(copy_of(index), Range(Const(0), stop), True))  # type: ignore[arg-type]
        if not sources:
            if count is not None:
                sources.append(Source(Var("_", Number("int")), Range(Const(0), count)))
            else:
                first = loop.sources[0]
                target = (
                    Var("_", _item_kind(first))
                    if isinstance(first.target, Var)
                    else tuple(Var("_", t.kind) for t in first.target)
                )
                sources.append(Source(target, self._bounded(first, loop, before)))
        del trips
        params, inits, results = list(self.reverse.params), list(self.reverse.inits), list(self.reverse.results)
        tails: list[Operand] = []
        for var, i in self.restored.items():
            original = loop.params[i]
            param = Var(original.hint, var.kind, original.is_users)
            renamed[var] = param
            params.append(param)
            inits.append(loop.results[i])
            results.append(Var(original.hint, var.kind, original.is_users))
            tails.append(original)
        for stmt in self.replayed:
            new = tuple(copy_of(t) for t in stmt.targets)
            head.append(Apply(new, stmt.op, stmt.args, stmt.kwargs, self.reverse.origin))

        def rename(v: Var) -> Operand:
            return renamed.get(v, v)

        end = self.reverse.body.end
        assert isinstance(end, Next)
        body = Block((*head, *self.reverse.body.stmts), Next((*end.values, *tails)))
        body = map_block(body, rename)
        new_loop = Loop(tuple(sources), tuple(params), tuple(inits), body, tuple(results), self.reverse.origin)
        return [*before, new_loop]

    def _bounded(self, source: Source, loop: Loop, before: list[Stmt]) -> Range | Atom:
        iterable = source.iterable
        if not isinstance(iterable, Range) or iterable.stop is not None:
            return iterable
        stop = self._trip_count(loop, before)
        if iterable.start != Const(0):
            total = Var("stop", Number("int"))
            before.append(Apply((total,), ops.ADD, (iterable.start, stop), (), self.reverse.origin))
            stop = total
        return Range(iterable.start, stop, iterable.step)  # type: ignore[arg-type]

    def _trip_count(self, loop: Loop, before: list[Stmt]) -> Operand:
        for source in loop.sources:
            if not isinstance(source.iterable, Range):
                return self._length_of(source.iterable, before)
        for source in loop.sources:
            r = source.iterable
            if isinstance(r, Range) and r.start == Const(0) and r.step == Const(1) and r.stop is not None:
                return r.stop
        raise AssertionError("a loop without a countable source")

    def _length_of(self, iterable: object, before: list[Stmt]) -> Var:
        n = Var("n", Number("int"))
        before.append(Apply((n,), ops.LEN, (iterable,), (), self.reverse.origin))  # type: ignore[arg-type]
        return n


def _item_kind(source: Source) -> Kind:
    assert isinstance(source.target, Var)
    return source.target.kind


def _length(source: Source) -> object:
    iterable = source.iterable
    if isinstance(iterable, Range):
        if iterable.stop is None:
            return None
        from srcdiff.rules.inference import length_of

        stop, start = length_of(iterable.stop), length_of(iterable.start)
        if stop is None or start is None or iterable.step != Const(1):
            return object()
        return combine("-", stop, start)
    kind = kind_of(iterable)
    if isinstance(kind, Array) and kind.dims:
        return kind.dims[0]
    return kind.length if isinstance(kind, ListOf) else object()


def _always_run(block: Block, params: tuple[Var, ...], active: frozenset[int]) -> list[Stmt]:
    """The statements that every trip runs."""
    going_on = going_on_arm(block, params, active)
    return [*block.stmts, *(_always_run(going_on, params, active) if going_on is not None else ())]


def _definitions(block: Block) -> dict[Var, Apply]:
    """The primitives of the top level of a body, and of the blocks of its tree."""
    found: dict[Var, Apply] = {}
    for stmt in block.stmts:
        if isinstance(stmt, Apply):
            for target in stmt.targets:
                found[target] = stmt
    if isinstance(block.end, Branch):
        found |= _definitions(block.end.then)
        found |= _definitions(block.end.orelse)
    return found


def _entry_scope(loop: Loop) -> frozenset[Var]:
    return frozenset(loop.params) | {t for s in loop.sources for t in source_targets(s)}


def _bound_in_tree(block: Block) -> set[Var]:
    found = {v for s in block.stmts for v in bound_by(s)}
    if isinstance(block.end, Branch):
        found |= _bound_in_tree(block.end.then) | _bound_in_tree(block.end.orelse)
    return found


def _reads_of(loop: Loop) -> list[Var]:
    """What the body of a loop reads from outside of it, in order."""
    return [v for v in free_vars(loop.body) if v not in loop.params]


class _Recorder:
    """Puts the record of a trip into the tree of a body: in every trip that counts, as soon as its values are there."""

    def __init__(self, loop: Loop, active: frozenset[int], record: Var) -> None:
        self.params, self.active, self.record = loop.params, active, record

    def tree(self, block: Block, in_scope: frozenset[Var]) -> Block:
        in_scope = in_scope | {v for s in block.stmts for v in bound_by(s)}
        end = block.end
        going_on = going_on_arm(block, self.params, self.active)
        if isinstance(end, Branch) and going_on is not None:
            then, orelse = (
                self.tree(arm, in_scope) if arm is going_on else Block(arm.stmts, _carry(arm.end, self.record))
                for arm in (end.then, end.orelse)
            )
            return Block(block.stmts, Branch(end.cond, then, orelse))
        later = _bound_in_tree(block) - in_scope
        if not isinstance(end, Branch) or not (any(v in later for v in self.values()) or self.has_way_out(block)):
            at, after, stmts = self.step(block, in_scope)
            return Block((*block.stmts[:at], *stmts, *block.stmts[at:]), _carry(end, after))
        return Block(block.stmts, Branch(end.cond, self.tree(end.then, in_scope), self.tree(end.orelse, in_scope)))

    def has_way_out(self, block: Block) -> bool:
        """Whether a block further down the tree may leave the loop in a trip that does not count."""
        end = block.end
        if not isinstance(end, Branch):
            return False
        return any(
            going_on_arm(arm, self.params, self.active) is not None or self.has_way_out(arm) for arm in (end.then, end.orelse)
        )

    def values(self) -> list[Var]:
        return []

    def step(self, block: Block, in_scope: frozenset[Var]) -> tuple[int, Var, list[Stmt]]:
        after = Var(self.record.hint, self.record.kind)
        return 0, after, [Apply((after,), ops.ADD, (self.record, Const(1)))]


class _Appender(_Recorder):
    def __init__(self, loop: Loop, active: frozenset[int], record: Var, kept: list[Var]) -> None:
        super().__init__(loop, active, record)
        self.kept = kept

    def values(self) -> list[Var]:
        return self.kept

    def step(self, block: Block, in_scope: frozenset[Var]) -> tuple[int, Var, list[Stmt]]:
        after = Var(self.record.hint, self.record.kind)
        operands: list[Operand] = [v if v in in_scope else Const(None) for v in self.kept]
        operand = operands[0] if len(operands) == 1 else tuple(operands)
        return _position(block, self.kept), after, [Apply((after,), ops.APPEND, (self.record, operand))]


def _position(block: Block, values: list[Var]) -> int:
    at = 0
    wanted = set(values)
    for i, stmt in enumerate(block.stmts):
        if any(v in wanted for v in bound_by(stmt)):
            at = i + 1
    return at


def _carry(end: End, value: Operand) -> End:
    match end:
        case Next(values):
            return Next((*values, value))
        case Exit(values):
            return Exit((*values, value))
        case Branch(cond, then, orelse):
            return Branch(cond, Block(then.stmts, _carry(then.end, value)), Block(orelse.stmts, _carry(orelse.end, value)))
    raise AssertionError(end)
