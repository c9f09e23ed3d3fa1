"""A case of a rule at one point of its domain: symbols and numbers for the arguments, and all that is true there.

    case((2, 3), (3,))   →   x1[0,0] … x2[2], a rational value for each, the entries of y, y_bar and the exact adjoints

A text is held against it by numbers (`refutation`) and by algebra (`unproved`).
"""

from __future__ import annotations

import math
import random
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import sympy

from srcdiff.proofs.formulas import on_piece
from srcdiff.proofs.pieces import Piece, Tie
from srcdiff.proofs.special_points import SpecialPoint, special_points
from srcdiff.proofs.structures import arrays_of, copied, flat, rebuilt, unbroadcast_numbers, without
from srcdiff.proofs.symbolic import NotSymbolic, SymbolArray, apply, branching_as_here, entries, symbols, unbroadcast
from srcdiff.rules.registry import Case, Fixed, Many, Rule, Text

PIECES = 3


class NoPrimal(Exception):
    """The function itself raises for a case."""


class WrongForm(Exception):
    """A text gives contributions of the wrong number or shape."""


class Number(float):
    """A Python number that is not known when the function is compiled, unlike the constants in a call."""

    is_number = True


def cases_of(rule: Rule) -> list[Case]:
    """The cases beside a rule; where it shares them with a function of arrays but is one of numbers, those of numbers."""
    if not is_of_numbers(rule):
        return list(rule.at)
    if rule not in _cases_of_numbers:
        without_shapes = [replace(c, args=tuple(() if isinstance(a, tuple) else a for a in c.args)) for c in rule.at]
        _cases_of_numbers[rule] = [c for i, c in enumerate(without_shapes) if c not in without_shapes[:i]]
    return _cases_of_numbers[rule]


def is_of_numbers(rule: Rule) -> bool:
    return getattr(rule.fn, "__module__", None) in ("math", "builtins")


_cases_of_numbers: weakref.WeakKeyDictionary[Rule, list[Case]] = weakref.WeakKeyDictionary()
_settings: weakref.WeakKeyDictionary[Rule, dict[int, list[Setting]]] = weakref.WeakKeyDictionary()


def settings_of(rule: Rule, case: Case) -> list[Setting]:
    """A point on each of some pieces of the domain of a case, with all that is true there; made once."""
    known = _settings.setdefault(rule, {})
    if id(case) not in known:
        known[id(case)] = list(_make_settings(rule, case))
    return known[id(case)]


def _make_settings(rule: Rule, case: Case) -> Iterator[Setting]:
    seen: set[Any] = set()
    for seed in range(4 * PIECES):
        setting = Setting(rule, case, seed)
        try:
            decisions = setting.decisions
        except Tie:
            continue
        if decisions not in seen:
            seen.add(decisions)
            yield setting
        if not decisions or len(seen) == PIECES:
            return


_RANGES = {"positive": (0.2, 2.5), "unit": (-0.9, 0.9), "probability": (0.1, 0.9), "above_one": (1.1, 3.0)}


