"""Special functions of SciPy.

The formulas are those of the NIST Digital Library of Mathematical Functions (DLMF), named by section. An argument by which a
function has no derivative in closed form (the order of a Bessel function) has none here. `xlogy`, `entr` and their relatives have
the partials of the formula, which are infinite at 0; by y, `xlogy` has 0 where both are 0.
"""

from __future__ import annotations

import math
import operator
from functools import reduce
from typing import Any

import numpy as np
import scipy.special
from scipy.special import betaln as log_beta

from srcdiff.rules import dtypes
from srcdiff.rules.asking import Staging, like
from srcdiff.rules.reductions import expanded, kept
from srcdiff.rules.reductions_shapes import reduced, softmaxed
from srcdiff.rules.registry import case, elementwise, vjp

sp = Staging(scipy.special)

_real = [case((2, 3)), case(())]
_positive = [case((2, 3), domain="positive"), case((), domain="positive")]
_probability = [case((2, 3), domain="probability")]
_positive_pair = [case((2, 3), (3,), domain="positive"), case((), (2,), domain="positive")]
_ROOT_PI = math.sqrt(math.pi)
_ROOT_2_PI = math.sqrt(2 * math.pi)

# ---------------------------------------------------------------- gamma and beta (DLMF 5)


@elementwise(scipy.special.gamma, at=_positive)
def gamma(z: Any, *, y: Any) -> Any:
    """5.2.2: psi is the logarithmic derivative."""
    return y * sp.digamma(z)


@elementwise(scipy.special.gammaln, scipy.special.loggamma, at=_positive)
def gammaln(x: Any) -> Any:
    """5.2.2"""
    return sp.digamma(x)


@elementwise(scipy.special.rgamma, at=_positive)
def rgamma(z: Any, *, y: Any) -> Any:
    """5.2.2"""
    return -y * sp.digamma(z)


@elementwise(scipy.special.digamma, at=_positive)
def digamma(x: Any) -> Any:
    """5.15.1"""
    return sp.zeta(2, x)


@elementwise(scipy.special.polygamma, wrt=("x",), at=[case(2, (3,), domain="positive")])
def polygamma(n: Any, x: Any) -> Any:
    """5.15"""
    return sp.polygamma(n + 1, x)


@elementwise(scipy.special.multigammaln, wrt=("a",), at=[case((3,), 2, domain="above_one")])
def multigammaln(a: Any, d: int) -> Any:
    """35.3.4 with 5.2.2"""
    return reduce(operator.add, [sp.digamma(a - 0.5 * j) for j in range(d)])


@elementwise(scipy.special.zeta, wrt=("q",), at=[case(2, (3,), domain="positive")])
def zeta(x: Any, q: Any) -> Any:
    """25.11.17, by q; the order has none."""
    return -x * sp.zeta(x + 1, q)


@elementwise(scipy.special.poch, at=_positive_pair)
def poch(z: Any, m: Any, *, y: Any) -> Any:
    """5.2.5 with 5.2.2"""
    at_end = sp.digamma(z + m)
    return y * (at_end - sp.digamma(z)), y * at_end


@elementwise(scipy.special.binom, at=_positive_pair)
def binom(n: Any, k: Any, *, y: Any) -> Any:
    """1.2.6 with 5.2.2. Where k is above n by an integer, y is 0 and 5.2.2 has a pole; there 5.7.6 gives the slope."""
    rest = n - k
    is_zero = (rest < 0) & (rest == np.floor(rest))
    slope = (2 * (rest % 2) - 1) / (k * sp.binom(np.where(is_zero, k - 1, n), n))
    of_rest = sp.digamma(np.where(is_zero, 1, rest + 1))
    return (
        np.where(is_zero, slope, y * (sp.digamma(n + 1) - of_rest)),
        np.where(is_zero, -slope, y * (of_rest - sp.digamma(k + 1))),
    )


@elementwise(scipy.special.beta, at=_positive_pair)
def beta(a: Any, b: Any, *, y: Any) -> Any:
    """5.12.1 with 5.2.2"""
    of_sum = sp.digamma(a + b)
    return y * (sp.digamma(a) - of_sum), y * (sp.digamma(b) - of_sum)


