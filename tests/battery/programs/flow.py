"""Loops, branches by sizes, recursion, containers, writes into arrays."""

import math
from typing import NamedTuple

import numpy as np

from tests.battery.collection import program

RNG = np.random.default_rng(15)
X = RNG.normal(size=4)
Y = RNG.normal(size=4)
A = RNG.normal(size=(3, 3))


@program(0.7)
def iterated_sine(x):
    for _ in range(5):
        x = math.sin(x) + 0.5 * x
    return x * x


@program(X)
def iterated_map(x):
    for i in range(4):
        x = np.tanh(x) * (1.0 + 0.1 * i) + 0.1 * x**2
    return np.sum(x**2)


@program(X, A[0])
def polynomial(x, c):
    total = np.zeros(4)
    for a in c:
        total = total * x + a
    return np.sum(total**2)


@program(X)
def list_of_states(x):
    states = []
    for i in range(3):
        x = np.sin(x) + i * x
        states.append(np.sum(x**2))
    return sum(states) * states[0]


@program(X)
def stacked_states(x):
    states = [x]
    for _ in range(3):
        states.append(states[-1] * np.cos(states[-1]))
    return np.sum(np.stack(states) ** 2 * np.arange(4.0)[:, None])


@program(A)
def rows_in_a_loop(a):
    total = 0.0
    for row in a:
        total = total + np.prod(row) * np.sum(row**2)
    return total


@program(X, Y)
def zipped(x, y):
    total = 0.0
    for i, (a, b) in enumerate(zip(x, y)):
        total = total + (i + 1.0) * a**2 * b
    return total**2


@program(X)
def branch_by_length(x):
    if len(x) > 3:
        return np.sum(x[:3] ** 3)
    return np.sum(x)


@program(X)
def branch_by_trip(x):
    for i in range(4):
        if i % 2 == 0:
            x = np.sin(x) * x
        else:
            x = x + 0.1 * x**3
    return np.sum(x)


@program(0.8)
def branch_by_value(x):
    total = 0.0
    for i in range(4):
        if x > 0.5:
            x = x * x * 0.9
            total += x * i
        else:
            x = math.exp(x) - 0.3
            total += x**3
    return total


@branch_by_value.twin
def _(x):
    total = 0.0
    for i in range(4):
        is_large = x > 0.5
        x = np.where(is_large, x * x * 0.9, np.exp(x) - 0.3)
        total = total + np.where(is_large, x * i, x**3)
    return total


@program(2.7)
def square_root_by_newton(a):
    x = 0.5 * (1 + a)
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


@square_root_by_newton.twin
def _(a):
    return np.sqrt(a)


@program(X)
def stopped_early(x):
    total = 0.0
    for i in range(len(x)):
        total = total + x[i] ** 3 * (i + 1)
        if i == 2:
            break
    return total


def power(x, n):
    if n == 0:
        return 1.0
    half = power(x, n // 2)
    return half * half if n % 2 == 0 else half * half * x


@program(0.9, order=1)
def recursion_on_a_number(x):
    return power(x, 11) + 2 * x


def tree_sum(tree):
    if isinstance(tree, tuple):
        left, right = tree
        return tree_sum(left) * tree_sum(right) + tree_sum(left)
    return np.sum(np.sin(tree))


@program(((X, X + 1.0), (Y, (X * Y, Y - 1.0))))
def recursion_on_a_tree(tree):
    return tree_sum(tree) ** 2


@program({"w": A, "b": X[:3]}, Y[:3])
def dict_of_parameters(p, x):
    return np.sum(np.tanh(p["w"] @ x + p["b"]) ** 2)


@program([(A, X[:3]), (A.T, Y[:3])], X[1:])
def list_of_layers(layers, x):
    for w, b in layers:
        x = np.tanh(w @ x + b)
    return np.sum(x**2)


@program({"a": [X, Y], "b": (0.5, {"c": A})})
def nested_containers(p):
    scale, inner = p["b"]
    return scale * np.sum(p["a"][0] * p["a"][1] ** 2) + np.sum(inner["c"] @ inner["c"]) * scale**2


class Point(NamedTuple):
    x: float
    y: float


@program(Point(0.5, 1.2))
def named_tuples(p):
    q = Point(p.x * p.y, math.sin(p.x))
    return q.x**2 * q.y + p.y


@program(X, Y, argnums=(0, 1))
def written_items(x, y):
    out = np.zeros(4)
    for i in range(4):
        out[i] = x[i] ** 2 * y[i] + (out[i - 1] if i > 0 else 0.0)
    return np.sum(out**2)


@written_items.twin
def _(x, y):
    out = np.zeros(4)
    for i in range(4):
        out = out.at[i].set(x[i] ** 2 * y[i] + (out[i - 1] if i > 0 else 0.0))
    return np.sum(out**2)


@program(X)
def written_slices(x):
    u = x * 1.0
    for _ in range(3):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]) * u[1:-1]
    return np.sum(u**2)


