"""Records of loops hold only what is read of them."""

import numpy as np

from srcdiff import grad
from tests.support.gradients import check_gradient

X = np.random.default_rng(0).normal(size=(3, 3))


def rows_and_columns(D):
    for k in range(3):
        D = np.sin(D[:, k][:, None] + D[k])
    return np.sum(D**2)


def within_another_loop(D):
    total = 0.0
    for k in range(3):
        for j in range(2):
            D = np.sin(D[:, k][:, None] + D[j])
        total += np.sum(D)
    return total


def test_what_is_read_for_its_shape_alone_is_not_kept():
    for f in rows_and_columns, within_another_loop:
        check_gradient(f, X)
        source = grad(f).source_for(X)
        assert "kept.append(total)" in source or "kept_1.append(total" in source, source
        assert " _" not in source, source
