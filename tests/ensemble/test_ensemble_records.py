"""ensemble.nc of a basin with an island, and what is shown of it."""

import shutil
from itertools import combinations

import matplotlib as mpl
import netCDF4
import numpy as np
import pytest
import xarray
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.transforms import Bbox
from support.cf_checker import checked
from support.restarts import resealed
from support.small_ensemble import configuration, field_of

from swmodel.files.output.static import land
from swmodel.model.ensemble.ensemble_file import EnsembleFile
from swmodel.model.ensemble.members import Members
from swmodel.ocean.table import REDUCED, VARIABLES
from swmodel.plotting import Over, Scale, derived, maps, plot, style
from swmodel.plotting import ensemble as pictures
from swmodel.plotting.dataset import PlotError, open_data
from swmodel.plotting.info import describe_results
from swmodel.plotting.record import read_map

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
    assert dry.any()
    for found in record:
        assert np.array_equal(np.broadcast_to(dry, found.shape), found.mask)
    np.testing.assert_array_equal(record[0].filled(0), fields[[0, 2]].filled(0))
    spread, atol = fields.std(axis=0, ddof=1), 1e-13 * np.abs(fields).max()
    np.testing.assert_allclose(record[1].filled(0), fields.mean(axis=0).filled(0), rtol=0, atol=atol)
    np.testing.assert_allclose(record[2].filled(0), spread.filled(0), rtol=0, atol=atol)
    np.testing.assert_allclose(rms, np.sqrt(np.mean(spread**2)), rtol=0, atol=atol)


def test_series_of_all_members_are_aligned_with_the_fields_of_some(written):
    with xarray.open_dataset(written[0]) as data:
        assert data.energy.sel(realization=data.member).dims == ("time", "member")
        assert data.attrs["layout"] == "1x1"


def test_info_tells_members_and_records(written):
    shown = " ".join(describe_results(written[0]).split())
    assert "members 3, with fields of 0, 2; seed 0" in shown
    assert "eta_spread m time y_c x_c" in shown


def test_any_member_that_is_written_can_be_drawn(written, tmp_path):
    path, members = written
    with open_data(path) as data:
        panel = read_map(data, "eta", member=2)
        np.testing.assert_array_equal(panel.values.compressed(), field_of(members, "eta")[2][~panel.values.mask])
        assert panel.long_name.endswith(", member 2")
        with pytest.raises(PlotError, match="no fields of member 1 .* it has those of 0, 2"):
            read_map(data, "eta", member=1)
    assert plot(path, ["eta"], output=tmp_path / "eta.png", member=2).is_file()


def test_pictures_of_all_members_have_the_same_colours_on_request(written):
    with open_data(written[0]) as data:
        own, shared = (
            [maps.picture(data, ["eta"], member=m, scale=Scale(r)).axes[0].images[0].get_clim() for m in (0, 2)]
            for r in ("record", "shared")
        )
        assert own[0] != own[1]
        assert shared == [max(own, key=lambda ends: ends[1])] * 2
        speed = derived.read(data, "speed", member=2)
        assert speed.long_name == "speed of the current, member 2"
        u, v = derived.current(data, member=2)
        assert np.ma.all(np.hypot(u.values, v.values) <= speed.values * (1 + 1e-6))


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


def test_nothing_of_a_panel_reaches_into_another_where_names_are_long(written, tmp_path):
    """Names, ticks and numbers of each panel and its colour bar are in a rectangle of their own, and in the figure."""
    path, name = shutil.copy(written[0], tmp_path / "ensemble.nc"), REDUCED["eta"].long_name
    with netCDF4.Dataset(path, "a") as data:
        for field in ("eta", "eta_mean", "eta_spread"):
            data[field].long_name = data[field].long_name.replace(VARIABLES["eta"].long_name, name)
    resealed(path)
    with open_data(path) as data, mpl.rc_context(style.RC):
        figure = pictures.picture(data)
        FigureCanvasAgg(figure).draw()
    above, below = figure.subfigs
    mean, spread, *bars = above.axes
    assert all(name[1:] in axes.get_title(loc="left").replace("\n", " ") for axes in (mean, spread, below.axes[1]))
    groups = [(mean, bars[0]), (spread, bars[1]), *((axes,) for axes in below.axes)]
    boxes = [Bbox.union([axes.get_tightbbox() for axes in group]) for group in groups]
    assert len(boxes) == 4
    assert all(not one.overlaps(other) for one, other in combinations(boxes, 2))
    assert all(figure.bbox.containsx(x) and figure.bbox.containsy(y) for box in boxes for x, y in box.corners())


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
