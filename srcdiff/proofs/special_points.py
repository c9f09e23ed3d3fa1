"""Points where pieces may meet or a formula is continued: zeros, ones, equal entries.

np.maximum at x1 = x2: the contributions must be a mean of those on both sides
np.sinc at 0: they must be those around it
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from srcdiff.proofs.structures import copied, flat, rebuilt
from srcdiff.rules.registry import Text

if TYPE_CHECKING:
    from srcdiff.proofs.settings import Setting

# From the lowest of three special numbers to the next.
_SPECIAL = {"positive": (1.0, 1.0), "above_one": (2.0, 1.0), "unit": (-0.5, 0.5), "probability": (0.25, 0.25)}

Values = tuple[Any, ...]


@dataclass(frozen=True)
class SpecialPoint:
    """A point, and the contributions around it, as vectors of all entries.

    Where many entries tie at once, each entry must lie between the lowest and the highest around; where two do, the whole
    must be a mean of what is around. Where the rule's own text gives no number, nothing is asked of
    others.
    """

    setting: Setting
    values: Values
    around: Any
    is_single: bool
    is_undefined: bool

    def refutation(self, text: Text) -> str | None:
        if self.is_undefined:
            return None
        found = _found_at(self.setting, text, self.values)
        if isinstance(found, Exception):
            return f"{type(found).__name__}: {found} at the special point {self.shown()}"
        slack = 3e-3 * (1 + np.abs(found))
        low, high = self.around.min(axis=0) - slack, self.around.max(axis=0) + slack
        if not np.all((low <= found) & (found <= high)) or (self.is_single and _distance_to_hull(found, self.around) > 3e-2):
            i = int(np.argmax(~((low <= found) & (found <= high))))
            name = np.concatenate([leaf.data.ravel() for leaf in self.setting.leaves])[i]
            between = f"{self.around.min(axis=0)} and {self.around.max(axis=0)}"
            return f"at the special point {self.shown()} the adjoints from {name} on are {found}, around it between {between}"
        return None

    def shown(self) -> str:
        return ", ".join(str(np.round(v, 4).tolist()) for v in self.values)


def special_points(setting: Setting) -> Iterator[SpecialPoint]:
    """Some points at which the primal is continuous."""
    for seed in range(2):
        yield from _point_at(setting, _at_special_numbers(setting, seed), seed, is_single=False)
    if setting.decisions:
        for seed, values in enumerate(_single_ties(setting)):
            yield from _point_at(setting, values, seed, is_single=True)


def _at_special_numbers(setting: Setting, seed: int) -> Values:
    draw = np.random.default_rng(seed)
    low, step = _SPECIAL.get(setting.case.domain, (-1.0, 1.0))
    return tuple(np.asarray(low + step * draw.integers(0, 3, size=leaf.shape), float) for leaf in setting.leaves)


def _single_ties(setting: Setting) -> Iterator[Values]:
    """The setting's own point with one entry at zero, or two equal: within an array, and of the first two arrays."""
    values = [np.array([float(setting.point[e]) for e in leaf.data.flat]) for leaf in setting.leaves]
    shapes = [leaf.shape for leaf in setting.leaves]

    def changed(number: int, place: int, value: float) -> Values:
        copies = [v.copy() for v in values]
        copies[number][place] = value
        return tuple(v.reshape(shape) for v, shape in zip(copies, shapes))

    first = values[0]
    if setting.case.domain == "real" and first.size:
        yield changed(0, 0, 0.0)
    if first.size > 1:
        yield changed(0, 0, first[-1])
        yield changed(0, 0, first[1])
    if len(values) > 1 and first.size and values[1].size:
        yield changed(0, 0, values[1][0])


def _point_at(setting: Setting, values: Values, seed: int, *, is_single: bool) -> Iterator[SpecialPoint]:
    """None where the primal jumps, or its derivative is unbounded."""
    text = setting.rule.text
    assert text is not None
    draw = np.random.default_rng(seed)
    around: list[Any] = []
    for count in (5, 40):
        for _ in range(count):
            near = tuple(v + draw.normal(size=np.shape(v)) * 1e-4 for v in values)
            found = _found_at(setting, text, near)
            if not isinstance(found, Exception) and np.all(np.abs(found) < 1e6):
                if _jumps(setting, values, near):
                    return
                around.append(found)
        if len(around) < 3:
            return
        if np.allclose(np.min(around, axis=0), np.max(around, axis=0), atol=1e-2, rtol=1e-2):
            break
    own = _found_at(setting, text, values)
    is_undefined = isinstance(own, Exception) or not np.all(np.isfinite(own))
    if not is_undefined and np.any(np.abs(own) > 1e6):
        return
    yield SpecialPoint(setting, values, np.array(around), is_single, is_undefined)


def _found_at(setting: Setting, text: Text, values: Values) -> Any:
    """All contributions as one vector, or the exception that the text or the primal raises there."""
    args = setting.replaced(values)
    try:
        y = setting.primal(args)
        if not all(np.all(np.isfinite(v)) for v in flat(y)):
            return ValueError("the primal is not finite")
        with np.errstate(all="ignore"):
            found = setting.contributions(text, copied(args), y, rebuilt(y, setting.y_bar_numbers))
        return np.concatenate([np.ravel(np.real(found.get(i, np.zeros(leaf.shape)))) for i, leaf in enumerate(setting.leaves)])
    except Exception as error:  # whatever a text or a primal does there
        return error


def _jumps(setting: Setting, values: Values, near: Values) -> bool:
    try:
        at, beside = (flat(setting.primal(setting.replaced(v))) for v in (values, near))
    except Exception:  # the primal does not take the point
        return True
    return any(np.shape(a) != np.shape(b) or not np.allclose(a, b, rtol=1e-2, atol=1e-2) for a, b in zip(at, beside))


def _distance_to_hull(point: Any, around: Any) -> float:
    """How far a point is from the nearest mean of the vectors around it, relative to its size; by steps to the best of them."""
    vectors = np.unique(np.round(around, 2), axis=0)
    nearest = vectors.mean(axis=0)
    for _ in range(300):
        best = vectors[np.argmax(vectors @ (point - nearest))]
        step = best - nearest
        length = float(step @ step)
        if length == 0:
            break
        nearest = nearest + step * min(max(float((point - nearest) @ step) / length, 0.0), 1.0)
    return float(np.linalg.norm(point - nearest) / (1 + np.linalg.norm(point)))
