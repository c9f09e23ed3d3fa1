"""Expressions that random programs are made of, by what stands in their holes.

    {x} {y}  a number or an array     {a} {b}  an array     {s} {t}  a number     {n}  an axis     {c}  a condition

A hole that stands twice in an expression holds the same both times.
"""

from __future__ import annotations

ANY = """
np.sin({x}) | np.cos({x}) | np.tanh({x}) | np.exp(0.3 * {x}) | np.log(1 + {x} ** 2) | np.sqrt(np.abs({x}) + 0.1)
np.abs({x}) | -{x} | abs({x}) | +{x} | {x} ** 2 | {x} ** 3 | 2.0 ** {x} | {x} + {y} | {x} - {y} | {x} * {y}
{x} / (2.0 + {y} ** 2) | {x} / {y} | {x} + {y} | {x} * {y} | {x} - {y} | 0.5 * {x} | {x} * 0.9 + 0.1 | 1 - {x}
2 / (3 + np.tanh({x})) | {x} % 1.3 | {x} // 0.8 + {y} | np.maximum({x}, 0.0) | np.minimum({x}, {y}) | np.maximum({x}, {y})
np.clip({x}, -0.5, 0.8) | np.clip({x}, -0.9, {s}) | np.where({x} > {y}, {x}, {y}) | np.where({c}, {x}, {y})
np.where({x} < 0, 0.1 * {x}, {x}) | np.arctan2({x}, 1.5 + {y} ** 2) | np.hypot({x}, {y}) | np.logaddexp({x}, {y})
np.sign({x}) * {y} | np.square({x}) | np.cbrt(2 + {x} ** 2) | np.expm1(0.2 * {x}) | np.log1p(np.abs({x}))
np.sinh(0.5 * {x}) | np.cosh(0.5 * {x}) | np.reciprocal(2.0 + np.tanh({x})) | 1 / (1 + np.exp(-{x}))
np.power(np.abs({x}) + 0.2, {y}) | (np.abs({x}) + 0.3) ** {y} | np.mod({x}, 0.7) | np.floor({x}) + {y} | np.fmax({x}, {y})
np.heaviside({x}, 0.5) * {y} | np.add({x}, {y}) | np.multiply({x}, {y}) | np.subtract({x}, {y}) | np.divide({x}, 1.7)
np.negative({x}) | ({x} > 0) * {y} | ({x} > {y}) + {x} | np.arctan({x}) | np.arcsinh({x}) | np.exp2(0.3 * {x})
np.tan(0.2 * {x}) | np.copysign({x}, {y}) | np.round({x}, 1) * {y} | np.nan_to_num({x}) | scaled({x}) | scaled({x}, 0.7)
scaled({x}, shift={s}) | scaled(k={s}, x={x}) | bounded({x}) | bounded({x}, low={s}) | pair({x})[0] * pair({y})[1]
apply(np.tanh, {x}) | apply(scaled, {x}, {s}) | apply(lambda u: u * {s}, {x}) | compose(np.sin, bounded)({x}) | K * {x} + 1
W2[0] * {x} | ({x} if {c} else 0.5 * {x}) | (lambda u, k=0.3: u * k + {s})({x}) | poly({x}) | poly({x}, {s}, {t})
np.sum(np.stack([{x}, {x} * {y}]), axis=0) | first_big({x}, {s})
"""

SCALARS = """
math.sin({s}) | math.exp(0.3 * {s}) | abs({s}) | max({s}, {t}) | min({s}, {t}, 0.4) | float({s})
({s} if {s} > {t} else {t}) | ({s} and {t}) | ({s} or {t}) | sum([{s}, {t} * {s}]) | sum(v * {s} for v in [{s}, {t}])
np.sum({a}) | np.mean({a}) | {a}.sum() | {a}.mean() | np.max({a}) | {a}.min() | divmod({s}, 0.4)[1] | pow({s}, 2)
math.sqrt({s} * {s} + 0.2) | math.hypot({s}, {t}) | math.atan2({s}, 2.0) | np.prod({a}) | np.var({a}) | np.std({a})
np.linalg.norm({a}) | np.vdot({a}, {a}) | np.sum({a} * {b}) | np.einsum('i,i', {a}, {b}) | np.trace({a})
sum(u * u for u in {a}.ravel()) | sum([u * {s} for u in {a}.ravel() if u > 0]) | np.sum([u * u for u in {a}.ravel()])
math.log(1.5 + math.cos({s})) | summed({a}) | np.average({a}) | np.linalg.det({a} + 3 * np.eye(len({a})))
np.linalg.slogdet({a} @ {a}.T + 2 * np.eye(len({a})))[1] | np.median({a}) | np.ptp({a}) | {a}.ravel()[0]
{a}.ravel()[-1] * {s} | len({a}) * {s} | {a}.size * {s} | {a}.shape[0] + {s} | int(3.7) * {s} | {a}.ndim * {s}
math.pi * {s} | np.pi - {s} | round({s}, 2) * {t} | max(u * {s} for u in {a}.ravel()) | np.dot({a}.ravel(), {a}.ravel())
np.argmax({a}) * {s} | {a}.max() - {a}.min() | bool({s} > {t}) * {s} | np.float64({s}) * {t} | {a}.ravel()[np.argmax({a})]
(not {s} > {t}) + {s} | norm_squared({a}) | Point({s}, {t}).ratio() | State(u={s}, v={t}).energy() | -{s} ** 2 | {s} ** -1
folded({a}) | power({s}, 3)
"""

