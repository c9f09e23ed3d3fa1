"""Rows chosen by an array of indices with repetitions, columns by slices and steps, elements by a mask."""

import numpy as np


def loss(table, rows, mask):
    chosen = table[rows]
    smooth = chosen[:, 1:] - chosen[:, :-1]
    every_other = chosen[::2, 0]
    return np.sum(smooth**2) + np.prod(every_other) + np.sum(np.exp(table[mask]))


def args(rng):
    table = rng.normal(size=(5, 3))
    return table, np.array([0, 2, 2, 4]), table > 0.2
