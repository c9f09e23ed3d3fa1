"""Arrays that are written to: items, slices, masks, views, aliases, helpers; each program against central differences.

Each program runs unchanged as Python. `prog` notes the arguments that it is run with; `refuse` says that it has to be refused.
"""

import copy

import numpy as np
import pytest

from srcdiff import grad, value_and_grad
from srcdiff.errors import KindError, SrcdiffError, SyntaxNotAccepted
from tests.support.gradients import check_gradient

R = np.random.default_rng(0)
A4, M, S = R.normal(size=4), R.normal(size=(3, 4)), R.normal(size=(4, 4))
PROGRAMS, REFUSED = {}, {}


def prog(*args, refuse=False):
    def noted(f):
        (REFUSED if refuse else PROGRAMS)[f.__name__] = (f, args)
        return f

    return noted


@prog(A4)
def view_read_after_base(x):
    y = x * 2
    v = y[1:]
    y[2] = x[0] ** 2
    return np.sum(v * v)


@prog(A4)
def view_of_view(x):
    y = x * 1.0
    a = y[1:]
    b = a[1:]
    b[0] = x[0] * x[1]
    a[0] = b[0] * 2
    return np.sum(y**2)


@prog(M)
def transposed_write(x):
    y = x.copy()
    t = y.T
    t[1] = t[0] * t[2]
    return np.sum(y**3)


@prog(M)
def row_updates(x):
    y = x.copy()
    for i in range(3):
        row = y[i]
        row *= 2.0
        row -= row.mean()
        row[0] = row[1] * row[2]
    return np.sum(y**2)


@prog(M)
def rows_by_iter(x):
    y = x.copy()
    for row in y:
        row /= np.sqrt(np.sum(row**2))
    return np.sum(y * np.arange(4.0))


@prog(M)
def rows_enumerate(x):
    y = x.copy()
    for i, row in enumerate(y):
        row[i] = np.sin(row[i - 1]) * i
    return np.sum(y**2)


@prog(A4)
def iterate_changing(x):
    y = x.copy()
    s = 0.0
    for v in y:
        s = s + v * v
        y[3] = y[3] * v
    return s + y[3]


@prog(A4)
def swap_buffers(x):
    u = x.copy()
    v = np.zeros_like(u)
    for k in range(3):
        v[1:-1] = 0.5 * (u[2:] + u[:-2]) * u[1:-1]
        v[0] = u[0]
        v[-1] = u[-1]
        u, v = v, u
    return np.sum(u * u)


def step(u, v):
    v[1:-1] = 0.5 * (u[2:] * u[:-2]) + u[1:-1]
    v[0] = u[0]


@prog(A4)
def helper_writes(x):
    u = x.copy()
    v = np.zeros(4)
    step(u, v)
    step(v, u)
    return np.sum(u * v)


@prog(A4)
def cond_alias_read(x):
    y = x * 2
    z = x * 3
    w = y if x[0] > 0 else z
    return np.sum(w * y)


@prog(A4)
def cond_alias_write(x):
    y = x * 2
    z = x * 3
    w = y if x[0] > 0 else z
    w[0] = x[1] ** 2
    return np.sum(w)


@prog(A4, refuse=True)
def cond_alias_write_read(x):
    y = x * 2
    z = x * 3
    w = y if x[0] > 0 else z
    w[0] = x[1] ** 2
    return np.sum(y)


@prog(A4)
def branch_write(x):
    y = x.copy()
    if x[0] > -10:
        y[1] = x[2] * x[3]
    else:
        y[2] = 0.0
    return np.sum(y**2)


@prog(A4)
def loop_branch_write(x):
    y = x.copy()
    for i in range(4):
        if y[i] > 0:
            y[i] = y[i] ** 2
        elif i > 1:
            y[i - 1] += y[i] * y[0]
    return np.sum(y**2)


@prog(A4)
def break_write(x):
    y = x.copy()
    for i in range(4):
        y[i] = y[i] * y[i - 1]
        if y[i] > 100:
            break
        y[0] += y[i] ** 2
    return np.sum(y**2)


@prog(A4)
def while_write(x):
    y = x.copy()
    n = 0
    while n < 3:
        y[n] = y[n + 1] * y[n]
        n += 1
    return np.sum(y**2)


