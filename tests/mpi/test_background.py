"""Errors of a first guess, their transposes, and what conjugate gradients make of them do not depend on the layout."""

import json

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("quickly_compiled")


def results(mpiexec, layout):
    py, px = map(int, layout.split("x"))
    return json.loads(mpiexec("background.py", py * px, layout).stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def one_process():
    return {}


@pytest.mark.parametrize("layout", ["1x2", "2x1", "2x2", "1x4"])
def test_several_ranks_give_the_background_of_one(mpiexec, one_process, layout):
    """Normalisation, L, Lᵀ by hand and by JAX, jvp, draws, and five steps towards (1 + Lᵀ L) x = b."""
    if not one_process:
        one_process.update(results(mpiexec, "1x1"))
    ours = results(mpiexec, layout)
    assert ours["adjoint"] < 1e-12
    assert ours["numbers"]["vjp"] == pytest.approx(ours["numbers"]["transpose"], rel=1e-12)
    for name, truth in one_process["numbers"].items():
        error = np.abs(np.subtract(ours["numbers"][name], truth)).max() / np.abs(truth).max()
        assert error < (1e-9 if name == "solve" else 1e-12), name  # each iteration amplifies round-off
