"""When it compiles: once for the kinds of the arguments, and again only where a fact that was used no longer holds."""

import gc
import math
import weakref
from types import FunctionType, SimpleNamespace

import numpy as np
import pytest

from srcdiff import grad, pipeline, value_and_grad, vjp
from tests.support.gradients import check_gradient, same

X = np.array([1.0, 2.0, 3.0])
RATE = 2.0
TABLE = np.array([1.0, 2.0, 3.0])
SHAPES = [(4, 3), (1, 3), (4, 1), (1, 1), (3,), (1,), ()]


@pytest.fixture
def compiled(monkeypatch):
    """A list that grows by the name of each function that is compiled."""
    names = []
    compile_variant = pipeline.compile_variant

    def counted(f: FunctionType, *rest):
        names.append(f.__name__)
        return compile_variant(f, *rest)

    monkeypatch.setattr(pipeline, "compile_variant", counted)
    return names


def make_loss():
    def loss(w, X, y):
        return np.mean((X @ w - y) ** 2)

    return loss


# ---------------------------------------------------------------- what does not compile anew


def test_other_values_and_other_lengths(compiled):
    f = grad(make_loss())
    for n, m in [(5, 3), (7, 3), (100, 2), (2, 9)]:
        check_same_as_differences(f, np.ones(m), np.ones((n, m)), np.zeros(n))
    assert len(compiled) == 1


def check_same_as_differences(f, *args):
    g = f(*args)
    for i in range(len(args[0])):
        step = np.zeros(len(args[0]))
        step[i] = 1e-6
        slope = (f.primal(args[0] + step, *args[1:]) - f.primal(args[0] - step, *args[1:])) / 2e-6
        assert np.isclose(g[i], slope, rtol=1e-5, atol=1e-7)


def test_a_number_of_trips(compiled):
    f = grad(lambda x, n: sum(x * i for i in range(n)))
    assert [f(2.0, n) for n in (0, 1, 2, 3, 10)] == [0.0, 0.0, 1.0, 3.0, 45.0]
    assert len(compiled) == 1


def test_length_of_a_long_list(compiled):
    def f(xs):
        total = 0.0
        for x in xs:
            total += x * x
        return total

    g = grad(f)
    for n in (9, 10, 50):
        assert g([float(i) for i in range(n)]) == [2.0 * i for i in range(n)]
    assert len(compiled) == 1


def test_a_lambda_made_anew_at_each_call(compiled):
    for k in range(5):
        assert grad(lambda x: x * x * x)(2.0) == 12.0
        assert grad(lambda x: x * k)(2.0) == k
    assert len(compiled) == 2


def test_a_closure_made_anew_at_each_call(compiled):
    def make(scale, f):
        return lambda x: scale * f(x)

    assert [grad(make(s, math.sin))(0.0) for s in (1.0, 2.0, 3.0)] == [1.0, 2.0, 3.0]
    assert len(compiled) == 1
    assert grad(make(2.0, math.exp))(0.0) == 2.0
    assert grad(make(2.0, lambda x: x * x))(3.0) == 12.0
    assert grad(make(2, math.sin))(0.0) == 2.0
    assert len(compiled) == 4
    for _ in range(3):
        assert grad(make(5.0, lambda x: x * x * x))(1.0) == 15.0
    assert len(compiled) == 5


def test_gradients_of_one_function_share_variants(compiled):
    def make():
        return lambda x: x * x

    loss = make()
    for _ in range(3):
        assert grad(loss)(3.0) == grad(make())(3.0) == grad(loss, "x")(3.0) == 6.0
        assert vjp(loss, 3.0)[1](1.0) == (6.0,)
    assert len(compiled) <= 3


# ---------------------------------------------------------------- what does


def test_a_batch_of_one_and_other_patterns(compiled):
    def loss(a, b):
        return np.sum(np.sin(a * b) * a)

    f = grad(loss, argnums=(0, 1))
    for m in SHAPES:
        for n in SHAPES:
            a, b = 0.5 * np.ones(m), 2.0 * np.ones(n)
            size = np.broadcast(a, b).size
            a_bar, b_bar = f(a, b)
            assert np.shape(a_bar) == m and np.shape(b_bar) == n
            assert np.allclose(a_bar, (np.sin(1.0) + np.cos(1.0)) * size / a.size)
            assert np.allclose(b_bar, 0.25 * np.cos(1.0) * size / b.size)
    count = len(compiled)
    f(np.ones((2, 5)), np.ones((2, 1))), f(np.ones((1, 9)), np.ones((8, 9)))
    assert len(compiled) == count <= len(SHAPES) ** 2


