"""Errors of a first guess, their transposes, and what conjugate gradients make of them do not depend on the layout."""

import json

import numpy as np
import pytest


@pytest.fixture(scope="module")
def found(mpiexec, quickly_compiled):
    """What background.py finds, by layout, from one start of four ranks."""
    return json.loads(mpiexec("background.py", 4, timeout=200).stdout.splitlines()[-1])


@pytest.mark.parametrize("layout", ["1x2", "2x1", "2x2", "1x4"])
def test_several_ranks_give_the_background_of_one(found, layout):
    """Normalisation, L, Lᵀ by hand and by JAX, jvp, draws, and five steps towards (1 + Lᵀ L) x = b."""
    ours = found[layout]
    assert ours["adjoint"] < 1e-12
    assert ours["numbers"]["vjp"] == pytest.approx(ours["numbers"]["transpose"], rel=1e-12)
    for name, truth in found["1x1"]["numbers"].items():
        error = np.abs(np.subtract(ours["numbers"][name], truth)).max() / np.abs(truth).max()
        assert error < (1e-9 if name == "solve" else 1e-12), name  # each iteration amplifies round-off
