"""Programs that random ones led to, one of each kind that was once wrong or crashed: checked as random programs are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.random.checking import check
from tests.random.program import Program

FOUND: list[Any] = []
COLUMN, ROW, SQUARE = "np.array([[0.3], [-0.7]])", "np.array([0.3, -0.7, 1.2])", "np.array([[0.3, -0.7], [1.2, 0.4]])"
SINGLE = "np.array([0.3, -0.7, 1.2], dtype=np.float32)"


def found(name: str, args: str, argnums: tuple[int, ...] = (0,)) -> Callable[[str], None]:
    def register(body: str) -> None:
        FOUND.append(pytest.param(Program(f"import math\n\nimport numpy as np\n\n\n{body.strip()}\n", args, argnums), id=name))

    return register


# ---------------------------------------------------------------- lengths

found("a carried array becomes shorter", f"({SQUARE},)")("""
def f(s):
    for _ in range(1):
        s = np.sum(s, axis=0, keepdims=True)
    return np.sum(s @ s.T)
""")
found("a carried array becomes longer", f"({ROW}, 0.4)", (0, 1))("""
def f(x, w):
    y = x[:1]
    for _ in range(3):
        y = y + w * x
    return np.sum(y**2)
""")
found("a carried array is joined to itself", f"({ROW},)")("""
def f(x):
    y = x
    for _ in range(2):
        y = np.concatenate([y, np.sin(y)])
    return np.sum(y**2)
""")
found("a branch changes the length", f"({SQUARE}, 1, {SQUARE})", (0, 2))("""
def f(x, c, w):
    if c > 0:
        x = np.sum(x, axis=0, keepdims=True)
    return np.sum((x + w) ** 2)
""")
found("the sum of an empty list is a number", f"(np.ones((2, 3, 1)), {ROW})", (0, 1))("""
def f(d, c):
    total = sum([row for row in d if np.sum(row) > 9])
    return np.sum(total + np.array([np.sum(c) for _ in range(len(c))])) + np.mean(total)
""")
found("a sum over no trips beside a larger array", f"(np.zeros((0, 3, 1)), {ROW})", (0, 1))("""
def f(d, c):
    s = 0
    for row in d:
        s = s + row
    return np.sum((s + c) ** 2)
""")
found("zeros like what no trip has bound", f"({SQUARE}, 0.5)", (0, 1))("""
def f(a, s):
    for _ in range(3):
        h = []
        for row in a:
            h.append(np.concatenate([row[:1], row[:1]]))
            return s * np.sum(row)
        z = h[1]
    return np.mean(z)
""")
found("the item of a shape whose value is not needed", f"({SQUARE},)")("""
def f(s):
    y = np.mean(np.einsum("ij,jk,k->i", s, s, s[0]), -1, keepdims=True)
    return y.sum()
""")
found("lengths are added and then multiplied", f"({SQUARE},)")("""
def f(x):
    return np.concatenate([x, x], axis=1).ravel()[np.argmax(x)]
""")
found("a letter of length 1 in einsum", f"({SQUARE}, {COLUMN})", (0, 1))("""
def f(x, y):
    return np.sum(np.sin(np.einsum("ij,ij->i", x, y)))
""")

found("arrays of a list differ in their lengths", "(np.array([[0.504], [-0.787], [0.35]]),)")("""
def f(x):
    return np.sum(sum([np.stack([u for u in row if u > -0.2] + [row[0]]) for row in x]))
""")
found("a loop that always breaks has not run all its trips", f"([{COLUMN}],)")("""
def f(c):
    q = []
    for _ in range(2):
        q.append(c)
        break
    return np.sum(np.mean(q, axis=0))
""")

# ---------------------------------------------------------------- dtypes

found("an arange of a length is of integers", f"({SQUARE},)")("""
def f(b):
    return np.sum(((np.arange(len(b)) * np.vdot(b, b))[:, np.newaxis] * b)[1])
""")
found("np.full of an integer is of integers", f"({ROW},)")("""
def f(x):
    y = np.full(3, len(x)) * x
    return np.sum(y[[0, 0]])
""")
found("a float64 scalar beside float32", f"(np.array(-1.1), {SINGLE})", (0, 1))("""
def f(c, x):
    s = np.sum(x)
    for _ in range(3):
        s = s + x.mean() * c
    return s
""")
found("the seed 1 in np.where", f"({ROW}, [0.3, -1.2])", (0, 1))("""
def f(x, b):
    return np.where(np.any(x), x[0], b[0]) + 1
""")
found("the adjoint of one item of a list in float32", f"([{', '.join([SINGLE] * 9)}],)")("""
def f(b):
    return np.sum([0.5 for e in b], axis=0) + b[2].sum()
""")

found("a median in float32 on one path", f"({SINGLE}, 0.5)")("""
def f(x, s):
    return 0.0 if s > 0.7 else np.median(x)
