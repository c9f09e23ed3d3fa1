"""The public functions: what they take, what argnums mean, and what a gradient looks like."""

import functools
from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import srcdiff
from srcdiff import check_grads, grad, value_and_grad, vjp
from tests.support.gradients import check_gradient, same

X = np.array([1.0, 2.0, 3.0])


def cube(x):
    return np.sum(x**3)


def product(a, b, c=2.0, *, d=1.0):
    return a * b * c * d


# ---------------------------------------------------------------- what they take


def test_function():
    assert same(grad(cube)(X), 3 * X**2)


def test_bare_decorator():
    @grad
    def f(x):
        return np.sum(x**2)

    assert same(f(X), 2 * X)


@pytest.mark.parametrize("decorator", [grad(), grad(argnums=0), grad(argnums="x"), grad(comments=False)])
def test_called_decorator(decorator):
    @decorator
    def f(x):
        return np.sum(x**2)

    assert same(f(X), 2 * X)


def test_value_and_grad_in_all_forms():
    @value_and_grad
    def bare(x):
        return np.sum(x**2)

    @value_and_grad(argnums=(0,))
    def called(x):
        return np.sum(x**2)

    assert same(bare(X), (np.float64(14.0), 2 * X))
    assert same(called(X), (np.float64(14.0), (2 * X,)))
    assert same(value_and_grad(cube)(X), (np.float64(36.0), 3 * X**2))
    assert same(grad(cube).value_and_grad(X), (np.float64(36.0), 3 * X**2))


def test_lambda():
    assert grad(lambda x: x * x)(3.0) == 6.0


def test_two_lambdas_in_a_line():
    square, double = grad(lambda x: x * x), grad(lambda x: x + x)
    assert (square(3.0), double(3.0)) == (6.0, 2.0)


class Model:
    def __init__(self, scale):
        self.scale = scale

    def loss(self, x):
        return self.scale * np.sum(x**2)

    @grad
    def slope(self, x):
        return self.scale * x

    @grad(argnums="x")
    def named_slope(self, x):
        return self.scale * x

    @staticmethod
    @grad
    def fixed(x):
        return x * x

    @staticmethod
    def plain(x):
        return x * x

    @classmethod
    def of_class(cls, x):
        return x * cls.factor

    factor = 4.0

    def __call__(self, x):
        return self.scale * x * x


def test_bound_method():
    assert same(grad(Model(3.0).loss)(X), 6 * X)
    assert same(vjp(Model(3.0).loss, X)[1](1.0), (6 * X,))


def test_each_object_has_its_own_value():
    assert same([grad(Model(scale).loss)(X) for scale in (1.0, 2.0)], [2 * X, 4 * X])


def test_decorated_method_differentiates_by_a_named_parameter():
    assert Model(3.0).named_slope(2.0) == 3.0


def test_decorated_method_whose_first_parameter_is_self():
    gradient = Model(3.0).slope(2.0)
    assert type(gradient) is Model
    assert gradient.scale == 2.0


def test_staticmethod_and_classmethod():
    assert Model.fixed(3.0) == 6.0
    assert Model(1.0).fixed(3.0) == 6.0
    assert grad(Model.plain)(3.0) == 6.0
    assert grad(Model.of_class)(3.0) == 4.0


def test_callable_instance():
    assert grad(Model(2.0))(3.0) == 12.0


def test_partial():
    assert grad(functools.partial(product, 2.0))(3.0) == 4.0
    assert grad(functools.partial(product, 2.0), argnums=1)(3.0, 5.0) == 6.0
    assert grad(functools.partial(product, c=5.0), argnums=(0, 1))(2.0, 3.0) == (15.0, 10.0)
    assert grad(functools.partial(functools.partial(product, 2.0), d=10.0), argnums="b")(3.0) == 40.0


@pytest.mark.parametrize("f, slope", [(np.sin, np.cos(0.5)), (np.square, 1.0), (np.exp, np.exp(0.5))])
def test_numpy_function(f, slope):
    assert np.isclose(grad(f)(0.5), slope)


