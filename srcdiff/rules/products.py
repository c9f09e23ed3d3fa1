"""Products of arrays: matmul, dot, einsum and their relatives, diagonals, convolutions. None of them conjugates."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.errors import NoRule
from srcdiff.ir.kinds import is_one
from srcdiff.rules import products_shapes as shapes
from srcdiff.rules.asking import lengths_of
from srcdiff.rules.places import positions, scatter, scatter_diagonal, since, unbroadcast
from srcdiff.rules.registry import bilinear, case, linear
from srcdiff.rules.shapes import matmul as matmul_shape
from srcdiff.rules.subscripts import contraction, einsum_terms, with_ellipsis


def _swap(x: Any) -> Any:
    return x.T if x.ndim == 2 else np.swapaxes(x, -1, -2)


# ---------------------------------------------------------------- matmul


@bilinear("a", "b", of=[np.matmul, np.linalg.matmul], shape=matmul_shape, at=[
    case((2, 3), (3, 2)), case((2, 3), (3,)), case((3,), (3, 2)), case((3,), (3,)), case((2, 2, 3), (2, 3, 1)),
    case((2, 2, 3), (3, 2)), case((2, 3), (2, 3, 2)), case((2, 1, 2, 3), (2, 3, 1)), case((1, 2, 3), (2, 3, 2)),
    case((2, 2, 3), (3,)), case((3,), (2, 3, 2)),
])  # fmt: skip
def matmul(a: Any, b: Any, /, *, y_bar: Any) -> Any:
    if a.ndim == 1 and b.ndim == 1:
        return y_bar * b, y_bar * a
    if a.ndim == 1:
        return vecmat_adjoints(a, b, y_bar)
    if b.ndim == 1:
        return matvec_adjoints(a, b, y_bar)
    if a.ndim == 2 and b.ndim == 2:
        return y_bar @ b.T, a.T @ y_bar
    if b.ndim == 2:
        batch = tuple(range(a.ndim - 1))
        return y_bar @ b.T, np.tensordot(a, y_bar, axes=(batch, batch))
    if a.ndim == 2:
        batch = (*range(b.ndim - 2), b.ndim - 1)
        return np.tensordot(y_bar, b, axes=(batch, batch)), a.T @ y_bar
    return unbroadcast(y_bar @ _swap(b), a), unbroadcast(_swap(a) @ y_bar, b)


def matvec_adjoints(a: Any, b: Any, y_bar: Any) -> Any:
    if a.ndim == 2 and b.ndim == 1:
        return np.outer(y_bar, b), a.T @ y_bar
    a_bar = y_bar[..., :, None] * b[..., None, :]
    b_bar = (_swap(a) @ y_bar[..., None])[..., 0]
    return unbroadcast(a_bar, a), unbroadcast(b_bar, b)


def vecmat_adjoints(a: Any, b: Any, y_bar: Any) -> Any:
    if a.ndim == 1 and b.ndim == 2:
        return b @ y_bar, np.outer(a, y_bar)
    a_bar = (b @ y_bar[..., None])[..., 0]
    b_bar = a[..., :, None] * y_bar[..., None, :]
    return unbroadcast(a_bar, a), unbroadcast(b_bar, b)


@bilinear(
    "a",
    "b",
    of=[np.vecdot, np.linalg.vecdot],
    shape=shapes.vecdot,
    at=[case((3,), (3,)), case((2, 3), (3,)), case((1, 3), (2, 3))],
)
def vecdot(a: Any, b: Any, /, *, y_bar: Any) -> Any:
    if a.ndim == 1 and b.ndim == 1:
        return y_bar * b, y_bar * a
    return unbroadcast(y_bar[..., None] * b, a), unbroadcast(y_bar[..., None] * a, b)


@bilinear(
    "a", "b", of=since("matvec"), shape=shapes.matvec, at=[case((2, 3), (3,)), case((2, 3), (2, 3)), case((2, 1, 3), (2, 3))]
)
def matvec(a: Any, b: Any, /, *, y_bar: Any) -> Any:
    return matvec_adjoints(a, b, y_bar)


@bilinear(
    "a", "b", of=since("vecmat"), shape=shapes.vecmat, at=[case((3,), (3, 2)), case((2, 3), (3, 2)), case((2, 3), (2, 3, 1))]
)
def vecmat(a: Any, b: Any, /, *, y_bar: Any) -> Any:
    return vecmat_adjoints(a, b, y_bar)


# ---------------------------------------------------------------- dot, inner, outer


@bilinear("a", "b", of=np.dot, shape=shapes.dot, at=[
    case((3,), (3,)), case((2, 3), (3,)), case((3,), (3, 2)), case((2, 3), (3, 2)), case((), (2, 3)), case((2, 3), ()),
    case((), ()), case((2, 2, 3), (3,)), case((2, 2, 3), (2, 3, 2)), case((2, 3), (2, 3, 2)), case((3,), (2, 3, 1)),
])  # fmt: skip
def dot(a: Any, b: Any, *, y_bar: Any) -> Any:
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return unbroadcast(y_bar * b, a), unbroadcast(y_bar * a, b)
    if a.ndim <= 2 and b.ndim <= 2:
        return matmul(a, b, y_bar=y_bar)
    return tensordot(a, b, (a.ndim - 1, max(b.ndim - 2, 0)), y_bar=y_bar)


@bilinear("a", "b", of=np.inner, shape=shapes.inner, at=[
    case((3,), (3,)), case((2, 3), (3,)), case((3,), (2, 3)), case((2, 3), (1, 3)), case((2, 2, 3), (2, 3)), case((), (2,)),
    case((2,), ()),
])  # fmt: skip
def inner(a: Any, b: Any, /, *, y_bar: Any) -> Any:
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return unbroadcast(y_bar * b, a), unbroadcast(y_bar * a, b)
    if a.ndim == 1 and b.ndim == 1:
        return y_bar * b, y_bar * a
    if a.ndim == 2 and b.ndim == 2:
        return y_bar @ b, y_bar.T @ a
    return tensordot(a, b, (a.ndim - 1, b.ndim - 1), y_bar=y_bar)


@bilinear("a", "b", of=np.vdot, shape=shapes.vdot, at=[case((3,), (3,)), case((2, 3), (2, 3)), case((2, 3), (6,)), case((), ())])
def vdot(a: Any, b: Any, /, *, y_bar: Any) -> Any:
    if np.ndim(a) == np.ndim(b):
        return y_bar * b, y_bar * a
    return np.reshape(y_bar * b, np.shape(a)), np.reshape(y_bar * a, np.shape(b))


@bilinear(
    "a", "b", of=np.outer, shape=shapes.outer, at=[case((2,), (3,)), case((2, 1), (3,)), case((2,), (1, 3)), case((), (2,))]
)
def outer(a: Any, b: Any, *, y_bar: Any) -> Any:
    a_bar = y_bar @ _flat(b)
    b_bar = _flat(a) @ y_bar
    return _shaped(a_bar, a), _shaped(b_bar, b)


def _flat(x: Any) -> Any:
    return x if np.ndim(x) == 1 else np.reshape(x, -1)


def _shaped(x_bar: Any, x: Any) -> Any:
    return x_bar if np.ndim(x) == 1 else np.reshape(x_bar, np.shape(x))


@bilinear("a", "b", of=np.tensordot, shape=shapes.tensordot, at=[
    case((2, 3), (3, 2), axes=1), case((2, 3), (2, 3)), case((2,), (3,), axes=0), case((2, 3, 2), (3, 2, 2)),
    case((2, 3), (2, 2), axes=((0,), (1,))), case((2, 3, 2), (2, 2, 3), axes=((1, 0), (2, 0))),
    case((2, 3), (3,), axes=(1, 0)), case((2, 3, 2), (2, 3), axes=((-1, 1), (0, 1))),
])  # fmt: skip
def tensordot(a: Any, b: Any, axes: Any = 2, *, y_bar: Any) -> Any:
    a_axes, b_axes = contraction(axes, a.ndim, b.ndim)
    a_free = [i for i in range(a.ndim) if i not in a_axes]
    b_free = [i for i in range(b.ndim) if i not in b_axes]
    b_bar = _contracted(y_bar, a, range(len(a_free)), a_free, b_free, dict(zip(a_axes, b_axes)))
    a_bar = _contracted(y_bar, b, range(len(a_free), len(a_free) + len(b_free)), b_free, a_free, dict(zip(b_axes, a_axes)))
    return a_bar, b_bar


def _contracted(y_bar: Any, other: Any, y_axes: range, other_axes: list[int], free: list[int], partner: dict[int, int]) -> Any:
    """The product of the other factor with y_bar, its axes in the order of this one's.

    The other factor comes first: np.tensordot then copies it, where it must, with its contracted axes innermost, and those of
    sliding windows are long in memory.
    """
    if not y_axes and not free:
        product = y_bar * other
    else:
        product = np.tensordot(other, y_bar, axes=(tuple(other_axes), tuple(y_axes)))
    places = [partner[axis] for axis in sorted(partner)] + free
    return _transposed(product, tuple(places.index(i) for i in range(len(places))))


def _transposed(x: Any, order: tuple[int, ...]) -> Any:
    if order == tuple(range(len(order))):
        return x
    return x.T if order == tuple(reversed(range(len(order)))) else np.transpose(x, order)


@bilinear(
    "a",
    "b",
    of=np.kron,
    shape=shapes.kron,
    at=[case((2,), (3,)), case((2, 1), (1, 3)), case((2, 2), (2, 3)), case((2,), (2, 2)), case((2, 2), (2,))],
)
def kron(a: Any, b: Any, *, y_bar: Any) -> Any:
    ndim = max(np.ndim(a), np.ndim(b))
    a_shape = (1,) * (ndim - np.ndim(a)) + tuple(np.shape(a))
    b_shape = (1,) * (ndim - np.ndim(b)) + tuple(np.shape(b))
    blocks = np.reshape(y_bar, tuple(n for pair in zip(a_shape, b_shape) for n in pair))
    of_a, of_b, every = tuple(range(0, 2 * ndim, 2)), tuple(range(1, 2 * ndim, 2)), tuple(range(ndim))
    a_bar = np.tensordot(blocks, np.reshape(b, b_shape) if np.ndim(b) < ndim else b, axes=(of_b, every))
    b_bar = np.tensordot(blocks, np.reshape(a, a_shape) if np.ndim(a) < ndim else a, axes=(of_a, every))
    return (
        np.reshape(a_bar, np.shape(a)) if np.ndim(a) < ndim else a_bar,
        np.reshape(b_bar, np.shape(b)) if np.ndim(b) < ndim else b_bar,
    )


@bilinear("a", "b", of=[np.cross, np.linalg.cross], shape=shapes.cross, at=[
    case((3,), (3,)), case((2, 3), (2, 3)), case((2, 3), (3,)), case((3,), (2, 3)), case((3, 2), (3, 2), axis=0),
    case((3, 2), (3,), axis=0),
])  # fmt: skip
def cross(a: Any, b: Any, /, *, axis: int = -1, y_bar: Any) -> Any:
    """Of vectors with three components."""
    if axis != -1:
        a_bar, b_bar = cross(_last(a, axis), _last(b, axis), y_bar=_last(y_bar, axis))
        return np.moveaxis(a_bar, -1, axis), np.moveaxis(b_bar, -1, axis)
    return unbroadcast(np.cross(b, y_bar), a), unbroadcast(np.cross(y_bar, a), b)


def _last(x: Any, axis: int) -> Any:
    return np.moveaxis(x, axis, -1)


# ---------------------------------------------------------------- einsum


@bilinear("operands", of=np.einsum, shape=shapes.einsum, at=[
    case("ij,jk->ik", (2, 3), (3, 2)), case("ij,jk", (2, 3), (3, 2)), case("i,i", (3,), (3,)), case("ij->ji", (2, 3)),
    case("ba", (2, 3)), case("ij,ij->", (2, 3), (2, 3)), case("i,j->ij", (2,), (3,)), case("ij->i", (2, 3)),
    case("ij->", (2, 3)), case("ij,k->i", (2, 3), (2,)), case("ii->i", (2, 2)), case("ii", (2, 2)),
    case("bii->b", (2, 2, 2)), case("iij,j->i", (2, 2, 3), (3,)), case("ii,i->i", (2, 2), (2,)), case("iji->j", (2, 3, 2)),
    case("bij,bjk->bik", (2, 2, 3), (2, 3, 2)), case("...ij,...jk->...ik", (2, 2, 3), (3, 2)),
    case("...i,...i->...", (2, 3), (1, 3)), case("...i,i", (2, 3), (3,)), case("ij,jk,kl->il", (2, 3), (3, 2), (2, 2)),
    case("i,i,i->i", (2,), (2,), (2,)), case(",i->i", (), (3,)),
    case("ij,ij->i", (2, 1), (2, 3)), case("ij,ij->i", (2, 3), (2, 1)), case("ij,ij->ij", (1, 3), (2, 1)),
    case("ij,ij", (2, 3), (1, 3)), case("ij,jk->ik", (2, 1), (3, 2)), case("i,i->", (1,), (3,)),
    case("ii,i->i", (2, 2), (1,)), case("ii,i->i", (1, 1), (3,)), case("i,i,i->i", (1,), (3,), (1,)),
    case("...i,i->...", (2, 1), (3,)),
])  # fmt: skip
def einsum(subscripts: str, /, *operands: Any, optimize: Any = False, y_bar: Any) -> Any:
    """Each contribution is an einsum of the other operands and y_bar, with the operand's own letters as the result.

    A letter that has length 1 in the operand and another length elsewhere is summed over.
    """
    terms, result, extra = einsum_terms(subscripts, [np.ndim(x) for x in operands])
    keywords = {"optimize": optimize} if optimize else {}
    adjoints = []
    for k, (x, own) in enumerate(zip(operands, terms)):
        letters = "".join(dict.fromkeys(own))
        is_dotted = bool(extra) and set(extra) <= set(own)
        fits = _how_letters_fit(k, terms, operands, result, extra)
        x_bar, is_whole = _einsum_adjoint(k, letters, terms, result, extra if is_dotted else "", fits, operands, keywords, y_bar)
        if extra or "unknown" in fits.values():
            x_bar = unbroadcast(x_bar, x if letters == own else np.einsum(f"{own}->{letters}", x))
        if letters != own:
            x_bar = _on_diagonal(x, own, letters, x_bar)
        elif not is_whole:
            x_bar = np.broadcast_to(x_bar, np.shape(x))
        adjoints.append(x_bar)
    return adjoints


def _how_letters_fit(k: int, terms: list[str], operands: tuple[Any, ...], result: str, extra: str) -> dict[str, str]:
    """Of the letters of an operand those that may have another length elsewhere, with how its own length is:

    "one" (to be summed over), "many" (others have length 1), or "unknown".
    """
    fits = {}
    rest = [(x, term) for i, (x, term) in enumerate(zip(operands, terms)) if i != k]
    for letter, n in zip(terms[k], lengths_of(operands[k])):
        others = [lengths_of(x)[term.index(letter)] for x, term in rest if letter in term]
        if letter in extra or all(n == m for m in others):
            continue
        one = is_one(n)
        ones = [is_one(m) for m in others]
        if one is None:
            fits[letter] = "unknown"
        elif one and ones.count(True) < len(ones):
            fits[letter] = "one"
        elif not one and letter not in result and False not in ones:
            fits[letter] = "many"
    return fits


def _einsum_adjoint(
    k: int,
    letters: str,
    terms: list[str],
    result: str,
    dotted: str,
    fits: dict[str, str],
    operands: tuple[Any, ...],
    keywords: dict[str, Any],
    y_bar: Any,
) -> tuple[Any, bool]:
    """The contribution, and whether it has the operand's lengths; letters that only this operand has are axes of length 1."""
    others = list(operands[:k]) + list(operands[k + 1 :])
    inputs = terms[:k] + terms[k + 1 :]
    if result or not others:
        others.insert(k, y_bar)
        inputs.insert(k, result)
    known = "".join(c for c in letters if any(c in term for term in inputs) and fits.get(c) != "one")
    x_bar = _einsum(inputs, known, dotted, others, keywords)
    if not result and len(operands) > 1:
        x_bar = y_bar * x_bar
    is_whole = all(c in known or fits.get(c) == "one" for c in letters) and not {"many", "unknown"} & set(fits.values())
    if len(known) < len(letters) and known:
        x_bar = np.expand_dims(x_bar, tuple(i for i, c in enumerate(letters) if c not in known))
    elif letters and not known and is_whole:
        x_bar = np.reshape(x_bar, (1,) * len(letters))
    return x_bar, is_whole


