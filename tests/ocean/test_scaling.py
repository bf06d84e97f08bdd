"""The equations are dimensionally consistent: a run in other units of length, height and time has the same bits.

Every field and parameter is multiplied by the powers of L (horizontal length), H (height), T (time) and R (density)
that its dimension has, stepped, and divided again. With powers of two no rounding changes, so that one term with a
wrong dimension, or one number in the code that should have had a dimension, changes the answer.

Horizontal lengths and heights are of different kinds in shallow water: u ~ L/T, h ~ H, f ~ 1/T. The pressure gradient
g dh/dx ~ L/T2 gives gravity L2/(H T2); quadratic drag C |u| u / h ~ L/T2 gives C, which is a number only where both are
measured in metres, H/L; wind stress / (rho h) ~ L/T2 gives the stress R L H/T2.
"""

import re

import numpy as np
import pytest
from support.random_case import configuration, random_fields
from support.stepping import EVERY_SCHEME, same_bits, step_by_step

import swmodel
from swmodel.config import Config
from swmodel.ocean.derived import POTENTIALS
from swmodel.ocean.diagnostics import QUANTITIES
from swmodel.ocean.evaluation import derived
from swmodel.ocean.table import COEFFICIENTS, VARIABLES, row_of
from swmodel.ocean.terms import TERMS as TERMS_OF_THE_MODEL
from swmodel.setup.checks.extremes import survey
from swmodel.setup.checks.stability import dt_from_state, largest_dt
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

NY, NX = 7, 9

#: The numbers of a configuration by their exponents of L, H, T and R.
DIMENSIONS = {
    (1, 0, 0, 0): "grid.dx grid.dy grid.lx grid.ly grid.radius sponge.width",
    (0, 1, 0, 0): "physics.depth open_sides.amplitude",
    (0, 0, 1, 0): "time.dt tide.ramp body_force.period",
    (0, 0, 0, 1): "physics.density wind_drag.air_density",
    (0, 0, -1, 0): "grid.rotation physics.f0 sponge.rate",
    (-1, 0, -1, 0): "physics.beta",
    (1, 0, -2, 0): "body_force.x body_force.x_amplitude body_force.y body_force.y_amplitude",
    (2, -1, -2, 0): "physics.gravity physics.full_gravity",
    (2, 0, -2, 1): "open_sides.pressure",
    (0, 0, 0, 0): "grid.west grid.south grid.east grid.north grid.dlon grid.dlat grid.pole body_force.x_phase "
    "body_force.y_phase open_sides.phase time.cfl time.ab2_epsilon time.robert_asselin",
}
PARAMETERS = {key: powers for powers, keys in DIMENSIONS.items() for key in keys.split()}
PARAMETERS |= {row.key: row.dimension for row in COEFFICIENTS.values() if row.key}
FIELDS = {name: row_of(name).dimension for name in (*VARIABLES, "tracer", "tracer_content")}
NUMBERS = {
    "mass": (2, 1, 0, 1),
    "energy": (4, 1, -2, 1),
    "potential_enstrophy": (2, -1, -2, 0),
    "max_speed": (1, 0, -1, 0),
    "min_h": (0, 1, 0, 0),
    "cfl": (0, 0, 0, 0),
}

#: Powers of two for L, H, T and R: each alone, and all together.
UNITS = {"L": (5, 0, 0, 0), "H": (0, -3, 0, 0), "T": (0, 0, 7, 0), "R": (0, 0, 0, 4), "all": (-5, 3, -4, 6)}

#: Every term, walls in x and a ring in y with a coast across it.
TERMS = {
    "grid__periodic_x": False,
    "grid__periodic_y": True,
    "physics__slip": "no",
    "physics__viscosity": 300.0,
    "physics__biharmonic_viscosity": 1e8,
    "sponge__rate": 1e-4,
    "sponge__width": 2e4,
}
#: What is carried along, and what varies in time.
MORE = {
    "body_force__x": 1e-5,
    "body_force__y_amplitude": 2e-5,
    "body_force__y_phase": 0.3,
    "body_force__period": 300.0,
    "physics__tracers": ({"name": "tracer"},),
}
BETA_PLANE = TERMS | {"grid__periodic_x": True, "grid__periodic_y": False, "physics__beta": 2e-10}


def factor(exponents, units):
    """The power of two that a quantity with these exponents of L, H, T and R is multiplied by."""
    return 2.0 ** np.dot(exponents, units)


def options_in(units, options):
    """The options of a configuration (section__key) in other units."""
    complete = configuration(NY, NX, **options)
    numbers = {}
    for key, powers in PARAMETERS.items():
        section, name = key.split(".")
        if (number := getattr(getattr(complete, section), name)) not in (None, ()):
            numbers[f"{section}__{name}"] = number * factor(powers, units)
    return options | numbers


def config_in(units, options):
    """The configuration of the random case in other units."""
    fields = random_fields(NY, NX, land=0.15)
    fields = {name: field * factor(FIELDS[name], units) for name, field in fields.items()}
    return configuration(NY, NX, fields, **options_in(units, options))


