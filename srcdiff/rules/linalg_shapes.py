"""Shapes of np.linalg's results: stacks of matrices, their last two axes the matrix."""

from __future__ import annotations

from typing import Any

from srcdiff.errors import NoRule
from srcdiff.ir.kinds import Length, opaque
from srcdiff.rules.registry import Shaped
from srcdiff.rules.shapes import Shape, broadcast, floating, reduced


def square(a: Shaped, *args: Any) -> Shaped:
    return Shaped(a.shape, floating(a))


def pinv(a: Shaped) -> Shaped:
    return Shaped(a.shape[:-2] + (a.shape[-1], a.shape[-2]), floating(a))


def matrix_power(a: Shaped, n: Any) -> Shaped:
    return Shaped(a.shape, floating(a) if not isinstance(n, int) or n < 0 else a.dtype)


def solve(a: Shaped, b: Shaped) -> Shaped:
    if b.ndim == 1:
        shape: Shape = (*broadcast(a.shape[:-2]), a.shape[-1])
    else:
        shape = (*broadcast(a.shape[:-2], b.shape[:-2]), a.shape[-1], b.shape[-1])
    return Shaped(shape, floating(a, b))


def det(a: Shaped) -> Shaped:
    return Shaped(a.shape[:-2], floating(a))


def slogdet(a: Shaped) -> list[Shaped]:
    return [det(a), det(a)]


def norm(x: Shaped, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Shaped:
    return Shaped(reduced(x, axis, keepdims), floating(x))


def vector_norm(x: Shaped, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Shaped:
    return norm(x, ord, axis, keepdims)


def matrix_norm(x: Shaped, keepdims: bool = False, ord: Any = "fro") -> Shaped:
    return norm(x, ord, (-2, -1), keepdims)


def eigh(a: Shaped) -> list[Shaped]:
    return [eigvalsh(a), square(a)]


def eigvalsh(a: Shaped) -> Shaped:
    return Shaped(a.shape[:-1], floating(a))


def svdvals(x: Shaped) -> Shaped:
    return Shaped((*x.shape[:-2], _shorter(x)), floating(x))


def _shorter(a: Shaped) -> Length:
    m, n = a.shape[-2:]
    return min(m, n) if isinstance(m, int) and isinstance(n, int) else m if m == n else opaque()


def svd(a: Shaped, full_matrices: bool = True, compute_uv: bool = True) -> Shaped | list[Shaped]:
    s = svdvals(a)
    if not compute_uv:
        return s
    *batch, m, n = a.shape
    k = s.shape[-1]
    rows, columns = (m, n) if full_matrices else (k, k)
    return [Shaped((*batch, m, rows), s.dtype), s, Shaped((*batch, columns, n), s.dtype)]


def qr(a: Shaped, mode: str = "reduced") -> Shaped | list[Shaped]:
    *batch, m, n = a.shape
    k = m if mode == "complete" else _shorter(a)
    r = Shaped((*batch, k, n), floating(a))
    if mode == "r":
        return r
    if mode not in ("reduced", "complete"):
        raise NoRule(f"no derivative rule for np.linalg.qr with mode={mode!r}", instead='mode="reduced"')
    return [Shaped((*batch, m, k), r.dtype), r]


def multi_dot(arrays: list[Shaped]) -> Shape:
    return arrays[0].shape[:-1] + arrays[-1].shape[1:]