def _einsum(inputs: list[str], result: str, dotted: str, operands: list[Any], keywords: dict[str, Any]) -> Any:
    if len(inputs) > 1 or len(set(inputs[0])) < len(inputs[0]) or len(result) < len(inputs[0]):
        spelled = [with_ellipsis(term, dotted) for term in (*inputs, result)]
        return np.einsum(f"{','.join(spelled[:-1])}->{spelled[-1]}", *operands, **keywords)
    return _transposed(operands[0], tuple(inputs[0].index(c) for c in result))


def _on_diagonal(x: Any, own: str, letters: str, x_bar: Any) -> Any:
    """Zeros like x, to which x_bar is added where axes of the same letter have the same index."""
    every = {c: _column(positions(x, own.index(c)), len(letters) - 1 - i) for i, c in enumerate(letters)}
    return scatter(x, tuple(every[c] for c in own), x_bar, repeats=False)


def _column(x: Any, count: int) -> Any:
    """A row of numbers with `count` more axes."""
    return x[(slice(None),) + (None,) * count] if count else x


# ---------------------------------------------------------------- diagonals


@linear("a", of=np.trace, shape=shapes.trace, at=[
    case((2, 2)), case((2, 3), offset=1), case((3, 2), offset=-1), case((3, 2)), case((2, 2, 2)),
    case((2, 2, 3), axis1=1, axis2=2), case((2, 3, 2), axis1=-1, axis2=0),
])  # fmt: skip
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, *, y_bar: Any) -> Any:
    shown = np.diagonal(a) if (offset, axis1, axis2) == (0, 0, 1) else np.diagonal(a, offset, axis1, axis2)
    return diagonal(a, offset, axis1, axis2, y_bar=_along_diagonal(y_bar, shown))


