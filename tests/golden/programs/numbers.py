"""The math module on numbers, with a conditional expression, a chained comparison and builtins."""

import math


def loss(a, b):
    angle = math.atan2(a, b)
    length = math.hypot(a, b)
    low = min(a, b) if 0.0 < angle < 1.0 else max(a, b)
    return math.exp(-length) * math.cos(angle) + abs(low) ** 1.5 + math.pow(length, 3) + round(a) * b


ARGNUMS = (0, 1)


def args(rng):
    return 0.7, 1.3
