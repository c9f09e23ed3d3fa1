"""Functions that take functions, of the builtins, functools, itertools and operator; and copies.

functools.reduce(f, xs, a)        the loop that it stands for, f in place
itertools.combinations(xs, 2)     the pairs, where xs is known; otherwise two loops
sorted(pairs, key=k)              in the order of the keys: known, or np.argsort of them
"""

from __future__ import annotations

import ast
import copy as copying
import functools
import itertools
import operator
import typing
from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.errors import KindError, NoRule
from srcdiff.ir import ops
from srcdiff.ir.kinds import Array, is_scalar
from srcdiff.ir.nodes import UNBOUND, Const, Ref, SliceOf
from srcdiff.prepare import builtin_calls, calls, containers, expressions, generators, iterators, objects
from srcdiff.prepare.lowering import Lowering, truth
from srcdiff.prepare.values import (
    Closure,
    DictRef,
    Generator,
    Instance,
    Iterable,
    ListRef,
    ObjectRef,
    Partial,
    Record,
    Value,
    is_atom,
)
from srcdiff.read.source import read_function
from srcdiff.rules.inference import kind_of

Args = tuple[Value, ...]
Kwargs = dict[str, Value]


def written(low: Low, fn: Any, *args: Value) -> Value:
    """A call of one of the functions in `iterators`."""
    source = read_function(fn)
    names = [p.arg for p in source.node.args.args]
    return Generator(source.node, source, None, dict(zip(names, args)), f"`{fn.__name__}`", low.depth)


Low = Lowering


def items(low: Lowering, value: Value, node: ast.AST) -> list[Value] | None:
    """The items of an iterable where they are known; a generator of known ones is consumed for that."""
    value = objects.iterated(low, value, node)
    return expressions.known_items(low, value)


def call(low: Lowering, fn: Value, args: Args, node: ast.AST) -> Value:
    return calls.call_value(low, fn, args, {}, node)


def sequence(low: Lowering, value: Value, node: ast.AST) -> Value:
    """An iterable as something that has a length and items by number."""
    value = generators.collected(low, objects.iterated(low, value, node), node)
    return builtin_calls.collected(low, value, node) if isinstance(value, Iterable) else value


# ---------------------------------------------------------------- builtins