def _along_diagonal(y_bar: Any, diagonal: Any) -> Any:
    return np.broadcast_to(y_bar if diagonal.ndim == 1 else y_bar[..., None], np.shape(diagonal))


@linear("a", of=np.diagonal, shape=shapes.diagonal, is_view=True, at=[
    case((2, 2)), case((2, 3), offset=1), case((2, 3), offset=-1), case((3, 2), offset=-2), case((3, 2)), case((2, 2, 3)),
    case((2, 2, 3), axis1=1, axis2=2), case((2, 3, 2), offset=1, axis1=-1, axis2=0),
])  # fmt: skip
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, *, y_bar: Any) -> Any:
    axes = axis1 % a.ndim, axis2 % a.ndim
    if axes == (a.ndim - 2, a.ndim - 1):
        return scatter_diagonal(a, y_bar, offset)
    return np.moveaxis(scatter_diagonal(np.moveaxis(a, axes, (-2, -1)), y_bar, offset), (-2, -1), axes)


@linear(
    "x",
    of=np.linalg.diagonal,
    shape=shapes.last_diagonal,
    is_view=True,
    at=[case((2, 3)), case((2, 2, 2)), case((2, 3), offset=-1)],
)
def last_diagonal(x: Any, /, *, offset: int = 0, y_bar: Any) -> Any:
    return scatter_diagonal(x, y_bar, offset)


