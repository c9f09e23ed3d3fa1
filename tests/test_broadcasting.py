"""Broadcasting: three operands of small shapes in random combinations, under reductions that leave the adjoint small."""

import itertools

import numpy as np
import pytest

from srcdiff import grad

SHAPES = [(), (1,), (3,), (2, 1), (1, 3), (2, 3), (4, 1, 3), (4, 2, 1), (1, 1, 1), (1, 2, 3), (4, 2, 3)]

COMBINATIONS = 40


def total(a, b, c):
    return np.sum((a + b) * c)


def mean_of_rows(a, b, c):
    y = a * b - c / (a * a + 1.0)
    return np.sum(np.mean(np.atleast_1d(y), axis=-1) ** 2)


def centred(a, b, c):
    y = np.atleast_1d(a - b * c)
    return np.sum((y - np.mean(y, axis=-1, keepdims=True)) ** 2 * b)


def spread(a, b, c):
    y = np.atleast_1d(np.maximum(a, b) + c)
    return np.sum(y / np.sum(y * y, axis=0, keepdims=True)) + np.mean(c) * np.sum(a)


def difference_along(f, args, index, rng):
    direction = rng.normal(size=np.shape(args[index]))

    def at(step):
        moved = list(args)
        moved[index] = args[index] + step * direction
        return f(*moved)

    return direction, (at(1e-6) - at(-1e-6)) / 2e-6


@pytest.mark.parametrize("f", [total, mean_of_rows, centred, spread])
def test_all_shapes(f):
    rng = np.random.default_rng(0)
    combinations = list(itertools.product(SHAPES, repeat=3))
    for number in rng.choice(len(combinations), size=COMBINATIONS, replace=False):
        shapes = combinations[number]
        args = tuple(np.asarray(rng.normal(size=s)) for s in shapes)
        if any(len({s[axis] for s in shapes if len(s) >= -axis} - {1}) > 1 for axis in range(-3, 0)):
            continue  # they do not broadcast
        gradients = grad(f, argnums=(0, 1, 2), comments=False)(*args)
        for index in range(3):
            assert np.shape(gradients[index]) == shapes[index], shapes
            direction, expected = difference_along(f, args, index, rng)
            assert np.isclose(np.sum(gradients[index] * direction), expected, rtol=1e-4, atol=1e-6), (shapes, index)
