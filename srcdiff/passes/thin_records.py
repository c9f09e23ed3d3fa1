"""Keep in a record only what is read of it.

    kept.append((a, b))                          kept.append(a)
    for a, b in reversed(kept): … a …     →      for a in reversed(kept): … a …

What the reverse sweep has read for its shape alone is read elsewhere by now. A list is left alone where something other than
`append`, `len` and loops sees it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from srcdiff.ir import ops
from srcdiff.ir.kinds import ListOf, TupleOf
from srcdiff.ir.nodes import Apply, Block, Branch, Function, If, ListDisplay, Loop, Operand, Return, Source, Stmt, Var
from srcdiff.ir.walk import ends_of, map_atom, map_end, map_operands, map_source, map_stmt, operands_of, source_targets, vars_of


def thin_records(function: Function) -> Function:
    records = _Records()
    records.block(function.body)
    needed = records.needed()
    return replace(function, body=_Thinning(records, needed).block(function.body)) if needed else function


def _is_record(operand: Operand) -> bool:
    return isinstance(operand, Var) and isinstance(operand.kind, ListOf) and isinstance(operand.kind.item, TupleOf)


def _holds_records(operand: Operand) -> bool:
    kind = operand.kind if isinstance(operand, Var) else None
    while isinstance(kind, ListOf):
        kind = kind.item
    return isinstance(operand, Var) and isinstance(operand.kind, ListOf) and isinstance(kind, TupleOf)


@dataclass
class _Records:
    """Which lists of tuples are one, and what is read of their items."""

    above: dict[Var, Var] = field(default_factory=dict)
    seen: set[Var] = field(default_factory=set)  # lists that something else may read
    readers: list[tuple[Var, tuple[Var, ...]]] = field(default_factory=list)
    appended: list[tuple[Var, tuple[Operand, ...]]] = field(default_factory=list)
    uses: Counter[Var] = field(default_factory=Counter)

    def find(self, var: Var) -> Var:
        while (other := self.above.get(var)) is not None:
            var = other
        return var

    def unite(self, *operands: Operand) -> None:
        roots = {self.find(o): None for o in operands if isinstance(o, Var) and isinstance(o.kind, ListOf)}
        first, *others = roots or [None]
        for other in others:
            if other is not None and first is not None:
                self.above[other] = first

    def block(self, block: Block) -> None:
        for stmt in block.stmts:
            self.uses.update(vars_of(operands_of(stmt)))
            match stmt:
                case Apply(targets, op, (Var() as base, item)) if op is ops.APPEND:
                    self.unite(targets[0], base)
                    self.appended.append((base, item if isinstance(item, tuple) else (item,)))
                case Apply(targets, op, args):
                    is_start = op is ops.DISPLAY and args[0] == ListDisplay(())
                    if not is_start and op is not ops.LEN:
                        self.see(*targets, *vars_of(operands_of(stmt)))
                case If(_, then, orelse, results):
                    self.block(then)
                    self.block(orelse)
                    for row in zip(results, operands_of(then.end), operands_of(orelse.end)):
                        self.unite(*row)
                case Loop():
                    self.loop(stmt)
        self.uses.update(vars_of(operands_of(block.end)))
        if isinstance(block.end, Branch):
            self.block(block.end.then)
            self.block(block.end.orelse)
        elif isinstance(block.end, Return):
            self.see(*vars_of(operands_of(block.end)))

    def see(self, *variables: Var) -> None:
        self.seen.update(v for v in variables if _holds_records(v))

    def loop(self, loop: Loop) -> None:
        for source in loop.sources:
            if isinstance(source.iterable, Var) and _holds_records(source.iterable):
                if _is_record(source.iterable) and not isinstance(source.target, tuple):
                    self.see(source.iterable)
                else:
                    self.readers.append((source.iterable, source_targets(source)))
            else:
                self.see(*source_targets(source))
        self.block(loop.body)
        for row in zip(loop.params, loop.inits, loop.results, *(operands_of(end) for end in ends_of(loop.body))):
            self.unite(*row)

    def relate(self) -> None:
        """What a record holds is what is read of it; what holds a list that something else sees shows that, too."""
        places: dict[tuple[Var, int], list[Var]] = {}
        for record, operands in (*self.appended, *self.readers):
            for i, operand in enumerate(operands):
                if isinstance(operand, Var) and _holds_records(operand):
                    places.setdefault((self.find(record), i), []).append(operand)
        merged = True
        while merged:
            before = len(self.above)
            for held in places.values():
                self.unite(*held)
            merged = len(self.above) > before
            again: dict[tuple[Var, int], list[Var]] = {}
            for (record, i), held in places.items():
                again.setdefault((self.find(record), i), []).extend(held)
            places = again
        count = -1
        while count < len(self.seen):
            count = len(self.seen)
            roots = {self.find(v) for v in self.seen}
            for (record, _), held in places.items():
                if self.find(record) in roots:
                    self.seen.update(held)

    def needed(self) -> dict[Var, tuple[int, ...]]:
        """By record: the positions that are read, where that is not all."""
        self.relate()
        found: dict[Var, set[int]] = {}
        seen = {self.find(v) for v in self.seen}
        for record, targets in self.readers:
            if not _is_record(record):
                continue
            found.setdefault(self.find(record), set()).update(i for i, t in enumerate(targets) if self.uses[t])
        return {
            root: tuple(sorted(places or {0}))
            for root, places in found.items()
            if root not in seen and len(places or {0}) < len(root.kind.item.items)  # type: ignore[union-attr]
        }


@dataclass
class _Thinning:
    records: _Records
    needed: dict[Var, tuple[int, ...]]
    new: dict[Var, Var] = field(default_factory=dict)

    def places(self, operand: object) -> tuple[int, ...] | None:
        return self.needed.get(self.records.find(operand)) if isinstance(operand, Var) and _is_record(operand) else None

    def var(self, var: Var) -> Var:
        places = self.places(var)
        if places is None:
            return var
        if var not in self.new:
            assert isinstance(var.kind, ListOf) and isinstance(var.kind.item, TupleOf)
            items = tuple(var.kind.item.items[i] for i in places)
            kind = ListOf(items[0] if len(items) == 1 else TupleOf(items), var.kind.length)
            self.new[var] = Var(var.hint, kind, var.is_users)
        return self.new[var]

    def all(self, variables: tuple[Var, ...]) -> tuple[Var, ...]:
        return tuple(self.var(v) for v in variables)

    def block(self, block: Block) -> Block:
        stmts = tuple(self.stmt(stmt) for stmt in block.stmts)
        if isinstance(block.end, Branch):
            return Block(
                stmts, Branch(map_atom(block.end.cond, self.var), self.block(block.end.then), self.block(block.end.orelse))
            )
        return Block(stmts, map_end(block.end, self.var))

    def stmt(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Apply(targets, op, args):
                places = self.places(targets[0]) if op is ops.APPEND else None
                if places is not None and isinstance(args[1], tuple):
                    items = tuple(args[1][i] for i in places)
                    stmt = replace(stmt, args=(args[0], items[0] if len(items) == 1 else items))
                mapped = map_stmt(stmt, self.var)
                assert isinstance(mapped, Apply)
                return replace(mapped, targets=self.all(targets))
            case If(cond, then, orelse, results):
                arms = self.block(then), self.block(orelse)
                return replace(stmt, cond=map_atom(cond, self.var), then=arms[0], orelse=arms[1], results=self.all(results))
            case Loop(sources, params, inits, body, results):
                return replace(
                    stmt,
                    sources=tuple(self.source(source) for source in sources),
                    params=self.all(params),
                    inits=map_operands(inits, self.var),
                    body=self.block(body),
                    results=self.all(results),
                )

    def source(self, source: Source) -> Source:
        places = self.places(source.iterable)
        targets = self.all(source_targets(source))
        if places is not None and isinstance(source.target, tuple):
            targets = tuple(targets[i] for i in places)
            return replace(map_source(source, self.var), target=targets[0] if len(targets) == 1 else targets)
        return replace(map_source(source, self.var), target=targets if isinstance(source.target, tuple) else targets[0])
