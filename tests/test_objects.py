"""Objects with identity: attributes that are set, objects that are made, the operators and protocols of the user's classes."""

from __future__ import annotations

import copy
import dataclasses
import functools
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

import srcdiff
from srcdiff import grad
from tests.support.gradients import check_gradient

rng = np.random.default_rng(7)
X = rng.normal(size=3)
W = rng.normal(size=(3, 3))


class Cell:
    """Holds a state that it updates."""

    gain = 0.5

    def __init__(self, weight, state=0.0):
        self.weight = weight
        self.state = state
        self.steps = 0

    def step(self, x):
        self.state = np.tanh(self.weight @ x + self.gain * self.state)
        self.steps += 1
        return self.state

    @property
    def energy(self):
        return np.sum(self.state**2)

    @energy.setter
    def energy(self, value):
        self.state = self.state * value


class Leaky(Cell):
    gain = 0.25

    def __init__(self, weight, leak, **kwargs):
        super().__init__(weight, **kwargs)
        self.leak = leak

    def step(self, x):
        before = self.state
        super().step(x)
        self.state = self.state + self.leak * before
        return self.state


class Plain:
    pass


# ---------------------------------------------------------------- attributes that are set


def test_attributes_of_an_object_that_is_made():
    def f(x, w):
        cell = Cell(w)
        total = 0.0
        for _ in range(3):
            total += np.sum(cell.step(x))
        return total * cell.steps

    check_gradient(f, X, W, argnums=(0, 1))


def test_no_object_is_made_when_the_gradient_runs():
    def f(x, w):
        cell = Leaky(w, 0.5)
        cell.step(x)
        return cell.energy

    assert "Leaky(" not in grad(f).source_for(X, W)
    check_gradient(f, X, W, argnums=(0, 1))


def test_an_object_in_a_loop_of_unknown_length():
    def f(x, w, n):
        cell = Leaky(w, 0.1, state=x)
        for i in range(n):
            if i % 2:
                cell.step(x)
            else:
                cell.state = cell.state * 0.5
        return cell.energy + cell.steps * np.sum(x)

    check_gradient(f, X, W, 5)


def test_augmented_assignment_of_an_attribute():
    def f(x):
        p = Plain()
        p.w = x * 1.0
        p.w = p.w * 2.0
        p.k = x[0]
        p.k *= 3.0
        p.k += p.k * x[1]
        return np.sum(p.w) * p.k

    check_gradient(f, X)


def test_two_names_of_one_object():
    def f(x):
        a = Plain()
        a.v = x
        b = a
        b.v = b.v * a.v
        return np.sum(a.v * x)

    check_gradient(f, X)


def test_objects_within_objects_lists_and_dicts():
    def f(x):
        inner = Plain()
        inner.v = x
        outer = Plain()
        outer.inner = inner
        things = [outer, inner]
        named = {"it": things[0]}
        named["it"].inner.v = np.sin(inner.v)
        outer.inner.extra = 2.0
        return np.sum(things[1].v) * inner.extra

    check_gradient(f, X)


def test_an_attribute_that_one_path_sets():
    def f(x, flag):
        p = Plain()
        p.v = x
        if flag > 0:
            p.v = x * x
            p.k = 3.0
        else:
            p.k = x[0]
        return np.sum(p.v) * p.k

    check_gradient(f, X, 1)
    check_gradient(f, X, -1)


def test_an_attribute_of_the_class_until_it_is_set():
    def f(x, flag):
        cell = Cell(W)
        if flag > 0:
            cell.gain = np.sum(x)
        return cell.gain * np.sum(x)

    check_gradient(f, X, 1)
    check_gradient(f, X, -1)


def test_an_attribute_that_is_not_there():
    def f(x):
        p = Plain()
        return p.missing * x

    with pytest.raises(srcdiff.KindError, match="an object of class `Plain` has no attribute `missing`"):
        grad(f)(1.0)


