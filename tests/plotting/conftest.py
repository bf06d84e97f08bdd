"""A run of the jet for the pictures of all files here."""

import shutil

import pytest
from support.small_run import make_run


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """It has three records, all fields and the mean sea level; not to be changed."""
    return make_run(tmp_path_factory.mktemp("jet") / "run")


@pytest.fixture
def run(finished, tmp_path):
    """A copy of it."""
    return shutil.copytree(finished, tmp_path / "run")
