"""What a careful person would have written: the source of small functions of the user's, and of programs built by hand."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import srcdiff
from srcdiff.emit.load import load
from srcdiff.emit.python import Emitted, Scope, emit
from srcdiff.ir import ops
from srcdiff.ir.check import check
from srcdiff.ir.kinds import BOOL, FLOAT, INT, Array, ListOf, Opaque, opaque
from srcdiff.ir.nodes import (
    Block,
    Branch,
    Const,
    Exit,
    Free,
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
from srcdiff.ir.ops import ADD, APPEND, DISPLAY, DIV, INDEX_ADD, INDEX_SET, ITEM, LT, MATMUL, MUL, NEG, POW, SIZE, SUB
from tests.support.build import Build, reverse, user

VECTOR = Array("float64", (opaque(is_many=True),))
MATRIX = Array("float64", (opaque(is_many=True), opaque(is_many=True)))
LAYERS = Opaque("list")
TRANSPOSE, SUM = ops.TRANSPOSE, ops.call_op(np.sum, "np.sum")


def assert_prints(function: Function, text: str, module: dict[str, Any] | None = None) -> Emitted:
    emitted = emit(check(function), Scope({"np": np} if module is None else module))
    assert emitted.source == dedent(text).lstrip("\n")
    return emitted


def test_powers() -> None:
    b, x = Build(), user("x", VECTOR)
    square = b(POW, x, 2, kind=VECTOR)
    ratio = b(DIV, b(SIZE, square, kind=INT), b(POW, 2, b(NEG, x, kind=VECTOR), kind=VECTOR), kind=VECTOR)
    assert_prints(b.function("f", [x], ratio), "def f(x):\n    return (x**2).size / 2 ** -x\n")


def test_a_module_that_the_user_reads_is_the_module() -> None:
    b, x = Build(), user("x")
    y = b(MUL, b(ops.call_op(np.sin, "np.sin"), x), Free("np.pi", FLOAT))
    function = b.function("f", [x], y)
    assert_prints(function, "def f(x):\n    return np.sin(x) * np.pi\n")
    assert_prints(function, "def f(x):\n    return np_1.sin(x) * np.pi\n", {"np": 3})


def test_functions_of_srcdiff_go_by_their_own_name() -> None:
    from srcdiff.runtime import unbroadcast

    b, x = Build(), user("x", VECTOR)
    y = b(ops.call_op(unbroadcast, "unbroadcast"), x, x)
    assert_prints(b.function("f", [x], y), "def f(x):\n    return unbroadcast(x, x)\n", {"srcdiff": srcdiff})


# ------------------------------------------------------------ names


def layers(b: Build, params: Var, count: int) -> list[tuple[Var, Var]]:
    pattern = tuple((2 * i, 2 * i + 1) for i in range(count))
    found = b.several(Op("unpack", "unpack", pattern=pattern), tuple(user(h, MATRIX) for h in "Wb" * count), params)
    return list(zip(found[::2], found[1::2]))


def test_adjoints_of_different_values_have_different_names_and_fold_into_what_is_returned() -> None:
    b, params, x = Build(), user("layers", LAYERS), user("x", MATRIX)
    (W0, b0), (W1, b1) = layers(b, params, 2)
    total = b(ADD, b(MATMUL, x, W0, kind=MATRIX), b0, hint="total", kind=MATRIX)
    h = b(ops.call_op(np.tanh, "np.tanh"), total, hint="h", kind=MATRIX, users=True)
    bar = b(SUB, b(MATMUL, h, W1, kind=MATRIX), b1, hint="total_bar", kind=MATRIX)
    second = (
        b(MATMUL, b(TRANSPOSE, h, kind=MATRIX), bar, hint="W_bar", kind=MATRIX),
        b(SUM, bar, hint="b_bar", kind=MATRIX, axis=0),
    )
    bar = b(MATMUL, bar, b(TRANSPOSE, W1, kind=MATRIX), hint="total_bar", kind=MATRIX)
    first = (
        b(MATMUL, b(TRANSPOSE, x, kind=MATRIX), bar, hint="W_bar", kind=MATRIX),
        b(SUM, bar, hint="b_bar", kind=MATRIX, axis=0),
    )
    assert_prints(
        b.function("f", [params, x], ListDisplay((first, second))),
        """
        def f(layers, x):
            (W0, b0), (W1, b1) = layers
            h = np.tanh(x @ W0 + b0)
            total_bar = h @ W1 - b1
            total_bar_1 = total_bar @ W1.T
            return [(x.T @ total_bar_1, total_bar_1.sum(axis=0)), (h.T @ total_bar, total_bar.sum(axis=0))]
        """,
    )


def test_what_is_kept_and_taken_back_has_its_name_again() -> None:
    kind = ListOf(Opaque("tuple"), opaque())
    b, x = Build(), user("x")
    first = b(MUL, x, x, hint="product")
    start = b(DISPLAY, ListDisplay(()), hint="kept", kind=kind)
    trip, p_x, p_kept = Build(), user("x"), Var("kept", kind)
    product = trip(MUL, p_x, first, hint="product")
    ratio = trip(DIV, product, 3, hint="ratio")
    kept = trip(APPEND, p_kept, (ratio, product, p_x), hint="kept", kind=kind)
    x1 = trip(ADD, product, ratio, hint="x", users=True)
    last = user("x"), Var("kept", kind)
    three = Range(Const(0), Const(3))
    b.add(Loop((Source(Var("_", INT), three),), (p_x, p_kept), (x, start), trip.end(Next((x1, kept))), last))
    back, bar, end = Build(), Var("x_bar", FLOAT), Var("x_bar", FLOAT)
    old = Var("ratio", FLOAT), Var("product", FLOAT), user("x")
    ours = back(MUL, old[0], bar, hint="product")
    new = back(ADD, back(MUL, ours, ours), back(MUL, old[1], back(MUL, old[2], ours)), hint="x_bar")
    b.add(Loop((Source(old, last[1], True),), (bar,), (Const(1.0),), back.end(Next((new,))), (end,)))
    assert_prints(
        b.function("f", [x], (last[0], end, first)),
        """
        def f(x):
            product = x * x
            kept = []
            for _ in range(3):
                product_1 = x * product
                ratio = product_1 / 3
                kept.append((ratio, product_1, x))
                x = product_1 + ratio
            x_bar = 1.0
            for ratio, product_1, x_1 in reversed(kept):
                product_2 = ratio * x_bar
                x_bar = product_2 * product_2 + product_1 * x_1 * product_2
            return x, x_bar, product
        """,
    )


def test_a_parameter_passes_its_name_on_even_where_its_module_is_scanned() -> None:
    b, x, trip, p, last = Build(), user("x"), Build(), user("x"), user("x")
    trips = Source(Var("_", INT), Range(Const(0), Const(3)))
    b.add(Loop((trips,), (p,), (x,), trip.end(Next((trip(MUL, p, p, hint="x", users=True),))), (last,)))
    function = b.function("f", [x], last)
    emitted = emit(check(function), Scope({"np": np}, frozenset(["x"])))
    assert emitted.source == "def f(x):\n    for _ in range(3):\n        x = x * x\n    return x\n"


# ------------------------------------------------------------ expressions


def test_transposes_and_shapes_are_read_where_they_are_used() -> None:
    b, W, x, trip, p, last = Build(), user("W", MATRIX), user("x", VECTOR), Build(), user("h", VECTOR), user("h", VECTOR)
    length = b(ITEM, b(ops.SHAPE, W, kind=Opaque("tuple")), 0, hint="shape_0", kind=INT)
    start = b(ops.call_op(np.zeros, "np.zeros"), length, hint="h", kind=VECTOR, users=True)
    W_T = b(TRANSPOSE, W, hint="W_T", kind=MATRIX)
    new = trip(ADD, trip(MATMUL, W_T, p, kind=VECTOR), trip(MATMUL, W_T, x, kind=VECTOR), hint="h", kind=VECTOR, users=True)
    b.add(Loop((Source(Var("_", INT), Range(Const(0), length)),), (p,), (start,), trip.end(Next((new,))), (last,)))
    assert_prints(
        b.function("f", [W, x], last),
        """
        def f(W, x):
            h = np.zeros(W.shape[0])
            for _ in range(W.shape[0]):
                h = W.T @ h + W.T @ x
            return h
        """,
    )


def test_a_shape_is_not_read_again_where_that_would_keep_memory_alive() -> None:
    b, x = Build(), user("x", VECTOR)
    made = b(MUL, x, 2, hint="made", kind=VECTOR)
    size = b(SIZE, made, hint="size", kind=INT)
    changed = b(INDEX_SET, made, 0, size, hint="made", kind=VECTOR)
    assert_prints(
        b.function("f", [x], (changed, b(MUL, size, size, kind=INT))),
        """
        def f(x):
            made = x * 2
            size = made.size
            made[0] = size
            return made, size * size
        """,
    )


def test_the_test_of_a_while_loop_is_in_its_header() -> None:
    b, x, trip, p, last = Build(), user("x"), Build(), user("x"), user("x")
    head = Build()
    square = head(MUL, p, p, hint="square")
    more = head(LT, square, 9, kind=BOOL)
    new = trip(ADD, square, p, hint="x", users=True)
    body = head.end(Branch(more, trip.end(Next((new,))), Block((), Exit((p,)))))
    b.add(Loop((), (p,), (x,), body, (last,)))
    assert_prints(
        b.function("f", [x], last),
        """
        def f(x):
            while x * x < 9:
                x = x * x + x
            return x
        """,
    )


def test_sums_of_numbers_merge_and_sums_of_arrays_do_not() -> None:
    b, x, y, v = Build(), user("x"), user("y"), user("v", VECTOR)
    x_bar, y_bar = b(MUL, x, y, hint="x_bar"), b(MUL, y, y, hint="y_bar")
    v_bar = b(MUL, v, 2, hint="v_bar", kind=VECTOR)
    x_bar = b(SUB, x_bar, b(MUL, 2, b(MUL, x, y)), hint="x_bar")
    y_bar = b(ADD, y_bar, x, hint="y_bar")
    x_bar = b(ADD, x_bar, b(MUL, x, x), hint="x_bar")
    for power in (3, 4):
        v_bar = b(ADD, v_bar, b(POW, v, power, kind=VECTOR), hint="v_bar", kind=VECTOR)
    assert_prints(
        b.function("f", [x, y, v], (b(MUL, x_bar, x_bar), b(MUL, y_bar, y_bar), v_bar)),
        """
        def f(x, y, v):
            x_bar = x * y
            y_bar = y * y
            v_bar = v * 2
            y_bar += x
            x_bar -= 2 * x * y - x * x
            v_bar += v**3
            v_bar += v**4
            return x_bar * x_bar, y_bar * y_bar, v_bar
        """,
    )


def test_sums_that_take_from_a_list_keep_their_order() -> None:
    numbers = ListOf(FLOAT, opaque())
    b, x = Build(), user("x")
    kept = b(DISPLAY, ListDisplay((x, b(NEG, x), Const(2.0))), hint="kept", kind=numbers)
    x_bar, y_bar = b(MUL, x, x, hint="x_bar"), b(MUL, x, 3, hint="y_bar")
    b(ops.call_op(print, "print", True), y_bar, x_bar, kind=Opaque("NoneType"))
    rest, last = b.several(ops.POP, (Var("kept", numbers), Var("t", FLOAT)), kept)
    x_bar = b(ADD, x_bar, last, hint="x_bar")
    rest, last = b.several(ops.POP, (Var("kept", numbers), Var("t", FLOAT)), rest)
    y_bar = b(ADD, y_bar, last, hint="y_bar")
    x_bar = b(SUB, x_bar, x, hint="x_bar")
    assert_prints(
        b.function("f", [x], (b(MUL, x_bar, x_bar), b(MUL, y_bar, y_bar))),
        """
        def f(x):
            kept = [x, -x, 2.0]
            x_bar = x * x
            y_bar = x * 3
            print(y_bar, x_bar)
            x_bar += kept.pop()
            y_bar += kept.pop()
            x_bar -= x
            return x_bar * x_bar, y_bar * y_bar
        """,
    )


def test_a_sum_that_nobody_reads_between_is_one_expression() -> None:
    b, x, y = Build(), user("x"), user("y")
    begun = b(MUL, x, y, hint="x_bar")
    added = b(ADD, begun, b(MUL, y, 2), hint="x_bar")
    assert_prints(
        b.function("f", [x, y], b(MUL, added, added)),
        """
        def f(x, y):
            x_bar = x * y + y * 2
            return x_bar * x_bar
        """,
    )


def test_numbers_stand_in_front_of_products() -> None:
    mask = Array("bool", VECTOR.dims)
    b, x, y, m = Build(), user("x"), user("y", VECTOR), user("m", mask)
    flat = b(MUL, 2, b(DIV, b(MUL, x, y, kind=VECTOR), x, kind=VECTOR), kind=VECTOR)
    single = b(MUL, 0.5, b(MUL, m, y, kind=VECTOR), kind=VECTOR)
    assert_prints(
        b.function("f", [x, y, m], (flat, single)),
        "def f(x, y, m):\n    return 2 * x * y / x, 0.5 * (m * y)\n",  # `0.5 * m` would be in double precision
    )


# ------------------------------------------------------------ memory


def test_a_number_goes_to_the_smaller_factor() -> None:
    def spread(x: Any) -> Any:
        return np.sum(np.mean(x**2, axis=1, keepdims=True) ** 2)

    source = srcdiff.grad(spread).source_for(np.ones((3, 4)))
    assert "return 4 / x.shape[1] * np.mean(x**2, axis=1, keepdims=True) * x" in source


def test_a_scalar_that_two_terms_share_stands_in_front_of_their_sum() -> None:
    def cross_entropy(p: Any, y: Any) -> Any:
        return np.mean(np.exp(p) - y * p)

    source = srcdiff.grad(cross_entropy).source_for(np.ones(3), np.ones(3))
    assert "return 1 / p.size * (np.exp(p) - y)" in source


def test_a_record_of_numbers_holds_the_entries_too() -> None:
    def chain(x: Any) -> Any:
        total = 0.0
        for i in range(len(x) - 1):
            total += (x[i + 1] - x[i] ** 2) ** 2
        return total

    source = srcdiff.grad(chain).source_for(np.linspace(0.5, 1.5, 12))
    assert "kept.append((x[i + 1] - x_item**2, x_item))" in source


def test_adjoints_that_go_through_one_expression_share_its_quotient() -> None:
    def growth(y: float, r: float, k: float) -> float:
        for _ in range(9):
            half = r * (1.0 - y / k)
            y = half * (r * (1.0 - half / k))
        return y

    source = srcdiff.grad(growth).source_for(0.5, 0.8, 5.0)
    assert source.count("r / k") == 1


def test_what_makes_arrays_does_not_move_past_a_loop() -> None:
    def rows(w: Any, x: Any) -> Any:
        h = x @ w
        for i in range(len(x)):
            h = h * x[i, 0]
        return np.sum(h @ w)

    source = srcdiff.value_and_grad(rows).source_for(np.ones((2, 2)), np.ones((12, 2)))
    value, before, loop = (source.index(text) for text in ("value = np.sum(h @ w)", "w_bar = ", "for i in reversed("))
    assert value < before < loop


def test_a_read_stays_before_the_write_that_ends_it() -> None:
    b, x = Build(), user("x", VECTOR)
    made = b(MUL, x, 2, hint="made", kind=VECTOR)
    first = b(ITEM, made, 0, hint="first", kind=Array("float64", ()))
    changed = b(INDEX_SET, made, 0, 5.0, hint="made", kind=VECTOR)
    assert_prints(
        b.function(
            "f", [x], (changed, b(MUL, first, first, kind=Array("float64", ())), b(NEG, first, kind=Array("float64", ())))
        ),
        """
        def f(x):
            made = x * 2
            first = made[0]
            made[0] = 5.0
            return made, first * first, -first
        """,
    )
    b = Build()
    made = b(MUL, x, 2, hint="made", kind=VECTOR)
    first = b(ITEM, made, 0, hint="first", kind=Array("float64", ()))
    changed = b(INDEX_SET, made, 0, 5.0, hint="made", kind=VECTOR)
    assert "first = made[0]\n    made[0] = 5.0" in emit(check(b.function("f", [x], (changed, first))), Scope({"np": np})).source


@pytest.mark.parametrize(
    ("op", "index", "is_copied"),
    [
        (INDEX_ADD, SliceOf(Const(1), Const(None), Const(None)), False),  # NumPy minds the overlap
        (INDEX_ADD, ListDisplay((Const(0), Const(1))), True),
        (ops.SCATTER_ADD, ListDisplay((Const(0), Const(0))), True),
    ],
)
def test_what_is_written_is_apart_from_what_is_read_there(op: Op, index: Any, is_copied: bool) -> None:
    b, x = Build(), user("x", VECTOR)
    made = b(MUL, x, 2, hint="made", kind=VECTOR)
    view = b(ITEM, made, SliceOf(Const(None), Const(2), Const(None)), hint="view", kind=VECTOR)
    changed = b(op, made, index, view, hint="made", kind=VECTOR)
    function = check(b.function("f", [x], changed))
    emitted = emit(function, Scope({"np": np}))
    assert (".copy()" in emitted.source) is is_copied
    x_0 = np.array([1.0, 2.0, 5.0])
    expected = 2 * x_0
    np.add.at(expected, [1, 2] if not is_copied else index_list(index), 2 * x_0[:2])
    assert np.array_equal(load(emitted, name="f", globals={"np": np})(x_0), expected)


def index_list(index: ListDisplay) -> list[Any]:
    return [item.value for item in index.items if isinstance(item, Const)]


def test_a_list_of_each_trip_is_apart_from_those_that_an_outer_list_holds() -> None:
    numbers, lists = ListOf(FLOAT, opaque()), ListOf(ListOf(FLOAT, opaque()), opaque())
    b, x, outer, inner = Build(), user("x"), Build(), Build()
    start = b(DISPLAY, ListDisplay(()), hint="rows", kind=lists)
    p_rows, p_row, r_row, r_rows = Var("rows", lists), Var("row", numbers), Var("row", numbers), Var("rows", lists)
    first = outer(DISPLAY, ListDisplay(()), hint="row", kind=numbers)
    grown = inner(APPEND, p_row, x, hint="row", kind=numbers)
    three = Range(Const(0), Const(3))
    outer.add(Loop((Source(Var("_", INT), three),), (p_row,), (first,), inner.end(Next((grown,))), (r_row,)))
    rows = outer(APPEND, p_rows, r_row, hint="rows", kind=lists)
    b.add(Loop((Source(Var("_", INT), three),), (p_rows,), (start,), outer.end(Next((rows,))), (r_rows,)))
    assert_prints(
        b.function("f", [x], r_rows),
        """
        def f(x):
            rows = []
            for _ in range(3):
                row = []
                for _ in range(3):
                    row.append(x)
                rows.append(row)
            return rows
        """,
    )


# ------------------------------------------------------------ comments and origins


def branching() -> tuple[Function, list[str]]:
    texts = ["    for i in range(n):", "        x = x * x if c else x"]
    b, x, bar, new = Build(), user("x"), Var("x_bar", FLOAT), Var("x_bar", FLOAT)
    trip, then, orelse = Build(), Build(), Build()
    c = trip(LT, bar, x, kind=BOOL, line=reverse(3, texts[1]))
    doubled = then(MUL, 2, bar, hint="x_bar", line=reverse(3, texts[1]))
    plain = orelse(ADD, orelse(MUL, x, bar), 3.0, hint="x_bar", line=reverse(2, texts[0]))
    joined = Var("x_bar", FLOAT)
    trip.add(If(c, then.end(Yield((doubled,))), orelse.end(Yield((plain,))), (joined,), reverse(3, texts[1])))
    trips = Source(Var("_", INT), Range(Const(0), Const(3)))
    b.add(Loop((trips,), (bar,), (Const(1.0),), trip.end(Next((joined,))), (new,), reverse(2, texts[0])))
    return b.function("f", [x], b(NEG, new, line=reverse(4, "return x"))), texts


def test_a_line_is_named_once_at_the_outermost_statement() -> None:
    function, _ = branching()
    assert_prints(
        function,
        """
        def f(x):
            # line 2: for i in range(n):
            x_bar = 1.0
            for _ in range(3):
                # line 3: x = x * x if c else x
                if x_bar < x:
                    x_bar *= 2
                else:
                    # line 2: for i in range(n):
                    x_bar = x * x_bar + 3.0
            return -x_bar
        """,
    )


def test_each_line_knows_the_users_line() -> None:
    function, _ = branching()
    emitted = emit(function, Scope({"np": np}))
    found = [emitted.origin_of(number) for number in range(1, len(emitted.source.splitlines()) + 1)]
    assert [origin and origin.line for origin in found] == [None, None, 2, 2, 2, 3, 3, 3, 3, 2, 4]
    plain = emit(function, Scope({"np": np}), comments=False)
    assert [(o := plain.origin_of(n)) and o.line for n in range(2, 9)] == [2, 2, 3, 3, 3, 2, 4]


def test_an_error_in_a_wrapped_line_names_the_users_line() -> None:
    def loss(x: Any, long_name_of_a_matrix: Any) -> Any:
        y = np.linalg.solve(long_name_of_a_matrix @ long_name_of_a_matrix.T, np.exp(x) + long_name_of_a_matrix @ np.sin(x))
        return np.sum(y)

    gradient = srcdiff.grad(loss)
    gradient(np.ones(3), np.eye(3))
    with pytest.raises(np.linalg.LinAlgError) as caught:
        gradient(np.ones(3), np.zeros((3, 3)))
    assert "y = np.linalg.solve(" in caught.value.__notes__[0]


def test_formatted_strings(capsys):
    def f(x, d):
        print(f'{x:.2f} it\'s {d["k"] * x!r:>6} "quoted" {{}}\n', f"\\ {x}", f"{x}'" + "b")
        assert x > 0, f"bad {x}"
        return x * d["k"]

    arguments = (3.0, {"k": 2.0})
    f(*arguments)
    expected = capsys.readouterr().out
    assert srcdiff.grad(f)(*arguments) == 2.0
    assert capsys.readouterr().out == expected
    assert 'assert x > 0, f"bad {x}"\n' in srcdiff.grad(f).source_for(*arguments)


def test_a_tuple_of_one_slice():
    def f(x, i):
        return x[:2,].sum() + x[(i,)]

    x = np.arange(4.0)
    assert np.array_equal(srcdiff.grad(f)(x, 3), [1, 1, 0, 1])
    source = srcdiff.vjp(f, x, 3)[1].source
    assert "x_bar[(i,)]" in source
    assert "x_bar[:2,]" in source
