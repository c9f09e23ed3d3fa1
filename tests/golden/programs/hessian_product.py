"""The product of a Hessian with a vector, of a loss with an inner function and a sum of squares."""

import numpy as np

MODE = "hvp"


def residuals(w, X, t):
    return np.tanh(X @ w) - t


def loss(w, X, t):
    r = residuals(w, X, t)
    return 0.5 * np.sum(r**2) + 0.01 * np.sum(w**2)


def args(rng):
    return rng.normal(size=3), rng.normal(size=(5, 3)), rng.normal(size=5)
