"""Products, solving, factorisations, determinants, matrix functions."""

import numpy as np

from tests.battery.collection import program

RNG = np.random.default_rng(13)
A = RNG.normal(size=(3, 3)) + 3 * np.eye(3)
S = A @ A.T / 3 + np.eye(3)
W = RNG.normal(size=(3, 4))
V = RNG.normal(size=(4, 2))
X = RNG.normal(size=3)
Y = RNG.normal(size=3)
Z = RNG.normal(size=4)


@program(W, V, argnums=(0, 1))
def two_products(w, v):
    return np.sum(np.tanh(w @ v) ** 2)


@program(X, W)
def vector_matrix(x, w):
    return np.sum((x @ w) ** 3)


@program(W, Z, argnums=(0, 1))
def matrix_vector(w, z):
    return np.sum(np.sin(w @ z) * (w @ z))


@program(X, Y, argnums=(0, 1))
def inner(x, y):
    return (x @ y) ** 2 + np.dot(x, x) * np.vdot(y, y)


@program(X, A, argnums=(0, 1))
def quadratic_form(x, a):
    return x @ a @ x + np.exp(-0.1 * x @ a.T @ a @ x)


@program(RNG.normal(size=(2, 3, 4)), RNG.normal(size=(2, 4, 2)), argnums=(0, 1))
def batches(a, b):
    return np.sum(np.tanh(np.matmul(a, b)) ** 3)


@program(RNG.normal(size=(2, 3, 3)), X)
def batch_by_vector(a, x):
    return np.sum(np.cos(a @ x) * x)


@program(A, X, argnums=(0, 1))
def solving(a, x):
    return np.sum(np.linalg.solve(a, x) ** 3)


@program(A, RNG.normal(size=(3, 2)), argnums=(0, 1))
def solving_several(a, b):
    return np.sum(np.sin(np.linalg.solve(a, b)))


@program(A)
def inverse(a):
    return np.sum(np.linalg.inv(a) ** 2)


@program(A)
def determinant(a):
    return np.linalg.det(a) ** 2 / 100


@program(S)
def log_determinant(s):
    return np.linalg.slogdet(s)[1] ** 2


@program(A)
def cholesky(a):
    s = a @ a.T + np.eye(3)
    lower = np.linalg.cholesky(s)
    return np.sum(np.log(np.diag(lower))) + np.sum(lower**2 * np.arange(9.0).reshape(3, 3))


@program(A, X, argnums=(0, 1))
def gaussian_log_density(a, x):
    s = a @ a.T + np.eye(3)
    lower = np.linalg.cholesky(s)
    z = np.linalg.solve(lower, x)
    return -0.5 * z @ z - np.sum(np.log(np.diag(lower)))


@program(A, rtol=1e-8)
def eigenvalues(a):
    values = np.linalg.eigvalsh(a + a.T)
    return np.sum(np.exp(0.1 * values) * np.arange(1.0, 4.0))


@program(A, order=2)
def eigenvectors(a):
    values, vectors = np.linalg.eigh((a + a.T) / 2)
    return np.sum(vectors[:, 0] ** 2 * values) + np.sum(vectors**4)


@program(W, rtol=1e-8)
def singular_values(w):
    return np.sum(np.log(np.linalg.svd(w, compute_uv=False)))


@program(RNG.normal(size=(4, 3)), order=2)
def orthogonal_factor(a):
    q, r = np.linalg.qr(a)
    return np.sum(np.abs(q) * np.arange(12.0).reshape(4, 3)) + np.sum(np.abs(r) ** 2 * np.arange(9.0).reshape(3, 3))


@program(A)
def matrix_powers(a):
    return np.sum(np.linalg.matrix_power(a / 3, 3)) + np.trace(a @ a @ a)


@program(X, Y, argnums=(0, 1))
def outer_products(x, y):
    return np.sum(np.outer(x, y) ** 3 * np.sin(np.outer(y, y)))


@program(X, Y)
def kronecker(x, y):
    return np.sum(np.kron(x, np.sin(y)) ** 3)


@program(A)
def diagonals(a):
    return np.sum(np.diag(a) ** 3) + np.sum(np.diag(np.diag(a) ** 2) @ a) + np.trace(a, offset=1) ** 2


@program(A)
def triangles(a):
    return np.sum(np.tril(a) @ np.triu(a, 1) @ a)


@program(W, V, argnums=(0, 1))
def einsum_product(w, v):
    return np.sum(np.einsum("ij,jk->ik", w, v) ** 3)


@program(A, X, argnums=(0, 1))
def einsum_form(a, x):
    return np.einsum("i,ij,j->", x, np.sin(a), x)


@program(RNG.normal(size=(2, 3, 2)), A)
def einsum_batches(t, a):
    return np.sum(np.tanh(np.einsum("bij,ik->bjk", t, a)))


@program(A)
def einsum_trace(a):
    return np.einsum("ii->", a @ a) ** 2 + np.sum(np.einsum("ij->j", a**2) ** 2)


@program(RNG.normal(size=(2, 3, 2)), RNG.normal(size=(3, 2, 2)))
def tensordot(s, t):
    return np.sum(np.tensordot(s, t, axes=([1, 2], [0, 1])) ** 3)


@program(X, Y, argnums=(0, 1))
def cross_products(x, y):
    return np.sum(np.cross(x, y) ** 3) + np.cross(x, np.sin(y)) @ y


@program(A, X)
def ridge(a, y):
    w = np.linalg.solve(a.T @ a + 0.5 * np.eye(3), a.T @ y)
    return np.sum((a @ w - y) ** 2) + 0.5 * w @ w


@program(W)
def whitened_gram(w):
    g = w @ w.T + 0.1 * np.eye(3)
    return np.trace(np.linalg.inv(g) @ g @ g) + np.linalg.det(g) * 0.01


@program(A, X, argnums=(0, 1))
def newton_inverse(a, x):
    inv = a.T / np.sum(a**2)
    for _ in range(3):
        inv = inv @ (2 * np.eye(3) - a @ inv)
    return np.sum((inv @ x) ** 2)


@program(X)
def rayleigh(x):
    m = np.diag(np.array([1.0, 2.0, 3.0])) + 0.1
    return (x @ m @ x) / (x @ x)


@program(A)
def power_iteration(a):
    v = np.ones(3)
    for _ in range(4):
        v = a @ v
        v = v / np.linalg.norm(v)
    return v @ a @ v


@program(X)
def rotation(x):
    c, s = np.cos(x[0]), np.sin(x[0])
    r = np.array([[c, -s], [s, c]])
    return np.sum((r @ x[1:]) ** 3)


@program(A, X)
def householder(a, v):
    u = v / np.sqrt(v @ v)
    h = np.eye(3) - 2 * np.outer(u, u)
    return np.sum(np.sin(h @ a @ h))


@program(X)
def pairwise_distances(x):
    d = x[:, None] - x[None, :]
    return np.sum(np.sqrt(d**2 + 0.1)) + np.sum(np.exp(-(d**2)))
