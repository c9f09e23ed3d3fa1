"""How a module of algorithms notes its programs, and with which arguments each is run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Program:
    """A loss, and arguments by size."""

    loss: Callable[..., Any]
    args: Callable[..., tuple[Any, ...]]
    sizes: tuple[int, ...]
    argnums: int | tuple[int, ...]

    def arguments(self, size: int) -> tuple[Any, ...]:
        return self.args(np.random.default_rng(size), size)


class Programs(dict[str, Program]):
    """The programs of a module by name."""

    def add(self, args: Callable[..., Any], *, sizes: tuple[int, ...] = (2, 5), argnums: int | tuple[int, ...] = 0) -> Any:
        """A decorator: `args(rng, size)` gives the arguments."""

        def noted(loss: Callable[..., Any]) -> Callable[..., Any]:
            self[loss.__name__] = Program(loss, args, sizes, argnums)
            return loss

        return noted