""")
found("a float64 made of float32 on one path", f"({SINGLE}, 0.5)")("""
def f(x, s):
    for _ in x:
        if s > 0.7:
            return np.float64(np.std(x))
    return x[0]
""")

# ---------------------------------------------------------------- names and numbers

found("the range of an inner loop reads what the loop binds", f"({ROW},)")("""
def f(x):
    result = x
    for _ in x:
        for _ in range(1, len(result)):
            result = x
            if 0:
                return x[0]
    return x.sum()
""")
found("a loop with a break in a branch that is known", f"({ROW}, {ROW}, [0.5, 0.4])", (0, 1))("""
def f(x, d, params):
    q = 0
    while q < 2:
        q += 1
        if x.ndim:
            for _ in params:
                if q:
                    break
            d = x[[0]].ravel()
    return np.sum(d)
""")
found("an array of a trip's own is written to in a branch", f"({SQUARE}, False)")("""
def f(s, b):
    if np.any(s):
        for _ in range(2):
            for out in s:
                r = s[[0, 1, 0]]
                r[1] = out
    return np.sum(s)
""")
found("an array of an inner branch is written to", "(np.array(-1.436), 1.0)")("""
def f(s, y):
    if y < 0:
        pass
    elif s < 0:
        for first in (s, s):
            g = np.ones(3)
            g[1] += first
    return s * y
""")
found("a row that is scaled in a loop after another one", f"({SQUARE},)")("""
def f(c):
    y = c
    for _ in range(3):
        y = y
    for row in y:
        row *= 0.5
    return np.sum(y)
""")
found("a number on one path, an array on the other", f"({ROW}, 0.4, 1)", (0, 1))("""
def f(x, c, n):
    w = c if n > 0 else np.broadcast_to(c, x.shape)
    return np.sum(w * c)
""")
found("a smallest value of unknown rank", f"({COLUMN},)")("""
def f(x):
    total = [x.squeeze()]
    for _ in range(-1):
        for _, v in total:
            u = min(v, 0.4) * 1.0
    return np.sum(total)
""")
found("the length of what cannot have one", f"({ROW}, {SQUARE})", (0, 1))("""
def f(s, a):
    if np.sum(s) < 9:
        return np.sum(s)
    for _ in s:
        u, v = [u for u in a.squeeze()]
        return np.sum(u)
    return 0.0
""")
found("a transpose of unknown rank", f"({ROW}, 0.4)", (0, 1))("""
def f(x, s):
    y = 0 if s > 0.8 else np.stack([x, x])
    return np.sum(y.T)
""")
found("the hypotenuse at the origin", "(0.0, np.array([0.0, 0.5]))", (0, 1))("""
def f(c, x):
    return math.hypot(c, 2 * c) + np.sum(np.hypot(x, c))
""")


found("a row is read in an inner loop, then written to", f"({SQUARE},)")("""
def f(b):
    for row in b:
        row += sum([v * v for v in row])
    return np.sum(b**2)
""")
found("rows are read in a comprehension beside a loop over them", f"({SQUARE},)")("""
def f(b):
    for i, row in zip({"w": 1, "b": 2}, b):
        row /= 2.0 + np.sum([np.sum(r) for r in b]) ** 2
    return np.sum(b**2)
""")

found("an array of a list is written to before a loop", f"({ROW},)")("""
def f(x):
    e = [x * 1.0, x]
    np.put(e[0], 0, 0.5)
    for _ in range(3):
        e[0] = e[0] * e[0]
    return np.sum(e[0])
""")
found("the array of a list that may be empty", f"({SQUARE}, 0.5)", (0, 1))("""
def f(x, s):
    t = []
    for row in x:
        y = np.sin(row[:, None] * s / x[0])
        if s > 9:
            t.append(y)
    return np.sum(np.array(t) ** 2) + s
""")
found("a generator expression in another one", f"({ROW}, 0.5)", (0, 1))("""
def f(x, a):
    return sum(sum(v for v in [a, 3.0]) * e for e in x if a) + sum(max(u for u in x.ravel()) for e in x if x.ndim)
""")
found("a list is poisoned before a loop that writes", f"({ROW}, {SQUARE})", (0, 1))("""
def f(x, g):
    for t in g:
        pass
    y = g.copy()
    g += 0.5
    for row in y:
        row[0] = x[0]
    return np.sum(y)
""")

found("two items of a dict are one array, which a loop writes to", f"({SQUARE}, 0.4)", (0, 1))("""
def f(x, s):
    d = dict(m=x, v=s, new=x)
    for i, (_, row) in enumerate(zip(d["new"], d["new"])):
        row += i
        d["v"] = 1.3
    return np.mean(d["m"]) * d["v"]
