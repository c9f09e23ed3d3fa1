"""How the emitted source names what it takes from outside: functions, modules, classes.

np.tanh        np.tanh, or `tanh` after `from numpy import tanh`, or `numpy.tanh` after `import numpy`
gammaln        gammaln, bound to scipy.special.gammaln
"""

from __future__ import annotations

import builtins
import functools
import keyword
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Scope:
    """The names of the user's module, and those that must not be used for anything else."""

    globals: Mapping[str, object] = field(default_factory=dict)
    reserved: frozenset[str] = frozenset()

    @functools.cached_property
    def names(self) -> dict[int, str]:
        """The first name of each object of the module, by the object's identity."""
        found: dict[int, str] = {}
        for name, value in self.globals.items():
            if name.isidentifier() and not name.startswith("__"):
                found.setdefault(id(value), name)
        return found


_DEFAULT_NAMES = {"numpy": "np", "math": "math"}
_OURS = __name__.partition(".")[0]
_MISSING = object()
_HOMES = ("numpy", "math", "numpy.linalg", "numpy.fft", "numpy.random", "scipy.special", "scipy.linalg", "operator", "functools")


class Globals:
    """Names for outside objects, made as they are asked for; `bindings` says what each is.

    `avoid` are the names that the text uses for something else; those in `read` it reads from the user's module, so each
    means there what it means in the module. Functions of one text share their bindings.
    """

    def __init__(
        self, scope: Scope, avoid: Iterable[str], read: Iterable[str] = (), bindings: dict[str, object] | None = None
    ) -> None:
        self.scope = scope
        self.avoid = set(avoid) | scope.reserved
        self.read = set(read)
        self.bindings: dict[str, object] = {} if bindings is None else bindings
        self.used_builtins: set[str] = set()
        self.texts: dict[int, str] = {}

    def name(self, value: object, text: str = "") -> str:
        """The (dotted) name of an object."""
        known = self.texts.get(id(value))
        if known is None:
            known = self.texts[id(value)] = self.find(value, text)
        return known

    def find(self, value: object, text: str) -> str:
        own = self.scope.names.get(id(value))
        if own is not None and self.is_free(own, value) and not isinstance(value, (int, float, str, bool, type(None))):
            return self.bind(own, value)
        if isinstance(value, np.dtype):
            return self.name(value.type)
        if isinstance(value, ModuleType):
            return self.module(value)
        simple = getattr(value, "__name__", None)
        if not isinstance(simple, str):
            return self.bare(text or type(value).__name__.lower(), value)
        if getattr(builtins, simple, None) is value:
            return self.builtin(simple)
        for module in _homes(value):
            for name in (simple, text.rpartition(".")[2]):
                if getattr(module, name, None) is value:
                    return self.member(module, name, value)
        return self.bare(simple if simple.isidentifier() else text, value)

    def builtin(self, name: str) -> str:
        value = getattr(builtins, name)
        if self.is_free(name, value) and self.scope.globals.get(name, value) is value:
            self.used_builtins.add(name)
            return name
        return self.bare(name, value)

    def member(self, module: ModuleType, name: str, value: object) -> str:
        """An attribute of a module: under the module's name where it has one, else by itself. Ours go by themselves."""
        prefix = self.prefix(module) if module.__name__.partition(".")[0] != _OURS else None
        return f"{prefix}.{name}" if prefix is not None else self.bare(name, value)

    def prefix(self, module: ModuleType) -> str | None:
        """How a module is called, or None where neither the user nor custom has a name for it."""
        own = self.scope.names.get(id(module))
        if own is not None and self.is_free(own, module):
            return self.bind(own, module)
        if module.__name__ in _DEFAULT_NAMES:
            return self.module(module)
        package, _, last = module.__name__.rpartition(".")
        parent = sys.modules.get(package)
        if parent is not None and (package == "numpy" or id(parent) in self.scope.names):
            outer = self.prefix(parent)
            return None if outer is None else f"{outer}.{last}"
        return None

    def module(self, module: ModuleType) -> str:
        name = module.__name__
        return self.bare(_DEFAULT_NAMES.get(name, name.replace(".", "_")), module)

    def bare(self, wanted: str, value: object) -> str:
        """A name of its own, as near to the wanted one as is free."""
        base = re.sub(r"\W", "_", wanted.rpartition(".")[2]) or "value"
        if not base.isidentifier() or keyword.iskeyword(base):
            base = f"value_{base}"
        name, number = base, 0
        while not self.may_bind(name, value):
            number += 1
            name = f"{base}_{number}"
        return self.bind(name, value)

    def is_free(self, name: str, value: object) -> bool:
        """Whether the text has no other use for a name."""
        return name not in self.avoid and (name not in self.read or self.read_as(name) is value)

    def read_as(self, name: str) -> object:
        """What a name means in the user's module."""
        return self.scope.globals.get(name, getattr(builtins, name, _MISSING))

    def may_bind(self, name: str, value: Any) -> bool:
        if not self.is_free(name, value) or self.bindings.get(name, value) is not value:
            return False
        if hasattr(builtins, name) and getattr(builtins, name) is not value:
            return False
        return self.scope.globals.get(name, value) is value

    def bind(self, name: str, value: object) -> str:
        self.bindings[name] = value
        return name


def _homes(value: object) -> list[ModuleType]:
    """The modules where an object may be found under its name: its own without private parts, then the usual ones."""
    own = getattr(value, "__module__", None)
    names = list(_HOMES)
    if isinstance(own, str):
        public = own.split("._")[0]
        names = [public, own, *names] if public not in names else [public, *names]
    return [module for name in names if (module := sys.modules.get(name)) is not None]
