"""The else of a loop runs where no break did."""


def loss(levels, x):
    for level in levels:
        if level > x:
            cost = (level - x) * level
            break
        x = x * 0.9
    else:
        cost = x * x
    return cost + x


ARGNUMS = (0, 1)


def args(rng):
    return [0.5, 0.8, 2.5, 3.0], 1.2
