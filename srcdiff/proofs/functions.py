"""Proofs of whole functions: the source of a gradient runs on symbols, and each entry is compared with SymPy's derivative.

    verify_gradient(loss, loss_grad, (w, b, X, y), argnums=(0, 1))   →   Report: gradient of `loss` by w, b: proved

Every float in the arguments becomes a symbol, integers stay. Long axes are shortened, equal lengths to equal ones and none to
1. A comparison in the primal is decided by the example's values, moved a little so that nothing ties; the report states how.
"""

from __future__ import annotations

import dataclasses
import linecache
import sys
import time
import traceback
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from srcdiff.errors import KindError, NotDifferentiable
from srcdiff.proofs.containers import Mismatch, map_leaves, name_of, pair_leaves, parameter_names, plain_function
from srcdiff.proofs.derivatives import Derivatives
from srcdiff.proofs.formulas import on_piece
from srcdiff.proofs.matrices import implicit_inverses
from srcdiff.proofs.namespaces import translated_function
from srcdiff.proofs.pieces import Piece, Tie
from srcdiff.proofs.polynomials import Undecided
from srcdiff.proofs.report import Entry, Report
from srcdiff.proofs.shortening import MAX_UNSHORTENED, is_float, point_near, shortenings
from srcdiff.proofs.symbolic import DataDependent, NotSymbolic, SymbolArray, branching_as_here, entries, symbols
from srcdiff.proofs.terms import negative

PIECES = 3
TRIES = 3


def verify_gradient(
    primal: Callable[..., Any],
    gradient: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    argnums: int | Sequence[int] = 0,
    guard: Callable[..., bool] | None = None,
) -> Report:
    """Prove a gradient function of a primal, of which both are plain NumPy code, near example arguments.

    `gradient` takes what the primal takes, and gives the gradient by `argnums` (a tuple of them for several). Where it is
    made for some kinds of arguments only, `guard` tells for which.
    """
    start = time.perf_counter()
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    by = tuple(i % len(args) for i in numbers)
    kwargs = kwargs or {}
    names = parameter_names(primal, len(args))
    shapes: list[tuple[int, ...]] = []
    for value in (*args, *kwargs.values()):
        map_leaves(value, "", lambda _, leaf: shapes.append(np.shape(leaf)) if is_float(leaf) else None)
    trials = [
        Trial(primal, gradient, args, kwargs, by, isinstance(argnums, int), names, lengths) for lengths in shortenings(shapes)
    ]
    if guard is not None:
        trials = [trial for trial in trials if trial.is_accepted_by(guard)]
    misfit: BaseException | None = None
    found: list[Report] = []
    while trials:
        trial, *trials = trials
        smaller = [other for other in trials if len(other.example) < len(trial.example)]
        try:
            found.append(_on_some_pieces(trial, hasty=bool(smaller) and len(found) < TRIES - 1))
        except _ShapesDoNotFit as error:
            misfit = misfit or error.cause
            continue
        if found[-1].proved or found[-1].refuted or found[-1].unproved or len(found) == TRIES:
            break
        trials = smaller  # smaller arrays for a proof that was not found
    if found:
        return dataclasses.replace(found[-1], seconds=time.perf_counter() - start)
    if misfit is not None:
        raise misfit
    raise KindError(
        f"the example arguments of `{name_of(primal)}` are too large to prove anything for them",
        why="The gradient that is made for them is not for arrays of shorter axes.",
        instead=f"give example arguments of at most {MAX_UNSHORTENED} numbers.",
    )


def _on_some_pieces(trial: Trial, *, hasty: bool) -> Report:
    """The report for the piece of the example and some others near it, or of the first that is not proved."""
    reports: list[Report] = []
    seen: set[Any] = set()
    for seed in range(3 * PIECES):
        try:
            decisions, report = trial.at(seed, skip=seen, hasty=hasty)
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
    if not reports:
        return trial.report(unproved=["every point that was tried lies where pieces meet"])
    last = reports[-1] if not reports[-1].proved else reports[0]
    return dataclasses.replace(last, pieces=len(reports))


