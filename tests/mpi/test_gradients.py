"""Derivatives of a run with walls, islands and uneven blocks are exact on several ranks, and those of one process."""

import json

import numpy as np
import pytest

from swmodel.gradients.check import failures


@pytest.fixture(scope="module")
def found(mpiexec, quickly_compiled):
    """What gradients.py finds, by layout, from one start of four ranks."""
    return json.loads(mpiexec("gradients.py", 4, timeout=300).stdout.splitlines()[-1])


def test_the_bits_of_a_gradient_are_those_of_one_process(found):
    """With respect to fields and numbers, on a sphere under weather with tides; each precision, cut in y and in x."""
    one_process, *others = (of["bits"] for of in found.values())
    assert len(set(one_process.values())) == 2
    assert len(others) == 4
    assert all(of.items() <= one_process.items() for of in others)


@pytest.mark.parametrize(("layout", "executor"), [("1x1", "xla"), ("1x1", "native"), ("3x1", "xla"), ("2x2", "native")])
def test_derivatives_are_exact_on_any_number_of_ranks(found, layout, executor):
    """Between walls and around islands, with open sides; by the native step on a sphere under weather with tides."""
    ours, one_process = (found[each]["numbers"][executor] for each in (layout, "1x1"))
    assert failures(ours) == []
    assert ours["value"] == pytest.approx(one_process["value"], rel=1e-12)
    for name in ("gradient", "hessian-vector"):
        for control, truth in one_process[name].items():
            tolerance = 1e-12 * np.abs(truth).max()
            np.testing.assert_allclose(ours[name][control], truth, rtol=0, atol=tolerance, err_msg=f"{name} {control}")
