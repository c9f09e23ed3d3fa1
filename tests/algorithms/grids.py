"""Time steps on grids, stencils, images, tables of dynamic programming, scans and sorting."""

import numpy as np

from tests.algorithms.collecting import Programs

programs = Programs()


# ---------------------------------------------------------------- heat


@programs.add(lambda r, n: (r.normal(size=n), 0.3), sizes=(3, 6), argnums=(0, 1))
def heat_by_slices(u, alpha):
    for step in range(4):
        u[1:-1] = u[1:-1] + alpha * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u**2)


@programs.add(lambda r, n: (r.normal(size=n),), sizes=(3, 6))
def heat_with_fixed_coefficients(u0):
    u = u0.copy()
    for step in range(4):
        u[1:-1] += 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u**2)


@programs.add(lambda r, n: (r.normal(size=n),), sizes=(3, 6))
def heat_by_loops(u):
    n = len(u)
    for t in range(3):
        new = u.copy()
        for i in range(1, n - 1):
            new[i] = u[i] + 0.1 * (u[i - 1] - 2 * u[i] + u[i + 1])
        u = new
    return np.sum(u**2)


@programs.add(lambda r, n: (r.normal(size=n),), sizes=(3, 6))
def heat_into_a_table(u0):
    steps = 4
    u = np.zeros((steps + 1, len(u0)))
    u[0] = u0
    for t in range(steps):
        for i in range(1, len(u0) - 1):
            u[t + 1, i] = u[t, i] + 0.1 * (u[t, i + 1] - 2 * u[t, i] + u[t, i - 1])
    return np.sum(u[-1] ** 2) + np.sum(u[:, 1])


@programs.add(lambda r, n: (r.random(n) + 0.5, 0.1), sizes=(3, 6), argnums=(0, 1))
def heat_nonlinear(u, dt):
    for step in range(3):
        k = 0.5 * (u[1:] ** 2 + u[:-1] ** 2)
        flux = k * (u[1:] - u[:-1])
        u[1:-1] += dt * (flux[1:] - flux[:-1])
    return np.sum(u**3)


@programs.add(lambda r, n: (r.normal(size=(n, n + 1)), 0.5 + r.random((n, n + 1))), sizes=(3, 5), argnums=(0, 1))
def heat_in_two_dimensions(u, k):
    for _ in range(3):
        lap = np.zeros_like(u)
        lap[1:-1, 1:-1] = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        u = u + 0.1 * k * lap
        u[0, :] = u[1, :]
        u[-1, :] = u[-2, :]
        u[:, 0] = 0.0
        u[:, -1] = 0.0
    return np.sum(u**2)


@programs.add(lambda r, n: (r.normal(size=n), 0.5 + r.random(n)), sizes=(3, 6), argnums=(0, 1))
def wave_with_three_buffers(u0, c):
    prev = u0.copy()
    cur = u0.copy()
    nxt = np.zeros_like(u0)
    for step in range(4):
        nxt[1:-1] = 2 * cur[1:-1] - prev[1:-1] + c[1:-1] ** 2 * 0.1 * (cur[2:] - 2 * cur[1:-1] + cur[:-2])
        nxt[0] = 0.0
        nxt[-1] = 0.0
        prev, cur, nxt = cur, nxt, prev
    return np.sum(cur**2)


@programs.add(lambda r, n: (r.normal(size=n),), sizes=(3, 6))
def burgers_upwind(u):
    dt, dx = 0.05, 1.0
    for _ in range(4):
        un = u.copy()
        for i in range(1, len(u) - 1):
            if un[i] > 0:
                u[i] = un[i] - dt / dx * un[i] * (un[i] - un[i - 1])
            else:
                u[i] = un[i] - dt / dx * un[i] * (un[i + 1] - un[i])
    return np.sum(u**2)


