"""Control of derivatives: where none passes, what becomes of an adjoint, and rules of the user's own."""

import functools
import math

import numpy as np
import pytest
from scipy import special

import srcdiff
from srcdiff import (
    checkpoint,
    custom_jvp,
    custom_vjp,
    grad,
    hvp,
    jacfwd,
    jvp,
    map_adjoint,
    stop_gradient,
    vhp,
    vjp,
    watch_adjoint,
)

X = np.array([0.3, -0.7, 1.1])


def source(f, *args, by=grad):
    return by(f, comments=False).source_for(*args) if by is grad else by(f).source_for(*args)


# ---------------------------------------------------------------- stop_gradient


def test_no_derivative_passes_a_stop():
    def f(x):
        return np.sum(x * stop_gradient(np.sin(x)))

    np.testing.assert_allclose(grad(f)(X), np.sin(X))
    assert f(X) == np.sum(X * np.sin(X))
    value, dot = jvp(f, (X,), (np.ones(3),))
    assert value == f(X)
    np.testing.assert_allclose(dot, np.sum(np.sin(X)))


def test_a_stop_prints_as_nothing():
    assert source(lambda x: x * stop_gradient(x) ** 2, 2.0) == "def lambda_grad(x):\n    return x**2\n"


def test_a_loop_keeps_what_is_stopped_once():
    def f(x):
        s = 0.1
        for _ in range(5):
            s = s + math.sin(s * x) * stop_gradient(s)
        return s

    assert "kept.append((product, s))" in source(f, 1.0)

    def by_hand(x):
        s, s_dot = 0.1, 0.0
        for _ in range(5):
            s, s_dot = s + math.sin(s * x) * s, s_dot + math.cos(s * x) * (s_dot * x + s) * s
        return s_dot

    assert grad(f)(1.0) == pytest.approx(by_hand(1.0), rel=1e-14)
    assert jvp(f, (1.0,), (1.0,))[1] == pytest.approx(by_hand(1.0), rel=1e-14)


def test_a_stop_holds_at_every_order():
    def f(x):
        return stop_gradient(x) * x**3

    assert grad(grad(f))(2.0) == 2.0 * 6 * 2.0
    assert grad(grad(grad(f)))(2.0) == 2.0 * 6
    assert hvp(f)(2.0, 1.0) == vhp(f)(2.0, 1.0) == jacfwd(jacfwd(f))(2.0) == 24.0


def test_stops_of_containers():
    def f(p):
        held = stop_gradient(p)
        return p["a"] * held["b"][1] + p["b"][1] * held["a"]

    gradient = grad(f)({"a": 2.0, "b": (1, 3.0)})
    assert gradient == {"a": 3.0, "b": (None, 2.0)}
    assert stop_gradient([1.0, 2.0]) == [1.0, 2.0]


def test_a_stop_of_an_array_is_that_array():
    def f(x):
        y = x * 2.0
        z = stop_gradient(y)
        y[0] = 5.0
        return np.sum(z * x)

    with pytest.raises(srcdiff.SrcdiffError, match="share memory"):
        grad(f)(X)


def test_a_stop_around_a_fixed_point():
    """Newton's last step alone is differentiated: the derivative of the root, for the price of one step."""

    def root(a):
        x = 1.0
        for _ in range(20):
            x = x - (x * x - a) / (2 * x)
        x = stop_gradient(x)
        return x - (x * x - a) / (2 * x)

    assert grad(root)(2.0) == pytest.approx(0.5 / math.sqrt(2.0))
    assert "kept" not in source(root, 2.0)


# ---------------------------------------------------------------- adjoints by name


def test_an_adjoint_is_mapped():
    def f(x, limit):
        y = map_adjoint(x, lambda y_bar: np.clip(y_bar, -limit, limit))
        return np.sum(y**2)

    np.testing.assert_allclose(grad(f)(X, 1.0), np.clip(2 * X, -1, 1))
    assert source(f, X, 1.0) == "def f_grad(x, limit):\n    return np.clip(2 * x, -limit, limit)\n"


def test_an_adjoint_is_watched_once(capsys):
    def f(x):
        x = watch_adjoint(x, print)
        return x * x + x

    assert grad(f)(2.0) == 5.0
    assert capsys.readouterr().out == "5.0\n"
    assert f(2.0) == 6.0
    assert capsys.readouterr().out == ""
    assert jvp(f, (2.0,), (1.0,))[1] == 5.0
    assert hvp(f)(2.0, 3.0) == 6.0


