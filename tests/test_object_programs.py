"""Programs with objects as people write them: layers, optimisers, particles, trees, dual numbers, state machines."""

from __future__ import annotations

import dataclasses
import enum
import functools
import operator
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import pytest

from tests.support.gradients import check_gradient

rng = np.random.default_rng(0)
X = rng.normal(size=3)
W = rng.normal(size=(3, 3))
PROGRAMS = []


def case(*args, **options):
    def register(f):
        PROGRAMS.append((f, args, options))
        return f

    return register


class Activation(enum.Enum):
    TANH = "tanh"
    RELU = "relu"

    def apply(self, x):
        return np.tanh(x) if self is Activation.TANH else np.maximum(x, 0)


class Mode(enum.IntEnum):
    A = 1
    B = 2


@dataclass
class Config:
    act: Activation = Activation.TANH
    scale: float = 2.0


class Base(ABC):
    registry = {}

    def __init__(self, cfg):
        self.cfg = cfg

    @abstractmethod
    def forward(self, x): ...
    def __call__(self, x):
        return self.forward(x) * self.cfg.scale

    @staticmethod
    def make(kind, *a):
        return {"lin": Linear, "id": Identity}[kind](*a)

    @classmethod
    def default(cls, *a):
        return cls(Config(), *a)


class Linear(Base):
    def __init__(self, cfg, W):
        super().__init__(cfg)
        self.W = W

    def forward(self, x):
        return self.cfg.act.apply(self.W @ x)


class Identity(Base):
    def forward(self, x):
        return x


class Seq(Base):
    def __init__(self, cfg, *layers):
        super().__init__(cfg)
        self.layers = layers

    def forward(self, x):
        return functools.reduce(lambda h, l: l(h), self.layers, x)


@case(X, W, argnums=(0, 1))
def nets(x, w):
    net = Seq(Config(scale=1.0), Base.make("lin", Config(), w), Identity.default(), Linear.default(w))
    return np.sum(net(x))


@case(Linear(Config(), W), X, argnums=(0, 1))
def lin(l, x):
    return np.sum(l(x) ** 2)


@case(1.5, Mode.B)
def modes(x, m):
    if m == Mode.A:
        return x
    if m is Mode.B:
        return x * x
    return x


@case(1.5, Activation.RELU)
def acts(x, a):
    match a:
        case Activation.TANH:
            return np.tanh(x)
        case Activation.RELU:
            return x * 3.0


# state machine
class Adam:
    def __init__(self, lr=0.1, b1=0.9):
        self.lr, self.b1 = lr, b1
        self.m = None
        self.t = 0

    def step(self, p, g):
        if self.m is None:
            self.m = np.zeros_like(p)
        self.t += 1
        self.m = self.b1 * self.m + (1 - self.b1) * g
        return p - self.lr * self.m / (1 - self.b1**self.t)


@case(X)
def adam_unrolled(x):
    opt = Adam()
    p = x
    for _ in range(3):
        p = opt.step(p, 2 * p)
    return np.sum(p**2)


@case(X, 4)
def adam_loop(x, n):
    opt = Adam()
    p = x
    for _ in range(n):
        p = opt.step(p, 2 * p)
    return np.sum(p**2)


class Particle:
    def __init__(self, pos, vel, mass=1.0):
        self.pos, self.vel, self.mass = pos, vel, mass

    def kick(self, f, dt):
        self.vel = self.vel + f / self.mass * dt

    def drift(self, dt):
        self.pos = self.pos + self.vel * dt

    @property
    def energy(self):
        return 0.5 * self.mass * np.sum(self.vel**2)


class System:
    def __init__(self, ps):
        self.ps = ps

    def forces(self):
        fs = []
        for i, p in enumerate(self.ps):
            f = np.zeros(2)
            for j, q in enumerate(self.ps):
                if i != j:
                    d = q.pos - p.pos
                    f = f + q.mass * d / (np.sum(d * d) + 0.1) ** 1.5
            fs.append(f)
        return fs

    def step(self, dt):
        for p, f in zip(self.ps, self.forces()):
            p.kick(f, dt)
        for p in self.ps:
            p.drift(dt)

    def __len__(self):
        return len(self.ps)


@case(rng.normal(size=(3, 2)), 3)
def nbody(x, n):
    sys = System([Particle(r, np.zeros(2)) for r in x])
    for _ in range(n):
        sys.step(0.1)
    return sum(p.energy for p in sys.ps) + len(sys)


@case(System([Particle(rng.normal(size=2), rng.normal(size=2), 1.5) for _ in range(3)]), 3)
def nbody_arg(sys, n):
    for _ in range(n):
        sys.step(0.1)
    return sum(p.energy for p in sys.ps)


class Node:
    def __init__(self, v, children=()):
        self.v = v
        self.children = list(children)

    def total(self):
        return self.v**2 + sum(c.total() for c in self.children)

    def walk(self):
        yield self
        for c in self.children:
            yield from c.walk()


