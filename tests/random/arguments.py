"""Arguments of random programs, as text: numbers, arrays with axes of length 1, and containers of them.

argument(rng, is_single=False)   →  "{'w': np.array([[0.31], [1.2]]), 'b': -0.7}"
"""

from __future__ import annotations

import random

SHAPES = [
    (3,),
    (3,),
    (1,),
    (2,),
    (2, 3),
    (3, 3),
    (3, 1),
    (1, 3),
    (1, 1),
    (2, 1),
    (3, 2),
    (2, 3, 1),
    (1, 2, 3),
    (2, 2, 3),
    (3, 1, 2),
]
INACTIVE = [
    "2", "3", "True", "False", "'tanh'", "None", "np.array([1, 0, 2])", "np.array([True, False, True])", "np.array([[1, 2, 0]])",
]  # fmt: skip
CONTAINERS = ["list", "tuple", "dict", "Point", "State", "pairs", "floats", "long", "arrays"]


def argument(rng: random.Random, is_single: bool) -> str:
    """Any argument; `is_single` means arrays of float32."""
    choice = rng.random()
    if choice < 0.62:
        return leaf(rng, is_single)
    if choice < 0.71:
        return rng.choice(INACTIVE)
    leaves = [leaf(rng, is_single) for _ in range(rng.randint(1, 3))]
    match rng.choice(CONTAINERS):
        case "list":
            return f"[{', '.join(leaves)}]"
        case "tuple":
            return f"({', '.join(leaves)}, ({number(rng)}, {leaf(rng, is_single)}))"
        case "dict":
            return "{" + ", ".join(f"{k!r}: {v}" for k, v in zip("wbk", leaves)) + "}"
        case "Point" | "State" as cls:
            return f"{cls}({leaves[0]}, {leaves[-1]})"
        case "pairs":
            return f"[({leaves[0]}, {number(rng)}), ({leaves[0]}, {number(rng)})]"
        case "floats":
            return f"[{number(rng)}, {number(rng)}]"
        case "long":
            return "[" + ", ".join(number(rng) for _ in range(10)) + "]"
        case _:
            shape = rng.choice([(3,), (2, 3), (1,)])
            return f"[{', '.join(array(rng, shape, is_single) for _ in range(rng.choice([2, 3, 9])))}]"


def leaf(rng: random.Random, is_single: bool) -> str:
    if rng.random() < 0.3:
        scalar = "np.float32({})" if is_single else "np.float64({})"
        return rng.choice(["{}", "{}", scalar, "np.array({})"]).format(number(rng))
    return array(rng, rng.choice(SHAPES), is_single)


def number(rng: random.Random) -> str:
    return repr(round(rng.uniform(-1.5, 1.5), 3) or 0.5)


def array(rng: random.Random, shape: tuple[int, ...], is_single: bool) -> str:
    def nested(axes: tuple[int, ...]) -> str:
        return number(rng) if not axes else "[" + ", ".join(nested(axes[1:]) for _ in range(axes[0])) + "]"

    return f"np.array({nested(shape)}" + (", dtype=np.float32)" if is_single else ")")
