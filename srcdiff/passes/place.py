"""Decide what happens in place: a new version of an array or list takes the old one's memory where nothing else reads it.

    u_1 = index_set(u, 0, v)        u dead, made here:  index_set(u, 0, v)      prints  u[0] = v
                                    otherwise:          u_1 = copy(u); index_set(u_1, 0, v)
    x_1 = add(x, e)                 x dead, made here:  augment(x, e)           prints  x += e
    return x, x                     return x, copy(x)

After this pass a version (`index_add`, `append`, `augment` …) writes into the memory of its first argument. Whatever is
not certain is copied.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from srcdiff.analysis.liveness import Backward
from srcdiff.analysis.ownership import Ownership
from srcdiff.errors import InternalError
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, Kind, ListOf, Number, Opaque, TupleOf, is_scalar
from srcdiff.ir.nodes import (
    Apply,
    Block,
    Branch,
    End,
    Free,
    Function,
    If,
    Loop,
    Next,
    Op,
    Operand,
    Origin,
    Ref,
    Return,
    SliceOf,
    Stmt,
    Var,
)
from srcdiff.ir.walk import (
    ends_of,
    map_around,
    map_atom,
    map_end,
    map_operand,
    map_operands,
    map_source,
    map_stmt,
    operands_of,
    parts_of,
    vars_of,
)
from srcdiff.passes.augment import augmentable, augmented
from srcdiff.passes.detach import detach, views_of
from srcdiff.rules.inference import is_whole_index
from srcdiff.rules.staging import same_shape

VERSIONS = frozenset(["index_add", "index_set", "scatter_add", "append", "pop", "insert"])
"""The styles that make a new version of their first argument."""

_MAP = Op("map", "call", "map", map)
_TUPLE = Op("tuple", "call", "tuple", tuple)
_LIST = Op("list", "call", "list", list)
_DEEP_COPY = Op("copy.deepcopy", "call", "copy.deepcopy", copy.deepcopy)
_NUMPY_COPY = Op("numpy_copy", "call", "np.array", np.array)


@dataclass(frozen=True)
class Placed:
    """A program whose versions are written in place, and the memory of its variables."""

    function: Function
    ownership: Ownership


def place(function: Function) -> Placed:
    decisions = _decided(function)
    if decisions.shown:
        detached = _decided(detach(function, decisions.shown))
        if len(detached.kept) < len(decisions.kept):
            decisions = detached
    rewrite = _Rewrite(decisions.ownership, decisions, function.is_inner)
    placed = replace(decisions.function, body=rewrite.block(decisions.function.body))
    # A copy that is not made before a loop: what the loop carries has the memory of what it starts from.
    shares = any(decisions.copy_of.get(copy) is copy for copy in decisions.dropped)
    return Placed(placed, Ownership(placed) if shares else decisions.ownership)


def _decided(function: Function) -> _Decisions:
    guarded = _Guard()
    body = guarded.block(function.body)
    function = replace(function, body=body)
    handed = {copy.targets[0] for copy, of in guarded.copy_of.items() if copy is of}
    ownership = Ownership(function, handed)
    decisions = _Decisions(function, ownership, guarded.copy_of)
    decisions.run(function)
    return decisions


# ------------------------------------------------------------ a copy before each version


@dataclass
class _Guard:
    """Put a copy before each version, and before each loop whose carried value gets one.

    `copy_of` gives for each version, and for each copy before a loop, the copy that may be dropped.
    """

    wants: set[Var] = field(default_factory=set)
    deep: set[Var] = field(default_factory=set)  # those that are to hold lists of their own as well
    copy_of: dict[Apply, Apply] = field(default_factory=dict)

    def block(self, block: Block) -> Block:
        end = self.end(block.end)
        backwards: list[Stmt] = []
        for stmt in reversed(block.stmts):
            backwards += reversed(self.stmt(stmt))
        return Block(tuple(reversed(backwards)), end)

    def end(self, end: End) -> End:
        if isinstance(end, Branch):
            return Branch(end.cond, self.block(end.then), self.block(end.orelse))
        return end

    def stmt(self, stmt: Stmt) -> list[Stmt]:
        match stmt:
            case Apply(targets, op, args, kwargs, origin) if op.style in VERSIONS:
                copy = self.copied(args[0], targets[0], origin, is_nested(stmt) or targets[0] in self.deep)
                version = Apply(targets, op, (copy.targets[0], *args[1:]), kwargs, origin)
                self.copy_of[version] = copy
                return [copy, version]
            case Apply(op=op) if op.procedure is not None and op.procedure.takes:
                return self.call(stmt, op.procedure.takes)
            case Apply(targets, op, args):
                if op.style == "copy" and targets[0] in self.wants:
                    self.want(args[0], targets[0] in self.deep)
                return [stmt]
            case If(_, then, orelse, results):
                for i, result in enumerate(results):
                    if result in self.wants:
                        self.want(operands_of(then.end)[i], result in self.deep)
                        self.want(operands_of(orelse.end)[i], result in self.deep)
                return [replace(stmt, then=self.block(then), orelse=self.block(orelse))]
            case Loop():
                return self.loop(stmt)
            case _:
                raise InternalError(f"not a statement: {stmt!r}")

    def call(self, stmt: Apply, takes: Collection[int]) -> list[Stmt]:
        """The call of a procedure that makes some of its arguments its own."""
        copies: list[Stmt] = []
        args = list(stmt.args)
        for i in takes:
            operand = args[i]
            if isinstance(operand, (Var, Free)) and not is_scalar(operand.kind):
                copy = self.copied(operand, Var(getattr(operand, "hint", "copy"), operand.kind), stmt.origin, False)
                self.copy_of[copy] = copy
                copies.append(copy)
                args[i] = copy.targets[0]
        return [*copies, replace(stmt, args=tuple(args))]

    def loop(self, loop: Loop) -> list[Stmt]:
        self.wants.update(param for param, result in zip(loop.params, loop.results) if result in self.wants)
        self.deep.update(param for param, result in zip(loop.params, loop.results) if result in self.deep)
        body = self.block(loop.body)
        wanted: set[Var] = set()
        while wanted != (wanted := self.wants.intersection(loop.params)):
            for end in ends_of(loop.body):
                if isinstance(end, Next):
                    for param, value in zip(loop.params, end.values):
                        if param in self.wants:
                            self.want(value, param in self.deep)
        copies: list[Stmt] = []
        inits = list(loop.inits)
        for i, param in enumerate(loop.params):
            if param in self.wants and isinstance(inits[i], (Var, Free, Ref)):
                copy = self.copied(inits[i], param, loop.origin, param in self.deep)
                self.copy_of[copy] = copy
                copies.append(copy)
                inits[i] = copy.targets[0]
        return [*copies, replace(loop, inits=tuple(inits), body=body)]

    def want(self, operand: Operand, is_deep: bool = False) -> None:
        if isinstance(operand, Var):
            self.wants.add(operand)
            if is_deep:
                self.deep.add(operand)

    def copied(self, operand: Operand, like: Var, origin: Origin | None, is_deep: bool) -> Apply:
        self.want(operand, is_deep)
        target = Var(like.hint, like.kind, like.is_users)
        if not isinstance(operand, (Var, Free, Ref)):
            return Apply((target,), ops.DISPLAY, (operand,), (), origin)
        op = _DEEP_COPY if is_deep else _LIST if isinstance(operand.kind, ListOf) else ops.ARRAY_COPY
        return Apply((target,), op, (operand,), (), origin)


def is_nested(stmt: Apply) -> bool:
    """Whether a version is of a list in a list: `grid[i][j] = v`."""
    is_write = stmt.op.style in ("index_set", "index_add")
    return is_write and isinstance(stmt.targets[0].kind, ListOf) and isinstance(stmt.args[1], tuple)


# ------------------------------------------------------------ which copies are not needed


class _Decisions(Backward):
    """Which copies may be dropped, and which sums may be added in place.

    `users` counts for each site the live variables that reach it. `shown` are the views that keep an array from being written
    in place, `kept` the copies that are made for it.
    """

    def __init__(self, function: Function, ownership: Ownership, copy_of: dict[Apply, Apply]) -> None:
        super().__init__({})
        self.function = function
        self.views, self.handed_on = views_of(function)
        self.shown: set[Var] = set()
        self.kept: list[Apply] = []
        self.ownership = ownership
        self.copy_of = copy_of
        self.users: dict[int, int] = {}
        self.dropped: set[Apply] = set()
        self.augmented: dict[Apply, Apply] = {}
        self.renewed: dict[Apply, Op] = {}  # what overwrites all of an array that is needed still, and how its value becomes one

    def add(self, var: Var) -> None:
        super().add(var)
        for site in self.ownership.memory[var].reached:
            self.users[site] = self.users.get(site, 0) + 1

    def discard(self, var: Var) -> None:
        super().discard(var)
        for site in self.ownership.memory[var].reached:
            self.users[site] -= 1

    def at_apply(self, stmt: Apply) -> None:
        copy = self.copy_of.get(stmt)
        if copy is not None:
            is_alone = copy.op is not _DEEP_COPY or self.holds_alone(copy.args[0])
            if is_alone and self.may_overwrite(copy.args[0]) and (copy is stmt or self.is_apart(copy.args[0], stmt)):
                self.dropped.add(copy)
            elif overwrites_all(stmt):
                self.renewed[stmt] = ops.COPY if self.may_overwrite(stmt.args[2]) else ops.ARRAY_COPY
            else:
                self.kept.append(copy)
                self.shown |= self.in_the_way(copy.args[0])
        elif augmentable(stmt):
            for order in augmented(stmt):
                if self.may_overwrite(order.args[0]) and not self.may_lack_axes(order.args[0]):
                    self.augmented[stmt] = order
                    break

    def may_overwrite(self, operand: Operand) -> bool:
        """Whether a value is the function's own, dead, and no live value shares its memory."""
        if not isinstance(operand, Var) or operand in self.live or not self.ownership.owns(operand):
            return False
        return not any(self.users.get(site) for site in self.ownership.memory[operand].own)

    def may_lack_axes(self, operand: Operand) -> bool:
        """Whether a scalar may be an array without axes: the sum would take its memory, of which scalars have none."""
        return isinstance(operand, Var) and is_scalar(operand.kind) and self.ownership.has_memory(operand)

    def holds_alone(self, operand: Operand) -> bool:
        """Whether the lists in a list are the function's own, and no live value shares them."""
        held = self.ownership.of(operand).held
        return self.ownership.escaped.isdisjoint(held) and not any(self.users.get(site) for site in held)

    def in_the_way(self, operand: Operand) -> set[Var]:
        """The views that alone keep a value from being overwritten; none where something else does."""
        if not isinstance(operand, Var) or operand in self.live or not self.ownership.owns(operand):
            return set()
        own = self.ownership.memory[operand].own
        found: set[Var] = set()
        for var in self.live:
            if own.isdisjoint(self.ownership.memory[var].reached):
                continue
            inside = {var} & self.views or {v for v in self.handed_on if not own.isdisjoint(self.ownership.memory[v].reached)}
            if not inside:
                return set()
            found |= inside
        return found

    def is_apart(self, base: Operand, stmt: Apply) -> bool:
        """Whether what a version reads beside its base is apart from it. NumPy itself minds overlap behind a basic index."""
        own = self.ownership.of(base).own
        read = list(stmt.args[1:])
        if stmt.op.style in ("index_add", "index_set") and isinstance(stmt.targets[0].kind, Array) and _is_basic(read[0]):
            del read[1]
        return all(own.isdisjoint(self.ownership.of(var).reached) for var in vars_of(read))


