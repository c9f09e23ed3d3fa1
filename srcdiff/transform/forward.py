"""Forward mode: each statement beside that of its tangent, the change of its value where the arguments change.

    a = x @ W                a_dot = x_dot @ W
    h = tanh(a)      ⟶       a = x @ W
    return sum(h)            h = tanh(a);  h_dot = (1 - h * h) * a_dot
                             return sum(h), sum(h_dot)

Only active values have a tangent; None stands for zero. A tangent may be physically smaller than its value, as adjoints are.
What an If yields, or a loop carries, it yields or carries beside its tangent, and so nothing is kept. A tangent that does not
read its value goes before it: the next version of a name may then take the place of the one that both read.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from srcdiff.analysis.activity import may_carry
from srcdiff.analysis.binding import enlarged_in, unbound_in
from srcdiff.errors import KindError, NotDifferentiable, SrcdiffError
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, Kind, ListOf, Number, Opaque, TupleOf
from srcdiff.ir.nodes import (
    UNBOUND,
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
    Range,
    Source,
    Stmt,
    Var,
    Yield,
)
from srcdiff.ir.walk import bound_by, free_vars, operands_of, source_targets, statements_of, vars_of
from srcdiff.rules.builder import Builder
from srcdiff.rules.complex_values import is_complex
from srcdiff.rules.staging import Staged, astype, call_for, dims_of, scalar_of
from srcdiff.transform.adjoints import full, may_be_array, zero
from srcdiff.transform.procedures import Pairs
from srcdiff.transform.restoring import Objects
from srcdiff.transform.reverse import carrying, may_be_complex

Tangent = Staged | tuple[Any, ...] | None
"""Of a value, of the items of a tuple, or of one that does not change."""


@dataclass(eq=False)
class Forwarder:
    """The tangents of a program's values while its statements are gone through once, from top to bottom.

    `column` is that of the origins of tangents: they are no expressions of the user's (-2), and may be worth a comment (-1).
    """

    active: set[Var]
    pairs: Pairs
    enlarged: set[Var] = field(default_factory=set)
    missing: set[Var] = field(default_factory=set)  # what may be a number where its kind is an array's
    written: Container[Var] = ()  # versions of arrays that are written to: tangents make arrays of their own
    tangents: dict[Var, Tangent] = field(default_factory=dict)
    made_by: dict[Var, Apply] = field(default_factory=dict)
    column: int = -2

    @classmethod
    def of(
        cls, stmts: Sequence[Stmt], inputs: Sequence[Var], outputs: Sequence[Var], pairs: Pairs, *, column: int = -2
    ) -> Forwarder:
        """What the tangents of a program need to know of it."""
        body = Block(tuple(stmts), Yield(()))
        active = carrying(stmts, inputs, outputs)
        return cls(active, pairs, enlarged_in(body), unbound_in(body), Objects(stmts).versions, column=column)

    # ------------------------------------------------------------ blocks

    def block(self, stmts: Iterable[Stmt], b: Builder) -> None:
        """Add statements, each beside that of its tangent."""
        for stmt in stmts:
            b.origin = None if stmt.origin is None else replace(stmt.origin, column=self.column)
            match stmt:
                case Apply():
                    self.statement(stmt, b)
                case If():
                    self.branch(stmt, b)
                case Loop():
                    self.loop(stmt, b)

    def statement(self, stmt: Apply, b: Builder) -> None:
        if stmt.op is ops.TRANSPOSE:
            b.transposed[stmt.targets[0]] = stmt.args[0]  # type: ignore[assignment]
        for target in stmt.targets:
            self.made_by[target] = stmt
        b.foresee((stmt,), self.written)
        is_active = any(t in self.active for t in stmt.targets) and any(v in self.active for v in vars_of(operands_of(stmt)))
        if is_active and stmt.op.procedure is not None:
            from srcdiff.transform.forward_procedures import call

            b.add(call(self, stmt, b))
            return
        if is_active and stmt.op.style == "custom":
            from srcdiff.transform.customs import forward_custom

            forward_custom(self, stmt, b)
            return
        mark = len(b.stmts)
        if is_active:
            if any(v in self.missing for v in vars_of(stmt.args)):
                b.origin = stmt.origin  # as the user wrote it: `np.sum(x)` takes a number too, `x.sum()` does not
            self.differentiate(stmt, b)
        at = mark if _reads(b.stmts[mark:], set(stmt.targets)) else len(b.stmts)
        b.stmts.insert(at, stmt)

    def differentiate(self, stmt: Apply, b: Builder) -> None:
        from srcdiff.transform.tangents import tangents_of

        if any(is_complex(getattr(o, "kind", None)) for o in (*stmt.targets, *stmt.args)) and not may_be_complex(stmt):
            raise NotDifferentiable(
                f"`{stmt.op.text or stmt.op.key}` is given a complex value that depends on the arguments",
                stmt.origin,
                why="Its derivative rule is that of real numbers.",
                instead="write it with real and imaginary parts.",
            )
        try:
            found = tangents_of(self, stmt, b)
        except SrcdiffError as error:
            if error.origin is None and stmt.origin is not None:
                raise type(error)(error.what, stmt.origin, error.why, error.instead) from None
            raise
        for target, tangent in zip(stmt.targets, found):
            if target in self.active:
                self.tangents[target] = named(settled(tangent, target), target)

    # ------------------------------------------------------------ what has a tangent

    def tangent(self, operand: Operand, b: Builder) -> Tangent:
        """The tangent of an operand, with the builder that now adds statements."""
        if isinstance(operand, Var):
            return rebuilt(self.tangents.get(operand), b)
        if isinstance(operand, (tuple, ListDisplay)):
            items = operand if isinstance(operand, tuple) else operand.items
            parts = tuple(self.tangent(item, b) for item in items)
            return parts if any(part is not None for part in parts) else None
        return None

    def has_tangent(self, operand: Operand) -> bool:
        return any(self.tangents.get(v) is not None for v in vars_of((operand,)))

    def whole(self, operand: Operand, b: Builder) -> Operand:
        """The tangent of an operand as one of the same structure and shape, zeros where it has none."""
        match operand:
            case Var():
                return self._whole_of_var(operand, b)
            case Const(value):
                if value is UNBOUND:
                    return operand
                return Const(0.0) if isinstance(value, (int, float, complex)) else Const(None)
            case tuple():
                return tuple(self.whole(item, b) for item in operand)
            case ListDisplay(items):
                return ListDisplay(tuple(self.whole(item, b) for item in items))
            case _:
                kind = getattr(operand, "kind", None)
                if isinstance(kind, Array) and kind.dims != ():
                    return zero(_like(operand, b), b).atom
                return Const(0.0) if isinstance(kind, (Number, Array)) else Const(None)

    def _whole_of_var(self, var: Var, b: Builder) -> Operand:
        tangent = rebuilt(self.tangents.get(var), b)
        if isinstance(tangent, Staged):
            return full(tangent, var).atom
        if isinstance(tangent, tuple):
            kind = var.kind
            assert isinstance(kind, TupleOf)
            return tuple(
                Const(None) if not may_carry(k) else part_of(part, b.item(var, Const(i)), b)
                for i, (part, k) in enumerate(zip(tangent, kind.items))
            )
        if isinstance(var.kind, (Opaque,)):
            return Const(None)
        made_by = self.made_by.get(var)
        if isinstance(var.kind, ListOf) and made_by is not None and made_by.op is ops.DISPLAY:
            return b.apply(ops.DISPLAY, (self.whole(made_by.args[0], b),), kind=dot_kind(var.kind), hint=f"{var.hint}_dot")
        if made_by is not None and made_by.op.fn is np.zeros_like and not made_by.kwargs:
            return b.apply(made_by.op, made_by.args, kind=var.kind, hint=f"{var.hint}_dot")
        return zero(var, b).atom

    # ------------------------------------------------------------ branches

    def branch(self, stmt: If, b: Builder) -> None:
        wanted = [i for i, r in enumerate(stmt.results) if r in self.active]
        arms, moves = [], []
        for arm in (stmt.then, stmt.orelse):
            inner = b.inside()
            self.block(arm.stmts, inner)
            inner.origin = b.origin
            assert isinstance(arm.end, Yield)
            arms.append((inner, arm.end.values))
            moves.append([self.has_tangent(arm.end.values[i]) for i in wanted])
        wanted = [i for i, *has in zip(wanted, *moves) if any(has)]
        dots = {i: Var(f"{stmt.results[i].hint}_dot", dot_kind(stmt.results[i].kind)) for i in wanted}
        blocks = []
        for inner, values in arms:
            is_none = isinstance(stmt.around, Managed) and inner is not arms[0][0]  # there is no second arm
            extra = tuple(
                values[i] if is_none else typed(self.whole(values[i], inner), values[i], stmt.results[i], inner) for i in wanted
            )
            blocks.append(Block(tuple(inner.stmts), Yield((*values, *extra))))
        new = replace(stmt, then=blocks[0], orelse=blocks[1], results=(*stmt.results, *dots.values()))
        for part in self.outside_of_try(stmt, new) if isinstance(stmt.around, Caught) else [new]:
            b.add(part)
        for i, dot in dots.items():
            self.tangents[stmt.results[i]] = Staged(b, dot)

    def outside_of_try(self, stmt: If, new: If) -> list[Stmt]:
        """A try statement, and behind it the tangents of what was computed there: it must not catch what these raise."""
        from srcdiff.transform.split import split

        own = {t for s in statements_of(Block((stmt,), Yield(()))) for t in bound_by(s)}
        made = {t for s in statements_of(Block((new,), Yield(()))) if isinstance(s, Apply) for t in s.targets}
        still, moving = split([new], made - own, self.pairs.behind())
        return [*still, *moving]

    # ------------------------------------------------------------ loops

    def loop(self, loop: Loop, b: Builder) -> None:
        """A loop that carries tangents beside values, and takes the tangents of its sources' items from theirs."""
        carried = [
            i
            for i, (p, r) in enumerate(zip(loop.params, loop.results))
            if (p in self.active or r in self.active) and may_carry(p.kind)
        ]
        inits = tuple(self.whole(loop.inits[i], b) for i in carried)
        inner = b.inside()
        params = tuple(Var(f"{loop.params[i].hint}_dot", dot_kind(loop.params[i].kind)) for i in carried)
        for i, dot in zip(carried, params):
            if loop.params[i] in self.active:
                self.tangents[loop.params[i]] = Staged(inner, dot)
        sources = [*loop.sources]
        for source in loop.sources:
            beside = self.source(source, b)
            if beside is not None:
                sources.append(beside)
        body = self.tree(loop.body, carried, inner)
        results = tuple(Var(f"{loop.results[i].hint}_dot", dot_kind(loop.results[i].kind)) for i in carried)
        b.add(
            replace(
                loop,
                sources=tuple(sources),
                params=(*loop.params, *params),
                inits=(*loop.inits, *inits),
                body=body,
                results=(*loop.results, *results),
            )
        )
        for i, dot in zip(carried, results):
            if loop.results[i] in self.active:
                self.tangents[loop.results[i]] = Staged(b, dot)

    def source(self, source: Source, b: Builder) -> Source | None:
        """The source of the tangents of what another source gives."""
        if isinstance(source.iterable, Range) or not self.has_tangent(source.iterable):
            return None
        targets = source_targets(source)
        if not any(t in self.active for t in targets):
            return None
        whole = self.whole(source.iterable, b)
        if not isinstance(whole, Var):
            whole = b.apply(ops.DISPLAY, (whole,), kind=dot_kind(source.iterable.kind))
        dots = tuple(Var(f"{t.hint}_dot" if may_carry(t.kind) else "_", dot_kind(t.kind)) for t in targets)
        for target, dot in zip(targets, dots):
            if target in self.active:
                self.tangents[target] = Staged(b, dot)
        return Source(dots if isinstance(source.target, tuple) else dots[0], whole, source.is_reversed)

    def tree(self, block: Block, carried: Sequence[int], b: Builder) -> Block:
        """The tree of a loop's body, whose leaves pass tangents on too."""
        self.block(block.stmts, b)
        end: End = block.end
        match end:
            case Branch(cond, then, orelse):
                end = Branch(cond, self.tree(then, carried, b.inside()), self.tree(orelse, carried, b.inside()))
            case Next(values):
                end = Next((*values, *(self.whole(values[i], b) for i in carried)))
            case Exit(values):
                end = Exit((*values, *(self.whole(values[i], b) for i in carried)))
        return Block(tuple(b.stmts), end)


