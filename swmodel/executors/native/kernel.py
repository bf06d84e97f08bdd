"""The fused step in C++ as JAX sees it: one foreign call that takes the state with its halos and gives the next state.

State and the stepper's memory are updated where they are; halos come in and edges go out as small arrays of their own.
A full array touched outside the call would cost more than the call.

Arrays, in the order of the call (step.cc reads them so):

    fields      h, u, v of each group [ny, nx]: the state, then what the stepper remembers or has computed
    halos       west, east [fields, ny, halo]; south, north [fields, halo, nx + 2 halo], corners included
    extent      [2]: rows and columns of the fields that are the block; the rest is left as it is, or undefined
    constants   [8]; weights [steps_per_sweep, n]: of the terms of the stepper's sum, times dt
    static      masks (uint8), f, depth, linear_drag, wind_x, wind_y, sponge_c, sponge_u, sponge_v: with a margin around
                the block; an axis of length one holds one value for all

Results: fields, then edges west, east [fields, ny, halo], south, north [fields, halo, nx].
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...ocean.scheme import Scheme
from ...ocean.state import Carry, State
from ...ocean.timestep import Leapfrog, Multistep, RungeKutta
from ...parallel.transport.halo import between, last, within
from . import CONVENTION, REMEDY, TERMS

TARGET = "swmodel_step"
FLUXES = ("energy", "enstrophy", "arakawa_lamb")
#: Columns as in sweep.h.
PADDING = 16
STEPPERS = (Multistep, Leapfrog, RungeKutta)


class Static(NamedTuple):
    """Everything that stays the same during a run, as the call takes it."""

    constants: Any
    masks: Any
    f: Any
    depth: Any
    linear_drag: Any
    wind_x: Any
    wind_y: Any
    sponge_c: Any
    sponge_u: Any
    sponge_v: Any


class Edges(NamedTuple):
    """The outermost columns and rows of the fields that travel, or the halos that come from the neighbours'."""

    west: Any
    east: Any
    south: Any
    north: Any


def register() -> None:
    """Make the compiled step known to JAX.

    Raises:
        ImportError: it was not compiled, or for another processor.
    """
    try:
        from . import _step
    except ImportError as error:
        raise ImportError(f"the native step cannot be used ({error}); {REMEDY}, or choose the executor xla") from error
    if getattr(_step, "convention", 1) != CONVENTION:
        raise ImportError(f"the native step was compiled from another version of swmodel; {REMEDY}")
    jax.ffi.register_ffi_target(TARGET, _step.step, platform="cpu")


def static_fields(grid, params, xp=np) -> Static:
    """The Grid and the Params of a block as the call takes them; masks are packed into one byte a cell.

    Args:
        grid, params: with one margin of neighbours, which is the Kernel's.
        xp: numpy, or jax.numpy for what is traced.
    """
    dtype = grid.depth.dtype
    nothing = xp.zeros((1, 1), dtype)
    # The boundary condition is the value of s at corners that are not interior, wherever there is one.
    boundary = xp.max(xp.where(grid.share != 1, grid.slip, 0))
    names = ("gravity", "density", "viscosity", "biharmonic_viscosity", "quadratic_drag")
    scalars = (grid.rdx.u, grid.rdy.v, *(params.get(name, nothing) for name in names), boundary)
    around = xp.where(grid.share > 0, xp.rint(4 / xp.where(grid.share > 0, grid.share, 1)), 0)
    masks = grid.wet + 2 * grid.open_u + 4 * grid.open_v + 8 * around
    fields = Static(
        constants=xp.stack([xp.ravel(x)[0] for x in scalars]).astype(dtype),
        masks=masks.astype(np.uint8),
        f=grid.f,
        depth=grid.depth,
        **{name: params.get(name, nothing) for name in Static._fields[4:]},
    )
    return fields._replace(
        **{name: padded(field, xp) for name, field in fields._asdict().items() if name != "constants"}
    )


