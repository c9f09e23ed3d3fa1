"""Forward mode: jvp, linearize, jacfwd.

That jvp agrees with reverse mode and with differences is tested wherever gradients are (`tests/support/gradients.py`,
`tests/random`), and for every rule in `tests/proofs/test_forward.py`.
"""

import copy
import math
import pickle
import threading
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

from srcdiff import KindError, NoRule, NotDifferentiable, grad, jacfwd, jvp, linearize, vjp
from srcdiff.proofs import numeric
from tests import test_algorithms, test_exceptions, test_programs, test_recursion, test_writes
from tests.support.gradients import leaves, same

X = np.array([0.3, -0.7, 1.1])
V = np.array([1.0, 0.5, -2.0])


# ---------------------------------------------------------------- the interface


def test_value_and_tangent():
    out, out_dot = jvp(lambda x, y: x * np.sin(y), (2.0, X), (0.5, V))
    assert np.allclose(out, 2.0 * np.sin(X)) and np.allclose(out_dot, 0.5 * np.sin(X) + 2.0 * np.cos(X) * V)
    assert jvp(math.exp, (0.0,), (2.0,)) == (1.0, 2.0)
    assert same(jvp(np.tanh, (X,), (V,)), (np.tanh(X), (1 - np.tanh(X) ** 2) * V), rtol=1e-14)


def test_tangents_of_some_arguments():
    def f(x, y, n):
        return x**n * y

    assert jvp(f, (2.0, 3.0, 2), (1.0, None, None)) == (12.0, 12.0)
    assert jvp(f, (2.0, 3.0, 2), (None, 1.0, None)) == (12.0, 4.0)
    assert jvp(f, (2.0, 3.0, 2), (None, None, None)) == (12.0, 0.0)
    assert jvp(f, (2.0, 3.0, 2), 1.0, argnums=1) == (12.0, 4.0)
    assert jvp(f, (2.0, 3.0, 2), (1.0, 1.0), argnums=("x", 1)) == (12.0, 16.0)
    assert "y_dot" not in jvp(f, argnums=0).source_for(2.0, 3.0, 2)


def test_parameters_of_every_kind():
    def f(x, /, y=2.0, *more, scale=3.0, **others):
        return x * y * scale + sum(more) + others["shift"]

    assert jvp(f, (1.0,), (1.0,), shift=1.0) == (7.0, 6.0)
    assert jvp(f, (1.0, 4.0, 5.0), (1.0, 1.0, 7.0), shift=1.0, scale=2.0) == (14.0, 17.0)
    assert jvp(f, (1.0,), (1.0, 1.0), argnums=("x", "scale"), shift=1.0) == (7.0, 8.0)


Pair = namedtuple("Pair", "first second")


@dataclass
class Layer:
    W: np.ndarray
    b: np.ndarray
    name: str = "dense"


def test_containers_of_arguments_and_results():
    def f(layer, xs):
        y = layer.W @ xs["x"] + layer.b
        return {"y": y, "pair": Pair(y[0], len(y)), "list": [xs["x"], 2.0, "text"], "layer": Layer(layer.W * 2.0, y)}

    layer, xs = Layer(np.eye(2, 3), np.ones(2)), {"x": X, "unused": 3}
    layer_dot, xs_dot = Layer(np.ones((2, 3)), np.array([1.0, 2.0])), {"x": V, "unused": None}
    out, dot = jvp(f, (layer, xs), (layer_dot, xs_dot))
    y_dot = layer_dot.W @ X + layer.W @ V + layer_dot.b
    assert np.allclose(dot["y"], y_dot) and dot["pair"] == Pair(y_dot[0], None)
    assert same(dot["list"], [V, 0.0, None])
    assert type(dot["layer"]) is Layer and np.array_equal(dot["layer"].W, 2 * layer_dot.W) and dot["layer"].name is None
    assert out["list"][2] == "text"
    again = jvp(f, (layer, xs), ({"W": layer_dot.W.tolist(), "b": [1, 2], "name": None}, xs_dot))
    assert same(again[1]["y"], dot["y"])


