"""Shapes are read from what is there anyway."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from srcdiff.ir.check import check
from srcdiff.ir.kinds import FLOAT, INT, Array, Dim, ListOf, Number, Opaque, opaque
from srcdiff.ir.nodes import UNBOUND, Block, Const, Function, If, Loop, Next, Op, Origin, Range, Source, Var, Yield
from srcdiff.ir.ops import ADD, INDEX_SET, ITEM, LEN, LT, MUL, NEG, POW, SHAPE, SIZE, SUB, call_op
from srcdiff.ir.text import show
from srcdiff.passes.dead_code import drop_dead_code
from srcdiff.passes.shapes import read_shapes_elsewhere
from tests.support.build import Build, user
from tests.support.interpreter import run

N, M = Dim("x.shape[0]", 4), Dim("X.shape[1]", 3)
ROW, MATRIX, FLOAT32 = Array("float64", (N,)), Array("float64", (N, M)), Array("float32", (N,))
LINE = Origin("model.py", 3, "return np.mean(d ** 2)", 4)
ZEROS_LIKE, FULL_LIKE = call_op(np.zeros_like, "np.zeros_like"), call_op(np.full_like, "np.full_like")
BROADCAST_TO = call_op(np.broadcast_to, "np.broadcast_to")
COLUMN_SUM = call_op(np.sum, "np.sum")


def after(function: Function) -> list[str]:
    program = drop_dead_code(check(read_shapes_elsewhere(check(function))))
    return [line[4:] for line in show(check(program)).splitlines()[1:]]


def same(function: Function, *args: Any) -> None:
    after = drop_dead_code(read_shapes_elsewhere(function))
    got, want = run(after, list(args)), run(function, list(args))
    assert np.array_equal(got, want)
    assert np.asarray(got).dtype == np.asarray(want).dtype


def test_a_size_comes_from_a_value_that_is_computed_anyway() -> None:
    b, x, y = Build(), user("x", ROW), user("y", ROW)
    d = b(SUB, x, y, hint="d", kind=ROW, line=LINE)
    power = b(POW, d, 2, hint="power", kind=ROW, line=LINE)
    size = b(SIZE, power, hint="size", kind=INT)
    twice = b(MUL, d, d, kind=ROW)
    program = b.function("f", [x, y], b(MUL, size, twice, kind=ROW))
    assert after(program) == ["d = sub(x, y)", "size = size(d)", "t = mul(d, d)", "t_1 = mul(size, t)", "return t_1"]
    same(program, np.arange(4.0), np.ones(4))


def test_a_temporary_that_is_read_once_needs_no_name_for_its_size() -> None:
    b, x, y = Build(), user("x", ROW), user("y", ROW)
    d = b(SUB, x, y, hint="d", kind=ROW, users=True, line=LINE)
    power = b(POW, d, 2, hint="power", kind=ROW, line=LINE)
    total = b(COLUMN_SUM, power, hint="total", line=LINE)
    size = b(SIZE, power, hint="size", kind=INT)
    assert "size = size(d)" in after(b.function("f", [x, y], (total, size, d)))


def test_parameters_give_lengths_that_no_value_has() -> None:
    b, X = Build(), user("X", Array("float64", (Dim("X.shape[0]", 4), M)))
    row_sums = b(COLUMN_SUM, X, hint="sums", kind=Array("float64", (Dim("X.shape[0]", 4),)), line=LINE, axis=1)
    size = b(SIZE, row_sums, hint="size", kind=INT)
    program = b.function("f", [X], size)
    assert after(program) == ["shape = shape(X)", "X_0 = item(shape, 0)", "return X_0"] or after(program)[1].endswith(
        "item(shape, 0)"
    )
    same(program, np.ones((4, 3)))


def test_a_length_is_computed_from_its_expression() -> None:
    b, x = Build(), user("x", ROW)
    inner = Dim("x.shape[0] - 2", 2)
    middle = b(NEG, x, hint="middle", kind=Array("float64", (inner,)), line=LINE)
    program = b.function("f", [x], b(SIZE, middle, hint="size", kind=INT))
    assert after(program)[-2:] == ["difference = sub(shape_0, 2)", "return difference"]


def test_a_length_inside_a_container() -> None:
    b, params = Build(), user("params", Opaque("dict"))
    v = b(NEG, 1.0, hint="v", kind=Array("float64", (Dim("params['W'].shape[1] * 2", 6),)), line=LINE)
    program = b.function("f", [params], b(SIZE, v, hint="size", kind=INT))
    assert run(drop_dead_code(read_shapes_elsewhere(program)), [{"W": np.ones((2, 3))}]) == 6


def test_a_constant_length_is_a_number() -> None:
    b, x = Build(), user("x", ROW)
    v = b(NEG, x, hint="v", kind=Array("float64", (3, 5)), line=LINE)
    shape = b(SHAPE, v, hint="shape", kind=Opaque("shape"))
    assert after(b.function("f", [x], (b(SIZE, v, kind=INT), b(ITEM, shape, 1, kind=INT)))) == ["return (15, 5)"]


def test_an_int_argument_is_its_own_length() -> None:
    b, n = Build(), user("n", Number("int", Dim("n", 7)))
    v = b(MUL, n, 1.0, hint="v", kind=Array("float64", (Dim("n", 7),)), line=LINE)
    assert after(b.function("f", [n], b(LEN, v, kind=INT))) == ["return n"]


def test_zeros_like_needs_the_same_dtype() -> None:
    b, x, f = Build(), user("x", ROW), user("f", FLOAT32)
    v = b(MUL, f, f, hint="v", kind=FLOAT32, line=LINE)
    program = b.function("f", [x, f], b(ZEROS_LIKE, v, hint="z", kind=FLOAT32))
    assert after(program) == ["z = np.zeros_like(f)", "return z"]
    b = Build()
    v = b(MUL, x, x, hint="v", kind=FLOAT32, line=LINE)
    program = b.function("f", [x], b(ZEROS_LIKE, v, hint="z", kind=FLOAT32))
    assert after(program) == ["shape = shape(x)", "z = np.zeros(shape, dtype=ref np.float32)", "return z"]
    got = run(read_shapes_elsewhere(program), [np.ones(4)])
    assert got.dtype == np.float32 and got.shape == (4,)


def test_arrays_are_made_from_their_lengths() -> None:
    b, x, X = Build(), user("x", ROW), user("X", Array("float64", (Dim("X.shape[0]", 2), M)))
    product = b(MUL, x, X, hint="p", kind=MATRIX, line=LINE)
    program = b.function("f", [x, X], b(FULL_LIKE, product, 0.5, hint="z", kind=MATRIX))
    assert after(program)[-2] == "z = np.full((shape_0, shape_1), 0.5)"
    got = run(drop_dead_code(read_shapes_elsewhere(program)), [np.ones(4), np.ones((4, 3))])
    assert got.shape == (4, 3) and (got == 0.5).all()


def test_a_shape_that_is_passed_on_is_a_tuple() -> None:
    b, x, X = Build(), user("x", ROW), user("X", Array("float64", (Dim("X.shape[0]", 2), M)))
    product = b(MUL, x, X, hint="p", kind=MATRIX, line=LINE)
    shape = b(SHAPE, product, hint="shape", kind=Opaque("shape"))
    program = b.function("f", [x, X], b(BROADCAST_TO, 1.0, shape, hint="z", kind=MATRIX))
    assert after(program)[-2] == "z = np.broadcast_to(1.0, (shape_0, shape_1))"


def test_lengths_that_only_the_run_knows_stay_with_their_value() -> None:
    b, x = Build(), user("x", ROW)
    v = b(NEG, x, hint="v", kind=Array("float64", (opaque(),)), line=LINE)
    assert after(b.function("f", [x], b(SIZE, v, hint="size", kind=INT))) == ["v = neg(x)", "size = size(v)", "return size"]


def test_lengths_that_only_the_run_knows_are_one_number_in_straight_line_code() -> None:
    b, x, k = Build(), user("x", ROW), Array("float64", (opaque(),))
    v = b(NEG, x, hint="v", kind=k, users=True, line=LINE)
    w = b(MUL, v, v, hint="w", kind=k, line=LINE)
    assert "size = size(v)" in after(b.function("f", [x], (v, b(SIZE, w, hint="size", kind=INT))))


def test_lengths_that_only_the_run_knows_are_not_trusted_across_trips() -> None:
    k = Array("float64", (opaque(),))
    b, x, trip = Build(), user("x", k), Build()
    param, result = user("y", k), user("y", k)
    shorter = trip(ITEM, param, 0, hint="y", kind=k)
    doubled = trip(MUL, param, 2, hint="doubled", kind=k, line=LINE)
    size = trip(SIZE, doubled, hint="size", kind=INT)
    n, n_out = user("n", INT), user("n", INT)
    body = trip.end(Next((shorter, size)))
    b.add(Loop((Source(Var("i", INT), Range(Const(0), Const(2))),), (param, n), (x, Const(0)), body, (result, n_out)))
    assert any("size(doubled)" in line for line in after(b.function("f", [x], (n_out, result))))


def test_the_users_own_reads_stay() -> None:
    b, x = Build(), user("x", ROW)
    v = b(NEG, x, hint="v", kind=ROW, line=LINE)
    assert after(b.function("f", [x], b(SIZE, v, hint="size", kind=INT, line=LINE))) == [
        "v = neg(x)",
        "size = size(v)",
        "return size",
    ]


def test_what_may_be_unbound_is_not_read() -> None:
    b, x, then = Build(), user("x", ROW), Build()
    maybe, v = user("maybe", Array("float64", (M,))), None
    c = b(LT, 0.0, 1.0, hint="c")
    made = then(NEG, x, hint="made", kind=Array("float64", (M,)), line=LINE)
    b.add(If(c, then.end(Yield((made,))), Block((), Yield((Const(UNBOUND),))), (maybe,)))
    v = b(NEG, x, hint="v", kind=Array("float64", (M,)), line=LINE)
    size = b(SIZE, v, hint="size", kind=INT)
    lines = after(b.function("f", [x], (size, maybe)))
    assert "size = size(v)" in lines


def test_values_of_an_arm_are_not_read_outside() -> None:
    b, x, then = Build(), user("x", FLOAT), Build()
    kind = Array("float64", (opaque(),))
    inside = then(NEG, x, hint="inside", kind=kind, users=True, line=LINE)
    used = then(ADD, inside, inside, hint="used", line=LINE)
    out = user("out")
    b.add(If(b(LT, x, 1.0), then.end(Yield((used,))), Block((), Yield((x,))), (out,)))
    v = b(NEG, x, hint="v", kind=kind, line=LINE)
    assert "size = size(v)" in after(b.function("f", [x], (out, b(SIZE, v, hint="size", kind=INT))))


def test_a_version_is_not_kept_for_its_shape() -> None:
    b, x = Build(), user("x", FLOAT)
    kind = Array("float64", (opaque(),))
    u = b(NEG, x, hint="u", kind=kind, users=True, line=LINE)
    stored = b(INDEX_SET, u, 0, 1.0, hint="u", kind=kind, users=True, line=LINE)
    assert "size = size(u_1)" in after(b.function("f", [x], (stored, b(SIZE, u, hint="size", kind=INT))))


def test_the_length_of_a_list_is_read_elsewhere() -> None:
    b, x = Build(), user("x", ROW)
    held = b(Op("list", "call", "list", list), x, hint="held", kind=ListOf(FLOAT, N), line=LINE)
    assert after(b.function("f", [x], b(LEN, held, kind=INT)))[-1] == "return shape_0"


@pytest.mark.parametrize(
    "text", ["len(range(*slice(1, None).indices(x.shape[0])))", "y.shape[0]", "x.shape", "(x.shape[0]", "f.g"]
)
def test_other_expressions_keep_the_value(text: str) -> None:
    b, x = Build(), user("x", ROW)
    v = b(NEG, x, hint="v", kind=Array("float64", (Dim(text, 3),)), line=LINE)
    assert after(b.function("f", [x], b(SIZE, v, hint="size", kind=INT)))[0] == "v = neg(x)"
