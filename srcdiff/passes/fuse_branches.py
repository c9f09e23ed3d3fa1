"""Make one If of two with the same condition.

    a = if c: yield x else: yield y            a, b = if c: t = exp(x); yield x, t
    b = if c: t = exp(a); yield t      →              else: yield y, 0
        else: yield 0

Pure statements that stand between go before or behind the pair, where they read nothing of it and don't get in its way.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from srcdiff.ir.nodes import (
    UNBOUND,
    Apply,
    Atom,
    Block,
    Branch,
    Const,
    End,
    Free,
    Function,
    If,
    Loop,
    Operand,
    Ref,
    Stmt,
    Var,
    Yield,
)
from srcdiff.ir.walk import blocks_of, bound_by, operands_of, parts_of, substitute_block, vars_of
from srcdiff.passes.dead_code import has_effect

_MOST_BETWEEN = 40
_VERSIONS = frozenset(["index_add", "index_set", "scatter_add", "append", "pop", "insert"])


def fuse_branches(function: Function) -> Function:
    return replace(function, body=_block(function.body))


def _block(block: Block) -> Block:
    out: list[Stmt] = []
    pair: _Pair | None = None
    for stmt in block.stmts:
        match stmt:
            case If(then=then, orelse=orelse, around=around) if around is not None:
                out += [] if pair is None else pair.statements()
                pair = None
                out.append(replace(stmt, then=_block(then), orelse=_block(orelse)))
            case If(cond, then, orelse):
                stmt = replace(stmt, then=_block(then), orelse=_block(orelse))
                if pair is not None and pair.cond == cond and pair.fuse(stmt):
                    continue
                if pair is not None:
                    out += pair.statements()
                pair = _Pair(stmt)
            case Loop(body=body):
                if pair is not None:
                    out += pair.statements()
                    pair = None
                out.append(replace(stmt, body=_block(body)))
            case _:
                if pair is None:
                    out.append(stmt)
                elif has_effect(stmt) or len(pair.between) > _MOST_BETWEEN:
                    out += [*pair.statements(), stmt]
                    pair = None
                else:
                    pair.between.append(stmt)
    if pair is not None:
        out += pair.statements()
    return Block(tuple(out), _end(block.end))


def _end(end: End) -> End:
    return Branch(end.cond, _block(end.then), _block(end.orelse)) if isinstance(end, Branch) else end


def read_by(block: Block) -> Iterable[Var]:
    """The variables that a block reads, its own among them."""
    for node in (*block.stmts, block.end):
        yield from vars_of(operands_of(node))
        for inner in blocks_of(node):
            yield from read_by(inner)


@dataclass
class _Pair:
    """An If, and the statements behind it that another with its condition could pass."""

    stmt: If
    between: list[Apply] = field(default_factory=list)
    before: list[Stmt] = field(default_factory=list)
    is_fused: bool = False

    @property
    def cond(self) -> Atom:
        return self.stmt.cond

    def statements(self) -> list[Stmt]:
        """The statements, with the pairs that have met in the arms fused as well."""
        stmt = self.stmt
        if self.is_fused:
            stmt = replace(stmt, then=_block(stmt.then), orelse=_block(stmt.orelse))
        return [*self.before, stmt, *self.between]

    def fuse(self, second: If) -> bool:
        """Take in a second If with the same condition; whether that was possible."""
        moved = self.moved(second)
        if moved is None:
            return False
        arms = [_chained(a, b, self.stmt.results) for a, b in ((self.stmt.then, second.then), (self.stmt.orelse, second.orelse))]
        if arms[0] is None or arms[1] is None:
            return False
        results = (*self.stmt.results, *second.results)
        self.before += moved[0]
        self.between = moved[1]
        self.stmt = If(self.stmt.cond, arms[0], arms[1], results, self.stmt.origin)
        self.is_fused = True
        return True

    def moved(self, second: If) -> tuple[list[Apply], list[Apply]] | None:
        """Where the statements between go: before or behind; None where one has to stay."""
        before: list[Apply] = []
        behind: list[Apply] = []
        depends = set(self.stmt.results)
        read = {*read_by(second.then), *read_by(second.orelse)} if self.between else set()
        read_first = {*read_by(self.stmt.then), *read_by(self.stmt.orelse)} if self.between else set()
        for stmt in self.between:
            reads = vars_of(operands_of(stmt))
            overwrites = stmt.op.style in _VERSIONS and reads[:1] and reads[0] in read_first
            if depends.isdisjoint(reads) and not overwrites:
                before.append(stmt)
                continue
            if not read.isdisjoint(bound_by(stmt)) or not read.isdisjoint(reads):
                return None
            depends.update(bound_by(stmt))
            behind.append(stmt)
        return before, behind


def _chained(first: Block, second: Block, results: tuple[Var, ...]) -> Block | None:
    """The arm that does both; None where the second reads what the first leaves unbound, or an operand where an atom is due."""
    values = dict(zip(results, operands_of(first.end), strict=True))
    read = {var for var in read_by(second) if var in values}
    if any(not _is_atom(values[var]) for var in read):
        return None
    second = substitute_block(second, {var: values[var] for var in read})
    return Block((*first.stmts, *second.stmts), Yield((*operands_of(first.end), *operands_of(second.end))))


def _is_atom(operand: Operand) -> bool:
    is_atom = isinstance(operand, (Var, Const, Free, Ref)) and not parts_of(operand)
    return is_atom and operand != Const(UNBOUND)
