"""NumPy code on arrays of symbols gives, entry by entry, what it gives on numbers."""

import math
from fractions import Fraction

import numpy as np
import pytest

from srcdiff.proofs.formulas import on_piece
from srcdiff.proofs.namespaces import translated_function
from srcdiff.proofs.pieces import Piece
from srcdiff.proofs.symbolic import DataDependent, SymbolArray, entries, symbols

M, N = np.array([[0.3, -1.3, 0.7], [1.9, 0.4, -0.6]]), np.array([[1.1, 0.2, 2.3], [0.8, 1.7, 0.5]])
S = np.array([[2.0, 0.3, -0.4], [0.3, 1.5, 0.2], [-0.4, 0.2, 1.8]])

SPECIALS = pytest.importorskip("scipy.special")
CALLS = [
    lambda m, n, s: m + 2 * n - m / n + m**2 - (-m) + abs(m),
    lambda m, n, s: m @ n.T + (m.T @ n)[:2, :2],
    lambda m, n, s: np.sum(m, axis=1) + m.mean(axis=1) + np.prod(m, axis=1) + m.sum(1, keepdims=True)[:, 0],
    lambda m, n, s: np.max(m, axis=0) + np.min(m, axis=0) + m.max() + np.ptp(m, axis=0) + np.sort(m, axis=1)[0],
    lambda m, n, s: np.var(m, axis=0, ddof=1) + np.std(m, axis=0) + np.median(m, axis=0) + np.quantile(m, 0.3, axis=0),
    lambda m, n, s: np.tanh(m) + np.exp(m) + np.log(n) + np.sqrt(n) + np.sin(m) * np.cos(m) + np.tan(m) + np.arctan2(m, n),
    lambda m, n, s: np.log1p(n) + np.expm1(m) + np.logaddexp(m, n) + np.hypot(m, n) + np.cbrt(m) + np.log2(n) + np.exp2(m) + n**m,
    lambda m, n, s: (
        np.maximum(m, n) + np.minimum(m, 0) + np.clip(m, -0.5, 0.5) + np.where(m > 0, m, n) + np.sign(m) + np.heaviside(m, 0.5)
    ),
    lambda m, n, s: (
        np.concatenate([m, n]).reshape(3, 4) + np.stack([m, n]).reshape(3, 4) + np.vstack([m, np.ones((2, 3))]).reshape(3, 4)
    ),
    lambda m, n, s: np.einsum("ij,kj->ik", m, n) + np.tensordot(m, n, axes=([1], [1])) + np.inner(m, n) + np.dot(m, n.T),
    lambda m, n, s: np.outer(m[0], n[1]) + np.kron(m[:, :1], n[:1])[:1] + np.cross(m, n)[0],
    lambda m, n, s: np.linalg.solve(s, m.T) + np.linalg.inv(s) @ m.T + np.linalg.cholesky(s)[:, :2],
    lambda m, n, s: (
        np.linalg.det(s) + np.linalg.slogdet(s)[1] + np.linalg.norm(m) + np.linalg.norm(m, axis=1)[0] + np.linalg.norm(m[0], 1)
    ),
    lambda m, n, s: (
        np.cumsum(m, axis=1)
        + np.cumprod(m, axis=0)
        + np.roll(m, 1, axis=1)
        + np.flip(m, 0)
        + np.diff(np.pad(m, 1), axis=1)[1:3, 1:]
    ),
    lambda m, n, s: (
        np.tril(s) + np.diag(s) + np.trace(s) + np.triu(s, 1) + np.take(s, [2, 0, 0], axis=1) + np.repeat(s[:1], 3, axis=0)
    ),
    lambda m, n, s: (
        s[np.array([0, 2]), np.array([1, 1])] + s[[0, 2], 1] + m[m > 0][:2] + s[::2, None, 0][:, 0] + m[np.argmax(m[:, 0])][:2]
    ),
    lambda m, n, s: (
        SPECIALS.erf(m) + SPECIALS.expit(m) + SPECIALS.gammaln(n) + SPECIALS.digamma(n) + SPECIALS.xlogy(m, n) + SPECIALS.j0(n)
    ),
    lambda m, n, s: SPECIALS.logsumexp(m, axis=1) + SPECIALS.softmax(m, axis=1)[:, 0],
    lambda m, n, s: np.mod(m, n) + np.floor(m) + m // n + np.rint(m) + np.trunc(m) + np.fmod(m, n),
    lambda m, n, s: (
        np.count_nonzero(m > 0, axis=0) * 1.0 + np.sum(m > 0, axis=0) + ((m > 0) & (n > 1)).sum(0) + (~(m > 0)).any(0)
    ),
    lambda m, n, s: (
        np.trapezoid(m, axis=1)
        + np.interp(0.35, [0.0, 0.5, 1.0], m[0])
        + np.linspace(m[0, 0], n[0, 0], 5)[3]
        + np.average(m, 1, n[0])
    ),
]


