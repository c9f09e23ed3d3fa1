"""Lowering: from an accepted syntax tree and the kinds of the arguments to the IR, in one walk.

    h = dense(x, *layers[0])     resolves `dense` and inlines it, takes the known list apart, infers the kinds

The walk interprets what is known when compiling (functions, containers, ranks) and emits statements for the rest. This file
holds what the walk carries; statements, loops, expressions and calls have a file each.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from srcdiff.errors import KindError, SrcdiffError
from srcdiff.ir import ops
from srcdiff.ir.kinds import Kind, ListOf, is_scalar, join, spoken_kind
from srcdiff.ir.nodes import (
    UNBOUND,
    Block,
    Caught,
    Const,
    Free,
    If,
    ListDisplay,
    Managed,
    Operand,
    Origin,
    Ref,
    SliceOf,
    Var,
    Yield,
)
from srcdiff.ir.walk import bound_by, map_operand
from srcdiff.prepare import arrays
from srcdiff.prepare.entry import is_plain_attribute, read_attribute, read_class_attribute, vars_of_object
from srcdiff.prepare.specialisations import Procedures, ResultUnknown
from srcdiff.prepare.values import (
    ATOMS,
    DictRef,
    Generator,
    Instance,
    Iterable,
    ListRef,
    Method,
    ObjectRef,
    Partial,
    Poison,
    Record,
    State,
    Store,
    Value,
    flatten,
    is_atom,
    operand_of,
    rebuild,
    refs_in,
)
from srcdiff.read.source import FunctionSource
from srcdiff.rules.builder import Builder
from srcdiff.rules.inference import kind_of

MAX_DEPTH = 60


@dataclass(eq=False)
class Frame:
    """The names of one function's call; `outer` is the frame of the function that it is defined in."""

    source: FunctionSource
    vars: dict[str, Value] = field(default_factory=dict)
    outer: Frame | None = None
    locals: frozenset[str] = frozenset()
    depth: int = 0
    cells: dict[str, ListRef] = field(default_factory=dict)  # names that functions within write to
    node: ast.AST | None = None  # the function
    caller: Frame | None = None
    site: ast.AST | None = None  # the call
    arguments: Any = None  # their structure and kinds, where the function is called while it runs
    woven: dict[str, ast.AST] = field(default_factory=dict)  # hidden names, and the statements of ours that they stand in


