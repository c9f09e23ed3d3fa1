"""A linear model with the Pseudo-Huber loss and a penalty: elementwise work between two products."""

import numpy as np

ARGNUMS = (0, 1)
SIZES = {"tiny": (8, 3), "medium": (2_000, 30), "large": (50_000, 60)}


def args(rng, n, d):
    return rng.normal(size=d), 0.1, rng.normal(size=(n, d)), rng.normal(size=n), 0.7


def loss(w, b, X, y, width):
    z = (X @ w + b - y) / width
    return width * width * np.mean(np.sqrt(1.0 + z * z) - 1.0) + 0.01 * np.sum(w * w)


def by_hand(w, b, X, y, width):
    z = X @ w
    z += b
    z -= y
    z /= width
    root = z * z
    root += 1.0
    np.sqrt(root, out=root)
    value = width * width * (np.sum(root) / len(y) - 1.0) + 0.01 * (w @ w)
    z /= root
    z *= width / len(y)
    w_bar = z @ X
    w_bar += 0.02 * w
    return value, (w_bar, np.sum(z))
