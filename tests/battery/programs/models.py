"""Losses, filters, physics, networks, special functions, complex intermediates."""

import numpy as np
import scipy.special
from scipy.special import erf, expit, gammaln

from tests.battery.collection import program

RNG = np.random.default_rng(16)
X = RNG.normal(size=(5, 3))
Y = RNG.normal(size=5)
W = RNG.normal(size=3)
P = RNG.uniform(0.5, 2.0, size=4)


@program(W, X, Y)
def least_squares(w, x, y):
    return np.mean((x @ w - y) ** 2)


@program(W, X, (Y > 0) * 1.0)
def logistic(w, x, y):
    z = x @ w
    return np.mean(np.logaddexp(0.0, z) - y * z)


@program(W, X, Y**2)
def poisson(w, x, y):
    z = x @ w
    return np.mean(np.exp(z) - y * z)


@program((W, 0.3, 4.0), X, Y)
def student(p, x, y):
    w, log_scale, nu = p
    r = (y - x @ w) / np.exp(log_scale)
    return np.sum(0.5 * (nu + 1) * np.log1p(r**2 / nu)) + 5 * log_scale


@program(W, X, Y)
def huber(w, x, y):
    r = x @ w - y
    return np.sum(np.where(np.abs(r) < 1.0, 0.5 * r**2, np.abs(r) - 0.5))


@program(W, X, Y)
def elastic_net(w, x, y):
    return np.mean((x @ w - y) ** 2) + 0.1 * np.sum(np.abs(w)) + 0.2 * np.sum(w**2)


@program([(RNG.normal(size=(3, 4)), RNG.normal(size=4)), (RNG.normal(size=(4, 2)), RNG.normal(size=2))], X)
def perceptron(layers, x):
    for w, b in layers:
        x = np.tanh(x @ w + b)
    return np.sum(x**2)


@program({"q": RNG.normal(size=(3, 2)), "k": RNG.normal(size=(3, 2)), "v": RNG.normal(size=(3, 2))}, X)
def attention(p, x):
    s = (x @ p["q"]) @ (x @ p["k"]).T / np.sqrt(2.0)
    e = np.exp(s - np.max(s, axis=-1, keepdims=True))
    return np.sum((e / np.sum(e, axis=-1, keepdims=True) @ (x @ p["v"])) ** 2)


@program(RNG.normal(size=(5, 4)), RNG.normal(size=4), RNG.normal(size=4), argnums=(0, 1, 2))
def layer_norm(x, gain, bias):
    mean = np.mean(x, axis=-1, keepdims=True)
    var = np.var(x, axis=-1, keepdims=True)
    return np.sum(np.sin((x - mean) / np.sqrt(var + 1e-5) * gain + bias))


@program({"u": RNG.normal(size=(2, 2)), "w": RNG.normal(size=(2, 3)), "h": RNG.normal(size=2)}, X)
def recurrent(p, xs):
    h = p["h"]
    for x in xs:
        h = np.tanh(p["u"] @ h + p["w"] @ x)
    return np.sum(h**2)


@program({"z": RNG.normal(size=(2, 5)), "c": RNG.normal(size=(2, 5))}, X, order=2)
def gated(p, xs):
    h = np.zeros(2)
    for x in xs:
        both = np.concatenate([h, x])
        z = 1 / (1 + np.exp(-(p["z"] @ both)))
        h = (1 - z) * h + z * np.tanh(p["c"] @ both)
    return h @ h


@program(np.array([1.0, 0.5]), 0.3, argnums=(0, 1))
def oscillator_by_runge_kutta(y, damping):
    def slope(y):
        return np.array([y[1], -np.sin(y[0]) - damping * y[1]])

    h = 0.1
    for _ in range(3):
        a = slope(y)
        b = slope(y + 0.5 * h * a)
        c = slope(y + 0.5 * h * b)
        d = slope(y + h * c)
        y = y + h / 6 * (a + 2 * b + 2 * c + d)
    return np.sum(y**2)


@program(np.array([1.0, 0.8]), np.array([1.1, 0.4, 0.4, 0.1]), argnums=(0, 1))
def predators_by_euler(y, p):
    for _ in range(5):
        y = y + 0.05 * np.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[3] * y[0] * y[1] - p[2] * y[1]])
    return y[0] ** 2 + y[1]


@program(np.array([0.1, 0.2, 0.3, 0.2, 0.1]), 0.2, argnums=(0, 1))
def heat(u, k):
    for _ in range(4):
        u = u + k * (np.roll(u, 1) - 2 * u + np.roll(u, -1)) * (1 + u)
    return np.sum(u**2)


@program(np.array([0.5, 0.3]), Y)
def kalman(p, ys):
    q, r = np.exp(p[0]), np.exp(p[1])
    m, v, loss = 0.0, 1.0, 0.0
    for y in ys:
        v = v + q
        s = v + r
        loss = loss + 0.5 * np.log(s) + 0.5 * (y - m) ** 2 / s
        k = v / s
        m = m + k * (y - m)
        v = (1 - k) * v
    return loss


