"""Which writes overwrite what nothing has read: the sources of gradients put back what they must, and nothing else."""

import numpy as np
import pytest

from srcdiff import grad
from tests.support.gradients import check_gradient

X = np.random.default_rng(0).normal(size=5)


def table_written_once(x):
    t = np.zeros((5, 5))
    for i in range(5):
        t[i, 0] = x[i]
        for j in range(1, i + 1):
            t[i, j] = t[i, j - 1] * t[i - 1, j - 1]
    return np.sum(t)


def backwards(x):
    y = np.zeros(6)
    for i in range(len(x) - 1, -1, -1):
        y[i] = np.sin(y[i + 1]) * x[i]
    return y[0]


def by_branch(x):
    y = np.ones(5)
    for i in range(5):
        for j in range(i + 1):
            if i == j:
                y[i] = np.sin(x[i])
            else:
                y[i] *= y[j]
    return np.sum(y)


def reversed_trips(x):
    y = np.zeros(6)
    for i in reversed(range(5)):
        y[i] = y[i + 1] * x[i] + x[i]
    return y[0]


def a_buffer_for_each_trip(x):
    total = 0.0
    for k in range(3):
        y = np.zeros(6)
        for i in range(5):
            y[i + 1] = y[i] * x[i] + k
        total += y[5] * y[4]
    return total


@pytest.mark.parametrize("f", [table_written_once, backwards, reversed_trips, a_buffer_for_each_trip])
def test_a_place_that_is_written_once_is_not_put_back(f):
    check_gradient(f, X)
    assert "_old" not in grad(f).source_for(X)


def again(x):
    y = np.zeros(5)
    for k in range(2):
        for i in range(5):
            y[i] = np.sin(y[i] + y[i - 1]) * x[i]
    return np.sum(y)


def from_the_end(x):
    y = np.zeros(5)
    for i in range(5):
        y[i] = y[i - 1] * y[-1 - i] + x[i]
    return np.sum(y)


def the_other_way(x):
    y = x.copy()
    for i in range(4):
        y[i] = y[i] * y[i + 1]
    return np.sum(y)


def by_a_while(x):
    y = x.copy()
    i = 0
    while i < 4:
        y[i] = y[i] * y[i + 1]
        i += 1
    return np.sum(y)


def slices_that_end_at_the_trip(x):
    y = np.ones(5)
    for i in range(1, 5):
        y[i] = np.prod(y[:i]) * x[i]
        y[i - 1] = y[i] * y[i - 1]
    return np.sum(y)


def buffer_that_outlives_the_trip(x):
    y = np.ones(5)
    total = 0.0
    for k in range(3):
        for i in range(5):
            total += y[i] ** 2
            y[i] = np.sin(x[i] * total)
    return total


def a_result_that_its_derivative_reads(x):
    total = 0.0
    for _ in range(3):
        y = np.linalg.inv(np.outer(x, x) + np.eye(5))
        y[0, 0] = np.sin(x[0])
        y[1] = np.cos(y[0])
        total += np.sum(y**2)
    return total


def read_in_an_arm(x):
    y, total = np.outer(x, x), 0.0
    for k in range(2):
        for i in range(4):
            total += np.sum(y[i] ** 2)
            if i % 2 == 0:
                total += np.exp(y[i + 1, 0]) * y[i, 0]
            else:
                total += np.sum(y[i + 1] ** 3)
            y[i + 1, 0] = np.sin(y[i, 1]) * x[i]
            y[i, 1:] = y[i, 0] * x[1:]
    return total + np.sum(y)


def a_stored_value_that_is_overwritten(x):
    y, total = np.zeros(5), 0.0
    for i in range(5):
        root = np.sqrt(np.abs(x[i]))
        y[0] = root
        total += root
        y[0] = np.exp(x[i])
    return total + y[0]


@pytest.mark.parametrize(
    "f",
    [
        a_result_that_its_derivative_reads,
        a_stored_value_that_is_overwritten,
        read_in_an_arm,
        again,
        from_the_end,
        the_other_way,
        by_a_while,
        slices_that_end_at_the_trip,
        buffer_that_outlives_the_trip,
        by_branch,
    ],
)
def test_what_was_read_is_there_again(f):
    check_gradient(f, X)
