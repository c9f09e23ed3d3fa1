"""The programs whose emitted source is pinned: `programs/NAME.py`, and beside it the source as expected, `NAME.txt`.

A program holds `loss` and `args(rng)`, and where they are not the usual `ARGNUMS` (0), `MODE` ("grad") and `HAS_AUX` (False).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import srcdiff

FOLDER = Path(__file__).parent / "programs"
NAMES = sorted(file.stem for file in FOLDER.glob("*.py"))


@dataclass(frozen=True)
class Program:
    name: str
    loss: Callable[..., Any]
    args: tuple[Any, ...]
    argnums: Any
    mode: str
    has_aux: bool

    @property
    def expected(self) -> str:
        return expectation(self.name).read_text(encoding="utf-8")

    def emitted(self) -> str:
        """The whole source that srcdiff emits for the program and its arguments."""
        if self.mode == "vjp":
            _, pullback = srcdiff.vjp(self.loss, *self.args, argnums=self.argnums)
            source = pullback.source
        elif self.mode == "linearize":
            source = srcdiff.linearize(self.loss, *self.args, argnums=self.argnums)[1].source
        elif self.mode == "jvp":
            source = srcdiff.jvp(self.loss, argnums=self.argnums).source_for(*self.args)
        elif self.mode == "hvp":
            source = srcdiff.hvp(self.loss, self.argnums).source_for(*self.args, self.args[self.argnums])
        elif self.mode == "second":
            source = srcdiff.grad(srcdiff.grad(self.loss)).source_for(*self.args)
        else:
            transform = {"jacfwd": srcdiff.jacfwd, "grad": srcdiff.grad, "value_and_grad": srcdiff.value_and_grad}[self.mode]
            source = transform(self.loss, self.argnums, self.has_aux).source_for(*self.args)
        return source.rstrip("\n") + "\n"


def load(name: str) -> Program:
    module = importlib.import_module(f"tests.golden.programs.{name}")
    args = module.args(np.random.default_rng(0))
    options = [getattr(module, option, default) for option, default in (("ARGNUMS", 0), ("MODE", "grad"), ("HAS_AUX", False))]
    return Program(name, module.loss, args, *options)


def expectation(name: str) -> Path:
    return FOLDER / f"{name}.txt"
