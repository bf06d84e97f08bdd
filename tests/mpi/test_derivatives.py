"""Derivatives through sums over ranks, of first and second order, and vmap of time steps: on two ranks those of one.

Of runs, and on more ranks: test_gradients.py.
"""

import json

import numpy as np
import pytest


@pytest.fixture(scope="module")
def found(mpiexec, quickly_compiled):
    """What derivatives.py finds, by layout, from one start of two ranks."""
    return json.loads(mpiexec("derivatives.py", 2).stdout.splitlines()[-1])


@pytest.mark.parametrize("layout", ["2x1", "1x2"])
def test_two_ranks_give_the_derivatives_of_one(found, layout):
    ours, one_process = found[layout], found["1x1"]
    assert ours.keys() == one_process.keys()
    for name, truth in one_process.items():
        np.testing.assert_allclose(ours[name], truth, rtol=1e-12, atol=1e-12 * np.abs(truth).max(), err_msg=name)
