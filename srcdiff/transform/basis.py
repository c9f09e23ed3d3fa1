"""The directions of a Jacobian's loop, and the arrays that it fills."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.errors import KindError
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, Kind, Length, ListOf, Number, combine
from srcdiff.ir.nodes import Apply, Atom, Const, Free, ListDisplay, Operand, Ref, Stmt, Var
from srcdiff.rules.builder import Builder
from srcdiff.rules.inference import kind_of
from srcdiff.rules.staging import dims_of

Found = dict[tuple[Var, Var], Operand]
"""The derivative of an array of the result by one of the arguments."""


def entry_of(found: Found, out: Operand, leaf: Var, b: Builder) -> Operand:
    """The derivative of one array of the result by one array of the arguments: zeros where it does not depend on it."""
    known = found.get((out, leaf)) if isinstance(out, Var) else None
    if known is not None:
        return known
    if isinstance(leaf.kind, ListOf):
        raise KindError("a result does not depend on a list that is differentiated by", instead="pass an array.")
    shape = (*lengths_of(out, b), *lengths_of(leaf, b))
    if not shape:
        return Const(0.0)
    kind = kind_of(out)
    return zeros_of(b, shape, Array(dtype_of(kind), (*(dims_of(kind) or ()), *(dims_of(leaf.kind) or ()))))


def basis(leaf: Var, dot: Var, i: Var, count: Atom, b: Builder) -> None:
    """The i-th direction, of the shape of the argument."""
    kind = leaf.kind
    if isinstance(kind, ListOf):
        if not isinstance(kind.item, Number):
            raise KindError("a Jacobian by a list of arrays is not accepted", instead="pass one array.")
        zeros = b.apply(ops.MUL, (ListDisplay((Const(0.0),)), count), kind=dot.kind, hint=dot.hint)
    elif isinstance(kind, Array) and len(kind.dims or ()) == 1:
        zeros = b.apply(ops.call_op(np.zeros_like, "np.zeros_like"), (leaf,), kind=kind, hint=dot.hint)
    else:
        zeros = zeros_of(b, (count,), Array(dtype_of(kind), (total_of(kind),)))
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


def shaped(result: Var, out: Var, leaf: Var, b: Builder, *, is_done: bool) -> Operand:
    """The Jacobian in the shape `out.shape + leaf.shape`, if it has not got it yet."""
    dims = dims_of(leaf.kind) or ()
    if is_done:
        return result
    shape = (*lengths_of(out, b), *lengths_of(leaf, b))
    kind = Array(dtype_of(out.kind), (*(dims_of(out.kind) or ()), *dims))
    return b.apply(ops.call_op(np.reshape, "np.reshape"), (result, shape), kind=kind, hint="jacobian")


def zeros_of(b: Builder, shape: tuple[Operand, ...], kind: Array) -> Var:
    """Zeros that no other value is."""
    operand = shape[0] if len(shape) == 1 else shape
    dtype = Ref(getattr(np, kind.dtype), f"np.{kind.dtype}")
    result = Var("jacobian", kind)
    named = (("dtype", dtype),) if kind.dtype != "float64" else ()
    zeros: Any = np.zeros
    b.add(Apply((result,), ops.call_op(zeros, "np.zeros"), (operand,), named))
    return result


def lengths_of(value: Operand, b: Builder) -> tuple[Operand, ...]:
    if not isinstance(value, (Var, Free)):
        return ()
    return tuple(b.length(value, axis) for axis in range(len(dims_of(value.kind) or ())))


def size_of(leaf: Var, b: Builder) -> Atom:
    """The number of its elements."""
    dims = dims_of(leaf.kind) or ()
    if len(dims) == 1:
        length = b.length(leaf, 0)
        assert isinstance(length, (Var, Const))
        return length
    return b.apply(ops.SIZE, (leaf,))


def total_of(kind: Kind) -> Length:
    """The number of elements as a length."""
    total: Length = 1
    for n in dims_of(kind) or ():
        total = combine("*", total, n)
    return total


def dtype_of(kind: Kind) -> str:
    return kind.dtype if isinstance(kind, Array) else "float64"
