"""Rules about numbers: arithmetic, elementwise functions, reductions, making arrays. Each is run on the cases beside it.

The contributions agree with central differences, are float32 where the arguments are, and have the shape of the argument;
what is predicted of shape and dtype is what NumPy returns; the odd points are as the chapters state them.
"""

from __future__ import annotations

import importlib
import inspect
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcdiff.ir.kinds import FLOAT, Array, Dim
from srcdiff.ir.nodes import Apply, Var
from srcdiff.rules.builder import Builder
from srcdiff.rules.inference import dtype_of
from srcdiff.rules.registry import Case, Fixed, Many, Rule, Shaped, rule_for, rules
from srcdiff.rules.staging import Staged

CHAPTERS = ["arithmetic", "mathematical", "scalars", "reductions", "creation", "special"]
if importlib.util.find_spec("scipy") is None:
    CHAPTERS.remove("special")
for chapter in [*CHAPTERS, "shaping", "indexing"]:
    importlib.import_module(f"srcdiff.rules.{chapter}")

MODULES = {f"srcdiff.rules.{chapter}" for chapter in CHAPTERS}
RULES = [rule for rule in rules.values() if rule.text is not None and rule.text.__module__ in MODULES]
CASES = [pytest.param(rule, c, id=f"{rule.name}-{i}") for rule in RULES for i, c in enumerate(rule.at)]


def is_on_numbers(rule: Rule) -> bool:
    """A function of `math` or a builtin: it takes Python numbers."""
    return not rule.name.startswith(("np.", "scipy."))


def sample(shape: tuple[int, ...], domain: str, rng: np.random.Generator) -> Any:
    x = rng.uniform(0.1, 0.9, shape)
    match domain:
        case "positive":
            return np.asarray(0.5 + 2 * x)
        case "probability":
            return np.asarray(x)
        case "unit":
            return np.asarray(2 * x - 1)
        case "above_one":
            return np.asarray(1.5 + x)
        case _:
            return np.asarray(4 * x - 2)


def arguments(rule: Rule, c: Case, dtype: str = "float64", seed: int = 1) -> tuple[list[Any], dict[str, Any]]:
    rng = np.random.default_rng(seed)

    def value(arg: Any) -> Any:
        if isinstance(arg, Fixed):
            return arg.value
        if isinstance(arg, Many):
            return [value(shape) for shape in arg.shapes]
        if not isinstance(arg, tuple):
            return arg
        if is_on_numbers(rule):
            return float(sample((), c.domain, rng)) if arg == () else sample(arg, c.domain, rng)
        return np.asarray(sample(arg, c.domain, rng), dtype)[()]

    return [value(arg) for arg in c.args], dict(c.kwargs)


def active(rule: Rule, c: Case) -> list[int]:
    """The positions of the arguments by which the rule differentiates."""
    assert rule.signature is not None
    parameters = list(rule.signature.parameters.values())
    is_variadic = parameters[0].kind is inspect.Parameter.VAR_POSITIONAL
    return [i for i, arg in enumerate(c.args) if isinstance(arg, tuple) and parameters[0 if is_variadic else i].name in rule.wrt]


def unbroadcast(value: Any, x: Any) -> Any:
    value = np.asarray(value)
    lead = value.ndim - np.ndim(x)
    value = value.sum(axis=tuple(range(lead)), dtype=value.dtype)
    axes = tuple(i for i, n in enumerate(np.shape(x)) if n == 1)
    return value.sum(axis=axes, keepdims=True, dtype=value.dtype)


