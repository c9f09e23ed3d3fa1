"""Exact equality of SymPy expressions, on a piece of their domain.

    tanh(w*x)**2 - 1   →   t**2 - 1             every transcendental part is an indeterminate t, E, L, …
    exp(a - b)         →   A / B                exponentials of sums are products
    |x - y|, Max(x, y) →   y - x, y             comparisons are decided by a point of the piece

What is left are quotients of polynomials with rational coefficients, and a quotient is zero exactly if its numerator has
no term. So `vanishes` gives a proof, not a probability; where it finds none the answer is "undecided".
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Protocol

import sympy

from srcdiff.proofs.polynomials import (
    BITS,
    MAX_EXPONENT,
    MAX_POWER,
    MAX_ROOT,
    MAX_WORK,
    Poly,
    Quotient,
    Undecided,
    add_to,
    exponents_of,
    integral,
    product_of,
    sum_of,
)  # fmt: skip
from srcdiff.proofs.sums import Sums
from srcdiff.proofs.values import holds, reals

Expr = Any


class Decides(Protocol):
    """What the algebra asks of a piece."""

    def value(self, expr: Expr) -> Any: ...
    def sign(self, expr: Expr) -> int: ...


class FinerRoot(Exception):
    """Exponentials of fractions occur: the indeterminates must be exp(u / root)."""

    def __init__(self, root: int) -> None:
        if root > MAX_ROOT:
            raise Undecided("exponentials of too fine fractions")
        self.root = root


class Algebra:
    """From expressions to quotients of polynomials, with the relations that the indeterminates obey."""

    def __init__(self, piece: Decides, as_exponentials: bool, root: int, opaque: Sums | None = None) -> None:
        self.piece = piece
        self.as_exponentials = as_exponentials
        self.root = root
        self.work = 0  # products of terms since it was last asked
        self.opaque = opaque or Sums()  # expressions that are indeterminates
        self.known: dict[Any, Quotient] = {}
        self.count = 0
        self.by_key: dict[Any, int] = {}
        self.values: list[Any] = []
        self.relations: dict[int, tuple[int, Poly]] = {}  # indeterminate r → (q, p): r**q = p
        self.exponents: dict[int, Quotient] = {}  # indeterminate → u where it is exp(u)
        self.logarithms: dict[int, Quotient] = {}  # indeterminate → u where it is log|u|
        self.sums: dict[int, Any] = {}  # indeterminate → the known sum that it stands for
        self.divisors: list[Poly] = []
        self.divisor_number: dict[Any, int] = {}
        self.functions: dict[str, list[tuple[list[Any], list[Quotient], int]]] = {}

    # -- arithmetic on quotients

    def times(self, a: Poly, b: Poly) -> Poly:
        self.work += len(a) * len(b)
        if self.work > MAX_WORK:
            raise Undecided("the polynomials grow too large")
        return product_of(a, b)

    def to_power(self, a: Poly, n: int) -> Poly:
        if n > MAX_POWER:
            raise Undecided("a power is too high")
        out: Poly = {0: 1}
        for _ in range(n):
            out = self.times(out, a)
        return out

    def total(self, quotients: list[Quotient]) -> Quotient:
        groups: dict[tuple[tuple[int, int], ...], Poly] = {}
        for q in quotients:
            if q.den in groups:
                add_to(groups[q.den], q.num)
            else:
                groups[q.den] = dict(q.num)
        if len(groups) == 1:
            ((den, num),) = groups.items()
            return Quotient(num, den if num else ())
        powers: dict[int, int] = {}
        for den in groups:
            for number, e in den:
                powers[number] = max(powers.get(number, 0), e)
        num = {}
        for den, part in groups.items():
            has = dict(den)
            for number, e in powers.items():
                for _ in range(e - has.get(number, 0)):
                    part = self.times(part, self.divisors[number])
            add_to(num, part)
        return Quotient(num, tuple(sorted(powers.items())) if num else ())

    def product(self, a: Quotient, b: Quotient) -> Quotient:
        if not a.num or not b.num:
            return Quotient({})
        powers = dict(a.den)
        for number, e in b.den:
            powers[number] = powers.get(number, 0) + e
        return Quotient(self.times(a.num, b.num), tuple(sorted(powers.items())))

    def inverse(self, a: Quotient) -> Quotient:
        if not a.num:
            raise Undecided("division by zero")
        num: Poly = {0: 1}
        for number, e in a.den:
            num = self.times(num, self.to_power(self.divisors[number], e))
        factor, monomial, rest = self.content(a.num)
        num = self.times(num, {-monomial: Fraction(1) / factor})
        return Quotient(num, () if rest == {0: 1} else ((self.divisor(rest), 1),))

    def power(self, a: Quotient, n: int) -> Quotient:
        if n < 0:
            a, n = self.inverse(a), -n
        return Quotient(self.to_power(a.num, n), tuple((number, e * n) for number, e in a.den) if n else ())

    def content(self, num: Poly) -> tuple[Any, int, Poly]:
        """(number, monomial, rest) whose product is num; the rest is the same for all multiples."""
        first = max(num)
        factor = num[first]
        lowest: dict[int, int] | None = None
        for m in num:
            exponents = dict(exponents_of(m))
            if lowest is None:
                lowest = exponents
            else:
                lowest = {i: min(lowest.get(i, 0), exponents.get(i, 0)) for i in lowest.keys() | exponents.keys()}
        monomial = sum(e << (BITS * i) for i, e in (lowest or {}).items())
        return factor, monomial, {m - monomial: Fraction(c) / factor for m, c in num.items()}

    def divisor(self, rest: Poly) -> int:
        key = frozenset(rest.items())
        if key not in self.divisor_number:
            self.divisor_number[key] = len(self.divisors)
            self.divisors.append(rest)
        return self.divisor_number[key]

    def is_zero(self, a: Quotient) -> bool:
        """Whether the numerator vanishes; while it does not, known sums are replaced by what they are, outermost first."""
        num = integral(a.num)[0]
        return self.vanishes_by_parts(num) or self.vanishes_as_a_whole(num)

    def vanishes_as_a_whole(self, num: Poly) -> bool:
        num = self.reduced(num)
        while num:
            outermost = self.outermost_sum(num)
            if outermost is None:
                return False
            num = self.reduced(self.with_definition(num, outermost))
        return True

    def vanishes_by_parts(self, num: Poly) -> bool:
        """The same, where the part of each power of a root vanishes by itself."""
        while num:
            for index in sorted(self.relations, reverse=True):
                parts = self.by_root_power(num, index)
                if parts:
                    return all(self.vanishes_by_parts(part) for part in parts)
            outermost = self.outermost_sum(num)
            if outermost is None:
                return False
            num = self.with_definition(num, outermost)
        return True

    def outermost_sum(self, num: Poly) -> int | None:
        within = {i for m in num for i, _ in exponents_of(m)} & self.sums.keys()
        return max(within, key=lambda i: (self.opaque.rank(self.sums[i]), i)) if within else None

    def by_root_power(self, num: Poly, index: int) -> list[Poly]:
        """For each j < q, the factor of r**j, r being a root of degree q; no parts if it does not occur."""
        q, equal = self.relations[index]
        parts: dict[int, dict[int, Poly]] = {}
        occurs = False
        for m, c in num.items():
            e = dict(exponents_of(m)).get(index, 0)
            occurs |= e != 0
            k, j = divmod(e, q)
            parts.setdefault(j, {}).setdefault(k, {})[m - (e << (BITS * index))] = c
        out = []
        for by_power in parts.values() if occurs else ():
            part: Poly = {}
            for k, factor in by_power.items():
                add_to(part, self.times(factor, self.to_power(equal, k - min(by_power))))
            out.append(part)
        return out

    def reduced(self, num: Poly) -> Poly:
        for index in sorted(self.relations, reverse=True):
            if not num:
                break
            num = self.reduce(num, index)
        return num

    def simplified(self, num: Poly) -> Poly:
        """The same value with the positive powers of roots taken: r * r of r = sqrt(2) is 2."""
        for index in sorted(self.relations, reverse=True):
            q, equal = self.relations[index]
            out: Poly = {}
            for m, c in num.items():
                k = max(dict(exponents_of(m)).get(index, 0), 0) // q
                part = {m - ((k * q) << (BITS * index)): c}
                add_to(out, self.times(part, self.to_power(equal, k)) if k else part)
            num = out
        return num

    def with_definition(self, num: Poly, index: int) -> Poly:
        """A numerator in which an indeterminate is replaced by the sum that it stands for, times a power of its divisors."""
        known = self.sums[index]
        definition = self.total(self.parts(known, known))
        above, scale = integral(definition.num)
        below: Poly = {0: scale}
        for number, e in definition.den:
            below = self.times(below, self.to_power(self.divisors[number], e))
        by_power: dict[int, Poly] = {}
        for m, c in num.items():
            e = dict(exponents_of(m)).get(index, 0)
            by_power.setdefault(e, {})[m - (e << (BITS * index))] = c
        lowest, highest = min(0, *by_power), max(0, *by_power)
        out: Poly = {}
        for e, part in by_power.items():
            power = self.times(self.to_power(above, e - lowest), self.to_power(below, highest - e))
            add_to(out, self.times(part, power))
        return out

    def reduce(self, num: Poly, index: int) -> Poly:
        """Replace r**q by what it equals, in a numerator (which may be multiplied by a power of that)."""
        q, equal = self.relations[index]
        parts: dict[int, Poly] = {}
        for m, c in num.items():
            e = dict(exponents_of(m)).get(index, 0)
            k, j = divmod(e, q)
            parts.setdefault(k, {})[m - ((e - j) << (BITS * index))] = c
        if parts.keys() == {0}:
            return num
        lowest = min(0, *parts)
        out: Poly = {}
        for k, part in parts.items():
            add_to(out, self.times(part, self.to_power(equal, k - lowest)))
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
        total = reals.mpf(0)
        for m, c in num.items():
            term = reals.mpf(c.numerator) / c.denominator
            for i, e in exponents_of(m):
                term *= self.values[i] ** e
            total += term
        return total

    def quotient_value(self, a: Quotient) -> Any:
        value = self.poly_value(a.num)
        for number, e in a.den:
            value /= self.poly_value(self.divisors[number]) ** e
        return value

    def of_index(self, index: int, exponent: int = 1) -> Quotient:
        if abs(exponent) > MAX_EXPONENT:
            raise Undecided("an exponent is too large")
        return Quotient({exponent << (BITS * index): 1})

    def function(self, name: str, args: list[Quotient], value: Any) -> int:
        """The indeterminate of a function's value; arguments that are equal give the same one."""
        values = [self.quotient_value(a) for a in args]
        entries = self.functions.setdefault(name, [])
        for known_values, known_args, index in entries:
            look_equal = all(abs(u - v) <= 1e-25 * (1 + abs(u)) for u, v in zip(values, known_values))
            if look_equal and all(a is b or self.is_zero(self.total([a, b.negative()])) for a, b in zip(args, known_args)):
                return index
        index = self.indeterminate((name, len(entries)), value)
        entries.append((values, args, index))
        return index

    # -- expressions

    def quotient(self, expr: Expr) -> Quotient:
        found = self.known.get(expr)
        if found is None:
            found = self.known[expr] = self.convert(expr)
        return found

    def convert(self, expr: Expr) -> Quotient:
        if expr.is_Rational:
            return Quotient({0: _number(expr)} if expr else {})
        if expr.is_Add:
            return self.total(self.parts(expr))
        if expr.is_Mul:
            out = Quotient({0: 1})
            for a in expr.args:
                out = self.product(out, self.quotient(a))
            return out
        if expr.is_Pow:
            return self.convert_power(*expr.args)
        if expr.is_Symbol or expr.is_NumberSymbol:
            if expr is sympy.E:
                return self.exponential(Quotient({0: 1}))
            return self.of_index(self.indeterminate(expr, self.piece.value(expr)))
        if expr is sympy.I:
            return self.imaginary()
        if expr.is_Float:
            return Quotient({0: Fraction(float(expr))} if expr else {})
        return self.convert_function(expr)

    def parts(self, total: Expr, within: Expr | None = None) -> list[Quotient]:
        """The addends of a sum, those that make up a known sum as that."""
        found, rest = self.opaque.split(total, within) if len(self.opaque) else ([], total)
        return [self.of_known_sum(factor, known) for factor, known in found] + [
            self.quotient(a) for a in sympy.Add.make_args(rest)
        ]

    def opened(self, exponent: Expr) -> Quotient:
        """An exponent, with its own addends (which may be known sums): exp(z - m) is exp(z) / exp(m)."""
        factor, whole = exponent.as_coeff_Mul()
        addends = sympy.Add.make_args(whole)
        return self.product(Quotient({0: _number(factor)}), self.total([self.quotient(a) for a in addends]))

    def of_known_sum(self, factor: Any, known: Expr) -> Quotient:
        index = self.indeterminate(known, self.piece.value(known))
        self.sums[index] = known
        return Quotient({1 << (BITS * index): _number(factor)})

    def convert_power(self, base: Expr, exponent: Expr) -> Quotient:
        if exponent.is_Integer:
            return self.power(self.quotient(base), int(exponent))
        if base is sympy.E:
            return self.exponential(self.quotient(exponent))
        if exponent.is_Rational:
            return self.rational_power(self.quotient(base), int(exponent.p), int(exponent.q))
        return self.exponential(self.product(self.quotient(exponent), self.logarithm(self.quotient(base))))

    def convert_function(self, expr: Expr) -> Quotient:
        name = expr.func.__name__
        piece = self.piece
        match name:
            case "exp":
                return self.exponential(self.opened(expr.args[0]))
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
                    if condition == True or (condition != False and holds(condition, piece.value)):  # noqa: E712
                        return self.quotient(branch)
            case "conjugate" | "re":
                return self.quotient(expr.args[0])
            case "im" | "DiracDelta":
                return Quotient({})
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

    def convert_other(self, name: str, expr: Expr) -> Quotient:
        if not expr.args or not expr.is_Function:
            raise Undecided(f"{expr} is not understood")
        args = [self.quotient(a) for a in expr.args]
        out = self.of_index(self.function(name, args, self.piece.value(expr)))
        if name in ("cos", "cosh"):
            other = self.quotient((sympy.sin if name == "cos" else sympy.sinh)(expr.args[0]))
            square = self.times(other.num, other.num)
            (index,) = (i for i, _ in exponents_of(next(iter(out.num))))
            sign = 1 if name == "cosh" else -1
            self.relations.setdefault(index, (2, sum_of({0: 1}, {m: sign * c for m, c in square.items()})))
        return out

    def imaginary(self) -> Quotient:
        index = self.indeterminate("i", reals.mpc(0, 1))
        self.relations[index] = (2, {0: -1})
        return self.of_index(index)

    def quotient_of_exponentials(self, name: str, u: Quotient) -> Quotient:
        if name in ("sin", "cos"):
            u = self.product(u, self.imaginary())
        e = self.exponential(u)
        inverse = self.power(e, -1)
        minus = inverse.negative()
        half = Quotient({0: Fraction(1, 2)})
        if name in ("cos", "cosh"):
            return self.product(half, self.total([e, inverse]))
        sinh = self.product(half, self.total([e, minus]))
        if name == "sin":
            return self.product(sinh, self.power(self.imaginary(), -1))
        return sinh if name == "sinh" else self.product(self.total([e, minus]), self.inverse(self.total([e, inverse])))

    def exponential(self, u: Quotient) -> Quotient:
        """The product of the exponentials of the terms of u."""
        out = Quotient({0: 1})
        for m, c in self.simplified(u.num).items():
            exponents = dict(exponents_of(m))
            if not u.den and list(exponents.values()) == [1] and (index := next(iter(exponents))) in self.logarithms:
                inner = self.logarithms[index]
                if real_part(self.quotient_value(inner)) < 0:
                    inner = inner.negative()
                c = Fraction(c)
                out = self.product(out, self.rational_power(inner, c.numerator, c.denominator))
                continue
            scaled = Fraction(c) * self.root
            if scaled.denominator != 1:
                raise FinerRoot(self.root * scaled.denominator)
            exponent = Quotient({m: Fraction(1, self.root)}, u.den)
            index = self.indeterminate(("exp", m, u.den), reals.exp(self.quotient_value(exponent)))
            self.exponents[index] = exponent
            out = self.product(out, self.of_index(index, int(scaled)))
        return out

    def logarithm(self, u: Quotient) -> Quotient:
        """log|u| as the sum of the logarithms of the factors of u."""
        if not u.num:
            raise Undecided("the logarithm of zero")
        parts = [self.log_of_poly(u.num)]
        for number, e in u.den:
            parts.append(self.product(Quotient({0: -e}), self.log_of_poly(self.divisors[number])))
        return self.total(parts)

    def log_of_poly(self, num: Poly) -> Quotient:
        factor, monomial, rest = self.content(num)
        parts = []
        for prime, e in _primes(Fraction(factor)):
            parts.append(Quotient({m: e * c for m, c in self.log_of({0: prime}).num.items()}))
        for index, e in exponents_of(monomial):
            parts.append(self.product(Quotient({0: e}), self.log_of_index(index)))
        if rest != {0: 1}:
            parts.append(self.log_of(rest))
        return self.total(parts) if parts else Quotient({})

    def log_of_index(self, index: int) -> Quotient:
        if index in self.exponents:
            return self.exponents[index]
        if index in self.relations and index in self.by_root:
            q, equal = self.relations[index]
            return self.product(Quotient({0: Fraction(1, q)}), self.log_of_poly(equal))
        return self.log_of({1 << (BITS * index): 1})

    @property
    def by_root(self) -> set[int]:
        return {i for key, i in self.by_key.items() if isinstance(key, tuple) and str(key[0]).startswith("root")}

    def log_of(self, num: Poly) -> Quotient:
        inner = Quotient(num)
        index = self.function("log", [inner], reals.log(abs(self.poly_value(num))))
        self.logarithms[index] = inner
        return self.of_index(index)

    def rational_power(self, base: Quotient, p: int, q: int) -> Quotient:
        if q == 1:
            return self.power(base, p)
        return self.power(self.qth_root(base, q), p)

    def qth_root(self, base: Quotient, q: int) -> Quotient:
        """The positive root: of N / D it is the root of N * D**(q-1), over |D|."""
        if not base.num:
            raise Undecided("the root of zero")
        if real_part(self.quotient_value(base)) < 0:
            raise Undecided("the root of a negative number")
        num: Poly = base.num
        over = Quotient({0: 1})
        for number, e in base.den:
            d = self.divisors[number]
            num = self.times(num, self.to_power(d, -e % q))
            sign = -1 if real_part(self.poly_value(d)) < 0 and (e + (-e % q)) // q % 2 else 1
            over = self.product(over, Quotient({0: sign}, ((number, (e + (-e % q)) // q),)))
        factor, monomial, rest = self.content(num)
        out = over
        sign = 1
        for prime, e in _primes(abs(Fraction(factor))):
            is_whole = e % q == 0
            out = self.product(
                out, Quotient({0: Fraction(prime) ** (e // q)}) if is_whole else self.power(self.root_of({0: prime}, q), e)
            )
        inside = 0
        for index, e in exponents_of(monomial):
            if real_part(self.values[index]) > 0:
                out = self.product(out, self.root_of_index(index, e, q))
            else:
                inside += e << (BITS * index)
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
        if not 1 < len(core) <= 8 or any(not isinstance(e, int) or e < 0 for m in core for _, e in exponents_of(m)):
            return [(core, 1)]
        indices = sorted({i for m in core for i, _ in exponents_of(m)})
        ring = sympy.polys.rings.ring([f"g{i}" for i in indices], sympy.QQ)[0]
        terms = [(dict(exponents_of(m)), sympy.QQ(c.numerator, c.denominator)) for m, c in core.items()]
        poly = ring.from_dict({tuple(exponents.get(i, 0) for i in indices): c for exponents, c in terms})
        number, parts = poly.factor_list()
        found = []
        rest: Poly = {0: Fraction(int(number.numerator), int(number.denominator))}
        for part, e in parts:
            as_poly: Poly = {
                sum(n << (BITS * i) for i, n in zip(indices, monomial)): Fraction(int(c.numerator), int(c.denominator))
                for monomial, c in part.terms()
            }
            if real_part(self.poly_value(as_poly)) < 0:
                as_poly = {m: -c for m, c in as_poly.items()}
                rest = {0: rest[0] * (-1) ** e}
            found.append((as_poly, e))
        return found if rest == {0: 1} and len(found) + found[0][1] > 2 else [(core, 1)]

    def root_of_index(self, index: int, e: int, q: int) -> Quotient:
        if e % q == 0:
            return self.of_index(index, e // q)
        if index in self.exponents:
            raise FinerRoot(self.root * q)
        return self.power(self.root_of({1 << (BITS * index): 1}, q), e)

    def root_of(self, core: Poly, q: int) -> Quotient:
        value = real_part(self.poly_value(core))
        if value < 0:
            raise Undecided("the root of a negative number")
        index = self.function(f"root {q}", [Quotient(core)], reals.root(value, q))
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


def real_part(value: Any) -> Any:
    """A value that was reached over complex numbers but is real."""
    if not isinstance(value, reals.mpc):
        return value
    if abs(value.imag) > 1e-25 * (1 + abs(value.real)):
        raise Undecided("a number that is not real is compared")
    return value.real
