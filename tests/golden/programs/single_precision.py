"""float32 parameters with a mask of bools, an integer count and numbers: the gradient is float32."""

import numpy as np


def loss(w, X, mask):
    z = np.tanh(X @ w)
    kept = z * mask + 0.5 * (1 - mask)
    return np.sum(kept**2) / np.sum(mask) + 1e-3 * np.sum(w * w)


def args(rng):
    return rng.normal(size=3).astype(np.float32), rng.normal(size=(5, 3)).astype(np.float32), np.array([1, 0, 1, 1, 0], bool)
