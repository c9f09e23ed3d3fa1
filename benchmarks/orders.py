"""Measure what derivatives of each sort cost: gradient/primal, jvp/primal, hvp/gradient, Hessian/gradient.

    python benchmarks/orders.py
    python benchmarks/orders.py --only pendulum --size all --rounds 31
    python benchmarks/orders.py --kernels FOLDER --jax

A folder of other kernels holds files with `loss` and `SIZES`, and either `args(rng, *size)` and `ARGNUMS` as here, or
`make_args(name_of_size, rng)` and `argnums`. README.md says how to read what is printed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import types
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

for library in ("OMP", "OPENBLAS", "MKL"):  # before NumPy is imported
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import numpy as np  # noqa: E402
from run import Table, gap, load  # noqa: E402
from timing import medians  # noqa: E402

import srcdiff  # noqa: E402
from srcdiff.proofs.numeric import direction_like  # noqa: E402

RATIOS = {"grad/primal": ("grad", "primal"), "jvp/primal": ("jvp", "primal"), "hvp/grad": ("hvp", "grad")}
WIDEST = 64  # the longest argument whose whole Hessian is measured


def kernel_of(file: Path, size: str) -> tuple[Any, tuple[int, ...], tuple[Any, ...]]:
    """The module of a kernel, what it is differentiated by, and its arguments."""
    kernel = load(file)
    rng = np.random.default_rng(0)
    if hasattr(kernel, "make_args"):
        argnums = kernel.argnums if isinstance(kernel.argnums, tuple) else (kernel.argnums,)
        return kernel, argnums, kernel.make_args(size, rng)
    argnums = kernel.ARGNUMS if isinstance(kernel.ARGNUMS, tuple) else (kernel.ARGNUMS,)
    return kernel, argnums, kernel.args(rng, *kernel.SIZES[size])


def calls_of(kernel: Any, argnums: tuple[int, ...], args: tuple[Any, ...]) -> dict[str, Callable[[], Any]]:
    """The primal and its derivatives, as compiled functions of no arguments."""
    f = kernel.loss
    v = direction(argnums, args)
    along = srcdiff.jvp(f, argnums=argnums)
    dots = _tangent_names(along, args)
    calls: dict[str, Callable[[], Any]] = {
        "primal": partial(f, *args),
        "grad": partial(srcdiff.grad(f, argnums).compile(*args), *args),
        "jvp": partial(along.compile(*args), *args, **dict(zip(dots, v))),
        "hvp": partial(srcdiff.hvp(f, argnums).compile(*args, v), *args, v),
    }
    first = args[argnums[0]]
    if isinstance(first, (float, np.ndarray)) and np.size(first) <= WIDEST:
        calls["hessian"] = partial(srcdiff.hessian(f, argnums[0]).compile(*args), *args)
    return calls


def _tangent_names(along: Any, args: tuple[Any, ...]) -> list[str]:
    """The keyword parameters of the tangents in the emitted function."""
    code = along.compile(*args).__code__
    return list(code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])


def direction(argnums: tuple[int, ...], args: tuple[Any, ...]) -> tuple[Any, ...]:
    rng = np.random.default_rng(1)
    return tuple(direction_like(rng, args[n]) for n in argnums)


def calls_of_jax(kernel: Any, argnums: tuple[int, ...], args: tuple[Any, ...]) -> dict[str, Callable[[], Any]]:
    """The same by JAX, jitted; where the kernel has no `make_jax`, its text runs under jax.numpy."""
    import jax

    jax.config.update("jax_cpu_enable_async_dispatch", False)
    numpy = jax.numpy
    f = kernel.make_jax() if hasattr(kernel, "make_jax") else _under(kernel.loss, numpy)
    static = {n for n, x in enumerate(args) if isinstance(x, (int, tuple)) and n not in argnums}
    given = [x if n in static else jax.tree_util.tree_map(numpy.asarray, x) for n, x in enumerate(args)]
    v = jax.tree_util.tree_map(numpy.asarray, direction(argnums, args))
    moving = tuple(n for n in range(len(args)) if n not in static)

    def whole(rest: tuple[Any, ...], *xs: Any) -> Any:
        full = list(given)
        for n, x in (*zip(moving, rest), *zip(argnums, xs)):
            full[n] = x
        return f(*full)

    every = tuple(range(1, 1 + len(argnums)))
    g = jax.grad(whole, every)
    xs, rest = tuple(given[n] for n in argnums), tuple(given[n] for n in moving)
    primal, gradient = jax.jit(whole), jax.jit(g)
    along = jax.jit(lambda rest, xs, v: jax.jvp(partial(whole, rest), xs, v))
    product = jax.jit(lambda rest, xs, v: jax.jvp(partial(g, rest), xs, v)[1])
    wait = jax.block_until_ready
    return {
        "primal": lambda: wait(primal(rest, *xs)),
        "grad": lambda: wait(gradient(rest, *xs)),
        "jvp": lambda: wait(along(rest, xs, v)),
        "hvp": lambda: wait(product(rest, xs, v)),
    }


def _sorted(value: Any) -> Any:
    """A result with its dicts in the order of their keys, as JAX has them."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return type(value)(map(_sorted, value)) if type(value) in (list, tuple) else value


