"""Simulations, filters, recurrent networks, transforms, interpolation and searches."""

import numpy as np

from tests.algorithms.collecting import Programs

programs = Programs()


# ---------------------------------------------------------------- transforms


def stockham(re, im):
    n = len(re)
    xr, xi = re.copy(), im.copy()
    yr, yi = np.zeros(n), np.zeros(n)
    half, stride = n // 2, 1
    while half >= 1:
        for p in range(half):
            angle = -np.pi * p / half
            wr, wi = np.cos(angle), np.sin(angle)
            for q in range(stride):
                ar, ai = xr[q + stride * p], xi[q + stride * p]
                br, bi = xr[q + stride * (p + half)], xi[q + stride * (p + half)]
                yr[q + stride * 2 * p] = ar + br
                yi[q + stride * 2 * p] = ai + bi
                dr, di = ar - br, ai - bi
                yr[q + stride * (2 * p + 1)] = dr * wr - di * wi
                yi[q + stride * (2 * p + 1)] = dr * wi + di * wr
        xr, yr = yr, xr
        xi, yi = yi, xi
        half //= 2
        stride *= 2
    return xr, xi


@programs.add(lambda r, n: (r.normal(size=n), r.normal(size=n)), sizes=(2, 8), argnums=(0, 1))
def fft_stockham(re, im):
    xr, xi = stockham(re, im)
    return np.sum(xr**3) + np.sum(xi * np.arange(len(xi)))


@programs.add(lambda r, n: (r.normal(size=n), r.normal(size=n)), sizes=(2, 8), argnums=(0, 1))
def fft_stockham_by_slices(re, im):
    n = re.shape[0]
    xr = re.reshape(n, 1)
    xi = im.reshape(n, 1)
    while xr.shape[0] > 1:
        h, s = xr.shape[0] // 2, xr.shape[1]
        angle = -np.pi * np.arange(h) / h
        wr, wi = np.cos(angle)[:, None], np.sin(angle)[:, None]
        yr = np.empty((h, 2 * s))
        yi = np.empty((h, 2 * s))
        dr, di = xr[:h] - xr[h:], xi[:h] - xi[h:]
        yr[:, :s] = xr[:h] + xr[h:]
        yi[:, :s] = xi[:h] + xi[h:]
        yr[:, s:] = dr * wr - di * wi
        yi[:, s:] = dr * wi + di * wr
        xr, xi = yr, yi
    return np.sum(xr**3) + np.sum(xi)