@dataclass(eq=False)
class Lowering:
    """The state of the walk: where it is (frame, builder), what lists and dicts contain, and what the guard must test."""

    frame: Frame
    builder: Builder
    store: Store = field(default_factory=dict)
    requirements: dict[str, Any] = field(default_factory=dict)
    serial: Any = field(default_factory=itertools.count)
    depth: int = 0
    loops: list[Any] = field(default_factory=list)
    node: ast.AST | None = None
    holders: dict[str, Any] = field(default_factory=dict)  # modules and cells that the guard reaches values through
    foreign: dict[Any, str] = field(default_factory=dict)  # lists, dicts and objects that a module or function holds
    inside: set[Any] = field(default_factory=set)  # those that a list whose length the run decides holds
    twins: dict[Any, set[Any]] = field(default_factory=dict)  # lists, dicts and objects that may be the same one
    classes: dict[ListRef | DictRef, type] = field(default_factory=dict)  # of those that are no plain list or dict
    factories: dict[ListRef | DictRef, Value] = field(default_factory=dict)  # what a defaultdict makes
    links: dict[ListRef, Any] = field(default_factory=dict)  # of a list in a list of the run: where it stands (`nested`)
    layouts: dict[ListRef, Any] = field(default_factory=dict)  # changes when a list's items move
    cell_names: dict[ListRef, str] = field(default_factory=dict)
    limits: dict[ListRef | DictRef, int] = field(default_factory=dict)  # the maxlen of a deque
    prologue: Builder = field(init=False)  # reads what outlives the call, before anything else
    openings: dict[Any, Value] = field(default_factory=dict)  # what the prologue has read
    initial: Store = field(default_factory=dict)  # what the lists, dicts and objects among it contain at first
    arguments: list[Any] = field(default_factory=list)  # (path, object, reference) of each object that outlives the call
    changed: set[Var] = field(default_factory=set)  # arrays that are written to
    written: set[Any] = field(default_factory=set)  # objects of which an attribute is set
    without_axes: dict[Any, bool | None] = field(default_factory=dict)  # scalars (and lists of them) that are arrays; or may be
    contiguous: dict[Var, str] = field(default_factory=dict)  # arguments that lie in the order of their indices → their path
    asks_layout: bool = False  # the guard asks whether they do
    unordered: set[Var] = field(default_factory=set)  # what a reshape of them gives, while the guard does not ask
    unsure: set[Var] = field(default_factory=set)  # names that one path leaves unbound
    versions: dict[Var, Var] = field(default_factory=dict)  # what an array was changed to → the array's handle
    ties: dict[Any, set[Any]] = field(default_factory=dict)  # handles (and lists) that may share memory, both ways
    rows: dict[Var, list[Any]] = field(default_factory=dict)  # what loops take from an array → the attempts to lower them
    procedures: Procedures = field(default_factory=Procedures)
    unknown: ResultUnknown | None = None  # why the last path was left out
    paths: dict[Any, str] = field(default_factory=dict)  # arrays, lists and dicts that are passed in → how the guard reaches them
    places: dict[Var, tuple[ListRef, Var, Operand]] = field(default_factory=dict)  # of an array of a list: list, state, index
    mixed: set[ListRef | None] = field(default_factory=set)  # lists that may hold one array or list twice; None: nobody knows
    handlers: list[Any] = field(default_factory=list)  # the errors that the try statements around catch
    tries: list[Any] = field(default_factory=list)  # what watches the bodies of these
    raised: Any = None  # the last error that is known to be raised, and its statement
    derived: dict[Any, Any] = field(default_factory=dict)  # the procedures of derivatives that are taken inside
    customs: list[Any] = field(default_factory=list)  # the rules of the user's that are being lowered, from the outermost
    derive: Any = None  # makes the statements of a function's gradient from those of the function
    root_source: FunctionSource = field(init=False)

    # ------------------------------------------------------------ places

    def origin(self, node: ast.AST | None = None) -> Origin | None:
        node = node if node is not None else self.node
        if node is None or not hasattr(node, "lineno"):
            return None
        source: FunctionSource = getattr(node, "source", self.frame.source)
        return source.origin(node)

    def refuse(
        self,
        error: type[SrcdiffError],
        what: str,
        node: ast.AST | None = None,
        why: str | None = None,
        instead: str | None = None,
    ) -> SrcdiffError:
        return error(what, self.origin(node), why, instead)

    # ------------------------------------------------------------ arrays

    def current(self, var: Var) -> Operand:
        """What an array holds now; any other value is itself."""
        return arrays.current(self, var)

    # ------------------------------------------------------------ lists and dicts

    def new_list(self, state: State) -> ListRef:
        ref = ListRef(next(self.serial))
        self.store[ref] = state
        if isinstance(state, Var):
            arrays.list_of_the_same(self, ref, state)
        return ref

    def new_dict(self, state: State) -> DictRef:
        ref = DictRef(next(self.serial))
        self.store[ref] = state
        return ref

    def be_twins(self, a: Any, b: Any) -> None:
        """Two objects of the store may be one object of the run."""
        self.twins.setdefault(a, set()).add(b)
        self.twins.setdefault(b, set()).add(a)

    def stand_for(self, new: Any, ref: Any) -> None:
        """A new object of the store may be one of the run that was there before, and so each that this one may be."""
        for other in (ref, *self.twins.get(ref, ())):
            if other != new:
                self.be_twins(new, other)

    def hand_over(self, value: Value, store: Store, to: ListRef | None = None) -> None:
        """A value goes into a list whose length the run decides: what it holds may not change apart from that list.

        A list that goes into several places is seen in all of them, which nothing follows.
        """
        for ref in refs_in(value):
            if ref in self.inside:
                self.mixed.add(to)
            self.inside.add(ref)
            state = self.state_in(store, ref)
            if state is not None and not is_atom(state):
                self.hand_over(tuple(state), store, to)

    def take_after(self, ref: Any, others: tuple[Any, ...]) -> None:
        """What is known of an object beside its contents, where it stands for others."""
        for other in others:
            facts: tuple[dict[Any, Any], ...] = (self.foreign, self.classes, self.factories, self.limits)
            for known in facts:
                if other in known:
                    known[ref] = known[other]
            if other in self.inside:
                self.inside.add(ref)

    def contents(self, ref: ListRef) -> State:
        """What a list contains: its items, or the atom of a list whose length the run decides."""
        state = self.store[ref]
        if not is_atom(state):
            for part in state:
                if isinstance(part, Poison):
                    raise self.refuse(KindError, part.reason, instead="put a copy of the array into the list: x.copy().")
        return state

    def new_object(self, cls: type, state: State) -> ObjectRef:
        ref = ObjectRef(next(self.serial), cls)
        self.store[ref] = state
        return ref

    def state_in(self, store: Store, ref: Any) -> State:
        """What a store says of a list, dict or object; None where it does not know it."""
        found = store.get(ref)
        return found if found is not None else () if isinstance(ref, Instance) else self.initial.get(ref)

    def attribute_in(self, store: Store, ref: ObjectRef | Instance, name: str) -> Value:
        """An attribute that the object itself has; UNBOUND where it has none."""
        for key, value in self.state_in(store, ref) or ():
            if key == name:
                return value
        if isinstance(ref, Instance) and name in vars_of_object(ref.value):
            return read_attribute(self, ref, name)
        cls = class_of(ref)
        return read_class_attribute(self, cls, name) if is_plain_attribute(cls, name) else Const(UNBOUND)

    def set_attribute(self, ref: ObjectRef | Instance, name: str, value: Value) -> None:
        self.written.add(ref)
        self.store[ref] = tuple({**dict(self.state_in(self.store, ref)), name: value}.items())

    def opened(self, key: Any, read: Callable[[], Value]) -> Value:
        """What outlives the call is read once, in the prologue."""
        if key not in self.openings:
            outer, known = self.builder, set(self.store)
            self.builder = self.prologue
            try:
                self.openings[key] = read()
            finally:
                self.builder = outer
            self.initial.update({ref: state for ref, state in self.store.items() if ref not in known})
        return self.openings[key]

    def items(self, ref: ListRef) -> tuple[Value, ...] | None:
        """What a list contains, where that is known."""
        state = self.contents(ref)
        return None if is_atom(state) else state

    def operand(self, value: Value) -> Operand:
        try:
            operand = operand_of(value, self.store)
            return map_operand(operand, self.current) if self.versions else operand
        except SrcdiffError:
            raise
        except TypeError as error:
            raise self.refuse(
                KindError, f"{_SORTS.get(str(error), f'a value of sort {error}')} cannot be passed on here"
            ) from None

    def atom(self, value: Value, *, hint: str = "") -> Any:
        """A value as one atom: a structure is made at run time."""
        if isinstance(value, ATOMS):
            return self.current(value) if isinstance(value, Var) else value
        operand = self.operand(value)
        if isinstance(operand, ATOMS):
            return operand
        return self.builder.apply(ops.DISPLAY, (operand,), hint=hint)

    # ------------------------------------------------------------ snapshots

    def snapshot(self) -> tuple[dict[str, Value], Store]:
        return dict(self.frame.vars), dict(self.store)

    def restore(self, snapshot: tuple[dict[str, Value], Store]) -> None:
        self.frame.vars, self.store = dict(snapshot[0]), {**self.initial, **snapshot[1]}