def contributions(rule: Rule, c: Case, args: list[Any], y: Any, y_bar: Any) -> list[Any]:
    """The contribution to each active argument."""
    assert rule.text is not None and rule.signature is not None
    asked = {name: value for name, value in (("y", y), ("y_bar", y_bar)) if name in rule.needs}
    result = rule.text(*args, **c.kwargs, **asked)
    parts = result if isinstance(result, tuple) else (result,)
    positions = active(rule, c)
    names = [name for name in rule.signature.parameters if name in rule.wrt]
    order = list(rule.signature.parameters)
    if not any(p.kind is p.VAR_POSITIONAL for p in rule.signature.parameters.values()):
        assert len(parts) == len(rule.wrt), "a text gives one part for each parameter of `wrt`"
        parts = [parts[names.index(order[i])] for i in positions]
    if rule.sort != "elementwise":
        return list(parts)
    whole = np.broadcast_shapes(*[np.shape(a) for a in args if a is not None])
    return [unbroadcast(np.broadcast_to(part * y_bar, whole), args[i]) for part, i in zip(parts, positions)]


def weighted(y: Any, y_bar: Any) -> float:
    if isinstance(y, (tuple, list)):
        return sum(weighted(part, bar) for part, bar in zip(y, y_bar))
    return float(np.sum(y * y_bar))


def weights(y: Any, rng: np.random.Generator) -> Any:
    if isinstance(y, (tuple, list)):
        return [weights(part, rng) for part in y]
    if isinstance(y, float) and not isinstance(y, np.generic):
        return float(rng.uniform(-1, 1))
    return np.asarray(rng.uniform(-1, 1, np.shape(y)), np.asarray(y).dtype)[()]


def central_difference(fn: Callable[..., Any], args: list[Any], i: int, y_bar: Any, place: tuple[int, ...]) -> float:
    step = 1e-5
    values = []
    for sign in (1, -1):
        x = np.array(args[i], dtype=float)
        x[place] += sign * step
        moved = float(x) if type(args[i]) is float else x[()]
        values.append(weighted(fn(*args[:i], moved, *args[i + 1 :]), y_bar))
    return (values[0] - values[1]) / (2 * step)


