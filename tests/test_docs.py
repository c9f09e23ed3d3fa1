"""What the pages in docs/ and CONTRIBUTING.md name is there, and the page of rules is the one that the rules give."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]

LINK = re.compile(r"\]\(([^)#:]+)\)")
FILE = re.compile(r"`((?:srcdiff|tests|docs|examples|benchmarks)/[\w/.]*)`")


def test_the_page_of_rules_is_what_the_rules_give():
    pytest.importorskip("scipy", reason="the page has a chapter on SciPy's functions")
    generated = runpy.run_path(str(ROOT / "docs" / "generate_rules.py"))["page"]()
    written = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    if absent := set(re.findall(r"`((?:np|scipy)\.[\w.]+)`", written)) - set(re.findall(r"`((?:np|scipy)\.[\w.]+)`", generated)):
        import numpy
        import scipy.special

        found = {"np": numpy, "scipy": scipy}
        if any(not exists(name, found) for name in absent):
            pytest.skip(f"the page has functions that these versions lack: {', '.join(sorted(absent))}")
    assert written == generated, "run python docs/generate_rules.py"


def exists(name, found):
    module, *parts = name.split(".")
    value = found[module]
    for part in parts:
        if not hasattr(value, part):
            return False
        value = getattr(value, part)
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_is_there(page):
    text = page.read_text(encoding="utf-8")
    for target in LINK.findall(text):
        assert (page.parent / target).exists(), target
    for name in FILE.findall(text):
        assert (ROOT / name).exists(), name
