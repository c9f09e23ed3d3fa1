"""Lists and dicts that a function changes: gradients are right, and the caller's objects stay as they were."""

import copy
from collections import OrderedDict, defaultdict, deque

import numpy as np
import pytest

from srcdiff import KindError, SyntaxNotAccepted, grad
from tests.support.gradients import check_gradient

X = np.array([0.5, 1.5, 2.0])
PROGRAMS = []


def at(*args):
    """Register the program with the arguments that it is checked at."""

    def register(f):
        PROGRAMS.append(pytest.param(f, args, id=f.__name__))
        return f

    return register


@pytest.mark.parametrize("f, args", PROGRAMS)
def test_gradient(f, args):
    check_gradient(f, *args)


# ---------------------------------------------------------------- lists of known length


@at(X)
def items_that_are_written(x):
    b = [0.0] * 3
    b[0] = x[0]
    for i in range(1, 3):
        b[i] = b[i - 1] * x[i]
    b[0] += b[2]
    b[-1] *= 2
    return b[0] * b[1] + b[2]


@at(X)
def every_method(x):
    xs = [x[0], x[1]]
    xs[1] = xs[0] * xs[1]
    xs.append(xs[1] ** 2)
    xs.insert(1, x[2])
    xs.reverse()
    ys = xs.copy()
    del xs[0]
    xs.extend((x[0], 2.0))
    xs += [v * 2 for v in (x[1], x[2])]
    xs[1:2] = [xs[0], xs[1], x[1] * 3]
    del xs[4:6]
    total = xs.pop() * xs.pop(0) + len(xs) * xs[-1]
    xs.clear()
    xs *= 2
    names = ["b", "a", "c"]
    names.sort()
    names.remove("b")
    return total + sum(ys) * ys[1] + len(xs) + names.index("c") + names.count("a")


@at(X)
def sorted_in_place(x):
    xs = [x[2] * x[0], x[1], x[0]]
    xs.sort()
    ys = [x[1] ** 2, x[2]]
    ys.sort(reverse=True)
    return xs[0] + 2 * xs[1] * xs[2] + ys[0] * 3 + ys[1]


@at(X)
def swapped_items(x):
    s = [0.0, 1.0]
    for v in x:
        s[0], s[1] = s[1], s[0] + v * s[1]
    return s[0] * s[1]


def _grow(items, v):
    items.append(v)
    items[0] = v * 2


@at(X)
def update_of_what_was_just_computed(x):
    xs = [0.5] * len(x)
    for i in range(len(x)):
        t = xs[i] + x[i]
        xs[i] += x[i]
        xs[0] += t
    return xs[0] * t * xs[1]


@at(X)
def one_list_by_several_names(x):
    items = [x[0]]
    other = items
    pair = (items, other)
    held = {"l": items}
    _grow(held["l"], x[1])
    pair[1].insert(1, x[2])
    return items[0] * other[1] + len(items) * other[2]


@at(X)
def one_row_in_two_places(x):
    row = [x[0], x[1]]
    grid = [row, row, [x[2], x[2]]]
    grid[0][1] = x[0] * x[2]
    grid[2][0] += grid[1][1]
    return grid[1][1] * 3.0 + grid[2][0]


@at(X)
def alias_made_on_both_paths(x):
    if x[0] > 0.1:
        t = [x[0]]
        y = t
    else:
        t = [x[1]]
        y = t
    y.append(x[2])
    return sum(t) * 2 + y[0]


@at(X)
def list_made_anew_in_each_trip(x):
    q = [x[0], x[1]]
    for v in x:
        q = [q[1], v * q[0]]
        q[0] *= 2
    q[1] += 1
    return q[0] * q[1]


@at(X)
def default_of_a_nested_function(x):
    def total(v, seen=[]):  # noqa: B006
        seen.append(v)
        return sum(seen)

    return total(x[0]) + total(x[1]) * 2


# ---------------------------------------------------------------- lists whose length the run decides


@at(X, 5)
def written_at_places_of_the_run(x, n):
    b = [0.0] * n
    for i in range(n):
        b[i] = x[i % 3] * (i + 1)
    for i in range(1, n):
        b[i] += b[i - 1] ** 2
        b[-i] = b[i] * 0.5
    return b[-1] * b[0] + b[1]


@at(X)
def stack_that_is_emptied(x):
    s = [x[0]]
    t = 0.0
    while len(s) < 6:
        s.append(s[-1] * x[1] * 0.5)
    while s:
        v = s.pop()
        t = t + v * v
    return t


@at(X)
def queue_that_is_emptied(x):
    q = []
    for v in x:
        q.insert(0, v * v)
    q.insert(1, x[0])
    t = q.pop(-2)
    while q:
        t = t * 2 + q.pop(0) ** 2
    return t


