"""A loop over a dict's items is unrolled; a nested structure, with an integer in it, comes back as it went in."""

import numpy as np


def loss(params):
    total = 0.0
    for name, group in params.items():
        total = total + np.sum(group["values"] ** 2) * group["weight"]
        if name == "outer":
            total = total * 2.0
    return total


def args(rng):
    inner = {"values": rng.normal(size=3), "weight": 0.5}
    outer = {"values": rng.normal(size=(2, 2)), "weight": 2}
    return ({"inner": inner, "outer": outer},)