class Setting:
    """A case at one point of its domain: symbols and numbers for the arguments, the result, and the true contributions."""

    def __init__(self, rule: Rule, case: Case, seed: int) -> None:
        self.rule, self.case, self.seed = rule, case, seed
        self.random = random.Random(seed)
        self.point: dict[Any, Fraction] = {}
        self.leaves: list[SymbolArray] = []
        of_numbers = is_of_numbers(rule)
        names = list(rule.signature.parameters) if rule.signature is not None else []
        self.args: list[Any] = []
        for position, argument in enumerate(case.args):
            name = names[position] if position < len(names) else f"x{position}"
            self.args.append(self._argument(name, argument, of_numbers))
        self.kwargs = dict(case.kwargs)
        self.is_of_numbers = of_numbers

    def _argument(self, name: str, argument: Any, is_number: bool) -> Any:
        match argument:
            case tuple() if all(isinstance(n, int) for n in argument):
                return self._symbols(name, argument, is_number)
            case Many(shapes):
                return [self._symbols(f"{name}{i}", shape, is_number) for i, shape in enumerate(shapes)]
            case Fixed(value):
                return value
            case _:
                return argument

    def _symbols(self, name: str, shape: tuple[int, ...], is_number: bool) -> SymbolArray:
        domain = self.case.domain
        is_matrix = domain == "spd" and len(shape) >= 2 and shape[-1] == shape[-2]
        positive = domain in ("positive", "probability", "above_one")
        array = symbols(name, shape, positive=positive, symmetric=is_matrix)
        array.is_number = is_number and not shape
        self.leaves.append(array)
        if is_matrix:
            for index in np.ndindex(*shape[:-2]):
                root = np.array([[self._draw("unit") for _ in range(shape[-1])] for _ in range(shape[-1])], object)
                matrix = root @ root.T + np.diag([Fraction(1 + i, 2) for i in range(shape[-1])])
                self.point.update(zip(array.data[index].ravel(), matrix.ravel()))
        else:
            self.point.update((symbol, self._draw(domain)) for symbol in array.data.flat)
        return array

    def _draw(self, domain: str) -> Fraction:
        low, high = _RANGES.get(domain, (-2.0, 2.0))
        while True:
            drawn = Fraction(self.random.randint(int(low * 9973), int(high * 9973)), 9973)
            if abs(drawn) > Fraction(1, 10):
                return drawn

    # ------------------------------------------------------------ on symbols

    @cached_property
    def piece(self) -> Piece:
        y_bars = {s: Fraction(self.random.randint(-2000, 2000), 997) for y_bar in self.y_bars for s in y_bar.data.flat}
        return Piece(self.point | y_bars)

    @cached_property
    def y_bars(self) -> list[SymbolArray]:
        """A fresh symbol for each entry of each result."""
        results = flat(self.y_numbers if self.y is None else self.y)
        y_bars = [symbols(f"y{i}_bar" if len(results) > 1 else "y_bar", np.shape(y)) for i, y in enumerate(results)]
        for y_bar in y_bars:
            y_bar.is_number = self.is_of_numbers and not y_bar.ndim
        return y_bars

    @cached_property
    def _run(self) -> tuple[Any, tuple[Any, ...], str]:
        """The primal on symbols: (result or None, decisions, why there is none)."""
        decisions: list[Any] = []
        with on_piece(Piece(self.point), lambda what, outcome: decisions.append((what, outcome))):
            try:
                return apply(self.rule.fn, *self.args, **self.kwargs), tuple(decisions), ""
            except Tie:
                raise
            except Exception as error:  # whatever NumPy's own code does with arrays of objects
                return None, (), f"{type(error).__name__}: {error}"

    @property
    def decisions(self) -> tuple[Any, ...]:
        """How the comparisons in the primal come out here; empty for a smooth function."""
        return self._run[1]

    @property
    def y(self) -> Any:
        """The primal's result on symbols; None where it has no symbolic form."""
        return self._run[0]

    @cached_property
    def truths(self) -> list[dict[Any, Any]]:
        """For each result, and each symbol of the arguments: y_bar times the derivative of the result, by SymPy."""
        out = []
        for y_bar, y in zip(self.y_bars, flat(self.y)):
            terms = [(b, e, e.free_symbols) for b, e in zip(y_bar.data.flat, entries(y).flat)]
            out.append({s: sympy.Add(*[b * sympy.diff(e, s) for b, e, free in terms if s in free]) for s in self.point})
        return out

    @cached_property
    def is_symbolic(self) -> bool:
        """Whether SymPy has the primal and its derivative."""
        if self.y is None:
            return False
        try:
            return all(math.isfinite(float(self.piece.value(e))) for truth in self.truths for e in truth.values())
        except Exception:  # an integral, a Meijer G function, …
            return False

    def unproved(self, text: Text) -> str | None:
        """Where the text on symbols is not proved to be the truth; None if it is proved everywhere."""
        if not self.is_symbolic:
            raise NotSymbolic(self._run[2] or "SymPy has no derivative of it")
        with on_piece(self.piece):
            if self.rule.sort == "decomposed":
                return self._unequal_values(apply(text, *self.args, **self.kwargs))
            for missing in self.left_out():
                found = self.contributions(text, self.args, self.y, rebuilt(self.y, without(self.y_bars, missing)))
                for s, terms in self._gathered(found).items():
                    truth = [-t[s] for i, t in enumerate(self.truths) if i not in missing]
                    if not self.piece.vanishes(*terms, *truth):
                        return f"the adjoint of {s} is not proved to be {sympy.Add(*terms)}"
        return None

    def left_out(self) -> list[tuple[int, ...]]:
        """Which results have no adjoint (None in place of y_bar): none of them, each, all but each."""
        count = len(self.y_bars)
        if count == 1:
            return [()]
        alone = [tuple(j for j in range(count) if j != i) for i in range(count)]
        return list(dict.fromkeys([(), *((i,) for i in range(count)), *alone]))

    def _unequal_values(self, found: Any) -> str | None:
        for a, b in zip(flat(found), flat(self.y), strict=True):
            for u, v in zip(entries(a).flat, entries(b).flat, strict=True):
                if not self.piece.vanishes(u, -v):
                    return f"{u} is not proved to be {v}"
        return None

    def _gathered(self, contributions: dict[int, Any]) -> dict[Any, list[Any]]:
        """The terms of each symbol's adjoint (a symmetric matrix holds a symbol twice)."""
        out: dict[Any, list[Any]] = {}
        for number, contribution in contributions.items():
            for s, e in zip(self.leaves[number].data.flat, entries(contribution).flat, strict=True):
                out.setdefault(s, []).append(e)
        return out

    # ------------------------------------------------------------ on numbers

    @cached_property
    def numbers(self) -> list[Any]:
        return [self.numeric(a) for a in self.args]

    def numeric(self, value: Any, dtype: Any = np.float64) -> Any:
        if isinstance(value, list):
            return [self.numeric(v, dtype) for v in value]
        if not isinstance(value, SymbolArray):
            return value
        floats = np.array([float(self.point[e] if e in self.point else self.piece.value(e)) for e in value.data.flat], dtype)
        return self.as_argument(value, floats.reshape(value.shape))

    def as_argument(self, leaf: SymbolArray, floats: Any) -> Any:
        if leaf.is_number:
            return Number(floats)
        return floats if leaf.ndim else floats[()]

    @cached_property
    def y_numbers(self) -> Any:
        try:
            return self.primal(self.numbers)
        except Exception as error:
            raise NoPrimal(f"the primal does not take this case: {type(error).__name__}: {error}") from error

    def primal(self, args: Sequence[Any]) -> Any:
        with np.errstate(all="ignore"):
            result = self.rule.fn(*copied(args), **self.kwargs)
        return Number(result) if self.is_of_numbers and isinstance(result, float) else result

    @cached_property
    def true_numbers(self) -> list[dict[Any, float]]:
        if not self.is_symbolic:
            return self._differences()
        return [{s: float(self.piece.value(e)) for s, e in truth.items()} for truth in self.truths]

    @cached_property
    def y_bar_numbers(self) -> list[Any]:
        return [self.numeric(y_bar) for y_bar in self.y_bars]

    def refutation(self, text: Text) -> str | None:
        """What numbers say against the text; None if it agrees with the truth at this point and at special ones."""
        y = self.y_numbers  # what the primal raises is no fault of the text
        try:
            if self.rule.sort == "decomposed":
                with np.errstate(all="ignore"):
                    return self._wrong_values(text(*copied(self.numbers), **self.kwargs))
            for missing in self.left_out():
                wrong = self._wrong_numbers(self._found(text, self.numbers, y, missing), missing)
                if wrong is not None:
                    return wrong
            return next(filter(None, (point.refutation(text) for point in self.special_points)), None)
        except WrongForm as error:
            return str(error)
        except Exception as error:  # whatever a text does wrong
            return f"{type(error).__name__}: {error}"

    def _found(self, text: Text, numbers: Sequence[Any], y: Any, missing: tuple[int, ...] = ()) -> dict[int, Any]:
        args, y_bars = copied(numbers), copied(self.y_bar_numbers)
        with np.errstate(all="ignore"):
            found = self.contributions(text, args, y, rebuilt(y, without(y_bars, missing)))
        for before, after in zip(arrays_of([numbers, self.y_bar_numbers]), arrays_of([args, y_bars]), strict=True):
            if not np.array_equal(before, after, equal_nan=True):
                raise WrongForm("the text writes to what it is given")
        return found

    def _wrong_numbers(self, found: dict[int, Any], missing: tuple[int, ...]) -> str | None:
        tolerance = 1e-9 if self.is_symbolic else 2e-5
        for s, terms in self._gathered_numbers(found).items():
            got, true = sum(terms), sum(t[s] for i, t in enumerate(self.true_numbers) if i not in missing)
            if not math.isfinite(got) or abs(got - true) > tolerance * (1 + abs(got) + abs(true)):
                without = f" without the adjoint of result {', '.join(map(str, missing))}" if missing else ""
                return f"the adjoint of {s} is {got:.12g} instead of {true:.12g}{without} where {self._shown_point()}"
        return None

    def _wrong_values(self, found: Any) -> str | None:
        true = flat(self.y_numbers)
        if len(flat(found)) != len(true):
            return f"{len(flat(found))} results instead of {len(true)}"
        for a, b in zip(flat(found), true):
            if np.shape(a) != np.shape(b):
                return f"a result of shape {np.shape(a)} instead of {np.shape(b)}"
            if not np.allclose(a, b, rtol=1e-9, atol=1e-12):
                return f"the value is {a} instead of {b} where {self._shown_point()}"
        return None

    def _gathered_numbers(self, contributions: dict[int, Any]) -> dict[Any, list[float]]:
        out: dict[Any, list[float]] = {}
        for number, contribution in contributions.items():
            for s, e in zip(self.leaves[number].data.flat, np.ravel(contribution), strict=True):
                out.setdefault(s, []).append(float(np.real(e)))
        return out

    def _shown_point(self) -> str:
        shown = [f"{s} = {float(v):.4g}" for s, v in self.point.items()]
        return ", ".join(shown[:8]) + ", …" * (len(shown) > 8)

    def _differences(self) -> list[dict[Any, float]]:
        """The truth by central differences (Richardson's extrapolation), where SymPy has no derivative."""
        point = dict(self.point)
        y_bars = [np.asarray(v) for v in self.y_bar_numbers]

        def values_at(s: Any, step: float) -> Any:
            self.point[s] = point[s] + Fraction(step)
            args = [self.numeric(a) for a in self.args]
            self.point[s] = point[s]
            return np.array([float(np.sum(b * np.asarray(r))) for b, r in zip(y_bars, flat(self.primal(args)))])

        out: list[dict[Any, float]] = [{} for _ in y_bars]
        for s in point:
            slopes = [(values_at(s, h) - values_at(s, -h)) / (2 * h) for h in (2e-3, 1e-3, 5e-4)]
            finer = [(4 * slopes[1] - slopes[0]) / 3, (4 * slopes[2] - slopes[1]) / 3]
            for i, slope in enumerate((16 * finer[1] - finer[0]) / 15):
                out[i][s] = float(slope)
        return out

    @cached_property
    def special_points(self) -> list[SpecialPoint]:
        """Points of small integers, where entries are zero, one, or equal."""
        if self.seed or self.rule.sort == "decomposed" or self.case.domain == "spd" or not self.leaves:
            return []
        return list(special_points(self))

    # ------------------------------------------------------------ the text

    def contributions(self, text: Text, args: Sequence[Any], y: Any, y_bar: Any) -> dict[int, Any]:
        """The contribution of the text to each array of symbols, by its number in `leaves`."""
        rule = self.rule
        given: dict[str, Any] = dict(self.kwargs)
        if "y" in rule.needs:
            given["y"] = y
        if "y_bar" in rule.needs:
            given["y_bar"] = y_bar
        with branching_as_here():
            results = text(*args, **given)
        if results is NotImplemented:
            raise WrongForm("the text gives NotImplemented")
        if len(rule.wrt) == 1:
            results = (results,)
        elif not isinstance(results, (tuple, list)) or len(results) != len(rule.wrt):
            raise WrongForm(f"the text does not give {len(rule.wrt)} contributions")
        out: dict[int, Any] = {}
        for name, result in zip(rule.wrt, results):
            place = self.places.get(name)
            if isinstance(place, int):
                out[place] = self._fitted(name, result, self.leaves[place], y_bar)
            elif isinstance(place, list):
                parts = [None] * len(place) if result is None else list(result)
                if len(parts) != len(place):
                    raise WrongForm(f"{len(parts)} contributions to the {len(place)} arrays of {name}")
                out |= {p: self._fitted(name, part, self.leaves[p], y_bar) for p, part in zip(place, parts) if p is not None}
        return out

    def _fitted(self, name: str, result: Any, leaf: SymbolArray, y_bar: Any) -> Any:
        if result is None:
            return np.zeros(leaf.shape)
        if self.rule.sort == "elementwise":
            contribution = y_bar * result
            if isinstance(contribution, SymbolArray):
                return unbroadcast(contribution, leaf.shape)
            return unbroadcast_numbers(np.asarray(contribution), leaf.shape)
        if isinstance(result, (int, float)) and result == 0:
            return np.zeros(leaf.shape)
        if np.shape(result) != leaf.shape:
            raise WrongForm(f"the contribution to {name} has shape {np.shape(result)} instead of {leaf.shape}")
        return result

    @cached_property
    def places(self) -> dict[str, Any]:
        """Parameter → the number of its array of symbols, or a list of numbers (None where an item is constant)."""
        numbers = {id(leaf): i for i, leaf in enumerate(self.leaves)}
        assert self.rule.signature is not None
        bound = self.rule.signature.bind(*self.args, **self.kwargs).arguments

        def place_of(value: Any) -> Any:
            return [place_of(v) for v in value] if isinstance(value, (list, tuple)) else numbers.get(id(value))

        return {name: place_of(value) for name, value in bound.items()}

    def replaced(self, values: Sequence[Any]) -> list[Any]:
        """The arguments with other numbers in the place of the symbols."""
        numbers = {id(leaf): i for i, leaf in enumerate(self.leaves)}

        def build(value: Any) -> Any:
            if isinstance(value, list):
                return [build(v) for v in value]
            return self.as_argument(value, np.asarray(values[numbers[id(value)]])) if id(value) in numbers else value

        return [build(a) for a in self.args]

    # ------------------------------------------------------------ precision

    def widened(self, text: Text, dtype: Any = np.float32) -> str | None:
        """Which contribution is wider than its argument when all arrays are float32."""
        if self.rule.sort == "decomposed" or self.is_of_numbers:
            return None
        args = [self.numeric(a, dtype) for a in self.args]
        y = self.primal(args)
        if any(np.asarray(v).dtype != dtype for v in flat(y)):
            return None
        with np.errstate(all="ignore"):
            found = self.contributions(text, args, y, rebuilt(y, [self.numeric(b, dtype) for b in self.y_bars]))
        for number, contribution in found.items():
            got = np.asarray(contribution).dtype
            if got.kind == "f" and got != dtype and np.any(contribution):
                return f"the contribution to {self.leaves[number].data.flat[0]} is {got} where everything is {np.dtype(dtype)}"
        return None
