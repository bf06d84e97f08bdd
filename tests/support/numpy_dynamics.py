"""Configurations with every flux, stepper and group of options, and their steps in NumPy, without a compiler."""

import itertools

import numpy as np

from support.random_case import CLOSURES, DRYING, drying_flats, random_fields, section
from support.stepping import arrays_of_carry
from swmodel.ocean import timestep
from swmodel.ocean.dynamics import tendency
from swmodel.ocean.grid import as_patches
from swmodel.ocean.patch import Patch
from swmodel.ocean.state import Carry
from swmodel.ocean.timestep import STEPPERS
from swmodel.parallel.decomposition import block_of_rank
from swmodel.setup.setup import setup_of

FLUXES = ("energy", "enstrophy", "arakawa_lamb", "weno5", "weno7")
TRACERS = tuple({"name": name, "advection": name, "diffusivity": 300.0, "initial": 2.0} for name in ("upwind", "weno5"))
#: Friction, drag and a sponge between walls.
FRICTION_OPTIONS = section("physics", slip="no", linear_drag=1e-5, viscosity=300.0, biharmonic_viscosity=1e8)
FRICTION_OPTIONS |= section("grid", periodic_x=False, periodic_y=True)
#: The sponge is so narrow that the zones of two sides do not overlap, as the sum of three rates depends on the order.
FRICTION_OPTIONS |= section("sponge", rate=1e-4, width=1.6e4)
#: Groups of options that take different paths through the dynamics, by name.
OPTION_GROUPS = {
    "friction": FRICTION_OPTIONS,
    "closures": section("physics", **CLOSURES),
    "closures, no slip": section("physics", **CLOSURES, slip="no"),
    "self-attraction": {"physics__self_attraction": 0.1, "grid__periodic_y": False},
    "tracer": {"physics__tracers": TRACERS[:1], "grid__periodic_x": False},
}
#: Groups for the stepper gfb only.
GFB_OPTION_GROUPS = {
    "two tracers": {"physics__tracers": TRACERS, "grid__periodic_x": False},
    "drying": {name: value for name, value in DRYING.items() if name != "time__stepper"} | {"grid__periodic_x": False},
}
#: (flux, stepper, group, precision): every flux with every stepper and with every group.
SCHEME_CASES = [
    *(
        (FLUXES[f], STEPPERS[s], [*OPTION_GROUPS][(f + s) % 5], ("float64", "float32")[(f + s) % 2])
        for f, s in itertools.product(range(5), range(6))
    ),
    *((flux, "gfb", group, "float64") for flux, group in itertools.product(FLUXES, GFB_OPTION_GROUPS)),
]


def fields_of_case(options, ny, nx):
    return drying_flats(ny, nx) if "drying__active" in options else random_fields(ny, nx, land=0.15)


def options_of(flux, stepper, group, dtype):
    common = {"scheme__vorticity_flux": flux, "time__stepper": stepper, "run__dtype": dtype}
    return (OPTION_GROUPS | GFB_OPTION_GROUPS)[group] | common


class NumpyDynamics:
    def __init__(self, config):
        self.setup = setup_of(config)
        self.scheme, self.block = self.setup.scheme, block_of_rank(0, (1, 1), *self.setup.shape)
        self.static = [as_patches(fields, self.scheme.static_halo) for fields in self.setup.static(self.block)]

    def with_halo(self, field):
        """A Patch of the field with a periodic halo."""
        halo = self.scheme.halo_width
        return Patch(np.pad(field, halo, mode="wrap"), (-halo, -halo))

    def tendency(self, state, now, gfb_inputs=None):
        if gfb_inputs:
            start = {n: self.with_halo(getattr(gfb_inputs.step_start, n)) for n in self.scheme.step_start_fields}
            gfb_inputs = gfb_inputs._replace(pressure_h=self.with_halo(gfb_inputs.pressure_h), step_start=start)
        rates = tendency(state._make(map(self.with_halo, state)), now, *self.static, self.scheme, gfb_inputs)
        return state._make(np.broadcast_to(rate.block_values(self.setup.shape), self.setup.shape) for rate in rates)


def state_and_memory_after_start(config):
    """State and memory after one more step than the number of states in the stepper's memory."""
    dynamics = NumpyDynamics(config)
    state, method = dynamics.setup.state(dynamics.block), dynamics.setup.method
    carry = Carry(state, method.initial_memory(state), np.asarray(0, np.int32))
    for _ in range(1 + method.weight_and_state_counts[1]):
        carry = timestep.step(method, dynamics.tendency, carry, np.asarray(dynamics.setup.dt, dynamics.setup.dtype))
    return arrays_of_carry(carry)
