"""The kind of a primitive's result, from the kinds of its operands.

Lengths come from the shape function beside the rule; the dtype from running the function once on one-element samples.
"""

from __future__ import annotations

import inspect
import math
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from srcdiff.errors import KindError, NoRule, SrcdiffError
from srcdiff.ir import ops
from srcdiff.ir.kinds import (
    Array,
    Dim,
    Kind,
    Length,
    ListOf,
    Number,
    Opaque,
    TupleOf,
    Unknown,
    combine,
    is_one,
    join,
    one_of_several,
    opaque,
    representative,
    spoken_kind,
    told_by,
)
from srcdiff.ir.nodes import Const, DictDisplay, Free, ListDisplay, Op, Operand, RecordDisplay, Ref, SliceOf, Var
from srcdiff.rules.registry import Rule, Shaped, rule_for
from srcdiff.rules.shapes import Shape, broadcast

_COMPARES = {"<", "<=", ">", ">=", "==", "!="}
_LENGTH_OPERATORS = {"+", "-", "*", "//", "%"}


def kind_of(operand: Operand) -> Kind:
    match operand:
        case Var() | Free():
            return operand.kind
        case Const() | Ref():
            return operand.kind
        case tuple():
            return TupleOf(tuple(kind_of(item) for item in operand))
        case ListDisplay(items):
            return _list_kind(items)
        case SliceOf() | DictDisplay() | RecordDisplay():
            return Opaque(type(operand).__name__)


def _list_kind(items: tuple[Operand, ...]) -> Kind:
    joined: Kind | None = kind_of(items[0]) if items else None
    for item in items[1:]:
        joined = None if joined is None else join(joined, kind_of(item))
    return Opaque("list") if joined is None else ListOf(joined, len(items))


def infer(op: Op, args: tuple[Operand, ...], kwargs: tuple[tuple[str, Operand], ...]) -> Kind | tuple[Kind, ...]:
    """The kind of the result, or of each result."""
    match op.style:
        case "binary" | "unary":
            return _operator(op, args)
        case "attribute":
            return _attribute(op, args[0])
        case "item":
            return item_kind(kind_of(args[0]), args[1])
        case "display":
            return kind_of(args[0])
        case "copy":
            return kind_of(args[0])
        case "method":
            return kind_of(args[0])
        case "index_add" | "index_set" | "scatter_add":
            return kind_of(args[0])
        case "append" | "insert":
            return kind_of(args[0])
        case "format":
            return Opaque("str")
        case "call" | "effect":
            return _call(op, args, kwargs)
        case _:
            raise AssertionError(op.style)


def _operator(op: Op, args: tuple[Operand, ...]) -> Kind:
    kinds = [kind_of(a) for a in args]
    if op.text in ("is", "is not", "in", "not in", "not"):
        return Number("bool")
    if op.text in ("and", "or"):
        return kinds[0] if kinds[0] == kinds[1] else Number("bool")
    if any(isinstance(k, Unknown) for k in kinds):
        return Unknown()
    if any(isinstance(k, ListOf) for k in kinds):
        return _list_operator(op, args, kinds)
    if all(isinstance(k, Number) for k in kinds):
        return _number_operator(op, args, kinds)  # type: ignore[arg-type]
    if all(isinstance(k, (Opaque, TupleOf)) for k in kinds):
        return Number("bool") if op.text in _COMPARES else kinds[0]
    if op is ops.MATMUL:
        product = _call(op, args, ())
        assert not isinstance(product, tuple)
        return product
    return elementwise_kind(op.fn, args)


def _list_operator(op: Op, args: tuple[Operand, ...], kinds: list[Kind]) -> Kind:
    """`xs + ys` and `xs * n` of lists; beside an array a list is one."""
    first, second = kinds
    if op is ops.MUL:
        for i, kind in enumerate(kinds):
            other = kinds[1 - i]
            if isinstance(kind, ListOf) and isinstance(other, Number) and other.type == "int":
                n = length_of(args[1 - i])
                return ListOf(kind.item, opaque() if n is None else combine("*", kind.length, n))
    if op is ops.ADD and isinstance(first, ListOf) and isinstance(second, ListOf):
        item = join(first.item, second.item)
        if item is not None:
            return ListOf(item, combine("+", first.length, second.length))
    if any(isinstance(k, Array) for k in kinds):
        return elementwise_kind(op.fn, args)
    raise KindError(f"`{op.text}` is given a list whose length the run decides", instead="use an array, or a loop.")