ARRAYS = """
np.sum({a}, axis={n}) | np.sum({a}, axis={n}, keepdims=True) | {a}.sum({n}) | {a}.sum(axis={n}, keepdims=True)
np.mean({a}, axis={n}) | np.mean({a}, {n}, keepdims=True) | {a}.mean(axis={n}) | np.max({a}, axis={n})
np.min({a}, axis={n}, keepdims=True) | {a}.max(axis={n}, keepdims=True) | np.prod({a}, axis={n}) | np.var({a}, axis={n})
np.var({a}, axis={n}, keepdims=True) | np.std({a}, axis={n}) | {a}.std(axis={n}, keepdims=True) | np.var({a}, ddof=1) + {a}
np.sum({a}, axis=(0, 1)) | np.sum({a}, axis=(0, -1), keepdims=True) | np.mean({a}, axis=(0, 1)) | np.max({a}, axis=(0, 1))
np.std({a}, axis=(-1, 0)) | np.cumsum({a}, axis={n}) | np.cumsum({a}) | {a}.cumsum({n}) | np.sort({a}, axis={n})
np.sort({a}) | np.linalg.norm({a}, axis={n}) | np.linalg.norm({a}, axis={n}, keepdims=True) | np.median({a}, axis={n})
np.diff({a}, axis={n}) | np.cumprod({a}, axis={n}) | np.sum({a}, axis=(1, 2)) | {a}.T | {a}.T * {a} | np.transpose({a})
np.transpose({a}, (1, 0)) | np.transpose({a}, (2, 0, 1)) | {a}.transpose(1, 0) | np.reshape({a}, -1) | {a}.reshape(-1)
{a}.reshape({a}.shape[0], -1) | {a}.reshape(-1, {a}.shape[0]) | {a}.reshape(1, -1) | np.reshape({a}, (-1, 1)) | np.ravel({a})
{a}.flatten() | {a}.copy() | np.copy({a}) | np.expand_dims({a}, {n}) | np.expand_dims({a}, (0, -1)) | np.squeeze({a})
{a}.squeeze() | np.squeeze({a}, axis={n}) | np.swapaxes({a}, 0, -1) | np.moveaxis({a}, 0, -1) | {a}[None] | {a}[..., None]
{a}[:, None] | {a}[None, :, None] | {a}[:, np.newaxis] * {b} | np.broadcast_to({a}, (2,) + {a}.shape)
np.flip({a}, axis={n}) | np.flip({a}) | np.roll({a}, 1) | np.roll({a}, -1, axis={n}) | np.tile({a}, 2) | np.tile({a}, (2, 1))
np.repeat({a}, 2, axis={n}) | np.repeat({a}, 2) | np.atleast_2d({a}) | np.concatenate([{a}, {b}])
np.concatenate(({a}, {b}), axis={n}) | np.concatenate([{a}, {a}], axis=-1) | np.stack([{a}, {b}])
np.stack(({a}, {a} * 2), axis={n}) | np.vstack([{a}, {b}]) | np.hstack(({a}, {b})) | np.column_stack([{a}, {b}])
np.split({a}, 3)[1] | np.split({a}, [1])[0] | np.pad({a}, 1) | np.diag({a}) | np.tril({a}) | np.triu({a}, 1)
np.outer({a}, {b}) | np.append({a}, {s}) | {a}[0] | {a}[-1] | {a}[::-1] | {a}[1:] | {a}[:-1] | {a}[1:] - {a}[:-1] | {a}[:, 0]
{a}[..., 0] | {a}[:, -1] | {a}[[0, 0]] | {a}[[0, -1, 0]] | {a}[np.array([0, 0, -1])] | {a}[{a} > 0] | {a}[None, ..., -1]
{a}[0:1] | {a}[[0, -1], [0, 0]] | {a}[:, [0, 0]] | {a}[..., [0, -1, 0]] | {a}[::-1, None] | {a}[:, ::2] | {a}[::2]
{a}[0, :] | {a}[:, 0, :] | {a}[[0, 0], :, -1] | {a}[[[0, 0], [0, -1]]] | {a}[0, ..., 0] | {a}[[True] * len({a})]
np.take({a}, [0, 0], axis={n}) | np.take({a}, 0, axis={n}) | {a}[np.argsort({a})] | {a}[np.argmax({a}, axis=0)]
np.take_along_axis({a}, np.argsort({a}, axis=-1), axis=-1) | {a}[np.arange(len({a})), 0] | {a}[np.ix_([0], [0, 0])]
{a} @ {b} | {a} @ {b}.T | {a}.T @ {b} | {a}.T @ {a} | np.dot({a}, {b}) | {a}.dot({b}.T) | np.matmul({a}, {b})
np.inner({a}, {b}) | np.einsum('ij,kj->ik', {a}, {b}) | np.einsum('ij,ij->i', {a}, {a}) | np.einsum('ij,j->i', {a}, {b})
np.einsum('ij->ji', {a}) | np.einsum('ii->i', {a}) | np.einsum('i,j->ij', {a}, {b}) | np.einsum('...i,...i->...', {a}, {b})
np.einsum('ijk,kl->ijl', {a}, {b}) | np.einsum('ij->j', {a}) | np.einsum('ij,jk,k->i', {a}, {b}, {b}[0])
np.tensordot({a}, {b}, axes=1) | np.tensordot({a}, {b}, 0) | np.tensordot({a}, {b}, axes=([0], [0]))
np.tensordot({a}, {b}, axes=([-1], [-1])) | np.linalg.solve({a} @ {a}.T + 3 * np.eye(len({a})), {b})
np.linalg.inv({a} @ {a}.T + 2 * np.eye({a}.shape[0])) | np.linalg.cholesky({a} @ {a}.T + 2 * np.eye({a}.shape[0]))
np.ones_like({a}) * {s} | np.zeros({a}.shape) + {x} | np.full({a}.shape, {s}) | np.linspace({s}, {t}, 3)
np.arange(len({a})) + {a} | np.arange(len({a})) * {s} | np.array([{s}, {t}]) | np.array([[{s}, {t}], [0.5, {s}]])
np.asarray([{s}, 1.0, {t}]) | np.eye(3) * {s} | np.zeros_like({a}) - {a} | np.ones(3) * {x}
np.array([u * {s} for u in {a}]) | np.stack([row * {s} for row in {a}]) | np.array({a})
np.stack([u for u in {a} if np.sum(u) > -0.2] + [{a}[0]]) | np.stack([{a}[i] * i for i in range(len({a}))])
np.stack([u * v for u, v in zip({a}, {b})]) | centred({a}) | softmax({a}) | smoothed({a})
np.array([np.sum({a}[i:]) for i in range(len({a}))]) | np.where({a} > 0, {s}, {b}) | np.where({a}[0] > 0, {a}, {s})
np.sqrt({a} ** 2 + {s} ** 2 + 0.1) | {a} / np.sum({a} ** 2, axis=-1, keepdims=True) | {a} - {a}.mean(axis=0)
np.maximum({a}, {a}.T) | {a} * {s} + {b} * {t} | {a} / (1 + {s} ** 2) | ({a} > {s}) * {b} | {a}.astype(float) * {s}
{a}.clip(-0.6, 0.7) | {a} ** 2 @ {b} | {a}.swapaxes(0, 1) | np.rot90({a}) | np.kron({a}, {b}) | np.convolve({a}, {b})
np.trapezoid({a}, axis=0) | [1.0, 2.0, 0.5] * {a} | shift({a}.copy(), {s})
"""

