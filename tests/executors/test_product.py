"""For every option of the equations, the graph from which C++ and adjoints are generated agrees with the reference.

NumPy evaluates the graph, without a compiler. tests/executors/test_covering.py compares machine code.
"""

import itertools

import numpy as np
import pytest
from support import random_case
from support.numpy_dynamics import FLUXES
from support.random_case import DRYING, DRYING_SPHERE, TIDE, configuration, drying_flats, random_fields, section
from support.stepping import assert_close

from swmodel.executors.native.graph import evaluate
from swmodel.executors.native.trace import MASKS_ON_WATER, Tracing, kinds_of, lengths_of, scalar_names, stepper_weights
from swmodel.executors.reference import ReferenceModel
from swmodel.ocean.state import Carry
from swmodel.ocean.timestep import STEPPERS
from swmodel.parallel.decomposition import block_of_rank
from swmodel.setup.setup import rows_and_columns, setup_of

#: Whether y and x are periodic.
PERIODIC_YX = {"periodic": (True, True), "periodic y": (True, False), "channel": (False, True), "basin": (False, False)}
SPONGE = {"sponge__rate": 1e-4, "sponge__width": 2e4}
NO_SLIP = {"physics__slip": "no"}
BIHARMONIC = {"physics__biharmonic_viscosity": 1e8}
TRACER, DYE = {"name": "tracer"}, {"name": "dye", "initial": 2.0, "diffusivity": 300.0}
FIFTH_ORDER = {"physics__tracers": tuple(each | {"advection": "weno5"} for each in (TRACER, DYE))}
#: A sill, mostly under water, that crosses corners of cells; a dike; and a gate that moves.
SILL = {"name": "sill", "line": ((8e3, 5e3, -20.0), (24e3, 20e3, -1.0), (36e3, 20e3, 0.3))}
DIKE = {"name": "dike", "line": ((4e3, 10e3), (4e3, 25e3)), "crest": 5.0}
GATE = {"name": "gate", "line": ((40e3, 0.0), (40e3, 30e3)), "gate": ((15.0, 1.0), (50.0, -40.0))}
BARRIERS = section("barriers", lines=(SILL, DIKE, GATE), discharge_coefficient=0.9)
RIVER = {"name": "in a cell", "x": 18.5e3, "y": 12e3, "discharge": 900.0, "tracers": {"tracer": 3.0}}
WIDE_RIVER = {"name": "wide", "x": 30e3, "y": 22e3, "discharge": 5e3, "radius": 6e3}
DRAIN = {"name": "drain", "x": 10e3, "y": 17e3, "discharge": -4e3}
RIVERS = {"forcing__rivers": (RIVER, WIDE_RIVER, DRAIN), "physics__tracers": (TRACER,)}
#: The same rivers in the small cells of DRYING.
SMALL_RIVERS = RIVERS | {
    "forcing__rivers": tuple(
        each | {"x": each["x"] / 80, "y": each["y"] / 83, "radius": 80.0 * ("radius" in each)}
        for each in RIVERS["forcing__rivers"]
    )
}
TERM_OPTIONS = {
    "viscosity": {},
    "no slip": NO_SLIP,
    "biharmonic": BIHARMONIC,
    "biharmonic, no slip": BIHARMONIC | NO_SLIP,
    "smagorinsky": {"physics__smagorinsky": 0.15},
    "biharmonic smagorinsky": {"physics__biharmonic_smagorinsky": 0.06},
    "leith": {"physics__leith": 1.0},
    "leith_e": {"physics__leith_e": 8.0},
    "zanna_bolton, no slip": {"physics__zanna_bolton": 1.0, **NO_SLIP},
    "backscatter": section("physics", backscatter=0.3, biharmonic_smagorinsky=0.06) | BIHARMONIC | SPONGE,
    "closures as fields, no slip": NO_SLIP,
    "beta plane": {"physics__beta": 2e-11},
    "sponge": {"time__stepper": "ab2", **SPONGE},
    "gravity 1, f 0, linear drag": section("physics", gravity=1.0, f0=0.0, linear_drag=1e-5),
    "manning": {"time__stepper": "ab2", "physics__manning": 0.03},
    "self-attraction": {"time__stepper": "ab2", "physics__self_attraction": 0.1},
    "body force": section("body_force", x=1e-5, y_amplitude=1e-4, y_phase=0.4),
    "tracer, sponge": {"physics__tracers": (TRACER,), **SPONGE},
    "tracers of fifth order, sponge": FIFTH_ORDER | SPONGE,
    "rivers": RIVERS,
    "coefficients as fields": {},
    "weather, garratt": {"has_weather": True},
    "moving floor": {"has_moving_floor": True},
    "weather, large_pond": {"has_weather": True, "wind_drag__law": "large_pond"},
    "barriers, no slip, biharmonic": BARRIERS | NO_SLIP | BIHARMONIC,
    "barriers, closures": BARRIERS
    | {"physics__smagorinsky": 0.15, "physics__leith": 1.0, "physics__zanna_bolton": 1.0, "physics__manning": 0.03},
    "barriers, tracers of fifth order": BARRIERS | FIFTH_ORDER,
}
#: Terms whose coefficients are fields.
FIELD_COEFFICIENTS = {"coefficients as fields": random_case.COEFFICIENTS}
FIELD_COEFFICIENTS |= {"closures as fields, no slip": random_case.CLOSURES}


