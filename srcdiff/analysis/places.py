"""Which writes overwrite what nothing has read: what was there need not be there again.

    L = zeros((n, n))
    for i in range(n):
        for j in range(i):
            L_1 = index_set(L, (i, j), item(a, (i, j)) - dot(item(L, (i, :j)), item(L, (j, :j))))

No trip before (i, j) reads the place (i, j). A place is an interval along each axis, between sums of what the run knows; a
read and a later write meet if inequalities for the trips of their loops can hold together (`inequalities.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from srcdiff.analysis.inequalities import Sum, added, can_hold, number
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, Length, Number
from srcdiff.ir.nodes import Apply, Block, Branch, Const, If, Loop, Operand, Range, SliceOf, Stmt, Var
from srcdiff.ir.walk import blocks_of, operands_of, source_atoms, source_targets, vars_of
from srcdiff.rules.inference import is_basic_index

WRITES = frozenset(["index_set", "index_add", "scatter_add"])
"""The styles that overwrite a part of an array."""

_MANY = 400  # pairs of accesses of an array

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


@dataclass
class _Object:
    """An array: it is there in all trips of the loops that do not hold all its versions (`birth`: those that do)."""

    reads: list[_Access] = field(default_factory=list)
    writes: list[tuple[Apply, _Access]] = field(default_factory=list)
    birth: Nest | None = None


class Places:
    """The reads and writes of arrays in a program; `find` names the array that a value is a version of."""

    def __init__(self, stmts: Sequence[Stmt], find: Mapping[Var, Var]) -> None:
        self.find = find
        self.objects: dict[Var, _Object] = {}
        self.made: dict[Var, Apply] = {}
        self.nest_of: dict[Var, Nest] = {}
        self.counter = 0
        self._block(stmts, (), ())

    # ------------------------------------------------------------ collecting

    def _block(self, stmts: Sequence[Stmt], nest: Nest, order: tuple[int, ...]) -> None:
        for stmt in stmts:
            self.counter += 1
            here = (*order, self.counter)
            match stmt:
                case Apply(targets, op, args):
                    for target in targets:
                        self.made[target] = stmt
                        self._bind(target, nest)
                    array = args[0] if args and isinstance(args[0], Var) and args[0] in self.find else None
                    if array is not None and op.style in WRITES:
                        self._object(array).writes.append((stmt, self._access(array, args[1], nest, here)))
                        self._reads(args[1:], nest, here)
                    elif array is not None and op is ops.ITEM:
                        self._object(array).reads.append(self._access(array, args[1], nest, here))
                        self._reads(args[1:], nest, here)
                    elif op not in (ops.SHAPE, ops.LEN, ops.SIZE, ops.NDIM):
                        self._reads(operands_of(stmt), nest, here)
                case If():
                    for result in stmt.results:
                        self._bind(result, nest)
                    for arm in (stmt.then, stmt.orelse):
                        self._block(arm.stmts, nest, order)
                case Loop():
                    self._reads([a for source in stmt.sources for a in source_atoms(source)], nest, here)
                    for target in (t for source in stmt.sources for t in source_targets(source)):
                        self.nest_of[target] = (*nest, stmt)
                    for var in (*stmt.params, *stmt.results):
                        self._bind(var, nest)
                    self.nest_of.update((param, (*nest, stmt)) for param in stmt.params)
                    self._tree(stmt.body, (*nest, stmt), here)

    def _tree(self, block: Block, nest: Nest, order: tuple[int, ...]) -> None:
        self._block(block.stmts, nest, order)
        if isinstance(block.end, Branch):
            for inner in blocks_of(block.end):
                self._tree(inner, nest, order)

    def _bind(self, var: Var, nest: Nest) -> None:
        self.nest_of[var] = nest
        if var in self.find:
            of = self._object(var)
            of.birth = nest if of.birth is None else _shared(of.birth, nest)

    def _object(self, var: Var) -> _Object:
        return self.objects.setdefault(self.find[var], _Object())

    def _reads(self, operands: Sequence[Operand], nest: Nest, order: tuple[int, ...]) -> None:
        for var in vars_of(operands):
            if var in self.find:
                self._object(var).reads.append(_Access(nest, order, None))

    def _access(self, array: Var, index: Operand, nest: Nest, order: tuple[int, ...]) -> _Access:
        dims = array.kind.dims if isinstance(array.kind, Array) else None
        if dims is None or not is_basic_index(index):
            return _Access(nest, order, None)
        claims = self._claims(nest)
        parts = list(index) if isinstance(index, tuple) else [index]
        parts = [p for p in parts if not (isinstance(p, Const) and p.value is None)]
        for i, part in enumerate(parts):
            if isinstance(part, Const) and part.value is Ellipsis:
                parts[i : i + 1] = [WHOLE] * (len(dims) - len(parts) + 1)
                break
        parts += [WHOLE] * (len(dims) - len(parts))
        return _Access(nest, order, tuple(self._interval(p, n, claims) for p, n in zip(parts, dims)))

    # ------------------------------------------------------------ sums

    def _interval(self, part: Operand, length: Length, claims: list[Sum]) -> Interval:
        end = _length(length)
        if isinstance(part, SliceOf):
            if part.step not in (Const(None), Const(1)):
                return None, None
            first = Const(0) if part.start == Const(None) else part.start
            start = self._place(first, end, claims)
            stop = end if part.stop == Const(None) else self._place(part.stop, end, claims)
            return start, added(stop, number(-1)) if stop is not None else None
        place = self._place(part, end, claims)
        return place, place

    def _place(self, operand: Operand, end: Sum | None, claims: list[Sum]) -> Sum | None:
        """Where an index or a bound of a slice lies, counted from the beginning; None where its sign is not known."""
        place = self._sum(operand)
        if not can_hold([*claims, added(number(-1), place, -1)]):
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

    def _claims(self, nest: Nest) -> list[Sum]:
        """What holds of the numbers of the trips: sums that are at least zero."""
        claims = []
        for source in (s for loop in nest for s in loop.sources):
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
                claims = {access.nest: self._claims(access.nest) for access in (*of.reads, *(w for _, w in of.writes))}
                found.update(
                    stmt for stmt, write in of.writes if not any(self._meet(r, write, of.birth or (), claims) for r in of.reads)
                )
        return found

    def _meet(self, read: _Access, write: _Access, birth: Nest, claims: dict[Nest, list[Sum]]) -> bool:
        """Whether a read may come before a write to the same place."""
        common = _shared(read.nest, write.nest)
        for k in range(len(birth), len(common) + 1):
            told = [self._named(c, side, k) for side, access in enumerate((read, write)) for c in claims[access.nest]]
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
