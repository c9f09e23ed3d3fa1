"""Which statements may raise, and so may not be dropped, moved or added where an exception decides what runs.

1 / x      may raise        x + y, of numbers      may not
"""

from __future__ import annotations

from collections.abc import Iterable

from srcdiff.ir.kinds import Number, is_scalar
from srcdiff.ir.nodes import Apply

_SAFE_STYLES = frozenset(["display", "copy", "attribute", "unary", "append", "insert", "caught", "format"])
_SAFE_OPERATORS = frozenset(["+", "-", "*", "<", "<=", ">", ">=", "==", "!=", "is", "is not", "and", "or"])


def may_raise(stmt: Apply, errors: Iterable[type] = (Exception,)) -> bool:
    """Whether a statement may raise one of these; not so arithmetic of numbers, apart from division and powers.

    Scalars of NumPy's raise a FloatingPointError, where that is wished.
    """
    if stmt.op.style == "binary" and stmt.op.text in _SAFE_OPERATORS:
        is_floating = any(issubclass(FloatingPointError, error) for error in errors)
        kinds = [getattr(arg, "kind", None) for arg in stmt.args]
        return not all(kind is not None and (isinstance(kind, Number) or not is_floating and is_scalar(kind)) for kind in kinds)
    return stmt.op.style not in _SAFE_STYLES and not stmt.op.text.endswith(("Error", "Exception"))
