"""Globals are read when the gradient runs, a number and an array and a dict of settings."""

import numpy as np

GRID = np.linspace(0.0, 1.0, 5)
RATE = 2.5
SETTINGS = {"power": 3.0, "shift": np.array([0.1, 0.2])}


def loss(amplitude, phase):
    wave = amplitude * np.sin(RATE * GRID + phase)
    return np.sum(wave**2) ** 0.5 + amplitude ** SETTINGS["power"] + np.sum(SETTINGS["shift"] * phase)


ARGNUMS = (0, 1)


def args(rng):
    return 1.5, 0.4
