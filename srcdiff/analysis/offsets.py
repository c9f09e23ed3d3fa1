"""Offsets that cancel: maxima that are subtracted so that exponentials stay finite, and change no result.

    m = max(z, axis=1, keepdims=True)
    e = exp(z - m)                         m needs no adjoint, since w is the same for any m
    w = e / sum(e, axis=1, keepdims=True)

It is followed what would become of each value were another array d added to m: a value is then shifted by a multiple of d,
scaled by a power of exp(d), or the same. Where all that m reaches ends in values that stay the same, m has no derivative.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Any

import numpy as np

from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, Number, is_one
from srcdiff.ir.nodes import Apply, Block, Const, If, Loop, Operand, SliceOf, Stmt, Var
from srcdiff.ir.walk import blocks_of, operands_of, vars_of

Axes = tuple[tuple[int, int], ...]
"""Which axes of a value, counted from the last, run along which axes of the offset."""


@dataclass(frozen=True)
class Change:
    """What an offset d does to a value: adds `times * d`, or multiplies by `exp(times * d)`."""

    is_shift: bool
    times: int
    axes: Axes


class _Escapes(Exception):
    """A value changes in a way that is not followed."""


def cancelling_offsets(stmts: Sequence[Stmt], outputs: Iterable[Var]) -> set[Var]:
    """The maxima in these statements, and in the blocks inside, that change nothing which is read outside of their block."""
    found: set[Var] = set()
    _block(stmts, set(outputs), found)
    return found


def _block(stmts: Sequence[Stmt], read_outside: set[Var], found: set[Var]) -> None:
    candidates = [i for i, stmt in enumerate(stmts) if isinstance(stmt, Apply) and _is_maximum(stmt)]
    if candidates:
        readers = _readers(stmts)
        for i in candidates:
            if _cancels(i, stmts, readers, read_outside):
                found.add(stmts[i].targets[0])  # type: ignore[union-attr]
    for stmt in stmts:
        for inner in blocks_of(stmt):
            _block(inner.stmts, _ends(inner), found)


def _ends(block: Block) -> set[Var]:
    """What the end of a block reads."""
    out = set(vars_of(operands_of(block.end)))
    for inner in blocks_of(block.end):
        out |= _all_reads(inner)
    return out


def _all_reads(block: Block) -> set[Var]:
    out: set[Var] = set()
    for node in (*block.stmts, block.end):
        out.update(vars_of(operands_of(node)))
        for inner in blocks_of(node):
            out |= _all_reads(inner)
    return out


def _readers(stmts: Sequence[Stmt]) -> dict[Var, list[int]]:
    """The positions of the statements that read a variable, also in blocks inside of them."""
    out: dict[Var, list[int]] = {}
    for i, stmt in enumerate(stmts):
        reads = set(vars_of(operands_of(stmt)))
        for inner in blocks_of(stmt):
            reads |= _all_reads(inner)
        for var in reads:
            out.setdefault(var, []).append(i)
    return out


def _is_maximum(stmt: Apply) -> bool:
    if stmt.op.fn not in (np.max, np.amax) or len(stmt.args) != 1 or len(stmt.targets) != 1:
        return False
    kind, of = stmt.targets[0].kind, getattr(stmt.args[0], "kind", None)
    return _ndim(kind) is not None and isinstance(of, Array) and of.dims is not None and _reduced(stmt) is not None


def _ndim(kind: Any) -> int | None:
    if isinstance(kind, Number):
        return 0
    return len(kind.dims) if isinstance(kind, Array) and kind.dims is not None else None


def _reduced(stmt: Apply) -> tuple[set[int], bool] | None:
    """The axes that a reduction reduces, counted from the last, and whether it keeps them."""
    ndim = _ndim(getattr(stmt.args[0], "kind", None))
    given = dict(stmt.kwargs)
    axis, keeps = given.pop("axis", Const(None)), given.pop("keepdims", Const(False))
    if ndim is None or given or not isinstance(axis, Const) or not isinstance(keeps, Const):
        return None
    axes = range(ndim) if axis.value is None else axis.value if isinstance(axis.value, tuple) else (axis.value,)
    if not all(type(a) is int for a in axes):
        return None
    return {ndim - a % ndim for a in axes}, bool(keeps.value)


def _without(axes: Iterable[int], reduced: set[int], keeps: bool) -> dict[int, int]:
    """Where axes of an array are in its reduction."""
    return {a: a if keeps else a - sum(r < a for r in reduced) for a in axes if a not in reduced}


def _cancels(start: int, stmts: Sequence[Stmt], readers: dict[Var, list[int]], read_outside: set[Var]) -> bool:
    first = stmts[start]
    assert isinstance(first, Apply)
    ndim, reduced = _ndim(first.args[0].kind), _reduced(first)  # type: ignore[union-attr]
    assert ndim is not None and reduced is not None
    places = _without(range(1, ndim + 1), *reduced)
    changes = {first.targets[0]: Change(True, 1, tuple((place, axis) for axis, place in sorted(places.items())))}
    made = {stmt.targets[0]: stmt for stmt in stmts if isinstance(stmt, Apply) and stmt.op.fn is np.arange}
    todo: list[int] = []
    for i in readers.get(first.targets[0], ()):
        heappush(todo, i)
    done = start
    if first.targets[0] in read_outside or not todo:
        return False
    while todo:
        i = heappop(todo)
        if i == done:
            continue
        done = i
        stmt = stmts[i]
        try:
            change = _changed(stmt, changes, made)
        except _Escapes:
            return False
        if change is None or change.times == 0:
            continue
        target = stmt.targets[0]  # type: ignore[union-attr]
        if target in read_outside:
            return False
        changes[target] = change
        for reader in readers.get(target, ()):
            heappush(todo, reader)
    return True


def _changed(stmt: Stmt, changes: dict[Var, Change], made: dict[Var, Apply]) -> Change | None:
    """What becomes of the result of a statement; None where it stays."""
    if isinstance(stmt, (If, Loop)) or len(stmt.targets) != 1:
        raise _Escapes
    if stmt.op in (ops.SHAPE, ops.SIZE, ops.NDIM, ops.LEN):
        return None
    given = [changes.get(arg) if isinstance(arg, Var) else None for arg in stmt.args]
    read = [var for var in vars_of(operands_of(stmt)) if var in changes]
    if len(read) != sum(change is not None for change in given) or not all(_is_known(arg) for arg in stmt.args):
        raise _Escapes
    match stmt.op.fn:
        case np.negative | np.exp | np.log if len(given) == 1 and not stmt.kwargs:
            return _of_one(stmt.op.fn, given[0])
        case np.add | np.subtract | np.multiply | np.divide if len(given) == 2 and not stmt.kwargs:
            return _of_two(stmt.op.fn, *given)
        case np.sum | np.mean if len(given) == 1:
            return _summed(stmt, given[0])
        case _ if stmt.op is ops.ITEM:
            return _item(stmt.args[0], stmt.args[1], given[0], made)
        case _:
            raise _Escapes


def _is_known(arg: Operand) -> bool:
    return not isinstance(arg, Var) or _ndim(arg.kind) is not None


def _of_one(fn: Any, x: Change | None) -> Change | None:
    assert x is not None
    if (fn is np.log) is x.is_shift:
        raise _Escapes
    if fn is np.negative:
        return replace(x, times=-x.times)
    return replace(x, is_shift=not x.is_shift)


def _of_two(fn: Any, x: Change | None, y: Change | None) -> Change | None:
    """Sums and differences of shifted values, products and quotients of scaled ones."""
    sign = -1 if fn in (np.subtract, np.divide) else 1
    if any(change is not None and change.is_shift is not (fn in (np.add, np.subtract)) for change in (x, y)):
        raise _Escapes
    if y is None:
        return x
    if x is None:
        return replace(y, times=sign * y.times)
    if x.axes != y.axes:
        raise _Escapes
    return replace(x, times=x.times + sign * y.times)


def _summed(stmt: Apply, x: Change | None) -> Change:
    """A sum along axes on which the offset does not depend is scaled like each of its terms."""
    reduced = _reduced(stmt)
    assert x is not None
    if x.is_shift or reduced is None or any(axis in reduced[0] for axis, _ in x.axes):
        raise _Escapes
    places = _without((axis for axis, _ in x.axes), *reduced)
    return replace(x, axes=tuple((places[axis], of) for axis, of in x.axes))


def _item(base: Operand, index: Operand, x: Change | None, made: dict[Var, Apply]) -> Change:
    """Axes that are added to the value, and one entry of each row."""
    kind = getattr(base, "kind", None)
    if x is None or not isinstance(kind, Array) or kind.dims is None:
        raise _Escapes
    parts = index if isinstance(index, tuple) else (index,)
    if all(part == Const(None) or part == Const(Ellipsis) or _is_whole(part) for part in parts):
        return replace(x, axes=_with_new_axes(x.axes, parts, len(kind.dims)))
    if len(parts) == 2 and len(kind.dims) == 2 and x.axes == ((2, x.axes[0][1]),) and _names_rows(parts[0], kind, made):
        column = getattr(parts[1], "kind", None)
        if isinstance(column, Array) and column.dtype.startswith(("int", "uint")) and _ndim(column) == 1:
            return replace(x, axes=((1, x.axes[0][1]),))
    raise _Escapes


def _is_whole(part: Operand) -> bool:
    return isinstance(part, SliceOf) and (part.start, part.stop, part.step) == (Const(None), Const(None), Const(None))


def _with_new_axes(axes: Axes, parts: tuple[Operand, ...], ndim: int) -> Axes:
    """Where the axes of a value are after `None`s in its index."""
    named = sum(_is_whole(part) for part in parts)
    place = next((i for i, part in enumerate(parts) if part == Const(Ellipsis)), len(parts))
    rest = [SliceOf(Const(None), Const(None), Const(None))] * (ndim - named)
    full = (*parts[:place], *rest, *(part for part in parts[place:] if part != Const(Ellipsis)))
    places: dict[int, int] = {}
    axis = ndim
    for i, part in enumerate(full):
        if part != Const(None):
            places[axis] = len(full) - i
            axis -= 1
    return tuple((places[axis], of) for axis, of in axes)


def _names_rows(part: Operand, kind: Array, made: dict[Var, Apply]) -> bool:
    """Whether an index is 0, 1, 2, … for all rows: of another length than theirs it meets no other array."""
    if not isinstance(part, Var) or part not in made or len(made[part].args) != 1 or made[part].kwargs:
        return False
    own = part.kind
    assert kind.dims is not None
    return isinstance(own, Array) and own.dims is not None and (own.dims[0] == kind.dims[0] or is_one(own.dims[0]) is False)
