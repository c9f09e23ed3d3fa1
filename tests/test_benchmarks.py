"""The gradients written by hand are right, and the benchmark runs."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.gradients import check_gradient, same

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
KERNELS = sorted(file.stem for file in (BENCHMARKS / "kernels").glob("*.py"))


def load(name):
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / "kernels" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", KERNELS)
def test_gradients_by_hand_and_by_srcdiff_agree(name):
    kernel = load(name)
    args = kernel.args(np.random.default_rng(1), *kernel.SIZES["tiny"])
    value, gradient = kernel.by_hand(*args)
    assert np.isclose(value, kernel.loss(*args), rtol=1e-12)
    assert same(check_gradient(kernel.loss, *args, argnums=kernel.ARGNUMS), gradient, rtol=1e-9)


def test_the_benchmark_of_checkpoint_runs():
    environment = {**os.environ, "PYTHONPATH": str(BENCHMARKS.parent), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, BENCHMARKS / "checkpoint.py", "--trips", "500"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("500 trips") == 5


def test_the_benchmark_runs(tmp_path):
    results = tmp_path / "results.json"
    only = "speed,dispatch,import,memory,pendulum"
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "run.py", "--only", only, "--size", "tiny", "--rounds", "1", "--json", results],
        capture_output=True, text=True, encoding="utf-8", env={**os.environ, "PYTHONIOENCODING": "utf-8"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "fails" not in done.stdout
    rows = json.loads(results.read_text(encoding="utf-8"))
    assert [row["kernel"] for row in rows["speed"]] == ["pendulum"]
    assert len(rows["dispatch"]) == 10
    assert all(row["/arrays"] < 6 for row in rows["memory"])
    assert {row["module"] for row in rows["import"]} == {"numpy", "srcdiff"}


def test_the_benchmark_of_orders_runs(tmp_path):
    results = tmp_path / "results.json"
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "orders.py", "--size", "tiny", "--rounds", "1", "--json", results],
        capture_output=True, text=True, encoding="utf-8", env={**os.environ, "PYTHONIOENCODING": "utf-8"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "fails" not in done.stdout
    rows = json.loads(results.read_text(encoding="utf-8"))
    assert {row["kernel"] for row in rows} == set(KERNELS)
    assert all(row["hvp/grad"] > 0 for row in rows)
