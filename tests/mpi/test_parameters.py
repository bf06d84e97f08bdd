"""Derivatives by the parameters of a network are those of one process, on ranks and devices; members add up."""

import json

import numpy as np
import pytest


@pytest.fixture(scope="module")
def found(mpiexec, quickly_compiled):
    """What parameters.py finds, from one start of four ranks."""
    return json.loads(mpiexec("parameters.py", 4, timeout=300).stdout.splitlines()[-1])


def close(ours, theirs):
    """To 1e-13 of the largest."""
    for name, truth in theirs.items():
        np.testing.assert_allclose(ours[name], truth, rtol=0, atol=1e-13 * np.abs(truth).max(), err_msg=name)


@pytest.mark.parametrize("cut", ["3x1", "2x2", "devices"])
def test_the_gradient_by_a_network_is_that_of_one_process(found, cut):
    """And the Hessian along a direction, between walls and around islands, on ranks and on devices."""
    assert np.abs(found["1x1"]["gradient"]).min() > 0
    close(found[cut], found["1x1"])


def test_members_on_ranks_have_the_gradient_of_their_sum(found):
    close(found["members"], found["one by one"])