CONDITIONS = """
{s} > {t} | {s} < 0.3 | {s} >= 0 | 0 < {s} < 1 | {s} > 0 and {t} < 1 | {s} > 0.5 or {t} > 0.2 | not {s} > 0.1
np.sum({a}) > {s} | np.any({a} > 0.8) | np.all({a} > -1.5) | {a}.max() > {s} | len({a}) > 2 | {a}.shape[0] == 1 | {s} > -5
{s} != {t} | {s} * {t} > 0 | np.mean({a}) < {t} < 2 | {a}.ndim > 1 | -1 < {s} and ({t} > 0 or {s} > 0.4) | FLAG | MODE == 'a'
MODE != 'a' or {s} > 0 | isinstance({s}, float)
"""

COUNTS = ["range(3)", "range(3)", "range(1, 4)", "range(2, -1, -1)", "range(0, 6, 2)", "range(0)", "reversed(range(3))"]
COUNTS_OF_ARRAYS = ["range(len({a}))", "range({a}.shape[0])", "range({a}.shape[-1] - 1)", "range(1, len({a}))"]

ITEMS = [
    "{v} in {a}", "{v} in {a}", "i, {v} in enumerate({a})", "j, {v} in enumerate({a}, 1)", "i, {v} in enumerate({a}, start=2)",
    "{v}, {w} in zip({a}, {b})", "{v} in reversed({a})", "i, ({v}, {w}) in enumerate(zip({a}, {b}))", "{v} in {a}[::-1]",
    "{v} in {a}[1:]", "{v}, {w} in zip({a}[:-1], {b}[1:])", "j, {v} in zip(range(len({a})), {a})",
]  # fmt: skip

