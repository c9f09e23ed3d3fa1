"""Lists made by comprehensions, with a condition, over pairs, and summed as a generator."""

import numpy as np


def loss(x, centres):
    distances = [np.sum((x - c) ** 2) for c in centres]
    near = [np.exp(-d) for d in distances if d < 6.0]
    return sum(near) + sum(0.1 * d for d in distances)


ARGNUMS = (0, 1)


def args(rng):
    return rng.normal(size=3), rng.normal(size=(4, 3))
