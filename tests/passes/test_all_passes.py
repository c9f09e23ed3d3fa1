"""All passes together change no result, of random programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from srcdiff.ir import ops
from srcdiff.ir.check import check
from srcdiff.ir.kinds import FLOAT, Number
from srcdiff.ir.nodes import Const, Function
from srcdiff.ir.text import show
from srcdiff.passes import PASSES
from tests.emit.test_random_programs import arguments
from tests.support.interpreter import run
from tests.support.random_programs import MATRIX, SCALAR, VECTOR, Writer

SUM = ops.call_op(np.sum, "np.sum")


class AdjointWriter(Writer):
    """Writes programs with what reverse sweeps consist of besides: shapes, signs, sums of products."""

    def simple(self) -> None:
        rng = self.rng
        if rng.random() < 0.5:
            super().simple()
            return
        kind = rng.choice([VECTOR, MATRIX])
        match rng.randint(0, 7):
            case 0:
                self.apply(ops.SIZE, (self.pick(kind),), Number("int"))
                self.apply(ops.DIV, (self.pick(FLOAT), self.scope[-1]), FLOAT)
            case 1:
                self.apply(ops.call_op(np.zeros_like, "np.zeros_like"), (self.pick(kind),), kind)
            case 2:
                self.apply(ops.call_op(np.full_like, "np.full_like"), (self.pick(kind), self.pick(FLOAT)), kind)
            case 3:
                product = self.apply(ops.MUL, (self.pick(kind), self.pick(kind)), kind)
                self.apply(SUM, (product,), SCALAR)
            case 4:
                scaled = self.apply(ops.MUL, (self.pick(FLOAT), self.pick(kind)), kind)
                self.apply(ops.NEG, (scaled,), kind)
            case 5:
                term = self.apply(ops.NEG, (self.pick(kind),), kind)
                self.apply(rng.choice([ops.ADD, ops.SUB]), rng.choice([(self.pick(kind), term), (term, self.pick(kind))]), kind)
            case 6:
                term = self.apply(ops.MUL, (Const(-2.0), self.pick(kind)), kind)
                self.apply(rng.choice([ops.ADD, ops.SUB]), (self.pick(kind), term), kind)
            case _:
                difference = self.apply(ops.SUB, (self.pick(kind), self.pick(kind)), kind)
                self.apply(ops.NEG, (difference,), kind)


def close(a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple)):
        return isinstance(b, type(a)) and len(a) == len(b) and all(close(x, y) for x, y in zip(a, b))
    return np.shape(a) == np.shape(b) and bool(np.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True))


def passed(function: Function) -> Function:
    for step in PASSES:
        function = check(step(function))
    return function


@pytest.mark.parametrize("seed", range(300))
def test_results_stay(seed: int) -> None:
    function = check(AdjointWriter(seed, size=8 + seed % 14).program())
    args = arguments(seed)
    with np.errstate(all="ignore"):
        try:
            expected = run(function, args)
        except (IndexError, OverflowError):
            return
        got = run(passed(function), args)
    assert close(got, expected), f"{show(function)}\n{show(passed(function))}"
