"""Sums, means, norms, extrema and products over axes, softmaxes, cumulative sums."""

import numpy as np

from tests.battery.collection import program

RNG = np.random.default_rng(12)
X = RNG.normal(size=5)
A = RNG.normal(size=(3, 4))
T = RNG.normal(size=(2, 3, 2))
P = RNG.uniform(0.2, 1.0, size=(3, 4))


@program(A)
def sum_over_rows(a):
    return np.sum(np.sum(a**2, axis=0) ** 2)


@program(A)
def sum_kept(a):
    return np.sum(a**2 / (1 + np.sum(a**2, axis=1, keepdims=True)))


@program(T)
def sum_of_two_axes(t):
    return np.sum(np.exp(np.sum(np.sin(t), axis=(0, 2))))


@program(A)
def means(a):
    return np.mean(np.mean(a, axis=0) ** 3) * np.mean(a**2)


@program(A)
def centred(a):
    c = a - np.mean(a, axis=0)
    return np.sum(c**4)


@program(A)
def standardised(a):
    z = (a - np.mean(a, axis=1, keepdims=True)) / np.std(a, axis=1, keepdims=True)
    return np.sum(z**3)


@program(A)
def variances(a):
    return np.sum(np.var(a, axis=0) * np.var(a, axis=0, ddof=1)) + np.std(a)


@program(A)
def extrema(a):
    return np.sum(np.max(a**2, axis=0) * np.min(np.sin(a), axis=0))


@program(A)
def extrema_of_all(a):
    return np.max(a) ** 3 * np.min(a) + np.ptp(a) ** 2


@program(P)
def products(p):
    return np.sum(np.prod(p, axis=1) ** 2) + np.prod(p)


@program(np.array([0.5, 0.0, 2.0, -1.0]))
def product_with_zero(x):
    return np.prod(x) + np.sum(np.prod(np.outer(x, x) + 1.0, axis=0))


@program(X)
def cumulative(x):
    return np.sum(np.cumsum(x) ** 3) + np.sum(np.cumsum(x**2)[::-1] * x)


@program(np.array([0.5, 1.5, 2.0, -1.0]))
def cumulative_products(x):
    return np.sum(np.cumprod(x) ** 2)


@program(A)
def cumulative_rows(a):
    return np.sum(np.sin(np.cumsum(a, axis=1)) * np.cumsum(a, axis=0))


@program(X)
def euclidean(x):
    return np.linalg.norm(x) ** 3 + np.linalg.norm(np.sin(x))


@program(A)
def row_norms(a):
    return np.sum(np.linalg.norm(a, axis=1) * np.linalg.norm(a, axis=1, ord=1))


@program(A)
def frobenius(a):
    return np.linalg.norm(a, "fro") + np.linalg.norm(a) ** 2


@program(X)
def norms_of_other_orders(x):
    return np.linalg.norm(x, 3) * np.linalg.norm(x, 1) + np.linalg.norm(x, np.inf) ** 2


def log_sum_exp(z):
    m = np.max(z, axis=-1, keepdims=True)
    return np.log(np.sum(np.exp(z - m), axis=-1)) + m[..., 0]


@program(A)
def log_sum_exps(a):
    return np.sum(log_sum_exp(a) ** 2)


@program(X)
def softmax(x):
    e = np.exp(x - np.max(x))
    p = e / np.sum(e)
    return np.sum(p * np.arange(5.0)) ** 2


@program(A, np.array([1, 0, 3]))
def cross_entropy(a, labels):
    e = np.exp(a - np.max(a, axis=1, keepdims=True))
    p = e / np.sum(e, axis=1, keepdims=True)
    return -np.mean(np.log(p[np.arange(3), labels]))


@program(A, 0.5, argnums=(0, 1))
def softmax_with_temperature(a, t):
    z = a / t
    e = np.exp(z - np.max(z, axis=0))
    return np.sum((e / np.sum(e, axis=0)) ** 2)


@program(X)
def entropy_of_softmax(x):
    p = np.exp(x) / np.sum(np.exp(x))
    return -np.sum(p * np.log(p))


@program(X)
def sorted_weights(x):
    return np.sum(np.sort(x**2) * np.arange(5.0) * x)


@program(X)
def middle(x):
    return np.median(np.sin(x)) ** 3 + np.quantile(x, 0.3) ** 2


@program(A)
def averages(a):
    return np.sum(np.average(a, axis=1, weights=np.array([1.0, 2.0, 3.0, 4.0])) ** 3)


@program(P)
def geometric_mean(p):
    return np.exp(np.mean(np.log(p)))


@program(P)
def harmonic_mean(p):
    return np.sum(1 / np.mean(1 / p, axis=0))


@program(A)
def covariance(a):
    c = a - np.mean(a, axis=1, keepdims=True)
    return np.sum((c @ c.T / (a.shape[1] - 1)) ** 2)


@program(X)
def differences(x):
    return np.sum(np.diff(x) ** 2 * np.diff(x[:-1] + x[1:])) if len(x) == 2 else np.sum(np.diff(x) ** 3)


@program(A)
def second_differences(a):
    return np.sum(np.diff(a, n=2, axis=1) ** 2 * np.sin(a[:, 1:-1]))


@program(X)
def trapezoid(x):
    return np.trapezoid(np.exp(x) * x, dx=0.1) ** 2


@program(A)
def trace_of_gram(a):
    return np.trace(a @ a.T) ** 2
