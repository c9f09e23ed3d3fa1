"""Linear algebra: a covariance built from distances, its solve and its determinant."""

import numpy as np

ARGNUMS = (0, 1)


def loss(length, noise, x, y):
    distance = x[:, None] - x[None, :]
    K = np.exp(-0.5 * (distance / length) ** 2) + noise * np.eye(len(x))
    sign, log_det = np.linalg.slogdet(K)
    return 0.5 * (y @ np.linalg.solve(K, y) + log_det)


def args(rng):
    return 0.8, 0.3, np.linspace(0.0, 2.0, 5), rng.normal(size=5)
