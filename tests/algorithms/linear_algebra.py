"""Factorisations, solvers and iterations on matrices, with loops and in place."""

import numpy as np

from tests.algorithms.collecting import Programs

programs = Programs()


def square(r, n):
    return r.normal(size=(n, n)) + n * np.eye(n)


def positive(r, n):
    a = r.normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


def weights(n, m):
    return np.sin(np.arange(1.0, n * m + 1)).reshape(n, m)


# ---------------------------------------------------------------- Cholesky


def cholesky_dots(a):
    n = a.shape[0]
    L = np.zeros((n, n))
    for j in range(n):
        L[j, j] = np.sqrt(a[j, j] - np.dot(L[j, :j], L[j, :j]))
        for i in range(j + 1, n):
            L[i, j] = (a[i, j] - np.dot(L[i, :j], L[j, :j])) / L[j, j]
    return L


@programs.add(lambda r, n: (positive(r, n),), sizes=(1, 2, 5))
def cholesky_by_dots(a):
    return np.sum(cholesky_dots(a) ** 2 * weights(len(a), len(a)))


@programs.add(lambda r, n: (positive(r, n), r.normal(size=n)), sizes=(2, 4), argnums=(0, 1))
def gaussian_log_density(cov, x):
    """With Cholesky and a forward substitution, both written out."""
    n = len(x)
    L = cholesky_dots(cov)
    z = np.zeros(n)
    for i in range(n):
        z[i] = (x[i] - L[i, :i] @ z[:i]) / L[i, i]
    return -0.5 * np.sum(z**2) - np.sum(np.log(np.diag(L))) - 0.5 * n * np.log(2 * np.pi)


@programs.add(lambda r, n: (positive(r, n),), sizes=(1, 2, 4))
def cholesky_three_loops(a):
    n = len(a)
    L = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = 0.0
            for k in range(j):
                s += L[i, k] * L[j, k]
            if i == j:
                L[i, j] = np.sqrt(a[i, i] - s)
            else:
                L[i, j] = (a[i, j] - s) / L[j, j]
    return np.sum(L * weights(n, n))


@programs.add(lambda r, n: (positive(r, n),), sizes=(1, 2, 5))
def cholesky_in_place_by_columns(a):
    n = len(a)
    for k in range(n):
        a[k, k] = np.sqrt(a[k, k])
        a[k + 1 :, k] /= a[k, k]
        for j in range(k + 1, n):
            a[j:, j] -= a[j, k] * a[j:, k]
    return np.sum(np.tril(a) * weights(n, n))


@programs.add(lambda r, n: (positive(r, n),), sizes=(2, 5))
def cholesky_left_looking_by_columns(a):
    n = len(a)
    L = np.zeros((n, n))
    for j in range(n):
        v = a[j:, j] - L[j:, :j] @ L[j, :j]
        L[j:, j] = v / np.sqrt(v[0])
    return np.sum(L * weights(n, n))


# ---------------------------------------------------------------- LU


@programs.add(lambda r, n: (r.normal(size=(n, n)),), sizes=(2, 5))
def lu_swaps_by_fancy_index(a):
    n = len(a)
    for k in range(n - 1):
        p = k + np.argmax(np.abs(a[k:, k]))
        if p != k:
            a[[k, p]] = a[[p, k]]
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return np.sum(np.log(np.abs(np.diag(a)))) + np.sum(np.tril(a, -1) * weights(n, n))


@programs.add(lambda r, n: (r.normal(size=(n, n)),), sizes=(2, 5))
def lu_swaps_by_copied_row(a):
    a = a.copy()
    n = a.shape[0]
    sign = 1.0
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[p, k]):
                p = i
        if p != k:
            tmp = a[k].copy()
            a[k] = a[p]
            a[p] = tmp
            sign = -sign
        for i in range(k + 1, n):
            a[i, k] = a[i, k] / a[k, k]
            a[i, k + 1 :] = a[i, k + 1 :] - a[i, k] * a[k, k + 1 :]
    return sign * np.prod(np.diag(a)) + np.sum(np.tril(a, -1) ** 2)