def test_numpy_functions_of_arrays():
    assert same(grad(np.sum)(X), np.ones(3))
    assert same(grad(np.linalg.norm)(np.array([3.0, 4.0])), np.array([0.6, 0.8]), rtol=1e-15)
    y, pullback = vjp(np.tanh, X)
    assert same(y, np.tanh(X))
    assert same(pullback(np.ones(3)), (1 - np.tanh(X) ** 2,), rtol=1e-15)
    _, pullback = vjp(np.matmul, np.ones((2, 3)), X)
    assert same(pullback(np.ones(2)), (np.array([X, X]), 2 * np.ones(3)))


# ---------------------------------------------------------------- argnums


@pytest.mark.parametrize(
    "argnums, expected",
    [
        (0, 30.0), (1, 20.0), ("b", 20.0), (-1, 12.0), (-3, 30.0), ((0, 1), (30.0, 20.0)), ([0, "c"], (30.0, 12.0)),
        ((1, 0), (20.0, 30.0)), ("d", 30.0), (("a", "d"), (30.0, 30.0)), ((0,), (30.0,)), ((), ()), (np.int64(1), 20.0),
    ],
)  # fmt: skip
def test_argnums(argnums, expected):
    assert grad(product, argnums)(2.0, 3.0, 5.0, d=2.0) == expected


def test_arguments_by_keyword_and_defaults():
    assert grad(product)(a=2.0, b=3.0) == 6.0
    assert grad(product, "b")(2.0, b=3.0, d=4.0) == 16.0
    assert grad(product, "c")(2.0, 3.0) == 6.0
    assert grad(product, "d")(2.0, 3.0) == 12.0


def weighted(first, *others, **settings):
    total = first * first
    for i, x in enumerate(others):
        total = total + (i + 2) * x
    return total * settings["scale"]


def test_variadic_parameters():
    assert grad(weighted)(3.0, 1.0, 2.0, scale=2.0) == 12.0
    assert grad(weighted, 1)(3.0, 1.0, 2.0, scale=2.0) == 4.0
    assert grad(weighted, -1)(3.0, 1.0, 2.0, scale=2.0) == 6.0
    assert grad(weighted, "others")(3.0, 1.0, 2.0, scale=2.0) == (4.0, 6.0)
    assert grad(weighted, "settings")(3.0, 1.0, 2.0, scale=2.0) == {"scale": 17.0}


def test_positional_only_parameters():
    def f(x, /, y):
        return x * y

    assert grad(f, (0, 1))(2.0, y=3.0) == (3.0, 2.0)


def test_vjp_differentiates_by_all_arguments_unless_told():
    _, pullback = vjp(product, 2.0, 3.0, 5.0)
    assert pullback(1.0) == (15.0, 10.0, 6.0)
    _, pullback = vjp(product, 2.0, 3.0, argnums=1, d=7.0)
    assert pullback(1.0) == 28.0


# ---------------------------------------------------------------- has_aux


def with_data(x):
    y = x * x
    return y, {"y": y, "note": "seen"}


def test_has_aux():
    data = {"y": 9.0, "note": "seen"}
    assert grad(with_data, has_aux=True)(3.0) == (6.0, data)
    assert value_and_grad(with_data, has_aux=True)(3.0) == ((9.0, data), 6.0)
    assert grad(with_data, has_aux=True).value_and_grad(3.0) == ((9.0, data), 6.0)
    y, pullback, aux = vjp(with_data, 3.0, has_aux=True)
    assert (y, pullback(2.0), aux) == (9.0, (12.0,), data)


# ---------------------------------------------------------------- structures


class Pair(NamedTuple):
    u: np.ndarray
    v: float


@dataclass
class Box:
    w: np.ndarray
    n: int
    inner: Pair


@dataclass(frozen=True)
class Frozen:
    w: float