def test_adjoints_are_watched_trip_by_trip(capsys):
    def f(x):
        for i in range(3):
            x = watch_adjoint(x * 2.0, lambda bar, i=i: print(i, bar))
        return x

    assert grad(f)(1.0) == 8.0
    assert capsys.readouterr().out == "2 1.0\n1 2.0\n0 4.0\n"


def test_the_adjoint_of_a_container_has_its_structure():
    def f(w, b):
        w, b = map_adjoint((w, b), lambda bars: (bars[0] * 2.0, bars[1] * 3.0))
        return w * b

    assert grad(f, argnums=(0, 1))(5.0, 7.0) == (14.0, 15.0)


def test_a_mapped_adjoint_is_differentiated_again():
    def f(x):
        return map_adjoint(x, lambda x_bar: x_bar * x_bar) ** 3

    assert grad(f)(2.0) == 12.0**2
    assert hvp(f)(2.0, 1.0) == pytest.approx(4 * 9 * 2.0**3)


def test_forward_mode_has_no_adjoint_to_map():
    with pytest.raises(srcdiff.NotDifferentiable, match="reverse mode only"):
        jvp(lambda x: map_adjoint(x, lambda bar: bar), (1.0,), (1.0,))


def test_a_mapped_adjoint_of_another_shape_is_refused():
    with pytest.raises(srcdiff.KindError, match="what the function of map_adjoint returns for `x` is a number"):
        grad(lambda x: np.sum(map_adjoint(x, np.sum)))(X)


# ---------------------------------------------------------------- custom rules


@custom_vjp
def product_of_sine(x, y):
    return np.sin(x) * y


def product_of_sine_fwd(x, y):
    return product_of_sine(x, y), (np.cos(x), np.sin(x), y)


def product_of_sine_bwd(residuals, out_bar):
    cos_x, sin_x, y = residuals
    return cos_x * out_bar * y, sin_x * out_bar


product_of_sine.defvjp(product_of_sine_fwd, product_of_sine_bwd)


@custom_jvp
def sine_times(x, y):
    return np.sin(x) * y


@sine_times.defjvp
def sine_times_jvp(primals, tangents):
    (x, y), (x_dot, y_dot) = primals, tangents
    return sine_times(x, y), np.cos(x) * x_dot * y + np.sin(x) * y_dot


def plain(x, y):
    return np.sin(x) * y


def composed(rule):
    """Functions that call a rule in all sorts of places."""

    def straight(x):
        return rule(x * x, x) * 2.0

    def looped(x):
        s = 0.5
        for k in range(4):
            s = s + rule(s * x, x + k)
        return s

    def branched(x):
        if x > 0.0:
            y = rule(x, 2.0)
        else:
            y = rule(2.0, x)
        return y * x

    def left_early(x):
        s = x
        while True:
            s = rule(s, 0.9) + 0.05 * s
            if s < 0.3:
                break
        return s

    def recursive(x):
        def go(y, n):
            if n == 0:
                return y
            return rule(go(y, n - 1), 1.5) + 0.1 * y

        return go(x, 5)

    def written(x):
        a = np.zeros(3)
        for i in range(3):
            a[i] = rule(x + i, x)
        return np.sum(a * a)

    def derived(x):
        return grad(lambda y: rule(y, y * x))(x) * x

    def pulled(x):
        value, pullback = vjp(lambda y: rule(y, x), x)
        (bar,) = pullback(value * 2.0)
        return bar * x

    return [straight, looped, branched, left_early, recursive, written, derived, pulled]


@pytest.mark.parametrize("number", range(len(composed(plain))))
@pytest.mark.parametrize("rule", [product_of_sine, sine_times], ids=["vjp", "jvp"])
def test_a_right_rule_gives_what_the_plain_function_gives(rule, number):
    f, expected = composed(rule)[number], composed(plain)[number]
    x = 0.8

    def agree(one, other):
        np.testing.assert_allclose(one, other, rtol=1e-11)

    agree(f(x), expected(x))
    agree(grad(f)(x), grad(expected)(x))
    agree(vjp(f, x)[1](2.0), vjp(expected, x)[1](2.0))
    if f.__name__ != "recursive":
        agree(grad(grad(f))(x), grad(grad(expected))(x))
        agree(grad(grad(grad(f)))(x), grad(grad(grad(expected)))(x))
    if rule is sine_times:
        agree(jvp(f, (x,), (1.5,)), jvp(expected, (x,), (1.5,)))
        agree(jacfwd(f)(x), jacfwd(expected)(x))
        if f.__name__ != "recursive":
            for mix in (lambda g: jacfwd(grad(g)), lambda g: grad(jacfwd(g)), lambda g: jacfwd(jacfwd(g))):
                agree(mix(f)(x), mix(expected)(x))
            agree(hvp(f)(x, 1.5), hvp(expected)(x, 1.5))
            agree(vhp(f)(x, 1.5), vhp(expected)(x, 1.5))
    elif f.__name__ == "straight":
        agree(hvp(f)(x, 1.5), hvp(expected)(x, 1.5))


