"""Every executor gives the reference's answer: random states, islands, every scheme, stepper and boundary."""

import itertools

import numpy as np
import pytest
from support.random_case import CLOSURES, COEFFICIENTS, DRYING, DRYING_SPHERE, TIDE, configuration, flats, random_fields
from support.stepping import ALL_TERMS, STEPPERS, step_by_step

from swmodel.executors.reference import Reference
from swmodel.executors.registry import COMPILED
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

EVERY_EXECUTOR = pytest.mark.parametrize("executor", COMPILED)
#: Whether y and x are rings.
RINGS = [(True, True), (True, False), (False, True), (False, False)]

OPTIONS = {
    "energy": {},
    "enstrophy": {"scheme__vorticity_flux": "enstrophy"},
    "arakawa_lamb": {"scheme__vorticity_flux": "arakawa_lamb"},
    "weno5": {"scheme__vorticity_flux": "weno5"},
    "weno7, no slip": {"scheme__vorticity_flux": "weno7", "physics__slip": "no", "physics__viscosity": 10.0},
    "no slip": {"physics__slip": "no"},
    "biharmonic": {"physics__biharmonic_viscosity": 1e8},
    "biharmonic, no slip": {"physics__biharmonic_viscosity": 1e8, "physics__slip": "no"},
    "smagorinsky, leith": {
        "physics__smagorinsky": 0.15,
        "physics__biharmonic_smagorinsky": 0.06,
        "physics__leith": 1.0,
    },
    "leith_e": {"physics__leith_e": 8.0},
    "zanna_bolton, no slip": {"physics__zanna_bolton": 1.0, "physics__slip": "no"},
    "backscatter, sponge": {
        **{"physics__backscatter": 0.3, "physics__biharmonic_smagorinsky": 0.06, "physics__biharmonic_viscosity": 1e7},
        **{"sponge__rate": 1e-4, "sponge__width": 2e4},
    },
    "closures as fields, no slip": {"physics__slip": "no"},
    "beta plane": {"physics__beta": 2e-11},
    "sponge": {"sponge__rate": 1e-4, "sponge__width": 2e4},
    "gravity 1, f 0, linear drag": {"physics__gravity": 1.0, "physics__f0": 0.0, "physics__linear_drag": 1e-5},
    "manning": {"physics__manning": 0.03},
    "self-attraction": {"physics__self_attraction": 0.1},
    "body force": {"body_force__x": 1e-5, "body_force__y_amplitude": 1e-4, "body_force__y_phase": 0.4},
    "tracer, sponge": {"physics__tracers": ({"name": "tracer"},), "sponge__rate": 1e-4, "sponge__width": 2e4},
    "tracers of fifth order, sponge": {
        "physics__tracers": (
            {"name": "tracer", "advection": "weno5"},
            {"name": "dye", "initial": 2.0, "diffusivity": 300.0, "advection": "weno5"},
        ),
        **{"sponge__rate": 1e-4, "sponge__width": 2e4},
    },
    "fields": {},
    "all terms, arakawa_lamb": ALL_TERMS | {"scheme__vorticity_flux": "arakawa_lamb"},
}

#: The coefficients that are fields.
FIELDS = {"fields": COEFFICIENTS, "energy, fields": COEFFICIENTS, "closures as fields, no slip": CLOSURES}

#: Open sides where walls are, and what is given outside: numbers, fields, a tide.
OPEN = {
    "west": {},
    "east, north; no slip, biharmonic": {
        "open_sides__level": 0.3,
        "open_sides__transport_x": 5.0,
        **OPTIONS["biharmonic, no slip"],
    },
    "west, east, south, north; arakawa_lamb, tide, tracer, sponge": {
        "scheme__vorticity_flux": "arakawa_lamb",
        "open_sides__constituents": ("M2", "K1"),
        "open_sides__amplitude": (0.5, 0.2),
        "open_sides__phase": (70.0, -30.0),
        "tide__ramp": 50.0,
        **OPTIONS["tracer, sponge"],
    },
    "west, east; tracers of fifth order, sponge": OPTIONS["tracers of fifth order, sponge"],
    "south, east; fields": {"open_sides__transport_y": 3.0, "open_sides__constituents": ("K1", "M2")},
    "west, north; weather, sponge": {
        **{"in_time": True, "open_sides__pressure": 50.0, "open_sides__current_x": 0.1},
        **{"sponge__rate": 1e-4, "sponge__width": 2e4},
    },
}