def _under(f: Any, numpy: Any) -> Any:
    """A function with another NumPy, also in the functions of its module that it calls."""
    own = {**f.__globals__, "np": numpy, "math": numpy}
    for name, value in f.__globals__.items():
        if isinstance(value, types.FunctionType) and value.__module__ == f.__module__:
            own[name] = types.FunctionType(value.__code__, own, name, value.__defaults__)
    return types.FunctionType(f.__code__, own, f.__name__, f.__defaults__)


def measure(files: list[Path], sizes: list[str], rounds: int, *, with_jax: bool) -> list[dict[str, Any]]:
    columns = {"kernel": 20, "size": 7, "primal µs": 11, **dict.fromkeys(RATIOS, 12), "hess/grad": 10}
    if with_jax:
        columns |= {"jax grad/p": 11, "jax hvp/g": 10, "hvp/jax hvp": 12}
    table = Table("orders", columns)
    for size in sizes:
        for file in files:
            kernel, argnums, args = kernel_of(file, size)
            try:
                calls = calls_of(kernel, argnums, args)
                theirs = calls_of_jax(kernel, argnums, args) if with_jax else {}
                if theirs and not gap(_sorted(calls["hvp"]()), _sorted(theirs["hvp"]())) < 1e-8:
                    raise ValueError("JAX's product with the Hessian is another")
            except Exception as failure:
                table.failed(f"{file.stem:20} {size:7}", failure)
                continue
            times = medians({**calls, **{f"jax {name}": call for name, call in theirs.items()}}, rounds)
            row = [1e6 * times["primal"], *(times[a] / times[b] for a, b in RATIOS.values())]
            row.append(times["hessian"] / times["grad"] if "hessian" in times else math.nan)
            if theirs:
                row += [times["jax grad"] / times["jax primal"], times["jax hvp"] / times["jax grad"]]
                row.append(times["hvp"] / times["jax hvp"])
            table.row(file.stem, size, *row)
    for column in RATIOS:
        if table.rows:
            print(f"geometric mean of {column}: {math.exp(statistics.fmean(math.log(r[column]) for r in table.rows)):.2f}")
    return table.rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kernels", type=Path, default=HERE / "kernels", help="a folder of kernels; default the ones here")
    parser.add_argument("--only", default="", help="only these kernels, with commas")
    parser.add_argument("--size", default="medium", help="tiny, medium, large, with commas, or all; default medium")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of which the median is taken; default 15")
    parser.add_argument("--jax", action="store_true", help="JAX beside them, jitted")
    parser.add_argument("--json", metavar="FILE", help="write the rows to this file too")
    options = parser.parse_args()
    wanted = [name for name in options.only.split(",") if name]
    files = sorted(file for file in options.kernels.glob("*.py") if not wanted or file.stem in wanted)
    sizes = ["tiny", "medium", "large"] if options.size == "all" else options.size.split(",")
    if not files or options.rounds < 1 or not set(sizes) <= {"tiny", "medium", "large"}:
        parser.error("there are no such kernels, sizes or rounds")
    rows = measure(files, sizes, options.rounds, with_jax=options.jax)
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
