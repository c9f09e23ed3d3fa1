"""Generators that loops consume, and the functions of builtins, functools, itertools and operator that take functions."""

from __future__ import annotations

import copy
import functools
import itertools
import operator
import typing
from typing import TYPE_CHECKING

import numpy as np
import pytest

import srcdiff
from srcdiff import grad, pipeline
from tests.support.gradients import check_gradient

if TYPE_CHECKING:
    pass

rng = np.random.default_rng(3)
X = rng.normal(size=4)
A = rng.normal(size=(5, 3))
XS = [float(v) for v in rng.normal(size=12)]


def halves(x):
    while x > 0.3:
        yield x
        x = x / 2


def squares(xs):
    for x in xs:
        yield x * x


def ends(x):
    yield x
    yield 2.0 * x
    yield x * x


def walk(x, n):
    """A sequence with a state of its own."""
    v = np.zeros_like(x)
    for i in range(n):
        v = np.tanh(v + x * (i + 1))
        yield v
    yield v * 2.0


def until(xs, limit):
    total = 0.0
    for x in xs:
        total += x * x
        if total > limit:
            return
        yield total


def both(x):
    yield from ends(x)
    yield from squares([x, x + 1.0])


# ---------------------------------------------------------------- a user's generator in a loop


def test_generator_with_a_loop_of_unknown_length():
    def f(x):
        total = 0.0
        for h in halves(x):
            total += h * h
        return total

    check_gradient(f, 5.0)
    assert "yield" not in grad(f).source_for(5.0)


def test_generator_in_sum_list_and_tuple():
    def f(x, xs):
        return sum(squares(xs)) * x + sum(list(ends(x))) + tuple(both(x))[3] + max(ends(x))

    check_gradient(f, 1.5, XS, argnums=(0, 1))


def test_state_of_the_generator_and_of_the_loop():
    def f(x, n):
        scale = 1.0
        total = 0.0
        for v in walk(x, n):
            scale = scale * 0.9
            total += scale * np.sum(v * v)
        return total

    check_gradient(f, X, 4)


def test_continue_goes_on_after_the_yield():
    def f(x, n):
        total = 0.0
        for i, v in enumerate(walk(x, n)):
            if i % 2:
                continue
            total += np.sum(v)
        for v in counted_by_itself(x, n):
            if np.sum(v) > 100.0:
                continue
            total += np.sum(v)
        return total

    def counted_by_itself(x, n):
        i = 0
        while i < n:
            yield x * i
            i += 1

    check_gradient(f, X, 5)


def test_break_leaves_the_generator():
    def f(x, xs):
        total = x
        for v in squares(xs):
            if total > 3.0:
                break
            total += v
        for v in both(x):
            if v > 3.0:
                break
            total += v * x
        return total

    check_gradient(f, 0.5, XS, argnums=(0, 1))


def test_break_out_of_two_loops_of_the_generator():
    def grid(xs):
        for a in xs:
            for b in xs:
                yield a * b

    def f(xs):
        total = 0.0
        for v in grid(xs):
            total += v
            if total > 1.0:
                break
        return total * total

    check_gradient(f, XS)


def test_else_of_a_loop_over_a_generator():
    def f(x):
        total = 0.0
        for h in halves(x):
            total += h
            if total > 100.0:
                break
        else:
            total = total * x
        return total

    check_gradient(f, 5.0)


def test_return_from_a_loop_over_a_generator():
    def f(x):
        for h in halves(x):
            if h < 1.0:
                return h * h
        return x

    check_gradient(f, 5.0)
    check_gradient(f, 0.1)


def test_return_of_the_generator():
    def f(xs):
        total = 0.0
        for t in until(xs, 3.0):
            total += t
        return total

    check_gradient(f, XS)


def test_generators_nested():
    def f(x):
        return sum(v * w for v in ends(x) for w in halves(v))

    check_gradient(f, 2.0)


def test_generator_of_a_generator():
    def doubled(vs):
        for v in vs:
            yield 2.0 * v

    def f(x):
        return sum(doubled(squares(halves(x))))

    check_gradient(f, 5.0)


