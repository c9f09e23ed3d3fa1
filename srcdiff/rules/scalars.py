"""The functions of `math`, and the builtins that take numbers.

The partials of a function of `math` are written with `math`, so that gradients of programs on numbers call nothing slower. And
so infinite partials are errors, as everywhere in `math`: `math.sqrt` at 0 and `math.asin` at 1 divide by zero. `math.hypot` has
the partials 0 at the origin. `max` and `min` share the adjoint equally at ties, `abs` has the partial 0 at 0, and powers are
those of `arithmetic`.
"""

from __future__ import annotations

import math
from typing import Any

from srcdiff.rules.arithmetic import constant_power, is_above, log_of_base, sign_of
from srcdiff.rules.asking import is_static_number, m
from srcdiff.rules.mathematical import LOG_2, LOG_10
from srcdiff.rules.registry import Many, case, decomposed, elementwise, nondifferentiable

_real = [case(())]
_positive = [case((), domain="positive")]
_unit = [case((), domain="unit")]
_pair = [case((), ())]
_positive_pair = [case((), (), domain="positive")]

# ---------------------------------------------------------------- exponentials and logarithms


@elementwise(math.exp, at=_real)
def exp(x: Any, *, y: Any) -> Any:
    return y


@elementwise(math.exp2, at=_real)
def exp2(x: Any, *, y: Any) -> Any:
    return LOG_2 * y


@elementwise(math.expm1, at=_real)
def expm1(x: Any, *, y: Any) -> Any:
    return y + 1


@elementwise(math.log, at=[*_positive, case((), (), domain="above_one")])
def log(x: Any, base: Any = None, *, y: Any) -> Any:
    if base is None:
        return 1 / x, 0
    log_base = m.log(base)
    return 1 / (log_base * x), -y / (log_base * base)


@elementwise(math.log2, at=_positive)
def log2(x: Any) -> Any:
    return 1 / (LOG_2 * x)


@elementwise(math.log10, at=_positive)
def log10(x: Any) -> Any:
    return 1 / (LOG_10 * x)


@elementwise(math.log1p, at=_positive)
def log1p(x: Any) -> Any:
    return 1 / (1 + x)


# ---------------------------------------------------------------- powers and roots


@elementwise(math.pow, pow, at=[*_positive_pair, *[case((), n, domain="positive") for n in (-1, 0, 0.5, 1, 2, 3)]])
def power(base: Any, exp: Any, *, y: Any) -> Any:
    to_base = constant_power(base, exp, y=y) if is_static_number(exp) else exp * base ** (exp - (exp != 0))
    return to_base, y * log_of_base(base)


@elementwise(math.sqrt, at=_positive)
def sqrt(x: Any, *, y: Any) -> Any:
    return 0.5 / y


@elementwise(math.cbrt, at=_positive)
def cbrt(x: Any, *, y: Any) -> Any:
    return 1 / (3 * y * y)


@elementwise(math.hypot, at=[case((), ()), case((), (), ())])
def hypot(*coordinates: Any, y: Any) -> Any:
    y = y + (y == 0)
    return tuple(x / y for x in coordinates)


@decomposed(math.dist, at=[case(Many(((), ())), Many(((), ())))])
def dist(p: Any, q: Any) -> Any:
    return m.hypot(*[a - b for a, b in zip(p, q)])


# ---------------------------------------------------------------- trigonometry


@elementwise(math.sin, at=_real)
def sin(x: Any) -> Any:
    return m.cos(x)


@elementwise(math.cos, at=_real)
def cos(x: Any) -> Any:
    return -m.sin(x)


@elementwise(math.tan, at=_unit)
def tan(x: Any, *, y: Any) -> Any:
    return 1 + y * y


@elementwise(math.asin, at=_unit)
def asin(x: Any) -> Any:
    return 1 / m.sqrt(1 - x * x)


@elementwise(math.acos, at=_unit)
def acos(x: Any) -> Any:
    return -1 / m.sqrt(1 - x * x)


@elementwise(math.atan, at=_real)
def atan(x: Any) -> Any:
    return 1 / (1 + x * x)


