"""The jvp of a recurrent network with a branch: lists, states and a counter, each beside its tangent."""

import numpy as np

MODE = "jvp"
ARGNUMS = (0, 1)


def loss(W, h, inputs):
    states, hits = [], 0
    for x in inputs:
        h = np.tanh(W @ h + x) / np.linalg.norm(x)
        if h[0] > 0.2:
            h = np.sort(h)
            hits += 1
        states.append(h)
    return np.sum(np.stack(states) ** 2) * hits


def args(rng):
    return rng.normal(size=(3, 3)) / 2, rng.normal(size=3), rng.normal(size=(5, 3))