def test_generator_reads_what_is_around_it():
    def f(x, n):
        scale = x[0]

        def scaled():
            for i in range(n):
                yield scale * x[i]

        total = 0.0
        for v in scaled():
            total += v * v
        return total

    check_gradient(f, X, 3)


def test_generator_of_an_object():
    class Path:
        def __init__(self, xs):
            self.xs = xs

        def __iter__(self):
            for x in self.xs:
                yield x * x

    def f(xs):
        path = Path(xs)
        total = 0.0
        for p in path:
            total += p
        return total * sum(path) + max(path)

    check_gradient(f, XS)


def test_names_of_the_generator_are_its_own():
    def steps(x):
        total = x
        for i in range(3):
            total = total * 2.0
            yield total + i

    def f(x):
        total, i = 0.0, 7
        for v in steps(x):
            total += v * i
        return total * i

    check_gradient(f, 1.5)


def test_order_of_effects(capsys):
    def steps(x):
        for i in range(3):
            print("step", i)
            yield x * i

    def f(x):
        total = 0.0
        for v in steps(x):
            print("body")
            total += v
        return total

    assert grad(f)(2.0) == 3.0
    assert capsys.readouterr().out == "step 0\nbody\nstep 1\nbody\nstep 2\nbody\n"


# ---------------------------------------------------------------- generator expressions


def test_generator_expression_with_a_name():
    def f(xs, x):
        parts = (v * x for v in xs)
        x = x * 2.0
        return sum(parts) + x

    check_gradient(f, XS, 1.5, argnums=(0, 1))


def test_generator_expression_handed_to_a_function():
    def total_of(parts):
        total = 0.0
        for p in parts:
            total += p
        return total

    def f(xs, x):
        return total_of(v * x for v in xs if v > 0.0) + total_of(ends(x))

    check_gradient(f, XS, 1.5, argnums=(0, 1))


def test_generator_expressions_in_builtins():
    def f(xs, x):
        best = max(v * x for v in xs) + min((v for v in xs), default=3.0)
        some = any(v > 0.5 for v in xs)
        every = all(v > -100.0 for v in xs)
        d = dict((k, v * x) for k, v in zip("ab", (x, 2.0)))
        return best + (x if some and every else 0.0) + d["a"] * d["b"] + np.fromiter((v * v for v in xs), float).sum()

    check_gradient(f, XS, 1.5, argnums=(0, 1))


def test_a_generator_gives_its_items_once():
    def twice(x):
        parts = (v * x for v in range(3))
        return sum(parts) + sum(parts)

    def in_a_loop(x, n):
        parts = ends(x)
        total = 0.0
        for _ in range(n):
            total += sum(parts)
        return total

    with pytest.raises(srcdiff.SyntaxNotAccepted, match="is consumed twice"):
        grad(twice)(2.0)
    with pytest.raises(srcdiff.SyntaxNotAccepted, match="is consumed in each trip of a loop"):
        grad(in_a_loop)(2.0, 3)


def test_generators_that_cannot_be_put_in_place():
    def receiving(x):
        y = yield x
        yield y

    def sends(x):
        return sum(receiving(x))

    def yields(x):
        yield x

    with pytest.raises(srcdiff.SyntaxNotAccepted, match="a value that is sent into a generator is not accepted"):
        grad(sends)(2.0)
    with pytest.raises(srcdiff.SyntaxNotAccepted, match="a generator function is not accepted"):
        grad(yields)(2.0)


# ---------------------------------------------------------------- map, filter, zip, sorted, min, max


def test_map_and_filter():
    def f(xs, x):
        a = sum(map(lambda v: v * x, xs))
        b = sum(map(operator.mul, xs, xs))
        c = sum(filter(lambda v: v > 0.0, xs))
        d = list(map(np.sin, [x, 2.0 * x]))
        return a + b + c * d[1] + sum(filter(None, [0, 2, 3])) * x

    check_gradient(f, XS, 1.5, argnums=(0, 1))


def test_zip_of_generators():
    def f(xs, x):
        total = 0.0
        for v, w in zip(squares(xs), xs):
            total += v * w
        for i, v in enumerate(squares(xs), 1):
            total += v * i
        for a, b in zip(ends(x), squares([1.0, x, 2.0]), strict=True):
            total += a * b
        return total

    check_gradient(f, XS, 1.5, argnums=(0, 1))


