"""Products with the Hessian: against the Hessian by differences, in both orders of the modes, for containers and options."""

import copy
import pickle

import numpy as np
import pytest

from srcdiff import grad, hvp, vhp
from srcdiff.errors import NotDifferentiable
from tests.support.gradients import check_gradient

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
