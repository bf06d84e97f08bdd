"""Several steps in one sweep give the bits of one at a time, on any number of ranks."""

import json

import pytest


@pytest.fixture(scope="module")
def found(mpiexec, quickly_compiled):
    """{layout: {variant: [steps in a sweep, checksum]}}, from one start of four ranks.

    What XLA makes of the program around the native step has no part in them.
    """
    return json.loads(mpiexec("steps_per_sweep.py", 4, timeout=200).stdout.splitlines()[-1])


@pytest.mark.parametrize("layout", ["2x2", "3x1", "1x3"])
def test_steps_in_a_sweep_and_layouts_do_not_change_a_bit(found, layout):
    """Those of one step in a sweep on one process.

    Several on one process are in executors/test_native.py; one in a sweep in all layouts is in test_bits.py.
    """
    one_process = found["1x1"]
    assert len(found[layout]) == len(one_process) == 4
    assert {steps for steps, _ in one_process.values()} == {1}
    assert {steps for steps, _ in found[layout].values()} == {2, 3, 4}
    for name, (_, checksum) in found[layout].items():
        assert checksum == one_process[name][1], name
