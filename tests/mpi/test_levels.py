"""Several steps in one sweep give the bits of one at a time, on any number of ranks."""

import pytest

#: Steps in a sweep, by layout.
LEVELS = {"1x1": "1234", "2x2": "13", "4x1": "14", "1x4": "14"}


@pytest.fixture(scope="module")
def one_process():
    return {}


@pytest.mark.parametrize("layout", LEVELS)
def test_steps_in_a_sweep_and_layouts_do_not_change_a_bit(mpiexec, one_process, layout):
    py, px = map(int, layout.split("x"))
    printed = mpiexec("levels.py", py * px, layout, LEVELS[layout]).stdout.splitlines()
    found = {}
    for _, *name, levels, checksum in (line.split() for line in printed if line.startswith("bits")):
        found.setdefault(" ".join(name), {})[levels] = checksum
    assert len(found) == 4
    for name, checksums in found.items():
        assert set(checksums) == set(LEVELS[layout])
        truth = one_process.setdefault(name, checksums["1"])
        assert set(checksums.values()) == {truth}, name
