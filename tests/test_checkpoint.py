"""checkpoint: what is computed again in the reverse sweep rather than kept, as a function and around loops."""

import math

import numpy as np
import pytest

import srcdiff
from srcdiff import checkpoint, custom_vjp, grad, hvp, jacfwd, jvp, stop_gradient, vhp, vjp

from .support.gradients import check_gradient


def flat(value):
    return np.concatenate([flat(v) for v in value]) if isinstance(value, (tuple, list)) else np.ravel(value)


def agree(one, other, rtol=1e-11):
    np.testing.assert_allclose(flat(one), flat(other), rtol=rtol, atol=1e-13)


# ---------------------------------------------------------------- functions


def step(x, w):
    h = np.tanh(w * x)
    return np.sin(h) + x


def network(x, w, layer):
    for _ in range(3):
        x = layer(x, w)
    return np.sum(x * x)


def in_line(x, w):
    return network(x, w, step)


def again(x, w):
    return network(x, w, checkpoint(step))


X, W = np.array([0.3, 0.5]), np.array([1.0, 2.0])


def test_a_function_is_run_again():
    check_gradient(again, X, W, argnums=(0, 1))
    agree(grad(again, argnums=(0, 1))(X, W), grad(in_line, argnums=(0, 1))(X, W), rtol=0)
    source = grad(again, argnums=(0, 1), comments=False).source_for(X, W)
    assert "kept.append(x)\n" in source
    assert "x_bar, w_bar_1 = step_reverse(x, w, x_bar)" in source
    assert source.count("np.tanh") == 2


@pytest.mark.parametrize(
    "derivative",
    [
        lambda f: jvp(f, (X, W), (W, X)),
        lambda f: vjp(f, X, W)[1](2.0),
        lambda f: jacfwd(f, argnums=1)(X, W),
        lambda f: hvp(f)(X, W, W),
        lambda f: vhp(f)(X, W, W),
        lambda f: grad(lambda x, w: np.sum(grad(f)(x, w) * w), argnums=(0, 1))(X, W),
        lambda f: grad(lambda x, w: np.sum(grad(lambda x: np.sum(grad(f)(x, w) * w))(x)), argnums=(0, 1))(X, W),
    ],
)
def test_a_function_is_run_again_in_compositions(derivative):
    agree(derivative(again), derivative(in_line))


def test_checkpoint_is_a_decorator():
    @checkpoint
    def square(x):
        return x * x

    assert square(3.0) == 9.0
    assert grad(square)(3.0) == 6.0
    assert grad(grad(square))(3.0) == 2.0
    assert grad(lambda x: square(x) * square(x + 1))(3.0) == 2 * 3.0 * 16.0 + 9.0 * 8.0


def test_what_a_function_reads_around_it_has_an_adjoint():
    def f(x, w):
        y = x * w
        return checkpoint(lambda z: np.sin(z) * y)(x * x) + y

    def plain(x, w):
        y = x * w
        return np.sin(x * x) * y + y

    agree(grad(f, argnums=(0, 1))(0.7, 1.3), grad(plain, argnums=(0, 1))(0.7, 1.3))


def test_containers_go_through():
    def layer(p, x):
        return {"x": np.tanh(p["W"] @ x + p["b"]), "size": 2}

    def f(p, x, layer):
        for _ in range(2):
            x = layer(p, x)["x"]
        return np.sum(x)

    p = {"W": np.arange(4.0).reshape(2, 2) / 3, "b": np.ones(2)}
    mine, theirs = (grad(f)(p, X, g) for g in (checkpoint(layer), layer))
    agree((mine["W"], mine["b"]), (theirs["W"], theirs["b"]))


def test_checkpoints_within_checkpoints():
    def f(x):
        inner = checkpoint(math.sin)
        outer = checkpoint(lambda y: inner(y * y) + inner(y))
        return outer(outer(x))

    def plain(x):
        def outer(y):
            return math.sin(y * y) + math.sin(y)

        return outer(outer(x))

    agree(grad(f)(0.6), grad(plain)(0.6))
    agree(grad(grad(f))(0.6), grad(grad(plain))(0.6))


def test_rules_and_stops_within_checkpoints():
    @custom_vjp
    def double(x):
        return x * 2.0

    double.defvjp(lambda x: (double(x), None), lambda _, out_bar: (out_bar * 5.0,))
    f = checkpoint(lambda x: double(x) * stop_gradient(x))
    assert f(3.0) == 18.0
    assert grad(f)(3.0) == 15.0
    assert grad(lambda x: f(x) * x)(3.0) == 15.0 * 3.0 + 18.0
    assert grad(grad(lambda x: f(x) * x))(3.0) == 15.0 * 2


def test_effects_are_refused():
    def noisy(x):
        print(x)
        return x * x

    with pytest.raises(srcdiff.SyntaxNotAccepted, match="`print` has an effect, in `noisy`, which checkpoint runs again"):
        grad(checkpoint(noisy))(2.0)


