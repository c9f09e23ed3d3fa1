"""The Namer: gives out names, each to one holder at a time.

    namer.take("x") → x      namer.take("x") → x_1      namer.release("x");  namer.take("x") → x

A name that anything else in the text uses is reserved, and is never given out. The same calls give the same names.
"""

from __future__ import annotations

import heapq
import keyword
from collections.abc import Iterable


class Namer:
    """Names for holders of any sort; `bases` are the names that holders would like, so none is a version of another."""

    def __init__(self, reserved: Iterable[str], bases: Iterable[str] = ()) -> None:
        self.reserved = set(reserved)
        self.bases = set(bases)
        self.held: dict[str, object] = {}
        self.numbers: dict[str, int] = {}
        self.returned: dict[str, list[int]] = {}

    def is_free(self, name: str) -> bool:
        return name not in self.held and name not in self.reserved and not keyword.iskeyword(name)

    def hold(self, name: str, holder: object) -> None:
        self.held[name] = holder

    def release(self, name: str, holder: object) -> None:
        """Give a name back, if the holder still has it."""
        if self.held.get(name) is holder:
            del self.held[name]
            base, _, number = name.rpartition("_")
            if number.isdigit() and base in self.numbers:
                heapq.heappush(self.returned.setdefault(base, []), int(number))

    def take(self, base: str, holder: object) -> str:
        """The name itself, or its lowest free version."""
        name = base if self.is_free(base) else self.version(base)
        self.held[name] = holder
        return name

    def version(self, base: str) -> str:
        returned = self.returned.get(base, [])
        while returned:
            name = f"{base}_{heapq.heappop(returned)}"
            if self.is_free(name) and name not in self.bases:
                return name
        while True:
            number = self.numbers.get(base, 0) + 1
            self.numbers[base] = number
            name = f"{base}_{number}"
            if self.is_free(name) and name not in self.bases:
                return name
