"""Arguments and gradients as users nest them: tuples, lists, dicts, NamedTuples, objects."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from srcdiff.errors import NotDifferentiable
from srcdiff.prepare.entry import is_object, object_like, vars_of_object


class Mismatch(Exception):
    """A gradient that does not have the structure of the argument."""


def map_leaves(value: Any, path: str, fn: Callable[[str, Any], Any]) -> Any:
    """`fn(path, leaf)` for each leaf of nested containers, in the same structure."""
    match value:
        case tuple() if hasattr(value, "_fields"):
            return type(value)(*[map_leaves(v, f"{path}.{n}", fn) for n, v in zip(value._fields, value)])
        case tuple() | list():
            return type(value)([map_leaves(v, f"{path}[{i}]", fn) for i, v in enumerate(value)])
        case dict():
            return {k: map_leaves(v, f"{path}[{k!r}]", fn) for k, v in value.items()}
        case _ if is_object(value):
            return object_like(value, {n: map_leaves(v, f"{path}.{n}", fn) for n, v in vars_of_object(value).items()})
        case _:
            return fn(path, value)


def pair_leaves(argument: Any, gradient: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """(path, leaf, gradient) for the leaves of an argument; a gradient of None may stand for a whole container."""
    match argument:
        case tuple() | list():
            if gradient is not None and (not isinstance(gradient, (tuple, list)) or len(gradient) != len(argument)):
                raise Mismatch(f"the gradient by {path} is no {type(argument).__name__} of {len(argument)}")
            fields = getattr(argument, "_fields", None)
            for i, a in enumerate(argument):
                yield from pair_leaves(a, gradient and gradient[i], f"{path}.{fields[i]}" if fields else f"{path}[{i}]")
        case dict():
            if gradient is not None and (not isinstance(gradient, dict) or gradient.keys() != argument.keys()):
                raise Mismatch(f"the gradient by {path} has not the keys {list(argument)}")
            for k, a in argument.items():
                yield from pair_leaves(a, gradient and gradient[k], f"{path}[{k!r}]")
        case _ if is_object(argument):
            for name, a in vars_of_object(argument).items():
                yield from pair_leaves(a, getattr(gradient, name, None), f"{path}.{name}")
        case _:
            yield path, argument, gradient


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
            raise NotDifferentiable(f"`{name_of(fn)}` is no Python function", why="Its code cannot be run on symbols.")
    return fn, given, named


def name_of(fn: Any) -> str:
    return str(getattr(fn, "__name__", type(fn).__name__))


def parameter_names(fn: Callable[..., Any], count: int) -> list[str]:
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        return [f"x{i}" for i in range(count)]
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "x")
    return [names[i] if i < len(names) else f"{rest}[{i - len(names)}]" for i in range(count)]