@written_slices.twin
def _(x):
    u = x * 1.0
    for _ in range(3):
        u = u.at[1:-1].set(u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]) * u[1:-1])
    return np.sum(u**2)


@program(X)
def added_in_place(x):
    total = np.zeros((4, 4))
    for i in range(4):
        total[i] += x * x[i]
        total[:, i] += np.sin(x)
    return np.sum(total**3)


@added_in_place.twin
def _(x):
    total = np.zeros((4, 4))
    for i in range(4):
        total = total.at[i].add(x * x[i])
        total = total.at[:, i].add(np.sin(x))
    return np.sum(total**3)


@program(X)
def multiplied_in_place(x):
    y = np.sin(x)
    y *= x
    y[::2] *= y[1::2]
    y -= 0.1 * x**2
    return np.sum(y**2)


@multiplied_in_place.twin
def _(x):
    y = np.sin(x) * x
    y = y.at[::2].multiply(y[1::2])
    y = y - 0.1 * x**2
    return np.sum(y**2)


@program(X, np.array([0, 2, 2, 1]))
def scattered(x, i):
    out = np.zeros(3)
    np.add.at(out, i, x**2)
    return np.sum(np.sin(out) * out)


@scattered.twin
def _(x, i):
    out = np.zeros(3).at[i].add(x**2)
    return np.sum(np.sin(out) * out)


@program(A)
def own_cholesky(a):
    s = a @ a.T + 3 * np.eye(3)
    L = np.zeros((3, 3))
    for j in range(3):
        L[j, j] = np.sqrt(s[j, j] - np.sum(L[j, :j] ** 2))
        for i in range(j + 1, 3):
            L[i, j] = (s[i, j] - np.sum(L[i, :j] * L[j, :j])) / L[j, j]
    return np.sum(np.log(np.diag(L))) + np.sum(L**3)


@own_cholesky.twin
def _(a):
    L = np.linalg.cholesky(a @ a.T + 3 * np.eye(3))
    return np.sum(np.log(np.diag(L))) + np.sum(L**3)


@program(A + 3 * np.eye(3), X[:3])
def gaussian_elimination(a, b):
    a, b = a.copy(), b.copy()
    for k in range(2):
        for i in range(k + 1, 3):
            factor = a[i, k] / a[k, k]
            a[i] -= factor * a[k]
            b[i] -= factor * b[k]
    x = np.zeros(3)
    for i in range(2, -1, -1):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return np.sum(x**2)


@gaussian_elimination.twin
def _(a, b):
    return np.sum(np.linalg.solve(a, b) ** 2)


@program(X)
def swapped(x):
    u, v = x, np.sin(x)
    for _ in range(3):
        u, v = v, u * v + 0.1
    return np.sum(u * v)


@program(X)
def dynamic_programme(x):
    best = np.zeros((3, 4))
    for i in range(3):
        for j in range(4):
            before = best[i - 1, j] if i > 0 else 0.0
            best[i, j] = np.logaddexp(before, x[j] * (i + 1)) * x[j]
    return best[2, 3] + np.sum(best)


@dynamic_programme.twin
def _(x):
    best = [[0.0] * 4 for _ in range(3)]
    for i in range(3):
        for j in range(4):
            before = best[i - 1][j] if i > 0 else 0.0
            best[i][j] = np.logaddexp(before, x[j] * (i + 1)) * x[j]
    return best[2][3] + sum(sum(row) for row in best)


@program(X)
def comprehension(x):
    parts = [np.sin(a) * b for a, b in zip(x, x[::-1])]
    return sum(p * p for p in parts) * parts[0]


@program(X)
def closures(x):
    def scaled(k):
        return lambda y: np.sin(k * y) * x

    return np.sum(scaled(2.0)(x) + scaled(x[0])(x**2))


@program(0.3, 1.1, argnums=(0, 1))
def while_with_numbers(x, y):
    n = 0
    while n < 5:
        x, y = x * math.cos(y), y + 0.1 * x
        n += 1
    return x * y


@program({"a": X, "b": Y})
def dict_in_a_loop(p):
    total = 0.0
    for name, value in p.items():
        total = total + np.sum(value**3) * (2.0 if name == "a" else 0.5)
    return total**2


@program(X)
def early_return(x):
    for i in range(4):
        x = x * np.cos(x)
        if i == 1:
            return np.sum(x**2)
    return np.sum(x)


@program(X)
def continued_fraction(x):
    f = 0.0
    for i in range(3, -1, -1):
        f = 1 / (2.0 + x[i] ** 2 + f)
    return f
