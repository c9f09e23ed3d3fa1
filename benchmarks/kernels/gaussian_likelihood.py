"""The likelihood of a Gaussian with a covariance of low rank plus a diagonal: factorisation, solve, determinant."""

import numpy as np

ARGNUMS = (0, 1)
SIZES = {"tiny": (3, 4, 1), "medium": (200, 60, 5), "large": (500, 400, 20)}


def args(rng, n, d, r):
    return rng.normal(size=(d, r)), 0.1 * rng.normal(size=d), rng.normal(size=(n, d))


def loss(F, log_noise, X):
    C = F @ F.T + np.diag(np.exp(log_noise))
    log_det = np.linalg.slogdet(C)[1]
    return 0.5 * np.sum(X * np.linalg.solve(C, X.T).T) / len(X) + 0.5 * log_det


def by_hand(F, log_noise, X):
    noise = np.exp(log_noise)
    C = F @ F.T
    C.flat[:: len(C) + 1] += noise
    L = np.linalg.cholesky(C)
    inverse = np.linalg.inv(C)
    S = inverse @ X.T
    value = 0.5 * np.vdot(X.T, S) / len(X) + np.sum(np.log(np.diagonal(L)))
    C_bar = S @ S.T
    C_bar *= -0.5 / len(X)
    C_bar += 0.5 * inverse
    return value, (2.0 * (C_bar @ F), noise * np.diagonal(C_bar))
