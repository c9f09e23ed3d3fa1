"""Exact equality of SymPy expressions, on a piece of their domain.

    tanh(w*x)**2 - 1   →   t**2 - 1             every transcendental part is an indeterminate t, E, L, …
    exp(a - b)         →   A / B                exponentials of sums are products
    |x - y|, Max(x, y) →   y - x, y             comparisons are decided by a point of the piece

What is left are quotients of polynomials with rational coefficients, and a quotient is zero exactly if its numerator has
no term. So `vanishes` gives a proof, not a probability; where it finds none the answer is "undecided".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import mpmath
import sympy

Expr = Any
Poly = dict[int, Any]

_reals = mpmath.MPContext()
_reals.dps = 40


class Tie(Exception):
    """Two different expressions are equal at the point of a piece: the point lies on the border of pieces."""


class Undecided(Exception):
    """An expression that the algebra cannot take apart."""


class Piece:
    """An open region in which every comparison has one outcome, given by a point inside it.

    >>> x, y = sympy.symbols("x y", real=True)
    >>> piece = Piece({x: Fraction(1, 2), y: Fraction(2)})
    >>> piece.sign(x - y), piece.vanishes(sympy.Abs(x - y) - (y - x))
    (-1, True)
    """

    def __init__(self, point: Mapping[Any, Fraction]) -> None:
        self.point = dict(point)
        self._values: dict[Any, Any] = {s: _reals.mpf(v.numerator) / v.denominator for s, v in point.items()}
        self._algebras: dict[tuple[bool, int], _Algebra] = {}

    def value(self, expr: Expr) -> Any:
        """The value at the point, to 40 digits."""
        found = self._values.get(expr)
        if found is None:
            found = self._values[expr] = _evaluate(expr, self.value)
        return found

    def sign(self, expr: Expr) -> int:
        """1, -1, or 0 if the expression vanishes on the whole piece."""
        value = self.value(expr)
        if abs(value) > 1e-18:
            return 1 if value > 0 else -1
        if self.vanishes(expr):
            return 0
        raise Tie(str(expr))

    def differs(self, a: Expr, b: Expr) -> bool:
        """Whether numbers refute a = b."""
        u, v = self.value(a), self.value(b)
        return not abs(u - v) <= 1e-18 * (1 + abs(u) + abs(v))

    def vanishes(self, *terms: Expr) -> bool:
        """Whether the sum of the terms is proved to be zero on the piece."""
        root = 1
        for as_exponentials in (False, True):
            while True:
                algebra = self._algebras.setdefault((as_exponentials, root), _Algebra(self, as_exponentials, root))
                try:
                    if algebra.is_zero(algebra.total([algebra.quotient(t) for t in terms])):
                        return True
                except _FinerRoot as finer:
                    root = finer.root
                    continue
                except Undecided:
                    pass
                break
        return False


# ---------------------------------------------------------------------------------------------------- values


def _evaluate(expr: Expr, value: Callable[[Expr], Any]) -> Any:
    if expr.is_Rational:
        return _reals.mpf(int(expr.p)) / int(expr.q)
    if expr.is_Add:
        return _reals.fsum([value(a) for a in expr.args])
    if expr.is_Mul:
        return _reals.fprod([value(a) for a in expr.args])
    if expr.is_Pow:
        base, exponent = expr.args
        return value(base) ** (int(exponent) if exponent.is_Integer else value(exponent))
    if expr.is_Piecewise:
        for branch, condition in expr.args:
            if condition == True or (condition != False and _holds(condition, value)):  # noqa: E712
                return value(branch)
    name = _NAMES.get(expr.func.__name__, expr.func.__name__)
    if expr.is_Function and name is not None and hasattr(_reals, name):
        args = [int(a) if a.is_Integer else value(a) for a in expr.args]
        return getattr(_reals, name)(*args)
    if expr.is_Function and expr.func.__name__ in _DIRECT:
        return _DIRECT[expr.func.__name__](*[value(a) for a in expr.args])
    if not expr.args:
        return _reals.mpmathify(expr.evalf(45))
    numbers = {a: sympy.Float(str(value(a)), 45) for a in expr.args if not a.is_number}
    return _reals.mpmathify(expr.func(*[numbers.get(a, a) for a in expr.args]).evalf(40))


def _holds(condition: Any, value: Callable[[Expr], Any]) -> bool:
    difference = value(condition.lhs) - value(condition.rhs)
    return bool(condition.func(sympy.Float(str(difference), 30), 0))


_NAMES = {"LambertW": "lambertw", "Ei": "ei", "Si": "si", "Ci": "ci", "elliptic_k": "ellipk", "elliptic_e": "ellipe", "Max": None, "Min": None}
_NAMES |= {"expint": "expint", "sign": "sign", "Heaviside": None, "Abs": "fabs"}
_DIRECT: dict[str, Callable[..., Any]] = {
    "lowergamma": lambda a, x: _reals.gammainc(a, 0, x),
    "betainc_regularized": lambda a, b, low, high: _reals.betainc(a, b, low, high, regularized=True),
    "Max": max, "Min": min, "Heaviside": lambda x, at_zero=0.5: (x > 0) + at_zero * (x == 0)}


# ---------------------------------------------------------------------------------------------------- derivatives


class Derivatives:
    """SymPy's derivatives by one symbol, each shared subexpression differentiated once.

    >>> x = sympy.Symbol("x", real=True)
    >>> Derivatives(x).of(sympy.tanh(2 * x))
    2 - 2*tanh(2*x)**2
    """

    def __init__(self, symbol: Any) -> None:
        self._known: dict[Any, Any] = {symbol: sympy.S.One}

    def of(self, expr: Expr) -> Expr:
        found = self._known.get(expr)
        if found is None:
            found = self._known[expr] = self._derive(expr)
        return found

    def _derive(self, expr: Expr) -> Expr:
        if not expr.args:
            return sympy.S.Zero
        inner = [self.of(a) for a in expr.args]
        if not any(inner):
            return sympy.S.Zero
        if expr.is_Add:
            return sympy.Add(*inner)
        if expr.is_Mul:
            return sympy.Add(*[sympy.Mul(*expr.args[:i], d, *expr.args[i + 1 :]) for i, d in enumerate(inner) if d])
        stand_ins = [sympy.Dummy(real=True, positive=a.is_positive) for a in expr.args]
        held = [a if not d else s for a, d, s in zip(expr.args, inner, stand_ins)]
        outer = expr.func(*held)
        back = dict(zip(stand_ins, expr.args))
        return sympy.Add(*[_put_back(sympy.diff(outer, s), back) * d for s, d in zip(stand_ins, inner) if d])


def _put_back(expr: Expr, back: Mapping[Any, Any]) -> Expr:
    if expr in back:
        return back[expr]
    return expr.func(*[_put_back(a, back) for a in expr.args]) if expr.args else expr


# ---------------------------------------------------------------------------------------------------- polynomials

# A monomial is one integer: exponent e of indeterminate i adds e << (32 * i). Exponents may be negative, and the product
# of monomials is the sum of their integers. Exponents stay far below 2**31: a million at entry, powers up to a thousand.
_BITS = 32
_MAX_EXPONENT = 1_000_000
_MAX_POWER = 1_000
_HALF = 1 << (_BITS - 1)


def _exponents(monomial: int) -> Iterator[tuple[int, int]]:
    index = 0
    while monomial:
        exponent = ((monomial + _HALF) & (2 * _HALF - 1)) - _HALF
        if exponent:
            yield index, exponent
        monomial = (monomial - exponent) >> _BITS
        index += 1


def _sum(a: Poly, b: Poly) -> Poly:
    out = dict(a)
    for monomial, c in b.items():
        total = out.get(monomial, 0) + c
        if total:
            out[monomial] = total
        else:
            out.pop(monomial, None)
    return out


def _product(a: Poly, b: Poly) -> Poly:
    if len(a) > len(b):
        a, b = b, a
    if len(a) == 1:
        ((m, c),) = a.items()
        return {m + n: c * d for n, d in b.items()}
    if len(a) * len(b) > 2_000_000:
        raise Undecided("the polynomials grow too large")
    out: Poly = {}
    get = out.get
    for m, c in a.items():
        for n, d in b.items():
            out[m + n] = get(m + n, 0) + c * d
    return {m: c for m, c in out.items() if c}


def _power(a: Poly, n: int) -> Poly:
    if n > _MAX_POWER:
        raise Undecided("a power is too high")
    out: Poly = {0: 1}
    for _ in range(n):
        out = _product(out, a)
    return out


class _Quotient:
    """`num` over the product of numbered divisors, each to a power."""

    __slots__ = ("den", "num")

    def __init__(self, num: Poly, den: tuple[tuple[int, int], ...] = ()) -> None:
        self.num = num
        self.den = den


class _FinerRoot(Exception):
    """Exponentials of fractions occur: the indeterminates must be exp(u / root)."""

    def __init__(self, root: int) -> None:
        if root > _MAX_POWER:
            raise Undecided("exponentials of too fine fractions")
        self.root = root


class _Algebra:
    """From expressions to quotients of polynomials, with the relations that the indeterminates obey."""

    def __init__(self, piece: Piece, as_exponentials: bool, root: int) -> None:
        self.piece = piece
        self.as_exponentials = as_exponentials
        self.root = root
        self.known: dict[Any, _Quotient] = {}
        self.count = 0
        self.by_key: dict[Any, int] = {}
        self.values: list[Any] = []
        self.relations: dict[int, tuple[int, Poly]] = {}  # indeterminate r → (q, p): r**q = p
        self.exponents: dict[int, _Quotient] = {}  # indeterminate → u where it is exp(u)
        self.logarithms: dict[int, _Quotient] = {}  # indeterminate → u where it is log|u|
        self.divisors: list[Poly] = []
        self.divisor_number: dict[Any, int] = {}
        self.functions: dict[str, list[tuple[list[Any], list[_Quotient], int]]] = {}

    # -- arithmetic on quotients

    def total(self, quotients: list[_Quotient]) -> _Quotient:
        groups: dict[tuple[tuple[int, int], ...], Poly] = {}
        for q in quotients:
            groups[q.den] = _sum(groups[q.den], q.num) if q.den in groups else q.num
        if len(groups) == 1:
            ((den, num),) = groups.items()
            return _Quotient(num, den if num else ())
        powers: dict[int, int] = {}
        for den in groups:
            for number, e in den:
                powers[number] = max(powers.get(number, 0), e)
        num = {}
        for den, part in groups.items():
            has = dict(den)
            for number, e in powers.items():
                for _ in range(e - has.get(number, 0)):
                    part = _product(part, self.divisors[number])
            num = _sum(num, part)
        return _Quotient(num, tuple(sorted(powers.items())) if num else ())

    def product(self, a: _Quotient, b: _Quotient) -> _Quotient:
        if not a.num or not b.num:
            return _Quotient({})
        powers = dict(a.den)
        for number, e in b.den:
            powers[number] = powers.get(number, 0) + e
        return _Quotient(_product(a.num, b.num), tuple(sorted(powers.items())))

    def inverse(self, a: _Quotient) -> _Quotient:
        if not a.num:
            raise Undecided("division by zero")
        num: Poly = {0: 1}
        for number, e in a.den:
            num = _product(num, _power(self.divisors[number], e))
        factor, monomial, rest = self.content(a.num)
        num = _product(num, {-monomial: Fraction(1) / factor})
        return _Quotient(num, () if rest == {0: 1} else ((self.divisor(rest), 1),))

    def power(self, a: _Quotient, n: int) -> _Quotient:
        if n < 0:
            a, n = self.inverse(a), -n
        return _Quotient(_power(a.num, n), tuple((number, e * n) for number, e in a.den) if n else ())

    def content(self, num: Poly) -> tuple[Any, int, Poly]:
        """(number, monomial, rest) whose product is num; the rest is the same for all multiples."""
        first = max(num)
        factor = num[first]
        lowest: dict[int, int] | None = None
        for m in num:
            exponents = dict(_exponents(m))
            if lowest is None:
                lowest = exponents
            else:
                lowest = {i: min(lowest.get(i, 0), exponents.get(i, 0)) for i in lowest.keys() | exponents.keys()}
        monomial = sum(e << (_BITS * i) for i, e in (lowest or {}).items())
        return factor, monomial, {m - monomial: Fraction(c) / factor for m, c in num.items()}

    def divisor(self, rest: Poly) -> int:
        key = frozenset(rest.items())
        if key not in self.divisor_number:
            self.divisor_number[key] = len(self.divisors)
            self.divisors.append(rest)
        return self.divisor_number[key]

    def is_zero(self, a: _Quotient) -> bool:
        num = a.num
        for index in sorted(self.relations, reverse=True):
            if not num:
                break
            num = self.reduce(num, index)
        return not num

    def reduce(self, num: Poly, index: int) -> Poly:
        """Replace r**q by what it equals, in a numerator (which may be multiplied by a power of that)."""
        q, equal = self.relations[index]
        parts: dict[int, Poly] = {}
        for m, c in num.items():
            e = dict(_exponents(m)).get(index, 0)
            k, j = divmod(e, q)
            parts.setdefault(k, {})[m - ((e - j) << (_BITS * index))] = c
        if parts.keys() == {0}:
            return num
        lowest = min(0, *parts)
        out: Poly = {}
        for k, part in parts.items():
            out = _sum(out, _product(part, _power(equal, k - lowest)))
        return out

    # -- indeterminates

    def indeterminate(self, key: Any, value: Any) -> int:
        found = self.by_key.get(key)
        if found is None:
            found = self.by_key[key] = self.count
            self.count += 1
            self.values.append(value)
        return found

    def poly_value(self, num: Poly) -> Any:
        total = _reals.mpf(0)
        for m, c in num.items():
            term = _reals.mpf(c.numerator) / c.denominator
            for i, e in _exponents(m):
                term *= self.values[i] ** e
            total += term
        return total

    def quotient_value(self, a: _Quotient) -> Any:
        value = self.poly_value(a.num)
        for number, e in a.den:
            value /= self.poly_value(self.divisors[number]) ** e
        return value

    def of_index(self, index: int, exponent: int = 1) -> _Quotient:
        if abs(exponent) > _MAX_EXPONENT:
            raise Undecided("an exponent is too large")
        return _Quotient({exponent << (_BITS * index): 1})

    def function(self, name: str, args: list[_Quotient], value: Any) -> int:
        """The indeterminate of a function's value; arguments that are equal give the same one."""
        values = [self.quotient_value(a) for a in args]
        entries = self.functions.setdefault(name, [])
        for known_values, known_args, index in entries:
            if all(abs(u - v) <= 1e-25 * (1 + abs(u)) for u, v in zip(values, known_values)) and all(
                a is b or self.is_zero(self.total([a, _Quotient({m: -c for m, c in b.num.items()}, b.den)])) for a, b in zip(args, known_args)
            ):
                return index
        index = self.indeterminate((name, len(entries)), value)
        entries.append((values, args, index))
        return index

    # -- expressions

    def quotient(self, expr: Expr) -> _Quotient:
        found = self.known.get(expr)
        if found is None:
            found = self.known[expr] = self.convert(expr)
        return found

    def convert(self, expr: Expr) -> _Quotient:
        if expr.is_Rational:
            return _Quotient({0: _number(expr)} if expr else {})
        if expr.is_Add:
            return self.total([self.quotient(a) for a in expr.args])
        if expr.is_Mul:
            out = _Quotient({0: 1})
            for a in expr.args:
                out = self.product(out, self.quotient(a))
            return out
        if expr.is_Pow:
            return self.convert_power(*expr.args)
        if expr.is_Symbol or expr.is_NumberSymbol:
            if expr is sympy.E:
                return self.exponential(_Quotient({0: 1}))
            return self.of_index(self.indeterminate(expr, self.piece.value(expr)))
        if expr is sympy.I:
            return self.imaginary()
        if expr.is_Float:
            return _Quotient({0: Fraction(float(expr))} if expr else {})
        return self.convert_function(expr)

    def convert_power(self, base: Expr, exponent: Expr) -> _Quotient:
        if exponent.is_Integer:
            return self.power(self.quotient(base), int(exponent))
        if base is sympy.E:
            return self.exponential(self.quotient(exponent))
        if exponent.is_Rational:
            return self.rational_power(self.quotient(base), int(exponent.p), int(exponent.q))
        return self.exponential(self.product(self.quotient(exponent), self.logarithm(self.quotient(base))))

    def convert_function(self, expr: Expr) -> _Quotient:
        name = expr.func.__name__
        piece = self.piece
        match name:
            case "exp":
                return self.exponential(self.quotient(expr.args[0]))
            case "log" if len(expr.args) == 1:
                return self.logarithm(self.quotient(expr.args[0]))
            case "Abs":
                return self.quotient(expr.args[0] if piece.sign(expr.args[0]) >= 0 else -expr.args[0])
            case "sign":
                return self.quotient(sympy.Integer(piece.sign(expr.args[0])))
            case "Heaviside":
                sign = piece.sign(expr.args[0])
                return self.quotient(sympy.Integer(sign > 0) if sign else sympy.Rational(1, 2))
            case "Max" | "Min":
                best = expr.args[0]
                for a in expr.args[1:]:
                    if piece.sign(a - best) == (1 if name == "Max" else -1):
                        best = a
                return self.quotient(best)
            case "Piecewise":
                for branch, condition in expr.args:
                    if condition == True or (condition != False and _holds(condition, piece.value)):  # noqa: E712
                        return self.quotient(branch)
            case "conjugate" | "re":
                return self.quotient(expr.args[0])
            case "im" | "DiracDelta":
                return _Quotient({})
            case "sec" | "csc" | "cot" | "tan" | "sech" | "csch" | "coth":
                return self.quotient(_as_basic(name, expr.args[0]))
            case "polygamma" if expr.args[0].is_Integer and expr.args[0] >= 1:
                n, u = expr.args
                return self.quotient((-1) ** (n + 1) * sympy.factorial(n) * sympy.zeta(n + 1, u))
            case "loggamma" if piece.sign(expr.args[0]) > 0:
                return self.logarithm(self.quotient(sympy.gamma(expr.args[0])))
            case "besselj" | "bessely" | "besseli" | "besselk" if expr.args[0].is_Integer and not 0 <= expr.args[0] <= 1:
                return self.quotient(_lower_order(name, int(expr.args[0]), expr.args[1]))
            case "sin" | "cos" | "sinh" | "cosh" | "tanh" if self.as_exponentials:
                return self.quotient_of_exponentials(name, self.quotient(expr.args[0]))
        return self.convert_other(name, expr)

    def convert_other(self, name: str, expr: Expr) -> _Quotient:
        if not expr.args or not expr.is_Function:
            raise Undecided(f"{expr} is not understood")
        args = [self.quotient(a) for a in expr.args]
        out = self.of_index(self.function(name, args, self.piece.value(expr)))
        if name in ("cos", "cosh"):
            other = self.quotient((sympy.sin if name == "cos" else sympy.sinh)(expr.args[0]))
            square = _product(other.num, other.num)
            (index,) = (i for i, _ in _exponents(next(iter(out.num))))
            self.relations.setdefault(index, (2, _sum({0: 1}, square if name == "cosh" else {m: -c for m, c in square.items()})))
        return out

    def imaginary(self) -> _Quotient:
        index = self.indeterminate("i", _reals.mpc(0, 1))
        self.relations[index] = (2, {0: -1})
        return self.of_index(index)

    def quotient_of_exponentials(self, name: str, u: _Quotient) -> _Quotient:
        if name in ("sin", "cos"):
            u = self.product(u, self.imaginary())
        e = self.exponential(u)
        inverse = self.power(e, -1)
        minus = _Quotient({m: -c for m, c in inverse.num.items()}, inverse.den)
        half = _Quotient({0: Fraction(1, 2)})
        if name in ("cos", "cosh"):
            return self.product(half, self.total([e, inverse]))
        sinh = self.product(half, self.total([e, minus]))
        if name == "sin":
            return self.product(sinh, self.power(self.imaginary(), -1))
        return sinh if name == "sinh" else self.product(self.total([e, minus]), self.inverse(self.total([e, inverse])))

    def exponential(self, u: _Quotient) -> _Quotient:
        """The product of the exponentials of the terms of u."""
        out = _Quotient({0: 1})
        for m, c in u.num.items():
            exponents = dict(_exponents(m))
            if not u.den and list(exponents.values()) == [1] and (index := next(iter(exponents))) in self.logarithms:
                inner = self.logarithms[index]
                if self.quotient_value(inner) < 0:
                    inner = _Quotient({n: -d for n, d in inner.num.items()}, inner.den)
                c = Fraction(c)
                out = self.product(out, self.rational_power(inner, c.numerator, c.denominator))
                continue
            scaled = Fraction(c) * self.root
            if scaled.denominator != 1:
                raise _FinerRoot(self.root * scaled.denominator)
            exponent = _Quotient({m: Fraction(1, self.root)}, u.den)
            index = self.indeterminate(("exp", m, u.den), _reals.exp(self.quotient_value(exponent)))
            self.exponents[index] = exponent
            out = self.product(out, self.of_index(index, int(scaled)))
        return out

    def logarithm(self, u: _Quotient) -> _Quotient:
        """log|u| as the sum of the logarithms of the factors of u."""
        if not u.num:
            raise Undecided("the logarithm of zero")
        parts = [self.log_of_poly(u.num)]
        for number, e in u.den:
            parts.append(self.product(_Quotient({0: -e}), self.log_of_poly(self.divisors[number])))
        return self.total(parts)

    def log_of_poly(self, num: Poly) -> _Quotient:
        factor, monomial, rest = self.content(num)
        parts = []
        for prime, e in _primes(Fraction(factor)):
            parts.append(_Quotient({m: e * c for m, c in self.log_of({0: prime}).num.items()}))
        for index, e in _exponents(monomial):
            parts.append(self.product(_Quotient({0: e}), self.log_of_index(index)))
        if rest != {0: 1}:
            parts.append(self.log_of(rest))
        return self.total(parts) if parts else _Quotient({})

    def log_of_index(self, index: int) -> _Quotient:
        if index in self.exponents:
            return self.exponents[index]
        if index in self.relations and index in self.by_root:
            q, equal = self.relations[index]
            return self.product(_Quotient({0: Fraction(1, q)}), self.log_of_poly(equal))
        return self.log_of({1 << (_BITS * index): 1})

    @property
    def by_root(self) -> set[int]:
        return {i for key, i in self.by_key.items() if isinstance(key, tuple) and str(key[0]).startswith("root")}

    def log_of(self, num: Poly) -> _Quotient:
        inner = _Quotient(num)
        index = self.function("log", [inner], _reals.log(abs(self.poly_value(num))))
        self.logarithms[index] = inner
        return self.of_index(index)

    def rational_power(self, base: _Quotient, p: int, q: int) -> _Quotient:
        if q == 1:
            return self.power(base, p)
        return self.power(self.qth_root(base, q), p)

    def qth_root(self, base: _Quotient, q: int) -> _Quotient:
        """The positive root: of N / D it is the root of N * D**(q-1), over |D|."""
        if not base.num:
            raise Undecided("the root of zero")
        value = self.quotient_value(base)
        if not _reals.im(value) == 0 or value < 0:
            raise Undecided("the root of a negative number")
        num: Poly = base.num
        over = _Quotient({0: 1})
        for number, e in base.den:
            d = self.divisors[number]
            num = _product(num, _power(d, -e % q))
            sign = -1 if self.poly_value(d) < 0 and (e + (-e % q)) // q % 2 else 1
            over = self.product(over, _Quotient({0: sign}, ((number, (e + (-e % q)) // q),)))
        factor, monomial, rest = self.content(num)
        out = over
        sign = 1
        for prime, e in _primes(abs(Fraction(factor))):
            out = self.product(out, self.power(self.root_of({0: prime}, q), e) if e % q else _Quotient({0: Fraction(prime) ** (e // q)}))
        inside = 0
        for index, e in _exponents(monomial):
            if self.values[index] > 0:
                out = self.product(out, self.root_of_index(index, e, q))
            else:
                inside += e << (_BITS * index)
        if factor < 0:
            sign = -1
        core = {m + inside: sign * c for m, c in rest.items()}
        if core == {0: 1}:
            return out
        for part, e in self.factors(core):
            out = self.product(out, self.power(self.root_of(part, q), e))
        return out

    def factors(self, core: Poly) -> list[tuple[Poly, int]]:
        """Factors that are positive at the point, of a polynomial of few terms: x**2 - 1 is (x - 1) * (x + 1)."""
        if not 1 < len(core) <= 8 or any(not isinstance(e, int) or e < 0 for m in core for _, e in _exponents(m)):
            return [(core, 1)]
        indices = sorted({i for m in core for i, _ in _exponents(m)})
        ring = sympy.polys.rings.ring([f"g{i}" for i in indices], sympy.QQ)[0]
        poly = ring.from_dict({tuple(dict(_exponents(m)).get(i, 0) for i in indices): sympy.QQ(c.numerator, c.denominator) for m, c in core.items()})
        number, parts = poly.factor_list()
        found = []
        rest: Poly = {0: Fraction(int(number.numerator), int(number.denominator))}
        for part, e in parts:
            as_poly: Poly = {
                sum(n << (_BITS * i) for i, n in zip(indices, monomial)): Fraction(int(c.numerator), int(c.denominator))
                for monomial, c in part.terms()
            }
            if self.poly_value(as_poly) < 0:
                as_poly = {m: -c for m, c in as_poly.items()}
                rest = {0: rest[0] * (-1) ** e}
            found.append((as_poly, e))
        return found if rest == {0: 1} and len(found) + found[0][1] > 2 else [(core, 1)]

    def root_of_index(self, index: int, e: int, q: int) -> _Quotient:
        if e % q == 0:
            return self.of_index(index, e // q)
        if index in self.exponents:
            raise _FinerRoot(self.root * q)
        return self.power(self.root_of({1 << (_BITS * index): 1}, q), e)

    def root_of(self, core: Poly, q: int) -> _Quotient:
        value = self.poly_value(core)
        if value < 0:
            raise Undecided("the root of a negative number")
        index = self.function(f"root {q}", [_Quotient(core)], _reals.root(value, q))
        self.relations.setdefault(index, (q, core))
        return self.of_index(index)


def _number(expr: Expr) -> Any:
    return int(expr.p) if expr.q == 1 else Fraction(int(expr.p), int(expr.q))


def _primes(number: Fraction) -> Iterator[tuple[int, int]]:
    yield from sympy.factorint(abs(number.numerator)).items() if abs(number.numerator) != 1 else ()
    for prime, e in sympy.factorint(number.denominator).items() if number.denominator != 1 else ():
        yield prime, -e


def _as_basic(name: str, u: Expr) -> Expr:
    sin, cos = (sympy.sinh, sympy.cosh) if name.endswith("h") else (sympy.sin, sympy.cos)
    match name.removesuffix("h"):
        case "tan":
            return sin(u) / cos(u)
        case "cot":
            return cos(u) / sin(u)
        case "sec":
            return 1 / cos(u)
        case _:
            return 1 / sin(u)


def _lower_order(name: str, n: int, u: Expr) -> Expr:
    """A Bessel function of any integer order by those of orders 0 and 1."""
    f = getattr(sympy, name)
    if n < 0:
        return f(-n, u) * (1 if name in ("besseli", "besselk") else (-1) ** n)
    step = 2 * (n - 1) / u * f(n - 1, u)
    match name:
        case "besseli":
            return f(n - 2, u) - step
        case "besselk":
            return f(n - 2, u) + step
        case _:
            return step - f(n - 2, u)


# ---------------------------------------------------------------------------------------------------- numbers

_CONSTANTS = [sympy.pi, sympy.sqrt(sympy.pi), 1 / sympy.pi, 1 / sympy.sqrt(sympy.pi), sympy.sqrt(2 * sympy.pi), 1 / sympy.sqrt(2 * sympy.pi)]
_CONSTANTS += [sympy.log(2), sympy.log(10), 1 / sympy.log(2), 1 / sympy.log(10), sympy.log(sympy.pi), sympy.log(2 * sympy.pi), sympy.pi**2]
_CONSTANTS += [sympy.sqrt(2), sympy.sqrt(3), sympy.sqrt(sympy.pi / 2), sympy.sqrt(2 / sympy.pi), sympy.E, sympy.EulerGamma]
_FLOATS = [(c, float(c)) for c in _CONSTANTS]
_read: dict[float, Any] = {}


def exact(number: Any) -> Expr:
    """The number that a float stands for: a fraction, or a fraction of a well-known constant.

    >>> exact(0.1), exact(2 / 3), exact(2 / math.sqrt(math.pi))
    (1/10, 2/3, 2/sqrt(pi))
    """
    if isinstance(number, int):
        return sympy.Integer(number)
    if isinstance(number, complex):
        return exact(number.real) + sympy.I * exact(number.imag)
    found = _read.get(number)
    if found is None:
        found = _read[number] = _recognise(number)
    return found


def _recognise(number: float) -> Expr:
    if not math.isfinite(number):
        return sympy.oo if number > 0 else -sympy.oo if number < 0 else sympy.nan
    for constant, value in ((sympy.S.One, 1.0), *_FLOATS):
        fraction = Fraction(number / value).limit_denominator(10_000 if value == 1.0 else 400)
        if fraction and abs(float(fraction) * value - number) <= 4e-16 * abs(number):
            return sympy.Rational(fraction.numerator, fraction.denominator) * constant
    fraction = Fraction(number).limit_denominator(1000)
    if abs(fraction - Fraction(number)) <= 3e-15 * max(1, abs(number)):  # after some rounding
        return sympy.Rational(fraction.numerator, fraction.denominator)
    fraction = Fraction(number)
    return sympy.Rational(fraction.numerator, fraction.denominator)