def thomas(a, b, c, d):
    n = len(d)
    c_, d_ = np.zeros(n), np.zeros(n)
    c_[0] = c / b
    d_[0] = d[0] / b
    for i in range(1, n):
        m = b - a * c_[i - 1]
        c_[i] = c / m
        d_[i] = (d[i] - a * d_[i - 1]) / m
    x = np.zeros(n)
    x[n - 1] = d_[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = d_[i] - c_[i] * x[i + 1]
    return x


@programs.add(lambda r, n: (r.normal(size=(n, n + 1)), 0.3), sizes=(3, 4), argnums=(0, 1))
def adi(u, r):
    nx, ny = u.shape
    for step in range(2):
        half = np.zeros_like(u)
        for j in range(1, ny - 1):
            rhs = u[:, j] + r * (u[:, j + 1] - 2 * u[:, j] + u[:, j - 1])
            half[:, j] = thomas(-r, 1 + 2 * r, -r, rhs)
        for i in range(1, nx - 1):
            rhs = half[i] + r * (half[i + 1] - 2 * half[i] + half[i - 1])
            u[i, :] = thomas(-r, 1 + 2 * r, -r, rhs)
    return np.sum(u**2)


@programs.add(lambda r, n: (r.normal(size=(n, n)), r.normal(size=(n, n))), sizes=(3, 5), argnums=(0, 1))
def adi_polybench(u, v):
    n = len(u)
    a, b, c = -0.2, 1.4, -0.2
    p = np.zeros((n, n))
    q = np.zeros((n, n))
    for t in range(2):
        v[0, :] = 1.0
        p[:, 0] = 0.0
        q[:, 0] = v[0, :]
        for j in range(1, n - 1):
            p[1:-1, j] = -c / (a * p[1:-1, j - 1] + b)
            q[1:-1, j] = (u[j, :-2] + u[j, 2:] - a * q[1:-1, j - 1]) / (a * p[1:-1, j - 1] + b)
        v[-1, :] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
        u[1:-1, 1:-1] = 0.5 * (u[1:-1, 1:-1] + v[1:-1, 1:-1])
    return np.sum(u**2)


@programs.add(lambda r, n: (r.normal(size=(n, n)),), sizes=(3, 5))
def stencil_seidel_2d(A):
    n = len(A)
    for t in range(2):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = (
                    A[i - 1, j - 1]
                    + A[i - 1, j]
                    + A[i - 1, j + 1]
                    + A[i, j - 1]
                    + A[i, j]
                    + A[i, j + 1]
                    + A[i + 1, j - 1]
                    + A[i + 1, j]
                    + A[i + 1, j + 1]
                ) / 9.0
    return np.sum(A**2)


@programs.add(lambda r, n: (r.normal(size=(n, n)), r.normal(size=(n, n))), sizes=(3, 5), argnums=(0, 1))
def stencil_jacobi_2d(A, B):
    for t in range(2):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])
    return np.sum(A * B)


@programs.add(lambda r, n: (1 + r.random((n, n)), 0.01), sizes=(4, 5), argnums=(0, 1))
def gray_scott(u, dt):
    v = 0.3 * u
    for t in range(2):
        lap_u = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u
        lap_v = np.roll(v, 1, 0) + np.roll(v, -1, 0) + np.roll(v, 1, 1) + np.roll(v, -1, 1) - 4 * v
        uvv = u * v * v
        u += dt * (0.16 * lap_u - uvv + 0.06 * (1 - u))
        v += dt * (0.08 * lap_v + uvv - 0.12 * v)
    return np.sum(v**2)


@programs.add(lambda r, n: (r.random((n, n)), r.random((n, n)), 1 + r.random((n, n))), sizes=(3,), argnums=(0, 1, 2))
def fdtd(ex, ey, hz):
    for t in range(3):
        ey[0, :] = t
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return np.sum(hz**2) + np.sum(ex * ey)


# ---------------------------------------------------------------- images and convolutions


@programs.add(lambda r, n: (r.normal(size=(n + 2, n + 2)), r.normal(size=(3, 3))), sizes=(1, 3), argnums=(0, 1))
def convolution_by_loops(image, kernel):
    kh, kw = kernel.shape
    h, w = image.shape[0] - kh + 1, image.shape[1] - kw + 1
    out = np.zeros((h, w))
    for i in range(h):
        for j in range(w):
            out[i, j] = np.sum(image[i : i + kh, j : j + kw] * kernel)
    return np.sum(np.tanh(out) ** 2)


@programs.add(lambda r, n: (r.normal(size=(n + 2, n + 2)), r.normal(size=(3, 3))), sizes=(1, 3), argnums=(0, 1))
def convolution_by_shifts(image, kernel):
    h, w = image.shape[0] - 2, image.shape[1] - 2
    out = np.zeros((h, w))
    for a in range(3):
        for b in range(3):
            out += kernel[a, b] * image[a : a + h, b : b + w]
    return np.sum(out**2)