@pytest.mark.parametrize("m, n", [((4, 3), (1, 3)), ((4, 1), (3,)), ((1, 1), (4, 3)), ((1,), (4, 1)), ((), (1, 3))])
def test_patterns_against_differences(m, n):
    def loss(a, b):
        return np.sum(np.sin(a * b) / (2 + a * a + b))

    rng = np.random.default_rng(0)
    check_gradient(loss, rng.uniform(size=m), rng.uniform(size=n), argnums=(0, 1))


def test_dtypes_and_kinds(compiled):
    f = grad(lambda x, c: np.sum(x * x) * c)
    for x in (2.0, np.float64(2.0), np.float32(2.0), X, X.astype(np.float32), X[None], np.array(2.0)):
        for c in (3.0, 3, True, np.float32(3), np.int8(3)):
            assert same(np.asarray(f(x, c), float), np.asarray(2.0 * float(c) * x, float), rtol=1e-6)
            assert np.shape(f(x, c)) == np.shape(x)
    count = len(compiled)
    f(2.0, 3.0), f(X, 3)
    assert len(compiled) == count


def test_structures(compiled):
    def f(p, mode="sum", power=None):
        y = p["a"] * 2.0 if "a" in p else p["b"]
        if power is not None:
            y = y**power
        return np.sum(y) if mode == "sum" else np.mean(y)

    g = grad(f)
    assert same(g({"a": X}), {"a": 2 * np.ones(3)})
    assert same(g({"b": X}), {"b": np.ones(3)})
    assert same(g({"a": X}, "mean"), {"a": np.full(3, 2 / 3)}, rtol=1e-15)
    assert same(g({"a": X}, power=2), {"a": 8 * X})
    assert same(g({"a": X, "b": 1.0}), {"a": 2 * np.ones(3), "b": 0.0})
    assert same(g({"a": X}, mode="sum"), {"a": 2 * np.ones(3)})
    assert len(compiled) == 5


def test_functions_as_arguments(compiled):
    f = grad(lambda x, act: np.sum(act(x)))
    assert same(f(X, np.sin), np.cos(X))
    assert same(f(X, np.square), 2 * X)
    assert same(f(X, lambda x: x * 3.0), 3 * np.ones(3))
    assert same(f(X, np.sin), np.cos(X))
    assert len(compiled) == 3


def test_length_of_a_short_list_of_tuples(compiled):
    def f(layers):
        total = 0.0
        for w, b in layers:
            total = total + w * b
        return total

    g = grad(f)
    assert g([(1.0, 2.0)]) == [(2.0, 1.0)]
    assert g([(1.0, 2.0), (3.0, 4.0)]) == [(2.0, 1.0), (4.0, 3.0)]
    assert g(((1.0, 2.0),)) == ((2.0, 1.0),)
    assert len(compiled) == 3


# ---------------------------------------------------------------- the world outside, read when it runs


def with_globals(x):
    return np.sum(x * TABLE) * RATE


def test_globals_are_read_at_call_time(compiled, monkeypatch):
    f = grad(with_globals)
    assert same(f(X), 2 * TABLE)
    monkeypatch.setitem(globals(), "RATE", 3.0)
    assert same(f(X), 3 * TABLE)
    monkeypatch.setitem(globals(), "TABLE", np.array([0.0, 1.0, 0.0]))
    assert same(f(X), 3 * TABLE)
    TABLE[0] = 5.0
    assert same(f(X), 3 * TABLE)
    assert len(compiled) == 1


@pytest.mark.parametrize("table", [3, 2.5, np.array([2.0]), np.ones((2, 3)), np.float32(2.0), np.arange(3)])
def test_a_global_of_another_kind_compiles_anew(table, monkeypatch):
    f = grad(with_globals)
    f(X)
    monkeypatch.setitem(globals(), "TABLE", table)
    expected = RATE * np.broadcast_to(table, np.broadcast_shapes((3,), np.shape(table))).reshape(-1, 3).sum(axis=0)
    assert same(f(X), expected.astype(float))


def outer_function(x):
    return x * x


def calls_outer(x):
    return outer_function(x)


def test_a_function_that_is_replaced(monkeypatch):
    f = grad(calls_outer)
    assert f(3.0) == 6.0
    monkeypatch.setitem(globals(), "outer_function", lambda x: x * x * x)
    assert f(3.0) == 27.0
    monkeypatch.undo()
    assert f(3.0) == 6.0


activation = np.sin
MODE = "double"
LIMIT = None
SETTINGS = {"act": np.sin, "factor": 1.0}


def with_known_globals(x):
    y = activation(x)
    if MODE == "double":
        y = y * 2.0
    return y if LIMIT is None else y * LIMIT


