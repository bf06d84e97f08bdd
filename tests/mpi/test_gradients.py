"""Derivatives of a run with walls, islands and uneven blocks are exact on several ranks, and those of one."""

import json

import numpy as np
import pytest

from swmodel.gradients.check import failures

pytestmark = pytest.mark.usefixtures("quickly_compiled")


def derivatives(mpiexec, layout, executor="xla"):
    py, px = map(int, layout.split("x"))
    return json.loads(mpiexec("gradients.py", py * px, layout, executor, timeout=300).stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def one_process():
    return {}


@pytest.mark.parametrize(("layout", "executor"), [("1x1", "xla"), ("1x2", "native"), ("3x1", "xla"), ("2x2", "native")])
def test_derivatives_are_exact_on_any_number_of_ranks(mpiexec, one_process, layout, executor):
    if not one_process:
        one_process.update(derivatives(mpiexec, "1x1"))
    ours = one_process if layout == "1x1" else derivatives(mpiexec, layout, executor)
    assert failures(ours) == []
    assert ours["value"] == pytest.approx(one_process["value"], rel=1e-12)
    for name in ("gradient", "hessian-vector"):
        for control, truth in one_process[name].items():
            tolerance = 1e-12 * np.abs(truth).max()
            np.testing.assert_allclose(ours[name][control], truth, rtol=0, atol=tolerance, err_msg=f"{name} {control}")