@programs.add(lambda r, n: (r.normal(size=n), r.normal(size=n)), sizes=(2, 8), argnums=(0, 1))
def fft_cooley_tukey_in_place(re, im):
    n = len(re)
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            re[i], re[j] = re[j], re[i]
            im[i], im[j] = im[j], im[i]
    length = 2
    while length <= n:
        angle = -2 * np.pi / length
        for i in range(0, n, length):
            for k in range(length // 2):
                wr, wi = np.cos(angle * k), np.sin(angle * k)
                a, b = i + k, i + k + length // 2
                vr = re[b] * wr - im[b] * wi
                vi = re[b] * wi + im[b] * wr
                re[b] = re[a] - vr
                im[b] = im[a] - vi
                re[a] += vr
                im[a] += vi
        length *= 2
    return np.sum(re**3) + np.sum(im * np.arange(n))


@programs.add(lambda r, n: (r.normal(size=n),), sizes=(2, 5))
def dft_by_loops(x):
    n = len(x)
    power = np.zeros(n)
    for k in range(n):
        re, im = 0.0, 0.0
        for t in range(n):
            re += x[t] * np.cos(2 * np.pi * k * t / n)
            im -= x[t] * np.sin(2 * np.pi * k * t / n)
        power[k] = re * re + im * im
    return np.sum(np.log1p(power))


@programs.add(lambda r, n: (r.normal(size=8),), sizes=(1,))
def haar_wavelet(x):
    n = len(x)
    out = x.copy()
    while n > 1:
        half = n // 2
        tmp = np.zeros(n)
        for i in range(half):
            tmp[i] = (out[2 * i] + out[2 * i + 1]) / np.sqrt(2)
            tmp[half + i] = (out[2 * i] - out[2 * i + 1]) / np.sqrt(2)
        out[:n] = tmp
        n = half
    return np.sum(np.abs(out) ** 3)


# ---------------------------------------------------------------- particles


def bodies(r, n):
    return r.normal(size=(n, 2)), r.normal(size=(n, 2)), 1 + r.random(n)


@programs.add(bodies, sizes=(2, 3), argnums=(0, 1, 2))
def n_body(pos, vel, mass):
    n = len(mass)
    dt = 0.01
    for step in range(3):
        acc = np.zeros_like(pos)
        for i in range(n):
            for j in range(n):
                if i == j:
                    continue
                d = pos[j] - pos[i]
                r2 = np.sum(d**2) + 0.01
                acc[i] += mass[j] * d / r2**1.5
        vel += dt * acc
        pos += dt * vel
    return 0.5 * np.sum(mass * np.sum(vel**2, axis=1)) + np.sum(pos**2)


@programs.add(bodies, sizes=(2, 3), argnums=(0, 1, 2))
def n_body_pairs(pos, vel, mass):
    n = len(mass)
    energy = 0.0
    for step in range(2):
        force = np.zeros((n, 2))
        for i in range(n):
            for j in range(i + 1, n):
                dx = pos[i, 0] - pos[j, 0]
                dy = pos[i, 1] - pos[j, 1]
                r2 = dx * dx + dy * dy + 0.1
                f = mass[i] * mass[j] / (r2 * np.sqrt(r2))
                force[i, 0] -= f * dx
                force[i, 1] -= f * dy
                force[j, 0] += f * dx
                force[j, 1] += f * dy
                energy -= mass[i] * mass[j] / np.sqrt(r2)
        for i in range(n):
            vel[i] += 0.1 * force[i] / mass[i]
            pos[i] += 0.1 * vel[i]
    return energy + np.sum(pos * vel)


@programs.add(bodies, sizes=(2, 3), argnums=(0, 1, 2))
def n_body_leapfrog(pos, vel, mass):
    def acceleration(p):
        a = np.zeros(p.shape)
        for i in range(len(mass)):
            for j in range(len(mass)):
                if i != j:
                    d = p[j] - p[i]
                    a[i] += mass[j] * d / (d @ d + 0.1) ** 1.5
        return a

    acc = acceleration(pos)
    for step in range(2):
        vel += 0.05 * acc
        pos += 0.1 * vel
        acc = acceleration(pos)
        vel += 0.05 * acc
    return np.sum(pos**2) + np.sum(vel**2)


@programs.add(lambda r, n: (r.normal(size=(n, 2)), 1.0), sizes=(2, 4), argnums=(0, 1))
def boids(x, k):
    for step in range(2):
        f = np.zeros_like(x)
        for i in range(len(x)):
            diff = x - x[i]
            dist = np.sqrt(np.sum(diff**2, axis=1) + 0.1)
            f[i, :] = np.sum(diff * np.exp(-k * dist)[:, None], axis=0)
        x += 0.1 * f
    return np.sum(x**2)


# ---------------------------------------------------------------- ordinary differential equations


def lotka_volterra(y, p):
    dy = np.empty(2)
    dy[0] = p[0] * y[0] - p[1] * y[0] * y[1]
    dy[1] = p[2] * y[0] * y[1] - p[3] * y[1]
    return dy


@programs.add(lambda r, n: (1 + r.random(2), 0.5 + r.random(4)), sizes=(1,), argnums=(0, 1))
def runge_kutta(y, p):
    h = 0.1
    for _ in range(4):
        k1 = lotka_volterra(y, p)
        k2 = lotka_volterra(y + 0.5 * h * k1, p)
        k3 = lotka_volterra(y + 0.5 * h * k2, p)
        k4 = lotka_volterra(y + h * k3, p)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return np.sum(y**2)


@programs.add(lambda r, n: (1 + r.random(2), 0.5 + r.random(4)), sizes=(1,), argnums=(0, 1))
def runge_kutta_with_work_arrays(y0, p):
    def rhs(y, out):
        out[0] = p[0] * y[0] - p[1] * y[0] * y[1]
        out[1] = p[2] * y[0] * y[1] - p[3] * y[1]

    h, steps = 0.1, 4
    y = np.zeros((steps + 1, 2))
    y[0] = y0
    k = np.zeros((4, 2))
    work = np.zeros(2)
    for t in range(steps):
        rhs(y[t], k[0])
        work[:] = y[t] + 0.5 * h * k[0]
        rhs(work, k[1])
        work[:] = y[t] + 0.5 * h * k[1]
        rhs(work, k[2])
        work[:] = y[t] + h * k[2]
        rhs(work, k[3])
        y[t + 1] = y[t] + h / 6 * (k[0] + 2 * k[1] + 2 * k[2] + k[3])
    return np.sum(y[-1] ** 2) + y[1, 0]


@programs.add(lambda r, n: (1 + r.random(2), 0.5 + r.random(4)), sizes=(1,), argnums=(0, 1))
def runge_kutta_by_tableau(y, p):
    A = np.array([[0, 0, 0], [0.5, 0, 0], [-1.0, 2.0, 0]])
    b = np.array([1 / 6, 2 / 3, 1 / 6])
    h = 0.1
    for step in range(3):
        k = np.zeros((3, len(y)))
        for i in range(3):
            yi = y.copy()
            for j in range(i):
                yi += h * A[i, j] * k[j]
            k[i] = lotka_volterra(yi, p)
        for i in range(3):
            y += h * b[i] * k[i]
    return np.sum(y**2)


@programs.add(lambda r, n: (r.normal(size=n), 0.1), sizes=(2, 4), argnums=(0, 1))
def adaptive_euler(y, tol):
    t, h = 0.0, 0.2
    while t < 1.0:
        f = -(y**3)
        full = y + h * f
        halfway = y + 0.5 * h * f
        two = halfway - 0.5 * h * halfway**3
        err = np.max(np.abs(two - full))
        if err < tol:
            y = two
            t += h
            h *= 1.2
        else:
            h *= 0.5
    return np.sum(y**2)


# ---------------------------------------------------------------- filters and recurrent networks


def kalman(r, n):
    return r.normal(size=(n, 1)), np.eye(2) + 0.1 * r.normal(size=(2, 2)), 0.3 * np.eye(2), r.normal(size=(1, 2)), np.eye(1)


@programs.add(kalman, sizes=(2, 4), argnums=(0, 1, 2, 3, 4))
def kalman_filter(ys, F, Q, H, R):
    T = len(ys)
    m = np.zeros((T + 1, 2))
    P = np.zeros((T + 1, 2, 2))
    P[0] = np.eye(2)
    ll = 0.0
    for t in range(T):
        mp = F @ m[t]
        Pp = F @ P[t] @ F.T + Q
        S = H @ Pp @ H.T + R
        v = ys[t] - H @ mp
        K = Pp @ H.T @ np.linalg.inv(S)
        m[t + 1] = mp + K @ v
        P[t + 1] = Pp - K @ S @ K.T
        ll -= 0.5 * (np.log(np.linalg.det(S)) + v @ np.linalg.solve(S, v))
    return ll


@programs.add(kalman, sizes=(2, 4), argnums=(0, 1, 2, 3, 4))
def kalman_filter_in_place(ys, F, Q, H, R):
    x = np.zeros(2)
    P = np.eye(2)
    ll = 0.0
    for y in ys:
        x[:] = F @ x
        P[:] = F @ P @ F.T
        P += Q
        S = H @ P @ H.T + R
        K = np.linalg.solve(S, H @ P).T
        r = y - H @ x
        x += K @ r
        P -= K @ H @ P
        ll += -0.5 * np.sum(r**2 / np.diag(S)) - 0.5 * np.log(S[0, 0])
    return ll


def lstm_args(r, n):
    h = 2
    return r.normal(size=(n, 3)), r.normal(size=(3 + h, 4 * h)), r.normal(size=4 * h)


@programs.add(lstm_args, sizes=(1, 3), argnums=(0, 1, 2))
def lstm(xs, W, b):
    T = xs.shape[0]
    H = b.shape[0] // 4
    h = np.zeros((T + 1, H))
    c = np.zeros((T + 1, H))
    gates = np.zeros((T, 4 * H))
    for t in range(T):
        gates[t] = np.concatenate([xs[t], h[t]]) @ W + b
        i = 1 / (1 + np.exp(-gates[t, :H]))
        f = 1 / (1 + np.exp(-gates[t, H : 2 * H]))
        o = 1 / (1 + np.exp(-gates[t, 2 * H : 3 * H]))
        g = np.tanh(gates[t, 3 * H :])
        c[t + 1] = f * c[t] + i * g
        h[t + 1] = o * np.tanh(c[t + 1])
    return np.sum(h[1:] ** 2)


@programs.add(
    lambda r, n: (r.normal(size=(3 * n, n)), r.normal(size=(n, 2)), r.normal(size=(4, 2))), sizes=(2,), argnums=(0, 1, 2)
)
def gru(U, W, xs):
    n = U.shape[1]
    h = np.zeros(n)
    loss = 0.0
    for t in range(len(xs)):
        a = U @ h
        x = W @ xs[t]
        z = 1 / (1 + np.exp(-(a[:n] + x)))
        r = 1 / (1 + np.exp(-(a[n : 2 * n] + x)))
        h[:] = (1 - z) * h + z * np.tanh(r * a[2 * n :] + x)
        loss += np.sum(h**2)
    return loss


@programs.add(lambda r, n: (0.5 * r.normal(size=(n, n)), r.normal(size=n), r.normal(size=5)), sizes=(2, 3), argnums=(0, 1, 2))
def reservoir(W, w_in, u):
    T, n = len(u), len(W)
    H = np.zeros((T + 1, n))
    for t in range(T):
        H[t + 1] = 0.3 * H[t] + 0.7 * np.tanh(W @ H[t] + w_in * u[t])
    return np.sum(H[1:] ** 2)


@programs.add(lambda r, n: (r.normal(size=(n, 6)), r.normal(size=3), 0.1), sizes=(2,), argnums=(0, 1, 2))
def fir_lms(x, w, mu):
    e = np.zeros(x.shape[1])
    for t in range(2, x.shape[1]):
        y = w @ x[0, t - 2 : t + 1][::-1]
        e[t] = x[1, t] - y
        w += mu * e[t] * x[0, t - 2 : t + 1][::-1]
    return np.sum(e**2)


@programs.add(lambda r, n: (r.normal(size=n), np.array([0.5, 0.3]), np.array([0.2, -0.1])), sizes=(3, 6), argnums=(0, 1, 2))
def iir_filter(x, b, a):
    y = np.zeros_like(x)
    for n in range(len(x)):
        for k in range(len(b)):
            if n - k >= 0:
                y[n] += b[k] * x[n - k]
        for k in range(1, len(a) + 1):
            if n - k >= 0:
                y[n] -= a[k - 1] * y[n - k]
    return np.sum(y**2)


@programs.add(lambda r, n: (np.array([0.1, 0.8, 0.1]), r.normal(size=n)), sizes=(3, 6), argnums=(0, 1))
def garch(p, returns):
    sigma2 = np.zeros(len(returns))
    sigma2[0] = 1.0
    for t in range(1, len(returns)):
        sigma2[t] = p[0] + p[1] * sigma2[t - 1] + p[2] * returns[t - 1] ** 2
    return 0.5 * np.sum(np.log(sigma2) + returns**2 / sigma2)


# ---------------------------------------------------------------- interpolation and polynomials


@programs.add(lambda r, n: (r.normal(size=n), r.normal(size=4)), sizes=(1, 4), argnums=(0, 1))
def horner_on_arrays(x, c):
    y = np.zeros_like(x)
    for a in c[::-1]:
        y *= x
        y += a
    return np.sum(y**2)


@programs.add(lambda r, n: (np.cumsum(0.5 + r.random(n)), r.normal(size=n)), sizes=(3, 5), argnums=(0, 1))
def cubic_spline(x, y):
    n = len(x) - 1
    h = np.diff(x)
    alpha = np.zeros(n)
    for i in range(1, n):
        alpha[i] = 3 * (y[i + 1] - y[i]) / h[i] - 3 * (y[i] - y[i - 1]) / h[i - 1]
    l = np.ones(n + 1)
    mu = np.zeros(n + 1)
    z = np.zeros(n + 1)
    for i in range(1, n):
        l[i] = 2 * (x[i + 1] - x[i - 1]) - h[i - 1] * mu[i - 1]
        mu[i] = h[i] / l[i]
        z[i] = (alpha[i] - h[i - 1] * z[i - 1]) / l[i]
    b = np.zeros(n)
    c = np.zeros(n + 1)
    d = np.zeros(n)
    for j in range(n - 1, -1, -1):
        c[j] = z[j] - mu[j] * c[j + 1]
        b[j] = (y[j + 1] - y[j]) / h[j] - h[j] * (c[j + 1] + 2 * c[j]) / 3
        d[j] = (c[j + 1] - c[j]) / (3 * h[j])
    return np.sum(b**2) + np.sum(c**2) + np.sum(d**2)


@programs.add(lambda r, n: (np.cumsum(0.5 + r.random(n)), r.normal(size=n)), sizes=(2, 4), argnums=(0, 1))
def newton_divided_differences(x, y):
    n = len(x)
    c = y.copy()
    for j in range(1, n):
        c[j:] = (c[j:] - c[j - 1 : -1]) / (x[j:] - x[:-j])
    p = c[-1]
    for k in range(n - 2, -1, -1):
        p = p * (0.5 - x[k]) + c[k]
    return p**2


@programs.add(lambda r, n: (np.cumsum(0.5 + r.random(n)), r.normal(size=n)), sizes=(2, 4), argnums=(0, 1))
def neville(x, y):
    n = len(x)
    p = y.copy()
    for k in range(1, n):
        for i in range(n - k):
            p[i] = ((0.3 - x[i + k]) * p[i] + (x[i] - 0.3) * p[i + 1]) / (x[i] - x[i + k])
    return p[0] ** 2


@programs.add(lambda r, n: (r.normal(size=(n, 2)), 0.3), sizes=(2, 4), argnums=(0, 1))
def de_casteljau(points, t):
    p = points.copy()
    for k in range(len(points) - 1, 0, -1):
        for i in range(k):
            p[i] = (1 - t) * p[i] + t * p[i + 1]
    return p[0] @ p[0]


@programs.add(lambda r, n: (r.normal(size=n), r.normal(size=n)), sizes=(2, 4), argnums=(0, 1))
def polynomial_product(a, b):
    c = np.zeros(len(a) + len(b) - 1)
    for i in range(len(a)):
        c[i : i + len(b)] += a[i] * b
    return np.sum(c**2)


@programs.add(lambda r, n: (0.7,), sizes=(1,))
def romberg(b):
    R = np.zeros((4, 4))
    h = b
    R[0, 0] = 0.5 * h * (np.exp(0.0) + np.exp(-(b**2)))
    for i in range(1, 4):
        h = h / 2
        total = 0.0
        for k in range(1, 2**i, 2):
            total += np.exp(-((k * h) ** 2))
        R[i, 0] = 0.5 * R[i - 1, 0] + h * total
        for j in range(1, i + 1):
            R[i, j] = R[i, j - 1] + (R[i, j - 1] - R[i - 1, j - 1]) / (4**j - 1)
    return R[3, 3]


# ---------------------------------------------------------------- searches


def scene(r, n):
    return np.array([[0.0, 0.0, 3.0], [1.0, 0.5, 4.0]]), np.array([1.0, 0.7]), np.array([0.1, 0.2, 1.0])


def distance_to(p, centers, radii):
    d = np.inf
    for k in range(len(radii)):
        d = min(d, np.sqrt(np.sum((p - centers[k]) ** 2)) - radii[k])
    return d


@programs.add(scene, sizes=(1,), argnums=(0, 1, 2))
def ray_marching(centers, radii, direction):
    direction = direction / np.linalg.norm(direction)
    p = np.zeros(3)
    t = 0.0
    for step in range(60):
        p[:] = t * direction
        d = distance_to(p, centers, radii)
        if d < 1e-6:
            break
        t += d
        if t > 20.0:
            return 0.0
    return t


@programs.add(scene, sizes=(1,), argnums=(0, 1))
def ray_marched_image(centers, radii, direction):
    image = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            ray = np.array([0.2 * (i - 1), 0.2 * (j - 1), 1.0])
            ray /= np.sqrt(np.sum(ray**2))
            p = np.zeros(3)
            for _ in range(40):
                d = 1e9
                for c, r in zip(centers, radii):
                    d = min(d, np.linalg.norm(p - c) - r)
                if d < 1e-7:
                    image[i, j] = p[2]
                    break
                if d > 10.0:
                    break
                p += d * ray
    return np.sum(image**2)


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@programs.add(lambda r, n: (r.normal(size=n), r.normal(size=n)), sizes=(2, 3), argnums=(0, 1))
def backtracking_line_search(x, d):
    f0 = rosenbrock(x)
    t = 1.0
    while True:
        new = x - t * d
        if rosenbrock(new) < f0 or t < 1e-3:
            break
        t *= 0.5
    x[:] = new
    return rosenbrock(x)


@programs.add(lambda r, n: (positive_definite(r, n), r.normal(size=n)), sizes=(2, 3), argnums=(0, 1))
def gradient_descent_with_line_search(A, b):
    x = np.zeros(len(b))
    for it in range(3):
        g = A @ x - b
        f = 0.5 * x @ A @ x - b @ x
        t = 1.0
        while True:
            xn = x - t * g
            if 0.5 * xn @ A @ xn - b @ xn <= f - 0.3 * t * (g @ g):
                break
            t /= 2
        x = xn
    return np.sum(x**2)


def positive_definite(r, n):
    a = r.normal(size=(n, n))
    return a @ a.T + np.eye(n)


@programs.add(lambda r, n: (r.normal(size=n), 0.1), sizes=(2, 3), argnums=(0, 1))
def adam(w, lr):
    m = np.zeros_like(w)
    v = np.zeros_like(w)
    for t in range(1, 5):
        g = 2 * w + np.cos(w)
        m = 0.9 * m + 0.1 * g
        v = 0.99 * v + 0.01 * g**2
        w -= lr * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-8)
    return np.sum(w**2)


