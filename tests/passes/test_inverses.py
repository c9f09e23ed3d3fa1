"""An inverse that is computed anyway serves instead of solving again."""

from __future__ import annotations

import numpy as np

from srcdiff.ir.check import check
from srcdiff.ir.kinds import Array, Dim
from srcdiff.ir.nodes import Function, Origin
from srcdiff.ir.ops import ADD, TRANSPOSE, call_op
from srcdiff.ir.text import show
from srcdiff.passes.inverses import multiply_by_inverses
from tests.support.build import Build, user

N = Dim("S.shape[0]", 3)
MATRIX, VECTOR = Array("float64", (N, N)), Array("float64", (N,))
LINE = Origin("model.py", 3, "x = np.linalg.solve(S, v)", 4)
INV, SOLVE = call_op(np.linalg.inv, "np.linalg.inv"), call_op(np.linalg.solve, "np.linalg.solve")


def after(function: Function) -> list[str]:
    return [line[4:] for line in show(check(multiply_by_inverses(check(function)))).splitlines()[1:]]


def test_an_inverse_from_before() -> None:
    b, s, v = Build(), user("S", MATRIX), user("v", VECTOR)
    i = b(INV, s, hint="i", kind=MATRIX)
    x = b(SOLVE, b(TRANSPOSE, s, hint="t", kind=MATRIX), v, hint="x", kind=VECTOR)
    lines = ["i = np.linalg.inv(S)", "t = transpose(S)", "i_T = transpose(i)", "x = matmul(i_T, v)", "return (i, x)"]
    assert after(b.function("f", [s, v], (i, x))) == lines


def test_an_inverse_that_comes_later_moves_up() -> None:
    b, s, v = Build(), user("S", MATRIX), user("v", VECTOR)
    x = b(SOLVE, s, v, hint="x", kind=VECTOR)
    y = b(ADD, x, x, hint="y", kind=VECTOR)
    i = b(INV, s, hint="i", kind=MATRIX)
    z = b(SOLVE, s, y, hint="z", kind=VECTOR)
    lines = ["i = np.linalg.inv(S)", "x = matmul(i, v)", "y = add(x, x)", "z = matmul(i, y)", "return (i, z)"]
    assert after(b.function("f", [s, v], (i, z))) == lines


def test_what_the_user_solves_stays() -> None:
    b, s, v = Build(), user("S", MATRIX), user("v", VECTOR)
    x = b(SOLVE, s, v, hint="x", kind=VECTOR, line=LINE)
    i = b(INV, s, hint="i", kind=MATRIX)
    lines = ["x = np.linalg.solve(S, v)", "i = np.linalg.inv(S)", "return (x, i)"]
    assert after(b.function("f", [s, v], (x, i))) == lines
