"""The energy of charged points: columns against rows, a matrix of all pairs for each coordinate."""

import numpy as np

ARGNUMS = (0, 1)
SIZES = {"tiny": (4,), "medium": (150,), "large": (1_000,)}


def args(rng, n):
    return rng.normal(size=(n, 3)), rng.uniform(0.5, 1.5, size=n)


def loss(points, charges):
    difference = points[:, None, :] - points[None, :, :]
    softened = np.sum(difference**2, axis=2) + 0.01
    strength = charges[:, None] * charges[None, :]
    return 0.5 * np.sum(strength / np.sqrt(softened)) + 0.1 * np.sum(points**2)


def by_hand(points, charges):
    difference = points[:, None, :] - points
    inverse = np.einsum("ijk,ijk->ij", difference, difference)
    inverse += 0.01
    np.sqrt(inverse, out=inverse)
    np.reciprocal(inverse, out=inverse)
    potential = inverse @ charges
    value = 0.5 * (charges @ potential) + 0.1 * np.vdot(points, points)
    pull = inverse * inverse
    pull *= inverse
    pull *= charges[:, None]
    pull *= charges
    # Each pair pulls at both of its points, and the matrix of pairs is symmetric.
    points_bar = 0.2 * points
    points_bar -= np.einsum("ij,ijk->ik", pull, difference)
    return value, (points_bar, potential)
