"""Fit the line y = 2x + 1 to noisy points by gradient descent."""

import numpy as np

from srcdiff import value_and_grad


def loss(w, b, x, y):
    return np.mean((w * x + b - y) ** 2)


def noisy_points(n=200, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, n)
    return x, 2 * x + 1 + 0.1 * rng.normal(size=n)


def fit(x, y, steps=200, rate=0.2):
    loss_and_gradient = value_and_grad(loss, argnums=("w", "b"))
    w, b = 0.0, 0.0
    for step in range(steps):
        value, (w_bar, b_bar) = loss_and_gradient(w, b, x, y)
        if step % 40 == 0:
            print(f"step {step:3}: loss {value:.5f}, y = {w:.3f}x + {b:.3f}")
        w -= rate * w_bar
        b -= rate * b_bar
    return w, b


def main():
    x, y = noisy_points()
    w, b = fit(x, y)
    print(f"fitted:   loss {loss(w, b, x, y):.5f}, y = {w:.3f}x + {b:.3f}")


if __name__ == "__main__":
    main()
