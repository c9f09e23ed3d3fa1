"""The reverse of a loop of which few states are kept: what a trip computed is computed again from the last state before it.

    with checkpoint(budget=40):               for k in range(n): u = step(u, w)
        for k in range(n):              →
            u = step(u, w)                    u_bar, w_bar = reverse_trips(0, n, 20, 20, u_0, w, u_bar, w_bar)

    def run_trips(first, last, u, w):         the loop, from one trip to another
    def reverse_trips(first, last, states, segment, u, w, u_bar, w_bar):
        while last - first > segment:
            middle = first + stride(last - first, states, segment)
            u_1 = run_trips(first, middle, u, w)
            u_bar, w_bar = reverse_trips(middle, last, states - 1, segment, u_1, w, u_bar, w_bar)
            last = middle
        …                                     both sweeps of what is left, of which each trip is kept

A segment is a stretch of trips of which each is kept. Where `states` may be kept besides, `stride` says where the next one is:
Griewank's and Walther's binomial schedule (Evaluating Derivatives, chapter 12), which runs the fewest trips again. All of these
are procedures that stand alone, and so have derivatives themselves.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from srcdiff.analysis.activity import may_carry
from srcdiff.errors import SyntaxNotAccepted
from srcdiff.ir import ops
from srcdiff.ir.kinds import BOOL, INT, Array, ListOf
from srcdiff.ir.nodes import (
    Apply,
    Block,
    Branch,
    Const,
    End,
    Exit,
    Function,
    Loop,
    Next,
    Operand,
    Procedure,
    Range,
    Return,
    Source,
    Stmt,
    Var,
    Yield,
)
from srcdiff.ir.ops import call_op, procedure_op
from srcdiff.ir.walk import (
    ends_of,
    free_vars,
    renewed,
    source_atoms,
    source_targets,
    substitute_block,
    variables_in,
    vars_of,
    with_blocks,
    with_end,
)
from srcdiff.passes.dead_code import drop_dead_code_in
from srcdiff.prepare.entry import unknown
from srcdiff.prepare.procedures import named_parameters
from srcdiff.prepare.program import prepare
from srcdiff.read.source import read_function
from srcdiff.rules.builder import Builder
from srcdiff.rules.staging import Staged
from srcdiff.transform.adjoints import Adjoints, as_float, full, zero
from srcdiff.transform.again import swept
from srcdiff.transform.procedures import Pairs, bar_kind, single
from srcdiff.transform.saving import going_on_arm

if TYPE_CHECKING:
    from srcdiff.transform.reverse import Reverser

MOST_STATES = 200
"""As many calls deep `reverse_trips` may go; where the budget is for more, segments are longer."""


def stride(trips: int, states: int, segment: int) -> int:
    """How many trips to run before the next state: all but what these states can go back through, run once less often."""
    shorter, longer, runs = segment, segment * (states + 1), 1
    while longer < trips:
        runs += 1
        shorter, longer = longer, longer * (states + runs) // runs
    return shorter


def states_for(trips: int) -> int:
    """The logarithm of a number of trips."""
    states = 1
    while 2**states < trips:
        states += 1
    return states


@dataclass(frozen=True)
class Trips:
    """The procedures of a loop: which of its values they are given, and which adjoints come out."""

    reverse: Procedure
    state: tuple[int, ...]
    around: tuple[Var, ...]
    moving: tuple[int, ...]
    moving_around: tuple[Var, ...]


def reverse_checkpointed(reverser: Reverser, loop: Loop, adjoints: Adjoints, b: Builder) -> list[Stmt]:
    """Add the reverse of a loop of which few states are kept to `b`; returns the statements of the forward sweep."""
    plain = replace(loop, checkpoint=None)
    counted: Var | None = None
    incoming = {i: adjoints.take(r) for i, r in enumerate(loop.results) if r in reverser.active}
    if all(bar is None for bar in incoming.values()):
        return [plain]
    _check(loop)
    if any(isinstance(end, Exit) for end in ends_of(loop.body)):
        counted = Var("trips", INT)
        plain = _counting(plain, counted)
    key = (loop, tuple(sorted(incoming)))
    trips = reverser.pairs.trips.get(key)
    if trips is None:
        trips = reverser.pairs.trips[key] = _procedures(reverser, _without_way_out(loop))
    count = _trip_count(loop, b) if counted is None else counted
    states, segment = _budget(loop, count, b)
    bars: list[Operand] = []
    for i in trips.moving:
        bar, of = incoming.get(i), loop.results[i]
        bars.append(as_float(zero(of, b) if bar is None else full(Staged(b, bar.atom, bar.dims, bar.like), of), b).atom)
    for var in trips.moving_around:
        known = adjoints.get(var)
        bars.append(as_float(zero(var, b) if known is None else full(Staged(b, known.atom, known.dims, known.like), var), b).atom)
    args = (Const(0), count, states, segment, *(loop.inits[i] for i in trips.state), *trips.around, *bars)
    targets = tuple(Var(f"{v.hint}_bar", bar_kind(v)) for v in (*(loop.params[i] for i in trips.moving), *trips.moving_around))
    call = Apply(targets, procedure_op(trips.reverse), args, (), b.origin)
    b.add(call)
    for target in targets:
        b.made[target] = call
    of_state, of_around = targets[: len(trips.moving)], targets[len(trips.moving) :]
    for var, target in zip(trips.moving_around, of_around):
        adjoints.put(var, Staged(b, target))
    for i, target in zip(trips.moving, of_state):
        reverser.give(adjoints, loop.inits[i], Staged(b, target), b)
    return [plain]


def _check(loop: Loop) -> None:
    why, instead = "", "take it out of `with checkpoint()`, or write it as a loop that is left before a trip changes anything."
    if any(isinstance(end, Exit) for end in ends_of(loop.body)) and _going_on(loop) is None:
        why = "It may be left in the middle of a trip."
    elif any(isinstance(source.target, tuple) for source in loop.sources):
        why = "Its items are tuples."
    elif any(isinstance(s.iterable, Range) and not isinstance(s.iterable.step, Const) for s in loop.sources):
        why = "The step of its range is not known when the function is compiled."
    elif any(isinstance(p.kind, ListOf) for p in loop.params):
        why = "It carries a list, which would be kept with each state."
    if why:
        raise SyntaxNotAccepted("this loop cannot be checkpointed", loop.origin, why, instead)


def _going_on(loop: Loop) -> Block | None:
    """The arm of the body that goes on for certain, where the other leaves the loop with all that it carries as it came."""
    arm = going_on_arm(loop.body, loop.params, frozenset(range(len(loop.params))))
    return None if arm is None or any(isinstance(end, Exit) for end in ends_of(arm)) else arm


def _without_way_out(loop: Loop) -> Loop:
    """The loop of the trips that are known to go on."""
    arm = _going_on(loop)
    return loop if arm is None else replace(loop, body=Block((*loop.body.stmts, *arm.stmts), arm.end))


def _counting(loop: Loop, count: Var) -> Loop:
    """The loop, which counts its trips."""
    number = Var("trips", INT)

    def ended(end: End) -> Block | End:
        if isinstance(end, Exit):
            return Exit((*end.values, number))
        assert isinstance(end, Next)
        more = Var("trips", INT)
        return Block((Apply((more,), ops.ADD, (number, Const(1))),), Next((*end.values, more)))

    body = with_end(loop.body, ended)
    params, inits = (*loop.params, number), (*loop.inits, Const(0))
    return replace(loop, params=params, inits=inits, body=body, results=(*loop.results, count))


# ---------------------------------------------------------------- how many


def _trip_count(loop: Loop, b: Builder) -> Operand:
    counts: list[Operand] = []
    for source in loop.sources:
        match source.iterable:
            case Range(_, None, _):
                pass
            case Range(start, stop, Const(step)):
                assert stop is not None
                ends = (start, stop) if step > 0 else (stop, start)
                size: Operand = stop if ends == (Const(0), stop) else b.apply(ops.SUB, (ends[1], ends[0]), kind=INT, hint="trips")
                if abs(step) != 1:
                    size = b.apply(ops.ADD, (size, Const(abs(step) - 1)), kind=INT, hint="trips")
                    size = b.apply(ops.FLOORDIV, (size, Const(abs(step))), kind=INT, hint="trips")
                counts.append(size)
            case iterable:
                counts.append(b.apply(ops.LEN, (iterable,), kind=INT, hint="trips"))  # type: ignore[arg-type]
    return counts[0] if len(counts) == 1 else b.apply(call_op(min, "min"), tuple(counts), kind=INT, hint="trips")


def _budget(loop: Loop, count: Operand, b: Builder) -> tuple[Operand, Operand]:
    """How many states are kept, and how many trips between them where the reverse sweep is."""
    assert loop.checkpoint is not None
    budget = loop.checkpoint.value
    if budget is None:
        states = b.apply(procedure_op(_written(states_for)), (count,), kind=INT, hint="states")
        return states, states
    states = min(max(1, budget // 2), MOST_STATES)
    return Const(states), Const(max(1, budget - states))


@functools.cache
def _written(fn: Callable[..., Any]) -> Procedure:
    """A function of this module as a procedure: it is lowered like one of the user's."""
    source = read_function(fn)
    names = [a.arg for a in source.node.args.args]
    primal = prepare(source, {name: unknown(name, "int") for name in names})
    block = _without_origins(Block(primal.stmts, Return(primal.returned())))
    return Procedure(fn.__name__, fn.__name__, Function(fn.__name__, primal.params, block, primal.docstring, is_inner=True))