def test_an_object_made_on_each_path():
    def f(x, flag):
        if flag > 0:
            p = Cell(W, x)
        else:
            p = Cell(W, 2.0 * x)
        q = p
        q.state = q.state * x
        return p.energy

    check_gradient(f, X, 1)
    check_gradient(f, X, -1)


def test_one_of_two_objects_may_be_read():
    def f(x, flag):
        p, q = Cell(W, x), Cell(W, 2.0 * x)
        r = p if flag > 0 else q
        return r.energy + p.energy

    check_gradient(f, X, 1)
    check_gradient(f, X, -1)


def test_one_of_two_objects_may_not_be_changed():
    def through(x, flag):
        p, q = Cell(W, x), Cell(W, 2.0 * x)
        r = p if flag > 0 else q
        r.state = x
        return p.energy

    def behind(x, flag):
        p, q = Cell(W, x), Cell(W, 2.0 * x)
        r = p if flag > 0 else q
        p.state = x * x
        return r.energy

    for f in (through, behind):
        with pytest.raises(srcdiff.SyntaxNotAccepted, match="may be one of two"):
            grad(f)(X, 1)


def test_one_of_two_lists_may_not_be_changed():
    def f(x, flag):
        xs, ys = [x], [x * x]
        zs = xs if flag > 0 else ys
        xs.append(3.0 * x)
        return sum(zs)

    with pytest.raises(srcdiff.SyntaxNotAccepted, match="may be one of two"):
        grad(f)(1.0, 1)


def test_two_names_on_each_path():
    def f(x, flag):
        if flag > 0:
            a = b = Cell(W, x)
        else:
            a = b = Cell(W, x * x)
        a.state = a.state * 2.0
        return b.energy

    check_gradient(f, X, 1)
    check_gradient(f, X, -1)


def test_an_object_made_anew_in_each_trip():
    def f(x, n):
        state = Cell(W, x)
        before = state
        for _ in range(n):
            before = state
            state = Cell(W, np.tanh(state.state * x))
        return state.energy + before.energy

    check_gradient(f, X, 3)


def test_an_object_that_is_changed_and_then_made_anew():
    def f(x, n):
        state = Cell(W, x)
        for _ in range(n):
            state.state = np.sin(state.state) * x
            state = Cell(W, state.state * 2.0)
        return state.energy

    check_gradient(f, X, 3)


def test_an_object_with_another_name_from_trip_to_trip_may_not_be_changed():
    def f(x, n):
        a = Cell(W, x)
        b = a
        total = 0.0
        for _ in range(n):
            a.state = a.state * 2.0
            total += b.energy
            b = Cell(W, x)
            a = b
        return total

    with pytest.raises(srcdiff.SyntaxNotAccepted, match="may be one of two"):
        grad(f)(X, 3)


def test_an_object_with_two_names_before_a_loop():
    def f(x, n):
        a = Cell(W, x)
        b = a
        total = 0.0
        for _ in range(n):
            a.state = a.state * 2.0
            total += b.energy
            a = Cell(W, x)
        return total

    with pytest.raises((srcdiff.SyntaxNotAccepted, srcdiff.KindError)):
        grad(f)(X, 3)


def test_an_attribute_that_holds_a_list():
    class Tape:
        def __init__(self):
            self.items = []

        def add(self, v):
            self.items.append(v)
            return self

    def f(x):
        tape = Tape()
        for i in range(3):
            tape.add(x * i).add(x)
        return sum(np.sum(v * v) for v in tape.items)

    check_gradient(f, X)


def test_a_list_in_an_object_in_a_loop_of_unknown_length():
    def f(x, n):
        tape = Plain()
        tape.items = []
        for _ in range(n):
            x = np.sin(x)
            tape.items.append(x)
        return sum(np.sum(v * v) for v in tape.items)

    check_gradient(f, X, 4)


# ---------------------------------------------------------------- objects that are passed in


def test_an_argument_keeps_what_it_holds():
    cell = Cell(W, X)

    def f(x, cell):
        first = cell.step(x)
        alias = cell
        alias.state = alias.state * 2.0
        return np.sum(first) * cell.energy + cell.steps * np.sum(x)

    check_gradient(f, X, cell)
    assert cell.steps == 0
    assert cell.state is X


