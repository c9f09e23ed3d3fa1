"""A gradient against central differences, in a random direction for each number or array of the arguments.

    x_bar · x_dot   against   y_bar · (f(x + eps·x_dot) - f(x - eps·x_dot)) / (2·eps)

`check` knows nothing of how the gradient was made: it is given the function, and its vjp or its jvp.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from srcdiff.prepare.entry import is_object, object_like, vars_of_object

Pullback = Callable[[Any], Sequence[Any]]

_TOLERANCE = {"float16": 1e-1, "float32": 2e-3, "float64": 1e-5, "longdouble": 1e-5}


def check(
    primal: Callable[..., Any],
    args: Sequence[Any],
    *,
    vjp: Callable[..., tuple[Any, Pullback]] | None = None,
    jvp: Callable[[Sequence[Any], Sequence[Any]], tuple[Any, Any]] | None = None,
    argnums: Sequence[int] = (0,),
    kwargs: Mapping[str, Any] | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Raise AssertionError if a gradient disagrees with central differences of the primal.

    `vjp(*args, **kwargs)` gives the value, and the pullback: from an adjoint of the value to a sequence with the gradient by
    each of `argnums`. `jvp(args, tangents, **kwargs)` gives the value and its tangent; the tangent of an argument that is not
    in `argnums` is None, and so is the adjoint of a result that is no real floating-point number. Arguments and results may be
    nested.

    The differences are taken in float64, whatever the precision of the arguments; the tolerances are those of the coarsest
    precision among arguments and results, and the rounding error of the differences is allowed for on top.

    >>> def cubes(x):
    ...     return np.sum(x ** 3)
    >>> check(cubes, [np.array([1.0, 2.0])], vjp=lambda x: (cubes(x), lambda y_bar: [y_bar * 3 * x ** 2]))
    >>> check(cubes, [np.array([1.0, 2.0])], vjp=lambda x: (cubes(x), lambda y_bar: [y_bar * 2 * x ** 2]))
    Traceback (most recent call last):
        ...
    AssertionError: the gradient of `cubes` by `x` disagrees with central differences
      Along a random direction, reverse mode gives -0.80537..., central differences give -1.20806...
      They differ by 0.4, of which 2e-05 is tolerated.
    """
    kwargs = dict(kwargs or {})
    names = _parameter_names(primal, len(args))
    written, primal = primal, _on_copies(primal)
    rng = np.random.default_rng(0)
    value = primal(*args, **kwargs)
    y_bar = _like(value, lambda leaf: np.ones_like(leaf) if _is_scalar(value) else _direction(rng, leaf), others=None)
    gradients: Sequence[Any] = ()
    if vjp is not None:
        again, pullback = vjp(*args, **kwargs)
        _same_value(written, again, value)
        gradients = pullback(y_bar)
    for position, argnum in enumerate(argnums):
        places = [(path, leaf) for path, leaf in _leaves(args[argnum], names[argnum]) if _is_real(leaf)]
        by_path = dict(_leaves(gradients[position], names[argnum])) if vjp is not None else {}
        for path, leaf in places:
            direction = _direction(rng, leaf)
            step = eps if eps is not None else np.finfo(np.float64).eps ** (1 / 3) * _size(leaf)
            expected, rounding = _central_difference(primal, args, kwargs, argnum, path, names, direction, step, y_bar)
            tolerance = max(_tolerance(leaf), *map(_tolerance, (y for _, y in _leaves(y_bar, "y"))))
            allowed = (tolerance if atol is None else atol) + (tolerance if rtol is None else rtol) * abs(expected) + rounding
            where = f"the gradient of `{_name(written)}` by `{path}`"
            if vjp is not None:
                if path not in by_path or by_path[path] is None:
                    raise AssertionError(f"{where} is missing")
                if np.shape(by_path[path]) != np.shape(leaf):
                    raise AssertionError(f"{where} has the shape {np.shape(by_path[path])}, the argument has {np.shape(leaf)}")
                _compare(where, "reverse mode", _dot(by_path[path], direction), expected, allowed)
            if jvp is not None:
                tangents: list[Any] = [None] * len(args)
                tangents[argnum] = _replaced(args[argnum], names[argnum], path, direction, zero_elsewhere=True)
                _, y_dot = jvp(args, tangents, **kwargs)
                _compare(where, "forward mode", inner(y_bar, y_dot), expected, allowed)


def _on_copies(primal: Callable[..., Any]) -> Callable[..., Any]:
    """The function called with copies of its arguments, which it may write to."""

    def called(*args: Any, **kwargs: Any) -> Any:
        return primal(*map(_copied, args), **{name: _copied(value) for name, value in kwargs.items()})

    return called


