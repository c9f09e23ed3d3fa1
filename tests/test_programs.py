"""Small programs of the accepted subset, one habit of writing each: their gradients are right."""

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from srcdiff import grad
from tests.support.gradients import check_gradient

RNG = np.random.default_rng(0)
X = RNG.normal(size=3)
P = RNG.uniform(0.5, 2.0, size=3)
A = RNG.normal(size=(4, 3))
B = RNG.normal(size=(3, 3))
PROGRAMS = []


def at(*args, argnums=0):
    """Register the program with the arguments that it is checked at."""

    def register(f):
        PROGRAMS.append(pytest.param(f, args, argnums, id=f.__name__))
        return f

    return register


def test_every_program_has_its_name():
    assert len({p.id for p in PROGRAMS}) == len(PROGRAMS)


# ---------------------------------------------------------------- names


@at(X)
def swapped(x):
    a, b, c = x
    a, b = b, a
    return a * b * b + c


@at(X)
def starred(x):
    first, *rest = x
    return first * rest[0] + rest[1] ** 2


@at(X)
def nested_targets(x):
    pair = (x[0], (x[1], x[2]))
    a, (b, c) = pair
    return a * b * c + pair[1][0]


@at(X)
def two_names_of_one_value(x):
    a = b = 1.0
    for v in x:
        a, b = b, a + v * b
    return a * b


@at(1.3)
def annotated(x):
    y: float = x * x
    z: "float"
    z = y + 1
    return y * z


@at(X)
def rebound_argument(x):
    for i in range(3):
        if i == 1:
            x = x * x
            continue
        x = np.sin(x)
    return x.sum()


# ---------------------------------------------------------------- loops


@at(2.0, 3)
def number_to_a_power(x, n):
    y = 1.0
    for _ in range(n):
        y *= x
    return y + x**n


@at(A)
def rows_and_elements(A):
    total = 0.0
    for row in A:
        total += np.sqrt(np.sum(row**2) + 1)
        for v in row:
            total += v * v * v
    return total


@at(X)
def backwards(x):
    h = x
    for i in range(len(x) - 1, -1, -1):
        h = h * x[i] + i
    return h.sum()


@at(P, 0)
def no_trip(x, n):
    h = x
    hs = []
    for _ in range(n):
        h = h * x
        hs.append(h)
    return h.sum() + len(hs)


@at(2.0)
def while_with_else(x):
    n = 0
    while x < 100:
        x = x * x
        n += 1
        if n > 10:
            break
    else:
        x = x / 2
    return x


@at(1.3)
def breaks_in_two_loops(x):
    total = 0.0
    for i in range(5):
        for j in range(5):
            if i * j > 6:
                break
            if j == 3:
                continue
            total += x**i * j
        else:
            total += x
        if total > 200:
            break
    return total


@at(1.3)
def return_in_two_loops(x):
    for i in range(5):
        y = x * i
        while y > 0:
            y -= x / 2
            if i == 3 and y < 1:
                return y * x * x
    return x


@at(0.9)
def sum_over_pairs(c):
    total = 0.0
    for i in range(3):
        for j in range(i):
            total += c * (i + j + 1)
    return total


@at(np.arange(5.0) + 1, np.arange(3.0) + 1, 2.0, argnums=(0, 1, 2))
def zip_to_the_shortest(xs, ys, c):
    total = 0.0
    for i, (a, b) in enumerate(zip(xs, ys)):
        total += a * c + a * b * i
    return total


@at(X)
def neighbours(x):
    return sum(a * b for a, b in zip(x, x[1:]))


@at(P)
def carried_tuple(x):
    state = (x.sum(), 1.0)
    for _ in range(3):
        a, b = state
        state = (a * b, b + a * 0.1)
    return state[0]


@at(P)
def carried_dict(x):
    state = {"m": x * 0, "v": 0.0}
    for i in range(3):
        state = {"m": state["m"] * 0.9 + x * i, "v": state["v"] + (state["m"] ** 2).sum()}
    return state["v"] + state["m"].sum()