@elementwise(math.atan2, at=_positive_pair)
def atan2(y_: Any, x: Any) -> Any:
    squared = x * x + y_ * y_
    return x / squared, -y_ / squared


@elementwise(math.radians, at=_real)
def radians(x: Any) -> Any:
    return math.pi / 180


@elementwise(math.degrees, at=_real)
def degrees(x: Any) -> Any:
    return 180 / math.pi


# ---------------------------------------------------------------- hyperbolic functions


@elementwise(math.sinh, at=_real)
def sinh(x: Any) -> Any:
    return m.cosh(x)


@elementwise(math.cosh, at=_real)
def cosh(x: Any) -> Any:
    return m.sinh(x)


@elementwise(math.tanh, at=_real)
def tanh(x: Any, *, y: Any) -> Any:
    return 1 - y * y


@elementwise(math.asinh, at=_real)
def asinh(x: Any) -> Any:
    return 1 / m.sqrt(x * x + 1)


@elementwise(math.acosh, at=[case((), domain="above_one")])
def acosh(x: Any) -> Any:
    return 1 / m.sqrt(x * x - 1)


@elementwise(math.atanh, at=_unit)
def atanh(x: Any) -> Any:
    return 1 / (1 - x * x)


# ---------------------------------------------------------------- special functions


@elementwise(math.erf, at=_real)
def erf(x: Any) -> Any:
    return 2 / math.sqrt(math.pi) * m.exp(-x * x)


@elementwise(math.erfc, at=_real)
def erfc(x: Any) -> Any:
    return -2 / math.sqrt(math.pi) * m.exp(-x * x)


@elementwise(math.gamma, at=_positive)
def gamma(x: Any, *, y: Any) -> Any:
    return y * digamma(x)


@elementwise(math.lgamma, at=_positive)
def lgamma(x: Any) -> Any:
    return digamma(x)


def digamma(x: Any) -> Any:
    """The derivative of lgamma: `math` has none, so it is SciPy's."""
    from srcdiff.rules.special import sp

    return sp.digamma(x)


# ---------------------------------------------------------------- signs, extremes, remainders, parts of numbers


@elementwise(abs, math.fabs, at=_real)
def absolute(x: Any) -> Any:
    return sign_of(x)


@elementwise(max, at=[*_pair, case((), 0)])
def maximum(x1: Any, x2: Any) -> Any:
    return is_above(x1, x2), is_above(x2, x1)


@elementwise(min, at=[*_pair, case((), 0)])
def minimum(x1: Any, x2: Any) -> Any:
    return is_above(x2, x1), is_above(x1, x2)


@decomposed(divmod, at=_positive_pair)
def divmod_(x: Any, y_: Any) -> Any:
    return x // y_, x % y_


@elementwise(math.copysign, at=_pair)
def copysign(x: Any, y_: Any) -> Any:
    return sign_of(x) * m.copysign(1, y_), 0


@elementwise(math.nextafter, wrt=("x",), at=_pair, checked="a step of one rounding")
def nextafter(x: Any, y_: Any) -> Any:
    return 1


@elementwise(math.fmod, at=_positive_pair)
def fmod(x: Any, y_: Any) -> Any:
    return 1, -m.trunc(x / y_)


@elementwise(math.remainder, at=_positive_pair)
def remainder(x: Any, y_: Any, *, y: Any) -> Any:
    return 1, (y - x) / y_


@elementwise(math.ldexp, wrt=("x",), at=[case((), 3)])
def ldexp(x: Any, i: Any) -> Any:
    return m.ldexp(1.0, i)


@decomposed(math.modf, at=_real)
def modf(x: Any) -> Any:
    fraction = m.fmod(x, 1)
    return fraction, x - fraction


@elementwise(float, at=_real)
def float_(x: Any) -> Any:
    return 1


nondifferentiable(
    math.floor, math.ceil, math.trunc, math.isnan, math.isinf, math.isfinite, math.isclose, math.ulp,
    math.isqrt, math.comb, math.perm, math.factorial, math.gcd, math.lcm, int, bool, len, round,
)  # fmt: skip
