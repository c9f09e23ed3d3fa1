"""Sums of integers and whether inequalities can hold together, against trying out small numbers."""

import itertools
import random

from srcdiff.analysis.inequalities import added, can_hold, number


def test_sums():
    assert added({"i": 1, 1: 2}, {"i": 1, "j": -1}, -2) == {"i": -1, "j": 2, 1: 2}
    assert added({"i": 1}, {"i": 1}, -1) == number(0) == {}


def test_an_order_that_goes_round_is_impossible():
    before = [{"j": 1, "i": -1, 1: -1}, {"k": 1, "j": -1}]
    assert can_hold(before)
    assert not can_hold([*before, {"i": 1, "k": -1}])


def test_what_cannot_hold_holds_for_no_numbers():
    rng = random.Random(0)
    impossible = 0
    for _ in range(300):
        claims = [{s: n for s in ("i", "j", "k", 1) if (n := rng.randint(-3, 3))} for _ in range(rng.randint(1, 6))]
        if not can_hold(claims):
            impossible += 1
            for i, j, k in itertools.product(range(-4, 5), repeat=3):
                values = {"i": i, "j": j, "k": k, 1: 1}
                assert any(sum(n * values[s] for s, n in claim.items()) < 0 for claim in claims)
    assert impossible > 20
