"""Every test here starts processes, so they are marked as such, and pytest-xdist may keep them together."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.processes)