def test_what_has_no_derivative_has_the_tangent_none():
    def f(x, n):
        return x * n, n + 1, x > 0, "text", np.argsort(np.array([x, 0.0])), None

    _, dot = jvp(f, (2.0, 3), (1.0, None))
    assert dot == (3.0, None, None, None, None, None)


def test_auxiliary_data():
    def f(x):
        return np.sum(x * x), {"size": x.size, "x": x}

    value, dot, aux = jvp(f, (X,), (V,), has_aux=True)
    assert (value, dot) == (np.sum(X * X), 2 * X @ V) and aux["size"] == 3
    value, linear, aux = linearize(f, X, has_aux=True)
    assert linear(V) == pytest.approx(2 * X @ V) and aux["size"] == 3
    jacobian, aux = jacfwd(f, has_aux=True)(X)
    assert np.allclose(jacobian, 2 * X) and aux["size"] == 3


def test_results_are_fresh():
    x, v = X.copy(), V.copy()
    for f in (lambda x: x, lambda x: x[1:], lambda x: (x, x), lambda x: np.reshape(x, (3, 1)), lambda x: [x * 1.0, x.T]):
        arrays = [a for _, a in leaves(jvp(f, (x,), (v,))) if isinstance(a, np.ndarray)]
        for i, a in enumerate(arrays):
            assert a.flags.writeable
            assert not any(np.shares_memory(a, other) for other in (x, v, *arrays[:i]))


def test_single_precision():
    def f(x, s):
        total = np.float32(0.0)
        for i in range(3):
            total = total + np.tanh(x[i] * s)
        return total, x * 2.0, np.sum(x) / x.size, np.zeros_like(x)

    x = X.astype(np.float32)
    out, dot = jvp(f, (x, np.float32(0.5)), (V, 1.0))
    assert [a.dtype for a in out] == [a.dtype for a in dot] == [np.float32] * 4
    out, linear = linearize(f, x, np.float32(0.5))
    assert [a.dtype for a in linear(V, 1.0)] == [np.float32] * 4
    assert [a.dtype for a in jacfwd(f)(x, np.float32(0.5))] == [np.float32] * 4


def test_single_precision_of_a_number_beside_arrays():
    def f(a, s):
        m = np.sum(s) if len(a) > 2 else a
        return np.sum(m)

    a = X.astype(np.float32)
    assert [v.dtype for v in jvp(f, (a, a), (a, None))] == [np.float32] * 2


@pytest.mark.parametrize(
    "primals, tangents, message",
    [
        ((X,), (V[:2],), "`x_dot` is of shape (2,) and dtype float64; the argument is of shape (3,) and dtype float64"),
        ((X,), (V, V), "jvp takes a tuple or list of 1 tangent here, one for each argument that is differentiated by"),
        ((X,), V, "jvp takes a tuple or list of 1 tangent here, one for each argument that is differentiated by"),
        (X, (V,), "jvp takes its primals in a tuple or list, not in a `ndarray`"),
        (([1.0, 2.0],), ([1.0],), "`x_dot` is no sequence of 2, as the argument is"),
        (({"a": 1.0},), ({"b": 1.0},), "`x_dot` has other keys than the argument: 'a'"),
    ],
)
def test_tangents_that_do_not_fit(primals, tangents, message):
    with pytest.raises(KindError) as caught:
        jvp(lambda x: x, primals, tangents)
    assert str(caught.value).splitlines()[0] == message


def test_refusals_name_the_line():
    with pytest.raises(NoRule, match=r"test_forward\.py:\d+: no derivative rule"):
        jvp(lambda x: np.fft.fft(x).real, (X,), (V,))
    with pytest.raises(NotDifferentiable, match="is of type int, which has no derivative"):
        jvp(lambda n: n * 2, (3,), (1.0,))


def test_errors_name_the_users_line():
    def f(x):
        return math.log(x)

    with pytest.raises(ValueError) as caught:
        jvp(f, (-1.0,), (1.0,))
    assert any("return math.log(x)" in note for note in caught.value.__notes__)


def squared(x):
    return np.sum(x * x)


