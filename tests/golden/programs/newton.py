"""Newton's method on numbers leaves its loop by break, return, or at the end."""


def loss(a, guess):
    x = guess
    for _ in range(20):
        step = (x * x * x - a) / (3.0 * x * x)
        if abs(step) < 1e-9:
            break
        x = x - step
        if x > 100.0:
            return x
    return x * a


ARGNUMS = (0, 1)


def args(rng):
    return 7.0, 1.5
