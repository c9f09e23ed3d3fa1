"""A maximum that is subtracted before exponentials needs no adjoint; one that changes the result keeps it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff
from tests.support.gradients import check_gradient

_RNG = np.random.default_rng(3)
Z = _RNG.standard_normal((4, 3))
V = _RNG.standard_normal((3, 2))
WEIGHTS = _RNG.standard_normal((4, 3))
LABELS = np.array([0, 2, 1, 1])


def softmax(z: Any) -> Any:
    e = np.exp(z - np.max(z, axis=1, keepdims=True))
    return np.sum((e / np.sum(e, axis=1, keepdims=True)) * WEIGHTS)


def softmax_of_stack(z: Any) -> Any:
    z = z[None] * np.arange(1.0, 3.0)[:, None, None]
    e = np.exp(z - z.max(axis=-1)[..., None])
    w = e / e.sum(axis=-1)[..., None]
    return np.sum(w**2)


def log_sum_exp(z: Any) -> Any:
    m = np.max(z, axis=1)
    return np.sum(m + np.log(np.sum(np.exp(z - m[:, None]), axis=1)))


def log_sum_exp_of_all(z: Any) -> Any:
    m = z.max()
    return m + np.log(np.mean(np.exp(z - m)))


def cross_entropy(z: Any, labels: Any) -> Any:
    z = z - z.max(axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(z), axis=1)) - z[np.arange(len(labels)), labels])


def log_softmax_by_columns(z: Any) -> Any:
    s = z - z.max(axis=0)
    return np.sum((s - np.log(np.exp(s).sum(axis=0))) * WEIGHTS)


def softmax_in_a_loop(z: Any) -> Any:
    total = 0.0
    for i in range(3):
        row = z[i] * (i + 1.0)
        e = np.exp(-(np.max(row) - row))
        total = total + np.sum((e / np.sum(e)) ** 2)
    return total


CANCELS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (softmax, (Z,)),
    (softmax_of_stack, (Z,)),
    (log_sum_exp, (Z,)),
    (log_sum_exp_of_all, (Z,)),
    (cross_entropy, (Z, LABELS)),
    (log_softmax_by_columns, (Z,)),
    (softmax_in_a_loop, (Z,)),
]


@pytest.mark.parametrize(("f", "args"), CANCELS, ids=lambda x: getattr(x, "__name__", ""))
def test_an_offset_that_cancels_has_no_adjoint(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check_gradient(f, *args)
    assert "==" not in srcdiff.grad(f).source_for(*args)


def test_float32_and_rows_of_equal_values() -> None:
    gradient = srcdiff.grad(softmax)(np.zeros((4, 3), np.float32) + np.float32(2))
    exact = (WEIGHTS - WEIGHTS.mean(axis=1, keepdims=True)) / 3
    assert gradient.dtype == np.float32
    np.testing.assert_allclose(gradient, exact, rtol=1e-5)


def test_one_row() -> None:
    check_gradient(cross_entropy, Z[:1], LABELS[:1])


# ---------------------------------------------------------------- offsets that do not cancel


def not_normalised(z: Any) -> Any:
    return np.sum(np.exp(z - np.max(z, axis=1, keepdims=True)))


def summed_along_another_axis(z: Any) -> Any:
    e = np.exp(z - np.max(z, axis=1, keepdims=True))
    return np.sum((e / np.sum(e, axis=0)) * WEIGHTS)


def read_twice(z: Any) -> Any:
    m = np.max(z, axis=1, keepdims=True)
    e = np.exp(z - m)
    return np.sum(e / np.sum(e, axis=1, keepdims=True) * m * WEIGHTS)


def squared_exponentials(z: Any) -> Any:
    e = np.exp(z - np.max(z, axis=1, keepdims=True))
    return np.sum(e * e / np.sum(e, axis=1, keepdims=True))


def on_one_path(z: Any) -> Any:
    m = np.max(z)
    e = np.exp(z - m)
    total = np.sum(e)
    if z[0, 0] > 0:
        total = total / np.sum(e)
    return total


def other_rows(z: Any, labels: Any) -> Any:
    z = z - z.max(axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(z), axis=1)) - z[np.array([3, 2, 1, 0]), labels])


def one_row_for_all(z: Any, labels: Any) -> Any:
    z = z - z.max(axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(z), axis=1)) - z[np.arange(len(labels)), labels])


def mixed_axes(z: Any) -> Any:
    z = z[:3]
    m = np.max(z, axis=1)
    return np.sum((z - m - (z - m[:, None])) ** 2)


def maximum_itself(z: Any) -> Any:
    m = np.max(z, axis=1)
    return np.sum(m * m)


STAYS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (not_normalised, (Z,)),
    (summed_along_another_axis, (Z,)),
    (read_twice, (Z,)),
    (squared_exponentials, (Z,)),
    (on_one_path, (Z,)),
    (other_rows, (Z, LABELS)),
    (one_row_for_all, (Z, LABELS[:1])),
    (mixed_axes, (Z,)),
    (maximum_itself, (Z,)),
]


@pytest.mark.parametrize(("f", "args"), STAYS, ids=lambda x: getattr(x, "__name__", ""))
def test_an_offset_that_stays_has_its_adjoint(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check_gradient(f, *args)
    assert "==" in srcdiff.grad(f).source_for(*args)


def test_a_result_that_is_shifted() -> None:
    """Of several results each counts: the shifted values are one of them."""

    def f(z: Any) -> Any:
        s = z - np.max(z, axis=1, keepdims=True)
        return s, np.exp(s) / np.sum(np.exp(s), axis=1, keepdims=True)

    (s, w), pullback = srcdiff.vjp(f, Z)
    (z_bar,) = pullback((np.ones_like(s), np.zeros_like(w)))
    exact = np.ones_like(Z)
    exact[np.arange(4), Z.argmax(axis=1)] -= 3
    np.testing.assert_allclose(z_bar, exact)