def test_pickles_and_threads():
    made = pickle.loads(pickle.dumps(jvp(squared)))
    assert made((X,), (V,))[1] == pytest.approx(2 * X @ V)
    assert pickle.loads(pickle.dumps(jacfwd(squared)))(X) == pytest.approx(2 * X)
    results = []

    def work(k):
        results.append(jvp(lambda x: np.sum(x**3) * k, (X,), (V,))[1] / k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 9)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert np.allclose(results, 3 * X**2 @ V) and len(results) == 8


# ---------------------------------------------------------------- what is emitted


def source(f, *args, **options):
    return jvp(f, comments=False, **options).source_for(*args)


def test_an_update_in_place_stays_in_place_and_nothing_is_kept():
    def diffuse(u, k):
        u = u.copy()
        for _ in range(100):
            u[1:-1] += k * (u[2:] - 2 * u[1:-1] + u[:-2])
        return u

    text = source(diffuse, np.ones(9), 0.2)
    assert "kept" not in text and "append" not in text
    assert "u[1:-1] += k * " in text and "u_dot_1[1:-1] += k_dot * " in text
    assert text.count(".copy()") == 2


def test_lists_grow_beside_each_other():
    def f(xs):
        hs, h = [], 0.0
        for x in xs:
            h = np.tanh(h + x)
            hs.append(h)
        return np.array(hs)

    assert source(f, X) == (
        "def f_jvp(xs, *, xs_dot):\n"
        "    hs = []\n"
        "    h = 0.0\n"
        "    h_dot = 0.0\n"
        "    hs_dot = []\n"
        "    for x, x_dot in zip(xs, xs_dot):\n"
        "        h = np.tanh(h + x)\n"
        "        h_dot = (1 - h * h) * (h_dot + x_dot)\n"
        "        hs_dot.append(h_dot)\n"
        "        hs.append(h)\n"
        "    return np.array(hs), np.array(hs_dot)\n"
    )


@pytest.mark.parametrize(
    "f, args, expected",
    [
        (lambda x: np.sum(x), (X,), "np.sum(x), x_dot.sum()"),
        (lambda x: x @ x, (X,), "x @ x, 2 * (x @ x_dot)"),
        (lambda x: np.sort(x), (X,), "np.sort(x), x_dot[np.argsort(x)]"),
        (lambda a, b: np.concatenate([a, b]), (X, X), "np.concatenate([a, b]), np.concatenate([a_dot, b_dot])"),
        (lambda a, b: a * b, (X, X), "a * b, b * a_dot + a * b_dot"),
        (lambda A: A @ A.T, (np.eye(3),), "A @ A.T, product + product.T"),
        (lambda A: np.max(A, axis=1), (np.eye(3),), "max_A, (ratio_dot / is_equal.sum(axis=1, keepdims=True))[:, 0]"),
    ],
)
def test_sources_of_single_functions(f, args, expected):
    assert source(f, *args).splitlines()[-1].strip() == f"return {expected}"


def test_a_quotient_is_divided_once():
    assert "return ratio, (a_dot - ratio * b_dot) / b\n" in source(lambda a, b: a / b, X, X)


def test_a_variable_of_the_users_may_have_the_name_of_a_tangent():
    def f(x):
        x_dot = x * 2.0
        x_dot_1 = x_dot * x
        return x_dot + x_dot_1

    assert jvp(f, (3.0,), (1.0,)) == (24.0, 14.0)


def test_a_sum_that_may_be_of_nothing():
    def f(x, flag):
        found = []
        for row in x:
            if flag > 0.0:
                found.append(row)
        return np.sum(sum(found)) * 2.0

    assert jvp(f, (np.eye(3), -1.0), (np.eye(3), 0.0)) == (0.0, 0.0)
    assert jvp(f, (np.eye(3), 1.0), (np.eye(3), 0.0)) == (6.0, 6.0)


# ---------------------------------------------------------------- what a partial raises is not caught


def test_a_try_statement_does_not_catch_what_a_tangent_raises():
    def f(x):
        try:
            y = math.sqrt(x) * 2.0
        except ZeroDivisionError:
            y = 1.0
        return y

    assert f(0.0) == 0.0
    with pytest.raises(ZeroDivisionError):
        jvp(f, (0.0,), (1.0,))
    assert jvp(f, (4.0,), (1.0,)) == (4.0, 0.5)


