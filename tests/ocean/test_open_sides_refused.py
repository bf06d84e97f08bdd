"""What cannot be meant of open sides is refused: settings, sides on land, and fields that do not cover a side."""

import re

import numpy as np
import pytest
from support.random_case import configuration

import swmodel
from swmodel.config import ConfigError
from swmodel.config.remarks import relaxation
from swmodel.model.validate import check_config

pytestmark = pytest.mark.slow

TWICE, M2 = {"constituents": ["K1", "K1"], "amplitude": [0.1, 0.2]}, {"constituents": ["M2"], "amplitude": [0.1]}
SOUTH = {"sides": ["south"]}
#: What is said of keys of [open_sides], and of others.
REFUSED = {
    "open_sides.level: has no effect without open_sides.sides": ({"level": 0.1}, {}),
    "open_sides.constituents: has no effect without open_sides.sides": ({"constituents": ["M2"]}, {}),
    'open_sides.sides: "south" is listed 2 times': ({"sides": ["south", "south"]}, {}),
    'open_sides.constituents: "K1" is listed 2 times': (SOUTH | TWICE, {}),
    "K1 has no values": (SOUTH | {"constituents": ["K1"]}, {}),
    "open_sides.amplitude: has 2 elements": (SOUTH | TWICE | {"constituents": ["K1"]}, {}),
    "there is no west side where grid.periodic_x is true": ({"sides": ["west"]}, {"grid.periodic_x": True}),
    "M2 has a period of 44714.2 s, which must be above two time steps": (SOUTH | M2, {"time.dt": "8 h"}),
    "time.stepper: leapfrog": (SOUTH, {"time.stepper": "leapfrog"}),
    "open_sides.nodal: differs from tide.nodal": (
        SOUTH | M2 | {"nodal": False},
        {"tide.constituents": ["M2"], "time.start": "2012-03-01"},
    ),
}


@pytest.mark.fault("outside water without an open side, an open side of a periodic axis, a tide too fast for the steps")
@pytest.mark.fault("an analysis has other nodal factors than the tide")
@pytest.mark.fault("a leapfrog with open sides")
@pytest.mark.parametrize("problem", REFUSED)
def test_what_cannot_be_meant_is_refused(problem):
    sides, more = REFUSED[problem]
    options = {"time.dt": 20.0} | {f"open_sides.{key}": value for key, value in sides.items()} | more
    with pytest.raises(ConfigError, match=re.escape(problem)):
        check_config(swmodel.load("rest", options, {}))


@pytest.mark.fault("an invalid depth outside an open side")
@pytest.mark.parametrize(("column", "value"), [(5, -200.0), (5, np.nan), (4, -60.0)])
def test_a_depth_outside_that_is_none_is_refused(column, value):
    """Nor may land that floods, beside the water outside, be higher than this is deep."""
    depth = np.full((5, 6), 50.0)
    depth[2:4, column] = value
    options = {"grid__periodic_x": False, "open_sides__sides": ("east",), "drying__active": column == 4}
    config = configuration(5, 6, {"depth": depth, "mask": np.ones((5, 6))}, **options)
    with pytest.raises(ConfigError, match="depth: must be above 0 m .* at rows 2 to 3 of the east side"):
        check_config(config)


@pytest.mark.fault("an open side that is land, a field that does not cover the side, or the sponge that relaxes to it")
def test_a_side_on_land_and_a_field_that_does_not_cover_the_side_are_refused():
    fields = {"mask": np.ones((5, 6)), "outside_level": np.zeros((5, 6))}
    fields["mask"][:, 0] = 0
    fields["outside_level"][[1, 3, 4], 5] = np.nan
    options = {"grid__periodic_x": False, "open_sides__sides": ("west", "east")}
    with pytest.raises(ConfigError) as raised:
        check_config(configuration(5, 6, fields, **options))
    assert "there is no water along the west side" in str(raised.value)
    assert "outside_level: has no value at rows 1 and 3 to 4 of the east side" in str(raised.value)
    for column in (4, 5):  # a mask without one of the two cells is the remedy
        mask = np.ones((5, 6))
        mask[[1, 3, 4], column] = 0
        check_config(configuration(5, 6, fields | {"mask": mask}, **options | {"open_sides__sides": ("east",)}))


@pytest.mark.fault("an open side that is land, a field that does not cover the side, or the sponge that relaxes to it")
def test_what_is_outside_need_not_be_known_at_a_corner_of_two_open_sides():
    """Through which nothing comes in; steady and in records in time."""
    level = np.zeros((2, 5, 6))
    level[:, [0, 0, -1, -1], [0, -1, 0, -1]] = np.nan
    options = {"grid__periodic_x": False, "open_sides__sides": ("west", "east", "south", "north")}
    for given in (level[0], level):
        model = swmodel.Simulation(configuration(5, 6, {"outside_level": given}, run__executor="reference", **options))
        model.advance(1)
        assert np.isfinite(model.field("eta")).all()
        check_config(model.config)


@pytest.mark.fault("air pressure at open sides relative to another reference")
def test_air_pressure_that_is_counted_from_elsewhere_is_refused():
    """As a departure from the mean, or in hPa; it is not where that is said."""
    fields = {"air_pressure": np.full((5, 6), 300.0)}
    options = {"grid__periodic_x": False, "open_sides__sides": ("west",)}
    with pytest.raises(ConfigError, match=r"air_pressure is 300 Pa at row 0 of the west side, 10 m of water off"):
        check_config(configuration(5, 6, fields, **options))
    for pressure in (0.0, None):
        check_config(configuration(5, 6, fields, open_sides__pressure=pressure, **options))


@pytest.mark.fault("an open side that is land, a field that does not cover the side, or the sponge that relaxes to it")
def test_what_a_sponge_relaxes_to_is_given_in_most_of_it():
    """Of four columns of cells inside; where it is not, it relaxes to zero, which is said."""
    options = {"grid__periodic_x": False, "open_sides__sides": ("west",), "grid__periodic_y": True}
    wide = {"sponge__rate": 1e-4, "sponge__width": 2e4, "sponge__sides": ("west",)}
    for columns, refused, missing in ((2, True, 15), (4, False, 5), (5, False, 0)):
        fields = {"outside_level": np.full((5, 12), np.nan)}
        fields["outside_level"][:, :columns] = 0.1
        check_config(configuration(5, 12, fields, **options))
        config = configuration(5, 12, fields, **options, **wide)
        words = f"outside_level: has no value at {missing} of the 20 cells of the sponge, which relaxes to"
        if refused:
            with pytest.raises(ConfigError, match=f"{words} it"):
                check_config(config)
        else:
            check_config(config)
        assert list(relaxation(config)) == ([f"input.{words} zero there"] if missing else [])
