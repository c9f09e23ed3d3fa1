"""What a procedure is lowered for: the structure of its arguments, and for each atom in it a kind that every call fits.

    power(x, 11), and within it power(x, n // 2)      →      x: a float, n: an int

A constant stays one as long as all calls agree on it. Lengths have names of the procedure's own: those that are equal in
every call are one name, and what a call's are is found by matching.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from srcdiff.ir.kinds import (
    Array,
    Dim,
    Kind,
    Length,
    ListOf,
    Number,
    Opaque,
    TupleOf,
    is_one,
    join,
    map_lengths,
    opaque,
)
from srcdiff.ir.nodes import Atom, Const, Op, Origin, Procedure, Ref, Stmt, Var
from srcdiff.ir.ops import procedure_op
from srcdiff.prepare.values import DictRef, ListRef, ObjectRef, Skeleton, Store, flatten
from srcdiff.rules.inference import kind_of

_serial = itertools.count()
_SCALARS = frozenset(["float64", "int64", "bool"])


class Recursion(Exception):
    """A function is called while it runs, for arguments of the same structure: it has to be a procedure.

    `lists` are the places of lists among its arguments that have become longer, and the kind of their items: their length
    is for the run to decide. Where all of that is known already, the error to raise is `otherwise`.
    """

    def __init__(self, fn: ast.AST, lists: Mapping[int, Kind], otherwise: Exception) -> None:
        super().__init__(fn, lists)
        self.fn, self.lists, self.otherwise = fn, lists, otherwise


class TooLong(Exception):
    """A long function is called in several places: it had better be a procedure."""

    def __init__(self, fn: ast.AST) -> None:
        super().__init__(fn)
        self.fn = fn


class Widened(Exception):
    """A procedure is called within itself for other kinds than it is being lowered for; its kinds are wider now."""

    def __init__(self, of: Specialisation) -> None:
        super().__init__(of)
        self.of = of


class ResultUnknown(Exception):
    """A procedure is called within itself before anything is known of its result."""

    def __init__(self, of: Specialisation, origin: Origin | None) -> None:
        super().__init__(of)
        self.of, self.origin = of, origin


@dataclass(frozen=True)
class Slot:
    """What an atom among the arguments or the results is: a constant, or a value of a kind.

    `is_shared` says of an array in a result that it may share memory with what the procedure is given, `nature` of a scalar
    whether it is an array without axes (`arrays.without_axes`). An exact slot takes this kind alone, with the caller's lengths.
    """

    kind: Kind
    const: Const | None = None
    is_shared: bool = False
    is_exact: bool = False
    nature: bool | None = False


@dataclass(frozen=True)
class Given:
    """In a result: the list or dict that was passed at this place."""

    place: int


@dataclass(frozen=True)
class Result:
    """The structure of what a call gives: its value, and the new states of the arguments that it changes.

    `changed` are the places of lists and dicts among the arguments, `written` those of arrays among the atoms.
    `may_be_given` says that an object in the value may be one of the arguments.
    """

    skeleton: Skeleton
    changed: tuple[int, ...]
    written: tuple[int, ...]
    may_be_given: bool
    slots: tuple[Slot, ...]


@dataclass(eq=False)
class Specialisation:
    """A function lowered for one structure of its arguments; it is open while it is lowered."""

    fn: ast.AST
    procedure: Procedure
    name: str
    given: Arguments
    slots: list[Slot]
    op: Op = field(init=False)
    is_open: bool = True
    was_asked: bool = False
    result: Result | None = None
    params: tuple[Var, ...] = ()
    stmts: tuple[Stmt, ...] = ()
    returned: tuple[Atom, ...] = ()

    def __post_init__(self) -> None:
        self.op = procedure_op(self.procedure)


@dataclass(eq=False)
class Procedures:
    """The procedures of a program, while it is lowered: which functions are procedures, and what for."""

    recursive: dict[ast.AST, dict[int, Kind]] = field(default_factory=dict)  # the lists that grow from call to call
    unrolled: dict[ast.AST, Exception] = field(default_factory=dict)
    long: set[ast.AST] = field(default_factory=set)  # those that are procedures since they are long
    short: set[ast.AST] = field(default_factory=set)  # those that are long, and yet are inlined
    sites: dict[ast.AST, set[Any]] = field(default_factory=dict)  # the places where a function has been inlined
    found: dict[Any, list[Specialisation]] = field(default_factory=dict)
    made: list[tuple[Any, Specialisation]] = field(default_factory=list)
    last: dict[Any, tuple[list[Slot], Result | None]] = field(default_factory=dict)  # how forgotten ones came out
    inlined: int = 0
    outside: set[Procedure] = field(default_factory=set)  # those that give arrays of the module

    def add(self, key: Any, made: Specialisation) -> None:
        self.found.setdefault(key, []).append(made)
        self.made.append((key, made))

    def forget_since(self, mark: int) -> None:
        """Forget what was lowered under an assumption that does not hold."""
        for key, made in self.made[mark:]:
            self.found[key].remove(made)
            self.last[key] = made.slots, made.result
        del self.made[mark:]


# ---------------------------------------------------------------- arguments


@dataclass(frozen=True)
class Arguments:
    """Arguments by their structure and atoms; `refs` are the lists, dicts and objects in them, parts before wholes.

    `sizes` are the lengths of the lists, where these are known; `natures` say which atoms are arrays without axes.
    """

    skeleton: Skeleton
    leaves: tuple[Atom, ...]
    refs: tuple[ListRef | DictRef | ObjectRef, ...]
    sizes: tuple[int | None, ...]
    natures: tuple[bool | None, ...]

    @property
    def key(self) -> Any:
        return self.skeleton, self.natures, tuple(sort_of(leaf) for leaf in self.leaves)

    @property
    def loose_key(self) -> Any:
        """The key without the lengths of lists of atoms."""
        return _loosened(self.skeleton, iter(self.leaves))


def arguments_of(values: Sequence[Any], store: Store, nature: Callable[[Any], bool | None]) -> Arguments:
    """Values as arguments; `nature` says which atoms and lists are, or hold, arrays without axes."""
    skeleton, leaves = flatten(tuple(values), store, lambda ref: True)
    refs = tuple(refs_of(tuple(values), store))
    sizes = tuple(len(store[r]) if isinstance(r, ListRef) and isinstance(store[r], tuple) else None for r in refs)
    return Arguments(skeleton, tuple(leaves), refs, sizes, tuple(map(nature, (*leaves, *refs))))


def _loosened(skeleton: Skeleton, leaves: Iterator[Atom]) -> Any:
    if skeleton.sort == "leaf":
        return sort_of(next(leaves))
    if skeleton.sort == "list" and all(part.sort == "leaf" for part in skeleton.parts):
        sorts = {sort_of(next(leaves)) for _ in skeleton.parts}
        return "list" if len(sorts) < 2 else ("list", frozenset(sorts))
    return skeleton.sort, skeleton.detail, tuple(_loosened(part, leaves) for part in skeleton.parts)


def grown(earlier: Arguments, later: Arguments, store: Store) -> dict[int, Kind] | None:
    """The lists that are longer in the later of two calls, which agree in all else; None where they do not."""
    if len(later.leaves) <= len(earlier.leaves) or earlier.loose_key != later.loose_key:
        return None
    found: dict[int, Kind] = {}
    for place, (ref, before, after) in enumerate(zip(later.refs, earlier.sizes, later.sizes)):
        if before != after:
            kind = joined_kind([kind_of(item) for item in store[ref]]) if after else None
            if kind is None:
                return None
            found[place] = kind
    return found


def joined_kind(kinds: Sequence[Kind]) -> Kind | None:
    kind: Kind | None = kinds[0]
    for other in kinds[1:]:
        kind = None if kind is None else join(kind, other)
    return kind


def refs_of(value: Any, store: Store) -> list[ListRef | DictRef | ObjectRef]:
    """The lists, dicts and objects in a value, in the order in which `rebuild` makes them."""
    refs: list[ListRef | DictRef | ObjectRef] = []
    _collect(value, store, refs)
    return refs


def _collect(value: Any, store: Store, refs: list[ListRef | DictRef | ObjectRef]) -> None:
    match value:
        case tuple():
            for part in value:
                _collect(part, store, refs)
        case ListRef():
            state = store[value]
            if isinstance(state, tuple):
                _collect(state, store, refs)
            refs.append(value)
        case DictRef() | ObjectRef():
            for _, part in store[value]:
                _collect(part, store, refs)
            refs.append(value)
        case _ if hasattr(value, "fields") and hasattr(value, "values"):
            for part in value.values:
                _collect(part, store, refs)


def sort_of(leaf: Atom) -> Any:
    """What two atoms must have in common to be arguments of one specialisation."""
    if isinstance(leaf, Ref) or (isinstance(leaf, Const) and not isinstance(leaf.value, (bool, int, float))):
        return leaf
    return _sort(kind_of(leaf))


def _sort(kind: Kind) -> Any:
    match kind:
        case Number(name):
            return "complex" if name == "complex" else "scalar"
        case Array(dtype, ()) if dtype in _SCALARS:
            return "scalar"
        case Array(dtype, dims):
            return dtype, None if dims is None else len(dims)
        case ListOf():
            return "list"
        case TupleOf(items):
            return "tuple", tuple(_sort(item) for item in items)
        case Opaque(name):
            return "opaque", name
        case _:
            return type(kind).__name__


# ---------------------------------------------------------------- slots and their lengths


def slots_for(leaves: Sequence[Atom]) -> list[Slot]:
    """The narrowest slots that these atoms fit."""
    names: dict[Length, Length] = {}

    def own(length: Length) -> Length:
        if isinstance(length, int):
            return length
        if length not in names:
            answer = is_one(length)
            names[length] = 1 if answer else own_length(is_many=answer is False)
        return names[length]

    return [_slot(leaf, own) for leaf in leaves]


def exact_slots(leaves: Sequence[Atom]) -> list[Slot]:
    """Slots for these atoms alone, in the caller's terms."""
    return [Slot(kind_of(leaf), leaf if isinstance(leaf, Const) else None, is_exact=True) for leaf in leaves]


