"""Invariants are computed before their loop."""

from __future__ import annotations

from typing import Any

import pytest

from srcdiff.ir.check import check
from srcdiff.ir.kinds import FLOAT, INT, Array, Dim
from srcdiff.ir.nodes import UNBOUND, Block, Const, Function, If, Loop, Next, Origin, Range, Source, Var, Yield
from srcdiff.ir.ops import ADD, DIV, ITEM, LT, MATMUL, MUL, TRANSPOSE
from srcdiff.ir.text import show
from srcdiff.passes.hoist import hoist
from tests.support.build import Build, user
from tests.support.interpreter import run

ROW = Array("float64", (Dim("x.shape[0]", 3),))
MATRIX = Array("float64", (Dim("W.shape[0]", 3), Dim("W.shape[1]", 3)))
LINE = Origin("model.py", 3, "y = y + 0.5 * dt", 4)
BACK = Origin("model.py", 3, "y = y + 0.5 * dt", -1)


def after(function: Function) -> list[str]:
    return [line[4:] for line in show(check(hoist(check(function)))).splitlines()[1:]]


def loop(b: Build, trip: Build, y: Var, value: Any, result: Var, init: Any = Const(0.0), trips: int = 3) -> Var:
    sources = (Source(Var("i", INT), Range(Const(0), Const(trips))),)
    return b.add(Loop(sources, (y,), (init,), trip.end(Next((value,))), (result,), BACK)).results[0]  # type: ignore[no-any-return]


def test_arithmetic_goes_before_the_loop() -> None:
    b, trip, dt, y, out = Build(), Build(), user("dt"), user("y"), user("y")
    half = trip(MUL, 0.5, dt, hint="half", line=BACK)
    quarter = trip(DIV, half, 2, hint="quarter", line=BACK)
    loop(b, trip, y, trip(ADD, y, quarter, hint="y"), out)
    program = b.function("f", [dt], out)
    assert after(program)[:3] == ["half = mul(0.5, dt)", "quarter = div(half, 2)", "y = for i in 0..3 carrying y_1 from 0.0:"]
    assert run(hoist(program), [2.0]) == run(program, [2.0])


def test_out_of_two_loops() -> None:
    b, outer, inner = Build(), Build(), Build()
    dt, y, z, out, mid = user("dt"), user("y"), user("z"), user("y"), user("z")
    both = inner(MUL, 0.5, dt, hint="both")
    one = inner(MUL, y, both, hint="one")
    loop(outer, inner, z, inner(ADD, z, one, hint="z"), mid)
    loop(b, outer, y, outer(ADD, mid, y), out)
    lines = after(b.function("f", [dt], out))
    assert lines[0] == "both = mul(0.5, dt)"
    assert lines[2] == "    one = mul(y_1, both)"


def test_transposes() -> None:
    b, trip, W, y, out = Build(), Build(), user("W", MATRIX), user("y", ROW), user("y", ROW)
    turned = trip(TRANSPOSE, W, hint="W_T", kind=MATRIX, line=BACK)
    loop(b, trip, y, trip(MATMUL, turned, y, hint="y", kind=ROW), out, W)
    assert after(b.function("f", [W], out))[0] == "W_T = transpose(W)"


@pytest.mark.parametrize("uses, first", [(1, "y = for i in 0..3 carrying y_1 from 0.0:"), (2, "half = mul(0.5, dt)")])
def test_a_users_expression_goes_only_if_it_has_a_name_anyway(uses: int, first: str) -> None:
    b, trip, dt, y, out = Build(), Build(), user("dt"), user("y"), user("y")
    half = trip(MUL, 0.5, dt, hint="half", line=LINE)
    value = trip(ADD, y, half, line=LINE)
    loop(b, trip, y, trip(ADD, value, half) if uses == 2 else value, out)
    assert after(b.function("f", [dt], out))[0] == first


def stays(make: Any, params: list[Var]) -> None:
    b, trip, y, out = Build(), Build(), user("y"), user("y")
    value = make(trip)
    loop(b, trip, y, trip(ADD, y, value), out)
    program = b.function("f", params, out)
    assert show(hoist(program)) == show(program)


def test_what_may_fail_stays() -> None:
    x, n = user("x", ROW), user("n")
    stays(lambda trip: trip(DIV, 1.0, n), [n])
    stays(lambda trip: trip(ITEM, x, 0, kind=FLOAT), [x])
    stays(lambda trip: trip(MUL, n, n, users=True, line=LINE), [n])
    stays(lambda trip: trip(MUL, x, x, kind=ROW), [x])


def test_what_may_be_unbound_is_not_read_early() -> None:
    b, trip, x, y, out, maybe = Build(), Build(), user("x"), user("y"), user("y"), user("m")
    c = b(LT, x, 0.0, hint="c")
    b.add(If(c, Block((), Yield((x,))), Block((), Yield((Const(UNBOUND),))), (maybe,)))
    loop(b, trip, y, trip(ADD, y, trip(MUL, maybe, 2.0)), out)
    program = b.function("f", [x], out)
    assert show(hoist(program)) == show(program)


def test_an_arm_keeps_its_statements() -> None:
    b, trip, then, x, y, out, r = Build(), Build(), Build(), user("x"), user("y"), user("y"), user("r")
    c = trip(LT, y, 0.0, hint="c")
    trip.add(If(c, then.end(Yield((then(MUL, x, 2.0),))), Block((), Yield((x,))), (r,)))
    loop(b, trip, y, trip(ADD, y, r), out)
    program = b.function("f", [x], out)
    assert show(hoist(program)) == show(program)