def test_an_argument_is_changed_in_a_loop_and_on_a_path():
    def f(x, cell, n):
        for i in range(n):
            if i > 1:
                cell.gain = cell.gain * 1.5
            x = cell.step(x)
        return np.sum(x) * cell.gain

    check_gradient(f, X, Cell(W, X), 4)


def test_one_object_by_two_paths():
    def f(x, a, b):
        a.state = a.state * x
        return b.energy + np.sum(x)

    one, other = Cell(W, X), Cell(W, 2 * X)
    gradient = grad(f)
    check_gradient(f, X, one, other)
    assert np.allclose(gradient(X, one, one), 2 * X * X**2 + 1)
    assert np.allclose(gradient(X, one, other), 1)
    assert np.allclose(gradient(X, one, one), 2 * X * X**2 + 1)


def test_objects_are_differentiated_by():
    def f(cell, x):
        return np.sum(cell.step(x) * cell.step(x)) + cell.energy

    gradient = check_gradient(f, Leaky(W, 0.5, state=X), X, argnums=(0, 1))
    assert type(gradient[0]) is Leaky
    assert gradient[0].steps is None
    assert gradient[0].leak.shape == ()


def test_objects_in_containers_are_differentiated_by():
    def f(model, x):
        for cell in model["cells"]:
            x = cell.step(x)
        return np.sum(x) * model["scale"]

    gradient = check_gradient(f, {"cells": [Cell(W, X), Leaky(W, 0.1, state=X)], "scale": 2.0}, X)
    assert [type(c) for c in gradient["cells"]] == [Cell, Leaky]


def test_an_attribute_that_nothing_reads_has_a_zero_gradient():
    def f(cell):
        return np.sum(cell.weight)

    gradient = check_gradient(f, Cell(W, X))
    assert np.array_equal(gradient.state, np.zeros(3))


def test_a_gradient_runs_no_init():
    class Strict:
        __slots__ = ("size", "w")

        def __init__(self, w):
            if w is None or not np.all(w > 0):
                raise ValueError("w")
            self.w = w
            self.size = len(w)

    def f(s):
        return -np.sum(s.w * s.w)

    gradient = grad(f)(Strict(np.ones(2)))
    assert type(gradient) is Strict
    assert gradient.size is None
    assert np.array_equal(gradient.w, [-2.0, -2.0])


def test_another_attribute_compiles_anew():
    def f(p):
        return np.sum(p.v)

    p = Plain()
    p.v = X
    gradient = grad(f)
    assert vars(gradient(p)).keys() == {"v"}
    p.more = 2.0
    assert vars(gradient(p)) == {"v": pytest.approx(np.ones(3)), "more": 0.0}


def test_an_object_that_contains_itself():
    def f(p):
        return np.sum(p.v)

    p = Plain()
    p.v = X
    p.me = p
    with pytest.raises(srcdiff.KindError, match="contains itself"):
        grad(f)(p)
    assert np.array_equal(grad(lambda x, p: np.sum(x * p.me.v))(X, p), X)


# ---------------------------------------------------------------- dataclasses and NamedTuples


@dataclass
class Params:
    w: Any
    b: float = 0.5
    tags: list = field(default_factory=list)


@dataclass(frozen=True)
class Frozen:
    w: Any
    b: float = 0.5

    def scaled(self, k):
        return dataclasses.replace(self, w=self.w * k)


@dataclass
class Derived(Params):
    c: float = 2.0
    norm: Any = field(init=False)

    def __post_init__(self):
        self.norm = np.sqrt(np.sum(self.w**2))


@dataclass
class Seeded:
    v: Any
    scale: dataclasses.InitVar[float] = 2.0

    def __post_init__(self, scale):
        self.v = self.v * scale


@dataclass(frozen=True)
class Normed:
    v: Any

    def __post_init__(self):
        object.__setattr__(self, "v", self.v * 3.0)


