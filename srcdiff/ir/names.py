"""The Namer: gives out names, each to one holder at a time.

    namer.take("x") → x      namer.take("x") → x_1      namer.release("x");  namer.take("x") → x
    namer.fresh("x") → x_2, a name that nobody has had before

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
        self.used: set[str] = set()
        self.given: list[str] = []
        self.numbers: dict[str, int] = {}
        self.returned: dict[str, list[int]] = {}

    def is_free(self, name: str) -> bool:
        return name not in self.held and name not in self.reserved and not keyword.iskeyword(name)

    def is_fresh(self, name: str) -> bool:
        """Whether a name is free and was never given out."""
        return name not in self.used and self.is_free(name)

    def hold(self, name: str, holder: object) -> None:
        self.held[name] = holder
        if name not in self.used:
            self.used.add(name)
            self.given.append(name)

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
        self.hold(name, holder)
        return name

    def version(self, base: str) -> str:
        """The lowest version of a name that is free."""
        returned = self.returned.get(base, [])
        while returned:
            name = f"{base}_{heapq.heappop(returned)}"
            if self.is_free(name) and name not in self.bases:
                return name
        return self.fresh_version(base)

    def fresh(self, base: str) -> str:
        """The name itself or a version of it that was never given out."""
        return base if self.is_fresh(base) else self.fresh_version(base)

    def fresh_version(self, base: str) -> str:
        while True:
            number = self.numbers.get(base, 0) + 1
            self.numbers[base] = number
            name = f"{base}_{number}"
            if self.is_fresh(name) and name not in self.bases:
                return name

    # ------------------------------------------------------------ blocks of which only one runs

    def forget_since(self, mark: int) -> list[str]:
        """Take the names given out since `len(given)` was `mark` for unused again."""
        names = self.given[mark:]
        del self.given[mark:]
        for name in names:
            self.used.discard(name)
            base, _, number = name.rpartition("_")
            if number.isdigit() and base in self.numbers:
                self.numbers[base] = min(self.numbers[base], int(number) - 1)
        return names

    def remember(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.used:
                self.used.add(name)
                self.given.append(name)
