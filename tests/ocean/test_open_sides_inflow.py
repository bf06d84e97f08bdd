"""Water that comes in through open sides: its volume, its speed, its bits; health takes it for no instability."""

import numpy as np
import pytest
import xarray
from support.open_sides import LINEAR, H
from support.random_case import configuration, random_fields
from support.ranks import run_ranks

import swmodel
from swmodel.executors.reference import Reference
from swmodel.ocean.coordinates import metrics
from swmodel.ocean.evaluation import flow_through, inflow
from swmodel.ocean.grid import as_patches
from swmodel.ocean.patch import Patch
from swmodel.parallel.decomposition import block as block_of
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

#: Water comes in through all sides, between islands, in steps of Adams and Bashforth.
BASIN = {
    **{"grid__periodic_x": False, "grid__periodic_y": False, "time__stepper": "ab2", "physics__f0": 1e-4},
    **{
        "open_sides__sides": ("west", "east", "south", "north"),
        "open_sides__constituents": ("M2",),
        "open_sides__amplitude": (0.4,),
    },
    **{"open_sides__transport_x": 3.0, "open_sides__current_y": 0.05, "run__executor": "reference"},
}


@pytest.mark.promise("open sides let waves in and out")
@pytest.mark.parametrize("sphere", [False, True])
def test_what_flows_in_is_what_there_is_more(sphere):
    """The sum of dh/dt over the cells is the transport through the open faces, written here for each of them."""
    fields = random_fields(9, 11, amplitude=0.1)
    given = {"open_sides__level": 0.2, "open_sides__transport_x": 4.0, "open_sides__sides": ("west",)}
    config = configuration(9, 11, fields, sphere=sphere, grid__periodic_x=False, **given)
    model = Reference(setup_of(config))
    state = model.start().state
    rate = model.tendency(state).h
    depth, wet = fields["depth"], fields["mask"] > 0
    eta = state.h - depth
    level = eta[:, 1] + 0.5 * wet[:, 2] * (eta[:, 1] - eta[:, 2])
    inflow = 4.0 + np.sqrt(9.81 * (depth[:, 0] + depth[:, 1]) / 2) * (0.2 - level)
    sizes = metrics(config.grid, range(9))
    faces = inflow * sizes["dy"].u[:, 0] * (wet[:, 0] & wet[:, 1])
    volume = (rate * sizes["area"].centre).sum()
    assert volume == pytest.approx(faces.sum(), rel=1e-12)


@pytest.mark.fault("inflow is missing in the series, or has other bits on another layout")
def test_the_volume_changes_by_what_the_series_say_came_in():
    """Times the weights of the time stepper; and by that each face has the current that the fields say."""
    fields = random_fields(9, 11, amplitude=0.1)
    model = swmodel.Simulation(configuration(9, 11, fields, **BASIN))
    density, epsilon, before = model.config.physics.density, model.config.time.ab2_epsilon, 0.0
    for step in range(4):
        numbers = model.diagnostics()
        inflow = sum(numbers[f"inflow_{side}"] for side in BASIN["open_sides__sides"])
        weights = (1.5 + epsilon, -0.5 - epsilon) if step else (1.0, 0.0)
        model.advance(1)
        gained = (model.diagnostics()["mass"] - numbers["mass"]) / density
        expected = model.dt * (weights[0] * inflow + weights[1] * before)
        assert abs(expected) > 1e5
        assert gained == pytest.approx(expected, abs=1e-14 * numbers["mass"] / density)
        before = inflow
    eta, u, wet = model.field("eta"), model.field("u"), fields["mask"] > 0
    depth = 0.5 * (fields["depth"][:, 0] + fields["depth"][:, 1])
    inner = (np.arange(9) > 0) & (np.arange(9) < 8)
    level = eta[:, 1] + 0.5 * wet[:, 2] * (eta[:, 1] - eta[:, 2])
    through = model.config.grid.dy * (u[:, 0] * (depth + level))[inner & wet[:, 0] & wet[:, 1]]
    assert model.diagnostics()["inflow_west"] == pytest.approx(through.sum(), rel=1e-12)


