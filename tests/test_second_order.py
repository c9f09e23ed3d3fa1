"""Derivatives of derivatives: of gradients, and of functions that take gradients themselves."""

import copy

import numpy as np
import pytest

from srcdiff import grad, hessian, hvp, jacfwd, jacrev, jvp, value_and_grad, vhp, vjp
from srcdiff.errors import NoRule
from tests.support.gradients import check_gradient
from tests.test_writes import PROGRAMS

X = np.array([0.3, -0.7, 1.1])


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def iterated(x, n):
    s = x
    for _ in range(n):
        s = np.sin(s) * x
    return s


def test_orders_of_a_number():
    cube = grad(lambda x: x**3)
    second, third = grad(cube), grad(grad(cube))
    assert (cube(2.0), second(2.0), third(2.0), grad(third)(2.0)) == (12.0, 12.0, 6.0, 0.0)
    assert "return 6 * x" in second.source
    assert grad(grad(grad(lambda x: np.exp(2 * x))))(0.3) == pytest.approx(8 * np.exp(0.6), rel=1e-14)


def test_through_a_loop():
    check_gradient(lambda x: grad(iterated)(x, 4), 0.7)
    check_gradient(lambda x: grad(grad(iterated))(x, 3), 0.7)


def test_a_product_with_the_hessian():
    def product(x, v):
        return np.sum(grad(rosenbrock)(x) * v)

    v = np.array([0.2, -1.0, 0.4])
    a, b, c = X
    hessian = np.array(
        [
            [1200 * a * a - 400 * b + 2, -400 * a, 0.0],
            [-400 * a, 202 + 1200 * b * b - 400 * c, -400 * b],
            [0.0, -400 * b, 200.0],
        ]
    )
    assert np.allclose(grad(product)(X, v), hessian @ v, rtol=1e-12)
    assert "srcdiff" not in grad(product).source_for(X, v)


@pytest.mark.parametrize("name", [n for n, (_, args) in PROGRAMS.items() if isinstance(args[0], np.ndarray)])
def test_gradients_of_programs_that_write(name):
    f, (x, *rest) = PROGRAMS[name]
    weights = np.random.default_rng(1).normal(size=x.shape).astype(x.dtype)
    first = grad(f)

    def along(x):
        return np.sum(first(x, *rest) * weights)

    check_gradient(along, copy.deepcopy(x))


def test_a_penalty_on_a_gradient():
    def penalty(w, x):
        energy = lambda y: np.sum(np.tanh(w * y) ** 2)  # noqa: E731
        return np.sum(grad(energy)(x) ** 2)

    check_gradient(penalty, np.array([0.5, 1.5, -1.0]), X, argnums=(0, 1))


def test_a_value_and_its_gradient_inside():
    def loss(x):
        value, slope = value_and_grad(rosenbrock)(x)
        return value + 0.1 * slope @ slope

    check_gradient(loss, X)


def test_an_inner_step_of_descent():
    def inner(w, data):
        return np.sum((np.tanh(data @ w) - 0.5) ** 2)

    def outer(w, data):
        for _ in range(3):
            w = w - 0.1 * grad(inner)(w, data)
        return inner(w, data)

    data = np.random.default_rng(3).normal(size=(5, 3))
    check_gradient(outer, X, data, argnums=(0, 1))


def test_containers_and_names():
    def energy(params, scale):
        return scale * np.sum(params["w"] ** 2 * params["b"])

    def loss(params, scale):
        bar = grad(energy, argnums="params")(params, scale)
        return np.sum(bar["w"] ** 3) + np.sum(bar["b"])

    check_gradient(loss, {"w": X, "b": X + 1.0}, 0.7, argnums=(0, 1))


def test_auxiliary_data_inside():
    def energy(x):
        y = x**2
        return np.sum(y), y

    def loss(x):
        bar, y = grad(energy, has_aux=True)(x)
        return np.sum(bar * y)

    check_gradient(loss, X)


def test_a_gradient_that_is_written_to_is_an_array_of_its_own():
    def loss(x):
        g = grad(lambda y: np.sum(y * x))(x)  # x itself
        g[0] = 5.0
        return np.sum(g * x)

    check_gradient(loss, X)


def test_vjp_inside():
    def squares(x):
        y, pullback = vjp(lambda x: np.stack([x[0] * x[1], np.sin(x[2]), x[0] ** 2 * x[2]]), x)
        rows = []
        for i in range(y.size):
            unit = np.zeros(y.size)
            unit[i] = 1.0
            rows.append(pullback(unit)[0])
        return np.sum(np.stack(rows) ** 2)

    check_gradient(squares, X)