@programs.add(lambda r, n: (r.normal(size=(n, n)), np.array([0.3, 0.4])), sizes=(3, 4), argnums=(0, 1))
def image_warping(image, shift):
    h, w = image.shape
    out = np.zeros((h, w))
    for i in range(h):
        for j in range(w):
            y = i + shift[0]
            x = j + shift[1]
            y0 = int(np.floor(y))
            x0 = int(np.floor(x))
            if 0 <= y0 < h - 1 and 0 <= x0 < w - 1:
                fy = y - y0
                fx = x - x0
                out[i, j] = (
                    (1 - fy) * (1 - fx) * image[y0, x0]
                    + (1 - fy) * fx * image[y0, x0 + 1]
                    + fy * (1 - fx) * image[y0 + 1, x0]
                    + fy * fx * image[y0 + 1, x0 + 1]
                )
    return np.sum(out**2)


@programs.add(lambda r, n: (r.normal(size=(n, n)), np.array([1.1, 0.2, -0.1, 0.9])), sizes=(3, 4), argnums=(0, 1))
def image_warping_by_index_arrays(image, m):
    h, w = image.shape
    ys, xs = np.meshgrid(np.arange(h), np.arange(w), indexing="ij")
    u = np.clip(m[0] * ys + m[1] * xs, 0, h - 1.001)
    v = np.clip(m[2] * ys + m[3] * xs, 0, w - 1.001)
    u0 = np.floor(u).astype(int)
    v0 = np.floor(v).astype(int)
    du, dv = u - u0, v - v0
    top = image[u0, v0] * (1 - dv) + image[u0, v0 + 1] * dv
    bottom = image[u0 + 1, v0] * (1 - dv) + image[u0 + 1, v0 + 1] * dv
    return np.sum((top * (1 - du) + bottom * du) ** 2)


@programs.add(lambda r, n: (r.normal(size=(2 * n, 2 * n)),), sizes=(1, 2))
def max_pooling(image):
    h, w = image.shape[0] // 2, image.shape[1] // 2
    out = np.empty((h, w))
    for i in range(h):
        for j in range(w):
            out[i, j] = np.max(image[2 * i : 2 * i + 2, 2 * j : 2 * j + 2])
    return np.sum(out**2)


@programs.add(lambda r, n: (r.normal(size=(n, n)),), sizes=(2, 4))
def integral_image(image):
    h, w = image.shape
    S = np.zeros((h + 1, w + 1))
    for i in range(h):
        for j in range(w):
            S[i + 1, j + 1] = image[i, j] + S[i, j + 1] + S[i + 1, j] - S[i, j]
    return np.sum(S**2)


# ---------------------------------------------------------------- tables


@programs.add(lambda r, n: (np.abs(r.normal(size=(n, n))) * 3,), sizes=(2, 4))
def floyd_warshall(D):
    n = len(D)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                D[i, j] = min(D[i, j], D[i, k] + D[k, j])
    return np.sum(D**2)


@programs.add(lambda r, n: (np.abs(r.normal(size=(n, n))) * 3,), sizes=(2, 4))
def floyd_warshall_by_branch(W):
    D = W.copy()
    n = D.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if D[i, k] + D[k, j] < D[i, j]:
                    D[i, j] = D[i, k] + D[k, j]
    return np.sum(D**2)


@programs.add(lambda r, n: (np.abs(r.normal(size=(n, n))) * 3,), sizes=(2, 4))
def floyd_warshall_by_rows(W):
    D = W.copy()
    for k in range(len(D)):
        D = np.minimum(D, D[:, k : k + 1] + D[k : k + 1, :])
    return np.sum(D**2)


@programs.add(lambda r, n: (np.abs(r.normal(size=(n, n))) * 3,), sizes=(2, 4))
def floyd_warshall_softly(W):
    D = W.copy()
    for k in range(len(D)):
        D[:] = -np.logaddexp(-D, -(D[:, k][:, None] + D[k]))
    return np.sum(D**2)


@programs.add(lambda r, n: (r.normal(size=n), r.normal(size=n + 1)), sizes=(2, 4), argnums=(0, 1))
def dynamic_time_warping(a, b):
    n, m = len(a), len(b)
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = (a[i - 1] - b[j - 1]) ** 2
            D[i, j] = cost + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D[n, m]