def _number_operator(op: Op, args: tuple[Operand, ...], kinds: list[Number]) -> Kind:
    if op.text in _COMPARES:
        return Number("bool")
    types = [k.type for k in kinds]
    order = ["bool", "int", "float", "complex"]
    widest = max(types, key=order.index)
    if widest == "bool" and op.text not in ("&", "|", "^"):
        widest = "int"
    if op.text == "/" and widest == "int":
        return Number("float")
    if op.text == "**" and widest == "int":
        exponent = args[1]
        if isinstance(exponent, Const) and exponent.value < 0:
            return Number("float")
    if widest == "int" and op.text in _LENGTH_OPERATORS and len(args) == 2:
        a, b = length_of(args[0]), length_of(args[1])
        if a is not None and b is not None and not (op.text in "//%" and b == 0):
            return Number("int", combine(op.text, a, b))
    return Number(widest)


def length_of(operand: Operand) -> Length | None:
    """An integer operand as a length, if it is known as one."""
    if isinstance(operand, Const) and isinstance(operand.value, int):
        return int(operand.value)
    kind = kind_of(operand)
    return kind.length if isinstance(kind, Number) and kind.type == "int" else None


def _attribute(op: Op, arg: Operand) -> Kind:
    kind = kind_of(arg)
    if op.text == "dtype":
        return Opaque("dtype")
    if isinstance(kind, Number):
        kind = Array({"float": "float64", "int": "int64", "bool": "bool", "complex": "complex128"}[kind.type], ())
    if isinstance(kind, Unknown):
        return Unknown() if op.text == "T" else Opaque("tuple") if op.text == "shape" else Number("int")
    if not isinstance(kind, Array):
        raise KindError(f"a value of kind {kind} has no attribute .{op.text}")
    match op.text:
        case "T":
            return Array(kind.dtype, None if kind.dims is None else kind.dims[::-1])
        case "shape":
            if kind.dims is None:
                return Opaque("tuple")
            return TupleOf(tuple(Number("int", n) for n in kind.dims))
        case "size":
            size: Length = 1
            for n in kind.dims or ():
                size = combine("*", size, n)
            return Number("int", size if kind.dims is not None else None)
        case "ndim":
            return Number("int", kind.ndim)
        case "real" | "imag":
            return kind
        case _:
            raise AssertionError(op.text)


# ---------------------------------------------------------------- indexing


def item_kind(kind: Kind, index: Operand) -> Kind:
    """The kind of `value[index]`."""
    match kind:
        case TupleOf(items):
            if isinstance(index, Const) and isinstance(index.value, int):
                return items[index.value]
            if isinstance(index, SliceOf):
                parts = [p.value for p in (index.start, index.stop, index.step) if isinstance(p, Const)]
                if len(parts) == 3:
                    return TupleOf(items[slice(*parts)])
            if len(set(items)) == 1:
                return Number(items[0].type) if isinstance(items[0], Number) else items[0]
            raise KindError("a tuple is indexed by a number that is not known when the function is compiled")
        case ListOf(item, length):
            if isinstance(index, SliceOf):
                return ListOf(item, slice_length(length, index))
            if isinstance(index, tuple) and len(index) > 1:  # of a list in the list
                return item_kind(item, index[1:] if len(index) > 2 else index[1])
            return one_of_several(item)
        case Array(dtype, dims):
            return Array(dtype, None if dims is None else index_dims(dims, index))
        case Unknown():
            if isinstance(index, Const) and isinstance(index.value, str):
                raise KindError("whether this is a dict is not known")
            return Unknown()
        case Opaque():
            return Opaque("item")
        case _:
            raise KindError(f"a value of kind {kind} cannot be indexed")