def test_a_pullback_that_is_called_twice():
    def loss(x):
        y, pullback = vjp(lambda x: iterated(x, 4), x, argnums=0)
        return np.sum(pullback(np.ones(3)) * pullback(y))

    check_gradient(loss, X)


def test_jvp_inside():
    def along(params, n):
        s = params["a"]
        for _ in range(n):
            s = np.sin(s) * params["b"]
        return s

    def loss(params, d):
        y, y_dot = jvp(along, (params, 3), ({"a": d, "b": 2 * d},), argnums=(0,))
        return np.sum(y * y_dot)

    check_gradient(loss, {"a": X, "b": X + 1.0}, np.array([0.1, 0.0, -2.0]), argnums=(0, 1))


def test_reverse_over_forward_over_reverse():
    def loss(x, v):
        return np.sum(jvp(grad(rosenbrock), (x,), (v,))[1] ** 2)

    check_gradient(loss, X, np.array([1.0, 0.0, 2.0]), argnums=(0, 1))


def power(x, n):
    if n == 0:
        return 1.0
    half = power(x, n // 2)
    if n % 2:
        return half * half * x
    return half * half


def halves(x):
    if len(x) < 2:
        return np.sum(np.sin(x) * x)
    k = len(x) // 2
    return halves(x[:k]) * halves(x[k:])


def test_through_recursion():
    second = grad(grad(power))
    assert second(1.3, 5) == pytest.approx(20 * 1.3**3, rel=1e-14)
    assert grad(second)(1.3, 5) == pytest.approx(60 * 1.3**2, rel=1e-14)
    assert "srcdiff" not in second.source_for(1.3, 5)
    x, v = np.array([0.3, 0.5, 1.2, 0.7, 0.4]), np.array([1.0, 2.0, -1.0, 0.5, 0.0])
    check_gradient(lambda x: np.sum(grad(lambda y: halves(y))(x) * v), x)
    check_gradient(lambda x: jvp(lambda y: halves(y) * power(y[0], 3), (x,), (v,))[1], x)
    check_gradient(lambda x: vjp(lambda y: halves(y), x)[1](1.0)[0] @ v, x)


def test_jacobians_and_hessians_inside():
    def field(x):
        return np.stack([x[0] * x[1], np.sin(x[2]), x[0] ** 2 * x[2]])

    check_gradient(lambda x: np.sum(jacfwd(field)(x) ** 2), X)
    check_gradient(lambda x: np.linalg.det(jacrev(field)(x)), X)
    check_gradient(lambda x: np.sum(hessian(rosenbrock)(x) * np.outer(x, x)), X)
    check_gradient(lambda x, v: v @ hvp(rosenbrock)(x, v), X, np.array([0.1, -2.0, 1.0]), argnums=(0, 1))


# ---------------------------------------------------------------- what only the run knows


def test_through_what_is_summed_to_a_shape_that_only_the_run_knows():
    def correlations(x):
        total = 0.0
        for lag in range(1, 4):
            total = total + np.sum(x[lag:] * x[:-lag]) ** 2
        return total

    x, v = np.linspace(0.3, 1.7, 6), np.linspace(-1.0, 1.0, 6)
    expected = (grad(correlations)(x + 1e-5 * v) - grad(correlations)(x - 1e-5 * v)) / 2e-5
    for product in (hvp(correlations), vhp(correlations)):
        assert np.allclose(product(x, v), expected, rtol=1e-7)


def test_what_has_no_rule_is_refused_and_not_taken_for_a_constant():
    def windows(image, kernel):
        out = 0.0
        for i in range(2):
            for j in range(2):
                out = out + kernel[i, j] * image[i : i + 2, j : j + 2]
        return np.sum(out**3)

    image, kernel = np.arange(9.0).reshape(3, 3), np.array([[0.5, 1.0], [-1.0, 2.0]])
    check_gradient(windows, image, kernel)
    with pytest.raises(NoRule, match="number of axes is not known"):
        hvp(windows)(image, kernel, image)


def test_sums_and_copies_of_lists_in_gradients():
    def loss(x):
        states = []
        for i in range(3):
            x = np.sin(x) + i * x
            states.append(np.sum(x**2))
        return sum(states) * states[0]

    h = hessian(loss)(X)
    assert np.allclose(jacrev(grad(loss))(X), h, rtol=1e-10)
    assert np.allclose(hvp(loss)(X, X), h @ X, rtol=1e-10)
