"""A sea floor that moves in time: volumes, drying, and all output."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray
from support.marks import night_params

import swmodel
from swmodel.errors import UsageError
from swmodel.gradients.problem import Problem

BASIN = {
    **{"grid.nx": 24, "grid.ny": 20, "grid.dx": 5e3, "grid.dy": 5e3, "physics.depth": 1000.0, "case.speed": 0.0},
    **{"grid.periodic_x": False, "grid.periodic_y": False, "time.dt": 10.0, "run.steps": 12, "run.dtype": "float64"},
    **{"output.every_steps": 3, "output.fields": ["eta", "h", "uplift"], "output.maxima": ["eta"]},
    **{"output.stations": [{"name": "A", "x": 5e4, "y": 5e4}], "time.start": "2020-01-01T00:00:00"},
    "output.stations_every_steps": 3,
}


def bump(at):
    return 2.0 * np.exp(-((at.x - 5.3e4) ** 2 + (at.y - 4.8e4) ** 2) / (2 * 1.5e4**2))


RUNS = [("reference", True), *night_params(("native", False), mark=pytest.mark.slow)]
RUNS += night_params(("reference", False), ("native", True), ("xla", False), ("xla", True))


@pytest.mark.parametrize(("executor", "drying"), RUNS)
def test_moving_floor_lifts_the_water_by_its_uplift_in_all_output(tmp_path, executor, drying):
    """Sea level and uplift have equal volumes; the floor rests after its last record; executors agree to 1e-9 m."""
    x, y = (5e3 * (np.arange(n) + 0.5) for n in (24, 20))
    values = np.multiply.outer([0.0, 0.3, 1.0], bump(SimpleNamespace(x=x[None, :], y=y[:, None])))
    time = np.datetime64("2020-01-01T00:00:00", "ns") + np.array([0, 20, 75]) * np.timedelta64(1, "s")
    fields = {"uplift": xarray.DataArray(values, {"time": time}, ("time", "y", "x"), attrs={"units": "m"})}
    options = BASIN | {"run.executor": executor, "drying.active": drying, "time.stepper": "gfb" if drying else "ab3"}
    simulation = swmodel.Simulation("inertial", options, fields=fields)
    assert np.abs(simulation.field("eta")).max() == pytest.approx(0, abs=1e-9)
    simulation.run(tmp_path / "run")
    with xarray.open_dataset(tmp_path / "run/output.nc", decode_times=False) as output:
        volumes = output.eta.sum(("y_c", "x_c")).values
        np.testing.assert_allclose(volumes, output.uplift.sum(("y_c", "x_c")), rtol=1e-9, atol=1e-7)
        factors = np.interp([0, 30, 60, 90, 120], [0, 20, 75], [0, 0.3, 1])
        np.testing.assert_allclose(volumes, volumes[-1] * factors, rtol=1e-9, atol=1e-7)
        last_record = output.isel(time=-1)
        np.testing.assert_allclose(last_record.eta, last_record.h - last_record.depth, atol=1e-9)
        reference = swmodel.Simulation("inertial", options | {"run.executor": "reference"}, fields=fields)
        eta_max = -np.inf
        for _ in range(12):
            reference.advance(1)
            eta_max = np.maximum(eta_max, reference.field("eta"))
        np.testing.assert_allclose(last_record.eta_max, np.maximum(eta_max, 0), atol=1e-9)
        np.testing.assert_allclose(simulation.field("eta"), reference.field("eta"), atol=1e-9)
        with xarray.open_dataset(tmp_path / "run/stations.nc", decode_times=False) as series:
            interpolated = output.eta.sel(x_c=[4.75e4, 5.25e4], y_c=[4.75e4, 5.25e4]).mean(("y_c", "x_c"))
            np.testing.assert_allclose(series.eta[:, 0], interpolated, atol=1e-9)


def test_dry_ground_stays_dry_while_it_rises_and_derivatives_are_refused():
    beach = {"depth": lambda at: 40.0 - at.x / 2e3 + 0 * at.y, "uplift": lambda at, t: bump(at) * np.minimum(t / 60, 1)}
    options = BASIN | {"drying.active": True, "time.stepper": "gfb", "forcing.every": 10.0, "run.executor": "reference"}
    simulation = swmodel.Simulation("inertial", options | {"output.stations": []}, fields=beach)
    volume, dry = simulation.field("h").sum(), simulation.field("h") == 0
    assert dry.any()
    simulation.advance(12)
    assert simulation.field("h").sum() == pytest.approx(volume, rel=1e-12)
    assert simulation.field("h")[:, -4:].max() == 0
    with pytest.raises(UsageError, match="uplift"):
        Problem(swmodel.load("inertial", options | {"run.executor": "xla"}, fields=beach), ["eta"], None)