@programs.add(lambda r, n: (r.normal(size=(n, n)), r.normal(size=n)), sizes=(2, 4), argnums=(0, 1))
def solve_by_elimination(a, b):
    """Partial pivoting, swaps by elements, everything in loops."""
    n = len(b)
    A = a.copy()
    x = b.copy()
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[p, k]):
                p = i
        for j in range(n):
            A[k, j], A[p, j] = A[p, j], A[k, j]
        x[k], x[p] = x[p], x[k]
        for i in range(k + 1, n):
            m = A[i, k] / A[k, k]
            for j in range(k, n):
                A[i, j] -= m * A[k, j]
            x[i] -= m * x[k]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= A[i, j] * x[j]
        x[i] /= A[i, i]
    return np.sum(x**2)


@programs.add(lambda r, n: (square(r, n), r.normal(size=n)), sizes=(2, 5), argnums=(0, 1))
def lu_without_pivots_into_two_matrices(A, b):
    n = len(A)
    L = np.eye(n)
    U = A.copy()
    for k in range(n - 1):
        for i in range(k + 1, n):
            L[i, k] = U[i, k] / U[k, k]
            U[i, k:] -= L[i, k] * U[k, k:]
    y = np.zeros(n)
    for i in range(n):
        y[i] = b[i] - L[i, :i] @ y[:i]
    x = np.zeros(n)
    for i in reversed(range(n)):
        x[i] = (y[i] - U[i, i + 1 :] @ x[i + 1 :]) / U[i, i]
    return np.sum(x * np.cos(np.arange(n)))


@programs.add(lambda r, n: (square(r, n),), sizes=(2, 4))
def gauss_jordan_inverse(A):
    n = len(A)
    M = np.hstack([A, np.eye(n)])
    for i in range(n):
        M[i] /= M[i, i]
        for j in range(n):
            if j != i:
                M[j] -= M[j, i] * M[i]
    return np.sum(M[:, n:] ** 2)


# ---------------------------------------------------------------- QR


@programs.add(lambda r, n: (r.normal(size=(n + 1, n)),), sizes=(1, 2, 4))
def classical_gram_schmidt(A):
    m, n = A.shape
    Q = np.zeros((m, n))
    R = np.zeros((n, n))
    for j in range(n):
        v = A[:, j]
        for i in range(j):
            R[i, j] = Q[:, i] @ A[:, j]
            v = v - R[i, j] * Q[:, i]
        R[j, j] = np.linalg.norm(v)
        Q[:, j] = v / R[j, j]
    return np.sum(Q * weights(m, n)) + np.sum(R**2 * weights(n, n))


@programs.add(lambda r, n: (r.normal(size=(n + 1, n)),), sizes=(1, 2, 4))
def modified_gram_schmidt(A):
    m, n = A.shape
    V = A.copy()
    Q = np.empty_like(V)
    R = np.zeros((n, n))
    for i in range(n):
        R[i, i] = np.sqrt(np.sum(V[:, i] ** 2))
        Q[:, i] = V[:, i] / R[i, i]
        for j in range(i + 1, n):
            R[i, j] = np.dot(Q[:, i], V[:, j])
            V[:, j] -= R[i, j] * Q[:, i]
    return np.sum(Q * weights(m, n)) + np.sum(np.log(np.diag(R)))


@programs.add(lambda r, n: (r.normal(size=(n + 1, n)),), sizes=(1, 2, 4))
def modified_gram_schmidt_in_place(Q):
    n = Q.shape[1]
    for k in range(n):
        Q[:, k] /= np.linalg.norm(Q[:, k])
        for j in range(k + 1, n):
            Q[:, j] -= (Q[:, k] @ Q[:, j]) * Q[:, k]
    return np.sum(Q * weights(*Q.shape))