class Pair(NamedTuple):
    a: Any
    b: Any = 2.0

    def swapped(self):
        return Pair(self.b, self.a)


def test_a_dataclass_that_is_changed():
    def f(p, x):
        p.w = p.w * x
        alias = p
        alias.b += 1.0
        return np.sum(p.w) * p.b

    params = Params(X, 2.0)
    gradient = check_gradient(f, params, X, argnums=(0, 1))
    assert type(gradient[0]) is Params
    assert params.b == 2.0


def test_dataclasses_are_made():
    def f(x):
        p = Params(x)
        q = Params(x * x, b=3.0)
        p.tags.append(x)
        p.tags.append(q.w)
        d = Derived(p.w, c=x[0])
        s, n = Seeded(x, 5.0), Normed(x)
        return np.sum(p.w) * q.b + d.norm * d.c + d.b + len(q.tags) + np.sum(p.tags[1]) + np.sum(s.v * n.v)

    check_gradient(f, X)


def test_frozen_dataclasses():
    def f(p, n):
        for _ in range(n):
            p = p.scaled(2.0)
        q = dataclasses.replace(p, b=p.b * 2.0)
        return np.sum(q.w**2) * q.b

    check_gradient(f, Frozen(X), 3)
    with pytest.raises(srcdiff.SyntaxNotAccepted, match="an object of class `Frozen` stays what it is"):

        def g(p):
            p.b = 3.0
            return p.b

        grad(g)(Frozen(X))


def test_asdict_and_astuple_and_replace():
    def f(x):
        p = Params(x, 2.0, [Frozen(x)])
        d = dataclasses.asdict(p)
        w, b, tags = dataclasses.astuple(p)
        q = dataclasses.replace(p, w=x * x)
        return np.sum(d["w"] * d["tags"][0]["w"]) * d["b"] + np.sum(w) * b + np.sum(q.w)

    check_gradient(f, X)


def test_comparison_of_dataclasses():
    def f(x):
        same = Frozen(1.0, 2.0) == Frozen(1.0, 2.0)
        other = Frozen(1.0, 2.0) != Frozen(1.0, 3.0)
        return x * 2.0 if same and other else x

    check_gradient(f, 3.0)


def test_named_tuples():
    def f(p, x):
        q = p.swapped()._replace(a=x)
        a, b = q
        return np.sum(a * b) + np.sum(Pair(x).a) * Pair(x).b + len(q) + np.sum(q._asdict()["b"])

    check_gradient(f, Pair(X, X * 2), X, argnums=(0, 1))


def test_nested_dataclasses_are_differentiated_by():
    def f(p):
        return np.sum(p.w.a * p.w.b) * p.b + sum(np.sum(t.w) for t in p.tags)

    gradient = check_gradient(f, Params(Pair(X, X), 2.0, [Frozen(X), Params(X)]))
    assert type(gradient.tags[1]) is Params


# ---------------------------------------------------------------- properties, methods, protocols


def test_property_with_a_setter():
    def f(x):
        cell = Cell(W, x)
        cell.energy = 3.0
        cell.energy *= 2.0
        return cell.energy

    check_gradient(f, X)


class Tools:
    scale = 3.0

    def __init__(self, w):
        self._w = w

    @staticmethod
    def twice(x):
        return 2.0 * x

    @classmethod
    def scaled(cls, x):
        return cls(x * cls.scale)

    @functools.cached_property
    def norm(self):
        return np.sum(self._w**2)

    def __getattr__(self, name):
        if name == "double":
            return self._w * 2.0
        raise AttributeError(name)


class MoreTools(Tools):
    scale = 5.0


def test_static_and_class_methods():
    def f(x):
        t = MoreTools.scaled(x)
        u = t.scaled(x)
        bound, unbound = t.twice, Tools.twice
        return np.sum(bound(x) * unbound(t._w)) + t.norm * t.norm + np.sum(u._w)

    check_gradient(f, X)