@programs.add(lambda r, n: (r.normal(size=n), 0.1, 0.9), sizes=(2, 3), argnums=(0, 1, 2))
def momentum_in_place(w, lr, beta):
    velocity = np.zeros(len(w))
    for t in range(4):
        g = np.sin(w) + w
        velocity *= beta
        velocity += g
        w -= lr * velocity
    return np.sum(w**2)


@programs.add(lambda r, n: (r.normal(size=(6, 2)), r.normal(size=(2, 2))), sizes=(1,), argnums=(0, 1))
def k_means(X, C):
    for _ in range(2):
        labels = np.zeros(len(X), dtype=int)
        for i in range(len(X)):
            labels[i] = np.argmin(np.sum((X[i] - C) ** 2, axis=1))
        for k in range(len(C)):
            if np.any(labels == k):
                C[k] = X[labels == k].mean(axis=0)
    return np.sum(C**2)


@programs.add(lambda r, n: (r.normal(size=(n, 3)), r.normal(size=(3, n))), sizes=(3,), argnums=(0, 1))
def attention_by_rows(Q, K):
    out = np.zeros((len(Q), 3))
    for i in range(len(Q)):
        s = Q[i] @ K
        s -= s.max()
        w = np.exp(s)
        w /= w.sum()
        for j in range(len(w)):
            out[i] += w[j] * K[:, j]
    return np.sum(out**2)


