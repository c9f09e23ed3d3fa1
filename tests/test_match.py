"""match with every pattern: the gradient is that of the case that is taken."""

import math
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from srcdiff import SyntaxNotAccepted, grad
from tests.support.gradients import check_gradient

X = np.array([0.5, 1.5, 2.0])
ONE = 1


@dataclass
class Circle:
    r: float


@dataclass
class Rect:
    w: float
    h: float


class Pair(NamedTuple):
    a: float
    b: float


def measure(shape):
    match shape:
        case Circle(r):
            return math.pi * r * r
        case Rect(w=w, h=h) if w > h:
            return w * h
        case Rect(w, h):
            return 2 * w * h
        case Pair(a, b):
            return a - b
        case (a, b, *rest) if rest:
            return a * b * rest[0]
        case [a, b]:
            return a / b
        case {"k": k, **others}:
            return k * len(others) + others["m"]
        case float() | int():
            return shape * 3.0
        case None:
            return 1.0
        case "one" | "two" as name:
            return 1.0 * len(name)
        case _:
            return shape * 0.25 if isinstance(shape, np.floating) else 0.25


def by_structure(x):
    shapes = (
        Circle(x[0]),
        Rect(x[0], x[1]),
        Rect(x[2], x[1]),
        Pair(x[0], x[1]),
        (x[0], x[1], x[2]),
        [x[0], x[1]],
        deque([x[2], x[1]]),
        {"k": x[0], "m": x[1]},
        OrderedDict(k=x[1], m=2.0),
        float(x[2]),
        None,
        "two",
        "three",
        x[1],
    )
    total = 0.0
    for shape in shapes:
        total += measure(shape)
    return total


def by_value(x):
    total = 0.0
    for i in range(len(x)):
        match i:
            case 0:
                total += x[i]
            case math.pi | 1 | 5:
                total += x[i] ** 2
            case k if x[k] > 1:
                total += x[k] ** 3
            case _:
                total -= 1
    return total


def with_jumps(x):
    total = 0.0
    for v in x:
        match v > 1.8:
            case True:
                continue
        match (v, 2):
            case (w, 3):
                total += w
                break
            case (w, n):
                total += w**n
    match total > 100:
        case True:
            return total
    return total * x[2]


def of_a_list_of_the_run(x):
    kept = [v for v in x if v > 0]
    match kept:
        case [a, b]:
            return a * b
        case [a, *rest, b]:
            return a * sum(rest) * b
        case _:
            return 0.0


def names_stay_bound(x):
    match (x[0], x[1]):
        case (a, b) if a > b:
            c = a
        case (a, 2):
            c = a * 3
        case (c, _):
            pass
    return c * a * b


@pytest.mark.parametrize("f", [by_structure, by_value, with_jumps, of_a_list_of_the_run, names_stay_bound])
def test_gradient(f):
    check_gradient(f, X)


def test_a_case_that_is_known_is_all_that_is_emitted():
    def f(x, mode):
        match mode:
            case "square":
                return x * x
            case "cube":
                return x**3

    assert "if" not in grad(f).source_for(2.0, "cube")
    assert grad(f)(2.0, "cube") == 12.0


def test_alternatives_that_bind_are_not_chosen_by_the_run():
    def f(x):
        match (x, 1.0):
            case (1.0, b) | (b, 2.0):
                return b * x
            case _:
                return x

    with pytest.raises(SyntaxNotAccepted, match="alternatives that bind names"):
        grad(f)(2.0)
