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
    # Squared distances without the matrix of differences: a + b - 2 c.
    squares = np.einsum("ij,ij->i", points, points)
    inverse = points @ points.T
    inverse *= -2.0
    inverse += squares[:, None]
    inverse += squares
    inverse.flat[:: len(points) + 1] = 0.0
    inverse += 0.01
    np.sqrt(inverse, out=inverse)
    np.reciprocal(inverse, out=inverse)
    potential = inverse @ charges
    value = 0.5 * (charges @ potential) + 0.1 * np.sum(squares)
    pull = inverse * inverse
    pull *= inverse
    pull *= charges[:, None]
    pull *= charges
    points_bar = pull @ points
    points_bar -= np.sum(pull, axis=1)[:, None] * points
    points_bar += 0.2 * points
    return value, (points_bar, potential)
