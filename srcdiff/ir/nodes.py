"""The IR: one name one value, one primitive a statement, structured control flow.

    h = np.tanh(W @ h + b)       t1 = matmul(W, h₁);  t2 = add(t1, b);  h₂ = tanh(t2)

Everything is a value: a write into an array or list makes a new version (`index_add`, `append`); `emit` places the
versions back into one buffer. A `Var` is compared by identity and is bound exactly once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from srcdiff.ir.kinds import BOOL, FLOAT, INT, Kind, Number, Opaque


@dataclass(frozen=True, slots=True)
class Origin:
    """A line of the user's: file, line number, the line's text, first and last column of the expression."""

    file: str
    line: int
    text: str
    column: int = 0
    end_column: int = 0
    end_line: int = 0


@dataclass(eq=False, slots=True)
class Var:
    """A value's name: `hint` is what it would like to be called; `is_users` says that the user called it so."""

    hint: str
    kind: Kind
    is_users: bool = False
    serial: int = field(default_factory=itertools.count().__next__, repr=False)  # the order in which values were made

    def __repr__(self) -> str:
        return f"{self.hint}#{id(self) % 9973}"


@dataclass(frozen=True, slots=True)
class Const:
    """A literal: number, string, bool, None, Ellipsis."""

    value: Any

    @property
    def kind(self) -> Kind:
        value = self.value
        if isinstance(value, bool):
            return BOOL
        if isinstance(value, int):
            return Number("int", value)
        if isinstance(value, float):
            return FLOAT
        if isinstance(value, complex):
            return Number("complex")
        return Opaque(type(value).__name__)

    # 0 and 0.0, 1 and True are different literals.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and type(self.value) is type(other.value) and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash((type(self.value), repr(self.value)))


@dataclass(frozen=True, slots=True)
class Free:
    """A global or a cell of the user's function, read when the emitted function runs; prints as `text`.

    `constant` is its value where that is fixed for good (`np.pi`).
    """

    text: str
    kind: Kind
    constant: Any = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Ref:
    """A Python object known at compile time (a function, dtype, class) that is passed on as it is; prints as a name."""

    value: Any = field(hash=False)
    text: str = ""

    @property
    def kind(self) -> Kind:
        return Opaque(type(self.value).__name__)


Atom = Var | Const | Free | Ref


@dataclass(frozen=True, slots=True)
class SliceOf:
    """`start:stop:step` in an index."""

    start: Operand
    stop: Operand
    step: Operand


@dataclass(frozen=True, slots=True)
class ListDisplay:
    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class DictDisplay:
    keys: tuple[Any, ...]
    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class RecordDisplay:
    """An object by its class and its attributes; `hint` is the name it would like to have."""

    cls: Ref
    fields: tuple[str, ...]
    items: tuple[Operand, ...]
    hint: str = ""


# A tuple is a tuple display.
Operand = Atom | tuple["Operand", ...] | SliceOf | ListDisplay | DictDisplay | RecordDisplay


@dataclass(eq=False, slots=True)
class Procedure:
    """A function of the program that others call; compared by identity.

    `name` is what it would like to be called, `of` the name of the user's function that it comes from. One that stands alone
    has its `function`: its derivative is found from that at each place, and runs it again rather than keep what it computed.
    """

    name: str
    of: str
    function: Function | None = None

    def __repr__(self) -> str:
        return self.name

    @property
    def takes(self) -> tuple[int, ...]:
        """The places of arguments whose arrays become its own."""
        return () if self.function is None else self.function.takes


@dataclass(frozen=True, slots=True)
class Op:
    """A primitive and how it prints. A call of a procedure is a call or an effect, with as many targets as it has results
    (pattern: which of them are fresh, where that is known).

    style       args                              prints
    binary      a, b                              a + b            (text is the operator; also @, <, ==, is, in, and/or)
    unary       a                                 -a, not a
    call        any, with keywords                np.tanh(a)       (fn is the function; text a fallback name)
    attribute   a                                 a.T              (text is the attribute)
    method      a, any                            a.copy()         (text is the method)
    item        a, index                          a[index]         (index: any operand; a tuple prints as a[i, j])
    display     operand                           the operand      (makes a container: tuple, list, dict, record)
    unpack      a                                 (x, y), z = a    (pattern: nested tuples of ints, indices of targets; None: `_`)
    copy        a                                 a                (a new version of the same value; a plain assignment)
    format      pieces                            an f-string      (args: strings and operands; pattern: (conversion, spec) each)
    index_add   b, index, v                       b[index] += v    a new version of array or list b
    index_set   b, index, v                       b[index] = v     likewise
    scatter_add b, index, v                       np.add.at(b, index, v)   likewise, repeated indices add up
    append      l, v                              l.append(v)      a new version of list l
    insert      l, index, v                       l.insert(i, v)   likewise
    pop         l, index?                         v = l.pop(i)     two targets: the shorter list, the item (the last)
    set_attribute a, v                            a.name = v       (text is the attribute)
    assert      a, message?                       assert a, message
    raise       error?, cause?                    raise error from cause
    caught                                        except … as e: the first statement of the arm that catches
    effect      like call                         a statement of its own, never dropped, moved or repeated
    custom      any                               nothing: statements of its own take its place (pattern: the `Custom`)
    """

    key: str
    style: str
    text: str = ""
    fn: Callable[..., Any] | None = field(default=None, compare=False)
    has_effect: bool = False
    pattern: Any = None
    procedure: Procedure | None = None

    def __repr__(self) -> str:
        return self.key


