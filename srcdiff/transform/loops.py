"""The reverse of a loop: a loop that runs its trips backwards, and the record that it reads.

    for x in xs:                          kept = []
        s = s + sin(x * s)       ⟶        for x in xs: kept.append(s); …
                                          for x, s in zip(reversed(xs), reversed(kept)): …

The body's reverse is built first; what it still reads of the trip afterwards is what must be kept (`saving`). An adjoint that
no trip changes is not carried.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from srcdiff.errors import KindError
from srcdiff.ir.kinds import Array, ListOf, Number, TupleOf
from srcdiff.ir.nodes import UNBOUND, Apply, Block, Branch, Const, Exit, ListDisplay, Loop, Next, Operand, Stmt, Var, Yield
from srcdiff.ir.ops import DISPLAY, SUB
from srcdiff.ir.walk import source_targets, variables_in, vars_of
from srcdiff.passes.dead_code import drop_dead_code_in
from srcdiff.rules.builder import Builder
from srcdiff.rules.staging import Staged
from srcdiff.transform.adjoints import Adjoints, add_item, full, zero
from srcdiff.transform.saving import Trip, going_on_arm, save

if TYPE_CHECKING:
    from srcdiff.transform.reverse import Reverser


def reverse_loop(reverser: Reverser, loop: Loop, adjoints: Adjoints, b: Builder) -> list[Stmt]:
    """Add the reverse loop to `b`; returns the statements of the forward sweep that stand for the loop."""
    carried = [i for i, (p, r) in enumerate(zip(loop.params, loop.results)) if p in reverser.active or r in reverser.active]
    incoming = {i: adjoints.take(loop.results[i]) for i in carried}
    restored = reverser.restorer.carried_by(loop)
    if all(v is None for v in incoming.values()) and not restored:
        return [loop]
    outer = _outer_actives(reverser, loop)
    constant: set[Any] = set()
    reverser.depth += 1
    while True:
        built = _body(reverser, loop, carried, outer, incoming, constant, restored, adjoints, b)
        found = built.unchanged - constant
        if not found:
            break
        constant |= found
    reverser.depth -= 1
    built.constant = constant
    return _assemble(reverser, loop, built, incoming, adjoints, b)


class _Built:
    """The reverse of a trip: its statements, and what each carried adjoint is at its end."""

    def __init__(self) -> None:
        self.inner: Builder
        self.heads: dict[Any, Var] = {}
        self.tails: dict[Any, Staged] = {}
        self.unchanged: set[Any] = set()
        self.body: Block
        self.index: Var | None = None
        self.scattered: list[Any] = []
        self.carried: list[int] = []
        self.arrays: dict[int, tuple[Var, Var]] = {}  # restored arrays: at the head of a trip backwards, and at its end
        self.constant: set[Any] = set()


def _outer_actives(reverser: Reverser, loop: Loop) -> list[Var]:
    """Active values from before the loop that its trips read."""
    inside = set(loop.params) | set(variables_in(loop.body)) | {t for s in loop.sources for t in source_targets(s)}
    found: dict[Var, None] = {}
    _collect(loop.body, inside, found)
    for source in loop.sources:
        if isinstance(source.iterable, Var):
            found[source.iterable] = None
    return [v for v in found if v in reverser.active]


def _collect(block: Block, inside: set[Var], found: dict[Var, None]) -> None:
    from srcdiff.ir.walk import blocks_of, operands_of

    for node in (*block.stmts, block.end):
        for var in vars_of(operands_of(node)):
            if var not in inside:
                found[var] = None
        for inner in blocks_of(node):
            _collect(inner, inside, found)


def _start(key: Any, loop: Loop, incoming: dict[int, Staged | None], adjoints: Adjoints, b: Builder) -> Staged:
    """What a carried adjoint is before the first trip backwards."""
    if isinstance(key, int):
        known = incoming[key]
        of = loop.results[key]
    else:
        known, of = adjoints.get(key), key
    if known is None:
        return zero(of, b)
    return full(Staged(b, known.atom, known.dims, known.like), of)


def _body(
    reverser: Reverser,
    loop: Loop,
    carried: list[int],
    outer: list[Var],
    incoming: dict[int, Staged | None],
    constant: set[Any],
    restored: list[int],
    adjoints: Adjoints,
    b: Builder,
) -> _Built:
    built = _Built()
    inner = b.inside()
    table = Adjoints(around=adjoints)
    reverser.restorer.attend(inner, table)
    held = {i: Var(loop.results[i].hint, loop.results[i].kind, loop.results[i].is_users) for i in restored}
    heads: dict[int, Staged | None] = {}
    for i in carried:
        if i in constant:
            known = incoming[i]
            heads[i] = None if known is None else Staged(inner, known.atom, known.dims, known.like)
            continue
        of = loop.results[i]
        head = Var(f"{of.hint}_bar", _bar_kind(loop.params[i]))
        built.heads[i] = head
        heads[i] = Staged(inner, head)
    for var in outer:
        if var in constant:
            continue
        head = Var(f"{var.hint}_bar", _bar_kind(var))
        built.heads[var] = head
        table.put(var, Staged(inner, head))
    forward = _tree(reverser, loop.body, loop.params, heads, held, table, inner)
    built.arrays = {i: (head, table.array(loop.params[i]) or loop.params[i]) for i, head in held.items()}
    for source in loop.sources:
        for target in source_targets(source):
            bar = table.get(target)
            if isinstance(target.kind, TupleOf) and any(
                table.get((target, i)) is not None for i in range(len(target.kind.items))
            ):
                raise KindError(
                    "the derivative of a list of tuples whose length the run decides is not accepted",
                    loop.origin,
                    instead="keep a list for each part, or make the items lists.",
                )
            if bar is not None and isinstance(source.iterable, Var) and source.iterable in reverser.active:
                built.scattered.append((source, target, bar))
    if built.scattered:
        built.index = Var("i", Number("int"))
        for source, _target, bar in built.scattered:
            place = inner.apply(SUB, (Const(-1), built.index)) if source.is_reversed else built.index
            add_item(table, source.iterable, place, bar, inner, is_unique=True)
    for key, head in built.heads.items():
        key_var = loop.params[key] if isinstance(key, int) else key
        tail = table.get(key_var)
        if tail is None:
            # Of a value whose lengths differ from trip to trip, the zero is of the trip's own.
            tail = zero(head if _has_fixed_lengths(key_var) else key_var, inner)
        if tail.atom is head:
            built.unchanged.add(key)
        elif (
            isinstance(key, int)
            and incoming[key] is None
            and isinstance(tail.atom, Const)
            and tail.atom.value == 0.0
            and not _reads(inner.stmts, head)
        ):
            built.unchanged.add(key)
        else:
            built.tails[key] = full(Staged(inner, tail.atom, tail.dims, tail.like), key_var)
    built.inner = inner
    built.carried = sorted({*carried, *restored})
    built.body = forward
    return built


def _has_fixed_lengths(var: Var) -> bool:
    kind = var.kind
    if isinstance(kind, ListOf):
        return isinstance(kind.length, int) or kind.length.expr is not None
    return not isinstance(kind, Array) or (
        kind.dims is not None and all(isinstance(n, int) or n.expr is not None for n in kind.dims)
    )


def _reads(stmts: list[Stmt], var: Var) -> bool:
    found: dict[Var, None] = {}
    _collect(Block(tuple(stmts), Yield(())), set(), found)
    return var in found


def _bar_kind(var: Var) -> Any:
    kind = var.kind
    if isinstance(kind, Number):
        return Number("float")
    if isinstance(kind, ListOf) and isinstance(kind.item, Number):
        return ListOf(Number("float"), kind.length)
    return kind


def _tree(
    reverser: Reverser,
    block: Block,
    params: tuple[Var, ...],
    heads: dict[int, Staged | None],
    held: dict[int, Var],
    table: Adjoints,
    b: Builder,
) -> Block:
    """Reverse the tree of a body; returns the tree of the forward sweep."""
    from srcdiff.transform.reverse import join_tables

    end = block.end
    going_on = going_on_arm(block, params, {*heads, *held})
    if isinstance(end, Branch) and going_on is not None:
        # A way out that changes nothing is no trip: only the other arm has an adjoint.
        new = _tree(reverser, going_on, params, heads, held, table, b)
        end = Branch(end.cond, new, end.orelse) if going_on is end.then else Branch(end.cond, end.then, new)
    elif isinstance(end, Branch):
        arms = []
        for arm in (end.then, end.orelse):
            inner, own = b.inside(), Adjoints(table)
            reverser.restorer.attend(inner, own)
            new = _tree(reverser, arm, params, heads, held, own, inner)
            arms.append((inner, own, new))
        joined = join_tables(end.cond, [(i, t, list(n.stmts)) for i, t, n in arms], table, b)
        end = Branch(end.cond, arms[0][2], arms[1][2])
        if joined is not None:
            b.add(joined)
    elif isinstance(end, (Next, Exit)):
        for i, array in held.items():
            reverser.restorer.hand(end.values[i], array, table)
        for i, head in heads.items():
            if head is not None:
                reverser.give(table, end.values[i], Staged(b, head.atom, head.dims, head.like), b)
    forward = reverser.block(block.stmts, table, b)
    return Block(tuple(forward), end)


def _assemble(
    reverser: Reverser, loop: Loop, built: _Built, incoming: dict[int, Staged | None], adjoints: Adjoints, b: Builder
) -> list[Stmt]:
    keys = list(built.tails)
    # Accumulators of values from before the loop come first, carried adjoints after them.
    keys.sort(key=lambda k: isinstance(k, int))
    starts: dict[Any, Operand] = {}
    results: dict[Any, Var] = {}
    for key in keys:
        start = _start(key, loop, incoming, adjoints, b)
        starts[key] = start.atom
        head = built.heads[key]
        results[key] = Var(head.hint, head.kind)
    held = {i: Var(head.hint, head.kind, head.is_users) for i, (head, _) in built.arrays.items()}
    ends = (*(built.tails[k].atom for k in keys), *(tail for _, tail in built.arrays.values()))
    body = Block(tuple(built.inner.stmts), Next(ends))
    params = (*(built.heads[k] for k in keys), *(head for head, _ in built.arrays.values()))
    inits = (*(starts[k] for k in keys), *(adjoints.array(loop.results[i]) or loop.results[i] for i in held))
    # A carried adjoint that nobody needs after the loop, and that no trip needs, goes before what is kept is decided.
    draft = Loop((), params, inits, body, (*(results[k] for k in keys), *held.values()), b.origin)
    needed = tuple(results[k] for k in keys if not isinstance(k, int) or _is_wanted(reverser, loop.inits[k]))
    needed += tuple(var for i, var in held.items() if reverser.restorer.goes_back(loop, i))
    swept = drop_dead_code_in(Block((draft,), Yield(needed)))
    if not swept.stmts:
        _pass_through(reverser, loop, built, incoming, adjoints, b)
        return [replace(loop, body=built.body)]
    original = loop
    before: list[Stmt] = []
    loop = replace(loop, inits=tuple(_readable(loop, i, i in incoming, before) for i in range(len(loop.inits))))
    trimmed = swept.stmts[-1]
    assert isinstance(trimmed, Loop)
    trip = Trip(replace(loop, body=built.body), trimmed, built.index, frozenset(built.carried))
    forward, backward = save(trip, b, reverser)
    for stmt in backward:
        b.add(stmt)
    kept_results = set(trimmed.results)
    for i, var in held.items():
        if var in kept_results:
            reverser.restorer.flowed[original, i] = var
            reverser.restorer.hand(loop.inits[i], var, adjoints)
    for key in keys:
        if results[key] not in kept_results:
            continue
        value = Staged(b, results[key])
        if not isinstance(key, int):
            adjoints.put(key, value)
    for key in keys:
        if isinstance(key, int) and results[key] in kept_results:
            reverser.give(adjoints, loop.inits[key], _to_init(Staged(b, results[key]), loop.inits[key], b), b)
    _pass_through(reverser, loop, built, incoming, adjoints, b)
    return [*before, *forward]


def _readable(loop: Loop, i: int, is_active: bool, before: list[Stmt]) -> Operand:
    """What the reverse sweep reads of a loop without trips: None rather than nothing, an empty list rather than none."""
    init, param = loop.inits[i], loop.params[i]
    if not (is_active and isinstance(init, Const) and init.value is UNBOUND):
        return init
    if not isinstance(param.kind, ListOf):
        return Const(None)
    empty = Var(param.hint, ListOf(param.kind.item, 0), param.is_users)
    before.append(Apply((empty,), DISPLAY, (ListDisplay(()),), (), loop.origin))
    return empty


def _pass_through(
    reverser: Reverser, loop: Loop, built: _Built, incoming: dict[int, Staged | None], adjoints: Adjoints, b: Builder
) -> None:
    """An adjoint that no trip changes is that of the initial value."""
    for i, value in incoming.items():
        if i in built.constant and value is not None:
            reverser.give(adjoints, loop.inits[i], _to_init(Staged(b, value.atom, value.dims, value.like), loop.inits[i], b), b)


def _to_init(value: Staged, init: Operand, b: Builder) -> Staged:
    from srcdiff.rules.staging import dims_of, unbroadcast

    if (
        isinstance(init, Var)
        and not isinstance(init.kind, ListOf)
        and dims_of(init.kind) != value.dims
        and dims_of(init.kind) == ()
    ):
        return unbroadcast(value, (), init)
    return value


def _is_wanted(reverser: Reverser, init: Operand) -> bool:
    return any(v in reverser.active for v in vars_of((init,)))