@programs.add(lambda r, n: (r.normal(size=n), r.normal(size=n)), sizes=(3, 5), argnums=(0, 1))
def batch_norm_running(x, momentum):
    mean = np.zeros(1)
    var = np.ones(1)
    total = 0.0
    for i in range(len(x)):
        mean *= 0.9
        mean += 0.1 * x[i]
        var[:] = 0.9 * var + 0.1 * (x[i] - mean) ** 2
        total += momentum[i] * (x[i] - mean[0]) / np.sqrt(var[0] + 1e-5)
    return total


@programs.add(lambda r, n: (r.random(6) - 0.5,), sizes=(1,))
def welford(x):
    mean, m2 = 0.0, 0.0
    out = np.zeros(len(x))
    for k, v in enumerate(x):
        delta = v - mean
        mean += delta / (k + 1)
        m2 += delta * (v - mean)
        out[k] = m2 / max(k, 1)
    return np.sum(out**2)


@programs.add(lambda r, n: (100.0, 0.05, 0.2), sizes=(1,), argnums=(0, 1, 2))
def binomial_option(S, r, sigma):
    n, K, T = 6, 101.0, 1.0
    dt = T / n
    u = np.exp(sigma * np.sqrt(dt))
    d = 1 / u
    p = (np.exp(r * dt) - d) / (u - d)
    V = np.zeros(n + 1)
    for i in range(n + 1):
        V[i] = max(K - S * u**i * d ** (n - i), 0.0)
    for step in range(n - 1, -1, -1):
        for i in range(step + 1):
            V[i] = np.exp(-r * dt) * (p * V[i + 1] + (1 - p) * V[i])
            V[i] = max(V[i], K - S * u**i * d ** (step - i))
    return V[0]
