"""A list of layers is unrolled, since its structure is known: names are numbered, the gradient is such a list."""

import numpy as np


def loss(layers, x, y):
    for W, b in layers:
        x = np.tanh(x @ W + b)
    return np.mean((x - y) ** 2)


def args(rng):
    sizes = [3, 4, 2]
    layers = [(rng.normal(size=(m, n)), rng.normal(size=n)) for m, n in zip(sizes, sizes[1:])]
    return layers, rng.normal(size=(5, 3)), rng.normal(size=(5, 2))