@programs.add(lambda r, n: (r.normal(size=(n + 1, n)),), sizes=(1, 2, 4))
def gram_schmidt_by_views(A):
    Q = A.copy()
    for j in range(Q.shape[1]):
        q = Q[:, j]
        for i in range(j):
            q -= (Q[:, i] @ q) * Q[:, i]
        q /= np.sqrt(q @ q)
    return np.sum(Q * weights(*Q.shape))


@programs.add(lambda r, n: (r.normal(size=(n + 1, n)),), sizes=(1, 2, 4))
def householder_qr(A):
    m, n = A.shape
    R = A.copy()
    Q = np.eye(m)
    for k in range(n):
        x = R[k:, k]
        v = x.copy()
        v[0] += np.sign(x[0]) * np.linalg.norm(x)
        v /= np.linalg.norm(v)
        R[k:, k:] -= 2.0 * np.outer(v, v @ R[k:, k:])
        Q[:, k:] -= 2.0 * np.outer(Q[:, k:] @ v, v)
    return np.sum(Q * weights(m, m)) + np.sum(np.triu(R) * weights(m, n))


@programs.add(lambda r, n: (r.normal(size=(n + 2, n)), r.normal(size=n + 2)), sizes=(1, 3), argnums=(0, 1))
def least_squares_by_givens(A, b):
    m, n = A.shape
    for j in range(n):
        for i in range(m - 1, j, -1):
            r = np.hypot(A[i - 1, j], A[i, j])
            c, s = A[i - 1, j] / r, A[i, j] / r
            upper = c * A[i - 1] + s * A[i]
            lower = -s * A[i - 1] + c * A[i]
            A[i - 1], A[i] = upper, lower
            b[i - 1], b[i] = c * b[i - 1] + s * b[i], -s * b[i - 1] + c * b[i]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - np.dot(A[i, i + 1 : n], x[i + 1 :])) / A[i, i]
    return np.sum(x * np.arange(1, n + 1)) + np.sum(b[n:] ** 2)


# ---------------------------------------------------------------- triangular and banded solves


@programs.add(lambda r, n: (np.tril(square(r, n)), r.normal(size=n)), sizes=(1, 2, 5), argnums=(0, 1))
def forward_substitution(L, b):
    n = len(b)
    x = np.zeros(n)
    for i in range(n):
        s = b[i]
        for j in range(i):
            s -= L[i, j] * x[j]
        x[i] = s / L[i, i]
    return np.sum(x**2)


@programs.add(lambda r, n: (np.triu(square(r, n)), r.normal(size=n)), sizes=(1, 2, 5), argnums=(0, 1))
def back_substitution_in_place(U, b):
    for i in range(len(b) - 1, -1, -1):
        b[i] /= U[i, i]
        b[:i] -= U[:i, i] * b[i]
    return np.sum(b**2)


@programs.add(lambda r, n: (np.triu(square(r, n)), r.normal(size=(n, 2))), sizes=(1, 2, 4), argnums=(0, 1))
def back_substitution_many(U, B):
    X = np.zeros_like(B)
    for i in range(len(B) - 1, -1, -1):
        X[i] = (B[i] - U[i, i + 1 :] @ X[i + 1 :]) / U[i, i]
    return np.sum(X**2 * weights(*B.shape))


def tridiagonal(r, n):
    return r.normal(size=n), 4 + r.normal(size=n), r.normal(size=n), r.normal(size=n)


@programs.add(tridiagonal, sizes=(1, 2, 5), argnums=(0, 1, 2, 3))
def thomas_with_work_arrays(a, b, c, d):
    n = len(d)
    cp = np.zeros(n)
    dp = np.zeros(n)
    cp[0] = c[0] / b[0]
    dp[0] = d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / m
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m
    x = np.zeros(n)
    x[-1] = dp[-1]
    for i in range(n - 2, -1, -1):
        x[i] = dp[i] - cp[i] * x[i + 1]
    return np.sum(x**2)


