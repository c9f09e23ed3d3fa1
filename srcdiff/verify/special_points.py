"""Points where pieces may meet or a formula is continued: zeros, ones, equal entries.

np.maximum at x1 = x2: the contribution must lie between those on both sides;  np.sinc at 0: it must be that around it
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from srcdiff.rules.registry import Text
from srcdiff.verify.structures import copied, flat, rebuilt

if TYPE_CHECKING:
    from srcdiff.verify.settings import Setting

_SPECIAL = {"positive": (1.0, 1.0), "above_one": (2.0, 1.0), "unit": (-0.5, 0.5), "probability": (0.25, 0.25)}


@dataclass(frozen=True)
class SpecialPoint:
    """A point where pieces may meet: a contribution must lie between the lowest and the highest around it."""

    setting: Setting
    values: tuple[Any, ...]
    low: dict[int, Any]
    high: dict[int, Any]

    def refutation(self, text: Text) -> str | None:
        found = _found_at(self.setting, text, self.values)
        if isinstance(found, Exception):
            return f"{type(found).__name__}: {found}"
        for number, value in found.items():
            slack = 3e-3 * (1 + np.abs(value))
            if not np.all((self.low[number] - slack <= value) & (value <= self.high[number] + slack)):
                name = self.setting.leaves[number].data.flat[0]
                at = ", ".join(str(np.asarray(v).tolist()) for v in self.values)
                between = f"{self.low[number]} to {self.high[number]}"
                return f"at the special point {at} the adjoint of {name}… is {value}, around it from {between}"
        return None


def special_point(setting: Setting, seed: int) -> SpecialPoint | None:
    """None where the primal or the rule itself is undefined there."""
    draw = np.random.default_rng(seed)
    low, step = _SPECIAL.get(setting.case.domain, (-1.0, 1.0))
    values = tuple(np.asarray(low + step * draw.integers(0, 3, size=leaf.shape), float) for leaf in setting.leaves)
    text = setting.rule.text
    assert text is not None
    own = _found_at(setting, text, values)
    if isinstance(own, Exception) or not _are_finite(own) or any(np.any(np.abs(v) > 1e6) for v in own.values()):
        return None
    around: list[dict[int, Any]] = []
    for count in (5, 40):
        while count:
            count -= 1
            near = tuple(v + draw.normal(size=np.shape(v)) * 1e-4 for v in values)
            found = _found_at(setting, text, near)
            if not isinstance(found, Exception) and _jumps(setting, values, near):
                return None
            if not isinstance(found, Exception) and _are_finite(found):
                around.append(found)
        if len(around) < 3:
            return None
        bounds = [{i: pick([np.asarray(f[i], float) for f in around], axis=0) for i in own} for pick in (np.min, np.max)]
        if all(np.allclose(bounds[0][i], bounds[1][i], atol=1e-2, rtol=1e-2) for i in own):
            break
    return SpecialPoint(setting, values, *bounds)


def _found_at(setting: Setting, text: Text, values: tuple[Any, ...]) -> dict[int, Any] | Exception:
    args = setting.replaced(values)
    try:
        y = setting.primal(args)
        if not all(np.all(np.isfinite(v)) for v in flat(y)):
            return ValueError("the primal is not finite here")
        with np.errstate(all="ignore"):
            return setting.contributions(text, copied(args), y, rebuilt(y, setting.y_bar_numbers))
    except Exception as error:  # whatever a text or a primal does there
        return error


def _jumps(setting: Setting, values: tuple[Any, ...], near: tuple[Any, ...]) -> bool:
    """Whether the primal itself is discontinuous there."""
    at, beside = (flat(setting.primal(setting.replaced(v))) for v in (values, near))
    return any(
        np.shape(a) != np.shape(b) or not np.allclose(a, b, rtol=1e-2, atol=1e-2, equal_nan=True) for a, b in zip(at, beside)
    )


def _are_finite(found: dict[int, Any]) -> bool:
    return all(np.all(np.isfinite(np.asarray(v, float))) for v in found.values())