# ---------------------------------------------------------------- tangents


def dot_kind(kind: Kind) -> Kind:
    """The kind of the tangent of a value; what carries no derivative has None beside others in a tuple."""
    match kind:
        case Number(type):
            return Number("complex" if type == "complex" else "float")
        case ListOf(item, length):
            return ListOf(dot_kind(item), length)
        case TupleOf(items):
            return TupleOf(tuple(dot_kind(k) if may_carry(k) else Opaque("NoneType") for k in items))
        case _:
            return kind


def rebuilt(tangent: Tangent, b: Builder) -> Tangent:
    """A tangent with the builder that now adds statements."""
    if isinstance(tangent, tuple):
        return tuple(rebuilt(part, b) for part in tangent)
    if tangent is None or tangent.builder is b:
        return tangent
    return Staged(b, tangent.atom, tangent.dims, tangent.like)


def settled(tangent: Tangent, target: Var) -> Tangent:
    """A tangent with the logical shape and the dtype of its value."""
    if not isinstance(tangent, Staged):
        return tangent
    kind, dims = target.kind, dims_of(target.kind)
    if isinstance(kind, (ListOf, TupleOf)) or isinstance(tangent.kind, (ListOf, TupleOf)):
        return tangent
    b = tangent.builder
    if is_complex(tangent.kind) and not is_complex(kind):
        tangent = Staged(b, b.apply(call_for(np.real), (tangent.atom,)), tangent.dims, tangent.like)
    own = tangent.kind
    if dims_of(own) == () and own != Number("float") and may_be_array(tangent):
        tangent = Staged(b, b.item(tangent.atom, ()), tangent.dims, tangent.like)
    if isinstance(kind, Array) and isinstance(own, Array) and own.dtype != kind.dtype:
        tangent = scalar_of(tangent, kind.dtype) if own.dims == () and dims == () else astype(tangent, kind.dtype)
    if dims is not None and tangent.dims != dims:
        return Staged(tangent.builder, tangent.atom, dims, lambda: target)
    return tangent


