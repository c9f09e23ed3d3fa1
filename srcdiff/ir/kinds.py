"""Kinds: what is known of a value when a variant is compiled.

    0.5            Number("float")
    np.zeros((n, 1))   Array("float64", (n, 1))          n is a Dim, a small expression with a length as its value
    [1.0, 2.0, …]      ListOf(Number("float"), n)

A kind never holds a value of the user's. Facts about lengths are *asked* (`is_one`): the actual argument answers, and the
answer is recorded, so that the guard of the variant tests it.
"""

from __future__ import annotations

import contextlib
import contextvars
import itertools
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace

_opaque = itertools.count()


@dataclass(frozen=True, eq=False, slots=True)
class Dim:
    """A length: the Python expression that gives it from the arguments, and what it is now.

    `expr` is None where no argument tells (the length of `x[mask]`); `hint` is None where it is not known before the
    program runs. `is_many` says that it is certainly not 1, whatever the arguments.
    """

    expr: str | None
    hint: int | None
    is_many: bool = False
    serial: int = field(default_factory=lambda: next(_opaque))
    base: tuple[Dim, int] | None = None  # of `n - 2`: n and -2

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dim):
            return False
        return self is other or (self.serial == other.serial if self.expr is None else self.expr == other.expr)

    def __hash__(self) -> int:
        return hash(self.expr) if self.expr is not None else self.serial

    def __repr__(self) -> str:
        return self.expr if self.expr is not None else f"?{self.serial}"

    def __add__(self, other: Length) -> Length:
        return combine("+", self, other)

    def __radd__(self, other: Length) -> Length:
        return combine("+", other, self)

    def __sub__(self, other: Length) -> Length:
        return combine("-", self, other)

    def __rsub__(self, other: Length) -> Length:
        return combine("-", other, self)

    def __mul__(self, other: Length) -> Length:
        return combine("*", self, other)

    def __rmul__(self, other: Length) -> Length:
        return combine("*", other, self)

    def __floordiv__(self, other: Length) -> Length:
        return combine("//", self, other)

    def __rfloordiv__(self, other: Length) -> Length:
        return combine("//", other, self)


Length = int | Dim

_COMPUTE: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}


def combine(operator: str, a: Length, b: Length) -> Length:
    """The length `a operator b`, folded where both are numbers."""
    if isinstance(a, int) and isinstance(b, int):
        return _COMPUTE[operator](a, b)
    if b == 0 and operator in "+-":
        return a
    if a == 0 and operator == "+":
        return b
    if operator == "*" and 1 in (a, b):
        return b if a == 1 else a
    if operator == "-" and a == b:
        return 0
    if operator in "+-" and isinstance(a, Dim) and isinstance(b, int) and a.base is not None:
        inner, offset = a.base
        return combine("+", inner, offset + b) if operator == "+" else combine("+", inner, offset - b)
    if operator == "+" and isinstance(b, int) and b < 0:
        return combine("-", a, -b)
    texts = [_operand(x) for x in (a, b)]
    hints = [x if isinstance(x, int) else x.hint for x in (a, b)]
    hint = None
    if None not in hints and not (operator in "//%" and hints[1] == 0):
        hint = _COMPUTE[operator](hints[0], hints[1])  # type: ignore[arg-type]
    if None in texts:
        return Dim(None, hint)
    base = (a, b if operator == "+" else -b) if operator in "+-" and isinstance(a, Dim) and isinstance(b, int) else None
    return Dim(f"{texts[0]} {operator} {texts[1]}", hint, base=base)


def _operand(x: Length) -> str | None:
    if isinstance(x, int):
        return str(x)
    return f"({x.expr})" if x.expr is not None and _has_operator(x.expr) else x.expr


def _has_operator(expr: str) -> bool:
    """Whether an expression is an operation, of which operands are set apart by spaces, rather than `x.shape[0]` or a call."""
    depth = 0
    for character in expr:
        depth += (character in "([") - (character in ")]")
        if character == " " and depth == 0:
            return True
    return False


