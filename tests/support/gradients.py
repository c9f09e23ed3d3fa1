"""The one function that checks a gradient everywhere in the tests.

check_gradient(lambda x: np.sum(x**2), x)      passes
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

import srcdiff
from srcdiff.prepare.entry import is_object, vars_of_object
from srcdiff.proofs import numeric


def check_gradient(
    f: Callable[..., Any],
    *args: Any,
    argnums: int | str | tuple[int | str, ...] = 0,
    kwargs: Mapping[str, Any] | None = None,
    has_aux: bool = False,
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> Any:
    """The gradient of `f`, after every claim about it held.

    It agrees with central differences; the value beside it is the primal's; it has the structure, shapes and dtypes of the
    argument; nothing was written into the arguments, and no array of the result is an argument's or given twice; a second call
    gives the same to the bit, and so do the compiled function, `value_and_grad` and `vjp` up to rounding; the source calls
    nothing of srcdiff.
    """
    kwargs = {**_defaults(f, argnums), **(kwargs or {})}
    before = copy.deepcopy((args, kwargs))
    value_and_grad = srcdiff.value_and_grad(f, argnums, has_aux)
    grad = srcdiff.grad(f, argnums, has_aux)

    gradient = _without_aux(grad(*args, **kwargs), has_aux)
    head, beside = value_and_grad(*args, **kwargs)
    assert same(head, f(*copy.deepcopy(args), **copy.deepcopy(kwargs)), rtol=1e-12), "the value is not the primal's"
    assert same(gradient, beside, rtol=1e-9), "value_and_grad has another gradient"
    assert same(gradient, _without_aux(grad(*args, **kwargs), has_aux)), "a second call gives another gradient"
    assert same(gradient, _without_aux(grad.compile(*args, **kwargs)(*args, **kwargs), has_aux)), "compile has another gradient"

    primal, chosen, positional, pullback_of, along = _positional(f, argnums, args, kwargs, has_aux)
    _, pullback = pullback_of(*positional)
    assert same(tuple(pullback(1.0)), tuple(pullback(1.0))), "a pullback called twice gives another adjoint"
    by_argument = (gradient,) if isinstance(argnums, (int, str)) else tuple(gradient)
    assert same(by_argument, tuple(pullback(1.0)), rtol=1e-9), "the pullback has another gradient"

    for number, part in zip(chosen, by_argument):
        _check_structure(part, positional[number])
    _check_fresh(by_argument, (args, kwargs))
    numeric.check(primal, positional, vjp=pullback_of, jvp=along, argnums=chosen, atol=atol, rtol=rtol, eps=eps)
    _check_forward(along, positional, chosen, by_argument, primal)
    assert same((args, kwargs), before), "an argument was written to"
    assert "srcdiff" not in grad.source_for(*args, **kwargs)
    return gradient


def same(found: Any, expected: Any, *, rtol: float = 0.0) -> bool:
    """Whether two nested values have one structure and equal leaves, of the same dtype; nan equals nan."""
    ours, theirs = list(leaves(found)), list(leaves(expected))
    if [path for path, _ in ours] != [path for path, _ in theirs]:
        return False
    return all(_equal(a, b, rtol) for (_, a), (_, b) in zip(ours, theirs))


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """What a nested value consists of, each with where it is in there."""
    if isinstance(value, dict):
        children = [(f"[{key!r}]", child) for key, child in value.items()]
    elif isinstance(value, (tuple, list)):
        children = [(f"[{i}]", child) for i, child in enumerate(value)]
    elif is_object(value):
        children = [(f".{name}", child) for name, child in vars_of_object(value).items()]
    else:
        yield path, value
        return
    yield f"{path}:{type(value).__name__}", None
    for step, child in children:
        yield from leaves(child, path + step)


def _equal(a: Any, b: Any, rtol: float) -> bool:
    if not isinstance(a, (float, np.ndarray, np.generic)):
        return type(a) is type(b) and bool(a == b)
    if np.shape(a) != np.shape(b) or np.result_type(a) != np.result_type(b):
        return False
    if np.result_type(a).kind not in "fc":
        return bool(np.array_equal(a, b))
    rtol = max(rtol, 1e-5) if rtol and np.result_type(a).itemsize < 8 else rtol
    size = float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b)))
    return bool(np.allclose(a, b, rtol=rtol, atol=rtol * size, equal_nan=True))


def _defaults(f: Any, argnums: Any) -> dict[str, Any]:
    """The defaults of keyword-only parameters to differentiate by."""
    names = [argnums] if isinstance(argnums, (int, str)) else argnums
    parameters = [inspect.signature(f).parameters[name] for name in names if isinstance(name, str)]
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is not p.empty}


def _without_aux(result: Any, has_aux: bool) -> Any:
    return result[0] if has_aux else result


def _positional(f: Any, argnums: Any, args: Any, kwargs: Any, has_aux: bool) -> tuple[Any, list[int], list[Any], Any]:
    """The function with all its arguments by position: keyword arguments follow the others."""
    names, count = list(kwargs), len(args)

    def split(xs: Any) -> tuple[Any, dict[str, Any]]:
        return xs[:count], dict(zip(names, xs[count:]))

    def primal(*xs: Any) -> Any:
        positional, named = split(xs)
        return _without_aux(f(*positional, **named), has_aux)

    def pullback_of(*xs: Any) -> tuple[Any, Callable[[Any], Any]]:
        positional, named = split(xs)
        value, pullback, *_ = srcdiff.vjp(f, *positional, argnums=argnums, has_aux=has_aux, **named)
        return value, (lambda y_bar: (pullback(y_bar),)) if isinstance(argnums, (int, str)) else pullback

    numbers = (argnums,) if isinstance(argnums, (int, str)) else argnums
    chosen = [_position(f, a, count, names) for a in numbers]

    def along(xs: Any, tangents: Any) -> tuple[Any, Any]:
        positional, named = split(xs)
        dots = tuple(tangents[n] for n in chosen)
        value, tangent, *_ = srcdiff.jvp(f, positional, dots, argnums=numbers, has_aux=has_aux, **named)
        return value, tangent

    return primal, chosen, [*args, *kwargs.values()], pullback_of, along


def _position(f: Any, argnum: int | str, count: int, names: list[str]) -> int:
    if isinstance(argnum, int):
        return argnum % count
    if argnum in names:
        return count + names.index(argnum)
    return list(inspect.signature(f).parameters).index(argnum)


def _check_forward(along: Any, args: Any, chosen: list[int], gradients: Any, primal: Any) -> None:
    """Forward mode gives the same value, and a tangent that agrees with the gradient in a random direction."""
    rng = np.random.default_rng(7)
    tangents = [numeric.direction_like(rng, arg) if n in chosen else None for n, arg in enumerate(args)]
    before = copy.deepcopy(tangents)
    value, y_dot = along(args, tangents)
    assert same(value, primal(*copy.deepcopy(args)), rtol=1e-12), "the value beside the tangent is not the primal's"
    products = [numeric.inner(gradient, tangents[n]) for n, gradient in zip(chosen, gradients)]
    size = sum(map(abs, products)) + abs(float(y_dot))
    single = any(getattr(x, "dtype", None) == np.float32 for _, x in leaves((args, value)))
    tolerance = (1e-3 if single else 1e-8) * (1 + size)
    assert abs(sum(products) - float(y_dot)) <= tolerance, f"forward mode gives {y_dot}, reverse mode {sum(products)}"
    assert np.result_type(y_dot) == np.result_type(value), "the tangent is of another dtype"
    assert same(along(args, tangents), (value, y_dot)), "a second tangent is another"
    assert same(tangents, before), "a tangent was written to"


def _check_structure(gradient: Any, argument: Any) -> None:
    ours, theirs = list(leaves(gradient)), list(leaves(argument))
    assert [path for path, _ in ours] == [path for path, _ in theirs], "the gradient has another structure than the argument"
    for (path, g), (_, x) in zip(ours, theirs):
        if g is not None:
            assert np.shape(g) == np.shape(x), f"the gradient{path} has the shape {np.shape(g)}, the argument {np.shape(x)}"
        if g is not None and isinstance(x, (np.ndarray, np.generic)):
            assert g.dtype == x.dtype, f"the gradient{path} is {g.dtype}, the argument {x.dtype}"


def _check_fresh(gradients: Any, arguments: Any) -> None:
    arrays = [(f"the gradient{path}", g) for path, g in leaves(gradients) if isinstance(g, np.ndarray)]
    others = [("an argument", x) for _, x in leaves(arguments) if isinstance(x, np.ndarray)]
    for i, (path, g) in enumerate(arrays):
        assert g.flags.writeable, f"{path} is read-only"
        for other, x in [*others, *arrays[:i]]:
            assert not np.shares_memory(g, x), f"{path} shares its memory with {other}"