class RecordedSteps:
    """The graph of a step, from which C++ and adjoint are generated, evaluated by NumPy in milliseconds per step.

    Fields beyond the declared halo, and static fields beyond their declared halo, are NaN, so that a step that reads
    them gives a wrong result.
    """

    def __init__(self, config):
        self.setup = setup_of(config)
        self.scheme, self.method = self.setup.scheme, self.setup.method
        self.block = block_of_rank(0, (1, 1), *self.setup.shape)
        self.halo = self.scheme.halo_width
        self.padding = self.scheme.static_halo + 2  # cells around the domain
        self.records = self.setup.varying_coefficients()
        self.dt = np.asarray(self.setup.dt, self.setup.dtype)

    def step_inputs(self, step: int) -> dict:
        """The inputs of a step besides state and memory: fields [y, x] padded on all sides, and numbers."""
        grid = self.setup.grid(self.block, self.padding)
        varying = self.setup.varying_params(self.records, self.block, self.padding, step)
        params = self.setup.params(self.block, self.padding, lambda *_: varying)
        self.kinds = kinds_of(grid, params)
        inputs = {"f": grid.f, "depth": grid.depth, **lengths_of(grid), **params}
        inputs |= stepper_weights(self.method, np.int32(step), self.dt)
        inputs |= {name: getattr(grid, name) for name in MASKS_ON_WATER}
        return {name: self.with_nan_beyond(field, self.scheme.static_halo) for name, field in inputs.items()}

    def with_nan_beyond(self, field, halo: int):
        """A field with NaN farther than `halo` cells from the domain; numbers are unchanged."""
        n_nan = self.padding - halo
        inner = tuple(slice(n_nan, -n_nan) if n > 1 else slice(None) for n in np.shape(field))
        if max(np.shape(field), default=1) == 1 or field.dtype.kind != "f":
            return field
        result = np.full_like(field, np.nan)
        result[inner] = field[inner]
        return result

    def programs(self, step: int, inputs: dict):
        """The recorded passes of a step, and the values of its numbers."""
        numbers = {name: inputs[name] for name in scalar_names(self.kinds)}
        numbers |= {name: value for name, value in inputs.items() if name.startswith("weight")}
        tracing = Tracing(self.scheme, self.kinds, numbers, self.setup.dtype)
        return tracing.programs(self.method, np.asarray(step, np.int32)), tracing.graph.values

    def with_halo(self, field):
        """A field with a periodic halo on both axes, because masks close the axes that are not periodic."""
        indices = zip(rows_and_columns(self.block, self.padding), self.setup.shape, strict=True)
        rows, columns = (index % cells for index, cells in indices)
        return self.with_nan_beyond(field[np.ix_(rows, columns)], self.halo)

    def start(self) -> Carry:
        state = self.setup.state(self.block)
        return Carry(state, self.method.initial_memory(state), 0)

    def advance(self, carry: Carry, steps: int) -> Carry:
        inner = (slice(self.padding, -self.padding),) * 2
        prefixes = ("", *(f"memory{number}." for number in range(len(carry.memory))))
        for step in range(carry.step, carry.step + steps):
            groups = zip(prefixes, (carry.state, *carry.memory), strict=True)
            fields = {prefix + name: field for prefix, group in groups for name, field in group._asdict().items()}
            inputs = self.step_inputs(step)
            programs, values = self.programs(step, inputs)
            for program in programs:
                padded = {name: self.with_halo(field) for name, field in fields.items()}
                with np.errstate(all="ignore"):  # values on land, which no cell of water reads, may be invalid
                    outputs = evaluate(program.outputs, inputs | padded, values, np)
                shape = next(iter(padded.values())).shape
                fields |= {name: np.broadcast_to(field, shape)[inner] for name, field in outputs.items()}
            state, *memory = (type(carry.state)(*(fields[p + n] for n in carry.state._fields)) for p in prefixes)
            carry = Carry(state, tuple(memory), step + 1)
        return carry


