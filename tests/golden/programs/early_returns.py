"""Returns on three paths, on numbers: each path has its own reverse sweep."""

import math


def loss(r, width):
    size = abs(r)
    if size <= width:
        return 0.5 * r * r
    if size > 10.0 * width:
        return width * width * math.log(size)
    return width * (size - 0.5 * width)


ARGNUMS = (0, 1)


def args(rng):
    return -2.5, 1.0