def test_a_try_statement_in_a_loop():
    def f(x):
        total = 0.0
        for i in range(4):
            try:
                total = total + math.log(x - i)
            except ValueError:
                total = total + x * i
        return total

    assert jvp(f, (2.5,), (1.0,))[1] == pytest.approx(vjp(f, 2.5)[1](1.0)[0])


# ---------------------------------------------------------------- linearize


def programs():
    found = [pytest.param(f, args, (0,), id=name) for name, (f, args) in test_writes.PROGRAMS.items()]
    found += [pytest.param(*p.values, (X,), (0,), id=p.id) for p in test_exceptions.PROGRAMS]
    for p in (*test_programs.PROGRAMS, *test_recursion.CASES):
        found.append(pytest.param(*p.values, id=p.id))
    for name, p in test_algorithms.PROGRAMS.items():
        found.append(pytest.param(p.loss, p.arguments(p.sizes[-1]), p.argnums, id=name))
    return found


@pytest.mark.parametrize("f, args, argnums", programs())
def test_linearized_programs(f, args, argnums):
    """The linear map gives what jvp gives, twice, and writes to nothing."""
    numbers = (argnums,) if isinstance(argnums, (int, str)) else tuple(argnums)
    args, rng = copy.deepcopy(args), np.random.default_rng(1)
    dots = tuple(numeric.direction_like(rng, args[n]) for n in numbers)
    value, dot = jvp(f, args, dots, argnums=numbers)
    before = copy.deepcopy((args, dots))
    out, linear = linearize(f, *args, argnums=numbers)
    first = linear(*dots)
    assert same((args, dots), before)
    assert same(linear(*dots), first) and same(out, value, rtol=1e-12)
    single = any(getattr(x, "dtype", None) == np.float32 for _, x in leaves((args, value)))
    assert np.allclose(first, dot, rtol=1e-4 if single else 1e-9, atol=1e-5 if single else 1e-9)


def test_the_values_are_computed_once(capsys):
    def noisy(x):
        print("computed")
        return np.tanh(np.sin(x))

    value, linear = linearize(noisy, X)
    assert np.allclose(linear(V), (1 - value**2) * np.cos(X) * V)
    assert capsys.readouterr().out == "computed\n"
    assert linear.source.count("np.tanh") == linear.source.count("np.sin") == 1


def test_what_is_kept_is_the_functions_own():
    x = X.copy()
    _, linear = linearize(lambda x: np.sin(x) * x[0], x)
    expected = jvp(lambda x: np.sin(x) * x[0], (X,), (V,))[1]
    x[:] = 0.0
    assert np.allclose(linear(V), expected)


def test_tangents_of_linear_maps_are_checked():
    _, linear = linearize(lambda x, y: x * y, X, 2.0)
    with pytest.raises(KindError, match="2 tangents are wanted"):
        linear(V)
    with pytest.raises(KindError, match=r"`tangents\[0\]` is of shape \(2,\)"):
        linear(V[:2], 1.0)


# ---------------------------------------------------------------- jacfwd


def rows(f, *args, argnum=0):
    """The Jacobian of an array by reverse mode."""
    y, pullback = vjp(f, *args)
    y = np.asarray(y)
    found = []
    for place in np.ndindex(y.shape):
        seed = np.zeros_like(y)
        seed[place] = 1.0
        found.append(pullback(seed[()])[argnum])
    return np.reshape(found, y.shape + np.shape(args[argnum]))


def network(x, W):
    h = np.tanh(W @ x)
    for k in range(3):
        h = np.sin(h * x[k]) + h
        if h[0] > 0.3:
            h = h / 2
    return h


def halving(x):
    u = x.copy()
    while np.sum(u * u) > 0.1:
        u[1:] = np.sin(u[:-1]) * 0.5
        u[0] *= 0.7
        if u[0] < 0.01:
            break
    return u


W = np.random.default_rng(3).normal(size=(4, 3))