def _without_origins(block: Block) -> Block:
    def one(stmt: Stmt) -> Stmt:
        inner: Stmt = with_blocks(stmt, _without_origins)
        return replace(inner, origin=None)

    return Block(tuple(one(stmt) for stmt in block.stmts), with_blocks(block.end, _without_origins))


# ---------------------------------------------------------------- the procedures


def _procedures(reverser: Reverser, loop: Loop) -> Trips:
    """The procedures that run and reverse some of a loop's trips."""
    pairs: Pairs = reverser.pairs
    around = _around(loop)
    moving = tuple(i for i, p in enumerate(loop.params) if p in reverser.active and may_carry(p.kind))
    moving_around = tuple(v for v in around if v in reverser.active and may_carry(v.kind))
    first, last = Var("first", INT, True), Var("last", INT, True)
    states, segment = Var("states", INT, True), Var("segment", INT, True)
    state = _copies(loop.params)
    held = _copies(around)
    end = Var("last", INT, True)
    of = (*(loop.params[i] for i in moving), *moving_around)
    bars, heads, ends = ([Var(f"{v.hint}_bar", bar_kind(v), True) for v in of] for _ in range(3))

    # Both sweeps of the trips that are left.
    stretch, results = _some_trips(loop, first, end, state, dict(zip(around, held)))
    inside = {**dict(zip(around, held))}
    inputs = [*(state[i] for i in moving), *(inside[v] for v in moving_around)]
    outputs = [*(results[i] for i in moving), *(inside[v] for v in moving_around)]
    stmts, gradients = swept(pairs, stretch, inputs, list(zip(outputs, ends)))
    left = drop_dead_code_in(Block(stmts, Return(single(gradients))))

    # What of the state the reverse sweep reads, or what it reads is computed of.
    read = set(free_vars(left))
    needed = [i for i, v in enumerate(state) if v in read]
    while True:
        own, own_around = _copies(loop.params), _copies(around)
        mapping = dict(zip(around, own_around))
        run, out = _some_trips(loop, first, last, own, mapping)
        forward = drop_dead_code_in(Block(run, Return(single(tuple(out[i] for i in needed)))))
        reads = set(free_vars(forward))
        more = [i for i, v in enumerate(own) if v in reads or i in needed]
        if more == needed:
            break
        needed = more
    runs_around = [v for v, copy in zip(around, own_around) if copy in reads]
    kept_around = [v for v, copy in zip(around, held) if copy in read or v in runs_around]
    params = (first, last, *(own[i] for i in needed), *(mapping[v] for v in runs_around))
    running = Procedure("run_trips", "run_trips")
    running.function = Function(running.name, named_parameters(params), forward, is_inner=True)

    reverse = Procedure("reverse_trips", "reverse_trips")
    b = Builder()
    trips = b.apply(ops.SUB, (end_of_loop := Var("last", INT, True), first), kind=INT, hint="trips")
    is_long = b.apply(ops.GT, (trips, segment), kind=BOOL)
    inner = b.inside()
    steps = inner.apply(procedure_op(_written(stride)), (trips, states, segment), kind=INT, hint="steps")
    middle = inner.apply(ops.ADD, (first, steps), kind=INT, hint="middle")
    later = tuple(Var(state[i].hint, state[i].kind, state[i].is_users) for i in needed)
    args = (first, middle, *(state[i] for i in needed), *(inside[v] for v in runs_around))
    if later:
        inner.add(Apply(later, procedure_op(running), args))
    fewer = inner.apply(ops.SUB, (states, Const(1)), kind=INT, hint="fewer")
    after = tuple(Var(v.hint, v.kind, True) for v in bars)
    given = (middle, end_of_loop, fewer, segment, *later, *(inside[v] for v in kept_around), *heads)
    inner.add(Apply(after, procedure_op(reverse), given))
    going_on = Block(tuple(inner.stmts), Next((middle, *after)))
    over = Block((), Exit((end_of_loop, *heads)))
    whole = Loop(
        (),
        (end_of_loop, *heads),
        (last, *bars),
        Block(tuple(b.stmts), Branch(is_long, going_on, over)),
        (end, *ends),
    )
    params = (first, last, states, segment, *(state[i] for i in needed), *(inside[v] for v in kept_around), *bars)
    body = Block((whole, *left.stmts), left.end)
    takes = tuple(i for i, v in enumerate(params) if v in bars and isinstance(v.kind, Array) and v.kind.dims is not None)
    reverse.function = Function(reverse.name, named_parameters(params), body, is_inner=True, takes=takes)
    return Trips(reverse, tuple(needed), tuple(kept_around), moving, moving_around)


