"""The table of adjoints while a reverse sweep is built: what each value's adjoint is at this point.

A first contribution is the adjoint; a later one is added. An arm of an If, or the body of a loop, works on a table of its
own that begins where the outer one stands.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from srcdiff.errors import InternalError, KindError
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, Dim, Kind, ListOf, Number, TupleOf, Unknown
from srcdiff.ir.nodes import Block, Const, ListDisplay, Loop, Next, Operand, SliceOf, Source, Var
from srcdiff.rules import factors
from srcdiff.rules.builder import Builder
from srcdiff.rules.complex_values import is_complex
from srcdiff.rules.staging import Staged, add_at, astype, call_for, dims_of, operand, owned, scalar_of, zeros

Component = tuple[Var, int]


class Adjoints:
    """Adjoints by value; those of a tuple's items by (value, position). `arrays`: what holds a version of an array now."""

    def __init__(self, outer: Adjoints | None = None, around: Adjoints | None = None) -> None:
        self.outer = outer
        self.around = around  # of a loop's body: the table outside, for arrays alone
        self.arrays: dict[Var, Var] = {}
        self.own: dict[Var | Component, Staged | None] = {}

    def get(self, key: Var | Component) -> Staged | None:
        table: Adjoints | None = self
        while table is not None:
            if key in table.own:
                return table.own[key]
            table = table.outer
        return None

    def take(self, key: Var | Component) -> Staged | None:
        """The adjoint of a value whose statement is reached: nothing adds to it any more."""
        value = self.get(key)
        if value is not None:
            self.own[key] = None
        return value

    def put(self, key: Var | Component, value: Staged) -> None:
        self.own[key] = value

    def array(self, version: Var) -> Var | None:
        """What holds a version of an array that the reverse sweep has restored."""
        table: Adjoints | None = self
        while table is not None:
            if version in table.arrays:
                return table.arrays[version]
            table = table.outer or table.around
        return None

    def put_array(self, version: Var, held: Var) -> None:
        self.arrays[version] = held


def named(value: Staged, var: Var) -> Staged:
    """Call the adjoint after the value, if it has no such name yet."""
    atom = value.atom
    if isinstance(atom, Var) and not atom.hint.endswith("_bar") and atom in value.builder.made:
        atom.hint = f"{var.hint}_bar"
    return value


def accumulate(adjoints: Adjoints, target: Operand, contribution: Any, b: Builder) -> None:
    """Add a contribution to the adjoint of an operand: of each part, where it is a container."""
    if contribution is None:
        return
    match target:
        case Var():
            if isinstance(target.kind, TupleOf) and isinstance(contribution, tuple):
                for i, part in enumerate(contribution):
                    if part is not None:
                        _add(adjoints, (target, i), _at(part, b), b, target)
                return
            _add(adjoints, target, _at(contribution, b), b, target)
        case tuple() | ListDisplay():
            items = target if isinstance(target, tuple) else target.items
            if isinstance(contribution, Staged):
                for i, item in enumerate(items):
                    if isinstance(item, Var):
                        accumulate(adjoints, item, contribution[i], b)
                return
            for item, part in zip(items, contribution):
                accumulate(adjoints, item, part, b)
        case _:
            return


def _at(value: Any, b: Builder) -> Staged:
    """The value with the builder that now adds statements."""
    if not isinstance(value, Staged):
        value = Staged(b, Const(value))
    return value if value.builder is b else Staged(b, value.atom, value.dims, value.like)


