"""Which memory each value may share, and which memory the function owns: made in it, and handed to nobody.

    def f(x):              x: the caller's
        a = exp(x)         a: made here, owned
        b = transpose(a)   b: the memory of a
        l = [a, b]         l: made here; holds the memory of a

Memory is named by where it is made (a site). A trip of a loop makes it anew: what an earlier trip made at the same place
is another site (`aged`), and so a list that each trip makes is apart from those that an outer list holds. What an operation
in place returns counts as made anew too: it is only done in place where no other value lives on in that memory (see
`passes.place`).
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, replace

from srcdiff.analysis.memory import Sharing, is_immutable, keeps_arguments, sharing_of
from srcdiff.errors import InternalError
from srcdiff.ir.kinds import Array, Kind, ListOf, Number, Opaque, TupleOf, is_scalar
from srcdiff.ir.nodes import (
    Apply,
    Block,
    Branch,
    Const,
    Exit,
    Free,
    Function,
    If,
    ListDisplay,
    Loop,
    Next,
    Operand,
    Range,
    Ref,
    SliceOf,
    Stmt,
    Var,
)
from srcdiff.ir.walk import ends_of, operands_of, parts_of, source_targets
from srcdiff.rules.inference import item_kind

FOREIGN = 0
_MOST_SITES, _MOST_HELD = 24, 200


@dataclass(frozen=True, slots=True)
class Memory:
    """The sites that a value may be made of (`own`), and those that can be reached through it (`held`)."""

    own: frozenset[int]
    held: frozenset[int]

    @property
    def reached(self) -> frozenset[int]:
        return self.own | self.held if self.held else self.own

    def __or__(self, other: Memory) -> Memory:
        if other is _NOTHING or other is self:
            return self
        return other if self is _NOTHING else Memory(self.own | other.own, self.held | other.held)


_EMPTY: frozenset[int] = frozenset()
_NOTHING = Memory(_EMPTY, _EMPTY)
_FOREIGN = Memory(frozenset([FOREIGN]), frozenset([FOREIGN]))


class Ownership:
    """The memory of each variable of a function.

    `handed` are arrays that are copied for a loop to carry, and that nothing else sees. Where a loop carries several of them,
    each is an array of its own at the head of a trip, also if they change places (`u, v = v, u`).
    """

    def __init__(self, function: Function, handed: Set[Var] = frozenset()) -> None:
        self.handed = handed
        self.memory: dict[Var, Memory] = {}
        self.sites: dict[Var, int] = {}
        self.escaped: set[int] = {FOREIGN}
        self.loops: list[Loop] = []
        self.loops_around: list[tuple[Loop, ...]] = [()]
        self.first: list[int] = [FOREIGN]
        self.older: dict[tuple[int, Loop], int] = {}
        for i, parameter in enumerate(function.params):
            self.bind(parameter.var, Memory(self.site(parameter.var), _EMPTY) if i in function.takes else _FOREIGN)
        self.block(function.body)

    # ------------------------------------------------------------ what is asked

    def of(self, operand: Operand) -> Memory:
        match operand:
            case Var():
                return self.memory[operand]
            case Const() | SliceOf():
                return _NOTHING
            case Free() | Ref():
                return _NOTHING if is_immutable(operand.kind) else _FOREIGN
            case _:
                return self.container(None, parts_of(operand))

    def owns(self, operand: Operand) -> bool:
        """Whether the memory of a value is certainly the function's own (a number has none)."""
        return self.escaped.isdisjoint(self.of(operand).own)

    def has_memory(self, var: Var) -> bool:
        return bool(self.memory[var].own)

    # ------------------------------------------------------------ how it is found

    def bind(self, var: Var, memory: Memory) -> None:
        self.memory[var] = _fit(memory, var.kind)

    def bind_joined(self, var: Var, memory: Memory) -> None:
        """What is one value or another may be an array without axes, also where it is known as a number: an adjoint is."""
        self.memory[var] = memory if isinstance(var.kind, Number) else _fit(memory, var.kind)

    def site(self, var: Var) -> frozenset[int]:
        site = self.sites.get(var)
        if site is None:
            site = self.sites[var] = self.new_site(tuple(self.loops), None)
        return frozenset([site])

    def new_site(self, loops: tuple[Loop, ...], first: int | None) -> int:
        self.loops_around.append(loops)
        self.first.append(len(self.first) if first is None else first)
        return len(self.first) - 1

    def aged(self, memory: Memory, loop: Loop) -> Memory:
        """Memory at the end of a trip, as the next trip sees it: what this one made is of an earlier trip."""
        if not any(loop in self.loops_around[site] for site in memory.reached):
            return memory
        return Memory(*(frozenset(self.aged_site(site, loop) for site in sites) for sites in (memory.own, memory.held)))

    def aged_site(self, site: int, loop: Loop) -> int:
        loops = self.loops_around[site]
        if loop not in loops:
            return site
        key = (self.first[site], loop)
        older = self.older.get(key)
        if older is None:
            older = self.older[key] = self.new_site(loops[: loops.index(loop)], self.first[site])
        if site in self.escaped:
            self.escaped.add(older)
        return older

    def joined(self, operands: Iterable[Operand]) -> Memory:
        memory = _NOTHING
        for operand in operands:
            memory |= self.of(operand)
        return self.limited(memory)

    def limited(self, memory: Memory) -> Memory:
        """Memory of very many origins counts as the caller's, and each of them as handed to the caller. A list of very many
        things stays the function's own.
        """
        if len(memory.own) > _MOST_SITES:
            self.escaped |= memory.reached
            return _FOREIGN
        if len(memory.held) > _MOST_HELD:
            self.escaped |= memory.held
            return Memory(memory.own, _FOREIGN.own)
        return memory

    def container(self, var: Var | None, items: Iterable[Operand]) -> Memory:
        held = self.joined(items).reached
        return self.limited(Memory(self.site(var) if var is not None else _EMPTY, held))

    def block(self, block: Block) -> None:
        for stmt in block.stmts:
            self.stmt(stmt)
        if isinstance(block.end, Branch):
            self.block(block.end.then)
            self.block(block.end.orelse)

    def stmt(self, stmt: Stmt) -> None:
        match stmt:
            case Apply():
                self.apply(stmt)
            case If(_, then, orelse, results):
                self.block(then)
                self.block(orelse)
                for result, *values in zip(results, operands_of(then.end), operands_of(orelse.end), strict=True):
                    self.bind_joined(result, self.joined(values))
            case Loop():
                self.loop(stmt)
            case _:
                raise InternalError(f"not a statement: {stmt!r}")

    def loop(self, loop: Loop) -> None:
        leaves = list(ends_of(loop.body))
        nexts = [end.values for end in leaves if isinstance(end, Next)]
        exits = [end.values for end in leaves if isinstance(end, Exit)]
        apart = {i for i, init in enumerate(loop.inits) if init in self.handed and isinstance(loop.params[i].kind, Array)}
        for i, (param, init) in enumerate(zip(loop.params, loop.inits)):
            self.bind_joined(param, self.of(init) if i in apart else self.of(init) | self.memory.get(param, _NOTHING))
        self.loops.append(loop)
        while True:
            for source in loop.sources:
                memory = _NOTHING if isinstance(source.iterable, Range) else self.item_of(source.iterable)
                for target in source_targets(source):
                    self.bind(target, memory)
            self.block(loop.body)
            before, was_apart = [self.memory[param] for param in loop.params], set(apart)
            while mixed := self.mixed(loop, nexts, apart):
                apart -= mixed
            for i, param in enumerate(loop.params):
                if i not in apart:
                    after = self.aged(self.joined(values[i] for values in nexts), loop)
                    self.bind_joined(param, self.limited(self.memory[param] | after))
            if apart == was_apart and before == [self.memory[param] for param in loop.params]:
                break
        self.loops.pop()
        for i, result in enumerate(loop.results):
            self.bind_joined(result, self.joined([loop.params[i], *(values[i] for values in exits)]))

    def mixed(self, loop: Loop, nexts: list[tuple[Operand, ...]], apart: set[int]) -> set[int]:
        """Of the carried arrays that are apart at the head of a trip those that may not be at its end."""
        heads = {site for i in apart for site in self.memory[loop.params[i]].own}
        found: set[int] = set()
        for values in nexts:
            memories = [self.of(value) for value in values]
            for i in apart:
                own = memories[i].own
                if any(site not in heads and loop not in self.loops_around[site] for site in own) or any(
                    j != i and not own.isdisjoint(other.reached) for j, other in enumerate(memories)
                ):
                    found.add(i)
        return found

    def item_of(self, operand: Operand) -> Memory:
        memory = self.of(operand)
        if isinstance(operand, (Var, Free, Ref)) and isinstance(operand.kind, (ListOf, TupleOf)):
            return Memory(memory.held, memory.held)
        return Memory(memory.reached, memory.reached)

    def apply(self, stmt: Apply) -> None:
        op, args = stmt.op, stmt.args
        if op.has_effect or op.style == "effect":
            self.effect(stmt)
            return
        match op.style:
            case "index_add" | "index_set" | "scatter_add" | "append" | "insert":
                (target,) = stmt.targets
                held = self.of(args[0]).held
                if op.style in ("append", "insert") or (op.style == "index_set" and isinstance(target.kind, ListOf)):
                    held |= self.of(args[-1]).reached
                elif isinstance(target.kind, ListOf) and not is_scalar(item_kind(target.kind, args[1])):
                    held |= self.site(target)
                self.bind(target, self.limited(Memory(self.site(target), held)))
            case "pop":
                rest, item = stmt.targets
                held = self.of(args[0]).held
                self.bind(rest, Memory(self.site(rest), held))
                self.bind(item, Memory(held, held))
            case "call" if op.procedure is not None:
                self.called(stmt)
            case _:
                self.shared(stmt, sharing_of(stmt))

    def called(self, stmt: Apply) -> None:
        """The results of a procedure: those that are known to be fresh, and others that may be anything."""
        fresh = stmt.op.pattern or (False,) * len(stmt.targets)
        for target, is_fresh in zip(stmt.targets, fresh):
            self.shared(replace(stmt, targets=(target,)), Sharing.FRESH if is_fresh else Sharing.UNKNOWN)

    def shared(self, stmt: Apply, sharing: Sharing) -> None:
        args = operands_of(stmt)
        for target in stmt.targets:
            match sharing:
                case Sharing.NONE:
                    memory = _NOTHING
                case Sharing.FRESH:
                    memory = self.fresh(target)
                case Sharing.VIEW:
                    memory = self.joined(args)
                    memory = Memory(memory.reached, memory.reached) if isinstance(target.kind, (ListOf, TupleOf)) else memory
                    memory = memory if memory.reached else self.fresh(target)  # an array made of a number
                case Sharing.FROZEN:
                    memory = self.joined(args) | _FOREIGN
                case Sharing.HOLDS:
                    memory = self.display(target, args[0])
                case Sharing.SHALLOW:
                    held = self.joined(args)
                    memory = Memory(self.site(target), held.held | (_EMPTY if _are_lists(args) else held.own))
                case Sharing.ITEM:
                    memory = self.item_of(args[0])
                case Sharing.SAME:
                    memory = self.joined(args)
                case Sharing.UNKNOWN:
                    reached = self.joined(args).reached | {FOREIGN}
                    memory = Memory(reached, reached)
                case _:
                    raise InternalError(f"not a way to share memory: {sharing!r}")
            self.bind(target, self.limited(memory))

    def fresh(self, target: Var) -> Memory:
        site = self.site(target)
        return Memory(site, site) if isinstance(target.kind, (ListOf, TupleOf, Opaque)) else Memory(site, _EMPTY)

    def display(self, target: Var, operand: Operand) -> Memory:
        if isinstance(operand, (Var, Const, Free, Ref)):
            return self.of(operand)
        return self.container(target, parts_of(operand))

    def effect(self, stmt: Apply) -> None:
        reached = self.joined(operands_of(stmt)).reached
        if keeps_arguments(stmt):
            self.escaped |= reached
        everything = reached | {FOREIGN}
        for target in stmt.targets:
            self.bind(target, Memory(everything, everything))


def _are_lists(args: tuple[Operand, ...]) -> bool:
    return all(isinstance(arg, (tuple, ListDisplay)) or isinstance(getattr(arg, "kind", None), (ListOf, TupleOf)) for arg in args)


def _fit(memory: Memory, kind: Kind) -> Memory:
    """The memory of a value of that kind: a number has none, a list of numbers holds none."""
    if memory is _NOTHING or is_immutable(kind):
        return _NOTHING
    if isinstance(kind, ListOf) and is_immutable(kind.item):
        return Memory(memory.own, _EMPTY)
    if isinstance(kind, TupleOf):
        return memory
    return memory
