"""Several steps in one sweep give the bits of one at a time, on any number of ranks."""

import pytest

LAYOUTS = ["1x1", "1x2", "2x1", "2x2", "4x1", "1x4"]


@pytest.fixture(scope="module")
def one_process():
    return {}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_steps_in_a_sweep_and_layouts_do_not_change_a_bit(mpiexec, one_process, layout):
    py, px = map(int, layout.split("x"))
    lines = [
        line for line in mpiexec("steps_per_sweep.py", py * px, layout).stdout.splitlines() if line.startswith("bits")
    ]
    found = {}
    for _, *name, steps_per_sweep, checksum in map(str.split, lines):
        found.setdefault(" ".join(name), {})[steps_per_sweep] = checksum
    assert len(found) == 4
    for name, checksums in found.items():
        assert set(checksums) == {"1", "2", "3", "4"}
        truth = one_process.setdefault(name, checksums["1"])
        assert set(checksums.values()) == {truth}, name
