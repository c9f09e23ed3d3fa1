"""Functions of each entry, and broadcasting."""

import math

import numpy as np

from tests.battery.collection import program

RNG = np.random.default_rng(11)
X = RNG.normal(size=4)
Y = RNG.normal(size=4)
P = RNG.uniform(0.2, 0.8, size=4)
A = RNG.normal(size=(3, 4))
B = RNG.uniform(0.3, 1.5, size=(3, 4))


@program(X, Y)
def sines(x, y):
    return np.sum(np.sin(x) * np.cos(y * x))


@program(P)
def tangents(x):
    return np.sum(np.tan(x) ** 2 / (1 + np.arctan(3 * x)))


@program(P)
def inverse_sines(x):
    return np.sum(np.arcsin(x) * np.arccos(x**2))


@program(X)
def hyperbolic(x):
    return np.sum(np.sinh(x) / np.cosh(2 * x) + np.tanh(x) ** 3)


@program(P)
def inverse_hyperbolic(x):
    return np.sum(np.arcsinh(x) * np.arctanh(x) + np.arccosh(1.5 + x))


@program(P)
def logarithms(x):
    return np.sum(np.log(x) * np.log1p(x) + np.log2(x) - np.log10(1 + x) ** 2)


@program(X)
def exponentials(x):
    return np.sum(np.exp(-x) * np.expm1(0.5 * x) + np.exp2(x))


@program(P, Y)
def powers(x, y):
    return np.sum(x**y + x**3 - x**-1.5 + 2.0**y)


@program(P, Y, argnums=(0, 1))
def powers_by_both(x, y):
    return np.sum(np.power(x, y) ** 2)


@program(P)
def roots(x):
    return np.sum(np.sqrt(x) * np.cbrt(x + 1) + np.square(x) + np.reciprocal(x))


@program(X, Y, argnums=(0, 1))
def quotients(x, y):
    return np.sum(x / (1 + y**2) - y / (2 + np.cos(x)))


@program(X, P, argnums=(0, 1))
def angles(x, y):
    return np.sum(np.arctan2(x, y) * np.hypot(x, y))


@program(X, Y, argnums=(0, 1))
def soft_maxima(x, y):
    return np.sum(np.logaddexp(x, y) ** 2 + np.logaddexp2(x, 2 * y))


@program(X, Y)
def hard_maxima(x, y):
    return np.sum(np.maximum(x, y) ** 3 + np.minimum(x**2, y) * x)


@program(X)
def absolute(x):
    return np.sum(np.abs(x) ** 2.5 + np.abs(np.sin(x)) * x)


@program(X)
def clipped(x):
    return np.sum(np.clip(x, -0.5, 0.5) ** 2 * x)


@program(X)
def chosen(x):
    return np.sum(np.where(x > 0, np.sin(x) * x, np.exp(x) - x**2))


@program(X)
def leaky(x):
    return np.sum(np.where(x > 0, x, 0.1 * x) ** 3)


@program(X)
def sinc_and_degrees(x):
    return np.sum(np.sinc(x) + np.deg2rad(10 * x) ** 2 + np.degrees(0.01 * x) ** 3)


@program(X)
def sigmoid(x):
    s = 1 / (1 + np.exp(-x))
    return np.sum(s * (1 - s) * x)


@program(X)
def softplus(x):
    return np.sum(np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0.0))


@program(X)
def gelu(x):
    return np.sum(0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))))


@program(X)
def swish(x):
    return np.sum(x / (1 + np.exp(-x)))


@program(X)
def mish(x):
    return np.sum(x * np.tanh(np.log1p(np.exp(x))))


@program(A, X, argnums=(0, 1))
def rows(a, x):
    return np.sum(np.sin(a * x) + a / (1 + x**2))


@program(A, RNG.normal(size=(3, 1)), argnums=(0, 1))
def columns(a, c):
    return np.sum((a - c) ** 3 * np.exp(-c))


@program(X, RNG.normal(size=3), argnums=(0, 1))
def outer_by_axes(x, y):
    return np.sum(np.tanh(x[:, None] * y[None, :]) ** 2)


@program(0.7, A, argnums=(0, 1))
def scale(s, a):
    return np.sum(np.tanh(s * a) + s**2)


@program(np.array([0.4]), A)
def length_one(s, a):
    return np.sum(np.exp(s * a) * s)


@program(RNG.normal(size=(1, 4)), RNG.normal(size=(3, 1)), argnums=(0, 1))
def both_broadcast(a, b):
    return np.sum(np.cos(a * b) * (a + b) ** 2)


@program(A, B)
def fmod_and_sign(a, b):
    return np.sum(np.sign(a) * a**2 * b + np.copysign(a, b) ** 3)


@program(0.6)
def number(x):
    return math.sin(x) * math.exp(-x) + x**4


@program(0.6, 1.3, argnums=(0, 1))
def two_numbers(x, y):
    return math.log(x + y) * math.atan2(x, y) + math.hypot(x, y) - math.tanh(x * y)


@program(0.4)
def number_roots(x):
    return math.sqrt(x) * math.log1p(x) + x**x / math.cosh(x)


@program(A)
def cubes_of_differences(a):
    return np.sum((a[:, 1:] - a[:, :-1]) ** 3)


@program(B)
def log_odds(b):
    p = b / (1 + b)
    return -np.sum(p * np.log(p) + (1 - p) * np.log(1 - p))


@program(X)
def rational(x):
    return np.sum((1 + x * (0.5 + x * (0.25 + 0.1 * x))) / (1 + x**2))


@program(X)
def gaussians(x):
    return np.sum(np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi) * x)
