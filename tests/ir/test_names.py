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


def test_fresh_names_have_had_no_holder() -> None:
    namer, holder = Namer(()), object()
    assert namer.take("x", holder) == "x"
    namer.release("x", holder)
    assert [namer.fresh("x"), namer.fresh("y")] == ["x_1", "y"]


def test_blocks_of_which_one_runs_share_fresh_names() -> None:
    namer = Namer(())
    found = []
    given = []
    for _ in range(2):
        mark = len(namer.given)
        for _ in range(2):
            found.append(namer.fresh("x"))
            namer.hold(found[-1], holder := object())
            namer.release(found[-1], holder)
        given += namer.forget_since(mark)
    namer.remember(given)
    assert found == ["x", "x_1", "x", "x_1"]
    assert namer.fresh("x") == "x_2"
