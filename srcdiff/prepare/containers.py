"""Lists and dicts that change: their methods, and writes to their items, each a new state of the object in the store.

hs[0] = v             store[hs] = (v, …)
hs.append(v)          store[hs] = (…, v)             or, of a list whose length the run decides, append(hs, v)
d["k"] = v            store[d]  = (…, ("k", v))

What the function writes to is its own view of an argument: the caller's object is never touched.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from srcdiff.errors import KindError, SyntaxNotAccepted
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, ListOf, Number, combine, is_scalar, join, opaque
from srcdiff.ir.nodes import Const, ListDisplay, Ref, SliceOf, Var
from srcdiff.prepare import arrays, builtin_calls, calls, exceptions, expressions, loops, nested
from srcdiff.prepare.lowering import Lowering
from srcdiff.prepare.values import DictRef, Iterable, ListRef, Reference, State, Value, is_atom, refs_in
from srcdiff.rules.inference import kind_of

Args = tuple[Value, ...]
Kwargs = dict[str, Value]


# ---------------------------------------------------------------- the state of an object


def put(low: Lowering, ref: ListRef | DictRef, state: State, node: ast.AST | None) -> None:
    """Change a list or dict."""
    arrays.require_apart(low, ref)
    place = nested.place_of(low, ref) if isinstance(ref, ListRef) else None
    if place is not None and isinstance(ref, ListRef):
        nested.replace_whole(low, place, ref, state, node)
        return
    refuse_hidden_change(low, ref, node)
    if isinstance(ref, ListRef):
        nested.move(low, ref)
    low.store[ref] = state


def refuse_hidden_change(low: Lowering, ref: Reference, node: ast.AST | None) -> None:
    """Refuse to change a list, dict or object that others may see who would not notice."""
    name = low.foreign.get(ref)
    if name is not None:
        raise low.refuse(
            SyntaxNotAccepted,
            f"`{name}` is changed, which outlives the call",
            node,
            why="The module, the object or the function around holds it, and a gradient leaves no trace there.",
            instead="change a list or dict of the function's own: ys = list(xs).",
        )
    if ref in low.inside:
        raise low.refuse(
            SyntaxNotAccepted,
            "a list is changed that stands in a list whose length the run decides",
            node,
            instead="build the inner list first, and append it when it is complete.",
        )
    for other in low.twins.get(ref, ()):
        if is_held(low, other, ref):
            raise low.refuse(
                SyntaxNotAccepted,
                f"{_spoken_sort(ref)} is changed that may be one of two, depending on the path taken",
                node,
                why="Another name may hold the same object, and would show the change.",
                instead="make one of its own before: ys = list(xs).",
            )


def _spoken_sort(ref: Reference) -> str:
    return "a list or dict" if isinstance(ref, (ListRef, DictRef)) else "an object"


def is_held(low: Lowering, ref: Reference, other: Reference) -> bool:
    """Whether a name or another object still holds an object."""
    if ref not in low.store:
        return False
    frame: Any = low.frame
    seen: set[int] = set()
    todo = [frame]
    while todo:
        frame = todo.pop()
        if frame is None or id(frame) in seen:
            continue
        seen.add(id(frame))
        if any(ref in refs_in(v) for v in frame.vars.values()):
            return True
        todo += [frame.outer, frame.caller]
    return any(ref in refs_in(state) for key, state in low.store.items() if key is not other)


def inner(low: Lowering, atom: Any) -> Value:
    """An item of a list whose length the run decides; a list in it may not be changed apart from that list."""
    value = expressions.opened(low, atom)
    low.inside.update(refs_in(value))
    return value


def new_object(low: Lowering, cls: type, state: State) -> ListRef | DictRef:
    """A list or dict of a class of its own, which behaves otherwise as a plain one does."""
    ref: ListRef | DictRef = low.new_dict(state) if issubclass(cls, dict) else low.new_list(state)
    low.classes[ref] = cls
    return ref


def own(low: Lowering, ref: ListRef, what: Sequence[Value] = ()) -> Any:
    """A list as one value whose length the run decides, so that it can be changed at a place that only the run knows."""
    state = low.store[ref]
    if is_atom(state):
        return state
    kind = kind_of(ListDisplay(tuple(low.operand(v) for v in (*state, *what))))
    if not isinstance(kind, ListOf) or isinstance(kind.item, Array) and kind.item.dims is None:
        raise low.refuse(
            loops.NeedsUnrolling, "a list that is changed at a place that only the run knows holds values of one kind"
        )
    low.hand_over(state, low.store, ref)
    display = ListDisplay(tuple(low.operand(v) for v in state))
    atom = low.builder.apply_all(ops.DISPLAY, (display,), hint=loops.list_hint(low, ref), kind=ListOf(kind.item, len(state)))[0]
    atom.is_users = True
    low.store[ref] = atom
    arrays.held_by_list(low, ref, state)
    return atom


def _version(low: Lowering, ref: ListRef, op: Any, args: Args, node: ast.AST, kind: Any = None) -> None:
    state = args[0]
    new = low.builder.apply(op, args, hint=state.hint, kind=kind or state.kind)
    new.is_users = True
    put(low, ref, new, node)


def _item_atom(low: Lowering, ref: ListRef, state: Var, value: Value, node: ast.AST | None) -> tuple[Any, ListOf]:
    """A value that goes into a list whose length the run decides, and the kind of that list then."""
    kind = state.kind
    assert isinstance(kind, ListOf)
    low.hand_over(value, low.store, ref)
    arrays.held_by_list(low, ref, value)
    atom = low.atom(value)
    joined = join(kind.item, kind_of(atom))
    if joined is None or (isinstance(joined, Array) and joined.dims is None and kind.item != joined):
        raise low.refuse(
            KindError,
            "a list whose length the run decides holds values of one kind",
            node,
            instead="use a list for each kind, or begin with an empty list and append.",
        )
    return atom, ListOf(joined, kind.length)


# ---------------------------------------------------------------- keys of dicts


MISSING = object()


def key_of(value: Value) -> Any:
    """The key of a dict, where it is known when compiling; otherwise MISSING."""
    match value:
        case Const():
            return value.value
        case tuple():
            parts = tuple(key_of(v) for v in value)
            return MISSING if any(p is MISSING for p in parts) else parts
        case Ref():
            return value.value if _is_hashable(value.value) else MISSING
        case Var():
            kind = value.kind
            known = isinstance(kind, Number) and type(kind.length) is int
            return kind.length if known else MISSING  # type: ignore[union-attr]
    return MISSING


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def key_value(key: Any) -> Value:
    """A key as a value of the program."""
    if isinstance(key, tuple):
        return tuple(key_value(k) for k in key)
    is_literal = key is None or isinstance(key, (str, bytes, bool, int, float))
    return Const(key) if is_literal else Ref(key, getattr(key, "__name__", "key"))


def known_key(low: Lowering, index: Value, node: ast.AST) -> Any:
    key = key_of(index)
    if key is MISSING:
        raise low.refuse(
            loops.NeedsUnrolling,
            "the key of a dict is not known when the function is compiled",
            node,
            instead="use a list or an array, which any number may index.",
        )
    return key


def read_key(low: Lowering, ref: DictRef, index: Value, node: ast.AST) -> Value:
    """`d[key]`; a defaultdict makes what is missing."""
    key = known_key(low, index, node)
    for k, value in low.store[ref]:
        if k == key:
            return value
    factory = low.factories.get(ref)
    if factory is None:
        raise exceptions.known_to_raise(low, KeyError, key, low.refuse(KindError, f"the dict has no key {key!r}", node))
    value = calls.call_value(low, factory, (), {}, node)
    put(low, ref, (*low.store[ref], (key, value)), node)
    return value


# ---------------------------------------------------------------- items


def write_item(low: Lowering, owner: ListRef | DictRef, index: Value, value: Value, node: ast.AST) -> None:
    """`owner[index] = value`, of a list or dict."""
    if isinstance(owner, DictRef):
        key = known_key(low, index, node)
        entries = dict(low.store[owner])
        entries[key] = value
        put(low, owner, tuple(entries.items()), node)
        return
    items = low.items(owner)
    if isinstance(index, SliceOf):
        _write_slice(low, owner, index, value, node)
        return
    position = expressions.static_int(low, index)
    if items is not None and position is not None:
        if not -len(items) <= position < len(items):
            raise low.refuse(KindError, f"index {position} is out of range for {len(items)} items", node)
        changed = list(items)
        changed[position] = value
        put(low, owner, tuple(changed), node)
        return
    if not is_atom(index) or kind_of(index) not in (Number("int"), Number("bool")) and not _is_whole(kind_of(index)):
        raise low.refuse(KindError, "the index of a list is an integer or a slice", node)
    place = nested.place_of(low, owner)
    if place is not None:
        nested.write_item(low, place, index, value, node)
        return
    state = own(low, owner, (value,))
    atom, kind = _item_atom(low, owner, state, value, node)
    _version(low, owner, ops.INDEX_SET, (state, index, atom), node, kind)


def _is_whole(kind: Any) -> bool:
    return isinstance(kind, Array) and kind.dims == () and kind.dtype.startswith(("int", "uint"))


def _write_slice(low: Lowering, owner: ListRef, index: SliceOf, value: Value, node: ast.AST) -> None:
    items = low.items(owner)
    more = expressions.known_items(low, value)
    if items is not None and more is not None and _is_static(low, index):
        changed = list(items)
        try:
            changed[_slice(low, index)] = more
        except ValueError as error:
            raise low.refuse(KindError, str(error), node) from None
        put(low, owner, tuple(changed), node)
        return
    nothing = Const(None)
    if index.start in (nothing, Const(0)) and index.stop == nothing and index.step in (nothing, Const(1)):
        put(low, owner, _listed(low, value, node), node)
        return
    raise low.refuse(
        SyntaxNotAccepted,
        "a slice is assigned of a list whose length the run decides",
        node,
        instead="assign the items one by one, or join parts: xs = xs[:a] + ys + xs[b:].",
    )


def _is_static(low: Lowering, index: SliceOf) -> bool:
    return all(p == Const(None) or expressions.static_int(low, p) is not None for p in (index.start, index.stop, index.step))


def _slice(low: Lowering, index: SliceOf) -> slice:
    return slice(*(expressions.static_int(low, p) for p in (index.start, index.stop, index.step)))


def update_item(
    low: Lowering, owner: ListRef | DictRef, index: Value, node: ast.AugAssign, updated: Callable[[Value], Value]
) -> None:
    """`owner[index] += value`; `updated` gives the new item from the old one."""
    if isinstance(owner, ListRef) and isinstance(index, SliceOf):
        part = expressions.subscript(low, owner, index, node.target)
        write_item(low, owner, index, updated(part), node.target)
        return
    if isinstance(owner, ListRef) and low.items(owner) is not None and expressions.static_int(low, index) is None:
        own(low, owner)
    item = expressions.subscript(low, owner, index, node.target)
    before = low.store[owner]
    count = len(low.builder.stmts)
    new = updated(item)
    stmt = low.builder.made.get(new) if isinstance(new, Var) else None
    is_last = stmt is not None and len(low.builder.stmts) > count and low.builder.stmts[-1] is stmt
    if (
        is_last
        and stmt is not None
        and stmt.op is ops.ADD
        and stmt.args[0] is item
        and is_atom(before)
        and low.store[owner] is before
        and is_scalar(before.kind.item)
    ):
        del low.builder.stmts[-1]
        low.builder.known = {k: v for k, v in low.builder.known.items() if v != stmt.targets}
        assert isinstance(owner, ListRef)
        place = nested.place_of(low, owner)
        if place is not None:
            nested.write_item(low, place, index, stmt.args[1], node, ops.INDEX_ADD)
            return
        _version(low, owner, ops.INDEX_ADD, (before, index, stmt.args[1]), node, _item_atom(low, owner, before, new, node)[1])
        return
    if new is item:
        return
    write_item(low, owner, index, new, node.target)


def delete_item(low: Lowering, owner: Value, index: Value, node: ast.AST) -> None:
    """`del owner[index]`."""
    if isinstance(owner, DictRef):
        _dict_pop(low, owner, (index,), {}, node)
        return
    if not isinstance(owner, ListRef):
        raise low.refuse(
            SyntaxNotAccepted, "an item of this value cannot be deleted", node, instead="delete items of lists or dicts."
        )
    if not isinstance(index, SliceOf):
        _list_pop(low, owner, (index,), {}, node)
        return
    items = low.items(owner)
    if items is not None and _is_static(low, index):
        kept = list(items)
        del kept[_slice(low, index)]
        put(low, owner, tuple(kept), node)
        return
    nothing = Const(None)
    state = own(low, owner)
    if index.step not in (nothing, Const(1)) or (index.start != nothing and index.stop != nothing):
        raise low.refuse(
            SyntaxNotAccepted,
            "a slice within a list whose length the run decides is deleted",
            node,
            instead="join what is kept: xs = xs[:a] + xs[b:].",
        )
    if index.start == nothing and index.stop == nothing:
        put(low, owner, (), node)
        return
    rest = SliceOf(index.stop, nothing, nothing) if index.start == nothing else SliceOf(nothing, index.start, nothing)
    _version(low, owner, ops.ITEM, (state, rest), node, ListOf(state.kind.item, opaque()))


# ---------------------------------------------------------------- methods of lists


def list_method(low: Lowering, ref: ListRef, name: str, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    method = _LIST_METHODS.get(name)
    if method is None or name in _OF_DEQUES and low.classes.get(ref) is not deque:
        raise low.refuse(SyntaxNotAccepted, f"the list method `.{name}` is not accepted", node)
    low.contents(ref)
    return method(low, ref, args, kwargs, node)


def _list_append(low: Lowering, ref: ListRef, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    state = low.store[ref]
    if is_atom(state):
        atom, kind = _item_atom(low, ref, state, args[0], node)
        _version(low, ref, ops.APPEND, (state, atom), node, ListOf(kind.item, combine("+", kind.length, 1)))
    else:
        put(low, ref, (*state, args[0]), node)
    _shorten(low, ref, node, from_left=True)
    return Const(None)


def _list_append_left(low: Lowering, ref: ListRef, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    _list_insert(low, ref, (Const(0), args[0]), kwargs, node)
    _shorten(low, ref, node, from_left=False)
    return Const(None)


def _shorten(low: Lowering, ref: ListRef, node: ast.AST, *, from_left: bool) -> None:
    """A deque of limited length loses items at the other end."""
    limit = low.limits.get(ref)
    if limit is None:
        return
    items = low.items(ref)
    if items is None:
        raise low.refuse(
            KindError,
            "a deque of limited length grows in a loop",
            node,
            instead="fill it before the loop: deque([0.0] * n, maxlen=n).",
        )
    put(low, ref, items[max(len(items) - limit, 0) :] if from_left else items[:limit], node)


def _listed(low: Lowering, value: Value, node: ast.AST) -> State:
    """What list(value) contains."""
    made = builtin_calls.HANDLERS[list](low, (value,), {}, node)
    return low.store[made]


def extend(low: Lowering, ref: ListRef, value: Value, node: ast.AST) -> None:
    """`ref.extend(value)`, `ref += value`."""
    items, more = low.items(ref), expressions.known_items(low, value)
    if items is not None and more is not None:
        put(low, ref, items + tuple(more), node)
    elif more is not None:
        for item in more:
            _list_append(low, ref, (item,), {}, node)
        return
    else:
        added = _listed(low, value, node)
        if items == ():
            put(low, ref, added, node)
            return
        low.hand_over(low.store[ref] if items is not None else (), low.store, ref)
        kind = kind_of(added)
        if isinstance(kind, ListOf) and isinstance(kind.item, ListOf):
            low.mixed.add(ref)  # the lists in it are those of the other
        put(low, ref, low.builder.apply(ops.ADD, (low.operand(ref), added), hint=loops.list_hint(low, ref)), node)
    _shorten(low, ref, node, from_left=True)


def joined(low: Lowering, a: ListRef, b: ListRef, node: ast.AST) -> ListRef:
    """`a + b`, where the run decides the length of one."""
    whole = low.new_list(low.store[a])
    extend(low, whole, b, node)
    return whole


def _list_extend(low: Lowering, ref: ListRef, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    extend(low, ref, args[0], node)
    return Const(None)


def _list_insert(low: Lowering, ref: ListRef, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    position, items = expressions.static_int(low, args[0]), low.items(ref)
    if position is not None and items is not None:
        changed = list(items)
        changed.insert(position, args[1])
        put(low, ref, tuple(changed), node)
        return Const(None)
    if position is None or position < 0:
        raise _at_run_time(low, "insert", node)
    state = own(low, ref, (args[1],))
    atom, kind = _item_atom(low, ref, state, args[1], node)
    _version(low, ref, ops.INSERT, (state, Const(position), atom), node, ListOf(kind.item, combine("+", kind.length, 1)))
    return Const(None)


def _at_run_time(low: Lowering, name: str, node: ast.AST) -> Exception:
    return low.refuse(
        loops.NeedsUnrolling,
        f"`.{name}` of a list at a place that only the run knows",
        node,
        instead="join parts: xs = xs[:i] + [v] + xs[i:].",
    )


def _list_pop(low: Lowering, ref: ListRef, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    items = low.items(ref)
    position = expressions.static_int(low, args[0]) if args else -1
    if position is None:
        raise _at_run_time(low, "pop", node)
    if items is not None:
        if not -len(items) <= position < len(items):
            raise low.refuse(KindError, f"index {position} is out of range for {len(items)} items", node)
        changed = list(items)
        item = changed.pop(position)
        put(low, ref, tuple(changed), node)
        return item
    state = low.store[ref]
    shorter = ListOf(state.kind.item, combine("-", state.kind.length, 1))
    place = () if position == -1 else (Const(position),)
    rest, item = low.builder.apply_all(ops.POP, (state, *place), kind=(shorter, state.kind.item), hint="item")
    rest.hint, rest.is_users = state.hint, True
    put(low, ref, rest, node)
    return inner(low, item)


def _list_pop_left(low: Lowering, ref: ListRef, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    return _list_pop(low, ref, (Const(0),), kwargs, node)


def _list_remove(low: Lowering, ref: ListRef, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    items = low.items(ref)
    if items is None:
        raise low.refuse(
            KindError, "`.remove` of a value that only the run knows", node, instead="use a comprehension with a condition."
        )
    place = builtin_calls.search(low, list(items), "index", args, node)
    put(low, ref, items[: place.value] + items[place.value + 1 :], node)
    return Const(None)


def _list_clear(low: Lowering, ref: ListRef, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    put(low, ref, (), node)
    return Const(None)


def _list_reverse(low: Lowering, ref: ListRef, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    items = low.items(ref)
    if items is not None:
        put(low, ref, items[::-1], node)
    else:
        nothing = Const(None)
        state = low.store[ref]
        _version(low, ref, ops.ITEM, (state, SliceOf(nothing, nothing, Const(-1))), node)
    return Const(None)


def _list_sort(low: Lowering, ref: ListRef, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    """The handler of `sorted`, where there is one; numbers are sorted as an array is."""
    handler = builtin_calls.HANDLERS.get(sorted)
    if handler is not None:
        put(low, ref, _listed(low, handler(low, (ref,), kwargs, node), node), node)
        return Const(None)
    backwards = kwargs.get("reverse", Const(False))
    if kwargs.keys() - {"reverse"} or not isinstance(backwards, Const):
        raise low.refuse(SyntaxNotAccepted, "`.sort` with a key is not accepted", node, instead="sort by np.argsort of the keys.")
    items = low.items(ref)
    if items is not None and len(items) < 2:
        return Const(None)
    if items is not None and all(isinstance(i, Const) for i in items):
        in_order = sorted(items, key=lambda c: c.value)
        put(low, ref, tuple(in_order[::-1] if backwards.value else in_order), node)
        return Const(None)
    array = calls.call_numpy(low, np.sort, (calls.call_numpy(low, np.array, (ref,), {}, node),), {}, node)
    if backwards.value:
        nothing = Const(None)
        array = expressions.subscript(low, array, SliceOf(nothing, nothing, Const(-1)), node)
    if items is not None:
        put(low, ref, tuple(low.builder.item(array, Const(i)) for i in range(len(items))), node)
    else:
        put(low, ref, _listed(low, array, node), node)
    return Const(None)


def _list_copy(low: Lowering, ref: ListRef, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    return low.new_list(low.store[ref])


def _list_search(name: str) -> Any:
    def method(low: Lowering, ref: ListRef, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
        items = low.items(ref)
        if items is None:
            raise low.refuse(KindError, f"`.{name}` of a list whose length the run decides", node)
        return builtin_calls.search(low, list(items), name, args, node)

    return method


_LIST_METHODS: dict[str, Callable[..., Value]] = {
    "append": _list_append,
    "extend": _list_extend,
    "insert": _list_insert,
    "pop": _list_pop,
    "remove": _list_remove,
    "clear": _list_clear,
    "reverse": _list_reverse,
    "sort": _list_sort,
    "copy": _list_copy,
    "index": _list_search("index"),
    "count": _list_search("count"),
    "appendleft": _list_append_left,
    "popleft": _list_pop_left,
}
_OF_DEQUES = ("appendleft", "popleft")


# ---------------------------------------------------------------- methods of dicts


def dict_method(low: Lowering, ref: DictRef, name: str, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    if name in ("items", "keys", "values"):
        return Iterable(name, (ref,))
    method = _DICT_METHODS.get(name)
    if method is None:
        raise low.refuse(SyntaxNotAccepted, f"the dict method `.{name}` is not accepted", node)
    return method(low, ref, args, kwargs, node)


def _dict_get(low: Lowering, ref: DictRef, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    key = known_key(low, args[0], node)
    default = args[1] if len(args) > 1 else Const(None)
    return next((v for k, v in low.store[ref] if k == key), default)


def _dict_set_default(low: Lowering, ref: DictRef, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    key = known_key(low, args[0], node)
    for k, value in low.store[ref]:
        if k == key:
            return value
    value = args[1] if len(args) > 1 else Const(None)
    put(low, ref, (*low.store[ref], (key, value)), node)
    return value


def _dict_pop(low: Lowering, ref: DictRef, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    key = known_key(low, args[0], node)
    for k, value in low.store[ref]:
        if k == key:
            put(low, ref, tuple((o, v) for o, v in low.store[ref] if o != key), node)
            return value
    if len(args) > 1:
        return args[1]
    raise low.refuse(KindError, f"the dict has no key {key!r}", node)


def _dict_pop_item(low: Lowering, ref: DictRef, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    last = args[0] if args else kwargs.get("last", Const(True))
    entries = low.store[ref]
    if not entries or not isinstance(last, Const):
        raise low.refuse(KindError, "popitem(): the dictionary is empty", node)
    key, value = entries[-1 if last.value else 0]
    put(low, ref, entries[:-1] if last.value else entries[1:], node)
    return key_value(key), value


def _dict_update(low: Lowering, ref: DictRef, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    update(low, ref, args[0] if args else low.new_dict(()), node)
    put(low, ref, tuple({**dict(low.store[ref]), **kwargs}.items()), node)
    return Const(None)


def entries_of(low: Lowering, value: Value, node: ast.AST) -> dict[Any, Value]:
    """The keys and values of a dict, or of pairs."""
    if isinstance(value, DictRef):
        return dict(low.store[value])
    entries: dict[Any, Value] = {}
    for pair in expressions.items_of(low, value, None, node):
        key, held = expressions.items_of(low, pair, 2, node)
        entries[known_key(low, key, node)] = held
    return entries


def update(low: Lowering, ref: DictRef, value: Value, node: ast.AST) -> None:
    """`ref.update(value)`, `ref |= value`."""
    put(low, ref, tuple({**dict(low.store[ref]), **entries_of(low, value, node)}.items()), node)


def _dict_clear(low: Lowering, ref: DictRef, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    put(low, ref, (), node)
    return Const(None)


def _dict_copy(low: Lowering, ref: DictRef, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    copy = low.new_dict(low.store[ref])
    low.take_after(copy, (ref,))
    low.foreign.pop(copy, None)
    return copy


def _dict_from_keys(low: Lowering, ref: DictRef, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    value = args[1] if len(args) > 1 else Const(None)
    return low.new_dict(tuple({known_key(low, k, node): value for k in expressions.items_of(low, args[0], None, node)}.items()))


_DICT_METHODS: dict[str, Callable[..., Value]] = {
    "get": _dict_get,
    "setdefault": _dict_set_default,
    "pop": _dict_pop,
    "popitem": _dict_pop_item,
    "update": _dict_update,
    "clear": _dict_clear,
    "copy": _dict_copy,
    "fromkeys": _dict_from_keys,
}


def united(low: Lowering, a: DictRef, b: DictRef) -> DictRef:
    """`a | b`."""
    return low.new_dict(tuple({**dict(low.store[a]), **dict(low.store[b])}.items()))


# ---------------------------------------------------------------- collections


def make_deque(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    limit = args[1] if len(args) > 1 else kwargs.get("maxlen", Const(None))
    length = None if limit == Const(None) else expressions.static_int(low, limit)
    if length is None and limit != Const(None):
        raise low.refuse(KindError, "the maxlen of a deque is not known when the function is compiled", node)
    state = _listed(low, args[0], node) if args else ()
    ref = new_object(low, deque, state)
    assert isinstance(ref, ListRef)
    if length is not None:
        low.limits[ref] = length
        _shorten(low, ref, node, from_left=True)
    return ref


def make_default_dict(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    from collections import defaultdict

    entries = entries_of(low, args[1], node) if len(args) > 1 else {}
    ref = new_object(low, defaultdict, tuple({**entries, **kwargs}.items()))
    if args and args[0] != Const(None):
        low.factories[ref] = args[0]
    return ref


def make_ordered_dict(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    from collections import OrderedDict

    entries = entries_of(low, args[0], node) if args else {}
    return new_object(low, OrderedDict, tuple({**entries, **kwargs}.items()))
