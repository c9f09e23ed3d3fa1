"""Random programs of objects under several names, and of generators that loops consume: short, and hard on what is shared.

p.swap(q);  os[1] = r;  for v in p.parts(n): t += np.sum(v); r.b = t
"""

from __future__ import annotations

import linecache
import random
from types import FunctionType
from typing import Any

CLASSES = """\
import itertools

import numpy as np


class C:
    k = 1.5

    def __init__(self, a, b):
        self.a, self.b = a, b

    def mul(self, s):
        self.a = self.a * s
        return self

    def inc(self, v):
        self.b = self.b + v
        return self.b

    def acc(self, v):
        self.a += v

    def fresh(self):
        return C(np.sin(self.a), self.b * 0.5)

    def swap(self, other):
        self.a, other.a = other.a, self.a

    @property
    def s(self):
        return np.sum(self.a) * self.b

    def parts(self, n):
        for i in range(n):
            self.b = self.b * 0.9
            yield self.a * self.b


class D(C):
    k = 0.5

    def inc(self, v):
        super().inc(v * 2.0)
        return self.b


"""


def load(text: str, name: str) -> dict[str, Any]:
    """The module of a program, whose text can be read."""
    file = f"<random {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module: dict[str, Any] = {"__name__": f"random_{name}"}
    exec(compile(text, file, "exec"), module)
    assert isinstance(module["f"], FunctionType)
    return module


# ---------------------------------------------------------------- objects