@at(P)
def number_that_becomes_an_array(x):
    total = 0.0
    for i in range(3):
        total = total + x * i
    return total.sum()


# ---------------------------------------------------------------- branches


@at(X)
def conditional_expression(x):
    return np.sum(x) if x[0] > 0 else np.sum(x**2)


@at(X)
def conditions(x):
    total = 0.0
    for v in x:
        if v > 0 and v < 1 or v < -1:
            total += v * v
        elif not v > 0:
            total -= v
        else:
            pass
        if -0.5 < v <= 0.5:
            total += v**3
    return total


@at(X)
def default_of_none(x, mask=None):
    if mask is None:
        mask = x * 2
    return (mask * x).sum()


@at(X)
def strings(x):
    total = 0.0
    for name in ("a", "b"):
        if name == "a":
            total += x[0]
        else:
            total += x[1] * x[2]
    return total


@at(X)
def branch_that_does_not_run(x):
    y = x.sum()
    if y > 1e9:
        return y * np.linalg.det(np.outer(x, x))
    return y


# ---------------------------------------------------------------- functions


def scaled(a, b=2.0, *others, k=1.0, **options):
    return a * b * k + sum(others) * options.get("z", 1.0) if others else a * b * k


@at(1.5)
def helper(x):
    return scaled(x) + scaled(x, x) + scaled(x, k=x)


def power(n):
    return lambda x: x**n


@at(1.5)
def closures(x):
    return sum(f(x) for f in [power(1), power(2), power(3)])


@at(1.5)
def lambdas(x):
    g = lambda a: a * x
    h = lambda a, f=g: f(a) * a
    return h(x) + g(2.0)


@at(1.5)
def cell_that_changes_later(x):
    y = 2.0

    def g(a):
        return a * y

    y = 3.0
    return g(x)


@at(1.1)
def composed(x):
    compose = lambda f, g: lambda v: f(g(v))
    return compose(math.sin, math.exp)(x)


# ---------------------------------------------------------------- containers


class Pair(NamedTuple):
    a: float
    b: np.ndarray

    def total(self):
        return self.a * self.b.sum()


@dataclass
class Line:
    w: np.ndarray
    scale: float = 2.0

    def at(self, x):
        return self.w @ x * self.scale


@at(Pair(2.0, X))
def named_tuple_made_anew(p):
    q = Pair(p.a * 2, b=p.b)
    return q.total() + p[0]


@at(Line(X), X, argnums=(0, 1))
def dataclass_made_anew(line, x):
    steeper = Line(line.w * 2, scale=line.scale)
    return steeper.at(x) + line.at(x)


@at({"a": X, "b": {"c": 2.0}})
def nested_dicts(p):
    q = {"z": p["a"] * p["b"]["c"], **p}
    return np.sum(q["z"]) + q["b"]["c"] ** 2


@at([1.0, 2.0, 3.0])
def lists(xs):
    ys = [v * v for v in xs if v > 1.5]
    ys.append(xs[0])
    return sum(ys) + max(xs) * min(xs) + len(ys)


@at(X)
def list_that_is_read_while_it_grows(x):
    hs = [x]
    while len(hs) < 4:
        hs.append(np.tanh(hs[-1] * x))
    return hs[-1].sum() + hs[2][0]


@at(X)
def comprehension_of_two_loops(x):
    return sum([a * b for a in x for b in x if a > b])


@at(1.2)
def list_of_lists(a):
    hs = [[a * i for i in range(3)] for _ in range(2)]
    return hs[0][1] * hs[1][2]


# ---------------------------------------------------------------- arrays and numbers


@at(X)
def negative_indices(x):
    return x[-1] * x[0] + x[-2:].sum() * x[::-1][0]


@at(A)
def new_axes(A):
    return np.sum(A[:, None, :] * A[None, :, 1, None] * A[..., 0][:, None, None])


@at(A)
def masks(A):
    return np.sum(A[A > 0] ** 2) + A[A.argmax(0), np.arange(3)].sum()


