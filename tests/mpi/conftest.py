"""Tests that start several processes: by themselves where these have to be in time, after signals and faults.

There they need the cores of a small machine. Those in BESIDE wait for compilation, and run beside other tests.
"""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
BESIDE = {
    "test_assimilate",
    "test_background",
    "test_bench",
    "test_bits",
    "test_derivatives",
    "test_files",
    "test_gradients",
    "test_own_case",
    "test_restart",
    "test_sensitivity",
    "test_steps_per_sweep",
    "test_twin",
}


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents and item.path.stem not in BESIDE:
            item.add_marker(pytest.mark.processes)