def index_dims(dims: Shape, index: Operand) -> Shape | None:
    """The lengths of `x[index]` by NumPy's rules; None where the number of axes is not known."""
    parts = index if isinstance(index, tuple) else (index,)
    consumed = 0
    for part in parts:
        consumed += _axes_consumed(part)
    if not any(isinstance(p, Const) and p.value is Ellipsis for p in parts):
        parts = (*parts, Const(Ellipsis))
    if consumed > len(dims):
        raise KindError(f"too many indices: the array has {len(dims)} axes, the index takes {consumed}")
    out: list[Length] = []
    advanced: list[Shape] = []
    place: int | None = None
    gap = is_split = False
    axis = 0
    has_array = any(_is_advanced(p) for p in parts)
    for part in parts:
        is_integer = _is_integer(part)
        if _is_advanced(part) or (has_array and is_integer):
            if place is None:
                place = len(out)
            elif gap:
                is_split = True
            gap = False
            kind = kind_of(part)
            if is_integer:
                advanced.append(())
                axis += 1
            elif isinstance(kind, Array) and kind.dtype == "bool":
                if kind.dims is None:
                    return None
                advanced.append((told_by(part.serial) if isinstance(part, Var) else opaque(),))
                axis += len(kind.dims)
            else:
                shape = _index_shape(part)
                if shape is None:
                    return None
                advanced.append(shape)
                axis += 1
            continue
        gap = place is not None
        if is_integer:
            axis += 1
        elif isinstance(part, Const) and part.value is None:
            out.append(1)
        elif isinstance(part, Const) and part.value is Ellipsis:
            count = len(dims) - consumed
            out.extend(dims[axis : axis + count])
            axis += count
            gap = gap and count > 0 or (place is not None and count >= 0)
        elif isinstance(part, SliceOf):
            out.append(slice_length(dims[axis], part))
            axis += 1
        else:
            of = getattr(kind_of(part), "type", type(part).__name__)
            raise KindError(
                f"an array is indexed by a value of type {of}",
                instead="index with integers, slices, or arrays of integers or booleans.",
            )
    if place is not None:
        joined = broadcast(*advanced)
        at = 0 if is_split else place
        out[at:at] = joined
    return tuple(out)


def _axes_consumed(part: Operand) -> int:
    if isinstance(part, Const) and (part.value is None or part.value is Ellipsis):
        return 0
    kind = kind_of(part)
    if isinstance(kind, Array) and kind.dtype == "bool":
        return len(kind.dims or ())
    return 1


def _is_integer(part: Operand) -> bool:
    kind = kind_of(part)
    return (isinstance(kind, Number) and kind.type == "int") or (
        isinstance(kind, Array) and kind.dims == () and kind.dtype.startswith(("int", "uint"))
    )


def _is_advanced(part: Operand) -> bool:
    kind = kind_of(part)
    return isinstance(kind, (ListOf, TupleOf)) or (isinstance(kind, Array) and (kind.dtype == "bool" or kind.dims != ()))


def is_basic_index(index: Operand) -> bool:
    """Whether the index has only integers, slices, None and Ellipsis (then `x[index]` is a view)."""
    parts = index if isinstance(index, tuple) else (index,)
    return not any(_is_advanced(p) for p in parts)


def is_whole_index(index: Operand) -> bool:
    """Whether `x[index]` is all of x: `x[:]`, `x[...]`, `x[:, :]`."""
    parts = index if isinstance(index, tuple) else (index,)
    return bool(parts) and all(p == _WHOLE or (isinstance(p, Const) and p.value is Ellipsis) for p in parts)


_WHOLE = SliceOf(Const(None), Const(None), Const(None))


def _index_shape(part: Operand) -> Shape | None:
    kind = kind_of(part)
    if isinstance(kind, Array):
        return kind.dims
    if isinstance(kind, ListOf):
        inner = _index_shape(Var("", kind.item))
        return None if inner is None else (kind.length, *inner)
    if isinstance(kind, TupleOf):
        inner = _index_shape(Var("", kind.items[0])) if kind.items else ()
        return None if inner is None else (len(kind.items), *inner)
    return () if isinstance(kind, Number) else None