def _add(adjoints: Adjoints, key: Var | Component, contribution: Staged, b: Builder, var: Var) -> None:
    kind = var.kind if isinstance(key, Var) else var.kind.items[key[1]]  # type: ignore[union-attr]
    if is_complex(contribution.kind) and not is_complex(kind) and not isinstance(kind, (ListOf, Unknown)):
        # Re(z_bar * dz) of a real dz
        contribution = Staged(b, b.apply(call_for(np.real), (contribution.atom,)), contribution.dims, contribution.like)
    if isinstance(kind, ListOf):
        contribution = as_list(contribution, kind, b)
    elif (
        isinstance(kind, Array)
        and kind.dims != ()
        and isinstance(contribution.kind, Array)
        and contribution.kind.dtype != kind.dtype
        and not is_complex(kind)
    ):
        # float32 stays float32 where the program mixes it with float64
        contribution = astype(contribution, kind.dtype) if contribution.kind.dims != () else contribution
    if contribution.kind in (Number("bool"), Array("bool", ())):
        contribution = as_float(contribution, b)  # booleans of NumPy's do not add up
    if contribution.kind != Number("float") and dims_of(contribution.kind) == () and may_be_array(contribution):
        contribution = Staged(b, b.item(contribution.atom, ()), contribution.dims, contribution.like)
    if contribution.dims is None and isinstance(kind, Array) and kind.dims is not None:
        contribution = Staged(b, contribution.atom, kind.dims, lambda: var)  # of unknown rank: it broadcasts to its value's shape
    if isinstance(kind, Array) and kind.dims:
        contribution = _with_lengths(contribution, kind, b)
    existing = adjoints.get(key)
    if existing is None:
        total = contribution
    elif isinstance(kind, ListOf):
        total = add_lists(_at(existing, b), contribution, b)
    elif (into := _scattered_into(_at(existing, b), contribution, b)) is not None:
        total = into
    else:
        total = factors.add(_at(existing, b), contribution)
        if isinstance(kind, Array) and kind.dims != () and isinstance(total.kind, Array) and total.kind.dims != ():
            total = astype(total, kind.dtype)  # a float64 scalar has widened it
    adjoints.put(key, named(total, var))


def _scattered_into(existing: Staged, contribution: Staged, b: Builder) -> Staged | None:
    """Of zeros to which something was added at an index: the same added to what is there."""
    stmt = b.made.get(contribution.atom) if isinstance(contribution.atom, Var) else None
    if stmt is None or stmt.op not in (ops.INDEX_ADD, ops.SCATTER_ADD) or not existing.is_full or existing.dims == ():
        return None
    buffer, index, value = stmt.args
    zeros_made = b.made.get(buffer) if isinstance(buffer, Var) else None
    if zeros_made is None or zeros_made.op.fn is not np.zeros_like or contribution.kind != existing.kind:
        return None
    return Staged(b, b.apply(stmt.op, (existing.atom, index, value), hint=getattr(existing.atom, "hint", "")))


def _with_lengths(value: Staged, kind: Array, b: Builder) -> Staged:
    """An adjoint that came through a join, which knew less of its lengths than its value's kind says, with those lengths."""
    if not isinstance(value.kind, Array) or value.dims is None or value.kind.dims != value.dims or value.dims == kind.dims:
        return value
    if not any(n != m and isinstance(n, Dim) and n.expr is None for n, m in zip(value.dims, kind.dims or ())):
        return value
    return Staged(b, b.apply(ops.COPY, (value.atom,), kind=replace(kind, dtype=value.kind.dtype)))


def as_float(value: Staged, b: Builder) -> Staged:
    """A scalar of integers or booleans as a float; any other value as it is."""
    kind = value.kind
    is_whole = isinstance(kind, Number) and kind.type in ("int", "bool")
    is_whole = is_whole or (isinstance(kind, Array) and kind.dims == () and kind.dtype.startswith(("int", "uint", "bool")))
    if not is_whole or isinstance(value.atom, Const):
        return value
    return Staged(b, b.apply(ops.call_op(float, "float"), (value.atom,), kind=Number("float")))


_GIVES_NUMBERS = (
    np.real,
    np.sum,
    np.mean,
    np.prod,
    np.max,
    np.min,
    np.vdot,
    np.dot,
    np.inner,
    np.trace,
    np.std,
    np.var,
    np.einsum,
)


def may_be_array(value: Staged) -> bool:
    """Whether a scalar may be an array without axes, which `+=` would change for whoever else holds it."""
    stmt = value.builder.made.get(value.atom) if isinstance(value.atom, Var) else None
    if stmt is None:
        return False
    if stmt.op is ops.ITEM:
        parts = stmt.args[1] if isinstance(stmt.args[1], tuple) else (stmt.args[1],)
        return bool(parts) and any(isinstance(p, Const) and p.value is Ellipsis for p in parts)
    if stmt.op.style != "call" or isinstance(stmt.op.fn, np.ufunc):
        return stmt.op in (ops.TRANSPOSE, ops.ARRAY_COPY)
    return (getattr(stmt.op.fn, "__module__", None) or "").startswith("numpy") and stmt.op.fn not in _GIVES_NUMBERS


