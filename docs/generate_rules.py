"""Write docs/rules.md: every rule with its sort, how it is known to be right, and what it says of odd points.

    python docs/generate_rules.py

It needs SciPy, whose special functions are a chapter, and recent versions of NumPy and SciPy, since a function that they lack
has no row.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import scipy.special

from srcdiff.prepare import builtin_calls, functional, objects
from srcdiff.rules import chapters
from srcdiff.rules.registry import Rule, Text, qualified_name, rules

FILE = Path(__file__).with_name("rules.md")

INTRODUCTION = """\
# Rules

<!-- Written by docs/generate_rules.py: change the rules, not this page. -->

Every function that srcdiff differentiates by a rule, from `srcdiff.rules`: {count} functions.

- **Sort**: *elementwise* rules give partials, *linear* and *bilinear* ones a transpose, *vjp* is the general case, *decomposed*
  functions are written in terms of others.
- **Right by**: *proved* by SymPy, entry by entry, for the shapes and keywords beside the rule (their number in brackets);
  *checked* by numbers where SymPy cannot decide, and *trusted*, each with the reason. {proved} are proved, {checked} checked,
  {trusted} trusted; the derivative of the other {zero} is zero or none.
- [Forward mode](forward.md) has no texts but these (and a few of its own, for `np.divide`, `np.sort` and the like): what it makes
  of each rule is proved for the same shapes.
- A call with an argument that a rule does not name is refused. A function without a rule is read and inlined where it is
  written in Python, and refused otherwise.
"""

HEADER = "| function | sort | right by | |\n|---|---|---|---|"


def page() -> str:
    chapters.load()
    names = (*chapters.CHAPTERS, "special")
    modules = [import_module(f"srcdiff.rules.{name}") for name in names]
    status = [rule.status for rule in rules.values() if rule.text is not None]
    introduction = INTRODUCTION.format(
        count=len(rules), zero=len(rules) - len(status), **{s: status.count(s) for s in ("proved", "checked", "trusted")}
    )
    sections = [section(name, module) for name, module in zip(names, modules)]
    return "\n".join([introduction, *sections, without_derivative(), taken_apart()])


def section(chapter: str, module: ModuleType) -> str:
    heading, _, more = inspect.cleandoc(module.__doc__ or "").partition("\n")
    texts: dict[Text, list[Rule]] = {}
    for rule in rules.values():
        if rule.text is not None and rule.text.__module__ == module.__name__:
            texts.setdefault(rule.text, []).append(rule)
    # The order is that of the chapter, whatever was imported first.
    in_order = sorted(texts, key=lambda text: text.__code__.co_firstlineno)
    parts = [f"## {chapter.capitalize()}", heading, more.strip(), "\n".join([HEADER, *(row(texts[text]) for text in in_order)])]
    return "\n\n".join(part for part in parts if part) + "\n"


def row(group: list[Rule]) -> str:
    first = group[0]
    right = f"proved ({len(first.at)})" if first.status == "proved" else f"{first.status}: {first.reason}"
    note = " ".join(inspect.cleandoc(first.text.__doc__ or "").split()).replace("|", "\\|")
    return f"| {listed(spoken(rule.fn) for rule in group)} | {first.sort} | {right} | {note} |"


def listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def spoken(fn: object) -> str:
    """The function's public name: `scipy.special.softmax`, not that of the module where it is defined."""
    name = getattr(fn, "__name__", "")
    for module, prefix in ((np, "np"), (np.linalg, "np.linalg"), (math, "math"), (scipy.special, "scipy.special")):
        if vars(module).get(name) is fn:
            return f"{prefix}.{name}"
    return qualified_name(fn)  # type: ignore[arg-type]


def without_derivative() -> str:
    names = sorted(spoken(rule.fn) for rule in rules.values() if rule.text is None)
    return f"## Derivative zero or none\n\n{listed(names)}.\n"


def _is_ours(fn: object) -> bool:
    return (
        str(getattr(fn, "__module__", "")).startswith("srcdiff")
        or getattr(fn, "__objclass__", None) is object
        or fn is object.__new__
    )


def taken_apart() -> str:
    tables = (builtin_calls.HANDLERS, functional.HANDLERS, objects.HANDLERS)
    handled = [fn for table in tables for fn in table if not _is_ours(fn)]
    names = dict.fromkeys(spoken(fn).replace("from_iterable", "itertools.chain.from_iterable").lstrip("_") for fn in handled)
    return (
        "## Without a rule of their own\n\n"
        "Lowering takes these apart itself, since they work on structure, or are made of what has rules. Strings and\n"
        f"truth values carry no derivative.\n\n{listed(names)}.\n"
    )


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