def slice_length(length: Length, part: SliceOf) -> Length:
    """The length of `x[start:stop:step]`, where it is simple to say."""
    start, stop, step = (p.value if isinstance(p, Const) else length_of(p) for p in (part.start, part.stop, part.step))
    if any(p is None and not _is_none(q) for p, q in ((start, part.start), (stop, part.stop), (step, part.step))):
        places = (part.start, part.stop, part.step)
        key = tuple(p.serial if isinstance(p, Var) else repr(p) for p in places)
        return told_by((representative(length), *key)) if all(isinstance(p, (Var, Const)) for p in places) else opaque()
    if start is None and stop is None and step in (None, -1, 1):
        return length
    if isinstance(length, int) and not any(isinstance(p, Dim) for p in (start, stop, step)):
        return len(range(*slice(start, stop, step).indices(length)))
    # The hint says what the length is now; the expression is Python's own, so it stays true for any argument.
    if isinstance(length, Dim) and length.expr is None:
        return opaque()
    texts = ["" if p is None else str(p) if isinstance(p, int) else p.expr for p in (start, stop, step)]
    hints = [p if p is None or isinstance(p, int) else p.hint for p in (start, stop, step)]
    size = length if isinstance(length, int) else length.hint
    hint = None
    if size is not None and not any(h is None and p is not None for h, p in zip(hints, (start, stop, step))):
        hint = len(range(*slice(*hints).indices(size)))
    if None in texts:
        return Dim(None, hint)
    if step in (None, 1) and isinstance(length, Dim):
        plain = _plain_slice(length, start, stop)
        if plain is not None and (plain if isinstance(plain, int) else plain.hint) == hint:
            if isinstance(plain, int) or hint is None or hint > 0:
                return plain
    inner = ", ".join(t or "None" for t in texts)
    base = length if isinstance(length, int) else length.expr
    return Dim(f"len(range(*slice({inner}).indices({base})))", hint)


def _plain_slice(length: Dim, start: Any, stop: Any) -> Length | None:
    """`len(x[1:-1])` as `len(x) - 2`: right wherever the slice is not empty."""
    if isinstance(start, Dim) or isinstance(stop, Dim) or (isinstance(start, int) and start < 0):
        return None
    begin = start or 0
    if stop is None:
        return combine("-", length, begin)
    if isinstance(stop, int) and stop < 0:
        return combine("-", length, begin - stop)
    return None


def _is_none(operand: Operand) -> bool:
    return isinstance(operand, Const) and operand.value is None


# ---------------------------------------------------------------- calls


def _call(op: Op, args: tuple[Operand, ...], kwargs: tuple[tuple[str, Operand], ...]) -> Kind | tuple[Kind, ...]:
    fn = op.fn
    if fn is len:
        kind = kind_of(args[0])
        if isinstance(kind, Array) and kind.dims:
            return Number("int", kind.dims[0])
        if isinstance(kind, ListOf):
            return Number("int", kind.length)
        return Number("int")
    rule = rule_for(fn)
    if rule is None:
        raise NoRule(f"no derivative rule for `{op.text}`")
    if rule.shape is None:
        return elementwise_kind(fn, args)
    bound = bind(rule, args, kwargs)
    viewed = {name: view(value, name in rule.wrt) for name, value in bound.items()}
    if _has_unknown(viewed):
        return Unknown()
    first = _positional_only(rule.shape)
    try:
        result = rule.shape(*[viewed[n] for n in first if n in viewed], **{n: v for n, v in viewed.items() if n not in first})
        dtype = dtype_of(rule, viewed)
    except SrcdiffError:
        raise
    except Exception as error:  # what a shape function was not written for is refused
        strange = next((v for v in viewed.values() if isinstance(v, Opaque)), None)
        if strange is not None:
            raise _neither(rule.name, strange) from None
        raise KindError(f"`{rule.name}` does not take these arguments ({type(error).__name__}: {error})") from error
    return tuple(_result_kind(part, dtype) for part in result) if isinstance(result, list) else _result_kind(result, dtype)


