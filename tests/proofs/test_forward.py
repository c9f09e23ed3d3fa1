"""What forward mode makes of every rule is proved, or checked by numbers, as the rule itself is."""

from importlib import import_module

import numpy as np
import pytest

from srcdiff.proofs.forward import contributions, prove_forward
from srcdiff.rules import chapters, registry
from srcdiff.rules.registry import rule_for, rules

chapters.load()
try:
    import_module("srcdiff.rules.special")
except ImportError:
    pass  # without SciPy there are no such functions

WITH_TEXT = sorted({rule.name: rule for rule in rules.values() if rule.text is not None}.values(), key=lambda rule: rule.name)


@pytest.mark.parametrize("rule", WITH_TEXT, ids=[rule.name for rule in WITH_TEXT])
def test_tangents_are_proved(rule):
    verdicts = prove_forward(rule)
    assert verdicts or rule.sort == "decomposed"
    wrong = [str(v) for v in verdicts if v.outcome in ("refuted", "undecided")]
    assert not wrong, "\n".join(wrong)


def test_a_wrong_tangent_is_refuted(monkeypatch):
    def swapped(x1, x2, *, y, x1_dot, x2_dot):
        return (x1_dot + y * x2_dot) / x2

    monkeypatch.setitem(registry.tangent_texts, np.divide, swapped)
    assert all(v.outcome == "refuted" for v in prove_forward(rule_for(np.divide)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tangents_keep_the_precision(dtype):
    rng = np.random.default_rng(0)
    for fn, args in ((np.prod, ((3,),)), (np.max, ((2, 3),)), (np.linalg.solve, ((2, 2), (2,))), (np.std, ((4,),))):
        values = [rng.normal(size=shape).astype(dtype) for shape in args]
        y = fn(*values)
        found = contributions(rule_for(fn), values, {"y": y, "y_bar": y})
        assert all(part.dtype == dtype for part in (found if isinstance(found, tuple) else (found,)))