@at(X)
def joined_in_a_loop(x):
    acc = []
    for v in x:
        acc = acc + [v * v]
    out = []
    for v in x:
        out += [v * 3, v]
    out.extend(acc)
    return sum(acc) * out[1] + out[-1] * len(out)


@at(X)
def grows_after_another_took_it(x):
    kept = [v * v for v in x if v > 0]
    longer = kept + [x[0]]
    kept.append(x[1] * 3)
    kept[0] = x[2]
    return sum(longer) * 2 + sum(kept) * longer[0]


@at(X)
def changed_as_a_whole(x):
    xs = [v * v for v in x]
    xs.reverse()
    xs.sort()
    head = xs[0]
    del xs[:1]
    xs[:] = [v * head for v in xs]
    return xs[0] * xs[1]


@at(X)
def emptied_within_a_trip(x):
    xs = []
    for v in x:
        xs.append(v)
        if len(xs) > 1:
            xs.clear()
            xs.append(v * v)
    return sum(xs)


@at(X, 4)
def repeated(x, n):
    xs = [x[0], x[1] * x[2]] * n
    xs[n] = x[0] ** 2
    return sum(xs) * xs[1]


@at([np.array([1.0, 2.0]) * i for i in range(1, 12)])
def list_of_arrays_that_is_written(xs):
    ys = list(xs)
    for i in range(1, len(ys)):
        ys[i] = np.tanh(ys[i - 1]) + xs[i]
    return np.sum(ys[-1] * ys[3])


@at(X)
def another_list_of_another_length(x):
    xs = [v * v for v in x]
    ys = [x[2], 1.5, x[0], x[1]]
    k = xs[len(x) - 2]
    for _ in range(len(x) - 1):
        xs = ys[:]
    return sum(xs) * k


# ---------------------------------------------------------------- lists in lists


@at(X, 3)
def row_at_a_place_of_the_run(x, n):
    grid = [[x[0], 0.1], [0.2, x[1]]]
    grid[n - 2][0] *= x[2]
    return grid[1][0] * grid[n - 3][0] + grid[0][1]