@program((RNG.normal(size=(2, 2)), RNG.normal(size=(2, 2))), X[:, :2], order=2)
def kalman_of_vectors(p, ys):
    a, b = p
    m, v, loss = np.zeros(2), np.eye(2), 0.0
    for y in ys:
        m = a @ m
        v = a @ v @ a.T + np.eye(2)
        s = v + b @ b.T + np.eye(2)
        e = y - m
        loss = loss + 0.5 * e @ np.linalg.solve(s, e) + 0.5 * np.linalg.slogdet(s)[1]
        k = np.linalg.solve(s, v).T
        m = m + k @ e
        v = v - k @ v
    return loss


@program(np.array([0.8, 0.1]), Y)
def exponential_filter(p, ys):
    level, total = p[1], 0.0
    for y in ys:
        total = total + (y - level) ** 2
        level = p[0] * level + (1 - p[0]) * y
    return total


@program(np.array([0.2, -0.3, 0.4]), RNG.normal(size=(3, 4)))
def forward_algorithm(pi, emissions):
    a = np.log(np.array([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]]))
    alpha = pi + emissions[:, 0]
    for t in range(1, 4):
        z = alpha[:, None] + a
        m = np.max(z, axis=0)
        alpha = np.log(np.sum(np.exp(z - m), axis=0)) + m + emissions[:, t]
    return np.log(np.sum(np.exp(alpha)))


@program(RNG.normal(size=(4, 2)))
def lennard_jones(x):
    d = x[:, None, :] - x[None, :, :]
    r = np.sum(d**2, axis=-1) + np.eye(4) + 0.5
    return np.sum((1 / r**3 - 1 / r) * (1 - np.eye(4)))


@program(np.array([0.1, -0.2, 0.5]), X, Y, order=2)
def gaussian_process(theta, x, y):
    d = np.sum((x[:, None, :] - x[None, :, :]) ** 2, axis=-1)
    k = np.exp(theta[0]) * np.exp(-0.5 * d * np.exp(theta[1])) + np.exp(theta[2]) * np.eye(5)
    lower = np.linalg.cholesky(k)
    z = np.linalg.solve(lower, y)
    return 0.5 * z @ z + np.sum(np.log(np.diag(lower)))


@program((np.array([0.3, 0.7]), np.array([[0.1, 1.0], [2.0, -1.0]]), np.array([0.2, -0.1])), X[:, :2])
def mixture(p, x):
    logits, means, scales = p
    e = (x[:, None, :] - means) * np.exp(-scales)[None, :, None]
    logs = -0.5 * np.sum(e**2, axis=-1) - 2 * scales + logits
    return -np.sum(np.log(np.sum(np.exp(logs), axis=1))) + 5 * np.log(np.sum(np.exp(logits)))


@program(np.array([-1.2, 1.0, 0.5, 2.0]))
def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@program(np.array([0.3, -0.4, 1.2]))
def ackley(x):
    return -20 * np.exp(-0.2 * np.sqrt(np.mean(x**2))) - np.exp(np.mean(np.cos(2 * np.pi * x)))


@program(np.array([0.3, -0.4]))
def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


@program(P, P[::-1] * 0.3)
def divergence(p, q):
    a, b = p / np.sum(p), q / np.sum(q)
    return np.sum(a * (np.log(a) - np.log(b)))


@program(np.array([0.4, 0.9, -0.2]))
def error_functions(x):
    return np.sum(erf(x) * x + expit(2 * x) ** 2)


@program(P)
def gamma_functions(p):
    return np.sum(gammaln(p) * p)


@program(P)
def digamma_functions(p):
    return np.sum(scipy.special.digamma(p) * p)


@program(np.array([0.4, 0.9, -0.2]))
def normal_distribution(x):
    return np.sum(scipy.special.ndtr(x) * x) + np.sum(scipy.special.log_ndtr(x) ** 2)


@program(np.array([0.2, 0.6, 0.7]))
def log_odds_functions(p):
    return np.sum(scipy.special.logit(p) ** 2) + scipy.special.logsumexp(p * 3) + np.sum(scipy.special.xlogy(p, p))


@program(P, P[::-1], argnums=(0, 1))
def beta_functions(a, b):
    return np.sum(gammaln(a) + gammaln(b) - gammaln(a + b))


@program(np.array([0.3, 0.8]))
def complex_exponentials(x):
    z = np.exp(1j * x) + 0.5 * x
    return np.sum(np.abs(z) ** 2) + np.sum(np.real(z**3))


@program(np.array([0.3, 0.8]), np.array([1.1, -0.4]), argnums=(0, 1))
def complex_products(x, y):
    z = x + 1j * y
    w = z * np.conj(z[::-1]) / (2.0 + z)
    return np.sum(np.real(w) * np.imag(w))


@program(np.array([0.3, 0.8, -0.5]))
def impedance(x):
    frequencies = np.array([0.5, 1.0, 2.0])
    z = np.exp(x[0]) + 1j * frequencies * np.exp(x[1]) + 1 / (1j * frequencies * np.exp(x[2]))
    return np.sum(np.abs(1 / z) ** 2) + np.sum(np.angle(z))


@program(np.array([0.3, 0.8, -0.5, 1.0]))
def slow_fourier_transform(x):
    k = np.arange(4.0)
    spectrum = np.exp(-0.5j * np.pi * np.outer(k, k)) @ (x**2)
    return np.sum(np.abs(spectrum) ** 2 * k) + np.sum(np.imag(spectrum) ** 3)
