"""Checks a program: the value against plain Python's, the gradient against central differences.

check(program)  →  Outcome("fine"), or "wrong", "crash", "refused", "unusable" (no program to judge by), with a reason
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import srcdiff
from srcdiff.errors import InternalError, SrcdiffError
from tests.random.program import Program

LARGEST = 1e6
STEP = 2e-4
SECONDS = 10.0


@dataclass(frozen=True)
class Outcome:
    sort: str  # "fine", "wrong", "crash", "refused", "unusable" or "slow"
    reason: str = ""
    detail: str = ""

    @property
    def is_failure(self) -> bool:
        return self.sort in ("wrong", "crash")


class Unusable(Exception):
    """Plain Python raises here, or the value is not finite, or not smooth: nothing to compare with."""


class Wrong(Exception):
    pass


class _TooSlow(BaseException):
    """Passes through the handlers of Exception, here and in srcdiff."""


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(signum: int, frame: Any) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def check(program: Program) -> Outcome:
    """What srcdiff makes of a program, also with arguments of other lengths, and of the first ones again."""
    try:
        with _limited(SECONDS):
            return _check(program)
    except _TooSlow:
        return Outcome("slow", f"takes more than {SECONDS} s")


def _check(program: Program) -> Outcome:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            loaded = program.load()
            _expected(loaded.f, loaded.args)
        except Exception as error:
            return Outcome("unusable", repr(error))
        gradient = srcdiff.value_and_grad(loaded.f, argnums=program.argnums)
        others = [resized(loaded.args, old, new) for old, new in ((3, 5), (3, 1), (1, 2))]
        try:
            smooth = _compare(gradient, loaded.f, loaded.args, program.argnums)
            for args in (*others, loaded.args):
                try:
                    _expected(loaded.f, args)
                except Exception:
                    continue
                smooth &= _compare(gradient, loaded.f, args, program.argnums)
            _compare_pullback(loaded.f, loaded.args, program.argnums)
            _compare_forward(gradient, loaded.f, loaded.args, program.argnums)
        except Wrong as error:
            return Outcome("wrong", str(error).split("\n")[0], str(error) + "\n" + _sources(gradient))
        except InternalError as error:
            return Outcome("crash", _first_line(error), traceback.format_exc())
        except SrcdiffError as error:
            return Outcome("refused", error.what, str(error))
        except Exception as error:
            return Outcome("crash", _first_line(error), traceback.format_exc() + "\n" + _sources(gradient))
        return Outcome("fine", "" if smooth else "not smooth")


def _first_line(error: Exception) -> str:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "srcdiff" in f.filename]
    place = f" ({frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}{place}"


def _sources(gradient: Any) -> str:
    return "\n".join(live.variant.source for live in gradient._lives)


# ---------------------------------------------------------------- the comparisons


def _expected(f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        value = f(*copy.deepcopy(args))
    if np.shape(value) != () or np.asarray(value).dtype.kind != "f" or not abs(value) < LARGEST:
        raise Unusable(f"value {value!r}")
    return value


def _compare(gradient: Any, f: Callable[..., Any], args: tuple[Any, ...], argnums: tuple[int, ...]) -> bool:
    """Compare value and gradient at a point; whether f is smooth there, so that the gradient was compared."""
    given = copy.deepcopy(args)
    value, bars = gradient(*given)
    if not same(given, args):
        raise Wrong("an argument was changed")
    expected = _expected(f, args)
    is_single = any(leaf.dtype == np.float32 for leaf in leaves(args))
    if not np.allclose(value, expected, rtol=1e-4 if is_single else 1e-10, atol=1e-5 if is_single else 1e-12):
        raise Wrong(f"value: got {value!r}, want {expected!r}")
    if np.asarray(value).dtype != np.asarray(expected).dtype:
        raise Wrong(f"dtype of the value: got {np.asarray(value).dtype}, want {np.asarray(expected).dtype}")
    for n, bar in zip(argnums, bars):
        _compare_structure(bar, args[n], f"argument {n}")
    if not same(gradient(*given), (value, bars)):
        raise Wrong("a second call gives something else")
    return _compare_differences(f, args, argnums, bars, is_single)


def _compare_pullback(f: Callable[..., Any], args: tuple[Any, ...], argnums: tuple[int, ...]) -> None:
    value, pullback = srcdiff.vjp(f, *args, argnums=argnums)
    seed = type(value)(2.0) if np.ndim(value) == 0 and not isinstance(value, np.ndarray) else np.full_like(value, 2.0)
    first, second = pullback(seed), pullback(seed)
    if not same(first, second):
        raise Wrong("the pullback gives something else at its second call")
    for n, bar in zip(argnums, first):
        _compare_structure(bar, args[n], f"pullback, argument {n}")
    expected = srcdiff.grad(f, argnums=argnums)(*args)
    precision = 1e-4 if any(leaf.dtype == np.float32 for leaf in leaves(args)) else 1e-9
    for a, b in zip(leaves(first), leaves(expected)):
        if not np.allclose(a, 2.0 * b, rtol=precision, atol=1e-6, equal_nan=True):
            raise Wrong(f"pullback: got {a!r}, twice the gradient is {2.0 * b!r}")


def _compare_forward(gradient: Any, f: Callable[..., Any], args: tuple[Any, ...], argnums: tuple[int, ...]) -> None:
    """Forward mode gives the value, and the tangent that the gradient gives along a random direction."""
    rng = np.random.default_rng(3)
    dots = tuple(like_argument(args[n], direction(args[n], rng)) for n in argnums)
    given = copy.deepcopy((args, dots))
    value, tangent = srcdiff.jvp(f, args, dots, argnums=argnums)
    if not same((args, dots), given):
        raise Wrong("forward mode changed an argument or a tangent")
    expected, bars = gradient(*args)
    is_single = any(leaf.dtype == np.float32 for leaf in leaves(args))
    if not np.allclose(value, expected, rtol=1e-4 if is_single else 1e-10, atol=1e-5 if is_single else 1e-12, equal_nan=True):
        raise Wrong(f"value of forward mode: got {value!r}, want {expected!r}")
    products = [np.vdot(bar, dot) for bars_, dots_ in zip(bars, dots) for bar, dot in zip(leaves(bars_), leaves(dots_))]
    want, scale = float(sum(products)), 1.0 + sum(abs(float(p)) for p in products)
    if np.isfinite(want) and not abs(float(tangent) - want) <= (1e-3 if is_single else 1e-8) * scale:
        raise Wrong(f"forward mode: got {tangent!r}, reverse mode gives {want!r}\n{_forward_source(f, args, argnums)}")
    _, linear = srcdiff.linearize(f, *args, argnums=argnums)
    for _ in range(2):
        again = linear(*dots)
        if not np.allclose(again, tangent, rtol=1e-4 if is_single else 1e-9, atol=1e-6, equal_nan=True):
            raise Wrong(f"linearize: got {again!r}, jvp gives {tangent!r}\n{linear.source}")
    if np.asarray(tangent).dtype != np.asarray(value).dtype:
        raise Wrong(f"dtype of the tangent: got {np.asarray(tangent).dtype}, want {np.asarray(value).dtype}")


def like_argument(tree: Any, dots: Any) -> Any:
    """A direction in the dtypes of the arguments."""
    steps = iter(leaves(dots))
    return mapped(tree, lambda x: np.asarray(next(steps), x.dtype if hasattr(x, "dtype") else float)[()] if is_float(x) else x)


def _forward_source(f: Callable[..., Any], args: tuple[Any, ...], argnums: tuple[int, ...]) -> str:
    return str(srcdiff.jvp(f, argnums=argnums).source_for(*args))


def _compare_differences(
    f: Callable[..., Any], args: tuple[Any, ...], argnums: tuple[int, ...], bars: Any, is_single: bool
) -> bool:
    point = widened(args)
    try:
        value = float(f(*copy.deepcopy(point)))
    except Exception:
        return False
    if not np.isclose(value, float(f(*copy.deepcopy(args))), rtol=1e-3, atol=1e-3):
        return False  # precision decides which way it goes
    rng = np.random.default_rng(0)
    directions = {n: direction(point[n], rng) for n in argnums}
    is_smooth = True
    for chosen in [argnums, *([(n,) for n in argnums] if len(argnums) > 1 else [])]:
        slopes = [s for h in (STEP, STEP / 2, STEP / 20) for s in _slopes(f, point, value, {n: directions[n] for n in chosen}, h)]
        products = [np.vdot(bar, dot) for n in chosen for bar, dot in zip(leaves(bars[argnums.index(n)]), leaves(directions[n]))]
        got = float(sum(products))
        scale = 1.0 + sum(abs(float(p)) for p in products)
        if not _is_smooth(slopes):
            is_smooth = False
            continue
        central = [(slopes[n] + slopes[n + 1]) / 2 for n in (0, 2)]
        want = (4 * central[1] - central[0]) / 3
        tolerance = (2e-2 if is_single else 1e-5) * scale + 10 * abs(central[1] - central[0])
        if not abs(got - want) <= tolerance:
            raise Wrong(f"gradient by {chosen}: got {got!r}, want {want!r}\n  gradient {bars!r}")
    return is_smooth


def _is_smooth(slopes: list[float]) -> bool:
    """Whether slopes to both sides, at steps h, h / 2 and h / 20, are those of a smooth function: they meet as h shrinks."""
    if not all(np.isfinite(slopes)):
        return False
    size = 1.0 + max(map(abs, slopes))
    wide, narrow = abs(slopes[0] - slopes[1]), abs(slopes[4] - slopes[5])
    return max(slopes) - min(slopes) < 0.03 * size and narrow < 0.2 * wide + 1e-7 * size


def _slopes(
    f: Callable[..., Any], point: tuple[Any, ...], value: float, directions: dict[int, Any], h: float
) -> tuple[float, float]:
    """The differences to both sides: they differ at a corner."""
    found = []
    for step in (h, -h):
        args = tuple(moved(a, directions[n], step) if n in directions else copy.deepcopy(a) for n, a in enumerate(point))
        try:
            found.append((float(f(*args)) - value) / step)
        except Exception:
            found.append(float("nan"))
    return found[0], found[1]


def _compare_structure(bar: Any, arg: Any, where: str) -> None:
    if is_float(arg):
        want = np.asarray(arg)
        dtypes = (
            (np.float64, np.float32) if type(arg) is float else (want.dtype,)
        )  # a Python number takes the precision of what it meets
        if np.shape(bar) != want.shape or np.asarray(bar).dtype not in dtypes:
            raise Wrong(f"{where}: shape and dtype {np.shape(bar)} {np.asarray(bar).dtype}, want {want.shape} {want.dtype}")
        if isinstance(arg, np.ndarray) and arg.ndim and not isinstance(bar, np.ndarray):
            raise Wrong(f"{where}: got {type(bar)}")
        return
    parts = list(children(arg))
    if not parts and not isinstance(arg, (list, tuple, dict)):
        if bar is not None:
            raise Wrong(f"{where}: got {bar!r}, want None")
        return
    got = list(children(bar))
    if type(bar) is not type(arg) or [k for k, _ in got] != [k for k, _ in parts]:
        raise Wrong(f"{where}: structure {bar!r}, want that of {arg!r}")
    for (key, inner), (_, part) in zip(got, parts):
        _compare_structure(inner, part, f"{where}[{key!r}]")


# ---------------------------------------------------------------- trees of arguments


def is_float(x: Any) -> bool:
    return isinstance(x, float) or (isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind == "f")


def children(tree: Any) -> Iterator[tuple[Any, Any]]:
    match tree:
        case dict():
            yield from tree.items()
        case tuple() | list():
            yield from enumerate(tree)
        case _ if dataclasses.is_dataclass(tree):
            yield from ((f.name, getattr(tree, f.name)) for f in dataclasses.fields(tree))


def mapped(tree: Any, change: Callable[[Any], Any]) -> Any:
    """The tree with each number and array changed."""
    match tree:
        case dict():
            return {k: mapped(v, change) for k, v in tree.items()}
        case tuple() if hasattr(tree, "_fields"):
            return type(tree)(*(mapped(v, change) for v in tree))
        case tuple() | list():
            return type(tree)(mapped(v, change) for v in tree)
        case _ if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
            return type(tree)(**{k: mapped(v, change) for k, v in children(tree)})
        case _:
            return change(tree)


def leaves(tree: Any) -> list[np.ndarray]:
    """The real numbers and arrays of a tree."""
    if is_float(tree):
        return [np.asarray(tree)]
    return [leaf for _, part in children(tree) for leaf in leaves(part)]


def same(a: Any, b: Any) -> bool:
    """Whether two trees hold the same values, NaNs included."""
    parts, others = list(children(a)), list(children(b))
    if parts or others:
        return [k for k, _ in parts] == [k for k, _ in others] and all(same(x, y) for (_, x), (_, y) in zip(parts, others))
    if isinstance(a, (np.ndarray, np.generic, float)):
        return np.shape(a) == np.shape(b) and np.array_equal(
            np.asarray(a), np.asarray(b), equal_nan=np.asarray(a).dtype.kind == "f"
        )
    return a is b or bool(a == b)


def widened(tree: Any) -> Any:
    """In double precision, for the differences."""
    return mapped(tree, lambda x: x.astype(np.float64) if is_float(x) and not isinstance(x, float) else copy.deepcopy(x))


def direction(tree: Any, rng: np.random.Generator) -> Any:
    return mapped(tree, lambda x: rng.normal(size=np.shape(x)) if is_float(x) else x)


def moved(tree: Any, by: Any, h: float) -> Any:
    steps = iter(leaves(by))

    def change(x: Any) -> Any:
        if not is_float(x):
            return copy.deepcopy(x)
        there = np.asarray(x) + h * next(steps)
        return type(x)(there) if isinstance(x, (float, np.generic)) else there

    return mapped(tree, change)


def resized(tree: Any, old: int, new: int) -> Any:
    """The tree with all axes of one length given another."""
    rng = np.random.default_rng(1)

    def change(x: Any) -> Any:
        if not isinstance(x, np.ndarray):
            return copy.deepcopy(x)
        for axis, n in enumerate(x.shape):
            if n == old:
                x = np.take(x, np.arange(new) % old, axis=axis)
                if x.dtype.kind == "f":  # no ties
                    added = (np.arange(new) >= old).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
                    x = (x + added * rng.uniform(-0.2, 0.2, x.shape)).astype(x.dtype)
        return x.copy()

    return mapped(tree, change)
