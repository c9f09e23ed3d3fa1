"""What a variant computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Task:
    """`mode` is "grad", "value_and_grad" or "vjp"; `argnums` are positions and names of the parameters to differentiate by."""

    mode: str
    argnums: tuple[int | str, ...]
    is_single: bool = True
    has_aux: bool = False
    comments: bool = True


@dataclass(frozen=True)
class CustomRule:
    """What a function with a derivative of its own consists of.

    `sort` is "vjp", with `rule` the forward and the reverse function, or "jvp", with `rule` the one function. `like` gives what
    is of the kinds of the result where the function itself is not read.
    """

    sort: str
    fn: Callable[..., Any]
    rule: tuple[Callable[..., Any], ...]
    nondiff_argnums: tuple[int, ...] = ()
    like: Callable[..., Any] | None = None