@linear("x", of=np.linalg.trace, shape=shapes.last_trace, at=[case((2, 3)), case((2, 2, 2)), case((2, 3), offset=1)])
def last_trace(x: Any, /, *, offset: int = 0, y_bar: Any) -> Any:
    return scatter_diagonal(x, _along_diagonal(y_bar, np.linalg.diagonal(x, offset=offset)), offset)


@linear("v", of=np.diag, shape=shapes.diag, at=[
    case((3,)), case((2,), k=1), case((2,), k=-1), case((2, 2)), case((2, 3), k=1), case((3, 2), k=-1), case((1, 3)),
])  # fmt: skip
def diag(v: Any, k: int = 0, *, y_bar: Any) -> Any:
    if v.ndim == 2:
        return scatter_diagonal(v, y_bar, k)
    return np.diagonal(y_bar, k) if k else np.diagonal(y_bar)


@linear("v", of=np.diagflat, shape=shapes.diagflat, at=[case((3,)), case((2, 2)), case((2,), k=1)])
def diagflat(v: Any, k: int = 0, *, y_bar: Any) -> Any:
    return _shaped(np.diagonal(y_bar, k), v)


# ---------------------------------------------------------------- convolution


_modes = [
    case((3,), (2,)),
    case((2,), (3,)),
    case((3,), (2,), mode="valid"),
    case((2,), (3,), mode="valid"),
    case((3,), (3,), mode="valid"),
]


