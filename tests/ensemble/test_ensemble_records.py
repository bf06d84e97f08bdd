"""ensemble.nc of a basin with an island, and pictures of it."""

import netCDF4
import numpy as np
import pytest
import xarray
import xgcm
from support.cf_checker import checked
from support.small_ensemble import STILL, configuration, field_of

from swmodel.files.output.static import land
from swmodel.model.ensemble.ensemble_file import EnsembleFile
from swmodel.model.ensemble.members import Members
from swmodel.ocean.table import VARIABLES
from swmodel.plotting import Over, plot
from swmodel.plotting import ensemble as pictures
from swmodel.plotting.dataset import PlotError, open_data
from swmodel.plotting.info import describe_results
from swmodel.plotting.record import read_map

pytestmark = pytest.mark.slow

FIELDS = ("eta", "u", "v", "zeta", "q", "speed")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The file with records of steps 0 and 3, and the members as they were at step 3."""
    options = {"case__name": "rest", "time__stepper": "rk3", "output__fields": FIELDS, "run__dtype": "float64"}
    config = configuration(**options, **STILL, ensemble__members=3, ensemble__write=(2, 0))
    path, members = tmp_path_factory.mktemp("island") / "ensemble.nc", Members(config)
    with EnsembleFile(path, config, members.transport, "swmodel ensemble rest") as records:
        records.write(members)
        members.take_steps(3)
        records.write(members)
    return path, members


@pytest.mark.night
def test_ensemble_file_satisfies_the_cf_checker(written):
    """But for the role "grid_topology", which SGRID asks for and the checker does not know."""
    errors, text = checked(written[0])
    assert "cf:1.11" in text
    assert [error for error in errors if "grid_topology is not a valid cf_role" not in error] == []


def test_records_are_members_mean_and_spread_without_land(written):
    path, members = written
    with netCDF4.Dataset(path) as data:
        energy = [members.evaluate(number, ())[1]["energy"] for number in range(3)]
        np.testing.assert_array_equal(data["energy"][-1], energy)
        for name in FIELDS:
            dry = land(members.config, np.arange(16), np.arange(12))[VARIABLES[name].location]
            fields = np.ma.masked_where(np.broadcast_to(dry, (3, 16, 12)), field_of(members, name))
            written, mean, spread = (data[f"{name}{what}"][-1] for what in ("", "_mean", "_spread"))
            assert dry.any()
            for found in (written, mean, spread):
                assert np.array_equal(np.broadcast_to(dry, found.shape), found.mask), name
            np.testing.assert_array_equal(written.filled(0), fields[[0, 2]].filled(0))
            expected, atol = fields.std(axis=0, ddof=1), 1e-13 * np.abs(fields).max()
            np.testing.assert_allclose(mean.filled(0), fields.mean(axis=0).filled(0), rtol=0, atol=atol)
            np.testing.assert_allclose(spread.filled(0), expected.filled(0), rtol=0, atol=atol)
            rms = data[f"{name}_spread_rms"][-1]
            np.testing.assert_allclose(rms, np.sqrt(np.mean(expected**2)), rtol=0, atol=atol)


def test_ensemble_file_opens_in_xarray_and_xgcm(written):
    with xarray.open_dataset(written[0]) as data:
        assert data.energy.sel(realization=data.member).dims == ("time", "member")
        grid = xgcm.Grid(data, padding={"X": "fill", "Y": "fill"})
        assert grid.interp(data.eta_spread, "X").dims == ("time", "y_c", "x_f")
    assert "members 3, with fields of 0, 2; seed 0" in " ".join(describe_results(written[0]).split())


def test_pictures_show_members_mean_spread_and_series(written, tmp_path, monkeypatch):
    path, members = written
    with open_data(path) as data:
        panel = read_map(data, "eta", member=2)
        np.testing.assert_array_equal(panel.values.compressed(), field_of(members, "eta")[2][~panel.values.mask])
        assert "member 2" in panel.long_name
        with pytest.raises(PlotError, match="member 1 .* 0, 2"):
            read_map(data, "eta", member=1)
        figure = pictures.picture(data)
        maps, lines = ([each for axes in figure.axes for each in getattr(axes, kind)] for kind in ("images", "lines"))
        np.testing.assert_allclose(maps[1].get_array(), data["eta_spread"][-1], rtol=1e-6)
        assert maps[1].get_clim()[0] == 0
        assert ["spread" in image.axes.get_title(loc="left") for image in maps] == [False, True]
        np.testing.assert_allclose(lines[-1].get_ydata(), data["eta_spread_rms"][:])
        monkeypatch.setattr(pictures, "PREFERRED", ())
        assert pictures.picture(data)
    assert plot(path, ["eta"], output=tmp_path / "eta.png", member=2).is_file()
    with pytest.raises(PlotError, match="member"):
        plot(path, over=Over(arrows=True))
