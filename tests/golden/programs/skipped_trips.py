"""A loop over an array whose trips may end early with continue."""

import math


def loss(values, scale):
    total = 0.0
    for v in values:
        if v < 0.0:
            continue
        root = math.sqrt(v + scale)
        if root > 1.5:
            total += 1.0 / root
            continue
        total += root * v
    return total


ARGNUMS = (0, 1)


def args(rng):
    return rng.normal(size=7) * 2, 0.5
