"""The pages in docs/ and CONTRIBUTING.md: what they name is there, programs print what they say, the rules are as in code."""

import os
import re
import runpy
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import srcdiff

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]

PUBLIC = [name for name in srcdiff.__all__ if name.islower()]

LINK = re.compile(r"\]\(([^)#:]+)\)")
RUN = re.compile(r"^( *)```python\n((?:(?!```).)*)^\1```\n\n\1<!-- prints -->\n\1```text\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
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


@pytest.mark.parametrize("name", PUBLIC)
def test_the_readme_names_each_public_function(name):
    assert f"`{name}(" in (ROOT / "README.md").read_text(encoding="utf-8")


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


RUNS = [
    pytest.param(*match.groups()[1:], id=page.name) for page in PAGES for match in RUN.finditer(page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("program", "prints"), RUNS)
def test_a_program_prints_what_its_page_says(program, prints, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(program), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, str(file)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == textwrap.dedent(prints)


def test_some_program_is_run():
    assert RUNS