def as_list(value: Staged, kind: ListOf, b: Builder) -> Staged:
    """The adjoint of a list, as a list: the rows of an array."""
    if isinstance(value.kind, ListOf):
        return value
    full = owned(value)
    row = full.kind
    if not isinstance(row, Array) or not row.dims:
        raise InternalError(f"the adjoint of a list is {row}")
    item: Kind = Array(row.dtype, row.dims[1:])
    atom = b.apply(ops.call_op(list, "list"), (full.atom,), kind=ListOf(item, row.dims[0]))
    return Staged(b, atom)


def add_lists(a: Staged, c: Staged, b: Builder) -> Staged:
    """Item by item: [x + y for x, y in zip(a, c)]."""
    kind = a.kind
    assert isinstance(kind, ListOf) and isinstance(c.kind, ListOf)
    x, y = Var("a", kind.item), Var("b", c.kind.item)

    def item(inner: Builder) -> Staged:
        one, other = Staged(inner, x), Staged(inner, y)
        if isinstance(x.kind, ListOf):
            return add_lists(one, as_list(other, x.kind, inner), inner)
        return factors.add(one, other)

    return Staged(b, _mapped(b, (Source(x, a.atom), Source(y, c.atom)), kind, item))


def _mapped(b: Builder, sources: tuple[Source, ...], kind: ListOf, item: Any) -> Var:
    inner = b.inside()
    items, result = Var("items", kind), Var("items", kind)
    start = b.apply(ops.DISPLAY, (ListDisplay(()),), kind=ListOf(kind.item, 0), hint="items")
    value = item(inner)
    after = inner.apply(ops.APPEND, (items, value.atom), kind=kind, hint="items")
    b.add(Loop(sources, (items,), (start,), Block(tuple(inner.stmts), Next((after,))), (result,), b.origin))
    return result


def parts_of_joined(joined: Var, y_bar: Staged, b: Builder) -> Staged:
    """The adjoint of a list of arrays that were joined along their first axis: the part of each."""
    kind = joined.kind
    assert isinstance(kind, ListOf)
    array = owned(y_bar)
    inner = b.inside()
    item, items, offset = Var("item", kind.item), Var(f"{joined.hint}_bar", kind), Var("start", Number("int"))
    first = b.apply(ops.DISPLAY, (ListDisplay(()),), kind=ListOf(kind.item, 0), hint=items.hint)
    stop = inner.apply(ops.ADD, (offset, inner.apply(ops.LEN, (item,))), hint="stop")
    part = inner.apply(ops.ITEM, (array.atom, SliceOf(offset, stop, Const(None))), kind=kind.item, hint="part")
    after = inner.apply(ops.APPEND, (items, part), kind=kind, hint=items.hint)
    result, end = Var(items.hint, kind), Var("start", Number("int"))
    b.add(
        Loop(
            (Source(item, joined),),
            (items, offset),
            (first, Const(0)),
            Block(tuple(inner.stmts), Next((after, stop))),
            (result, end),
            b.origin,
        )
    )
    return Staged(b, result)


def zero(var: Var, b: Builder) -> Staged:
    """The adjoint of a value that nothing has added to."""
    kind = var.kind
    match kind:
        case ListOf(Number(), length):
            display = ListDisplay((Const(0.0),))
            n = b.apply(ops.LEN, (var,))
            return Staged(b, b.apply(ops.MUL, (display, n), kind=ListOf(Number("float"), length)))
        case ListOf(Array(_, dims) as item, length) if dims:
            x = Var("item", item)
            return Staged(b, _mapped(b, (Source(x, var),), ListOf(item, length), lambda inner: zeros(inner, x, dims, item)))
        case ListOf(Array(), length):
            display = ListDisplay((Const(0.0),))
            n = b.apply(ops.LEN, (var,))
            return Staged(b, b.apply(ops.MUL, (display, n), kind=ListOf(kind.item, length)))
        case ListOf(ListOf() as item, length):
            row = Var("item", item)
            return Staged(b, _mapped(b, (Source(row, var),), ListOf(item, length), lambda inner: zero(row, inner)))
        case ListOf() | TupleOf():
            raise KindError(
                "the derivative of a list of containers that grows in a loop is not accepted",
                instead="keep a list for each part.",
            )
        case _:
            return zeros(b, var, dims_of(kind), kind)


