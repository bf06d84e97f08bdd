"""Unusable options of terms, closures, tides and open boundaries are refused, as are boundaries without data."""

import numpy as np
import pytest
from support.random_case import configuration

import swmodel
from swmodel.config.remarks import sponge_without_values
from swmodel.model.validate import check_config

pytestmark = pytest.mark.slow

SOUTH = {"open_boundaries.sides": ["south"]}
M2_IN_SOUTH = SOUTH | {"open_boundaries.constituents": ["M2"], "open_boundaries.amplitude": [0.1]}
SMALL = {"time.dt": 20.0, "grid.nx": 30, "grid.ny": 20, "run.executor": "reference"}
SPHERE = {"grid.kind": "latlon", "grid.west": 0, "grid.east": 120, "grid.south": -60, "grid.north": 60, "time.dt": 60.0}
PLANE_TIDE = {"tide.constituents": ["M2"], "time.start": "2012-03-01"}
TIDE = SPHERE | PLANE_TIDE
#: (start of the message, words in it, options)
REFUSED = [
    ("physics.tracers", 'called "a"', {"physics.tracers": [{"name": "a"}, {"name": "a"}]}),
    ("physics.tracers", '"eta"', {"physics.tracers": [{"name": "eta"}]}),
    ("physics.tracers", '"crc32"', {"physics.tracers": [{"name": "crc32"}]}),
    ("physics.tracers, number 1, name", "letters", {"physics.tracers": [{"name": "a b"}]}),
    ("physics.tracers, number 1, diffusivity", "-1", {"physics.tracers": [{"name": "a", "diffusivity": -1.0}]}),
    ("output.fields", '"tracer"', {"output.fields": ["h", "tracer"]}),
    ("body_force.period", "", {"body_force.x_amplitude": 1e-5, "body_force.period": 30.0}),
    ("time.stepper", "", {"time.stepper": "ab3", "physics.tracers": [{"name": "a", "advection": "weno5"}]}),
    ("physics.manning", "", {"physics.manning": -0.1}),
    ("physics.self_attraction", "", {"physics.self_attraction": 0.6}),
    ("output.fields", "subgrid_energy", {"output.fields": ["subgrid_energy"]}),
    ("physics.leith", "", {"physics.leith": -1.0}),
    # A closure that only adds energy to eddies needs one that takes energy.
    ("physics.zanna_bolton", "a viscosity", {"physics.zanna_bolton": 1.0}),
    ("physics.backscatter", "", {"physics.backscatter": 1.0}),
    ("tide.constituents", 'did you mean "M2"', TIDE | {"tide.constituents": ["M22"]}),
    ("tide.constituents", '"M2"', TIDE | {"tide.constituents": ["M2", "m2"]}),
    ("tide.constituents", "latlon", PLANE_TIDE),
    ("tide.constituents", "44714.2 s", TIDE | {"time.dt": 30000.0}),
    ("tide.constituents", "water column", TIDE | {"physics.reduced_gravity": True}),
    ("time.start", "must be given", TIDE | {"time.start": ""}),
    ("time.start", "12345-01-01", TIDE | {"time.start": "12345-01-01"}),
    ("time.calendar", "proleptic_gregorian", TIDE | {"time.calendar": "noleap"}),
    ("tide.ramp", "tide.constituents", TIDE | {"tide.constituents": [], "tide.ramp": 100.0}),
    ("open_boundaries.level", "open_boundaries.sides", {"open_boundaries.level": 0.1}),
    ("open_boundaries.constituents", "open_boundaries.sides", {"open_boundaries.constituents": ["M2"]}),
    ("open_boundaries.sides", '"south"', {"open_boundaries.sides": ["south", "south"]}),
    ("open_boundaries.constituents", '"K1"', M2_IN_SOUTH | {"open_boundaries.constituents": ["K1", "K1"]}),
    ("open_boundaries.constituents", "K1", SOUTH | {"open_boundaries.constituents": ["K1"]}),
    ("open_boundaries.amplitude", "2", M2_IN_SOUTH | {"open_boundaries.amplitude": [0.1, 0.2]}),
    ("open_boundaries.sides", "grid.periodic_x", {"open_boundaries.sides": ["west"], "grid.periodic_x": True}),
    ("sponge.sides", "grid.periodic_x", {"sponge.rate": 1e-3, "sponge.width": 2e4, "grid.periodic_x": True}),
    ("open_boundaries", "44714.2 s", M2_IN_SOUTH | {"time.dt": "8 h"}),
    ("time.stepper", "leapfrog", SOUTH | {"time.stepper": "leapfrog"}),
    ("open_boundaries.nodal", "tide.nodal", M2_IN_SOUTH | {"open_boundaries.nodal": False} | PLANE_TIDE),
]


