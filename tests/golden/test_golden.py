"""The emitted source of each program is, to the letter, the one that was reviewed; and what it computes is right.

After a change that is meant to change sources: `python -m tests.golden --update`, and review the difference.
"""

import numpy as np
import pytest

import srcdiff
from srcdiff.proofs import numeric
from tests.golden.collection import FOLDER, NAMES, load
from tests.support.gradients import check_gradient, same


def test_each_expectation_has_its_program():
    assert sorted(file.stem for file in FOLDER.glob("*.txt")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_source(name):
    program = load(name)
    assert program.emitted() == program.expected


@pytest.mark.parametrize("name", NAMES)
def test_gradient(name):
    program = load(name)
    if program.mode in ("linearize", "jacfwd"):
        _check_directions(program)
        return
    if program.mode in ("hvp", "second"):
        _check_second(program)
        return
    if program.mode != "vjp":
        check_gradient(program.loss, *program.args, argnums=program.argnums, has_aux=program.has_aux)
        return
    numeric.check(
        program.loss, program.args, argnums=program.argnums,
        vjp=lambda *args: srcdiff.vjp(program.loss, *args, argnums=program.argnums),
    )  # fmt: skip


def _check_directions(program):
    """A Jacobian and a linear map give, along a direction, what jvp gives there."""
    rng = np.random.default_rng(1)
    if program.mode == "jacfwd":
        (x, *rest), v = program.args, rng.normal(size=program.args[0].shape)
        found = np.tensordot(srcdiff.jacfwd(program.loss)(x, *rest), v, v.ndim)
        assert np.allclose(found, srcdiff.jvp(program.loss, (x, *rest), v, argnums=0)[1], rtol=1e-12)
        return
    dots = tuple(rng.normal() for _ in program.argnums)
    value, linear = srcdiff.linearize(program.loss, *program.args, argnums=program.argnums)
    expected = srcdiff.jvp(program.loss, program.args, dots, argnums=program.argnums)
    assert np.allclose((value, linear(*dots)), expected, rtol=1e-12)


def _check_second(program):
    """A second derivative along a direction is what central differences of the gradient give."""
    x, *rest = program.args
    v = np.random.default_rng(1).normal(size=np.shape(x))
    gradient, h = srcdiff.grad(program.loss), 1e-5
    expected = (gradient(x + h * v, *rest) - gradient(x - h * v, *rest)) / (2 * h)
    if program.mode == "hvp":
        found = srcdiff.hvp(program.loss, program.argnums)(x, *rest, v)
    else:
        found = srcdiff.grad(gradient)(x, *rest) * v
    assert np.allclose(found, expected, rtol=1e-7, atol=1e-9)


def test_a_pullback_keeps_what_it_read_when_it_was_made():
    program = load("pullback")
    x, A = (a.copy() for a in program.args)
    y, pullback = srcdiff.vjp(program.loss, x, A)
    y_bar = {"y": np.ones(4), "norm": 1.0}
    before = pullback(y_bar)
    for array in (x, A, y["y"]):
        array[:] = 0.0
    assert same(pullback(y_bar), before)