def test_writes_to_arguments_are_refused():
    def write(x):
        x[0] = 1.0
        return np.sum(x)

    with pytest.raises(srcdiff.SyntaxNotAccepted, match="is written to in a function with a derivative of its own"):
        grad(lambda x: checkpoint(write)(x * 2.0))(X)

    def own(x):
        y = x.copy()
        y[0] = y[1] * 3.0
        return np.sum(y * y)

    agree(grad(checkpoint(own))(X), grad(own)(X))


# ---------------------------------------------------------------- loops


def scalars(x, w, n, budget):
    s = 0.0
    with checkpoint():
        for k in range(n):
            x = x - 0.01 * w * x**3 + 0.001 * k * math.sin(x)
            s += x
    return x + 0.1 * s


def scalars_plain(x, w, n, budget):
    s = 0.0
    for k in range(n):
        x = x - 0.01 * w * x**3 + 0.001 * k * math.sin(x)
        s += x
    return x + 0.1 * s


@pytest.mark.parametrize("trips", [0, 1, 2, 3, 7, 64, 65, 300])
def test_any_number_of_trips(trips):
    gradient = grad(scalars, argnums=(0, 1))
    agree(gradient(1.0, 0.5, trips, None), grad(scalars_plain, argnums=(0, 1))(1.0, 0.5, trips, None))


def with_budget(budget):
    namespace = {"checkpoint": checkpoint, "math": math}
    text = (
        "def f(x, n):\n"
        f"    with checkpoint(budget={budget}):\n"
        "        for _ in range(n):\n"
        "            x = x + 0.1 * math.sin(x)\n"
        "    return x\n"
    )
    from srcdiff.emit.load import register

    register(f"<budget {budget}>", text)
    exec(compile(text, f"<budget {budget}>", "exec"), namespace)
    return namespace["f"]


@pytest.mark.parametrize("budget", [1, 2, 3, 5, 20, 1000])
def test_any_budget(budget):
    def plain(x, n):
        for _ in range(n):
            x = x + 0.1 * math.sin(x)
        return x

    f = with_budget(budget)
    for trips in (0, 1, 2, 9, 50):
        agree(grad(f)(0.3, trips), grad(plain)(0.3, trips))


def heat(u, c, xs):
    u = u.copy()
    total = 0.0
    with checkpoint(budget=6):
        for i, x in enumerate(xs, 2):
            u[1:-1] += 0.1 * c * (u[2:] - 2 * u[1:-1] + u[:-2])
            u[0] = x * i
            if u[1] > 0.5:
                u[2] = u[2] * 0.9
            total += np.sum(u**2)
    return total


def heat_plain(u, c, xs):
    u = u.copy()
    total = 0.0
    for i, x in enumerate(xs, 2):
        u[1:-1] += 0.1 * c * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[0] = x * i
        if u[1] > 0.5:
            u[2] = u[2] * 0.9
        total += np.sum(u**2)
    return total


HEAT = (np.linspace(0, 1, 6), 0.7, np.sin(np.arange(37.0)))


def test_arrays_in_place():
    check_gradient(heat, *HEAT, argnums=(0, 1, 2))
    source = grad(heat, argnums=(0, 1, 2), comments=False).source_for(*HEAT)
    assert "xs_bar.copy()" not in source  # adjoints of what is around the loop are added to where they are


@pytest.mark.parametrize(
    "derivative",
    [
        lambda f: grad(f, argnums=(0, 1, 2))(*HEAT),
        lambda f: vjp(f, *HEAT)[1](2.0),
        lambda f: jvp(f, HEAT, HEAT),
        lambda f: jacfwd(f)(*HEAT),
        lambda f: hvp(f)(*HEAT, HEAT[0]),
        lambda f: vhp(f)(*HEAT, HEAT[0]),
        lambda f: grad(lambda *a: np.sum(grad(f)(*a) * a[0]), argnums=(0, 1, 2))(*HEAT),
        lambda f: grad(lambda *a: np.sum(grad(lambda u: np.sum(grad(f)(u, *a[1:]) * a[0]))(a[0])))(*HEAT),
    ],
)
def test_loops_in_compositions(derivative):
    agree(derivative(heat), derivative(heat_plain))


def headers(x, ys, n):
    with checkpoint(budget=4):
        for k in range(3, n, 2):
            x = x + 0.01 * k * math.sin(x)
        for k in range(n, -4, -3):
            x = x + 0.01 * k * math.cos(x)
        for y in reversed(ys):
            x = x + y * x
        for y, z in zip(ys, ys[1:]):
            x = x + y * math.sin(z + x)
    return x


def headers_plain(x, ys, n):
    for k in range(3, n, 2):
        x = x + 0.01 * k * math.sin(x)
    for k in range(n, -4, -3):
        x = x + 0.01 * k * math.cos(x)
    for y in reversed(ys):
        x = x + y * x
    for y, z in zip(ys, ys[1:]):
        x = x + y * math.sin(z + x)
    return x


