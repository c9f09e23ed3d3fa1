"""Which sums and products may print as `x += e`, leaving aside whether the memory allows it.

x_bar_1 = add(x_bar, e)        →      augment(x_bar, e)        prints  x_bar += e
u_1 = mul(u, 2)                →      likewise, if the user's line says `u *= 2`
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from srcdiff.ir.kinds import Array, Kind, Length, Number, Unknown, is_scalar
from srcdiff.ir.nodes import Apply, Const, Free, Op, Ref, Var

_OPERATORS = frozenset(["+", "-", "*", "/"])


@lru_cache(maxsize=64)
def augment_op(text: str) -> Op:
    """The operation in place for an operator: its first argument takes the result."""
    return Op(f"augment {text}", "augment", text)


def augmentable(stmt: Apply) -> bool:
    """Whether a statement would read well as an operation in place."""
    if stmt.op.style != "binary" or len(stmt.targets) != 1 or stmt.op.text not in _OPERATORS:
        return False
    target = stmt.targets[0]
    is_adjoint = not target.is_users and target.hint.endswith(("_bar", "_dot"))
    return is_adjoint or (target.is_users and _is_written_so(stmt))


def augmented(stmt: Apply) -> Iterator[Apply]:
    """The statement in place, for each operand that could be the target."""
    target, (a, b) = stmt.targets[0], stmt.args
    pairs = [(a, b), (b, a)] if stmt.op.text in ("+", "*") and not target.is_users else [(a, b)]
    for base, other in pairs:
        if isinstance(base, Var) and base.hint == target.hint and isinstance(other, (Var, Const, Free, Ref)):
            if _keeps_kind(base.kind, other.kind, target.kind):
                yield Apply(stmt.targets, augment_op(stmt.op.text), (base, other), (), stmt.origin)


def _is_written_so(stmt: Apply) -> bool:
    """Whether the user's line is an operation in place."""
    if stmt.origin is None:
        return False
    line, name = stmt.origin.text.lstrip(), stmt.targets[0].hint
    return line.startswith(name) and line[len(name) :].lstrip().startswith(f"{stmt.op.text}=")


def _keeps_kind(base: Kind, other: Kind, result: Kind) -> bool:
    """Whether the memory of `base` fits the result: numbers have none, arrays need the same dtype and shape."""
    match base, result:
        case Number(), Number() | Array(_, ()):
            return True
        case Array(_, ()), Array(_, ()):
            return base == result
        case Array(dtype, dims), Array(new_dtype, new_dims):
            if dtype != new_dtype or dims is None or new_dims is None or len(dims) != len(new_dims) or isinstance(other, Unknown):
                return False
            return is_scalar(other) or dims == new_dims or all(n == m or _is_many(n) for n, m in zip(dims, new_dims))
        case _:
            return False


def _is_many(length: Length) -> bool:
    return length != 1 if isinstance(length, int) else length.is_many
