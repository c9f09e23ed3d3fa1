"""A generator with a state of its own, generator expressions, and itertools: each in place of the loop that consumes it."""

import itertools

import numpy as np


def averages(xs, decay):
    mean = xs[0]
    for x in xs[1:]:
        mean = decay * mean + (1 - decay) * x
        yield mean


def loss(xs, decay, points):
    total = 0.0
    for mean in averages(xs, decay):
        if mean > 10.0:
            break
        total += mean**2
    spread = sum(np.sum((a - b) ** 2) for a, b in itertools.combinations(points, 2))
    return total + 0.1 * spread + sum(x * y for x, y in itertools.pairwise(xs))


def args(rng):
    return rng.normal(size=6), 0.8, rng.normal(size=(4, 2))


ARGNUMS = (0, 1, 2)
