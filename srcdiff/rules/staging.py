"""Staged values: what a rule's text computes with when it is to emit source.

    tanh's text on staged y:    1 - y * y     ⟶     t1 = mul(y, y);  t2 = sub(1, t1)

A staged value overloads the operators and takes part in NumPy's dispatch, so that an ordinary function writes statements
into a builder. A staged value has a logical shape, which rules see, and a physical one, its atom's, which may be smaller: a
broadcast costs nothing until something needs it. Products are built in a normal form (see `factors`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.errors import KindError, NoRule
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, Kind, Length, ListOf, Number, TupleOf, Unknown, is_one
from srcdiff.ir.nodes import Apply, Atom, Const, Free, If, ListDisplay, Op, Operand, Ref, SliceOf, Var, Yield
from srcdiff.rules import factors
from srcdiff.rules.builder import Builder
from srcdiff.rules.inference import kind_of, partials_of
from srcdiff.rules.registry import Rule, rule_for
from srcdiff.rules.shapes import Shape, axes_of, broadcast

Dims = Shape | None


def dims_of(kind: Kind) -> Dims:
    match kind:
        case Array(_, dims):
            return dims
        case Unknown():
            return None
        case _:
            return ()


def same_shape(own: Shape, dims: Shape) -> bool:
    """Whether a value that broadcasts to `dims` has them already: two lengths that are not 1 are equal."""
    return own == dims or (len(own) == len(dims) and all(a == b or _agree(is_one(a), is_one(b)) for a, b in zip(own, dims)))


def _agree(a: bool | None, b: bool | None) -> bool:
    return a is not None and a == b


class StagedShape:
    """`x.shape` of a staged value: entries are staged on demand; as an operand it prints as `x.shape`."""

    def __init__(self, owner: Staged) -> None:
        self.owner = owner

    def __len__(self) -> int:
        return self.owner.ndim

    def __getitem__(self, index: Any) -> Any:
        owner = self.owner
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        return owner.length(index % len(self))

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __add__(self, other: Any) -> Any:
        return tuple(self) + tuple(other)

    def __radd__(self, other: Any) -> Any:
        return tuple(other) + tuple(self)


class Staged:
    """An atom in a builder. `dims` is the logical shape; `like()` gives an atom that has it physically."""

    __slots__ = ("atom", "builder", "dims", "like")
    __array_priority__ = 1000

    def __init__(self, builder: Builder, atom: Atom, dims: Dims | str = "own", like: Callable[[], Atom] | None = None) -> None:
        self.builder = builder
        self.atom = atom
        self.dims: Dims = dims_of(atom.kind) if isinstance(dims, str) else dims
        self.like: Callable[[], Atom] = (lambda: atom) if like is None else like

    # ------------------------------------------------------------ what rules ask

    @property
    def kind(self) -> Kind:
        return self.atom.kind

    @property
    def is_full(self) -> bool:
        """Whether the physical shape is the logical one."""
        own = dims_of(self.atom.kind)
        return self.dims is None or (own is not None and same_shape(own, self.dims))

    @property
    def ndim(self) -> int:
        if self.dims is None:
            raise UnknownRank
        return len(self.dims)

    @property
    def is_number(self) -> bool:
        return isinstance(self.atom.kind, Number) and self.dims == ()

    @property
    def shape(self) -> Any:
        if self.dims is None:
            return Staged(self.builder, self.builder.apply(ops.SHAPE, (self.atom,)))
        return StagedShape(self) if self.dims else ()

    @property
    def size(self) -> Any:
        dims = self.dims
        if dims is not None and all(isinstance(n, int) for n in dims):
            total = 1
            for n in dims:
                total *= n  # type: ignore[assignment]
            return total
        return Staged(self.builder, self.builder.apply(ops.SIZE, (self.like(),)))

    @property
    def dtype(self) -> Any:
        kind = self.atom.kind
        return np.dtype(kind.dtype) if isinstance(kind, Array) else np.dtype(float)

    @property
    def T(self) -> Any:
        return np.transpose(self)  # type: ignore[call-overload]

    def length(self, axis: int) -> Any:
        assert self.dims is not None
        n = self.dims[axis]
        if isinstance(n, int):
            return n
        return Staged(self.builder, self.builder.length(self.like(), axis))  # type: ignore[arg-type]

    # ------------------------------------------------------------ operators

    def __add__(self, other: Any) -> Any:
        return factors.add(self, lift(self.builder, other))

    def __radd__(self, other: Any) -> Any:
        return factors.add(lift(self.builder, other), self)

    def __sub__(self, other: Any) -> Any:
        return factors.sub(self, lift(self.builder, other))

    def __rsub__(self, other: Any) -> Any:
        return factors.sub(lift(self.builder, other), self)

    def __mul__(self, other: Any) -> Any:
        return factors.mul(self, lift(self.builder, other))

    def __rmul__(self, other: Any) -> Any:
        return factors.mul(lift(self.builder, other), self)

    def __truediv__(self, other: Any) -> Any:
        return factors.div(self, lift(self.builder, other))

    def __rtruediv__(self, other: Any) -> Any:
        return factors.div(lift(self.builder, other), self)

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, (int, float)) and other == 1:
            return self
        return elementwise(ops.POW, self, lift(self.builder, other))

    def __rpow__(self, other: Any) -> Any:
        return elementwise(ops.POW, lift(self.builder, other), self)

    def __mod__(self, other: Any) -> Any:
        return elementwise(ops.MOD, self, lift(self.builder, other))

    def __floordiv__(self, other: Any) -> Any:
        return elementwise(ops.FLOORDIV, self, lift(self.builder, other))

    def __rfloordiv__(self, other: Any) -> Any:
        return elementwise(ops.FLOORDIV, lift(self.builder, other), self)

    def __neg__(self) -> Any:
        return factors.neg(self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return np.abs(self)

    def __matmul__(self, other: Any) -> Any:
        return linear_call(ops.MATMUL, (self, other), {})

    def __rmatmul__(self, other: Any) -> Any:
        return linear_call(ops.MATMUL, (other, self), {})

    def __lt__(self, other: Any) -> Any:
        return elementwise(ops.LT, self, lift(self.builder, other))

    def __le__(self, other: Any) -> Any:
        return elementwise(ops.LE, self, lift(self.builder, other))

    def __gt__(self, other: Any) -> Any:
        return elementwise(ops.GT, self, lift(self.builder, other))

    def __ge__(self, other: Any) -> Any:
        return elementwise(ops.GE, self, lift(self.builder, other))

    def __eq__(self, other: Any) -> Any:
        return elementwise(ops.EQ, self, lift(self.builder, other))

    def __ne__(self, other: Any) -> Any:
        return elementwise(ops.NE, self, lift(self.builder, other))

    def __and__(self, other: Any) -> Any:
        return elementwise(ops.BITAND, self, lift(self.builder, other))

    def __or__(self, other: Any) -> Any:
        return elementwise(ops.BITOR, self, lift(self.builder, other))

    def __invert__(self) -> Any:
        return elementwise(ops.INVERT, self)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise TypeError("a rule may not branch on a value: use np.where")

    def __getitem__(self, index: Any) -> Any:
        full = materialise(self)
        return wrap(self.builder, self.builder.item(full.atom, operand(self.builder, index)))

    # ------------------------------------------------------------ methods that texts use

    def sum(self, axis: Any = None, keepdims: bool = False) -> Any:
        return np.sum(self, axis=axis, keepdims=keepdims)  # type: ignore[call-overload]

    def reshape(self, *shape: Any) -> Any:
        return np.reshape(self, shape[0] if len(shape) == 1 else shape)  # type: ignore[call-overload]

    def astype(self, dtype: Any) -> Any:
        return astype(self, np.dtype(dtype).name)

    def copy(self) -> Any:
        return wrap(self.builder, self.builder.apply(ops.ARRAY_COPY, (materialise(self).atom,)))

    # ------------------------------------------------------------ NumPy's dispatch

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            return NotImplemented
        if ufunc in _SIMPLIFIED:
            return _SIMPLIFIED[ufunc](*[lift(self.builder, a) for a in args])
        if ufunc is np.matmul:
            return linear_call(ops.MATMUL, args, {})
        op = ops.OPERATOR_OF.get(ufunc) or call_for(ufunc)
        return elementwise(op, *[lift(self.builder, a) for a in args])

    def __array_function__(self, fn: Any, types: Any, args: Any, kwargs: Any) -> Any:
        special = _SPECIAL.get(fn)
        if special is not None:
            return special(*args, **kwargs)
        rule = rule_for(fn)
        if rule is None:
            raise NoRule(f"no derivative rule for `{fn.__module__}.{fn.__name__}`")
        return linear_call(call_for(fn), args, kwargs)

    def __srcdiff_call__(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        return elementwise(call_for(fn), *[lift(self.builder, a) for a in args])

    def __srcdiff_zeros_like__(self) -> Any:
        return zeros(self.builder, self.like(), self.dims, self.atom.kind)

    def __srcdiff_scatter__(self, index: Any, value: Any, repeats: bool = True) -> Any:
        buffer = self.__srcdiff_zeros_like__()
        return add_at(buffer, operand(self.builder, index), lift(self.builder, value), repeats=repeats)

    def __srcdiff_unbroadcast__(self, like: Any) -> Any:
        return unbroadcast(self, like.dims, like.like())

    def __srcdiff_accumulate_windows__(self, x: Any, axes: tuple[int, ...], windows: tuple[Any, ...]) -> Any:
        from srcdiff.rules.windows import accumulate

        return accumulate(self, x, axes, windows)

    def __srcdiff_choose__(self, then: Callable[..., Any], orelse: Callable[..., Any], values: tuple[Any, ...]) -> Any:
        b = self.builder
        condition = self if self.dims == () else np.all(self)  # type: ignore[call-overload]
        blocks = []
        for arm in (then, orelse):
            inner = b.inside()
            found = materialise(arm(*[Staged(inner, v.atom, v.dims, v.like) for v in values]))
            blocks.append(inner.block(Yield((found.atom,))))
        result = Var("chosen", found.kind)
        b.add(If(condition.atom, blocks[0], blocks[1], (result,), b.origin))
        return Staged(b, result)

    def __repr__(self) -> str:
        return f"Staged({self.atom!r}, {self.dims})"


class UnknownRank(KindError):
    """A rule asks for the number of axes of a value of which it is not known."""

    def __init__(
        self,
        what: str = "the derivative here needs a number of axes that differs from path to path",
        origin: Any = None,
        why: str | None = None,
        instead: str | None = "give the value the same number of axes on every path.",
    ) -> None:
        super().__init__(what, origin, why, instead)


# ---------------------------------------------------------------- from and to operands


def wrap(builder: Builder, atom: Atom) -> Any:
    kind = atom.kind
    if isinstance(kind, TupleOf):
        return tuple(wrap(builder, builder.item(atom, Const(i))) for i in range(len(kind.items)))
    return Staged(builder, atom)


def lift(builder: Builder, value: Any) -> Staged:
    """A number, or an operand, as a staged value."""
    if isinstance(value, Staged):
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (bool, int, float, complex)):
        return Staged(builder, Const(value))
    if isinstance(value, (Var, Const, Free, Ref)):
        return Staged(builder, value)
    if isinstance(value, StagedShape):
        return Staged(builder, builder.apply(ops.SHAPE, (value.owner.like(),)))
    raise TypeError(f"a rule computes with {type(value).__name__}")


def operand(builder: Builder, value: Any) -> Operand:
    """A value that a rule passes on: staged ones by their atoms, containers of them, Python constants."""
    match value:
        case Staged():
            return materialise(value).atom
        case StagedShape():
            return builder.apply(ops.SHAPE, (value.owner.like(),))
        case tuple():
            return tuple(operand(builder, v) for v in value)
        case list():
            return ListDisplay(tuple(operand(builder, v) for v in value))
        case slice():
            return SliceOf(operand(builder, value.start), operand(builder, value.stop), operand(builder, value.step))
        case Var() | Const() | Free() | Ref() | SliceOf() | ListDisplay():
            return value
        case np.dtype():
            return Ref(value.type, f"np.{value.name}")
        case type():
            return Ref(value, value.__name__)
        case _:
            return Const(value)


def call_for(fn: Callable[..., Any]) -> Op:
    rule = rule_for(fn)
    if rule is None:
        raise NoRule(f"no derivative rule for `{getattr(fn, '__name__', fn)}`")
    return ops.call_op(fn, rule.name)


def staged_argument(b: Builder, value: Any, *, is_static: bool = False) -> Any:
    """An operand as a rule's text gets it: what is known as it is, the rest staged."""
    match value:
        case Const(held):
            return held
        case Ref(held):
            return held
        case tuple():
            return tuple(staged_argument(b, v) for v in value)
        case ListDisplay(items):
            return [staged_argument(b, v) for v in items]
        case SliceOf(start, stop, step):
            return slice(*(staged_argument(b, v) for v in (start, stop, step)))
        case Free(constant=constant) if is_static and constant is not None:
            return constant
        case Var() | Free():
            return (
                wrap(b, value)
                if not isinstance(value.kind, TupleOf)
                else tuple(wrap(b, b.item(value, Const(i))) for i in range(len(value.kind.items)))
            )
        case _:
            raise KindError(f"an argument of sort {type(value).__name__} is not accepted by a rule")