Snapshot = tuple[dict[str, Value], Store]


_SORTS = {
    "Instance": "an object of the caller's, of which the function has set an attribute,",
    "Generator": "a generator",
    "Closure": "a function",
    "Partial": "a function",
}


def class_of(ref: ObjectRef | Instance) -> type:
    return type(ref.value) if isinstance(ref, Instance) else ref.cls


def truth(value: Value, low: Lowering) -> bool | None:
    """Whether a value is true, where that is known when compiling."""
    match value:
        case Const():
            return bool(value.value)
        case tuple():
            return bool(value)
        case ListRef():
            items = low.items(value)
            return None if items is None else bool(items)
        case DictRef():
            return bool(low.store[value])
        case Var() | Free():
            return None
        case Ref():
            return bool(value.value) if not callable(value.value) else True
        case _:
            return True


# ---------------------------------------------------------------- joining two arms


@dataclass(eq=False)
class Arm:
    """One arm of an if: its builder, and the names and lists at its end. `value` is what a conditional expression gives."""

    builder: Builder
    state: Snapshot
    value: Value = None
    is_dead: bool = False  # it ends in an exception: nothing goes on from it


class Joiner:
    """Collects the results of an If: pairs of operands, one from each arm."""

    def __init__(self, low: Lowering, then: Arm, orelse: Arm) -> None:
        self.low, self.then, self.orelse = low, then, orelse
        self.results: list[Var] = []
        self.yields: tuple[list[Operand], list[Operand]] = ([], [])
        self.seen: dict[Any, Var] = {}
        self.objects: dict[Any, Any] = {}
        self.inside = [{v for s in arm.builder.stmts for v in bound_by(s)} for arm in (then, orelse)]

    def atoms(self, a: Any, b: Any, hint: str, is_users: bool) -> Value:
        if a is b or (isinstance(a, Const) and a == b):
            return a
        if isinstance(a, Ref) and isinstance(b, Ref) and a.value is b.value:
            return a
        key = (a, b)
        if key in self.seen:
            return self.seen[key]
        handles, before = [x for x in (a, b) if arrays.is_array(self.low, x)], (a, b)
        a, b = self.current(self.then, a), self.current(self.orelse, b)
        if isinstance(a, Poison) or isinstance(b, Poison):
            return a if isinstance(a, Poison) else b
        is_free = [isinstance(x, Const) and x.value is UNBOUND for x in (a, b)]
        kind: Kind | None = kind_of(b) if is_free[0] else kind_of(a) if is_free[1] else join(kind_of(a), kind_of(b))
        if kind is None or isinstance(a, Ref) or isinstance(b, Ref):
            return Poison(f"`{hint}` is {_spoken(a)} on one path and {_spoken(b)} on another")
        result = Var(hint, kind, is_users)
        if any(is_free) or any(isinstance(x, Var) and x in self.low.unsure for x in (a, b)):
            self.low.unsure.add(result)
        if is_scalar(kind):
            natures = [arrays.without_axes(self.low, x) for x, free in zip(before, is_free) if not free]
            self.low.without_axes[result] = arrays.join_axes(natures[0], natures[-1])
        arrays.tie_like(self.low, result, handles)
        self.results.append(result)
        self.yields[0].append(a)
        self.yields[1].append(b)
        self.seen[key] = result
        return result

    def only(self, value: Value, side: int, hint: str, is_users: bool) -> Value:
        """A value of the one arm that anything goes on from: what the arm made comes out of it."""

        def out(part: Value) -> Value:
            return self.only(part, side, hint, is_users)

        match value:
            case Var() if value in self.inside[side]:
                nothing = Const(UNBOUND)
                a, b = (value, nothing) if side == 0 else (nothing, value)
                was_unsure = value in self.low.unsure
                result = self.atoms(a, b, value.hint if value.is_users else hint, value.is_users or is_users)
                if not was_unsure:
                    self.low.unsure.discard(result)
                return result
            case tuple():
                return tuple(out(part) for part in value)
            case Record():
                return Record(value.cls, value.fields, tuple(out(part) for part in value.values))
            case SliceOf():
                return SliceOf(out(value.start), out(value.stop), out(value.step))
            case Iterable():
                return Iterable(value.sort, tuple(out(part) for part in value.args))
            case Method():
                return Method(out(value.owner), value.name)
            case Partial():
                return Partial(out(value.fn), tuple(out(v) for v in value.args), {k: out(v) for k, v in value.kwargs.items()})
            case Instance() if value not in self.low.store and value.atom in self.inside[side]:
                return Instance(value.value, out(value.atom), value.path)
        return value

    def only_state(self, ref: Any, state: State, side: int) -> State:
        """What an object holds after the one arm that anything goes on from."""
        if isinstance(ref, Var):
            if state not in self.inside[side] or not isinstance(state, Var):
                return state
            result = self.only(state, side, ref.hint, ref.is_users)
            self.low.versions[result] = ref
            return result
        if isinstance(ref, (DictRef, ObjectRef, Instance)):
            return tuple((k, self.only(v, side, str(k), False)) for k, v in state)
        name = self.low.cell_names.get(ref)
        return self.only(state, side, name or "items", name is not None or is_atom(state))

    def current(self, arm: Arm, atom: Any) -> Any:
        """What an atom is at the end of an arm: of an array, what it then holds."""
        if not isinstance(atom, Var) or not self.low.versions:
            return atom
        builder, store = self.low.builder, self.low.store
        self.low.builder, self.low.store = arm.builder, arm.state[1]
        try:
            return self.low.current(atom)
        except KindError as error:
            return Poison(error.what)
        finally:
            self.low.builder, self.low.store = builder, store

    def versions(self, handle: Var) -> State:
        """What an array holds after the If: the version of the arm that was run."""
        a, b = (arm.state[1].get(handle, handle) for arm in (self.then, self.orelse))
        if a is b or isinstance(a, Poison) or isinstance(b, Poison):
            return a if isinstance(a, Poison) or a is b else b
        key = (a, b)
        if key not in self.seen:
            self.seen[key] = Var(handle.hint, handle.kind, handle.is_users)
            self.results.append(self.seen[key])
            self.yields[0].append(a)
            self.yields[1].append(b)
        self.low.versions[self.seen[key]] = handle
        return self.seen[key]

    def values(self, a: Value, b: Value, hint: str, is_users: bool) -> Value:
        if a is b:
            return a
        if isinstance(a, Poison) or isinstance(b, Poison):
            return a if isinstance(a, Poison) else b
        if is_atom(a) and is_atom(b):
            return self.atoms(a, b, hint, is_users)
        parts = self._parts(a, b, hint, is_users)
        if parts is not None:
            return parts
        unbound = [isinstance(x, Const) and x.value is UNBOUND for x in (a, b)]
        known = [
            lambda r: r not in self.then.state[1] or r not in self.orelse.state[1],
            lambda r: r not in self.orelse.state[1] or r not in self.then.state[1],
        ]
        sides = []
        for i, (value, arm) in enumerate(((a, self.then), (b, self.orelse))):
            sides.append((None, []) if unbound[i] else flatten(value, arm.state[1], known[i]))
        (sa, la), (sb, lb) = sides
        if sa is None and sb is not None:
            sa, la = sb, [Const(UNBOUND)] * len(lb)
        if sb is None and sa is not None:
            sb, lb = sa, [Const(UNBOUND)] * len(la)
        if sa != sb or sa is None:
            return Poison(f"`{hint}` has another structure on each path")
        joined = [self.atoms(x, y, hint, is_users) for x, y in zip(la, lb)]
        for part in joined:
            if isinstance(part, Poison):
                return part
        return rebuild(sa, joined, self.low.new_list, self.low.new_dict, self.low.new_object)

    def _parts(self, a: Value, b: Value, hint: str, is_users: bool) -> Value | None:
        """Values that hold lists or dicts, part by part: two names of one object stay that."""
        match a, b:
            case (tuple(), tuple()) if len(a) == len(b) and any(_holds_object(x) for x in (a, b)):
                parts = [self.values(x, y, hint, is_users) for x, y in zip(a, b)]
                return next((p for p in parts if isinstance(p, Poison)), tuple(parts))
            case (Record(), Record()) if (a.cls, a.fields) == (b.cls, b.fields) and any(_holds_object(x) for x in (a, b)):
                parts = [self.values(x, y, hint, is_users) for x, y in zip(a.values, b.values)]
                return next((p for p in parts if isinstance(p, Poison)), Record(a.cls, a.fields, tuple(parts)))
            case (ListRef(), ListRef()) | (DictRef(), DictRef()) | (ObjectRef() | Instance(), ObjectRef() | Instance()):
                return self._objects(a, b, hint, is_users)
        return None

    def _objects(self, a: Any, b: Any, hint: str, is_users: bool) -> Value:
        """Two objects: a new one, which may be either. What sees one of the two afterwards is told by `twins`."""
        if (a, b) in self.objects:
            return self.objects[(a, b)]
        is_alike = self.low.classes.get(a) is self.low.classes.get(b)
        if isinstance(a, (ObjectRef, Instance)):
            is_alike = class_of(a) is class_of(b)
        if not is_alike:
            return Poison(f"`{hint}` has another structure on each path")
        x, y = self.low.state_in(self.then.state[1], a), self.low.state_in(self.orelse.state[1], b)
        for state in (x, y):
            unknown = [p for p in state if isinstance(p, Poison)] if isinstance(state, tuple) else []
            if unknown:
                return unknown[0]
        joined: Any
        if isinstance(a, ListRef):
            if not is_atom(x) and not is_atom(y) and len(x) == len(y):
                parts = tuple(self.values(i, j, hint, is_users) for i, j in zip(x, y))
                state = self.state_of(x, y, hint) if any(isinstance(i, Poison) for i in parts) else parts
            else:
                state = self.state_of(x, y, hint)
            if state is None:
                return Poison(f"`{hint}` has another structure on each path")
            joined = self.low.new_list(state)
        elif isinstance(a, (ObjectRef, Instance)):
            joined = self.objects[(a, b)] = self.low.new_object(class_of(a), ())  # it may contain itself
            self.low.store[joined] = self.attributes(a, b, x, y)
        elif [k for k, _ in x] == [k for k, _ in y]:
            joined = self.low.new_dict(tuple((k, self.values(i, j, hint, is_users)) for (k, i), (_, j) in zip(x, y)))
        else:
            return Poison(f"`{hint}` has another structure on each path")
        self.low.take_after(joined, (a, b))
        for other, made in self.objects.items():
            if (a in other or b in other) and made is not joined:
                self.low.be_twins(joined, made)
        before = (self.orelse.state[1], self.then.state[1])
        for ref, store in zip((a, b), before):
            if self.low.state_in(store, ref) is not None:  # it was there before the paths parted
                self.low.stand_for(joined, ref)
            else:
                for other in list(self.low.twins.get(ref, ())):
                    self.low.be_twins(joined, other)
        self.objects[(a, b)] = joined
        return joined

    def attributes(self, a: ObjectRef | Instance, b: ObjectRef | Instance, x: State, y: State) -> State:
        """The attributes of two objects; one that a path does not set is what it was before, or not there."""

        def of(arm: Arm, ref: ObjectRef | Instance, name: str) -> Value:
            return self.low.attribute_in(arm.state[1], ref, name)

        names = {**dict(x), **dict(y)}
        for ref in {a, b} if a != b else ():
            names |= vars_of_object(ref.value) if isinstance(ref, Instance) else {}
        return tuple((n, self.values(of(self.then, a, n), of(self.orelse, b, n), n, True)) for n in names)

    def state_of(self, a: State, b: State, hint: str) -> State | None:
        """Two lists of different lengths: one whose length the run decides."""
        pairs = [(a, self.then), (b, self.orelse)]
        for state, arm in pairs:
            self.low.hand_over(() if is_atom(state) else state, arm.state[1])
        kinds = [
            kind_of(s) if is_atom(s) else kind_of(ListDisplay(tuple(operand_of(v, arm.state[1]) for v in s))) for s, arm in pairs
        ]
        known = next((k for k in kinds if isinstance(k, ListOf)), None)
        atoms = []
        for (state, arm), kind in zip(pairs, kinds):
            if is_atom(state):
                atoms.append(state)
                continue
            display = ListDisplay(tuple(operand_of(v, arm.state[1]) for v in state))
            of = ListOf(known.item, 0) if not state and known is not None else kind
            atoms.append(arm.builder.apply_all(ops.DISPLAY, (display,), hint=hint, kind=of)[0])
        joined = self.atoms(atoms[0], atoms[1], hint, True)
        return None if isinstance(joined, Poison) else joined


