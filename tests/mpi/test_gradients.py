"""Derivatives of a run with walls, islands and uneven blocks are exact on several ranks, and those of one."""

import json

import numpy as np
import pytest

from swmodel.gradients.check import failures


@pytest.fixture(scope="module")
def found(mpiexec, quickly_compiled):
    """What gradients.py finds, by layout, from one start of four ranks."""
    return json.loads(mpiexec("gradients.py", 4, timeout=300).stdout.splitlines()[-1])


def test_the_bits_of_a_gradient_are_those_of_one_process(found):
    """With respect to fields and numbers, between walls and around islands; either precision, cut in y and in x."""
    one_process, *others = (of["bits"] for of in found.values())
    assert len(set(one_process.values())) == 2
    assert len(others) == 3
    assert all(of.items() <= one_process.items() for of in others)


@pytest.mark.parametrize("layout", ["1x1", "3x1", "2x2"])
def test_derivatives_are_exact_on_any_number_of_ranks(found, layout):
    """With JAX's step on one and three ranks, and with the native one on four."""
    ours, one_process = found[layout], found["1x1"]
    assert failures(ours) == []
    assert ours["value"] == pytest.approx(one_process["value"], rel=1e-12)
    for name in ("gradient", "hessian-vector"):
        for control, truth in one_process[name].items():
            tolerance = 1e-12 * np.abs(truth).max()
            np.testing.assert_allclose(ours[name][control], truth, rtol=0, atol=tolerance, err_msg=f"{name} {control}")