""")
found("an item of a list is one array throughout a loop, another is replaced", f"({SQUARE}, 0.4)", (0, 1))("""
def f(x, s):
    p = [x, x * s, x]
    for i in range(3):
        p[1] = p[1] * p[0]
        x[0] += 1.0
        p[0] *= 2.0
    return np.mean(p[0] * p[1] + p[2] + x)
""")
found("a generator expression over a variable of that name around it", f"({SQUARE},)")("""
def f(x):
    for u in x:
        pass
    k = 2.0
    a = sum(sum(u for u in u) for u in x)
    b = max(max((u for u in u.ravel())) for u in x.ravel())
    return a * b + sum((lambda u, k=u: u * k)(v) for v, u in zip(x[0], x[1])) * k
""")

found("rows are read after the array that a loop walks was written to", f"({SQUARE},)")("""
def f(x):
    s = 0.0
    for row in x:
        x *= 0.5
        s += np.sum(row * row)
    for row in x:
        x[[0, 1]] = x
        if np.sum(row):
            s = s + np.sum(row)
    return s
""")
found("a reshape of an argument that lies in order is a view", f"({SQUARE},)")("""
def f(x):
    x.ravel()[0] = 2.0
    v = x.reshape(4)
    v[1] *= x[0, 0] * v[2]
    w = x[1].reshape(-1)
    w[0] = 0.3 * w[1]
    return np.sum(x * x) + np.sum(v)
""")

found("lists in a list of lists are added item by item", f"(0.7, {ROW})", (0, 1))("""
def f(x, y):
    t, outer = 0.0, []
    for i in range(3):
        inner = []
        for j in range(2):
            inner.append([x * i, x + j])
        outer.append(inner)
    for inner in outer:
        for a, b in inner:
            t = t + np.sum(a * b)
    return t
""")
found("a name of a list before is that of a list in a list", f"(0.7, {ROW})", (0, 1))("""
def f(x, y):
    t, outer = 0.0, []
    for i in range(3):
        inner = []
        for j in range(2):
            inner.append(x * i + y[j])
        outer.append(inner)
    for inner in outer:
        for a in inner:
            t = t + a * a
    return t + sum(inner)
""")

WITHOUT_AXES = [
    "np.tensordot(a, a, axes=1)", "np.where(s > 0, s, 2.0)", "np.squeeze(a[:1])", "np.reshape(s, ())", "np.copy(s)",
    "np.array(s)", "np.asarray(s)", "np.transpose(s)", "np.select([s > 0], [s], 0.5)", "np.broadcast_to(s, ()).copy()",
    "np.full((), s)", "np.squeeze(a[:1]).copy()", "np.asarray(s).astype(float)", "np.roll(np.array(s), 1)",
    "np.array(s)[...]", "a[..., 0]",
]  # fmt: skip
SCALARS = [
    "np.squeeze(np.sum(a))", "np.flip(np.array(s))", "np.float64(s)", "np.array(s)[()]", "np.sum(a)", "a[0]", "np.array(s) * 1.0",
    "np.nan_to_num(s)", "np.einsum('i,i', a, a)", "np.take(a, 0)", "np.sum(a).T", "np.sum(a).copy()",
]  # fmt: skip
IN_PLACE = [
    "z = {}; w = z; z += 1.0; return s * np.sum(a) * w + s * w * w",
    "p = [0.0, {}]\n    for i, v in enumerate(p):\n        v += i\n    return s * p[1]",
    "z = {}; w = z\n    if s > 0:\n        z *= 2.0\n    return s * w",
    "p = {{'k': {}}}; q = p['k']\n    for _ in range(2):\n        q += s\n    return p['k'] * s",
    "z = {0}; y = {0}; z *= s; return z * y",
    "z = {}\n    for _ in range(3):\n        w = z\n        z = z + s\n        z *= 2.0\n    return z * w",
    "def grown(z, n):\n        if n > 0:\n            z += s\n            return grown(z, n - 1)\n        return z\n"
    "    w = {}; return grown(w, 2) * w",
]


@pytest.mark.parametrize("body", IN_PLACE)
@pytest.mark.parametrize("value", WITHOUT_AXES + SCALARS)
def test_what_has_no_axes_is_changed_in_place_where_it_is_an_array(value: str, body: str) -> None:
    text = f"import numpy as np\n\n\ndef f(a, s):\n    {body.format(value)}\n"
    outcome = check(Program(text, "(np.array([0.7, 1.2]), 0.4)", (0, 1)))
    assert outcome.sort == "fine", f"{outcome.sort}: {outcome.reason}\n{outcome.detail}"


@pytest.mark.parametrize(
    "body",
    [
        "z = np.where(s > 0, s, 2.0) if s > 0 else s; w = z; z += 1.0; return z * w",
        "z = np.array(s)\n    for _ in range(2):\n        w = z\n        z += s\n        z = z * 2.0\n    return z * w",
        "z = []\n    for _ in range(3):\n        z.append(np.where(s > 0, s, 2.0))\n    w = z[0]; w += 1.0; return sum(z)",
    ],
)
def test_what_may_be_an_array_or_a_number_is_not_changed_in_place(body: str) -> None:
    outcome = check(Program(f"import numpy as np\n\n\ndef f(s):\n    {body}\n", "(0.4,)", (0,)))
    assert (outcome.sort, "may be an array without axes or a number" in outcome.reason) == ("refused", True), outcome


SEEN_ELSEWHERE = [
    "for row in [b, b, b]:\n        if 0:\n            return row\n        row *= 2.0\n    return np.mean(row)",
    "for row in b:\n        row[0] = 0.5\n        b = b * 2.0\n    return np.sum(b)",
    "for row in b:\n        row[0] = 0.5\n        b = b[::-1]\n    return np.sum(b)",
    "s = 0.0\n    for h in b:\n        s += np.sum(b)\n        for j in range(2):\n            if j:\n"
    "                h = b[0] * 0\n            else:\n                h += 1.0\n                b = b\n    return s",
    "acc = [row for row in b][1]; acc /= 2.0; return np.sum(b)",
    "for row in b:\n        last = row\n    last /= 2.0\n    return np.sum(b)",
    "rows = [row for row in b]; b[0] = 1.0; return np.sum(rows[0])",
]


@pytest.mark.parametrize("body", SEEN_ELSEWHERE)
def test_rows_that_outlive_their_loop_are_not_lost(body: str) -> None:
    outcome = check(Program(f"import numpy as np\n\n\ndef f(b):\n    {body}\n", f"({SQUARE},)", (0,)))
    assert outcome.sort in ("fine", "refused"), f"{outcome.sort}: {outcome.reason}"


LIST_OF_TUPLES = [
    "for a, b in p:\n        t = t + a * b",
    "t = p.pop()[1]",
    "t = p[0][0] + p[1][1]",
    "t = sum(a * b for a, b in p)",
]


@pytest.mark.parametrize("use", LIST_OF_TUPLES)
def test_the_derivative_of_a_list_of_tuples_is_refused_and_not_lost(use: str) -> None:
    text = f"def f(x):\n    t, p = 0.0, []\n    for i in range(3):\n        p.append((x * i, x + i))\n    {use}\n    return t\n"
    outcome = check(Program(text, "(0.4,)", (0,)))
    assert outcome.sort == "refused" and "the derivative of a " in outcome.reason, outcome


def test_a_list_in_a_list_is_not_changed_under_the_name_of_a_loop() -> None:
    text = """
