"""Arrays as objects: which array a value is, what it holds now, and who else may see it.

    y = x * 2.0       y is a handle: the array that the product made
    row = y[0]        a view of it: another handle
    row[1] = v        y_1 = index_set(y, (0, 1), v);  the store says that y holds y_1 now
    row + 1.0         y_1[0] + 1.0

A name holds a handle, the `Var` that it was bound to. What is written makes a new version, which the store keeps for the
handle; what is computed with is the current version, and a view of what has changed is read again. Two handles of which
only the run knows whether they are one array (`z = x if p else y`) are tied: after a write to one the other is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import TYPE_CHECKING, Any

import numpy as np

from srcdiff.errors import KindError, SyntaxNotAccepted
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, ListOf, Number, is_scalar
from srcdiff.ir.nodes import Apply, Const, Free, ListDisplay, Operand, Ref, SliceOf, Var
from srcdiff.ir.walk import vars_of
from srcdiff.prepare.values import (
    REFERENCES,
    Closure,
    DictRef,
    Instance,
    ListRef,
    Method,
    ObjectRef,
    Partial,
    Poison,
    Record,
    Reference,
    Super,
    Value,
    refs_in,
)
from srcdiff.prepare.values import Iterable as Stepped
from srcdiff.rules.builder import is_view
from srcdiff.rules.inference import is_basic_index, kind_of
from srcdiff.rules.without_axes import gives_array
from srcdiff.runtime import are_apart

if TYPE_CHECKING:
    from srcdiff.prepare.lowering import Frame, Lowering


class WrittenTwice(Exception):
    """Two expressions that gave one value so far stand for two arrays: one of them is written to."""


class LayoutMatters(Exception):
    """Whether an argument lies in memory in the order of its indices decides what a write changes."""


_SURE_VIEWS = frozenset(
    [
        np.transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.expand_dims, np.squeeze, np.broadcast_to, np.flip, np.fliplr,
        np.flipud, np.diagonal, np.diag, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.split, np.array_split, np.hsplit,
        np.vsplit, np.dsplit, np.broadcast_arrays, np.lib.stride_tricks.sliding_window_view, np.rot90,
    ]
)  # fmt: skip
_READ_ONLY = frozenset([np.broadcast_to, np.diagonal, np.diag, np.lib.stride_tricks.sliding_window_view, np.broadcast_arrays])
_CONTIGUOUS: frozenset[Any] = frozenset(
    [np.zeros, np.ones, np.empty, np.full, np.array, np.arange, np.linspace, np.eye, np.identity]
)


def is_array(low: Lowering, value: Value) -> bool:
    """Whether a value is an array that may be written to."""
    if not isinstance(value, (Var, Free)):
        return False
    kind = kind_of(value)
    return isinstance(kind, Array) and (kind.dims != () or has_no_axes(low, value))


def has_no_axes(low: Lowering, value: Value) -> bool:
    """Whether a scalar is, or may be, an array without axes, which can be written to: `x[..., 0]`, `np.zeros(())`."""
    return without_axes(low, value) is not False


def without_axes(low: Lowering, value: Value) -> bool | None:
    """Whether a scalar is an array without axes; None where only the run knows."""
    if isinstance(value, Var):
        value = handle_of(low, value)
    if value in low.without_axes:
        return low.without_axes[value]
    if not isinstance(value, Var) or not isinstance(value.kind, Array) or value.kind.dims != ():
        return False
    stmt = low.builder.made.get(value)
    if stmt is None:
        return False
    return bool(gives_array(stmt, stmt.targets.index(value), lambda operand: has_no_axes(low, operand)))


def join_axes(a: bool | None, b: bool | None) -> bool | None:
    """Whether what is one value or another is an array without axes."""
    return a if a is b else None


def handle_of(low: Lowering, var: Var) -> Var:
    """The array that a version is of."""
    return low.versions.get(var, var)


def view_of(low: Lowering, handle: Var) -> Apply | None:
    """The step that made a handle a view of another array, if it is one for certain."""
    stmt = low.builder.made.get(handle)
    if stmt is None or not is_array(low, handle):
        return None
    base = stmt.args[0] if stmt.args else None
    if not isinstance(base, Var) or not isinstance(base.kind, Array) or not is_array(low, base):
        return None
    if stmt.op is ops.TRANSPOSE or (stmt.op is ops.ITEM and is_basic_index(stmt.args[1])):
        return stmt
    if stmt.op.style == "call" and stmt.op.fn in _SURE_VIEWS and not (stmt.op.fn is np.diag and base.kind.ndim == 1):
        return stmt
    if is_reshape(stmt) and _is_contiguous(low, base):
        return stmt
    return None


def is_reshape(stmt: Apply) -> bool:
    """Whether a statement gives an array another shape, in the order of its indices: a view where it lies in that order."""
    is_plain = len(stmt.args) == (2 if stmt.op.fn is np.reshape else 1) and not stmt.kwargs
    return stmt.op.style == "call" and stmt.op.fn in (np.reshape, np.ravel) and is_plain


def _is_contiguous(low: Lowering, var: Var) -> bool:
    """Whether an array certainly lies in memory in the order of its indices."""
    root = handle_of(low, var)
    stmt = low.builder.made.get(root)
    if stmt is None:
        if root in low.contiguous and low.asks_layout:
            low.requirements[f"{low.contiguous[root]}.flags.c_contiguous"] = True
        return root in low.contiguous and low.asks_layout
    if stmt.op is ops.ARRAY_COPY:
        return True
    if stmt.op is ops.ITEM:
        return _is_block(stmt.args[1]) and isinstance(stmt.args[0], Var) and _is_contiguous(low, stmt.args[0])
    if stmt.op.style == "call" and stmt.op.fn in (np.reshape, np.ravel):
        return isinstance(stmt.args[0], Var) and _is_contiguous(low, stmt.args[0])
    is_fresh = stmt.op.style in ("binary", "unary") or (stmt.op.style == "call" and not is_view(stmt))
    one_axis = isinstance(root.kind, Array) and root.kind.ndim == 1
    return is_fresh and (one_axis or stmt.op.fn in _CONTIGUOUS) and not any(k == "order" for k, _ in stmt.kwargs)


def _is_block(index: Operand) -> bool:
    """Whether an index takes what lies together: integers, then perhaps a slice without a step."""
    *first, last = index if isinstance(index, tuple) and index else (index,)
    is_slice = isinstance(last, SliceOf) and isinstance(last.step, Const) and last.step.value in (None, 1)
    return all(_is_int(part) for part in first) and (is_slice or _is_int(last))


def shape_anew(low: Lowering, target: Var) -> None:
    """Note what shows an argument if that lies in order, where the guard does not ask yet."""
    stmt = low.builder.made[target]
    base = stmt.args[0]
    while (
        isinstance(base, Var)
        and (inner := low.builder.made.get(handle_of(low, base))) is not None
        and view_of(low, handle_of(low, base))
    ):
        base = inner.args[0]
    if is_reshape(stmt) and isinstance(base, Var) and handle_of(low, base) in low.contiguous and not low.asks_layout:
        low.unordered.add(target)


def root_of(low: Lowering, handle: Var) -> Var:
    """The array whose memory a handle shows."""
    handle = handle_of(low, handle)
    stmt = view_of(low, handle)
    while stmt is not None:
        assert isinstance(stmt.args[0], Var)
        handle = handle_of(low, stmt.args[0])
        stmt = view_of(low, handle)
    return handle


def current(low: Lowering, var: Var) -> Operand:
    """What a handle holds now."""
    if not low.versions:  # nothing has been written to yet
        return var
    state: Any = low.store.get(var)
    if state is not None:
        if isinstance(state, Poison):
            raise low.refuse(KindError, state.reason, instead="copy the array before it is changed: x.copy().")
        return state  # type: ignore[no-any-return]
    stmt = view_of(low, var)
    if stmt is None:
        return var
    base = stmt.args[0]
    assert isinstance(base, Var)
    now = current(low, handle_of(low, base))
    if now is base:
        return var
    again = low.builder.apply_all(
        stmt.op, (now, *stmt.args[1:]), stmt.kwargs, kind=tuple(t.kind for t in stmt.targets), hint=var.hint
    )[stmt.targets.index(var)]
    if isinstance(again, Var):
        low.versions[again] = var
        again.is_users = again.is_users or var.is_users
    return again


# ---------------------------------------------------------------- who else may see an array


def tie(low: Lowering, a: Any, b: Any) -> None:
    """Note that two arrays, or an array and a list that holds it, may share memory."""
    if a is not b:
        low.ties.setdefault(a, set()).add(b)
        low.ties.setdefault(b, set()).add(a)


def forget_since(low: Lowering, first: int) -> None:
    """Forget what shared memory with values that were made since, and are given up."""

    def is_new(key: Any) -> bool:
        return isinstance(key, Var) and key.serial >= first

    for key in [key for key in low.ties if is_new(key)]:
        for other in low.ties.pop(key):
            low.ties.get(other, set()).discard(key)


def tie_like(low: Lowering, new: Var, olds: Iterable[Var]) -> None:
    """`new` may be one of these arrays, or show a part of it."""
    for old in olds:
        root = root_of(low, old)
        for other in list(low.ties.get(root, ())):
            tie(low, new, other)
        tie(low, new, root)


def arrays_in(low: Lowering, value: Value) -> Iterator[Var]:
    """The arrays that a value holds."""
    match value:
        case Var():
            if is_array(low, value):
                yield value
        case tuple():
            for part in value:
                yield from arrays_in(low, part)
        case Record():
            yield from arrays_in(low, value.values)
        case ListRef() | DictRef() | ObjectRef() | Instance():
            for ref in dict.fromkeys(refs_in(value, low.store)):
                yield from arrays_beside(low, ref)
        case Partial():
            yield from arrays_in(low, (value.fn, *value.args, *value.kwargs.values()))
        case Method():
            yield from arrays_in(low, value.owner)
        case Super():
            yield from arrays_in(low, value.owner)
        case Stepped():
            yield from arrays_in(low, value.args)
        case _:
            return


def arrays_beside(low: Lowering, ref: Reference, but: Set[tuple[Reference, str]] = frozenset()) -> Iterator[Var]:
    """The arrays that a list, dict or object itself holds; `but` are attributes to leave out."""
    state = low.store.get(ref, ())
    parts = (
        (state,)
        if isinstance(state, Var)
        else state
        if isinstance(ref, ListRef)
        else [v for n, v in state if (ref, n) not in but]
    )
    for part in parts:
        if not isinstance(part, REFERENCES):
            yield from arrays_in(low, part)


def held_by_list(low: Lowering, ref: ListRef, value: Value) -> None:
    """Arrays are put into a list whose length the run decides: the list shows them from now on."""
    for array in arrays_in(low, value):
        if is_scalar(array.kind):
            low.without_axes[ref] = None
        root = root_of(low, array)
        if ref in low.ties.get(root, ()) or view_of(low, handle_of(low, array)) is not None:
            low.mixed.add(ref)
        for other in list(low.ties.get(root, ())):
            tie(low, ref, other)
        tie(low, ref, root)


def list_of_the_same(low: Lowering, ref: ListRef, state: Var) -> None:
    """A list that is made of lists whose length the run decides holds the same arrays."""
    if not (isinstance(state.kind, ListOf) and isinstance(state.kind.item, (Array, ListOf))):
        return
    stmt = low.builder.made.get(state)
    if isinstance(state.kind.item, ListOf) and stmt is not None and stmt.op is ops.ITEM and not isinstance(stmt.args[1], SliceOf):
        return  # one of the lists in a list
    sources = {state, *(vars_of(stmt.args) if stmt is not None else ())}
    for other, held in list(low.store.items()):
        if isinstance(other, ListRef) and other != ref and isinstance(held, Var) and held in sources:
            low.mixed.add(ref)
            if other in low.without_axes:
                low.without_axes[ref] = None
            if isinstance(state.kind.item, ListOf):
                low.mixed.add(other)
            for tied in list(low.ties.get(other, ())):
                tie(low, ref, tied)
            tie(low, ref, other)
    if stmt is None or stmt.op not in (ops.DISPLAY, ops.APPEND):
        low.mixed.add(ref)


def item_of_list(low: Lowering, ref: ListRef, value: Value, index: Operand | None = None) -> None:
    """An item of a list whose length the run decides may be any of the arrays that it holds."""
    if ref in low.without_axes and isinstance(value, Var) and is_scalar(value.kind):
        low.without_axes[value] = None
    for array in arrays_in(low, value):
        if view_of(low, array) is None:
            for other in list(low.ties.get(ref, ())):
                tie(low, array, other)
            tie(low, array, ref)
            if index is not None and isinstance(low.store[ref], Var):
                low.places[array] = (ref, low.store[ref], index)


def _put_into_list(low: Lowering, root: Var, version: Var) -> ListRef | None:
    """The list that shows a new version of one of its arrays at the place of the array, if that is known."""
    if root not in low.places:
        return None
    ref, state, index = low.places[root]
    if ref in low.mixed or low.store.get(ref) is not state:
        return None
    new = low.builder.apply(ops.INDEX_SET, (state, index, version), hint=state.hint, kind=state.kind)
    new.is_users = state.is_users
    low.store[ref] = new
    low.places[root] = (ref, new, index)
    return ref


def seen_elsewhere(low: Lowering, names: Iterable[str], attributes: Set[tuple[Reference, str]] = frozenset()) -> set[Var]:
    """The arrays that something else shows than these names of this call, and these attributes of objects."""
    own = set(names)
    found: set[Var] = set()
    frames: list[tuple[Frame, bool]] = [(low.frame, True)]
    done: set[int] = set()
    while frames:
        frame, is_this = frames.pop()
        if id(frame) in done:
            continue
        done.add(id(frame))
        for name, value in frame.vars.items():
            if not (is_this and name in own):
                if not isinstance(value, REFERENCES):
                    found.update(root_of(low, a) for a in arrays_in(low, value))
                if isinstance(value, Closure):
                    frames.append((value.frame, value.frame is low.frame))
        for around in (frame.outer, getattr(frame, "caller", None)):
            if around is not None:
                frames.append((around, around is low.frame))
    for key in low.store:
        if isinstance(key, REFERENCES):
            found.update(root_of(low, a) for a in arrays_beside(low, key, attributes))
    for value in low.openings.values():
        found.update(root_of(low, a) for a in arrays_in(low, value))
    return found


# ---------------------------------------------------------------- new versions


def new_version(low: Lowering, root: Var, version: Var) -> None:
    """An array holds another value from here on."""
    _check_own(low, root)
    if low.builder.merged is not None and root in low.builder.merged:
        raise WrittenTwice
    if low.unordered and not low.unordered.isdisjoint((root, *low.ties.get(root, ()))):
        raise LayoutMatters
    require_apart(low, root)
    version.hint, version.is_users = root.hint, root.is_users
    low.versions[version] = root
    low.store[root] = version
    low.changed.add(root)
    for attempt in low.rows.get(root, ()):
        attempt.indexed = True
    origin = low.origin()
    where = "" if origin is None else f" in line {origin.line}"
    shown = _put_into_list(low, root, version)
    for other in low.ties.get(root, ()):
        if other is shown:
            continue
        hint = other.hint if isinstance(other, Var) else "a list"
        spoken = f"`{hint}`" if isinstance(other, Var) else hint
        reason = Poison(f"{spoken} may share memory with `{root.hint}`, which is changed in place{where}")
        low.store[other] = reason if isinstance(other, Var) else (reason,)


def require_apart(low: Lowering, key: Any) -> None:
    """What is passed in and written to shares nothing with the others of its sort: the guard tests it."""
    if key not in low.paths:
        return
    for other, path in low.paths.items():
        if other is not key and type(other) is type(key):
            low.holders["are_apart"] = are_apart
            low.requirements[f"are_apart({low.paths[key]}, {path})"] = True


def _check_own(low: Lowering, root: Any) -> None:
    """Refuse a write into an array that outlives the call: of the module, or of another function."""
    if is_outside(low, root):
        raise low.refuse(
            SyntaxNotAccepted,
            f"an array of the module is changed in place: `{getattr(root, 'hint', None) or getattr(root, 'text', 'array')}`",
            why="It outlives the call, and a gradient changes nothing outside.",
            instead="copy it first (x.copy()), or pass it as an argument.",
        )


def is_outside(low: Lowering, array: Any) -> bool:
    """Whether an array is one of the module."""
    source, stmt = array, low.builder.made.get(array)
    while stmt is not None and stmt.op.style in ("item", "attribute", "unpack") and stmt.args:
        source = stmt.args[0]
        stmt = low.builder.made.get(source) if isinstance(source, Var) else None
    if stmt is not None and stmt.op.procedure in low.procedures.outside:
        return True
    return isinstance(source, (Free, Ref)) and isinstance(kind_of(array), Array)


def store_item(low: Lowering, handle: Any, index: Operand, value: Operand, op: Any, node: Any) -> None:
    """A new version of the array that a handle shows, with `value` set at (or added to) an index of the handle."""
    if not isinstance(handle, Var):
        _check_own(low, handle)
    handle = handle_of(low, handle)
    stmt = view_of(low, handle)
    if stmt is None and isinstance(handle.kind, Array) and handle.kind.dims == ():
        if op is not ops.INDEX_SET:
            value = low.builder.apply(ops.ADD, (handle, value), kind=handle.kind)
        new_version(low, handle, low.builder.apply(ops.COPY, (value,), kind=handle.kind))
        return
    if stmt is None:
        new_version(low, handle, low.builder.apply(op, (handle, index, value), hint=handle.hint, kind=handle.kind))
        return
    if stmt.op is ops.ITEM:
        composed = compose(stmt.args[1], index)
        if composed is not None:
            store_item(low, stmt.args[0], composed, value, op, node)
            return
    part = low.builder.apply(op, (handle, index, value), hint=handle.hint, kind=handle.kind)
    part.is_users = handle.is_users
    store_whole(low, handle, part, node)


def store_whole(low: Lowering, handle: Any, value: Operand, node: Any) -> None:
    """A new version of the array that a handle shows, in which the handle shows `value`, of its shape and dtype."""
    if not isinstance(handle, Var):
        _check_own(low, handle)
    handle = handle_of(low, handle)
    stmt = view_of(low, handle)
    if stmt is None:
        if (
            not isinstance(value, Var)
            or value in low.versions
            or value not in low.builder.made
            or is_view(low.builder.made[value])
        ):
            value = low.builder.apply(ops.ARRAY_COPY, (value,), kind=handle.kind)
        new_version(low, handle, value)
        return
    base = stmt.args[0]
    assert isinstance(base, Var)
    if stmt.op is ops.ITEM:
        store_item(low, base, stmt.args[1], value, ops.INDEX_SET, node)
        return
    if stmt.op.fn in _READ_ONLY:
        raise low.refuse(
            KindError,
            f"the result of `{stmt.op.text}` is read-only",
            node,
            instead="write into the array itself, or into a copy.",
        )
    back = _inverse(low, stmt, base, value)
    if back is None:
        raise low.refuse(
            SyntaxNotAccepted,
            f"a write into what `{stmt.op.text}` shows of an array is not accepted",
            node,
            instead="write into the array itself, at an index.",
        )
    store_whole(low, base, back, node)


def _inverse(low: Lowering, stmt: Apply, base: Var, value: Operand) -> Operand | None:
    """The array of which a view that keeps all elements shows `value`."""
    apply, kind = low.builder.apply, base.kind
    assert isinstance(kind, Array)
    if stmt.op is ops.TRANSPOSE:
        return apply(ops.TRANSPOSE, (value,), kind=kind)
    fn, args = stmt.op.fn, stmt.args[1:]
    if fn is np.swapaxes or fn in (np.flip, np.fliplr, np.flipud):
        return apply(stmt.op, (value, *args), stmt.kwargs, kind=kind)
    if fn is np.moveaxis and len(args) == 2:
        return apply(stmt.op, (value, args[1], args[0]), kind=kind)
    if fn is np.transpose and len(args) == 1 and isinstance(args[0], tuple) and all(isinstance(a, Const) for a in args[0]):
        order = [int(a.value) % len(args[0]) for a in args[0]]  # type: ignore[union-attr]
        return apply(stmt.op, (value, tuple(Const(order.index(i)) for i in range(len(order)))), kind=kind)
    if fn in (np.reshape, np.ravel, np.expand_dims, np.squeeze, np.atleast_1d, np.atleast_2d, np.atleast_3d):
        if kind.dims is None:
            return None
        shape = low.builder.apply(ops.SHAPE, (base,))
        return apply(ops.call_op(np.reshape, "np.reshape"), (value, shape), kind=kind)
    return None


def compose(outer: Operand, inner: Operand) -> Operand | None:
    """The index that takes `[inner]` of what `[outer]` shows; None where no index says it simply."""
    first = outer if isinstance(outer, tuple) else (outer,)
    second = inner if isinstance(inner, tuple) else (inner,)
    if len(second) == 1 and (_is_ellipsis(second[0]) or _is_everything(second[0])):
        return outer
    if not all(_is_int(p) or _is_everything(p) for p in first):
        return None
    if all(_is_int(p) for p in first):
        return (*first, *second)
    if any(_is_ellipsis(p) or (isinstance(p, Const) and p.value is None) for p in second):
        return None
    if not is_basic_index(inner) and (len(second) > 1 or not _is_one_axis(second[0])):
        return None
    queue = list(second)
    merged = [p if _is_int(p) or not queue else queue.pop(0) for p in first]
    return (*merged, *queue)


def _is_int(part: Operand) -> bool:
    kind = getattr(part, "kind", None)
    return kind == Number("int") or (isinstance(kind, Array) and kind.dims == () and kind.dtype.startswith(("int", "uint")))


def _is_ellipsis(part: Operand) -> bool:
    return isinstance(part, Const) and part.value is Ellipsis


def _is_everything(part: Operand) -> bool:
    return isinstance(part, SliceOf) and all(isinstance(p, Const) and p.value is None for p in (part.start, part.stop, part.step))


def _is_one_axis(part: Operand) -> bool:
    kind = getattr(part, "kind", None)
    return (isinstance(kind, Array) and kind.ndim == 1) or isinstance(kind, ListOf) or isinstance(part, ListDisplay)


def settled(low: Lowering, value: Value) -> Value:
    """A value with what its arrays hold now; the lists, dicts and objects in it too."""
    for ref in dict.fromkeys(refs_in(value, low.store)):
        if ref in low.store:
            low.store[ref] = _settled(low, low.store[ref])
    return _settled(low, value)


def _settled(low: Lowering, value: Value) -> Value:
    match value:
        case Var():
            return current(low, value)
        case tuple():
            return tuple(_settled(low, v) for v in value)
        case Record():
            return Record(value.cls, value.fields, tuple(_settled(low, v) for v in value.values))
        case _:
            return value
