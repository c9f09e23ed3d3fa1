"""assert, print and f-strings run once, in their order; what they read is not differentiated."""

import math


def loss(x, verbose=False):
    assert x > 0, f"x is {x}"
    y = math.log(x)
    if verbose:
        print(f"log {x:.2f} is {y:.2f}")
    return y * y


def args(rng):
    return (2.0,)
