"""The section [grid] on a sphere: what gives its size, what comes back from a file, and what is refused in one line."""

import math

import numpy as np
import pytest
from support.random_case import configuration
from support.unchecked import unchecked

from swmodel import Case, ConfigError, Simulation, cases, load
from swmodel.config import from_toml, to_toml
from swmodel.config.loading.load import gather
from swmodel.config.loading.merge import merge
from swmodel.config.remarks import remarks
from swmodel.model.validate import check_config
from swmodel.ocean.coordinates import metrics
from swmodel.setup.checks.extremes import survey
from swmodel.setup.checks.stability import dt_from_state, largest_dt
from swmodel.setup.setup import setup_of

BAND = {"kind": "latlon", "nx": 36, "ny": 12, "south": -30.0, "north": 60.0}


def loaded(source=Case, **changes):
    return load(source, {f"grid.{key}": value for key, value in (BAND | changes).items()}, environ={})


def test_cells_have_the_size_that_limits_or_steps_give_them():
    grid = loaded().grid
    assert (grid.west, grid.dlon, grid.dlat, grid.radius, grid.rotation) == (0.0, 10.0, 7.5, 6371e3, 7.292115e-5)
    assert (grid.dx, grid.dy, grid.north, grid.east) == (None, None, None, None)
    basin = loaded(north=None, dlat=2.0, west=-80.0, dlon=0.5, periodic_x=False).grid
    assert (basin.west, basin.dlon, basin.dlat) == (-80.0, 0.5, 2.0)
    assert loaded(west=300.0, east=330.0, periodic_x=False).grid.dlon == pytest.approx(30 / 36)


def test_a_configuration_comes_back_from_its_text_without_the_keys_of_a_plane():
    config = loaded()
    text = to_toml(config)
    assert from_toml(text, Case) == config
    assert "dx =" not in text.replace("# dx", "")
    assert "dlat = 7.5" in text
    assert "dlat" not in to_toml(load("jet", environ={}))


def test_another_kind_of_grid_takes_the_place_of_that_of_the_case():
    config = load("rest", {f"grid.{key}": v for key, v in BAND.items()} | {"grid.periodic_x": True}, environ={})
    assert (config.grid.dx, config.grid.dlat) == (None, 7.5)
    back = load("steady_zonal", {"grid.kind": "latlon", "grid.ny": 32}, environ={})
    assert back.grid.dlat == 5.0


@pytest.mark.fault(
    "a pole in the domain, latitudes beyond 90 degrees, longitudes that overlap or close no ring, keys of another kind of grid"
)
@pytest.mark.parametrize(
    ("changes", "key", "words"),
    [
        ({"north": 95.0}, "north", "lies at latitude 95"),
        ({"south": -89.995}, "south", "lies at latitude -89.995"),
        ({"north": None, "dlat": 30.0}, "dlat", "lies at latitude 330"),
        ({"north": -40.0}, "north", "-40 degrees are not beyond south = -30 degrees"),
        ({"dlon": 11.0}, "dlon", "396 degrees wide"),
        ({"west": 0.0, "east": 80.0}, "east", "80 degrees wide, which closes no ring of 360"),
        ({"west": 350.0, "east": 20.0}, "east", "longitudes may exceed"),
        ({"dx": 5e3}, "dx", 'is of grid.kind = "plane"'),
        ({"kind": "plane"}, "south", 'is of grid.kind = "latlon"'),
        ({"south": None}, "south", "must be given, in degrees"),
        ({"north": None}, "north", "must be given, in degrees (or dlat)"),
        ({"periodic_x": False}, "west", "must be given, in degrees"),
        ({"periodic_y": True}, "periodic_y", "must be false on a sphere"),
        ({"dlat": 7.0}, "north", "60 degrees are not -30 + ny dlat = -30 + 12 x 7 degrees"),
    ],
    ids=lambda given: ",".join(given) if isinstance(given, dict) else "",
)
def test_what_cannot_be_a_grid_on_a_sphere_is_refused_in_one_line(changes, key, words):
    with pytest.raises(ConfigError) as error:
        loaded(**changes)
    assert any(line.startswith(f"grid.{key}: ") and words in line for line in error.value.problems)


