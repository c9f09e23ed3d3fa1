"""The reverse of writes: what a new version of an array gives back to the old one and to the value.

y_1 = index_set(y, i, v)      v_bar = y_1_bar[i];  y_bar = index_set(y_1_bar, i, 0)
y_1 = index_add(y, i, v)      v_bar = y_1_bar[i];  y_bar = y_1_bar
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from srcdiff.ir import ops
from srcdiff.ir.kinds import Array
from srcdiff.ir.nodes import Apply, Atom, Const, Operand, Ref, Var
from srcdiff.rules import factors
from srcdiff.rules.builder import Builder
from srcdiff.rules.inference import is_whole_index, item_kind, kind_of
from srcdiff.rules.staging import Staged, call_for, dims_of, unbroadcast
from srcdiff.transform.adjoints import Adjoints, full

if TYPE_CHECKING:
    from srcdiff.transform.reverse import Reverser


def reverse_write(reverser: Reverser, stmt: Apply, y_bar: Staged, adjoints: Adjoints, b: Builder) -> None:
    base, index, value = stmt.args
    target = stmt.targets[0]
    is_set = stmt.op is ops.INDEX_SET
    if is_set and is_whole_index(index):
        if isinstance(value, Var) and value in reverser.active:
            reverser.give(adjoints, value, unbroadcast(y_bar, dims_of(value.kind), value), b)
        return
    if isinstance(value, Var) and value in reverser.active:
        part = _part(stmt, y_bar, b)
        if is_set and not reverser.is_unique(stmt):
            part = factors.mul(part, Staged(b, _is_last(full(y_bar, target).atom, index, b)))
        reverser.give(adjoints, value, unbroadcast(part, dims_of(value.kind), value), b)
    if not isinstance(base, Var) or base not in reverser.active:
        return
    if not is_set:
        reverser.give(adjoints, base, y_bar, b)
        return
    buffer = full(y_bar, target)
    cleared = b.apply(ops.INDEX_SET, (buffer.atom, index, Const(0.0)), hint=f"{base.hint}_bar", kind=target.kind)
    reverser.give(adjoints, base, Staged(b, cleared), b)


def _part(stmt: Apply, y_bar: Staged, b: Builder) -> Staged:
    """`y_bar[index]`; of an adjoint that is one number for all elements, that number."""
    base, index, value = stmt.args
    kind = item_kind(kind_of(base), index)
    dims = dims_of(kind)
    if dims_of(y_bar.kind) == () and dims is not None:

        def like() -> Var:
            return value if isinstance(value, Var) and dims_of(value.kind) == dims else b.item(stmt.targets[0], index)

        return Staged(b, y_bar.atom, dims, like)
    item = b.item(full(y_bar, stmt.targets[0]).atom, index, hint=f"{value.hint}_bar" if isinstance(value, Var) else "")
    return Staged(b, item)


def _is_last(like: Atom, index: Operand, b: Builder) -> Var:
    """Of an index that names places more than once, which of its places are the last of their name: NumPy keeps that value."""
    shape = b.apply(ops.SHAPE, (like,))
    numbers = b.apply(call_for(np.zeros), (shape, Ref(int, "int")), hint="last")
    item = b.item(numbers, index)
    kind = item.kind
    assert isinstance(kind, Array)
    count = b.apply(call_for(np.arange), (b.apply(ops.SIZE, (item,)),), hint="order")
    if kind.ndim != 1:
        item_shape = b.apply(ops.SHAPE, (item,))
        count = b.apply(call_for(np.reshape), (count, item_shape), kind=Array("int64", kind.dims), hint="order")
    numbered = b.apply(ops.INDEX_SET, (numbers, index, count), hint="last")
    return b.apply(ops.EQ, (b.item(numbered, index), count), hint="is_last")