def _is_exactly(a: Kind, b: Kind) -> bool:
    """Whether two kinds are one, lengths of numbers and lists included."""
    if a != b:
        return False
    if isinstance(a, (Number, ListOf)) and a.length != b.length:  # type: ignore[union-attr]
        return False
    if isinstance(a, ListOf) and isinstance(b, ListOf):
        return _is_exactly(a.item, b.item)
    return not isinstance(a, TupleOf) or all(map(_is_exactly, a.items, b.items))  # type: ignore[union-attr]


def _slot(leaf: Atom, own: Any) -> Slot:
    if isinstance(leaf, Const):
        return Slot(_unknown_length(leaf.kind), leaf)
    return Slot(_unknown_length(map_lengths(kind_of(leaf), own)))


def _unknown_length(kind: Kind) -> Kind:
    """A number as one whose value only the procedure knows; a list likewise."""
    match kind:
        case Number("int"):
            return Number("int", own_length(is_many=False))
        case ListOf(item, _):
            return ListOf(_unknown_length(item), opaque())
        case _:
            return kind


def own_length(*, is_many: bool) -> Dim:
    """A length that is the same throughout a call of a procedure."""
    return Dim(f"<{next(_serial)}>", None, is_many)


def matched(slots: Sequence[Slot], leaves: Sequence[Atom]) -> dict[Length, Length] | None:
    """What the slots' lengths are in a call with these atoms; None where they don't fit."""
    known: dict[Length, Length] = {}
    for slot, leaf in zip(slots, leaves):
        if slot.const is not None:
            if slot.const != leaf:
                return None
            continue
        kind = kind_of(leaf)
        if slot.is_exact:
            if isinstance(leaf, Const) or not _is_exactly(slot.kind, kind):
                return None
            known.update((length, length) for length in lengths_of(kind))
            continue
        if join(_bare(kind), _bare(slot.kind)) != _bare(slot.kind):
            return None
        for own, actual in zip(lengths_of(slot.kind), lengths_of(kind)):
            if isinstance(own, int):
                if own != actual and not (own == 1 and is_one(actual)):
                    return None
            elif (own.is_many and is_one(actual) is not False) or known.setdefault(own, actual) != actual:
                return None
    return known


