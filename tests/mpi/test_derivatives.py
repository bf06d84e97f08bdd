"""Derivatives through sums over ranks, of first and second order, and vmap of time steps: on two ranks those of one.

Of runs, and on more ranks: test_gradients.py.
"""

import json

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("quickly_compiled")


def derivatives(mpiexec, layout):
    py, px = map(int, layout.split("x"))
    return json.loads(mpiexec("derivatives.py", py * px, layout).stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def one_process():
    return {}


@pytest.mark.parametrize("layout", ["2x1", "1x2"])
def test_two_ranks_give_the_derivatives_of_one(mpiexec, one_process, layout):
    if not one_process:
        one_process.update(derivatives(mpiexec, "1x1"))
    ours = derivatives(mpiexec, layout)
    assert ours.keys() == one_process.keys()
    for name, truth in one_process.items():
        np.testing.assert_allclose(ours[name], truth, rtol=1e-12, atol=1e-12 * np.abs(truth).max(), err_msg=name)