def _copied(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except TypeError:  # a module, a lock
        return value


def _central_difference(
    primal: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    argnum: int,
    path: str,
    names: Sequence[str],
    direction: Any,
    step: float,
    y_bar: Any,
) -> tuple[float, float]:
    """The difference along the direction, and how far rounding may have moved it."""

    def shifted(distance: float) -> Any:
        moved = [_like(arg, np.float64) for arg in args]
        leaf = dict(_leaves(moved[argnum], names[argnum]))[path]
        moved[argnum] = _replaced(moved[argnum], names[argnum], path, leaf + distance * np.asarray(direction, np.float64))
        return primal(*moved, **kwargs)

    ahead, behind = shifted(step), shifted(-step)
    size = inner(_like(y_bar, np.abs), _like(ahead, np.abs))
    return (inner(y_bar, ahead) - inner(y_bar, behind)) / (2 * step), 10 * float(np.finfo(np.float64).eps) * size / step


def _compare(where: str, mode: str, found: float, expected: float, allowed: float) -> None:
    difference = abs(found - expected)
    # Written so that a nan is refused.
    if not difference <= allowed:
        raise AssertionError(
            f"{where} disagrees with central differences\n"
            f"  Along a random direction, {mode} gives {found:.10g}, central differences give {expected:.10g}.\n"
            f"  They differ by {difference:.2g}, of which {allowed:.1g} is tolerated."
        )


def _same_value(primal: Callable[..., Any], found: Any, value: Any) -> None:
    ours, theirs = dict(_leaves(found, "the result")), dict(_leaves(value, "the result"))
    if ours.keys() != theirs.keys():
        raise AssertionError(f"the value of `{_name(primal)}` has another structure beside its gradient")
    for path, leaf in theirs.items():
        if _is_real(leaf) and not np.allclose(ours[path], leaf, rtol=_tolerance(leaf), atol=0, equal_nan=True):
            raise AssertionError(
                f"the value of `{_name(primal)}` is another beside its gradient: {ours[path]} for {leaf} in {path}"
            )


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """What a nested value consists of, each with the expression that reads it."""
    for step, child in _children(value):
        yield from _leaves(child, path + step)
    if not _is_container(value):
        yield path, value


_AS_IT_IS = object()


def _like(value: Any, change: Callable[[Any], Any], others: Any = _AS_IT_IS) -> Any:
    """The same structure with each real number or array changed, and what is none replaced by `others`."""
    if _is_container(value):
        return _rebuilt(value, [_like(child, change, others) for _, child in _children(value)])
    if _is_real(value):
        return change(value)
    return value if others is _AS_IT_IS else others


def _replaced(value: Any, path: str, at: str, leaf: Any, *, zero_elsewhere: bool = False) -> Any:
    if _is_container(value):
        children = [_replaced(c, path + step, at, leaf, zero_elsewhere=zero_elsewhere) for step, c in _children(value)]
        return _rebuilt(value, children)
    if path == at:
        return leaf
    return value if not zero_elsewhere else np.zeros_like(value) if _is_real(value) else None


def _is_container(value: Any) -> bool:
    return isinstance(value, tuple | list | dict) or is_object(value)


def _children(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(f"[{key!r}]", child) for key, child in value.items()]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [(f".{name}", child) for name, child in zip(value._fields, value)]
    if isinstance(value, tuple | list):
        return [(f"[{i}]", child) for i, child in enumerate(value)]
    if _is_container(value):
        return [(f".{name}", child) for name, child in vars_of_object(value).items()]
    return []


def _rebuilt(value: Any, children: list[Any]) -> Any:
    if isinstance(value, dict):
        return dict(zip(value, children))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*children)
    if isinstance(value, tuple | list):
        return type(value)(children)
    return object_like(value, dict(zip(vars_of_object(value), children)))


def _is_real(leaf: Any) -> bool:
    return isinstance(leaf, float) or (isinstance(leaf, np.ndarray | np.generic) and leaf.dtype.kind == "f")


def _is_scalar(value: Any) -> bool:
    return _is_real(value) and np.shape(value) == ()


def _direction(rng: np.random.Generator, leaf: Any) -> Any:
    direction = rng.normal(size=np.shape(leaf))
    return float(direction) if isinstance(leaf, float) else np.asarray(direction, leaf.dtype)[()]


def direction_like(rng: np.random.Generator, value: Any) -> Any:
    """A random tangent in the structure of a value: None for what has no derivative."""
    return _like(value, lambda leaf: _direction(rng, leaf), others=None)


def _size(leaf: Any) -> float:
    return max(1.0, float(np.max(np.abs(leaf), initial=0.0)))


def _tolerance(leaf: Any) -> float:
    return _TOLERANCE.get(np.asarray(leaf).dtype.name, 1e-5) if _is_real(leaf) else 0.0


def _dot(x: Any, y: Any) -> float:
    return float(np.sum(np.multiply(x, y, dtype=np.float64)))


def inner(y_bar: Any, y: Any) -> float:
    """The sum over all real parts of two nested values of one structure."""
    others = dict(_leaves(y, "y"))
    return sum(_dot(leaf, others[path]) for path, leaf in _leaves(y_bar, "y") if _is_real(leaf) and others[path] is not None)


def _parameter_names(primal: Callable[..., Any], count: int) -> list[str]:
    try:
        bound = inspect.signature(primal).bind_partial(*range(count)).arguments
    except (TypeError, ValueError):
        bound = {}
    by_position = {position: name for name, position in bound.items() if isinstance(position, int)}
    return [by_position.get(position, f"args[{position}]") for position in range(count)]


def _name(f: Callable[..., Any]) -> str:
    return getattr(f, "__name__", type(f).__name__)