@at(X, [0, 2])
def list_of_indices(x, chosen):
    return x[chosen].sum() + sum(x[i] ** 2 for i in chosen)


@at(A, B, argnums=(0, 1))
def products(A, B):
    C = A @ B @ A.T
    return np.trace(C) + np.linalg.norm(C) + (A.T @ A).diagonal().prod()


@at(X)
def where_and_clip(x):
    return np.sum(np.where(x > 0, np.sqrt(np.abs(x)), x**2) * np.clip(x, -0.5, 0.5)) + np.where(x > 0, x, x**2).sum()


@at(X)
def accumulations(x):
    return np.cumsum(x * x)[1] * np.cumprod(x)[-1] + np.diff(x) @ np.diff(x)


@at(A)
def reductions(A):
    return (A.mean(axis=0) ** 2).sum() + A.var(axis=1).sum() + np.sum(A, axis=(0, 1)) ** 2 + np.prod(A, axis=1).sum()


@at(A)
def shapes(A):
    m, n = A.shape
    return A.sum() / (m * n) + A.reshape(m * n)[m] * A.size + A.ndim


@at(RNG.normal(size=(1, 3)), RNG.normal(size=(4, 1)), argnums=(0, 1))
def axes_of_one(a, b):
    return np.sum((a + b) * (a * b).mean(axis=0))


@at(np.array(1.5))
def array_without_axes(x):
    return x * x + np.sin(x)


@at(np.float32(1.5))
def single_precision(x):
    return x * 2.5 + math.pi * x * x


@at(X.astype(np.float32), 2)
def single_precision_with_counts(x, n):
    return np.mean(x) ** n + np.sum(x / n) + np.sum(x * np.arange(3))