@prog(A4)
def early_return_write(x):
    y = x.copy()
    for i in range(4):
        y[i] *= y[i - 1]
        if i == 2:
            return np.sum(y**2)
    return y[0]


@prog(A4)
def mask_writes(x):
    y = x.copy()
    y[y < 0] = 0.0
    y[y > 0.3] *= 2.0
    y[x > 0] += x[x > 0] ** 2
    return np.sum(y**2)


@prog(A4, np.array([0, 2, 2, 1]))
def fancy_index(x, idx):
    y = np.zeros(4)
    y[idx] = x**2
    y[idx] += x
    y[idx] *= 3.0
    return np.sum(y * np.arange(1.0, 5.0))


@prog(A4, np.array([0, 2, 2, 1]))
def add_at(x, idx):
    y = np.zeros(4)
    np.add.at(y, idx, x * x)
    np.subtract.at(y, idx, 2 * x)
    return np.sum(y**2)


@prog(A4)
def scalar_fill(x):
    y = np.empty(4)
    y[:] = x[0]
    y[1:3] = x[1] * 2
    y.fill(x[2])
    y[0] = x[3]
    return np.sum(y**2)


@prog(M)
def broadcast_set(x):
    y = np.zeros((3, 4))
    y[:] = x[0]
    y[1:, :2] = x[:2, :1]
    y[:, 3] += x[:, 0]
    return np.sum(y**2)


@prog(A4)
def aug_whole(x):
    y = x * 1.0
    z = y
    y *= x
    y += 1.0
    y -= x * z
    y /= 2.0
    y **= 2
    return np.sum(z)


@prog(A4)
def arg_aug(x):
    x *= 2.0
    x[0] += x[1] * x[2]
    return np.sum(x**2)


@prog([A4.copy(), A4 * 2])
def list_items(ps):
    for p in ps:
        p *= 2.0
        p[0] = p[1] * p[2]
    return np.sum(ps[0] * ps[1])


@prog({"a": A4.copy(), "b": A4 * 2})
def dict_items(ps):
    ps["a"][1] = ps["b"][0] * ps["b"][1]
    ps["b"] *= ps["a"] if False else 2.0
    return np.sum(ps["a"] * ps["b"])


@prog(A4)
def list_of_arrays_alias(x):
    y = x * 2
    l = [y, x * 3]
    y[0] = x[1] ** 2
    l[1][2] = y[0]
    return np.sum(l[0] * l[1])


@prog(A4, refuse=True)
def append_same(x):
    u = x.copy()
    hs = []
    for i in range(12):
        u *= 1.1
        hs.append(u)
    return np.sum(hs[0] * hs[3])


@prog(A4)
def append_copy(x):
    u = x.copy()
    hs = []
    for i in range(12):
        u *= 1.1
        u[0] = u[1] * u[2]
        hs.append(u.copy())
    return np.sum(hs[0] * hs[3])


@prog(A4)
def append_fresh(x):
    hs = []
    for i in range(12):
        u = np.zeros(4)
        u[i % 4] = x[i % 4] ** 2 * i
        hs.append(u)
    t = 0.0
    for h in hs:
        t += np.sum(h * h)
    return t


@prog(A4)
def cumulative(x):
    y = np.zeros(5)
    for i in range(4):
        y[i + 1] = y[i] + x[i] * y[i] + x[i]
    return y[4] * y[2]


@prog(S)
def lu(a):
    a = a + 4 * np.eye(4)
    n = 4
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]
    return np.sum(np.log(np.abs(np.diag(a)))) + a[3, 1]


@prog(S)
def gs(a):
    q = np.zeros((4, 4))
    for j in range(4):
        v = a[:, j].copy()
        for i in range(j):
            v -= (q[:, i] @ a[:, j]) * q[:, i]
        q[:, j] = v / np.sqrt(v @ v)
    return np.sum(q * np.arange(16.0).reshape(4, 4))


@prog(A4)
def two_equal_exprs(x):
    c = np.sin(x)
    b = np.sin(x)
    c -= b * b
    b[0] = 5.0
    return np.sum(c * b)


@prog(A4)
def reshape_view(x):
    y = np.zeros(4)
    m = y.reshape(2, 2)
    m[0] = x[:2]
    m[1, 1] = x[3] ** 2
    y[1] *= 3.0
    return np.sum(m**2) + y[0]


