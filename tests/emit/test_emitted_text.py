"""Programs built by hand, and the whole source that they print as."""

from __future__ import annotations

import math
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
import scipy.special

from srcdiff.emit.load import load
from srcdiff.emit.python import Scope, emit
from srcdiff.ir import ops
from srcdiff.ir.check import check
from srcdiff.ir.kinds import BOOL, FLOAT, INT, Array, ListOf, Opaque, TupleOf, opaque
from srcdiff.ir.nodes import (
    UNBOUND,
    Apply,
    Block,
    Branch,
    Const,
    DictDisplay,
    Exit,
    Function,
    If,
    ListDisplay,
    Loop,
    Next,
    Op,
    Range,
    SliceOf,
    Source,
    Var,
    Yield,
)
from srcdiff.ir.ops import (
    ADD,
    APPEND,
    ARRAY_COPY,
    COPY,
    DISPLAY,
    DIV,
    EQ,
    GT,
    INDEX_ADD,
    INDEX_SET,
    ITEM,
    LE,
    LEN,
    LT,
    MUL,
    NEG,
    POP,
    SUB,
)
from tests.support.build import Build, reverse, user

FLOATS = ListOf(FLOAT, opaque())
VECTOR = Array("float64", (opaque(is_many=True),))
SCALAR = Array("float64", ())
MODULE = {"np": np, "math": math}


def assert_prints(function: Function, text: str) -> None:
    assert emit(check(function), Scope(MODULE)).source == dedent(text).lstrip("\n")


def called(function: Function, *args: Any) -> Any:
    return load(emit(function, Scope(MODULE)), name=function.name, globals=dict(MODULE))(*args)


def test_a_while_loop_with_kept_values() -> None:
    pair = TupleOf((BOOL, FLOAT))
    kept_kind = ListOf(pair, opaque())
    b, x, y = Build(), user("x"), user("y")
    p_x, p_n, p_kept = user("x"), user("n", INT), Var("kept", kept_kind)
    head, trip = Build(), Build()
    more = head(LT, p_n, 12, kind=BOOL)
    shrink = trip(GT, p_x, y, hint="shrink", kind=BOOL)
    kept = trip(APPEND, p_kept, (shrink, p_x), hint="kept", kind=kept_kind)
    then, orelse = Build(), Build()
    x1, x2, x3 = then(MUL, p_x, 0.9, hint="x", users=True), orelse(MUL, p_x, y, hint="x", users=True), user("x")
    trip.add(If(shrink, then.end(Yield((x1,))), orelse.end(Yield((x2,))), (x3,)))
    n = trip(ADD, p_n, 1, hint="n", kind=INT, users=True)
    kept = trip(APPEND, kept, x3, hint="kept", kind=kept_kind)
    r_x, r_n, r_kept = user("x"), user("n", INT), Var("kept", kept_kind)
    first = b(DISPLAY, ListDisplay(()), kind=kept_kind)
    body = head.end(Branch(more, trip.end(Next((x3, n, kept))), Block((), Exit((p_x, p_n, p_kept)))))
    b.add(Loop((), (p_x, p_n, p_kept), (x, Const(0), first), body, (r_x, r_n, r_kept)))

    back = Build()
    q_kept, q_x, q_y = Var("kept", kept_kind), Var("x_bar", FLOAT), Var("y_bar", FLOAT)
    rest, x_after = back.several(POP, (Var("kept", kept_kind), Var("x", FLOAT)), q_kept)
    x_bar = back(ADD, q_x, back(MUL, 2, x_after), hint="x_bar")
    rest, both = back.several(POP, (Var("kept", kept_kind), Var("t", pair)), rest)
    shrank, x_before = back.several(Op("unpack", "unpack", pattern=(0, 1)), (Var("shrink", BOOL), Var("x", FLOAT)), both)
    then, orelse = Build(), Build()
    x_then = then(MUL, x_bar, 0.9, hint="x_bar")
    y_else = orelse(ADD, q_y, orelse(MUL, x_bar, x_before), hint="y_bar")
    x_else = orelse(MUL, x_bar, y, hint="x_bar")
    x_next, y_next = Var("x_bar", FLOAT), Var("y_bar", FLOAT)
    back.add(If(shrank, then.end(Yield((x_then, q_y))), orelse.end(Yield((x_else, y_else))), (x_next, y_next)))
    last = Var("kept", kept_kind), Var("x_bar", FLOAT), Var("y_bar", FLOAT)
    trips = Source(Var("i", INT), Range(Const(0), r_n))
    inits = (r_kept, Const(0.0), Const(0.0))
    b.add(Loop((trips,), (q_kept, q_x, q_y), inits, back.end(Next((rest, x_next, y_next))), last))
    function = b.function("loss_grad", [x, y], last[1:])
    assert_prints(
        function,
        """
        def loss_grad(x, y):
            n = 0
            kept = []
            while n < 12:
                shrink = x > y
                kept.append((shrink, x))
                if shrink:
                    x = x * 0.9
                else:
                    x = x * y
                n = n + 1
                kept.append(x)
            x_bar = 0.0
            y_bar = 0.0
            for _ in range(n):
                x_bar += 2 * kept.pop()
                shrink, x = kept.pop()
                if shrink:
                    x_bar *= 0.9
                else:
                    y_bar += x_bar * x
                    x_bar *= y
            return x_bar, y_bar
        """,
    )
    assert np.allclose(called(function, 1.7, 1.1), (19.5399549335455, 41.28961950720932))


