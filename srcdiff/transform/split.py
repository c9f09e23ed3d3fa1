"""A program with tangents in two: what does not depend on them, and what is linear in them and reads values of the first.

    for x, x_dot in zip(xs, xs_dot):           kept = []
        c = cos(x)                             for x in xs: c = cos(x); kept.append(c)
        s_dot = s_dot + c * x_dot        ⟶    for c, x_dot in zip(kept, xs_dot): s_dot = s_dot + c * x_dot

So the tangent can be computed again for other directions without the values (`linearize`, `jacfwd`), and outside of a try
statement, which must not catch what it raises. What the second half reads of a trip is found by building it: what is cheap is
computed again, the rest is kept, one entry of a list for each trip.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from srcdiff.ir import ops
from srcdiff.ir.kinds import Kind, ListOf, TupleOf, opaque
from srcdiff.ir.nodes import (
    Apply,
    Block,
    Branch,
    Caught,
    Const,
    End,
    Exit,
    If,
    ListDisplay,
    Loop,
    Managed,
    Next,
    Operand,
    Procedure,
    Range,
    Source,
    Stmt,
    Var,
    Yield,
)
from srcdiff.ir.walk import (
    blocks_of,
    bound_by,
    ends_of,
    free_vars,
    map_block,
    operands_of,
    source_targets,
    variables_in,
    vars_of,
)
from srcdiff.transform.records import is_cheap
from srcdiff.transform.reverse import export, telling, told

Primals = Mapping[Procedure, tuple[Procedure, int, int]]
"""The procedures behind those that take tangents, with how many arguments and results they have themselves."""


def depending(stmts: Iterable[Stmt], on: Iterable[Var], primals: Primals) -> set[Var]:
    """The variables that depend on others, these included; of what a procedure with tangents gives, the tangents alone."""
    found = set(on)
    size = -1
    while size < len(found):
        size = len(found)
        _spread(stmts, found, primals)
    return found


def _spread(stmts: Iterable[Stmt], found: set[Var], primals: Primals) -> None:
    def reads(operand: Operand) -> bool:
        return any(v in found for v in vars_of((operand,)))

    for stmt in stmts:
        match stmt:
            case Apply(targets, op):
                if any(v in found for v in vars_of(operands_of(stmt))):
                    known = primals.get(op.procedure) if op.procedure is not None else None
                    found.update(targets if known is None else targets[known[2] :])
            case If(_, then, orelse, results):
                for arm in (then, orelse):
                    _spread(arm.stmts, found, primals)
                    found.update(r for r, value in zip(results, operands_of(arm.end)) if reads(value))
            case Loop(sources, params, inits, body, results):
                for source in sources:
                    if not isinstance(source.iterable, Range) and reads(source.iterable):
                        found.update(source_targets(source))
                if sources and all(any(t in found for t in source_targets(s)) for s in sources):
                    found.update((*params, *results))  # nothing else tells how many trips there are
                found.update(p for p, init in zip(params, inits) if reads(init))
                _spread_tree(body, found, primals)
                for end in ends_of(body):
                    ways = params if isinstance(end, Next) else results
                    found.update(way for way, value in zip(ways, operands_of(end)) if reads(value))
                found.update(r for p, r in zip(params, results) if p in found)
                found.update(p for p, r in zip(params, results) if r in found)


def _spread_tree(block: Block, found: set[Var], primals: Primals) -> None:
    _spread(block.stmts, found, primals)
    for inner in blocks_of(block.end):
        _spread_tree(inner, found, primals)


def split(stmts: Sequence[Stmt], on: Iterable[Var], primals: Primals) -> tuple[list[Stmt], list[Stmt]]:
    """The statements that do not depend on some variables, and those that do."""
    return Splitter(depending(stmts, on, primals), primals).block(stmts)


@dataclass(eq=False)
class Splitter:
    """Splits statements by what depends on tangents."""

    moving: set[Var]
    primals: Primals

    def block(self, stmts: Sequence[Stmt]) -> tuple[list[Stmt], list[Stmt]]:
        """The statements of the values, and those of the tangents."""
        still: list[Stmt] = []
        moving: list[Stmt] = []
        for stmt in stmts:
            a, b = self.statement(stmt)
            still += a
            moving += b
        return still, moving

    def statement(self, stmt: Stmt) -> tuple[list[Stmt], list[Stmt]]:
        match stmt:
            case Apply():
                return self.apply(stmt)
            case If():
                return self.branch(stmt)
            case Loop():
                return self.loop(stmt)

    def apply(self, stmt: Apply) -> tuple[list[Stmt], list[Stmt]]:
        if not any(t in self.moving for t in stmt.targets):
            return [stmt], []
        known = self.primals.get(stmt.op.procedure) if stmt.op.procedure is not None else None
        if known is None:
            return [], [stmt]
        procedure, count, results = known
        op = replace(stmt.op, procedure=procedure, key=procedure.name, text=procedure.name)
        call = replace(stmt, targets=stmt.targets[:results], op=op, args=stmt.args[:count])
        unread = tuple(Var(t.hint, t.kind, t.is_users) for t in stmt.targets[:results])
        return [call], [replace(stmt, targets=(*unread, *stmt.targets[results:]))]

    # ------------------------------------------------------------ branches

    def branch(self, stmt: If) -> tuple[list[Stmt], list[Stmt]]:
        arms = [self.block(arm.stmts) for arm in (stmt.then, stmt.orelse)]
        places = [i for i, r in enumerate(stmt.results) if r in self.moving]
        if not places:
            return [stmt], []
        rest = [i for i in range(len(stmt.results)) if i not in places]
        values = [operands_of(arm.end) for arm in (stmt.then, stmt.orelse)]

        def half(which: int, of: Sequence[int]) -> If:
            blocks = [Block(tuple(a[which]), Yield(tuple(v[i] for i in of))) for a, v in zip(arms, values)]
            return replace(stmt, then=blocks[0], orelse=blocks[1], results=tuple(stmt.results[i] for i in of))

        still, moving = half(0, rest), half(1, places)
        if isinstance(stmt.around, Caught):
            condition = told(still)
            if condition not in still.results:
                still = telling(still, condition)
            moving = replace(moving, cond=condition, around=None)
        still, moving = export(still, moving)
        if isinstance(stmt.around, Managed) and not stmt.around.is_mirrored:
            given = zip(moving.results, operands_of(moving.then.end))
            return [still], [*moving.then.stmts, *(Apply((r,), ops.COPY, (v,), (), stmt.origin) for r, v in given)]
        return [still], [moving]

    # ------------------------------------------------------------ loops

    def loop(self, loop: Loop) -> tuple[list[Stmt], list[Stmt]]:
        places = [i for i, (p, r) in enumerate(zip(loop.params, loop.results)) if p in self.moving or r in self.moving]
        if not places:
            return [loop], []
        if loop.sources and all(any(t in self.moving for t in source_targets(s)) for s in loop.sources):
            return [], [loop]
        rest = [i for i in range(len(loop.params)) if i not in places]
        bodies = self.tree(loop.body, rest, places)
        sources = [s for s in loop.sources if not any(t in self.moving for t in source_targets(s))]
        beside = [s for s in loop.sources if s not in sources]

        def half(own: Sequence[Source], body: Block, of: Sequence[int]) -> Loop:
            return Loop(
                tuple(own),
                tuple(loop.params[i] for i in of),
                tuple(loop.inits[i] for i in of),
                body,
                tuple(loop.results[i] for i in of),
                loop.origin,
            )

        return _Trips(half(sources, bodies[0], rest), half(beside, bodies[1], places)).connected()

    def tree(self, block: Block, rest: Sequence[int], places: Sequence[int]) -> tuple[Block, Block]:
        still, moving = self.block(block.stmts)
        ends: tuple[End, End]
        match block.end:
            case Branch(cond, then, orelse):
                a, b = self.tree(then, rest, places), self.tree(orelse, rest, places)
                ends = Branch(cond, a[0], b[0]), Branch(cond, a[1], b[1])
            case Next(values):
                ends = Next(tuple(values[i] for i in rest)), Next(tuple(values[i] for i in places))
            case Exit(values):
                ends = Exit(tuple(values[i] for i in rest)), Exit(tuple(values[i] for i in places))
            case end:
                ends = end, end
        return Block(tuple(still), ends[0]), Block(tuple(moving), ends[1])


class _Trips:
    """A loop of values, and one of tangents that reads them trip by trip."""

    def __init__(self, still: Loop, moving: Loop) -> None:
        self.still, self.moving = still, moving
        self.targets = {t for s in still.sources for t in source_targets(s)}
        self.local = {*still.params, *self.targets, *variables_in(still.body)}
        self.made = {t: s for s in still.body.stmts if isinstance(s, Apply) for t in s.targets}
        self.leaves_early = not still.sources or any(isinstance(end, Exit) for end in ends_of(still.body))

    def connected(self) -> tuple[list[Stmt], list[Stmt]]:
        read = [v for v in free_vars(self.moving.body) if v in self.local]
        again = self.computed_again(read)
        needed = [v for v in read if v not in again]
        needed += [v for s in again.values() for v in vars_of(operands_of(s)) if v in self.local and v not in again]
        needed = list(dict.fromkeys(needed))
        headers = [] if self.leaves_early else [v for v in needed if v in self.targets]
        kept = [v for v in needed if v not in headers]
        names: dict[Var, Operand] = {v: Var(v.hint, v.kind, v.is_users) for v in (*needed, *again)}
        sources = []
        for source in self.still.sources:
            is_read = any(t in headers for t in source_targets(source))
            if is_read or (not kept and not self.leaves_early):
                sources.append(_renamed(source, names))
        still: list[Stmt] = [self.still]
        if kept or self.leaves_early:
            still, record = self.recording(kept)
            copies = tuple(v for v in (names[k] for k in kept) if isinstance(v, Var))
            sources.append(Source(copies[0] if len(copies) == 1 else copies, record))
        head = [replace(s, targets=tuple(names.get(t, t) for t in s.targets)) for s in again.values()]  # type: ignore[misc]
        body = Block((*head, *self.moving.body.stmts), self.moving.body.end)
        body = map_block(body, lambda v: names.get(v, v))
        return still, [replace(self.moving, sources=(*sources, *self.moving.sources), body=body)]

    def computed_again(self, read: Sequence[Var]) -> dict[Var, Apply]:
        """What is computed again from what is read anyway, or is there outside of the loop, in the order of the body."""
        there = set(read) | (set() if self.leaves_early else self.targets)
        found: dict[Var, Apply] = {}
        for var in read:
            stmt = self.made.get(var)
            if stmt is not None and is_cheap(stmt):
                parts = [v for v in vars_of(operands_of(stmt)) if v in self.local]
                if all(v in there and v not in found and v is not var for v in parts):
                    found[var] = stmt
        return {t: s for t, s in self.made.items() if t in found}

    def recording(self, kept: Sequence[Var]) -> tuple[list[Stmt], Var]:
        """The loop of values that appends what is read of each trip to a list, and the list."""
        loop = self.still
        kinds: tuple[Kind, ...] = tuple(v.kind for v in kept)
        kind = ListOf(kinds[0] if len(kinds) == 1 else TupleOf(kinds), opaque())
        start, param, result = (Var("kept", kind) for _ in range(3))
        scope = {*loop.params, *self.targets}
        body = _appending(loop.body, param, kept, scope)
        new = replace(loop, params=(*loop.params, param), inits=(*loop.inits, start), results=(*loop.results, result), body=body)
        return [Apply((start,), ops.DISPLAY, (ListDisplay(()),), (), loop.origin), new], result


def _appending(block: Block, param: Var, kept: Sequence[Var], scope: set[Var]) -> Block:
    """A loop's body whose leaves append what they have of the kept values."""
    scope = scope | {v for s in block.stmts for v in bound_by(s)}
    match block.end:
        case Branch(cond, then, orelse):
            return Block(block.stmts, Branch(cond, *(_appending(arm, param, kept, scope) for arm in (then, orelse))))
        case Next(values) | Exit(values):
            items: tuple[Operand, ...] = tuple(v if v in scope else Const(None) for v in kept)
            after = Var("kept", param.kind)
            append = Apply((after,), ops.APPEND, (param, items[0] if len(items) == 1 else items))
            return Block((*block.stmts, append), type(block.end)((*values, after)))
        case _:
            return block


def _renamed(source: Source, names: dict[Var, Operand]) -> Source:
    """A source once more, for other variables."""
    found = []
    for target in source_targets(source):
        new = names.get(target)
        found.append(new if isinstance(new, Var) else Var("_", target.kind))
    return replace(source, target=tuple(found) if isinstance(source.target, tuple) else found[0])
