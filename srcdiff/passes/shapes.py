"""A shape is a fact of an object, not of a version: reading it keeps no value.

    difference = sub(t, y)                          difference = sub(t, y)
    power = pow(difference, 2)
    size = size(power)                      →       size = size(difference)
    r_bar = mul(2 / size, difference)               r_bar = mul(2 / size, difference)

What the reverse sweep reads for its shape alone is replaced: by a value of the same lengths that is computed anyway, by a
parameter, or by the lengths themselves. Only where there is none the value stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from srcdiff.analysis.binding import enlarged_in, unbound_in
from srcdiff.errors import InternalError
from srcdiff.ir import ops
from srcdiff.ir.kinds import INT, Array, Dim, Kind, Length, ListOf, Number, Opaque
from srcdiff.ir.nodes import (
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
    Source,
    Stmt,
    Var,
)
from srcdiff.ir.walk import (
    atoms_of,
    bound_by,
    operands_of,
    source_targets,
    statements_of,
    substitute_block,
    vars_of,
)
from srcdiff.passes.dead_code import Marks, has_effect
from srcdiff.passes.lengths import NoExpression, expressed
from srcdiff.rules.builder import Builder

_READS = {
    np.shape: "shape",
    np.size: "size",
    len: "len",
    np.zeros_like: "zeros",
    np.ones_like: "ones",
    np.full_like: "full",
    np.empty_like: "empty",
}
_MAKERS = {"zeros": np.zeros, "ones": np.ones, "full": np.full, "empty": np.empty}
_VERSIONS = frozenset(["index_add", "index_set", "scatter_add", "append", "pop", "insert"])

# The order in which values of one shape are preferred.
_COMPUTED, _GIVEN, _TEMPORARY, _PART = range(4)

Shape = tuple[Length, ...]


def read_shapes_elsewhere(function: Function) -> Function:
    """The function with shapes read from values that are there for their numbers."""
    reads = {stmt: _READS[stmt.op.fn] for stmt in statements_of(function.body) if isinstance(stmt, Apply) and _is_read(stmt)}  # type: ignore[index]
    if not reads:
        return function
    pass_ = _Pass(function, reads)
    body = pass_.run()
    return function if body is None else replace(function, body=body)


def is_of_users(stmt: Stmt) -> bool:
    """Whether a statement stands in the user's text: the reverse sweep's have no column."""
    return stmt.origin is not None and stmt.origin.column >= 0


def _is_read(stmt: Apply) -> bool:
    if is_of_users(stmt) or stmt.op.fn not in _READS or not stmt.args or not isinstance(stmt.args[0], Var):
        return False
    kind, count = stmt.args[0].kind, 2 if stmt.op.fn is np.full_like else 1
    if stmt.op.fn is len:
        is_known = isinstance(kind, ListOf) or bool(isinstance(kind, Array) and kind.dims)
    else:
        is_known = isinstance(kind, Array) and kind.dims is not None
    return is_known and len(stmt.args) == count and all(name == "dtype" for name, _ in stmt.kwargs)


@dataclass
class _Table:
    """Values by a fact, a list for each preference, as far as they are in scope."""

    rows: dict[object, tuple[list[tuple[Atom, int]], ...]] = field(default_factory=dict)
    log: list[list[tuple[Atom, int]]] = field(default_factory=list)

    def add(self, fact: object, rank: int, value: Atom, axis: int = -1) -> None:
        row = self.rows.get(fact)
        if row is None:
            row = self.rows[fact] = ([], [], [], [])
        row[rank].append((value, axis))
        self.log.append(row[rank])

    def leave(self, size: int) -> None:
        while len(self.log) > size:
            self.log.pop().pop()

    def find(self, fact: object, ended: set[Var], order: tuple[int, ...]) -> tuple[Atom, int] | None:
        row = self.rows.get(fact)
        if row is None:
            return None
        for rank in order:
            for entry in reversed(row[rank]) if rank in (_COMPUTED, _TEMPORARY) else row[rank]:
                if entry[0] not in ended:
                    return entry
        return None


class _Pass:
    def __init__(self, function: Function, reads: dict[Apply, str]) -> None:
        self.function = function
        self.reads = reads
        self.table = _Table()
        self.ended: set[Var] = set()
        self.mapping: dict[Var, Operand] = {}
        self.parts: dict[Var, list[Apply]] = {}
        self.is_whole: set[Var] = set()
        self.uses: dict[Var, int] = {}
        self.forward: set[Var] = set()
        self.given: set[Var] = {parameter.var for parameter in function.params}
        self.roots: dict[str, Atom] = {parameter.name: parameter.var for parameter in function.params}
        self.unbound = unbound_in(function.body)
        self.enlarged = enlarged_in(function.body, self.unbound)
        self.untrusted: set[int] = set()
        self.has_changed = False
        self.marks = Marks(function.body, self.read_by)

    def read_by(self, stmt: Stmt) -> tuple[Operand, ...]:
        return operands_of(stmt)[1:] if isinstance(stmt, Apply) and stmt in self.reads else operands_of(stmt)

    def run(self) -> Block | None:
        self.survey(self.function.body, False)
        for parameter in self.function.params:
            self.offer(parameter.var, _GIVEN)
        body = self.block(self.function.body, Builder())
        if not self.has_changed:
            return None
        return substitute_block(body, self.mapping)

    # ------------------------------------------------------------ what there is

    def survey(self, block: Block, in_loop: bool) -> None:
        """Count uses, and find the lengths that may differ from trip to trip."""
        for stmt in block.stmts:
            if self.is_read(stmt):
                self.use(self.read_by(stmt))
            match stmt:
                case Apply(targets, op, args):
                    if is_of_users(stmt):
                        self.forward.update(targets)
                    if op is ops.ITEM and isinstance(args[0], Var):
                        self.parts.setdefault(args[0], []).append(stmt)
                    else:
                        self.is_whole.update(vars_of(operands_of(stmt)))
                    if op.style in ("item", "unpack", "attribute") and _is_container(args[0]) and args[0] in self.given:
                        self.given.update(targets)
                case If(_, then, orelse, results):
                    for inner in (then, orelse):
                        self.survey(inner, in_loop)
                    if is_of_users(stmt):
                        self.forward.update(results)
                case Loop():
                    for var in (*stmt.params, *(t for source in stmt.sources for t in source_targets(source))):
                        self.distrust(var)
                    if is_of_users(stmt):
                        self.forward.update(stmt.results)
                        self.forward.update(stmt.params)
                    self.survey(stmt.body, True)
                    for var in stmt.results:
                        self.distrust(var)
                case _:
                    raise InternalError(f"not a statement: {stmt!r}")
            if in_loop:
                for var in bound_by(stmt):
                    self.distrust(var)
        self.use(operands_of(block.end))
        self.is_whole.update(vars_of(operands_of(block.end)))
        if isinstance(block.end, Branch):
            self.survey(block.end.then, in_loop)
            self.survey(block.end.orelse, in_loop)

    def is_read(self, stmt: Stmt) -> bool:
        return not isinstance(stmt, Apply) or has_effect(stmt) or any(target in self.marks.needed for target in stmt.targets)

    def use(self, operands: Iterable[Operand]) -> None:
        for atom in atoms_of(operands):
            if isinstance(atom, Var):
                self.uses[atom] = self.uses.get(atom, 0) + 1
            elif isinstance(atom, Free):
                self.roots.setdefault(atom.text, atom)

    def distrust(self, var: Var) -> None:
        """A length that only the run knows is one number in straight-line code; from trip to trip it changes."""
        if isinstance(var.kind, Array):
            self.untrusted.update(n.serial for n in var.kind.dims or () if isinstance(n, Dim) and n.expr is None)

    def is_trusted(self, length: Length) -> bool:
        return isinstance(length, int) or length.expr is not None or length.serial not in self.untrusted

    def offer(self, var: Var, rank: int | None = None) -> None:
        """Enter a value that is now in scope, by its shape and its lengths."""
        if var in self.unbound or var in self.enlarged:
            return
        if rank is None:
            rank = self.rank(var)
            if rank is None:
                return
        match var.kind:
            case Array(dtype, dims) if dims:
                for axis, length in enumerate(dims):
                    if isinstance(length, Dim) and self.is_trusted(length):
                        self.table.add(("length", length), rank, var, axis)
                if all(self.is_trusted(length) for length in dims):
                    self.table.add(("shape", dims), rank, var)
                    self.table.add(("like", dims, dtype), rank, var)
            case Number("int", Dim() as length) if var in self.given:
                self.table.add(("length", length), rank, var)
            case _:
                pass

    def rank(self, var: Var) -> int | None:
        is_needed = var in self.marks.needed
        if var in self.given:
            return _GIVEN if is_needed else _PART
        if not is_needed:
            return None
        return _COMPUTED if var in self.forward and (var.is_users or self.uses.get(var, 0) > 1) else _TEMPORARY

    # ------------------------------------------------------------ the walk

    def block(self, block: Block, b: Builder) -> Block:
        size = len(self.table.log)
        for stmt in block.stmts:
            match stmt:
                case Apply(targets, op, args):
                    if stmt in self.reads and any(target in self.marks.needed for target in targets):
                        b.origin = stmt.origin
                        self.read(stmt, b)
                    elif not any(target in self.mapping for target in targets):
                        b.add(stmt)
                    if op.style in _VERSIONS and isinstance(args[0], Var):
                        self.end(args[0])
                case If(_, then, orelse, _, _):
                    b.add(replace(stmt, then=self.block(then, b.inside()), orelse=self.block(orelse, b.inside())))
                case Loop():
                    self.loop(stmt, b)
                case _:
                    raise InternalError(f"not a statement: {stmt!r}")
            for var in bound_by(stmt):
                self.offer(var)
        end: End = block.end
        if isinstance(end, Branch):
            end = Branch(end.cond, self.block(end.then, b.inside()), self.block(end.orelse, b.inside()))
        self.table.leave(size)
        return b.block(end)

    def loop(self, loop: Loop, b: Builder) -> None:
        for init in vars_of(loop.inits):
            self.end(init)
        size = len(self.table.log)
        # What a record holds may be None in this trip: another value's shape is not read from it.
        items = (t for source in loop.sources if not _is_record(source) for t in source_targets(source))
        for var in (*loop.params, *items):
            self.offer(var)
        b.add(replace(loop, body=self.block(loop.body, b.inside())))
        self.table.leave(size)
        for param, result in zip(loop.params, loop.results):
            if param in self.marks.needed:
                self.marks.need(result)

    def end(self, var: Var) -> None:
        """What is stored to, or carried into a loop, may be overwritten from here on. Arguments are copied before."""
        if var not in self.given:
            self.ended.add(var)

    # ------------------------------------------------------------ one read

    def read(self, stmt: Apply, b: Builder) -> None:
        value, what = stmt.args[0], self.reads[stmt]
        assert isinstance(value, Var)
        is_there = value in self.enlarged or (value in self.marks.needed and value not in self.ended)
        if (not is_there or self.is_better_elsewhere(value, stmt, what)) and self.replace(stmt, value.kind, what, b):
            self.has_changed = True
            return
        self.marks.need(value)
        if value in self.unbound and what in ("shape", "size"):  # the attribute of what may be a number
            stmt = replace(stmt, op=ops.call_op(stmt.op.fn, f"np.{what}"))
        b.add(stmt)
        if what == "shape":
            b.known[stmt.op, stmt.args, ()] = stmt.targets

    def is_better_elsewhere(self, value: Var, stmt: Apply, what: str) -> bool:
        """Whether a temporary that is read once would need a name only for this."""
        if value in self.given or value in self.enlarged or self.uses.get(value, 0) > 1:
            return False
        if value.is_users and value in self.forward:
            return False
        fact = _fact(value.kind, stmt, what)
        return fact is not None and self.table.find(fact, self.ended, (_COMPUTED, _GIVEN)) is not None

    def replace(self, stmt: Apply, kind: Kind, what: str, b: Builder) -> bool:
        """Whether the read could be made without its value."""
        size = len(b.stmts)
        try:
            self.mapped(stmt, kind, what, b)
        except NoExpression:
            made = {target for added in b.stmts[size:] for target in bound_by(added)}
            b.known = {key: targets for key, targets in b.known.items() if made.isdisjoint(targets)} if made else b.known
            del b.stmts[size:]
            return False
        return True

    def mapped(self, stmt: Apply, kind: Kind, what: str, b: Builder) -> None:
        target = stmt.targets[0]
        if isinstance(kind, ListOf):
            self.mapping[target] = self.length(kind.length, b)
            return
        assert isinstance(kind, Array) and kind.dims is not None
        dims = kind.dims
        match what:
            case "shape":
                self.shape(target, dims, b)
            case "size":
                self.mapping[target] = self.size(dims, b)
            case "len":
                self.mapping[target] = self.length(dims[0], b)
            case _:
                made = target.kind
                assert isinstance(made, Array)
                like = self.find(_fact(kind, stmt, what))
                if like is not None:
                    b.add(replace(stmt, args=(like[0], *stmt.args[1:])))
                else:
                    b.add(self.made(stmt, what, dims, made.dtype, b))

    def made(self, stmt: Apply, what: str, dims: Shape, dtype: str, b: Builder) -> Apply:
        """`np.zeros((n, m))` for `np.zeros_like(v)`"""
        maker = ops.call_op(_MAKERS[what], f"np.{what}")
        kwargs = stmt.kwargs
        fill = stmt.args[1:]
        is_default = dtype == "float64" and all(_dtype(value) == "float64" for value in fill)
        if not kwargs and not is_default:
            kwargs = (("dtype", Ref(getattr(np, dtype), f"np.{dtype}")),)
        return Apply(stmt.targets, maker, (self.whole(dims, b), *fill), kwargs, stmt.origin)

    def shape(self, target: Var, dims: Shape, b: Builder) -> None:
        """The shape, or only those lengths of it that are read."""
        like = self.find(("shape", dims))
        parts = [stmt for stmt in self.parts.get(target, ()) if stmt.targets[0] in self.marks.needed]
        indices = [
            stmt.args[1].value if isinstance(stmt.args[1], Const) and type(stmt.args[1].value) is int else None for stmt in parts
        ]
        is_whole = target in self.is_whole or None in indices or like is not None
        if is_whole:
            whole = self.whole(dims, b)
            is_length = like is None and len(dims) == 1
            self.mapping[target] = (whole,) if is_length and None in indices else whole
            if not is_length:
                return
        lengths = [(stmt.targets[0], self.length(dims[index], b)) for stmt, index in zip(parts, indices) if index is not None]
        if is_whole:
            self.mapping.update(lengths)
            return
        self.mapping[target] = ()
        self.mapping.update(lengths)

    def whole(self, dims: Shape, b: Builder) -> Operand:
        like = self.find(("shape", dims))
        if like is not None:
            return b.apply(ops.SHAPE, (like[0],))
        lengths = tuple(self.length(n, b) for n in dims)
        return lengths[0] if len(lengths) == 1 else lengths

    def size(self, dims: Shape, b: Builder) -> Atom:
        like = self.find(("shape", dims))
        if like is not None:
            return b.apply(ops.SIZE, (like[0],))
        number = 1
        total: Atom | None = None
        for n in dims:
            length = self.length(n, b)
            if isinstance(length, Const):
                number *= length.value
            else:
                total = length if total is None else b.apply(ops.MUL, (total, length), kind=INT)
        if total is None or number == 0:
            return Const(number)
        return total if number == 1 else b.apply(ops.MUL, (Const(number), total), kind=INT)

    def find(self, fact: object, order: tuple[int, ...] = (_COMPUTED, _GIVEN, _TEMPORARY, _PART)) -> tuple[Atom, int] | None:
        found = self.table.find(fact, self.ended, order)
        if found is not None:
            self.marks.need(found[0])
        return found

    def length(self, length: Length, b: Builder) -> Atom:
        """One length: a number, an axis of some value, or its expression over the parameters."""
        if isinstance(length, int):
            return Const(length)
        found = self.axis(length, b)
        if found is not None:
            return found
        if length.expr is None:
            raise NoExpression
        return expressed(length.expr, self.roots, b, lambda text, b: self.axis(Dim(text, None), b))

    def axis(self, length: Dim, b: Builder) -> Atom | None:
        found = self.find(("length", length), (_GIVEN, _COMPUTED, _TEMPORARY, _PART))
        if found is None:
            return None
        value, axis = found
        if axis < 0:
            return value
        return b.item(b.apply(ops.SHAPE, (value,)), Const(axis))


def _is_record(source: Source) -> bool:
    """Whether a loop walks a list back: what a sweep kept of its trips."""
    return source.is_reversed and isinstance(source.iterable, Var) and isinstance(source.iterable.kind, ListOf)


def _is_container(operand: Operand) -> bool:
    """Whether this is an argument that is taken apart on entry."""
    return isinstance(operand, Var) and isinstance(operand.kind, Opaque)


def _fact(kind: Kind, stmt: Apply, what: str) -> object:
    """What another value must share to be read instead."""
    if not isinstance(kind, Array) or kind.dims is None:
        return None
    return ("shape", kind.dims) if what not in _MAKERS or stmt.kwargs else ("like", kind.dims, kind.dtype)


def _dtype(operand: Operand) -> str:
    match operand:
        case Var(kind=Array(dtype, _)):
            return dtype
        case Var(kind=Number("float")):
            return "float64"
        case Const(float()):
            return "float64"
        case _:
            return ""


__all__ = ["is_of_users", "read_shapes_elsewhere"]
