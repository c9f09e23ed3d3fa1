"""raise, try and with: the path that is taken is the path that is differentiated."""

import contextlib
import io
import math
import sys
import threading
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

from srcdiff import KindError, SyntaxNotAccepted, grad
from tests.support.gradients import check_gradient

X = np.array([0.5, 1.5, 2.0])
PROGRAMS = []


def program(f):
    PROGRAMS.append(pytest.param(f, id=f.__name__))
    return f


@pytest.mark.parametrize("f", PROGRAMS)
def test_gradient(f):
    check_gradient(f, X)


# ---------------------------------------------------------------- raise


@program
def raises_on_a_path_that_is_not_taken(x):
    if x[0] < 0:
        raise ValueError(f"bad {x[0]}")
    y = math.log(x[0])
    for v in x:
        if v > 100:
            raise ValueError("big") from None
        y += v * v
    return y


@program
def raises_at_the_end(x):
    if x[0] > 0:
        return x[0] * x[1]
    elif x[1] > 0:
        return x[2]
    raise ValueError("none")


def fail(message):
    raise ValueError(message)


@program
def raises_in_a_part_of_an_expression(x):
    y = x[0] if x[0] > 0 else fail("negative")
    if y > 100:
        return fail("big")
    z = y < 100 or fail("big")
    return y * y if z else x[1]


@program
def raises_behind_a_loop(x):
    for v in x:
        if v > 1:
            return v * x[0]
    raise LookupError("nothing found")


def test_what_is_raised_is_raised():
    def f(x):
        if x < 0:
            raise ValueError(f"{x} is negative")
        return math.sqrt(x)

    assert grad(f)(4.0) == 0.25
    with pytest.raises(ValueError, match=r"-1.0 is negative"):
        grad(f)(-1.0)
    assert "raise ValueError(f'{x} is negative')" in grad(f).source_for(4.0).replace('"', "'")


# ---------------------------------------------------------------- try


def positive_root(v):
    if v < 0:
        raise ValueError("negative")
    return math.sqrt(v)


@program
def raised_by_a_helper(x):
    total = 0.0
    for v in (x[0] - 1, x[1], x[2]):
        try:
            total += positive_root(v) * v
        except ValueError:
            total -= v * v * 3
    return total


@program
def raised_by_a_primitive_in_a_loop(x):
    total = 0.0
    for i in range(4):
        try:
            total += float(x[i % 3]) / (i - 1 if i < 2 else 2) * int(1 / (2 - i))
        except ZeroDivisionError:
            continue
        total *= 2
    return total


@program
def nothing_in_the_handler(x):
    total = x[0]
    for v in x:
        try:
            total += math.log(v - 1) * v
        except ValueError:
            pass
    return total


@program
def returns_from_both(x):
    try:
        return float(x[0]) / (int(x[1]) - 1)
    except ZeroDivisionError:
        return x[0] * 3 * x[2]


@program
def returns_from_the_body_alone(x):
    try:
        if x[1] > 0:
            return math.log(x[0] - 1)
    except ValueError:
        y = x[0] * x[1]
    else:
        y = x[2]
    return y * y


@program
def not_positive_definite(x):
    a = np.array([[x[0], x[1]], [x[1], x[2]]])
    try:
        y = np.sum(np.linalg.cholesky(a) ** 2)
    except np.linalg.LinAlgError:
        y = np.sum(a**3)
    else:
        y = y * 2
    finally:
        z = y * x[0]
    return z


@program
def positive_definite(x):
    a = np.array([[x[2], x[0]], [x[0], x[1]]])
    try:
        y = np.sum(np.linalg.cholesky(a) ** 3)
    except np.linalg.LinAlgError:
        y = np.sum(a**3)
    else:
        y = y * 2
    return y


@program
def known_to_raise(x):
    d = {"a": x[0]}
    total = 0.0
    for k in ("a", "b"):
        try:
            total += d[k] * x[1]
        except KeyError:
            total += x[2] ** 2
    try:
        w = [x[0], x[1]][2]
    except (IndexError, ValueError):
        w = x[2]
    return total * w