@programs.add(tridiagonal, sizes=(1, 2, 5), argnums=(0, 1, 2, 3))
def thomas_in_place(a, b, c, d):
    n = len(d)
    for i in range(1, n):
        w = a[i] / b[i - 1]
        b[i] -= w * c[i - 1]
        d[i] -= w * d[i - 1]
    d[n - 1] /= b[n - 1]
    for i in range(n - 2, -1, -1):
        d[i] = (d[i] - c[i] * d[i + 1]) / b[i]
    return np.sum(d**2)


# ---------------------------------------------------------------- iterations


@programs.add(lambda r, n: (square(r, n), r.normal(size=n), r.normal(size=n)), sizes=(2, 4), argnums=(0, 1, 2))
def gauss_seidel(A, b, x):
    n = len(b)
    for _ in range(3):
        for i in range(n):
            s = 0.0
            for j in range(n):
                if j != i:
                    s += A[i, j] * x[j]
            x[i] = (b[i] - s) / A[i, i]
    return np.sum(x**2)


@programs.add(lambda r, n: (r.normal(size=(n + 2, n + 2)), r.normal(size=(n + 2, n + 2))), sizes=(1, 3), argnums=(0, 1))
def gauss_seidel_on_a_grid(u, f):
    n, m = u.shape
    for sweep in range(2):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])
    return np.sum(u**2)


@programs.add(lambda r, n: (square(r, n), r.normal(size=n), 1.3), sizes=(2, 4), argnums=(0, 1, 2))
def sor(A, b, omega):
    x = np.zeros(len(b))
    for sweep in range(3):
        for i in range(len(b)):
            sigma = A[i, :i] @ x[:i] + A[i, i + 1 :] @ x[i + 1 :]
            x[i] = (1 - omega) * x[i] + omega * (b[i] - sigma) / A[i, i]
    return x @ x


