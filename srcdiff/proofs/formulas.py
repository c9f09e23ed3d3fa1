"""What each elementwise function is in SymPy, by the name that NumPy, `math` and `scipy.special` give it.

    tanh → sympy.tanh        logaddexp → log(exp(a) + exp(b))        maximum → the larger one on this piece

Comparisons, and functions that are made of pieces, are decided by the piece that is current.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import Any

import sympy
from sympy import Integer, Rational, exp, log, pi, sqrt

from srcdiff.proofs.pieces import Piece
from srcdiff.proofs.polynomials import Undecided
from srcdiff.proofs.terms import minus, negative, over, plus, times

Expr = Any

_piece: contextvars.ContextVar[Piece | None] = contextvars.ContextVar("piece", default=None)
_notes: contextvars.ContextVar[Callable[[str, Any], None] | None] = contextvars.ContextVar("notes", default=None)


@contextlib.contextmanager
def on_piece(piece: Piece, notes: Callable[[str, Any], None] | None = None) -> Iterator[Piece]:
    """Decide comparisons by this piece; `notes` hears of each decision: (what, outcome)."""
    tokens = _piece.set(piece), _notes.set(notes)
    try:
        yield piece
    finally:
        _piece.reset(tokens[0])
        _notes.reset(tokens[1])


def current_piece() -> Piece:
    piece = _piece.get()
    return piece if piece is not None else Piece({})


def note(what: str, outcome: Any) -> None:
    listener = _notes.get()
    if listener is not None:
        listener(what, outcome)


def sign_of(expr: Expr) -> int:
    """1, 0 or -1 on the current piece."""
    if expr.is_Rational:
        return int(expr.p > 0) - int(expr.p < 0)
    return current_piece().sign(expr)


def compare(name: str, a: Expr, b: Expr) -> bool:
    sign = 0 if a == b else _sign_with_infinity(a, b)
    match name:
        case "less":
            return sign < 0
        case "less_equal":
            return sign <= 0
        case "greater":
            return sign > 0
        case "greater_equal":
            return sign >= 0
        case "equal":
            return sign == 0
        case _:
            return sign != 0


def _sign_with_infinity(a: Expr, b: Expr) -> int:
    for x, sign in ((a, 1), (b, -1)):
        if x.is_infinite:
            return sign if x.is_positive else -sign
    return sign_of(minus(a, b))


def larger(a: Expr, b: Expr) -> Expr:
    return a if compare("greater_equal", a, b) else b


def smaller(a: Expr, b: Expr) -> Expr:
    return a if compare("less_equal", a, b) else b


def absolute(x: Expr) -> Expr:
    return x if sign_of(x) >= 0 else negative(x)


def sign(x: Expr) -> Expr:
    return Integer(sign_of(x))


def heaviside(x: Expr, at_zero: Expr) -> Expr:
    s = sign_of(x)
    return at_zero if s == 0 else Integer(s > 0)


def floor(x: Expr) -> Expr:
    if x.is_Rational:
        return sympy.floor(x)
    value = current_piece().value(x)
    nearest = int(value) if value >= 0 or value == int(value) else int(value) - 1
    sign_of(x - nearest) if x - nearest != 0 else None  # a tie if x lies on the border
    return Integer(nearest)


def ceil(x: Expr) -> Expr:
    return -floor(-x)


def trunc(x: Expr) -> Expr:
    return floor(x) if sign_of(x) >= 0 else ceil(x)


def rint(x: Expr) -> Expr:
    return floor(x + Rational(1, 2))


def remainder(a: Expr, b: Expr) -> Expr:
    return a - b * floor(a / b)


def fmod(a: Expr, b: Expr) -> Expr:
    return a - b * trunc(a / b)


def power(a: Expr, b: Expr) -> Expr:
    if b.is_Integer or not a.is_Symbol or a.is_positive or sign_of(a) > 0:
        return a**b
    raise Undecided("a power of a negative base")


def cbrt(x: Expr) -> Expr:
    return sign(x) * absolute(x) ** Rational(1, 3)


def sinc(x: Expr) -> Expr:
    return Integer(1) if sign_of(x) == 0 else sympy.sin(pi * x) / (pi * x)


def xlogy(x: Expr, y: Expr) -> Expr:
    return Integer(0) if sign_of(x) == 0 else x * log(y)


def gammaln(x: Expr) -> Expr:
    if sign_of(x) > 0:
        return sympy.loggamma(x)
    return log(absolute(sympy.gamma(x)))


def entr(x: Expr) -> Expr:
    return -x * log(x)


def ndtr(x: Expr) -> Expr:
    return (1 + sympy.erf(x / sqrt(2))) / 2


def betaln(a: Expr, b: Expr) -> Expr:
    return sympy.loggamma(a) + sympy.loggamma(b) - sympy.loggamma(a + b)


def expit(x: Expr) -> Expr:
    return 1 / (1 + exp(-x))


def exprel(x: Expr) -> Expr:
    return (exp(x) - 1) / x


def huber(delta: Expr, r: Expr) -> Expr:
    size = absolute(r)
    return r**2 / 2 if compare("less_equal", size, delta) else delta * (size - delta / 2)


def boxcox(x: Expr, lam: Expr) -> Expr:
    return log(x) if sign_of(lam) == 0 else (x**lam - 1) / lam


def inv_boxcox(x: Expr, lam: Expr) -> Expr:
    return exp(x) if sign_of(lam) == 0 else (lam * x + 1) ** (1 / lam)


COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")

FORMULAS: dict[str, Callable[..., Expr]] = {
    # arithmetic
    "add": plus,
    "subtract": minus,
    "multiply": times,
    "divide": over,
    "true_divide": over,
    "floor_divide": lambda a, b: floor(a / b),
    "remainder": remainder,
    "mod": remainder,
    "fmod": fmod,
    "negative": negative,
    "positive": lambda x: x,
    "power": power,
    "pow": power,
    "float_power": power,
    "square": lambda x: x**2,
    "reciprocal": lambda x: 1 / x,
    "conjugate": sympy.conjugate,
    # pieces
    "absolute": absolute,
    "fabs": absolute,
    "sign": sign,
    "heaviside": heaviside,
    "maximum": larger,
    "minimum": smaller,
    "fmax": larger,
    "fmin": smaller,
    "floor": floor,
    "ceil": ceil,
    "trunc": trunc,
    "rint": rint,
    "copysign": lambda a, b: absolute(a) * sign(b),
    # exponentials and roots
    "exp": exp,
    "exp2": lambda x: 2**x,
    "exp10": lambda x: 10**x,
    "expm1": lambda x: exp(x) - 1,
    "log": log,
    "log2": lambda x: log(x) / log(2),
    "log10": lambda x: log(x) / log(10),
    "log1p": lambda x: log(1 + x),
    "logaddexp": lambda a, b: log(exp(a) + exp(b)),
    "logaddexp2": lambda a, b: log(2**a + 2**b) / log(2),
    "sqrt": sqrt,
    "cbrt": cbrt,
    "hypot": lambda a, b: sqrt(a**2 + b**2),
    "ldexp": lambda x, n: x * Integer(2) ** n,
    # trigonometry
    "sin": sympy.sin,
    "cos": sympy.cos,
    "tan": lambda x: sympy.sin(x) / sympy.cos(x),
    "arcsin": sympy.asin,
    "arccos": sympy.acos,
    "arctan": sympy.atan,
    "asin": sympy.asin,
    "acos": sympy.acos,
    "atan": sympy.atan,
    "arctan2": sympy.atan2,
    "atan2": sympy.atan2,
    "sinh": sympy.sinh,
    "cosh": sympy.cosh,
    "tanh": sympy.tanh,
    "arcsinh": sympy.asinh,
    "arccosh": sympy.acosh,
    "arctanh": sympy.atanh,
    "asinh": sympy.asinh,
    "acosh": sympy.acosh,
    "atanh": sympy.atanh,
    "degrees": lambda x: x * 180 / pi,
    "rad2deg": lambda x: x * 180 / pi,
    "radians": lambda x: x * pi / 180,
    "deg2rad": lambda x: x * pi / 180,
    "sinc": sinc,
    # scipy.special
    "erf": sympy.erf,
    "erfc": lambda x: 1 - sympy.erf(x),
    "erfcx": lambda x: exp(x**2) * (1 - sympy.erf(x)),
    "erfi": sympy.erfi,
    "erfinv": sympy.erfinv,
    "erfcinv": lambda x: sympy.erfinv(1 - x),
    "dawsn": lambda x: sqrt(pi) / 2 * exp(-(x**2)) * sympy.erfi(x),
    "ndtr": ndtr,
    "log_ndtr": lambda x: log(ndtr(x)),
    "ndtri": lambda p: sqrt(2) * sympy.erfinv(2 * p - 1),
    "gamma": sympy.gamma,
    "gammaln": gammaln,
    "lgamma": gammaln,
    "loggamma": gammaln,
    "rgamma": lambda x: 1 / sympy.gamma(x),
    "psi": lambda x: sympy.polygamma(0, x),
    "digamma": lambda x: sympy.polygamma(0, x),
    "polygamma": sympy.polygamma,
    "beta": lambda a, b: sympy.gamma(a) * sympy.gamma(b) / sympy.gamma(a + b),
    "betaln": betaln,
    "zeta": sympy.zeta,
    "binom": lambda n, k: sympy.gamma(n + 1) / (sympy.gamma(k + 1) * sympy.gamma(n - k + 1)),
    "gammainc": lambda a, x: sympy.lowergamma(a, x) / sympy.gamma(a),
    "gammaincc": lambda a, x: 1 - sympy.lowergamma(a, x) / sympy.gamma(a),
    "betainc": lambda a, b, x: sympy.betainc_regularized(a, b, 0, x),
    "poch": lambda z, m: sympy.gamma(z + m) / sympy.gamma(z),
    "expit": expit,
    "logit": lambda p: log(p / (1 - p)),
    "softplus": lambda x: log(1 + exp(x)),
    "log_expit": lambda x: -log(1 + exp(-x)),
    "xlogy": xlogy,
    "xlog1py": lambda x, y: xlogy(x, 1 + y),
    "entr": entr,
    "rel_entr": lambda x, y: x * log(x / y),
    "kl_div": lambda x, y: x * log(x / y) - x + y,
    "exprel": exprel,
    "cosm1": lambda x: sympy.cos(x) - 1,
    "huber": huber,
    "pseudo_huber": lambda d, r: d**2 * (sqrt(1 + (r / d) ** 2) - 1),
    "boxcox": boxcox,
    "inv_boxcox": inv_boxcox,
    "boxcox1p": lambda x, lam: boxcox(1 + x, lam),
    "inv_boxcox1p": lambda x, lam: inv_boxcox(x, lam) - 1,
    "i0": lambda x: sympy.besseli(0, x),
    "i1": lambda x: sympy.besseli(1, x),
    "i0e": lambda x: exp(-absolute(x)) * sympy.besseli(0, x),
    "i1e": lambda x: exp(-absolute(x)) * sympy.besseli(1, x),
    "iv": sympy.besseli,
    "ive": lambda v, x: exp(-absolute(x)) * sympy.besseli(v, x),
    "j0": lambda x: sympy.besselj(0, x),
    "j1": lambda x: sympy.besselj(1, x),
    "jv": sympy.besselj,
    "jn": sympy.besselj,
    "y0": lambda x: sympy.bessely(0, x),
    "y1": lambda x: sympy.bessely(1, x),
    "yv": sympy.bessely,
    "yn": sympy.bessely,
    "k0": lambda x: sympy.besselk(0, x),
    "k1": lambda x: sympy.besselk(1, x),
    "k0e": lambda x: exp(x) * sympy.besselk(0, x),
    "k1e": lambda x: exp(x) * sympy.besselk(1, x),
    "kv": sympy.besselk,
    "kn": sympy.besselk,
    "kve": lambda v, x: exp(x) * sympy.besselk(v, x),
    "expi": sympy.Ei,
    "exp1": lambda x: sympy.expint(1, x),
    "expn": sympy.expint,
    "lambertw": sympy.LambertW,
    "ellipk": sympy.elliptic_k,
    "ellipe": sympy.elliptic_e,
    "ellipkm1": lambda p: sympy.elliptic_k(1 - p),
    "spence": lambda x: sympy.polylog(2, 1 - x),
}