def assert_agrees(config, steps=2):
    """Assert that recorded steps and reference agree to 1e-12, in float32 to 1e-5, of the largest value of a field."""
    reference, recorded = ReferenceModel(setup_of(config)), RecordedSteps(config)
    expected = reference.advance(reference.start(), steps, config.time.dt).state
    state = recorded.advance(recorded.start(), steps).state
    bound = {"float64": 1e-12, "float32": 1e-5}[config.run.dtype]
    assert {field.dtype for field in state} == {np.dtype(config.run.dtype)}
    assert_close(state, expected, bound)


@pytest.mark.promise("the executor does not change the answer")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("flux", FLUXES)
@pytest.mark.parametrize("stepper", STEPPERS)
def test_stepper_with_flux_agrees(stepper, flux, dtype):
    number = STEPPERS.index(stepper) + FLUXES.index(flux)
    periodic_y, periodic_x = list(PERIODIC_YX.values())[number % 4]
    options = {"run__dtype": dtype, "physics__slip": ("free", "no")[number // 2 % 2]}
    force = {"body_force__x_amplitude": 1e-3, "body_force__period": 100.0}
    options |= {"grid__periodic_y": periodic_y, "grid__periodic_x": periodic_x, **force}
    assert_agrees(configuration(7, 11, time__stepper=stepper, scheme__vorticity_flux=flux, **options), steps=4)


@pytest.mark.promise("no uninitialised value is read")
@pytest.mark.parametrize("option", [*({"scheme__vorticity_flux": flux} for flux in FLUXES), BIHARMONIC, FIFTH_ORDER])
def test_declared_halo_is_not_wider_than_needed(option):
    """The other tests set all cells beyond the halo to NaN, this one also the outermost cells of the halo."""
    recorded = RecordedSteps(configuration(9, 11, random_fields(9, 11, land=0.0), grid__periodic_y=True, **option))
    assert np.isfinite(recorded.advance(recorded.start(), 1).state).all()
    recorded.halo -= 1
    assert np.isnan(recorded.advance(recorded.start(), 1).state).any()


@pytest.mark.promise("the executor does not change the answer")
@pytest.mark.parametrize("term", TERM_OPTIONS)
@pytest.mark.parametrize("boundary", PERIODIC_YX)
def test_term_with_boundary_agrees(boundary, term):
    periodic_y, periodic_x = PERIODIC_YX[boundary]
    periodic_y = periodic_y and term != "beta plane"  # because f would jump at the periodic boundary
    fields = random_fields(7, 11, coefficients=FIELD_COEFFICIENTS.get(term, ()))
    boundaries = {"grid__periodic_y": periodic_y, "grid__periodic_x": periodic_x}
    assert_agrees(configuration(7, 11, fields, **boundaries, **TERM_OPTIONS[term]))


#: Options by the sides with open boundaries; boundary data are numbers, fields, or a tide.
OPEN_BOUNDARY_OPTIONS = {
    "west": {},
    "east, north": section("open_boundaries", level=0.3, transport_x=5.0) | BIHARMONIC | NO_SLIP,
    "west, east, south, north": TERM_OPTIONS["tracer, sponge"]
    | section("open_boundaries", constituents=("M2", "K1"), amplitude=(0.5, 0.2), phase=(70.0, -30.0))
    | {"tide__ramp": 50.0, "scheme__vorticity_flux": "arakawa_lamb"},
    "west, east": FIFTH_ORDER | SPONGE,
    "south, east": section("open_boundaries", transport_y=3.0, constituents=("K1", "M2")) | {"boundary_data": "fields"},
    "west, north": section("open_boundaries", pressure=50.0, current_x=0.1) | {"has_weather": True} | SPONGE,
}


@pytest.mark.promise("the executor does not change the answer")
@pytest.mark.promise("open boundaries let waves in and out")
@pytest.mark.fault("a tide's ramp differs after a restart, between executors or layouts")
@pytest.mark.parametrize("sphere", [False, True], ids=["plane", "sphere"])
@pytest.mark.parametrize("sides", OPEN_BOUNDARY_OPTIONS)
def test_open_boundaries_agree(sides, sphere):
    options, fields = dict(OPEN_BOUNDARY_OPTIONS[sides]), random_fields(7, 11)
    if options.pop("boundary_data", None):
        tides = np.random.default_rng(2).random((3, 2, 2, 7, 11)) * np.reshape([1, 9, 9], (3, 1, 1, 1, 1))
        names = ("level", "transport_x", "transport_y")
        fields |= {f"boundary_tide_{name}": field for name, field in zip(names, tides, strict=True)}
        fields |= {"boundary_level": tides[0, 0, 0]}
    open_boundaries = {"grid__periodic_x": False, "open_boundaries__sides": tuple(sides.split(", "))}
    assert_agrees(configuration(7, 11, fields, sphere=sphere, **open_boundaries, **options))


SPHERE_OPTIONS = {
    "coefficients as fields": {"grid__periodic_x": False, **NO_SLIP},
    "closures as fields, no slip": {"grid__periodic_x": False, **NO_SLIP},
    "tide": {"time__stepper": "rk4", **TIDE},
    "tide, rotated pole": {"grid__pole": (-42.0, 76.0), "grid__radius": 6371e3, "time__dt": 5.0, **TIDE},
    "enstrophy, tracer, sponge": {"scheme__vorticity_flux": "enstrophy", **TERM_OPTIONS["tracer, sponge"]},
    "tracers of fifth order": FIFTH_ORDER,
    "arakawa_lamb, f plane": {"scheme__vorticity_flux": "arakawa_lamb", "physics__f0": 1e-4, **BIHARMONIC, **NO_SLIP},
    "weno7": {"scheme__vorticity_flux": "weno7", **NO_SLIP},
    "barriers, weno5": TERM_OPTIONS["tracer, sponge"]
    | {"barriers__lines": ({"name": "sill", "line": ((310.0, 12.0), (330.0, 30.0)), "crest": -10.0},)}
    | {"scheme__vorticity_flux": "weno5"},
}


@pytest.mark.promise("the sphere's geometry is exact")
@pytest.mark.parametrize("option", SPHERE_OPTIONS)
def test_sphere_agrees(option):
    fields = random_fields(7, 11, coefficients=FIELD_COEFFICIENTS.get(option, ()))
    assert_agrees(configuration(7, 11, fields, True, **SPHERE_OPTIONS[option]))


@pytest.mark.parametrize("beta", [0.0, 2e-11])
def test_fields_that_are_constant_along_rows_agree(beta):
    """In the graph such fields are numbers, or have one value per row."""
    state = {name: random_fields(7, 11)[name] for name in ("eta", "u", "v")}
    assert_agrees(configuration(7, 11, state, physics__beta=beta, physics__linear_drag=1e-6, **BIHARMONIC))


@pytest.mark.parametrize("size", [(1, 1), (1, 5), (5, 1), (2, 3), (3, 2), (31, 2)])
def test_thin_domains_agree(size):
    assert_agrees(configuration(*size, random_fields(*size, land=0.0), grid__periodic_y=True, time__stepper="ab2"))


SMALL_DIKE = {"name": "dike", "line": ((100.0, 0.0, 0.4), (100.0, 240.0, 1.2), (400.0, 300.0, -0.2))}
SMALL_GATE = {"name": "gate", "line": ((250.0, 60.0), (450.0, 60.0)), "gate": ((3.0, 0.5), (18.0, -1.0))}
#: Seas whose cells flood and fall dry.
DRYING_OPTIONS = {
    "periodic": {"grid__periodic_y": True},
    "basin, weno5, no slip": {"grid__periodic_x": False, "scheme__vorticity_flux": "weno5", **NO_SLIP},
    "basin, tracers of fifth order": {"grid__periodic_x": False, **FIFTH_ORDER},
    "basin, rivers": {"grid__periodic_x": False, **SMALL_RIVERS},
    "infiltration, tracers of fifth order": random_case.INFILTRATION | FIFTH_ORDER,
    "west, north; weather": {"grid__periodic_x": False, "has_weather": True, "physics__manning": 0.03}
    | section("open_boundaries", sides=("west", "north"), level=0.3, pressure=50.0, current_y=-0.1),
    "sphere; tide": {"physics__self_attraction": 0.1, **TIDE, "physics__manning": 0.03},
    "barriers, tracers of fifth order": FIFTH_ORDER | {"barriers__lines": (SMALL_DIKE, SMALL_GATE)},
    "sphere, basin; sponge": {"grid__periodic_x": False, "sponge__rate": 1e-2, "sponge__width": 100.0},
}


@pytest.mark.promise("the executor does not change the answer")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("option", DRYING_OPTIONS)
def test_cells_that_flood_and_fall_dry_agree(option, dtype):
    drags = ("quadratic_drag", "manning") if option == "basin, weno5, no slip" else ()
    fields = drying_flats(7, 11, margin=2 * ("west" in option), coefficients=drags)
    options = (DRYING_SPHERE if "sphere" in option else DRYING) | {"run__dtype": dtype, "forcing__every": 7.0}
    config = configuration(7, 11, fields, **options | DRYING_OPTIONS[option])
    assert_agrees(config, steps=6)
    reference, thickness = ReferenceModel(setup_of(config)), config.drying.thickness
    wet = [reference.advance(reference.start(), steps, config.time.dt).state.h > thickness for steps in range(7)]
    pairs = list(itertools.pairwise(wet))
    assert any((before & ~after).any() for before, after in pairs)
    assert any((after & ~before).any() for before, after in pairs)
