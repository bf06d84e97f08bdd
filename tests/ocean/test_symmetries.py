"""Symmetries of the equations: neither other units nor a rotation of the domain changes the solution.

A run in other units has the same bits: fields and parameters are multiplied by the powers of L (horizontal length),
H (height), T (time) and R (density) in their dimensions, and the fields are divided by them after the steps. Powers of
two change no rounding, so that one wrong dimension, or one number in the code that should have a dimension, changes
the result. Lengths and heights are of different kinds in shallow water: u ~ L/T, h ~ H, f ~ 1/T, gravity ~ L2/(H T2).

An f plane that is rotated clockwise by 90 degrees and stepped equals one that is stepped and rotated, to round-off:
x' = y and y' = -x, so u' = v and v' = -u. East faces become south faces, which are north faces of the cell below. No
sponge lies on one side of a periodic axis, because the face where the axis closes counts as its east or north end.
"""

import re

import numpy as np
import pytest
from support import numpy_dynamics
from support.numpy_dynamics import FRICTION_OPTIONS, SCHEME_CASES, fields_of_case, state_and_memory_after_start
from support.random_case import configuration, section
from support.stepping import has_same_bits
from support.unchecked_config import resolve_without_checks

import swmodel
from swmodel.ocean.derived import POTENTIALS
from swmodel.ocean.diagnostics import DIAGNOSTICS
from swmodel.ocean.evaluation import derived_names
from swmodel.ocean.table import COEFFICIENTS, VARIABLES, variable_of
from swmodel.ocean.terms import TERMS as TERMS_OF_THE_MODEL
from swmodel.setup.checks.extremes import survey
from swmodel.setup.checks.stability import dt_from_state, max_stable_dt
from swmodel.setup.setup import setup_of

NY, NX = 7, 9

#: The keys of numbers in a configuration, by the exponents of L, H, T and R.
DIMENSIONS = {
    (1, 0, 0, 0): "grid.dx grid.dy grid.lx grid.ly grid.radius grid.easting grid.northing sponge.width",
    (0, 1, 0, 0): "physics.depth open_boundaries.amplitude drying.thickness",
    (0, 0, 1, 0): "time.dt tide.ramp body_force.period",
    (0, 0, 0, 1): "physics.density wind_drag.air_density",
    (0, 0, -1, 0): "grid.rotation physics.f0 sponge.rate",
    (-1, 0, -1, 0): "physics.beta",
    (1, 0, -2, 0): "body_force.x body_force.x_amplitude body_force.y body_force.y_amplitude",
    (2, -1, -2, 0): "physics.gravity physics.full_gravity",
    (2, 0, -2, 1): "open_boundaries.pressure",
    (0, 0, 0, 0): "grid.west grid.south grid.east grid.north grid.dlon grid.dlat grid.pole body_force.x_phase "
    "body_force.y_phase open_boundaries.phase barriers.discharge_coefficient time.cfl time.ab2_epsilon "
    "time.robert_asselin",
}
EXPONENTS_OF_KEY = {key: exponents for exponents, keys in DIMENSIONS.items() for key in keys.split()}
EXPONENTS_OF_KEY |= {row.key: row.dimension for row in COEFFICIENTS.values() if row.key}
EXPONENTS_OF_DIAGNOSTIC = {"mass": (2, 1, 0, 1), "energy": (4, 1, -2, 1), "potential_enstrophy": (2, -1, -2, 0)}
EXPONENTS_OF_DIAGNOSTIC |= {"max_speed": (1, 0, -1, 0), "min_h": (0, 1, 0, 0), "cfl": (0, 0, 0, 0)}

#: Powers of two for L, H, T and R: each alone, and all together.
UNIT_EXPONENTS = {"L": (5, 0, 0, 0), "H": (0, -3, 0, 0), "T": (0, 0, 7, 0), "R": (0, 0, 0, 4), "all": (-5, 3, -4, 6)}

#: A tracer, and a force that varies in time.
FORCING_OPTIONS = {"physics__tracers": ({"name": "tracer", "diffusivity": 300.0},)}
FORCING_OPTIONS |= section("body_force", x=1e-5, y_amplitude=2e-5, y_phase=0.3, period=300.0)
OPEN_BOUNDARY_OPTIONS = section("open_boundaries", sides=("west", "north"), transport_x=3.0, transport_y=-2.0)
OPEN_BOUNDARY_OPTIONS |= {"open_boundaries__level": 0.2, "grid__periodic_x": False}
BETA_PLANE = FRICTION_OPTIONS | {"grid__periodic_x": True, "grid__periodic_y": False, "physics__beta": 2e-10}