@lru_cache(maxsize=1024)
def _positional_only(fn: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(p.name for p in inspect.signature(fn).parameters.values() if p.kind is p.POSITIONAL_ONLY)


def call_bound(rule: Rule, fn: Callable[..., Any], values: dict[str, Any], **extra: Any) -> Any:
    """Call a text of a rule with arguments by the names of its signature."""
    assert rule.signature is not None
    bound = inspect.BoundArguments(rule.signature, OrderedDict(values))
    return fn(*bound.args, **bound.kwargs, **extra)


def partials_of(rule: Rule, values: list[Any], **extra: Any) -> list[Any]:
    """What an elementwise rule's text gives for each of the operands; None for those by which it does not differentiate."""
    assert rule.text is not None and rule.signature is not None
    found = rule.text(*values, **extra)
    parts = found if isinstance(found, tuple) else (found,)
    parameters = list(rule.signature.parameters.values())
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return list(parts)
    by_name = dict(zip(rule.wrt, parts))
    return [by_name.get(p.name) for p in parameters[: len(values)]]


def _result_kind(result: Any, dtype: str) -> Kind:
    if isinstance(result, Kind):
        return result
    if isinstance(result, Shaped):
        return Array(result.dtype or dtype, result.shape)
    return Array(dtype, None if result is None else tuple(result))


def bind(rule: Rule, args: tuple[Any, ...], kwargs: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    """Arguments by the names of the rule's signature; what it does not name is refused."""
    assert rule.signature is not None
    try:
        return rule.signature.bind(*args, **dict(kwargs)).arguments
    except TypeError as error:
        accepted = ", ".join(rule.signature.parameters)
        raise NoRule(f"no derivative rule for `{rule.name}` called so: {error}", why=f"The rule takes: {accepted}.") from None


def view(operand: Any, as_array: bool = False) -> Any:
    """An operand as shape functions see it."""
    if isinstance(operand, tuple):
        return tuple(view(item) for item in operand) if not as_array else [view(item, True) for item in operand]
    if isinstance(operand, ListDisplay):
        return [view(item, as_array) for item in operand.items]
    if isinstance(operand, Const):
        if as_array and isinstance(operand.value, (int, float)) or isinstance(operand.value, (float, complex)):
            known = operand.value if isinstance(operand.value, int) else None
            return Shaped((), None, type(operand.value).__name__, known)
        return operand.value
    if isinstance(operand, Ref):
        return operand.value
    if isinstance(operand, Free) and operand.constant is not None and not as_array:
        return operand.constant
    kind = kind_of(operand)
    match kind:
        case Array(dtype, dims):
            return Shaped(dims, dtype) if dims is not None else kind
        case Number("int", length):
            return Shaped((), None, "int", length) if as_array else length if length is not None else opaque()
        case Number(number):
            return Shaped((), None, number)
        case TupleOf(items):
            return tuple(view(Var("", item)) for item in items)
        case ListOf(Array(dtype, dims), length) if dims is not None:
            return Shaped((length, *dims), dtype) if not as_array else _Repeated(Shaped(dims, dtype), length)
        case ListOf(Number(number), length):
            dtype = _NUMBER_DTYPE[number]
            return _Repeated(Shaped((), dtype), length) if as_array else Shaped((length,), dtype)
        case _:
            return kind


_NUMBER_DTYPE = {"float": "float64", "int": "int64", "bool": "bool", "complex": "complex128"}


class _Repeated(list[Shaped]):
    """A list of items of one shape, of a length that the run decides: for np.stack and np.concatenate."""

    def __init__(self, item: Shaped, length: Length) -> None:
        super().__init__([item])
        self.length = length


def _has_unknown(values: dict[str, Any]) -> bool:
    return any(isinstance(v, Unknown) or (isinstance(v, Array) and v.dims is None) for v in values.values())


def _neither(name: str, kind: Kind) -> KindError:
    return KindError(f"`{name}` is given a value that is neither number nor array ({spoken_kind(kind)})")


def elementwise_kind(fn: Callable[..., Any] | None, args: tuple[Operand, ...]) -> Kind:
    kinds = [kind_of(a) for a in args]
    for position, kind in enumerate(kinds):
        if isinstance(kind, ListOf):
            viewed = view(args[position])
            kinds[position] = Array(viewed.dtype, viewed.shape)
    if any(isinstance(k, Unknown) or (isinstance(k, Array) and k.dims is None) for k in kinds):
        if any(isinstance(k, Unknown) for k in kinds):
            return Unknown()
        dtype = _sampled(fn, kinds)  # `min` may give a Python number
        return Array(np.dtype(dtype[3:]).name if dtype.startswith("py:") else dtype, None)
    if not all(isinstance(k, (Number, Array)) for k in kinds):
        bad = next(k for k in kinds if not isinstance(k, (Number, Array)))
        raise _neither(getattr(fn, "__name__", str(fn)), bad)
    if fn in (min, max):
        joined: Kind | None = kinds[0]
        for kind in kinds[1:]:
            joined = None if joined is None else join(joined, kind)
        if joined is None:
            raise KindError(f"`{fn.__name__}` is given values of kinds that cannot be compared")
        return Number(joined.type) if isinstance(joined, Number) else joined
    dims = broadcast(*[k.dims if isinstance(k, Array) and k.dims is not None else () for k in kinds])
    dtype = _sampled(fn, kinds)
    return Number(dtype[3:]) if dtype.startswith("py:") else Array(dtype, dims)


def _sampled(fn: Callable[..., Any] | None, kinds: list[Kind]) -> str:
    signs = tuple(
        "py:" + k.type if isinstance(k, Number) else f"{k.dtype}:{len(k.dims or ()) > 0:d}"
        for k in kinds
        if isinstance(k, (Number, Array))
    )
    return sampled_dtype(fn, signs)


_PYTHON: dict[str, Any] = {"float": 0.5, "int": 1, "bool": True, "complex": 0.5j}


@lru_cache(maxsize=8192)
def sampled_dtype(fn: Callable[..., Any], signs: tuple[str, ...]) -> str:
    """The dtype's name of `fn` on samples of these dtypes; "py:float" and so on for a Python number."""
    for value in (None, 1.5, 1.0, 2.0):
        samples: list[Any] = []
        for sign in signs:
            if sign == "py:int" and value == 2.0:
                samples.append(2)
            elif sign.startswith("py:"):
                samples.append(_PYTHON[sign[3:]] if value is None or sign != "py:float" else value)
            else:
                dtype, has_axes = sign.split(":")
                samples.append(np.ones((1,) if has_axes == "1" else (), dtype)[() if has_axes == "0" else ...])
        try:
            with np.errstate(all="ignore"):
                result = fn(*samples)
        except (ValueError, ArithmeticError):
            continue
        except TypeError:
            break
        if isinstance(result, np.generic | np.ndarray):
            return result.dtype.name
        return "py:" + type(result).__name__
    raise KindError(f"`{getattr(fn, '__name__', fn)}` does not take values of these kinds: {', '.join(signs)}")


def dtype_of(rule: Rule, viewed: dict[str, Any]) -> str:
    if callable(rule.dtype):
        return rule.dtype(**viewed)
    if rule.dtype not in ("same", "sample"):
        return rule.dtype
    dtypes: list[Any] = []
    for value in viewed.values():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, Shaped):
                dtypes.append(part.weak_dtype)
    if rule.dtype == "same":
        return np.result_type(*dtypes).name if dtypes else "float64"
    return _sampled_call(rule, tuple(_freeze(k, v) for k, v in viewed.items()))


def _freeze(name: str, value: Any) -> tuple[str, Any]:
    if isinstance(value, Shaped):
        return name, ("array", value.dtype or value.weak_dtype, value.ndim)
    if isinstance(value, list):
        return name, ("list", tuple(_freeze("", v)[1] for v in value))
    if isinstance(value, tuple):
        return name, ("tuple", tuple(_freeze("", v)[1] for v in value))
    if isinstance(value, Dim):
        return name, ("static", 1)
    return name, ("static", value)


@lru_cache(maxsize=8192)
def _sampled_call(rule: Rule, frozen: tuple[tuple[str, Any], ...]) -> str:
    def sample(spec: Any) -> Any:
        match spec:
            case ("array", dtype, _) if not isinstance(dtype, str):  # a number
                return dtype
            case ("array", dtype, ndim):
                return np.ones((1,) * ndim, dtype)[() if ndim == 0 else ...]
            case ("list", items):
                return [sample(i) for i in items]
            case ("tuple", items):
                return tuple(sample(i) for i in items)
            case (_, value):
                return value
        raise AssertionError(spec)

    assert rule.signature is not None
    leading = sum(a == b for (a, _), b in zip(frozen, rule.signature.parameters))
    positional = [sample(spec) for _, spec in frozen[:leading]]
    with np.errstate(all="ignore"):
        result = rule.fn(*positional, **{name: sample(spec) for name, spec in frozen[leading:]})
    if isinstance(result, tuple):
        result = result[0]
    return np.asarray(result).dtype.name


def is_math(fn: Any) -> bool:
    return getattr(fn, "__module__", None) == math.__name__


def is_certainly_many(length: Length) -> bool:
    return is_one(length) is False
