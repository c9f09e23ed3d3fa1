"""Times that can be compared: medians over rounds in which all candidates take their turn, so that noise hits all alike."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

Call = Callable[[], Any]


def medians(calls: Mapping[str, Call], rounds: int, *, batch: float = 0.005) -> dict[str, float]:
    """Seconds of a call of each; a batch of calls that is timed at once lasts about `batch` seconds."""
    counts = {name: max(1, int(batch / max(_seconds(call, 1), 1e-8))) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, call in calls.items():
                times[name].append(_seconds(call, counts[name]))
    finally:
        if was_enabled:
            gc.enable()
    return {name: statistics.median(several) for name, several in times.items()}


def once(call: Call) -> float:
    """Seconds of one call, the first of its kind."""
    return _seconds(call, 1)


def _seconds(call: Call, count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count
