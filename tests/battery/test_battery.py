"""Derivatives of order 1 to 3 by all mixes of the modes: they agree among themselves, and with JAX's where it is installed."""

import copy
import importlib
import types

import numpy as np
import pytest

from srcdiff import grad, hessian, hvp, jacrev, jvp, vhp, vjp
from srcdiff.proofs import numeric
from tests.battery.collection import programs, through
from tests.support.gradients import leaves

PROGRAMS = {program.name: program for program in programs()}
PLACES = {name: i for i, name in enumerate(PROGRAMS)}
SMALL = 6


def test_there_are_enough():
    assert len(PROGRAMS) >= 150


def directions(program):
    """A direction for each argument that is differentiated by, in its structure."""
    rng = np.random.default_rng(3)
    return tuple(numeric.direction_like(rng, program.args[n]) for n in program.argnums)


def assert_equal(found, expected, rtol, what):
    """Leaves that are equal relative to the largest entry of each."""
    ours, theirs = dict(leaves(found)), dict(leaves(expected))
    compared = {path for path, leaf in theirs.items() if leaf is not None}
    assert compared == {path for path, leaf in ours.items() if leaf is not None}, what
    assert compared, what
    for path in compared:
        a, b = ours[path], theirs[path]
        size = np.max(np.abs(b), initial=0.0)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * max(size, 1e-3), err_msg=f"{what}{path}")


def dot(xs, ys):
    pairs = list(zip(leaves(xs), leaves(ys)))
    return sum(float(np.sum(np.multiply(a, b))) for (_, a), (_, b) in pairs if a is not None and b is not None)


def first(program):
    return grad(program.f, program.argnums)(*program.args)


def second(program, v):
    """The product of the Hessian with a direction: forward mode over reverse mode."""
    return hvp(program.f, program.argnums)(*program.args, v)


def third(program, v):
    """The third derivative along a direction twice: forward over forward over reverse."""
    return jvp(hvp(program.f, program.argnums), (*program.args, v), v, argnums=program.argnums)[1]


@pytest.mark.parametrize("name", PROGRAMS)
def test_modes_agree(name):
    program = PROGRAMS[name]
    v = directions(program)
    f, args, argnums, rtol = program.f, program.args, program.argnums, program.rtol
    g = first(program)
    along = tuple(args[n] for n in argnums)
    value, slope = jvp(f, args, v, argnums=argnums)
    assert_equal(value, f(*copy.deepcopy(args)), rtol, "value")
    assert_equal(slope, dot(g, v), rtol, "jvp")
    assert_equal(vjp(f, *args, argnums=argnums)[1](1.0), g, rtol, "vjp")
    if program.order < 2:
        return
    h = second(program, v)
    assert_equal(vhp(f, argnums)(*args, v), h, rtol, "vhp")
    assert_equal(vjp(grad(f, argnums), *args, argnums=argnums)[1](v), h, rtol, "reverse over reverse")
    if is_small(along):
        columns = hessian(f, argnums)(*args)
        for i, row in enumerate(columns):
            product = sum(np.tensordot(block, np.asarray(x), np.ndim(x)) for block, x in zip(row, v))
            assert_equal(product, h[i], rtol, "hessian")
        if PLACES[name] % 4 == 0:
            assert_equal(jacrev(grad(f, argnums), argnums)(*args), columns, rtol, "jacrev of grad")
    if program.order < 3:
        return
    t = third(program, v)
    assert_equal(vjp(hvp(f, argnums), *args, v, argnums=argnums)[1](v), t, 10 * rtol, "reverse over forward over reverse")


def is_small(arguments):
    return all(isinstance(x, (float, np.ndarray)) for x in arguments) and sum(map(np.size, arguments)) <= SMALL


# ---------------------------------------------------------------- JAX


@pytest.fixture(scope="module")
def jax():
    try:
        jax = importlib.import_module("jax")
    except ImportError:
        pytest.skip("jax is not installed: pip install jax")
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    return jax


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_jax(jax, name):
    program = PROGRAMS[name]
    v = directions(program)
    special = importlib.import_module("jax.scipy.special")
    numpy = importlib.import_module("jax.numpy")
    names = {"np": numpy, "math": numpy_as_math(numpy), "grad": jax.grad, "jvp": jax.jvp, "vjp": jax.vjp}
    names |= {"value_and_grad": jax.value_and_grad, "scipy": types.SimpleNamespace(special=special)}
    names |= {n: getattr(special, n) for n in ("erf", "expit", "gammaln")}
    theirs = through(names, program.other)
    args = list(program.args)

    def f(*chosen):
        full = list(args)
        for n, x in zip(program.argnums, chosen):
            full[n] = x
        return theirs(*full)

    xs = jax.tree_util.tree_map(numpy.asarray, tuple(args[n] for n in program.argnums))
    vs = jax.tree_util.tree_map(numpy.asarray, v)
    every = tuple(range(len(xs)))
    g = jax.grad(f, every)
    hv = lambda *xs: jax.jvp(g, xs, vs)[1]  # noqa: E731
    arrays = lambda result: jax.tree_util.tree_map(np.asarray, result)  # JAX's own are objects, and no leaves
    assert_equal(first(program), arrays(g(*xs)), program.rtol, "gradient")
    if program.order >= 2:
        assert_equal(second(program, v), arrays(hv(*xs)), program.rtol, "product with the Hessian")
    if program.order >= 3:
        assert_equal(third(program, v), arrays(jax.jvp(hv, xs, vs)[1]), 10 * program.rtol, "third derivative")


def numpy_as_math(numpy):
    """What stands for `math`: the functions of its names, on arrays."""
    other = {"atan2": "arctan2", "atan": "arctan", "asin": "arcsin", "acos": "arccos"}
    same = ("sin", "cos", "exp", "log", "log1p", "sqrt", "tanh", "cosh", "sinh", "hypot")
    return types.SimpleNamespace(**{name: getattr(numpy, other.get(name, name)) for name in (*other, *same)})