def named(tangent: Tangent, of: Var) -> Tangent:
    """Call a tangent after its value, if it has no such name yet."""
    if isinstance(tangent, Staged):
        atom = tangent.atom
        if isinstance(atom, Var) and not atom.hint.endswith("_dot") and atom in tangent.builder.made:
            atom.hint = f"{of.hint}_dot"
    return tangent


def typed(zero_or_tangent: Operand, value: Operand, joined: Var, b: Builder) -> Operand:
    """A tangent; zero of a scalar in its dtype, where a Python number would widen what it is joined with."""
    kind = joined.kind
    is_narrow = isinstance(kind, Array) and kind.dtype != "float64"
    if is_narrow and isinstance(zero_or_tangent, Const) and isinstance(value, Var) and isinstance(value.kind, Array):
        return full(Staged(b, zero_or_tangent), value).atom
    return zero_or_tangent


def part_of(part: Tangent, value: Operand, b: Builder) -> Operand:
    """The tangent of one item of a tuple, in full."""
    if isinstance(value, Var):
        if isinstance(part, Staged):
            return full(rebuilt(part, b), value).atom  # type: ignore[arg-type]
        if part is None:
            return zero(value, b).atom
    raise KindError("the derivative of a tuple within a tuple is not accepted")


def _like(operand: Any, b: Builder) -> Var:
    return b.apply(ops.DISPLAY, (operand,), kind=operand.kind)


def _reads(stmts: Sequence[Stmt], variables: set[Var]) -> bool:
    """Whether statements, or those in them, read one of the variables."""
    return any(v in variables for v in free_vars(Block(tuple(stmts), Yield(()))))