OF_COMPREHENSIONS = ["sum([{}])", "sum({})", "np.sum(np.stack([{}]))", "np.sum([{}], axis=0)", "sum([{}]) / 3", "np.mean([{}])"]

OF_LISTS = [
    "sum({0})", "np.sum({0})", "{0}[-1] * {0}[0]", "np.sum(np.stack({0}))", "np.mean(np.array({0}), axis=0)", "sum({0}[1:])",
    "len({0}) * {0}[0]", "np.sum(np.stack({0}), axis=0)", "np.sum(np.array({0}) ** 2)",
]  # fmt: skip
OF_LISTS_OF_ARRAYS = ["np.sum(np.concatenate({0}) ** 2)", "np.mean(np.stack({0}, axis=-1), axis=-1)"]

UNPACKINGS = [
    "{a}, {b}, {c}, {d} = {0}, {1}, {2}, {3}", "({a}, {b}), [{c}, {d}] = ({0}, {1}), [{2}, {3}]",
    "{a}, ({b}, *{c}_), {d} = {0}, ({1}, {2}), {3}", "*{c}_, {d} = [{0}, {1}, {3}]", "{a}, {b} = pair({0})", "{a} = {b} = {0}",
]  # fmt: skip

CONTAINERS = [
    "({0}, {1})", "[{0}, {1}]", "{{'m': {0}, 'v': {1}}}", "Point({0}, {1})", "State({0}, v={1})", "dict(m={0}, v={1})",
    "Point(b={0}, a={1})", "({0}, ({1}, {0}))", "[({0}, {1})]",
]  # fmt: skip

WRITES = """
{a}[0] = {s} | {a}[-1] += {s} | {a}[0] *= {s} | {a}[1:] = {s} | {a}[1:] += {a}[:-1] | {a}[:-1] -= {a}[1:] * 0.5 | {a}[:] = {x}
{a}[::2] = {s} | {a}[::-1] *= {s} | {a}[:, 0] = {s} | {a}[..., -1] *= {s} | {a}[{a} > 0] = {s} | {a}[{a} > 0.2] *= {s}
{a}[[0, 0]] += {s} | {a}[[0, -1]] = {s} | {a}[[0, -1]] = {a}[[-1, 0]] | {a}[np.argsort({a})] = {a} * {s} | {a} += {x}
{a} -= {s} | {a} *= {t} | {a} /= 1.0 + {s} ** 2 | {a}[0], {a}[-1] = {a}[-1], {a}[0] * {s} | {a}[0] = {a}[-1] | {a}[1] = {b}[0]
np.fill_diagonal({a}, {s}) | {a}.fill({s}) | np.add.at({a}, [0, 0], {s}) | np.copyto({a}, {x}) | {a}.sort() | damp({a})
shift({a}, {s}) | {a}.T[0] = {s} | {a}.ravel()[0] = {s} | {a}[0][...] = {s} | {a}[1:][0] = {s} | {a}[0, 0] += {a}[-1, -1]
np.multiply({a}, {s}, out={a}) | np.put({a}, [0], {s}) | {a}[np.array([0, 0])] = {s} | {a}[...] += {b} | {a}[:, ::-1] = {a}
"""

