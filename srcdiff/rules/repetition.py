"""Whether an index names a place of an array more than once, as lists and arrays of places may.

x[mask], x[1:, 0], x[[0, 2]]         never
x[idx], x[[0, 1], [[0], [0]]]        perhaps
"""

from __future__ import annotations

from collections.abc import Callable

from srcdiff.ir.kinds import Array, ListOf, Number
from srcdiff.ir.nodes import Const, ListDisplay, Operand
from srcdiff.rules.inference import is_basic_index, kind_of


def is_without_repetition(index: Operand, is_sure: Callable[[Operand], bool] = lambda part: False) -> bool:
    """Whether an index certainly names each place at most once; `is_sure` may know it of a list or an array of places."""
    parts = index if isinstance(index, tuple) else (index,)
    lists = [part for part in parts if not is_basic_index(part)]
    if not lists:
        return True
    if any(is_mask(part) for part in lists):
        return len(lists) == 1
    # Side by side, one list without repetition is enough; lists of more axes are combined with each other.
    return all(_axes(part) == 1 for part in lists) and any(_is_of_different_numbers(part) or is_sure(part) for part in lists)


def is_mask(part: Operand) -> bool:
    if isinstance(part, ListDisplay):
        return bool(part.items) and all(isinstance(i, Const) and isinstance(i.value, bool) for i in part.items)
    kind = kind_of(part)
    return isinstance(kind, Array) and kind.dtype == "bool"


def _is_of_different_numbers(part: Operand) -> bool:
    if not isinstance(part, ListDisplay) or not all(isinstance(i, Const) for i in part.items):
        return False
    values = [i.value for i in part.items]  # type: ignore[union-attr]
    return len(set(values)) == len(values) and (all(v >= 0 for v in values) or all(v < 0 for v in values))


def _axes(part: Operand) -> int | None:
    if isinstance(part, (ListDisplay, tuple)):
        items = part.items if isinstance(part, ListDisplay) else part
        return 1 if all(_is_number(item) for item in items) else None
    kind = kind_of(part)
    if isinstance(kind, ListOf):
        return 1 if isinstance(kind.item, Number) else None
    return kind.ndim if isinstance(kind, Array) else None


def _is_number(item: Operand) -> bool:
    kind = kind_of(item)
    return isinstance(kind, Number) or (isinstance(kind, Array) and kind.dims == ())