def staged_partials(rule: Rule, stmt: Apply, b: Builder) -> list[Any]:
    """What an elementwise rule's text gives for the operands of a statement, by operand."""
    extra = {"y": Staged(b, stmt.targets[0])} if "y" in rule.needs else {}
    values = [staged_argument(b, a) for a in stmt.args]
    try:
        return partials_of(rule, values, **extra)
    except ArithmeticError:  # of constants, as in `x / 0`: what that means is the run's business
        return partials_of(rule, [lift(b, v) if isinstance(v, (int, float)) else v for v in values], **extra)


# ---------------------------------------------------------------- elementwise


def elementwise(op: Op, *args: Staged) -> Staged:
    """Apply on the physical shapes; the logical ones broadcast."""
    builder = args[0].builder
    atom = builder.apply(op, tuple(a.atom for a in args))
    if any(a.dims is None for a in args):
        return Staged(builder, atom)
    dims = broadcast(*[a.dims for a in args if a.dims is not None])
    own = dims_of(atom.kind)
    if own is not None and same_shape(own, dims):
        return Staged(builder, atom)
    return Staged(builder, atom, dims, like_of(args, dims))


def like_of(args: tuple[Staged, ...], dims: Shape) -> Callable[[], Atom]:
    """What has the shape to which the arguments broadcast."""
    for a in args:
        if a.dims == dims:
            return a.like

    def whole() -> Atom:  # no operand has the whole shape: broadcast their owners
        owners = [a.like() for a in args if a.dims]
        total: Atom = owners[0]
        for owner in owners[1:]:
            total = args[0].builder.apply(ops.ADD, (total, owner))
        return total

    return whole


