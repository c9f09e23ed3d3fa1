"""Which statements may raise what, and so may not be dropped, moved or added where an exception decides what runs.

1 / x      may raise a ZeroDivisionError        x + y, of numbers      raises nothing
x[i]       may raise an IndexError
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from srcdiff.ir.kinds import Array, Kind, Number, is_scalar
from srcdiff.ir.nodes import Apply

_SAFE_STYLES = frozenset(["display", "copy", "attribute", "unary", "append", "insert", "caught", "format"])
_SAFE_OPERATORS = frozenset(["+", "-", "*", "<", "<=", ">", ">=", "==", "!=", "is", "is not", "and", "or"])
_ITEM: tuple[type[BaseException], ...] = (IndexError, KeyError)
_FLOATING: tuple[type[BaseException], ...] = (FloatingPointError,)
_ARITHMETIC: tuple[type[BaseException], ...] = (ZeroDivisionError, OverflowError, FloatingPointError, ValueError)
_SHAPES: tuple[type[BaseException], ...] = (ValueError, FloatingPointError, TypeError, IndexError)


def may_raise(stmt: Apply, errors: Iterable[type[BaseException]] = (BaseException,)) -> bool:
    """Whether a statement may raise one of these errors."""
    possible = errors_of(stmt)
    return any(issubclass(a, b) or issubclass(b, a) for a in possible for b in errors)


def errors_of(stmt: Apply) -> tuple[type[BaseException], ...]:
    """What a statement may raise. Scalars of NumPy's raise a FloatingPointError, where that is wished."""
    op = stmt.op
    kinds = [getattr(arg, "kind", None) for arg in stmt.args]
    if op.style in _SAFE_STYLES or (op.style == "call" and isinstance(op.fn, type) and issubclass(op.fn, BaseException)):
        return ()
    if op.style in ("item", "index_set", "index_add") and _are_places(stmt.args[1], kinds[0]):
        return _ITEM
    if op.style == "binary" and all(kind is not None and is_scalar(kind) for kind in kinds):
        if op.text in _SAFE_OPERATORS:
            return () if all(isinstance(kind, Number) for kind in kinds) else _FLOATING
        return _ARITHMETIC
    if op.style == "binary" and op.text not in ("@", "in", "not in") and all(isinstance(kind, (Array, Number)) for kind in kinds):
        return _SHAPES
    if isinstance(op.fn, np.ufunc):
        return _SHAPES
    return (BaseException,)


def _are_places(index: object, kind: Kind | None) -> bool:
    """Whether an index consists of numbers, so that all that can be wrong with it is how large they are."""
    parts = index if isinstance(index, tuple) else (index,)
    return kind is not None and all(isinstance(getattr(part, "kind", None), Number) for part in parts)
