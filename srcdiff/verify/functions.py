"""Proofs of whole functions: the emitted source runs on symbols, and each entry is compared with SymPy's derivative.

    verify(loss, w, b, X, y, argnums=(0, 1))   →   Report: gradient of `loss` by w, b: proved

Every float in the arguments becomes a symbol, integers stay. Long axes are shortened, equal lengths to equal ones and none to
1. A comparison in the primal is decided by the example's values, moved a little so that nothing ties; the report states how.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import linecache
import math
import random
import sys
import time
import traceback
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from srcdiff.errors import KindError, NotDifferentiable
from srcdiff.verify.derivatives import Derivatives
from srcdiff.verify.formulas import on_piece
from srcdiff.verify.namespaces import function_of_source, translated_function
from srcdiff.verify.pieces import Piece, Tie
from srcdiff.verify.polynomials import Undecided
from srcdiff.verify.report import Entry, Report
from srcdiff.verify.symbolic import DataDependent, NotSymbolic, SymbolArray, entries, symbols

MAX_SYMBOLS = 60
MAX_UNSHORTENED = 200
PIECES = 3


@dataclass(frozen=True)
class Emitted:
    """The source of a gradient function that takes what the primal takes, its name, and what its free names stand for."""

    source: str
    name: str
    names: Mapping[str, Any]


def verify_emitted(
    primal: Callable[..., Any],
    emitted: Emitted | Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    argnums: int | Sequence[int],
) -> Report:
    """Prove an emitted gradient (or any gradient function that is plain NumPy code) of a primal, near example arguments."""
    start = time.perf_counter()
    by = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    by = tuple(i % len(args) for i in by)
    names = _parameter_names(primal, len(args))
    for limit in (MAX_SYMBOLS, None):
        trial = Trial(primal, emitted, args, kwargs, by, isinstance(argnums, int), names, limit)
        try:
            reports = _on_some_pieces(trial)
            break
        except _ShapesDoNotFit as error:
            if limit is None or not trial.is_shortened:
                raise error.cause from None
    last = reports[-1] if not reports[-1].proved else reports[0]
    return dataclasses.replace(last, pieces=len(reports), seconds=time.perf_counter() - start)


def _on_some_pieces(trial: Trial) -> list[Report]:
    """A report for the piece of the example, and for some others near it; it ends with the first that is not proved."""
    reports: list[Report] = []
    seen: set[Any] = set()
    for seed in range(3 * PIECES):
        try:
            decisions, report = trial.at(seed, skip=seen)
        except Tie:
            continue
        except Exception:
            if reports:  # a point farther off, outside the domain
                continue
            raise
        if report is not None:
            seen.add(decisions)
            reports.append(report)
        if reports and (not reports[-1].proved or not decisions or len(reports) == PIECES):
            break
    return reports or [trial.report(unproved=["every point that was tried lies where pieces meet"])]


class _ShapesDoNotFit(Exception):
    """The primal raises on shortened arguments."""

    def __init__(self, cause: BaseException) -> None:
        self.cause = cause


class Trial:
    """A primal and its gradient on symbols in the shapes of example arguments."""

    def __init__(
        self, primal: Callable[..., Any], emitted: Emitted | Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any],
        by: tuple[int, ...], is_single: bool, names: Sequence[str], limit: int | None,
    ) -> None:  # fmt: skip
        self.primal, self.emitted, self.by, self.is_single, self.names = primal, emitted, by, is_single, names
        self.leaves: list[tuple[str, Any]] = []
        given = [*zip(names, args), *kwargs.items()]
        for name, value in given:
            map_leaves(value, name, lambda path, leaf: self.leaves.append((path, leaf)))
        total = _total([np.shape(leaf) for _, leaf in self.leaves if is_float(leaf)], None)
        if limit is None and total > MAX_UNSHORTENED:
            raise KindError(
                f"`{_name(primal)}` can only be proved for its example arguments as they are, and these have {total} numbers",
                why="On arrays of shorter axes the function raises an exception.",
                instead=f"give example arguments of at most {MAX_UNSHORTENED} numbers.",
            )
        self.lengths = shortened([np.shape(leaf) for _, leaf in self.leaves if is_float(leaf)], limit)
        self.is_shortened = any(n != m for n, m in self.lengths.items())
        self.symbols: dict[str, SymbolArray] = {}
        self.example: dict[Any, float] = {}
        self.args = [map_leaves(a, n, self._symbols) for n, a in zip(names, args)]
        self.kwargs = {n: map_leaves(a, n, self._symbols) for n, a in kwargs.items()}

    def _symbols(self, path: str, leaf: Any) -> Any:
        if isinstance(leaf, np.ndarray) and leaf.dtype.kind in "iub" and leaf.ndim:
            return leaf[tuple(slice(0, self.lengths.get(n, n)) for n in leaf.shape)]
        if not is_float(leaf):
            return leaf
        part = leaf[tuple(slice(0, self.lengths[n]) for n in np.shape(leaf))] if np.ndim(leaf) else leaf
        array = symbols(path, np.shape(part))
        array.is_number = isinstance(leaf, float) and not isinstance(leaf, np.floating)
        self.symbols[path] = array
        self.example.update(zip(array.data.flat, np.ravel(part).tolist()))
        return array.copy()

    def at(self, seed: int, skip: set[Any]) -> tuple[Any, Report | None]:
        """How the comparisons come out at a point, and the report there; None if they came out so before."""
        piece = Piece(point_near(self.example, seed))
        decisions: list[tuple[str, Any]] = []
        conditions: list[str] = []

        def hear(what: str, outcome: Any) -> None:
            decisions.append((what, outcome))
            conditions.append(_condition(what, outcome))

        with on_piece(piece, hear):
            value = self._value()
        if not _is_real(piece.value(value)):
            raise NotDifferentiable(f"`{_name(self.primal)}` is not a real number near the example arguments")
        if tuple(decisions) in skip:
            return tuple(decisions), None
        with on_piece(piece):
            return tuple(decisions), self._compare(piece, value, [c for c in conditions if c])

    def _value(self) -> Any:
        fn, args, kwargs = plain_function(self.primal, self._fresh(self.args), self._fresh(self.kwargs))
        run = translated_function(fn)
        try:
            value = run(*args, **kwargs)
        except Tie:
            raise
        except DataDependent as error:
            raise _data_dependent(error, fn) from None
        except (NotSymbolic, Undecided) as error:
            raise _no_symbols(error, fn) from None
        except Exception as error:
            raise _ShapesDoNotFit(error) from error
        value = value[0] if isinstance(value, tuple) else value
        if np.shape(value) != () or not isinstance(value, SymbolArray):
            what = f"`{_name(self.primal)}` gives no number that depends on its arguments"
            raise NotDifferentiable(what, why=f"It gives {value!r}.")
        return entries(value)[()]

    def _fresh(self, value: Any) -> Any:
        return map_leaves(value, "", lambda _, leaf: leaf.copy() if isinstance(leaf, (SymbolArray, np.ndarray)) else leaf)

    def _gradient(self) -> list[Any]:
        fn = self.emitted
        if isinstance(fn, Emitted):
            run = function_of_source(fn.source, fn.name, fn.names)
        else:
            assert isinstance(fn, types.FunctionType)
            run = translated_function(fn)
        result = run(*self._fresh(self.args), **self._fresh(self.kwargs))
        return [result] if self.is_single else list(result)

    def _compare(self, piece: Piece, value: Any, conditions: Sequence[str]) -> Report:
        found: list[Entry] = []
        unproved: list[str] = []
        try:
            for i, part in zip(self.by, self._gradient(), strict=True):
                pairs: list[tuple[str, Any, Any]] = []
                _pair(self.args[i], part, self.names[i], pairs)
                for path, leaf, x_bar in pairs:
                    found += self._entries(piece, value, path, leaf, x_bar)
        except Tie:
            raise
        except _Mismatch as error:
            unproved.append(str(error))
        except Exception as error:  # whatever the source does on symbols
            unproved.append(f"the source does not run on symbols: {type(error).__name__}: {error}{_place_of(error)}")
        if not found and not unproved:
            unproved.append("no argument has a gradient")
        return self.report(found, conditions, unproved)

    def report(self, found: Sequence[Entry] = (), conditions: Sequence[str] = (), unproved: Sequence[str] = ()) -> Report:
        full = tuple((path, np.shape(leaf)) for path, leaf in self.leaves if is_float(leaf))
        shapes = tuple((path, self.symbols[path].shape) for path, _ in full)
        by = tuple(self.names[i] for i in self.by)
        return Report(_name(self.primal), by, tuple(found), shapes, full, tuple(dict.fromkeys(conditions)), tuple(unproved))

    def _entries(self, piece: Piece, value: Any, path: str, leaf: Any, x_bar: Any) -> Iterator[Entry]:
        if x_bar is None or not isinstance(leaf, SymbolArray):
            if isinstance(leaf, SymbolArray):
                raise _Mismatch(f"{path} has no gradient")
            return
        if np.shape(x_bar) != leaf.shape:
            raise _Mismatch(f"the gradient by {path} has shape {np.shape(x_bar)} instead of {leaf.shape}")
        for symbol, got in zip(self.symbols[path].data.flat, entries(x_bar).flat):
            yield _entry(piece, str(symbol), got, Derivatives(symbol).of(value))


def _entry(piece: Piece, name: str, got: Any, true: Any) -> Entry:
    if piece.differs(got, true):
        numbers = f"{float(piece.value(got)):.10g} instead of {float(piece.value(true)):.10g}"
        at = ", ".join(f"{s} = {float(v):.4g}" for s, v in list(piece.point.items())[:6])
        return Entry(name, "refuted", f"{numbers} at {at}" + ", …" * (len(piece.point) > 6))
    if piece.vanishes(got, -true):
        return Entry(name, "proved")
    return Entry(name, "open", "numbers agree to 18 digits, but no proof was found")


def _is_real(value: Any) -> bool:
    return bool(np.isfinite(complex(value)) and abs(complex(value).imag) < 1e-30)


class _Mismatch(Exception):
    """A gradient that does not have the structure of the argument."""


# ---------------------------------------------------------------------------------------------------- points and lengths


def point_near(example: Mapping[Any, float], seed: int) -> dict[Any, Fraction]:
    """Rational numbers near the example's (seed 0 nearest), moved so that nothing is zero, equal, or otherwise special."""
    draw = random.Random(seed)
    scale = [0.02, 0.3, 1.0][min(seed, 2)]
    point = {}
    for symbol, value in example.items():
        value = value if np.isfinite(value) else 1.0
        moved = value + scale * draw.choice((-1, 1)) * draw.uniform(0.3, 1) * max(abs(value), 0.1 if seed < 2 else 1.0)
        if seed < 2 and value:  # stay on the example's side of zero, where a logarithm may need it
            moved = abs(moved) * (1 if value > 0 else -1)
        point[symbol] = Fraction(round(moved * 9973) or 1, 9973)
    return point