def largest_difference(config, executor, steps=3):
    """Largest difference from the reference after `steps` steps, relative to the largest value of each field."""
    reference = Reference(setup_of(config))
    truth = reference.advance(reference.start(), steps, config.time.dt).state
    ours = step_by_step(executor, config, steps)[: len(truth)]
    return max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(ours, truth, strict=True))


@pytest.mark.promise("the executor does not change the answer")
@pytest.mark.parametrize(
    ("executor", "option", "periodic"),
    [("native", option, periodic) for option in OPTIONS for periodic in RINGS]
    + [("xla", option, RINGS[number % 4]) for number, option in enumerate(OPTIONS)],  # takes a second to compile each
)
def test_every_term_and_boundary_agrees(executor, option, periodic):
    if option == "beta plane" and periodic[1]:
        periodic = (periodic[0], False)
    fields = random_fields(7, 11, coefficients=FIELDS.get(option, ()))
    config = configuration(7, 11, fields, grid__periodic_x=periodic[0], grid__periodic_y=periodic[1], **OPTIONS[option])
    assert largest_difference(config, executor) < 1e-12


@pytest.mark.promise("open sides let waves in and out")
@pytest.mark.fault("the transport of an outside tide has no effect, or a wrong one")
@pytest.mark.fault(
    "a tide that starts at once raises free waves; its ramp differs after a restart, between executors or layouts"
)
@pytest.mark.parametrize(
    ("executor", "option", "sphere"),
    [(executor, option, False) for executor in ("native", "xla") for option in OPEN] + [("native", "west", True)],
)
def test_every_open_side_agrees(executor, option, sphere):
    fields = random_fields(7, 11)
    if "fields" in option:
        tides = np.random.default_rng(2).random((3, 2, 2, 7, 11)) * np.reshape([1, 9, 9], (3, 1, 1, 1, 1))
        names = ("level", "transport_x", "transport_y")
        fields |= {f"outside_tide_{name}": field for name, field in zip(names, tides, strict=True)}
        fields |= {"outside_level": tides[0, 0, 0]}
    sides = tuple(option.split("; ")[0].split(", "))
    config = configuration(
        7, 11, fields, sphere=sphere, grid__periodic_x=False, open_sides__sides=sides, **OPEN[option]
    )
    assert largest_difference(config, executor) < 1e-12


@pytest.mark.promise("the executor does not change the answer")
@pytest.mark.parametrize("stepper", STEPPERS)
@pytest.mark.parametrize(
    ("executor", "dtype", "bound"),
    [("xla", "float64", 1e-12), ("native", "float64", 1e-12), ("native", "float32", 1e-5)],
)
def test_every_stepper_agrees(executor, dtype, bound, stepper):
    force = {"body_force__x_amplitude": 1e-3, "body_force__period": 100.0}
    config = configuration(7, 11, time__stepper=stepper, grid__periodic_x=False, run__dtype=dtype, **force)
    assert largest_difference(config, executor, steps=5) < bound


@pytest.mark.parametrize("beta", [0.0, 2e-11])
def test_fields_that_do_not_vary_along_rows_agree(beta):
    """They are numbers and lines in the native step."""
    state = {name: random_fields(7, 11)[name] for name in ("eta", "u", "v")}
    physics = {"physics__beta": beta, "physics__biharmonic_viscosity": 1e8, "physics__linear_drag": 1e-6}
    assert largest_difference(configuration(7, 11, state, **physics), "native") < 1e-12


@pytest.mark.parametrize(
    ("executor", "stepper", "law"), [("native", "ab2", "garratt"), ("xla", "leapfrog", "large_pond")]
)
def test_weather_that_varies_agrees(executor, stepper, law):
    """Records lie between steps, several of them within the run."""
    config = configuration(7, 11, in_time=True, time__stepper=stepper, wind_drag__law=law)
    assert largest_difference(config, executor, steps=6) < 1e-12


