"""The logistic map: of a trip only x is kept, 1.0 - x is computed again."""


def loss(r, x):
    total = 0.0
    for _ in range(10):
        x = r * x * (1.0 - x)
        total += x
    return total


ARGNUMS = (0, 1)


def args(rng):
    return 3.6, 0.4
