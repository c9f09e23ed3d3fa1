"""A loop that keeps few states: it is run again from one to the next, and its array is copied for each."""

import numpy as np

from srcdiff import checkpoint


def loss(u, rate, sources):
    u = u.copy()
    total = 0.0
    with checkpoint(budget=16):
        for source in sources:
            u[1:-1] += rate * (u[2:] - 2 * u[1:-1] + u[:-2])
            u[0] = source
            total += np.sum(u**2)
    return total


ARGNUMS = (0, 1, 2)


def args(rng):
    return rng.standard_normal(6), 0.1, rng.standard_normal(40)