@bilinear("a", "v", of=np.convolve, shape=shapes.convolve, at=[
    *_modes, case((3,), (2,), mode="same"), case((2,), (4,), mode="same"), case((3,), (3,), mode="same"),
])  # fmt: skip
def convolve(a: Any, v: Any, mode: str = "full", *, y_bar: Any) -> Any:
    y_bar = _full(y_bar, a, v, mode)
    return np.correlate(y_bar, v, "valid"), np.correlate(y_bar, a, "valid")


@bilinear(
    "a", "v", of=np.correlate, shape=shapes.correlate, at=[*_modes, case((2,), (3,), mode="full"), case((3,), (2,), mode="full")]
)
def correlate(a: Any, v: Any, mode: str = "valid", *, y_bar: Any) -> Any:
    if mode == "same":
        raise NoRule('no derivative rule for np.correlate with mode="same"', instead='np.convolve(a, v[::-1], mode="same")')
    y_bar = _full(y_bar, a, v, mode)
    return np.correlate(y_bar, v[::-1], "valid"), np.correlate(y_bar, a, "valid")[::-1]


def _full(y_bar: Any, a: Any, v: Any, mode: str) -> Any:
    """The adjoint of the full convolution, of which the other modes are the middle part."""
    if mode == "full":
        return y_bar
    n, m, length = np.shape(a)[0], np.shape(v)[0], np.shape(y_bar)[0]
    before = (n + m - 1 - length) // 2
    return np.pad(y_bar, (before, n + m - 1 - length - before))
