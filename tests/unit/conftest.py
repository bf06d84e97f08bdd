"""A run with restart files, for the tests of restarts."""

import shutil

import pytest


@pytest.fixture(scope="session")
def halfway(tmp_path_factory):
    """A run of 7 steps with restart files at 5 and 7."""
    from support.restarts import make_halfway

    return make_halfway(tmp_path_factory.mktemp("runs") / "halfway")


@pytest.fixture
def run_folder(halfway, tmp_path):
    """A copy of it."""
    return shutil.copytree(halfway, tmp_path / "run")