def widened(slots: Sequence[Slot], leaves: Sequence[Atom]) -> list[Slot] | None:
    """The narrowest slots that fit these atoms as well; None where no kind is of both."""
    names: dict[tuple[Length, Length], Length] = {}

    def both(own: Length, actual: Length) -> Length:
        if isinstance(own, int) and own == actual:
            return own
        if (own, actual) not in names:
            is_many = is_one(own) is False and is_one(actual) is False
            names[own, actual] = 1 if own == 1 and is_one(actual) else own_length(is_many=is_many)
        return names[own, actual]

    found = []
    for slot, leaf in zip(slots, leaves):
        if slot.const is not None and slot.const == leaf:
            found.append(slot)
            continue
        kind = kind_of(leaf)
        joined = join(_bare(slot.kind), _bare(kind))
        if joined is None:
            return None
        lengths = iter([both(a, b) for a, b in zip(lengths_of(slot.kind), lengths_of(kind))])
        found.append(Slot(_unknown_length(map_lengths(joined, lambda n, lengths=lengths: next(lengths, n)))))  # type: ignore[misc]
    return found


def lengths_of(kind: Kind) -> list[Length]:
    found: list[Length] = []

    def note(length: Length) -> Length:
        found.append(length)
        return length

    map_lengths(kind, note)
    return found


def _bare(kind: Kind) -> Kind:
    """The kind without lengths, to compare."""
    return map_lengths(kind, lambda _: 0)


def outward(kind: Kind, known: dict[Length, Length]) -> Kind:
    """A kind within a procedure as the caller sees it; `known` says what the procedure's lengths are there."""

    def translate(length: Length) -> Length:
        if isinstance(length, int):
            return length
        if length in known:
            return known[length]
        is_own = length.expr is None or "<" in length.expr
        return opaque(is_many=length.is_many) if is_own else length

    match map_lengths(kind, translate):
        case Number(name):
            return Number(name)
        case ListOf(item, _):
            return ListOf(outward(item, known), opaque())
        case other:
            return other