@pytest.mark.parametrize("rule, c", CASES)
def test_contributions_agree_with_central_differences(rule: Rule, c: Case) -> None:
    args, kwargs = arguments(rule, c)
    y = rule.fn(*args, **kwargs)
    y_bar = weights(y, np.random.default_rng(2))
    if rule.sort == "decomposed":
        again = rule.text(*args, **kwargs)
        for part, expected in zip(*[v if isinstance(v, (tuple, list)) else [v] for v in (again, y)]):
            assert np.shape(part) == np.shape(expected)
            np.testing.assert_allclose(part, expected, rtol=1e-12)
        return
    for i, x_bar in zip(active(rule, c), contributions(rule, c, args, y, y_bar)):
        x_bar = np.broadcast_to(x_bar, np.shape(args[i]))
        for place in np.ndindex(np.shape(args[i])):
            expected = central_difference(lambda *a: rule.fn(*a, **kwargs), args, i, y_bar, place)
            assert x_bar[place] == pytest.approx(expected, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("rule, c", [p for p in CASES if not is_on_numbers(p.values[0])])
def test_float32_stays_float32(rule: Rule, c: Case) -> None:
    args, kwargs = arguments(rule, c, "float32")
    y = rule.fn(*args, **kwargs)
    if rule.sort == "decomposed":
        again = rule.text(*args, **kwargs)
        for part, expected in zip(*[v if isinstance(v, (tuple, list)) else [v] for v in (again, y)]):
            assert part.dtype == expected.dtype
        return
    if np.asarray(y).dtype != np.float32:
        pytest.skip("the function itself widens float32")
    y_bar = weights(y, np.random.default_rng(2))
    for i, x_bar in zip(active(rule, c), contributions(rule, c, args, y, y_bar)):
        assert np.asarray(x_bar).dtype == np.float32 or np.all(x_bar == 0)
        assert args[i].dtype == np.float32


@pytest.mark.parametrize("rule", [r for r in RULES if r.sort != "elementwise"], ids=lambda r: r.name)
def test_contributions_have_the_shape_of_the_argument(rule: Rule) -> None:
    for c in rule.at if rule.sort != "decomposed" else ():
        args, kwargs = arguments(rule, c)
        y = rule.fn(*args, **kwargs)
        for i, x_bar in zip(active(rule, c), contributions(rule, c, args, y, weights(y, np.random.default_rng(2)))):
            assert np.shape(x_bar) == np.shape(args[i])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("rule, c", CASES)
def test_texts_stage_with_functions_that_have_rules(rule: Rule, c: Case, dtype: str) -> None:
    args, kwargs = arguments(rule, c, dtype)
    y = rule.fn(*args, **kwargs)
    builder = Builder()

    def staged(name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [staged(f"{name}_{i}", item) for i, item in enumerate(value)]
        if type(value) is float:
            return Staged(builder, Var(name, FLOAT))
        dims = tuple(1 if n == 1 else Dim(f"{name}.shape[{i}]", n) for i, n in enumerate(np.shape(value)))
        return Staged(builder, Var(name, Array(np.asarray(value).dtype.name, dims)))

    stood_for = [staged(f"x{i}", a) if isinstance(spec, (tuple, Many)) else a for i, (spec, a) in enumerate(zip(c.args, args))]
    asked = {name: staged(name, y) for name in rule.needs}
    result = rule.text(*stood_for, **kwargs, **asked)
    for stmt in builder.stmts:
        if isinstance(stmt, Apply) and stmt.op.style == "call" and stmt.op.fn is not np.float32:
            assert rule_for(stmt.op.fn) is not None
    if dtype == "float32" and asked and np.asarray(y).dtype == np.float32:
        for part in result if isinstance(result, tuple) else [result]:
            assert not isinstance(part, Staged) or part.dtype != np.float64


def shaped(arg: Any) -> Any:
    return Shaped(np.shape(arg), np.asarray(arg).dtype.name) if isinstance(arg, (np.ndarray, np.generic)) else arg


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "bool"])
@pytest.mark.parametrize("rule", [r for r in RULES if r.shape is not None], ids=lambda r: r.name)
def test_shape_and_dtype_are_those_of_the_result(rule: Rule, dtype: str) -> None:
    assert rule.shape is not None and rule.signature is not None
    for c in rule.at:
        args, kwargs = arguments(rule, c, dtype)
        try:
            with np.errstate(all="ignore"):
                expected = np.asarray(rule.fn(*args, **kwargs))
        except TypeError:  # the function takes no bool
            assert dtype == "bool"
            continue
        bound = {name: shaped(value) for name, value in rule.signature.bind(*args, **kwargs).arguments.items()}
        result = rule.shape(**bound)
        assert result == expected.shape
        assert dtype_of(rule, bound) == expected.dtype.name


POSITIONS: list[tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...]]] = [
    (np.argmax, (3,), ()), (np.argmin, (2, 3), ()), (np.any, (2, 3), ()), (np.all, (3,), ()), (np.count_nonzero, (2, 3), ()),
    (np.argsort, (2, 3), ()), (np.array_equal, (3,), (3,)), (np.allclose, (3,), (3,)),
    (np.zeros_like, (2, 3), ()), (np.ones_like, (3,), ()),
]  # fmt: skip


@pytest.mark.parametrize("fn, first, second", POSITIONS, ids=lambda v: getattr(v, "__name__", None))
def test_shapes_of_what_has_no_derivative(fn: Callable[..., Any], first: tuple[int, ...], second: tuple[int, ...]) -> None:
    rule = rules[fn]
    args = [np.sort(np.linspace(0, 1, math.prod(s)).reshape(s)) for s in (first, second) if s]
    expected = fn(*args)
    bound = {name: shaped(value) for name, value in rule.signature.bind(*args).arguments.items()}
    result = rule.shape(**bound)
    if isinstance(expected, bool):
        assert result.type == "bool"
    else:
        assert result == np.shape(expected)
        assert dtype_of(rule, bound) == np.asarray(expected).dtype.name


# ---------------------------------------------------------------- signatures

# SciPy's and NumPy's ufuncs and most of `math` take their operands by position only; these names are the texts' own.
_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY,)
_ALL = [r for r in rules.values() if r.signature is not None and (r.text is None or r.text.__module__ in MODULES)]


