"""Diagonal matrices and outer products are multiplied by without being made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from srcdiff.ir.check import check
from srcdiff.ir.kinds import INT, Array, Dim
from srcdiff.ir.nodes import Function, Origin
from srcdiff.ir.ops import ADD, INDEX_ADD, MATMUL, SUB, call_op
from srcdiff.ir.text import show
from srcdiff.passes.dead_code import drop_dead_code
from srcdiff.passes.structured import multiply_by_structure
from tests.support.build import Build, user
from tests.support.interpreter import run

N = Dim("a.shape[0]", 3)
MATRIX, ROW, PLACES = Array("float64", (N, N)), Array("float64", (N,)), Array("int64", (N,))
OUTER, ZEROS, ARANGE = call_op(np.outer, "np.outer"), call_op(np.zeros_like, "np.zeros_like"), call_op(np.arange, "np.arange")
LINE = Origin("model.py", 3, "y = a @ np.outer(u, v)", 4)
RNG = np.random.default_rng(0)
ARGS = RNG.normal(size=(3, 3)), RNG.normal(size=3), RNG.normal(size=3)


def after(function: Function) -> list[str]:
    program = drop_dead_code(check(multiply_by_structure(check(function))))
    np.testing.assert_allclose(run(check(program), list(ARGS)), run(function, list(ARGS)), rtol=1e-12)
    return [line[4:] for line in show(program).splitlines()[1:]]


def inputs() -> tuple[Build, Any, Any, Any]:
    return Build(), user("a", MATRIX), user("u", ROW), user("v", ROW)


def diagonal(b: Build, a: Any, d: Any) -> Any:
    places = b(ARANGE, b(call_op(len, "len"), d, hint="n", kind=INT), hint="i", kind=PLACES)
    return b(INDEX_ADD, b(ZEROS, a, hint="D", kind=MATRIX), (places, places), d, hint="D", kind=MATRIX)


def test_an_outer_product() -> None:
    b, a, u, v = inputs()
    right = b.function("f", [a, u, v], b(MATMUL, a, b(OUTER, u, v, kind=MATRIX), hint="y", kind=MATRIX))
    assert after(right) == ["product = matmul(a, u)", "y = np.outer(product, v)", "return y"]
    b, a, u, v = inputs()
    left = b.function("f", [a, u, v], b(MATMUL, b(OUTER, u, v, kind=MATRIX), a, hint="y", kind=MATRIX))
    assert after(left) == ["product = matmul(v, a)", "y = np.outer(u, product)", "return y"]


@pytest.mark.parametrize(("op", "line"), [(SUB, "y = sub(product_1, outer)"), (ADD, "y = add(product_1, outer)")])
def test_a_diagonal_and_an_outer_product(op: Any, line: str) -> None:
    b, a, u, v = inputs()
    total = b(op, diagonal(b, a, u), b(OUTER, u, v, kind=MATRIX), kind=MATRIX)
    lines = after(b.function("f", [a, u, v], b(MATMUL, a, total, hint="y", kind=MATRIX)))
    assert [x for x in lines if "matmul" in x] == [x for x in lines if x.endswith("matmul(a, u)")]
    assert any(x.endswith("mul(a, u)") and "matmul" not in x for x in lines)


def test_a_diagonal_on_the_left() -> None:
    b, a, u, v = inputs()
    lines = after(b.function("f", [a, u, v], b(MATMUL, diagonal(b, a, v), a, hint="y", kind=MATRIX)))
    assert len(lines) == 3 and "matmul" not in "".join(lines)


def test_what_is_read_elsewhere_or_is_the_users_stays() -> None:
    b, a, u, v = inputs()
    product = b(OUTER, u, v, kind=MATRIX)
    shared = b.function("f", [a, u, v], (b(MATMUL, a, product, kind=MATRIX), product))
    assert show(multiply_by_structure(shared)) == show(shared)
    b, a, u, v = inputs()
    own = b.function("f", [a, u, v], b(MATMUL, a, b(OUTER, u, v, kind=MATRIX), kind=MATRIX, line=LINE))
    assert show(multiply_by_structure(own)) == show(own)
    b, a, u, v = inputs()
    whole = b(SUB, a, b(OUTER, u, v, kind=MATRIX), kind=MATRIX)
    mixed = b.function("f", [a, u, v], b(MATMUL, a, whole, kind=MATRIX))
    assert show(multiply_by_structure(mixed)) == show(mixed)