def test_sorted_by_what_is_known():
    def f(x, y):
        names = sorted({"b": 1, "a": 2})
        parts = sorted([("w", x), ("b", y)], key=lambda p: p[0], reverse=True)
        return parts[0][1] * 2.0 + len(names[0]) * parts[1][1]

    check_gradient(f, 1.5, 2.5, argnums=(0, 1))


def test_sorted_by_data():
    def f(x, y, z):
        a, b, c = sorted([x, y, z])
        d, e, _ = sorted([x, y, z], key=lambda v: -v * v, reverse=True)
        pairs = sorted([(x, x * 2.0), (y, y * 3.0), (z, z * 5.0)], key=lambda p: p[0])
        return a + 2.0 * b + 3.0 * c * d * e + pairs[0][1] * pairs[2][1]

    check_gradient(f, 1.5, -0.5, 0.25, argnums=(0, 1, 2))


def test_sorted_of_unknown_length():
    def f(xs):
        s = sorted(xs)
        t = sorted(xs, key=lambda v: abs(v), reverse=True)
        return s[0] * 2.0 + s[-1] + sum(v * i for i, v in enumerate(s)) + t[0] * t[1]

    check_gradient(f, XS)


def test_sorted_is_stable():
    def f(a, b, c):
        s = sorted([(1.0, a), (0.0, b), (1.0, c)], key=lambda p: p[0] * 1.0, reverse=True)
        t = sorted([(a, 1.0), (b, 2.0), (c, 4.0)], key=lambda p: p[0] * 0.0, reverse=True)
        return s[0][1] + 2.0 * s[1][1] + 4.0 * s[2][1] + t[0][0] * t[0][1]

    check_gradient(f, 1.0, 2.0, 3.0, argnums=(0, 1, 2))


def test_min_and_max_with_a_key():
    def f(x, y):
        farthest = max([x, y, x * y], key=lambda v: abs(v - 1.0))
        name, value = min([("a", x), ("a", y)], key=lambda p: p[1])
        return farthest * value + max([], default=x) + min(x, y, key=lambda v: -v)

    check_gradient(f, 0.5, -2.5, argnums=(0, 1))


def test_small_builtins():
    def f(x, xs):
        q, r = divmod(x, 0.7)
        p = pow(x, 3)
        back = list(reversed([x, 2.0, x * x]))
        known = callable(f) and isinstance(x, float) and type(xs) is list and issubclass(int, object)
        return q + r + p + back[0] + (x if known else 0.0)

    check_gradient(f, 1.5, XS)


# ---------------------------------------------------------------- functools


def scale(a, b, *, c=1.0, d=0.0):
    return a * b * c + d


TABLE = np.array([1.0, 2.0, 3.0])
half = functools.partial(scale, 0.5)
half_twice = functools.partial(half, c=2.0)
by_array = functools.partial(np.dot, TABLE)
with_list = functools.partial(lambda ws, x: ws[0]["k"] * x + ws[1], [{"k": 2.0}, TABLE[1]])


def test_partials():
    fn = functools.partial(scale, 3.0, d=1.0)

    def f(x):
        own = functools.partial(scale, x)
        named = functools.partial(own, c=x)
        return half(x) + half_twice(x, d=x) + own(2.0) + named(3.0) + by_array(TABLE * x) + with_list(x) + fn(x)

    check_gradient(f, 1.5)


def test_a_partial_that_is_passed_compiles_once(monkeypatch):
    compiled = []
    compile_variant = pipeline.compile_variant
    monkeypatch.setattr(pipeline, "compile_variant", lambda *args: compiled.append(args) or compile_variant(*args))

    def f(x, fn):
        return fn(x)

    gradient = grad(f)
    assert [gradient(2.0, functools.partial(scale, k)) for k in (3.0, 4.0)] == [3.0, 4.0]
    assert gradient(2.0, Scaler(3.0).scale) == 3.0
    assert gradient(2.0, Scaler(4.0).scale) == 4.0
    assert len(compiled) == 2
    assert gradient(np.array(2.0), np.sin) == pytest.approx(np.cos(2.0))


