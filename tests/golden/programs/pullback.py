"""The vjp of a function to a dict: one function for the value and the record, one for the pullback."""

import numpy as np

MODE = "vjp"
ARGNUMS = (0, 1)


def loss(x, A):
    y = np.tanh(A @ x)
    return {"y": y, "norm": np.sqrt(np.sum(y**2))}


def args(rng):
    return rng.normal(size=3), rng.normal(size=(4, 3))
