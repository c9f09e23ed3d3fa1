"""The programs of the battery: small NumPy functions, each with arguments, in `programs/`.

    @program(X, W)                     arguments; it is differentiated by the first, or by `argnums`
    def f(x, w):
        return np.sum(np.tanh(x @ w))

A program runs under jax.numpy as it stands; one that writes to arrays, or branches on values, has a twin beside it:

    @f.twin
    def _(x, w): ...
"""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "programs"
CHAPTERS = sorted(file.stem for file in FOLDER.glob("*.py"))


@dataclass
class Program:
    """A function that returns a real scalar, with its arguments.

    `order` is the highest that is compared, to `rtol`; `other` is the function under jax.numpy.
    """

    f: Callable[..., Any]
    args: tuple[Any, ...]
    argnums: tuple[int, ...]
    order: int
    rtol: float
    other: Callable[..., Any]

    @property
    def name(self) -> str:
        return f"{self.f.__module__.rpartition('.')[2]}.{self.f.__name__}"


_collected: dict[str, dict[str, Program]] = {}


def program(*args: Any, argnums: tuple[int, ...] = (0,), order: int = 3, rtol: float = 1e-9) -> Callable[[Any], Any]:
    """Make a function a program of the battery; `f.twin` then takes what stands for it under jax.numpy."""

    def collect(f: Any) -> Any:
        chapter = _collected.setdefault(f.__module__, {})
        assert f.__name__ not in chapter, f"two programs are called {f.__name__}"
        made = chapter[f.__name__] = Program(f, args, argnums, order, rtol, f)
        f.twin = lambda g: setattr(made, "other", g)
        return f

    return collect


def programs() -> list[Program]:
    """All programs, in the order of chapters and within them."""
    modules = [importlib.import_module(f"tests.battery.programs.{chapter}") for chapter in CHAPTERS]
    return [program for module in modules for program in _collected[module.__name__].values()]


def through(names: dict[str, Any], f: Any) -> Any:
    """A function with other things in place of what its module calls by these names, also in the functions that it calls."""
    own = {**f.__globals__, **names}
    for name, value in f.__globals__.items():
        if isinstance(value, types.FunctionType) and value.__module__ == f.__module__ and name not in names:
            own[name] = types.FunctionType(value.__code__, own, name, value.__defaults__, value.__closure__)
    return types.FunctionType(f.__code__, own, f.__name__, f.__defaults__, f.__closure__)