def scale_factor(exponents, units):
    """The power of two that a quantity with these exponents of L, H, T and R is multiplied by."""
    return 2.0 ** np.dot(exponents, units)


def options_in_units(units, options):
    complete = configuration(NY, NX, **options)
    numbers = {}
    for key, exponents in EXPONENTS_OF_KEY.items():
        section, name = key.split(".")
        if (number := getattr(getattr(complete, section), name)) not in (None, ()):
            numbers[f"{section}__{name}"] = number * scale_factor(exponents, units)
    scale = scale_factor((2, 0, -1, 0), units)
    tracers = [row | {"diffusivity": row["diffusivity"] * scale} for row in options.get("physics__tracers", ())]
    return options | numbers | {"physics__tracers": tuple(tracers)}


def config_in_units(units, options):
    fields = fields_of_case(options, NY, NX)
    fields = {name: field * scale_factor(variable_of(name).dimension, units) for name, field in fields.items()}
    return configuration(NY, NX, fields, **options_in_units(units, options))


def in_both_units(options, unit="all"):
    """State and memory of a run in other units, converted back, and of a run in the original units."""
    units, configs = UNIT_EXPONENTS[unit], [config_in_units(each, options) for each in ((0,) * 4, UNIT_EXPONENTS[unit])]
    original, scaled = map(state_and_memory_after_start, configs)
    names = setup_of(configs[0]).scheme.state_type._fields
    # Adams-Bashforth methods store tendencies, which are per time.
    per_time = scale_factor((0, 0, -1, 0), units) if configs[0].time.stepper.startswith("ab") else 1.0
    scales = [scale_factor(variable_of(names[n % len(names)]).dimension, units) for n in range(len(scaled))]
    scales = [scale * (per_time if n >= len(names) else 1.0) for n, scale in enumerate(scales)]
    assert all(np.isfinite(field).all() and field.any() for field in original)
    return [field / field.dtype.type(scale) for field, scale in zip(scaled, scales, strict=True)], original


@pytest.mark.promise("the equations are dimensionally consistent")
@pytest.mark.parametrize("scheme", SCHEME_CASES, ids=" ".join)
def test_other_units_give_same_bits(scheme):
    assert has_same_bits(*in_both_units(FORCING_OPTIONS | numpy_dynamics.options_of(*scheme)))


@pytest.mark.promise("the equations are dimensionally consistent")
def test_open_boundaries_and_beta_plane_give_same_bits_in_other_units():
    assert has_same_bits(*in_both_units(OPEN_BOUNDARY_OPTIONS))
    for unit in UNIT_EXPONENTS:
        assert has_same_bits(*in_both_units(BETA_PLANE, unit)), unit


def test_manning_drag_is_same_in_other_units():
    """It is the same except for rounding, because it contains cube roots."""
    for field, other in zip(*in_both_units(FRICTION_OPTIONS | {"physics__manning": 0.03}), strict=True):
        np.testing.assert_allclose(field, other, rtol=1e-9, atol=1e-12 * np.abs(other).max())


@pytest.mark.promise("the equations are dimensionally consistent")
def test_diagnostics_and_time_steps_are_same_in_other_units():
    """Diagnostics and derived fields of the initial state are the same to the bit, time steps to round-off."""
    units, results = UNIT_EXPONENTS["all"], []
    options = BETA_PLANE | FORCING_OPTIONS | {"physics__reduced_gravity": True, "physics__gravity": 0.7}
    for each in ((0, 0, 0, 0), units):
        config = config_in_units(each, options | {"run__executor": "reference"})
        simulation, extremes = swmodel.Simulation(resolve_without_checks(config)), survey(setup_of(config))
        fields = simulation.fields([name for name in derived_names(simulation.scheme) if name not in POTENTIALS])
        time_steps = max_stable_dt(config, extremes)[0], dt_from_state(config, extremes)
        results.append((simulation.diagnostics(), fields, np.array(time_steps)))
    old, new = results
    for name, exponents in EXPONENTS_OF_DIAGNOSTIC.items():
        assert new[0][name] / scale_factor(exponents, units) == old[0][name], name
    fields = [field / scale_factor(variable_of(name).dimension, units) for name, field in new[1].items()]
    assert has_same_bits(fields, old[1].values())
    np.testing.assert_allclose(new[2], old[2] * scale_factor((0, 0, 1, 0), units), rtol=1e-12)