def _holds_object(value: Value) -> bool:
    match value:
        case ListRef() | DictRef() | ObjectRef() | Instance():
            return True
        case tuple():
            return any(_holds_object(v) for v in value)
        case Record():
            return any(_holds_object(v) for v in value.values)
    return False


def _spoken(value: Any) -> str:
    if isinstance(value, Const):
        return "None" if value.value is None else repr(value.value)
    if isinstance(value, Ref):
        return f"`{value.text}`"
    return spoken_kind(value.kind)


def spoken_name(name: str) -> str:
    """What a name of ours (`<items3>`) would like to be called; the user's names are themselves."""
    return name.strip("<>0123456789") if name.startswith("<") else name


def join_arms(
    low: Lowering,
    cond: Any,
    then: Arm,
    orelse: Arm,
    before: Snapshot,
    *,
    with_value: bool = False,
    hint: str = "",
    origin: Origin | None = None,
    around: Caught | Managed | None = None,
) -> Value:
    """Add the If that chose between two arms, and bind the names that differ to its results."""
    joiner = Joiner(low, then, orelse)
    if then.is_dead != orelse.is_dead:
        value = _join_one(joiner, low, 1 if then.is_dead else 0, hint)
        _add_if(low, joiner, cond, origin, around)
        return value
    value = joiner.values(then.value, orelse.value, hint or "value", bool(hint)) if with_value else None
    names: dict[str, Value] = {}
    unbound = Const(UNBOUND)
    for name in {**then.state[0], **orelse.state[0]}:
        if name.startswith("<") and (name not in then.state[0] or name not in orelse.state[0]):
            continue  # a name of ours, whose use is over
        a, b = then.state[0].get(name, unbound), orelse.state[0].get(name, unbound)
        names[name] = joiner.values(a, b, spoken_name(name), not name.startswith("<"))
    store: Store = {}
    for ref in {**then.state[1], **orelse.state[1]}:
        if isinstance(ref, Var):
            if not any(ref in inside for inside in joiner.inside):
                store[ref] = joiner.versions(ref)
            continue
        a, b = (low.state_in(arm.state[1], ref) for arm in (then, orelse))
        if isinstance(ref, Generator):
            store[ref] = a or b  # it counts as consumed where one path consumes it
        elif a is None or b is None:
            store[ref] = b if a is None else a
        elif isinstance(ref, (ObjectRef, Instance)):
            store[ref] = a if a is b else joiner.attributes(ref, ref, a, b)
        else:
            store[ref] = _join_state(joiner, ref, a, b)
    low.frame.vars = names
    gone = joiner.inside[0] | joiner.inside[1]
    low.store = {**store, **{r: s for r, s in low.store.items() if r not in store and r not in gone}}
    _add_if(low, joiner, cond, origin, around)
    return value


