"""Every rule that ships is proved, or checked by numbers with a reason; and the checker refuses what is wrong.

The files of each chapter say for which shapes and keywords. A wrong text (a sign flipped, a term dropped, two arguments
swapped) is made of every rule's own, and must be refused.
"""

from importlib import import_module

import numpy as np
import pytest

from srcdiff.proofs import mutants
from srcdiff.proofs.rules import prove, refutes, undefined_points, widening
from srcdiff.rules import chapters
from srcdiff.rules.registry import Case, Rule, case, rule_for, rules

chapters.load()
try:
    import_module("srcdiff.rules.special")
except ImportError:
    pass  # without SciPy there are no such functions

WITH_TEXT = sorted({rule.name: rule for rule in rules.values() if rule.text is not None}.values(), key=lambda rule: rule.name)
by_name = pytest.mark.parametrize("rule", WITH_TEXT, ids=[rule.name for rule in WITH_TEXT])

# A zero derivative has no wrong sign.
ZERO = {"np.imag", "np.angle"}


@by_name
def test_rule_is_proved(rule):
    verdicts = prove(rule)
    wrong = [str(v) for v in verdicts if v.outcome in ("refuted", "undecided")]
    assert not wrong, "\n".join(wrong)
    assert all(v.outcome == "proved" or v.detail for v in verdicts), "what is not proved says why"


@by_name
def test_wrong_texts_are_refused(rule):
    if rule.status == "trusted":
        pytest.skip(f"trusted: {rule.reason}")
    found = mutants.survey(rule)
    if mutants.is_zero(rule):
        assert rule.name in ZERO and not found.refuted
        return
    assert found.refuted
    # a mutant is refuted, proved to be the same function, or of a rule that SymPy has no derivative for
    assert not found.unseen or rule.status == "checked", [str(m) for m in found.unseen]


@by_name
def test_rule_is_defined_at_zeros_ones_and_ties(rule):
    if rule.status != "trusted":
        assert undefined_points(rule) == []


@by_name
def test_float32_is_kept(rule):
    assert widening(rule) is None


# ---------------------------------------------------------------- the checker itself, on rules made for it


def a_rule(fn, text, *cases: Case, sort="vjp", wrt=("x",), status="proved", needs=("y", "y_bar")):
    import inspect

    parameters = inspect.signature(text).parameters.values()
    asked = frozenset(p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name in needs)
    signature = inspect.Signature([p for p in parameters if p.name not in asked])
    return Rule(fn, fn.__name__, sort, text, wrt, signature, None, "same", cases, status, "", asked)


def outcomes(rule):
    return [v.outcome for v in prove(rule)]


def test_right_rule_is_proved():
    assert outcomes(a_rule(np.tanh, lambda x, *, y, y_bar: y_bar * (1 - y * y), case((2, 3)))) == ["proved"]


@pytest.mark.parametrize(
    "text",
    [
        lambda x, *, y, y_bar: -y_bar * (1 - y * y),
        lambda x, *, y, y_bar: y_bar * (1 - y),
        lambda x, *, y, y_bar: y_bar,
        lambda x, *, y, y_bar: (y_bar * (1 - y * y)).sum(),
        lambda x, *, y, y_bar: y_bar * (1 - y * y) * (1 + 1e-7),
        lambda x, *, y, y_bar: y_bar * (1 - x * x + 2 * x**4 / 3),
        lambda x, *, y, y_bar: NotImplemented,
        lambda x, *, y, y_bar: y_bar.missing,
        lambda x, *, y, y_bar: np.multiply(y_bar, 1 - y * y, out=y_bar),
    ],
)
def test_wrong_rule_is_refuted(text):
    assert outcomes(a_rule(np.tanh, text, case((2, 3)))) == ["refuted"]


def test_piecewise_rules_are_proved_on_several_pieces():
    (verdict,) = prove(
        a_rule(np.maximum, lambda x, b, *, y, y_bar: (y_bar * (x > b), y_bar * (b > x)), case((2,), (2,)), wrt=("x", "b"))
    )
    assert verdict.outcome == "refuted" and "special point" in verdict.detail  # at a tie nobody gets the adjoint
    share = lambda x, b, *, y, y_bar: (y_bar * np.heaviside(x - b, 0.5), y_bar * np.heaviside(b - x, 0.5))
    (verdict,) = prove(a_rule(np.maximum, share, case((2,), (2,)), wrt=("x", "b")))
    assert verdict.outcome == "proved" and verdict.pieces == 3 and "on 3 pieces" in str(verdict)


def test_wrong_at_a_continued_point_is_refuted():
    text = lambda x, *, y, y_bar: y_bar * np.where(x == 0, 1.0, (np.cos(np.pi * x) - y) / np.where(x == 0, 1.0, x))
    (verdict,) = prove(a_rule(np.sinc, text, case((2, 3))))
    assert verdict.outcome == "refuted" and "special point" in verdict.detail


def test_contribution_that_no_case_asks_for_is_reported():
    text = lambda x, b, *, y, y_bar: (y_bar * b, -y_bar * x)
    (first, second) = prove(a_rule(np.multiply, text, case((2,), 3.0), wrt=("x", "b")))
    assert first.outcome == "proved"
    assert second.outcome == "undecided" and "differentiates by b" in second.detail


def test_what_has_no_symbolic_form_is_undecided_unless_checked():
    text = lambda x, *, y, y_bar: (
        np.linalg.svd(x, full_matrices=False)[0] @ (y_bar[:, None] * np.linalg.svd(x, full_matrices=False)[2])
    )
    values = lambda x: np.linalg.svd(x, compute_uv=False)
    assert outcomes(a_rule(values, text, case((2, 3)))) == ["undecided"]
    assert outcomes(a_rule(values, text, case((2, 3)), status="checked")) == ["checked"]
    assert outcomes(a_rule(values, lambda x, *, y, y_bar: -text(x, y=y, y_bar=y_bar), case((2, 3)), status="checked")) == [
        "refuted"
    ]


def test_refutes_says_why():
    rule = rule_for(np.matmul)
    why = refutes(rule, lambda a, b, *, y_bar: rule.text(b, a, y_bar=y_bar))
    assert why is not None and "(2, 3)" in why
    assert refutes(rule, rule.text) is None


@pytest.mark.parametrize(
    ("fn", "at", "expected"),
    [
        (np.maximum, (1.0, 1.0), (0.5, 0.5)), (np.minimum, (1.0, 1.0), (0.5, 0.5)), (np.absolute, (0.0,), (0.0,)),
        (np.max, ([2.0, 2.0, 1.0],), ([0.5, 0.5, 0.0],)), (np.min, ([3.0, 1.0, 1.0],), ([0.0, 0.5, 0.5],)),
    ],
)  # fmt: skip
def test_ties_share_as_stated(fn, at, expected):
    rule = rule_for(fn)
    args = [np.array(a)[()] for a in at]
    y = fn(*args)
    given = {name: value for name, value in (("y", y), ("y_bar", np.float64(1.0))) if name in rule.needs}
    found = rule.text(*args, **given)
    for got, want in zip(found if len(rule.wrt) > 1 else (found,), expected):
        np.testing.assert_array_equal(got, want)
