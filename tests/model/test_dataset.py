"""The Dataset of a model is what xarray reads from the file that its run writes."""

import numpy as np
import pytest
import xarray as xr
import xgcm

import swmodel
from swmodel.errors import UsageError

NAMES = ["h", "u", "v", "eta", "zeta", "speed", "sea_level"]
OPTIONS = {"grid.nx": 30, "grid.ny": 20, "run.executor": "reference", "run.steps": 8, "output.fields": NAMES}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run around an island, and the record of its end."""
    folder = tmp_path_factory.mktemp("run") / "rest"
    model = swmodel.Simulation("rest", OPTIONS, fields={"wind_x": 0.1})
    model.run(folder)
    with xr.open_dataset(folder / "output.nc") as stored:
        yield model, stored.isel(time=-1).load()


def test_values_coordinates_and_attributes_are_those_of_the_file(run):
    model, stored = run
    found = model.dataset([*NAMES, "depth", "mask", "f", "wind_x"])
    for name, ours in found.variables.items():
        theirs = stored[name]
        assert ours.dims == theirs.dims, name
        np.testing.assert_array_equal(ours, theirs, err_msg=name)
        told = {
            key: text for key, text in theirs.attrs.items() if key in ("units", "standard_name", "long_name", "axis")
        }
        assert {key: ours.attrs[key] for key in told} == told, name
    assert np.isnan(found.speed).sum() == (found.mask == 0).sum() > 0
    assert found.attrs["title"] == stored.attrs["title"]


def test_xgcm_reads_it_and_the_names_are_those_of_the_output_unless_others_are_asked_for(run):
    model, _ = run
    found = model.dataset()
    assert list(found) == NAMES
    grid = xgcm.Grid(found, padding={"X": "periodic", "Y": "fill"})
    slope = grid.diff(found.eta.fillna(0.0), "X")
    assert slope.dims == found.u.dims
    assert list(model.dataset("eta")) == ["eta"]
    with pytest.raises(UsageError, match="^dataset: no field nope; there are h, .*, depth, mask, f, wind_x"):
        model.dataset(["eta", "nope"])


@pytest.mark.parametrize(("calendar", "end"), [("proleptic_gregorian", "2020-03-02"), ("360_day", "2020-03-01")])
def test_times_count_from_the_date_at_which_the_run_starts(tmp_path, calendar, end):
    start = {"time.start": "2020-02-28T06:00", "time.calendar": calendar, "time.dt": 86400.0, "run.steps": 3}
    still = {"grid.dx": 1e8, "grid.dy": 1e8, "grid.nx": 4, "grid.ny": 4, "physics.f0": 0.0, "run.executor": "reference"}
    model = swmodel.Simulation("rest", start | still)
    model.run(tmp_path / "run")
    with xr.open_dataset(tmp_path / "run" / "output.nc") as stored:
        first, *_, last = stored.time.values
    assert str(first).startswith("2020-02-28")
    assert str(last).startswith(end)
    assert str(first)[11:16] == str(last)[11:16] == "06:00"
    assert model.dataset().time.values == last
