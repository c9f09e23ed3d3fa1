"""Lists in lists whose length the run decides: what is written to one is written to its place in the other.

    grid = [[0.0] * m for _ in range(n)]
    grid[i][j] = v                            grid_1 = index_set(grid, (i, j), v)
    row = grid[i];  row[j] += v               grid_1 = index_add(grid, (i, j), v);  row shows grid_1[i]

A list that is read out of another is linked to its place there, until items of the outer list move. Where a list may stand
in two places, or a name holds one of which the place is not known, such writes are refused.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from srcdiff.errors import KindError, SyntaxNotAccepted
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, Kind, ListOf, is_scalar, join, opaque
from srcdiff.ir.nodes import ListDisplay, Operand, SliceOf, Var
from srcdiff.prepare import containers
from srcdiff.prepare.lowering import Lowering
from srcdiff.prepare.values import ListRef, State, Value, is_atom
from srcdiff.rules.inference import kind_of


@dataclass(frozen=True)
class Place:
    """Where a list stands: in which list, at which indices, and how that list was laid out then."""

    outer: ListRef
    path: tuple[Operand, ...]
    layout: Any


def link(low: Lowering, value: Value, owner: ListRef, index: Value) -> None:
    """Note that a list was read out of another."""
    if not isinstance(value, ListRef) or isinstance(index, SliceOf) or not is_atom(index):
        return
    around = place_of(low, owner)
    outer, path = (around.outer, around.path) if around is not None else (owner, ())
    if around is None and owner in low.inside:
        return
    low.links[value] = Place(outer, (*path, low.atom(index)), low.layouts.get(outer))


def place_of(low: Lowering, ref: ListRef) -> Place | None:
    """Where a list stands in another, if that is still known."""
    place = low.links.get(ref)
    if place is None or low.layouts.get(place.outer) is not place.layout or not is_atom(low.store.get(place.outer)):
        return None
    return place  # type: ignore[no-any-return]


def move(low: Lowering, ref: ListRef) -> None:
    """The items of a list may stand elsewhere from here on."""
    low.layouts[ref] = object()


def item(low: Lowering, owner: ListRef, index: Value) -> Value | None:
    """`owner[index]`, read from the list around: a number; None where it is no such item."""
    place = place_of(low, owner)
    if place is None or isinstance(index, SliceOf) or not is_atom(index):
        return None
    kind = _inner_kind(low.store[place.outer].kind, len(place.path) + 1)
    if kind is None or not is_scalar(kind):
        return None
    return low.builder.apply(ops.ITEM, (low.store[place.outer], (*place.path, low.atom(index))), kind=kind, hint="item")


def write_item(low: Lowering, place: Place, index: Value, value: Value, node: ast.AST | None, op: Any = ops.INDEX_SET) -> None:
    """Write to an item of the list at a place."""
    state = low.store[place.outer]
    low.hand_over(value, low.store, place.outer)
    atom = low.atom(value)
    path = (*place.path, low.atom(index))
    held = _inner_kind(state.kind, len(path))
    joined = None if held is None else join(held, kind_of(atom))
    if joined is None or (isinstance(joined, Array) and joined.dims is None and held != joined):
        raise low.refuse(KindError, "a list whose length the run decides holds values of one kind", node)
    _put(low, place.outer, op, (state, path, atom), _with_inner(state.kind, len(path), joined), node)


def replace_whole(low: Lowering, place: Place, ref: ListRef, state: State, node: ast.AST | None) -> None:
    """The list at a place holds something else, as a whole."""
    if not is_atom(state):
        kind = kind_of(ListDisplay(tuple(low.operand(v) for v in state))) if state else low.store[ref].kind
        if not isinstance(kind, ListOf):
            raise low.refuse(KindError, "a list in a list whose length the run decides holds values of one kind", node)
        low.hand_over(state, low.store, place.outer)
        display = ListDisplay(tuple(low.operand(v) for v in state))
        state = low.builder.apply_all(ops.DISPLAY, (display,), hint="row", kind=ListOf(kind.item, len(state)))[0]
    outer = low.store[place.outer]
    path = place.path if len(place.path) > 1 else place.path[0]
    held = _inner_kind(outer.kind, len(place.path))
    joined = None if held is None else join(held, ListOf(state.kind.item, opaque()))
    if joined is None:
        raise low.refuse(KindError, "a list in a list whose length the run decides holds values of one kind", node)
    _put(low, place.outer, ops.INDEX_SET, (outer, path, state), _with_inner(outer.kind, len(place.path), joined), node)
    low.store[ref] = state


def _put(low: Lowering, outer: ListRef, op: Any, args: tuple[Operand, ...], kind: Kind, node: ast.AST | None) -> None:
    containers.refuse_hidden_change(low, outer, node)
    hidden = [
        r for r in low.inside if isinstance(r, ListRef) and (place_of(low, r) is None) and containers.is_held(low, r, outer)
    ]
    if hidden or outer in low.mixed or None in low.mixed:
        raise low.refuse(
            SyntaxNotAccepted,
            "a list in a list is changed that may stand elsewhere as well",
            node,
            why="A name, or another list, may hold the same list, and would show the change.",
            instead="write to it before others hold it, or to a copy.",
        )
    old = args[0]
    assert isinstance(old, Var)
    new = low.builder.apply(op, args, hint=old.hint, kind=kind)
    new.is_users = True
    low.store[outer] = new
    for ref, place in low.links.items():
        if place.outer == outer and place_of(low, ref) is not None and ref in low.store and containers.is_held(low, ref, outer):
            path = place.path if len(place.path) > 1 else place.path[0]
            row_kind = _inner_kind(kind, len(place.path))
            low.store[ref] = low.builder.apply(ops.ITEM, (new, path), kind=row_kind, hint="row")


def _inner_kind(kind: Kind, depth: int) -> Kind | None:
    for _ in range(depth):
        if not isinstance(kind, ListOf):
            return None
        kind = kind.item
    return kind


def _with_inner(kind: Kind, depth: int, inner: Kind) -> Kind:
    if depth == 0 or not isinstance(kind, ListOf):
        return inner
    return ListOf(_with_inner(kind.item, depth - 1, inner), kind.length)
