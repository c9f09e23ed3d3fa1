"""Gradients against those of other libraries, which share nothing with srcdiff."""

import importlib
import math
import types

import numpy as np
import pytest

from srcdiff import grad, value_and_grad
from tests.support.gradients import leaves


@pytest.fixture(scope="module", params=["autograd", "jax"])
def peer(request):
    name = request.param
    try:
        module = importlib.import_module(name)
    except ImportError:
        pytest.skip(f"{name} is not installed: pip install {name}")
    if name == "jax":
        module.config.update("jax_enable_x64", True)
        module.config.update("jax_platforms", "cpu")
    return types.SimpleNamespace(grad=module.grad, numpy=importlib.import_module(f"{name}.numpy"))


def through(peer, f):
    """The function with the peer's NumPy in place of ours, also in the functions that it calls."""
    ours = {**f.__globals__, "np": peer.numpy, "math": peer.numpy}
    for name, value in f.__globals__.items():
        if isinstance(value, types.FunctionType) and value.__module__ == __name__:
            ours[name] = types.FunctionType(value.__code__, ours, name, value.__defaults__)
    return types.FunctionType(f.__code__, ours, f.__name__, f.__defaults__)


def softmax(z):
    e = np.exp(z - np.max(z, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def network(params, X, Y):
    for W, b in params[:-1]:
        X = np.tanh(np.dot(X, W) + b)
    W, b = params[-1]
    return -np.mean(np.sum(Y * np.log(softmax(X @ W + b)), axis=1))


def gaussian_process(theta, X, y):
    difference = X[:, None, :] - X[None, :, :]
    K = np.exp(theta[0]) * np.exp(-0.5 * np.sum((difference * theta[2:]) ** 2, axis=-1)) + np.exp(theta[1]) * np.eye(len(y))
    L = np.linalg.cholesky(K)
    return 0.5 * y @ np.linalg.solve(K, y) + np.sum(np.log(np.diag(L))) + 0.1 * np.linalg.slogdet(K)[1]


def recurrent(p, xs):
    h = p["h"]
    out = []
    for x in xs:
        gate = 1 / (1 + np.exp(-(p["U"] @ h)))
        h = gate * h + (1 - gate) * np.tanh(p["W"] @ h + x)
        out.append(np.sum(h * h))
    return np.sum(np.stack(out) * np.arange(len(out))) + np.prod(h)


def reductions(x):
    table = np.reshape(x, (3, 4))
    spread = np.std(table, axis=0) + np.var(table, axis=1, keepdims=True)
    walked = np.cumsum(table, axis=1)[::-1, ::2]
    largest = np.max(table, axis=1) * np.min(table)
    return np.sum(spread) + np.mean(np.sort(np.ravel(walked))[1:] ** 2) + np.sum(largest) + np.linalg.norm(x)


def joining(x, y):
    joined = np.concatenate([x, y[::-1], np.stack([x[0], y[1]])])
    upper = np.where(joined > 0, np.sqrt(np.abs(joined) + 0.1), np.expm1(joined))
    tiled = np.einsum("i,j,i->ij", upper, np.tile(y, 2), joined)
    return np.sum(tiled[1:, :-1] ** 2) + np.sum(np.tensordot(tiled, tiled.T, 1)) + np.sum(np.transpose(tiled)[::2] * joined)


def elementwise(x, y):
    a = np.arctan2(x, y) + np.hypot(x, y) + np.logaddexp(x, y) + np.maximum(x, 0.3) * np.minimum(y, 0.7)
    b = np.sin(x) ** 2 / np.cosh(y) + np.log1p(x * x) - np.arcsinh(x) * np.clip(y, 0.2, 0.9) + np.exp2(x) * np.sinc(y)
    return np.sum(a * b) + np.sum(np.abs(x - y) ** 1.5)


def loop_in_numbers(x, rate):
    total = 0.0
    for i in range(30):
        x = x * rate - 0.1 * math.sin(x) if i % 3 else x + rate * rate
        total += x * x / (i + 1.0)
    return total


RNG = np.random.default_rng(7)
LAYERS = [(RNG.normal(size=(m, n)), RNG.normal(size=n)) for m, n in ((5, 7), (7, 6), (6, 3))]
UNITS = {"h": RNG.normal(size=4), "U": RNG.normal(size=(4, 4)), "W": RNG.normal(size=(4, 4))}
CASES = [
    (network, 0, (LAYERS, RNG.normal(size=(9, 5)), np.eye(3)[RNG.integers(0, 3, 9)])),
    (gaussian_process, 0, (RNG.normal(size=5) / 2, RNG.normal(size=(8, 3)), RNG.normal(size=8))),
    (recurrent, 0, (UNITS, RNG.normal(size=(7, 4)))),
    (reductions, 0, (RNG.normal(size=12),)),
    (joining, (0, 1), (RNG.normal(size=3), RNG.normal(size=4))),
    (elementwise, (0, 1), (RNG.uniform(0.1, 1, size=(4, 5)), RNG.uniform(0.1, 1, size=5))),
    (loop_in_numbers, (0, 1), (0.7, 0.9)),
]


@pytest.mark.parametrize("f, argnums, args", CASES, ids=[case[0].__name__ for case in CASES])
def test_gradient_is_the_peers(peer, f, argnums, args):
    expected = peer.grad(through(peer, f), argnums)(*args)
    for found in (grad(f, argnums)(*args), value_and_grad(f, argnums)(*args)[1]):
        ours, theirs = dict(leaves(found)), dict(leaves(expected))
        for path, leaf in theirs.items():
            if leaf is not None:
                np.testing.assert_allclose(ours[path], leaf, rtol=1e-9, atol=1e-9 * np.max(np.abs(leaf)), err_msg=path)
