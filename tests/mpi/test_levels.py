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
    lines = [
        line
        for line in mpiexec("levels.py", py * px, layout, LEVELS[layout]).stdout.splitlines()
        if line.startswith("bits")
    ]
    found = {}
    for _, *name, levels, checksum in map(str.split, lines):
        found.setdefault(" ".join(name), {})[levels] = checksum
    assert len(found) == 4
    for name, checksums in found.items():
        assert set(checksums) == set(LEVELS[layout])
        truth = one_process.setdefault(name, checksums["1"])
        assert set(checksums.values()) == {truth}, name
