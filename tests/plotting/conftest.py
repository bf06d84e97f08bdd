"""A run of the jet that tests of this folder draw, and figures without layout."""

import shutil

import pytest
from support.small_run import write_small_run


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory):
    """A run with three records, seven fields and the mean sea level; tests must not change it."""
    return write_small_run(tmp_path_factory.mktemp("jet") / "run")


@pytest.fixture
def run(finished_run, tmp_path):
    """A copy of `finished_run`, which a test may change."""
    return shutil.copytree(finished_run, tmp_path / "run")


@pytest.fixture(autouse=True)
def no_layout(monkeypatch):
    """Skip the layout of figures, which takes most of the time of a picture; tests of the layout override this."""
    monkeypatch.setattr("matplotlib.figure.Figure.draw_without_rendering", lambda figure: None)
