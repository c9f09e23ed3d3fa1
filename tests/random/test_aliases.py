"""Random programs of objects and generators: the value is plain Python's, the gradient that of differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcdiff
from tests.random.aliases import Generators, Objects, load

COUNT = 60
X = np.array([0.7, 0.4, -0.6])


def judge(writer: Any, seed: int) -> str:
    """ "agrees", "refused" or "unusable"; a wrong value or gradient, or a crash, fails."""
    module = load(writer(seed).text(), f"{writer.__name__} {seed}")
    f = module["f"]

    def arguments(x: Any) -> tuple[Any, ...]:
        if writer is Objects:
            return x, module["C"](np.array([0.3, -0.2, 0.9]), 0.8), 3
        return x, [0.31, 0.52, 0.13] * (1 + 3 * (seed % 2)), 3

    x = X if writer is Objects else 0.3711
    steps = np.eye(3) * 1e-6 if writer is Objects else [1e-6]
    try:
        value = f(*arguments(np.copy(x) if writer is Objects else x))
        expected = [(f(*arguments(x + step)) - f(*arguments(x - step))) / 2e-6 for step in steps]
    except (StopIteration, ValueError, IndexError, RuntimeError):
        return "unusable"
    if not np.all(np.abs(expected) < 1e4):
        return "unusable"
    args = arguments(np.copy(x) if writer is Objects else x)
    try:
        found, gradient = srcdiff.value_and_grad(f)(*args)
    except srcdiff.SrcdiffError as error:
        assert not isinstance(error, srcdiff.InternalError)
        return "refused"
    size = max(1.0, float(np.max(np.abs(expected))))
    assert found == pytest.approx(value, rel=1e-8)
    assert np.allclose(gradient, expected, rtol=1e-4, atol=1e-4 * size)
    if writer is Objects:
        assert np.array_equal(args[1].a, [0.3, -0.2, 0.9]) and args[1].b == 0.8
    return "agrees"


@pytest.mark.parametrize(("writer", "refused"), [(Objects, 0.5), (Generators, 0.05)])
def test_random_programs(writer: Any, refused: float) -> None:
    outcomes = [judge(writer, seed) for seed in range(COUNT)]
    usable = [outcome for outcome in outcomes if outcome != "unusable"]
    assert len(usable) > COUNT / 2
    assert outcomes.count("refused") <= refused * len(usable)
