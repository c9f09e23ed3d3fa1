"""What an array that is written to held before: kept where it is read, or restored in the array on the way back.

    u_1 = index_set(u, i, v)     old = u[i] is kept;   in the reverse sweep   u = index_set(u_1, i, old)

Restoring costs one number for each number that is overwritten, whatever was read of the array; keeping what was read costs
that. A first reverse sweep is built that keeps; from what it keeps follows for which arrays restoring is cheaper, and the
sweep is built again. What is restored at which time flows through the reverse sweep like an adjoint (`Adjoints.arrays`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from srcdiff.analysis.places import WRITES, Places
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, Kind, is_scalar
from srcdiff.ir.nodes import Apply, Block, Branch, Caught, If, Loop, Operand, Stmt, Var, Yield
from srcdiff.ir.walk import blocks_of, ends_of, map_operand, operands_of, read_in, vars_of
from srcdiff.rules.builder import Builder
from srcdiff.rules.inference import is_basic_index, is_whole_index, item_kind, kind_of
from srcdiff.transform.adjoints import Adjoints


def is_write(stmt: Stmt) -> bool:
    """Whether a statement makes a new version of an array by overwriting a part of it."""
    return isinstance(stmt, Apply) and stmt.op.style in WRITES and _is_array(stmt.targets[0])


def _is_step(stmt: Apply) -> bool:
    """Whether a number is rather computed again than kept, where what it is made of is there."""
    return stmt.op.style in ("binary", "unary") and stmt.op.text in ("+", "-", "*") and is_scalar(stmt.targets[0].kind)


def _is_array(operand: Operand) -> bool:
    return isinstance(operand, Var) and isinstance(operand.kind, Array) and operand.kind.dims != ()


@dataclass(frozen=True)
class Plan:
    """The arrays to restore, the loops through which what they held goes back, and what the reverse sweep reads (None: all)."""

    restored: frozenset[Var] = frozenset()
    flows: frozenset[tuple[Loop, int]] | None = None
    read: frozenset[Var] | None = None


class Objects:
    """Which values are versions of one array, and how much is overwritten of it in how many loops."""

    def __init__(self, stmts: Sequence[Stmt], read: frozenset[Var] | None = None) -> None:
        self.stmts = stmts
        self.parent: dict[Var, Var] = {}
        self.made: dict[Var, Apply] = {}
        self.depth: dict[Var, int] = {}
        self.writes: list[tuple[Var, int]] = []
        self.writing: set[Loop | If] = set()
        self.seen: set[Var] = set()
        self.stored_in: dict[Var, Apply] = {}  # what a write stores as it is, and can be read from the array afterwards
        self.gone: set[Var] = set()  # the versions that are overwritten, so that they may be gone when they are read again
        self.becomes: dict[Var, list[Var]] = {}
        self._block(stmts, 0)
        self._spread()
        written = {self.find(target) for target, _ in self.writes}
        self.versions = {v: root for v in self.seen if (root := self.find(v)) in written}
        self.overwritten: dict[Var, list[int]] = {root: [] for root in written}
        self.unread: set[Apply] = set()
        self.distinct: set[Apply] = set()
        if written:
            self.compare(read)

    def compare(self, read: frozenset[Var] | None) -> None:
        """Find what is overwritten that the reverse sweep reads, if it reads these values (None: any)."""
        seen = None if read is None else self._with_sources(read)
        stored = {stmt for var, stmt in self.stored_in.items() if read is None or var in read}
        places = Places(self.stmts, self.versions, stored, lambda var: seen is None or var in seen)
        self.unread, self.distinct = places.unread(), places.distinct
        self.overwritten = {root: [] for root in self.overwritten}
        for target, order in self.writes:
            if self.made[target] not in self.unread:
                self.overwritten[self.find(target)].append(order)

    def _with_sources(self, read: frozenset[Var]) -> set[Var]:
        """With what they are read from, or computed of in cheap steps, again."""
        seen, todo = set(read), list(read)
        while todo:
            stmt = self.made.get(todo.pop())
            if stmt is not None and (stmt.op in (ops.ITEM, ops.TRANSPOSE) or _is_step(stmt)):
                new = [v for v in vars_of(operands_of(stmt)) if v not in seen and v not in self.versions]
                seen.update(new)
                todo += new
        return seen

    def find(self, var: Var) -> Var:
        """The array that a value is a version of, named by one of its versions."""
        while (above := self.parent.get(var)) is not None:
            var = above
        return var

    def is_overwritten(self, operand: Operand) -> bool:
        """Whether a part of the array is overwritten somewhere, so that a version may be gone when it is read again."""
        return isinstance(operand, Var) and self.find(operand) in self.overwritten

    def of(self, operand: Operand) -> Var | None:
        """The overwritten array that a value is a version of, or was read from by one index."""
        if not isinstance(operand, Var):
            return None
        if self.is_overwritten(operand):
            return self.find(operand)
        if operand in self.stored_in:
            return self.find(self.stored_in[operand].targets[0])
        stmt = self.made.get(operand)
        if stmt is not None and stmt.op is ops.ITEM and self.is_overwritten(stmt.args[0]):
            assert isinstance(stmt.args[0], Var)
            return self.find(stmt.args[0])
        return None

    def stored(self, var: Var) -> Var | None:
        """The number that was stored at the very index at which `var` was read."""
        stmt = self.made.get(var)
        if stmt is None or stmt.op is not ops.ITEM or not is_scalar(var.kind) or not isinstance(stmt.args[0], Var):
            return None
        store = self.made.get(stmt.args[0])
        if store is None or store.op is not ops.INDEX_SET or store.args[1] != stmt.args[1]:
            return None
        value = store.args[2]
        return value if isinstance(value, Var) and value.kind == var.kind else None

    def _spread(self) -> None:
        """A version is gone, too, where it becomes one that is."""
        todo = list(self.gone)
        while todo:
            new = [v for v in self.becomes.get(todo.pop(), ()) if v not in self.gone]
            self.gone.update(new)
            todo += new

    def _unite(self, operands: Iterable[Operand]) -> None:
        first: Var | None = None
        for operand in operands:
            if isinstance(operand, Var) and _is_array(operand):
                self.seen.add(operand)
                root = self.find(operand)
                if first is None:
                    first = root
                elif root is not first:
                    self.parent[root] = first

    def _block(self, stmts: Sequence[Stmt], depth: int, in_try: bool = False) -> None:
        for stmt in stmts:
            match stmt:
                case Apply(targets, _, args):
                    for target in targets:
                        self.made[target], self.depth[target] = stmt, depth
                    if is_write(stmt):
                        self._unite((args[0], targets[0]))
                        self.gone.update(vars_of(args[:1]))
                    if is_write(stmt) and not in_try:  # of a body that has failed nobody knows how far it came
                        region = item_kind(kind_of(args[0]), args[1])
                        self._store(stmt, region, depth)
                        self.writes.append((targets[0], depth + (getattr(region, "ndim", 0) or 0)))
                case If(_, then, orelse, results, _, around):
                    for result, *values in zip(results, operands_of(then.end), operands_of(orelse.end)):
                        self._unite((result, *values))
                        self.becomes.setdefault(result, []).extend(vars_of(values))
                    self._block(then.stmts, depth, in_try or isinstance(around, Caught))
                    self._block(orelse.stmts, depth, in_try)
                case Loop():
                    rows = [stmt.inits, *(operands_of(end) for end in ends_of(stmt.body))]
                    for param, result, *values in zip(stmt.params, stmt.results, *rows):
                        self._unite((param, result, *values))
                        self.becomes.setdefault(result, []).append(param)
                        self.becomes.setdefault(param, []).extend(vars_of(values))
                    self._tree(stmt.body, depth + 1, in_try or stmt.checkpoint is not None)  # its trips are run again

    def _store(self, stmt: Apply, region: Kind, depth: int) -> None:
        value, index = stmt.args[2], stmt.args[1]
        if stmt.op is not ops.INDEX_SET or not isinstance(value, Var) or not is_basic_index(index):
            return
        if value.kind == region and isinstance(region, Array) and self.depth.get(value) == depth:
            self.stored_in.setdefault(value, stmt)

    def _tree(self, block: Block, depth: int, in_try: bool = False) -> None:
        self._block(block.stmts, depth, in_try)
        if isinstance(block.end, Branch):
            for inner in blocks_of(block.end):
                self._tree(inner, depth, in_try)


@dataclass
class Keeping:
    """What a reverse sweep keeps of arrays that are overwritten: by value, in how many loops."""

    kept: dict[Var, int] = field(default_factory=dict)
    read: set[Var] = field(default_factory=set)  # with what is computed again
    exported: dict[Var, Var] = field(default_factory=dict)  # what an arm of a branch gives on, by the result that gives it

    def plan(self, objects: Objects, reverse: Sequence[Stmt]) -> Plan:
        """To restore the arrays of which that keeps less than keeping what is read."""
        read = frozenset(self._made(var) for var in self.read.union(read_in(Block(tuple(reverse), Yield(())))))
        if objects.overwritten:
            objects.compare(read)
        costs: dict[Var, Counter[int]] = {}
        for var, depth in (*self.kept.items(), *_read_at_the_top(objects, reverse)):
            array = objects.of(self._made(var))
            if array is not None:
                order = depth + (getattr(var.kind, "ndim", 0) or 0)
                costs.setdefault(array, Counter())[order] += 1
        chosen = set()
        for array, cost in costs.items():
            theirs = Counter(objects.overwritten[array])
            mine, other = max(cost), max(theirs, default=-1)
            if mine > other or (mine == other and cost[mine] > theirs[other]):
                chosen.add(array)
        return Plan(frozenset(chosen), None, read)

    def _made(self, var: Var) -> Var:
        """The value itself, where an arm of a branch gives it on."""
        while (inside := self.exported.get(var)) is not None:
            var = inside
        return var


def _read_at_the_top(objects: Objects, reverse: Sequence[Stmt]) -> list[tuple[Var, int]]:
    """Versions and parts of arrays, made outside of loops, that the reverse sweep reads after they may have been overwritten."""
    found: dict[Var, int] = {}

    def visit(stmts: Sequence[Stmt]) -> None:
        for stmt in stmts:
            for var in vars_of(operands_of(stmt)):
                if objects.depth.get(var, 1) == 0 and _is_array(var):
                    found[var] = 0
            for inner in blocks_of(stmt):
                visit(inner.stmts)

    visit(reverse)
    return [(v, d) for v, d in found.items() if v in objects.gone or objects.of(v) is None]


class Restorer:
    """The arrays that are restored, as a reverse sweep under construction sees them."""

    def __init__(self, objects: Objects, plan: Plan) -> None:
        self.objects, self.plan = objects, plan
        self.flowed: dict[tuple[Loop, int], Var] = {}  # what each loop has restored

    def carried_by(self, loop: Loop) -> list[int]:
        """The restored arrays that a loop overwrites."""
        if not self.plan.restored:
            return []
        return [i for i, p in enumerate(loop.params) if _is_array(p) and self.restores(p)]

    def goes_back(self, loop: Loop, i: int) -> bool:
        """Whether what an array held before a loop may be read before it."""
        return self.plan.flows is None or (loop, i) in self.plan.flows

    def restores(self, operand: Operand) -> bool:
        return isinstance(operand, Var) and self.objects.find(operand) in self.plan.restored

    def attend(self, b: Builder, adjoints: Adjoints) -> None:
        """From here on what `b` reads of restored arrays is read from what they hold at that point of the reverse sweep."""
        if self.objects.writes:
            b.current = lambda var: self.now(var, adjoints, b)

    def now(self, var: Var, adjoints: Adjoints, b: Builder) -> Operand:
        held = adjoints.array(var)
        if held is not None:
            return held
        stored = self.objects.stored(var)
        if stored is not None:
            return self.now(stored, adjoints, b)
        return self._again(var, adjoints, b, 3) or var

    def _again(self, var: Var, adjoints: Adjoints, b: Builder, depth: int) -> Operand | None:
        """A part of a restored array, or a step from such parts, computed again."""
        stmt = self.objects.made.get(var)
        if stmt is None or len(stmt.targets) > 1 or depth == 0:
            return None
        if stmt.op is ops.ITEM and is_basic_index(stmt.args[1]):
            base = stmt.args[0]
            held = adjoints.array(base) if isinstance(base, Var) and self.restores(base) else None
            if held is None or held is base:
                return None
            put_back = b.made.get(held)
            if put_back is not None and put_back.op is ops.INDEX_SET and put_back.args[1] == stmt.args[1]:
                return put_back.args[2]
            return b.apply(ops.ITEM, (held, stmt.args[1]), kind=var.kind, hint=var.hint)
        if not _is_step(stmt):
            return None
        parts: list[Operand] = []
        some = False
        for arg in stmt.args:
            part = self._again(arg, adjoints, b, depth - 1) if isinstance(arg, Var) else None
            some = some or part is not None
            if part is None and isinstance(arg, Var) and self.objects.depth.get(arg, 0) != 0:
                return None
            parts.append(arg if part is None else part)
        return b.apply(stmt.op, tuple(parts), kind=var.kind, hint=var.hint) if some else None

    def hand(self, version: Operand, held: Var, adjoints: Adjoints) -> None:
        """A version is what is held at the end of a block."""
        if isinstance(version, Var) and version is not held:
            adjoints.put_array(version, held)

    def restore(
        self, stmt: Apply, read: Mapping[tuple[Operand, ...], Var], adjoints: Adjoints, b: Builder, forward: list[Stmt]
    ) -> None:
        """Put back what a write has overwritten; the forward sweep (from its end) reads that before.

        `read`: what the statements of the block read of arrays, by array and index.
        """
        base, index = stmt.args[0], stmt.args[1]
        if not isinstance(base, Var) or not self.restores(base):
            return
        target = stmt.targets[0]
        held = adjoints.array(target) or target
        value = stmt.args[2]
        if isinstance(value, Var) and self.objects.stored_in.get(value) is stmt:
            adjoints.put_array(value, b.apply(ops.ITEM, (held, index), kind=value.kind, hint=value.hint))
        if stmt in self.objects.unread:
            adjoints.put_array(base, held)
            return
        old = read.get((base, index))
        if old is None:
            old = Var(f"{base.hint}_old", item_kind(base.kind, index))
            forward.append(Apply((old,), ops.ITEM, (base, index), (), stmt.origin))
        if is_whole_index(index) and old.kind == base.kind:
            for version in (base, old):
                adjoints.put_array(version, old)
            return
        current, b.current = b.current, None
        place = map_operand(index, lambda v: self.now(v, adjoints, b))
        before = b.apply(ops.INDEX_SET, (held, place, old), hint=base.hint, kind=base.kind)
        before.is_users = base.is_users
        b.current = current
        adjoints.put_array(base, before)
