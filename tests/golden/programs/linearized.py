"""The linearisation of Newton's iteration: the values with what tangents read of each trip, and the tangents."""

import numpy as np

MODE = "linearize"
ARGNUMS = (0, 1)


def loss(x, c):
    for _ in range(20):
        step = (x**3 - c) / (3.0 * x**2)
        x = x - step
        if abs(step) < 1e-10:
            break
    return np.cos(x) * x


def args(rng):
    return 1.0 + rng.uniform(), 2.0 + rng.uniform()
