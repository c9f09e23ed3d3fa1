"""vjp: results of all structures, pullbacks called again and again, and seeds that do not fit."""

import numpy as np
import pytest

from srcdiff import KindError, check_grads, vjp
from tests.support.gradients import leaves, same

X = np.array([0.5, 1.0, 2.0])
A = np.array([[2.0, 0.3, 0.1], [0.2, 3.0, 0.4], [0.0, 0.5, 1.5]])


def loop(x):
    states = []
    h = x
    for _ in range(3):
        h = np.sin(h) * x
        states.append(h)
    return states


def shrink(x, rate):
    while x > 1.0:
        x = x * rate
    return x


def double(x):
    return x * 2.0


def twice(x):
    return x, x


FUNCTIONS = [
    (double, X), (lambda x: (x, x * x), X), (lambda x: [x.sum(), {"a": x[0]}], X), (lambda x: x, X),
    (twice, X), (lambda x, A: A @ x, X, A), (lambda x: x[0], X), (lambda x: [v * v for v in x], X),
    (lambda A: A.T, A), (lambda x: x[1:], X),
    (lambda A: A.reshape(-1), A), (lambda A: np.linalg.inv(A), A), (lambda a, b: (b, a), 2.0, 3.0), (lambda x: np.split(x, 3), X),
    (lambda p: {"u": p["b"], "v": p["a"]}, {"a": X, "b": 2.0}), (lambda x: {"n": 3, "s": "a", "x": x * x}, X),
    (lambda x: (np.max(x), np.argmax(x), x > 1), X), (lambda A: np.linalg.qr(A), A), (loop, X), (shrink, 3.0, 0.7),
    (np.cumsum, X), (np.outer, X, X),
]  # fmt: skip


@pytest.mark.parametrize("f, args", [(f, args) for f, *args in FUNCTIONS])
def test_against_differences(f, args):
    check_grads(f, args)


@pytest.mark.parametrize("f, args", [(f, args) for f, *args in FUNCTIONS])
def test_a_pullback_is_a_function(f, args):
    """It gives the same each time, writes into nothing, and gives arrays that are the caller's own."""
    value, pullback = vjp(f, *args)
    assert same(value, f(*args), rtol=1e-12)
    seed = seed_like(value)
    first = pullback(seed)
    assert same(seed, seed_like(value))
    assert same(pullback(seed), first)
    for _, array in leaves(first):
        if isinstance(array, np.ndarray):
            for _, other in leaves((seed, value, args)):
                assert not (isinstance(other, np.ndarray) and np.shares_memory(array, other))
            array[...] = np.nan
    again = pullback(seed)
    assert not any(np.any(np.isnan(leaf)) for _, leaf in leaves(again) if isinstance(leaf, np.ndarray))


def seed_like(value):
    """Ones for what has a derivative; a number's seed is a 0-d array, which can be written into by mistake."""
    if isinstance(value, dict):
        return {key: seed_like(child) for key, child in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(seed_like, value))
    if isinstance(value, (list, tuple)):
        return type(value)(seed_like(child) for child in value)
    return np.ones(np.shape(value)) if isinstance(value, (float, np.ndarray)) and np.result_type(value).kind == "f" else None


def test_a_pullback_keeps_what_it_reads():
    x = X.copy()
    value, pullback = vjp(lambda x: np.exp(x) * x, x)
    first = pullback(np.ones(3))
    x[:] = 0.0
    value[:] = 0.0
    assert same(pullback(np.ones(3)), first)


def test_two_pullbacks_do_not_share():
    pullbacks = [vjp(loop, k * X)[1] for k in (1.0, 2.0)]
    expected = [vjp(loop, k * X)[1]([np.ones(3)] * 3) for k in (1.0, 2.0)]
    for _ in range(2):
        assert same([pullback([np.ones(3)] * 3) for pullback in pullbacks], expected)


def test_seeds_are_converted():
    _, pullback = vjp(double, X)
    for seed in ([1, 2, 3], np.array([1, 2, 3]), np.array([1, 2, 3], np.float32), (1.0, 2.0, 3.0)):
        assert same(pullback(seed), (np.array([2.0, 4.0, 6.0]),))
    _, pullback = vjp(double, X.astype(np.float32))
    assert same(pullback(np.ones(3)), (np.full(3, 2, np.float32),))


@pytest.mark.parametrize(
    "f, seed",
    [
        (double, 1.0), (double, np.ones(4)), (double, np.ones((1, 3))), (double, (1.0, X)), (double, None),
        (double, np.ones(3) * 1j),
        (np.sum, X), (twice, X), (twice, (X,)), (lambda x: {"a": x}, {"b": X}), (lambda x: [x, x], [X, np.ones(2)]),
    ],
)  # fmt: skip
def test_a_seed_that_does_not_fit_is_refused(f, seed):
    _, pullback = vjp(f, X)
    with pytest.raises(KindError):
        pullback(seed)