def f(x):
    t, outer, inner = 0.0, [], []
    for i in range(3):
        inner = [x * i, x]
        outer.append(inner)
    for inner in outer:
        t = t + inner[0]
    inner.append(inner[0])
    return t + sum(len(o) * x for o in outer)
"""
    outcome = check(Program(text, "(0.4,)", (0,)))
    assert outcome.sort in ("fine", "refused"), outcome


def test_the_guard_asks_how_an_argument_lies_where_that_matters() -> None:
    import numpy as np

    import srcdiff
    from srcdiff.errors import SrcdiffError

    def f(x: Any) -> Any:
        v = x.reshape(4, 3)
        v[1] *= 3.0
        return np.sum(x * x) + np.sum(v)

    def g(x: Any) -> Any:
        v = x.ravel()
        v[1] *= 3.0
        return np.sum(v * v)

    x = np.arange(12.0).reshape(3, 4)
    turned = np.arange(12.0).reshape(4, 3).T
    bar = srcdiff.grad(f)(x)
    assert bar[0].tolist() == [1.0, 3.0, 5.0, 57.0]
    with pytest.raises(SrcdiffError, match="may share memory"):
        srcdiff.grad(f)(turned)
    gradient = srcdiff.grad(g)
    assert gradient(turned)[0, :2].tolist() == [0.0, 54.0]
    assert gradient(x)[0, :2].tolist() == [0.0, 18.0]


@pytest.mark.parametrize("program", FOUND)
def test_it_is_right(program: Program) -> None:
    outcome = check(program)
    assert outcome.sort == "fine", f"{outcome.sort}: {outcome.reason}\n{outcome.detail}"


def test_the_hypotenuse_has_the_derivative_0_at_the_origin() -> None:
    import math

    import numpy as np

    import srcdiff

    def f(x: Any, y: Any) -> Any:
        return np.sum(np.hypot(x, y)) + math.hypot(0.0, y[0])

    bars = srcdiff.grad(f, argnums=(0, 1))(np.zeros(2), np.array([0.0, 0.5]))
    assert [bar.tolist() for bar in bars] == [[0.0, 0.0], [0.0, 1.0]]
