"""Jacobians, Hessians and products with them: the modes against each other and against differences, containers, options."""

import copy
import pickle

import numpy as np
import pytest

from srcdiff import grad, hessian, hvp, jacfwd, jacobian, jacrev, vhp
from srcdiff.errors import NotDifferentiable
from tests.support.gradients import check_gradient, same

X = np.array([0.3, 0.5, -1.2])
V = np.array([1.0, 0.0, 2.0])


def rosenbrock(x, a=1.0):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (a - x[:-1]) ** 2)


def iterated(x, n):
    h = x
    for i in range(n):
        h = np.tanh(h * x[i % 3])
        h[0] = h[1] * h[2]
    return np.sum(h**2)


def differences(f, x, v, *rest, eps=1e-6):
    return (grad(f)(x + eps * v, *rest) - grad(f)(x - eps * v, *rest)) / (2 * eps)


@pytest.mark.parametrize("product", [hvp, vhp])
def test_products(product):
    assert np.allclose(product(rosenbrock)(X, V), differences(rosenbrock, X, V), rtol=1e-6)
    assert np.allclose(product(iterated)(X, 4, V), differences(iterated, X, V, 4), rtol=1e-6)
    assert product(lambda x: x**3)(2.0, 0.5) == 6.0
    assert "srcdiff" not in product(rosenbrock).source_for(X, V)


@pytest.mark.parametrize("product", [hvp, vhp])
def test_several_arguments_and_containers(product):
    def energy(p, q, *, scale=2.0):
        return scale * np.sum(p["a"] ** 2 * q**3)

    along = product(energy, argnums=(0, 1))({"a": X}, X, ({"a": V}, V), scale=1.0)
    assert np.allclose(along[0]["a"], 2 * X**3 * V + 6 * X**3 * V)
    assert np.allclose(along[1], 6 * X**3 * V + 6 * X**3 * V)
    assert np.allclose(product(energy, argnums="q")({"a": X}, X, V), 12 * X**3 * V)


def test_the_product_is_a_function_like_others():
    product = hvp(rosenbrock)
    for other in (pickle.loads(pickle.dumps(product)), copy.copy(product)):
        assert np.array_equal(other(X, V), product(X, V))
    assert repr(product) == "<hvp of rosenbrock>"
    assert np.array_equal(product.compile(X, V)(X, V), product(X, V))
    check_gradient(lambda x: np.sum(product(x, V) ** 2), X)


def test_what_has_no_gradient_has_no_product():
    with pytest.raises(NotDifferentiable, match="not a scalar"):
        hvp(lambda x: x * 2)(X, V)


# ---------------------------------------------------------------- Jacobians


def layers(x, w):
    h = np.tanh(w @ x)
    for i in range(2):
        h = h * x[i]
        h[0] = h[1] * x[2]
    return h


W = np.arange(12.0).reshape(4, 3) / 5


def test_the_modes_agree():
    forward, reverse, chosen = (j(layers, (0, 1))(X, W) for j in (jacfwd, jacrev, jacobian))
    assert [j.shape for j in forward] == [(4, 3), (4, 4, 3)]
    assert same(forward, reverse, rtol=1e-12) and same(forward, chosen, rtol=1e-12)


def test_nested_results_and_arguments():
    def f(p):
        return {"s": np.sum(p["a"] * p["b"]), "m": [np.outer(p["a"], p["a"]) * p["c"], p["c"] ** 2]}

    p = {"a": X, "b": X + 1.0, "c": 2.0}
    forward, reverse = jacfwd(f)(p), jacrev(f)(p)
    assert same(forward, reverse, rtol=1e-12)
    assert reverse["m"][0]["a"].shape == (3, 3, 3) and reverse["m"][1]["c"] == 4.0 and not reverse["m"][1]["a"].any()


@pytest.mark.parametrize("shape", [(), (1,), (2, 2), (0,)])
def test_shapes(shape):
    x = np.full(shape, 0.5) if shape else 0.5
    f = lambda x: np.sin(x) * np.ones((2, *np.shape(x)))  # noqa: E731
    for mode in (jacfwd, jacrev, jacobian):
        out = mode(f)(x)
        assert out.shape == (2, *shape, *shape)
        assert np.allclose(out.sum(), 2 * max(x.size if shape else 1, 0) * np.cos(0.5))


def test_float32_stays():
    x = np.float32(X)
    for mode in (jacfwd, jacrev):
        assert mode(lambda x: x[1:] * x[:-1])(x).dtype == np.float32


def test_the_mode_that_is_chosen():
    assert "x_dot" not in jacobian(lambda x: np.sum(x**2)).source_for(X)
    assert "x_dot" in jacobian(lambda x: np.outer(x, x)).source_for(X)


def test_auxiliary_data_and_decorators():
    @jacrev(has_aux=True)
    def f(x):
        return x**2, "data"

    matrix, data = f(X)
    assert data == "data" and np.allclose(matrix, np.diag(2 * X))
    assert "jacobian of" in repr(f)


# ---------------------------------------------------------------- Hessians


def test_hessians():
    h = hessian(rosenbrock)(X)
    columns = [differences(rosenbrock, X, e) for e in np.eye(3)]
    assert np.allclose(h, np.array(columns), rtol=1e-6, atol=1e-4) and np.allclose(h, h.T)
    assert np.allclose(hessian(iterated)(X, 4), [differences(iterated, X, e, 4) for e in np.eye(3)], rtol=1e-6, atol=1e-8)
    assert hessian(lambda x: x**3)(2.0) == 12.0
    assert "srcdiff" not in hessian(rosenbrock).source_for(X)
    nested = hessian(lambda p: np.sum(p["a"] ** 2 * p["b"]))({"a": X, "b": 2.0})
    assert np.allclose(nested["a"]["a"], 4.0 * np.eye(3)) and np.allclose(nested["b"]["a"], 2 * X) and nested["b"]["b"] == 0.0


def test_a_third_derivative():
    cubes = jacfwd(hessian(lambda x: np.sum(x**3)))(X)
    expected = np.zeros((3, 3, 3))
    expected[range(3), range(3), range(3)] = 6.0
    assert np.allclose(cubes, expected)
    assert np.allclose(jacrev(jacrev(grad(lambda x: np.sum(x**3))))(X), expected)
