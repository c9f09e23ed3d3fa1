"""Sums of products become inner products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from srcdiff.ir.check import check
from srcdiff.ir.kinds import Array, Dim
from srcdiff.ir.nodes import Const, Function, Origin, SliceOf, Var
from srcdiff.ir.ops import DIV, ITEM, MUL, NEG, POW, call_op
from srcdiff.ir.text import show
from srcdiff.passes.contract import contract
from srcdiff.passes.dead_code import drop_dead_code
from tests.support.build import Build, user
from tests.support.interpreter import run

N, M = Dim("a.shape[0]", 4), Dim("a.shape[1]", 3)
ROW, MATRIX, NUMBER = Array("float64", (N,)), Array("float64", (N, M)), Array("float64", ())
SUM = call_op(np.sum, "np.sum")
LINE = Origin("model.py", 3, "y = np.sum(a * b)", 4)
RNG = np.random.default_rng(0)


def after(function: Function, *args: Any) -> list[str]:
    program = drop_dead_code(check(contract(check(function))))
    got, want = run(check(program), list(args)), run(function, list(args))
    np.testing.assert_allclose(got, want, rtol=1e-14, atol=1e-14)
    assert np.shape(got) == np.shape(want)
    return [line[4:] for line in show(program).splitlines()[1:]]


def summed(kind: Array, result: Array, **kwargs: Any) -> list[str]:
    b, a, c = Build(), user("a", kind), user("c", kind)
    y = b(SUM, b(MUL, a, c, kind=kind), hint="y", kind=result, **kwargs)
    shape = (4, 3)[: len(kind.dims or ())]
    return after(b.function("f", [a, c], y), RNG.normal(size=shape), RNG.normal(size=shape))


def test_one_axis() -> None:
    assert summed(ROW, NUMBER) == ["y = matmul(a, c)", "return y"]


def test_all_axes() -> None:
    assert summed(MATRIX, NUMBER) == ["y = np.vdot(a, c)", "return y"]


def test_a_view_that_leaves_something_out_of_each_row_is_not_copied() -> None:
    b, x, c = Build(), user("x", Array("float64", (N, Dim("x.shape[1]", 5)))), user("c", MATRIX)
    part = b(ITEM, x, (SliceOf(Const(None), Const(None), Const(None)), SliceOf(Const(1), Const(-1), Const(None))), kind=MATRIX)
    y = b(SUM, b(MUL, part, c, kind=MATRIX), hint="y", kind=NUMBER)
    lines = after(b.function("f", [x, c], y), RNG.normal(size=(4, 5)), RNG.normal(size=(4, 3)))
    assert "np.vecdot(" in lines[-3] and lines[-2].startswith("y = np.sum(")


@pytest.mark.parametrize("axis", [1, -1])
def test_the_last_axis(axis: int) -> None:
    assert summed(MATRIX, Array("float64", (N,)), axis=axis) == ["y = np.vecdot(a, c)", "return y"]


def test_the_last_axis_kept() -> None:
    lines = summed(MATRIX, Array("float64", (N, 1)), axis=1, keepdims=True)
    assert lines[0].endswith("= np.vecdot(a, c)") and lines[1].endswith("(None:None:None, None))")


def test_the_first_axis() -> None:
    assert summed(MATRIX, Array("float64", (M,)), axis=0) == ["y = np.einsum('ij,ij->j', a, c)", "return y"]
    assert summed(MATRIX, Array("float64", (1, M)), axis=0, keepdims=True)[1].endswith("None)")


def test_scalars_and_signs_come_out() -> None:
    b, a, c, s = Build(), user("a", ROW), user("c", ROW), user("s")
    y = b(SUM, b(MUL, b(NEG, b(MUL, s, a, kind=ROW), kind=ROW), b(DIV, c, s, kind=ROW), kind=ROW), hint="y", kind=NUMBER)
    lines = after(b.function("f", [a, c, s], y), RNG.normal(size=4), RNG.normal(size=4), 1.7)
    assert [line.split(" = ")[1].split("(")[0] for line in lines[:-1]] == ["matmul", "mul", "div", "neg"]


def test_a_scalar_of_one_array() -> None:
    b, a, s = Build(), user("a", MATRIX), user("s")
    y = b(SUM, b(MUL, s, a, kind=MATRIX), hint="y", kind=Array("float64", (M,)), axis=0)
    lines = after(b.function("f", [a, s], y), RNG.normal(size=(4, 3)), 1.7)
    assert lines[1:] == ["y = mul(s, " + lines[0].split(" = ")[0] + ")", "return y"]


def test_a_square() -> None:
    b, a = Build(), user("a", ROW)
    y = b(SUM, b(POW, a, 2, kind=ROW), hint="y", kind=NUMBER)
    assert after(b.function("f", [a], y), RNG.normal(size=4)) == ["y = matmul(a, a)", "return y"]


def unchanged(function: Function) -> None:
    assert show(drop_dead_code(contract(function))) == show(function)


def product(a: Var, c: Var, kind: Array, *, line: Origin | None = None, is_shared: bool = False) -> Function:
    b = Build()
    t = b(MUL, a, c, kind=kind)
    y = b(SUM, t, hint="y", kind=Array(kind.dtype, ()), line=line)
    return b.function("f", [a, c], (y, t) if is_shared else y)


def test_what_stays() -> None:
    a, c = user("a", ROW), user("c", ROW)
    unchanged(product(a, c, ROW, is_shared=True))
    unchanged(product(a, c, ROW, line=LINE))
    single = Array("float32", (N,))
    unchanged(product(user("a", single), user("c", single), single))
    unchanged(product(user("a", Array("complex128", (N,))), c, Array("complex128", (N,))))
    unchanged(product(user("a", Array("bool", (N,))), c, ROW))
    unchanged(product(user("a", Array("float64", (N, 1))), user("c", Array("float64", (1, M))), MATRIX))


def test_all_axes_but_the_last() -> None:
    cube, row, b = Array("float64", (N, M, M)), Array("float64", (M,)), Build()
    a, c = user("a", cube), user("c", cube)
    y = b(SUM, a, hint="y", kind=row, axis=(Const(0), Const(1)))
    z = b(SUM, b(MUL, a, c, kind=cube), hint="z", kind=row, axis=(Const(0), Const(-2)))
    values = RNG.normal(size=(4, 3, 3)), RNG.normal(size=(4, 3, 3))
    assert after(b.function("f", [a, c], y), *values) == ["y = np.einsum('ijk->k', a)", "return y"]
    assert after(b.function("f", [a, c], z), *values) == ["z = np.einsum('ijk,ijk->k', a, c)", "return z"]