def _join_one(joiner: Joiner, low: Lowering, side: int, hint: str) -> Value:
    """Go on from the one arm that does not end in an exception."""
    arm = (joiner.then, joiner.orelse)[side]
    value = joiner.only(arm.value, side, hint or "value", bool(hint))
    names = {n: joiner.only(v, side, spoken_name(n), not n.startswith("<")) for n, v in arm.state[0].items()}
    kept = {r: s for r, s in arm.state[1].items() if r not in joiner.inside[side]}
    store = {r: joiner.only_state(r, s, side) for r, s in kept.items()}
    low.frame.vars, low.store = names, store
    return value


def _add_if(low: Lowering, joiner: Joiner, cond: Any, origin: Origin | None, around: Caught | Managed | None) -> None:
    stmts = [tuple(arm.builder.stmts) for arm in (joiner.then, joiner.orelse)]
    if not (joiner.results or stmts[0] or stmts[1]):
        return
    blocks = [Block(body, Yield(tuple(values))) for body, values in zip(stmts, joiner.yields)]
    low.builder.add(If(cond, blocks[0], blocks[1], tuple(joiner.results), origin, around))


def _join_state(joiner: Joiner, ref: ListRef | DictRef, a: State, b: State) -> State:
    if a is b:
        return a
    for state in (a, b):
        if not is_atom(state) and any(isinstance(part, Poison) for part in state):
            return state
    if isinstance(ref, ListRef):
        if not is_atom(a) and not is_atom(b) and len(a) == len(b):
            name = joiner.low.cell_names.get(ref)
            return tuple(joiner.values(x, y, name or "item", name is not None) for x, y in zip(a, b))
        state = joiner.state_of(a, b, "items")
        return state if state is not None else (Poison("a list holds values of other kinds on each path"),)
    keys = [k for k, _ in a]
    if keys == [k for k, _ in b]:
        return tuple((k, joiner.values(x, y, str(k), False)) for (k, x), (_, y) in zip(a, b))
    return tuple((k, Poison("a dict has other keys on each path")) for k in keys)