@pytest.mark.parametrize("rule", [product_of_sine, sine_times], ids=["vjp", "jvp"])
def test_a_rule_itself_is_differentiated(rule):
    assert grad(rule, argnums=(0, 1))(1.0, 2.0) == pytest.approx((2 * math.cos(1.0), math.sin(1.0)))
    lines = {
        "product_of_sine": "    cos_x = np.cos(x)\n    return cos_x * y\n",
        "sine_times": "    return y * np.cos(x)\n",
    }
    assert source(rule, 1.0, 2.0) == f"def {rule.__name__}_grad(x, y):\n{lines[rule.__name__]}"


def test_the_rule_is_used_even_where_it_is_wrong():
    @custom_vjp
    def f(x):
        return x * x

    f.defvjp(lambda x: (f(x), None), lambda residuals, out_bar: (out_bar * 100.0,))
    assert f(3.0) == 9.0
    assert grad(f)(3.0) == 100.0
    assert grad(lambda x: f(x) * x)(3.0) == 100.0 * 3.0 + 9.0
    assert grad(grad(lambda x: f(x) * x))(3.0) == 200.0


def test_containers_go_through_a_rule():
    @custom_vjp
    def dense(p, x):
        return {"out": p["W"] @ x + p["b"], "count": 3}

    def forward(p, x):
        return dense(p, x), (p, x)

    def reverse(residuals, bar):
        p, x = residuals
        return {"W": np.outer(bar["out"], x), "b": bar["out"]}, p["W"].T @ bar["out"]

    dense.defvjp(forward, reverse)

    def f(p, x, layer):
        for _ in range(3):
            x = np.tanh(layer(p, x)["out"])
        return np.sum(x)

    p = {"W": np.arange(4.0).reshape(2, 2) / 5, "b": np.ones(2)}
    mine = grad(f, argnums=(0, 1))(p, np.ones(2), dense)
    theirs = grad(f, argnums=(0, 1))(p, np.ones(2), lambda p, x: {"out": p["W"] @ x + p["b"]})
    np.testing.assert_allclose(mine[0]["W"], theirs[0]["W"])
    np.testing.assert_allclose(mine[0]["b"], theirs[0]["b"])
    np.testing.assert_allclose(mine[1], theirs[1])


def test_functions_in_nondiff_argnums():
    @functools.partial(custom_vjp, nondiff_argnums=(0,))
    def apply(fn, x):
        return fn(x)

    apply.defvjp(lambda fn, x: (apply(fn, x), x), lambda fn, x, out_bar: (out_bar * 10.0 * fn(x),))
    assert grad(lambda x: apply(math.sin, x) * 2)(0.3) == pytest.approx(20 * math.sin(0.3))

    def closes_over_active(x):
        w = x * x
        return apply(lambda t: t * w, x)

    with pytest.raises(srcdiff.NotDifferentiable, match="`apply` reads `w`, which depends on what is differentiated by"):
        grad(closes_over_active)(2.0)

    def closes_over_stopped(x):
        w = stop_gradient(x * x)
        return apply(lambda t: t * w, x)

    assert grad(closes_over_stopped)(2.0) == 10.0 * 8.0


def test_a_rule_in_a_loop_of_its_own():
    @custom_jvp
    def power(x, n):
        r = 1.0
        for _ in range(n):
            r = r * x
        return r

    @power.defjvp
    def power_jvp(primals, tangents):
        (x, n), (x_dot, _) = primals, tangents
        r, r_dot = 1.0, 0.0
        for _ in range(n):
            r_dot = r_dot * x + r * x_dot
            r = r * x
        return r, r_dot

    def f(x, power):
        s = 0.0
        for k in range(4):
            s += power(x * s + 1, k)
        return s

    for derivative in (grad, lambda g: grad(grad(g)), jacfwd, lambda g: jacfwd(grad(g))):
        mine, theirs = (derivative(lambda x, p=p: f(x, p))(0.5) for p in (power, lambda x, n: x**n))
        assert mine == pytest.approx(theirs, rel=1e-12)


