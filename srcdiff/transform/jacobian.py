"""The Jacobian by forward mode: the values once, and the tangent of the result for each number of the arguments.

def f_jacfwd(x):
    h = np.tanh(x)                            the values, and what tangents read of them
    jacobian = np.zeros((len(h), len(x)))
    for i in range(len(x)):
        x_dot = np.zeros_like(x)
        x_dot[i] = 1.0
        jacobian[..., i] = (1 - h * h) * x_dot
    return jacobian
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from srcdiff.errors import KindError
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, Kind, Length, ListOf, Number, combine, is_differentiable
from srcdiff.ir.nodes import (
    Apply,
    Atom,
    Block,
    Const,
    DictDisplay,
    Function,
    ListDisplay,
    Loop,
    Next,
    Operand,
    Range,
    RecordDisplay,
    Ref,
    Return,
    Source,
    Stmt,
    Var,
)
from srcdiff.ir.walk import vars_of
from srcdiff.prepare.program import Primal
from srcdiff.prepare.values import operand_of
from srcdiff.rules.builder import Builder
from srcdiff.rules.inference import kind_of
from srcdiff.rules.staging import Staged, dims_of
from srcdiff.transform.adjoints import full, zero
from srcdiff.transform.forward import Forwarder, dot_kind
from srcdiff.transform.gradient import Selector, inputs_of, selected_of, split_aux, structured
from srcdiff.transform.procedures import Pairs
from srcdiff.transform.split import Splitter, depending


def jacobian(primal: Primal, argnums: Sequence[Selector], pairs: Pairs, *, is_single: bool, has_aux: bool, name: str) -> Function:
    """The function of the Jacobian: in the structure of the result, and within that in the structure of the arguments."""
    result, aux = split_aux(primal, has_aux)
    head = operand_of(result, primal.store)
    selected = [selected_of(primal, a) for a in argnums]
    leaves = list(dict.fromkeys(inputs_of(primal, selected, needs_each=True)))
    outputs = list(dict.fromkeys(v for v in vars_of((head,)) if is_differentiable(v.kind)))
    for out in outputs:
        if isinstance(out.kind, ListOf) or dims_of(out.kind) is None:
            raise KindError(
                f"`{primal.name}` returns a value of unknown shape: a list that grows, or arrays of different axes",
                primal.source.origin(primal.source.node),
                instead="return one array on every path, np.array(...) of the list.",
            )
    columns = _Columns(pairs, primal.stmts, outputs)
    for leaf in leaves:
        columns.by(leaf)
    b = columns.builder

    def of_output(out: Operand) -> Operand:
        match out:
            case tuple():
                return tuple(of_output(item) for item in out)
            case ListDisplay(items):
                return ListDisplay(tuple(of_output(item) for item in items))
            case DictDisplay(keys, items):
                return DictDisplay(keys, tuple(of_output(item) for item in items))
            case RecordDisplay(cls, fields, items, hint):
                return RecordDisplay(cls, fields, tuple(of_output(item) for item in items), f"{hint or 'out'}_jacobian")
            case _:
                if not is_differentiable(kind_of(out)):
                    return Const(None)
                parts = tuple(structured(s, v, primal, b, lambda leaf: columns.entry(out, leaf)) for s, v, _ in selected)
                return parts[0] if is_single else parts

    value = of_output(head)
    stmts = (*columns.stmts, *b.stmts)
    whole = Return(value if aux is None else (value, aux))
    return Function(name, primal.params, Block(stmts, whole), primal.docstring)


@dataclass(eq=False)
class _Columns:
    """The statements of the values, which grow by what the tangents along each argument read; the loops of the tangents."""

    pairs: Pairs
    stmts: Sequence[Stmt]
    outputs: Sequence[Var]
    builder: Builder = field(default_factory=Builder)
    found: dict[tuple[Var, Var], Operand] = field(default_factory=dict)

    def entry(self, out: Operand, leaf: Var) -> Operand:
        """The derivative of one array of the result by one array of the arguments: zeros where it does not depend on it."""
        known = self.found.get((out, leaf)) if isinstance(out, Var) else None
        if known is not None:
            return known
        if isinstance(leaf.kind, ListOf):
            raise KindError("a result does not depend on a list that is differentiated by", instead="pass an array.")
        shape = (*_lengths(out, self.builder), *_lengths(leaf, self.builder))
        if not shape:
            return Const(0.0)
        kind = Array(_dtype(kind_of(out)), (*(dims_of(kind_of(out)) or ()), *(dims_of(leaf.kind) or ())))
        return _zeros(self.builder, shape, kind)

    def by(self, leaf: Var) -> None:
        """Add the derivatives by one array or number of the arguments."""
        forwarder = Forwarder.of(self.stmts, [leaf], self.outputs, self.pairs, column=-1)
        b = Builder()
        if dims_of(leaf.kind) == () and not isinstance(leaf.kind, ListOf):
            forwarder.tangents[leaf] = Staged(b, Const(1.0))
            forwarder.block(self.stmts, b)
            b.origin = None
            for out in self.outputs:
                if forwarder.tangents.get(out) is not None:
                    self.found[out, leaf] = _tangent(forwarder, out, b)
            self.stmts = tuple(b.stmts)
            return
        dot = Var(f"{leaf.hint}_dot", dot_kind(leaf.kind))
        forwarder.tangents[leaf] = Staged(b, dot)
        forwarder.block(self.stmts, b)
        b.origin = None
        moving = [out for out in self.outputs if forwarder.tangents.get(out) is not None]
        dots = {out: _tangent(forwarder, out, b) for out in moving}
        self.stmts, body = Splitter(depending(b.stmts, [dot]), self.pairs.behind()).block(b.stmts)
        if moving:
            self.loop(leaf, dot, body, dots)

    def loop(self, leaf: Var, dot: Var, body: Sequence[Stmt], dots: dict[Var, Operand]) -> None:
        """The loop over the numbers of an array, or over the items of a list: a column of each Jacobian a trip."""
        b = self.builder
        is_list = isinstance(leaf.kind, ListOf)
        count = b.apply(ops.LEN, (leaf,)) if is_list else _size(leaf, b)
        inits = [_start(out, leaf, count, b) for out in dots]
        params = [Var("jacobian", v.kind) for v in inits]
        results = [Var("jacobian", v.kind) for v in inits]
        inner, i = b.inside(), Var("i", Number("int"))
        _basis(leaf, dot, i, count, inner)
        for stmt in body:
            inner.add(stmt)
        ends = []
        for (out, tangent), param in zip(dots.items(), params):
            if is_list:
                ends.append(inner.apply(ops.APPEND, (param, tangent), kind=param.kind, hint="jacobian"))
                continue
            place: Operand = i if dims_of(out.kind) == () else (Const(Ellipsis), i)
            ends.append(inner.apply(ops.INDEX_SET, (param, place, tangent), kind=param.kind, hint="jacobian"))
        trips = Source(i, Range(Const(0), count))
        b.add(Loop((trips,), tuple(params), tuple(inits), Block(tuple(inner.stmts), Next(tuple(ends))), tuple(results)))
        for out, result in zip(dots, results):
            self.found[out, leaf] = result if is_list else _shaped(result, out, leaf, b)


def _tangent(forwarder: Forwarder, out: Var, b: Builder) -> Operand:
    tangent = forwarder.tangent(out, b)
    return full(tangent, out).atom if isinstance(tangent, Staged) else zero(out, b).atom


def _basis(leaf: Var, dot: Var, i: Var, count: Atom, b: Builder) -> None:
    """The i-th direction, of the shape of the argument."""
    kind = leaf.kind
    if isinstance(kind, ListOf):
        if not isinstance(kind.item, Number):
            raise KindError("jacfwd by a list of arrays is not accepted", instead="pass one array.")
        zeros = b.apply(ops.MUL, (ListDisplay((Const(0.0),)), count), kind=dot.kind, hint=dot.hint)
    elif isinstance(kind, Array) and len(kind.dims or ()) == 1:
        zeros = b.apply(ops.call_op(np.zeros_like, "np.zeros_like"), (leaf,), kind=kind, hint=dot.hint)
    else:
        zeros = _zeros(b, (count,), Array(_dtype(kind), (_total(kind),)))
        zeros.hint = "basis"
    unit = b.apply(ops.INDEX_SET, (zeros, i, Const(1.0)), kind=zeros.kind, hint=zeros.hint)
    if unit.kind == dot.kind:
        b.add(_copy(dot, unit))
        return
    shape = b.apply(ops.SHAPE, (leaf,))
    flat = b.apply(ops.call_op(np.reshape, "np.reshape"), (unit, shape), kind=dot.kind, hint=dot.hint)
    b.add(_copy(dot, flat))


def _copy(target: Var, value: Var) -> Stmt:
    return Apply((target,), ops.COPY, (value,))


def _start(out: Var, leaf: Var, count: Atom, b: Builder) -> Var:
    if isinstance(leaf.kind, ListOf):
        kind = ListOf(dot_kind(out.kind), leaf.kind.length)
        return b.apply(ops.DISPLAY, (ListDisplay(()),), kind=kind, hint="jacobian")
    kind_ = Array(_dtype(out.kind), (*(dims_of(out.kind) or ()), _total(leaf.kind)))
    return _zeros(b, (*_lengths(out, b), count), kind_)


def _shaped(result: Var, out: Var, leaf: Var, b: Builder) -> Operand:
    dims = dims_of(leaf.kind) or ()
    if len(dims) == 1:
        return result
    shape = (*_lengths(out, b), *_lengths(leaf, b))
    kind = Array(_dtype(out.kind), (*(dims_of(out.kind) or ()), *dims))
    return b.apply(ops.call_op(np.reshape, "np.reshape"), (result, shape), kind=kind, hint="jacobian")


def _zeros(b: Builder, shape: tuple[Operand, ...], kind: Array) -> Var:
    """Zeros that no other value is."""
    operand = shape[0] if len(shape) == 1 else shape
    dtype = Ref(getattr(np, kind.dtype), f"np.{kind.dtype}")
    result = Var("jacobian", kind)
    named = (("dtype", dtype),) if kind.dtype != "float64" else ()
    zeros: Any = np.zeros
    b.add(Apply((result,), ops.call_op(zeros, "np.zeros"), (operand,), named))
    return result


def _lengths(value: Operand, b: Builder) -> tuple[Operand, ...]:
    if not isinstance(value, Var):
        return ()
    return tuple(b.length(value, axis) for axis in range(len(dims_of(value.kind) or ())))


def _size(leaf: Var, b: Builder) -> Atom:
    dims = dims_of(leaf.kind) or ()
    if len(dims) == 1:
        length = b.length(leaf, 0)
        assert isinstance(length, (Var, Const))
        return length
    return b.apply(ops.SIZE, (leaf,))


def _total(kind: Kind) -> Length:
    total: Length = 1
    for n in dims_of(kind) or ():
        total = combine("*", total, n)
    return total


def _dtype(kind: Kind) -> str:
    return kind.dtype if isinstance(kind, Array) else "float64"
