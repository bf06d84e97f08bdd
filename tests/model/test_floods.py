"""Output of runs with drying: wet cells, largest values, inundation, gauges on land and diagnostics."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray
from support.field_cases import case_with_fields
from support.flooding import NX, NY, STEPS, beach_fields, make_config

import swmodel
from swmodel import ConfigError
from swmodel.config.options.output import OutputOptions
from swmodel.model.resolve import resolve
from swmodel.model.validate import check_config
from swmodel.setup.positions.gauges import make_gauges
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

WET_THICKNESS = 0.02


@pytest.fixture(scope="module")
def flood_runs(tmp_path_factory):
    """Files of a run with records of every step, and `resumed`, the output of one with few records that was resumed."""
    folder = tmp_path_factory.mktemp("flood")
    model = swmodel.Simulation(make_config(run__dtype="float32"))
    model.run(folder / "run")
    first_half = make_config(run__dtype="float32", output__every_steps=7, run__steps=STEPS // 2)
    swmodel.Simulation(first_half).run(folder / "resumed")
    resumed = swmodel.Simulation.resume(folder / "resumed", {"run.steps": STEPS}, case=type(model.config.case))
    resumed.run(folder / "resumed")
    paths = {name: f"run/{name}" for name in ("output", "stations", "diagnostics")} | {"resumed": "resumed/output"}
    files = {name: xarray.load_dataset(folder / f"{path}.nc", decode_times=False) for name, path in paths.items()}
    return SimpleNamespace(config=model.config, **files)


def test_wet_cells_exceed_the_wet_thickness(flood_runs):
    wet, h = flood_runs.output.wet, flood_runs.output.h
    np.testing.assert_array_equal(wet.values[h.notnull()], (h.values > h.dtype.type(WET_THICKNESS))[h.notnull()])
    assert set(np.unique(wet.values[h.notnull()])) == {0, 1}
    assert (np.abs(np.diff(wet, axis=0)) == 1).any(axis=0).sum() > 5
    assert wet.attrs["flag_meanings"] == "dry wet"
    dry = (wet == 0).values
    ground = np.broadcast_to(-flood_runs.output.depth.values, dry.shape)
    np.testing.assert_allclose(flood_runs.output.eta.values[dry], ground[dry], atol=1.1 * WET_THICKNESS)


def test_largest_values_and_inundation_are_those_of_wet_cells(flood_runs):
    """The run was resumed and has few records. Cells that were never wet have no values."""
    wet = flood_runs.output.wet.values == 1
    for record, step in enumerate(flood_runs.resumed.step.values):
        for name in ("eta", "h", "speed"):
            values = np.where(wet, flood_runs.output[name], -np.inf)[: step + 1]
            largest, stored = values.max(axis=0), flood_runs.resumed[f"{name}_max"].values[record]
            is_dry = np.isinf(largest)
            np.testing.assert_allclose(stored, np.where(is_dry, np.nan, largest), rtol=1e-6 if name == "speed" else 0)
            if name != "speed":
                times = np.where(is_dry, np.nan, values.argmax(axis=0) * 20.0)
                np.testing.assert_array_equal(flood_runs.resumed[f"{name}_max_time"].values[record], times)
        is_flooded = wet[: step + 1].any(axis=0) & ~wet[0]
        expected = np.where(is_flooded, wet[: step + 1].argmax(axis=0) * 20.0, np.nan)
        np.testing.assert_array_equal(flood_runs.resumed.wet_arrival.values[record], expected)
    assert np.isfinite(flood_runs.resumed.wet_arrival.values[-1]).sum() > 3
    for name in ("eta", "h", "speed"):
        assert np.isnan(flood_runs.resumed[f"{name}_max"][-1]).sum() > np.isnan(flood_runs.output.h[-1]).sum()


def test_gauges_and_flooded_area_follow_wet_cells(flood_runs):
    """A gauge at the centre of a cell has the values of that cell; the flooded area is that of wet land."""
    cells = ((flood_runs.output.wet == 1) & (flood_runs.output.depth < 0)).sum(("y_c", "x_c")).values
    np.testing.assert_allclose(flood_runs.diagnostics.flooded_area, cells * 5e4)
    assert cells.max() > cells.min()
    stations, gauges = flood_runs.stations, make_gauges(setup_of(flood_runs.config))
    dry = np.isnan(stations.eta.values)
    assert not dry[:, 0].any()
    assert 0 < dry[:, 1].sum() < len(dry)
    assert dry[:, 3].all()
    for name in "huv":
        assert not stations[name].values[dry].any()
    for n in (0, 1):
        corner = np.argmax(gauges.weights["eta"][n])
        j, i = gauges.points.rows[4 * n + corner], gauges.points.columns[4 * n + corner]
        wet = flood_runs.output.wet[:, j, i].values == 1
        np.testing.assert_array_equal(wet, ~dry[:, n])
        np.testing.assert_allclose(stations.eta[wet, n], flood_runs.output.eta[wet, j, i], rtol=0, atol=1e-6)
        np.testing.assert_allclose(stations.h[wet, n], flood_runs.output.h[wet, j, i], rtol=1e-6)


def test_energy_of_water_on_land_is_its_potential_energy():
    """A lake at rest has no energy; a column of height h and area A on ground at height b has rho g A h (b + h/2)."""
    model = swmodel.Simulation(make_config(run__executor="reference"))
    grid, physics = setup_of(model.config).grid(model.block, 0), model.config.physics
    state = model.state._replace(h=np.maximum(grid.depth, 0.0), u=np.zeros((NY, NX)), v=np.zeros((NY, NX)))
    model.state = state
    assert model.diagnostics()["energy"] == 0
    j, i = np.argwhere((grid.depth < -0.5) & (grid.wet > 0))[0]
    h = state.h.copy()
    h[j, i] = 0.7
    model.state = state._replace(h=h)
    diagnostics = model.diagnostics()
    expected = physics.density * physics.gravity * 5e4 * 0.7 * (-grid.depth[j, i] + 0.35)
    assert diagnostics["energy"] == pytest.approx(expected, rel=1e-12)
    assert diagnostics["flooded_area"] == 5e4


def test_limited_faces_are_counted():
    """There are none at rest, and two columns of faces where the current would cross a cell in a step."""
    model, v = swmodel.Simulation(make_config(run__executor="reference")), np.zeros((NY, NX))
    for speed, count in ((0.0, 0), (15.0, 2 * NY)):  # 15 m/s is 300 m per step
        model.state = model.state._replace(u=speed * np.isin(np.arange(NX), [1, 3]) * np.ones((NY, 1)), v=v)
        assert model.diagnostics()["limited_faces"] == count


def test_output_of_floods_is_refused_without_drying():
    no_drying = {"drying__active": False, "drying__thickness": None, "output__inundation": False}
    no_drying |= {"time__dt": 10.0, "run__executor": "reference"}
    case = case_with_fields(beach_fields() | {"depth": beach_fields()["depth"] + 5.0}, "Random")
    for key, value in (("fields", ("eta", "wet")), ("means", ("wet",)), ("inundation", True)):
        options = no_drying | {"output__fields": ("eta",)} | {f"output__{key}": value}
        with pytest.raises(ConfigError, match=f"output.{key}") as error:
            check_config(make_config(**options).model_copy(update={"case": case}))
        assert len(error.value.problems) == 1
    assert "wet" in resolve(make_config(output__fields=OutputOptions().fields, run__executor="reference")).output.fields
    assert "wet" not in resolve(swmodel.load("rest", environ={})).output.fields