@prog(A4)
def ravel_write(x):
    y = np.zeros((2, 2))
    y.ravel()[2] = x[0] ** 2
    y[0] = x[1:3]
    return np.sum(y**3)


@prog(M)
def swap_rows(x):
    y = x * 1.0
    y[[0, 2]] = y[[2, 0]]
    y[0], y[1] = y[1].copy(), y[0].copy()
    y[:, 0], y[:, 1] = y[:, 1], y[:, 0]
    return np.sum(y * np.arange(12.0).reshape(3, 4) ** 2)


@prog(A4)
def elementswap(x):
    y = x * 1.0
    for i in range(3):
        if y[i] > y[i + 1]:
            y[i], y[i + 1] = y[i + 1], y[i]
    return np.sum(y * np.arange(4.0) ** 2)


@prog(A4)
def int_buffer(x):
    k = np.zeros(4, dtype=int)
    k[1] = 2
    k[2] += 3
    k[0] = 1.7
    return np.sum(x**2 * k)


CROSSED = np.array([[0, 1], [0, 0]])


@prog(S)
def lists_combined_with_each_other_repeat(x):
    y = x * 2
    y[[0, 1], CROSSED] = x[:2, :2]
    y[[2, 3], CROSSED] += x[:2, :2]
    return np.sum(y**2 * np.arange(16.0).reshape(4, 4)) + np.sum(y[[0, 1], CROSSED] ** 2 * np.arange(4.0).reshape(2, 2))


@prog(S)
def lists_of_numbers_that_the_run_knows(x):
    y = x * 2
    i, j = np.argmax(x[0]), np.argmin(x[0])
    if i != j:
        y[[i, j]] = y[[j, i]] * x[0]
    y[np.ix_([0, i], [1, 2])] += x[:2, :2] ** 2
    for e in range(2):
        y[np.ix_([e, e + 1], [1 + e, e])] += x[:2, :2] ** 2
        y[[e, (e + i) % 4]] *= x[0]
    return np.sum(y**2 * np.arange(16.0).reshape(4, 4))


@prog(A4)
def whole_by_slice(x):
    h = np.zeros(4)
    total = 0.0
    for t in range(3):
        h[:] = np.tanh(h * x + x)
        total += np.sum(h**2)
        h[...] = x[t]
    return total + h[0]


@prog(A4)
def slices_overlap(x):
    y = x * 1.0
    y[1:] = y[:-1]
    y[:2] += y[2:]
    y[::2] *= y[1::2]
    return np.sum(y**2)


@prog(A4)
def nested_fn(x):
    y = x * 1.0

    def put(i, v):
        y[i] = v

    put(0, x[1] * 2)
    put(1, x[0] * y[0])
    return np.sum(y**2)


@prog(M)
def col_view_loop(x):
    y = x.copy()
    for j in range(4):
        c = y[:, j]
        c[0] = c[1] * c[2]
        c += x[0, j]
    return np.sum(y**2)


@prog(A4)
def stale_view_loop(x):
    y = x.copy()
    v = y[:2]
    t = 0.0
    for i in range(3):
        y[i] = y[i] * y[i + 1]
        t += v[0] * v[1]
    return t


@prog(A4, refuse=True)
def carried_view(x):
    y = x.copy()
    v = y[:2]
    for i in range(2):
        v[0] = v[0] * y[i + 1]
        v = y[i + 1 : i + 3]
    return np.sum(y**2) + v[0]


@prog(np.float32(A4))
def f32(x):
    y = np.zeros(4, dtype=np.float32)
    y[:] = x
    y[1] = y[0] * y[2]
    y *= np.float32(2)
    return np.sum(y**2)


@prog(A4)
def outarg(x):
    b = np.empty(4)
    np.exp(x, out=b)
    np.multiply(b, x, b)
    b += np.add(x, 1, out=np.empty(4))
    return np.sum(b)


@prog(A4)
def sort_inplace(x):
    y = x.copy()
    y.sort()
    y[0] = y[1] * 2
    return np.sum(y * np.arange(4.0))


@prog(S)
def filldiag(x):
    y = x.copy()
    np.fill_diagonal(y, x[0] ** 2)
    np.fill_diagonal(y, 0.5) if False else None
    return np.sum(y**2)


