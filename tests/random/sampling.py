"""Finds expressions that have a value: holes are filled at random, and what raises on the samples is thrown away.

    Sampler(rng).expression("array")   →  "np.sum(w * 0.5, axis=0)"

The environment maps what a program may write (`w`, `p.a`, `xs[0]`) to a sample of its value, so that shapes fit without a
type system.
"""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np

from tests.random import expressions as texts

LARGEST = 50.0
WANTED = {"x": "any", "y": "any", "a": "array", "b": "array", "s": "scalar", "t": "scalar"}
_HOLE = re.compile(r"\{([xyabstnc])\}")
_SIMPLE = re.compile(r"[\w.]+(\[[^ ]*\])?|\w[\w.]*\([^()]*\)")
Env = dict[str, Any]


class Impossible(Exception):
    """No expression of the wanted kind was found."""


def kind(value: Any) -> Any:
    """What a name keeps where paths meet: numbers of a type are one kind, arrays by dtype and shape."""
    if isinstance(value, (bool, int)):
        return type(value)
    if isinstance(value, (float, np.generic, np.ndarray)):
        array = np.asarray(value)
        return array.dtype, array.shape
    return type(value), id(value)


def is_float(value: Any) -> bool:
    return np.asarray(value).dtype.kind == "f"


def is_reasonable(value: Any) -> bool:
    """Whether a value is one to go on with: real, finite, small, and of a precision that differences can check."""
    if not isinstance(value, (float, np.generic, np.ndarray)) or np.asarray(value).dtype not in (np.float64, np.float32):
        return False
    return 0 < np.size(value) <= 40 and bool(np.all(np.abs(value) < LARGEST))


class Sampler:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.module: Env = {"__name__": __name__}
        exec(texts.HELPERS, self.module)
        self.env: Env = {}
        self.containers: Env = {}

    def bind(self, path: str, value: Any) -> bool:
        """Make the leaves of a value known by their paths; whether one has a derivative."""
        if isinstance(value, (dict, tuple, list)) or hasattr(value, "energy") or value is None or isinstance(value, str):
            self.containers[path] = value
        if isinstance(value, dict):
            return any([self.bind(f"{path}[{k!r}]", v) for k, v in value.items()])
        if hasattr(value, "_fields") or hasattr(value, "energy"):
            fields = getattr(value, "_fields", ("u", "v"))
            return any([self.bind(f"{path}.{k}", getattr(value, k)) for k in fields])
        if isinstance(value, (tuple, list)):
            return any([self.bind(f"{path}[{n}]", v) for n, v in enumerate(value)])
        if value is None or isinstance(value, str):
            return False
        self.env[path] = value
        return is_float(value)

    def names(self, want: str = "any") -> list[str]:
        """What may be read: everything, or what is an array, or a scalar; no bools, of which NumPy makes float16."""
        numbers = [n for n, v in self.env.items() if np.asarray(v).dtype != bool]
        return [n for n in numbers if want == "any" or (np.ndim(self.env[n]) > 0) == (want == "array")]

    def scope(self) -> Env:
        """The names of the module and of the program; paths such as `p.a` are read from what holds them."""
        return {**self.module, **{n: v for d in (self.containers, self.env) for n, v in d.items() if n.isidentifier()}}

    def evaluated(self, text: str) -> Any:
        return eval(text, self.scope())

    def filled(self, template: str, depth: int) -> str:
        parts: dict[str, str] = {}
        for hole in _HOLE.findall(template):
            if hole == "n":
                parts[hole] = self.rng.choice(["0", "-1", "1", "0", "None"])
            elif hole == "c":
                parts[hole] = self.condition(depth)
            elif hole not in parts:
                part = self.operand(WANTED[hole], depth)
                parts[hole] = part if _SIMPLE.fullmatch(part) else f"({part})"
        return _HOLE.sub(lambda hole: parts[hole[1]], template)

    def operand(self, want: str, depth: int) -> str:
        """A name, a number, or an expression of its own."""
        rng = self.rng
        if want == "scalar" and rng.random() < 0.15:
            return rng.choice(["0.5", "2.0", "1.5", "2", "3", "K"])
        names = self.names(want)
        if names and (depth <= 0 or rng.random() < 0.7):
            return rng.choice(names[-5:] if rng.random() < 0.6 else names)
        if depth <= -2:
            raise Impossible
        return self.expression(want, depth - 1)

    def expression(self, want: str = "any", depth: int = 1, like: Any = None) -> str:
        """An expression of a reasonable value; of the kind of `like` if that is given."""
        if like is not None:
            want = "scalar" if np.ndim(like) == 0 else "array"
        pools = {"scalar": [texts.SCALAR_EXPRESSIONS], "array": [texts.ARRAY_EXPRESSIONS]}
        pools["any"] = pools["array"] + pools["scalar"]
        for _ in range(60):
            try:
                text = self.filled(self.rng.choice(self.rng.choice([texts.ANY_EXPRESSIONS, *pools[want]])), depth)
                value = self.evaluated(text)
            except Exception:
                continue
            fits = want == "any" or (want == "array") == (np.ndim(value) > 0)
            if is_reasonable(value) and fits and (like is None or kind(value) == kind(like)):
                return text
        raise Impossible

    def condition(self, depth: int = 0) -> str:
        for _ in range(40):
            try:
                text = self.filled(self.rng.choice(texts.CONDITION_EXPRESSIONS), min(depth, 0))
                if isinstance(self.evaluated(text), (bool, np.bool_)):
                    return text
            except Exception:
                continue
        raise Impossible