def exponents_of(units: str):
    """Exponents of m, s and kg in units as the options state them ("m2 s-1"), with Pa and J in base units."""
    if units == "s m-1/3":  # fractional powers of a length and a thickness
        return pytest.approx(-1 / 3), 1, 0
    units = units.replace("Pa", "kg m-1 s-2").replace("J", "kg m2 s-2").replace("cells", "1").replace("degrees", "1")
    exponents = {"m": 0, "s": 0, "kg": 0}
    for symbol, power in re.findall(r"(kg|m|s)(-?\d*)", units):
        exponents[symbol] += int(power or 1)
    return exponents["m"], exponents["s"], exponents["kg"]


@pytest.mark.promise("the equations are dimensionally consistent")
def test_every_number_of_configuration_has_its_dimension():
    terms = (term.name for term in TERMS_OF_THE_MODEL.values() if term.options)
    key_units = {}
    for section_name in ("drying", "grid", "physics", "scheme", "time", *terms):
        keys = swmodel.Config.model_fields[section_name].annotation.model_fields.items()
        numbers = ((key, field) for key, field in keys if "float" in str(field.annotation))
        key_units |= {f"{section_name}.{key}": field.json_schema_extra["unit"] for key, field in numbers}
    assert key_units.keys() == EXPONENTS_OF_KEY.keys()
    fields = (*VARIABLES, "tracer", "tracer_content")
    units = key_units | {name: variable_of(name).units for name in fields}
    units |= {name: quantity.units for name, quantity in DIAGNOSTICS.items()}
    all_exponents = EXPONENTS_OF_KEY | {name: variable_of(name).dimension for name in fields} | EXPONENTS_OF_DIAGNOSTIC
    for name, (length, height, time, density) in all_exponents.items():
        assert exponents_of(units[name]) == (length + height - 3 * density, time, density), name


MAX_ROUNDING_UNITS = 16.0  # units in the last place of each field's largest value
#: The side that each side of the domain becomes.
ROTATED_SIDE = {"west": "north", "north": "east", "east": "south", "south": "west"}


def rotate_centres(a):
    """Values at centres, rotated clockwise."""
    return np.ascontiguousarray(a.T[::-1])


def rotate_current(u, v):
    return rotate_centres(v), -rotate_centres(np.roll(u, 1, axis=1))


def rotate_fields(fields):
    u, v = rotate_current(fields["u"], fields["v"])
    rotated = {name: rotate_centres(values) for name, values in fields.items()}
    return rotated | {"u": u, "v": v, "wind_x": rotated["wind_y"], "wind_y": -rotated["wind_x"]}


def rotate_options(options):
    grid, sponge = configuration(NY, NX, **options).grid, options.get("sponge__sides", ())
    swapped = {"periodic_x": grid.periodic_y, "periodic_y": grid.periodic_x, "dx": grid.dy, "dy": grid.dx}
    sides = {"sponge__sides": tuple(ROTATED_SIDE[side] for side in sponge)} if sponge else {}
    return options | {f"grid__{key}": value for key, value in swapped.items()} | sides


@pytest.mark.promise("the model is isotropic on an f plane")
@pytest.mark.parametrize("scheme", SCHEME_CASES, ids=" ".join)
def test_rotated_domain_gives_rotated_solution(scheme):
    options = numpy_dynamics.options_of(*scheme)
    if "sponge__rate" in options:
        options |= {"sponge__sides": ("west", "south", "north")}
    fields = fields_of_case(options, NY, NX)
    config = configuration(NY, NX, fields, **options)
    original = state_and_memory_after_start(config)
    rotated = state_and_memory_after_start(configuration(NX, NY, rotate_fields(fields), **rotate_options(options)))
    names = setup_of(config).scheme.state_type._fields
    for start in range(0, len(original), len(names)):
        group = dict(zip(names, original[start : start + len(names)], strict=True))
        u, v = rotate_current(group["u"], group["v"])
        expected = {name: rotate_centres(values) for name, values in group.items()} | {"u": u, "v": v}
        for name, a in zip(names, rotated[start : start + len(names)], strict=True):
            b = expected[name]
            assert np.abs(a - b).max() / np.spacing(np.abs(b).max()) <= MAX_ROUNDING_UNITS, name
            assert np.abs(b).max() > 0