@pytest.mark.parametrize(
    "f, args",
    [
        (network, (X, W)), (halving, (X,)), (halving, (np.zeros(3),)), (lambda x: np.outer(x, x), (X,)),
        (lambda x: 3.0 * x, (2.0,)),
        (lambda W: np.sum(W, axis=0), (W,)), (lambda W: np.sum(W * W), (W,)), (lambda x, W: W @ (x * np.sum(W)), (X, W)),
        (lambda x: np.stack([x, x * x], axis=1), (X,)), (lambda x: np.ones(2), (X,)), (lambda x: x[:0], (X,)),
    ],
)  # fmt: skip
def test_jacobians_agree_with_reverse_mode(f, args):
    for argnum in range(len(args)):
        found = jacfwd(f, argnum)(*args)
        expected = rows(f, *args, argnum=argnum)
        assert np.shape(found) == expected.shape and np.allclose(found, expected, rtol=1e-12, atol=1e-14)
    both = jacfwd(f, tuple(range(len(args))))(*args)
    assert all(np.allclose(part, rows(f, *args, argnum=i)) for i, part in enumerate(both))


def test_jacobians_of_containers():
    def f(p, t):
        return {"y": p["W"] @ X * t, "parts": (np.sum(p["b"]) * t, 3, X)}

    p = {"W": W, "b": np.ones(2), "name": "n"}
    found = jacfwd(f, (0, 1))(p, 1.5)
    assert found["y"][0]["W"].shape == (4, 4, 3) and found["y"][0]["b"].shape == (4, 2) and found["y"][0]["name"] is None
    assert np.allclose(found["y"][1], W @ X) and np.allclose(found["parts"][0][0]["b"], 1.5)
    assert found["parts"][0][1] == 2.0 and found["parts"][1] is None
    assert not found["parts"][2][0]["W"].any() and found["parts"][2][0]["W"].shape == (3, 4, 3)


def test_the_jacobian_of_a_gradient_is_the_hessian():
    def rosenbrock(x):
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    hessian = jacfwd(grad(rosenbrock))(X)
    a, b, c = X
    expected = [
        [1200 * a * a - 400 * b + 2, -400 * a, 0.0],
        [-400 * a, 202 + 1200 * b * b - 400 * c, -400 * b],
        [0.0, -400 * b, 200.0],
    ]
    assert np.allclose(hessian, expected, rtol=1e-12)
    assert np.allclose(jvp(grad(rosenbrock), (X,), (V,))[1], expected @ V)


def test_the_primal_is_evaluated_once_in_a_jacobian():
    text = jacfwd(network, comments=False).source_for(X, W)
    assert text.count("np.tanh") == 1 and text.count("np.sin") == 1


def test_jacobians_by_a_list_of_numbers():
    numbers = [float(i) for i in range(10)]
    assert jacfwd(lambda xs: sum(xs) * xs[2])(numbers) == [2.0, 2.0, 47.0] + [2.0] * 7


def test_a_list_that_grows_has_no_jacobian():
    def f(x):
        found = []
        for i in range(20):
            found.append(x * i)
        return found

    with pytest.raises(KindError, match="returns a value of unknown shape"):
        jacfwd(f)(2.0)


def test_jacobians_show_what_they_are():
    J = jacfwd(network)
    assert repr(J) == "<jacobian of network by x>" and repr(jvp(network)) == "<jvp of network>"
    assert J.source_for(X, W).startswith("def network_jacfwd(x, W):\n")
    assert jacfwd(argnums=1)(network)(X, W).shape == (4, 4, 3)


# ---------------------------------------------------------------- another one


@pytest.mark.parametrize("f", [lambda x: x @ x * np.sort(x) / np.max(x), lambda x: np.prod(x) * np.linalg.norm(x)])
def test_jax_agrees(f):
    jax = pytest.importorskip("jax", reason="jax is not installed: pip install jax")
    jax.config.update("jax_enable_x64", True)
    theirs = type(f)(f.__code__, {"np": jax.numpy})
    expected = jax.jvp(theirs, (X,), (V,))
    assert all(np.allclose(a, b, rtol=1e-12) for a, b in zip(jvp(f, (X,), (V,)), expected))
