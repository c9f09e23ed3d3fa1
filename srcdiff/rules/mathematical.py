"""Mathematical functions of NumPy, entry by entry: exponentials, trigonometry, rounding.

At odd points: `hypot` has the partials 0 at the origin, `arctan2` none (nan); `sqrt` and `cbrt` have inf at 0. `logaddexp` of two
-inf has the partials 0. `sinc` is smooth at 0, to third order. Where `nan_to_num` replaces a value the partial is 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from srcdiff.rules.arithmetic import sign_of
from srcdiff.rules.asking import is_number, is_static_number, like
from srcdiff.rules.registry import case, decomposed, elementwise, nondifferentiable

_real = [case((2, 3)), case(())]
_positive = [case((2, 3), domain="positive"), case((), domain="positive")]
_unit = [case((2, 3), domain="unit"), case((), domain="unit")]
_pair = [case((2, 3), (3,)), case((), (2,)), case((2, 1), (1, 3))]
_positive_pair = [case((2, 3), (3,), domain="positive"), case((), (2,), domain="positive")]

LOG_2 = math.log(2)
LOG_10 = math.log(10)
_LEAST = -3e38  # about the least float32

# ---------------------------------------------------------------- exponentials and logarithms


@elementwise(np.exp, at=_real)
def exp(x: Any, *, y: Any) -> Any:
    return y


@elementwise(np.exp2, at=_real)
def exp2(x: Any, *, y: Any) -> Any:
    return LOG_2 * y


@elementwise(np.expm1, at=_real)
def expm1(x: Any, *, y: Any) -> Any:
    return y + 1


@elementwise(np.log, at=_positive)
def log(x: Any) -> Any:
    return 1 / x


@elementwise(np.log2, at=_positive)
def log2(x: Any) -> Any:
    return 1 / (LOG_2 * x)


@elementwise(np.log10, at=_positive)
def log10(x: Any) -> Any:
    return 1 / (LOG_10 * x)


@elementwise(np.log1p, at=_positive)
def log1p(x: Any) -> Any:
    return 1 / (1 + x)


@elementwise(np.logaddexp, at=_pair)
def logaddexp(x1: Any, x2: Any, *, y: Any) -> Any:
    y = finite_from_below(y, x1, x2)
    return np.exp(x1 - y), np.exp(x2 - y)


@elementwise(np.logaddexp2, at=_pair)
def logaddexp2(x1: Any, x2: Any, *, y: Any) -> Any:
    y = finite_from_below(y, x1, x2)
    return np.exp2(x1 - y), np.exp2(x2 - y)


def finite_from_below(y: Any, x1: Any, x2: Any) -> Any:
    """The logarithm of a sum without its -inf, so that `x1 - y` is -inf and no nan."""
    return y if is_static_number(x1) or is_static_number(x2) else np.maximum(y, _LEAST)


# ---------------------------------------------------------------- roots


@elementwise(np.sqrt, at=_positive)
def sqrt(x: Any, *, y: Any) -> Any:
    return 0.5 / y


@elementwise(np.cbrt, at=_positive)
def cbrt(x: Any, *, y: Any) -> Any:
    return 1 / (3 * y * y)


@elementwise(np.hypot, at=_pair)
def hypot(x1: Any, x2: Any, *, y: Any) -> Any:
    y = y + (y == 0)
    return x1 / y, x2 / y


# ---------------------------------------------------------------- trigonometry


@elementwise(np.sin, at=_real)
def sin(x: Any) -> Any:
    return np.cos(x)


@elementwise(np.cos, at=_real)
def cos(x: Any) -> Any:
    return -np.sin(x)


@elementwise(np.tan, at=_unit)
def tan(x: Any, *, y: Any) -> Any:
    return 1 + y * y


@elementwise(np.arcsin, at=_unit)
def arcsin(x: Any) -> Any:
    return 1 / np.sqrt(1 - x * x)


@elementwise(np.arccos, at=_unit)
def arccos(x: Any) -> Any:
    return -1 / np.sqrt(1 - x * x)


@elementwise(np.arctan, at=_real)
def arctan(x: Any) -> Any:
    return 1 / (1 + x * x)


@elementwise(np.arctan2, at=_positive_pair)
def arctan2(x1: Any, x2: Any) -> Any:
    # Of Python numbers NumPy gives nan at the origin, and does not raise.
    squared = np.square(x1) + np.square(x2) if is_number(x1) and is_number(x2) else x1 * x1 + x2 * x2
    return x2 / squared, -x1 / squared


@elementwise(np.deg2rad, np.radians, at=_real)
def deg2rad(x: Any) -> Any:
    return math.pi / 180


@elementwise(np.rad2deg, np.degrees, at=_real)
def rad2deg(x: Any) -> Any:
    return 180 / math.pi


@elementwise(np.sinc, at=_real)
def sinc(x: Any, *, y: Any) -> Any:
    at_zero = x == 0
    return np.where(at_zero, -(math.pi**2) / 3 * x, (np.cos(math.pi * x) - y) / (x + at_zero))


@elementwise(np.unwrap, wrt=("p",), at=[case((3,)), case((2, 3), axis=0)], checked="jumps")
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: float = 2 * math.pi) -> Any:
    return 1


# ---------------------------------------------------------------- hyperbolic functions


@elementwise(np.sinh, at=_real)
def sinh(x: Any) -> Any:
    return np.cosh(x)


@elementwise(np.cosh, at=_real)
def cosh(x: Any) -> Any:
    return np.sinh(x)


@elementwise(np.tanh, at=_real)
def tanh(x: Any, *, y: Any) -> Any:
    return 1 - y * y


@elementwise(np.arcsinh, at=_real)
def arcsinh(x: Any) -> Any:
    return 1 / np.sqrt(x * x + 1)


@elementwise(np.arccosh, at=[case((2, 3), domain="above_one")])
def arccosh(x: Any) -> Any:
    return 1 / np.sqrt(x * x - 1)


@elementwise(np.arctanh, at=_unit)
def arctanh(x: Any) -> Any:
    return 1 / (1 - x * x)


# ---------------------------------------------------------------- parts of numbers


@elementwise(np.real, at=_real)
def real(val: Any) -> Any:
    return 1


@elementwise(np.imag, at=_real)
def imag(val: Any) -> Any:
    return 0


@elementwise(np.angle, wrt=("z",), at=_real, checked="of real numbers it is a step")
def angle(z: Any, deg: Any = False) -> Any:
    """0 of a positive real number, pi of a negative one."""
    return 0


@elementwise(np.conjugate, at=_real)
def conjugate(x: Any) -> Any:
    return 1


@elementwise(np.nan_to_num, wrt=("x",), at=_real)
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    return np.isfinite(x)


@elementwise(np.copysign, at=_pair)
def copysign(x1: Any, x2: Any) -> Any:
    return sign_of(x1) * np.copysign(1, x2), 0


@elementwise(np.nextafter, at=_pair, checked="a step of one rounding")
def nextafter(x1: Any, x2: Any) -> Any:
    return 1, 0


@elementwise(np.ldexp, wrt=("x1",), at=[case((2, 3), 3)])
def ldexp(x1: Any, x2: Any) -> Any:
    return like(np.ldexp(1.0, x2), x1)


@decomposed(np.modf, at=_real)
def modf(x: Any) -> Any:
    fraction = np.fmod(x, 1)
    return fraction, x - fraction


@elementwise(np.i0, at=_real)
def i0(x: Any) -> Any:
    from srcdiff.rules.special import sp

    return sp.i1(x)


nondifferentiable(
    np.rint, np.floor, np.ceil, np.trunc, np.isnan, np.isinf, np.isfinite, np.signbit, np.spacing,
    np.isposinf, np.isneginf, np.isreal, np.iscomplex,
)  # fmt: skip


def _rounded(a: Any, decimals: int = 0) -> Any: ...


def _compared(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any: ...


nondifferentiable(np.round, np.around, signature=_rounded)
nondifferentiable(np.fix)
nondifferentiable(np.isclose, signature=_compared)