@at(X)
def table_of_costs(x):
    y = (0.7, 1.1, 1.9, 0.2)
    n, m = len(x), len(y)
    d = [[1e3] * (m + 1) for _ in range(n + 1)]
    d[0][0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            c = (x[i - 1] - y[j - 1]) ** 2
            d[i][j] = c + min(d[i - 1][j], d[i][j - 1], d[i - 1][j - 1])
    return d[n][m]


@at(X)
def grid_that_is_written(x):
    grid = [[0.0] * 3 for _ in range(2)]
    for i in range(2):
        for j in range(3):
            grid[i][j] = x[j] * (i + 1) + (grid[i - 1][j] if i else 0.0)
    grid[1][0] *= grid[0][2]
    grid[0][1] += grid[1][1] ** 2
    return grid[1][2] * grid[0][1] * grid[1][0]


@at(X)
def row_that_is_a_name(x):
    n = len(x)
    a = [[x[i] * x[j] for j in range(n)] for i in range(n)]
    for i in range(n):
        row = a[i]
        for j in range(n):
            row[j] = row[j] * row[j - 1]
            a[i][j] += row[j]
    first = a[0]
    a[0][1] = x[2]
    return sum(first) * a[2][1] + first[1]


@at(X)
def copies_of_rows(x):
    a = [[v, v * 2] for v in x]
    b = [r[:] for r in a]
    b[0][1] = a[1][0] * x[2]
    a[2][1] = b[0][1]
    return a[2][1] * b[0][1] + a[0][1] * b[2][1]


@at(X)
def rows_that_branches_change(x):
    a = [[v, v * 2] for v in x]
    for k in range(3):
        if x[k] > 1:
            a[k][0] = a[k - 1][1] * x[k]
        else:
            a[k][1] += x[0]
    return sum(a[0]) * a[1][0] + a[2][0]


@at(X)
def cube_that_is_written(x):
    c = [[[0.0] * 2 for _ in range(2)] for _ in range(2)]
    for i in range(2):
        for j in range(2):
            for k in range(2):
                c[i][j][k] = x[i] * x[j] + k
    c[1][0][1] *= c[0][1][0]
    return c[1][0][1] * c[1][1][1]


@at(X)
def rows_that_grow(x):
    rows = [[v] for v in x]
    for i in range(len(x)):
        rows[i].append(x[0] * x[i])
        if i > 0:
            rows[0].append(x[i])
    total = 0.0
    for r in rows:
        total += r[-1] * r[0]
    return total * rows[0][len(x) - 1]


def test_writes_to_a_table_print_as_they_are_written():
    def f(x, n):
        t = [[0.0] * n for _ in range(n)]
        for i in range(n):
            for j in range(n):
                t[i][j] = x * i + j
        return t[n - 1][n - 1]

    source = grad(f).source_for(2.0, 3)
    assert "t_bar[i][j] = 0.0" in source or "[i][j] = 0.0" in source
    assert "deepcopy" not in source and grad(f)(2.0, 3) == 2.0


def one_row_many_times(x):
    row, rows = [0.0] * 3, []
    for _ in range(len(x)):
        rows.append(row)
    rows[0][1] = x[0]
    return rows[1][1] * x[1]


def rows_of_a_repeated_list(x):
    rows = [[0.0] * 2] * len(x)
    rows[0][1] = x[0]
    return rows[1][1] * x[1]


def rows_of_a_copy(x):
    a = [[v] for v in x]
    b = list(a)
    b[0][0] = x[2]
    return a[0][0] * x[1]


@pytest.mark.parametrize("f", [one_row_many_times, rows_of_a_repeated_list, rows_of_a_copy])
def test_a_row_that_stands_in_two_places_is_not_written(f):
    with pytest.raises(SyntaxNotAccepted, match="may stand elsewhere as well"):
        grad(f)(X)


def row_that_was_replaced(x):
    a = [[v, v] for v in x]
    r = a[1]
    a[1] = [x[0], x[2]]
    r[0] = x[2] ** 2
    return a[1][0] * r[1]


def test_a_row_that_was_replaced_is_not_written():
    with pytest.raises(SyntaxNotAccepted, match="stands in a list whose length the run decides"):
        grad(row_that_was_replaced)(X)


# ---------------------------------------------------------------- dicts


@at(X)
def dict_as_scratch_space(x):
    d = {"a": x[0]}
    d["b"] = d["a"] * x[1]
    d["a"] = d["b"] * 2.0
    d["a"] += d["b"] ** 2
    d.update(c=d["a"] + d.get("zzz", x[2]))
    d.setdefault("z", d["c"])
    e = d | {"a": 1.0 * d["a"]}
    e |= {"q": d["z"]}
    del d["z"]
    last = e.popitem()
    return sum(d.values()) + last[1] * e.pop("a") + e.pop("none", 1.0)


@at(X)
def keys_of_unrolled_loops(x):
    d = {}
    for i in range(3):
        d[i] = x[i] ** 2
    for i in range(3):
        for j in range(i):
            d[i, j] = d[i] * d[j]
    return sum(d[k] for k in d) + d[(2, 1)] + (1 if (1, 0) in d else 0)


@at(X)
def dict_comprehensions(x):
    squares = {i: v * v for i, v in enumerate((x[0], x[1], x[2]))}
    table = dict([("u", squares[0]), ("v", squares[2])], w=x[1])
    return sum(squares.values()) * table["u"] + table["v"] * table["w"]


@at(X)
def lists_in_dicts(x):
    d = {}
    for k in ("a", "b"):
        d.setdefault(k, []).append(x[0] * 2)
        for v in x:
            d[k].append(v)
    return sum(d["a"]) * d["b"][2]


@at(X)
def dict_that_a_loop_changes(x):
    d = {"s": 0.0, "l": [1.0]}
    e = d
    for v in x:
        e["s"] += v * v
        d["l"].append(v * d["s"])
    return d["s"] * e["l"][-1]


@at(X)
def collections(x):
    groups = defaultdict(float)
    lists = defaultdict(list)
    for i, k in enumerate(("a", "b", "a")):
        groups[k] += x[i] ** 2
        lists[k].append(x[i])
    window = deque([0.0, 0.0], maxlen=2)
    for v in x:
        window.append(v * v)
    ends = deque()
    ends.append(x[0])
    ends.appendleft(x[1])
    ordered = OrderedDict([("u", x[0])])
    ordered["w"] = x[1]
    return groups["a"] * groups["b"] + window[0] * window.popleft() + ordered["u"] * ordered["w"] * ends.pop() + sum(lists["a"])


@at(np.array([1.0, -2.0, 3.0]))
def keys_that_the_run_counts(x):
    kept = [v * v for v in x if v > 0]
    table = {i: v * 2.0 for i, v in enumerate(kept)}
    total = table[1] * len(table)
    for k in table:
        total += table[k] * k
    return sum(kept) + sum([w * k for k, w in table.items()]) + total * sum(table.values())


# ---------------------------------------------------------------- the caller's objects


def _changes_its_arguments(xs, d):
    xs[1] = xs[0] * xs[2]
    xs.append(d["k"][0] * xs[1])
    del xs[0]
    d["k"][0] = xs[1] ** 2
    d["new"] = d.pop("old") * 2
    return sum(xs) * d["k"][0] + d["new"]


@pytest.mark.parametrize("n", [3, 12])
def test_arguments_that_are_changed_have_the_gradient_of_what_they_were(n):
    xs, d = [0.1 * (i + 1) for i in range(n)], {"k": [2.0, 3.0], "old": 0.5}
    before = copy.deepcopy((xs, d))
    by_xs, by_d = grad(_changes_its_arguments, argnums=(0, 1))(xs, d)
    assert (xs, d) == before

    def numeric(change):
        sides = []
        for eps in (1e-6, -1e-6):
            ys, e = copy.deepcopy((xs, d))
            change(ys, e, eps)
            sides.append(_changes_its_arguments(ys, e))
        return (sides[0] - sides[1]) / 2e-6

    for i in range(n):
        assert np.isclose(by_xs[i], numeric(lambda ys, e, eps, i=i: ys.__setitem__(i, ys[i] + eps)))
    assert np.isclose(by_d["k"][0], numeric(lambda ys, e, eps: e["k"].__setitem__(0, e["k"][0] + eps)))
    assert np.isclose(by_d["old"], numeric(lambda ys, e, eps: e.__setitem__("old", e["old"] + eps)))
    assert by_d["k"][1] == 0.0


LOG = []


def changes_a_list_of_the_module(x):
    LOG.append(x)
    return x * x


def changes_a_default(x, seen=[1.0]):  # noqa: B006
    seen.append(x)
    return x * seen[-1]


def calls_one_with_a_default(x):
    return changes_a_default(x)


@pytest.mark.parametrize("f, name", [(changes_a_list_of_the_module, "LOG"), (calls_one_with_a_default, "seen")])
def test_what_outlives_the_call_is_not_changed(f, name):
    with pytest.raises(SyntaxNotAccepted, match=f"`{name}` is changed, which outlives the call"):
        grad(f)(2.0)


# ---------------------------------------------------------------- what cannot be followed


def one_of_two(x):
    a, b = [x[0]], [x[1]]
    y = a if x[0] > 0.1 else b
    y.append(x[2])
    return sum(a) + 2 * sum(b)


def alias_before_the_loop(x):
    base = [x[0]]
    now = base
    for v in x:
        now.append(v)
        now = [x[2]]
    return sum(base) + now[0]


def alias_on_one_path(x):
    if x[0] > 0.1:
        t, y = [x[0]], [x[1]]
    else:
        t = [x[1]]
        y = t
    y.append(x[2])
    return sum(t) * 2 + y[0]


def alias_from_trip_to_trip(x):
    a = b = [x[0], 1.0]
    for v in x:
        a = b = [v, v * a[0]]
    a[1] = a[1] * 2
    return b[0] * a[1] + b[1]


def alias_from_a_loop_in_a_loop(x):
    xs, ys = [v * v for v in x], [v + 0.1 for v in x]
    for _ in range(len(x)):
        for v in x:
            xs = ys
            if v > 2:
                break
    ys.append(x[0])
    return sum(xs) * xs[-1]


def alias_from_a_branch_in_a_loop(x):
    xs, ys = [v * v for v in x], [v + 0.1 for v in x]
    for v in x:
        if v > 1:
            xs = ys
    ys[0] = x[1]
    return sum(xs) * xs[0]


@pytest.mark.parametrize(
    "f",
    [
        one_of_two,
        alias_before_the_loop,
        alias_on_one_path,
        alias_from_trip_to_trip,
        alias_from_a_loop_in_a_loop,
        alias_from_a_branch_in_a_loop,
    ],
)
def test_a_change_of_one_of_two_objects_is_refused(f):
    with pytest.raises(SyntaxNotAccepted, match="that may be one of two"):
        grad(f)(X)


def row_changed_after_it_was_appended(x):
    rows = []
    for v in x:
        row = [v]
        rows.append(row)
        row.append(v * v)
    return rows[0][1]


def test_a_list_in_a_list_of_the_run_is_not_changed():
    with pytest.raises(SyntaxNotAccepted, match="stands in a list whose length the run decides"):
        grad(row_changed_after_it_was_appended)(X)


def key_that_comes_in_a_trip(x):
    d = {"a": 0.0}
    for v in x[x > -100.0]:
        d["b"] = v * 2
        d["a"] += d["b"]
    return d["a"]


def test_a_dict_has_its_keys_before_the_loop():
    with pytest.raises(KindError, match="another structure in each trip"):
        grad(key_that_comes_in_a_trip)(X)


def key_that_comes_in_a_trip_over_an_argument(x):
    d = {"a": 0.0}
    for v in x:
        d["b"] = v * 2
        d["a"] += d["b"]
    return d["a"] * d["b"]


def test_a_loop_over_an_argument_is_unrolled_where_it_has_to_be():
    check_gradient(key_that_comes_in_a_trip_over_an_argument, X)
    gradient = grad(key_that_comes_in_a_trip_over_an_argument)
    assert [len(gradient(x)) for x in (X, X[:2])] == [len(X), 2]