def unscaled(fields, units, stepper, names=("h", "u", "v")):
    """State and memory, of groups of `names`, in the old units: Adams-Bashforth methods remember tendencies, per T."""
    per_time = factor((0, 0, -1, 0), units) if stepper.startswith("ab") else 1.0
    times = [1.0 if n < len(names) else per_time for n in range(len(fields))]
    scales = [factor(FIELDS[names[n % len(names)]], units) * time for n, time in enumerate(times)]
    return [field / field.dtype.type(scale) for field, scale in zip(fields, scales, strict=True)]


@pytest.mark.promise("the equations are dimensionally consistent")
@pytest.mark.parametrize(("executor", "flux", "stepper", "dtype"), EVERY_SCHEME)
def test_other_units_give_the_same_bits(executor, flux, stepper, dtype):
    options = TERMS | {"scheme__vorticity_flux": flux, "time__stepper": stepper, "run__dtype": dtype}
    options |= MORE
    expected = step_by_step(executor, config_in((0, 0, 0, 0), options), 4)
    config = config_in(UNITS["all"], options)
    ours = step_by_step(executor, config, 4)
    assert same_bits(unscaled(ours, UNITS["all"], stepper, setup_of(config).scheme.state._fields), expected)
    assert all(np.isfinite(field).all() and field.any() for field in expected)


def in_both_units(options, units="all", executor="reference"):
    """State and memory after four steps in other units, in the old units, and those in the old units."""
    expected = step_by_step(executor, config_in((0, 0, 0, 0), options), 4)
    return unscaled(step_by_step(executor, config_in(UNITS[units], options), 4), UNITS[units], "gfb"), expected


def test_open_sides_are_the_same_in_other_units():
    given = {"level": 0.2, "transport_x": 3.0, "transport_y": -2.0}
    options = {"grid__periodic_x": False, "open_sides__sides": ("west", "north")}
    assert same_bits(*in_both_units(options | {f"open_sides__{key}": value for key, value in given.items()}))


def test_manning_drag_is_the_same_in_other_units():
    """But for rounding, as it has powers of a third."""
    for field, other in zip(*in_both_units(TERMS | {"physics__manning": 0.03}), strict=True):
        np.testing.assert_allclose(field, other, rtol=1e-9, atol=1e-12 * np.abs(other).max())


@pytest.mark.promise("the equations are dimensionally consistent")
@pytest.mark.parametrize("unit", UNITS)
def test_each_unit_by_itself_on_a_beta_plane(unit):
    for executor in ("native", "reference"):
        assert same_bits(*in_both_units(BETA_PLANE | {"run__dtype": "float64"}, unit, executor))


@pytest.mark.promise("the equations are dimensionally consistent")
def test_diagnostics_and_derived_fields_in_other_units_have_the_same_bits():
    """Numbers of the whole domain and derived fields of the initial state."""
    units, found = UNITS["all"], []
    options = BETA_PLANE | MORE | {"physics__reduced_gravity": True, "physics__gravity": 0.7}
    for each in ((0, 0, 0, 0), units):
        simulation = swmodel.Simulation(config_in(each, options | {"run__executor": "reference"}))
        fields = simulation.fields([name for name in derived(simulation.scheme) if name not in POTENTIALS])
        found.append((simulation.diagnostics(), fields))
    old, new = found
    for name, powers in NUMBERS.items():
        assert new[0][name] / factor(powers, units) == old[0][name], name
    assert same_bits([field / factor(FIELDS[name], units) for name, field in new[1].items()], old[1].values())


def test_the_largest_time_step_and_that_of_the_cfl_number_are_times():
    found = []
    for units in ((0, 0, 0, 0), UNITS["all"]):
        config = config_in(units, BETA_PLANE)
        extremes = survey(setup_of(config))
        found.append((largest_dt(config, extremes)[0], dt_from_state(config, extremes)))
    assert found[1] == pytest.approx(np.array(found[0]) * factor((0, 0, 1, 0), UNITS["all"]), rel=1e-12)


def exponents_of(units: str):
    """Exponents of m, s and kg of units as the options state them ("m2 s-1"; Pa and J spelled out)."""
    if units == "s m-1/3":  # which holds a length and a thickness to broken powers
        return pytest.approx(-1 / 3), 1, 0
    spelled = units.replace("Pa", "kg m-1 s-2").replace("J", "kg m2 s-2").replace("cells", "1").replace("degrees", "1")
    found = {"m": 0, "s": 0, "kg": 0}
    for symbol, power in re.findall(r"(kg|m|s)(-?\d*)", spelled):
        found[symbol] += int(power or 1)
    return found["m"], found["s"], found["kg"]


@pytest.mark.promise("the equations are dimensionally consistent")
def test_every_number_of_the_configuration_has_its_dimension_here():
    names = ("grid", "physics", "scheme", "time", *(term.name for term in TERMS_OF_THE_MODEL.values() if term.options))
    sections = {name: Config.model_fields[name].annotation for name in names}
    found = {
        f"{section}.{key}": field.json_schema_extra["unit"]
        for section, options in sections.items()
        for key, field in options.model_fields.items()
        if "float" in str(field.annotation)
    }
    assert found.keys() == PARAMETERS.keys()
    units = found | {name: row_of(name).units for name in FIELDS}
    units |= {name: quantity.units for name, quantity in QUANTITIES.items()}
    for name, (length, height, time, density) in (PARAMETERS | FIELDS | NUMBERS).items():
        assert exponents_of(units[name]) == (length + height - 3 * density, time, density), name