class Objects:
    """Writes `f(x, g, n)`: an array, an object of C that is passed in, and a number of trips."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def text(self) -> str:
        lines = ["def f(x, g, n):", "    t = x[0] * x[1]", "    u = x * 2.0", "    p = C(x * 1.0, t)"]
        lines += [f"    q = {self.rng.choice('CD')}(np.cos(x), x[1])", f"    r = {self.rng.choice('gp')}", "    os = [p, q]"]
        for _ in range(self.rng.randint(3, 9)):
            lines += self.statement("    ", 0)
        lines.append("    return t + p.s + q.s * 0.3 + r.s * 0.7 + os[0].b + np.sum(os[1].a * u) * 0.1")
        return CLASSES + "\n".join(lines) + "\n"

    def name(self) -> str:
        return self.rng.choice("pqr")

    def number(self) -> str:
        n = self.name()
        return self.rng.choice(
            ["x[0]", "x[1]", "t", "0.5", "1.25", "np.tanh(t)", f"{n}.b", f"{n}.s * 0.1", f"{n}.k", f"np.sum({n}.a) * 0.1"]
        )

    def array(self) -> str:
        n = self.name()
        return self.rng.choice(["x", "x * 0.5", "np.sin(x)", f"{n}.a", f"{n}.a * 0.7", f"{n}.a + x", "u"])

    def object(self) -> str:
        made = [f"C({self.array()} * 1.0, {self.number()})", f"D(np.cos({self.array()}), {self.number()})"]
        return self.rng.choice([*made, f"{self.name()}.fresh()", "p", "q", "r"])

    def statement(self, pad: str, depth: int) -> list[str]:
        n, m, count = self.name(), self.name(), self.rng.choice(["2", "n"])
        simple = [
            [f"{n} = {self.object()}"],
            [f"{n}.a = {self.array()}"],
            [f"{n}.b = {self.number()}"],
            [f"{n}.b *= {self.number()}"],
            [f"{n}.a += {self.array()} * 0.1"],
            [f"{n}.a[0] = {self.number()}"],
            [f"{n}.{self.rng.choice(['mul', 'inc'])}({self.number()})"],
            [f"{n}.acc({self.array()} * 0.2)"],
            [f"{n}.swap({m})"],
            [f"{n}, {m} = {self.name()}, {self.name()}"],
            [f"t = t * 0.5 + {self.number()}"],
            [f"u = {self.array()}"],
            [f"os[{self.rng.randrange(2)}] = {n}"],
            [f"os[{self.rng.randrange(2)}].b = {self.number()}"],
            [f"{n} = os[{self.rng.randrange(2)}]"],
            [f"t += sum(np.sum(v) for v in {n}.parts({count})) * 0.1"],
            [f"for v in {n}.parts({count}):", "    t += np.sum(v) * 0.1", f"    {m}.b = t"],
        ]
        if depth == 2 or self.rng.random() < 0.75:
            return [pad + line for line in self.rng.choice(simple)]
        if self.rng.random() < 0.5:
            out = [f"{pad}if {self.rng.choice(['t > 0.3', 'x[0] > 0.0', f'{n}.b > 0.5', 'n > 2', 'n > 5'])}:"]
            out += self.statement(pad + "    ", depth + 1) + self.statement(pad + "    ", depth + 1)
            return out if self.rng.random() < 0.4 else [*out, f"{pad}else:", *self.statement(pad + "    ", depth + 1)]
        header, first = self.rng.choice(
            [
                ("i in range(n)", "t = t * 0.9"),
                ("i in range(3)", "t = t * 0.9"),
                ("e in x", "t = t + e * 0.1"),
                ("o in os", "o.b *= 0.9"),
            ]
        )
        out = [f"{pad}for {header}:", f"{pad}    {first}", *self.statement(pad + "    ", depth + 1)]
        return out if self.rng.random() < 0.8 else [*out, f"{pad}    if t > 2.0:", f"{pad}        break"]


# ---------------------------------------------------------------- generators


class Generators:
    """Writes `f(x, xs, n)`: a number, a list of numbers, and a number of trips; g is its generator."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def text(self) -> str:
        lines = [
            "def g(x, xs, n, m):",
            "    s = x * 0.5",
            *self.body("    ", 0, ["s", "x", "m.b"], is_in_loop=False),
            "    yield s",
        ]
        lines += ["", "", "def f(x, xs, n):", "    t = x * x", "    m = C(x, x)", "    s = 0.25"]
        for _ in range(self.rng.randint(1, 3)):
            lines += self.consumer()
        return CLASSES + "\n".join([*lines, "    return t + s + m.b"]) + "\n"

    def value(self, values: list[str]) -> str:
        return self.rng.choice([*values, "0.5", "x", "x * 0.7"])

    def body(self, pad: str, depth: int, values: list[str], *, is_in_loop: bool) -> list[str]:
        out: list[str] = []
        for _ in range(self.rng.randint(1, 3)):
            a, b, draw = self.value(values), self.value(values), self.rng.random()
            if draw < 0.38:
                out.append(f"{pad}yield {a} + {b} * 0.3")
            elif draw < 0.5:
                out.append(f"{pad}s = s * 0.8 + {a} * 0.2")
            elif draw < 0.62 and depth < 2:
                header, item = self.rng.choice([("i in range(n)", "i * 0.1"), ("j in range(2)", "j * 0.1"), ("w in xs", "w")])
                out += [f"{pad}for {header}:", *self.body(pad + "    ", depth + 1, [*values, item], is_in_loop=True)]
            elif draw < 0.75 and depth < 2:
                out.append(f"{pad}if {self.rng.choice(['s > 0.4', 'x > 0.2', 'n > 2', f'{a} > 0.3'])}:")
                out += self.body(pad + "    ", depth + 1, values, is_in_loop=is_in_loop)
            elif draw < 0.8:
                out += [f"{pad}if s > {self.rng.choice(['0.9', '0.45'])}:", f"{pad}    return"]
            elif draw < 0.86 and is_in_loop:
                out += [f"{pad}if s > 0.6:", f"{pad}    {self.rng.choice(['break', 'continue'])}"]
            elif draw < 0.94:
                out.append(f"{pad}yield from {self.rng.choice([f'(v * {a} for v in xs)', f'[s, {a}]'])}")
            else:
                out.append(f"{pad}m.b = m.b + s * 0.1")
        return out

    def consumer(self) -> list[str]:
        of = "g(x, xs, n, m)"
        wrapped = [of, of, f"map(lambda v: v * s, {of})", f"itertools.islice({of}, 4)", "itertools.chain(g(x, xs, 2, m), xs)"]
        wrapped += ["(v * s for v in g(t, xs, n, m) if v > 0.1)", "itertools.accumulate(xs)", f"filter(lambda v: v > 0.2, {of})"]
        wrapped += [f"itertools.takewhile(lambda v: v < 0.8, {of})"]
        if self.rng.random() < 0.3:
            return [f"    t = t + 0.1 * {self.rng.choice(['sum', 'max'])}({self.rng.choice(wrapped)})"]
        pairs = [("k, v", f"enumerate({of})"), ("v, k", f"zip({of}, xs)")]
        target, source = self.rng.choice([*pairs, *[("v", w) for w in wrapped]])
        steps = ["t = t + v * 0.1", "s = s * 0.9 + v * 0.05", "m.b = m.b * 0.9", "t = t * 0.95", "t += m.b * 0.1"]
        out = [f"for {target} in {source}:", *(f"    {self.rng.choice(steps)}" for _ in range(self.rng.randint(1, 3)))]
        jumps = [["    if t > 1.2:", "        break"], ["    if v > 0.5:", "        continue", "    t = t + s * v"]]
        out += self.rng.choice([[], [], *jumps, ["    if t > 1.5:", "        return t * s"]])
        return ["    " + line for line in (out if self.rng.random() < 0.85 else [*out, "else:", "    t = t * 1.1"])]
