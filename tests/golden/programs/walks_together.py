"""zip, enumerate and reversed: loops over several arrays at once, with a count, and backwards."""

import numpy as np

ARGNUMS = (0, 1)


def loss(weights, xs, ys):
    total = 0.0
    for i, (x, y) in enumerate(zip(xs, ys)):
        total = total + weights[i] * np.sum((x - y) ** 2)
    carried = 1.0
    for w in reversed(weights):
        carried = carried * 0.5 + w * w
    return total * carried


def args(rng):
    return rng.normal(size=4), rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
