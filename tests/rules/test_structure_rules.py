"""Rules about the structure of arrays: shapes, products, indexing, linear algebra. Each is run on the cases beside it.

The contributions agree with central differences, are float32 where the arguments are, and have the shape of the argument;
what the shape function predicts is what NumPy returns.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from srcdiff.errors import NoRule
from srcdiff.ir.kinds import Dim
from srcdiff.rules.inference import dtype_of
from srcdiff.rules.registry import Case, Fixed, Many, Rule, Shaped, rules

CHAPTERS = ["shaping", "products", "linalg", "indexing"]
for chapter in ["arithmetic", "mathematical", "reductions", "creation", *CHAPTERS]:
    importlib.import_module(f"srcdiff.rules.{chapter}")

MODULES = {f"srcdiff.rules.{chapter}" for chapter in CHAPTERS}
RULES = [rule for rule in rules.values() if rule.text is not None and rule.text.__module__ in MODULES]
CASES = [pytest.param(rule, c, id=f"{rule.name}-{i}") for rule in RULES for i, c in enumerate(rule.at)]


def sample(shape: tuple[int, ...], domain: str, rng: np.random.Generator) -> Any:
    x = rng.uniform(-1, 1, shape)
    match domain:
        case "spd":
            return x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1])
        case "probability":
            return (x + 1) / 2
        case "positive":
            return x + 1.5
        case _:
            return np.asarray(x)


def arguments(c: Case, make: Callable[[tuple[int, ...]], Any]) -> tuple[list[Any], dict[str, Any]]:
    def value(arg: Any) -> Any:
        match arg:
            case tuple():
                return make(arg)
            case Many(shapes):
                return [make(shape) for shape in shapes]
            case Fixed(inner):
                return inner
            case _:
                return arg

    return [value(arg) for arg in c.args], dict(c.kwargs)


def result_of(rule: Rule, c: Case) -> Any:
    args, kwargs = arguments(c, lambda shape: sample(shape, c.domain, np.random.default_rng(0)))
    return rule.fn(*args, **kwargs)


def active(rule: Rule, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by which the rule differentiates, by name."""
    assert rule.signature is not None
    bound = rule.signature.bind(*args, **kwargs).arguments
    return {name: bound[name] for name in rule.wrt if name in bound}


def leaves(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, (list, tuple)) else [value]


def contributions(rule: Rule, args: list[Any], kwargs: dict[str, Any], y: Any, y_bar: Any) -> list[Any]:
    assert rule.text is not None
    asked = {name: value for name, value in (("y", y), ("y_bar", y_bar)) if name in rule.needs}
    result = rule.text(*args, **kwargs, **asked)
    parts = result if len(rule.wrt) > 1 else (result,)
    assert len(parts) == len(rule.wrt)
    used = [part for name, part in zip(rule.wrt, parts) if name in active(rule, args, kwargs)]
    return leaves(used)