def materialise(value: Staged) -> Staged:
    """The same value with its logical shape physically (a broadcast view where it was smaller)."""
    if value.is_full:
        return value
    b = value.builder
    shape = b.apply(ops.SHAPE, (value.like(),))
    small = Const(float(value.atom.value)) if isinstance(value.atom, Const) else value.atom
    atom = b.apply(call_for(np.broadcast_to), (small, shape), kind=Array(_dtype(value.kind), value.dims))
    return Staged(b, atom)


def owned(value: Staged) -> Staged:
    """The same value with its logical shape, in an array of its own (np.full where a number was broadcast)."""
    if value.is_full:
        return value
    b = value.builder
    if dims_of(value.kind) == ():
        like = value.like()
        kind = Array(_dtype(value.kind, like.kind), value.dims)
        return Staged(b, b.apply(ops.call_op(np.full_like, "np.full_like"), (like, value.atom), kind=kind))
    return materialise(value).copy()  # type: ignore[no-any-return]


def _dtype(kind: Kind, other: Kind | None = None) -> str:
    if isinstance(kind, Array):
        return kind.dtype
    if isinstance(other, Array) and other.dtype.startswith("float"):
        return other.dtype
    return "float64"


def _staged_linear(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Builder:
    for a in args:
        if isinstance(a, Staged):
            return a.builder
        if isinstance(a, (list, tuple)):
            for item in a:
                if isinstance(item, Staged):
                    return item.builder
    raise TypeError("no staged argument")


def linear_call(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call on materialised operands; a minus goes outermost through what is linear in the argument."""
    builder = _staged_linear(args, kwargs)
    rule = rule_for(op.fn)
    sign = 1
    parts = []
    names = list(rule.signature.parameters) if rule is not None and rule.signature is not None else []
    for position, a in enumerate(args):
        name = names[position] if position < len(names) else ""
        if isinstance(a, Staged) and rule is not None and rule.sort in ("linear", "bilinear") and name in rule.wrt:
            is_alone = rule.sort == "bilinear" or len(rule.wrt) == 1
            if is_alone and factors.is_negative(a):
                sign, a = -sign, factors.neg(a)
            if isinstance(a.atom, Const) and type(a.atom.value) is int:  # where(c, 1, 0) would be of integers
                a = Staged(builder, Const(float(a.atom.value)), a.dims, a.like)
        parts.append(operand(builder, a))
    named = tuple((k, operand(builder, v)) for k, v in kwargs.items() if not _is_default(rule, k, v))
    if op.fn is np.transpose and len(parts) == 1 and not named:
        op = ops.TRANSPOSE
    targets = builder.apply_all(op, tuple(parts), named)
    if len(targets) > 1:
        return tuple(wrap(builder, t) for t in targets)
    result = wrap(builder, targets[0])
    return factors.neg(result) if sign < 0 else result


def _is_default(rule: Rule | None, name: str, value: Any) -> bool:
    if rule is None or rule.signature is None or name not in rule.signature.parameters:
        return False
    default = rule.signature.parameters[name].default
    return type(default) is type(value) and isinstance(value, (int, str, type(None))) and default == value


# ---------------------------------------------------------------- shapes, lazily


def broadcast_to(value: Any, shape: Any) -> Staged:
    if isinstance(shape, StagedShape):
        owner = shape.owner
        return Staged(owner.builder, lift(owner.builder, value).atom, owner.dims, owner.like)
    if not isinstance(value, Staged):
        raise TypeError("broadcast_to of a constant")
    if shape == ():
        return value
    return linear_call(call_for(np.broadcast_to), (value, shape), {})  # type: ignore[no-any-return]


def expand_dims(value: Staged, axis: Any) -> Staged:
    """New axes: on the small form, at the same distance from the right."""
    dims = value.dims
    own = dims_of(value.kind)
    if dims is None or own is None:
        return linear_call(call_for(np.expand_dims), (value, axis), {})  # type: ignore[no-any-return]
    axes = axes_of(axis, len(dims) + (len(axis) if isinstance(axis, tuple) else 1))
    ndim = len(dims) + len(axes)
    new = list(dims)
    for a in axes:
        new.insert(a, 1)
    physical_axes = tuple(len(own) + len(axes) - (ndim - a) for a in axes)

    def like() -> Atom:
        return value.builder.item(value.like(), new_axes(axes))

    if not own:
        return Staged(value.builder, value.atom, tuple(new), like)
    if factors.is_negative(value):
        return factors.neg(expand_dims(factors.neg(value), axis))
    if value.is_full or any(a < 0 for a in physical_axes):
        return Staged(value.builder, value.builder.item(materialise(value).atom, new_axes(axes)))
    return Staged(value.builder, value.builder.item(value.atom, new_axes(physical_axes)), tuple(new), like)


def new_axes(axes: tuple[int, ...]) -> Operand:
    """The index that makes new axes: `x[:, None]`, `x[..., None]`; np.expand_dims costs ten times as much."""
    index = tuple(Const(None) if a in axes else SliceOf(Const(None), Const(None), Const(None)) for a in range(max(axes) + 1))
    lead = min(axes)
    if lead > 1 and len(index) == lead + len(axes):
        index = (Const(Ellipsis), *index[lead:])
    return index if len(index) > 1 else index[0]


def reduce_sum(value: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """np.sum; over an axis that the small form lacks it multiplies by the length."""
    if not isinstance(value, Staged):
        raise TypeError("np.sum of a list of staged values")
    dims, own = value.dims, dims_of(value.kind)
    if dims is None or own is None:
        return linear_call(call_for(np.sum), (value,), {"axis": axis, "keepdims": keepdims} if keepdims else {"axis": axis})
    axes = axes_of(axis, len(dims))
    if not axes:
        return value
    if factors.is_negative(value):
        return factors.neg(reduce_sum(factors.neg(value), axis, keepdims))
    offset = len(dims) - len(own)
    small = [None if a < offset else _is_smaller(own[a - offset], dims[a]) for a in axes]
    if any(s is None and a >= offset for s, a in zip(small, axes)):
        return reduce_sum(materialise(value), axis, keepdims)
    lazy = [a for s, a in zip(small, axes) if s is not False]
    real = tuple(a - offset for a in axes if a not in lazy)
    result: Staged = value
    if real:
        keywords: dict[str, Any] = {}
        if not (len(real) == len(own) and not keepdims):
            keywords["axis"] = real[0] if len(real) == 1 else real
        if keepdims or lazy:
            keywords["keepdims"] = True
        kept = keepdims or bool(lazy)
        atom = value.builder.apply(
            call_for(np.sum), (value.atom,), tuple((k, operand(value.builder, v)) for k, v in keywords.items())
        )
        summed = (
            tuple(1 if a in axes and a not in lazy else n for a, n in enumerate(dims))
            if kept
            else tuple(n for a, n in enumerate(dims) if a not in axes)
        )
        result = Staged(value.builder, atom, summed, _dropped(value, axes, kept))
    for a in lazy:
        result = Staged(
            result.builder, (result * value.length(a)).atom, tuple(1 if i == a else n for i, n in enumerate(result.dims or ()))
        )
    if not lazy:
        return result
    if keepdims:
        return Staged(
            result.builder, result.atom, tuple(1 if i in axes else n for i, n in enumerate(dims)), _dropped(value, axes, True)
        )
    left = tuple(n for i, n in enumerate(dims) if i not in axes)
    own = dims_of(result.kind) or ()
    drop = tuple(a - (len(dims) - len(own)) for a in axes if a >= len(dims) - len(own))
    squeezed: Atom = result.atom
    if drop:
        squeezed = result.builder.apply(call_for(np.squeeze), (result.atom,), (("axis", operand(result.builder, drop)),))
    return Staged(result.builder, squeezed, left, _dropped(value, axes, False))


def _is_smaller(own: Length, length: Length) -> bool | None:
    """Whether an axis that is `length` long is 1 physically; None where nothing tells."""
    if own == length:
        return False
    ones = is_one(own), is_one(length)
    if None in ones:
        return None
    return ones == (True, False)


def _dropped(value: Staged, axes: tuple[int, ...], keepdims: bool) -> Callable[[], Atom]:
    """An atom with the shape that is left when `axes` are summed out."""

    def like() -> Atom:
        one = SliceOf(Const(None), Const(1), Const(None)) if keepdims else Const(0)
        whole = SliceOf(Const(None), Const(None), Const(None))
        return value.builder.item(value.like(), tuple(one if a in axes else whole for a in range(len(value.dims or ()))))

    return like


def unbroadcast(value: Staged, dims: Dims, like: Atom) -> Staged:
    """Sum a contribution to the shape of the operand that was broadcast."""
    if dims is None or value.dims is None:
        return unbroadcast_at_run_time(value, like)
    if dims == value.dims:
        return value
    lead = len(value.dims) - len(dims)
    if lead < 0:  # `s[:] = a[None]`: leading axes of length 1 that the place does not have
        own = dims[-lead:]
        part = like if own == value.dims else value.builder.item(like, tuple(Const(0) for _ in range(-lead)))
        return Staged(value.builder, unbroadcast(value, own, part).atom, dims, lambda: like)
    if not dims:
        return reduce_sum(value)  # type: ignore[no-any-return]
    kept = []
    for axis, n in enumerate(dims):
        m = value.dims[axis + lead]
        if n == m:
            continue
        one = is_one(n)
        if one is None:
            return unbroadcast_at_run_time(value, like)
        if one and is_one(m) is not True:
            kept.append(axis + lead)
    if kept and not lead:
        return _relike(reduce_sum(value, tuple(kept) if len(kept) > 1 else kept[0], True), dims, like)
    result = value
    if lead:
        leading = tuple(range(lead))
        result = reduce_sum(value, leading if lead > 1 else 0)
    if kept:
        shifted = tuple(k - lead for k in kept)
        result = reduce_sum(result, shifted if len(shifted) > 1 else shifted[0], True)
    return _relike(result, dims, like)


def _relike(value: Staged, dims: Shape, like: Atom) -> Staged:
    own = dims_of(value.kind)
    return (
        Staged(value.builder, value.atom)
        if own is not None and same_shape(own, dims)
        else Staged(value.builder, value.atom, dims, lambda: like)
    )


def unbroadcast_at_run_time(value: Staged, like: Atom) -> Staged:
    """The same where only the run knows how."""
    from srcdiff import runtime

    b = value.builder
    kind: Kind = like.kind if isinstance(like.kind, Array) else Unknown()
    full = value if dims_of(value.kind) is None else materialise(value)
    return Staged(b, b.apply(ops.call_op(runtime.unbroadcast, "unbroadcast"), (full.atom, like), kind=kind), "own")


# ---------------------------------------------------------------- buffers


def zeros(builder: Builder, like: Atom, dims: Dims, kind: Kind) -> Staged:
    """Zeros of the shape and dtype of `like`; a number's zero is 0.0."""
    if isinstance(kind, Number) or (isinstance(kind, Array) and dims == ()):
        return Staged(builder, Const(0.0))
    target = Array(_dtype(kind), dims) if not isinstance(kind, (Unknown, ListOf)) else kind
    return Staged(builder, builder.apply(ops.call_op(np.zeros_like, "np.zeros_like"), (like,), kind=target))


def add_at(buffer: Staged, index: Operand, value: Staged, *, repeats: bool) -> Staged:
    """A new version of `buffer` with `value` added at `index`."""
    from srcdiff.rules.inference import is_basic_index

    b = buffer.builder
    op = ops.INDEX_ADD if is_basic_index(index) or not repeats else ops.SCATTER_ADD
    atom = value.atom if op is ops.INDEX_ADD or value.is_full else materialise(value).atom
    return Staged(b, b.apply(op, (buffer.atom, index, atom), hint=getattr(buffer.atom, "hint", "")))


def astype(value: Staged, dtype: str) -> Staged:
    b = value.builder
    kind = value.kind
    if isinstance(kind, Array) and kind.dtype == dtype:
        return value
    if not isinstance(kind, Array):
        return value
    if kind.dims == ():
        return scalar_of(value, dtype)
    ref = Ref(getattr(np, dtype), f"np.{dtype}")
    return Staged(b, b.apply(ops.ASTYPE, (value.atom, ref), kind=Array(dtype, kind.dims)), value.dims, value.like)


def scalar_of(value: Staged, dtype: str) -> Staged:
    """A scalar, or a Python number, as NumPy's scalar of that dtype: `np.float32(x)`."""
    b = value.builder
    atom = b.apply(ops.call_op(getattr(np, dtype), f"np.{dtype}"), (value.atom,), kind=Array(dtype, ()))
    return Staged(b, atom, value.dims, value.like)


def _shape(value: Any) -> Any:
    return value.shape


def _size(value: Any, axis: Any = None) -> Any:
    if axis is None:
        return value.size
    total: Any = 1
    for a in axes_of(axis, value.ndim):
        total = total * value.length(a)
    return total


def _ndim(value: Any) -> Any:
    return value.ndim


def _zeros_like(value: Staged) -> Staged:
    return value.__srcdiff_zeros_like__()  # type: ignore[no-any-return]


def _transpose(value: Staged, axes: Any = None) -> Any:
    """np.transpose; of a transpose and of a matrix product in the form that has no transpose of its own."""
    if value.dims is None:
        return wrap(value.builder, value.builder.apply(call_for(np.transpose), (value.atom,), kind=value.kind))
    if len(value.dims) <= 1:
        return value
    if axes is not None or not value.is_full or value.ndim != 2:
        return linear_call(call_for(np.transpose), (value,) if axes is None else (value, axes), {})
    b, atom = value.builder, value.atom
    if factors.is_negative(value):
        return factors.neg(_transpose(factors.neg(value)))
    if isinstance(atom, Var) and atom in b.transposed:
        return Staged(b, b.transposed[atom])
    made = b.made.get(atom) if isinstance(atom, Var) else None
    if made is not None and made.op is ops.MATMUL and all(len(dims_of(kind_of(a)) or ()) == 2 for a in made.args):
        left, right = (Staged(b, a) for a in made.args)  # type: ignore[arg-type]
        return _transpose(right) @ _transpose(left)
    return linear_call(call_for(np.transpose), (value,), {})


_SIMPLIFIED: dict[Any, Callable[..., Any]] = {
    np.add: factors.add,
    np.subtract: factors.sub,
    np.multiply: factors.mul,
    np.divide: factors.div,
    np.negative: factors.neg,
}

_SPECIAL: dict[Any, Callable[..., Any]] = {
    np.broadcast_to: broadcast_to,
    np.expand_dims: expand_dims,
    np.sum: reduce_sum,
    np.shape: _shape,
    np.size: _size,
    np.ndim: _ndim,
    np.zeros_like: _zeros_like,
    np.transpose: _transpose,
}