VIEWS = """
{a} | {a}[0] | {a}[-1] | {a}[1:] | {a}[:-1] | {a}[::-1] | {a}[:, 0] | {a}[..., 0] | {a}.T | {a}.reshape(-1)
{a}.ravel() | {a}[None] | {a}[1:][::-1] | {a}[0:2] | {a}[0][0:1] | {a}.swapaxes(0, -1) | {a}[:, :1]
{a}[...] | np.asarray({a}) | {a}.T[0] | {a}.squeeze()
"""

BUFFERS = """
{a}.copy() | {a} * 1.0 | np.zeros_like({a}) | np.zeros(3) | np.zeros((2, 3)) | np.ones({a}.shape)
np.full((3,), {s}) | np.array({a}) | np.stack([{a}, {a}]) | np.array([{s}, 0.0, {t}]) | np.tile({a}, 2)
"""

ITEM_WRITES = ["{0} = {1}", "{0} = {0} * 0.5 + {1}", "{0} += {1}"]
LIST_WRITES = [
    "{0}.append({1})", "{0}.insert(0, {1})", "{0}.extend([{1}, {1}])", "{0} += [{1}]", "{0}[0] = {1}", "{0}.reverse()",
    "{0}[1:] = [{1}]", "{0}.pop()", "del {0}[-1]", "{0} = {0} + [{1}]", "{0} = {0} * 2",
]  # fmt: skip
DICT_WRITES = ["{0}['new'] = {1}", "{0}.update(new={1})", "{0}.setdefault('new', {1})", "{0} = {{**{0}, 'more': {1}}}"]

HELPERS = """\
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

K = 0.7
W2 = [0.4, np.array([0.2, 0.5])]
FLAG = True
MODE = "b"


class Point(NamedTuple):
    a: Any
    b: Any = 0.5

    def ratio(self):
        return self.a / (1.0 + self.b * self.b)


@dataclass
class State:
    u: Any
    v: Any = 1.5

    def energy(self):
        return 0.5 * self.v * self.u**2


def scaled(x, k=0.5, *, shift=0.1):
    return k * x + shift


def bounded(x, low=-1.0):
    if np.sum(x) < low:
        return 0.5 * x
    return np.tanh(x)


def pair(x):
    return 2.0 * x, np.sin(x)


def apply(fn, x, *args, **kwargs):
    return fn(x, *args, **kwargs)


def compose(outer, inner):
    def composed(x):
        return outer(inner(x))

    return composed


def poly(x, *coefficients):
    result = 0.2
    for c in coefficients:
        result = result * x + c
    return result * x


def first_big(x, limit):
    y = x
    for i in range(4):
        if np.mean(y) > limit:
            return y * (i + 1)
        y = y * 1.3 + 0.2
    return y


def summed(xs):
    result = 0.0
    for x in xs:
        if x.ndim > 0:
            for v in x:
                result += np.sum(v)
        else:
            result += x
    return result


def norm_squared(a):
    result, i = 0.0, 0
    while i < len(a):
        result = result + np.sum(a[i] ** 2)
        i += 1
    return result


def centred(a):
    mean = a.mean(axis=0)
    return (a - mean) / (a.std(axis=0) + 0.5)


def softmax(a):
    e = np.exp(a - np.max(a, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def damp(a):
    a *= 0.9
    a[0] = a[-1] * 0.5


def shift(a, by):
    for i in range(len(a) - 1):
        a[i] = a[i + 1] + by
    return a


def power(x, n):
    if n == 0:
        return np.ones_like(x)
    return x * power(x, n - 1)


def folded(a):
    if len(a) < 2:
        return np.sum(a)
    half = len(a) // 2
    return np.tanh(folded(a[:half])) + 0.5 * folded(a[half:])


def smoothed(a):
    out = []
    last = a[0]
    for i, row in enumerate(a, start=1):
        last = np.tanh(0.5 * last + row / i)
        out.append(last)
    return np.stack(out)


"""


def _split(text: str) -> list[str]:
    return [e.strip() for line in text.strip().splitlines() for e in line.split(" | ")]


ANY_EXPRESSIONS, SCALAR_EXPRESSIONS, ARRAY_EXPRESSIONS, CONDITION_EXPRESSIONS = map(_split, (ANY, SCALARS, ARRAYS, CONDITIONS))
ARRAY_WRITES, VIEW_EXPRESSIONS, BUFFER_EXPRESSIONS = map(_split, (WRITES, VIEWS, BUFFERS))