def test_getattr_hasattr_setattr():
    def f(x):
        t = Tools(x)
        setattr(t, "k", 2.0)
        a = getattr(t, "k")
        b = getattr(t, "twice")(x)
        c = getattr(Plain(), "absent", 4.0)
        d = 1.0 if hasattr(t, "_w") else 100.0
        e = 100.0 if hasattr(Plain(), "_w") else 1.0
        return np.sum(b) * a * c * d * e

    check_gradient(f, X)


def test_fallback_for_attributes():
    def f(x):
        return np.sum(Only(x).double * x)

    class Only:
        def __init__(self, w):
            self.w = w

        def __getattr__(self, name):
            return self.w * 2.0

    check_gradient(f, X)


def test_slots():
    class Slotted:
        __slots__ = ("v",)

        def __init__(self, v):
            self.v = v

    def f(x, s):
        s.v = s.v * x
        return np.sum(s.v * Slotted(x).v)

    def g(x):
        s = Slotted(x)
        s.other = x
        return np.sum(s.other)

    check_gradient(f, X, Slotted(X))
    with pytest.raises(srcdiff.KindError, match="has no attribute `other`"):
        grad(g)(X)


class Vec:
    """A vector with the operators of one."""

    __array_ufunc__ = None

    def __init__(self, *parts):
        self.parts = list(parts)

    def __add__(self, other):
        if not isinstance(other, Vec):
            return NotImplemented
        return Vec(*[a + b for a, b in zip(self.parts, other.parts)])

    def __radd__(self, other):
        return Vec(*[other + a for a in self.parts])

    def __sub__(self, other):
        return self + -other

    def __neg__(self):
        return Vec(*[-a for a in self.parts])

    def __mul__(self, k):
        return Vec(*[a * k for a in self.parts])

    __rmul__ = __mul__

    def __matmul__(self, other):
        return sum(a * b for a, b in zip(self.parts, other.parts))

    def __iadd__(self, other):
        self.parts = [a + b for a, b in zip(self.parts, other.parts)]
        return self

    def __pow__(self, n):
        return Vec(*[a**n for a in self.parts])

    def __getitem__(self, i):
        return self.parts[i]

    def __len__(self):
        return len(self.parts)

    def __iter__(self):
        return iter(self.parts)

    def __contains__(self, item):
        return item == "x"

    def __abs__(self):
        return np.sqrt(self @ self)

    def __float__(self):
        return float(self.parts[0])

    def __bool__(self):
        return len(self.parts) > 2

    def __lt__(self, other):
        return abs(self) < abs(other)

    def __eq__(self, other):
        return len(self) == len(other)

    def __call__(self, k):
        return self * k


def test_operators():
    def f(x, y):
        v, w = Vec(x, y), Vec(y, x * x)
        u = 0.5 + 2.0 * (v + w) - v * x
        u += v
        return u @ w + abs(u) + (u**2)[0] + float(w) + len(u) + v(3.0)[1]

    check_gradient(f, 0.5, 1.5, argnums=(0, 1))


def test_an_array_leaves_the_operator_to_the_object():
    def f(x):
        v = x * Vec(1.0, 2.0)
        return np.sum(v[0] * v[1])

    check_gradient(f, X)


def test_update_in_place_keeps_the_object():
    def f(x):
        v = Vec(x, x)
        w = v
        v += Vec(x, 1.0)
        return w @ w

    check_gradient(f, 0.5)


def test_protocols():
    def f(x):
        v = Vec(x, 2.0 * x)
        a, b = v
        total = a * b
        for part in v:
            total = total + part * part
        total = total * sum(v) + max(v) + [*v][1]
        if v:
            total = total * 100.0
        if "x" in v and "y" not in v and v == Vec(1.0, 2.0) and not v != Vec(1.0, 1.0):
            total = total * 2.0
        return total if v < Vec(10.0, 10.0) else total * 0.5

    check_gradient(f, 0.7)


def test_what_has_no_operator_is_refused():
    def f(x):
        return Plain() + x

    with pytest.raises(srcdiff.KindError, match="`\\+` is given an object of class `Plain`, which does not say what that is"):
        grad(f)(1.0)


