"""Tracks of drifters over maps: up to the record, and on the page."""

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.collections import LineCollection
from support.small_run import make_run

from swmodel.cli import main
from swmodel.plotting import Over, PlotError, maps
from swmodel.plotting.dataset import open_data
from swmodel.plotting.page import content

pytestmark = pytest.mark.slow

DRIFTERS = [[10e3, 20e3], [60e3, 22e3], [30e3, 35e3]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("run") / "run", output__drifters=DRIFTERS, output__drifters_every_steps=1)


def test_a_map_has_the_way_of_each_drifter_up_to_its_record_and_a_dot(folder):
    with open_data(folder / "output.nc") as data:
        for record, steps in ((0, 0), (1, 5), (2, 10)):
            axes, *_ = maps.picture(data, ["eta"], record, over=Over(drifters=True)).axes
            (lines,) = [each for each in axes.collections if isinstance(each, LineCollection)]
            assert 3 * steps - 3 <= len(lines.get_segments()) <= 3 * steps
            assert len(axes.lines[-1].get_xdata()) == 3
        found = content.drifters(data, "eta")
    assert np.shape(found["places"]) == (11, 3, 2)
    np.testing.assert_allclose(found["places"][0], np.array(DRIFTERS) / 1e3)


def test_the_command_draws_them_unasked_and_the_file_has_a_picture(folder, tmp_path):
    for path in (folder, folder / "drifters.nc"):
        done = CliRunner().invoke(main, ["plot", str(path), "--output", str(tmp_path / "tracks.png")])
        assert done.exit_code == 0, done.output
        assert (tmp_path / "tracks.png").stat().st_size > 10_000
        (tmp_path / "tracks.png").unlink()


def test_a_run_without_drifters_has_no_tracks(tmp_path):
    make_run(tmp_path / "run")
    with open_data(tmp_path / "run" / "output.nc") as data:
        assert content.drifters(data, "eta") is None
        with pytest.raises(PlotError, match=r"output\.drifters"):
            maps.picture(data, ["eta"], over=Over(drifters=True))