@pytest.mark.fault("a case for the plane on a sphere, or the reverse")
@pytest.mark.parametrize(
    ("case", "kind", "changes"), [("jet", "latlon", BAND), ("steady_zonal", "plane", {"kind": "plane"})]
)
def test_a_case_for_another_kind_of_grid_is_refused(case, kind, changes):
    with pytest.raises(ConfigError) as error:
        load(case, {f"grid.{key}": value for key, value in changes.items()}, environ={})
    told, others = str(error.value).removesuffix(": case.name").split(f"; for {kind} there are ")
    assert told.startswith(f"grid.kind: the formulas of the case {case} are made for ")
    offered = others.split(", ")
    assert {"rest", "sea", "hurricane"} < set(offered) < set(cases.names())
    assert all(kind in cases.get(name).kinds for name in offered)


def test_a_number_of_cells_that_changes_the_domain_is_said_in_degrees():
    changes = {"grid.kind": "latlon", "grid.west": 0.0, "grid.south": 0.0, "grid.dlon": 1.0, "grid.dlat": 1.0}
    sources = gather(Case, changes | {"grid.nx": 60, "grid.ny": 30, "grid.periodic_x": False}, {})
    assert remarks(merge(sources), sources, records=False) == []
    wider = gather("steady_zonal", {"grid.dlat": 2.0}, {})
    assert remarks(merge(wider), wider, records=False) == [
        "grid.dlat=2 makes the domain 128 degrees high instead of 160 degrees; grid.ny=80 keeps it"
    ]


def test_the_time_step_follows_from_the_narrowest_row_with_water():
    """Land in the north leaves a longer step; the automatic one is cfl over the speed on the narrowest row."""
    water = {"depth": np.full((12, 36), 1000.0)}
    coast = water | {"mask": np.repeat((np.arange(12) < 9)[:, None], 36, axis=1).astype(float)}
    for case, row in ((water, 11), (coast, 8)):
        config = configuration(12, 36, case, sphere=True, grid__south=-30.0, grid__dlat=7.5, grid__radius=6371e3)
        config = config.model_copy(update={"time": config.time.model_copy(update={"dt": None, "cfl": 0.3})})
        lengths = metrics(config.grid, [row])
        per_length = math.hypot(1 / lengths["dx"].centre[0, 0], 1 / lengths["dy"].centre[0, 0])
        found = survey(setup_of(config))
        assert dt_from_state(config, found) == pytest.approx(0.3 / (math.sqrt(9810) * per_length), rel=1e-12)


def test_a_run_is_stable_just_below_the_largest_time_step_and_at_the_equator_not_above_it():
    """Near a pole, where the narrowest row is that at a wall, there is some room beyond it."""

    def growth(factor, south, dlat):
        rng = np.random.default_rng(1)
        fields = {"depth": np.full((1, 1), 1000.0), "eta": 1e-3 * rng.standard_normal((16, 12))}
        waves = {"physics__quadratic_drag": 0.0, "physics__viscosity": 0.0, "physics__f0": 1e-30}
        options = {"grid__south": south, "grid__dlat": dlat, "time__stepper": "rk4", "run__executor": "reference"}
        config = configuration(16, 12, fields, sphere=True, **waves, **options)
        largest, process = largest_dt(config, survey(setup_of(config)))
        assert process == "gravity waves and advection"
        time = config.time.model_copy(update={"dt": factor * largest})
        simulation = Simulation(unchecked(config.model_copy(update={"time": time})))
        simulation.advance(150)
        return np.abs(simulation.field("eta")).max() / 1e-3

    assert growth(0.98, -30.0, 3.75) < 10
    assert growth(1.02, -30.0, 3.75) > 100
    assert growth(0.98, 60.0, 1.5) < 10


@pytest.mark.fault("a time step too long for the narrowest row of a sphere")
def test_a_time_step_that_is_too_long_is_refused_with_the_largest():
    config = load("steady_zonal", {"time.dt": 2000.0}, environ={})
    narrowest = r"at row (0|\d+), column \d+, [\d.e+]+ m of water in a cell of [\d.e+]+ by [\d.e+]+ m\)"
    words = rf"time.dt: 2000 s is above the largest stable time step of rk4, \d+(\.\d)? s \(.*, {narrowest}"
    with pytest.raises(ConfigError, match=words):
        check_config(config)