def padded(field, xp):
    """A static field with columns on both sides that loops over whole lines of the cache may read."""
    return xp.pad(field, ((0, 0), (PADDING, PADDING)), mode="edge") if field.shape[1] > 1 else field


def edges_of(fields, halo: int, extent=None) -> Edges:
    """The outermost `halo` columns and rows of the fields [ny, nx], of which `extent` belongs to the block."""
    rows, columns = extent or (None, None)
    return Edges(
        west=jnp.stack([f[:, :halo] for f in fields]),
        east=jnp.stack([last(f, halo, -1, columns) for f in fields]),
        south=jnp.stack([f[:halo] for f in fields]),
        north=jnp.stack([last(f, halo, -2, rows) for f in fields]),
    )


def exchange(edges: Edges, halo: int, shift, extent=None) -> Edges:
    """The halos that belong to the edges of all blocks: four messages, as in `transport.halo.pad`."""
    west, east = shift(edges.east, 1, +1), shift(edges.west, 1, -1)
    rows, columns = extent or (None, None)
    ends = [last(strip, halo, -2, rows) for strip in (west, east)]
    south = between(west[:, :halo], edges.south, east[:, :halo], -1, columns)
    north = between(ends[0], edges.north, ends[1], -1, columns)
    return Edges(west, east, shift(north, 0, +1), shift(south, 0, -1))


#: Bytes of the fields of a block above which several steps in one sweep are faster, and how many steps.
BEYOND_CACHE, MANY_STEPS = 32 * 2**20, 4


