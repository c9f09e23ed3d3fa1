"""Each example runs, and prints what it says."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"


def run(name, *arguments, cwd):
    needed = {"digits": ["sklearn", "matplotlib", "rich"], "scipy_minimize": ["scipy"]}.get(name, [])
    absent = [package for package in needed if importlib.util.find_spec(package) is None]
    if absent:
        pytest.skip(f"needs {', '.join(absent)}: pip install 'srcdiff[examples]'")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "TERM": "dumb"}
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py", *arguments],
        cwd=cwd, env=environment, capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_example_is_tested():
    tests = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert {file.stem for file in EXAMPLES.glob("*.py")} <= tests


def test_arithmetic(tmp_path):
    numbers, _, source = run("arithmetic", cwd=tmp_path).partition("\n\n")
    assert numbers == "L = 20\ndL/da = -15\ndL/db = 10\ndL/dc = 5\ndL/df = 4"
    assert "def " in source and "srcdiff" not in source


def test_line(tmp_path):
    out = run("line", cwd=tmp_path)
    assert out.splitlines()[0] == "step   0: loss 2.76663, y = 0.000x + 0.000"
    assert out.splitlines()[-1] == "fitted:   loss 0.01042, y = 1.987x + 0.992"


def test_scipy_minimize(tmp_path):
    out = run("scipy_minimize", cwd=tmp_path)
    assert re.fullmatch(r"Optimization terminated successfully\. Loss 0\.01042 after \d steps: y = 1\.987x \+ 0\.992\n", out)


def test_digits(tmp_path):
    picture = tmp_path / "digits.png"
    out = run("digits", "--output", str(picture), cwd=tmp_path)
    assert "def loss(params, X, Y):" in out
    assert "The gradient agrees with central differences." in out
    share, seconds = re.search(r"([\d.]+)% of 359 held-out images are recognised, after ([\d.]+) s of training", out).groups()
    assert float(share) >= 96 and float(seconds) < 60
    assert re.search(r"Loss and gradient of 32 images: \d+ µs by srcdiff, \d+ µs written by hand \([\d.]+ times as long\)", out)
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 20_000
