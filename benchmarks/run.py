"""Measure srcdiff: speed against gradients written by hand, dispatch, compile time, import time, memory.

    python benchmarks/run.py
    python benchmarks/run.py --only speed,dispatch
    python benchmarks/run.py --only pendulum,two_layers --size all --rounds 31
    python benchmarks/run.py --json results.json

README.md says how to read what it prints.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import inspect
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

for library in ("OMP", "OPENBLAS", "MKL"):  # before NumPy is imported
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import numpy as np  # noqa: E402
from sweeps import SWEEPS  # noqa: E402
from timing import medians, once  # noqa: E402

import srcdiff  # noqa: E402

KERNELS = sorted(file.stem for file in (HERE / "kernels").glob("*.py"))
SECTIONS = ("speed", "dispatch", "compile", "import", "memory")
SWEPT = {"tiny": 50, "medium": 100, "large": 200}
LENGTHS = (20, 100, 400, 5000)
TOLERANCE = 1e-8


# ---------------------------------------------------------------- sections: each prints a table and returns its rows


def speed(kernels: list[str], sizes: list[str], rounds: int) -> list[dict[str, Any]]:
    """Value and gradient by srcdiff, against the one written by hand and against the primal."""
    columns = {
        "kernel": 20,
        "size": 7,
        "primal µs": 11,
        "hand µs": 11,
        "srcdiff µs": 11,
        "/hand": 7,
        "/primal": 8,
        "jvp/primal": 11,
    }
    table = Table("speed", columns)
    for size in sizes:
        for name in kernels:
            kernel = load(HERE / "kernels" / f"{name}.py")
            args = kernel.args(np.random.default_rng(0), *kernel.SIZES[size])
            f = srcdiff.value_and_grad(kernel.loss, argnums=kernel.ARGNUMS)
            try:
                error = gap(f(*args), kernel.by_hand(*args))
                if not error < TOLERANCE:
                    raise ValueError(f"the gradient by hand is another: relative difference {error:.1e}")
            except Exception as failure:
                table.failed(f"{name:20} {size:7}", failure)
                continue
            calls = {"primal": partial(kernel.loss, *args), "hand": partial(kernel.by_hand, *args), "srcdiff": partial(f, *args)}
            calls["jvp"] = partial(
                srcdiff.jvp(kernel.loss, argnums=kernel.ARGNUMS).compile(*args), *args, **tangents(kernel, args)
            )
            primal, hand, ours, along = (1e6 * t for t in medians(calls, rounds).values())
            table.row(name, size, primal, hand, ours, ours / hand, ours / primal, along / primal)
    for column in ("/hand", "/primal", "jvp/primal"):
        if table.rows:
            print(f"geometric mean of {column}: {math.exp(statistics.fmean(math.log(row[column]) for row in table.rows)):.2f}")
    return table.rows


def tangents(kernel: ModuleType, args: tuple[Any, ...]) -> dict[str, Any]:
    """A direction of ones for each argument that the kernel is differentiated by, by the names that a jvp takes them by."""

    def ones(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: ones(part) for key, part in value.items()}
        return np.ones_like(value) if isinstance(value, np.ndarray) else 1.0

    names = list(inspect.signature(kernel.loss).parameters)
    numbers = (kernel.ARGNUMS,) if isinstance(kernel.ARGNUMS, int) else kernel.ARGNUMS
    return {f"{names[n]}_dot": ones(args[n]) for n in numbers}


def dispatch(folder: Path, rounds: int) -> list[dict[str, Any]]:
    """What a call of the gradient costs beyond the compiled function, at a tiny size."""
    table = Table("dispatch", {"arguments": 22, "call µs": 9, "compiled µs": 12, "dispatch µs": 12})
    ones = np.ones(2)
    arrays = {count: ", ".join(f"a{i}" for i in range(count)) for count in range(1, 7)}
    cases: list[tuple[str, str, str, list[Any]]] = [
        *(
            (f"arrays: {count}", names, f"np.sum({names.replace(', ', ' + ')})", [ones] * count)
            for count, names in arrays.items()
        ),
        ("numbers: 1", "a", "a * a", [2.0]),
        ("numbers: 3", "a, b, c", "a * b * c", [2.0, 3.0, 4.0]),
        ("a dict of 4 arrays", "p", "np.sum(p['a'] + p['b'] + p['c'] + p['d'])", [dict.fromkeys("abcd", ones)]),
        ("a list of 3 pairs", "p", "np.sum(p[0][0] * p[0][1] + p[1][0] * p[1][1] + p[2][0])", [[(ones, ones)] * 3]),
    ]
    for what, names, expression, args in cases:
        f = made(folder, names, expression)
        try:
            f(*args)
            compiled = f.compile(*args)
        except Exception as failure:
            table.failed(f"{what:22}", failure)
            continue
        # A difference of two small times: many short turns, so that both see the same machine.
        times = medians({"call": partial(f, *args), "compiled": partial(compiled, *args)}, 20 * rounds, batch=0.0003)
        call, bare = (1e6 * t for t in times.values())
        table.row(what, call, bare, call - bare)
    costs = [row["dispatch µs"] for row in table.rows if row["arguments"].startswith("arrays")]
    if len(costs) > 1:
        slope, start = np.polyfit(range(1, len(costs) + 1), costs, 1)
        print(f"fitted: {start:.2f} µs, and {slope:.2f} µs an array argument")
    return table.rows


def compile_time(folder: Path, kernels: list[str], rounds: int) -> list[dict[str, Any]]:
    """The first call less a later one, of functions that were never seen; imports are warm."""
    table = Table("compile", {"function": 24, "lines": 6, "compile ms": 11, "ms a line": 10})
    srcdiff.grad(lambda x: np.sum(x * x))(np.ones(2))
    texts = {name: (HERE / "kernels" / f"{name}.py").read_text(encoding="utf-8") for name in kernels}
    texts |= {f"straight line, {n}": straight_line(n) for n in LENGTHS}
    for name, text in texts.items():
        several = max(1, min(rounds, 2000 // text.count("\n")))
        try:
            times = [_first_call(written(folder, "\n" * shift + text)) for shift in range(several)]
        except Exception as failure:
            table.failed(f"{name:24}", failure)
            continue
        milliseconds, lines = 1e3 * statistics.median(t for t, _ in times), times[0][1]
        table.row(name, lines, milliseconds, milliseconds / lines)
    return table.rows


def _first_call(file: Path) -> tuple[float, int]:
    """Seconds of compilation, and the number of lines of the function. The file must be new: variants belong to the code."""
    kernel = load(file)
    args = kernel.args(np.random.default_rng(0), *kernel.SIZES["tiny"])
    f = srcdiff.value_and_grad(kernel.loss, argnums=kernel.ARGNUMS)
    first = once(lambda: f(*args))
    lines = [line for _, _, line in kernel.loss.__code__.co_lines() if line]
    return first - min(once(lambda: f(*args)) for _ in range(3)), max(lines) - min(lines)


def import_time(rounds: int) -> list[dict[str, Any]]:
    """A process of its own that imports NumPy, and one that imports srcdiff."""
    table = Table("import", {"module": 12, "ms": 8, "/numpy": 8})
    times: dict[str, list[float]] = {"numpy": [], "srcdiff": []}
    code = "import time; start = time.perf_counter(); import {0}; print(time.perf_counter() - start)"
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    for _ in range(rounds + 1):
        for module, several in times.items():
            command = [sys.executable, "-c", code.format(module)]
            several.append(float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout))
    # The first of each may have read from the disk or written bytecode.
    numpy, ours = (1e3 * statistics.median(several[1:]) for several in times.values())
    table.row("numpy", numpy, 1.0)
    table.row("srcdiff", ours, ours / numpy)
    return table.rows


def memory(sizes: list[str]) -> list[dict[str, Any]]:
    """The peak of what is allocated while value and gradient run, against the arrays that the algorithm works on."""
    table = Table("memory", {"sweep": 26, "n": 4, "arrays KB": 10, "primal KB": 10, "peak KB": 9, "/arrays": 8})
    for name, sweep in SWEEPS.items():
        f = srcdiff.value_and_grad(sweep.loss, argnums=sweep.argnums)
        for n in (SWEPT[size] for size in sizes):
            args = sweep.args(np.random.default_rng(0), n)
            try:
                call = f.compile(*args)
                call(*sweep.args(np.random.default_rng(0), 4))
                peak = _peak(partial(call, *args)) / 1e3
                primal = _peak(partial(sweep.loss, *deepcopy(args))) / 1e3
            except Exception as failure:
                table.failed(f"{name:26} {n:4}", failure)
                continue
            arrays = 8 * sweep.works_on(n) / 1e3
            table.row(name, n, arrays, primal, peak, peak / arrays)
    return table.rows


def _peak(call: Callable[[], Any]) -> int:
    """The most bytes that are allocated at once while something runs."""
    gc.collect()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# ---------------------------------------------------------------- functions made for the purpose


def made(folder: Path, names: str, expression: str) -> Any:
    """The gradient, by the first parameter, of a function that returns the expression."""
    text = f"import numpy as np\n\ndef loss({names}):\n    return {expression}\n"
    return srcdiff.grad(load(written(folder, text)).loss)


def written(folder: Path, text: str) -> Path:
    file = folder / f"made_{len(list(folder.glob('*.py')))}.py"
    file.write_text(text, encoding="utf-8")
    return file


STRAIGHT_LINE = """\
import numpy as np

