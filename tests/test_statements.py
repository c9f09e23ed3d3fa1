"""Statements as people write them, apart from assignments and loops: their gradients are right."""

import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from srcdiff import KindError, SyntaxNotAccepted, grad
from tests.support.gradients import check_gradient

X = np.array([0.5, 1.5, 2.0])
SCALE = 3.0
PROGRAMS = []


def program(f):
    PROGRAMS.append(pytest.param(f, id=f.__name__))
    return f


@pytest.mark.parametrize("f", PROGRAMS)
def test_gradient(f):
    check_gradient(f, X)


# ---------------------------------------------------------------- assignment expressions


@program
def in_a_loop_test(x):
    v = x[0] * 10
    while (y := v * 0.5) > 1.0:
        v = y
    return v * y


@program
def in_a_comprehension(x):
    squares = [(z := w * w) + z for w in x if (q := w) > 0.2]
    return sum(squares) * z + q


@program
def in_a_condition(x):
    u = x[2]
    if x[0] > 1 and (u := x[1] * 2) > 0:
        u = u * x[0]
    last = x[0] if (w := x[1] * u) < 0 else w
    return u * w + last


# ---------------------------------------------------------------- names of functions around


@program
def counts_in_a_cell(x):
    total, n = 0.0, 0

    def add(v):
        nonlocal total, n
        if v > 1:
            total += v * v
        n += 1

    for v in x:
        add(v)
    add(x[0] * 4)
    return total * n


@program
def cells_of_each_call(x):
    def counter():
        n = 0.0

        def step(v):
            nonlocal n
            n += v
            return n * v

        return step

    a, b = counter(), counter()
    return a(x[0]) * a(x[1]) + b(x[2])


@program
def cell_that_becomes_an_array(x):
    s = 0

    def add(v):
        nonlocal s
        s = s + v * x

    for v in x:
        add(v)
    return np.sum(s * x)


@program
def global_that_is_read(x):
    global SCALE
    return np.sum(x**2) * SCALE


def global_that_is_written(x):
    global SCALE
    SCALE = SCALE + 1.0
    return x * SCALE


def of_a_closure():
    count = 0

    def f(x):
        nonlocal count
        count += 1
        return x * count

    return f


@pytest.mark.parametrize(
    "f, text",
    [(global_that_is_written, "`SCALE`, a variable of the module"), (of_a_closure(), "`count`, a variable of the function")],
)
def test_a_variable_that_outlives_the_call_is_not_written(f, text):
    with pytest.raises(SyntaxNotAccepted, match=text):
        grad(f)(2.0)


# ---------------------------------------------------------------- small things


@program
def strings_and_sets(x):
    total = 0.0
    for c in "aba":
        if c in {"a", "z"}:
            total += x[0] ** 2
    for i in range(3):
        if i in {0, 2}:
            total += x[i]
        if i not in {*range(2), 7}:
            total *= x[1]
    name, rest = "ab_c".split("_")
    return total * len(name) + len({1, 2, 1}) + ("abc"[1:] == "bc") * x[2] + rest.upper().startswith("C")


@program
def targets_that_are_items(x):
    h, total = {}, 0.0
    for h["i"] in range(3):
        total += x[h["i"]] * (h["i"] + 1)
    pair = [0.0, 0.0]
    for pair[0], pair[1] in [(x[0], x[1]), (x[1], x[2])]:
        total += pair[0] * pair[1]
    return total


@program
def stars(x):
    idx = (0,)
    y = (*x, x[1])
    return x[*idx] * y[-1] + [*y, x[2]][-1]


@program
def names_that_are_deleted(x):
    a = b = x[0]
    del b
    for v in x:
        square = v * v
        a += square
        del square
    b = a * 2
    return a * b


@program
def imports_within(x):
    import math as m
    from math import sin

    if TYPE_CHECKING:
        import a_module_that_is_not_there  # noqa: F401
    return m.cos(x[0]) * sin(x[1])


@program
def effects(x):
    t = x[0] * 2
    print("t", t, end="", file=sys.stderr)
    while t > 5:
        t = t * 0.5
    else:
        t = t * x[1]
    return t


def reads_what_was_deleted(x):
    y = x * 2
    del y
    return y  # noqa: F821


def test_a_deleted_name_is_unbound():
    with pytest.raises(KindError, match="`y` is read before it is bound"):
        grad(reads_what_was_deleted)(2.0)
