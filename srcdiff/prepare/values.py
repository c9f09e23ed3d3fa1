"""What a name stands for while a function is lowered: an atom of the IR, or a structure that is known when compiling.

    x              an atom            (h, c)         a tuple of values
    hs = []        ListRef → store    {"W": W}       DictRef → store
    dense          Ref / Closure      Pair(2.0, b)   Record (a NamedTuple)
    cell = Cell()  ObjectRef → store  model          Instance, an argument's object

Lists, dicts and objects have identity: a name holds a reference, the store holds what the object now contains.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from srcdiff.errors import KindError
from srcdiff.ir.nodes import (
    UNBOUND,
    Atom,
    Block,
    Const,
    DictDisplay,
    Free,
    ListDisplay,
    Operand,
    RecordDisplay,
    Ref,
    SliceOf,
    Var,
)

if TYPE_CHECKING:
    from srcdiff.prepare.lowering import Frame
    from srcdiff.read.source import FunctionSource
    from srcdiff.task import Task


@dataclass(frozen=True, slots=True)
class ListRef:
    """A list of the user's; the store maps it to a tuple of values, or to an atom (a list whose length the run decides)."""

    serial: int


@dataclass(frozen=True, slots=True)
class DictRef:
    """A dict of the user's; the store maps it to a tuple of (key, value)."""

    serial: int


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """An object of a class of the user's whose attributes are all known; the store maps it to a tuple of (name, value)."""

    serial: int
    cls: type


@dataclass(frozen=True, slots=True)
class Record:
    """A NamedTuple or a frozen dataclass by its fields."""

    cls: type
    fields: tuple[str, ...]
    values: tuple[Value, ...]

    def get(self, name: str) -> Value:
        return self.values[self.fields.index(name)]


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A function or lambda defined in the function that is being lowered; it reads the frame when it is called."""

    node: ast.FunctionDef | ast.Lambda
    frame: Frame
    source: FunctionSource
    defaults: dict[str, Value] = field(default_factory=dict)
    name: str = "lambda"


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """functools.partial of a value, or a method of one bound to it."""

    fn: Value
    args: tuple[Value, ...]
    kwargs: dict[str, Value]


@dataclass(frozen=True, slots=True)
class Method:
    """`value.name`, about to be called."""

    owner: Value
    name: str


@dataclass(frozen=True, slots=True)
class Iterable:
    """range, zip, enumerate, reversed, dict.items() and the like, before a loop takes them apart."""

    sort: str
    args: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """An object that outlives the call: its attributes are read when the function runs, their kinds are known.

    The store holds those attributes that the function has set.
    """

    value: Any
    atom: Atom
    path: str


@dataclass(frozen=True, slots=True, eq=False)
class Generator:
    """A generator of the user's, before a loop consumes it; the store says whether one has."""

    fn: Any
    source: FunctionSource
    frame: Frame | None
    args: dict[str, Value]
    name: str
    depth: int


@dataclass(frozen=True, slots=True, eq=False)
class Super:
    """`super()` in a method of `cls`: the attributes of `owner` that classes after `cls` give it."""

    cls: type
    owner: Value


@dataclass(frozen=True, slots=True, eq=False)
class Derivative:
    """`grad(f)` and the like: what differentiates a function when it is called."""

    fn: Value
    task: Task


@dataclass(frozen=True, slots=True, eq=False)
class Pulled:
    """A pullback: what gives the gradients for an adjoint of the result when it is called.

    `seeds` are the adjoints of the result's leaves by their place among them, which `block` reads.
    """

    seeds: tuple[tuple[int, Var], ...]
    block: Block
    count: int
    is_single: bool


@dataclass(frozen=True, slots=True)
class Poison:
    """A name whose value depends on the path in a way that has no single kind; reading it is refused."""

    reason: str


Value = Any
"""An atom, SliceOf, a tuple of values, or one of the classes above."""

ATOMS = (Var, Const, Free, Ref)
REFERENCES = (ListRef, DictRef, ObjectRef, Instance)
Reference = ListRef | DictRef | ObjectRef | Instance
State = Any
Store = dict[Any, State]
"""What lists and dicts contain, and what arrays that were written to hold now."""


def refs_in(value: Value, store: Store | None = None) -> list[Any]:
    """The lists, dicts and objects that a value holds, itself included; with a store, also those inside these."""
    found: list[Any] = []
    frames: list[Frame] = []

    def visit(v: Value) -> None:
        match v:
            case tuple():
                for part in v:
                    visit(part)
            case ListRef() | DictRef() | ObjectRef() | Instance():
                is_new = v not in found
                found.append(v)
                state = store.get(v, ()) if store is not None and is_new else ()
                if not is_atom(state):
                    visit(state if isinstance(v, ListRef) else tuple(part for _, part in state))
            case Record():
                visit(v.values)
            case Iterable():
                visit(v.args)
            case Partial():
                visit((v.fn, *v.args, *v.kwargs.values()))
            case Method() | Super():
                visit(v.owner)
            case Generator():
                visit(tuple(v.args.values()))
            case Derivative():
                visit(v.fn)
            case Closure() if v.frame not in frames:
                frames.append(v.frame)
                visit((*v.defaults.values(), *v.frame.vars.values()))

    visit(value)
    return found


def is_atom(value: Value) -> bool:
    return isinstance(value, ATOMS)