@elementwise(log_beta, at=_positive_pair)
def betaln(a: Any, b: Any) -> Any:
    """5.12.1 with 5.2.2"""
    of_sum = sp.digamma(a + b)
    return sp.digamma(a) - of_sum, sp.digamma(b) - of_sum


@elementwise(scipy.special.gammainc, wrt=("x",), at=[case(2.5, (3,), domain="positive")], checked="the incomplete gamma function")
def gammainc(a: Any, x: Any) -> Any:
    """8.8.13, by x; the order has none."""
    return np.exp((a - 1) * np.log(x) - x - like(sp.gammaln(a), x))


@elementwise(
    scipy.special.gammaincc, wrt=("x",), at=[case(2.5, (3,), domain="positive")], checked="the incomplete gamma function"
)
def gammaincc(a: Any, x: Any) -> Any:
    """8.8.14, by x; the order has none."""
    return -np.exp((a - 1) * np.log(x) - x - like(sp.gammaln(a), x))


@elementwise(
    scipy.special.betainc, wrt=("x",), at=[case(2.5, 1.5, (3,), domain="probability")], checked="the incomplete beta function"
)
def betainc(a: Any, b: Any, x: Any) -> Any:
    """8.17.1, by x; the parameters have none."""
    return np.exp((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - like(sp.betaln(a, b), x))


# ---------------------------------------------------------------- error functions (DLMF 7)


@elementwise(scipy.special.erf, at=_real)
def erf(z: Any) -> Any:
    """7.2.1"""
    return 2 / _ROOT_PI * np.exp(-z * z)


@elementwise(scipy.special.erfc, at=_real)
def erfc(z: Any) -> Any:
    """7.2.2"""
    return -2 / _ROOT_PI * np.exp(-z * z)


@elementwise(scipy.special.erfcx, at=_real)
def erfcx(x: Any, *, y: Any) -> Any:
    """7.2.3 with 7.2.2"""
    return 2 * x * y - 2 / _ROOT_PI


@elementwise(scipy.special.erfi, at=_real)
def erfi(z: Any) -> Any:
    """7.2.1 at iz"""
    return 2 / _ROOT_PI * np.exp(z * z)


@elementwise(scipy.special.dawsn, at=_real)
def dawsn(x: Any, *, y: Any) -> Any:
    """7.10.4 at the real axis"""
    return 1 - 2 * x * y


@elementwise(scipy.special.erfinv, at=[case((2, 3), domain="unit")])
def erfinv(y_: Any, *, y: Any) -> Any:
    """7.17.1: the inverse of 7.2.1"""
    return _ROOT_PI / 2 * np.exp(y * y)


@elementwise(scipy.special.erfcinv, at=_probability)
def erfcinv(y_: Any, *, y: Any) -> Any:
    """7.17.1: the inverse of 7.2.2"""
    return -_ROOT_PI / 2 * np.exp(y * y)


@elementwise(scipy.special.ndtr, at=_real)
def ndtr(x: Any) -> Any:
    """7.18.1: the density of the normal distribution."""
    return np.exp(-0.5 * x * x) / _ROOT_2_PI


@elementwise(scipy.special.log_ndtr, at=_real)
def log_ndtr(x: Any, *, y: Any) -> Any:
    """The density over the distribution, from logarithms so that it holds far out on the left."""
    return np.exp(-0.5 * x * x - y) / _ROOT_2_PI


@elementwise(scipy.special.ndtri, at=_probability)
def ndtri(y_: Any, *, y: Any) -> Any:
    """One over the density."""
    return _ROOT_2_PI * np.exp(0.5 * y * y)


# ---------------------------------------------------------------- logistic functions, entropies


@elementwise(scipy.special.expit, at=_real)
def expit(x: Any, *, y: Any) -> Any:
    return y * (1 - y)


@elementwise(scipy.special.logit, at=_probability)
def logit(x: Any) -> Any:
    return 1 / (x * (1 - x))


@elementwise(scipy.special.log_expit, at=_real)
def log_expit(x: Any) -> Any:
    return sp.expit(-x)


@elementwise(scipy.special.exprel, at=[case((2, 3), domain="positive")])
def exprel(x: Any, *, y: Any) -> Any:
    at_zero = x == 0
    return np.where(at_zero, 0.5, (np.exp(x) - y) / (x + at_zero))


@elementwise(scipy.special.xlogy, at=_positive_pair)
def xlogy(x: Any, y_: Any) -> Any:
    return np.log(y_), x / (y_ + (x == 0) * (y_ == 0))


@elementwise(scipy.special.xlog1py, at=_positive_pair)
def xlog1py(x: Any, y_: Any) -> Any:
    return np.log1p(y_), x / (1 + y_ + (x == 0) * (y_ == -1))


@elementwise(scipy.special.entr, at=_positive)
def entr(x: Any) -> Any:
    return -np.log(x) - 1


@elementwise(scipy.special.rel_entr, at=_positive_pair)
def rel_entr(x: Any, y_: Any) -> Any:
    ratio = x / y_
    return np.log(ratio) + 1, -ratio


@elementwise(scipy.special.kl_div, at=_positive_pair)
def kl_div(x: Any, y_: Any) -> Any:
    ratio = x / y_
    return np.log(ratio), 1 - ratio


@elementwise(scipy.special.huber, at=[case((), (2, 3), domain="positive")])
def huber(delta: Any, r: Any) -> Any:
    size = np.abs(r)
    return np.maximum(size - delta, 0), np.clip(r, -delta, delta)


@elementwise(scipy.special.pseudo_huber, at=[case((), (2, 3), domain="positive")])
def pseudo_huber(delta: Any, r: Any) -> Any:
    ratio = r / delta
    root = np.sqrt(1 + ratio * ratio)
    return 2 * delta * (root - 1) - r * ratio / root, r / root


@elementwise(scipy.special.boxcox, at=[case((2, 3), 0.5, domain="positive"), *_positive_pair])
def boxcox(x: Any, lmbda: Any, *, y: Any) -> Any:
    log_x = np.log(x)
    at_zero = lmbda == 0
    by_lambda = np.where(at_zero, 0.5 * log_x * log_x, (np.exp(lmbda * log_x) * log_x - y) / (lmbda + at_zero))
    return np.exp((lmbda - 1) * log_x), by_lambda


# ---------------------------------------------------------------- along an axis


@vjp("a", of=scipy.special.logsumexp, shape=reduced, dtype=dtypes.as_by(scipy.special.logsumexp), at=[
    case((2, 3)), case((2, 3), axis=0), case((2, 3), axis=-1, keepdims=True), case((2, 1, 3), axis=(0, 2)), case((3,)),
])  # fmt: skip
def logsumexp(a: Any, axis: Any = None, *, keepdims: bool = False, y: Any, y_bar: Any) -> Any:
    return expanded(y_bar, axis, keepdims) * np.exp(a - expanded(y, axis, keepdims))


_softmax = [case((2, 3)), case((2, 3), axis=-1), case((3,), axis=0), case((2, 1, 3), axis=(0, 2))]


@vjp("x", of=scipy.special.softmax, shape=softmaxed, dtype=dtypes.as_by(scipy.special.softmax), at=_softmax)
def softmax(x: Any, axis: Any = None, *, y: Any, y_bar: Any) -> Any:
    return y * (y_bar - np.sum(y * y_bar, **kept(axis)))


@vjp("x", of=scipy.special.log_softmax, shape=softmaxed, dtype=dtypes.as_by(scipy.special.log_softmax), at=_softmax)
def log_softmax(x: Any, axis: Any = None, *, y: Any, y_bar: Any) -> Any:
    return y_bar - np.exp(y) * np.sum(y_bar, **kept(axis))


# ---------------------------------------------------------------- Bessel functions (DLMF 10)


@elementwise(scipy.special.j0, at=_positive)
def j0(x: Any) -> Any:
    """10.6.3"""
    return -sp.j1(x)


@elementwise(scipy.special.j1, at=_positive)
def j1(x: Any) -> Any:
    """10.6.1, which holds at 0 too"""
    return 0.5 * (sp.j0(x) - sp.jv(2, x))


@elementwise(scipy.special.y0, at=_positive)
def y0(x: Any) -> Any:
    """10.6.3"""
    return -sp.y1(x)


@elementwise(scipy.special.y1, at=_positive)
def y1(x: Any, *, y: Any) -> Any:
    """10.6.2"""
    return sp.y0(x) - y / x


@elementwise(scipy.special.jv, wrt=("z",), at=[case(2, (3,), domain="positive")])
def jv(v: Any, z: Any) -> Any:
    """10.6.1, by z; the order has none."""
    return 0.5 * (sp.jv(v - 1, z) - sp.jv(v + 1, z))


@elementwise(scipy.special.yv, scipy.special.yn, wrt=("z",), at=[case(2, (3,), domain="positive")])
def yv(v: Any, z: Any) -> Any:
    """10.6.1, by z; the order has none."""
    return 0.5 * (sp.yv(v - 1, z) - sp.yv(v + 1, z))


@elementwise(scipy.special.i0, at=_positive)
def i0(x: Any) -> Any:
    """10.29.3"""
    return sp.i1(x)


@elementwise(scipy.special.i1, at=_positive)
def i1(x: Any) -> Any:
    """10.29.1, which holds at 0 too"""
    return 0.5 * (sp.i0(x) + sp.iv(2, x))


@elementwise(scipy.special.iv, wrt=("z",), at=[case(2, (3,), domain="positive")])
def iv(v: Any, z: Any) -> Any:
    """10.29.1, by z; the order has none."""
    return 0.5 * (sp.iv(v - 1, z) + sp.iv(v + 1, z))


@elementwise(scipy.special.i0e, at=_positive)
def i0e(x: Any, *, y: Any) -> Any:
    """10.29.3, scaled by exp(-|x|)"""
    return sp.i1e(x) - np.sign(x) * y


@elementwise(scipy.special.i1e, at=_positive)
def i1e(x: Any, *, y: Any) -> Any:
    """10.29.1, scaled by exp(-|x|)"""
    return 0.5 * (sp.i0e(x) + sp.ive(2, x)) - np.sign(x) * y


@elementwise(scipy.special.ive, wrt=("z",), at=[case(2, (3,), domain="positive")])
def ive(v: Any, z: Any, *, y: Any) -> Any:
    """10.29.1, scaled by exp(-|z|)"""
    return 0.5 * (sp.ive(v - 1, z) + sp.ive(v + 1, z)) - np.sign(z) * y


@elementwise(scipy.special.k0, at=_positive)
def k0(x: Any) -> Any:
    """10.29.3"""
    return -sp.k1(x)


@elementwise(scipy.special.k1, at=_positive)
def k1(x: Any, *, y: Any) -> Any:
    """10.29.2"""
    return -sp.k0(x) - y / x


@elementwise(scipy.special.kv, scipy.special.kn, wrt=("z",), at=[case(2, (3,), domain="positive")])
def kv(v: Any, z: Any) -> Any:
    """10.29.1, by z; the order has none."""
    return -0.5 * (sp.kv(v - 1, z) + sp.kv(v + 1, z))


# ---------------------------------------------------------------- elliptic and other integrals (DLMF 6, 19)


@elementwise(scipy.special.expi, at=_positive)
def expi(x: Any) -> Any:
    """6.2.5"""
    return np.exp(x) / x


@elementwise(scipy.special.exp1, at=_positive)
def exp1(z: Any) -> Any:
    """6.2.1"""
    return -np.exp(-z) / z


@elementwise(scipy.special.ellipk, at=_probability)
def ellipk(m: Any, *, y: Any) -> Any:
    """19.4.1, by the parameter m = k^2"""
    return (sp.ellipe(m) / (1 - m) - y) / (2 * m)


@elementwise(scipy.special.ellipe, at=_probability)
def ellipe(m: Any, *, y: Any) -> Any:
    """19.4.2, by the parameter m = k^2"""
    return (y - sp.ellipk(m)) / (2 * m)


if hasattr(scipy.special, "softplus"):  # a recent SciPy

    @elementwise(scipy.special.softplus, at=_real)
    def softplus(x: Any) -> Any:
        return sp.expit(x)
