"""Shapes of products, from the shapes of their factors."""

from __future__ import annotations

from typing import Any

from srcdiff.errors import KindError, NoRule
from srcdiff.ir.kinds import Length, combine
from srcdiff.rules.registry import Shaped
from srcdiff.rules.shapes import Shape, broadcast, broadcast_length, diagonal_length, shifted_sum, size_of
from srcdiff.rules.subscripts import contraction, einsum_terms


def vecdot(a: Shaped, b: Shaped) -> Shape:
    return broadcast(a.shape[:-1], b.shape[:-1])


def matvec(a: Shaped, b: Shaped) -> Shape:
    return (*broadcast(a.shape[:-2], b.shape[:-1]), a.shape[-2])


def vecmat(a: Shaped, b: Shaped) -> Shape:
    return (*broadcast(a.shape[:-1], b.shape[:-2]), b.shape[-1])


def dot(a: Shaped, b: Shaped) -> Shape:
    if a.ndim == 0 or b.ndim == 0:
        return a.shape + b.shape
    if b.ndim == 1:
        return a.shape[:-1]
    return a.shape[:-1] + b.shape[:-2] + b.shape[-1:]


def inner(a: Shaped, b: Shaped) -> Shape:
    if a.ndim == 0 or b.ndim == 0:
        return a.shape + b.shape
    return a.shape[:-1] + b.shape[:-1]


def vdot(a: Shaped, b: Shaped) -> Shape:
    return ()


def outer(a: Shaped, b: Shaped) -> Shape:
    return size_of(a.shape), size_of(b.shape)


def tensordot(a: Shaped, b: Shaped, axes: Any = 2) -> Shape:
    a_axes, b_axes = contraction(axes, a.ndim, b.ndim)
    return tuple(n for i, n in enumerate(a.shape) if i not in a_axes) + tuple(n for i, n in enumerate(b.shape) if i not in b_axes)


def einsum(subscripts: str, *, operands: list[Shaped], optimize: Any = False) -> Shape:
    terms, result, _ = einsum_terms(subscripts, [x.ndim for x in operands])
    lengths: dict[str, list[Length]] = {}
    for term, x in zip(terms, operands):
        if len(term) != x.ndim:
            raise KindError(f"the subscripts {subscripts!r} of np.einsum do not fit an operand with {x.ndim} axes")
        for letter, n in zip(term, x.shape):
            lengths.setdefault(letter, []).append(n)
    return tuple(broadcast_length(lengths[letter]) for letter in result)


def kron(a: Shaped, b: Shaped) -> Shape:
    ndim = max(a.ndim, b.ndim)
    pairs = zip((1,) * (ndim - a.ndim) + a.shape, (1,) * (ndim - b.ndim) + b.shape)
    return tuple(combine("*", n, m) for n, m in pairs)


def cross(a: Shaped, b: Shaped, axis: int = -1) -> Shape:
    if 2 in [n if isinstance(n, int) else n.hint for n in (a.shape[axis], b.shape[axis])]:
        raise NoRule("no derivative rule for np.cross of vectors with two components")
    place, other = axis % a.ndim, axis % b.ndim
    batch = broadcast(a.shape[:place] + a.shape[place + 1 :], b.shape[:other] + b.shape[other + 1 :])
    at = axis % (len(batch) + 1)
    return batch[:at] + (3,) + batch[at:]


def trace(a: Shaped, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Shape:
    return diagonal(a, offset, axis1, axis2)[:-1]


def diagonal(a: Shaped, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Shape:
    first, second = axis1 % a.ndim, axis2 % a.ndim
    rest = tuple(n for i, n in enumerate(a.shape) if i not in (first, second))
    return (*rest, diagonal_length(a.shape[first], a.shape[second], offset))


def last_diagonal(x: Shaped, offset: int = 0) -> Shape:
    return diagonal(x, offset, -2, -1)


def last_trace(x: Shaped, offset: int = 0) -> Shape:
    return diagonal(x, offset, -2, -1)[:-1]


def diag(v: Shaped, k: int = 0) -> Shape:
    if v.ndim == 2:
        return (diagonal_length(v.shape[0], v.shape[1], k),)
    n = combine("+", v.shape[0], abs(k))
    return n, n


def diagflat(v: Shaped, k: int = 0) -> Shape:
    return diag(Shaped((size_of(v.shape),)), k)


def convolve(a: Shaped, v: Shaped, mode: str = "full") -> Shape:
    return (shifted_sum(a.shape[0], v.shape[0], mode),)


def correlate(a: Shaped, v: Shaped, mode: str = "valid") -> Shape:
    return convolve(a, v, mode)
