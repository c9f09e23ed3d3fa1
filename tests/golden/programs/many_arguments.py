"""*args and keyword-only parameters: argnums reaches one of *args, and a keyword by its name."""

import numpy as np


def loss(first, *others, power=2.0, shift=0.0):
    total = np.sum(np.abs(first) ** power)
    for i, x in enumerate(others):
        total = total + (i + 1) * np.sum((x - shift) ** 2)
    return total


ARGNUMS = (0, 2, "shift")


def args(rng):
    return rng.normal(size=3), rng.normal(size=2), rng.normal(size=(2, 2))
