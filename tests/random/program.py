"""A program under test: a module's text with a function `f`, and arguments for it.

Program("import numpy as np\\n\\ndef f(x):\\n    return np.sum(x * x)\\n", "(np.array([0.3, 1.2]),)", (0,))
"""

from __future__ import annotations

import importlib.util
import itertools
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

_serial = itertools.count()
_directory = tempfile.TemporaryDirectory(prefix="programs")


@dataclass(frozen=True)
class Program:
    """`args` is the text of a tuple, evaluated in the module; `argnums` are the arguments to differentiate by."""

    text: str
    args: str
    argnums: tuple[int, ...]

    def load(self) -> Loaded:
        """Write the module, since srcdiff reads sources from files, and import it."""
        name = f"program_{next(_serial)}"
        path = Path(_directory.name) / f"{name}.py"
        path.write_text(self.text)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return Loaded(module, module.f, eval(self.args, vars(module)))

    def __str__(self) -> str:
        return f"{self.text}\n# args = {self.args}, argnums = {self.argnums}\n"


@dataclass(frozen=True)
class Loaded:
    module: ModuleType
    f: Callable[..., Any]
    args: tuple[Any, ...]