def at_point(array):
    point = {e: Fraction(v).limit_denominator(10**6) for e, v in array}
    return Piece(point)


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_entries_have_the_values_of_numbers(call):
    arrays = {"m": M, "n": N, "s": S}
    given = [symbols(name, a.shape) for name, a in arrays.items()]
    piece = at_point((e, v) for array, a in zip(given, arrays.values()) for e, v in zip(array.data.flat, a.flat))
    with on_piece(piece):
        found = translated_function(call)(*given)
        values = np.array([float(piece.value(e)) for e in entries(found).ravel()]).reshape(found.shape)
    expected = call(M, N, S)
    assert values.shape == np.shape(expected)
    np.testing.assert_allclose(values, expected, rtol=1e-12)


def in_place(x, n):
    out = np.zeros(n)
    other = np.zeros_like(x)
    for i in range(n):
        out[i] += x[i] * 2
        other[i:] += x[i]
    np.add.at(out, [0, 0, 1], x[:3])
    view = out[1:]
    view *= 3
    kept = [out.copy()]
    out[0] = 0
    return out + kept.pop() + other


def of_numbers(a, b):
    return (
        math.exp(a)
        + math.sin(b) ** 2
        + max(a, b, 0.1)
        + min(a, b)
        + abs(a - b)
        + float(a)
        + sum([a, b])
        + math.hypot(a, b)
        + (2.0 if isinstance(a, float) else 0)
    )


def test_writes_and_views():
    x = symbols("x", (4,))
    piece = at_point(zip(x.data, [0.5, 1.5, -2.0, 3.0]))
    found = translated_function(in_place)(x, 4)
    assert [float(piece.value(e)) for e in found.data] == in_place(np.array([0.5, 1.5, -2.0, 3.0]), 4).tolist()


def test_functions_of_numbers():
    a, b = symbols("a"), symbols("b")
    piece = at_point([(a.data[()], 0.5), (b.data[()], 1.25)])
    with on_piece(piece):
        found = translated_function(of_numbers)(a, b)
    assert float(piece.value(found.data[()])) == pytest.approx(of_numbers(0.5, 1.25), abs=1e-14)


@pytest.mark.parametrize(
    "ask", [bool, int, float, lambda a: range(a), lambda a: [1, 2][a], lambda a: 1 if a > 0 else 2, lambda a: math.exp(a)]
)
def test_what_depends_on_the_data_is_refused(ask):
    a = symbols("a")
    with on_piece(at_point([(a.data[()], 0.5)])), pytest.raises(DataDependent):
        ask(a)


def test_shape_dtype_and_structure():
    x = symbols("x", (2, 3))
    assert (x.shape, x.ndim, x.size, len(x), x.T.shape, x.dtype) == ((2, 3), 2, 6, 2, (3, 2), np.float64)
    assert isinstance(x[0, 0], SymbolArray) and x[0, 0].shape == ()
    assert [row.shape for row in x] == [(3,), (3,)]
    assert np.shape(x) == (2, 3) and np.ndim(x) == 2 and np.size(x, 1) == 3
    assert "x[0,0]" in repr(x) and "x[0,0]" in f"{x:.3f}"