def overwrites_all(stmt: Apply) -> bool:
    """Whether a version is the value that is stored, whatever there was before: `y[:] = v`."""
    if stmt.op is not ops.INDEX_SET or not is_whole_index(stmt.args[1]):
        return False
    value, kind = stmt.args[2], stmt.targets[0].kind
    if not isinstance(value, Var) or not isinstance(value.kind, Array) or not isinstance(kind, Array):
        return False
    has_both = value.kind.dims is not None and kind.dims is not None
    return has_both and value.kind.dtype == kind.dtype and same_shape(value.kind.dims or (), kind.dims or ())


def _is_basic(index: Operand) -> bool:
    """Whether an index consists of places and slices, without arrays or lists of places."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(isinstance(part, SliceOf) or isinstance(getattr(part, "kind", None), (Number, Opaque)) for part in parts)


# ------------------------------------------------------------ the program in place


class _Rewrite:
    def __init__(self, ownership: Ownership, decisions: _Decisions, is_inner: bool) -> None:
        self.ownership = ownership
        self.decisions = decisions
        self.is_inner = is_inner
        self.same: dict[Var, Operand] = {}

    def rename(self, var: Var) -> Operand:
        return self.same.get(var, var)

    def block(self, block: Block) -> Block:
        stmts: list[Stmt] = []
        needless = {self.decisions.copy_of[stmt] for stmt in block.stmts if stmt in self.decisions.renewed}
        for stmt in block.stmts:
            match stmt:
                case Apply() if stmt in needless:
                    pass
                case Apply(targets, args=args) if stmt in self.decisions.renewed:
                    new = Apply(targets, self.decisions.renewed[stmt], (args[2],), (), stmt.origin)
                    stmts.append(map_stmt(new, self.rename))
                case Apply() if stmt in self.decisions.dropped:
                    self.same[stmt.targets[0]] = self.rename(_only_var(stmt.args[0]))
                case Apply() if stmt in self.decisions.augmented:
                    stmts.append(map_stmt(self.decisions.augmented[stmt], self.rename))
                case Apply():
                    stmts.append(map_stmt(stmt, self.rename))
                case If(cond, then, orelse, results, origin, around):
                    cond, around = map_atom(cond, self.rename), map_around(around, self.rename)
                    stmts.append(If(cond, self.block(then), self.block(orelse), results, origin, around))
                case Loop(sources, params, inits, body, results, origin):
                    sources = tuple(map_source(source, self.rename) for source in sources)
                    inits = map_operands(inits, self.rename)
                    stmts.append(Loop(sources, params, inits, self.block(body), results, origin))
                case _:
                    raise InternalError(f"not a statement: {stmt!r}")
        return self.end(stmts, block.end)

    def end(self, stmts: list[Stmt], end: End) -> Block:
        match end:
            case Branch(cond, then, orelse):
                cond = map_atom(cond, self.rename)
                return Block(tuple(stmts), Branch(cond, self.block(then), self.block(orelse)))
            case Return(value) if not self.is_inner:
                returned = _Returned(self.ownership)
                new = returned.operand(map_operand(value, self.rename))
                return Block((*stmts, *returned.copies), Return(new))
            case _:
                return Block(tuple(stmts), map_end(end, self.rename))


def _only_var(operand: Operand) -> Var:
    if not isinstance(operand, Var):
        raise InternalError(f"a variable is needed, not {operand!r}")
    return operand


@dataclass
class _Returned:
    """What is returned is the function's own, and no two parts of it share memory."""

    ownership: Ownership
    copies: list[Apply] = field(default_factory=list)
    given: set[int] = field(default_factory=set)

    def operand(self, operand: Operand) -> Operand:
        match operand:
            case Var() | Free():
                return self.atom(operand)
            case tuple():
                return tuple(self.operand(item) for item in operand)
            case _ if parts_of(operand):
                return replace(operand, items=tuple(self.operand(item) for item in operand.items))  # type: ignore
            case _:
                return operand

    def atom(self, atom: Var | Free) -> Operand:
        memory = self.ownership.of(atom)
        is_fresh = self.ownership.escaped.isdisjoint(memory.reached) and self.given.isdisjoint(memory.reached)
        self.given |= memory.reached
        if is_fresh:
            return atom
        copied = self.copied(atom, atom.kind)
        return atom if copied is None else copied

    def copied(self, atom: Var | Free, kind: Kind) -> Var | None:
        """A copy of an array, or of a list of arrays; None for a number and for what is no matter of gradients."""
        match kind:
            case Array(_, dims):
                return None if dims == () else self.apply(atom, ops.ARRAY_COPY, (atom,))
            case ListOf(Array()):
                copies = self.apply(atom, _MAP, (Ref(np.copy, "np.copy"), atom), Opaque("map"))
                return self.apply(atom, _LIST, (copies,))
            case ListOf():
                return self.apply(atom, _LIST, (atom,))
            case TupleOf(items) if all(isinstance(item, Array) for item in items):
                copies = self.apply(atom, _MAP, (Ref(np.copy, "np.copy"), atom), Opaque("map"))
                return self.apply(atom, _TUPLE, (copies,))
            case Number() | Opaque() | TupleOf():
                return None
            case _:
                copy = self.apply(atom, _NUMPY_COPY, (atom,))
                return self.apply(atom, ops.ITEM, (copy, ()))

    def apply(self, atom: Var | Free, op: Op, args: tuple[Operand, ...], kind: Kind | None = None) -> Var:
        hint = atom.hint if isinstance(atom, Var) else "copy"
        target = Var(hint, kind or atom.kind)
        self.copies.append(Apply((target,), op, args))
        self.ownership.bind(target, self.ownership.fresh(target))
        return target


def written_by(stmt: Stmt) -> Iterable[Operand]:
    """The value whose memory a placed statement writes to, if any."""
    if isinstance(stmt, Apply) and (stmt.op.style in VERSIONS or stmt.op.style == "augment"):
        yield stmt.args[0]
    elif isinstance(stmt, Apply) and stmt.op.procedure is not None:
        yield from (stmt.args[i] for i in stmt.op.procedure.takes)
