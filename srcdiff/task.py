"""What a variant computes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """`mode` is "grad", "value_and_grad" or "vjp"; `argnums` are positions and names of the parameters to differentiate by."""

    mode: str
    argnums: tuple[int | str, ...]
    is_single: bool = True
    has_aux: bool = False
    comments: bool = True