def choose_steps_per_sweep(smallest, width: int, method, itemsize: int) -> int:
    """Steps that one sweep takes: four where the fields of a block do not stay in the cache, as far as halos reach.

    The smallest block of the layout decides, so that all ranks answer alike. Measured with ab2, float32, ms a step with
    one and with four: 3600 x 1800 6.63 and 6.18 on one rank of two threads, 7.18 and 6.01 on two ranks; 1800 x 900 1.44
    and 1.40; 720 x 360 0.251 and 0.259. Six are no faster than four.

    Args:
        smallest: fewest rows and columns of a block.
        width: rows and columns of neighbours that one step needs.
        method: the time stepper; the stages of a Runge-Kutta method are calls of their own.
        itemsize: bytes of a number.
    """
    if isinstance(method, RungeKutta):
        return 1
    ny, nx = smallest
    groups = 2 if isinstance(method, Leapfrog) else len(method.weights)
    if 3 * groups * ny * nx * itemsize <= BEYOND_CACHE:
        return 1
    return max(1, min(MANY_STEPS, min(ny, nx) // width))


class Kernel(NamedTuple):
    """The call for one scheme and stepper.

    Attributes:
        scheme: terms of the tendency.
        method: time stepper.
        margin: rows and columns of the static fields around the block.
        steps_per_sweep: steps that one call takes; more than one with multistep methods and the leapfrog only.
        tile: columns that are swept at a time; 0: as many as fit into the cache.
        threads: most threads; 0: all of XLA's pool.
    """

    scheme: Scheme
    method: Multistep | Leapfrog | RungeKutta
    margin: int
    steps_per_sweep: int = 1
    tile: int = 0
    threads: int = 0

    @property
    def halo(self) -> int:
        """Rows and columns of neighbours that a call needs."""
        return self.scheme.width * self.steps_per_sweep

    def travelling(self, carry: Carry) -> list:
        """The fields whose edges the neighbours need."""
        return jax.tree.leaves((carry.state, carry.memory) if self.steps_per_sweep > 1 else carry.state)

    def advance(self, carry: Carry, static: Static, dt, shift, n, extent=None):
        """The carry after n calls, `steps_per_sweep` steps each."""

        def body(_, carry_and_edges):
            return self.step(*carry_and_edges, static, dt, shift, extent)

        edges = edges_of(self.travelling(carry), self.halo, extent)
        return jax.lax.fori_loop(0, n, body, (carry, edges))[0]

    def step(self, carry: Carry, edges: Edges, static: Static, dt, shift, extent=None) -> tuple[Carry, Edges]:
        """The next carry with its edges."""
        if isinstance(self.method, RungeKutta):
            return self.stages(carry, edges, static, dt, shift, extent)
        fields = jax.tree.leaves((carry.state, carry.memory))
        halos = exchange(edges, self.halo, shift, extent)
        weights = self.weights(carry.step, dt)
        aliases = {i: i for i in range(len(fields))}
        fields, edges = self.call(fields, halos, static, weights, aliases, len(fields), extent)
        groups = [State(*fields[i : i + 3]) for i in range(0, len(fields), 3)]
        return Carry(groups[0], tuple(groups[1:]), carry.step + self.steps_per_sweep), edges

    def weights(self, step, dt):
        """The weights of the sums of the next `steps_per_sweep` steps [steps_per_sweep, n]."""
        steps = step + jnp.arange(self.steps_per_sweep, dtype=step.dtype)
        if isinstance(self.method, Multistep):
            table = jnp.asarray(self.method.weights, dt.dtype)
            return dt * table[jnp.minimum(steps, len(table) - 1)]
        first = steps == 0
        return jnp.stack(
            [jnp.where(first, dt, 2 * dt), jnp.where(first, 0, jnp.asarray(self.method.filter, dt.dtype))], 1
        )

    def stages(self, carry: Carry, edges: Edges, static: Static, dt, shift, extent=None) -> tuple[Carry, Edges]:
        """A step of a Runge-Kutta method, one call for each stage."""
        table = self.method.weights
        start, stage, tendencies = list(carry.state), list(carry.state), []
        for number, row in enumerate(table):
            last = number == len(table) - 1
            past = [tendencies[k] for k in range(number) if row[k]]
            keep = any(later[number] for later in table[number + 1 :])
            fields = [*stage, *(start if number else ()), *sum(past, start=[])]
            aliases = {} if number == 0 and not last else {(3 if last and number else 0) + i: i for i in range(3)}
            weights = dt * jnp.asarray([[weight for weight in row if weight]], dt.dtype)
            halos = exchange(edges, self.halo, shift, extent)
            results, edges = self.call(fields, halos, static, weights, aliases, 6 if keep else 3, extent)
            stage = results[:3]
            tendencies.append(results[3:])
        return Carry(State(*(within(field, extent) for field in stage)), (), carry.step + 1), edges

    def call(self, fields, halos: Edges, static: Static, weights, aliases, results: int, extent=None):
        """The foreign call: `results` fields, and the edges of those that travel."""
        field = jax.ShapeDtypeStruct(fields[0].shape, fields[0].dtype)
        (ny, nx), many = field.shape, halos.west.shape[0]
        edge = partial(jax.ShapeDtypeStruct, dtype=field.dtype)
        column, row = edge((many, ny, self.halo)), edge((many, self.halo, nx))
        call = jax.ffi.ffi_call(
            TARGET,
            [field] * results + [column, column, row, row],
            input_output_aliases=aliases,
            vmap_method="sequential",
        )
        out = call(
            *fields,
            *halos,
            jnp.asarray((ny, nx) if extent is None else extent, jnp.int32),
            static.constants,
            weights,
            *static[1:],
            **{name: np.int32(value) for name, value in self.options(len(fields) // 3, results // 3, weights).items()},
        )
        return list(out[:results]), Edges(*out[results:])

    def options(self, groups_in: int, groups_out: int, weights) -> dict[str, int]:
        """The numbers that choose what the call computes."""
        return {
            "flux": FLUXES.index(self.scheme.vorticity_flux),
            "stepper": STEPPERS.index(type(self.method)),
            "terms": sum((name in self.scheme.terms) << bit for bit, name in enumerate(TERMS)),
            "width": self.scheme.width,
            "steps_per_sweep": self.steps_per_sweep,
            "margin": self.margin,
            "past": weights.shape[1] - 1,
            "groups_in": groups_in,
            "groups_out": groups_out,
            "tile": self.tile,
            "threads": self.threads,
        }