def opaque(*, is_many: bool = False) -> Dim:
    """A length that only the run knows."""
    return Dim(None, None, is_many)


def told_by(*facts: Hashable) -> Dim:
    """A length that only the run knows, and that is the same wherever it follows from the same facts: how many elements a mask
    selects, how long a slice between two numbers is.
    """
    return Dim(None, None, serial=-1 - abs(hash(facts)))


def is_of_values(length: Length) -> bool:
    """Whether a length follows from values, which differ from trip to trip of a loop."""
    return isinstance(length, Dim) and length.serial < 0


_facts: contextvars.ContextVar[dict[str, bool] | None] = contextvars.ContextVar("facts", default=None)
_seen: contextvars.ContextVar[list[Length] | None] = contextvars.ContextVar("seen", default=None)


@contextlib.contextmanager
def recording_facts() -> Iterator[dict[str, bool]]:
    """Collect the answers of `is_one`: expression of a length → whether it is 1, and which lengths are to be equal."""
    facts: dict[str, bool] = {}
    token, seen = _facts.set(facts), _seen.set([])
    try:
        yield facts
    finally:
        _facts.reset(token)
        _seen.reset(seen)


def is_one(length: Length) -> bool | None:
    """Whether a length is 1; None where nothing tells. An argument's answer joins the guard."""
    if isinstance(length, int):
        return length == 1
    if length.is_many:
        return False
    if length.expr is None or length.hint is None:
        return None
    facts = _facts.get()
    if facts is not None:
        facts[length.expr] = length.hint == 1
    return length.hint == 1


def representative(length: Length) -> Length:
    """The first length asked about that is equal to this one; that they are equal joins the guard.

    So slices between the same numbers of two arrays of equal length are equally long: `b[:i]` and `U[:i, i]`.
    """
    facts = _facts.get()
    told = length if isinstance(length, int) else length.hint
    if facts is None or told is None or (isinstance(length, Dim) and length.expr is None):
        return length
    seen = _seen.get()
    assert seen is not None
    for other in seen:
        if other == length:
            return other
        if (other if isinstance(other, int) else other.hint) == told:
            facts[f"({length} == {other})"] = True
            return other
    seen.append(length)
    return length


