"""Fixtures of several test files: an uninterrupted run, and figures that are drawn without layout."""

import pytest
from support.restarts import simulation


@pytest.fixture(scope="session")
def uninterrupted_run(tmp_path_factory):
    """A run of 11 steps, of which `halfway_run` has the first seven; tests must not change it."""
    directory = tmp_path_factory.mktemp("runs") / "uninterrupted"
    simulation().run(directory)
    return directory


@pytest.fixture(autouse=True, scope="module")
def without_figure_layout():
    """Skip the layout of figures, which takes most of the drawing time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("matplotlib.figure.Figure.draw_without_rendering", lambda figure: None)
        yield
