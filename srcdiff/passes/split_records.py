"""Keep one list for each value of a record, so that each of them can have an adjoint.

    kept.append((a, b))                          kept_0.append(a);  kept_1.append(b)
    for a, b in reversed(kept): …         →      for a, b in zip(reversed(kept_0), reversed(kept_1)): …

A gradient reads well with one list of tuples; to differentiate it again it needs lists of numbers and arrays. Records may
hold records: what an inner loop has kept.
"""

from __future__ import annotations

from dataclasses import replace

from srcdiff.errors import InternalError
from srcdiff.ir import ops
from srcdiff.ir.kinds import Kind, ListOf, TupleOf
from srcdiff.ir.nodes import (
    Apply,
    Block,
    Branch,
    End,
    Exit,
    Function,
    If,
    ListDisplay,
    Loop,
    Next,
    Operand,
    Source,
    Stmt,
    Var,
    Yield,
)
from srcdiff.ir.walk import operands_of, vars_of


def split_records(function: Function) -> Function:
    """The program with its lists of tuples taken apart."""
    return replace(function, body=_Split().block(function.body, (), ()))


def _leaves(kind: Kind) -> list[Kind]:
    """What a value consists of: of a list of tuples a list for each of their parts."""
    match kind:
        case TupleOf(items):
            return [leaf for item in items for leaf in _leaves(item)]
        case ListOf(item, length):
            return [ListOf(leaf, length) for leaf in _leaves(item)]
        case _:
            return [kind]


def _is_record(kind: Kind) -> bool:
    return isinstance(kind, ListOf) and (isinstance(kind.item, TupleOf) or _is_record(kind.item))


class _Split:
    def __init__(self) -> None:
        self.split: dict[Var, tuple[Var, ...]] = {}

    def parts(self, var: Var) -> tuple[Var, ...]:
        """What stands for a variable: itself, or the parts of a record."""
        if not _is_record(var.kind):
            return (var,)
        if var not in self.split:
            self.split[var] = tuple(Var(f"{var.hint}_{i}", kind) for i, kind in enumerate(_leaves(var.kind)))
        return self.split[var]

    def all(self, variables: tuple[Var, ...]) -> tuple[Var, ...]:
        return tuple(part for var in variables for part in self.parts(var))

    def operand(self, operand: Operand, kind: Kind) -> tuple[Operand, ...]:
        """An operand of a kind, in parts; nothing is nothing in each."""
        if isinstance(operand, Var):
            return self.parts(operand)
        if isinstance(operand, tuple) and isinstance(kind, TupleOf):
            return tuple(part for item, k in zip(operand, kind.items) for part in self.operand(item, k))
        return (operand,) * len(_leaves(kind))

    def spread(self, operands: tuple[Operand, ...], like: tuple[Var, ...]) -> tuple[Operand, ...]:
        out: list[Operand] = []
        for operand, var in zip(operands, like, strict=True):
            out += self.operand(operand, var.kind) if _is_record(var.kind) else [operand]
        return tuple(out)

    def block(self, block: Block, nexts: tuple[Var, ...], exits: tuple[Var, ...]) -> Block:
        stmts = [new for stmt in block.stmts for new in self.stmt(stmt)]
        return Block(tuple(stmts), self.end(block.end, nexts, exits))

    def end(self, end: End, nexts: tuple[Var, ...], exits: tuple[Var, ...]) -> End:
        match end:
            case Yield(values):
                return Yield(self.spread(values, nexts))
            case Next(values):
                return Next(self.spread(values, nexts))
            case Exit(values):
                return Exit(self.spread(values, exits))
            case Branch(cond, then, orelse):
                return Branch(cond, self.block(then, nexts, exits), self.block(orelse, nexts, exits))
            case _:
                return end

    def stmt(self, stmt: Stmt) -> list[Stmt]:
        match stmt:
            case Apply():
                return self.apply(stmt)
            case If(_, then, orelse, results):
                new, other = self.block(then, results, ()), self.block(orelse, results, ())
                return [replace(stmt, then=new, orelse=other, results=self.all(results))]
            case Loop(sources, params, inits, body, results):
                every = tuple(s for source in sources for s in self.sources(source))
                inits = self.spread(inits, params)
                body = self.block(body, params, results)
                return [replace(stmt, sources=every, params=self.all(params), inits=inits, body=body, results=self.all(results))]
            case _:
                raise InternalError(f"not a statement: {stmt!r}")

    def apply(self, stmt: Apply) -> list[Stmt]:
        targets, op, args = stmt.targets, stmt.op, stmt.args
        record = targets[0] if targets else None
        if op is ops.LEN and isinstance(args[0], Var) and _is_record(args[0].kind):
            return [replace(stmt, args=(self.parts(args[0])[0],))]
        if record is None or not _is_record(record.kind):
            if any(_is_record(v.kind) for v in vars_of(operands_of(stmt))):
                raise InternalError(f"a record is read by {op!r}", stmt.origin)
            return [stmt]
        parts = self.parts(record)
        assert isinstance(record.kind, ListOf)
        if op is ops.DISPLAY and args[0] == ListDisplay(()):
            for part in parts:
                assert isinstance(part.kind, ListOf)
                part.kind = ListOf(part.kind.item, 0)
            return [replace(stmt, targets=(part,)) for part in parts]
        if op is ops.APPEND and isinstance(args[0], Var):
            items = self.operand(args[1], record.kind.item)
            return [replace(stmt, targets=(p,), args=(a, i)) for p, a, i in zip(parts, self.parts(args[0]), items, strict=True)]
        raise InternalError(f"a record is made by {op!r}", stmt.origin)

    def sources(self, source: Source) -> list[Source]:
        iterable = source.iterable
        if not isinstance(iterable, Var) or not _is_record(iterable.kind):
            return [source]
        targets = self.all(source.target if isinstance(source.target, tuple) else (source.target,))
        return [Source(target, part, source.is_reversed) for target, part in zip(targets, self.parts(iterable), strict=True)]
