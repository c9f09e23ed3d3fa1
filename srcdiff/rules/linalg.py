"""Linear algebra: np.linalg on matrices and stacks of them, real.

The formulas are those of Giles (2008), "An extended collection of matrix derivative results for forward and reverse mode
algorithmic differentiation"; of Murray (2016), "Differentiation of the Cholesky decomposition"; and of Townsend (2016),
"Differentiating the singular value decomposition". Where NumPy reads one triangle of a symmetric argument (cholesky, eigh,
eigvalsh), the contribution is symmetric: the derivative along symmetric changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.errors import NoRule
from srcdiff.rules import linalg_shapes as shapes
from srcdiff.rules.places import choose, positions, unbroadcast, zeros_like
from srcdiff.rules.registry import Many, bilinear, case, vjp

_square = [case((2, 2)), case((2, 2, 2))]


def _t(x: Any) -> Any:
    return x.T if x.ndim == 2 else np.swapaxes(x, -1, -2)


# ---------------------------------------------------------------- equations, inverses, determinants


@vjp("a", "b", of=np.linalg.solve, shape=shapes.solve, at=[
    case((2, 2), (2,)), case((2, 2), (2, 1)), case((2, 2, 2), (2, 2, 1)), case((2, 2, 2), (2,)), case((2, 2), (2, 2, 1)),
    case((2, 2, 2), (2, 1)),
])  # fmt: skip
def solve(a: Any, b: Any, *, y: Any, y_bar: Any) -> Any:
    """The adjoint of b solves with the transpose."""
    if a.ndim == 2 and b.ndim == 1:
        b_bar = np.linalg.solve(a.T, y_bar)
        return -np.outer(b_bar, y), b_bar
    if b.ndim == 1:
        b_bar = np.linalg.solve(_t(a), y_bar[..., None])
        return -b_bar * y[..., None, :], unbroadcast(b_bar[..., 0], b)
    b_bar = np.linalg.solve(_t(a), y_bar)
    return unbroadcast(-b_bar @ _t(y), a), unbroadcast(b_bar, b)


@vjp("a", of=np.linalg.inv, shape=shapes.square, at=_square)
def inv(a: Any, *, y: Any, y_bar: Any) -> Any:
    return -_t(y) @ y_bar @ _t(y)


@vjp("a", of=np.linalg.det, shape=shapes.det, at=_square)
def det(a: Any, *, y: Any, y_bar: Any) -> Any:
    """The cofactors; of a singular matrix, which has no inverse, by its singular values."""
    return choose(y != 0, _scaled_inverse, _cofactors, a, y, y_bar)


def _scaled_inverse(a: Any, y: Any, y_bar: Any) -> Any:
    return _each_matrix(y_bar * y, a) * _t(np.linalg.inv(a))


def _cofactors(a: Any, y: Any, y_bar: Any) -> Any:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    i = positions(s, s.ndim - 1)
    of_others = np.prod(np.where(i[:, None] == i, 1, _each_row(s)), axis=-1)
    sign = np.linalg.det(u) * np.linalg.det(vh)
    return _each_matrix(y_bar * sign, a) * ((u * _each_row(of_others)) @ vh)


@vjp("a", of=np.linalg.slogdet, shape=shapes.slogdet, at=_square)
def slogdet(a: Any, *, y_bar: Any) -> Any:
    """The sign is constant."""
    _, logabsdet_bar = y_bar
    if logabsdet_bar is None:
        return zeros_like(a)
    return _each_matrix(logabsdet_bar, a) * _t(np.linalg.inv(a))


def _each_row(x: Any) -> Any:
    """A number for each column of a matrix, so that it multiplies the rows."""
    return x if x.ndim == 1 else x[..., None, :]


def _each_matrix(x: Any, a: Any) -> Any:
    """A number for each matrix of a stack, so that it multiplies the matrices."""
    return x if a.ndim == 2 else x[..., None, None]


@vjp(
    "a",
    of=np.linalg.pinv,
    shape=shapes.pinv,
    checked="by way of the singular values",
    at=[case((2, 3)), case((3, 2)), case((2, 2, 3))],
)
def pinv(a: Any, *, y: Any, y_bar: Any) -> Any:
    """Of constant rank (Golub and Pereyra, 1973)."""
    left, right = _t(y_bar) @ y @ _t(y), _t(y) @ y @ _t(y_bar)
    return left - a @ y @ left + right - right @ y @ a - _t(y) @ y_bar @ _t(y)


@vjp("a", of=np.linalg.matrix_power, shape=shapes.matrix_power, at=[
    case((2, 2), 2), case((2, 2), 3), case((2, 2), 1), case((2, 2), 0), case((2, 2), -1), case((2, 2), -2),
    case((2, 2, 2), 2),
])  # fmt: skip
def matrix_power(a: Any, n: int, *, y_bar: Any) -> Any:
    if not isinstance(n, int):
        raise NoRule("no derivative rule for np.linalg.matrix_power with an exponent that only the run knows")
    if n == 0:
        return zeros_like(a)
    if n < 0:
        inverse = np.linalg.inv(a)
        return inv(a, y=inverse, y_bar=matrix_power(inverse, -n, y_bar=y_bar))
    a_bar, right = y_bar, y_bar
    for _ in range(n - 1):
        right = right @ _t(a)
        a_bar = _t(a) @ a_bar + right
    return a_bar


@bilinear("arrays", of=np.linalg.multi_dot, shape=shapes.multi_dot, at=[
    case(Many(((2, 3), (3, 2), (2, 1)))), case(Many(((2, 3), (3, 2)))), case(Many(((2,), (2, 3), (3, 2)))),
    case(Many(((2, 3), (3, 2), (2,)))), case(Many(((2,), (2, 3), (3,)))), case(Many(((2,), (2, 2), (2, 3), (3, 1)))),
])  # fmt: skip
def multi_dot(arrays: Any, *, y_bar: Any) -> Any:
    first, last = np.ndim(arrays[0]) == 1, np.ndim(arrays[-1]) == 1
    factors = list(arrays)
    if first:
        factors[0] = factors[0][None, :]
        y_bar = y_bar[..., None, :] if not last else np.reshape(y_bar, (1, 1))
    if last:
        factors[-1] = factors[-1][:, None]
        y_bar = y_bar if first else y_bar[:, None]
    adjoints = []
    for k in range(len(factors)):
        chain = [x.T for x in reversed(factors[:k])] + [y_bar] + [x.T for x in reversed(factors[k + 1 :])]
        adjoints.append(np.linalg.multi_dot(chain))
    if first:
        adjoints[0] = adjoints[0][0]
    if last:
        adjoints[-1] = adjoints[-1][:, 0]
    return adjoints


# ---------------------------------------------------------------- factorisations


@vjp(
    "a",
    of=np.linalg.cholesky,
    shape=shapes.square,
    checked="its result is found step by step",
    at=[case((2, 2), domain="spd"), case((3, 3), domain="spd"), case((2, 2, 2), domain="spd")],
)
def cholesky(a: Any, /, *, y: Any, y_bar: Any) -> Any:
    """Murray (2016), equation 10; symmetric. One inverse costs less than two systems of equations."""
    inverse = np.linalg.inv(y)
    inner = _mirrored(_t(y) @ y_bar) / 2
    return _t(inverse) @ inner @ inverse


def _mirrored(x: Any) -> Any:
    """The symmetric matrix with the lower triangle of x."""
    return np.tril(x) + _t(np.tril(x, -1))


@vjp(
    "a",
    of=np.linalg.qr,
    shape=shapes.qr,
    checked="its result is found step by step",
    at=[case((2, 2), domain="spd"), case((3, 2)), case((2, 3, 2))],
)
def qr(a: Any, mode: str = "reduced", *, y: Any, y_bar: Any) -> Any:
    """Of a matrix with independent columns (a wider one raises LinAlgError)."""
    if mode != "reduced":
        raise NoRule(f"no derivative rule for np.linalg.qr with mode={mode!r}", instead='mode="reduced"')
    q, r = y
    q_bar, r_bar = y_bar
    if r_bar is None:
        inner = q_bar - q @ _mirrored(_t(q_bar) @ q)
    elif q_bar is None:
        inner = q @ _mirrored(r @ _t(r_bar))
    else:
        inner = q_bar + q @ _mirrored(r @ _t(r_bar) - _t(q_bar) @ q)
    return _t(np.linalg.solve(r, _t(inner)))


# ---------------------------------------------------------------- eigenvalues and singular values


_spd = [case((2, 2), domain="spd"), case((3, 3), domain="spd"), case((2, 2, 2), domain="spd")]


def _inverse_gaps(x: Any) -> Any:
    """1 / (x[j] - x[i]) at i, j, and 0 where these are equal."""
    gaps = x[..., None, :] - x[..., :, None]
    return np.where(gaps == 0, 0, 1 / np.where(gaps == 0, 1, gaps))


def _symmetric(x: Any) -> Any:
    return (x + _t(x)) / 2


@vjp("a", of=np.linalg.eigh, shape=shapes.eigh, checked="eigenvalues", at=_spd)
def eigh(a: Any, *, y: Any, y_bar: Any) -> Any:
    """Where eigenvalues are equal, their eigenvectors count as constant among themselves."""
    w, v = y
    w_bar, v_bar = y_bar
    if v_bar is None:
        return (v * w_bar[..., None, :]) @ _t(v)
    turned = v @ (_inverse_gaps(w) * (_t(v) @ v_bar)) @ _t(v)
    if w_bar is None:
        return _symmetric(turned)
    return _symmetric(turned) + (v * w_bar[..., None, :]) @ _t(v)


@vjp("a", of=np.linalg.eigvalsh, shape=shapes.eigvalsh, checked="eigenvalues", at=_spd)
def eigvalsh(a: Any, *, y_bar: Any) -> Any:
    _, v = np.linalg.eigh(a)
    return (v * y_bar[..., None, :]) @ _t(v)


@vjp("x", of=np.linalg.svdvals, shape=shapes.svdvals, checked="singular values", at=[case((2, 3)), case((2, 3, 2))])
def svdvals(x: Any, /, *, y_bar: Any) -> Any:
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    return (u * y_bar[..., None, :]) @ vh


@vjp("a", of=np.linalg.svd, shape=shapes.svd, checked="singular values", at=[
    case((2, 3), full_matrices=False), case((3, 2), full_matrices=False), case((2, 2, 3), full_matrices=False),
    case((2, 2), full_matrices=False), case((2, 3), compute_uv=False), case((3, 2), compute_uv=False),
    case((2, 2, 3), compute_uv=False),
])  # fmt: skip
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, *, y: Any, y_bar: Any) -> Any:
    """Of distinct singular values that are not 0, unless only they are used (Townsend, 2016)."""
    if not compute_uv:
        return svdvals(a, y_bar=y_bar)
    if full_matrices:
        raise NoRule("no derivative rule for np.linalg.svd with full_matrices=True", instead="full_matrices=False")
    u, s, vh = y
    u_bar, s_bar, vh_bar = y_bar
    terms = []
    if s_bar is not None:
        terms.append((u * s_bar[..., None, :]) @ vh)
    if u_bar is not None:
        skew = _t(u) @ u_bar
        inside = u @ (_inverse_gaps(s * s) * (skew - _t(skew)) * s[..., None, :])
        outside = (u_bar - u @ skew) / s[..., None, :]
        terms.append((inside + outside) @ vh)
    if vh_bar is not None:
        skew = vh @ _t(vh_bar)
        inside = (s[..., :, None] * (_inverse_gaps(s * s) * (skew - _t(skew)))) @ vh
        outside = (vh_bar - _t(skew) @ vh) / s[..., :, None]
        terms.append(u @ (inside + outside))
    a_bar = terms[0]
    for term in terms[1:]:
        a_bar = a_bar + term
    return a_bar


# ---------------------------------------------------------------- norms


_vectors = [
    case((3,)), case((2, 3)), case((2, 3), axis=1), case((2, 3), axis=-1, keepdims=True), case((2, 3), axis=(0, 1)),
    case((2, 3), "fro"), case((2, 3), 2, axis=0), case((2, 2, 3)),
]  # fmt: skip


@vjp("x", of=np.linalg.norm, shape=shapes.norm, checked="cases of order, some by singular values", at=[
    *_vectors, case((), None), case((3,), 1), case((3,), np.inf), case((3,), -np.inf),
    case((3,), 3), case((2, 3), 1.5, axis=0), case((2, 3), np.inf, axis=1, keepdims=True), case((2, 3), 1), case((2, 3), -1),
    case((2, 3), np.inf), case((2, 3), -np.inf), case((2, 3), 2), case((2, 3), -2), case((2, 3), "nuc"),
    case((2, 2, 3), 1, axis=(1, 2)), case((2, 2, 3), "nuc", axis=(-1, 0)),
    case((2, 2, 3), "nuc", axis=(0, 2), keepdims=True), case((2, 3), 2, keepdims=True), case((2, 2, 3), 2, axis=(0, 2)),
    case((2, 2, 3), -np.inf, axis=(2, 0)),
])  # fmt: skip
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, *, y: Any, y_bar: Any) -> Any:
    """0 where a vector or Frobenius norm is 0; ties of a maximum or minimum share; of equal singular values the first counts."""
    if axis is not None and not keepdims:
        y, y_bar = np.expand_dims(y, axis), np.expand_dims(y_bar, axis)
    if ord is None or ord == "fro":
        return y_bar / _nonzero(y) * x
    axes = (0, 1) if axis is None and x.ndim == 2 else axis
    if isinstance(axes, tuple) and len(axes) == 2:
        return _matrix_norm(x, ord, axes, y, y_bar)
    return _vector_norm(x, ord, axis, y, y_bar)


def _nonzero(y: Any) -> Any:
    return np.where(y == 0, 1, y)


def _vector_norm(x: Any, ord: Any, axis: Any, y: Any, y_bar: Any) -> Any:
    if ord == 2:
        return y_bar / _nonzero(y) * x
    if ord == 1:
        return y_bar * np.sign(x)
    if ord in (np.inf, -np.inf):
        return y_bar * _shared(np.where(np.abs(x) == y, np.sign(x), 0), axis)
    if ord == 0:
        return zeros_like(x)
    return y_bar * np.sign(x) * (np.abs(x) / _nonzero(y)) ** (ord - 1)


def _shared(signs: Any, axis: Any) -> Any:
    """Signs at the extremes, each divided by how many there are."""
    count = np.sum(np.abs(signs), axis=axis, keepdims=True)
    return signs / np.where(count == 0, 1, count)


def _matrix_norm(x: Any, ord: Any, axes: tuple[int, int], y: Any, y_bar: Any) -> Any:
    if ord in (1, -1, np.inf, -np.inf):
        inner, outer = axes if ord in (1, -1) else axes[::-1]
        sums = np.sum(np.abs(x), axis=inner, keepdims=True)
        return y_bar * np.sign(x) * _shared(np.where(sums == y, np.sign(sums), 0), outer)
    if x.ndim == 2 and axes == (0, 1):
        return y_bar * _singular(x, ord)
    return y_bar * np.moveaxis(_singular(np.moveaxis(x, axes, (-2, -1)), ord), (-2, -1), axes)


def _singular(x: Any, ord: Any) -> Any:
    """The derivative of the sum of the singular values ("nuc"), the largest (2) or the smallest (-2)."""
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    if ord == "nuc":
        return u @ vh
    return u[..., :, :1] @ vh[..., :1, :] if ord == 2 else u[..., :, -1:] @ vh[..., -1:, :]


@vjp("x", of=np.linalg.vector_norm, shape=shapes.vector_norm, checked="cases of order", at=[
    case((3,)), case((2, 3)), case((2, 3), axis=1), case((2, 3), axis=(0, 1), keepdims=True), case((2, 3), ord=1),
    case((2, 3), ord=np.inf), case((2, 3), ord=3, axis=0),
])  # fmt: skip
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2, y: Any, y_bar: Any) -> Any:
    if axis is not None and not keepdims:
        y, y_bar = np.expand_dims(y, axis), np.expand_dims(y_bar, axis)
    return _vector_norm(x, ord, axis, y, y_bar)


@vjp("x", of=np.linalg.matrix_norm, shape=shapes.matrix_norm, checked="cases of order, some by singular values", at=[
    case((2, 3)), case((2, 2, 3)), case((2, 3), ord=2), case((2, 2, 3), ord="nuc", keepdims=True), case((2, 3), ord=1),
])  # fmt: skip
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro", y: Any, y_bar: Any) -> Any:
    return norm(x, ord, (-2, -1), keepdims, y=y, y_bar=y_bar)