@program
def several_handlers(x):
    total = 0.0
    for v in (1, 0, -1, 2):
        try:
            total += math.log(v) / (v - 2) * x[0]
        except ZeroDivisionError:
            total += x[1] ** 2
        except (ValueError, KeyError) as error:
            message = f"{error}"
            total += x[2] * (2 if message else 3)
    return total


@program
def nested(x):
    try:
        try:
            y = math.log(-x[0])
        except ValueError as error:
            raise KeyError("inner") from error
    except LookupError:
        y = float(x[1]) * 2
        try:
            y = y / int(x[0])
        except (ZeroDivisionError, OverflowError):
            y = y * x[2]
    return y


@program
def raised_again(x):
    try:
        try:
            y = math.log(-x[0])
        except ValueError:
            raise
    except Exception:
        y = x[0] * x[1]
    return y


@program
def breaks_in_a_handler(x):
    best = x[0]
    for i in range(5):
        try:
            if i == 3:
                raise StopIteration
            best = best * x[1]
        except StopIteration:
            break
    return best


@program
def jumps_past_finally(x):
    total = 0.0
    for v in x:
        try:
            if v > 1.8:
                break
            if v > 1:
                continue
            total += v * v
        finally:
            total += v
    return total


@program
def list_that_the_handler_reads(x):
    xs = [x[0]]
    for v in (1.0, -1.0, 4.0):
        try:
            xs.append(math.sqrt(v) * x[1])
        except ValueError:
            xs.append(xs[-1] * x[2])
    return sum(xs) * xs[2]


@program
def old_value_in_the_handler(x):
    y = x[0] * 3
    try:
        y = math.log(-y) + y
    except ValueError:
        y = y * x[1]
    return y * y


@program
def array_that_the_handler_reads(x):
    y = x * 2
    try:
        y[0] = math.sqrt(-x[0])
    except ValueError:
        y[1] = y[0] * x[2]
    return np.sum(y * y)


@program
def changes_before_anything_can_raise(x):
    y = x * 1.0
    total = 0.0
    for i in range(3):
        try:
            y[i] = y[i] * y[i - 1]
            k = x[i] * 3
            total += math.sqrt(y[i] - 0.8)
        except ValueError:
            total += k
    return total * y[2]


@program
def cell_that_changes_before_the_exception(x):
    n = 0

    def count():
        nonlocal n
        n += 1
        if n == 2:
            raise ValueError
        return n * x[0]

    total = 0.0
    for _ in range(3):
        try:
            total += count()
        except ValueError:
            total += x[1] * n
    return total * n


def descend(v, n):
    if n == 0:
        raise ValueError("bottom")
    try:
        return descend(v * v, n - 1)
    except ValueError:
        return v * 3


@program
def recursion_that_ends_in_an_exception(x):
    return descend(x[0], 3) * x[1]


@program
def error_of_the_inner_for_the_outer(x):
    total = 0.0
    for v in x:
        try:
            try:
                if v > 1.8:
                    raise KeyError(1)
                u = math.sqrt(v - 1)
            except ValueError:
                u = v * 3
            total += u
        except KeyError:
            total += v**2
            u = total
        total = total * u
    return total


class Total:
    def __init__(self):
        self.t = 0.0

    def add(self, v):
        if v < 0.8:
            raise ValueError(v)
        self.t = self.t + v * v


@program
def object_that_a_body_changes(x):
    total, n = Total(), 0
    for v in (x[0], x[1], x[2]):
        try:
            total.add(v)
        except ValueError:
            n += 1
    return total.t * n


@program
def walks_until_an_index_fails(x):
    total, i = 0.0, 0
    while True:
        try:
            v = [1.0, 0.5][i] * x[i]
        except IndexError:
            break
        total += v * v
        i += 1
    return total


