"""Complex values between real arguments and a real result; what is not accepted names the word complex."""

import numpy as np
import pytest

from srcdiff import grad
from srcdiff.errors import NotDifferentiable
from tests.support.gradients import check_gradient


def phase_response(x):
    z = np.exp(1j * x * np.arange(4))
    h = 1.0 / (z - 0.5 * np.exp(0.3j * x))
    h = h * np.conj(z + 0.2)
    return np.mean(np.abs(h))


def in_place(x):
    h = np.ones(3) + 0j
    h /= np.exp(1j * x) + np.arange(3)
    h *= h
    return np.sum(h.real) + h[1].imag


def matrices(x):
    a = np.array([[1 + 2j, 0.3], [x[0] * 1j, 2.0]])
    y = a @ (x + 1j * x**2)
    s = np.linalg.solve(a, y * 2)
    return np.sum(np.abs(s) ** 2) + np.angle(y[0]) + (y[1] * np.conj(y[1])).real


def iterated(x):
    z = 0j
    for _ in range(5):
        z = z * z + x * (0.1 + 0.2j)
    return abs(z) ** 2 + z.imag


def fourier(x):
    n = len(x)
    out = np.zeros(n, dtype=complex)
    for k in range(n):
        s = 0j
        for j in range(n):
            s = s + x[j] * np.exp(-2j * np.pi * k * j / n)
        out[k] = s
    return np.sum(np.abs(out) ** 3)


def mixed(x):
    z = np.where(x > 0, x * 1j, x + 2j)
    w = np.concatenate([z, np.sqrt(z)]) ** 2
    w[1] *= 1j
    return np.sum(np.real(w) * np.imag(w)) + np.real(np.cumsum(w)[-1]) + np.abs(np.prod(z))


@pytest.mark.parametrize(
    "f, x",
    [
        (phase_response, 0.7),
        (in_place, 0.4),
        (matrices, np.array([0.3, -1.2])),
        (iterated, 0.8),
        (fourier, np.array([1.0, 2.0, -0.5])),
        (mixed, np.array([0.4, -0.9])),
    ],
)
def test_gradient(f, x):
    check_gradient(f, x)


def test_the_absolute_value_at_zero():
    assert grad(lambda x: abs(x * 1j))(0.0) == 0.0


@pytest.mark.parametrize(
    "f, x",
    [
        (lambda z: np.sum(np.abs(z) ** 2), np.array([1j])),  # a complex argument
        (lambda x: x * 1j, 1.0),  # a complex result
        (lambda x: np.linalg.norm(x * 1j), np.ones(2)),  # a rule of real numbers
    ],
)
def test_what_is_not_accepted(f, x):
    with pytest.raises(NotDifferentiable, match="complex"):
        grad(f)(x)