def is_differentiable(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind == "f"


def directions(x: Any, domain: str) -> Iterator[Any]:
    for i in range(x.size):
        dx = np.zeros(x.size)
        dx[i] = 1
        dx = dx.reshape(x.shape)
        yield dx + np.swapaxes(dx, -1, -2) if domain == "spd" else dx


def weights(y: Any, rng: np.random.Generator) -> Any:
    if isinstance(y, (tuple, list)):
        return [weights(part, rng) for part in y]
    return np.asarray(rng.uniform(-1, 1, np.shape(y)), np.asarray(y).dtype)


def weighted_sum(y: Any, y_bar: Any) -> float:
    return float(sum(np.sum(part * weight) for part, weight in zip(leaves(y), leaves(y_bar))))


@pytest.mark.parametrize("rule, c", CASES)
def test_contributions_agree_with_central_differences(rule: Rule, c: Case) -> None:
    rng = np.random.default_rng(1)
    args, kwargs = arguments(c, lambda shape: sample(shape, c.domain, rng))
    y = rule.fn(*args, **kwargs)
    y_bar = weights(y, rng)
    found = contributions(rule, args, kwargs, y, y_bar)
    xs = leaves(list(active(rule, args, kwargs).values()))
    assert len(found) == len(xs)
    step = 1e-6
    for x, x_bar in zip(xs, found):
        if not is_differentiable(x):
            continue
        assert np.shape(x_bar) == np.shape(x)
        for dx in directions(x, c.domain):
            backup = x.copy()
            x += step * dx
            above = weighted_sum(rule.fn(*args, **kwargs), y_bar)
            x[...] = backup
            x -= step * dx
            below = weighted_sum(rule.fn(*args, **kwargs), y_bar)
            x[...] = backup
            np.testing.assert_allclose(np.sum(x_bar * dx), (above - below) / (2 * step), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("rule, c", [case for case in CASES if isinstance(result_of(*case.values), (tuple, list))])
def test_each_of_several_results_may_have_no_adjoint(rule: Rule, c: Case) -> None:
    rng = np.random.default_rng(2)
    args, kwargs = arguments(c, lambda shape: sample(shape, c.domain, rng))
    y = rule.fn(*args, **kwargs)
    y_bar = weights(y, rng)
    for i in range(len(y)):
        alone = [b if i == j else None for j, b in enumerate(y_bar)]
        zeros = [b if i == j else 0 * b for j, b in enumerate(y_bar)]
        for x, found, expected in zip(
            leaves(list(active(rule, args, kwargs).values())),
            contributions(rule, args, kwargs, y, alone),
            contributions(rule, args, kwargs, y, zeros),
        ):
            np.testing.assert_allclose(np.zeros(np.shape(x)) if found is None else found, expected, atol=1e-14)


@pytest.mark.parametrize("rule, c", CASES)
def test_float32_stays(rule: Rule, c: Case) -> None:
    rng = np.random.default_rng(3)
    args, kwargs = arguments(c, lambda shape: sample(shape, c.domain, rng).astype(np.float32))
    y = rule.fn(*args, **kwargs)
    found = contributions(rule, args, kwargs, y, weights(y, rng))
    for x, x_bar in zip(leaves(list(active(rule, args, kwargs).values())), found):
        if is_differentiable(x):
            assert np.asarray(x_bar).dtype == x.dtype


def seen(value: Any, make: Callable[[Any], Shaped]) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return make(value)
    return [seen(item, make) for item in value] if isinstance(value, list) else value


def predicted(rule: Rule, args: list[Any], kwargs: dict[str, Any], make: Callable[[Any], Shaped]) -> list[Shaped] | None:
    assert rule.signature is not None and rule.shape is not None
    bound = {
        name: seen(list(value) if rule.signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL else value, make)
        for name, value in rule.signature.bind(*args, **kwargs).arguments.items()
    }
    result = rule.shape(**bound)
    if result is None:
        return None
    dtype = dtype_of(rule, bound)
    parts = result if isinstance(result, list) else [result]
    return [part if isinstance(part, Shaped) and part.dtype else Shaped(getattr(part, "shape", part), dtype) for part in parts]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("rule, c", CASES)
def test_shapes_are_those_of_numpy(rule: Rule, c: Case, dtype: str) -> None:
    rng = np.random.default_rng(4)
    args, kwargs = arguments(c, lambda shape: sample(shape, c.domain, rng).astype(dtype))
    y = rule.fn(*args, **kwargs)
    actual = [np.asarray(part) for part in (y if isinstance(y, (tuple, list)) else [y])]

    known = predicted(rule, args, kwargs, lambda x: Shaped(x.shape, x.dtype.name))
    assert known is not None and len(known) == len(actual)
    for part, expected in zip(actual, known):
        assert part.dtype.name == expected.dtype
        assert part.ndim == expected.ndim
        assert all(n == (length if isinstance(length, int) else n) for n, length in zip(part.shape, expected.shape)), (
            part.shape,
            expected.shape,
        )

    names = iter(range(1000))
    try:
        symbolic = predicted(
            rule, args, kwargs, lambda x: Shaped(tuple(Dim(f"n{next(names)}", n) for n in x.shape), x.dtype.name)
        )
    except NoRule:  # how many results there are depends on a length
        symbolic = None
    for part, expected in zip(actual, symbolic or []):
        assert part.ndim == expected.ndim
        for n, length in zip(part.shape, expected.shape):
            assert n == (length if isinstance(length, int) else n if length.hint is None else length.hint), (
                part.shape,
                expected.shape,
            )


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.name) for rule in RULES if not isinstance(rule.fn, np.ufunc)])
def test_parameters_are_those_of_numpy(rule: Rule) -> None:
    assert rule.signature is not None
    theirs = inspect.signature(rule.fn).parameters
    order = list(theirs)
    variadic = {p.kind for p in theirs.values()}
    named = [p for p in rule.signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    for position, p in enumerate(rule.signature.parameters.values()):
        if p in named and inspect.Parameter.VAR_KEYWORD not in variadic:
            assert order[position] == p.name
        if p.name in theirs and p.default is not p.empty and theirs[p.name].default not in (p.empty, None):
            assert p.default == theirs[p.name].default


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.name) for rule in RULES])
def test_every_rule_has_cases(rule: Rule) -> None:
    assert rule.at