@pytest.mark.parametrize("rule", _ALL, ids=lambda r: r.name)
def test_parameters_mean_what_they_mean_to_numpy(rule: Rule) -> None:
    try:
        own = list(inspect.signature(rule.fn).parameters.values())
    except ValueError:
        pytest.skip("the function does not tell its signature")
    if any(p.kind is p.VAR_POSITIONAL for p in own):
        return
    by_name = {p.name: p for p in own if p.kind is not p.POSITIONAL_ONLY}
    assert rule.signature is not None
    for i, p in enumerate(rule.signature.parameters.values()):
        if p.kind is p.KEYWORD_ONLY:
            assert p.name in by_name
            continue
        assert own[i].kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        if own[i].kind is not p.POSITIONAL_ONLY:
            assert own[i].name == p.name
            if p.default is not p.empty and own[i].default not in (p.empty, np._NoValue):
                assert own[i].default == p.default or own[i].default in (bool, int, float)


# ---------------------------------------------------------------- odd points


def partials(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rule = rules[fn]
        asked = {"y": fn(*args, **kwargs)} if "y" in rule.needs else {}
        return rule.text(*args, **kwargs, **asked)


def adjoint(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rule = rules[fn]
        y = fn(*args, **kwargs)
        asked = {"y": y} if "y" in rule.needs else {}
        return rule.text(*args, **kwargs, **asked, y_bar=np.ones_like(y)[()])


INF = np.inf


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_maximum_shares_at_ties(dtype: Any) -> None:
    x1 = np.array([1, 2, 3, INF, -INF, INF], dtype)
    x2 = np.array([2, 2, 2, INF, -INF, 0], dtype)
    for fn in (np.maximum, np.fmax):
        first, second = partials(fn, x1, x2)
        assert first.tolist() == [0, 0.5, 1, 0.5, 0.5, 1]
        assert second.tolist() == [1, 0.5, 0, 0.5, 0.5, 0]
    for fn in (np.minimum, np.fmin):
        first, second = partials(fn, x1, x2)
        assert first.tolist() == [1, 0.5, 0, 0.5, 0.5, 0]
        assert second.tolist() == [0, 0.5, 1, 0.5, 0.5, 1]


def test_maximum_of_an_array_and_a_number() -> None:
    x = np.array([-INF, -1.0, 0.0, 1.0, INF])
    assert partials(np.maximum, x, 0)[0].tolist() == [0, 0, 0.5, 1, 1]
    assert partials(np.maximum, 0, x)[1].tolist() == [0, 0, 0.5, 1, 1]
    assert partials(np.minimum, x, 0.0)[0].tolist() == [1, 1, 0.5, 0, 0]
    assert partials(np.maximum, x, 1.0)[0].tolist() == [0, 0, 0, 0.5, 1]


def test_max_of_numbers() -> None:
    assert partials(max, 1.0, 2.0) == (0, 1)
    assert partials(max, 2.0, 2.0) == (0.5, 0.5)
    assert partials(min, 1.0, 2.0) == (1, 0)


def test_fmax_passes_nan_over() -> None:
    x1, x2 = np.array([np.nan, 1.0]), np.array([1.0, np.nan])
    first, second = partials(np.fmax, x1, x2)
    assert first.tolist() == [0, 1] and second.tolist() == [1, 0]


def test_abs_is_flat_at_zero() -> None:
    assert partials(np.abs, np.array([-2.0, 0.0, 2.0])).tolist() == [-1, 0, 1]
    assert [partials(abs, x) for x in (-2.0, 0.0, 2.0)] == [-1, 0, 1]


def test_power_at_zero() -> None:
    x = np.zeros(3)
    p = np.array([0.0, 1.0, 2.0])
    to_base, to_exponent = partials(np.power, x, p)
    assert to_base.tolist() == [0, 1, 0]
    assert to_exponent.tolist() == [0, 0, 0]
    assert partials(np.power, x, 0)[0] == 0
    assert partials(pow, 0.0, 0)[0] == 0
    assert partials(math.pow, 0.0, 2)[0] == 0


def test_clip_passes_on_what_it_leaves() -> None:
    a = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    to_a, to_min, to_max = partials(np.clip, a, -1.0, 1.0)
    assert to_a.tolist() == [False, True, True, True, False]
    assert to_min.tolist() == [True, False, False, False, False]
    assert to_max.tolist() == [False, False, False, False, True]
    _, to_min, to_max = partials(np.clip, a, 5.0, 3.0)
    assert not to_min.any() and to_max.all()
    assert partials(np.clip, a, None, 1.0)[1] == 0


def test_logaddexp_of_nothing() -> None:
    first, second = partials(np.logaddexp, np.array([-INF, -INF]), np.array([-INF, 0.0]))
    assert first.tolist() == [0, 0] and second.tolist() == [0, 1]


def test_sinc_is_smooth_at_zero() -> None:
    x = np.array([0.0, 0.5])
    assert partials(np.sinc, x)[0] == 0


def test_prod_with_zeros() -> None:
    x = np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 5.0], [1.0, 2.0, 3.0]])
    assert adjoint(np.prod, x, axis=1).tolist() == [[0, 6, 0], [0, 0, 0], [6, 3, 2]]
    assert adjoint(np.prod, np.array([2.0, 0.0, 3.0])).tolist() == [0, 6, 0]
    assert adjoint(np.prod, np.array([4.0])).tolist() == [1]
    assert adjoint(np.prod, np.empty(0)).tolist() == []


