"""Several steps in one sweep give the bits of one at a time, on any number of ranks."""

import json

import pytest


@pytest.fixture(scope="module")
def found(mpiexec, quickly_compiled):
    """{layout: {variant: {steps in a sweep: checksum}}}, from one start of four ranks.

    What XLA makes of the program around the native step has no part in them.
    """
    return json.loads(mpiexec("steps_per_sweep.py", 4, timeout=200).stdout.splitlines()[-1])


@pytest.mark.parametrize("layout", ["1x1", "2x2", "4x1", "1x4"])
def test_steps_in_a_sweep_and_layouts_do_not_change_a_bit(found, layout):
    """Those of one step in a sweep on one process; test_bits.py has one step in a sweep in all layouts."""
    assert len(found[layout]) == 4
    steps = set().union(*found[layout].values())
    assert steps == ({"1", "2", "3", "4"} if layout == "1x1" else {"2", "3", "4"})
    for name, checksums in found[layout].items():
        assert len(checksums) == (4 if layout == "1x1" else 1)
        assert set(checksums.values()) == {found["1x1"][name]["1"]}, name
