"""Algorithms that overwrite arrays in loops, of which the `memory` section measures what their gradients keep.

Each has the arguments for a size n, and how many numbers the arrays have that it works on, its arguments included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Sweep:
    loss: Callable[..., Any]
    args: Callable[[np.random.Generator, int], tuple[Any, ...]]
    works_on: Callable[[int], int]
    argnums: tuple[int, ...]


SWEEPS: dict[str, Sweep] = {}


def sweep(args: Callable[..., Any], works_on: Callable[[int], int], argnums: tuple[int, ...] = (0,)) -> Any:
    def noted(loss: Callable[..., Any]) -> Callable[..., Any]:
        SWEEPS[loss.__name__] = Sweep(loss, args, works_on, argnums)
        return loss

    return noted


def square(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    a = rng.normal(size=(n, n))
    return (a @ a.T + n * np.eye(n),)


def system(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    return (*square(rng, n), rng.normal(size=n))


@sweep(square, lambda n: 2 * n * n)
def cholesky(a):
    n = len(a)
    L = np.zeros((n, n))
    for j in range(n):
        L[j, j] = np.sqrt(a[j, j] - np.dot(L[j, :j], L[j, :j]))
        for i in range(j + 1, n):
            L[i, j] = (a[i, j] - np.dot(L[i, :j], L[j, :j])) / L[j, j]
    return np.sum(np.log(np.diag(L))) + np.sum(L**2)


@sweep(square, lambda n: 3 * n * n)
def lu(a):
    n = len(a)
    L = np.eye(n)
    U = np.zeros((n, n))
    for j in range(n):
        for i in range(j + 1):
            U[i, j] = a[i, j] - L[i, :i] @ U[:i, j]
        for i in range(j + 1, n):
            L[i, j] = (a[i, j] - L[i, :j] @ U[:j, j]) / U[j, j]
    return np.sum(np.log(np.abs(np.diag(U)))) + np.sum(L**2)


@sweep(square, lambda n: n * n)
def lu_in_place(a):
    n = len(a)
    for j in range(n):
        for i in range(1, n):
            if i <= j:
                a[i, j] -= a[i, :i] @ a[:i, j]
            else:
                a[i, j] = (a[i, j] - a[i, :j] @ a[:j, j]) / a[j, j]
    return np.sum(np.log(np.abs(np.diag(a))))


@sweep(square, lambda n: 3 * n * n)
def gram_schmidt(A):
    m, n = A.shape
    Q = np.zeros((m, n))
    R = np.zeros((n, n))
    for j in range(n):
        v = A[:, j].copy()
        for i in range(j):
            R[i, j] = Q[:, i] @ A[:, j]
            v -= R[i, j] * Q[:, i]
        R[j, j] = np.sqrt(v @ v)
        Q[:, j] = v / R[j, j]
    return np.sum(Q[0]) + np.sum(np.log(np.diag(R)))


@sweep(system, lambda n: n * n + 2 * n, (0, 1))
def forward_substitution(L, b):
    x = np.zeros(len(b))
    for i in range(len(b)):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return np.sum(x**2)


@sweep(system, lambda n: n * n + n, (0, 1))
def back_substitution_in_place(U, b):
    for i in range(len(b) - 1, -1, -1):
        b[i] /= U[i, i]
        b[:i] -= U[:i, i] * b[i]
    return np.sum(b**2)


@sweep(lambda rng, n: (rng.normal(size=(n, n)), rng.normal(size=(n, n))), lambda n: 2 * n * n, (0, 1))
def gauss_seidel(u, f):
    n = len(u)
    for _ in range(3):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])
    return np.sum(u**2)


@sweep(lambda rng, n: (rng.normal(size=(n, n)),), lambda n: n * n)
def heat(u):
    for _ in range(100):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return np.sum(u**2)
