"""Arithmetic: the operators, on numbers and arrays. An operator is the NumPy function of the same meaning.

At odd points:

- `abs` has the partial 0 at 0; so has a power with the exponent 0, also at the base 0.
- `x ** p` by p is 0 at x = 0. A negative x has no derivative by p: nan for arrays, the error of `math.log` for numbers.
- `maximum` and `minimum` share the adjoint equally at ties, infinities included.
- `clip` passes the adjoint on to what it leaves unchanged, and so to a value that is equal to a bound.
- `heaviside` has the partial 1 by x2 where x1 is 0.
- `x % p` and `np.fmod` have the partials of the piece that x is in.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.rules.asking import is_number, is_static_number, is_static_zero, like, m
from srcdiff.rules.registry import case, decomposed, elementwise, jvp, nondifferentiable

_one = [case((2, 3)), case(())]
_pair = [case((2, 3), (3,)), case((), (2,)), case((2, 1), (1, 3))]
_positive_pair = [case((2, 3), (3,), domain="positive"), case((), (2,), domain="positive")]


@elementwise(np.add, at=_pair)
def add(x1: Any, x2: Any) -> Any:
    return 1, 1


@elementwise(np.subtract, at=_pair)
def subtract(x1: Any, x2: Any) -> Any:
    return 1, -1


@elementwise(np.multiply, at=_pair)
def multiply(x1: Any, x2: Any) -> Any:
    return x2, x1


@elementwise(np.divide, at=_positive_pair)
def divide(x1: Any, x2: Any, *, y: Any) -> Any:
    return 1 / x2, -y / x2


@jvp(np.divide)
def divide_tangent(x1: Any, x2: Any, *, y: Any, x1_dot: Any, x2_dot: Any) -> Any:
    if x2_dot is None:
        return x1_dot / x2
    return -y * x2_dot / x2 if x1_dot is None else (x1_dot - y * x2_dot) / x2


@elementwise(np.negative, at=_one)
def negative(x: Any) -> Any:
    return -1


@elementwise(np.positive, at=_one)
def positive(x: Any) -> Any:
    return 1


@elementwise(np.square, at=_one)
def square(x: Any) -> Any:
    return 2 * x


@elementwise(np.reciprocal, at=[case((2, 3), domain="positive")])
def reciprocal(x: Any, *, y: Any) -> Any:
    return -(y * y)


# ---------------------------------------------------------------- powers


_powers = [case((2,), n, domain="positive") for n in (-1, 0, 0.5, 1, 2, 2.5, 3)]


@elementwise(np.power, np.float_power, at=[*_positive_pair, *_powers, case((2,), 2), case((2,), 3)])
def power(x1: Any, x2: Any, *, y: Any) -> Any:
    to_base = constant_power(x1, x2, y=y) if is_static_number(x2) else x2 * x1 ** (x2 - (x2 != 0))
    return to_base, y * log_of_base(x1)


def constant_power(x: Any, n: float, *, y: Any) -> Any:
    """The partial of `x ** n`; where that is infinite at 0, a Python number has it as NumPy does, and does not raise."""
    if n == 0 or n == 1:
        return int(n)
    if n == 2:
        return n * x
    if n == 0.5:
        return 0.5 * np.reciprocal(y) if is_number(x) else 0.5 / y
    if n == -1:
        return -(y * y)
    if 0 < n < 1 and is_number(x):
        return n * np.power(x, n - 1)
    return n * x ** (n - 1)


def log_of_base(x: Any) -> Any:
    """The logarithm, 0 at 0: there the power is 0, or 1 with an exponent 0 that nothing changes."""
    if is_static_number(x) and x < 0:
        return np.nan
    return m.log(x + (x == 0)) if is_number(x) else np.log(x + (x == 0))


# ---------------------------------------------------------------- division with remainder


@elementwise(np.remainder, at=[case((2, 3), (3,), domain="positive"), case((2,), 1.5)])
def remainder(x1: Any, x2: Any) -> Any:
    return 1, -(x1 // x2)


@elementwise(np.fmod, at=[case((2, 3), (3,), domain="positive"), case((2,), 1.5)])
def fmod(x1: Any, x2: Any) -> Any:
    return 1, -np.trunc(x1 / x2)


@decomposed(np.divmod, at=[case((2, 3), (3,), domain="positive")])
def divmod_(x1: Any, x2: Any) -> Any:
    return x1 // x2, x1 % x2


# ---------------------------------------------------------------- signs and bounds


@elementwise(np.absolute, np.fabs, at=_one)
def absolute(x: Any) -> Any:
    return sign_of(x)


def sign_of(x: Any) -> Any:
    """1, 0 or -1."""
    return (x > 0) - (x < 0) if is_number(x) else np.sign(x)


@elementwise(np.maximum, at=[*_pair, case((2, 3), 0), case((2, 3), 0.5), case(0, (2,))])
def maximum(x1: Any, x2: Any) -> Any:
    return is_above(x1, x2), is_above(x2, x1)


@elementwise(np.minimum, at=[*_pair, case((2, 3), 0), case((2, 3), 0.5), case(0, (2,))])
def minimum(x1: Any, x2: Any) -> Any:
    return is_above(x2, x1), is_above(x1, x2)


def is_above(x1: Any, x2: Any) -> Any:
    """1 where x1 is above x2, 1/2 where they are equal, 0 elsewhere; right for infinities, whose difference is nan."""
    if is_number(x1) and is_number(x2):
        return ((x1 > x2) + (x1 >= x2)) / 2
    if is_static_zero(x2):
        return 0.5 * (1 + np.sign(x1))
    if is_static_zero(x1):
        return 0.5 * (1 - np.sign(x2))
    return like(np.where(x1 == x2, 0.5, x1 > x2), x1, x2)


@elementwise(np.fmax, at=_pair)
def fmax(x1: Any, x2: Any, *, y: Any) -> Any:
    at = like(np.where(x1 == x2, 0.5, x1 == y), x1, x2)
    return at, 1 - at


@elementwise(np.fmin, at=_pair)
def fmin(x1: Any, x2: Any, *, y: Any) -> Any:
    at = like(np.where(x1 == x2, 0.5, x1 == y), x1, x2)
    return at, 1 - at


_bounds = [case((2, 3), -0.5, 0.5), case((2, 3), None, 0.5), case((2, 3), (3,), None), case((2, 3), 0.5, (3,))]


@elementwise(np.clip, at=_bounds)
def clip(a: Any, a_min: Any = None, a_max: Any = None, *, y: Any) -> Any:
    if a_min is None:
        return a == y, 0, a > y
    if a_max is None:
        return a == y, a < y, 0
    if is_static_number(a_min) and is_static_number(a_max) and a_min <= a_max:
        return a == y, a < y, a > y
    is_in_order = y >= a_min  # where a_min is above a_max the result is a_max
    return (a == y) & is_in_order, (a < y) & is_in_order, (a > y) | (y < a_min)


@elementwise(np.heaviside, at=_pair, trusted="x2 is the value at 0 alone")
def heaviside(x1: Any, x2: Any) -> Any:
    return 0, x1 == 0


nondifferentiable(
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
    np.logical_and, np.logical_or, np.logical_xor, np.logical_not,
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift, np.bitwise_count,
    np.gcd, np.lcm, np.floor_divide, np.sign,
)  # fmt: skip