@dataclass(frozen=True, slots=True)
class Number:
    """A Python number: `type` is "float", "int", "bool" or "complex". An int may be known as a length."""

    type: str
    length: Length | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Array:
    """A NumPy array or scalar: its dtype's name, and the length of each axis (None: the number of axes is unknown)."""

    dtype: str
    dims: tuple[Length, ...] | None

    @property
    def ndim(self) -> int | None:
        return None if self.dims is None else len(self.dims)


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list whose length the run decides, of items of one kind."""

    item: Kind
    length: Length = field(compare=False)


@dataclass(frozen=True, slots=True)
class TupleOf:
    """A tuple of known length that lives at run time (a shape, several results)."""

    items: tuple[Kind, ...]


@dataclass(frozen=True, slots=True)
class Opaque:
    """Anything that carries no derivative: a string, None, a dtype, a container that is taken apart on entry."""

    type: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """A number or array of which nothing is known (the general form)."""


Kind = Number | Array | ListOf | TupleOf | Opaque | Unknown

FLOAT = Number("float")
INT = Number("int")
BOOL = Number("bool")


def is_differentiable(kind: Kind) -> bool:
    """Whether a value of this kind can carry a derivative: floats and complex numbers, and lists and tuples of them."""
    match kind:
        case Number(type):
            return type in ("float", "complex")
        case Array(dtype, _):
            return dtype.startswith(("float", "complex"))
        case ListOf(item, _):
            return is_differentiable(item)
        case TupleOf(items):
            return any(is_differentiable(item) for item in items)
        case Unknown():
            return True
        case _:
            return False


def is_scalar(kind: Kind) -> bool:
    """A Python number, or an array without axes (NumPy's scalars)."""
    return isinstance(kind, Number) or (isinstance(kind, Array) and kind.dims == ())


def map_lengths(kind: Kind, change: Callable[[Length], Length]) -> Kind:
    """The kind with the lengths of its arrays' axes changed, from left to right."""
    match kind:
        case Array(dtype, dims) if dims is not None:
            return Array(dtype, tuple(change(n) for n in dims))
        case ListOf(item, length):
            return ListOf(map_lengths(item, change), length)
        case TupleOf(items):
            return TupleOf(tuple(map_lengths(item, change) for item in items))
        case _:
            return kind


def join_dims(a: Length, b: Length) -> Length:
    """The length of a value that is one or the other: the same, or one that only the run knows."""
    if a == b:
        return a
    if isinstance(a, Dim) and a.expr is None and (not a.is_many or is_one(b) is False):
        return a  # it says nothing that b contradicts
    return opaque(is_many=is_one(a) is False and is_one(b) is False)


def one_of_several(kind: Kind) -> Kind:
    """The kind of one of the values of a kind: two arrays of lengths that only the run knows may differ in them."""
    if not isinstance(kind, Array) or not any(isinstance(n, Dim) and n.expr is None for n in kind.dims or ()):
        return kind
    fresh = (opaque(is_many=n.is_many) if isinstance(n, Dim) and n.expr is None else n for n in kind.dims or ())
    return Array(kind.dtype, tuple(fresh))


def join(a: Kind, b: Kind) -> Kind | None:
    """The kind of a value that is one or the other; None where no single kind fits."""
    if a == b and not isinstance(a, ListOf):
        return a if not isinstance(a, Number) or a.length == getattr(b, "length", None) else replace(a, length=None)
    match a, b:
        case Number(s), Number(t):
            order = ["bool", "int", "float", "complex"]
            return Number(max(s, t, key=order.index))
        case Array(s, dims), Array(t, others):
            dtype = s if s == t else _wider(s, t)
            if dims is None or others is None or len(dims) != len(others):
                return Array(dtype, None)
            return Array(dtype, tuple(join_dims(x, y) for x, y in zip(dims, others)))
        case (Number(t), Array(dtype, ())) | (Array(dtype, ()), Number(t)):
            return Array(dtype if t in ("float", "int", "bool") and dtype.startswith("float") else "float64", ())
        case Number() | Array(), Array() | Number():
            array = a if isinstance(a, Array) else b
            assert isinstance(array, Array)
            return Array(array.dtype, None)
        case ListOf(item, n), ListOf(other, m):
            joined = join(item, other)
            return None if joined is None else ListOf(joined, join_dims(n, m))
        case (Unknown(), Number() | Array() | Unknown()) | (Number() | Array(), Unknown()):
            return Unknown()
        case _:
            return None


def _wider(s: str, t: str) -> str:
    import numpy as np

    return np.promote_types(s, t).name


def spoken_kind(kind: Kind) -> str:
    """A kind in a user's words: "a float", "an array with 2 axes of float32"."""
    match kind:
        case Number(name):
            return f"an {name}" if name[0] in "aeiou" else f"a {name}"
        case Array(dtype, ()):
            return f"a {dtype}"
        case Array(dtype, dims) if dims is not None:
            return f"an array with {len(dims)} ax{'is' if len(dims) == 1 else 'es'} of {dtype}"
        case Array(dtype, _):
            return f"an array of {dtype}"
        case ListOf():
            return "a list"
        case TupleOf():
            return "a tuple"
        case Opaque(name):
            if name.startswith("array of"):
                return f"an {name}"
            return {"str": "a string", "NoneType": "None", "list": "a list"}.get(name, f"a value of type {name}")
        case _:
            return "a number or array"
