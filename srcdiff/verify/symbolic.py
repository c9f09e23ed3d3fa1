"""Arrays of symbols: ordinary NumPy code, a rule's text and an emitted gradient run on them.

    x = symbols("x", (2, 3))
    np.sum(np.tanh(x) * 2, axis=0)[1]   →   2*tanh(x[0,1]) + 2*tanh(x[1,1])

A `SymbolArray` overloads the operators and takes part in NumPy's dispatch. Which of two entries is larger is decided by
the piece that is current (see `algebra`); a comparison gives truth values that may select and count, but not branch.
"""

from __future__ import annotations

import builtins
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sympy

from srcdiff.verify.algebra import Undecided, exact
from srcdiff.verify.formulas import COMPARISONS, FORMULAS, compare, note, sign_of

Expr = Any


class DataDependent(Exception):
    """A branch, a trip count or a conversion asks for the value of a symbol."""


class NotSymbolic(Exception):
    """A function that has no symbolic form."""


class SymbolArray:
    """An array, or a number, whose entries are SymPy expressions (or truth values and integers decided on a piece)."""

    __slots__ = ("data", "is_number")
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, data: Any, *, is_number: bool = False) -> None:
        self.data: Any = data if isinstance(data, np.ndarray) else _boxed(data)
        self.is_number = is_number

    # ------------------------------------------------------------ what code asks

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        return self.data.ndim  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        return self.data.size  # type: ignore[no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64) if self.data.dtype == object else self.data.dtype

    @property
    def T(self) -> SymbolArray:
        return SymbolArray(self.data.T)

    @property
    def mT(self) -> SymbolArray:
        return SymbolArray(np.swapaxes(self.data, -1, -2))

    @property
    def real(self) -> SymbolArray:
        return self

    @property
    def imag(self) -> SymbolArray:
        return self * 0

    @property
    def flat(self) -> Any:
        return iter(self.ravel())

    @property
    def nbytes(self) -> int:
        return 8 * self.size

    @property
    def itemsize(self) -> int:
        return 8

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return len(self.data)

    def __iter__(self) -> Any:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self.data)))

    def __repr__(self) -> str:
        return f"SymbolArray({self.data.tolist()})"

    def __bool__(self) -> bool:
        raise DataDependent("whether this is true depends on the data")

    def __index__(self) -> int:
        raise DataDependent("this integer depends on the data")

    def __float__(self) -> float:
        raise DataDependent("this number depends on the data")

    def __int__(self) -> int:
        raise DataDependent("this integer depends on the data")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotSymbolic("an array of symbols was given to a function that computes with numbers")

    # ------------------------------------------------------------ reading and writing

    def __getitem__(self, index: Any) -> SymbolArray:
        return SymbolArray(self.data[bare(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        new = value.data if isinstance(value, SymbolArray) and self.data.dtype != object else entries(value)
        self.data[bare(index)] = new if new.ndim else new[()]  # an array without axes would itself become an entry

    def copy(self, order: str = "C") -> SymbolArray:
        return SymbolArray(self.data.copy(), is_number=self.is_number)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> SymbolArray:
        return self.copy()

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> SymbolArray:
        if np.dtype(dtype).kind in "fc":
            return SymbolArray(entries(self).copy())
        if self.data.dtype != object:
            return SymbolArray(self.data.astype(dtype))
        raise DataDependent("a number is rounded to an integer")

    def item(self, *index: Any) -> SymbolArray:
        return self.reshape(-1)[0] if not index else self[index if len(index) > 1 else index[0]]

    def tolist(self) -> Any:
        return [a.tolist() for a in self] if self.ndim else self

    def fill(self, value: Any) -> None:
        self[...] = value

    def reshape(self, *shape: Any, **kwargs: Any) -> SymbolArray:
        return SymbolArray(self.data.reshape(*shape, **kwargs))

    def transpose(self, *axes: Any) -> SymbolArray:
        return SymbolArray(self.data.transpose(*axes))

    def ravel(self) -> SymbolArray:
        return SymbolArray(self.data.ravel())

    def flatten(self) -> SymbolArray:
        return SymbolArray(self.data.flatten())

    def is_integer(self) -> bool:
        raise DataDependent("whether a number is an integer depends on the data")

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS:
            fn = getattr(np, _METHODS[name])
            return lambda *args, **kwargs: apply(fn, self, *args, **kwargs)
        raise AttributeError(f"an array of symbols has no attribute {name!r}")

    # ------------------------------------------------------------ NumPy's dispatch

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        kwargs.pop("dtype", None)
        kwargs.pop("casting", None)
        if method == "at":
            return _at(ufunc, *args)
        if method == "outer":
            a, b = args
            result = elementwise(ufunc.__name__, SymbolArray(entries(a).reshape(np.shape(a) + (1,) * np.ndim(b))), b)
        elif method in ("reduce", "accumulate"):
            result = _reduction(ufunc, method, *args, **kwargs)
        elif method != "__call__":
            return NotImplemented
        elif ufunc.__name__ in _UFUNC_ARRAYS:
            result = _UFUNC_ARRAYS[ufunc.__name__](*args, **kwargs)
        else:
            where = kwargs.pop("where", True)
            if kwargs:
                raise NotSymbolic(f"np.{ufunc.__name__} with {', '.join(kwargs)}")
            result = elementwise(ufunc.__name__, *args)
            if where is not True:
                result = apply(np.where, where, result, out[0])
        if out is None:
            return result
        if isinstance(out[0], np.ndarray):
            raise NotSymbolic("symbols are written into an array of numbers")
        out[0][...] = result
        return out[0]

    def __array_function__(self, fn: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return apply(fn, *args, **kwargs)

    # ------------------------------------------------------------ what the rules ask

    def __srcdiff_call__(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        return apply(fn, *args)


def _operator(ufunc: str) -> tuple[Any, Any, Any]:
    fn = getattr(np, ufunc)

    def forward(self: SymbolArray, other: Any) -> Any:
        return apply(fn, self, other) if _is_operand(other) else NotImplemented

    def reflected(self: SymbolArray, other: Any) -> Any:
        return apply(fn, other, self) if _is_operand(other) else NotImplemented

    def in_place(self: SymbolArray, other: Any) -> Any:
        result = apply(fn, self, other)
        if not self.ndim:  # a number is immutable
            return result
        self[...] = result
        return self

    return forward, reflected, in_place


def _is_operand(value: Any) -> bool:
    return isinstance(value, (SymbolArray, int, float, complex, np.ndarray, np.generic, list, tuple, sympy.Expr))


for _dunder, _ufunc in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide", "mod": "remainder",
    "pow": "power", "matmul": "matmul", "and": "logical_and", "or": "logical_or", "xor": "logical_xor",
}.items():  # fmt: skip
    for _prefix, _method in zip(("", "r", "i"), _operator(_ufunc)):
        setattr(SymbolArray, f"__{_prefix}{_dunder}__", _method)
for _dunder, _ufunc in {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal"}.items():
    setattr(SymbolArray, f"__{_dunder}__", _operator(_ufunc)[0])
for _dunder, _ufunc in {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "logical_not", "trunc": "trunc"}.items():
    setattr(SymbolArray, f"__{_dunder}__", lambda self, _fn=getattr(np, _ufunc): apply(_fn, self))
setattr(SymbolArray, "__floor__", lambda self: apply(np.floor, self))
setattr(SymbolArray, "__ceil__", lambda self: apply(np.ceil, self))
setattr(SymbolArray, "__round__", lambda self, digits=None: apply(np.round, self, digits or 0))
setattr(SymbolArray, "__divmod__", lambda self, other: (self // other, self % other))

_METHODS = {
    name: name
    for name in """sum mean max min var std prod dot cumsum cumprod clip trace diagonal repeat take argmax argmin argsort
    squeeze swapaxes round all any nonzero searchsorted choose compress ptp""".split()
} | {"conj": "conjugate", "conjugate": "conjugate"}


# ---------------------------------------------------------------------------------------------------- entries


def _boxed(value: Any) -> Any:
    out = np.empty((), object)
    if isinstance(value, (bool, np.bool_)):
        return np.array(value)
    if isinstance(value, np.integer):
        return np.array(value)
    out[()] = _entry(value)
    return out


def _entry(value: Any) -> Expr:
    if isinstance(value, sympy.Basic):
        return value
    if isinstance(value, SymbolArray):
        return entries(value)[()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return sympy.Integer(value)
    if isinstance(value, (int, float, complex)):
        return exact(value)
    raise NotSymbolic(f"a {type(value).__name__} in an array of symbols")


_entries = np.frompyfunc(_entry, 1, 1)


def entries(value: Any) -> Any:
    """The object array of SymPy expressions of an array, a number, or a nested list of them."""
    if isinstance(value, SymbolArray):
        if value.data.dtype == object:
            return value.data
        value = value.data
    if isinstance(value, (list, tuple)) and has_symbols(value):
        parts = [entries(v) for v in value]
        value = np.stack(parts) if parts else np.empty((0,))
    out = _entries(np.asarray(value))
    return out if isinstance(out, np.ndarray) else _boxed(out)


def filled(shape: Any, value: Any) -> Any:
    out = np.empty(bare(shape), object)
    out.fill(_entry(value))
    return out


def symbols(name: str, shape: tuple[int, ...] = (), *, positive: bool = False, symmetric: bool = False) -> SymbolArray:
    """An array of real symbols named after their indices."""
    out = np.empty(shape, object)
    for index in np.ndindex(*shape):
        at = (*index[:-2], *sorted(index[-2:])) if symmetric else index
        label = f"{name}[{','.join(map(str, at))}]" if at else name
        out[index] = sympy.Symbol(label, real=True, **({"positive": True} if positive else {}))
    return SymbolArray(out, is_number=not shape)


def has_symbols(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(has_symbols(v) for v in value)
    if isinstance(value, slice):
        return any(isinstance(v, SymbolArray) for v in (value.start, value.stop, value.step))
    return isinstance(value, (SymbolArray, sympy.Expr))


def bare(value: Any) -> Any:
    """Indices, shapes and masks without the wrapper: integers and truth values that were decided on the piece."""
    if isinstance(value, SymbolArray):
        if value.data.dtype == object:
            if value.ndim == 0 and value.data[()].is_Integer:
                return int(value.data[()])
            raise DataDependent("an index depends on the data")
        return value.data if value.ndim else value.data[()]
    if isinstance(value, tuple):
        return tuple(bare(v) for v in value)
    if isinstance(value, list):
        return [bare(v) for v in value]
    return value


def wrap(result: Any) -> Any:
    """Arrays of expressions that NumPy gave back, as SymbolArrays."""
    if isinstance(result, (list, tuple)):
        items = [wrap(r) for r in result]
        return type(result)(items) if type(result) in (list, tuple) else tuple(items)
    if isinstance(result, sympy.Basic):
        return SymbolArray(_without_floats(result))
    if isinstance(result, np.ndarray) and result.dtype == object:
        if all(isinstance(e, sympy.Basic) and not e.has(sympy.Float) for e in result.flat):
            return SymbolArray(result)
        exact_entries = np.frompyfunc(_without_floats, 1, 1)(entries(result))
        return SymbolArray(exact_entries)
    return result


def _without_floats(expr: Expr) -> Expr:
    """Floats of NumPy's own code (the base 10.0 of `logspace`) as the fractions that they stand for."""
    return expr.xreplace({f: exact(float(f)) for f in expr.atoms(sympy.Float)})


def _as_objects(value: Any) -> Any:
    """An argument for NumPy's own code on object arrays: symbols and floats as expressions, integers as they are."""
    if isinstance(value, SymbolArray):
        return value.data
    if isinstance(value, (list, tuple)):
        items = [_as_objects(v) for v in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return entries(value)
    if isinstance(value, (float, np.floating)):
        return exact(float(value))
    return value


def _depends(*arrays: Any) -> bool:
    return any(e.free_symbols for a in arrays if isinstance(a, SymbolArray) and a.data.dtype == object for e in a.data.flat)


# ---------------------------------------------------------------------------------------------------- elementwise


def elementwise(name: str, *args: Any) -> Any:
    """An elementwise function on the broadcast entries."""
    decided = [a.data if isinstance(a, SymbolArray) else a for a in args]
    are_decided = all(not isinstance(d, (float, np.floating)) and getattr(d, "dtype", None) != object for d in decided)
    if name in _LOGICAL:
        return _of_truths(getattr(np, name)(*[_truths(a) for a in args]), *args)
    if are_decided and name in ("add", "subtract", "multiply") and _are_numbers(args):
        decided = [int(d) for d in decided]  # unlike NumPy's, Python's truth values are integers
    if are_decided and name in (*COMPARISONS, "add", "subtract", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "invert"):
        return _of_truths(getattr(np, name)(*decided), *args)
    if name in COMPARISONS:
        arrays = [entries(a) for a in args]
        truths = np.asarray(np.frompyfunc(lambda a, b: compare(name, a, b), 2, 1)(*arrays)).astype(bool)
        if name not in ("equal", "not_equal"):
            note(name, tuple(truths.ravel().tolist()))
        return _of_truths(truths, *args)
    if name in ("isnan", "isinf", "isfinite"):
        return np.full(np.shape(args[0]), name == "isfinite")
    if name == "divmod":
        return elementwise("floor_divide", *args), elementwise("remainder", *args)
    if name == "modf":
        whole = elementwise("trunc", *args)
        return args[0] - whole, whole
    formula = FORMULAS.get(name)
    if formula is None:
        raise NotSymbolic(f"{name} has no symbolic form")
    result = np.frompyfunc(formula, len(args), 1)(*[entries(a) for a in args])
    if name in _PIECEWISE and _depends(*args):
        note(name, _sides(name, result, *map(entries, args)))
    return SymbolArray(result, is_number=_are_numbers(args))


def _are_numbers(args: Sequence[Any]) -> bool:
    return all(a.is_number if isinstance(a, SymbolArray) else type(a) in (int, float, bool) for a in args)


_LOGICAL = ("logical_and", "logical_or", "logical_not", "logical_xor", "bitwise_and", "bitwise_or", "invert")
_PIECEWISE = ("absolute", "fabs", "sign", "heaviside", "maximum", "minimum", "fmax", "fmin", "floor", "ceil", "trunc", "rint", "remainder",
              "floor_divide", "fmod", "copysign", "cbrt", "huber")  # fmt: skip


def _sides(name: str, result: Any, a: Any, b: Any = None) -> tuple[Any, ...]:
    """Which piece each entry lies on."""
    if name in ("maximum", "minimum", "fmax", "fmin"):
        return tuple(np.ravel(np.frompyfunc(lambda r, x: r == x, 2, 1)(result, a)).tolist())
    if name in ("floor", "ceil", "trunc", "rint", "sign", "heaviside", "floor_divide"):
        return tuple(map(str, np.ravel(result)))
    if name in ("remainder", "fmod"):
        return tuple(map(str, np.ravel(np.frompyfunc(lambda r, x, y: ((x - r) / y).factor(), 3, 1)(result, a, b))))
    signs = np.frompyfunc(sign_of, 1, 1)
    return tuple(np.ravel(signs(a)).tolist()) + (() if name != "copysign" else tuple(np.ravel(signs(b)).tolist()))


def _truths(value: Any) -> Any:
    if isinstance(value, SymbolArray):
        if value.data.dtype == object:
            return np.frompyfunc(lambda e: sign_of(e) != 0, 1, 1)(value.data).astype(bool) if value.ndim else np.bool_(sign_of(value.data[()]) != 0)
        return value.data
    return value


def _of_truths(result: Any, *args: Any) -> Any:
    """Truth values (or counts): with a wrapper, so that nothing branches on them, if they depend on symbols."""
    if any(isinstance(a, SymbolArray) and (a.data.dtype != object or _depends(a)) for a in args):
        return SymbolArray(np.asarray(result), is_number=_are_numbers(args))
    return np.asarray(result)[()]


def _at(ufunc: Any, target: SymbolArray, index: Any, value: Any = None) -> None:
    if value is None:
        raise NotSymbolic(f"np.{ufunc.__name__}.at without values")
    places = np.arange(target.size).reshape(target.shape)[bare(index)]
    values = np.broadcast_to(entries(value), np.shape(places))
    flat = target.data.reshape(-1)
    shares = flat.base is target.data or np.shares_memory(flat, target.data)
    for place, v in zip(np.ravel(places), values.ravel(), strict=True):
        flat[place] = entries(elementwise(ufunc.__name__, SymbolArray(flat[place]), SymbolArray(v)))[()]
    if not shares:
        target.data[...] = flat.reshape(target.shape)


def unbroadcast(x: SymbolArray, shape: tuple[int, ...]) -> SymbolArray:
    data = entries(x)
    lead = data.ndim - len(shape)
    if lead > 0:
        data = np.sum(data, axis=tuple(range(lead)))
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and np.shape(data)[i] != 1)
    return SymbolArray(np.sum(data, axis=axes, keepdims=True) if axes else data)


# ---------------------------------------------------------------------------------------------------- functions


def apply(fn: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function of NumPy, SciPy, `math` or Python on symbols."""
    if not has_symbols(args) and not has_symbols(tuple(kwargs.values())) and not any(map(_holds_symbols, args)):
        return fn(*args, **kwargs)
    special = _FUNCTIONS.get(fn) if _is_hashable(fn) else None
    if special is not None:
        return special(*args, **kwargs)
    if isinstance(fn, np.ufunc):
        holder = next((a for a in args if isinstance(a, SymbolArray)), None)
        if holder is None:
            holder = SymbolArray(entries(args[0]))
        return holder.__array_ufunc__(fn, "__call__", *args, **kwargs)
    module = getattr(fn, "__module__", None) or ""
    name = getattr(fn, "__name__", "")
    by_name = _BY_NAME.get(f"{module.split('.')[0]}.{name}")
    if by_name is not None:
        return by_name(*args, **kwargs)
    if module == "math" or module.startswith("scipy.special"):
        if name in FORMULAS or name in ("modf", "isnan", "isinf", "isfinite"):
            return elementwise(name, *args)
        raise NotSymbolic(f"{module}.{name} has no symbolic form")
    if not module.startswith("numpy"):
        return fn(*args, **kwargs)
    try:
        return wrap(fn(*[_as_objects(a) for a in args], **{k: _as_objects(v) for k, v in kwargs.items()}))
    except (TypeError, AttributeError) as error:
        inner = getattr(fn, "_implementation", None)
        if inner is None:
            raise NotSymbolic(f"{name} has no symbolic form ({error})") from error
        return inner(*args, **kwargs)


def _holds_symbols(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == object


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


_FUNCTIONS: dict[Any, Callable[..., Any]] = {}
_BY_NAME: dict[str, Callable[..., Any]] = {}
_UFUNC_ARRAYS: dict[str, Callable[..., Any]] = {}


def _is(*fns: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(form: Callable[..., Any]) -> Callable[..., Any]:
        for fn in fns:
            if isinstance(fn, str):
                _BY_NAME[fn] = form
            else:
                _FUNCTIONS[fn] = form
        return form

    return decorate


def _filled_like(value: Any) -> Callable[..., Any]:
    def form(a: Any, dtype: Any = None, *, shape: Any = None, **kwargs: Any) -> Any:
        shape = np.shape(bare_shape(a)) if shape is None else shape
        kind = np.dtype(dtype).kind if dtype is not None else "f"
        return SymbolArray(filled(shape, value)) if kind in "fc" else np.full(shape, value, dtype)

    return form


def bare_shape(a: Any) -> Any:
    return a.data if isinstance(a, SymbolArray) else entries(a)


_FUNCTIONS[np.zeros_like] = _FUNCTIONS[np.empty_like] = _filled_like(0)
_FUNCTIONS[np.ones_like] = _filled_like(1)


@_is(np.full_like)
def _full_like(a: Any, value: Any, dtype: Any = None, *, shape: Any = None, **kwargs: Any) -> SymbolArray:
    out = SymbolArray(filled(np.shape(bare_shape(a)) if shape is None else shape, 0))
    out[...] = value
    return out


@_is(np.full)
def _full(shape: Any, value: Any, dtype: Any = None, **kwargs: Any) -> SymbolArray:
    out = SymbolArray(filled(shape, 0))
    out[...] = value
    return out


@_is(np.copy, np.array, np.asarray, np.ascontiguousarray, np.asanyarray)
def _copy(a: Any, *args: Any, **kwargs: Any) -> SymbolArray:
    data = a.data if isinstance(a, SymbolArray) else entries(a)
    return SymbolArray(np.array(data))


for _creator in (np.asarray, np.ascontiguousarray, np.asanyarray):
    _FUNCTIONS[_creator] = lambda a, *args, **kwargs: a if isinstance(a, SymbolArray) else _copy(a)


@_is(np.astype)
def _astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    return x.astype(dtype)


@_is(np.shape)
def _shape(a: Any) -> Any:
    return bare_shape(a).shape


@_is(np.ndim)
def _ndim(a: Any) -> Any:
    return bare_shape(a).ndim


@_is(np.size)
def _size(a: Any, axis: Any = None) -> Any:
    return bare_shape(a).size if axis is None else bare_shape(a).shape[axis]


@_is(np.result_type, np.min_scalar_type)
def _result_type(*args: Any) -> Any:
    return np.result_type(*[a.dtype if isinstance(a, SymbolArray) else a for a in args])


@_is(np.iscomplexobj)
def _iscomplexobj(a: Any) -> bool:
    return False


@_is(np.isrealobj)
def _isrealobj(a: Any) -> bool:
    return True


@_is(np.isneginf, np.isposinf)
def _never(a: Any) -> Any:
    return np.zeros(np.shape(bare_shape(a)), bool)


@_is(np.real, np.nan_to_num, np.real_if_close)
def _itself(a: Any, *args: Any, **kwargs: Any) -> Any:
    return a


@_is(np.imag)
def _imag(a: Any) -> Any:
    return a * 0


@_is(np.where)
def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    truths = _truths(condition)
    if x is None:
        return tuple(SymbolArray(i) for i in np.nonzero(truths))
    if _depends(condition):
        note("where", tuple(np.ravel(truths).tolist()))
    a, b = entries(x), entries(y)
    shape = np.broadcast_shapes(np.shape(truths), a.shape, b.shape)
    out = np.empty(shape, object)
    truths, a, b = (np.broadcast_to(v, shape) for v in (truths, a, b))
    for index in np.ndindex(*shape):
        out[index] = a[index] if truths[index] else b[index]
    return SymbolArray(out)


@_is(np.select)
def _select(conditions: Sequence[Any], choices: Sequence[Any], default: Any = 0) -> Any:
    out = default
    for condition, choice in zip(reversed(conditions), reversed(choices)):
        out = _where(condition, choice, out)
    return out


@_is(np.clip)
def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None, out: Any = None) -> Any:
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if low is not None:
        a = elementwise("maximum", a, low)
    if high is not None:
        a = elementwise("minimum", a, high)
    return a


@_is(np.sinc)
def _sinc(x: Any) -> Any:
    return elementwise("sinc", x)


@_is(np.i0)
def _i0(x: Any) -> Any:
    return elementwise("i0", x)


@_is(np.fix)
def _fix(x: Any) -> Any:
    return elementwise("trunc", x)


@_is(np.around, np.round, builtins.round)
def _round(x: Any, decimals: int | None = 0, **kwargs: Any) -> Any:
    scale = 10 ** (decimals or 0)
    return elementwise("rint", x * scale) / scale


@_is(np.count_nonzero)
def _count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return SymbolArray(np.asarray(np.count_nonzero(_truths(a), axis=axis, keepdims=keepdims)))


@_is(np.nonzero)
def _nonzero(a: Any) -> Any:
    return tuple(SymbolArray(i) for i in np.nonzero(_truths(a)))


@_is(np.any)
def _any(a: Any, axis: Any = None, **kwargs: Any) -> Any:
    return _of_truths(np.any(_truths(a), axis=axis, **kwargs), a)


@_is(np.all)
def _all(a: Any, axis: Any = None, **kwargs: Any) -> Any:
    return _of_truths(np.all(_truths(a), axis=axis, **kwargs), a)


@_is(np.array_equal, np.allclose)
def _array_equal(a: Any, b: Any, *args: Any, **kwargs: Any) -> Any:
    raise DataDependent("whether two arrays are equal depends on the data")


# ---------------------------------------------------------------------------------------------------- reductions


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    return tuple(sorted(a % ndim for a in (axis if isinstance(axis, tuple) else (axis,))))


def _reduce(data: Any, axis: Any, keepdims: bool, form: Callable[[list[Any]], Any], dtype: Any = object) -> Any:
    """`form` on the entries along the axes, for each of the other indices."""
    axes = _axes(axis, data.ndim)
    rest = tuple(i for i in range(data.ndim) if i not in axes)
    moved = data.transpose(*rest, *axes).reshape(*[data.shape[i] for i in rest], -1)
    out = np.empty(moved.shape[:-1], dtype)
    for index in np.ndindex(*out.shape):
        out[index] = form(list(moved[index]))
    if keepdims:
        out = out.reshape([1 if i in axes else n for i, n in enumerate(data.shape)])
    return SymbolArray(out)


@_is(np.sum)
def _np_sum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, **kwargs: Any) -> Any:
    if isinstance(a, SymbolArray) and a.data.dtype != object:
        return SymbolArray(np.asarray(np.sum(a.data, axis=axis, keepdims=keepdims)))
    if kwargs:
        raise NotSymbolic(f"np.sum with {', '.join(kwargs)}")
    return _reduce(entries(a), axis, keepdims, lambda e: sympy.Add(*e))


@_is(np.prod)
def _np_prod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    return _reduce(entries(a), axis, keepdims, lambda e: sympy.Mul(*e))


@_is(np.mean)
def _np_mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    return _reduce(entries(a), axis, keepdims, lambda e: sympy.Add(*e) / len(e))


def _variance(values: list[Any], ddof: Any) -> Any:
    mean = sympy.Add(*values) / len(values)
    return sympy.Add(*[(e - mean) ** 2 for e in values]) / (len(values) - ddof)


@_is(np.var)
def _np_var(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: bool = False, **kwargs: Any) -> Any:
    ddof = kwargs.get("correction", ddof)
    return _reduce(entries(a), axis, keepdims, lambda e: _variance(e, _entry(ddof)))


@_is(np.std)
def _np_std(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: bool = False, **kwargs: Any) -> Any:
    return elementwise("sqrt", _np_var(a, axis, None, None, ddof, keepdims, **kwargs))


def _extreme(name: str) -> Callable[..., Any]:
    best = FORMULAS[name]

    def form(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, **kwargs: Any) -> Any:
        if isinstance(a, SymbolArray) and a.data.dtype != object:
            return SymbolArray(np.asarray(getattr(np, name).reduce(a.data, axis=axis, keepdims=keepdims)))
        if initial is not None or kwargs:
            raise NotSymbolic("a maximum with `initial` or `where`")
        data = entries(a)
        chosen: list[int] = []

        def pick(values: list[Any]) -> Any:
            at = 0
            for i, v in enumerate(values):
                if i and best(values[at], v) is not values[at]:
                    at = i
            chosen.append(at)
            return values[at]

        result = _reduce(data, axis, keepdims, pick)
        if data.size and _depends(SymbolArray(data)):
            note("max" if name == "maximum" else "min", tuple(chosen))
        return result

    return form


_FUNCTIONS[np.max] = _FUNCTIONS[np.amax] = _FUNCTIONS[np.nanmax] = _extreme("maximum")
_FUNCTIONS[np.min] = _FUNCTIONS[np.amin] = _FUNCTIONS[np.nanmin] = _extreme("minimum")
_FUNCTIONS[np.nansum], _FUNCTIONS[np.nanmean], _FUNCTIONS[np.nanprod] = _np_sum, _np_mean, _np_prod
_FUNCTIONS[np.nanvar], _FUNCTIONS[np.nanstd] = _np_var, _np_std


@_is(np.ptp)
def _ptp(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    return _FUNCTIONS[np.max](a, axis, keepdims=keepdims) - _FUNCTIONS[np.min](a, axis, keepdims=keepdims)


def _reduction(ufunc: Any, method: str, a: Any, axis: Any = 0, keepdims: bool = False, **kwargs: Any) -> Any:
    if method == "accumulate":
        return _accumulated(ufunc.__name__, a, axis)
    name = {"add": np.sum, "multiply": np.prod, "maximum": np.max, "minimum": np.min, "logical_and": np.all, "logical_or": np.any}
    if ufunc.__name__ not in {k for k in name}:
        raise NotSymbolic(f"np.{ufunc.__name__}.reduce")
    return apply(name[ufunc.__name__], a, axis=axis, keepdims=keepdims)


def _accumulated(name: str, a: Any, axis: Any = None) -> SymbolArray:
    data = entries(a)
    if axis is None:
        data, axis = data.ravel(), 0
    out = np.moveaxis(data.copy(), axis, 0)
    for i in range(1, len(out)):
        out[i, ...] = entries(elementwise(name, SymbolArray(out[i - 1]), SymbolArray(out[i])))
    return SymbolArray(np.moveaxis(out, 0, axis))


@_is(np.cumsum, np.nancumsum)
def _cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return _accumulated("add", a, axis)


@_is(np.cumprod)
def _cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return _accumulated("multiply", a, axis)


@_is(np.average)
def _average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    if weights is None:
        return _np_mean(a, axis, keepdims=keepdims)
    w = entries(weights)
    data = entries(a)
    if w.shape != data.shape:
        w = np.broadcast_to(w.reshape([-1 if i == axis % data.ndim else 1 for i in range(data.ndim)]), data.shape)
    return _np_sum(SymbolArray(data * w), axis, keepdims=keepdims) / _np_sum(SymbolArray(w), axis, keepdims=keepdims)


# ---------------------------------------------------------------------------------------------------- order


def _order(values: Sequence[Any]) -> list[int]:
    """The stable permutation that sorts."""
    out: list[int] = []
    for i, v in enumerate(values):
        at = len(out)
        while at and compare("less", v, values[out[at - 1]]):
            at -= 1
        out.insert(at, i)
    return out


@_is(np.argsort)
def _argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, **kwargs: Any) -> Any:
    if isinstance(a, SymbolArray) and a.data.dtype != object:
        return SymbolArray(np.argsort(a.data, axis=axis, kind="stable"))
    data = entries(a)
    if axis is None:
        data, axis = data.ravel(), 0
    moved = np.moveaxis(data, axis, -1)
    out = np.empty(moved.shape, np.int64)
    for index in np.ndindex(*moved.shape[:-1]):
        out[index] = _order(list(moved[index]))
    note("sort", tuple(out.ravel().tolist()))
    return SymbolArray(np.moveaxis(out, -1, axis))


@_is(np.sort)
def _sort(a: Any, axis: Any = -1, **kwargs: Any) -> Any:
    data = entries(a)
    if axis is None:
        data, axis = data.ravel(), 0
    return SymbolArray(np.take_along_axis(data, _argsort(SymbolArray(data), axis).data, axis))


@_is(np.partition)
def _partition(a: Any, kth: Any, axis: Any = -1, **kwargs: Any) -> Any:
    return _sort(a, axis)


@_is(np.argpartition)
def _argpartition(a: Any, kth: Any, axis: Any = -1, **kwargs: Any) -> Any:
    return _argsort(a, axis)


def _arg_extreme(sign: int) -> Callable[..., Any]:
    def form(a: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
        def pick(values: list[Any]) -> int:
            at = 0
            for i, v in enumerate(values):
                if compare("greater" if sign > 0 else "less", v, values[at]):
                    at = i
            return at

        return _reduce(entries(a), axis, keepdims, pick, np.int64)

    return form


_FUNCTIONS[np.argmax], _FUNCTIONS[np.argmin] = _arg_extreme(1), _arg_extreme(-1)


@_is(np.median, np.nanmedian)
def _median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    def form(values: list[Any]) -> Any:
        ordered = [values[i] for i in _order(values)]
        n = len(ordered)
        return (ordered[(n - 1) // 2] + ordered[n // 2]) / 2

    note("sort", None)
    return _reduce(entries(a), axis, keepdims, form)


def _quantile(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
              keepdims: bool = False, **kwargs: Any) -> Any:  # fmt: skip
    if method != "linear" or isinstance(q, SymbolArray):
        raise NotSymbolic("np.quantile with another method, or of a symbolic q")

    def form_of(share: Any) -> Callable[[list[Any]], Any]:
        def form(values: list[Any]) -> Any:
            ordered = [values[i] for i in _order(values)]
            place = exact(float(share)) * (len(ordered) - 1)
            low = int(sympy.floor(place))
            high = min(low + 1, len(ordered) - 1)
            return ordered[low] + (ordered[high] - ordered[low]) * (place - low)

        return form

    parts = [_reduce(entries(a), axis, keepdims, form_of(share)) for share in np.ravel(q)]
    return parts[0] if np.ndim(q) == 0 else SymbolArray(np.stack([p.data for p in parts]).reshape(np.shape(q) + parts[0].shape))


_FUNCTIONS[np.quantile] = _FUNCTIONS[np.nanquantile] = _quantile
_FUNCTIONS[np.percentile] = _FUNCTIONS[np.nanpercentile] = lambda a, q, *args, **kwargs: _quantile(a, np.asarray(q) / 100, *args, **kwargs)


@_is(np.take_along_axis)
def _take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    return wrap(np.take_along_axis(bare_shape(arr), bare(indices), axis))


@_is(np.put_along_axis)
def _put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    np.put_along_axis(arr.data, bare(indices), entries(values), axis)


@_is(np.copyto)
def _copyto(dst: Any, src: Any, where: Any = True, **kwargs: Any) -> None:
    np.copyto(dst.data, entries(src), where=_truths(where))


# ---------------------------------------------------------------------------------------------------- products


def _matmul(a: Any, b: Any, **kwargs: Any) -> Any:
    x, y = entries(a), entries(b)
    return SymbolArray(np.matmul(x, y))


_UFUNC_ARRAYS["matmul"] = _matmul
_UFUNC_ARRAYS["vecdot"] = lambda a, b, axis=-1, **kwargs: _np_sum(SymbolArray(entries(a) * entries(b)), axis)
_UFUNC_ARRAYS["matvec"] = lambda a, b, **kwargs: SymbolArray(np.matmul(entries(a), entries(b)[..., None])[..., 0])
_UFUNC_ARRAYS["vecmat"] = lambda a, b, **kwargs: SymbolArray(np.matmul(entries(a)[..., None, :], entries(b))[..., 0, :])


@_is(np.linalg.vecdot)
def _vecdot(a: Any, b: Any, *, axis: Any = -1) -> Any:
    return _np_sum(SymbolArray(entries(a) * entries(b)), axis)


@_is(np.linalg.multi_dot)
def _multi_dot(arrays: Sequence[Any], **kwargs: Any) -> Any:
    out = arrays[0]
    for a in arrays[1:]:
        out = np.dot(out, a)
    return out


@_is(np.einsum)
def _einsum(subscripts: str, *operands: Any, **kwargs: Any) -> Any:
    return wrap(np.einsum(subscripts, *[entries(o) for o in operands], optimize=False))


@_is(np.bincount)
def _bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    places = bare(x)
    out = filled((max(minlength, *(int(p) + 1 for p in places)),), 0)
    for place, weight in zip(places, entries(weights), strict=True):
        out[place] += weight
    return SymbolArray(out)


def _minor(a: Any, i: int, j: int) -> Any:
    return np.delete(np.delete(a, i, 0), j, 1)


def _determinant(a: Any) -> Any:
    n = len(a)
    if n == 0:
        return sympy.Integer(1)
    return sympy.Add(*[(-1) ** j * a[0, j] * _determinant(_minor(a, 0, j)) for j in range(n)])


def _inverse(a: Any) -> Any:
    n = len(a)
    if n > 4:
        raise Undecided("the inverse of a matrix of more than four rows")
    factor = 1 / _determinant(a)
    out = np.empty((n, n), object)
    for i, j in itertools.product(range(n), repeat=2):
        out[j, i] = (-1) ** (i + j) * _determinant(_minor(a, i, j)) * factor
    return out


def _by_matrix(a: Any, form: Callable[[Any], Any], *, is_matrix: bool) -> Any:
    data = entries(a)
    batch = data.shape[:-2]
    out = np.empty(batch + (data.shape[-2:] if is_matrix else ()), object)
    for index in np.ndindex(*batch):
        out[index] = form(data[index])
    return SymbolArray(out)


@_is(np.linalg.det, "scipy.det")
def _det(a: Any, **kwargs: Any) -> Any:
    return _by_matrix(a, _determinant, is_matrix=False)


@_is(np.linalg.inv, "scipy.inv")
def _inv(a: Any, **kwargs: Any) -> Any:
    return _by_matrix(a, _inverse, is_matrix=True)


@_is(np.linalg.pinv, "scipy.pinv")
def _pinv(a: Any, **kwargs: Any) -> Any:
    rows, columns = np.shape(a)[-2:]
    transposed = np.swapaxes(a, -1, -2)
    if rows >= columns:
        return _inv(transposed @ a) @ transposed
    return transposed @ _inv(a @ transposed)


@_is(np.linalg.solve)
def _solve(a: Any, b: Any) -> Any:
    inverse = _inv(a)
    if np.ndim(b) == 1:
        return inverse @ b
    return inverse @ b


@_is("scipy.solve")
def _scipy_solve(a: Any, b: Any, *, transposed: bool = False, **kwargs: Any) -> Any:
    return _solve(np.swapaxes(a, -1, -2) if transposed else a, b)


@_is("scipy.solve_triangular")
def _solve_triangular(a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False, **kwargs: Any) -> Any:
    data = np.tril(entries(a)) if lower else np.triu(entries(a))
    data = entries(data)
    if unit_diagonal:
        data = data.copy()
        for i in range(len(data)):
            data[i, i] = sympy.Integer(1)
    return _inv(SymbolArray(data.T if trans in (1, 2, "T", "C") else data)) @ b


@_is("scipy.cho_solve")
def _cho_solve(factor: Any, b: Any, **kwargs: Any) -> Any:
    c, lower = factor
    t = SymbolArray(entries(np.tril(entries(c)) if lower else np.triu(entries(c))))
    return _inv(t @ t.T if lower else t.T @ t) @ b


@_is(np.linalg.slogdet)
def _slogdet(a: Any) -> Any:
    det = _det(a)
    return elementwise("sign", det), elementwise("log", elementwise("absolute", det))


def _lower_factor(a: Any) -> Any:
    n = len(a)
    out = filled((n, n), 0)
    for j in range(n):
        for i in range(j, n):
            rest = a[i, j] - sympy.Add(*[out[i, k] * out[j, k] for k in range(j)])
            out[i, j] = sympy.sqrt(rest) if i == j else rest / out[j, j]
    return out


@_is(np.linalg.cholesky)
def _cholesky(a: Any, *, upper: bool = False) -> Any:
    lower = _by_matrix(a, _lower_factor, is_matrix=True)
    return np.swapaxes(lower, -1, -2) if upper else lower


@_is("scipy.cholesky")
def _scipy_cholesky(a: Any, lower: bool = False, **kwargs: Any) -> Any:
    return _cholesky(a, upper=not lower)


@_is(np.linalg.matrix_power)
def _matrix_power(a: Any, n: int) -> Any:
    if n < 0:
        a, n = _inv(a), -n
    out: Any = _by_matrix(a, lambda m: entries(np.eye(len(m))), is_matrix=True)
    for _ in range(n):
        out = out @ a
    return out


def _norm_of(order: Any) -> Callable[[list[Any]], Any]:
    absolute, larger, smaller = FORMULAS["absolute"], FORMULAS["maximum"], FORMULAS["minimum"]

    def form(values: list[Any]) -> Any:
        if order == 2:
            return sympy.sqrt(sympy.Add(*[v**2 for v in values]))
        sizes = [absolute(v) for v in values]
        if order in (np.inf, -np.inf):
            best = sizes[0]
            for s in sizes[1:]:
                best = (larger if order > 0 else smaller)(best, s)
            return best
        p = _entry(order)
        return sympy.Add(*[s**p for s in sizes]) ** (1 / p)

    return form


@_is(np.linalg.norm)
def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    data = entries(x)
    axes = _axes(axis, data.ndim)
    if ord in (None, "fro") or (len(axes) == 1 and ord not in ("nuc", 0)):
        return _reduce(data, axis, keepdims, _norm_of(2 if ord in (None, "fro") else ord))
    if ord in (1, -1, np.inf, -np.inf) and len(axes) == 2:
        rows, columns = axis if axis is not None else (0, 1)
        inner, outer = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = _np_sum(elementwise("absolute", x), inner, keepdims=True)
        out = _FUNCTIONS[np.max if ord > 0 else np.min](sums, outer, keepdims=True)
        return out if keepdims else np.squeeze(out, axis=axes)
    raise NotSymbolic(f"a matrix norm of order {ord}")


@_is(np.linalg.vector_norm)
def _vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    return _reduce(entries(x), axis, keepdims, _norm_of(ord))


@_is(np.linalg.matrix_norm)
def _matrix_norm(x: Any, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return _norm(x, ord, (-2, -1), keepdims)


# ---------------------------------------------------------------------------------------------------- interpolation, calculus


@_is(np.trapezoid)
def _trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    data = np.moveaxis(entries(y), axis, -1)
    if x is None:
        steps = _entry(dx)
    else:
        at = entries(x)
        steps = np.diff(at if at.ndim == 1 else np.moveaxis(at, axis, -1), axis=-1)
    return _np_sum(SymbolArray(entries(steps * (data[..., 1:] + data[..., :-1]) / sympy.Integer(2))), -1)


@_is(np.interp)
def _interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    if period is not None:
        raise NotSymbolic("np.interp with a period")
    grid, table = entries(xp), entries(fp)

    def form(v: Any) -> Any:
        if compare("less", v, grid[0]):
            return table[0] if left is None else _entry(left)
        if compare("greater", v, grid[-1]):
            return table[-1] if right is None else _entry(right)
        i = next(i for i in range(len(grid) - 1) if compare("less_equal", v, grid[i + 1]))
        return table[i] + (v - grid[i]) * (table[i + 1] - table[i]) / (grid[i + 1] - grid[i])

    return SymbolArray(np.frompyfunc(form, 1, 1)(entries(x)))


@_is(np.linspace)
def _linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0) -> Any:
    a, b = (entries(v) for v in (start, stop))
    step = (b - a) / sympy.Integer(max(num - 1 if endpoint else num, 1))
    out = SymbolArray(entries(np.stack([np.asarray(a + i * step, object) for i in range(num)], axis=axis)))
    return (out, SymbolArray(step)) if retstep else out


@_is(np.geomspace)
def _geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    return elementwise("exp", _linspace(elementwise("log", start), elementwise("log", stop), num, endpoint, axis=axis))


@_is("scipy.logsumexp")
def _logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    terms = elementwise("exp", a)
    return elementwise("log", _np_sum(terms if b is None else terms * b, axis, keepdims=keepdims))


@_is("scipy.softmax")
def _softmax(x: Any, axis: Any = None) -> Any:
    e = elementwise("exp", x)
    return e / _np_sum(e, axis, keepdims=True)


@_is("scipy.log_softmax")
def _log_softmax(x: Any, axis: Any = None) -> Any:
    return x - elementwise("log", _np_sum(elementwise("exp", x), axis, keepdims=True))


@_is("scipy.multigammaln")
def _multigammaln(a: Any, d: int) -> Any:
    out: Any = exact(d * (d - 1)) / 4 * sympy.log(sympy.pi)
    for j in range(d):
        out = elementwise("add", elementwise("gammaln", a - exact(j) / 2), out)
    return out


# ---------------------------------------------------------------------------------------------------- numbers


@_is(builtins.abs)
def _abs(x: Any) -> Any:
    return elementwise("absolute", x)


@_is(builtins.pow, math.pow)
def _pow(x: Any, y: Any, modulus: None = None) -> Any:
    return elementwise("power", x, y)


@_is(builtins.float, builtins.complex)
def _float(x: Any = 0.0) -> Any:
    if not isinstance(x, SymbolArray):
        return float(x)
    return SymbolArray(x.data.reshape(()), is_number=True)


@_is(builtins.divmod)
def _divmod(x: Any, y: Any) -> Any:
    return elementwise("divmod", x, y)


def _of_several(name: str) -> Callable[..., Any]:
    def form(*args: Any, key: Any = None, default: Any = None) -> Any:
        items = list(args[0]) if len(args) == 1 else list(args)
        out = items[0]
        for item in items[1:]:
            out = elementwise(name, out, item)
        return out

    return form


_FUNCTIONS[builtins.max], _FUNCTIONS[builtins.min] = _of_several("maximum"), _of_several("minimum")


@_is(builtins.sum, math.fsum)
def _sum(items: Any, start: Any = 0) -> Any:
    out = start
    for item in items:
        out = out + item
    return out


@_is(math.prod)
def _prod(items: Any, *, start: Any = 1) -> Any:
    out = start
    for item in items:
        out = out * item
    return out


@_is(math.log)
def _log(x: Any, base: Any = None) -> Any:
    out = elementwise("log", x)
    return out if base is None else out / elementwise("log", SymbolArray(entries(base)))


@_is(math.hypot)
def _hypot(*coordinates: Any) -> Any:
    return elementwise("sqrt", SymbolArray(entries(_sum([c * c for c in coordinates]))))


@_is(math.remainder)
def _remainder(x: Any, y: Any) -> Any:
    return x - y * elementwise("rint", x / y)


@_is(math.dist)
def _dist(p: Any, q: Any) -> Any:
    return _hypot(*[a - b for a, b in zip(p, q)])


if hasattr(math, "sumprod"):

    @_is(math.sumprod)
    def _sumprod(p: Any, q: Any) -> Any:
        return _sum([a * b for a, b in zip(p, q)])


if hasattr(math, "fma"):

    @_is(math.fma)
    def _fma(x: Any, y: Any, z: Any) -> Any:
        return x * y + z
