"""Seas with the Earth's relief: the tide of all oceans, of a region, and of straits."""

import netCDF4
import numpy as np
import pytest

import swmodel
from swmodel.cases import global_m2
from swmodel.ocean.rotated_pole import from_earth
from swmodel.ocean.terms.boundary_data import TIDE_LEVEL, part_names
from swmodel.parallel.decomposition import block_of_rank
from swmodel.setup import fields
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.night

#: Drag so strong that the initial waves decay soon.
STRONG_DRAG_OPTIONS = {"physics.linear_drag": 2e-5, "output.every": "5 days"}
STRONG_DRAG_OPTIONS |= {"output.harmonics_from": "4 days", "run.days": 6.0}


@pytest.fixture(scope="module")
def global_tide_run(tmp_path_factory):
    """The configuration and the folder of a global run at five degrees."""
    folder = tmp_path_factory.mktemp("global_m2") / "run"
    config = swmodel.load("global_m2", STRONG_DRAG_OPTIONS | {"grid.nx": 72, "grid.ny": 34}, environ={})
    swmodel.Simulation(config).run(folder)
    return config, folder


def test_drag_dissipates_the_power_of_the_tidal_forcing(global_tide_run):
    """This holds when the tide no longer grows; the tolerance allows for errors of bays as narrow as a cell."""
    config, folder = global_tide_run
    with netCDF4.Dataset(folder / "harmonics.nc") as data:
        data.set_auto_mask(False)
        harmonics = {name: data[name][...] for name in data.variables}
    grid = setup_of(config).grid(block_of_rank(0, (1, 1), config.grid.ny, config.grid.nx), 0)
    wet, area = grid.wet > 0, np.broadcast_to(grid.area.centre, grid.wet.shape)
    tide = (harmonics[name][0] for name in ("eta_amplitude", "eta_phase"))
    power_input = global_m2.tidal_power_input(config, *tide, harmonics["lon"], harmonics["lat"])
    pairs = [[np.where(wet, harmonics[f"{name}_{part}"][0], 0.0) for part in ("amplitude", "phase")] for name in "uv"]
    currents = [[np.where(np.abs(field) < 1e9, field, 0.0) for field in pair] for pair in pairs]  # 0 on closed faces
    dissipation = sum(global_m2.drag_dissipation(config, grid.depth, *currents))
    power_input, dissipation = ((power * area)[wet].sum() for power in (power_input, dissipation))
    assert power_input > 0
    assert dissipation == pytest.approx(power_input, rel=0.1)


@pytest.mark.fault("the tide of one run differs from the one that drives a region on another grid")
@pytest.mark.parametrize("pole", [None, (-40.0, -80.0)])
def test_global_tide_drives_a_regional_grid_at_its_open_boundaries(global_tide_run, tmp_path, pole):
    """The South Atlantic at 2.5 degrees, with the Earth's pole or another one, has the tide of the global run."""
    options = {"grid.nx": 16, "grid.ny": 16, "grid.periodic_x": False, "grid.pole": pole, "time.cfl": 0.3}
    options |= STRONG_DRAG_OPTIONS | {"output.harmonics_from": "2 days", "run.days": 4.0, "run.executor": "reference"}
    # The rotated grid has its centre at (20 W, 20 S), 61 degrees from its pole.
    lon, lat = from_earth(pole, -20.0, -20.0) if pole else (-20.0, -20.0)
    options |= {"grid.west": lon - 20.0, "grid.east": lon + 20.0, "grid.south": lat - 20.0, "grid.north": lat + 20.0}
    sides = {"open_boundaries.sides": ["west", "east", "south", "north"], "open_boundaries.nodal": False}
    options |= sides | {"open_boundaries.tide": str(global_tide_run[1] / "harmonics.nc"), "tide.ramp": "1 day"}
    config = swmodel.load("global_m2", options, environ={})
    swmodel.Simulation(config).run(tmp_path / "part")
    with netCDF4.Dataset(tmp_path / "part" / "harmonics.nc") as data:
        amplitudes = data["eta_amplitude"][0] * np.exp(1j * np.radians(data["eta_phase"][0]))
    parts = [fields.evaluate_unfilled(config, part, *[np.arange(16)] * 2) for part in part_names("M2", TIDE_LEVEL)]
    expected = np.ma.masked_invalid(parts[0] + 1j * parts[1])
    assert (abs(amplitudes - expected) ** 2).mean() < 0.01 * (abs(expected) ** 2).mean()


def test_tide_of_the_salish_sea_has_the_observed_pattern(optimised_steps):
    """The tide is lowest near Victoria; in the Strait of Georgia it is high, hours after that in the ocean."""
    positions = ((40, 3), (16, 78), (58, 81))  # (row, column) in the ocean, near Victoria, near Vancouver
    simulation = swmodel.Simulation("salish_sea", {"open_boundaries.amplitude": [0.8, 0.0]})
    simulation.advance(round(0.75 * 86400 / simulation.dt))
    levels, times = [], []
    for _ in range(25):
        simulation.advance(round(0.5 * 3600 / simulation.dt))
        levels.append([simulation.field("eta")[position] for position in positions])
        times.append(simulation.time)
    phase = 2 * np.pi / 44714.164 * np.array(times)
    basis = np.stack([np.cos(phase), np.sin(phase), np.ones(25)], 1)
    cosine, sine, _ = np.linalg.lstsq(basis, np.array(levels), rcond=None)[0]
    ocean, victoria, vancouver = np.hypot(cosine, sine)
    lag_hours = np.degrees(np.arctan2(sine, cosine)) / 360 * 12.42
    assert 0.7 < ocean < 0.9
    assert victoria < 0.6 * ocean
    assert vancouver > 1.5 * victoria
    assert 4 < (lag_hours[2] - lag_hours[0]) % 12.42 < 7
