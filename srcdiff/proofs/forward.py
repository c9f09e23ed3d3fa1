"""Proofs of the tangents that forward mode makes of rules: the emitted source itself runs on symbols.

    prove_forward(rule_for(np.tanh))   →   [Verdict(np.tanh, case((2, 3)), "proved")]

Forward mode needs no text beside the rule's own; what it makes of it is checked all the same, for the cases beside the rule.
The tangent along each number of the arguments gives a column of the Jacobian; y_bar times the column is the contribution to
that number, and so it is held against the same truth as the contributions of reverse mode.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import sympy

from srcdiff.emit.load import load
from srcdiff.emit.python import emit
from srcdiff.emit.scope import Scope
from srcdiff.ir.kinds import FLOAT, Array, Kind
from srcdiff.ir.nodes import Apply, Block, Const, Function, ListDisplay, Operand, Parameter, Ref, Return, Var
from srcdiff.ir.ops import call_op
from srcdiff.passes import PASSES
from srcdiff.proofs.namespaces import translated_function
from srcdiff.proofs.rules import Verdict, examine
from srcdiff.proofs.settings import NoPrimal, Setting, cases_of, settings_of
from srcdiff.proofs.structures import flat
from srcdiff.proofs.symbolic import SymbolArray, entries, filled
from srcdiff.rules.builder import Builder
from srcdiff.rules.registry import Case, Rule, tangent_texts
from srcdiff.rules.staging import Staged
from srcdiff.transform.forward import Forwarder
from srcdiff.transform.procedures import Pairs


def prove_forward(rule: Rule) -> list[Verdict]:
    """The verdict on the tangents of a function, for each case beside its rule."""
    if rule.text is None or rule.sort == "decomposed":
        return []
    if rule.status == "trusted" or not rule.at:
        return [Verdict(rule, None, "trusted", rule.reason)]
    return [_prove_case(rule, case) for case in cases_of(rule)]


def _prove_case(rule: Rule, case: Case) -> Verdict:
    start = time.perf_counter()
    try:
        settings = [_of_columns(setting) for setting in settings_of(rule, case)]
        outcome, detail, count = examine(rule, settings, lambda *args, **kwargs: contributions(rule, args, kwargs))
    except NoPrimal as error:
        outcome, detail, count = "undecided", str(error), 0
    return Verdict(rule, case, outcome, detail, count, time.perf_counter() - start)


def _of_columns(setting: Setting) -> Setting:
    """The same setting for a text that gives contributions, from the result and its adjoint, whatever the rule's own gives."""
    own = copy.copy(setting)
    own.rule = replace(setting.rule, sort="vjp", needs=frozenset({"y", "y_bar"}))
    own.__dict__["special_points"] = []
    return own


