"""What the README shows is true: its programs run and print what it says, and its commands run in a clean clone."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")

# Set for the tests that run inside the clean clone, which would clone again.
IN_CLONE = "SRCDIFF_IN_CLEAN_CLONE"

BLOCK = re.compile(r"^(?P<prints><!-- prints -->\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [(match["language"], bool(match["prints"]), match["text"]) for match in BLOCK.finditer(README)]
COMMANDS = [line.removeprefix("$ ") for language, _, text in BLOCKS if language == "console" for line in text.splitlines()]


def test_programs_print_what_the_readme_says(tmp_path):
    """The Python blocks are one program; a block marked as printed is what the blocks since the last marked one print."""
    program, expected = [], []
    for language, prints, text in BLOCKS:
        if prints:
            expected.append(text)
            program.append("print('=====')\n")
        elif language == "python":
            program.append(text)
    program.append("print('=====')\n")
    file = tmp_path / "readme.py"
    file.write_text("\n".join(program), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, file], cwd=tmp_path, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    *printed, rest = done.stdout.split("=====\n")
    assert rest == ""
    # Sources end with a newline of their own.
    assert [text.rstrip("\n") for text in printed] == [*(text.rstrip("\n") for text in expected), ""]


def test_local_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    if os.environ.get(IN_CLONE):
        pytest.skip("this is the clean clone")
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    # The interpreter's path in there is longer than the first line of a script may be, and has spaces.
    folder = tmp_path_factory.mktemp("readme") / ("a clone with spaces in a long path " * 4).strip() / "srcdiff"
    folder.parent.mkdir()
    done = subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"the checkout cannot be cloned: {done.stderr.strip()}")
    return folder


def run_in(folder, command, **changes):
    # Without what make, a virtual environment or pytest set for this run.
    ours = ("MAKE", "MFLAGS", "VENV", "VIRTUAL_ENV", "PYTHON", "PYTEST", "PIP_REQUIRE_VIRTUALENV")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment.update({IN_CLONE: "1", "PYTHON": sys._base_executable, "PYTHONIOENCODING": "utf-8", **changes})
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("attempt", ["first", "again"])
@pytest.mark.parametrize("command", [command for command in COMMANDS if command.startswith("make ")])
def test_make_commands_in_a_clean_clone(clone, command, attempt):
    # All tests ran outside already; here it matters that the command gets as far as running some.
    out = run_in(clone, command, PYTEST_ADDOPTS="-k test_errors")
    if command == "make test":
        assert re.search(r"\d+ passed", out)
    if command == "make demo":
        assert "held-out images are recognised" in out
    assert subprocess.check_output(["git", "status", "--porcelain"], cwd=clone, text=True) == ""


@pytest.mark.slow
@pytest.mark.parametrize("command", [command for command in COMMANDS if command.startswith("pip install")])
def test_pip_install_in_a_clean_clone(clone, command, tmp_path):
    run_in(tmp_path, f'"{sys._base_executable}" -m venv installed')
    python = tmp_path / "installed" / "bin" / "python"
    run_in(clone, f"'{python}' -m {command}")
    out = run_in(tmp_path, f"'{python}' -c 'import srcdiff; print(srcdiff.__file__); print(srcdiff.grad)'", PYTHONPATH="")
    assert str(tmp_path) in out


def test_every_command_is_tested():
    assert COMMANDS
    assert all(command.startswith(("make ", "pip install")) for command in COMMANDS)
