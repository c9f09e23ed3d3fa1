"""`check` accepts right gradients of nested arguments and results, and says where a wrong one is wrong."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from srcdiff.proofs.numeric import check


class Layer(NamedTuple):
    W: np.ndarray
    b: np.ndarray


@dataclass
class Model:
    layer: Layer
    scale: float
    name: str


def loss(models, x, *, power=2):
    m = models["m"][0]
    return np.sum((m.scale * (m.layer.W @ x) + m.layer.b) ** power)


def loss_vjp(models, x, *, power=2):
    m = models["m"][0]
    u = m.layer.W @ x
    r = m.scale * u + m.layer.b

    def pullback(y_bar):
        r_bar = y_bar * power * r ** (power - 1)
        layer_bar = Layer(np.outer(m.scale * r_bar, x), r_bar)
        return {"m": [Model(layer_bar, float(np.sum(r_bar * u)), None)]}, m.layer.W.T @ (m.scale * r_bar)

    return np.sum(r**power), pullback


@pytest.fixture
def args():
    rng = np.random.default_rng(1)
    return {"m": [Model(Layer(rng.normal(size=(3, 2)), rng.normal(size=3)), 0.5, "first")]}, rng.normal(size=2)


def test_nested_arguments(args):
    check(loss, args, vjp=loss_vjp, argnums=(0, 1))
    check(loss, args, vjp=loss_vjp, argnums=(0, 1), kwargs={"power": 3})


@pytest.mark.parametrize(
    ("spoil", "path"),
    [
        (lambda m: m.layer.W.__imul__(1.01), "models['m'][0].layer.W"),
        (lambda m: m.layer.b.__iadd__(1.0), "models['m'][0].layer.b"),
        (lambda m: setattr(m, "scale", -m.scale), "models['m'][0].scale"),
    ],
)
def test_names_the_argument_that_is_wrong(args, spoil, path):
    def wrong_vjp(models, x):
        value, pullback = loss_vjp(models, x)

        def wrong_pullback(y_bar):
            gradients = pullback(y_bar)
            spoil(gradients[0]["m"][0])
            return gradients

        return value, wrong_pullback

    with pytest.raises(AssertionError) as caught:
        check(loss, args, vjp=wrong_vjp, argnums=(0, 1))
    first, second, third = str(caught.value).splitlines()
    assert first == f"the gradient of `loss` by `{path}` disagrees with central differences"
    assert second.startswith("  Along a random direction, reverse mode gives ") and ", central differences give " in second
    assert third.startswith("  They differ by ") and third.endswith(" is tolerated.")


def test_results_that_are_no_scalar():
    def f(x):
        return {"sin": np.sin(x), "n": 3, "parts": (x[0], x[1:] ** 2)}

    def f_vjp(x):
        def pullback(y_bar):
            assert y_bar["n"] is None
            x_bar = y_bar["sin"] * np.cos(x)
            x_bar[0] += y_bar["parts"][0]
            x_bar[1:] += y_bar["parts"][1] * 2 * x[1:]
            return (x_bar,)

        return f(x), pullback

    def f_jvp(args, tangents):
        (x,), (x_dot,) = args, tangents
        return f(x), {"sin": np.cos(x) * x_dot, "n": None, "parts": (x_dot[0], 2 * x[1:] * x_dot[1:])}

    check(f, [np.array([0.1, 0.2, 0.3])], vjp=f_vjp, jvp=f_jvp)
    check(f, [np.array([0.1, 0.2, 0.3])], jvp=f_jvp)
    with pytest.raises(AssertionError, match="forward mode gives"):
        check(f, [np.array([0.1, 0.2, 0.3])], jvp=lambda args, tangents: (None, {**f_jvp(args, tangents)[1], "sin": np.zeros(3)}))


def test_float32_is_checked_against_differences_in_float64():
    x = np.linspace(0.5, 2, 5, dtype=np.float32)

    def vjp(x, factor=1.0):
        return np.sum(np.log(x)), lambda y_bar: (np.float32(factor) * y_bar / x,)

    check(lambda x: np.sum(np.log(x)), [x], vjp=vjp)
    with pytest.raises(AssertionError):
        check(lambda x: np.sum(np.log(x)), [x], vjp=lambda x: vjp(x, 1.01))


def test_large_values_do_not_drown_a_right_gradient():
    check(lambda x: x + 1e9, [2.0], vjp=lambda x: (x + 1e9, lambda y_bar: (y_bar,)))


def test_empty_arrays_and_0d_arrays():
    def vjp(x, y):
        return np.sum(x) * y, lambda y_bar: (np.full_like(x, y_bar * y), y_bar * np.sum(x))

    check(lambda x, y: np.sum(x) * y, [np.zeros((0, 2)), np.array(2.0)], vjp=vjp, argnums=(0, 1))


@pytest.mark.parametrize(
    ("gradient", "message"),
    [
        (np.nan, "disagrees with central differences"),
        (None, "is missing"),
        (np.ones(2), r"has the shape \(2,\), the argument has \(\)"),
    ],
)
def test_gradients_that_are_none(gradient, message):
    with pytest.raises(AssertionError, match=rf"the gradient of `square` by `x` {message}"):
        check(square, [3.0], vjp=lambda x: (square(x), lambda y_bar: (gradient,)))


def square(x):
    return x * x


def test_value_beside_the_gradient():
    with pytest.raises(AssertionError, match="the value of `square` is another beside its gradient: 8.0 for 9.0"):
        check(square, [3.0], vjp=lambda x: (8.0, lambda y_bar: (y_bar * 6.0,)))


def test_tolerances_and_step_are_yours():
    def vjp(x):
        return square(x), lambda y_bar: (6.1 * y_bar,)

    check(square, [3.0], vjp=vjp, atol=1.0)
    check(square, [3.0], vjp=vjp, rtol=0.1)
    with pytest.raises(AssertionError):
        check(square, [3.0], vjp=vjp, eps=1e-3)
