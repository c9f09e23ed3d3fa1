"""Small arrays in the place of large ones, and a point near the example arguments.

w (5,), X (40, 5), y (40,)   →   w (3,), X (4, 3), y (4,)
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

MAX_SYMBOLS = 60
MAX_UNSHORTENED = 200


def point_near(example: Mapping[Any, float], seed: int) -> dict[Any, Fraction]:
    """Rational numbers near the example's (seed 0 nearest), moved so that nothing is zero, equal, or otherwise special."""
    draw = random.Random(seed)
    scale = [0.02, 0.3, 1.0][min(seed, 2)]
    point = {}
    for symbol, value in example.items():
        value = value if np.isfinite(value) else 1.0
        moved = value + scale * draw.choice((-1, 1)) * draw.uniform(0.3, 1) * max(abs(value), 0.1 if seed < 2 else 1.0)
        if seed < 2 and value:  # stay on the example's side of zero, where a logarithm may need it
            moved = abs(moved) * (1 if value > 0 else -1)
        point[symbol] = Fraction(round(moved * 9973) or 1, 9973)
    return point


def shortenings(shapes: Sequence[tuple[int, ...]]) -> Iterator[dict[int, int]]:
    """Each length → a short one, the best choice first: 0 and 1 stay, equal ones stay equal, others differ if that is cheap."""
    lengths = sorted({n for shape in shapes for n in shape})
    own = {n: n for n in lengths}
    long = [n for n in lengths if n > 1]
    wide = [(first, len(long), MAX_SYMBOLS // 3) for first in (5, 4, 3)]
    tight = [
        (2, len(long), MAX_SYMBOLS),
        (2, 3, MAX_SYMBOLS),
        (2, 2, MAX_SYMBOLS),
        (2, 1, MAX_UNSHORTENED),
        (4, len(long), MAX_UNSHORTENED),
    ]
    seen: list[dict[int, int]] = []
    for first, different, most in [*wide, *tight]:
        choice = own | {n: min(n, first + i % different) for i, n in enumerate(long)}
        if _total(shapes, choice) <= most and choice not in seen:
            seen.append(choice)
            yield choice
    if _total(shapes, own) <= MAX_UNSHORTENED and own not in seen:
        yield own


def _total(shapes: Sequence[tuple[int, ...]], lengths: Mapping[int, int]) -> int:
    return sum(math.prod([lengths[n] for n in shape]) for shape in shapes)


def is_float(leaf: Any) -> bool:
    if isinstance(leaf, (bool, int)):
        return False
    return isinstance(leaf, float) or (isinstance(leaf, (np.ndarray, np.floating)) and leaf.dtype.kind == "f")
