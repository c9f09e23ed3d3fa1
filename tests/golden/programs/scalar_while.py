"""Numbers in a while loop with a branch: the trips are counted by what they keep, the branch is remembered once."""

import math


def loss(x, rate):
    total = 0.0
    while x > 0.05:
        if x > 1.0:
            x = x * rate
        else:
            x = x - 0.3 * math.sin(x)
        total += x * x
    return total


ARGNUMS = (0, 1)


def args(rng):
    return 3.0, 0.7
