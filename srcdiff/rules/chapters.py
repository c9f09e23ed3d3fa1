"""The chapters of rules, loaded when the first function is compiled, and the one place that finds a rule."""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib import import_module
from typing import Any

from srcdiff.rules.registry import Rule, rule_for

CHAPTERS = ("arithmetic", "mathematical", "scalars", "reductions", "creation", "shaping", "products", "linalg", "indexing")


@lru_cache(maxsize=1)
def load() -> None:
    for name in CHAPTERS:
        import_module(f"srcdiff.rules.{name}")


@lru_cache(maxsize=1)
def _load_special() -> None:
    import_module("srcdiff.rules.special")


def find(fn: Any) -> Rule | None:
    """The rule of a function; the chapter of scipy.special is read once the user's program has loaded SciPy."""
    load()
    rule = rule_for(fn)
    if rule is None and "scipy.special" in sys.modules:
        _load_special()
        rule = rule_for(fn)
    return rule
