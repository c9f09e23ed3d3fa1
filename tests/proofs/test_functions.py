"""Whole gradients are proved on symbols: right ones for smooth, piecewise and looping functions, and wrong ones are refuted."""

import math
import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from srcdiff.errors import KindError, NotDifferentiable
from srcdiff.proofs.functions import verify_gradient
from srcdiff.proofs.shortening import shortenings

RNG = np.random.default_rng(0)


def linear(w, b, X, y):
    return np.mean((X @ w + b - y) ** 2)


def linear_grad(w, b, X, y):
    r = X @ w + b - y
    r_bar = 2 / r.size * r
    return X.T @ r_bar, np.sum(r_bar)


LINEAR = RNG.normal(size=5), 0.3, RNG.normal(size=(40, 5)), RNG.normal(size=40)


def classifier(params, X, Y):
    h = np.tanh(X @ params["W1"] + params["b1"])
    z = h @ params["W2"] + params["b2"]
    z = z - np.max(z, axis=1, keepdims=True)
    log_p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.mean(np.sum(Y * log_p, axis=1))


def classifier_grad(params, X, Y):
    W2 = params["W2"]
    h = np.tanh(X @ params["W1"] + params["b1"])
    z = h @ W2 + params["b2"]
    m = np.max(z, axis=1, keepdims=True)
    e = np.exp(z - m)
    s = np.sum(e, axis=1, keepdims=True)
    log_p_bar = -1 / Y.shape[0] * Y
    s_bar = -np.sum(log_p_bar, axis=1, keepdims=True) / s
    z_bar = log_p_bar + s_bar * e
    at_max = z == m
    z_bar -= np.sum(z_bar, axis=1, keepdims=True) * at_max / np.sum(at_max, axis=1, keepdims=True)
    a_bar = (z_bar @ W2.T) * (1 - h * h)
    return {"W1": X.T @ a_bar, "b1": np.sum(a_bar, axis=0), "W2": h.T @ z_bar, "b2": np.sum(z_bar, axis=0)}


PARAMS = {"W1": RNG.normal(size=(6, 8)), "b1": np.zeros(8), "W2": RNG.normal(size=(8, 3)), "b2": np.zeros(3)}
CLASSIFIER = PARAMS, RNG.normal(size=(20, 6)), np.eye(3)[RNG.integers(0, 3, 20)]


def recurrent(W, U, b, xs, target):
    h = np.zeros(W.shape[0])
    hs = []
    for x in xs:
        h = np.tanh(W @ h + U @ x + b)
        hs.append(h)
    return np.sum((np.stack(hs) - target) ** 2)


def recurrent_grad(W, U, b, xs, target):
    h = np.zeros(W.shape[0])
    h_before = []
    hs = []
    for x in xs:
        h_before.append(h)
        h = np.tanh(W @ h + U @ x + b)
        hs.append(h)
    hs_bar = 2 * (np.stack(hs) - target)
    W_bar, U_bar, b_bar, h_bar = np.zeros_like(W), np.zeros_like(U), np.zeros_like(b), np.zeros_like(h)
    for t in reversed(range(len(xs))):
        a_bar = (h_bar + hs_bar[t]) * (1 - hs[t] * hs[t])
        W_bar += np.outer(a_bar, h_before[t])
        U_bar += np.outer(a_bar, xs[t])
        b_bar += a_bar
        h_bar = W.T @ a_bar
    return W_bar, U_bar, b_bar


RECURRENT = tuple(RNG.normal(size=s) for s in [(4, 4), (4, 3), (4,), (7, 3), (7, 4)])


def layers(layers, X, y):
    h = X
    for W, b in layers[:-1]:
        h = np.tanh(h @ W + b)
    W, b = layers[-1]
    return np.mean(((h @ W + b)[:, 0] - y) ** 2)


def layers_grad(layers, X, y):
    (W0, b0), (W1, b1), (W2, b2) = layers
    h0 = np.tanh(X @ W0 + b0)
    h1 = np.tanh(h0 @ W1 + b1)
    r = (h1 @ W2 + b2)[:, 0] - y
    out_bar = np.zeros((r.size, W2.shape[1]), r.dtype)
    out_bar[:, 0] = 2 / r.size * r
    a1_bar = (out_bar @ W2.T) * (1 - h1 * h1)
    a0_bar = (a1_bar @ W1.T) * (1 - h0 * h0)
    return [(X.T @ a0_bar, a0_bar.sum(axis=0)), (h0.T @ a1_bar, a1_bar.sum(axis=0)), (h1.T @ out_bar, out_bar.sum(axis=0))]


LAYERS = (
    [(RNG.normal(size=(m, n)), RNG.normal(size=n)) for m, n in [(3, 6), (6, 5), (5, 1)]],
    RNG.normal(size=(9, 3)),
    RNG.normal(size=9),
)


def solved(A, b):
    return np.sum(np.linalg.solve(A @ A.T + np.eye(len(b)), b) ** 2) + np.log(np.linalg.det(A @ A.T + np.eye(len(b))))


