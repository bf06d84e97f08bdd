"""ensemble.nc of a basin with an island, and what is shown of it."""

import netCDF4
import numpy as np
import pytest
import xarray
import xgcm
from support.cf_checker import checked
from support.small_ensemble import configuration, field_of

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
STILL = {f"ensemble__{key}": 0.0 for key in ("wind", "wind_length", "viscosity")}


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
def test_the_file_satisfies_the_cf_checker(written):
    """But for the role "grid_topology", which SGRID asks for and the checker does not know."""
    errors, text = checked(written[0])
    assert "cf:1.11" in text
    assert [error for error in errors if "grid_topology is not a valid cf_role" not in error] == []


@pytest.mark.parametrize("name", FIELDS)
def test_land_is_missing_and_water_is_that_of_the_members(written, name):
    path, members = written
    dry = land(members.config, np.arange(16), np.arange(12))[VARIABLES[name].location]
    fields = np.ma.masked_where(np.broadcast_to(dry, (3, 16, 12)), field_of(members, name))
    with netCDF4.Dataset(path) as data:
        record = data[name][-1], data[f"{name}_mean"][-1], data[f"{name}_spread"][-1]
        rms = data[f"{name}_spread_rms"][-1]
        energy = [members.evaluate(number, ())[1]["energy"] for number in range(3)]
        np.testing.assert_array_equal(data["energy"][-1], energy)
    assert dry.any()
    for found in record:
        assert np.array_equal(np.broadcast_to(dry, found.shape), found.mask)
    np.testing.assert_array_equal(record[0].filled(0), fields[[0, 2]].filled(0))
    spread, atol = fields.std(axis=0, ddof=1), 1e-13 * np.abs(fields).max()
    np.testing.assert_allclose(record[1].filled(0), fields.mean(axis=0).filled(0), rtol=0, atol=atol)
    np.testing.assert_allclose(record[2].filled(0), spread.filled(0), rtol=0, atol=atol)
    np.testing.assert_allclose(rms, np.sqrt(np.mean(spread**2)), rtol=0, atol=atol)


def test_the_file_opens_in_xarray_and_xgcm_and_info_describes_it(written):
    with xarray.open_dataset(written[0]) as data:
        assert data.energy.sel(realization=data.member).dims == ("time", "member")
        grid = xgcm.Grid(data, padding={"X": "fill", "Y": "fill"})
        assert grid.interp(data.eta_spread, "X").dims == ("time", "y_c", "x_f")
    assert "members 3, with fields of 0, 2; seed 0" in " ".join(describe_results(written[0]).split())


def test_any_member_that_is_written_can_be_drawn(written, tmp_path):
    path, members = written
    with open_data(path) as data:
        panel = read_map(data, "eta", member=2)
        np.testing.assert_array_equal(panel.values.compressed(), field_of(members, "eta")[2][~panel.values.mask])
        assert panel.long_name.endswith(", member 2")
        with pytest.raises(PlotError, match="no fields of member 1 .* it has those of 0, 2"):
            read_map(data, "eta", member=1)
    assert plot(path, ["eta"], output=tmp_path / "eta.png", member=2).is_file()


def test_above_the_picture_stand_case_members_and_date_and_above_each_map_what_it_is(written):
    with open_data(written[0]) as data:
        figure = pictures.picture(data)
        assert [axes.get_title(loc="left") for axes in figure.axes if axes.images] == [
            "Sea level, mean over the members (m)",
            "Sea level, spread (m)",
        ]
        assert figure.get_suptitle().startswith("rest, 3 members, 2000-01-01 00:07:06 (")
    with pytest.raises(PlotError, match="arrows and contours are drawn over fields of a member: name one"):
        plot(written[0], over=Over(arrows=True))


def test_the_picture_shows_mean_spread_and_series(written, monkeypatch):
    with open_data(written[0]) as data:
        figure = pictures.picture(data)
        images = [image for axes in figure.axes for image in axes.images]
        lines = [line for axes in figure.axes for line in axes.lines]
        np.testing.assert_allclose(images[1].get_array(), data["eta_spread"][-1], rtol=1e-6)
        assert images[1].get_clim()[0] == 0
        np.testing.assert_allclose(lines[-1].get_ydata(), data["eta_spread_rms"][:])
        monkeypatch.setattr(pictures, "PREFERRED", ())
        assert pictures.picture(data)