def full(value: Staged, var: Var) -> Staged:
    """The adjoint with the physical shape of its value, in an array of its own where it was smaller."""
    if isinstance(var.kind, ListOf):
        return value
    if value.is_full and (not isinstance(value.atom, Const) or dims_of(var.kind) == ()):
        atom = value.atom
        if isinstance(atom, Const) and isinstance(atom.value, int):
            value = Staged(value.builder, Const(float(atom.value)))
        wanted = var.kind
        if isinstance(wanted, Array) and wanted.dims == () and wanted.dtype != "float64" and value.kind != wanted:
            return scalar_of(value, wanted.dtype)  # an array made of a Python number would be of float64
        return value
    return owned(Staged(value.builder, value.atom, dims_of(var.kind), lambda: var))


def add_item(adjoints: Adjoints, base: Var, index: Operand, contribution: Any, b: Builder, *, is_unique: bool) -> None:
    """`base_bar[index] += contribution`, on the adjoint of an array or list."""
    contribution = _at(contribution, b)
    existing = adjoints.get(base)
    kind = base.kind
    if index == () and isinstance(kind, Array):
        accumulate(adjoints, base, contribution, b)
        return
    if isinstance(kind, TupleOf):
        assert isinstance(index, Const)
        key = (base, index.value % len(kind.items))
        _add(adjoints, key, contribution, b, base)
        return
    if existing is None:
        back = _index_back(index)
        if back is not None and isinstance(kind, Array) and kind.dims and contribution.is_full:
            made = b.made.get(contribution.atom) if isinstance(contribution.atom, Var) else None
            source = made.args[0] if made is not None and made.op is ops.ITEM and made.args[1] == index else None
            if not isinstance(source, Var) or dims_of(source.kind) != kind.dims:
                dtype = contribution.kind.dtype if isinstance(contribution.kind, Array) else kind.dtype
                source = b.apply(ops.ITEM, (contribution.atom, back), kind=replace(kind, dtype=dtype))
            _add(adjoints, base, Staged(b, source), b, base)
            return
        buffer = zero(base, b)
        if is_unique and not isinstance(kind, ListOf):
            atom = b.apply(
                ops.INDEX_SET,
                (buffer.atom, index, operand(b, contribution) if contribution.is_full else contribution.atom),
                hint=f"{base.hint}_bar",
                kind=kind,
            )
            adjoints.put(base, Staged(b, atom))
            return
    else:
        buffer = full(_at(existing, b), base)
    if isinstance(kind, ListOf):
        adjoints.put(base, _add_to_list(buffer, index, contribution, base, b, is_first=existing is None))
        return
    result = add_at(buffer, index, contribution, repeats=not is_unique)
    if isinstance(result.atom, Var):
        result.atom.hint = f"{base.hint}_bar"
    adjoints.put(base, result)


_STEPS = (Const(None), Const(1), Const(-1))


def _index_back(index: Operand) -> Operand | None:
    """The index that undoes one which only makes new axes or turns axes round; None for any other.

    y = x[:, None]    x_bar = y_bar[:, 0]              y = x[::-1]    x_bar = y_bar[::-1]
    """
    parts = index if isinstance(index, tuple) else (index,)
    nothing = Const(None)
    found: list[Operand] = []
    for part in parts:
        is_whole = isinstance(part, SliceOf) and part.start == part.stop == nothing
        if part == nothing:
            found.append(Const(0))
        elif part == Const(Ellipsis) or (is_whole and getattr(part, "step", None) in _STEPS):
            found.append(part)
        else:
            return None
    return tuple(found) if isinstance(index, tuple) else found[0]


def _add_to_list(buffer: Staged, index: Operand, contribution: Staged, base: Var, b: Builder, *, is_first: bool) -> Staged:
    """The adjoint of a list with a contribution to one item, or to a slice of it."""
    hint = f"{base.hint}_bar"
    if isinstance(index, SliceOf):
        part = buffer if is_first else zero(base, b)
        written = Staged(b, b.apply(ops.INDEX_SET, (part.atom, index, contribution.atom), hint=hint))
        return written if is_first else add_lists(buffer, written, b)
    if isinstance(contribution.kind, ListOf):
        if not is_first:
            contribution = add_lists(Staged(b, b.item(buffer.atom, index)), contribution, b)
        return Staged(b, b.apply(ops.INDEX_SET, (buffer.atom, index, contribution.atom), hint=hint))
    item = base.kind.item if isinstance(base.kind, ListOf) else None
    if isinstance(item, Array) and item.dims != () and contribution.kind == Array("float64", ()) != Array(item.dtype, ()):
        contribution = scalar_of(contribution, item.dtype)  # float32 stays float32
    return Staged(b, b.apply(ops.INDEX_ADD, (buffer.atom, index, contribution.atom), hint=hint))