@programs.add(lambda r, n: (square(r, n), r.normal(size=n)), sizes=(2, 4), argnums=(0, 1))
def jacobi_with_swapped_buffers(A, b):
    n = len(b)
    x = np.zeros(n)
    x_new = np.zeros(n)
    for it in range(5):
        for i in range(n):
            x_new[i] = (b[i] - A[i, :i] @ x[:i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
        x, x_new = x_new, x
    return np.sum(x**2)


@programs.add(lambda r, n: (square(r, n), r.normal(size=n)), sizes=(2, 4), argnums=(0, 1))
def jacobi_until_converged(A, b):
    x = np.zeros_like(b)
    D = np.diag(A)
    for it in range(200):
        x_new = (b - A @ x + D * x) / D
        if np.max(np.abs(x_new - x)) < 1e-12:
            x = x_new
            break
        x = x_new
    return np.sum(x**2)


@programs.add(lambda r, n: (positive(r, n), r.normal(size=n)), sizes=(2, 4), argnums=(0, 1))
def conjugate_gradients(A, b):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    for i in range(len(b)):
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        rs_new = r @ r
        if np.sqrt(rs_new) < 1e-10:
            break
        p *= rs_new / rs
        p += r
        rs = rs_new
    return np.sum(x * np.arange(1, len(b) + 1))


@programs.add(lambda r, n: (positive(r, n),), sizes=(2, 4))
def power_iteration(A):
    v = np.ones(A.shape[0])
    for _ in range(8):
        w = A @ v
        v = w / np.linalg.norm(w)
    return v @ A @ v


@programs.add(lambda r, n: (positive(r, n),), sizes=(2, 4))
def power_iteration_with_work_arrays(A):
    n = len(A)
    v = np.ones(n) / np.sqrt(n)
    w = np.zeros(n)
    value = 0.0
    for k in range(50):
        np.dot(A, v, out=w)
        value = np.dot(v, w)
        w /= np.sqrt(np.sum(w * w))
        if np.max(np.abs(w - v)) < 1e-3:
            break
        v[:] = w
    return value


@programs.add(lambda r, n: (positive(r, n),), sizes=(2, 3))
def jacobi_eigenvalues(A):
    n = len(A)
    S = A.copy()
    for sweep in range(2):
        for p in range(n - 1):
            for q in range(p + 1, n):
                theta = 0.5 * np.arctan2(2 * S[p, q], S[q, q] - S[p, p])
                c, s = np.cos(theta), np.sin(theta)
                J = np.eye(n)
                J[p, p] = c
                J[q, q] = c
                J[p, q] = s
                J[q, p] = -s
                S = J.T @ S @ J
    return np.sum(np.diag(S) ** 3)


# ---------------------------------------------------------------- finite elements


@programs.add(lambda r, n: (1 + r.random(n), 1 + r.random(n), r.normal(size=2 * n)), sizes=(1, 3), argnums=(0, 1, 2))
def beam(EI, lengths, load):
    ne = len(EI)
    ndof = 2 * (ne + 1)
    K = np.zeros((ndof, ndof))
    for e in range(ne):
        L = lengths[e]
        ke = (
            EI[e]
            / L**3
            * np.array(
                [
                    [12, 6 * L, -12, 6 * L],
                    [6 * L, 4 * L**2, -6 * L, 2 * L**2],
                    [-12, -6 * L, 12, -6 * L],
                    [6 * L, 2 * L**2, -6 * L, 4 * L**2],
                ]
            )
        )
        dofs = [2 * e, 2 * e + 1, 2 * e + 2, 2 * e + 3]
        K[np.ix_(dofs, dofs)] += ke
    u = np.linalg.solve(K[2:, 2:], load)
    return load @ u


@programs.add(lambda r, n: (1 + r.random(n), r.random(n + 1)), sizes=(1, 3), argnums=(0, 1))
def bars_assembled_by_elements(k, f):
    n = len(k)
    K = np.zeros((n + 1, n + 1))
    F = np.zeros(n + 1)
    for e in range(n):
        for i in range(2):
            for j in range(2):
                if i == j:
                    K[e + i, e + j] += k[e]
                else:
                    K[e + i, e + j] -= k[e]
            F[e + i] += 0.5 * f[e + i]
    K[0, :] = 0
    K[:, 0] = 0
    K[0, 0] = 1.0
    F[0] = 0.0
    u = np.linalg.solve(K, F)
    return np.sum(u**2)


def mesh(r, n):
    triangles = np.array([[0, 1, 2], [1, 3, 2], [2, 3, 4]])
    return r.normal(size=(5, 2)) + 2 * np.array([[0, 0], [1, 0], [0, 1], [1, 1], [0, 2]]), triangles


@programs.add(mesh, sizes=(1,))
def triangles_with_a_loop_over_elements(nodes, triangles):
    K = np.zeros((len(nodes), len(nodes)))
    for tri in triangles:
        x = nodes[tri, 0]
        y = nodes[tri, 1]
        b = np.array([y[1] - y[2], y[2] - y[0], y[0] - y[1]])
        c = np.array([x[2] - x[1], x[0] - x[2], x[1] - x[0]])
        area = 0.5 * (x[0] * b[0] + x[1] * b[1] + x[2] * b[2])
        ke = (np.outer(b, b) + np.outer(c, c)) / (4 * area)
        for i in range(3):
            for j in range(3):
                K[tri[i], tri[j]] += ke[i, j]
    return np.sum(K**2)


@programs.add(lambda r, n: (r.normal(size=(n, n)), r.normal(size=(n, n))), sizes=(2, 3), argnums=(0, 1))
def matrix_product_by_loops(A, B):
    n, m, p = A.shape[0], A.shape[1], B.shape[1]
    C = np.zeros((n, p))
    for i in range(n):
        for j in range(p):
            for k in range(m):
                C[i, j] += A[i, k] * B[k, j]
    return np.sum(C**2)
