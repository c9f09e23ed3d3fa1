"""The Namer gives the same names to the same calls, and none twice."""

from __future__ import annotations

from srcdiff.ir.names import Namer


def test_versions_come_back() -> None:
    namer = Namer({"x_2"}, {"x", "x_1"})
    holders = [object() for _ in range(4)]
    assert [namer.take("x", holder) for holder in holders[:3]] == ["x", "x_3", "x_4"]
    namer.release("x_3", holders[1])
    assert namer.take("x", holders[3]) == "x_3"


def test_keywords_are_not_given_out() -> None:
    assert Namer(()).take("lambda", object()) == "lambda_1"
