"""The algebra that accepts proofs: what it proves, what it must not prove, and that it agrees with SymPy's own."""

import random
from fractions import Fraction

import pytest
import sympy
from sympy import Abs, Max, cos, cosh, erf, exp, gamma, log, loggamma, polygamma, sin, sinh, sqrt, tan, tanh, zeta

from srcdiff.proofs.derivatives import Derivatives
from srcdiff.proofs.exact import exact
from srcdiff.proofs.pieces import Piece, Tie
from srcdiff.proofs.terms import minus, over, plus, times

x, y, z = sympy.symbols("x y z", real=True)
p, q = sympy.symbols("p q", positive=True)
POINT = {x: Fraction(1, 3), y: Fraction(7, 5), z: Fraction(-2, 7), p: Fraction(3, 4), q: Fraction(5, 3)}

ZEROS = [
    (x + y) ** 2 - x**2 - 2 * x * y - y**2,
    1 / (x - y) - 1 / (x + y) - 2 * y / (x**2 - y**2),
    exp(x + y) - exp(x) * exp(y),
    exp(x / 2) ** 2 - exp(x),
    exp(x / 2) * exp(x / 3) - exp(5 * x / 6),
    1 / (1 + exp(-x)) - exp(x) / (1 + exp(x)),
    exp(2 * log(p)) - p**2,
    exp(y * log(p)) / p - p ** (y - 1),
    log(p * (x**2 + 1)) - log(p) - log(x**2 + 1),
    log(exp(x) * p) - x - log(p),
    log(6) - log(2) - log(3),
    tanh(x) - (exp(2 * x) - 1) / (exp(2 * x) + 1),
    cosh(x) ** 2 - sinh(x) ** 2 - 1,
    sin(x) ** 2 + cos(x) ** 2 - 1,
    sin(x + y) - sin(x) * cos(y) - cos(x) * sin(y),
    tan(x) * cos(x) - sin(x),
    sqrt(x**2 + 1) - (x**2 + 1) / sqrt(x**2 + 1),
    sqrt(p) * sqrt(2 * p) - sqrt(2) * p,
    sqrt(q**2 - 1) - sqrt(q - 1) * sqrt(q + 1),
    sqrt(p / q) - sqrt(p * q) / q,
    p ** sympy.Rational(2, 3) * p ** sympy.Rational(1, 3) - p,
    Abs(x - y) - (y - x),
    Max(x, y) - y,
    sqrt(z**2) + z,
    polygamma(1, p) - zeta(2, p),
    exp(loggamma(p)) - gamma(p),
    sympy.besseli(2, p) - sympy.besseli(0, p) + 2 / p * sympy.besseli(1, p),
    sympy.besselj(3, p) - 4 / p * sympy.besselj(2, p) + sympy.besselj(1, p),
    erf(x + y - y) - erf(x),
]
OTHERS = [
    x + y - x,
    exp(x) - 1 - x,
    tanh(x) - x + x**3 / 3,
    sqrt(x**2 + 1) - 1,
    sqrt(p) + sqrt(p),
    log(p) + log(q) - log(p + q),
    sin(x) - cos(x),
    exp(x + y) - exp(x) - exp(y),
    1 / (x - y) + 1 / (x + y),
    Max(x, y) - x,
    gamma(p + 1) - gamma(p),
]


@pytest.mark.parametrize("expr", ZEROS, ids=str)
def test_zero_is_proved(expr):
    piece = Piece(POINT)
    assert abs(piece.value(expr)) < 1e-30
    assert piece.vanishes(expr)


@pytest.mark.parametrize("expr", OTHERS, ids=str)
def test_what_is_not_zero_is_not_proved(expr):
    piece = Piece(POINT)
    assert not piece.vanishes(expr)
    piece.take_as_opaque(expr)
    assert not piece.vanishes(expr)


def random_expression(draw, depth):
    if depth == 0:
        return draw.choice([x, y, p, sympy.Integer(2), sympy.Rational(1, 3)])
    a, b = random_expression(draw, depth - 1), random_expression(draw, depth - 1)
    forms = [
        *(lambda: plus(a, b), lambda: minus(a, b), lambda: times(a, b), lambda: over(a, 1 + b**2), lambda: times(a, a, b)),
        *(lambda: tanh(a), lambda: exp(over(a, 1 + a**2)), lambda: sqrt(1 + a**2), lambda: sin(a)),
    ]
    return draw.choice(forms)()


@pytest.mark.parametrize("seed", range(60))
def test_proofs_agree_with_numbers(seed):
    """An expression minus itself in another form is proved; minus itself times (1 + a small part) it is not."""
    draw = random.Random(seed)
    expr = random_expression(draw, 3)
    other = expr.doit()
    piece = Piece(POINT)
    if draw.random() < 0.5:
        piece.take_as_opaque(times(expr, expr))
    assert piece.vanishes(expr, -other)
    for changed in (other + sympy.Rational(1, 10**6), other * (1 + x**2 / 10**6), other + tanh(x) ** 9 / 10**6):
        if piece.distance(expr, changed) > 1e-20:
            assert not piece.vanishes(expr, -changed)


@pytest.mark.parametrize("seed", range(30))
def test_derivatives_are_sympys(seed):
    expr = random_expression(random.Random(seed), 3)
    for symbol in (x, y, p):
        ours, theirs = Derivatives(symbol).of(expr), sympy.diff(expr.doit(), symbol)
        piece = Piece(POINT)
        assert piece.distance(ours, theirs) < 1e-30
        assert piece.vanishes(ours, -theirs)


def test_known_sums_are_opened_where_that_is_needed():
    s = plus(x, y)
    piece = Piece(POINT)
    piece.take_as_opaque(times(s, s, exp(s)))
    assert piece.vanishes(times(s, s), -(x**2), -2 * x * y, -(y**2))
    assert not piece.vanishes(times(s, s), -(x**2), -2 * x * y)


def test_tie_is_an_error():
    piece = Piece({x: Fraction(1), y: Fraction(1)})
    with pytest.raises(Tie):
        piece.sign(x - y)
    assert piece.sign((x - y) * 2 - 2 * x + 2 * y) == 0


@pytest.mark.parametrize(
    ("number", "meaning"),
    [
        *(
            (0.1, sympy.Rational(1, 10)),
            (2 / 3, sympy.Rational(2, 3)),
            (0.1 * 3, sympy.Rational(3, 10)),
            (-0.5, -sympy.Rational(1, 2)),
        ),
        *((3.141592653589793, sympy.pi), (1.1283791670955126, 2 / sqrt(sympy.pi)), (5**0.5, sqrt(5)), (0.0, 0), (1e20, 10**20)),
        *((0.123456, sympy.Rational(123456, 10**6)), (1.0986122886681098, log(3)), (1e-8, sympy.Rational(1, 10**8))),
    ],
)
def test_floats_are_read_as_what_they_stand_for(number, meaning):
    assert exact(number) == meaning
