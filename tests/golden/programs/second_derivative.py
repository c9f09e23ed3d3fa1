"""The second derivative of a number that a loop updates."""

import numpy as np

MODE = "second"


def loss(x, rate):
    y = x
    for _ in range(4):
        y = y - rate * np.sin(y)
    return y


def args(rng):
    return 0.7, 0.3