@pytest.mark.promise("the executor does not change the answer")
@pytest.mark.parametrize("size", [(1, 1), (1, 5), (5, 1), (2, 3), (3, 2), (31, 2)])
@EVERY_EXECUTOR
def test_thin_domains_agree(executor, size):
    """Also with the default stepper, but on a single row or column."""
    steppers = ("ab2", "gfb") if min(size) > 1 else ("ab2",)
    for stepper in steppers:
        config = configuration(*size, random_fields(*size, land=0.0), grid__periodic_y=True, time__stepper=stepper)
        assert largest_difference(config, executor) < 1e-12


ON_SPHERE = {
    "energy, fields": {"physics__slip": "no", "grid__periodic_x": False},
    "closures as fields, no slip": {"physics__slip": "no", "grid__periodic_x": False},
    "tide": {"time__stepper": "rk4", **TIDE},
    "tide, pole of its own": {"grid__pole": (-42.0, 76.0), "grid__radius": 6371e3, "time__dt": 5.0, **TIDE},
    "enstrophy, tracer, sponge": {"scheme__vorticity_flux": "enstrophy", **OPTIONS["tracer, sponge"]},
    "tracers of fifth order": OPTIONS["tracers of fifth order, sponge"],
    "arakawa_lamb, biharmonic, f plane": {
        "scheme__vorticity_flux": "arakawa_lamb",
        "physics__f0": 1e-4,
        **OPTIONS["biharmonic, no slip"],
    },
}


@pytest.mark.promise("the sphere's geometry is exact")
@pytest.mark.parametrize("option", ON_SPHERE)
@pytest.mark.parametrize("executor", ["native", "xla"])
def test_every_term_agrees_on_a_sphere(executor, option):
    fields = random_fields(7, 11, coefficients=FIELDS.get(option, ()))
    config = configuration(7, 11, fields, sphere=True, **ON_SPHERE[option])
    assert largest_difference(config, executor) < 1e-12


DRAGS = ("quadratic_drag", "manning")
#: Seas that flood and fall dry.
FLATS = {
    "rings": {"grid__periodic_y": True},
    "basin, drags as fields, weno5, no slip": {
        "grid__periodic_x": False,
        "scheme__vorticity_flux": "weno5",
        "physics__slip": "no",
    },
    "west, north; weather, drags": {
        **{"grid__periodic_x": False, "open_sides__sides": ("west", "north"), "open_sides__level": 0.3},
        **{"in_time": True, "open_sides__pressure": 50.0, "open_sides__current_y": -0.1, "physics__manning": 0.03},
    },
    "sphere; self-attraction, tide, drags": {"physics__self_attraction": 0.1, **TIDE, "physics__manning": 0.03},
    "sphere, basin; sponge": {"grid__periodic_x": False, "sponge__rate": 1e-2, "sponge__width": 100.0},
}


@pytest.mark.parametrize("option", FLATS)
@pytest.mark.parametrize(
    ("executor", "dtype", "bound"),
    [("native", "float64", 1e-12), ("xla", "float64", 1e-12), ("native", "float32", 1e-5)],
)
def test_cells_that_flood_and_fall_dry_agree(executor, dtype, bound, option):
    fields = flats(7, 11, sides=2 * ("west" in option), coefficients=DRAGS if "fields" in option else ())
    options = (DRYING_SPHERE if "sphere" in option else DRYING) | {"run__dtype": dtype, "forcing__every": 7.0}
    config = configuration(7, 11, fields, **options | FLATS[option])
    assert largest_difference(config, executor, steps=6) < bound
    reference, thin = Reference(setup_of(config)), config.drying.thickness
    wet = [reference.advance(reference.start(), steps, config.time.dt).state.h > thin for steps in range(7)]
    pairs = list(itertools.pairwise(wet))
    assert any((before & ~after).any() for before, after in pairs)
    assert any((after & ~before).any() for before, after in pairs)