def solved_grad(A, b):
    B = A @ A.T + np.eye(len(b))
    x = np.linalg.solve(B, b)
    b_bar = np.linalg.solve(B.T, 2 * x)
    B_bar = np.linalg.inv(B).T - np.outer(b_bar, x)
    return B_bar @ A + B_bar.T @ A, b_bar


def stepped(y, k):
    for _ in range(3):
        y = y + 0.1 * (k * (np.roll(y, 1) - 2 * y) - y**3)
    return np.sum(y * y)


def stepped_grad(y, k):
    kept = []
    for _ in range(3):
        kept.append(y)
        y = y + 0.1 * (k * (np.roll(y, 1) - 2 * y) - y**3)
    y_bar, k_bar = 2 * y, 0.0
    for y in reversed(kept):
        k_bar += np.sum(0.1 * y_bar * (np.roll(y, 1) - 2 * y))
        y_bar = y_bar + 0.1 * (k * (np.roll(y_bar, -1) - 2 * y_bar) - 0.1 * 30 * y**2 * y_bar)
    return y_bar, k_bar


CASES = [
    (linear, linear_grad, LINEAR, (0, 1)),
    (classifier, classifier_grad, CLASSIFIER, 0),
    (recurrent, recurrent_grad, RECURRENT, (0, 1, 2)),
    (layers, layers_grad, LAYERS, 0),
    (solved, solved_grad, (RNG.normal(size=(5, 5)), RNG.normal(size=5)), (0, 1)),
    (stepped, stepped_grad, (RNG.normal(size=12), 0.4), (0, 1)),
]


@pytest.mark.parametrize(("primal", "gradient", "args", "argnums"), CASES, ids=[c[0].__name__ for c in CASES])
def test_gradient_is_proved(primal, gradient, args, argnums):
    start = time.perf_counter()
    report = verify_gradient(primal, gradient, args, argnums=argnums)
    assert report.proved, str(report)
    assert time.perf_counter() - start < 30
    assert all(entry.outcome == "proved" for entry in report.entries)


@pytest.mark.parametrize(("primal", "gradient", "args", "argnums"), CASES, ids=[c[0].__name__ for c in CASES])
def test_wrong_gradient_is_refuted(primal, gradient, args, argnums):
    def negated(value):
        if isinstance(value, dict):
            return {k: negated(v) for k, v in value.items()}
        return type(value)(negated(v) for v in value) if isinstance(value, (tuple, list)) else -value

    def wrong(*given):
        return negated(gradient(*given))

    def slightly_wrong(*given):
        found = gradient(*given)
        if isinstance(found, tuple):
            return (found[0] * 1.0000001, *found[1:])
        return (
            {**found, "b1": found["b1"] * 1.0000001}
            if isinstance(found, dict)
            else [(found[0][0] * 1.0000001, found[0][1]), *found[1:]]
        )

    for other in (wrong, slightly_wrong):
        report = verify_gradient(primal, other, args, argnums=argnums)
        assert report.refuted and not report, str(report)
        assert " instead of " in str(report)


# ---------------------------------------------------------------- the report


def test_report_of_a_smooth_function():
    report = verify_gradient(linear, linear_grad, LINEAR, argnums=(0, 1))
    assert str(report) == (
        "gradient of `linear` by w, b: proved\n"
        "  shapes   w (3,), b (), X (4, 3), y (4,)\n"
        "           standing for (5,), (), (40, 5), (40,)\n"
        "  entries  4 of 4 equal SymPy's derivative of the primal"
    )
    assert repr(report) == "<Report: gradient of `linear` by w, b: proved>"
    assert report and report.pieces == 1 and report.conditions == ()


def test_report_states_where_the_maximum_is():
    report = verify_gradient(classifier, classifier_grad, CLASSIFIER)
    line = classifier.__code__.co_firstlineno + 3
    assert report.pieces == 3
    assert f"line {line}: the maximum is attained once, here at place " in str(report)
    assert "and on 2 other pieces" in str(report)


def test_report_escapes_html():
    def f(x):
        return np.sum(np.where(x < 1, x, 2 * x))

    report = verify_gradient(f, lambda x: np.where(x < 1, 1.0, 2.0), (np.array([0.3, 2.0, -1.0]),))
    assert report.proved and "two sides of < differ; it holds in" in str(report)
    assert "&lt; differ" in report._repr_html_() and "< differ" not in report._repr_html_()


@pytest.mark.parametrize(
    ("gradient", "said"),
    [
        (lambda w, b, X, y: (linear_grad(w, b, X, y)[0], np.zeros(2)), "the gradient by b has shape (2,) instead of ()"),
        (lambda w, b, X, y: (None, 0.0), "w has no gradient"),
        (lambda w, b, X, y: (w.unknown, 0.0), "the source does not run on symbols: AttributeError"),
    ],
)
def test_report_says_why_nothing_is_proved(gradient, said):
    report = verify_gradient(linear, gradient, LINEAR, argnums=(0, 1))
    assert not report.proved and not report.refuted and said in str(report)


