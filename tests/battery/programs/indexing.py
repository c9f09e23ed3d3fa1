"""Slices, fancy indices, reshaping, joining, padding, convolution by slices."""

import numpy as np

from tests.battery.collection import program

RNG = np.random.default_rng(14)
X = RNG.normal(size=6)
A = RNG.normal(size=(4, 5))
K = RNG.normal(size=3)


@program(X)
def slices(x):
    return np.sum(x[1:] * x[:-1] ** 2) + np.sum(x[::2] * x[1::2])


@program(X)
def backwards(x):
    return np.sum(x[::-1] ** 3 * x) + x[-1] * x[0] ** 2


@program(A)
def blocks(a):
    return np.sum(a[1:3, ::2] ** 3) * np.sum(a[-1]) + np.sum(a[:, 2] * a[:, 0] ** 2)


@program(X, np.array([0, 2, 2, 5]))
def repeated_places(x, i):
    return np.sum(x[i] ** 3 * np.arange(1.0, 5.0)) * x[i[0]]


@program(A, np.array([0, 1, 1]), np.array([4, 2, 2]))
def pairs_of_places(a, i, j):
    return np.sum(np.sin(a[i, j]) * a[j, i]) if a.shape[0] > 4 else np.sum(np.sin(a[i, j]) * a[i, j] ** 2)


@program(A, np.array([3, 0, 3]))
def rows_taken(a, i):
    return np.sum(np.take(a, i, axis=0) ** 2 * a[:3]) + np.sum(a[:, i[:2]] ** 3)


@program(X)
def masked_sum(x):
    return np.sum(x**3 * (x > 0)) + np.sum(np.where(np.arange(6) % 2 == 0, x, 0.0) ** 2)


@program(A)
def reshaped(a):
    return np.sum(a.reshape(5, 4) @ a) ** 2 / 10 + np.sum(np.ravel(a)[3:9] ** 3)


@program(A)
def transposed(a):
    return np.sum(np.transpose(a) @ np.sin(a)) + np.sum(np.swapaxes(a, 0, 1)[1:3] ** 3)


@program(RNG.normal(size=(2, 3, 2)))
def axes_moved(t):
    return np.sum(np.moveaxis(t, 0, 2)[1] ** 3) + np.sum(np.transpose(t, (2, 0, 1)) ** 2 * np.transpose(t, (2, 0, 1))[:1])


@program(X, K, argnums=(0, 1))
def joined(x, k):
    y = np.concatenate([x**2, k, np.sin(x[:2])])
    return np.sum(y[1:] * y[:-1])


@program(X)
def stacked(x):
    m = np.stack([x, x**2, np.sin(x)])
    return np.sum(m @ m.T)


@program(X)
def stacked_on_last(x):
    m = np.stack([x[:3], x[3:] ** 2], axis=-1)
    return np.sum(np.exp(m) * m)


@program(A)
def joined_on_columns(a):
    return np.sum(np.hstack([a, a**2]) ** 2) + np.sum(np.vstack([a, np.cos(a)])[2:6] ** 3)


@program(X)
def array_of_numbers(x):
    m = np.array([[x[0], x[1] ** 2], [np.sin(x[2]), x[0] * x[3]]])
    return np.sum(m @ m @ m)


@program(X)
def padded(x):
    return np.sum(np.pad(x, 2)[1:-1] ** 3 * np.arange(8.0))


@program(X)
def rolled(x):
    return np.sum(np.roll(x, 2) * x**2) + np.sum(np.roll(x, -1) ** 3 * x)


@program(A)
def flipped(a):
    return np.sum(np.flip(a, axis=1) * a**2) + np.sum(a[::-1] ** 3)


@program(K)
def tiled(k):
    return np.sum(np.tile(k, 3) ** 2 * np.arange(9.0)) + np.sum(np.repeat(k, 2) ** 3)


@program(X)
def broadcast_to(x):
    return np.sum(np.broadcast_to(x, (3, 6)) ** 3 * np.arange(3.0)[:, None])


@program(A)
def split_in_parts(a):
    left, right = np.split(a, 2, axis=0)
    return np.sum(left * right**2)


@program(X, K, argnums=(0, 1))
def convolution_by_slices(x, k):
    y = k[0] * x[:-2] + k[1] * x[1:-1] + k[2] * x[2:]
    return np.sum(np.tanh(y) ** 2)


@program(X, K, argnums=(0, 1))
def convolution(x, k):
    return np.sum(np.convolve(x, k) ** 3) + np.sum(np.convolve(x, k, mode="valid") ** 2)


@program(RNG.normal(size=(5, 5)), RNG.normal(size=(2, 2)), argnums=(0, 1))
def convolution_in_two_dimensions(image, kernel):
    out = np.zeros((4, 4))
    for i in range(2):
        for j in range(2):
            out = out + kernel[i, j] * image[i : i + 4, j : j + 4]
    return np.sum(np.maximum(out, 0.0) ** 3)


@program(RNG.normal(size=(6, 6)))
def pooled(image):
    m = image.reshape(3, 2, 3, 2)
    return np.sum(np.mean(m, axis=(1, 3)) ** 3) + np.sum(np.max(np.max(m, axis=3), axis=1) ** 2)


@program(RNG.normal(size=(5, 5)))
def laplacian_energy(u):
    lap = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
    return np.sum(lap**2) + np.sum(u[1:-1, 1:-1] ** 4)


@program(X)
def autocorrelation(x):
    total = 0.0
    for lag in range(1, 4):
        total = total + np.sum(x[lag:] * x[:-lag]) ** 2
    return total


@program(X)
def new_axes(x):
    return np.sum(x[:, None] ** 2 * x[None, :] * np.expand_dims(x, 0)) + np.sum(np.squeeze(x[None, :, None]) ** 3)


@program(X)
def atleast(x):
    return np.sum(np.atleast_2d(x) @ np.atleast_2d(x).T) ** 2


@program(A)
def meshes(a):
    u, v = np.meshgrid(a[0], a[:, 1])
    return np.sum(np.sin(u * v) * u)


@program(RNG.uniform(0.1, 3.9, size=5), X)
def interpolated(t, x):
    return np.sum(np.interp(t, np.arange(6.0), x) ** 3)


@program(X, np.array([0.5, 1.2, 3.7]))
def interpolated_values(x, t):
    return np.sum(np.interp(t, np.arange(6.0), np.sin(x)) ** 3)


@program(A, np.array([0, 1, 0, 2]))
def segments(a, labels):
    onehot = (labels[:, None] == np.arange(3)[None, :]) * 1.0
    means = onehot.T @ a / np.sum(onehot, axis=0)[:, None]
    return np.sum(means**3)
