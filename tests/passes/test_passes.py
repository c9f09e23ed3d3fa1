"""Each pass, from before to after."""

from __future__ import annotations

import time

from srcdiff.emit.python import Scope, emit
from srcdiff.ir.check import check
from srcdiff.ir.kinds import BOOL, FLOAT, INT, Array
from srcdiff.ir.nodes import Block, Const, If, Loop, Next, Range, Source, Var, Yield
from srcdiff.ir.ops import ADD, COPY, LT, MUL, NEG
from srcdiff.ir.text import show
from srcdiff.passes.dead_code import drop_dead_code
from srcdiff.passes.forward_copies import forward_copies
from srcdiff.passes.fuse_branches import fuse_branches
from tests.support.build import Build, user


def body(text: str) -> list[str]:
    return [line[4:] for line in text.splitlines()[1:]]


def test_dead_code_drops_carried_values_that_only_feed_themselves() -> None:
    b, x, trip = Build(), user("x"), Build()
    n, y, r_n, r_y = user("n"), user("y"), user("n"), user("y")
    n1, y1 = trip(ADD, n, 1, hint="n"), trip(MUL, y, x, hint="y")
    b(NEG, x)
    b.add(Loop((Source(Var("i", INT), Range(Const(0), Const(3))),), (n, y), (Const(0), x), trip.end(Next((n1, y1))), (r_n, r_y)))
    after = drop_dead_code(check(b.function("f", [x], r_y)))
    assert body(show(check(after))) == [
        "y = for i in 0..3 carrying y_1 from x:",
        "    y_2 = mul(y_1, x)",
        "    next y_2",
        "return y",
    ]


def test_copies_are_read_under_the_first_name() -> None:
    b, x = Build(), user("x")
    t = b(COPY, x)
    y = b(COPY, t, hint="y", users=True)
    z = b(NEG, t)
    after = forward_copies(b.function("f", [x], (y, z)))
    assert body(show(check(after))) == ["y = copy(x)", "t = neg(x)", "return (y, t)"]


def test_branches_on_one_condition_fuse() -> None:
    b, x = Build(), user("x")
    c = b(LT, x, 0, hint="c", kind=BOOL)
    first, second, a, r = Build(), Build(), user("a"), user("b")
    b.add(If(c, first.end(Yield((first(NEG, x),))), Block((), Yield((x,))), (a,)))
    between = b(MUL, x, 2, hint="m")
    b.add(If(c, second.end(Yield((second(ADD, a, between),))), Block((), Yield((Const(0),))), (r,)))
    after = fuse_branches(b.function("f", [x], r))
    assert body(show(check(after))) == [
        "c = lt(x, 0)",
        "m = mul(x, 2)",
        "a, b = if c:",
        "    t = neg(x)",
        "    t_1 = add(t, m)",
        "    yield t, t_1",
        "else:",
        "    yield x, 0",
        "return b",
    ]


def test_time_is_linear_in_the_program() -> None:
    def seconds(count: int) -> float:
        b, x = Build(), user("x", Array("float64", (3,)))
        values = [x]
        for _ in range(count):
            values.append(b(MUL, values[-1], values[-1], hint="h", kind=x.kind, users=True))
        bar = values[-1]
        for value in reversed(values):
            bar = b(MUL, bar, value, hint="h_bar", kind=x.kind)
        function = b.function("f", [x], bar)
        start = time.perf_counter()
        emit(function, Scope({}))
        return time.perf_counter() - start

    seconds(10)
    assert seconds(2400) < 20 * max(min(seconds(300) for _ in range(2)), 0.01)


def test_unread_numbers_cost_nothing() -> None:
    b, x = Build(), user("x", FLOAT)
    b(NEG, x, hint="unread", users=True)
    assert emit(b.function("f", [x], x), Scope({})).source == "def f(x):\n    return x\n"