@dataclass(frozen=True, slots=True)
class Skeleton:
    """The shape of a value without its atoms: two values with equal skeletons differ in atoms only."""

    sort: str
    detail: Any
    parts: tuple[Skeleton, ...] = ()

    @property
    def count(self) -> int:
        """The number of its atoms."""
        return 1 if self.sort == "leaf" else sum(part.count for part in self.parts)


_LEAF = Skeleton("leaf", None)


def flatten(value: Value, store: Store, follow: Callable[[Any], bool], kept: Container[int] = ()) -> tuple[Skeleton, list[Atom]]:
    """A value as a skeleton and its atoms; `follow` says which lists, dicts and objects are taken apart by what they contain.

    The variables at the places `kept`, counted among the atoms, belong to the skeleton.
    """
    leaves: list[Atom] = []
    around: list[Any] = []
    place = itertools.count()

    def visit(v: Value) -> Skeleton:
        match v:
            case Ref():
                return Skeleton("static", _Same(v.value))
            case Var() | Const() | Free():
                if next(place) in kept and isinstance(v, Var):
                    return Skeleton("static", _Same(v))
                leaves.append(v)
                return _LEAF
            case tuple():
                return Skeleton("tuple", len(v), tuple(visit(x) for x in v))
            case Record():
                return Skeleton("record", (v.cls, v.fields), tuple(visit(x) for x in v.values))
            case ListRef() | DictRef() | ObjectRef() if v in around:
                raise KindError("an object that contains itself is carried from path to path", instead="leave the cycle out.")
            case ListRef() | DictRef() | ObjectRef() if follow(v):
                around.append(v)
                skeleton = opened(v)
                around.pop()
                return skeleton
            case SliceOf():
                return Skeleton("slice", None, (visit(v.start), visit(v.stop), visit(v.step)))
            case _:
                return Skeleton("static", _Same(v))

    def opened(v: Any) -> Skeleton:
        state = store[v]
        match v:
            case ListRef():
                return Skeleton("list", is_atom(state), (visit(state),) if is_atom(state) else tuple(visit(x) for x in state))
            case DictRef():
                return Skeleton("dict", tuple(k for k, _ in state), tuple(visit(x) for _, x in state))
            case _:
                return Skeleton("object", (v.cls, tuple(k for k, _ in state)), tuple(visit(x) for _, x in state))

    return visit(value), leaves


class _Same:
    """Compares by identity where there is no better way."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and (
            self.value is other.value or (type(self.value) is type(other.value) and _equal(self.value, other.value))
        )

    def __hash__(self) -> int:
        return hash(type(self.value))


def _equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except Exception:  # an object of the user's may do anything
        return False


def rebuild(
    skeleton: Skeleton,
    leaves: list[Atom],
    new_list: Callable[[State], ListRef],
    new_dict: Callable[[State], DictRef],
    new_object: Callable[[type, State], ObjectRef],
) -> Value:
    """The value with this skeleton and these atoms; lists, dicts and objects in it are made anew."""
    queue = iter(leaves)

    def make(s: Skeleton) -> Value:
        match s.sort:
            case "leaf":
                return next(queue)
            case "static":
                held = s.detail.value
                return held if not _is_plain(held) else Ref(held, getattr(held, "__name__", "value"))
            case "tuple":
                return tuple(make(p) for p in s.parts)
            case "record":
                return Record(s.detail[0], s.detail[1], tuple(make(p) for p in s.parts))
            case "list":
                parts = tuple(make(p) for p in s.parts)
                return new_list(parts[0] if s.detail else parts)
            case "dict":
                return new_dict(tuple(zip(s.detail, (make(p) for p in s.parts))))
            case "object":
                cls, names = s.detail
                return new_object(cls, tuple(zip(names, (make(p) for p in s.parts))))
            case "slice":
                return SliceOf(*(make(p) for p in s.parts))
        raise AssertionError(s.sort)

    return make(skeleton)


def _is_plain(held: Any) -> bool:
    return not isinstance(
        held, (*REFERENCES, Var, Record, Closure, Partial, Method, Iterable, Super, Generator, Poison, Derivative, Pulled)
    )


def operand_of(value: Value, store: Store) -> Operand:
    """A value as an operand: structures become displays."""
    match value:
        case Var() | Const() | Free() | Ref():
            return value
        case tuple():
            return tuple(operand_of(v, store) for v in value)
        case ListRef():
            state = store[value]
            return state if is_atom(state) else ListDisplay(tuple(operand_of(v, store) for v in state))
        case DictRef():
            state = store[value]
            return DictDisplay(tuple(k for k, _ in state), tuple(operand_of(v, store) for _, v in state))
        case ObjectRef():
            state = store[value]
            names = tuple(k for k, v in state if not _is_absent(v))
            parts = tuple(operand_of(v, store) for _, v in state if not _is_absent(v))
            return RecordDisplay(Ref(value.cls, value.cls.__name__), names, parts)
        case Record():
            return RecordDisplay(
                Ref(value.cls, value.cls.__name__), value.fields, tuple(operand_of(v, store) for v in value.values)
            )
        case SliceOf():
            return value
        case Instance() if not store.get(value):
            return value.atom
        case _:
            raise TypeError(type(value).__name__)


def _is_absent(value: Value) -> bool:
    return isinstance(value, Const) and value.value is UNBOUND