def shortened(shapes: Sequence[tuple[int, ...]], limit: int | None) -> dict[int, int]:
    """Each length → a short one: 0 and 1 stay, equal lengths stay equal, different ones different where that is cheap."""
    lengths = sorted({n for shape in shapes for n in shape})
    own = {n: n for n in lengths}
    if limit is None or _total(shapes, own) <= limit and max(lengths, default=0) <= 4:
        return own
    long = [n for n in lengths if n > 1]
    choices = [(first, len(long), limit // 3) for first in (5, 4, 3)] + [(2, len(long), limit), (2, 3, limit), (2, 2, limit)]
    for first, different, most in choices:
        choice = own | {n: min(n, first + i % different) for i, n in enumerate(long)}
        if _total(shapes, choice) <= most:
            return choice
    return own | dict.fromkeys(long, 2)


def _total(shapes: Sequence[tuple[int, ...]], lengths: Mapping[int, int] | None) -> int:
    return sum(math.prod(shape if lengths is None else [lengths[n] for n in shape]) for shape in shapes)


def is_float(leaf: Any) -> bool:
    if isinstance(leaf, (bool, int)):
        return False
    return isinstance(leaf, float) or (isinstance(leaf, (np.ndarray, np.floating)) and leaf.dtype.kind == "f")


# ---------------------------------------------------------------------------------------------------- structures


def map_leaves(value: Any, path: str, fn: Callable[[str, Any], Any]) -> Any:
    """`fn(path, leaf)` for each leaf of nested containers, in the same structure."""
    match value:
        case tuple() if hasattr(value, "_fields"):
            return type(value)(*[map_leaves(v, f"{path}.{n}", fn) for n, v in zip(value._fields, value)])
        case tuple() | list():
            return type(value)([map_leaves(v, f"{path}[{i}]", fn) for i, v in enumerate(value)])
        case dict():
            return {k: map_leaves(v, f"{path}[{k!r}]", fn) for k, v in value.items()}
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [f.name for f in dataclasses.fields(value) if f.init]
            return dataclasses.replace(value, **{n: map_leaves(getattr(value, n), f"{path}.{n}", fn) for n in names})
        case _:
            return fn(path, value)


def _pair(argument: Any, gradient: Any, path: str, out: list[tuple[str, Any, Any]]) -> None:
    """The leaves of an argument beside those of its gradient."""
    if gradient is None and not isinstance(argument, SymbolArray):
        map_leaves(argument, path, lambda p, leaf: out.append((p, leaf, None)))
        return
    match argument:
        case tuple() | list():
            if not isinstance(gradient, (tuple, list)) or len(gradient) != len(argument):
                raise _Mismatch(f"the gradient by {path} is no {type(argument).__name__} of {len(argument)}")
            fields = getattr(argument, "_fields", None)
            for i, (a, g) in enumerate(zip(argument, gradient)):
                _pair(a, g, f"{path}.{fields[i]}" if fields else f"{path}[{i}]", out)
        case dict():
            if not isinstance(gradient, dict) or gradient.keys() != argument.keys():
                raise _Mismatch(f"the gradient by {path} has not the keys {list(argument)}")
            for k, a in argument.items():
                _pair(a, gradient[k], f"{path}[{k!r}]", out)
        case _ if dataclasses.is_dataclass(argument) and not isinstance(argument, type):
            for f in dataclasses.fields(argument):
                _pair(getattr(argument, f.name), getattr(gradient, f.name), f"{path}.{f.name}", out)
        case _:
            out.append((path, argument, gradient))


def plain_function(
    fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[types.FunctionType, list[Any], dict[str, Any]]:
    """The function under a method, a partial or a callable object, with the arguments that it is then given."""
    given, named = list(args), dict(kwargs)
    while not isinstance(fn, types.FunctionType):
        if isinstance(fn, types.MethodType):
            fn, given = fn.__func__, [fn.__self__, *given]
        elif isinstance(fn, functools.partial):
            fn, given, named = fn.func, [*fn.args, *given], fn.keywords | named
        elif isinstance(method := vars(type(fn)).get("__call__"), types.FunctionType):
            fn, given = method, [fn, *given]
        else:
            raise NotDifferentiable(f"`{_name(fn)}` is no Python function", why="Its code cannot be run on symbols.")
    return fn, given, named


def _name(fn: Any) -> str:
    return str(getattr(fn, "__name__", type(fn).__name__))


def _parameter_names(fn: Callable[..., Any], count: int) -> list[str]:
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        return [f"x{i}" for i in range(count)]
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "x")
    return [names[i] if i < len(names) else f"{rest}[{i - len(names)}]" for i in range(count)]


# ---------------------------------------------------------------------------------------------------- places in the text


@dataclass(frozen=True)
class Spot:
    """Where in the user's text something happens (what an error needs)."""

    file: str
    line: int
    text: str
    column: int
    end_column: int
    end_line: int


def _spot_of(error: BaseException, fn: types.FunctionType) -> Spot | None:
    """The last place in the user's code that a traceback passes."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not _is_ours(f.filename)]
    if not frames:
        return None
    frame = frames[-1]
    line = frame.lineno or 0
    text = linecache.getline(frame.filename, line).rstrip("\n")
    return Spot(frame.filename, line, text, frame.colno or 0, frame.end_colno or 0, frame.end_lineno or line)


def _is_ours(filename: str) -> bool:
    package = __file__.rsplit("verify", 1)[0]
    return filename.startswith((package, np.__path__[0])) or "sympy" in filename


def _data_dependent(error: DataDependent, fn: types.FunctionType) -> KindError:
    return KindError(
        f"`{fn.__name__}` branches on its data, which a proof for all data cannot",
        _spot_of(error, fn),
        f"Here {error}.",
        "check such a function by numbers: srcdiff.check_grads(f, args).",
    )


def _no_symbols(error: Exception, fn: types.FunctionType) -> NotDifferentiable:
    return NotDifferentiable(
        f"`{fn.__name__}` cannot be run on symbols",
        _spot_of(error, fn),
        f"{error}.".capitalize(),
        "check it by numbers: srcdiff.check_grads(f, args).",
    )


def _place_of(error: BaseException) -> str:
    """`, in line 7: x_bar[i] = v` of an emitted source."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.endswith("on symbols>")]
    return f", in line {frames[-1].lineno} of the emitted source" if frames else ""


def _condition(what: str, outcome: Any) -> str:
    """`line 9: the maximum is attained once, here at place 0, 2, 1`; empty where another condition says it."""
    outcomes = outcome if isinstance(outcome, tuple) else (outcome,)
    listed = ", ".join(map(str, outcomes[:8])) + (", …" if len(outcomes) > 8 else "")
    share = f"{sum(o in (True, 1) for o in outcomes)} of {len(outcomes)} places"
    match what:
        case "where":
            return ""
        case "max" | "min":
            said = f"the {what}imum is attained once, here at place {listed}"
        case "sort":
            said = "no two entries are equal" + f"; their order here is {listed}" * (outcome is not None)
        case "maximum" | "minimum" | "fmax" | "fmin":
            said = f"the two arguments of {what} differ; the first is taken in {share}"
        case "less" | "less_equal" | "greater" | "greater_equal":
            said = f"the two sides of {_SIGNS[what]} differ; it holds in {share}"
        case "absolute" | "fabs" | "sign" | "copysign" | "heaviside" | "cbrt":
            said = f"the argument of {what} is not zero; it is positive in {share}"
        case _:
            said = f"the argument of {what} is not where it jumps"
    return f"{_users_line()}{said}"


_SIGNS = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}


def _users_line() -> str:
    frame = sys._getframe(1)
    while frame is not None and _is_ours(frame.f_code.co_filename):
        frame = frame.f_back  # type: ignore[assignment]
    return f"line {frame.f_lineno}: " if frame is not None else ""
