"""Proofs of rules: a rule's own text runs on symbols, and each entry is compared with SymPy's derivative of the primal.

    prove(rule_for(np.tanh))   →   [Verdict(np.tanh, case((2, 3)), "proved")]

For each case beside the rule: symbols for the arguments; the primal gives the entries of y; the text gives the contributions
from y and a y_bar of symbols; each must equal the sum over j of y_bar[j] * dy[j]/dx. Numbers refute first, since they are
quick, algebra accepts. A function made of pieces (a maximum, a sort) is proved on several of them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from srcdiff.proofs.settings import NoPrimal, Setting, cases_of, settings_of
from srcdiff.rules.registry import Case, Fixed, Many, Rule, Text


@dataclass(frozen=True)
class Verdict:
    """What was found of a rule for one case: "proved", "checked" (by numbers), "trusted", "refuted" or "undecided"."""

    rule: Rule
    case: Case | None
    outcome: str
    detail: str = ""
    pieces: int = 1
    seconds: float = 0.0

    def __str__(self) -> str:
        where = f" for {describe(self.case)}" if self.case is not None else ""
        pieces = f" on {self.pieces} pieces" if self.pieces > 1 else ""
        return f"{self.rule.name}{where}: {self.outcome}{pieces}" + (f": {self.detail}" if self.detail else "")


def describe(case: Case) -> str:
    """The call of a case: `(2, 3), axis=0`."""

    def shown(value: Any) -> str:
        match value:
            case Fixed(inner):
                return repr(inner)
            case Many(shapes):
                return f"[{', '.join(map(str, shapes))}]"
            case np.ndarray():
                return repr(value.tolist())
            case _:
                return repr(value)

    parts = [shown(a) for a in case.args] + [f"{k}={shown(v)}" for k, v in case.kwargs.items()]
    return ", ".join(parts) + (f" ({case.domain})" if case.domain != "real" else "")


def prove(rule: Rule, text: Text | None = None) -> list[Verdict]:
    """The verdict for each case beside the rule, on its text or on another one in its place."""
    if rule.text is None or rule.status == "trusted":
        return [Verdict(rule, None, "trusted", rule.reason)]
    if not rule.at:
        return [Verdict(rule, None, "undecided", "no case stands beside the rule")]
    verdicts = [prove_case(rule, case, text) for case in cases_of(rule)]
    return verdicts + [Verdict(rule, None, "undecided", f"no case differentiates by {name}") for name in left_open(rule)]


def left_open(rule: Rule) -> list[str]:
    """The parameters whose contribution no case asks for."""
    places = [setting.places for case in cases_of(rule) for setting in settings_of(rule, case)]
    return [name for name in rule.wrt if all(p.get(name) in (None, []) for p in places)]


def undefined_points(rule: Rule) -> list[str]:
    """Where the rule gives no number although the function is continuous and has bounded derivatives around."""
    settings = [setting for case in cases_of(rule) for setting in settings_of(rule, case)]
    return [f"{describe(s.case)} at {point.shown()}" for s in settings for point in s.special_points if point.is_undefined]


def widening(rule: Rule) -> str | None:
    """Where the text widens float32 to float64; None if it keeps it."""
    assert rule.text is not None
    for case in cases_of(rule):
        wider = settings_of(rule, case)[0].widened(rule.text)
        if wider is not None:
            return f"{describe(case)}: {wider}"
    return None


def refutes(rule: Rule, text: Text) -> str | None:
    """Why a text in place of the rule's own is wrong; None if nothing speaks against it."""
    for case in cases_of(rule):
        verdict = prove_case(rule, case, text)
        if verdict.outcome == "refuted":
            return f"{describe(case)}: {verdict.detail}"
    return None


def prove_case(rule: Rule, case: Case, text: Text | None = None) -> Verdict:
    start = time.perf_counter()
    own = rule.text if text is None else text
    assert own is not None
    try:
        outcome, detail, count = examine(rule, settings_of(rule, case), own)
    except NoPrimal as error:
        outcome, detail, count = "undecided", str(error), 0
    return Verdict(rule, case, outcome, detail, count, time.perf_counter() - start)


def examine(rule: Rule, settings: Sequence[Setting], text: Text) -> tuple[str, str, int]:
    """What is found of a text in these settings, why it is no proof, and on how many pieces."""
    proved = 0
    reason = rule.reason
    for setting in settings:
        wrong = setting.refutation(text)
        if wrong is not None:
            return "refuted", wrong, 1
        try:
            open_entry = setting.unproved(text)
        except Exception as error:  # whatever a text does that symbols cannot follow
            reason = f"{type(error).__name__}: {error}"
            continue
        if open_entry is None:
            proved += 1
        else:
            reason = open_entry
    if proved == len(settings):
        return "proved", "", proved
    if rule.status == "checked":
        return "checked", rule.reason, len(settings)
    return "undecided", reason, proved
