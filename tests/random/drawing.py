"""The choices of a program drawn from Hypothesis, which remembers them and makes a failing program smaller.

    drawn(data)   →  Program(text, args, argnums)

Each choice is a whole number from 0 to n - 1, and 0 is the simplest: the first of several, the smallest number, no more
statements.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from tests.random.program import Program
from tests.random.sampling import Impossible
from tests.random.writing import Writer

FINENESS = 1000


def drawn(data: st.DataObject, size: int = 9) -> Program:
    """The program of Hypothesis's choices."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program = Writer(Drawn(data), size).program()
        except Impossible:
            program = None
    assume(program is not None)
    assert program is not None
    return program


class Drawn(random.Random):
    """What the writer asks of `random.Random`, answered by Hypothesis."""

    def __init__(self, data: st.DataObject) -> None:
        super().__init__(0)
        self.data = data

    def below(self, n: int) -> int:
        return self.data.draw(st.integers(0, n - 1))

    def random(self) -> float:
        return self.below(FINENESS) / FINENESS

    def uniform(self, a: float, b: float) -> float:
        return a + (b - a) * self.random()

    def randint(self, a: int, b: int) -> int:
        return a + self.below(b - a + 1)

    def choice(self, seq: Sequence[Any]) -> Any:
        if not seq:
            raise IndexError("nothing to choose from")
        return seq[self.below(len(seq))]

    def choices(self, population: Sequence[Any], weights: Any = None, **kwargs: Any) -> list[Any]:
        place = self.below(sum(weights))
        for item, weight in zip(population, weights, strict=True):
            if place < weight:
                return [item]
            place -= weight
        raise AssertionError

    def sample(self, population: Sequence[Any], k: int, **kwargs: Any) -> list[Any]:
        left = list(population)
        if k > len(left):
            raise ValueError("more than there are")
        return [left.pop(self.below(len(left))) for _ in range(k)]
