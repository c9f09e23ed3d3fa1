"""Which writes overwrite what nothing has read: what was there need not be there again.

    L = zeros((n, n))
    for i in range(n):
        for j in range(i):
            L_1 = index_set(L, (i, j), item(a, (i, j)) - dot(item(L, (i, :j)), item(L, (j, :j))))

No trip before (i, j) reads the place (i, j). A place is an interval along each axis, between sums of what the run knows; a
read and a later write meet if inequalities for the trips of their loops can hold together (`inequalities.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from srcdiff.analysis.inequalities import Sum, added, can_hold, number
from srcdiff.ir import ops
from srcdiff.ir.kinds import INT, Array, Length, Number
from srcdiff.ir.nodes import Apply, Atom, Block, Branch, Const, If, ListDisplay, Loop, Operand, Range, SliceOf, Stmt, Var
from srcdiff.ir.walk import operands_of, source_atoms, source_targets, vars_of
from srcdiff.rules.inference import is_basic_index, kind_of
from srcdiff.rules.registry import rule_for

WRITES = frozenset(["index_set", "index_add", "scatter_add"])
"""The styles that overwrite a part of an array."""

_MANY = 400  # pairs of accesses of an array
_MANY_PLACES = 8

WHOLE = SliceOf(Const(None), Const(None), Const(None))

Interval = tuple[Sum | None, Sum | None]
"""The first and the last place along an axis; None: not known."""

Nest = tuple[Loop, ...]


@dataclass(frozen=True)
class _Access:
    """Where, when and what of an array: the loops around, the places in the text of each of them, and of the statement."""

    nest: Nest
    order: tuple[int, ...]
    intervals: tuple[Interval, ...] | None  # None: the whole array
    claims: tuple[Sum, ...]  # sums that are at least zero where it runs


@dataclass
class _Object:
    """An array: it is there in all trips of the loops that do not hold all its versions (`birth`: those that do)."""

    reads: list[_Access] = field(default_factory=list)
    writes: list[tuple[Apply, _Access]] = field(default_factory=list)
    birth: Nest | None = None


class Places:
    """The reads and writes of arrays in a program.

    `find` names the array that a value is a version of. `stored` are the writes after which the value that they store is read
    from the array. Only reads of values that are `wanted` count.
    """

    def __init__(
        self,
        stmts: Sequence[Stmt],
        find: Mapping[Var, Var],
        stored: Container[Apply] = (),
        wanted: Callable[[Var], bool] = lambda var: True,
    ) -> None:
        self.find, self.stored, self.wanted = find, stored, wanted
        self.objects: dict[Var, _Object] = {}
        self.made: dict[Var, Apply] = {}
        self.nest_of: dict[Var, Nest] = {}
        self.distinct: set[Apply] = set()  # what is indexed by a list of different places
        self.claims: tuple[Sum, ...] = ()
        self.unequal: tuple[Sum, ...] = ()
        self.counter = 0
        self._block(stmts, (), ())

    # ------------------------------------------------------------ collecting

    def _block(self, stmts: Sequence[Stmt], nest: Nest, order: tuple[int, ...]) -> None:
        for stmt in stmts:
            self.counter += 2
            here = (*order, self.counter)
            match stmt:
                case Apply(targets, op, args):
                    for target in targets:
                        self.made[target] = stmt
                        self._bind(target, nest)
                    if op.fn in (np.argmax, np.argmin):
                        self.claims += ({targets[0]: 1},)
                    if op is ops.ITEM or op.style in WRITES:
                        self._lists(stmt)
                    array = args[0] if args and isinstance(args[0], Var) and args[0] in self.find else None
                    if array is not None and op.style in WRITES:
                        access = self._access(array, args[1], nest, here)
                        self._object(array).writes.append((stmt, access))
                        if stmt in self.stored:
                            afterwards = (*order, self.counter + 1)
                            self._object(array).reads.append(replace(access, order=afterwards))
                        self._reads(args[1:], nest, here)
                    elif array is not None and op is ops.ITEM:
                        if self.wanted(targets[0]):
                            self._object(array).reads.append(self._access(array, args[1], nest, here))
                        self._reads(args[1:], nest, here)
                    elif op not in (ops.SHAPE, ops.LEN, ops.SIZE, ops.NDIM):
                        is_seen = op is ops.TRANSPOSE and self.wanted(targets[0])
                        self._reads((*operands_of(stmt), *(targets if _reads_its_result(stmt) else ())), nest, here, is_seen)
                case If():
                    for result in stmt.results:
                        self._bind(result, nest)
                    for arm, truth in ((stmt.then, True), (stmt.orelse, False)):
                        outside = self._suppose(stmt.cond, truth)
                        self._block(arm.stmts, nest, order)
                        self.claims, self.unequal = outside
                case Loop():
                    self._reads([a for source in stmt.sources for a in source_atoms(source)], nest, here)
                    for target in (t for source in stmt.sources for t in source_targets(source)):
                        self.nest_of[target] = (*nest, stmt)
                    for var in (*stmt.params, *stmt.results):
                        self._bind(var, nest)
                    self.nest_of.update((param, (*nest, stmt)) for param in stmt.params)
                    outside = self.claims, self.unequal
                    self.claims += tuple(self._of_trips(stmt))
                    self._tree(stmt.body, (*nest, stmt), here)
                    self.claims, self.unequal = outside

    def _tree(self, block: Block, nest: Nest, order: tuple[int, ...]) -> None:
        self._block(block.stmts, nest, order)
        if isinstance(block.end, Branch):
            for arm, truth in ((block.end.then, True), (block.end.orelse, False)):
                outside = self._suppose(block.end.cond, truth)
                self._tree(arm, nest, order)
                self.claims, self.unequal = outside

    def _bind(self, var: Var, nest: Nest) -> None:
        self.nest_of[var] = nest
        if var in self.find:
            of = self._object(var)
            of.birth = nest if of.birth is None else _shared(of.birth, nest)

    def _object(self, var: Var) -> _Object:
        return self.objects.setdefault(self.find[var], _Object())

    def _reads(self, operands: Sequence[Operand], nest: Nest, order: tuple[int, ...], is_seen: bool = False) -> None:
        for var in vars_of(operands):
            if var in self.find and (is_seen or self.wanted(var)):
                self._object(var).reads.append(_Access(nest, order, None, self.claims))

    def _access(self, array: Var, index: Operand, nest: Nest, order: tuple[int, ...]) -> _Access:
        dims = array.kind.dims if isinstance(array.kind, Array) else None
        if dims is None or not is_basic_index(index):
            return _Access(nest, order, None, self.claims)
        parts = list(index) if isinstance(index, tuple) else [index]
        parts = [p for p in parts if not (isinstance(p, Const) and p.value is None)]
        for i, part in enumerate(parts):
            if isinstance(part, Const) and part.value is Ellipsis:
                parts[i : i + 1] = [WHOLE] * (len(dims) - len(parts) + 1)
                break
        parts += [WHOLE] * (len(dims) - len(parts))
        return _Access(nest, order, tuple(self._interval(p, n) for p, n in zip(parts, dims)), self.claims)

    def _lists(self, stmt: Apply) -> None:
        """Note a statement whose index has lists of certainly different places, none or all of them counted from the end."""
        index = stmt.args[1]
        lists: list[Operand] = []
        for part in index if isinstance(index, tuple) else (index,):
            made = self.made.get(part) if isinstance(part, Var) else None
            lists += made.args if made is not None and made.op.fn is np.ix_ else () if is_basic_index(part) else (part,)
        if lists and all(isinstance(part, ListDisplay) and self._is_of_places(part.items) for part in lists):
            self.distinct.add(stmt)

    def _is_of_places(self, items: tuple[Operand, ...]) -> bool:
        if len(items) > _MANY_PLACES or not all(_is_integer(item) for item in items):
            return False
        sums = [self._sum(item) for item in items]
        apart = all(self._differ(added(a, b, -1)) for i, a in enumerate(sums) for b in sums[:i])
        return apart and all(self._is_sure(place) for place in sums)

    # ------------------------------------------------------------ what holds

    def _suppose(self, cond: Atom, truth: bool) -> tuple[tuple[Sum, ...], tuple[Sum, ...]]:
        """From here on a condition holds, or does not; returns what held before."""
        before = self.claims, self.unequal
        stmt = self.made.get(cond) if isinstance(cond, Var) else None
        if stmt is None or len(stmt.args) != 2 or not all(_is_integer(arg) for arg in stmt.args):
            return before
        difference = added(self._sum(stmt.args[0]), self._sum(stmt.args[1]), -1)
        opposite = added({}, difference, -1)
        match stmt.op.text, truth:
            case ("<", True) | (">=", False):
                self.claims += (added(opposite, number(-1)),)
            case (">", True) | ("<=", False):
                self.claims += (added(difference, number(-1)),)
            case ("<=", True) | (">", False):
                self.claims += (opposite,)
            case (">=", True) | ("<", False):
                self.claims += (difference,)
            case ("==", True) | ("!=", False):
                self.claims += (difference, opposite)
            case ("!=", True) | ("==", False):
                self.unequal += (difference, opposite)
                for side in (difference, opposite):
                    if self._is_sure(side):
                        self.claims += (added(side, number(-1)),)
        return before

    def _is_sure(self, total: Sum) -> bool:
        """Whether a sum is at least zero."""
        return not can_hold([*self.claims, added(number(-1), total, -1)])

    def _differ(self, difference: Sum) -> bool:
        """Whether a difference is certainly not zero."""
        return difference in self.unequal or not can_hold([*self.claims, difference, added({}, difference, -1)])

    # ------------------------------------------------------------ sums

    def _interval(self, part: Operand, length: Length) -> Interval:
        end = _length(length)
        if isinstance(part, SliceOf):
            if part.step not in (Const(None), Const(1)):
                return None, None
            first = Const(0) if part.start == Const(None) else part.start
            start = self._place(first, end)
            stop = end if part.stop == Const(None) else self._place(part.stop, end)
            return start, added(stop, number(-1)) if stop is not None else None
        place = self._place(part, end)
        return place, place

    def _place(self, operand: Operand, end: Sum | None) -> Sum | None:
        """Where an index or a bound of a slice lies, counted from the beginning; None where its sign is not known."""
        place = self._sum(operand)
        if self._is_sure(place):
            return place
        if isinstance(operand, Const) and end is not None:
            return added(end, place)
        return None

    def _sum(self, operand: Operand) -> Sum:
        if isinstance(operand, Const):
            return number(operand.value) if isinstance(operand.value, int) else {operand: 1}
        assert isinstance(operand, Hashable)
        if not isinstance(operand, Var):
            return {operand: 1}
        if isinstance(operand.kind, Number) and operand.kind.length is not None:
            known = _length(operand.kind.length)
            if known is not None:
                return known
        stmt = self.made.get(operand)
        if stmt is not None and len(stmt.args) == 2 and stmt.op in (ops.ADD, ops.SUB):
            a, b = stmt.args
            return added(self._sum(a), self._sum(b), 1 if stmt.op is ops.ADD else -1)
        if stmt is not None and stmt.op is ops.NEG:
            return added({}, self._sum(stmt.args[0]), -1)
        if stmt is not None and stmt.op is ops.MUL:
            for factor, other in (stmt.args, stmt.args[::-1]):
                if isinstance(factor, Const) and isinstance(factor.value, int):
                    return added({}, self._sum(other), factor.value)
        return {operand: 1}

    def _of_trips(self, loop: Loop) -> list[Sum]:
        """What holds of the numbers of the trips: sums that are at least zero."""
        claims = []
        for source in loop.sources:
            if isinstance(source.iterable, Range) and isinstance(source.target, Var) and _step(source.iterable):
                of = source.iterable
                i: Sum = {source.target: 1}
                low, high = self._sum(of.start), None if of.stop is None else self._sum(of.stop)
                if _step(of) > 0:
                    claims.append(added(i, low, -1))
                    claims += [added(added(high, number(-1)), i, -1)] if high is not None else []
                elif high is not None:
                    claims += [added(low, i, -1), added(added(i, high, -1), number(-1))]
        return claims

    # ------------------------------------------------------------ meeting

    def unread(self) -> set[Apply]:
        """The writes of which nothing has read before what they overwrite."""
        found: set[Apply] = set()
        for of in self.objects.values():
            if len(of.writes) * len(of.reads) <= _MANY:
                birth = of.birth or ()
                found.update(stmt for stmt, write in of.writes if not any(self._meet(r, write, birth) for r in of.reads))
        return found

    def _meet(self, read: _Access, write: _Access, birth: Nest) -> bool:
        """Whether a read may come before a write to the same place."""
        common = _shared(read.nest, write.nest)
        for k in range(len(birth), len(common) + 1):
            told = [self._named(c, side, k) for side, access in enumerate((read, write)) for c in access.claims]
            if k == len(common):
                if read.order[k] > write.order[k]:
                    continue
            else:
                told += self._in_order(common[k], k)
            for axis in zip(read.intervals or (), write.intervals or ()):
                firsts, lasts = (
                    [self._named(end, side, k) for side, end in enumerate(ends) if end is not None] for ends in zip(*axis)
                )
                told += [added(last, first, -1) for first in firsts for last in lasts]
            if can_hold(told):
                return True
        return False

    def _named(self, total: Sum, side: int, k: int) -> Sum:
        """What differs between the trips of two accesses that share k loops has a name for each."""
        return {
            (symbol, side) if isinstance(symbol, Var) and len(self.nest_of.get(symbol, ())) > k else symbol: n
            for symbol, n in total.items()
        }

    def _in_order(self, loop: Loop, k: int) -> list[Sum]:
        """The trip of the read is before that of the write."""
        for source in loop.sources:
            if isinstance(source.iterable, Range) and isinstance(source.target, Var) and _step(source.iterable):
                direction = (1 if _step(source.iterable) > 0 else -1) * (-1 if source.is_reversed else 1)
                read, write = (self._named({source.target: direction}, side, k) for side in (0, 1))
                return [added(added(write, read, -1), number(-1))]
        return []


def _reads_its_result(stmt: Apply) -> bool:
    """Whether the derivative of an operation may read the operation's result."""
    rule = rule_for(stmt.op.fn)
    return stmt.op not in (ops.COPY, ops.ARRAY_COPY) and (rule is None or "y" in rule.needs or stmt.op.procedure is not None)


def _is_integer(operand: Operand) -> bool:
    kind = kind_of(operand)
    return kind == INT or (isinstance(kind, Array) and kind.dims == () and kind.dtype.startswith("int"))


def _step(of: Range) -> int:
    return of.step.value if isinstance(of.step, Const) and isinstance(of.step.value, int) else 0


def _length(length: Length) -> Sum | None:
    if isinstance(length, int):
        return number(length)
    if length.base is not None:
        inner = _length(length.base[0])
        return None if inner is None else added(inner, number(length.base[1]))
    return {length: 1} if length.expr is not None else None


def _shared(a: Nest, b: Nest) -> Nest:
    count = 0
    while count < min(len(a), len(b)) and a[count] is b[count]:
        count += 1
    return a[:count]
