"""Fit the same line with SciPy, which takes the loss and its gradient from one function."""

import numpy as np
from line import noisy_points
from scipy.optimize import minimize

from srcdiff import value_and_grad


@value_and_grad
def loss(params, x, y):
    w, b = params
    return np.mean((w * x + b - y) ** 2)


def main():
    result = minimize(loss, np.zeros(2), args=noisy_points(), jac=True)
    w, b = result.x
    print(f"{result.message} Loss {result.fun:.5f} after {result.nit} steps: y = {w:.3f}x + {b:.3f}")


if __name__ == "__main__":
    main()
