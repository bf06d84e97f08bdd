"""Output of runs with drying: wet cells, hazard maps, gauges on land and diagnostics, the same on any layout."""

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
    """A run with records of every step, and one with few records that was stopped and continued."""
    folder = tmp_path_factory.mktemp("flood")
    each = swmodel.Simulation(make_config(run__dtype="float32"))
    each.run(folder / "each")
    half = make_config(run__dtype="float32", output__every_steps=7, run__steps=STEPS // 2)
    swmodel.Simulation(half).run(folder / "few")
    few = swmodel.Simulation.resume(folder / "few", {"run.steps": STEPS}, case=type(each.config.case))
    few.run(folder / "few")
    names = {"each": "each/output", "few": "few/output", "stations": "each/stations", "numbers": "each/diagnostics"}
    found = {name: xarray.load_dataset(folder / f"{path}.nc", decode_times=False) for name, path in names.items()}
    return SimpleNamespace(config=each.config, **found)


def test_wet_cells_exceed_the_wet_thickness(flood_runs):
    wet, h = flood_runs.each.wet, flood_runs.each.h
    np.testing.assert_array_equal(wet.values[h.notnull()], (h.values > h.dtype.type(WET_THICKNESS))[h.notnull()])
    assert set(np.unique(wet.values[h.notnull()])) == {0, 1}
    assert (np.abs(np.diff(wet, axis=0)) == 1).any(axis=0).sum() > 5
    assert wet.attrs["flag_meanings"] == "dry wet"
    dry = (wet == 0).values
    ground = np.broadcast_to(-flood_runs.each.depth.values, dry.shape)
    np.testing.assert_allclose(flood_runs.each.eta.values[dry], ground[dry], atol=1.1 * WET_THICKNESS)


def test_largest_values_and_inundation_are_those_of_wet_cells(flood_runs):
    """This also holds for a run that was stopped, with few records; cells that were never wet have no values."""
    wet = flood_runs.each.wet.values == 1
    for record, step in enumerate(flood_runs.few.step.values):
        for name in ("eta", "h", "speed"):
            there = np.where(wet, flood_runs.each[name], -np.inf)[: step + 1]
            most, found = there.max(axis=0), flood_runs.few[f"{name}_max"].values[record]
            never = np.isinf(most)
            np.testing.assert_allclose(found, np.where(never, np.nan, most), rtol=1e-6 if name == "speed" else 0)
            if name != "speed":
                times = np.where(never, np.nan, there.argmax(axis=0) * 20.0)
                np.testing.assert_array_equal(flood_runs.few[f"{name}_max_time"].values[record], times)
        ever = wet[: step + 1].any(axis=0) & ~wet[0]
        expected = np.where(ever, wet[: step + 1].argmax(axis=0) * 20.0, np.nan)
        np.testing.assert_array_equal(flood_runs.few.wet_arrival.values[record], expected)
    assert np.isfinite(flood_runs.few.wet_arrival.values[-1]).sum() > 3
    for name in ("eta", "h", "speed"):
        assert np.isnan(flood_runs.few[f"{name}_max"][-1]).sum() > np.isnan(flood_runs.each.h[-1]).sum()


def test_gauges_and_flooded_area_follow_water(flood_runs):
    """A gauge at the centre of a cell has its sea level and thickness; the flooded area is that of wet land."""
    cells = ((flood_runs.each.wet == 1) & (flood_runs.each.depth < 0)).sum(("y_c", "x_c")).values
    np.testing.assert_allclose(flood_runs.numbers.flooded_area, cells * 5e4)
    assert cells.max() > cells.min()
    found, places = flood_runs.stations, make_gauges(setup_of(flood_runs.config))
    dry = np.isnan(found.eta.values)
    assert not dry[:, 0].any()
    assert 0 < dry[:, 1].sum() < len(dry)
    assert dry[:, 3].all()
    for name in "huv":
        assert not found[name].values[dry].any()
    for n in (0, 1):
        corner = np.argmax(places.weights["eta"][n])
        j, i = places.points.rows[4 * n + corner], places.points.columns[4 * n + corner]
        wet = flood_runs.each.wet[:, j, i].values == 1
        np.testing.assert_array_equal(wet, ~dry[:, n])
        np.testing.assert_allclose(found.eta[wet, n], flood_runs.each.eta[wet, j, i], rtol=0, atol=1e-6)
        np.testing.assert_allclose(found.h[wet, n], flood_runs.each.h[wet, j, i], rtol=1e-6)


def test_energy_of_water_on_land_is_that_of_its_height():
    """A lake at rest has no energy; a column of height h on ground at height b has rho g A h (b + h/2)."""
    model = swmodel.Simulation(make_config(run__executor="reference"))
    grid, physics = setup_of(model.config).grid(model.block, 0), model.config.physics
    state = model.state._replace(h=np.maximum(grid.depth, 0.0), u=np.zeros((NY, NX)), v=np.zeros((NY, NX)))
    model.state = state
    assert model.diagnostics()["energy"] == 0
    j, i = np.argwhere((grid.depth < -0.5) & (grid.wet > 0))[0]
    h = state.h.copy()
    h[j, i] = 0.7
    model.state = state._replace(h=h)
    found = model.diagnostics()
    expected = physics.density * physics.gravity * 5e4 * 0.7 * (-grid.depth[j, i] + 0.35)
    assert found["energy"] == pytest.approx(expected, rel=1e-12)
    assert found["flooded_area"] == 5e4


def test_limited_faces_are_counted():
    """There are none at rest; otherwise two columns of faces, where the current would cross a cell in a step."""
    model, still = swmodel.Simulation(make_config(run__executor="reference")), np.zeros((NY, NX))
    for fast, count in ((0.0, 0), (15.0, 2 * NY)):  # 300 m in a step
        model.state = model.state._replace(u=fast * np.isin(np.arange(NX), [1, 3]) * np.ones((NY, 1)), v=still)
        assert model.diagnostics()["limited_faces"] == count


def test_floods_are_refused_without_drying():
    dry = {"drying__active": False, "drying__thickness": None, "output__inundation": False}
    dry |= {"time__dt": 10.0, "run__executor": "reference"}
    case = case_with_fields(beach_fields() | {"depth": beach_fields()["depth"] + 5.0}, "Random")
    for key, value in (("fields", ("eta", "wet")), ("means", ("wet",)), ("inundation", True)):
        options = dry | {"output__fields": ("eta",)} | {f"output__{key}": value}
        with pytest.raises(ConfigError, match=f"output.{key}") as error:
            check_config(make_config(**options).model_copy(update={"case": case}))
        assert len(error.value.problems) == 1
    assert "wet" in resolve(make_config(output__fields=OutputOptions().fields, run__executor="reference")).output.fields
    assert "wet" not in resolve(swmodel.load("rest", environ={})).output.fields
