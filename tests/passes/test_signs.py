"""Minus signs go where they cost least."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.ir.check import check
from srcdiff.ir.kinds import FLOAT, Array, Dim
from srcdiff.ir.nodes import Function, Origin
from srcdiff.ir.ops import ADD, DIV, MATMUL, MUL, NEG, SUB, call_op
from srcdiff.ir.text import show
from srcdiff.passes.dead_code import drop_dead_code
from srcdiff.passes.signs import place_signs
from tests.support.build import Build, user
from tests.support.interpreter import run

ROW = Array("float64", (Dim("a.shape[0]", 3),))
LINE = Origin("model.py", 3, "y = -(a * b)", 4)


def after(function: Function, *args: Any) -> list[str]:
    program = drop_dead_code(check(place_signs(check(function))))
    if args:
        got, want = run(check(program), list(args)), run(function, list(args))
        np.testing.assert_equal(np.asarray(got), np.asarray(want))
    return [line[4:] for line in show(check(program)).splitlines()[1:]]


A, B = np.array([1.0, -2.0, 0.5]), np.array([3.0, 0.25, -1.0])


def test_into_a_constant() -> None:
    b, n, a = Build(), user("n"), user("a", ROW)
    y = b(NEG, b(MUL, b(DIV, 2, n, hint="s"), a, kind=ROW), hint="y", kind=ROW)
    assert after(b.function("f", [n, a], y), 4.0, A) == ["s = div(-2, n)", "y = mul(s, a)", "return y"]


def test_into_a_scalar() -> None:
    b, s, a = Build(), user("s"), user("a", ROW)
    y = b(NEG, b(MUL, a, s, kind=ROW), hint="y", kind=ROW)
    assert after(b.function("f", [s, a], y), 4.0, A) == ["negative = neg(s)", "y = mul(a, negative)", "return y"]


def test_through_a_product_of_matrices() -> None:
    b, n, a, c = Build(), user("n"), user("a", ROW), user("c", ROW)
    y = b(NEG, b(MATMUL, a, b(MUL, b(DIV, 1, n), c, kind=ROW)), hint="y")
    assert after(b.function("f", [n, a, c], y), 4.0, A, B)[-3:] == ["t_1 = mul(t, c)", "y = matmul(a, t_1)", "return y"]


def test_a_difference_turns_round() -> None:
    b, a, c = Build(), user("a", ROW), user("c", ROW)
    y = b(NEG, b(SUB, a, c, kind=ROW), hint="y", kind=ROW)
    assert after(b.function("f", [a, c], y), A, B) == ["y = sub(c, a)", "return y"]


def test_sums_and_differences() -> None:
    b, a, c = Build(), user("a", ROW), user("c", ROW)
    first = b(ADD, a, b(NEG, c, kind=ROW), kind=ROW)
    second = b(SUB, a, b(NEG, c, kind=ROW), kind=ROW)
    third = b(ADD, b(NEG, a, kind=ROW), c, kind=ROW)
    fourth = b(ADD, a, b(MUL, b(DIV, -1, 2.0), c, kind=ROW), kind=ROW)
    lines = after(b.function("f", [a, c], (first, second, third, fourth)), A, B)
    assert lines == [
        "t = sub(a, c)",
        "t_1 = add(a, c)",
        "t_2 = sub(c, a)",
        "t_3 = div(1, 2.0)",
        "t_4 = mul(t_3, c)",
        "t_5 = sub(a, t_4)",
        "return (t, t_1, t_2, t_5)",
    ]


def test_two_signs_cancel() -> None:
    b, a = Build(), user("a", ROW)
    y = b(NEG, b(NEG, a, kind=ROW), hint="y", kind=ROW)
    assert after(b.function("f", [a], y), A) == ["return a"]
    b = Build()
    y = b(NEG, b(MUL, 2, b(NEG, a, kind=ROW), kind=ROW), hint="y", kind=ROW)
    assert run(place_signs(b.function("f", [a], y)), [A]).tolist() == (2 * A).tolist()


def test_what_is_read_twice_stays() -> None:
    b, s, a = Build(), user("s"), user("a", ROW)
    t = b(MUL, s, a, hint="t", kind=ROW)
    y = b(NEG, t, hint="y", kind=ROW)
    assert after(b.function("f", [s, a], (t, y)), 2.0, A) == ["t = mul(s, a)", "y = neg(t)", "return (t, y)"]


def test_the_users_expressions_stay() -> None:
    b, a, c = Build(), user("a", ROW), user("c", ROW)
    y = b(NEG, b(SUB, a, c, kind=ROW, line=LINE), hint="y", kind=ROW, line=LINE)
    z = b(NEG, b(SUB, a, c, kind=ROW, line=LINE), hint="z", kind=ROW)
    lines = after(b.function("f", [a, c], (y, z)), A, B)
    assert lines[:4] == ["t = sub(a, c)", "y = neg(t)", "t_1 = sub(a, c)", "z = neg(t_1)"]


def test_a_sum_of_columns_passes_the_sign_on() -> None:
    b, a = Build(), user("a", ROW)
    total = b(call_op(np.sum, "np.sum"), b(SUB, a, 1.0, kind=ROW), kind=FLOAT)
    assert after(b.function("f", [a], b(NEG, total, hint="y")), A) == ["t = sub(1.0, a)", "y = np.sum(t)", "return y"]