@pytest.mark.fault("the current at an open side is zero in files, means, ensembles")
def test_where_water_comes_in_it_is_as_fast_as_inside():
    """A uniform transport: speed and its mean are the same in all cells inside, and it comes in and leaves."""
    options = {"open_sides__transport_x": 3.0, "grid__periodic_y": True, "run__executor": "native"}
    fields = {"depth": np.full((4, 12), H), "u": np.full((4, 12), 3.0 / H) * ~np.isin(np.arange(12), (0, 10, 11))}
    config = configuration(4, 12, fields, open_sides__sides=("west", "east"), **LINEAR | options)
    model = swmodel.Simulation(config)
    means = model.means(["speed", "u"])
    for _ in range(3):
        model.advance(1)
        means.add(model.carry.state)
    numbers, inflow = model.diagnostics(), 3.0 * 4 * config.grid.dy
    assert numbers["inflow_west"] == pytest.approx(inflow, rel=1e-12)
    assert numbers["inflow_east"] == pytest.approx(-inflow, rel=1e-12)
    assert numbers["max_speed"] == pytest.approx(3.0 / H, rel=1e-12)
    for fields in (model.fields(["speed", "u"]), means.values()):
        np.testing.assert_allclose(fields["speed"][:, 1:-1], 3.0 / H, rtol=1e-12)
        np.testing.assert_allclose(fields["u"][:, :-1], 3.0 / H, rtol=1e-12)


@pytest.mark.fault("gauges and largest speeds beside open sides show no current")
@pytest.mark.night
def test_gauges_and_largest_speeds_know_what_comes_in(tmp_path):
    """A gauge on a face has its current, one between two faces the mean of both, by where it is."""
    dx, dy = 4e3, 5e3
    places = {"west": (dx, 3.5 * dy), "between": (1.25 * dx, 3.5 * dy), "south": (5.5 * dx, dy)}
    wanted = {
        **{"output__stations": tuple({"name": name, "x": x, "y": y} for name, (x, y) in places.items())},
        **{"output__fields": ("u", "v", "speed"), "output__maxima": ("speed",), "output__every_steps": 1},
        **{"run__steps": 4, "run__executor": "native"},
    }
    fields = random_fields(9, 11, land=0.0, amplitude=0.1)
    swmodel.Simulation(configuration(9, 11, fields, **BASIN | wanted)).run(tmp_path)
    with xarray.open_dataset(tmp_path / "output.nc") as found, xarray.open_dataset(tmp_path / "stations.nc") as series:
        u, v, largest = found.u.values, found.v.values, np.fmax.accumulate(found.speed.values)
        assert np.abs(u[:, 3, 0]).min() > 1e-3 < np.abs(v[:, 0, 5]).min()
        expected = np.stack([u[:, 3, 0], 0.75 * u[:, 3, 0] + 0.25 * u[:, 3, 1]], axis=1)
        np.testing.assert_allclose(series.u[:, :2], expected, rtol=1e-12)
        np.testing.assert_allclose(series.v[:, 2], v[:, 0, 5], rtol=1e-12)
        np.testing.assert_allclose(found.speed_max, largest, rtol=1e-12)


@pytest.mark.fault("inflow is missing in the series, or has other bits on another layout")
def test_what_comes_in_has_the_same_bits_on_any_layout():
    config = configuration(9, 11, random_fields(9, 11), run__dtype="float32", **BASIN)
    width = setup_of(config).scheme.width
    state = setup_of(config).state(block_of(0, (1, 1), 9, 11))

    def inflows(transport):
        block = transport.block
        rows, columns = (np.arange(span.start - width, span.stop + width) % span.size for span in (block.y, block.x))
        padded = state._make(Patch(field[np.ix_(rows, columns)], (-width, -width)) for field in state)
        grid, params = (as_patches(fields, width + 1) for fields in setup_of(config).static(block))
        flow = flow_through(padded, grid, params, setup_of(config).scheme, np.full((1, 1), 1000, np.int32))
        return inflow([flow], config.open_sides.sides, transport)

    (alone,) = run_ranks(inflows, (1, 1), 9, 11)
    assert all(alone.values())
    assert run_ranks(inflows, (2, 3), 9, 11) == [alone] * 6
