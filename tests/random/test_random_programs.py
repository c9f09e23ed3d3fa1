"""Random programs of the accepted subset: values are plain Python's, gradients those of differences, refusals are few."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import srcdiff
from tests.random.checking import check
from tests.random.drawing import drawn
from tests.random.program import Program
from tests.random.shrinking import shrink
from tests.random.writing import write

COUNT = 60
DELIBERATE = ("may share memory with", "is an array on one path and a number on another, and is updated in place")


@settings(
    max_examples=COUNT, derandomize=True, database=None, deadline=None, print_blob=False, suppress_health_check=list(HealthCheck)
)
@given(st.data())
def test_random_programs(data: st.DataObject) -> None:
    program = drawn(data)
    outcome = check(program)
    if outcome.is_failure:
        note(f"{program}\n{outcome.detail}")
    assert not outcome.is_failure, f"{outcome.sort}: {outcome.reason}"


def test_refusals_are_few() -> None:
    outcomes = [check(write(seed)) for seed in range(40)]
    judged = [o for o in outcomes if o.sort != "unusable"]
    refused = [o.reason for o in judged if o.sort == "refused"]
    others = [reason for reason in refused if not any(text in reason for text in DELIBERATE)]
    assert len(judged) > 25
    assert len(refused) <= 0.15 * len(judged) and len(others) <= 0.04 * len(judged), "\n".join(refused)


def test_hypothesis_makes_a_program_small() -> None:
    def shows(program: Program) -> bool:
        return "np.sum(" in program.text.split("def f(")[1] and "for " in program.text.split("def f(")[1]

    @settings(max_examples=100, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def smallest(data: st.DataObject) -> None:
        program = drawn(data)
        found.append(program)
        assert not shows(program)

    found: list[Program] = []
    with pytest.raises(AssertionError):
        smallest()
    first, last = (len(p.text.split("def f(")[1].splitlines()) for p in (next(filter(shows, found)), found[-1]))
    assert last <= 8 < first or last <= first <= 8


def test_a_program_is_that_of_its_seed() -> None:
    assert write(7) == write(7) != write(8)


def test_programs_hold_the_language() -> None:
    nodes = {
        type(n) for seed in range(80) for n in ast.walk(ast.parse(write(seed).text.split("def f(", 1)[1].join(["def f(", ""])))
    }
    assert nodes >= {
        ast.Assign, ast.AugAssign, ast.If, ast.For, ast.While, ast.Break, ast.Continue, ast.Return, ast.FunctionDef, ast.Lambda,
        ast.ListComp, ast.GeneratorExp, ast.IfExp, ast.BoolOp, ast.Compare, ast.Starred, ast.Dict, ast.Tuple, ast.Subscript,
    }  # fmt: skip


def program(body: str, args: str) -> Program:
    return Program(f"import numpy as np\n\n\ndef f(x):\n    {body}\n", args, (0,))


def test_a_wrong_gradient_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = srcdiff.value_and_grad

    def doubled(f: Any, argnums: Any) -> Any:
        def gradient(*args: Any) -> Any:
            value, bars = right(f, argnums=argnums)(*args)
            return value, tuple(2 * bar for bar in bars)

        gradient._lives = []  # type: ignore[attr-defined]
        return gradient

    smooth = program("return np.sum(np.sin(x))", "(np.array([0.3, 1.2]),)")
    assert check(smooth).sort == "fine"
    monkeypatch.setattr(srcdiff, "value_and_grad", doubled)
    assert check(smooth).sort == "wrong"


def test_a_corner_is_not_judged() -> None:
    corner = check(program("return np.sum(np.abs(x))", "(np.array([0.0, 1.2]),)"))
    assert (corner.sort, corner.reason) == ("fine", "not smooth")


@pytest.mark.parametrize(
    ("body", "sort"),
    [
        ("return np.sum(np.fft.fft(x).real)", "refused"),
        ("return np.log(x)", "unusable"),
        ("return 1 / 0", "unusable"),
    ],
)
def test_outcomes(body: str, sort: str) -> None:
    assert check(program(body, "(np.array([0.3, -1.2]),)")).sort == sort


def test_shrinking_leaves_what_matters() -> None:
    large = program(
        "y = np.cos(x)\n    for i in range(3):\n        if i > 1:\n            y = y + np.sin(x) * 2\n    return np.sum(y)",
        "(0.3,)",
    )
    small = shrink(large, lambda p: "np.sin" in p.text)
    assert ast.unparse(ast.parse(small.text).body[-1]) == "def f(x):\n    y = np.sin(x)"
