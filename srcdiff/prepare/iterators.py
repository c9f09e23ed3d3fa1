"""What gives its items one by one, as Python says it: the text of these functions is put in place of the loops over them.

for y in map(f, xs): …      →      for x in xs: y = f(x); …
"""

from __future__ import annotations

from typing import Any


def mapped(fn: Any, xs: Any) -> Any:
    for x in xs:
        yield fn(x)


def mapped_over(fn: Any, rows: Any) -> Any:
    for row in rows:
        yield fn(*row)


def filtered(fn: Any, xs: Any) -> Any:
    for x in xs:
        if fn(x):
            yield x


def rejected(fn: Any, xs: Any) -> Any:
    for x in xs:
        if not fn(x):
            yield x


def counted(xs: Any, start: Any) -> Any:
    n = start
    for x in xs:
        yield n, x
        n = n + 1


def beside(xs: Any, ys: Any) -> Any:
    i = 0
    for x in xs:
        if i >= len(ys):
            break
        yield x, ys[i]
        i = i + 1


def beside_first(ys: Any, xs: Any) -> Any:
    i = 0
    for x in xs:
        if i >= len(ys):
            break
        yield ys[i], x
        i = i + 1


def chained(parts: Any) -> Any:
    for part in parts:
        yield from part


def taken_while(fn: Any, xs: Any) -> Any:
    for x in xs:
        if not fn(x):
            break
        yield x


def dropped_while(fn: Any, xs: Any) -> Any:
    is_on = False
    for x in xs:
        if is_on or not fn(x):
            is_on = True
            yield x


def first_of(xs: Any, stop: Any) -> Any:
    if stop > 0:
        i = 0
        for x in xs:
            yield x
            i = i + 1
            if i >= stop:
                break


def counting(start: Any, step: Any) -> Any:
    n = start
    while True:
        yield n
        n = n + step


def repeating(x: Any, times: Any) -> Any:
    for _ in range(times):
        yield x


def forever(xs: Any) -> Any:
    while True:
        yield from xs


def accumulated(xs: Any, fn: Any) -> Any:
    total = xs[0]
    yield total
    for x in xs[1:]:
        total = fn(total, x)
        yield total


def accumulated_from(xs: Any, fn: Any, initial: Any) -> Any:
    total = initial
    yield total
    for x in xs:
        total = fn(total, x)
        yield total


def product_of_two(xs: Any, ys: Any) -> Any:
    for x in xs:
        for y in ys:
            yield x, y


def product_of_three(xs: Any, ys: Any, zs: Any) -> Any:
    for x in xs:
        for y in ys:
            for z in zs:
                yield x, y, z


def pairs(xs: Any) -> Any:
    for i in range(len(xs)):
        for j in range(i + 1, len(xs)):
            yield xs[i], xs[j]


def pairs_or_twice(xs: Any) -> Any:
    for i in range(len(xs)):
        for j in range(i, len(xs)):
            yield xs[i], xs[j]


def ordered_pairs(xs: Any) -> Any:
    for i in range(len(xs)):
        for j in range(len(xs)):
            if i != j:
                yield xs[i], xs[j]
