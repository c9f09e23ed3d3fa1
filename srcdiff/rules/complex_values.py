"""Complex values between real arguments and a real result.

The adjoint of a complex value z is the number z_bar for which a change dz of z changes the result by Re(z_bar * dz). So a
holomorphic function has the adjoint of the real one (`z_bar = y_bar * f'(z)`, a linear map its transpose, without
conjugation), and the adjoint of a real number is the real part of what a complex function of it gives. The functions that
are not holomorphic have the texts below.
"""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.rules.places import zeros_like

_HOLOMORPHIC: frozenset[Any] = frozenset(
    [
        np.add, np.subtract, np.multiply, np.divide, np.power, np.negative, np.positive, np.square, np.reciprocal, np.sqrt,
        np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan,
        np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh, np.arctanh, pow,
        np.sum, np.mean, np.prod, np.cumsum, np.trace, np.matmul, np.dot, np.inner, np.outer, np.tensordot, np.einsum, np.kron,
        np.reshape, np.ravel, np.transpose, np.swapaxes, np.moveaxis, np.expand_dims, np.squeeze, np.broadcast_to,
        np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.where, np.diag, np.diagonal, np.tile,
        np.repeat, np.roll, np.flip, np.fliplr, np.flipud, np.take, np.asarray, np.array, np.tril, np.triu, np.split, np.pad,
        np.linalg.solve, np.linalg.inv, np.linalg.det, np.copy, np.atleast_1d, np.atleast_2d,
        cmath.exp, cmath.log, cmath.sin, cmath.cos, cmath.sqrt,
    ]
)  # fmt: skip


def is_holomorphic(fn: Any) -> bool:
    """Whether the text of a function's rule holds for complex values as it stands."""
    try:
        return fn in _HOLOMORPHIC
    except TypeError:
        return False


def _real_part(y_bar: Any) -> Any:
    """The adjoint of a real result; where it is complex, its real part counts."""
    return np.real(y_bar) if is_complex(getattr(y_bar, "kind", None) or y_bar) else y_bar


def _real(z: Any, y: Any, y_bar: Any) -> Any:
    return y_bar


def _imag(z: Any, y: Any, y_bar: Any) -> Any:
    return -1j * y_bar


def _conjugate(z: Any, y: Any, y_bar: Any) -> Any:
    return np.conjugate(y_bar)


def _absolute(z: Any, y: Any, y_bar: Any) -> Any:
    """0 at 0."""
    return _real_part(y_bar) * np.conjugate(z) / np.where(y == 0, 1, y)


def _angle(z: Any, y: Any, y_bar: Any) -> Any:
    return -1j * _real_part(y_bar) / z


def _nothing(z: Any, y: Any, y_bar: Any) -> Any:
    return zeros_like(z)


TEXTS: dict[Any, Callable[..., Any]] = {
    np.real: _real,
    np.imag: _imag,
    np.conjugate: _conjugate,
    np.absolute: _absolute,
    abs: _absolute,
    np.angle: _angle,
    np.sign: _nothing,
}
"""The adjoint of a complex argument, from it, the result and the result's adjoint."""

TANGENTS: dict[Any, Callable[..., Any]] = {
    np.real: lambda z, y, z_dot: np.real(z_dot),
    np.imag: lambda z, y, z_dot: np.imag(z_dot),
    np.conjugate: lambda z, y, z_dot: np.conjugate(z_dot),
    np.absolute: lambda z, y, z_dot: np.real(np.conjugate(z) * z_dot) / np.where(y == 0, 1, y),
    abs: lambda z, y, z_dot: np.real(np.conjugate(z) * z_dot) / np.where(y == 0, 1, y),
    np.angle: lambda z, y, z_dot: np.imag(z_dot / z),
    np.sign: lambda z, y, z_dot: None,
}
"""The tangent of the result, from a complex argument, the result and the argument's tangent."""


def is_complex(kind: Any) -> bool:
    return str(getattr(kind, "dtype", getattr(kind, "type", ""))).startswith("complex")