def test_gradients_have_the_structure_of_the_argument():
    def f(p):
        box, (a, b), names = p["box"], p["list"][0], p["names"]
        assert len(names) == 2
        return np.sum(box.w) * box.n + np.sum(box.inner.u**2) * box.inner.v + a * b + p["list"][1]

    p = {"box": Box(X, 3, Pair(X, 2.0)), "list": [(2.0, 5.0), 7.0], "names": ("a", None), 4: True}
    g = check_gradient(f, p)
    expected = {
        "box": Box(3 * np.ones(3), None, Pair(4 * X, np.float64(14.0))),
        "list": [(5.0, 2.0), 1.0],
        "names": (None, None),
        4: None,
    }
    assert same(g, expected)


def test_leaves_that_the_result_does_not_depend_on_give_zeros():
    g = grad(lambda p: p["a"] * 2.0)({"a": 1.0, "b": X, "c": 0.5, "d": np.ones((2, 2), np.float32)})
    assert same(g, {"a": 2.0, "b": np.zeros(3), "c": 0.0, "d": np.zeros((2, 2), np.float32)})


def test_frozen_dataclass():
    assert grad(lambda f: f.w * f.w)(Frozen(3.0)) == Frozen(6.0)


def test_leaves_without_a_derivative_give_none():
    def f(p):
        return p["x"] * p["n"]

    leaves = {
        "x": 2.0,
        "n": 3,
        "flag": True,
        "s": "s",
        "none": None,
        "ints": np.arange(3),
        "bools": np.ones(2, bool),
        "f": np.sin,
    }
    g = grad(f)(leaves)
    assert g == {"x": 3.0, "n": None, "flag": None, "s": None, "none": None, "ints": None, "bools": None, "f": None}


def test_subclasses_of_dict_and_list_keep_their_class():
    g = grad(lambda p: p["a"] * p["b"])(OrderedDict(b=2.0, a=3.0))
    assert g == OrderedDict(b=3.0, a=2.0)
    assert type(g) is OrderedDict


def test_long_lists():
    numbers = [float(i) for i in range(20)]

    def f(xs):
        total = 0.0
        for x in xs:
            total += x * x
        return total

    assert grad(f)(numbers) == [2.0 * x for x in numbers]
    arrays = [X * i for i in range(12)]
    assert same(grad(lambda xs: sum(np.sum(x**2) for x in xs))(arrays), [2 * x for x in arrays])


def test_empty_containers_and_arrays():
    assert grad(lambda p, x: x * x, argnums=(0, 1))([], 3.0) == ([], 6.0)
    assert grad(lambda p, x: x * x, argnums=(0, 1))({"a": {}}, 3.0) == ({"a": {}}, 6.0)
    assert same(grad(cube)(np.zeros(0)), np.zeros(0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble])
def test_precision_is_kept(dtype):
    x = X.astype(dtype)
    assert same(grad(cube)(x), 3 * x**2, rtol=1e-6)
    assert grad(lambda x: x * x)(dtype(3.0)).dtype == dtype


@pytest.mark.parametrize("x", [3.0, np.float64(3.0), np.array(3.0)])
def test_scalars_of_all_sorts(x):
    g = grad(lambda x: x * x)(x)
    assert float(g) == 6.0
    assert np.shape(g) == ()


# ---------------------------------------------------------------- check_grads


def test_check_grads_accepts_what_is_right():
    check_grads(cube, [X])
    check_grads(grad(cube), [X])
    check_grads(product, (2.0, 3.0), kwargs={"d": 2.0})
    check_grads(product, (2.0, 3.0), argnums=1)
    check_grads(product, (2.0, 3.0), argnums=("a", "b"))
    check_grads(lambda p, n: p["a"] ** n, ({"a": 2.0}, 3))
    check_grads(lambda A: np.linalg.inv(A), [np.array([[2.0, 1.0], [0.0, 3.0]])])


def test_check_grads_refuses_what_is_wrong():
    # The two halves disagree: central differences see the floor's jumps only where they are.
    def kinked(x):
        return abs(x)

    with pytest.raises(AssertionError, match="the gradient of `kinked` by `x` disagrees with central differences"):
        check_grads(kinked, [1e-9])


def test_check_grads_knows_what_this_version_does():
    with pytest.raises(srcdiff.KindError, match="order=1"):
        check_grads(cube, [X], order=2)