def test_an_early_return_and_a_break() -> None:
    b, rest, a, x = Build(), Build(), user("a"), user("x")
    small = b(LE, a, 0, kind=BOOL)
    trip, p_x, p_kept = Build(), user("x"), Var("kept", FLOATS)
    kept = trip(APPEND, p_kept, p_x, hint="kept", kind=FLOATS)
    step = trip(DIV, trip(SUB, trip(MUL, p_x, p_x), a), trip(MUL, 2, p_x), hint="step", users=True)
    x1 = trip(SUB, p_x, step, hint="x", users=True)
    done = trip(LT, trip(ops.call_op(abs, "abs"), step), 1e-12, kind=BOOL)
    r_x, r_kept = user("x"), Var("kept", FLOATS)
    first = rest(DISPLAY, ListDisplay(()), kind=FLOATS)
    body = trip.end(Branch(done, Block((), Exit((x1, kept))), Block((), Next((x1, kept)))))
    rest.add(Loop((Source(Var("_", INT), Range(Const(0), Const(50))),), (p_x, p_kept), (x, first), body, (r_x, r_kept)))
    x_bar = rest(NEG, rest(ops.call_op(math.exp, "math.exp"), rest(NEG, r_x)), hint="x_bar")
    back, q_x, q_a, before = Build(), Var("x_bar", FLOAT), Var("a_bar", FLOAT), Var("x", FLOAT)
    a1 = back(ADD, q_a, back(DIV, q_x, back(MUL, 2, before)), hint="a_bar")
    slope = back(SUB, 0.5, back(DIV, a, back(MUL, back(MUL, 2, before), before)))
    x2 = back(MUL, q_x, slope, hint="x_bar")
    last = Var("x_bar", FLOAT), Var("a_bar", FLOAT)
    rest.add(Loop((Source(before, r_kept, True),), (q_x, q_a), (x_bar, Const(0.0)), back.end(Next((x2, a1))), last))
    result = Var("a_bar", FLOAT)
    b.add(If(small, Block((), Yield((Const(0.0),))), rest.end(Yield((last[1],))), (result,)))
    assert_prints(
        b.function("loss_grad", [a, x], result, 'Newton.\n\n    More "text".\n    '),
        '''
        def loss_grad(a, x):
            """Newton.

            More "text".
            """
            if a <= 0:
                return 0.0
            kept = []
            for _ in range(50):
                kept.append(x)
                step = (x * x - a) / (2 * x)
                x = x - step
                if abs(step) < 1e-12:
                    break
            x_bar = -math.exp(-x)
            a_bar = 0.0
            for x in reversed(kept):
                a_bar += x_bar / (2 * x)
                x_bar *= 0.5 - a / (2 * x * x)
            return a_bar
        ''',
    )


def inner_range(b: Build, u: Var) -> Range:
    return Range(Const(1), b(SUB, b(LEN, u, kind=INT), 1, kind=INT))


