"""Arrays joined, split, stacked, sorted and accumulated."""

import numpy as np


def loss(u, v):
    joined = np.concatenate([u, np.flip(v), u * 2.0])
    head, tail = joined[:4], joined[4:]
    walk = np.cumsum(np.sort(tail))
    table = np.stack([head, np.full(4, 0.5)], axis=1)
    return np.sum(table.reshape(2, -1) ** 3) + np.var(walk) + np.where(walk > 0, walk, walk**2).sum()


ARGNUMS = (0, 1)


def args(rng):
    return rng.normal(size=3), rng.normal(size=4)
