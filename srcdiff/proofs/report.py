"""What `verify` found: which entries of a gradient are proved, for which shapes, on which conditions, and what is open.

gradient of `loss` by w, b: proved
  shapes   w (2,), b (), X (3, 2), y (3,)   standing for (5,), (), (40, 5), (40,)
  entries  3 of 3 equal SymPy's derivative of the primal
"""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Entry:
    """One entry of the gradient, such as `params['W1'][0,1]`: "proved", "refuted", or "open" (numbers agree), and why."""

    name: str
    outcome: str
    detail: str = ""


@dataclass(frozen=True)
class Report:
    """The outcome of `verify`; true if everything is proved."""

    function: str
    by: tuple[str, ...]
    entries: tuple[Entry, ...]
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    full_shapes: tuple[tuple[str, tuple[int, ...]], ...]
    conditions: tuple[str, ...] = ()
    unproved: tuple[str, ...] = ()
    pieces: int = 1
    seconds: float = field(default=0.0, compare=False)

    @property
    def proved(self) -> bool:
        return bool(self.entries) and not self.unproved and all(e.outcome == "proved" for e in self.entries)

    @property
    def refuted(self) -> bool:
        return any(e.outcome == "refuted" for e in self.entries)

    def __bool__(self) -> bool:
        return self.proved

    @property
    def size(self) -> int:
        """How many numbers the arguments hold."""
        return sum(math.prod(shape) for _, shape in self.shapes)

    @property
    def outcome(self) -> str:
        return "proved" if self.proved else "refuted" if self.refuted else "not proved"

    def __str__(self) -> str:
        heading, rows = self._parts()
        width = max(len(label) for label, _ in rows)
        return "\n".join([heading, *[f"  {label:{width}}  {text}" for label, text in rows]])

    def __repr__(self) -> str:
        return f"<Report: {self._parts()[0]}>"

    def _repr_html_(self) -> str:
        heading, rows = self._parts()
        body = "".join(f"<tr><th>{html.escape(label)}</th><td>{html.escape(text)}</td></tr>" for label, text in rows)
        return f"<table><caption>{html.escape(heading)}</caption>{body}</table>"

    def _parts(self) -> tuple[str, list[tuple[str, str]]]:
        done = sum(e.outcome == "proved" for e in self.entries)
        rows = [("shapes", ", ".join(f"{name} {shape}" for name, shape in self.shapes) or "only numbers")]
        if self.shapes != self.full_shapes:
            rows.append(("", "standing for " + ", ".join(str(shape) for _, shape in self.full_shapes)))
        rows.append(("entries", f"{done} of {len(self.entries)} equal SymPy's derivative of the primal"))
        rows += [("where" if not i else "", text) for i, text in enumerate(self.conditions)]
        if self.pieces > 1:
            rows.append(("", f"and on {self.pieces - 1} other piece{'s' * (self.pieces > 2)}, where these come out otherwise"))
        others = sorted((e for e in self.entries if e.outcome != "proved"), key=lambda e: e.outcome != "refuted")
        not_done = [f"{e.name}: {e.outcome}" + f", {e.detail}" * bool(e.detail) for e in others]
        rows += [("open" if not i else "", text) for i, text in enumerate([*self.unproved, *not_done][:12])]
        if len(not_done) + len(self.unproved) > 12:
            rows.append(("", f"and {len(not_done) + len(self.unproved) - 12} more"))
        return f"gradient of `{self.function}` by {', '.join(self.by)}: {self.outcome}", rows