def test_a_sweep_in_place_that_restores_what_it_overwrote() -> None:
    b, u, c = Build(), user("u", VECTOR), user("c")
    u0 = b(ARRAY_COPY, u, hint="u", users=True, kind=VECTOR)
    trip, p_u, p_kept, i = Build(), user("u", VECTOR), Var("kept", FLOATS), user("i", INT)
    kept = trip(APPEND, p_kept, trip(ITEM, p_u, i, kind=SCALAR), hint="kept", kind=FLOATS)
    ahead, behind = trip(ADD, i, 1, kind=INT), trip(SUB, i, 1, kind=INT)
    slope = trip(SUB, trip(ITEM, p_u, ahead, kind=SCALAR), trip(ITEM, p_u, behind, kind=SCALAR), kind=SCALAR)
    moved = trip(MUL, trip(MUL, c, trip(ITEM, p_u, i, kind=SCALAR), kind=SCALAR), slope, kind=SCALAR)
    u1 = trip(
        INDEX_SET, p_u, i, trip(SUB, trip(ITEM, p_u, i, kind=SCALAR), moved, kind=SCALAR), hint="u", users=True, kind=VECTOR
    )
    r_u, r_kept = user("u", VECTOR), Var("kept", FLOATS)
    first = b(DISPLAY, ListDisplay(()), kind=FLOATS)
    b.add(Loop((Source(i, inner_range(b, u0)),), (p_u, p_kept), (u0, first), trip.end(Next((u1, kept))), (r_u, r_kept)))
    u_bar = b(MUL, 2, r_u, hint="u_bar", kind=VECTOR)

    line = reverse(5, "    u[i] = u[i] - c * u[i] * (u[i + 1] - u[i - 1])")
    back, q_u, q_kept, q_bar, q_c = Build(), user("u", VECTOR), Var("kept", FLOATS), Var("u_bar", VECTOR), Var("c_bar", FLOAT)
    i = user("i", INT)
    rest, old = back.several(POP, (Var("kept", FLOATS), Var("t", SCALAR)), q_kept, line=line)
    u1 = back(INDEX_SET, q_u, i, old, hint="u", kind=VECTOR, line=line)
    ahead, behind = back(ITEM, u1, back(ADD, i, 1, kind=INT), kind=SCALAR), back(ITEM, u1, back(SUB, i, 1, kind=INT), kind=SCALAR)
    slope = back(SUB, ahead, behind, kind=SCALAR, hint="slope", line=line)
    y_bar = back(ITEM, q_bar, i, kind=SCALAR, hint="y_bar", line=line)
    part = back(MUL, y_bar, back(SUB, 1, back(MUL, c, slope, kind=SCALAR), kind=SCALAR), kind=SCALAR)
    bar = back(INDEX_SET, q_bar, i, part, kind=VECTOR, hint="u_bar", line=line)
    product = back(MUL, back(MUL, y_bar, c, kind=SCALAR), back(ITEM, u1, i, kind=SCALAR), kind=SCALAR)
    slope_bar = back(NEG, product, kind=SCALAR, hint="slope_bar", line=line)
    bar = back(INDEX_ADD, bar, back(ADD, i, 1, kind=INT), slope_bar, kind=VECTOR, hint="u_bar", line=line)
    minus = back(NEG, slope_bar, kind=SCALAR)
    bar = back(INDEX_ADD, bar, back(SUB, i, 1, kind=INT), minus, kind=VECTOR, hint="u_bar", line=line)
    product = back(MUL, back(MUL, y_bar, back(ITEM, u1, i, kind=SCALAR), kind=SCALAR), slope, kind=SCALAR)
    c_bar = back(ADD, q_c, back(NEG, product, kind=SCALAR), kind=SCALAR, hint="c_bar", line=line)
    last = user("u", VECTOR), Var("kept", FLOATS), Var("u_bar", VECTOR), Var("c_bar", FLOAT)
    source = Source(i, inner_range(b, r_u), True)
    inits = (r_u, r_kept, u_bar, Const(0.0))
    b.add(Loop((source,), (q_u, q_kept, q_bar, q_c), inits, back.end(Next((u1, rest, bar, c_bar))), last))
    assert_prints(
        b.function("loss_grad", [u, c], last[2:]),
        """
        def loss_grad(u, c):
            u = u.copy()
            kept = []
            for i in range(1, len(u) - 1):
                kept.append(u[i])
                u[i] -= c * u[i] * (u[i + 1] - u[i - 1])
            u_bar = 2 * u
            c_bar = 0.0
            for i in reversed(range(1, len(u) - 1)):
                # line 5: u[i] = u[i] - c * u[i] * (u[i + 1] - u[i - 1])
                u[i] = kept.pop()
                slope = u[i + 1] - u[i - 1]
                y_bar = u_bar[i]
                u_bar[i] = y_bar * (1 - c * slope)
                slope_bar = -(y_bar * c * u[i])
                u_bar[i + 1] += slope_bar
                u_bar[i - 1] -= slope_bar
                c_bar -= y_bar * u[i] * slope
            return u_bar, c_bar
        """,
    )


COUNT = Range(Const(0), None)


