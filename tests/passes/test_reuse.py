"""The reverse sweep reads what the forward sweep has computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.ir.check import check
from srcdiff.ir.kinds import FLOAT, INT, Array, Dim
from srcdiff.ir.nodes import Block, Const, Function, If, Loop, Next, Origin, Range, Source, Var, Yield
from srcdiff.ir.ops import ADD, INDEX_SET, LT, MUL, SUB, call_op
from srcdiff.ir.text import show
from srcdiff.passes.reuse import reuse
from tests.support.build import Build, user

ROW = Array("float64", (Dim("x.shape[0]", 3),))
LINE = Origin("model.py", 3, "e = np.exp(x - m)", 4)
EXP, ZEROS_LIKE = call_op(np.exp, "np.exp"), call_op(np.zeros_like, "np.zeros_like")


def after(function: Function) -> list[str]:
    return [line[4:] for line in show(check(reuse(check(function)))).splitlines()[1:]]


def test_the_forward_value_is_read() -> None:
    b, x, m = Build(), user("x", ROW), user("m", ROW)
    e = b(EXP, b(SUB, x, m, hint="d", kind=ROW, line=LINE), hint="e", kind=ROW, line=LINE)
    again = b(EXP, b(SUB, x, m, hint="d", kind=ROW), kind=ROW)
    y = b(MUL, again, e, hint="y", kind=ROW)
    swapped = b(MUL, e, again, hint="z", kind=ROW)
    lines = ["d = sub(x, m)", "e = np.exp(d)", "y = mul(e, e)", "return (y, y)"]
    assert after(b.function("f", [x, m], (y, swapped))) == lines


def test_the_user_may_compute_twice() -> None:
    b, x = Build(), user("x", ROW)
    program = b.function("f", [x], (b(EXP, x, kind=ROW, line=LINE), b(EXP, x, kind=ROW, line=LINE)))
    assert reuse(program) is program


def test_a_cheap_part_of_a_users_line_stays_there() -> None:
    b, s = Build(), user("s")
    half = b(MUL, 0.5, s, line=LINE)
    used = b(ADD, half, 1.0, line=LINE)
    program = b.function("f", [s], (used, b(MUL, 0.5, s)))
    assert reuse(program) is program


def test_nothing_is_read_out_of_a_loop_or_an_arm() -> None:
    b, x, then, trip = Build(), user("x"), Build(), Build()
    r, y, out = user("r"), user("y"), user("y")
    b.add(If(b(LT, x, 0.0), then.end(Yield((then(EXP, x),))), Block((), Yield((x,))), (r,)))
    body = trip.end(Next((trip(ADD, trip(EXP, r), y),)))
    b.add(Loop((Source(Var("i", INT), Range(Const(0), Const(3))),), (y,), (Const(0.0),), body, (out,)))
    program = b.function("f", [x], (out, b(EXP, x), b(EXP, r)))
    assert reuse(program) is program


def test_a_value_from_outside_is_read_in_a_loop() -> None:
    b, x, trip, y, out = Build(), user("x"), Build(), user("y"), user("y")
    e = b(EXP, x, hint="e", line=LINE)
    body = trip.end(Next((trip(ADD, trip(EXP, x), y),)))
    b.add(Loop((Source(Var("i", INT), Range(Const(0), Const(3))),), (y,), (e,), body, (out,)))
    assert reuse(b.function("f", [x], out)).body.stmts  # `e` enters the loop, which may store to it
    b, trip = Build(), Build()
    e = b(EXP, x, hint="e", line=LINE)
    body = trip.end(Next((trip(ADD, trip(EXP, x), y, hint="y"),)))
    b.add(Loop((Source(Var("i", INT), Range(Const(0), Const(3))),), (y,), (Const(0.0),), body, (out,)))
    assert "    y_2 = add(e, y_1)" in after(b.function("f", [x], (out, e)))


def test_what_is_stored_to_and_what_is_made_stays_apart() -> None:
    def stored(first: Any) -> Function:
        b, x = Build(), user("x", ROW)
        c = b(first, x, hint="c", kind=ROW, line=LINE)
        other = b(first, x, hint="b", kind=ROW)
        return b.function("f", [x], (b(INDEX_SET, c, 0, 1.0, kind=ROW, line=LINE), other))

    for op in (EXP, ZEROS_LIKE):
        program = stored(op)
        assert reuse(program) is program


def test_free_values_are_read_each_time() -> None:
    from srcdiff.ir.nodes import Free

    b, free = Build(), Free("scale", FLOAT)
    program = b.function("f", [], (b(EXP, free, line=LINE), b(EXP, free)))
    assert reuse(program) is program