def _around(loop: Loop) -> tuple[Var, ...]:
    """What the trips read of what is around the loop."""
    own = {*loop.params, *(t for s in loop.sources for t in source_targets(s)), *variables_in(loop.body)}
    read = [*free_vars(loop.body), *(v for s in loop.sources for v in vars_of(_read_by(s)))]
    return tuple(dict.fromkeys(v for v in read if v not in own))


def _read_by(source: Source) -> tuple[Operand, ...]:
    return (source.iterable.start,) if isinstance(source.iterable, Range) else source_atoms(source)


def _copies(variables: Sequence[Var]) -> tuple[Var, ...]:
    return tuple(Var(v.hint, v.kind, v.is_users) for v in variables)


def _some_trips(
    loop: Loop, first: Var, last: Var, state: Sequence[Var], around: dict[Var, Var]
) -> tuple[tuple[Stmt, ...], tuple[Var, ...]]:
    """The loop from one trip to another, from a state, and what is around by other names; and its results."""
    b = Builder()
    targets = {t: Var(t.hint, t.kind, t.is_users) for s in loop.sources for t in source_targets(s)}
    header = next((s for s in loop.sources if _counts(s)), None)
    number = targets[header.target] if header is not None else Var("k", INT)  # type: ignore[index]
    for source in loop.sources:
        assert isinstance(source.target, Var)
        if source is header:
            continue
        target = targets[source.target]
        if isinstance(source.iterable, Range):
            start, step = source.iterable.start, source.iterable.step
            steps: Operand = number if step == Const(1) else b.apply(ops.MUL, (step, number), kind=INT)
            args = (start, steps)
            b.add(Apply((target,), ops.ADD, args))
        else:
            place: Operand = b.apply(ops.SUB, (Const(-1), number), kind=INT) if source.is_reversed else number
            b.add(Apply((target,), ops.ITEM, (source.iterable, place)))
    body = substitute_block(loop.body, dict[Var, Operand](targets))
    block = Block((*b.stmts, *body.stmts), body.end)
    results = _copies(loop.results)
    new = Loop((Source(number, Range(first, last)),), loop.params, tuple(state), block, results, loop.origin)
    made = renewed(Block((new,), Yield(results)), around)
    assert isinstance(made.end, Yield)
    return made.stmts, tuple(v for v in made.end.values if isinstance(v, Var))


def _counts(source: Source) -> bool:
    """Whether a source gives the number of the trip."""
    r = source.iterable
    return isinstance(r, Range) and r.start == Const(0) and r.step == Const(1) and not source.is_reversed