def test_functions_that_cannot_be_read():
    erfi = custom_vjp(special.erfi, like=lambda x: x)
    erfi.defvjp(lambda x: (erfi(x), x), lambda x, bar: (bar * 2 / np.sqrt(np.pi) * np.exp(x * x),))

    def f(x):
        return np.sum(erfi(x) ** 2)

    slope = 2 / np.sqrt(np.pi) * np.exp(X * X)
    np.testing.assert_allclose(grad(f)(X), 2 * special.erfi(X) * slope)
    second = 2 * slope**2 + 4 * special.erfi(X) * slope * X
    np.testing.assert_allclose(grad(lambda x: np.sum(grad(f)(x) * X))(X), second * X)
    assert "special.erfi(x)" in source(f, X)
    both = custom_jvp(special.erfi, like=lambda x: x)
    both.defjvp(lambda primals, tangents: (both(primals[0]), 2 / np.sqrt(np.pi) * np.exp(primals[0] ** 2) * tangents[0]))
    np.testing.assert_allclose(hvp(lambda x: np.sum(both(x) ** 2))(X, X), second * X)


def test_effects_of_a_rule_happen_once(capsys):
    @custom_vjp
    def f(x):
        print("value")
        return x * 2.0

    def forward(x):
        print("forward")
        return x * 2.0, None

    def reverse(_, out_bar):
        print("reverse")
        return (out_bar * 2.0,)

    f.defvjp(forward, reverse)
    assert grad(lambda x: f(x) * 3.0)(1.0) == 6.0
    assert capsys.readouterr().out == "forward\nreverse\n"
    assert grad(lambda x, y: f(x) * y, argnums=1)(1.0, 1.0) == 2.0
    assert capsys.readouterr().out == "value\n"


def test_float32_stays():
    x = X.astype(np.float32)
    gradient = grad(lambda x: np.sum(product_of_sine(x, x)))(x)
    assert gradient.dtype == np.float32
    np.testing.assert_allclose(gradient, np.cos(x) * x + np.sin(x), rtol=1e-6)


@pytest.mark.parametrize(
    ("reverse", "message"),
    [
        (lambda res, bar: bar, "returns no tuple, and `f` has 1 argument"),
        (lambda res, bar: (bar, bar), "returns 2 adjoints, and `f` has 1 argument"),
        (lambda res, bar: (np.sum(bar),), "is a number, where an array with 1 axis is due"),
        (lambda res, bar: ((bar, bar),), "has another structure than what it is for"),
    ],
)
def test_adjoints_that_do_not_fit_are_refused(reverse, message):
    @custom_vjp
    def f(x):
        return x * 2.0

    f.defvjp(lambda x: (x * 2.0, None), reverse)
    with pytest.raises(srcdiff.KindError, match=message):
        grad(lambda x: np.sum(f(x)))(X)


def test_other_mistakes_are_refused():
    @custom_jvp
    def square(x):
        return x * x

    with pytest.raises(srcdiff.NoRule, match=r"`square` has no derivative rule yet(.|\n)*square.defjvp"):
        grad(lambda x: square(x))(2.0)
    square.defjvp(lambda primals, tangents: (primals[0] ** 2, tangents[0] * tangents[0]))
    with pytest.raises(srcdiff.NotDifferentiable, match="is not linear in the tangents"):
        grad(lambda x: square(x))(2.0)
    with pytest.raises(srcdiff.KindError, match="has a derivative rule already"):
        square.defjvp(lambda primals, tangents: (primals[0] ** 2, tangents[0]))
    with pytest.raises(srcdiff.NotDifferentiable, match="forward mode reaches `product_of_sine`"):
        jvp(lambda x: product_of_sine(x, 2.0), (1.0,), (1.0,))
    with pytest.raises(srcdiff.KindError, match="nondiff_argnums"):
        custom_vjp(lambda x: x, nondiff_argnums=(-1,))

    @custom_vjp
    def other(x):
        return x, x

    other.defvjp(lambda x: (x, None), lambda res, bar: (bar,))
    with pytest.raises(srcdiff.KindError, match="has another structure than the result of `other`"):
        grad(lambda x: other(x)[0])(2.0)


# ---------------------------------------------------------------- rules where arrays are written to


def sine_plain(a, s):
    return np.sin(a) * s


@custom_vjp
def sine_vjp(a, s):
    return np.sin(a) * s