@pytest.mark.parametrize("x", [[2.0, 0.0, 3.0], [0.0, 0.0, 5.0], [2.0, 3.0, 0.0], [0.0, 1.0, 0.0]])
def test_cumprod_with_zeros(x: list[float]) -> None:
    a = np.array(x)
    expected = np.zeros(3)
    for i in range(3):
        for j in range(i, 3):
            expected[i] += np.prod(np.delete(a[: j + 1], i))
    assert adjoint(np.cumprod, a).tolist() == expected.tolist()


def test_max_shares_at_ties() -> None:
    x = np.array([[1.0, 3.0, 3.0], [INF, 2.0, INF]])
    assert adjoint(np.max, x, axis=1).tolist() == [[0, 0.5, 0.5], [0.5, 0, 0.5]]
    assert adjoint(np.min, np.array([2.0, 2.0, 2.0, 2.0])).tolist() == [0.25] * 4


def test_std_of_equal_elements() -> None:
    assert adjoint(np.std, np.ones(3)).tolist() == [0, 0, 0]
    assert adjoint(np.var, np.ones(3)).tolist() == [0, 0, 0]


def test_nan_is_left_out() -> None:
    x = np.array([1.0, np.nan, 3.0])
    assert adjoint(np.nansum, x).tolist() == [1, 0, 1]
    assert adjoint(np.nanmean, x).tolist() == [0.5, 0, 0.5]
    assert adjoint(np.nanmax, x).tolist() == [0, 0, 1]


def test_sorting_follows_the_elements() -> None:
    x = np.array([3.0, 1.0, 2.0])
    y_bar = np.array([1.0, 2.0, 3.0])
    assert rules[np.sort].text(x, y_bar=y_bar).tolist() == [3, 1, 2]
    assert adjoint(np.median, x).tolist() == [0, 0, 1]
    assert adjoint(np.median, np.array([4.0, 1.0, 2.0, 3.0])).tolist() == [0, 0, 0.5, 0.5]


def test_distance_is_a_hypotenuse() -> None:
    assert rules[math.dist].text([0.0, 1.0], (3.0, 5.0)) == 5


def test_arange_moves_with_its_ends() -> None:
    start, stop, step = adjoint(np.arange, 1.0, 4.0, 1.0)
    assert (start, stop, step) == (3, 0, 3)


def test_conversion_to_integers_has_no_derivative() -> None:
    assert np.all(adjoint(np.array, np.array([1.5]), int) == 0)
    assert adjoint(np.asarray, np.ones(2, np.float32), np.float64).dtype == np.float32