@at(2.5)
def remainders(x):
    return x % 1.0 * (x // 1.0) + divmod(x, 0.7)[1] + x * round(x, 1) + x * int(x) + float(x) * abs(-x)


@at(1.2)
def mathematics(x):
    return math.exp(math.log(x)) + math.log(x, 2) + math.log(2.0, x) + math.erf(x) + math.gamma(x) + math.hypot(x, 2, 3)


@at(1.2)
def sums_of_the_math_module(x):
    return math.fsum([x, x * x]) + math.prod([x, x, 2.0]) + math.dist([x, 1.0], [2.0, x]) + math.frexp(x)[0]


@at(np.array([0.5, -1.2, 0.8]))
def lists_that_are_joined(x):
    above, below = [v * v for v in x if v > 0], [np.sin(v) for v in x if v < 0.6]
    total = 0.0
    for i, v in enumerate(above + below + [x[0] ** 3]):
        total += (i + 1) * v
    return total


@at(np.array([0.5, -1.2, 0.8]))
def list_that_grows_after_it_was_joined(x):
    kept = [v * v for v in x if v > 0]
    joined = kept + [x[0]]
    kept.append(x[1] * 3)
    total = 0.0
    for i, v in enumerate(joined):
        total += (i + 1) * v
    for i, v in enumerate(kept):
        total += (i + 1) * v * v
    return total


@at(np.array([[0.5, -1.2], [0.8, 0.3]]))
def sum_of_a_list_that_is_empty_when_it_runs(x):
    kept = []
    for row in x:
        if np.sum(row) > 5:
            kept.append(row * row)
    return np.sum(kept) + np.sum(np.sin(x))


@at(np.array([[0.5, -1.2], [0.8, 0.3]]))
def rows_that_are_joined(x):
    return np.sum(np.stack([x[0] * 3] + [row for row in x if row[0] > 0.6]) ** 2)


@at(X)
def constant(x):
    return 3.0


@pytest.mark.parametrize("f, args, argnums", PROGRAMS)
def test_gradient(f, args, argnums):
    check_gradient(f, *args, argnums=argnums)


# ---------------------------------------------------------------- what must not pass in silence


def test_a_name_that_is_not_bound_on_this_path():
    def f(x, c):
        if c > 0:
            y = x
        return y

    assert grad(f)(2.0, 1) == 1.0
    with pytest.raises((NameError, TypeError)):
        grad(f)(2.0, -1)


def test_what_cannot_work_raises_where_the_run_gets_there():
    def item(x, c):
        kept = []
        return x[0] * kept[0] if c > 0 else np.sum(x * x)

    def rows(x, c):
        kept = []
        return x[0] * np.sum(np.stack(kept)) if c > 0 else np.sum(x * x)

    def loop(x, c):
        y = np.sum(x * x)
        if c > 0:
            for v in x[0]:
                y = y * v
        return y

    for f in (item, rows, loop):
        assert np.array_equal(grad(f)(X, -1), 2 * X)
        for call in (f, grad(f)):
            with pytest.raises((IndexError, ValueError, TypeError)):
                call(X, 1)


def test_matrices_are_refused():
    """`*` of two of them is the matrix product, which the rules of arrays don't know."""
    with pytest.raises(TypeError, match="matrix"):
        grad(lambda x: np.sum(x * x))(np.asmatrix(B))


# ---------------------------------------------------------------- what a derivative depends on


def test_conditions_and_prototypes_are_constant():
    def f(x):
        return np.sum(np.where(x, x * x, 2.0) + np.full_like(x, 2.0) * np.select([x], [x]))

    assert grad(f)(X).tolist() == (2 * X + 2).tolist()


def test_a_defaultdict_stays_one():
    def f(d):
        return d["a"] * d["b"]

    bars = grad(f)(defaultdict(list, a=2.0, b=3.0))
    assert bars == {"a": 3.0, "b": 2.0} and isinstance(bars, defaultdict) and bars.default_factory is list
    assert grad(f)({"a": 2.0, "b": 3.0}).__class__ is dict


def test_the_determinant_of_singular_matrices():
    def f(a):
        return np.sum(np.linalg.det(a))

    cofactors = grad(f)(np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 3.0]]))
    np.testing.assert_allclose(cofactors, [[12, -6, 0], [-6, 3, 0], [0, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(grad(f)(np.zeros((3, 3))), np.zeros((3, 3)))
    check_gradient(f, np.stack([np.ones((2, 2)), np.eye(2)]))


LEAVES = True


def test_a_value_is_not_restored_past_a_trip_that_leaves_without_it() -> None:
    def f(c, x):  # type: ignore[no-untyped-def]
        before = c
        for q in x:
            if LEAVES:
                return before * q
            before = q
        return np.sum(x)

    check_gradient(f, -0.2, np.array([0.5, 1.5]), argnums=(0, 1))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_a_list_of_other_lengths_on_each_path(n):
    def loss(x, n):
        found = []
        if n <= 0:
            found.append(x)
        else:
            if n % 2 == 0:
                found.append(x * x)
            found.append(x * 3)
        found.append(x * x * x)
        return sum(found)

    check_gradient(loss, 0.5, n)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_value_of_one_arm_under_another_name(n):
    def inner(x, y, n, found):
        if n <= 0:
            found.append(x * 0.9 + x * x)
            return y + y, y + math.sin(1.1)
        v = math.sin(x)
        if n % 2 == 0:
            found.append(math.sin(math.sin(x)))
            v = math.tanh(y)
        else:
            found.append(math.tanh(x + v))
            v = y
        return math.tanh(x) + v, math.sin(x * y)

    def outer(x, y, n, found):
        if n <= 0:
            found.append(y)
            return x * x - y, math.tanh(y)
        v, u = inner(x * x, math.sin(x), n - 2, found)
        inner(math.tanh(u), u, n - 1, found)
        found.append((v + x) * math.sin(0.9))
        return y, x + x

    def loss(x, y, n):
        found = []
        a, b = outer(x, y, n, found)
        c = inner(y * 0.5, x * 1.0, 2, found)[1]
        return ((a + b) * 0.5 + c) * x + sum(found)

    check_gradient(loss, 0.9, 0.6, n, argnums=(0, 1))