def sine_forward(a, s):
    return sine_vjp(a, s), (a, s)


def sine_reverse(residuals, bar):
    a, s = residuals
    return np.cos(a) * s * bar, np.sum(np.sin(a) * bar)


sine_vjp.defvjp(sine_forward, sine_reverse)


@custom_jvp
def sine_jvp(a, s):
    return np.sin(a) * s


@sine_jvp.defjvp
def sine_rule(primals, tangents):
    (a, s), (a_dot, s_dot) = primals, tangents
    return sine_jvp(a, s), np.cos(a) * s * a_dot + np.sin(a) * s_dot


def recurrence(a, s, f):
    a = a.copy()
    for i in range(1, len(a)):
        b = f(a, s)
        a[i] = a[i - 1] * 0.5 + b[i] * b[0]
        a[0] = a[0] * 1.1
    return np.sum(a * f(a, s))


def slices(a, s, f):
    a = a.copy()
    for _ in range(4):
        a[1:-1] = f(a[2:], s) - f(a[:-2], s) * a[1:-1]
        s = s * 0.9
    return np.sum(a**2)


def swapped(a, s, f):
    a, b = a.copy(), np.zeros_like(a)
    for _ in range(3):
        for i in range(len(a)):
            b[i] = np.sum(f(a, s)) * a[i]
        a, b = b, a
    return np.sum(a)


def results_written(a, s, f):
    c = f(a, s)
    a = a.copy()
    a[0] = 5.0
    c[1] = a[2] * s
    d = f(c, s)
    c *= 2.0
    return np.sum(c * d * a)


def listed(a, s, f):
    kept = []
    while np.sum(a * a) > 0.5:
        a = f(a, s) * 0.8
        kept.append(a)
    return sum(np.sum(x) for x in kept)


@pytest.mark.parametrize("program", [recurrence, slices, swapped, results_written, listed])
@pytest.mark.parametrize("rule", [sine_vjp, sine_jvp, checkpoint(sine_plain)], ids=["vjp", "jvp", "checkpoint"])
def test_rules_where_arrays_are_written_to(program, rule):
    a, s = np.array([0.3, 0.9, -0.4, 1.2, 0.7]), 1.1

    def agree(of):
        mine, theirs = (of(lambda a, s, f=f: program(a, s, f)) for f in (rule, sine_plain))
        for one, other in zip(mine, theirs):
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13 * np.max(np.abs(theirs[0])))

    agree(lambda f: grad(f, argnums=(0, 1))(a, s))
    agree(lambda f: vjp(f, a, s)[1](2.0))
    agree(lambda f: grad(lambda a, s: np.sum(grad(f)(a, s) * a), argnums=(0, 1))(a, s))
    if rule is not sine_vjp:
        agree(lambda f: jvp(f, (a, s), (a, 0.5)))
        agree(lambda f: (hvp(f)(a, s, v=a), vhp(f)(a, s, v=a)))


def test_rules_within_functions_that_call_themselves():
    """A derivative inside keeps the rules of the procedures that it passes through."""

    def f(x, n):
        if n == 0:
            return x
        y = f(x, n - 1)
        return math.sin(y) * stop_gradient(y) + 0.1 * x

    def plain(x, n):
        y = x
        for _ in range(n):
            y = math.sin(y) * stop_gradient(y) + 0.1 * x
        return y

    for derivative in (grad, lambda g: grad(grad(g)), lambda g: grad(jacfwd(g)), lambda g: jacfwd(jacfwd(g))):
        assert derivative(f)(0.7, 4) == pytest.approx(derivative(plain)(0.7, 4), rel=1e-12)
    assert hvp(f)(0.7, 4, 1.0) == pytest.approx(vhp(plain)(0.7, 4, 1.0), rel=1e-12)


def test_parameters_may_have_any_name():
    @custom_vjp
    def f(rule, run):
        return rule * run

    f.defvjp(lambda rule, run: (rule * run, (rule, run)), lambda r, bar: (bar * r[1], bar * r[0]))
    assert grad(f, argnums=(0, 1))(2.0, 3.0) == (3.0, 2.0)
    assert grad(checkpoint(lambda run: run * run))(3.0) == 6.0
    assert vhp(lambda x, f: x**3 * f)(2.0, 1.0, 1.0) == hvp(lambda x, f: x**3 * f)(2.0, 1.0, 1.0) == 12.0
    assert grad(grad(lambda derivative: derivative**3))(2.0) == 12.0
