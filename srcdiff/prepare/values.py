"""What a name stands for while a function is lowered: an atom of the IR, or a structure that is known when compiling.

    x              an atom            (h, c)         a tuple of values
    hs = []        ListRef → store    {"W": W}       DictRef → store
    dense          Ref / Closure      Line(2.0, b)   Record

Lists and dicts have identity: a name holds a reference, the store holds what the object now contains.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from srcdiff.ir.nodes import Atom, Const, DictDisplay, Free, ListDisplay, Operand, RecordDisplay, Ref, SliceOf, Var

if TYPE_CHECKING:
    from srcdiff.prepare.lowering import Frame
    from srcdiff.read.source import FunctionSource


@dataclass(frozen=True, slots=True)
class ListRef:
    """A list of the user's; the store maps it to a tuple of values, or to an atom (a list whose length the run decides)."""

    serial: int


@dataclass(frozen=True, slots=True)
class DictRef:
    """A dict of the user's; the store maps it to a tuple of (key, value)."""

    serial: int


@dataclass(frozen=True, slots=True)
class Record:
    """A NamedTuple or dataclass by its fields."""

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
    """An object of a class of the user's: its attributes are read when the function runs, their kinds are known."""

    value: Any
    atom: Atom
    path: str


@dataclass(frozen=True, slots=True)
class Poison:
    """A name whose value depends on the path in a way that has no single kind; reading it is refused."""

    reason: str


Value = Any
"""An atom, SliceOf, a tuple of values, or one of the classes above."""

ATOMS = (Var, Const, Free, Ref)
State = Any
Store = dict[Any, State]
"""What lists and dicts contain, and what arrays that were written to hold now."""


def refs_in(value: Value) -> Iterator[ListRef | DictRef]:
    """The lists and dicts that a value holds, itself included; not those inside these."""
    match value:
        case ListRef() | DictRef():
            yield value
        case tuple():
            for part in value:
                yield from refs_in(part)
        case Record():
            for part in value.values:
                yield from refs_in(part)
        case Iterable():
            yield from refs_in(value.args)


def is_atom(value: Value) -> bool:
    return isinstance(value, ATOMS)


@dataclass(frozen=True, slots=True)
class Skeleton:
    """The shape of a value without its atoms: two values with equal skeletons differ in atoms only."""

    sort: str
    detail: Any
    parts: tuple[Skeleton, ...] = ()


_LEAF = Skeleton("leaf", None)


def flatten(value: Value, store: Store, follow: Callable[[ListRef | DictRef], bool]) -> tuple[Skeleton, list[Atom]]:
    """A value as a skeleton and its atoms; `follow` says which lists and dicts are taken apart by what they contain."""
    leaves: list[Atom] = []

    def visit(v: Value) -> Skeleton:
        match v:
            case Ref():
                return Skeleton("static", _Same(v.value))
            case Var() | Const() | Free():
                leaves.append(v)
                return _LEAF
            case tuple():
                return Skeleton("tuple", len(v), tuple(visit(x) for x in v))
            case Record():
                return Skeleton("record", (v.cls, v.fields), tuple(visit(x) for x in v.values))
            case ListRef() | DictRef() if follow(v):
                state = store[v]
                if isinstance(v, ListRef):
                    return Skeleton("list", is_atom(state), (visit(state),) if is_atom(state) else tuple(visit(x) for x in state))
                return Skeleton("dict", tuple(k for k, _ in state), tuple(visit(x) for _, x in state))
            case SliceOf():
                return Skeleton("slice", None, (visit(v.start), visit(v.stop), visit(v.step)))
            case _:
                return Skeleton("static", _Same(v))

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
    skeleton: Skeleton, leaves: list[Atom], new_list: Callable[[State], ListRef], new_dict: Callable[[State], DictRef]
) -> Value:
    """The value with this skeleton and these atoms; lists and dicts in it are made anew."""
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
            case "slice":
                return SliceOf(*(make(p) for p in s.parts))
        raise AssertionError(s.sort)

    return make(skeleton)


def _is_plain(held: Any) -> bool:
    return not isinstance(held, (ListRef, DictRef, Record, Closure, Partial, Method, Iterable, Instance, Poison))


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
        case Record():
            return RecordDisplay(
                Ref(value.cls, value.cls.__name__), value.fields, tuple(operand_of(v, store) for v in value.values)
            )
        case SliceOf():
            return value
        case Instance():
            return value.atom
        case _:
            raise TypeError(type(value).__name__)
