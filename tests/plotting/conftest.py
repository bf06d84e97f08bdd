"""A run of the jet for the pictures of all files here."""

import shutil

import pytest
from support.small_run import make_run


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory):
    """It has three records, all fields and the mean sea level; not to be changed."""
    return make_run(tmp_path_factory.mktemp("jet") / "run")


@pytest.fixture
def run(finished_run, tmp_path):
    """A copy of it."""
    return shutil.copytree(finished_run, tmp_path / "run")


@pytest.fixture(autouse=True)
def no_layout(monkeypatch):
    """Figures are not laid out, which takes most of the time of a picture; tests of the layout replace this."""
    monkeypatch.setattr("matplotlib.figure.Figure.draw_without_rendering", lambda figure: None)