def test_identity_of_objects():
    def f(x):
        a, b = Plain(), Plain()
        c = a
        return x * 2.0 if a is c and a is not b and a == c and a != b else x

    check_gradient(f, 1.0)


def test_methods_as_values():
    def f(x):
        cell = Cell(W, x)
        step = cell.step
        by_class = Cell.step
        step(x)
        by_class(cell, x)
        actions = {"go": cell.step}
        actions["go"](x)
        return cell.energy

    check_gradient(f, X)


def test_a_subclass_of_a_builtin_is_refused():
    class Mine(dict):
        pass

    def f(x):
        return Mine(a=x)["a"]

    with pytest.raises(srcdiff.NoRule, match="which extends `dict`"):
        grad(f)(1.0)


def test_objects_do_not_leak_between_calls():
    cell = Cell(W, X)
    gradient = grad(lambda x, cell: np.sum(cell.step(x)))
    first = gradient(X, cell)
    again = gradient(X, copy.deepcopy(cell))
    assert np.array_equal(first, again)


def weighted(x, weights=np.array([1.0, 2.0, 3.0]), *, cell=Cell(W, 2.0 * X)):  # noqa: B008
    return np.sum(x * weights * cell.state)


def test_defaults_that_are_arrays_and_objects():
    check_gradient(lambda x: weighted(x) * weighted(2.0 * x), X)


# ---------------------------------------------------------------- arrays that objects hold


class Grid:
    def __init__(self, values):
        self.values = values
        self.total = np.zeros(2)

    def relax(self, k):
        for i in range(1, len(self.values) - 1):
            self.values[i] += k * (self.values[i - 1] - self.values[i + 1])
        self.total[0] += np.sum(self.values)
        self.total[1:] *= 2.0


def test_an_object_writes_into_its_arrays():
    def f(x, n):
        grid = Grid(x * 1.0)
        for _ in range(n):
            grid.relax(0.1)
        return np.sum(grid.total) * grid.values[1]

    check_gradient(f, rng.normal(size=5), 3)


def test_the_arrays_of_an_argument_are_written_into():
    def f(x, grid, n):
        grid.values *= x
        for _ in range(n):
            grid.relax(0.5)
            grid.values[0] = grid.values[0] * x[0]
        return np.sum(grid.values * x) + grid.total[0]

    grid = Grid(rng.normal(size=4))
    check_gradient(f, rng.normal(size=4), grid, 2)
    assert np.array_equal(grid.total, np.zeros(2))


def test_the_arrays_of_an_argument_are_written_into_and_differentiated_by():
    def f(grid):
        view = grid.values[1:]
        grid.values[1] = grid.values[0] * 3.0
        grid.relax(0.5)
        return np.sum(view**2) + grid.total[0]

    gradient = check_gradient(f, Grid(rng.normal(size=4)))
    assert type(gradient) is Grid


def test_an_array_that_two_objects_hold():
    def f(x):
        y = x * 2.0
        a, b = Grid(y), Grid(y)
        a.values[0] = x[1]
        b.values += x
        return np.sum(y * a.values * b.values)

    check_gradient(f, rng.normal(size=3))


def test_a_list_of_an_argument_grows_in_the_view_of_the_function():
    def f(x, tape, n):
        for _ in range(n):
            tape.items.append(x * tape.items[-1])
        return sum(np.sum(v) for v in tape.items)

    tape = Plain()
    tape.items = [X]
    check_gradient(f, X, tape, 3)
    assert len(tape.items) == 1


SHARED = Plain()
SHARED.count, SHARED.items = 1.0, []


def test_objects_of_the_module_are_not_changed():
    def sets(x):
        SHARED.count = 2.0
        return x

    def grows(x):
        SHARED.items.append(x)
        return x

    for f in (sets, grows):
        with pytest.raises(srcdiff.SyntaxNotAccepted, match="is changed, which outlives the call"):
            grad(f)(1.0)
    assert grad(lambda x: x * SHARED.count)(1.0) == 1.0