@pytest.mark.parametrize("n", [0, 4, 12, 13])
def test_headers_of_loops(n):
    ys = np.sin(np.arange(12.0)) / 5
    assert headers(0.4, ys, n) == headers_plain(0.4, ys, n)
    agree(grad(headers, argnums=(0, 1))(0.4, ys, n), grad(headers_plain, argnums=(0, 1))(0.4, ys, n))


def adaptive(x, until):
    t = 0.0
    with checkpoint(budget=4):
        while t < until:
            h = 0.1 / (1 + x * x)
            x = x + h * math.sin(x + t)
            t = t + h
    return x


def adaptive_plain(x, until):
    t = 0.0
    while t < until:
        h = 0.1 / (1 + x * x)
        x = x + h * math.sin(x + t)
        t = t + h
    return x


@pytest.mark.parametrize("until", [0.0, 0.05, 3.0])
def test_a_while_loop_counts_its_trips(until):
    for derivative in (grad, lambda f: grad(grad(f)), lambda f: jacfwd(grad(f)), jacfwd):
        agree(derivative(adaptive)(0.4, until), derivative(adaptive_plain)(0.4, until))


@pytest.mark.parametrize("x", [0.4, 2.0, 5.0])
def test_a_loop_that_is_left_before_a_trip_changes_anything(x):
    def f(x, ys):
        with checkpoint(budget=4):
            for y in ys:
                if x > 3.0:
                    break
                x = x + 0.3 * y * math.sin(x)
        return x

    def plain(x, ys):
        for y in ys:
            if x > 3.0:
                break
            x = x + 0.3 * y * math.sin(x)
        return x

    ys = np.abs(np.sin(np.arange(40.0))) + 0.3
    agree(grad(f, argnums=(0, 1))(x, ys), grad(plain, argnums=(0, 1))(x, ys))


def test_a_loop_in_a_loop_and_a_branch():
    def f(x, n):
        for i in range(4):
            if x > 0.2:
                with checkpoint():
                    for k in range(n):
                        for j in range(3):
                            x = x + 0.01 * math.sin(x * (i + k + j))
            x = x * 0.9
        return x

    def plain(x, n):
        for i in range(4):
            if x > 0.2:
                for k in range(n):
                    for j in range(3):
                        x = x + 0.01 * math.sin(x * (i + k + j))
            x = x * 0.9
        return x

    agree(grad(f)(0.5, 20), grad(plain)(0.5, 20))
    agree(hvp(f)(0.5, 20, 1.0), hvp(plain)(0.5, 20, 1.0))


def test_few_states_are_kept():
    """The stack of `reverse_trips` is as deep as the budget says, and no trip is run more often than the schedule does."""
    counts = []
    f = with_budget(16)
    fn = grad(f).compile(0.3, 10)
    source = grad(f, comments=False).source_for(0.3, 10)
    namespace = {"math": math}
    text = source.replace("def run_trips(first, last, x):\n", "def run_trips(first, last, x):\n    note(last - first)\n")
    assert "note(" in text
    namespace["note"] = counts.append
    exec(text, namespace)
    assert namespace["f_grad"](0.3, 1000) == fn(0.3, 1000)
    assert sum(counts) <= 3 * 1000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "    for k in range(9):\n            x = x * 1.5\n            if x > 3.0:\n                break\n",
            "It may be left in the middle of a trip",
        ),
        (
            "    xs = [x]\n        for k in range(9):\n            xs.append(xs[-1] * 1.5)\n            x = xs[-1]\n",
            "It carries a list",
        ),
        ("    for k in range(9):\n            print(k)\n            x = x * 1.5\n", "`print` has an effect, in the loop"),
        ("    x = x * 1.5\n", "there is no loop in the body"),
    ],
)
def test_loops_that_are_refused(text, message):
    from srcdiff.emit.load import register

    source = f"def f(x):\n    with checkpoint():\n    {text}    return x\n"
    name = f"<refused {message}>"
    register(name, source)
    namespace = {"checkpoint": checkpoint}
    exec(compile(source, name, "exec"), namespace)
    with pytest.raises(srcdiff.SyntaxNotAccepted, match=message):
        grad(namespace["f"])(1.0)


def test_wrong_calls():
    with pytest.raises(srcdiff.KindError, match="takes a number of states"):
        checkpoint(budget=0)
    with pytest.raises(srcdiff.KindError, match="takes a function, not int"):
        checkpoint(3)
    with pytest.raises(srcdiff.KindError, match="a function or a budget"):
        checkpoint(math.sin, budget=3)

    def f(x, n):
        with checkpoint(budget=n):
            for _ in range(9):
                x = x * 1.5
        return x

    with pytest.raises(srcdiff.KindError, match="a number of states that is known"):
        grad(f)(1.0, 3)
