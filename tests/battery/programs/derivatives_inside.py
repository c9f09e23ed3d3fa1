"""Functions that take derivatives themselves: bilevel steps, gradient penalties, physics losses, implicit steps."""

import numpy as np

from srcdiff import grad, jvp, value_and_grad, vjp
from tests.battery.collection import program

RNG = np.random.default_rng(17)
X = RNG.normal(size=(4, 3))
Y = RNG.normal(size=4)
W = RNG.normal(size=3)


def inner_loss(w, x, y):
    return np.mean((np.tanh(x @ w) - y) ** 2)


@program(W, X, Y, order=2)
def one_inner_step(w, x, y):
    return inner_loss(w - 0.5 * grad(inner_loss)(w, x, y), x, y)


@program(0.3, W, X, Y)
def learning_rate(rate, w, x, y):
    for _ in range(2):
        w = w - rate * grad(inner_loss)(w, x, y)
    return inner_loss(w, x, y)


@program(W, X, order=2)
def gradient_penalty(w, x):
    def critic(z):
        return np.sum(np.tanh(z @ w))

    g = grad(critic)(x)
    return np.mean((np.sqrt(np.sum(g**2, axis=1) + 0.01) - 1) ** 2)


def wave(p, t):
    return p[0] * np.sin(p[1] * t + p[2])


@program(np.array([1.0, 1.3, 0.2]))
def physics_loss(p):
    total = 0.0
    for t in (0.1, 0.5, 0.9):
        u = wave(p, t)
        acceleration = grad(grad(wave, 1), 1)(p, t)
        total = total + (acceleration + u) ** 2
    return total


def energy(q):
    return np.sum(q**4) / 4 + np.sum(q[1:] * q[:-1])


@program(np.array([0.4, -0.2, 0.3]), np.array([0.1, 0.2, -0.3]), argnums=(0, 1), order=2)
def symplectic_steps(q, p):
    for _ in range(2):
        p = p - 0.1 * grad(energy)(q)
        q = q + 0.1 * p
    return energy(q) + 0.5 * p @ p


@program(np.array([0.4, -0.2, 0.3]))
def value_and_slope(q):
    value, slope = value_and_grad(energy)(q)
    return value**2 + np.sum(slope**3)


@program(np.array([0.4, -0.2, 0.3]), np.array([1.0, 0.5, -0.5]))
def directional(q, v):
    value, slope = jvp(energy, (q,), (v,))
    return value * slope


@program(np.array([0.4, -0.2, 0.3]), np.array([1.0, 0.5, -0.5]))
def pulled_back(q, v):
    y, pullback = vjp(np.tanh, q)
    (x_bar,) = pullback(v * y)
    return np.sum(x_bar**2)


@program(np.array([0.4, -0.2, 0.3]), np.array([1.0, 0.5, -0.5]), order=2)
def curvature(q, v):
    _, along = jvp(grad(energy), (q,), (v,))
    return np.sum(along * v) ** 2


@program(0.7)
def newton_step(x):
    def f(y):
        return np.exp(y) - x * y**3 - 1.5

    y = 0.8
    for _ in range(2):
        y = y - f(y) / grad(f)(y)
    return y**2


@program(np.array([0.3, 0.5]))
def hamiltonian_flow(z):
    def hamiltonian(z):
        return 0.5 * z[1] ** 2 - np.cos(z[0])

    g = grad(hamiltonian)(z)
    return hamiltonian(z + 0.1 * np.stack([g[1], -g[0]]))