@prog(A4)
def putmask(x):
    y = x.copy()
    np.putmask(y, y < 0, 0.1)
    np.put(y, [0, 3], [x[1] * x[2], 2.0])
    np.copyto(y, x * x, where=x > 0.2)
    return np.sum(y**2)


@prog(A4)
def reduceouter(x):
    return np.sum(np.multiply.outer(x, x + 1)) + np.add.reduce(x**2) + np.multiply.reduce(x) + np.sum(np.add.accumulate(x) ** 2)


@prog(A4)
def zerod(x):
    s = np.zeros(())
    s += x[0]
    s[...] = s * x[1]
    s += np.sum(x**2)
    return s * 2.0


@prog(A4)
def write_then_loop_alias(x):
    y = x.copy()
    c = y
    for i in range(3):
        c = c + x
        c[0] = 2 * c[1]
    return np.sum(y * c)


@prog(A4)
def heat(x):
    u = x.copy()
    for _ in range(5):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u**2)


@prog(A4)
def heat_nl(x):
    u = x.copy()
    for _ in range(5):
        u[1:-1] += 0.1 * u[1:-1] * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[0] = u[-1] ** 2
    return np.sum(u**2)


@prog(A4)
def aug_alias_loop(x):
    u = x.copy()
    c = u
    for i in range(3):
        u *= x
        u[i] = c[i + 1]
    return np.sum(c * u)


@prog(A4)
def comprehension_write(x):
    y = np.zeros(4)
    for i, v in enumerate([t * t for t in x]):
        y[i] = v
    y[-1] -= y[0]
    return np.sum(y**2)