@program
def try_in_a_branch(x):
    a, ys = x[0] * 2, [v * v for v in x]
    if x[0] > 0.3:
        try:
            ys = [a, x[1], x[2]]
            a = math.sqrt(a - 1.6)
        except ValueError:
            ys.reverse()
            a = a * 3
    else:
        ys.append(x[0])
    return a * sum(ys) * ys[0]


@program
def nothing_can_raise(x):
    y = 1.0
    try:
        z = y + 2
    except ValueError:
        z = 0.0
    return z * x[0]


def test_a_try_whose_body_cannot_raise_is_not_emitted():
    assert "try" not in grad(nothing_can_raise).source_for(X)


def test_the_emitted_source_has_the_same_try():
    def f(x, n):
        try:
            y = x / n
        except ZeroDivisionError:
            y = x * x
        return y * 3

    assert grad(f)(2.0, 4) == 0.75
    assert grad(f)(2.0, 0) == 12.0
    source = grad(f).source_for(2.0, 4)
    assert "try:" in source and "except ZeroDivisionError:" in source
    assert "succeeded" in source


def test_other_errors_come_through():
    def f(x):
        try:
            return math.log(x)
        except ZeroDivisionError:
            return x

    with pytest.raises(ValueError):
        grad(f)(-1.0)


def test_what_may_have_changed_is_not_read():
    def name(x):
        y = x
        try:
            z = math.log(x)
            y = x * 2
            z = math.log(x - 1)
        except ValueError:
            z = y
        return z

    def items(x):
        xs = [x]
        try:
            z = math.log(x)
            xs.append(x * x)
            z = math.log(x - 1)
        except ValueError:
            z = sum(xs)
        return z

    with pytest.raises(KindError, match="`y` may or may not have been assigned before the exception"):
        grad(name)(1.0)
    with pytest.raises(KindError, match="may or may not have been changed before the exception"):
        grad(items)(1.0)


# ---------------------------------------------------------------- with


@program
def quiet(x):
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.where(x > 1, np.log(x - 1), 0.0)
    return np.sum(y * x)


def test_the_adjoints_are_as_quiet_as_the_function():
    x = np.array([1.0, 2.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(grad(quiet)(x)[1])
    lines = grad(quiet).source_for(x).splitlines()
    assert lines.count('    with np.errstate(divide="ignore", invalid="ignore"):') == 2


@program
def returns_from_within(x):
    with np.errstate(all="ignore"), contextlib.nullcontext(3.0) as k:
        if x[0] > 10:
            return x[0]
        return np.sum(np.log(x)) * k


@program
def continues_from_within(x):
    total = 0.0
    for v in x:
        with np.errstate(all="ignore"):
            if v > 1.8:
                continue
            w = v * v
        total += w
    return total


@dataclass
class Scale:
    k: float

    def __enter__(self):
        return self.k * 2

    def __exit__(self, *error):
        pass


@program
def manager_of_the_users(x):
    with Scale(x[0]) as k, Scale(x[1]) as m:
        y = k * x[1] * m
    return y * x[2]


@program
def suppressed(x):
    y = x[0]
    with contextlib.suppress(ValueError, KeyError):
        y = y * math.log(-y)
    with contextlib.suppress(ValueError):
        y = y * math.log(x[1])
    return y * x[2]


LOCK = threading.Lock()


@program
def lock_of_the_module(x):
    with LOCK:
        xs = []
        for v in x:
            xs.append(v * v)
        first = xs[0]
    xs.append(first)
    return sum(xs) * first


def test_a_manager_is_entered_once_by_the_forward_sweep():
    def f(x):
        with contextlib.redirect_stdout(sys.stderr):
            print("in", x)
            y = x * x
        return y * x

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        assert grad(f)(2.0) == 12.0
    assert err.getvalue() == "in 2.0\n" and out.getvalue() == ""


@dataclass
class Swallows:
    k: float

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return kind is not None


def test_a_manager_that_looks_at_exceptions_is_refused():
    def f(x):
        with Swallows(x):
            return x * x

    with pytest.raises(SyntaxNotAccepted, match="looks at exceptions"):
        grad(f)(2.0)