ARGNUMS = (0, 1)
SIZES = {"tiny": (3,)}


def args(rng, n):
    return rng.normal(size=n), rng.normal(size=n)


def loss(x, w):
"""


def straight_line(lines: int) -> str:
    """A program of that many different statements on arrays, each reading the last two values."""
    forms = ("np.sin({0}) * {1}", "{0} + 0.5 * {1}", "np.tanh({0} - {1})", "{0} * {1} / (1.0 + {1} * {1})", "np.exp(-{0} * {0})")
    body = ["x0 = x", "x1 = w * x"]
    body += [f"x{i} = {forms[i % len(forms)].format(f'x{i - 1}', f'x{i - 2}')}" for i in range(2, lines - 1)]
    body = body[: lines - 1] + [f"return np.sum(x{lines - 2})"]
    return STRAIGHT_LINE + "".join(f"    {line}\n" for line in body)


def load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---------------------------------------------------------------- results


def gap(found: Any, expected: Any) -> float:
    """The largest difference of two leaves, relative to the leaf's largest entry."""
    pairs = list(zip(leaves(found), leaves(expected), strict=True))
    if any(np.shape(a) != np.shape(b) for a, b in pairs):
        return math.inf
    return max(float(np.max(np.abs(np.subtract(a, b)))) / max(float(np.max(np.abs(b))), 1e-30) for a, b in pairs)


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (tuple, list, dict)):
        for child in value.values() if isinstance(value, dict) else value:
            yield from leaves(child)
    else:
        yield value