def test_report_says_that_the_gradient_branches():
    def f(a):
        return np.linalg.det(a)

    def branching(a):
        return np.linalg.det(a) * np.linalg.inv(a).T if np.linalg.det(a) != 0 else a

    report = verify_gradient(f, branching, (np.array([[1.5, 0.5], [0.25, 2.0]]),))
    assert report.proved and "the branches of the gradient's source are taken as here" in str(report)
    assert verify_gradient(f, lambda a: a if np.linalg.det(a) != 0 else a, (np.eye(2),)).refuted


# ---------------------------------------------------------------- structures, shapes, points


class Pair(NamedTuple):
    a: np.ndarray
    b: float


@dataclass
class Model:
    pair: Pair
    power: int


def test_nested_structures_have_named_entries():
    model = Model(Pair(np.array([0.5, -1.0]), 2.0), 3)

    def f(m, scale):
        return scale["s"][0] * np.sum(m.pair.a**m.power) * m.pair.b

    def f_grad(m, scale):
        a, b = m.pair
        s, total = scale["s"][0], np.sum(a**m.power)
        return Model(Pair(3 * s * b * a**2, s * total), None), {"s": [total * b]}

    report = verify_gradient(f, f_grad, (model, {"s": [1.5]}), argnums=(0, 1))
    assert report.proved, str(report)
    assert [e.name for e in report.entries] == ["m.pair.a[0]", "m.pair.a[1]", "m.pair.b", "scale['s'][0]"]


def test_helpers_closures_methods_and_modules_are_followed():
    factor = 2.5

    class Loss:
        scale = 3.0

        def __call__(self, x):
            return self.scale * helper(x) + factor * math.exp(x[0])

    def helper(x):
        import numpy

        return numpy.sum(x**2)

    def gradient(x):
        x_bar = 6.0 * x
        x_bar[0] += 2.5 * math.exp(x[0])
        return x_bar

    for f in (Loss(), Loss().__call__):
        report = verify_gradient(f, gradient, (np.array([0.1, 0.2]),))
        assert report.proved, str(report)


def test_arguments_are_left_alone_and_prints_are_silent(capsys):
    x = np.array([0.1, 0.2, 0.3])

    def f(x):
        print("seen", f"{x[0]:.3f}")
        x[0] = 2 * x[1]
        return np.sum(x**2)

    report = verify_gradient(f, lambda x: np.array([0.0, 10 * x[1], 2 * x[2]]), (x,))
    assert report.proved, str(report)
    assert x.tolist() == [0.1, 0.2, 0.3] and capsys.readouterr().out == ""


def test_lengths_are_shortened_consistently():
    shapes = [(5,), (40, 5), (40,), (1, 40)]
    for lengths in shortenings(shapes):
        assert lengths[1] == 1 and lengths[5] > 1 and lengths[40] > 1
    assert next(shortenings(shapes))[5] != next(shortenings(shapes))[40]
    assert next(shortenings([(2, 3)])) == {2: 2, 3: 3}


def test_guard_chooses_the_shapes():
    seen = []

    def guard(w, b, X, y):
        seen.append(X.shape)
        return X.shape[1] == 2

    report = verify_gradient(linear, linear_grad, LINEAR, argnums=(0, 1), guard=guard)
    assert report.proved and dict(report.shapes)["w"] == (2,) and len(seen) > 1
    with pytest.raises(KindError, match="too large"):
        verify_gradient(linear, linear_grad, LINEAR, argnums=(0, 1), guard=lambda *args: False)


def test_a_function_that_needs_its_shapes_gets_them():
    def f(x):
        return np.sum(x.reshape(3, 4) ** 2)

    report = verify_gradient(f, lambda x: 2 * x, (RNG.normal(size=12),))
    assert report.proved and dict(report.shapes)["x"] == (12,)


def test_points_stay_in_the_domain_of_the_example():
    x = np.array([1e-3, 0.5, 7.0])
    report = verify_gradient(
        lambda x: np.sum(np.log(x) * np.sqrt(x)), lambda x: 1 / np.sqrt(x) + 0.5 * np.log(x) / np.sqrt(x), (x,)
    )
    assert report.proved, str(report)


# ---------------------------------------------------------------- errors


def test_data_dependent_branch_is_an_error_that_names_the_line():
    def f(x):
        if x[0] > 0:
            return x[0]
        return -x[0]

    with pytest.raises(KindError) as caught:
        verify_gradient(f, lambda x: np.ones(2), (np.ones(2),))
    text = str(caught.value)
    assert f"test_functions.py:{f.__code__.co_firstlineno + 1}: `f` branches on its data" in text
    assert "if x[0] > 0:" in text and "^^^^^^^^" in text and "check_grads" in text


def test_function_without_a_symbolic_form_is_an_error():
    def f(x):
        return np.sum(np.linalg.svd(x, compute_uv=False))

    with pytest.raises(NotDifferentiable, match="cannot be run on symbols"):
        verify_gradient(f, lambda x: x, (RNG.normal(size=(2, 3)),))


def test_result_must_be_a_number():
    with pytest.raises(NotDifferentiable, match="gives no number"):
        verify_gradient(lambda x: x, lambda x: x, (np.ones(3),))


def test_exception_of_the_function_comes_through():
    def f(x):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        verify_gradient(f, lambda x: x, (np.ones(3),))