@case(1.5)
def tree(x):
    t = Node(x, [Node(2 * x), Node(x * x, [Node(3.0)])])
    return t.total() + sum(n.v for n in t.walk())


@case(Node(1.5, [Node(2.0), Node(0.5, [Node(3.0)])]))
def tree_arg(t):
    return t.total() + sum(n.v for n in t.walk())


class Dual:
    __slots__ = ("re", "du")

    def __init__(self, re, du=0.0):
        self.re, self.du = re, du

    def __add__(self, o):
        o = o if isinstance(o, Dual) else Dual(o)
        return Dual(self.re + o.re, self.du + o.du)

    __radd__ = __add__

    def __mul__(self, o):
        o = o if isinstance(o, Dual) else Dual(o)
        return Dual(self.re * o.re, self.re * o.du + self.du * o.re)

    __rmul__ = __mul__

    def __repr__(self):
        return f"Dual({self.re}, {self.du})"


@case(1.5)
def duals(x):
    d = Dual(x, 1.0)
    y = 3.0 * d * d + d * 2.0 + 1.0
    return y.re * y.du


@case(1.5, 4)
def duals_loop(x, n):
    d = Dual(x, 1.0)
    y = Dual(1.0)
    for _ in range(n):
        y = y * d + 1.0
    return y.du


# linked list / stack
class Stack:
    def __init__(self):
        self.data = []

    def push(self, v):
        self.data.append(v)

    def pop(self):
        return self.data.pop()

    def __bool__(self):
        return bool(self.data)

    def __len__(self):
        return len(self.data)


@case(1.5, 2.5)
def rpn(x, y):
    s = Stack()
    for tok in "xy*x+y-".replace("x", "a").replace("y", "b"):
        if tok == "a":
            s.push(x)
        elif tok == "b":
            s.push(y)
        else:
            r, l = s.pop(), s.pop()
            s.push({"*": operator.mul, "+": operator.add, "-": operator.sub}[tok](l, r))
    return s.pop()


# closures
@case(1.5)
def counter(x):
    def make():
        total = 0.0

        def add(v):
            nonlocal total
            total += v
            return total

        return add

    a, b = make(), make()
    a(x)
    a(x * x)
    b(3.0)
    return a(1.0) * b(x)


@case(1.5)
def partials(x):
    f = functools.partial(functools.partial(lambda a, b, c: a * b + c, x), 2.0)
    return f(x) + f(c=3.0)


@case(X, [1.0, 2.0, 3.0])
def mixed(x, ws):
    ys = map(lambda p: p[0] * p[1], zip(x, ws))
    return sum(y * y for y in ys) + max(zip(ws, x), key=lambda p: p[0])[1]


@case(X)
def obj_in_dict(x):
    d = {}
    for i, n in enumerate("ab"):
        d[n] = Particle(x * i, x)
    d["a"].pos += x
    d["b"].mass *= 3.0
    return sum(np.sum(p.pos) * p.mass for p in d.values())


@case(X)
def ret_obj(x):
    def mk():
        return Particle(x, 2 * x), Particle(x * x, x)

    a, b = mk()
    a, b = b, a
    a.kick(x, 0.5)
    return np.sum(a.vel * b.pos)


@case(X)
def swap_attrs(x):
    p = Particle(x, x * x)
    p.pos, p.vel = p.vel, p.pos
    return np.sum(p.pos * p.vel * x)


@case(X, 3)
def swap_loop(x, n):
    p = Particle(x, x * x)
    for _ in range(n):
        p.pos, p.vel = p.vel, p.pos * 2.0
    return np.sum(p.pos**2 * x + p.vel)


@case(X, 3)
def obj_rebuilt(x, n):
    p = Particle(x, x * x)
    hist = []
    for i in range(n):
        p = Particle(p.pos + 0.1 * p.vel, p.vel * 0.9, p.mass * 1.1)
        hist.append(p.energy)
    return sum(hist) + np.sum(p.pos)


@case(X, 5)
def while_obj(x, n):
    p = Particle(x, x)
    i = 0
    while i < n:
        p.drift(0.1)
        if np.sum(p.pos**2) > 4.0:
            break
        i += 1
    return p.energy + np.sum(p.pos)


@dataclass(order=True)
class Ver:
    major: int
    minor: float = 0.0


@case(1.5)
def order(x):
    return x * 2.0 if Ver(1, 2.0) < Ver(2, 1.0) else x


@dataclass(frozen=True)
class State:
    x: np.ndarray
    t: float

    def next(self, dt):
        return dataclasses.replace(self, x=self.x + dt * np.sin(self.x), t=self.t + dt)


@case(State(X, 0.0), 4)
def frozen(s, n):
    while s.t < 0.35:
        s = s.next(0.1)
    return np.sum(s.x) * s.t


@pytest.mark.parametrize(("f", "args", "options"), PROGRAMS, ids=[f.__name__ for f, _, _ in PROGRAMS])
def test_program(f, args, options):
    check_gradient(f, *args, **options)