class Table:
    """Rows that are printed as they come."""

    def __init__(self, title: str, columns: dict[str, int]) -> None:
        self.columns = columns
        self.rows: list[dict[str, Any]] = []
        print(f"\n{title}")
        self._print(columns)

    def row(self, *cells: Any) -> None:
        self.rows.append(dict(zip(self.columns, cells, strict=True)))
        self._print(f"{cell:.{2 if abs(cell) < 100 else 0}f}" if isinstance(cell, float) else str(cell) for cell in cells)

    def _print(self, texts: Iterable[str]) -> None:
        first, *others = (f"{text:>{width}}" for text, width in zip(texts, self.columns.values(), strict=True))
        print(f"{first.strip():<{len(first)}}", *others, flush=True)

    def failed(self, what: str, error: Exception) -> None:
        print(f"{what} fails: {type(error).__name__}: {(str(error).strip() or '-').splitlines()[0]}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    names = f"sections ({', '.join(SECTIONS)}) and kernels ({', '.join(KERNELS)})"
    parser.add_argument("--only", default="", help=f"only these {names}, with commas")
    parser.add_argument("--size", default="tiny,medium", help="tiny, medium, large, with commas, or all; default tiny,medium")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of which the median is taken; default 15")
    parser.add_argument("--json", metavar="FILE", help="write the rows to this file too")
    options = parser.parse_args()

    wanted = [name for name in options.only.split(",") if name]
    if unknown := set(wanted) - {*SECTIONS, *KERNELS}:
        parser.error(f"nothing is called {', '.join(sorted(unknown))}")
    kernels = [name for name in KERNELS if name in wanted] or KERNELS
    sections = [name for name in SECTIONS if name in wanted] or (["speed", "compile"] if wanted else list(SECTIONS))
    sizes = ["tiny", "medium", "large"] if options.size == "all" else options.size.split(",")
    if options.rounds < 1 or not set(sizes) <= {"tiny", "medium", "large"}:
        parser.error("--size takes tiny, medium, large or all, and --rounds a positive number")

    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}, {options.rounds} rounds")
    with tempfile.TemporaryDirectory(prefix="srcdiff-benchmark-") as made_here:
        folder = Path(made_here)
        measure: dict[str, Callable[[], list[dict[str, Any]]]] = {
            "speed": lambda: speed(kernels, sizes, options.rounds),
            "dispatch": lambda: dispatch(folder, options.rounds),
            "compile": lambda: compile_time(folder, kernels, options.rounds),
            "import": lambda: import_time(options.rounds),
            "memory": lambda: memory(sizes),
        }
        results = {section: measure[section]() for section in sections}
    if options.json:
        about = {"python": platform.python_version(), "numpy": np.__version__, "machine": platform.machine()}
        Path(options.json).write_text(
            json.dumps({**about, "rounds": options.rounds, **results}, indent=1) + "\n", encoding="utf-8"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
