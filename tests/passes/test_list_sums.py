"""What a loop adds to one element of an array after another adds up in a list."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from srcdiff.ir import ops
from srcdiff.ir.check import check
from srcdiff.ir.kinds import INT, Array, Dim, Kind, Number
from srcdiff.ir.nodes import Block, Const, Function, Loop, Next, Range, Source, Var
from srcdiff.ir.text import show
from srcdiff.passes.list_sums import add_up_in_lists
from tests.support.build import Build, user
from tests.support.interpreter import run

N = Dim("len(x)", 4)
ROW = Array("float64", (N,))
ZEROS = ops.call_op(np.zeros_like, "np.zeros_like")


def program(kind: Kind = ROW, stop: Any = None, value: Any = Const(2.0), *, is_read: bool = False) -> Function:
    """x_bar = zeros; for i in range(len(x)): x_bar[i] += value, and where it `is_read` also what x_bar[0] holds."""
    b, x = Build(), user("x", kind)
    start = b(ZEROS, x, hint="x_bar", kind=kind)
    trips = b(ops.LEN, x, hint="n", kind=Number("int", N)) if stop is None else stop
    inner, i, bar, result = Build(), Var("i", INT), Var("x_bar", kind), Var("x_bar", kind)
    after = inner(ops.INDEX_ADD, bar, i, value, hint="x_bar", kind=kind)
    if is_read:
        after = inner(ops.INDEX_ADD, after, i, inner(ops.ITEM, after, 0), hint="x_bar", kind=kind)
    b.add(Loop((Source(i, Range(Const(0), trips)),), (bar,), (start,), Block(tuple(inner.stmts), Next((after,))), (result,)))
    return b.function("f", [x], result)


def test_a_list_that_becomes_an_array_behind_the_loop() -> None:
    before = program()
    after = add_up_in_lists(check(before))
    assert "np.array(x_bar" in show(check(after)) and "zeros_like" not in show(after)
    got = run(after, [np.arange(4.0)])
    np.testing.assert_array_equal(got, run(before, [np.arange(4.0)]))
    assert got.dtype == np.float64


def test_of_nothing_an_empty_array_of_floats() -> None:
    got = run(add_up_in_lists(program()), [np.zeros(0)])
    assert got.shape == (0,) and got.dtype == np.float64


@pytest.mark.parametrize(
    "before",
    [
        program(Array("float32", (N,))),
        program(Array("float64", (N, 3))),
        program(stop=Const(3)),
        program(value=Var("v", ROW)),
        program(value=Var("v", Array("float32", ()))),
        program(is_read=True),
    ],
    ids=["float32", "two axes", "few trips", "whole rows", "a value of float32", "read in the loop"],
)
def test_the_array_stays(before: Function) -> None:
    assert show(add_up_in_lists(before)) == show(before)


def test_an_array_that_another_loop_goes_on_with_stays() -> None:
    before = program()
    (zeros, length, loop), end = before.body.stmts, before.body.end
    assert isinstance(loop, Loop)
    i, bar, result = Var("i", INT), Var("x_bar", ROW), Var("x_bar", ROW)
    again = Loop((Source(i, Range(Const(0), Const(9))),), (bar,), loop.results, Block((), Next((bar,))), (result,))
    longer = Function("f", before.params, Block((zeros, length, loop, again), end))
    assert show(add_up_in_lists(longer)) == show(longer)


def test_numbers_add_up_as_floats() -> None:
    got = run(add_up_in_lists(program(value=Const(1))), [np.arange(4.0)])
    assert got.dtype == np.float64 and got.tolist() == [1.0] * 4
