"""A penalised linear model: the mean's adjoint stays a number, two contributions meet in `w_bar`."""

import numpy as np

ARGNUMS = (0, 1)


def loss(w, b, X, y, penalty=0.1):
    """Half the mean squared residual, and a penalty on the weights."""
    residual = X @ w + b - y
    return 0.5 * np.mean(residual**2) + penalty * np.sum(w**2)


def args(rng):
    return rng.normal(size=3), 0.5, rng.normal(size=(6, 3)), rng.normal(size=6)