@pytest.mark.fault("boundary data without an open boundary, an open periodic side, a tide too fast for the steps")
@pytest.mark.fault("an analysis has other nodal factors than the tide")
@pytest.mark.fault("a leapfrog with open boundaries")
@pytest.mark.fault("a tide without a date, on a plane, of an unknown or too fast constituent")
@pytest.mark.parametrize(("key", "words", "options"), REFUSED)
def test_unusable_options_are_refused(key, words, options):
    with pytest.raises(swmodel.ConfigError) as error:
        check_config(swmodel.load("rest", SMALL | options, {}))
    assert any(line.startswith(f"{key}: ") and words in line for line in error.value.problems), error.value


def test_closures_with_required_options_are_accepted():
    closures = {"physics.zanna_bolton": 1.0, "physics.backscatter": 0.1, "physics.biharmonic_smagorinsky": 0.06}
    check_config(swmodel.load("rest", SMALL | closures | {"output.fields": ["subgrid_energy"]}, {}))


def sea_with_open_boundaries(nx, fields, *sides, **options):
    options = {"grid__periodic_x": False, "open_boundaries__sides": sides, "run__executor": "reference"} | options
    return configuration(5, nx, fields, **options)


@pytest.mark.fault("an invalid depth outside an open boundary")
@pytest.mark.parametrize(("column", "value"), [(5, -200.0), (5, np.nan), (4, -60.0)])
def test_depth_at_open_boundary_must_be_positive(column, value):
    """Land that may flood next to an outermost cell must not be higher than the water in that cell is deep."""
    depth = np.full((5, 6), 50.0)
    depth[2:4, column] = value
    config = sea_with_open_boundaries(6, {"depth": depth, "mask": np.ones((5, 6))}, "east", drying__active=column == 4)
    with pytest.raises(swmodel.ConfigError, match="depth: must be above 0 m .* at rows 2 to 3 of the east side"):
        check_config(config)


@pytest.mark.fault("an open boundary on land, a field that does not cover the side, or the sponge that relaxes to it")
def test_open_boundary_needs_water_and_boundary_data():
    fields = {"mask": np.ones((5, 6)), "boundary_level": np.zeros((5, 6))}
    fields["mask"][:, 0] = 0
    fields["boundary_level"][[1, 3, 4], 5] = np.nan
    with pytest.raises(swmodel.ConfigError) as error:
        check_config(sea_with_open_boundaries(6, fields, "west", "east"))
    assert "there is no water along the west side" in str(error.value)
    assert "boundary_level: has no value at rows 1 and 3 to 4 of the east side" in str(error.value)
    for column in (4, 5):  # the remedy is to mask one of the two cells
        mask = np.ones((5, 6))
        mask[[1, 3, 4], column] = 0
        check_config(sea_with_open_boundaries(6, fields | {"mask": mask}, "east"))


@pytest.mark.fault("an open boundary on land, a field that does not cover the side, or the sponge that relaxes to it")
def test_boundary_data_may_be_missing_at_open_corner():
    """No water enters through a corner, whether the field is steady or has records in time."""
    level = np.zeros((2, 5, 6))
    level[:, [0, 0, -1, -1], [0, -1, 0, -1]] = np.nan
    for boundary_level in (level[0], level):
        fields = {"boundary_level": boundary_level}
        model = swmodel.Simulation(sea_with_open_boundaries(6, fields, "west", "east", "south", "north"))
        model.advance(1)
        assert np.isfinite(model.field("eta")).all()


@pytest.mark.fault("air pressure at open boundaries relative to another reference")
def test_air_pressure_must_fit_its_reference_at_open_boundaries():
    """An anomaly is accepted only if `open_boundaries.pressure` is set to match."""
    fields = {"air_pressure": np.full((5, 6), 300.0)}
    with pytest.raises(swmodel.ConfigError, match="air_pressure is 300 Pa at row 0 of the west side"):
        check_config(sea_with_open_boundaries(6, fields, "west"))
    for pressure in (0.0, None):
        check_config(sea_with_open_boundaries(6, fields, "west", open_boundaries__pressure=pressure))


@pytest.mark.fault("an open boundary on land, a field that does not cover the side, or the sponge that relaxes to it")
@pytest.mark.parametrize(("columns", "missing"), [(2, 15), (4, 5), (5, 0)])
def test_sponge_needs_boundary_data_in_most_of_its_cells(columns, missing):
    """Of the sponge's 20 cells, `missing` have no value; if they are few, they relax to zero, with a remark."""
    boundary_level = np.full((5, 12), np.nan)
    boundary_level[:, :columns] = 0.1
    sponge = {"sponge__rate": 1e-4, "sponge__width": 2e4, "sponge__sides": ("west",), "grid__periodic_y": True}
    config = sea_with_open_boundaries(12, {"boundary_level": boundary_level}, "west", **sponge)
    words = f"boundary_level: has no value in {missing} of the 20 cells of the sponge, which relaxes to"
    if missing > 10:
        with pytest.raises(swmodel.ConfigError, match=f"{words} this field"):
            check_config(config)
    else:
        check_config(config)
    assert list(sponge_without_values(config)) == ([f"input.{words} zero there"] if missing else [])