@pytest.mark.parametrize(
    "name, value, slope",
    [
        ("activation", np.cos, lambda x: -2 * np.sin(x)), ("activation", math.exp, lambda x: 2 * np.exp(x)),
        ("activation", lambda x: 3.0 * x, lambda x: 6.0), ("MODE", "single", np.cos), ("MODE", None, np.cos), ("MODE", 2, np.cos),
        ("LIMIT", 3.0, lambda x: 6 * np.cos(x)), ("LIMIT", 3, lambda x: 6 * np.cos(x)),
    ],
)  # fmt: skip
def test_a_global_that_was_compiled_in_is_replaced(name, value, slope, monkeypatch):
    f = grad(with_known_globals)
    assert np.isclose(f(0.5), 2 * np.cos(0.5))
    monkeypatch.setitem(globals(), name, value)
    assert np.isclose(f(0.5), slope(0.5))
    monkeypatch.undo()
    assert np.isclose(f(0.5), 2 * np.cos(0.5))


@pytest.mark.parametrize(
    "value, slope", [(np.cos, -np.sin(0.5)), (math.exp, np.exp(0.5)), (lambda x: 3.0 * x, 3.0), (2.0, 2.0), (None, 1.0)]
)
def test_a_cell_that_was_compiled_in_is_replaced(value, slope):
    held = np.sin

    def f(x):
        return x if held is None else x * held if isinstance(held, float) else held(x)

    g = grad(f)
    assert np.isclose(g(0.5), np.cos(0.5))
    held = value
    assert np.isclose(g(0.5), slope)


def test_one_code_in_two_modules():
    one = FunctionType(with_library.__code__, {"library": np})
    other = FunctionType(with_library.__code__, {"library": SimpleNamespace(sin=np.cos)})
    assert np.isclose(grad(one)(0.5), np.cos(0.5))
    assert np.isclose(grad(other)(0.5), -np.sin(0.5))
    assert np.isclose(grad(one)(0.5), np.cos(0.5))


def with_library(x):
    return library.sin(x)  # noqa: F821


def test_a_setting_in_a_dict_is_replaced(monkeypatch):
    def f(x):
        return SETTINGS["act"](x) * SETTINGS["factor"]

    g = grad(f)
    assert np.isclose(g(0.5), np.cos(0.5))
    monkeypatch.setitem(SETTINGS, "factor", 3.0)
    assert np.isclose(g(0.5), 3 * np.cos(0.5))
    monkeypatch.setitem(SETTINGS, "act", np.exp)
    assert np.isclose(g(0.5), 3 * np.exp(0.5))


def test_cells_are_read_at_call_time(compiled):
    scale = 2.0

    def f(x):
        return x * scale

    g = grad(f)
    assert g(1.0) == 2.0
    scale = 5.0
    assert g(1.0) == 5.0
    assert len(compiled) == 1


def test_a_cell_of_another_kind_compiles_anew():
    power = 2

    def f(x):
        return x**power

    g = grad(f)
    assert g(3.0) == 6.0
    power = 0.5
    assert g(4.0) == 0.25


def test_a_default_that_is_a_mutable_object():
    def f(x, table=[2.0, 3.0]):
        return x * table[0]

    g = grad(f)
    assert g(1.0) == 2.0
    f.__defaults__[0][0] = 4.0
    assert g(1.0) == 4.0


# ---------------------------------------------------------------- no state


def test_no_call_leaves_a_trace_in_the_next():
    def f(x, keep):
        hs = []
        for v in x:
            if v > keep:
                hs.append(v * v)
        return sum(hs)

    g = value_and_grad(f)
    first = g(X, 1.5)
    g(X, 0.0)
    g(np.zeros(5), 2.0)
    with pytest.raises(TypeError):
        g(None, 1.0)
    assert same(g(X, 1.5), first)


def test_results_belong_to_the_caller():
    f = value_and_grad(lambda x, y: np.sum(x * y), argnums=(0, 1))
    value, (x_bar, y_bar) = f(X, X)
    x_bar[:] = 0.0
    assert same(y_bar, np.array([1.0, 2.0, 3.0]))
    assert same(f(X, X)[1], (X, X))


def test_a_function_that_was_differentiated_can_be_freed():
    module: dict = {"np": np, "__name__": "made"}
    x = np.ones(3)

    def made():
        def loss(x):
            return np.sum(x * x)

        return loss

    loss = FunctionType(made.__code__, module)()
    reference = weakref.ref(loss)
    grad(loss)(x)
    del loss
    gc.collect()
    assert reference() is None


def test_arguments_are_not_kept_alive():
    x = np.ones(1000)
    reference = weakref.ref(x)
    f = grad(lambda x: np.sum(x * x))
    f(x)
    del x
    gc.collect()
    assert reference() is None
