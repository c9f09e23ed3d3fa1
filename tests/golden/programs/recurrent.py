"""A recurrent network that collects its states in a list: the user's list serves as the record."""

import numpy as np

ARGNUMS = (0, 1, 2)


def loss(W, U, h, inputs, targets):
    states = []
    for x in inputs:
        h = np.tanh(W @ h + U @ x)
        states.append(h)
    return np.sum((np.stack(states) - targets) ** 2)


def args(rng):
    W, U, h = rng.normal(size=(3, 3)) / 2, rng.normal(size=(3, 2)), rng.normal(size=3)
    return W, U, h, rng.normal(size=(5, 2)), rng.normal(size=(5, 3))
