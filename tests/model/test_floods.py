"""What a run with drying writes: where it is wet, hazard maps, gauges on land, diagnostics; on any layout the same."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray
from support.flooding import NX, NY, STEPS, beach, sea
from support.made_cases import case_of
from support.ranks import run_ranks

import swmodel
from swmodel import ConfigError
from swmodel.config.options.output import Output
from swmodel.model.resolve import resolve
from swmodel.model.validate import check_config
from swmodel.ocean.diagnostics import diagnose
from swmodel.ocean.grid import as_patches
from swmodel.ocean.patch import Patch
from swmodel.ocean.state import State
from swmodel.setup.positions.gauges import gauges
from swmodel.setup.setup import setup_of

FILM = 0.02


def opened(folder, name):
    with xarray.open_dataset(folder / name, decode_times=False) as data:
        return data.load()


@pytest.fixture(scope="module", params=["float32", "float64"])
def flood(request, tmp_path_factory):
    """A run with each step in its files, and one with few records that was stopped and continued."""
    folder = tmp_path_factory.mktemp("flood")
    each = swmodel.Simulation(sea(run__dtype=request.param))
    each.run(folder / "each")
    options = {"run__dtype": request.param, "output__every_steps": 7}
    swmodel.Simulation(sea(**options, run__steps=STEPS // 2)).run(folder / "few")
    few = swmodel.Simulation.resume(folder / "few", {"run.steps": STEPS}, case=type(each.config.case))
    few.run(folder / "few")
    return SimpleNamespace(
        config=each.config,
        each=opened(folder / "each", "output.nc"),
        few=opened(folder / "few", "output.nc"),
        stations=opened(folder / "each", "stations.nc"),
        numbers=opened(folder / "each", "diagnostics.nc"),
    )


def test_wet_is_where_water_is_thicker_than_a_film(flood):
    wet, h = flood.each.wet, flood.each.h
    film = h.dtype.type(FILM)
    np.testing.assert_array_equal(wet.values[h.notnull()], (h.values > film)[h.notnull()])
    assert set(np.unique(wet.values[h.notnull()])) == {0, 1}
    changes = np.abs(np.diff(wet, axis=0)) == 1
    assert changes.any(axis=0).sum() > 5
    assert wet.attrs["flag_meanings"] == "dry wet"
    dry = (wet == 0).values
    ground = np.broadcast_to(-flood.each.depth.values, dry.shape)
    np.testing.assert_allclose(flood.each.eta.values[dry], ground[dry], atol=1.1 * FILM)


@pytest.mark.parametrize("name", ["eta", "h", "speed"])
def test_largest_values_are_those_while_a_cell_is_wet(flood, name):
    """Also of a run that was stopped, with few records; ground that was never wet has none."""
    there = np.where(flood.each.wet == 1, flood.each[name], -np.inf)
    for record, step in enumerate(flood.few.step.values):
        most = there[: step + 1].max(axis=0)
        found = flood.few[f"{name}_max"].values[record]
        np.testing.assert_allclose(found, np.where(np.isinf(most), np.nan, most), rtol=1e-6 if name == "speed" else 0)
        steps = np.where(np.isinf(most), np.nan, there[: step + 1].argmax(axis=0) * 20.0)
        if name != "speed":
            np.testing.assert_array_equal(flood.few[f"{name}_max_time"].values[record], steps)
    assert np.isnan(flood.few[f"{name}_max"][-1]).sum() > np.isnan(flood.each.h[-1]).sum()


def test_inundation_is_the_first_water_on_ground_that_was_dry_at_the_start(flood):
    wet = flood.each.wet.values == 1
    for record, step in enumerate(flood.few.step.values):
        ever = wet[: step + 1].any(axis=0) & ~wet[0]
        expected = np.where(ever, wet[: step + 1].argmax(axis=0) * 20.0, np.nan)
        np.testing.assert_array_equal(flood.few.wet_arrival.values[record], expected)
    assert np.isfinite(flood.few.wet_arrival.values[-1]).sum() > 3


def test_gauges_have_no_level_while_dry(flood):
    """On a centre of a cell they have its level and thickness."""
    found, places = flood.stations, gauges(setup_of(flood.config))
    dry = np.isnan(found.eta.values)
    assert dry[:, 1].any()
    assert dry[:, 3].all()
    assert not dry[:, 0].any()
    assert not dry[:, 1].all()
    for name in "huv":
        assert not found[name].values[dry].any()
    for n in (0, 1):
        corner = np.argmax(places.weights["eta"][n])
        j, i = places.points.rows[4 * n + corner], places.points.columns[4 * n + corner]
        wet = flood.each.wet[:, j, i].values == 1
        np.testing.assert_array_equal(wet, ~dry[:, n])
        np.testing.assert_allclose(found.eta[wet, n], flood.each.eta[wet, j, i], rtol=0, atol=1e-6)
        np.testing.assert_allclose(found.h[wet, n], flood.each.h[wet, j, i], rtol=1e-6)


def test_flooded_area_is_that_of_wet_cells_above_the_resting_sea(flood):
    cells = ((flood.each.wet == 1) & (flood.each.depth < 0)).sum(("y_c", "x_c")).values
    np.testing.assert_allclose(flood.numbers.flooded_area, cells * 5e4)
    assert cells.max() > cells.min()


def numbers(config, layout, state):
    """The diagnostics of a state on a layout."""

    def patches(block):
        rows, columns = (np.arange(a.start - 1, a.stop + 1) % n for a, n in ((block.y, NY), (block.x, NX)))
        setup = setup_of(config)
        padded = State(*(Patch(field[np.ix_(rows, columns)], (-1, -1)) for field in state))
        return padded, as_patches(setup.grid(block), setup.scheme.margin), block.shape

    found = run_ranks(lambda t: diagnose([patches(t.block)], config, t), layout, NY, NX)
    assert all(each == found[0] for each in found)
    return found[0]


def test_dry_ground_has_no_energy_and_water_on_it_that_of_its_height():
    """A lake at rest has none, and a column h on ground at b has rho g A h (b + h/2); on any layout the same bits."""
    model = swmodel.Simulation(sea())
    config, depth = model.config, setup_of(model.config).grid(model.block, 0).depth
    wet = setup_of(config).grid(model.block, 0).wet
    still = np.zeros((NY, NX))
    state = State(np.maximum(depth, 0.0), still, still)
    assert numbers(config, (1, 1), state)["energy"] == 0
    j, i = np.argwhere((depth < -0.5) & (wet > 0))[0]
    h = state.h.copy()
    h[j, i] = 0.7
    raised = numbers(config, (1, 1), state._replace(h=h))
    expected = config.physics.density * config.physics.gravity * 5e4 * 0.7 * (-depth[j, i] + 0.35)
    assert raised["energy"] == pytest.approx(expected, rel=1e-12)
    assert raised["flooded_area"] == 5e4
    model.advance(15)
    now = State(*(np.asarray(field) for field in model.state))
    alone = numbers(config, (1, 1), now)
    assert np.isfinite(list(alone.values())).all()
    assert numbers(config, (3, 2), now) == alone


def test_faces_are_counted_at_which_more_than_the_water_of_a_cell_would_leave():
    """None at rest; on two columns of faces of a sea those with a current that crosses a cell in a step."""
    model = swmodel.Simulation(sea())
    state = model.state
    model.state = state._replace(u=0 * np.asarray(state.u), v=0 * np.asarray(state.v))
    assert model.diagnostics()["limited_faces"] == 0
    fast = 15.0 * np.isin(np.arange(NX), [1, 3]) * np.ones((NY, 1))  # 300 m in a step
    model.state = state._replace(u=fast, v=0 * np.asarray(state.v))
    assert model.diagnostics()["limited_faces"] == 2 * NY


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"output__fields": ("eta", "wet")}, "output.fields"),
        ({"output__means": ("wet",)}, "output.means"),
        ({"output__inundation": True}, "output.inundation"),
    ],
)
def test_without_drying_floods_are_refused(options, key):
    dry = {
        "time__dt": 10.0,
        "drying__active": False,
        "drying__thickness": None,
        "output__fields": ("eta",),
        "output__inundation": False,
    }
    config = sea(**dry | options)
    config = config.model_copy(update={"case": sea_case_without_land()})
    with pytest.raises(ConfigError, match=key) as error:
        check_config(config)
    assert len(error.value.problems) == 1


def sea_case_without_land():
    """The case with a positive depth."""
    fields = beach()
    return case_of(fields | {"depth": fields["depth"] + 5.0}, "Random")


def test_the_usual_fields_of_a_run_with_drying_have_wet():
    assert "wet" in resolve(sea(output__fields=Output().fields)).output.fields
    assert "wet" not in resolve(swmodel.load("rest", environ={})).output.fields
