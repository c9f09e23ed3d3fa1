"""What is written to while something else still shows it: lists that change under their loops, names of one of two objects."""

from __future__ import annotations

import numpy as np
import pytest

import srcdiff
from srcdiff import grad
from tests.support.gradients import check_gradient

X = np.array([0.7, 0.4, -0.6])
XS = [0.1 * k for k in range(12)]


class Cell:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def fresh(self):
        return Cell(np.sin(self.a), self.b * 0.5)


def items_written_behind_the_loop(xs, x):
    total = 0.0
    for i, v in enumerate(xs):
        total += v
        if v > 0.35:
            xs[i] = v * x
    return total + xs[3] * xs[5]


def items_written_ahead_of_an_unrolled_loop(x):
    xs = [x, 2.0, x * x]
    total = 0.0
    for i, v in enumerate(xs):
        xs[2] = total
        total += v
        xs[i] = v * 3.0
    for v in xs:
        total += v
        if len(xs) < 5:
            xs.append(v * x)
    return total


def values_written_ahead(x):
    d = {"a": x, "b": 2.0, "c": x * x}
    total = 0.0
    for k, v in d.items():
        d[k] = v * 2.0
        d["c"] = x
        total += v
    for k in d:
        d[k] = d[k] * x
    return total + sum(d.values())


def objects_replaced_ahead(x):
    p, q = Cell(x, x[0]), Cell(x * x, x[1])
    cells = [p, q]
    for cell in cells:
        cell.b = cell.b * 3.0
        cells[1] = p
    return p.b + q.b


def equal_expressions_after_a_write(x):
    a = np.cos(x)
    a += x
    b = np.cos(x)
    p = Cell(np.sin(x), 1.0)
    p.a[0] = 3.0
    q = Cell(np.sin(x), 2.0)
    return np.sum(a * b) + np.sum(p.a * q.a)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (items_written_behind_the_loop, (XS, 1.5)),
        (items_written_ahead_of_an_unrolled_loop, (1.5,)),
        (values_written_ahead, (1.5,)),
        (objects_replaced_ahead, (X,)),
        (equal_expressions_after_a_write, (X,)),
    ],
)
def test_what_python_reads_is_read(f, args):
    check_gradient(f, *args)


def items_written_ahead(xs, x):
    total = 0.0
    for v in xs:
        total += v
        xs[3] = x
    return total


def a_list_of_ones_own_written_ahead(x):
    xs = [x, x, x, x, x, x, x, x, x, x]
    total = 0.0
    for v in xs:
        total += v
        xs[3] = x * x
    return total


def keys_that_come(x):
    d = {"a": x}
    for k in d:
        d[k + "b"] = x
    return d["a"]


@pytest.mark.parametrize(
    ("f", "args"), [(items_written_ahead, (XS, 1.5)), (a_list_of_ones_own_written_ahead, (1.5,)), (keys_that_come, (1.5,))]
)
def test_changes_ahead_of_a_loop_are_refused(f, args):
    with pytest.raises(srcdiff.SyntaxNotAccepted, match="a list or dict is changed while a loop runs over it"):
        grad(f)(*args)


def one_of_three(x, other, n):
    p = Cell(x, x[0])
    first = p
    if n > 5:
        p = p.fresh()
    if x[0] < 0.0:
        p = other
    first.b = x[1]
    return p.b * x[2]


def test_one_of_several_objects_may_not_be_changed():
    with pytest.raises(srcdiff.SyntaxNotAccepted, match="may be one of two"):
        grad(one_of_three)(X, Cell(X, 1.0), 3)


def another_name_after_a_loop(x, n):
    p, q = Cell(x, x[0]), Cell(x * x, x[1])
    r = p
    for _ in range(n):
        if x[0] > 0.0:
            r = q
    q.b = 3.0 * x[2]
    return r.b + q.b


def another_name_of_a_list_after_a_loop(x, n):
    p, q = [x[0]], [x[1]]
    r = p
    for _ in range(n):
        if x[0] > 0.0:
            r = q
    q[0] = 3.0 * x[2]
    return r[0] + q[0]


@pytest.mark.parametrize("f", [another_name_after_a_loop, another_name_of_a_list_after_a_loop])
def test_one_of_two_after_a_loop_may_not_be_changed(f):
    with pytest.raises(srcdiff.SyntaxNotAccepted, match="may be one of two"):
        grad(f)(X, 2)
