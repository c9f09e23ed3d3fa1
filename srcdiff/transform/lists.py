"""The adjoints of changes to a list whose length the run decides: each change undone on the adjoint of the list.

xs.append(v)        v_bar = xs_bar.pop()
xs.insert(0, v)     v_bar = xs_bar.pop(0)
v = xs.pop()        xs_bar.append(v_bar)
xs[i] = v           v_bar = xs_bar[i];  xs_bar[i] = 0.0
xs[i] += v          v_bar = xs_bar[i]
zs = xs + ys        xs_bar = zs_bar[: len(xs)];  ys_bar = zs_bar[len(xs) :]
xs = [v] * n        v_bar = sum(xs_bar)
"""

from __future__ import annotations

from collections.abc import Callable

from srcdiff.errors import InternalError, NoRule
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, Kind, ListOf, Number, TupleOf
from srcdiff.ir.nodes import Apply, Const, ListDisplay, Operand, SliceOf, Var
from srcdiff.ir.walk import vars_of
from srcdiff.rules.builder import Builder
from srcdiff.rules.inference import item_kind as kind_of_item
from srcdiff.rules.staging import Staged
from srcdiff.transform.adjoints import Adjoints, full, zero

Give = Callable[[Adjoints, Operand, Staged, Builder], None]


def reverse(stmt: Apply, bars: list[Staged | None], give: Give, adjoints: Adjoints, b: Builder) -> None:
    """Add the reverse of one change: `bars` are the adjoints of its results."""
    base, style = stmt.args[0], stmt.op.style
    of = stmt.targets[0]
    kind = of.kind
    assert isinstance(kind, ListOf)
    if style == "pop":
        _popped(stmt, bars, give, adjoints, b)
        return
    bar = bars[0]
    if bar is None:
        return
    item_kind = _bar_kind(kind.item)
    hint = getattr(bar.atom, "hint", "items_bar")
    match style:
        case "append" | "insert":
            place = stmt.args[1:-1]
            shorter, item = b.apply_all(ops.POP, (bar.atom, *place), kind=(bar.kind, item_kind), hint="item_bar")
            shorter.hint = hint
            give(adjoints, base, Staged(b, shorter), b)
            give(adjoints, stmt.args[-1], Staged(b, item), b)
        case "index_set":
            index, value = stmt.args[1:]
            item_kind = _bar_kind(kind_of_item(kind, index))
            item = b.apply(ops.ITEM, (bar.atom, index), kind=item_kind, hint="item_bar")
            nothing = _zero_of(value, item, b)
            rest = b.apply(ops.INDEX_SET, (bar.atom, index, nothing.atom), kind=bar.kind, hint=hint)
            give(adjoints, base, Staged(b, rest), b)
            give(adjoints, value, Staged(b, item), b)
        case "index_add":
            index, value = stmt.args[1:]
            item_kind = _bar_kind(kind_of_item(kind, index))
            give(adjoints, base, bar, b)
            give(adjoints, value, Staged(b, b.apply(ops.ITEM, (bar.atom, index), kind=item_kind, hint="item_bar")), b)
        case _:
            raise InternalError(f"{style} changes no list")


def reverse_operator(stmt: Apply, y_bar: Staged | None, active: set[Var], give: Give, adjoints: Adjoints, b: Builder) -> None:
    """Of `left + right` and `[v] * n`."""
    if y_bar is not None and isinstance(y_bar.kind, ListOf) and stmt.op is ops.ADD:
        _joined(stmt, y_bar, active, give, adjoints, b)
        return
    display = next((a for a in stmt.args if isinstance(a, ListDisplay)), None)
    if y_bar is None or not isinstance(y_bar.kind, ListOf) or display is None or stmt.op is not ops.MUL:
        raise NoRule(
            f"no derivative rule for `{stmt.op.text}` of a list whose length the run decides",
            instead="build the list with append.",
        )
    nothing = Const(None)
    for i, item in enumerate(display.items):
        if not any(v in active for v in vars_of((item,))):
            continue
        places = SliceOf(Const(i), nothing, Const(len(display.items)))
        repeats = y_bar.atom
        if len(display.items) > 1:
            repeats = b.apply(ops.ITEM, (y_bar.atom, places), kind=y_bar.kind, hint="items_bar")
        total = b.apply(ops.call_op(sum, "sum"), (repeats,), kind=_bar_kind(y_bar.kind.item), hint="item_bar")
        give(adjoints, item, Staged(b, total), b)


def _joined(stmt: Apply, y_bar: Staged, active: set[Var], give: Give, adjoints: Adjoints, b: Builder) -> None:
    """The first items of the adjoint are the left's, the others the right's."""
    assert isinstance(y_bar.kind, ListOf)
    left, right = stmt.args
    split: Operand = b.apply(ops.LEN, (left,)) if isinstance(left, Var) else Const(len(_items(left)))
    nothing = Const(None)
    for part, index in ((left, SliceOf(nothing, split, nothing)), (right, SliceOf(split, nothing, nothing))):
        if isinstance(part, Var):
            if part in active:
                taken = b.apply(ops.ITEM, (y_bar.atom, index), kind=y_bar.kind, hint=f"{part.hint}_bar")
                give(adjoints, part, Staged(b, taken), b)
            continue
        for i, item in enumerate(_items(part)):
            if not any(v in active for v in vars_of((item,))):
                continue
            place: Operand = Const(i) if part is left else Const(i - len(_items(part)))
            taken = b.apply(ops.ITEM, (y_bar.atom, place), kind=y_bar.kind.item, hint="item_bar")
            give(adjoints, item, Staged(b, taken), b)


def _items(operand: Operand) -> tuple[Operand, ...]:
    assert isinstance(operand, ListDisplay)
    return operand.items


def _popped(stmt: Apply, bars: list[Staged | None], give: Give, adjoints: Adjoints, b: Builder) -> None:
    rest, item = stmt.targets
    rest_bar, item_bar = bars
    if rest_bar is None:
        rest_bar = zero(rest, b)
    if item_bar is None:
        item_bar = zero(item, b)
    value = full(item_bar, item)
    place = stmt.args[1:]
    if place and isinstance(place[0], Const) and place[0].value < 0:
        place = (Const(place[0].value + 1),)  # counted from the end of a list that is shorter by one
    args: tuple[Operand, ...] = (rest_bar.atom, *place, value.atom)
    op = ops.APPEND if len(stmt.args) == 1 else ops.INSERT
    longer = b.apply(op, args, kind=rest_bar.kind, hint=getattr(rest_bar.atom, "hint", "items_bar"))
    give(adjoints, stmt.args[0], Staged(b, longer), b)


def _zero_of(value: Operand, item: Var, b: Builder) -> Staged:
    """The zero that takes the place of an item's adjoint: of a number 0.0, of an array one of its shape."""
    if isinstance(item.kind, Number) or (isinstance(item.kind, Array) and item.kind.dims == ()):
        return Staged(b, Const(0.0))
    of = value if isinstance(value, Var) else item
    return full(zero(of, b), of)


def _bar_kind(kind: Kind) -> Kind:
    match kind:
        case Number():
            return Number("float")
        case ListOf(item, length):
            return ListOf(_bar_kind(item), length)
        case TupleOf(items):
            return TupleOf(tuple(_bar_kind(i) for i in items))
        case _:
            return kind
