"""The passes over a program after its transform, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable

from srcdiff.ir.nodes import Function
from srcdiff.passes.dead_code import drop_dead_code
from srcdiff.passes.shapes import read_shapes_elsewhere
from srcdiff.passes.signs import place_signs

PASSES: tuple[Callable[[Function], Function], ...] = (
    read_shapes_elsewhere,  # what is read for its shape alone is dead afterwards
    drop_dead_code,
    place_signs,  # -2 / n * x, a - b
    drop_dead_code,
)
