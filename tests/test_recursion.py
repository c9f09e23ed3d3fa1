"""Functions that call themselves, and each other: forward and reverse functions, each emitted once."""

import copy
import importlib.util
import math
from dataclasses import dataclass

import numpy as np
import pytest

from srcdiff import SrcdiffError, grad, value_and_grad, vjp
from tests.support.gradients import check_gradient

RNG = np.random.default_rng(0)
X = RNG.uniform(0.5, 1.5, size=5)
W = RNG.normal(size=(3, 3)) / 3
CASES = []


def at(*args, argnums=0):
    """Register the function with the arguments that it is checked at."""

    def register(f):
        CASES.append(pytest.param(f, args, argnums, id=f.__name__))
        return f

    return register


# ---------------------------------------------------------------- one call in itself


@at(1.3, 11)
@at(1.3, 0)
def power(x, n):
    if n == 0:
        return 1.0
    half = power(x, n // 2)
    if n % 2:
        return half * half * x
    return half * half


@at(1.3, 11)
def power_and_more(x, n):
    return power(x, n) + 3 * x


@at(1.3)
def power_of_a_constant(x):
    return power(x, 5) * power(x * x, 2)


@at(0.7, 4)
def factorial_like(x, n):
    return 1.0 if n == 0 else (x + n) * factorial_like(x, n - 1)


@at(0.7, 4, 2.0, argnums=(0, 2))
def accumulated(x, n, total):
    if n == 0:
        return total
    return accumulated(x, n - 1, total * x + n)


def product_of(x, n, total=1):
    if n == 0:
        return total
    return product_of(x, n - 1, total * x)


@at(0.7, 3)
def from_an_integer(x, n):
    return product_of(x, n) + product_of(2 * x, n + 1, 0.5)


@at(0.9)
def until_small(x):
    if x < 0.3:
        return x * x
    return math.sin(until_small(x * 0.6)) + x


# ---------------------------------------------------------------- several calls


@at(0.6, 7)
def fibonacci(x, n):
    return x if n < 2 else fibonacci(x, n - 1) + fibonacci(x * x, n - 2)


@at(0.6, 3)
def even_steps(x, n):
    if n == 0:
        return x
    return math.sin(odd_steps(x, n - 1))


def odd_steps(x, n):
    if n == 0:
        return x
    return even_steps(x, n - 1) * x


@at(0.3, 2, 2)
def ackermann_like(x, m, n):
    if m == 0:
        return x * (n + 1)
    if n == 0:
        return ackermann_like(x * x, m - 1, 1)
    return ackermann_like(0.5 * ackermann_like(x, m, n - 1), m - 1, 1)


@at(0.4, 3)
def in_a_branch_each(x, n):
    if n <= 0:
        return x
    if x > 0.3:
        y = in_a_branch_each(x * 0.7, n - 1) * x
    else:
        y = in_a_branch_each(x + 0.4, n - 2) + x * x
    return y * x


@at(0.4, 2)
def in_a_loop(x, n):
    if n == 0:
        return x
    total = 0.0
    for i in range(n + 1):
        total = total + in_a_loop(x * (i + 1), n - 1) * x
    return total


@at(0.4, 3)
def around_a_loop(x, n):
    if n == 0:
        return x
    y = x
    for _ in range(n):
        y = math.sin(y) * x
    return around_a_loop(y, n - 1) + y


@at(0.4)
def called_in_a_loop(x):
    total = 0.0
    for i in range(4):
        total = total * x + power(x + total, i)
    return total


@at(0.5, 4)
def two_results_used(x, n):
    a, b = rotated(x, 2 * x, n)
    return a * b + a


def rotated(a, b, n):
    if n == 0:
        return a, b
    c, d = rotated(a * 0.9 - b * 0.1, a * b, n - 1)
    return d, c + a


@at(0.5, 4)
def one_result_used(x, n):
    return rotated(x, 2 * x, n)[0]


@at(0.5, 4)
def argument_that_is_not_active(x, n):
    def scaled(y, s, m):
        return y if m == 0 else s * scaled(y * y, s + 1.0, m - 1)

    return scaled(x, 2.0, n) + scaled(0.3, 1.0, n)


@at(0.5, 3)
def same_argument_twice(x, n):
    return mixed(x, x, n)


def mixed(a, b, n):
    return a * b if n == 0 else mixed(a * b, b, n - 1) + a


# ---------------------------------------------------------------- nested functions, methods


@at(0.5, 3)
def nested(x, n):
    y = x * x

    def inner(m):
        return y if m == 0 else inner(m - 1) * x

    return inner(n) + inner(n - 1)


@at(0.5, 3)
def nested_while_names_change(x, n):
    y = x * x

    def inner(m):
        return y if m == 0 else inner(m - 1) * x

    first = inner(n)
    y = first * 2.0
    return first + inner(n)


@at(0.5, 3)
def nested_pair(x, n):
    w = 2 * x

    def left(y, m):
        return y * w if m == 0 else right(y + w, m - 1)

    def right(y, m):
        return y + w if m == 0 else left(y * x, m - 1)

    return left(x, n)


@at(0.5, 3)
def nested_in_recursion(x, n):
    def inner(m):
        return x if m == 0 else inner(m - 1) * x

    return inner(2) if n == 0 else nested_in_recursion(inner(n) + 0.1, n - 1)


@at(0.5, 3)
def function_as_argument(x, n):
    return repeated(lambda y: math.sin(y) * x, x, n)


def repeated(f, y, n):
    return y if n == 0 else f(repeated(f, y, n - 1))


class Machine:
    def __init__(self, rate):
        self.rate = rate

    def run(self, x, n):
        return x if n == 0 else self.run(x * self.rate, n - 1) + x


MACHINE = Machine(0.7)


@at(0.5, 3)
def method(x, n):
    return MACHINE.run(x, n)


# ---------------------------------------------------------------- arrays


@at(X)
def divided(x):
    n = len(x)
    if n == 1:
        return np.sin(x[0])
    return divided(x[: n // 2]) * divided(x[n // 2 :])


@at(X, 3)
def whole_arrays(x, n):
    return np.sum(stepped(x, n) * x)


def stepped(x, n):
    if n == 0:
        return x
    return np.tanh(stepped(x * 0.9, n - 1)) + x


@at(W, X[:3], 3, argnums=(0, 1))
def layers_of_one(W, x, n):
    def forward(h, m):
        if m == 0:
            return h
        return np.tanh(W @ forward(h, m - 1))

    return np.sum(forward(x, n) ** 2)


@at(W.astype(np.float32), X[:3].astype(np.float32), 2, argnums=(0, 1))
def single_precision(W, x, n):
    return np.sum(half_steps(W, x, n))


def half_steps(W, h, n):
    return h if n == 0 else half_steps(W, np.tanh(W @ h) * 0.5, n - 1)


@at(X)
def sums_of_halves(x):
    return halves(x * x) + np.sum(x)


def halves(x):
    if len(x) <= 2:
        return np.sum(x * x)
    m = len(x) // 2
    left, right = halves(x[:m]), halves(x[m:])
    return left * right + np.max(x)


# ---------------------------------------------------------------- structures


TREE = ((1.0, 2.0), (3.0, (0.5, 0.25)))


@at(TREE)
def tree_sum(tree):
    if isinstance(tree, tuple):
        return tree_sum(tree[0]) * tree_sum(tree[1]) + 1.0
    return tree * tree


@at({"a": X, "b": [X[:2], {"c": X[1:]}]})
def total_of(tree):
    if isinstance(tree, dict):
        return sum([total_of(v) for v in tree.values()])
    if isinstance(tree, list):
        return sum([total_of(v) for v in tree])
    return np.sum(tree * tree)


@dataclass
class Pair:
    left: float
    right: float


@at(Pair(0.5, 0.7), 3)
def record_along(p, n):
    return spun(p, n).left


def spun(p, n):
    if n == 0:
        return p
    return spun(Pair(p.right * p.left, p.left + 0.5), n - 1)


@at((0.5, 0.7), 3)
def tuple_along(p, n):
    if n == 0:
        return p[0] * p[1]
    a, b = p
    return tuple_along((b, a * b), n - 1)


@at([W, W[:2], W[:, :2][:2]], X[:3], argnums=(0, 1))
def layers_by_index(layers, x):
    def forward(h, i):
        if i == 2:
            return np.sum(h * h)
        return forward(np.tanh(layers[i] @ h), i + 1)

    return forward(x, 0)


@at([W, W[:2]], X[:3], argnums=(0, 1))
def layers_one_less(layers, x):
    if not layers:
        return np.sum(x * x)
    return layers_one_less(layers[1:], np.tanh(layers[0] @ x))


# ---------------------------------------------------------------- lists, names and arrays that change


def walked(x, n, found):
    if n == 0:
        return
    found.append(x**n)
    walked(x, n - 1, found)


@at(0.5, 3)
def list_appended_along(x, n):
    found = [x]
    walked(x, n, found)
    return sum(found) * found[0]


def longer(x, n, found):
    return found if n == 0 else longer(x * x, n - 1, found + [x])  # noqa: RUF005


@at(0.5, 3)
def list_longer_along(x, n):
    return sum(longer(x, n, []))


def listed(x, n):
    if n == 0:
        return [x]
    return listed(x * 0.5, n - 1) + [x * x]


@at(0.5, 3)
def list_returned(x, n):
    return sum(listed(x, n)) * x


@at(0.5, 2)
def list_of_the_function_around(x, n):
    out = []

    def visit(y, m):
        out.append(y)
        if m > 0:
            visit(y * x, m - 1)
            visit(y + x, m - 1)

    visit(x, n)
    return sum(out)


@at(0.5, 3)
def nonlocal_name(x, n):
    total = 0.0

    def visit(y, m):
        nonlocal total
        total += y * y
        if m > 0:
            visit(y * x, m - 1)

    visit(x, n)
    return total


@at(X, 3)
def array_written_along(x, n):
    y = x.copy()
    filled(y, n)
    return np.sum(y * y)


def filled(y, n):
    if n > 0:
        y[n - 1] = y[n - 1] * y[n]
        filled(y, n - 1)


@at(X)
def views_written_along(x):
    y = x * 1.0
    halved(y)
    return y[0] * y[1] + np.sum(y * y)


def halved(y):
    n = len(y)
    if n > 1:
        y[0] = y[0] * y[n - 1]
        halved(y[: n // 2])
        halved(y[n // 2 :])


@at(X)
def result_written_to(x):
    y = doubled(x, 2)
    y[0] = y[1] * 2
    return np.sum(y * y * x)


def doubled(x, n):
    return x * 2 if n == 0 else doubled(x, n - 1) * x


def test_result_that_may_be_the_argument_is_not_written_to():
    def same(x, n):
        return x if n == 0 else same(x, n - 1)

    def loss(x):
        y = same(x, 2)
        y[0] = 3.0
        return np.sum(y * x)

    with pytest.raises(SrcdiffError, match="may share memory"):
        grad(loss)(X)


# ---------------------------------------------------------------- as people write them


@at(np.arange(1.0, 9.0))
def fourier_like(x):
    def transform(x):
        if len(x) == 1:
            return x
        even, odd = transform(x[::2]), transform(x[1::2])
        return np.concatenate([even + 0.3 * odd, even - 0.2 * odd])

    y = transform(x)
    return np.sum(y * y)


@at(0.5, 0.0, 2.0)
def adaptive_simpson(x, a, b):
    def f(t):
        return math.exp(-x * t * t)

    def simpson(a, b):
        return (b - a) / 6 * (f(a) + 4 * f((a + b) / 2) + f(b))

    def adapt(a, b, whole, depth):
        m = (a + b) / 2
        left, right = simpson(a, m), simpson(m, b)
        if depth == 0 or abs(left + right - whole) < 1e-4:
            return left + right
        return adapt(a, m, left, depth - 1) + adapt(m, b, right, depth - 1)

    return adapt(a, b, simpson(a, b), 6)


@at(W)
def determinant(A):
    n = len(A)
    if n == 1:
        return A[0, 0]
    total = 0.0
    for j in range(n):
        total += (-1) ** j * A[0, j] * determinant(np.delete(A[1:], j, axis=1))
    return total


@at(X, 0.7, argnums=(0, 1))
def horner(c, x):
    return c[0] if len(c) == 1 else c[0] + x * horner(c[1:], x)


@at(0.5)
def hanoi_like(x):
    def moved(x, n, a, b, c):
        return x * a if n == 0 else moved(x, n - 1, a, c, b) * b + moved(x * c, n - 1, c, b, a)

    return moved(x, 3, 1.0, 2.0, 3.0)


def merge_sorted(x):
    if len(x) <= 1:
        return x
    a, b = merge_sorted(x[: len(x) // 2]), merge_sorted(x[len(x) // 2 :])
    out = []
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] < b[j]:
            out.append(a[i])
            i += 1
        else:
            out.append(b[j])
            j += 1
    while i < len(a):
        out.append(a[i])
        i += 1
    while j < len(b):
        out.append(b[j])
        j += 1
    return np.array(out)


@at(X[::-1] + np.arange(5.0))
def sorted_by_merging(x):
    return np.sum(merge_sorted(x) * np.arange(5.0))


class Node:
    def __init__(self, value, left, right):
        self.value, self.left, self.right = value, left, right


def grown(x, n):
    return None if n == 0 else Node(x, grown(x * 0.5, n - 1), grown(x + 0.1, n - 1))


def summed(node):
    if node is None:
        return 0.0
    return node.value**2 + summed(node.left) + summed(node.right)


@at(0.5)
def tree_of_objects(x):
    return summed(grown(x, 3))


def test_each_is_emitted_once():
    gradient = grad(power_and_more)
    gradient(1.3, 11)
    assert gradient.source.count("def ") == 3


@pytest.mark.parametrize("f, args, argnums", CASES)
def test_gradient(f, args, argnums):
    check_gradient(f, *args, argnums=argnums)


def test_deep():
    def steps(x, n):
        return x if n == 0 else 0.999 * steps(x, n - 1) + 0.001

    gradient = grad(steps)
    assert math.isclose(gradient(1.0, 200), 0.999**200)
    with pytest.raises(RecursionError):
        gradient(1.0, 100_000)


def test_line_of_an_error_in_a_procedure():
    def failing(x, n):
        if n == 0:
            return 1.0 / (x - x)
        return failing(x, n - 1) * x

    with pytest.raises(ZeroDivisionError) as caught:
        value_and_grad(failing)(1.0, 3)
    assert "return 1.0 / (x - x)" in "".join(caught.value.__notes__)


def test_pullback_of_arrays_that_change_afterwards():
    def run(x, n):
        return x * x if n == 0 else np.sin(run(x, n - 1)) * x

    x = X.copy()
    value, pullback = vjp(run, x, 2, argnums=0)
    expected = pullback(np.ones(5))
    x *= 0.0
    value *= 0.0
    assert np.array_equal(pullback(np.ones(5)), expected)


def test_pullback_of_an_argument_that_a_record_holds():
    def run(x, n):
        h = x
        for i in range(n):
            h = h if i == 0 else np.sin(h) * run(h, i - 1)
        return h * x

    x = X.copy()
    _, pullback = vjp(run, x, 3, argnums=0)
    expected = pullback(np.ones(5))
    x *= 0.0
    assert np.array_equal(pullback(np.ones(5)), expected)


def test_effects_run_once(capsys):
    def noisy(x, n):
        print("at", n)
        return x if n == 0 else noisy(x, n - 1) * x

    assert math.isclose(grad(noisy)(0.5, 2), 3 * 0.25)
    assert capsys.readouterr().out == "at 2\nat 1\nat 0\n"


def test_a_call_without_derivative_stays_a_call():
    def depth(n):
        return 0 if n == 0 else 1 + depth(n - 1)

    def loss(x, n):
        return x ** depth(n)

    gradient = grad(loss)
    assert math.isclose(gradient(1.1, 3), 3 * 1.21)
    assert gradient.source.count("def ") == 2


def test_the_general_form():
    source = grad(power).source
    assert "def power_reverse(" in source


def test_arguments_are_not_written_to():
    x = copy.deepcopy(TREE)
    grad(tree_sum)(x)
    assert x == TREE


@pytest.mark.parametrize(
    "text, f",
    [
        ("calls itself on every path", lambda x: endless(x)),
    ],
)
def test_refused(text, f):
    with pytest.raises(SrcdiffError, match=text):
        grad(f)(0.5)


def endless(x):
    return endless(x * 0.5) + 1.0


def _long(count):
    """The source of a function of so many statements, and of one that calls it three times."""
    steps = [f"    h = np.tanh(W @ h + b * {i})" if i % 2 else f"    h = h * {1 + i / 100}" for i in range(count)]
    uses = "np.sum(long(W, x, b) * long(W, x * 2, b)) + np.sum(long(W, x + b, b))"
    return "\n".join(
        ["import numpy as np", "def long(W, h, b):", *steps, "    return h", "def loss(W, x, b):", f"    return {uses}"]
    )


@pytest.mark.parametrize("count, functions", [(10, 1), (64, 3)])
def test_a_long_function_is_emitted_once(tmp_path, count, functions):
    path = tmp_path / f"long_{count}.py"
    path.write_text(_long(count))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    check_gradient(module.loss, W, X[:3], X[1:4], argnums=(0, 1))
    assert grad(module.loss, argnums=(0, 1)).source_for(W, X[:3], X[1:4]).count("def ") == functions