def _map(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    fn, *parts = args
    if len(parts) == 1:
        return written(low, iterators.mapped, fn, objects.iterated(low, parts[0], node))
    return written(low, iterators.mapped_over, fn, _zip(low, tuple(parts), {}, node))


def _filter(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    fn, xs = args
    if isinstance(fn, Const) and fn.value is None:
        fn = Ref(bool, "bool")
    return _chosen(low, iterators.filtered, fn, xs, node)


def _chosen(low: Lowering, text: Any, fn: Value, xs: Value, node: ast.AST) -> Value:
    """What a test lets through: a list of known length where the test is known for each item."""
    known = items(low, xs, node)
    if known is None:
        return written(low, text, fn, objects.iterated(low, xs, node))
    tests = [truth(objects.truth_of(low, call(low, fn, (x,), node), node), low) for x in known]
    if None in tests:
        return written(low, text, fn, tuple(known))
    return tuple(x for x, test in zip(known, tests) if test == (text is iterators.filtered))


def _enumerate(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    xs = objects.iterated(low, args[0], node)
    start = args[1] if len(args) > 1 else kwargs.get("start", Const(0))
    if isinstance(xs, Generator):
        return written(low, iterators.counted, xs, start)
    return Iterable("enumerate", (xs, start))


def _zip(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    parts = [objects.iterated(low, a, node) for a in args]
    streams = [p for p in parts if isinstance(p, Generator)]
    if not streams:
        return Iterable("zip", tuple(parts))
    endless = [i for i, p in enumerate(parts) if isinstance(p, Generator) and _is_endless(p)]
    known = [items(low, p, node) for p in parts if not isinstance(p, Generator)]
    if endless and len(endless) == len(streams) and known and None not in known:
        count = min(len(k) for k in known if k is not None)
        return tuple(
            zip(*[_first_items(low, p, count, node) if isinstance(p, Generator) else items(low, p, node) for p in parts])
        )
    if len(parts) == 2 and len(streams) == 1:
        other = sequence(low, next(p for p in parts if not isinstance(p, Generator)), node)
        text = iterators.beside if isinstance(parts[0], Generator) else iterators.beside_first
        return written(low, text, *((streams[0], other) if isinstance(parts[0], Generator) else (other, streams[0])))
    if endless:
        raise low.refuse(
            KindError,
            "endless iterators are zipped with what has no known length",
            node,
            instead="use enumerate, or a range of that length.",
        )
    return Iterable("zip", tuple(generators.collected(low, p, node) for p in parts))


def _is_endless(generator: Generator) -> bool:
    return generator.fn in (read_function(iterators.counting).node, read_function(iterators.forever).node)


def _first_items(low: Lowering, generator: Generator, count: int, node: ast.AST) -> list[Value]:
    if generator.fn is read_function(iterators.counting).node:
        value, step = generator.args["start"], generator.args["step"]
        found = []
        for _ in range(count):
            found.append(value)
            value = expressions.binary(low, "Add", value, step, node)
        return found
    known = items(low, generator.args["xs"], node)
    if not known:
        raise low.refuse(KindError, "what is cycled through is not known when the function is compiled", node)
    return [known[i % len(known)] for i in range(count)]


def _sorted(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    key, reverse = kwargs.get("key"), kwargs.get("reverse", Const(False))
    is_reversed = truth(reverse, low)
    if is_reversed is None:
        raise low.refuse(KindError, "whether sorted() reverses is not known when the function is compiled", node)
    known = items(low, args[0], node)
    if known is None:
        return _sorted_array(low, args[0], key, is_reversed, node)
    has_key = key is not None and not (isinstance(key, Const) and key.value is None)
    keys = [call(low, key, (x,), node) for x in known] if has_key else known
    static = [_static_key(k) for k in keys]
    if _MISSING not in static:
        try:
            order = sorted(range(len(known)), key=lambda i: static[i], reverse=is_reversed)
        except TypeError as error:
            raise low.refuse(KindError, f"sorted(): {error}", node) from None
        return low.new_list(tuple(known[i] for i in order))
    if not all(is_atom(k) and is_scalar(kind_of(low.atom(k))) for k in keys):
        raise low.refuse(
            KindError,
            "sorted() compares values that are not numbers, in an order that only the run knows",
            node,
            instead="sort by a number: key=lambda item: …",
        )
    order = _order(low, builtin_calls.array(low, (low.new_list(tuple(keys)),), {}, node), is_reversed, node)
    return low.new_list(tuple(_permuted(low, known, order, node)))


_MISSING = object()


def _static_key(value: Value) -> Any:
    match value:
        case Const():
            return value.value
        case tuple():
            parts = tuple(_static_key(v) for v in value)
            return _MISSING if _MISSING in parts else parts
    return _MISSING


def _order(low: Lowering, keys: Value, is_reversed: bool, node: ast.AST) -> Value:
    """The stable order of an array of keys; reversed, equal ones stay in their order, as Python has it."""
    if is_reversed:
        keys = calls.call_numpy(low, np.negative, (keys,), {}, node)
    return calls.call_numpy(low, np.argsort, (keys,), {"kind": Const("stable")}, node)


def _permuted(low: Lowering, known: list[Value], order: Value, node: ast.AST) -> list[Value]:
    """Items in an order that only the run knows; tuples by their parts."""
    if all(isinstance(x, tuple) and len(x) == len(known[0]) for x in known):
        columns = [_permuted(low, [x[i] for x in known], order, node) for i in range(len(known[0]))]
        return list(zip(*columns))
    if not all(is_atom(x) and isinstance(kind_of(low.atom(x)), type(kind_of(low.atom(known[0])))) for x in known):
        raise low.refuse(
            KindError,
            "what is not numbers or arrays of one shape is sorted in an order that only the run knows",
            node,
            instead="sort indices: order = np.argsort(keys), and index arrays with it.",
        )
    stacked = builtin_calls.array(low, (low.new_list(tuple(known)),), {}, node)
    moved = expressions.subscript(low, stacked, order, node)
    return [expressions.subscript(low, moved, Const(i), node) for i in range(len(known))]


def _sorted_array(low: Lowering, xs: Value, key: Value | None, is_reversed: bool, node: ast.AST) -> Value:
    """sorted() of numbers of which only the run knows how many."""
    array = builtin_calls.array(low, (sequence(low, xs, node),), {}, node)
    kind = kind_of(array)
    if not (isinstance(kind, Array) and kind.dims is not None and len(kind.dims) == 1):
        raise low.refuse(KindError, "sorted() takes numbers where only the run knows how many there are", node)
    keys = array
    if key is not None and not (isinstance(key, Const) and key.value is None):
        made = builtin_calls.collected(low, written(low, iterators.mapped, key, array), node)
        keys = builtin_calls.array(low, (made,), {}, node)
    return expressions.subscript(low, array, _order(low, keys, is_reversed, node), node)


def extreme(low: Lowering, name: str, args: Args, kwargs: Kwargs, node: ast.AST) -> Value | None:
    """min() and max() with a key or a default; None where there is neither."""
    key, default = kwargs.get("key"), kwargs.get("default")
    if not kwargs:
        return None
    unknown = kwargs.keys() - {"key", "default"}
    if unknown:
        raise low.refuse(KindError, f"`{name}` takes no keyword `{unknown.pop()}`", node)
    known = list(args) if len(args) > 1 else items(low, args[0], node)
    if known is None:
        if key is None:
            return None if default is None else _extreme_or(low, name, args[0], default, node)
        known = expressions.pinned_items(low, objects.iterated(low, args[0], node))
    if known is None:
        raise low.refuse(
            KindError,
            f"`{name}` with a key is given values of which only the run knows how many there are",
            node,
            instead="use np.argmin or np.argmax of an array of keys.",
        )
    if not known:
        if default is None:
            raise low.refuse(KindError, f"{name}() of nothing", node)
        return default
    if key is None or isinstance(key, Const):
        return calls.call_value(low, Ref({"min": min, "max": max}[name], name), (tuple(known),), {}, node)
    best, best_key = known[0], call(low, key, (known[0],), node)
    for x in known[1:]:
        this = call(low, key, (x,), node)
        cond = expressions.binary(low, "Lt" if name == "min" else "Gt", this, best_key, node)
        best, best_key = expressions.chosen(low, cond, (x, this), (best, best_key), node)
    return best


def _extreme_or(low: Lowering, name: str, xs: Value, default: Value, node: ast.AST) -> Value:
    fn = Ref({"min": min, "max": max}[name], name)
    text = "fn(xs) if len(xs) > 0 else default"
    return builtin_calls.with_names(low, node, text, fn=fn, xs=sequence(low, xs, node), default=default, len=Ref(len, "len"))


def _divmod(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    a, b = args
    return expressions.binary(low, "FloorDiv", a, b, node), expressions.binary(low, "Mod", a, b, node)


def _pow(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    if len(args) > 2:
        raise low.refuse(NoRule, "no derivative rule for `pow` with three arguments", node)
    return expressions.binary(low, "Pow", args[0], args[1], node)


def _callable(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    match args[0]:
        case Ref(value):
            return Const(callable(value))
        case Closure() | Partial():
            return Const(True)
        case ObjectRef() | Instance() | Record():
            return Const(objects.method_of(args[0], "__call__") is not None)
    return Const(False)


def _type(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    cls = builtin_calls.type_of(low, args[0])
    if cls is None or len(args) > 1:
        raise low.refuse(KindError, "the class of this value is not known when the function is compiled", node)
    return Ref(cls, cls.__name__)


def _issubclass(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    cls, classes = args
    wanted = classes if isinstance(classes, tuple) else (classes,)
    if not all(isinstance(c, Ref) for c in (cls, *wanted)):
        raise low.refuse(KindError, "the class is not known when the function is compiled", node)
    return Const(issubclass(cls.value, tuple(c.value for c in wanted)))


class Iterator:
    """The class of what `iter()` gives of known items: a list that `next()` and loops take items from."""


def _iter(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    xs = objects.iterated(low, args[0], node)
    known = expressions.known_items(low, xs)
    if known is None or isinstance(xs, ListRef) and low.classes.get(xs) is Iterator:
        return xs
    made = low.new_list(tuple(known))
    low.classes[made] = Iterator
    return made


def taken(low: Lowering, value: Any, args: Args, node: ast.AST) -> Args:
    """The arguments of a call, iterators replaced by the items that they have left and that the call takes."""
    given = [a for a in args if isinstance(a, ListRef) and low.classes.get(a) is Iterator]
    if not given or value in (iter, next, isinstance, type, callable):
        return args
    if len(given) != len(set(given)):
        raise low.refuse(KindError, "one iterator is given twice", node, instead="take the items by their numbers: xs[::2].")
    left = {a: tuple(low.items(a) or ()) for a in given}
    for a in given:
        low.store[a] = ()
    return tuple(left.get(a, a) if isinstance(a, ListRef) else a for a in args)


def _next(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    """The first item, or the default; of a generator, which is then left where it is."""
    xs, *default = args
    if isinstance(xs, ListRef) and low.classes.get(xs) is Iterator:
        first, *rest = low.items(xs) or (_MISSING,)
        if first is not _MISSING:
            containers.put(low, xs, tuple(rest), node)
            return first
        if default:
            return default[0]
        raise low.refuse(KindError, "next() is asked of an iterator that is exhausted", node)
    if not isinstance(xs, Generator):
        raise low.refuse(
            KindError,
            "next() is given no iterator whose items are known, and no generator",
            node,
            instead="take the item by its number: xs[0].",
        )
    return builtin_calls.first(low, node, it=xs, default=default[0] if default else Const(UNBOUND))


# ---------------------------------------------------------------- functools


def _reduce(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    fn, xs, *initial = args
    known = items(low, xs, node)
    if known is None or len(known) > 64:
        if initial:
            return builtin_calls.accumulated(low, node, it=objects.iterated(low, xs, node), total=initial[0], add=fn)
        whole = sequence(low, xs, node)
        rest = expressions.subscript(low, whole, SliceOf(Const(1), Const(None), Const(None)), node)
        return builtin_calls.accumulated(low, node, it=rest, total=expressions.subscript(low, whole, Const(0), node), add=fn)
    rest = [*initial, *known]
    if not rest:
        raise low.refuse(KindError, "reduce() of nothing", node)
    total = rest[0]
    for x in rest[1:]:
        total = call(low, fn, (total, x), node)
    return total


def _partial(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    return Partial(args[0], args[1:], kwargs)


def _decorates_nothing(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    """`functools.wraps(f)`: a decorator that changes a function's name and documentation alone."""
    return Ref(_same, "wraps")


def _same(fn: Any) -> Any:
    return fn


def _first(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    return args[0]


def _cast(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    return args[1]


def _cached(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    """`functools.lru_cache`, with a function or with a size."""
    is_function = len(args) == 1 and not (isinstance(args[0], Const))
    return args[0] if is_function else Ref(_same, "cache")


# ---------------------------------------------------------------- itertools


def _accumulate(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    xs, fn = args[0], args[1] if len(args) > 1 else kwargs.get("func")
    initial = kwargs.get("initial")
    if fn is None or isinstance(fn, Const):
        fn = Ref(operator.add, "operator.add")
    has_initial = initial is not None and not (isinstance(initial, Const) and initial.value is None)
    known = items(low, xs, node)
    if known is None:
        if has_initial:
            return written(low, iterators.accumulated_from, objects.iterated(low, xs, node), fn, initial)
        return written(low, iterators.accumulated, sequence(low, xs, node), fn)
    rest = [initial, *known] if has_initial else known
    found: list[Value] = []
    for x in rest:
        found.append(call(low, fn, (found[-1], x), node) if found else x)
    return tuple(found)


def _chain(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    known = [items(low, a, node) for a in args]
    if None not in known:
        return tuple(x for part in known for x in part or ())
    return written(low, iterators.chained, tuple(objects.iterated(low, a, node) for a in args))


def _chain_of(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    parts = items(low, args[0], node)
    return written(low, iterators.chained, args[0]) if parts is None else _chain(low, tuple(parts), {}, node)


def _combined(fn: Callable[..., Any], of_two: Any = None) -> Any:
    """product, combinations, permutations: of what is known; or pairs of what only the run knows."""

    def handler(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
        size = args[1] if len(args) > 1 else kwargs.get("r")
        count = expressions.static_int(low, size) if size is not None else None
        known = items(low, args[0], node)
        if known is not None:
            return tuple(fn(known, count) if count is not None else fn(known))
        if count == 2 and of_two is not None:
            return written(low, of_two, sequence(low, args[0], node))
        raise low.refuse(
            KindError, f"itertools.{fn.__name__} of what only the run knows", node, instead="write the loops out, over indices."
        )

    return handler


def _product(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    repeat = expressions.static_int(low, kwargs.get("repeat", Const(1)))
    known = [items(low, a, node) for a in args]
    if None not in known and repeat is not None:
        return tuple(itertools.product(*[k for k in known if k is not None], repeat=repeat))
    parts = tuple(sequence(low, a, node) for a in args) * (repeat or 0)
    if len(parts) == 1:
        return Iterable("zip", parts)
    if len(parts) in (2, 3):
        return written(low, iterators.product_of_two if len(parts) == 2 else iterators.product_of_three, *parts)
    raise low.refuse(KindError, "itertools.product of what only the run knows", node, instead="write the loops out.")


def _pairwise(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    known = items(low, args[0], node)
    if known is not None:
        return tuple(itertools.pairwise(known))
    xs = sequence(low, args[0], node)
    rest = expressions.subscript(low, xs, SliceOf(Const(1), Const(None), Const(None)), node)
    return Iterable("zip", (xs, rest))


def _islice(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    xs, *bounds = args
    known = items(low, xs, node)
    start, stop, step = (Const(None), bounds[0], Const(None)) if len(bounds) == 1 else (*bounds, Const(None))[:3]
    if known is not None:
        numbers = [expressions.static_int(low, b) for b in (start, stop, step)]
        if not any(n is None and b != Const(None) for n, b in zip(numbers, (start, stop, step))):
            return tuple(itertools.islice(known, *numbers))
    if isinstance(xs, Generator) and start in (Const(None), Const(0)) and step in (Const(None), Const(1)):
        return written(low, iterators.first_of, xs, stop)
    return expressions.subscript(low, sequence(low, xs, node), SliceOf(*(low.atom(b) for b in (start, stop, step))), node)


def _repeat(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    times = args[1] if len(args) > 1 else kwargs.get("times")
    if times is None:
        return written(low, iterators.forever, (args[0],))
    count = expressions.static_int(low, times)
    return written(low, iterators.repeating, args[0], times) if count is None else (args[0],) * count


def _count(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    start = args[0] if args else kwargs.get("start", Const(0))
    return written(low, iterators.counting, start, args[1] if len(args) > 1 else kwargs.get("step", Const(1)))


def _cycle(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    return written(low, iterators.forever, sequence(low, args[0], node))


def _starmap(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    return written(low, iterators.mapped_over, args[0], objects.iterated(low, args[1], node))


def _of_two(text: Any) -> Any:
    def handler(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
        return written(low, text, args[0], objects.iterated(low, args[1], node))

    return handler


def _filterfalse(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    return _chosen(low, iterators.rejected, args[0], args[1], node)


def _zip_longest(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    known = [items(low, a, node) for a in args]
    if None in known:
        raise low.refuse(KindError, "itertools.zip_longest of what only the run knows", node, instead="use zip.")
    fill = kwargs.get("fillvalue", Const(None))
    return tuple(itertools.zip_longest(*[k for k in known if k is not None], fillvalue=fill))


# ---------------------------------------------------------------- operator


def _operator(symbol: str) -> Any:
    def handler(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
        return expressions.binary(low, symbol, args[0], args[1], node)

    return handler


def _unary(symbol: str) -> Any:
    def handler(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
        return expressions.lower_unary(low, symbol, args[0], node)

    return handler


def _contains(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    return expressions.binary(low, "In", args[1], args[0], node)


def _getitem(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    return expressions.subscript(low, args[0], args[1], node)


_GETTERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)


def getter(low: Lowering, value: Any, args: Args, kwargs: Kwargs, node: ast.AST) -> Value | None:
    """A call of an itemgetter, attrgetter or methodcaller that was made outside the function."""
    if not isinstance(value, _GETTERS):
        return None
    made = value.__reduce__()
    maker, given = made[0], made[1]
    named = maker.keywords if isinstance(maker, functools.partial) else {}
    cls = maker.func if isinstance(maker, functools.partial) else maker
    given = given if not isinstance(maker, functools.partial) else (*maker.args, *given)
    of = tuple(calls.constant(low, g, node) for g in given)
    return _get(low, cls, of, {k: calls.constant(low, v, node) for k, v in named.items()}, args[0], node)


def _get(low: Lowering, cls: Any, of: Args, named: Kwargs, owner: Value, node: ast.AST) -> Value:
    if cls is operator.methodcaller:
        method = expressions.attribute(low, owner, of[0].value, node)
        return calls.call_value(low, method, of[1:], named, node)
    found: list[Value] = []
    for key in of:
        value = owner
        if cls is operator.attrgetter:
            for name in key.value.split("."):
                value = expressions.attribute(low, value, name, node)
        else:
            value = expressions.subscript(low, value, key, node)
        found.append(value)
    return found[0] if len(found) == 1 else tuple(found)


def _make_getter(cls: Any) -> Any:
    def handler(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
        return Partial(Ref(cls, cls.__name__), (_Bound(args, kwargs),), {})

    return handler


class _Bound:
    """What an itemgetter, attrgetter or methodcaller of the function's was given."""

    def __init__(self, args: Args, kwargs: Kwargs) -> None:
        self.args, self.kwargs = args, kwargs


def call_getter(low: Lowering, fn: Value, args: Args, node: ast.AST) -> Value | None:
    """A call of an itemgetter, attrgetter or methodcaller that the function made."""
    if isinstance(fn, Partial) and fn.args and isinstance(fn.args[0], _Bound):
        return _get(low, fn.fn.value, fn.args[0].args, fn.args[0].kwargs, args[0], node)
    return None


# ---------------------------------------------------------------- copies


def _copy(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    return _copied(low, args[0], {}, node, is_deep=False)


def _deepcopy(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    return _copied(low, args[0], {}, node, is_deep=True)


def _copied(low: Lowering, value: Value, made: dict[Any, Value], node: ast.AST, *, is_deep: bool) -> Value:
    """A copy; a deep one copies what is inside, each object once."""

    def inner(v: Value) -> Value:
        return _copied(low, v, made, node, is_deep=True) if is_deep else v

    match value:
        case tuple():
            return tuple(inner(v) for v in value)
        case Record():
            return Record(value.cls, value.fields, tuple(inner(v) for v in value.values))
        case ListRef() | DictRef() | ObjectRef() | Instance():
            return made[value] if value in made else _copied_object(low, value, made, inner, node)
    if is_atom(value) and isinstance(kind_of(value), Array) and not is_scalar(kind_of(value)):
        return low.builder.apply(ops.ARRAY_COPY, (value,), kind=kind_of(value), hint="copy")
    return value


def _copied_object(low: Lowering, value: Any, made: dict[Any, Value], inner: Any, node: ast.AST) -> Value:
    if isinstance(value, (ObjectRef, Instance)):
        hook = next((n for n in ("__copy__", "__deepcopy__") if objects.method_of(value, n) is not None), None)
        if hook is not None:
            raise low.refuse(KindError, f"an object with a method `{hook}` is copied", node)
        new: Any = low.new_object(objects.class_of(value), ())
        made[value] = new
        low.store[new] = tuple((n, inner(v)) for n, v in objects.attributes_of(low, value).items())
        return new
    state = low.store[value]
    if isinstance(value, ListRef):
        new = made[value] = low.new_list(())
        if is_atom(state):
            copied = builtin_calls.collected(low, value, node)
            low.store[new] = low.store[copied]
        else:
            low.store[new] = tuple(inner(v) for v in state)
    else:
        new = made[value] = low.new_dict(())
        low.store[new] = tuple((k, inner(v)) for k, v in state)
    facts: tuple[dict[Any, Any], ...] = (low.classes, low.factories, low.limits)
    for known in facts:
        if value in known:
            known[new] = known[value]
    return new


def _fromiter(low: Lowering, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
    """np.fromiter(gen, float): the array of its items."""
    dtype = args[1] if len(args) > 1 else kwargs.get("dtype", Ref(float, "float"))
    return builtin_calls.array(low, (sequence(low, args[0], node),), {"dtype": dtype}, node)


_SYMBOLS = {
    operator.add: "Add", operator.sub: "Sub", operator.mul: "Mult", operator.truediv: "Div", operator.floordiv: "FloorDiv",
    operator.mod: "Mod", operator.pow: "Pow", operator.matmul: "MatMult", operator.and_: "BitAnd", operator.or_: "BitOr",
    operator.xor: "BitXor", operator.lshift: "LShift", operator.rshift: "RShift", operator.eq: "Eq", operator.ne: "NotEq",
    operator.lt: "Lt", operator.le: "LtE", operator.gt: "Gt", operator.ge: "GtE", operator.is_: "Is", operator.is_not: "IsNot",
}  # fmt: skip

HANDLERS: dict[Any, Any] = {
    iter: _iter,
    next: _next,
    map: _map,
    filter: _filter,
    enumerate: _enumerate,
    zip: _zip,
    sorted: _sorted,
    divmod: _divmod,
    pow: _pow,
    callable: _callable,
    type: _type,
    issubclass: _issubclass,
    functools.reduce: _reduce,
    functools.partial: _partial,
    functools.wraps: _decorates_nothing,
    functools.update_wrapper: _first,
    functools.lru_cache: _cached,
    functools.cache: _cached,
    _same: _first,
    typing.cast: _cast,
    itertools.accumulate: _accumulate,
    itertools.chain: _chain,
    itertools.chain.from_iterable: _chain_of,
    itertools.product: _product,
    itertools.combinations: _combined(itertools.combinations, iterators.pairs),
    itertools.combinations_with_replacement: _combined(itertools.combinations_with_replacement, iterators.pairs_or_twice),
    itertools.permutations: _combined(itertools.permutations, iterators.ordered_pairs),
    itertools.pairwise: _pairwise,
    itertools.islice: _islice,
    itertools.repeat: _repeat,
    itertools.count: _count,
    itertools.cycle: _cycle,
    itertools.starmap: _starmap,
    itertools.takewhile: _of_two(iterators.taken_while),
    itertools.dropwhile: _of_two(iterators.dropped_while),
    itertools.filterfalse: _filterfalse,
    itertools.zip_longest: _zip_longest,
    **{fn: _operator(symbol) for fn, symbol in _SYMBOLS.items()},
    operator.neg: _unary("USub"),
    operator.pos: _unary("UAdd"),
    operator.not_: _unary("Not"),
    operator.invert: _unary("Invert"),
    operator.contains: _contains,
    operator.getitem: _getitem,
    **{cls: _make_getter(cls) for cls in _GETTERS},
    copying.copy: _copy,
    copying.deepcopy: _deepcopy,
    np.fromiter: _fromiter,
}

STREAMING: frozenset[Any] = frozenset(
    [
        sum, map, filter, enumerate, zip, iter, next, functools.reduce, itertools.accumulate, itertools.chain,
        itertools.chain.from_iterable, itertools.islice, itertools.starmap, itertools.takewhile, itertools.dropwhile,
        itertools.filterfalse, typing.cast, functools.partial,
    ]
)  # fmt: skip
"""What reads a generator step by step, or hands it on; the others take a list of its items."""