def contributions(rule: Rule, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The contribution to each parameter of the rule: y_bar times the tangents along each of its numbers."""
    kwargs = dict(kwargs)
    y, y_bar = kwargs.pop("y"), kwargs.pop("y_bar")
    assert rule.signature is not None
    bound = rule.signature.bind(*args, **kwargs).arguments
    run = _tangents(rule, args, kwargs, y)
    y_bars = flat(y_bar) if isinstance(y_bar, (list, tuple)) else [y_bar]

    def along(leaf: Any) -> Any:
        found = [run(leaf, direction) for direction in _directions(leaf)]
        column = [sum(_product(b, dot) for b, dot in zip(y_bars, dots) if b is not None) for dots in found]
        return _assembled(column, leaf)

    def of(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [of(v) for v in value]
        return along(value) if _is_leaf(value) else None

    parts = tuple(of(bound[name]) if name in bound else None for name in rule.wrt)
    return parts if len(parts) > 1 else parts[0]


def _is_leaf(value: Any) -> bool:
    """What a rule differentiates by in a case: symbols, or the numbers in their place; masks and constants are none."""
    if isinstance(value, (SymbolArray, np.ndarray, np.generic)):
        return value.dtype.kind in "fO"
    return getattr(value, "is_number", False) is True


def _directions(leaf: Any) -> list[Any]:
    found: list[Any] = []
    direction: Any
    for place in np.ndindex(np.shape(leaf)):
        if isinstance(leaf, SymbolArray):
            direction = SymbolArray(filled(np.shape(leaf), 0))
            direction.data[place] = sympy.Integer(1)
            direction.is_number = leaf.is_number
        elif isinstance(leaf, (np.ndarray, np.generic)):
            direction = np.zeros_like(leaf)
            direction[place] = 1
            direction = direction[()]
        else:
            direction = 1.0
        found.append(direction)
    return found


def _product(y_bar: Any, dot: Any) -> Any:
    if dot is None:
        return 0
    if isinstance(y_bar, SymbolArray) or isinstance(dot, SymbolArray):
        return sum(b * d for b, d in zip(entries(y_bar).flat, entries(dot).flat, strict=True))
    return np.sum(np.multiply(y_bar, dot))


def _assembled(column: Sequence[Any], leaf: Any) -> Any:
    if isinstance(leaf, SymbolArray):
        array = SymbolArray(filled(np.shape(leaf), 0))
        array.data[...] = np.array([sympy.sympify(e) for e in column], object).reshape(np.shape(leaf))
        return array
    if not isinstance(leaf, (np.ndarray, np.generic)):
        return column[0]
    return np.array(column).reshape(np.shape(leaf))[()]


# ---------------------------------------------------------------- the emitted tangents


def _tangents(rule: Rule, args: Sequence[Any], kwargs: dict[str, Any], y: Any) -> Callable[[Any, Any], Sequence[Any]]:
    """The tangents of the results where one argument changes along a direction and the others do not."""
    leaves: list[Any] = []

    def spec(value: Any) -> Any:
        if isinstance(value, list):
            return ("list", tuple(spec(v) for v in value))
        if isinstance(value, tuple):
            return ("tuple", tuple(spec(v) for v in value))
        if _is_leaf(value):
            leaves.append(value)
            number = not isinstance(value, (SymbolArray, np.ndarray, np.generic)) or getattr(value, "is_number", False)
            return ("number",) if number else ("array", np.shape(value), _dtype(value))
        if isinstance(value, np.ndarray):
            leaves.append(value)
            return ("static", np.shape(value), value.dtype.name)
        return ("constant", value)

    shapes = tuple(spec(a) for a in args), tuple((k, spec(v)) for k, v in kwargs.items())
    results = list(y) if isinstance(y, (list, tuple)) else [y]
    kinds = tuple(FLOAT if _is_number(r) else Array(_dtype(r), np.shape(r)) for r in results)
    own = tangent_texts.get(rule.fn)
    try:
        fn = _compiled(rule, own, *shapes, kinds)
    except TypeError:  # an argument that is not hashable
        fn = _compiled.__wrapped__(rule, own, *shapes, kinds)

    def run(leaf: Any, direction: Any) -> Sequence[Any]:
        dots = [direction if v is leaf else _zero(v) for v in leaves if _is_leaf(v)]
        given = [*leaves, *results, *dots]
        is_symbolic = any(isinstance(v, SymbolArray) for v in given)
        out = (translated_function(fn) if is_symbolic else fn)(*[_copied(v) for v in given])
        return out if isinstance(out, tuple) else (out,)

    return run


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, (SymbolArray, np.ndarray)) else value


def _zero(value: Any) -> Any:
    if isinstance(value, SymbolArray):
        zero = SymbolArray(filled(np.shape(value), 0))
        zero.is_number = value.is_number
        return zero
    return np.zeros_like(value)[()] if isinstance(value, (np.ndarray, np.generic)) else 0.0


def _dtype(value: Any) -> str:
    return "float64" if isinstance(value, SymbolArray) or not hasattr(value, "dtype") else str(value.dtype.name)


def _is_number(value: Any) -> bool:
    return not isinstance(value, (SymbolArray, np.ndarray, np.generic)) or getattr(value, "is_number", False) is True


@lru_cache(maxsize=4096)
def _compiled(rule: Rule, own: Any, args: Any, kwargs: Any, results: tuple[Kind, ...]) -> Any:
    """The function of the tangents of a call, from its arguments, its results, and their tangents.

    `own` is the text for tangents that is in force, if there is one.
    """
    params: list[Parameter] = []
    dots: list[Parameter] = []
    b = Builder()
    forwarder = Forwarder(set(), Pairs({}))

    def parameter(hint: str, kind: Kind) -> Var:
        var = Var(hint, kind, True)
        params.append(Parameter(hint, var))
        return var

    def operand(spec: Any, name: str) -> Operand:
        match spec:
            case ("list", items):
                return ListDisplay(tuple(operand(item, f"{name}{i}") for i, item in enumerate(items)))
            case ("tuple", items):
                return tuple(operand(item, f"{name}{i}") for i, item in enumerate(items))
            case ("static", shape, dtype):
                return parameter(name, Array(dtype, shape))
            case ("constant", value):
                return Ref(value, getattr(value, "__name__", "")) if isinstance(value, type) else Const(value)
            case _:
                kind = FLOAT if spec == ("number",) else Array(spec[2], spec[1])
                var = parameter(name, kind)
                dot = Var(f"{name}_dot", kind, True)
                dots.append(Parameter(dot.hint, dot))
                forwarder.active.add(var)
                forwarder.tangents[var] = Staged(b, dot)
                return var

    given = tuple(operand(spec, f"x{i}") for i, spec in enumerate(args))
    named = tuple((key, operand(spec, key)) for key, spec in kwargs)
    targets = tuple(Var(f"y{i}", kind, True) for i, kind in enumerate(results))
    forwarder.active.update(targets)
    forwarder.differentiate(Apply(targets, call_op(rule.fn, rule.name), given, named), b)
    values = tuple(forwarder.whole(t, b) if forwarder.tangents.get(t) is not None else Const(None) for t in targets)
    given_results = tuple(Parameter(t.hint, t) for t in targets)
    program = Function("tangents", (*params, *given_results, *dots), Block(tuple(b.stmts), Return(values)))
    for step in PASSES:
        program = step(program)
    emitted = emit(program, Scope({}, frozenset()))
    return load(emitted, name=emitted.name, globals={"__name__": "srcdiff.proofs.forward"})
