"""Units with leaky memory that collect their states in a list: a loop over arrays, stacked at the end."""

import numpy as np

ARGNUMS = (0, 1, 2)
SIZES = {"tiny": (3, 2), "medium": (100, 32), "large": (300, 200)}


def args(rng, steps, n):
    W = 0.9 * rng.normal(size=(n, n)) / np.sqrt(n)
    return W, rng.normal(size=n), 0.2, rng.normal(size=(steps, n)), rng.normal(size=(steps, n))


def loss(W, h, leak, inputs, targets):
    states = []
    for x in inputs:
        h = leak * h + (1.0 - leak) * np.tanh(W @ h + x)
        states.append(h)
    return np.mean((np.stack(states) - targets) ** 2)


def by_hand(W, h, leak, inputs, targets):
    steps, n = inputs.shape
    states = np.empty((steps + 1, n))
    active = np.empty((steps, n))
    states[0] = h
    for t in range(steps):
        s = active[t]
        np.dot(W, states[t], out=s)
        s += inputs[t]
        np.tanh(s, out=s)
        np.multiply(states[t], leak, out=states[t + 1])
        states[t + 1] += (1.0 - leak) * s
    r = states[1:] - targets
    value = np.vdot(r, r) / r.size
    r *= 2.0 / r.size
    before = (1.0 - leak) * (1.0 - active * active)
    h_bar = np.zeros(n)
    WT = W.T
    for t in reversed(range(steps)):
        h_bar += r[t]
        r[t] = h_bar
        step = before[t]
        step *= h_bar
        h_bar = leak * h_bar
        h_bar += WT @ step
    leak_bar = np.vdot(r, states[:-1]) - np.vdot(r, active)
    return value, (before.T @ states[:-1], h_bar, leak_bar)