@pytest.mark.parametrize(
    ("sources", "header"),
    [
        (lambda xs, n: (Source(user("i", INT), COUNT), Source(user("v"), xs)), "for i, v in enumerate(xs):"),
        (
            lambda xs, n: (Source(user("i", INT), Range(n, None)), Source(user("v"), xs), Source((user("h"), user("c")), xs)),
            "for i, (v, (h, c)) in enumerate(zip(xs, xs), n):",
        ),
        (
            lambda xs, n: (Source(user("v"), xs, True), Source(user("i", INT), Range(Const(0), n), True)),
            "for v, i in zip(reversed(xs), reversed(range(n))):",
        ),
        (
            lambda xs, n: (Source(user("v"), xs), Source(user("i", INT), Range(Const(0), None, Const(2)))),
            "for v, i in zip(xs, count(0, 2)):",
        ),
        (lambda xs, n: (Source(user("i", INT), Range(Const(1), n, Const(2))),), "for i in range(1, n, 2):"),
    ],
)
def test_headers(sources: Any, header: str) -> None:
    b, xs, n, trip, total, result = Build(), user("xs", FLOATS), user("n", INT), Build(), user("s"), user("s")
    found = sources(xs, n)
    value = total
    for source in found:
        for target in source.target if isinstance(source.target, tuple) else (source.target,):
            value = trip(ADD, value, target)
    b.add(Loop(found, (total,), (Const(0.0),), trip.end(Next((trip(COPY, value, hint="s", users=True),))), (result,)))
    assert header in emit(check(b.function("f", [xs, n], result)), Scope(MODULE)).source


def test_carried_values_that_change_places() -> None:
    b, x, y, p_x, p_y, trip = Build(), user("a"), user("b"), user("a"), user("b"), Build()
    total = trip(ADD, p_x, p_y)
    last = user("a"), user("b")
    b.add(Loop((Source(Var("i", INT), Range(Const(0), Const(5))),), (p_x, p_y), (y, x), trip.end(Next((p_y, total))), last))
    assert_prints(
        b.function("f", [x, y], last),
        """
        def f(a, b):
            a, b = b, a
            for _ in range(5):
                a, b = b, a + b
            return a, b
        """,
    )


def test_branches() -> None:
    b, x = Build(), user("x")
    low, one = b(LT, x, 0, kind=BOOL), b(EQ, x, 1.0, kind=BOOL)
    size, arm = Var("t", FLOAT), Build()
    b.add(If(low, arm.end(Yield((arm(NEG, x),))), Block((), Yield((x,))), (size,)))
    y = b(MUL, size, 2, hint="y", users=True)
    z, arm = user("z"), Build()
    b.add(If(one, arm.end(Yield((arm(ADD, y, 1, hint="z", users=True),))), Block((), Yield((Const(UNBOUND),))), (z,)))
    again, arm = user("y"), Build()
    b.add(If(b(LT, z, 0, kind=BOOL), Block((), Yield((y,))), arm.end(Yield((arm(MUL, y, z, hint="y", users=True),))), (again,)))
    assert_prints(
        b.function("f", [x], again),
        """
        def f(x):
            y = (-x if x < 0 else x) * 2
            if x == 1.0:
                z = y + 1
            if not z < 0:
                y = y * z
            return y
        """,
    )


def test_names_of_users_and_of_modules() -> None:
    b, x = Build(), user("x", VECTOR)
    users = b(MUL, x, 2, hint="x_bar", users=True, kind=VECTOR)
    ours = b(MUL, users, users, hint="x_bar", kind=VECTOR)
    second = b(MUL, users, ours, hint="x_bar", kind=VECTOR)
    gamma = b(ops.call_op(scipy.special.gammaln, "gammaln"), second, kind=VECTOR)
    part = b(ITEM, x, (SliceOf(Const(None), Const(-1), Const(None)), Const(None), Const(...)), kind=VECTOR)
    q = b(ops.call_op(np.linalg.solve, "np.linalg.solve"), gamma, part, kind=VECTOR, hint="q")
    text = b(Op("format", "format", pattern=(None, (-1, ".3f"))), "x=", q, kind=Opaque("str"))
    b.stmts.append(Apply((), ops.call_op(print, "print", True), (text,)))
    assert_prints(
        b.function("f", [x], (DictDisplay(("W1", "b1"), (ours, q)), (second, ListDisplay((q, x))))),
        """
        def f(x):
            x_bar = x * 2
            x_bar_1 = x_bar * x_bar
            x_bar_2 = x_bar * x_bar_1
            q = np.linalg.solve(gammaln(x_bar_2), x[:-1, None, ...])
            print(f"x={q:.3f}")
            return {"W1": x_bar_1, "b1": q}, (x_bar_2, [q.copy(), x.copy()])
        """,
    )


def test_long_lines_are_wrapped() -> None:
    b, x = Build(), user("x", VECTOR)
    total = ops.call_op(np.max, "np.max")
    items = tuple(b(MUL, b(ADD, x, float(i), kind=VECTOR), b(total, x, axis=0, keepdims=True), kind=VECTOR) for i in range(3))
    assert_prints(
        b.function("f", [x], DictDisplay(("a", "b", "c"), items)),
        """
        def f(x):
            return {
                "a": (x + 0.0) * np.max(x, axis=0, keepdims=True),
                "b": (x + 1.0) * np.max(x, axis=0, keepdims=True),
                "c": (x + 2.0) * np.max(x, axis=0, keepdims=True),
            }
        """,
    )