class _ShapesDoNotFit(Exception):
    """The primal raises on shortened arguments."""

    def __init__(self, cause: BaseException) -> None:
        self.cause = cause


class Trial:
    """A primal and its gradient on symbols in the shapes of example arguments, with other lengths."""

    def __init__(
        self, primal: Callable[..., Any], gradient: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any],
        by: tuple[int, ...], is_single: bool, names: Sequence[str], lengths: Mapping[int, int],
    ) -> None:  # fmt: skip
        self.primal, self.gradient, self.by, self.is_single, self.names = primal, gradient, by, is_single, names
        self.lengths = lengths
        self.leaves: list[tuple[str, Any]] = []
        for name, value in [*zip(names, args), *kwargs.items()]:
            map_leaves(value, name, lambda path, leaf: self.leaves.append((path, leaf)))
        self.short_args = [map_leaves(a, "", self._shortened) for a in args]
        self.short_kwargs = {n: map_leaves(a, "", self._shortened) for n, a in kwargs.items()}
        self.symbols: dict[str, SymbolArray] = {}
        self.example: dict[Any, float] = {}
        self.args = [map_leaves(a, n, self._symbols) for n, a in zip(names, self.short_args)]
        self.kwargs = {n: map_leaves(a, n, self._symbols) for n, a in self.short_kwargs.items()}

    def _shortened(self, _: str, leaf: Any) -> Any:
        return leaf[tuple(slice(0, self.lengths.get(n, n)) for n in leaf.shape)] if isinstance(leaf, np.ndarray) else leaf

    def _symbols(self, path: str, leaf: Any) -> Any:
        if not is_float(leaf):
            return leaf
        array = symbols(path, np.shape(leaf))
        array.is_number = isinstance(leaf, float) and not isinstance(leaf, np.floating)
        self.symbols[path] = array
        self.example.update(zip(array.data.flat, np.ravel(leaf).tolist()))
        return array.copy()

    def is_accepted_by(self, guard: Callable[..., bool]) -> bool:
        try:
            return bool(guard(*self.short_args, **self.short_kwargs))
        except Exception:  # arguments of another structure
            return False

    def at(self, seed: int, *, skip: set[Any], hasty: bool) -> tuple[Any, Report | None]:
        """How the comparisons come out at a point, and the report there; None if they came out so before."""
        piece = Piece(point_near(self.example, seed))
        decisions: list[tuple[str, Any]] = []
        conditions: list[str] = []

        def hear(what: str, outcome: Any) -> None:
            decisions.append((what, outcome))
            conditions.append(_condition(what, outcome))

        with implicit_inverses() as inverses, on_piece(piece, hear):
            value = self._value()
        if not _is_real(piece.value(value)):
            raise NotDifferentiable(f"`{name_of(self.primal)}` is not a real number near the example arguments")
        if tuple(decisions) in skip:
            return tuple(decisions), None
        stated = [c for c in conditions if c]
        piece.take_as_opaque(value)
        with implicit_inverses(), on_piece(piece):
            report = self._compare(piece, value, [*stated, *[_INVERSES] * bool(inverses)], hasty or bool(inverses))
        if inverses and not report.proved and not report.refuted:
            with on_piece(piece):
                report = self._compare(piece, self._value(), stated, hasty)
        return tuple(decisions), report

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
            what = f"`{name_of(self.primal)}` gives no number that depends on its arguments"
            raise NotDifferentiable(what, why=f"It gives {value!r}.")
        return entries(value)[()]

    def _fresh(self, value: Any) -> Any:
        return map_leaves(value, "", lambda _, leaf: leaf.copy() if isinstance(leaf, (SymbolArray, np.ndarray)) else leaf)

    def _gradient(self) -> list[Any]:
        fn, args, kwargs = plain_function(self.gradient, self._fresh(self.args), self._fresh(self.kwargs))
        result = translated_function(fn)(*args, **kwargs)
        return [result] if self.is_single else list(result)

    def _compare(self, piece: Piece, value: Any, conditions: Sequence[str], hasty: bool) -> Report:
        found: list[Entry] = []
        unproved: list[str] = []
        try:
            with branching_as_here() as branches:
                pairs = list(self._pairs(value))
            conditions = [*conditions, *[_BRANCHES] * bool(branches)]
            found = [_by_numbers(piece, *pair) for pair in pairs]
            if not any(entry.outcome == "refuted" for entry in found):
                for i, (name, got, true) in enumerate(pairs):
                    if not found[i].detail and piece.vanishes(got, negative(true)):
                        found[i] = Entry(name, "proved")
                    elif hasty:
                        break
        except Tie:
            raise
        except Mismatch as error:
            unproved.append(str(error))
        except Exception as error:  # whatever the source does on symbols
            unproved.append(f"the source does not run on symbols: {type(error).__name__}: {error}{_place_of(error)}")
        if not found and not unproved:
            unproved.append("no argument has a gradient")
        return self.report(found, conditions, unproved)

    def _pairs(self, value: Any) -> Iterator[tuple[str, Any, Any]]:
        """(name, what the gradient says, SymPy's derivative) for each entry of the arguments."""
        for i, part in zip(self.by, self._gradient(), strict=True):
            for path, leaf, x_bar in pair_leaves(self.args[i], part, self.names[i]):
                if not isinstance(leaf, SymbolArray):
                    continue
                if x_bar is None:
                    raise Mismatch(f"{path} has no gradient")
                if np.shape(x_bar) != leaf.shape:
                    raise Mismatch(f"the gradient by {path} has shape {np.shape(x_bar)} instead of {leaf.shape}")
                for symbol, got in zip(self.symbols[path].data.flat, entries(x_bar).flat):
                    yield str(symbol), got, Derivatives(symbol).of(value)

    def report(self, found: Sequence[Entry] = (), conditions: Sequence[str] = (), unproved: Sequence[str] = ()) -> Report:
        full = tuple((path, np.shape(leaf)) for path, leaf in self.leaves if is_float(leaf))
        shapes = tuple((path, self.symbols[path].shape) for path, _ in full)
        by = tuple(self.names[i] for i in self.by)
        return Report(name_of(self.primal), by, tuple(found), shapes, full, tuple(dict.fromkeys(conditions)), tuple(unproved))


def _by_numbers(piece: Piece, name: str, got: Any, true: Any) -> Entry:
    """ "refuted" where numbers differ, otherwise "open"; a detail says that no proof need be tried."""
    distance = piece.distance(got, true)
    if not distance <= 1e-12:
        numbers = f"{float(piece.value(got)):.10g} instead of {float(piece.value(true)):.10g}"
        at = ", ".join(f"{s} = {float(v):.4g}" for s, v in list(piece.point.items())[:6])
        return Entry(name, "refuted", f"{numbers} at {at}" + ", …" * (len(piece.point) > 6))
    return Entry(name, "open", "equal but for the rounding of a constant" if distance > 1e-20 else "")


_BRANCHES = "the branches of the gradient's source are taken as here"
_INVERSES = "a matrix is inverted it is regular, and d(A⁻¹) = -A⁻¹ dA A⁻¹ is taken for known"


def _is_real(value: Any) -> bool:
    return bool(np.isfinite(complex(value)) and abs(complex(value).imag) < 1e-30)


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
    package = __file__.rsplit("proofs", 1)[0]
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
    """`, in line 7 of its source`."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not _is_ours(f.filename)]
    return f", in line {frames[-1].lineno} of the gradient's source" if frames else ""


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