class Scaler:
    def __init__(self, k):
        self.k = k

    def scale(self, x):
        return self.k * x


def twice(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        return 2.0 * fn(*args, **kwargs)

    return wrapper


def times(k):
    def decorate(fn):
        def wrapper(x):
            return k * fn(x)

        return wrapper

    return decorate


@twice
def decorated(x):
    """The wrapper counts."""
    return x * x


@functools.lru_cache
def cached(n):
    return n * 2.0


@times(3.0)
@twice
def decorated_more(x):
    return x * x * x


def test_decorated_functions():
    def f(x):
        @twice
        def inner(v):
            return v * x

        @times(x)
        @times(2.0)
        def more(v):
            return v + 1.0

        return decorated(x) + decorated_more(x) + inner(x) + more(x) + cached(3) * x

    check_gradient(f, 1.5)
    check_gradient(decorated, 1.5)


def test_reduce():
    def f(x, xs):
        a = functools.reduce(lambda p, q: p * x + q, [1.0, x, 2.0])
        b = functools.reduce(operator.add, xs, x)
        c = functools.reduce(lambda p, q: p + q * q, xs)
        return a + b + c

    check_gradient(f, 1.5, XS, argnums=(0, 1))


# ---------------------------------------------------------------- itertools and operator


def test_itertools_of_what_is_known():
    def f(x, y):
        vs = [x, y, x * y]
        total = sum(a * b for a, b in itertools.combinations(vs, 2))
        total += sum(a - 2.0 * b for a, b in itertools.permutations(vs, 2))
        total += sum(a * b for a, b in itertools.product(vs, (1.0, 2.0)))
        total += sum(a * b for a, b in itertools.pairwise(vs))
        total += sum(itertools.chain(vs, [1.0], (x,))) + sum(itertools.chain.from_iterable([[x], [y, y]]))
        total += sum(a * k for k, a in enumerate(itertools.accumulate(vs, lambda p, q: p * q)))
        total += sum(itertools.islice(vs, 1, None)) + sum(a * b for a, b in zip(vs, itertools.count(1)))
        total += sum(a * b for a, b in zip(vs, itertools.cycle([1.0, -1.0]))) + sum(itertools.repeat(x, 3))
        total += sum(itertools.starmap(lambda a, b: a * b, [(x, y), (y, 2.0)]))
        total += sum(a * (b or 1.0) for a, b in itertools.zip_longest(vs, [2.0]))
        return total + sum(a * b for a, b in itertools.combinations_with_replacement(vs, 2))

    check_gradient(f, 1.5, -0.5, argnums=(0, 1))


def test_itertools_of_what_the_run_knows():
    def f(rows, xs):
        total = 0.0
        for a, b in itertools.combinations(rows, 2):
            total += np.sum((a - b) ** 2)
        for a, b in itertools.pairwise(rows):
            total += a @ b
        for a, b in itertools.product(xs, xs):
            total += a * b
        for t in itertools.accumulate(xs):
            total += t * t
        for v in itertools.chain(xs, (w * w for w in xs)):
            total += v
        for v in itertools.islice(squares(xs), 3):
            total += v
        for v in itertools.takewhile(lambda t: t < 0.7, xs):
            total += v
        for v in itertools.dropwhile(lambda t: t < 0.2, xs):
            total += 2.0 * v
        for i in itertools.count():
            if i >= len(xs):
                break
            total += xs[i] * i
        return total

    check_gradient(f, A, XS, argnums=(0, 1))


def test_operator():
    def f(x, y, m):
        first, both = operator.itemgetter(0), operator.itemgetter(1, 2)
        vs = [x, y, x * y]
        b, c = both(vs)
        scaler = Scaler(x)
        total = operator.add(x, y) + operator.mul(x, 2.0) + operator.neg(y) + operator.truediv(x, 3.0) + first(vs) * b * c
        total += operator.attrgetter("k")(scaler) * operator.methodcaller("scale", y)(scaler)
        total += np.sum(operator.matmul(m, m)) * GETTER([x, y]) + operator.getitem(vs, 2)
        return total if operator.gt(x, 0.0) and operator.contains([1, 2], 2) else x

    check_gradient(f, 1.5, -0.5, np.eye(2), argnums=(0, 1))


GETTER = operator.itemgetter(-1)


# ---------------------------------------------------------------- calls with stars, closures, copies


def test_stars():
    def rest(a, *more, k=2.0, **named):
        return a * sum(more) * k + sum(named.values()) * len(more)

    def f(x, y):
        args, named = (x, y), {"k": y, "z": x}
        return rest(*args, x, **named) + rest(y, *[x, x], w=y) + rest(*(v for v in args), k=1.0)

    check_gradient(f, 1.5, -0.5, argnums=(0, 1))


def test_functions_that_return_functions():
    def adder(k):
        def add(x):
            return x + k

        return add

    def compose(*fns):
        return lambda x: functools.reduce(lambda v, g: g(v), fns, x)

    def f(x):
        k = x
        late = lambda v: v * k  # noqa: E731
        k = 3.0 * x
        return compose(adder(x), np.sin, late)(x)

    check_gradient(f, 1.5)


def test_copies():
    def f(x, p, xs):
        held = {"v": [x, x * 2.0], "p": p}
        shallow, deep = copy.copy(held), copy.deepcopy(held)
        held["v"].append(x)
        held["p"].k = 5.0
        ys = copy.copy(xs)
        ys.append(x[0])
        z = copy.deepcopy(x)
        z[0] = 0.0
        same = typing.cast("np.ndarray", z)
        return len(shallow["v"]) * len(deep["v"]) * np.sum(x * deep["p"].k * shallow["p"].k) + sum(ys) + np.sum(same)

    check_gradient(f, X, Scaler(2.0), XS)


def test_imports_and_type_checking():
    def f(x):
        """Documented."""
        import math

        if TYPE_CHECKING:
            pass
        return math.sin(x)

    check_gradient(f, 0.5)


def test_iter_and_next():
    def f(x, xs):
        steps = iter([x, x * x, 3.0, x])
        first = next(steps)
        second = next(steps)
        rest = sum(steps)
        gone = sum(steps) + next(steps, 0.5)
        large = next((v for v in xs if v > 0.5), x)
        none = next((v for v in xs if v > 100.0), x)
        for v in (left := iter((x, 2.0))):
            first = first * v
        return first * second + rest * gone + large * none + len(list(left))

    check_gradient(f, 1.5, XS)


def test_one_iterator_twice():
    def f(x):
        steps = iter([x, x * x])
        return sum(a * b for a, b in zip(steps, steps))

    with pytest.raises(srcdiff.KindError, match="one iterator is given twice"):
        grad(f)(1.0)


# ---------------------------------------------------------------- how far a generator runs


class Meter:
    def __init__(self, b):
        self.b = b


def metered(x, xs, meter):
    s = x * 0.5
    for w in xs:
        for _ in range(2):
            if s > 0.9:
                return
            s = s * 0.8 + meter.b * 0.2
        yield s + w
        meter.b = meter.b + s * 0.1
    yield s


def test_islice_runs_a_generator_no_further_than_its_last_item():
    def f(x, xs):
        meter = Meter(x)
        return max(itertools.islice(metered(x, xs, meter), 3)) + meter.b

    check_gradient(f, 0.37, XS)


def test_a_return_within_loops_leaves_its_own_generator_alone():
    def f(x, xs):
        meter = Meter(3.0 * x)
        total = 0.0
        for v in itertools.chain(metered(x, xs, meter), xs):
            total += v * meter.b
        return total

    check_gradient(f, 0.37, XS)


def test_a_break_skips_the_else_of_the_loop():
    def f(x, xs):
        total = x
        for v in itertools.accumulate(xs):
            total += v
            if total > 1.0:
                break
        else:
            total = total * 100.0
        for v in (w * x for w in xs):
            total += v
            if total > 1000.0:
                break
        else:
            total = total * 3.0
        return total

    check_gradient(f, 0.37, XS)


def test_a_generator_expression_within_a_generator():
    def scaled(xs, k):
        for i in range(2):
            yield from (v * k + i for v in xs)

    def f(x, xs):
        return sum(sum(w * v for w in scaled(xs, x)) for v in scaled(xs[:2], 2.0))

    check_gradient(f, 0.37, XS)