@programs.add(lambda r, n: (r.normal(size=n), r.normal(size=n + 1)), sizes=(2, 4), argnums=(0, 1))
def dynamic_time_warping_with_rows(a, b):
    prev = np.full(len(b) + 1, 1e9)
    prev[0] = 0.0
    for i in range(len(a)):
        cur = np.full(len(b) + 1, 1e9)
        for j in range(len(b)):
            cur[j + 1] = abs(a[i] - b[j]) + min(prev[j + 1], cur[j], prev[j])
        prev = cur
    return prev[-1]


@programs.add(lambda r, n: (r.normal(size=n), r.normal(size=n), 0.5), sizes=(2, 4), argnums=(0, 1, 2))
def soft_dtw(x, y, gamma):
    n, m = len(x), len(y)
    R = np.full((n + 1, m + 1), 1e5)
    R[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            z = np.array([R[i, j], R[i, j + 1], R[i + 1, j]]) / -gamma
            zmax = np.max(z)
            softmin = -gamma * (np.log(np.sum(np.exp(z - zmax))) + zmax)
            R[i + 1, j + 1] = (x[i] - y[j]) ** 2 + softmin
    return R[n, m]


@programs.add(lambda r, n: (r.normal(size=(n, n + 1)), 0.4), sizes=(2, 4), argnums=(0, 1))
def smith_waterman(scores, gap):
    n, m = scores.shape
    H = np.zeros((n + 1, m + 1))
    best = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            H[i, j] = max(0.0, H[i - 1, j - 1] + scores[i - 1, j - 1], H[i - 1, j] - gap, H[i, j - 1] - gap)
            if H[i, j] > best:
                best = H[i, j]
    return best


@programs.add(lambda r, n: (r.normal(size=(n, n)), 0.4), sizes=(2, 4), argnums=(0, 1))
def needleman_wunsch_smoothed(S, g):
    n, m = S.shape
    F = np.zeros((n + 1, m + 1))
    for i in range(n + 1):
        F[i, 0] = -g * i
    for j in range(m + 1):
        F[0, j] = -g * j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            F[i, j] = np.logaddexp(np.logaddexp(F[i - 1, j - 1] + S[i - 1, j - 1], F[i - 1, j] - g), F[i, j - 1] - g)
    return F[n, m]


@programs.add(lambda r, n: (r.random(n), r.random((n, n)), r.random((n, 4))), sizes=(2, 3), argnums=(0, 1, 2))
def forward_algorithm(start, trans, emit):
    n, T = emit.shape
    alpha = np.zeros((T, n))
    alpha[0] = np.log(start) + np.log(emit[:, 0])
    for t in range(1, T):
        for j in range(n):
            v = alpha[t - 1] + np.log(trans[:, j])
            m = v.max()
            alpha[t, j] = m + np.log(np.sum(np.exp(v - m))) + np.log(emit[j, t])
    m = np.max(alpha[-1])
    return m + np.log(np.sum(np.exp(alpha[-1] - m)))


@programs.add(lambda r, n: (r.random(n), r.random((n, n)), r.random((n, 4))), sizes=(2, 3), argnums=(0, 1, 2))
def viterbi(start, trans, emit):
    n, T = emit.shape
    V = np.zeros((T, n))
    back = np.zeros((T, n), dtype=int)
    V[0] = np.log(start * emit[:, 0])
    for t in range(1, T):
        for j in range(n):
            scores = V[t - 1] + np.log(trans[:, j])
            back[t, j] = np.argmax(scores)
            V[t, j] = scores[back[t, j]] + np.log(emit[j, t])
    path = [int(np.argmax(V[-1]))]
    for t in range(T - 1, 0, -1):
        path.append(int(back[t, path[-1]]))
    path.reverse()
    return np.max(V[-1]) + np.sum(V[0]) * path[0]


# ---------------------------------------------------------------- scans, sorting, counting


@programs.add(lambda r, n: (r.normal(size=n),), sizes=(1, 4))
def cumulative_sum(x):
    out = np.empty_like(x)
    total = 0.0
    for i, v in enumerate(x):
        total += v
        out[i] = total
    return np.sum(out**2)


@programs.add(lambda r, n: (r.normal(size=n), 0.9), sizes=(1, 4), argnums=(0, 1))
def exponential_smoothing_in_place(x, a):
    for i in range(1, len(x)):
        x[i] = a * x[i - 1] + (1 - a) * x[i]
    return np.sum(x**2)


@programs.add(lambda r, n: (r.normal(size=8),), sizes=(1,))
def scan_blelloch(x):
    n = len(x)
    d = 1
    while d < n:
        for i in range(0, n, 2 * d):
            x[i + 2 * d - 1] *= x[i + d - 1]
        d *= 2
    return x[-1] + np.sum(x)


@programs.add(lambda r, n: (r.normal(size=8),), sizes=(1,))
def scan_hillis_steele(x):
    d = 1
    while d < len(x):
        x[d:] = x[d:] + x[:-d] * 0.5
        d *= 2
    return np.sum(x**2)


@programs.add(lambda r, n: (r.normal(size=n),), sizes=(1, 2, 5))
def bubble_sort(x):
    n = len(x)
    for i in range(n):
        swapped = False
        for j in range(n - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
                swapped = True
        if not swapped:
            break
    return np.sum(x * np.arange(n) ** 2)


@programs.add(lambda r, n: (r.normal(size=n),), sizes=(1, 2, 5))
def insertion_sort(a):
    x = a.copy()
    for i in range(1, len(x)):
        key = x[i]
        j = i - 1
        while j >= 0 and x[j] > key:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = key
    return np.sum(x * np.arange(len(x)) ** 2)


@programs.add(lambda r, n: (r.normal(size=n),), sizes=(2, 5))
def odd_even_network(x):
    for step in range(len(x)):
        for i in range(step % 2, len(x) - 1, 2):
            lo = min(x[i], x[i + 1])
            hi = max(x[i], x[i + 1])
            x[i] = lo
            x[i + 1] = hi
    return np.sum(x * np.arange(len(x)) ** 2)


@programs.add(lambda r, n: (r.normal(size=n),), sizes=(2, 5))
def selection_sort(x):
    for i in range(len(x)):
        m = i + np.argmin(x[i:])
        x[[i, m]] = x[[m, i]]
    return np.sum(x * np.arange(len(x)) ** 2)


@programs.add(lambda r, n: (r.normal(size=n), r.integers(0, 3, n)), sizes=(1, 6))
def histogram_by_add_at(w, bins):
    h = np.zeros(3)
    np.add.at(h, bins, w**2)
    return np.sum(h**2)


@programs.add(lambda r, n: (r.random(n), r.normal(size=n)), sizes=(1, 6), argnums=(0, 1))
def soft_histogram(x, w):
    h = np.zeros(6)
    for k in range(len(x)):
        p = x[k] * 4
        i = int(p)
        h[i] += w[k] * (1 - (p - i))
        h[i + 1] += w[k] * (p - i)
    return np.sum(h**2)


@programs.add(lambda r, n: (r.normal(size=(n, 2)), r.integers(0, 3, n)), sizes=(3, 6))
def means_of_groups(x, labels):
    sums = np.zeros((3, 2))
    counts = np.zeros(3)
    for k in range(len(x)):
        sums[labels[k]] += x[k]
        counts[labels[k]] += 1
    for c in range(3):
        if counts[c] > 0:
            sums[c] /= counts[c]
    return np.sum((x - sums[labels]) ** 2)


@programs.add(lambda r, n: (r.normal(size=n), r.normal(size=3)), sizes=(4, 6), argnums=(0, 1))
def moving_average(x, w):
    out = np.zeros(len(x) - len(w) + 1)
    for i in range(len(out)):
        for j in range(len(w)):
            out[i] += w[j] * x[i + j]
    return np.sum(out**2)


@programs.add(lambda r, n: (r.normal(size=n),), sizes=(2, 4))
def prefix_products_table(x):
    n = len(x)
    T = np.ones((n, n))
    for i in range(n):
        T[i, i] = x[i]
        for j in range(i + 1, n):
            T[i, j] = T[i, j - 1] * x[j]
    return np.sum(T)


@programs.add(lambda r, n: (np.abs(r.normal(size=n + 1)) + 0.5,), sizes=(2, 4))
def matrix_chain(p):
    n = len(p) - 1
    m = np.zeros((n, n))
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            m[i, j] = np.inf
            for k in range(i, j):
                cost = m[i, k] + m[k + 1, j] + p[i] * p[k + 1] * p[j + 1]
                if cost < m[i, j]:
                    m[i, j] = cost
    return m[0, n - 1]
