"""The section [grid] on a sphere: the keys that give the size of cells, their text in a file, and wrong values."""

import math

import numpy as np
import pytest
from support.random_case import configuration
from support.refusals import problems_of

from swmodel import Case, ConfigError, cases, load
from swmodel.config import from_toml, to_toml
from swmodel.ocean.coordinates import metrics
from swmodel.setup.checks.extremes import survey
from swmodel.setup.checks.stability import dt_from_state
from swmodel.setup.setup import setup_of

BAND = {"kind": "latlon", "nx": 36, "ny": 12, "south": -30.0, "north": 60.0}


def load_grid(source=Case, **changes):
    return load(source, {f"grid.{key}": value for key, value in (BAND | changes).items()}, environ={})


def test_edges_or_spacings_give_the_size_of_cells():
    """A case may have a plane by default; the text of a configuration has only the keys of its kind of grid."""
    grid = load_grid().grid
    assert (grid.west, grid.dlon, grid.dlat, grid.radius, grid.rotation) == (0.0, 10.0, 7.5, 6371e3, 7.292115e-5)
    assert (grid.dx, grid.dy, grid.north, grid.east) == (None, None, None, None)
    basin = load_grid(north=None, dlat=2.0, west=-80.0, dlon=0.5, periodic_x=False).grid
    assert (basin.west, basin.dlon, basin.dlat) == (-80.0, 0.5, 2.0)
    assert load_grid(west=300.0, east=330.0, periodic_x=False).grid.dlon == pytest.approx(30 / 36)
    assert load_grid("rest", periodic_x=True).grid.dlat == 7.5
    assert load("steady_zonal", {"grid.kind": "latlon", "grid.ny": 32}, environ={}).grid.dlat == 5.0
    text = to_toml(load_grid())
    assert from_toml(text, Case) == load_grid()
    assert "dx =" not in text.replace("# dx", "")
    assert "dlat" not in to_toml(load("jet", environ={}))


@pytest.mark.fault("latitudes and longitudes that make no grid on a sphere; keys of another kind of grid")
@pytest.mark.parametrize(
    ("changes", "key", "words"),
    [
        ({"north": 95.0}, "north", "95"), ({"south": -89.995}, "south", "-89.995"),
        ({"north": None, "dlat": 30.0}, "dlat", "330"), ({"north": -40.0}, "north", "-40"),
        ({"dlon": 11.0}, "dlon", "396"), ({"west": 0.0, "east": 80.0}, "east", "80"),
        ({"west": 350.0, "east": 20.0}, "east", ""), ({"kind": "plane"}, "south", '"latlon"'),
        ({"north": None}, "north", "dlat"), ({"periodic_x": False}, "west", ""),
        ({"periodic_y": True}, "periodic_y", ""), ({"dlat": 7.0}, "north", "60"),
    ],
    ids=lambda argument: ",".join(argument) if isinstance(argument, dict) else "",
)  # fmt: skip
def test_wrong_grids_on_a_sphere_are_refused(changes, key, words):
    assert any(line.startswith(f"grid.{key}: ") and words in line for line in problems_of(load_grid, **changes))


@pytest.mark.fault("a case for the plane on a sphere, or the reverse")
@pytest.mark.parametrize(("case", "grid"), [("jet", BAND), ("steady_zonal", {"kind": "plane"})])
def test_case_for_another_kind_of_grid_is_refused(case, grid):
    """The message names the cases for this kind of grid."""
    with pytest.raises(ConfigError, match=f"^grid.kind: .* case {case} ") as error:
        load(case, {f"grid.{key}": value for key, value in grid.items()}, environ={})
    named_cases = str(error.value).split("there are ")[1].removesuffix(" (case.name)").split(", ")
    assert {"rest", "sea", "hurricane"} < set(named_cases) < set(cases.names())
    assert all(grid["kind"] in cases.get(name).grid_kinds for name in named_cases)


def test_time_step_follows_from_the_narrowest_wet_row():
    """Land in the north allows a longer step: the automatic one has CFL number time.cfl on the narrowest wet row."""
    water = {"depth": np.full((12, 36), 1000.0)}
    coast = water | {"mask": np.repeat((np.arange(12) < 9)[:, None], 36, axis=1).astype(float)}
    options = {"grid__south": -30.0, "grid__dlat": 7.5, "grid__radius": 6371e3, "time__dt": None, "time__cfl": 0.3}
    for fields, row in ((water, 11), (coast, 8)):
        config = configuration(12, 36, fields, sphere=True, **options)
        lengths = metrics(config.grid, [row])
        per_length = math.hypot(1 / lengths["dx"].centre[0, 0], 1 / lengths["dy"].centre[0, 0])
        dt = dt_from_state(config, survey(setup_of(config)))
        assert dt == pytest.approx(0.3 / (math.sqrt(9810) * per_length), rel=1e-12)