@prog(A4, 3)
def dp(x, n):
    t = np.full((n + 1, n + 1), np.inf)
    t[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            t[i, j] = (x[i - 1] - x[j]) ** 2 + min(t[i - 1, j], t[i, j - 1], t[i - 1, j - 1])
    return t[n, n]


@prog(M)
def ellipsis(x):
    y = np.zeros((3, 4))
    y[..., 0] = x[..., 1]
    y[..., 1:3] += x[..., :2] ** 2
    y[1, ...] *= 2
    y[None, 0, 1] = x[0, 0]
    return np.sum(y**2)


@prog(A4)
def cube(x):
    z = np.zeros((2, 2, 2))
    z[0] = x.reshape(2, 2)
    z[1, :, 0] = x[:2]
    p = z[1]
    p[0] = z[0, 1]
    q = p.T
    q[1, 1] = x[3] ** 2
    return np.sum(z**2)


@prog(M)
def nested_lists(x):
    buf = [np.zeros(4) for _ in range(3)]
    for i in range(3):
        buf[i][:] = x[i] ** 2
        buf[i][0] += buf[i - 1][1]
    return np.sum(buf[0] * buf[1] * buf[2])


@prog(A4, 5)
def states(x, T):
    H = [np.zeros(4) for _ in range(T + 1)]
    H[0][:] = x
    for t in range(T):
        H[t + 1][1:] = np.tanh(H[t][:-1] * x[0])
        H[t + 1][0] = H[t][3]
    return np.sum(H[T] * H[2])


@prog(A4, 5)
def iter_write(x, T):
    H = [x * (t + 1) for t in range(T)]
    for h in H:
        h *= h
        h[0] = h[1]
    return np.sum(H[1] * H[4])


@prog(A4, 5, refuse=True)
def same_twice(x, T):
    z = np.zeros(4)
    H = [z for t in range(T)]
    H[0][0] = x[0]
    return np.sum(H[1] * x)


@prog(A4, 5, refuse=True)
def copied_list(x, T):
    H = [x * t for t in range(T)]
    G = list(H)
    H[0][0] = x[0]
    return np.sum(G[0] * x)


@prog(A4, 5, refuse=True)
def item_alias(x, T):
    H = [x * t for t in range(T)]
    h = H[2]
    g = H[T - 3]
    h[0] = x[0] ** 2
    return np.sum(g * x)


@prog(A4, 5)
def item_alias_ok(x, T):
    H = [x * t for t in range(T)]
    h = H[2]
    h[0] = x[0] ** 2
    h[1] = h[0] * x[1]
    return np.sum(H[2] * x) + np.sum(H[T - 3])


@prog(A4, 5, refuse=True)
def held_outside(x, T):
    H = []
    for t in range(T):
        u = x * t
        H.append(u)
    H[T - 1][0] = 5.0
    return np.sum(u * x)


@prog(M[:, :1], M)
def value_with_more_axes_than_the_place(x, y):
    y = y.copy()
    y[:] = x[None]
    return np.sum(y * np.arange(4.0))


@prog(A4[:1])
def value_of_one_with_more_axes(x):
    y = np.zeros((2, 3))
    y[:, 1:] = x[None, None] * 2.0
    return np.sum(y**2)


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient(name):
    f, args = PROGRAMS[name]
    check_gradient(f, *copy.deepcopy(args))


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_tracked_is_refused(name):
    f, args = REFUSED[name]
    with pytest.raises(SrcdiffError) as caught:
        grad(f)(*copy.deepcopy(args))
    assert "share memory" in str(caught.value) and "copy" in str(caught.value)


def adds_to_the_first(a, b):
    a[0] = a[0] * b[1]
    return np.sum(a * b)


def test_arguments_that_share_memory():
    x = np.arange(1.0, 9.0)
    gradient = grad(adds_to_the_first)
    gradient(x.copy(), x)
    gradient(x[::2], x[1::2])  # interleaved
    assert len(gradient._lives) == 1
    for a, b in ((x, x), (x[:-1], x[1:])):
        with pytest.raises(KindError, match="two arguments of `adds_to_the_first` share memory"):
            gradient(a, b)
    values = [1.0, 2.0]

    def loss(a, b):
        a[0] = 3.0
        return a[0] * b[0]

    assert grad(loss, argnums=1)(values, [1.0, 2.0]) == [3.0, 0.0]
    with pytest.raises(KindError, match="are one object"):
        grad(loss)(values, values)
    assert np.array_equal(grad(lambda a, b: np.sum(a * b))(x, x), x)  # which is no matter where nothing is written


BUFFER = np.zeros(3)


def writes_into_the_module(x):
    BUFFER[0] = x[0] ** 2
    return np.sum(BUFFER * x)


def test_an_array_of_the_module_is_not_written_to():
    with pytest.raises(SyntaxNotAccepted, match="an array of the module is changed in place: `BUFFER`"):
        grad(writes_into_the_module)(np.ones(3))
    assert not BUFFER.any()


def test_a_write_that_numpy_refuses():
    def loss(x):
        counts = np.zeros(3, dtype=int)
        counts += x
        return np.sum(counts * x)

    with pytest.raises(KindError, match="an array of int64 is changed in place by values of float64"):
        grad(loss)(np.ones(3))


def test_writes_are_in_place_and_the_argument_is_copied_once():
    def loss(x):
        x[0] = x[1] * 2.0
        x[1:] *= 3.0
        return np.sum(x)

    x = np.array([1.0, 2.0, 3.0])
    source = value_and_grad(loss).source_for(x)
    assert source.count(".copy()") == 1 and "x[0] = x[1] * 2.0" in source


def test_what_is_overwritten_whole_is_not_copied_first():
    def states(U, x):
        h = np.zeros(4)
        total = 0.0
        for _ in range(3):
            h[:] = np.tanh(U @ h + x)
            total += np.sum(h**2)
        return total

    check_gradient(states, S, A4, argnums=(0, 1))
    assert "h.copy()" not in grad(states, argnums=(0, 1)).source_for(S, A4)


def back_substitution(U, b):
    b = b.copy()
    n = len(b)
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = b[i] / U[i, i]
        b[:i] -= U[:i, i] * x[i]
    return np.sum(x**2)


def test_slices_between_the_same_numbers_of_arrays_of_equal_length():
    gradient = grad(back_substitution, argnums=(0, 1))
    U = np.triu(S) + 3 * np.eye(4)
    check_gradient(back_substitution, U, A4, argnums=(0, 1))
    assert "unbroadcast" not in gradient.source_for(U, A4)
    gradient(U, A4)
    gradient(U[:3, :3], A4[:3])
    assert len(gradient._lives) == 1
    wide = np.vstack([U, U])  # another variant, since the lengths differ
    assert same_gradient(gradient(wide, A4), (np.vstack([gradient(U, A4)[0], np.zeros((4, 4))]), gradient(U, A4)[1]))


def same_gradient(a, b):
    return all(np.allclose(x, y, rtol=1e-12) for x, y in zip(a, b))