@dataclass(frozen=True, slots=True, eq=False)
class Apply:
    targets: tuple[Var, ...]
    op: Op
    args: tuple[Operand, ...]
    kwargs: tuple[tuple[str, Operand], ...] = ()
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Caught:
    """`try: then … except errors: orelse …`: the second arm runs where the first raises one of these."""

    errors: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class Managed:
    """`with fn(args): then …`, or `with` an object itself where `op` is None; there is no second arm.

    `is_mirrored` says that the reverse sweep of what it holds runs within another one like it.
    """

    op: Op | None
    args: tuple[Operand, ...]
    kwargs: tuple[tuple[str, Operand], ...] = ()
    is_mirrored: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class If:
    """Both arms end in a `Yield` with one operand a result. An operand `Const(UNBOUND)` binds nothing in that arm.

    With `around` it is a try or with statement: the condition is True, and `then` is the body.
    """

    cond: Atom
    then: Block
    orelse: Block
    results: tuple[Var, ...]
    origin: Origin | None = None
    around: Caught | Managed | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """One iterable of a for loop; several are zipped. `target` is a Var, or a tuple of Vars for items that are tuples.

    `iterable` is a `Range` or an atom (a list or an array); `is_reversed` walks it from its end.
    """

    target: Var | tuple[Var, ...]
    iterable: Range | Atom
    is_reversed: bool = False


@dataclass(frozen=True, slots=True)
class Range:
    start: Atom
    stop: Atom | None  # None: counts without end (enumerate)
    step: Atom = Const(1)


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A for loop over `sources` (zipped), or a `while True` without any.

    Trip by trip the body binds `params` to the carried values: at first `inits`, then what the last `Next` gave.
    It ends by an `Exit`, or when a source is exhausted; `results` are the values of the Exit, or the carried values then.
    With `checkpoint` its reverse keeps few states: as many as that says, or where it is None as many as the trips' logarithm.
    """

    sources: tuple[Source, ...]
    params: tuple[Var, ...]
    inits: tuple[Operand, ...]
    body: Block
    results: tuple[Var, ...]
    origin: Origin | None = None
    checkpoint: Const | None = None


Stmt = Apply | If | Loop


@dataclass(frozen=True, slots=True, eq=False)
class Yield:
    """The end of an If's arm."""

    values: tuple[Operand, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Next:
    """The end of a trip: the carried values of the next."""

    values: tuple[Operand, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Exit:
    """The end of the loop: its results."""

    values: tuple[Operand, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """The end of a loop body's block that goes on in one of two blocks, each ending in Next, Exit or Branch."""

    cond: Atom
    then: Block
    orelse: Block


@dataclass(frozen=True, slots=True, eq=False)
class Return:
    """The end of a function."""

    value: Operand


End = Yield | Next | Exit | Branch | Return


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    stmts: tuple[Stmt, ...]
    end: End


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """A parameter of the emitted function.

    `style` is "positional", "positional_only", "keyword_only", "star" or "double_star".
    """

    name: str
    var: Var
    style: str = "positional"
    default: Ref | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """`is_inner` says that only the program itself calls it: it may return what its arguments hold.

    `takes` are the places of parameters whose arrays become its own: who calls it passes arrays that nothing else sees.
    """

    name: str
    params: tuple[Parameter, ...]
    body: Block
    docstring: str | None = None
    is_inner: bool = False
    takes: tuple[int, ...] = ()


class _Unbound:
    def __repr__(self) -> str:
        return "UNBOUND"


UNBOUND = _Unbound()


def const(value: Any) -> Const:
    return Const(value)


ZERO, ONE, TWO = Const(0), Const(1), Const(2)
__all__ = [
    "BOOL", "FLOAT", "INT", "ONE", "TWO", "UNBOUND", "ZERO", "Apply", "Atom", "Block", "Branch", "Caught", "Const", "DictDisplay",
    "End", "Exit", "Free", "Function", "If", "Kind", "ListDisplay", "Loop", "Managed", "Next", "Op", "Operand", "Origin",
    "Parameter", "Procedure", "Range", "RecordDisplay", "Ref", "Return", "SliceOf", "Source", "Stmt", "Var",
    "Yield", "const",
]  # fmt: skip
