"""Algorithms as people write them in NumPy, differentiated unchanged."""

import pytest

from tests.algorithms import dynamics, grids, linear_algebra
from tests.support.gradients import check_gradient

PROGRAMS = {**linear_algebra.programs, **grids.programs, **dynamics.programs}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient(name):
    program = PROGRAMS[name]
    for size in program.sizes:
        check_gradient(program.loss, *program.arguments(size), argnums=program.argnums)
