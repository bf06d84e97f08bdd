"""Health of a run: finite, of positive thickness, within the stable time step, and without energy from nowhere.

One jitted pass over the state and three small messages; all ranks reach the same verdict.

Energy: let e be the kinetic and available potential energy per area and density (m3 s-2). Wind stress tau does no more
work than tau |u|, so d sqrt(e)/dt <= w = (max tau / density) / sqrt(2 min h); everything else only takes energy away.
So sqrt(e) never exceeds the r that follows from the least energy since the start by r <- min(r + w dt, sqrt(e)). More
than RUNAWAY times r² comes from an instability, in spin-up from rest as well.
"""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from .errors import FilesError, NumericalError
from .extremes import Extremes
from .grid import as_patches
from .operators import Patch
from .output import Output
from .restart.folder import candidates
from .run_folder import BLOWUP
from .stability import largest_dt
from .state import PROGNOSTIC, VARIABLES, State
from .transport.halo import within

log = logging.getLogger(__name__)

#: Growth of energy that is left to discretisation and round-off. An instability is past it within tens of steps.
RUNAWAY = 10.0
#: Sea level over depth whose energy counts as none: round-off of a state of rest is far below.
REST = 1e-4
#: Part of the largest stable time step that is recommended.
SAFETY = 0.8


class Static(NamedTuple):
    """Fields of the block that `measure` needs, each [y, x] or [1, 1]."""

    wet: Any
    depth: Any  # m
    linear_drag: Any  # s-1


class Measures(NamedTuple):
    """What one look at the state finds on water, in a block or in the whole domain."""

    low: float  # -min(h), m; infinity where h, u or v is not finite
    high: float  # max(h), m
    speed: float  # m s-1, largest
    wave_rate: float  # s-1, largest 2 sqrt(g h (1/dx² + 1/dy²)) + |u|/dx + |v|/dy
    drag_rate: float  # s-1, largest
    energy: float  # m3 s-2, sum over cells of h (u² + v²)/2 + g (h - depth)²/2


class Health:
    """The health of a simulation: `check` between chunks of steps.

    Args:
        simulation: a Simulation.
        directory: the run folder, for blowup.nc; None: a blow-up leaves no file.
    """

    def __init__(self, simulation, directory=None):
        self.simulation, self.directory = simulation, directory
        self.config, self.transport = simulation.config, simulation.transport
        blocks = list(self.blocks())
        wind = max(np.hypot(params.wind_x.on(shape), params.wind_y.on(shape)).max() for _, params, shape in blocks)
        depth = max(np.abs(grid.depth.on(shape)).max() for grid, _, shape in blocks)
        wind, depth = self.transport.reduce(np.array([wind, depth], np.float64), "max")
        cells = self.transport.reduce(np.asarray(self.wet().sum(dtype=np.float64)), "sum")
        self.wind, self.cells = float(wind) / self.config.physics.density, max(1.0, float(cells))
        self.rest = math.sqrt(0.5 * self.config.physics.gravity) * REST * float(depth)
        self.static = Static(simulation.grid.wet, simulation.grid.depth, simulation.params.linear_drag)
        self._measure = self.transport.jit(measure(self.config, self.transport, simulation.scheme.width + 1))
        self.last, self.step, self.time = self.look(), simulation.step, simulation.time
        self.root = max(self.rest, math.sqrt(max(0.0, self.last.energy)))
        self.stable = (0.0, 0.0)  # rates of waves and of drag with which the time step is known to be stable
        self.warned = False

    def check(self) -> None:
        """Look at the state; called by all processes together. Warns once if the time step is above the stable one.

        Raises:
            NumericalError: the solution blew up; the message says where, when, and what to change.
        """
        now = self.look()
        if not now.low < 0:
            self.fail(*self.unusable_value())
        least = min(-now.low, -self.last.low)
        bound = self.root + self.wind / math.sqrt(2 * least) * (self.simulation.time - self.time)
        if not now.energy <= RUNAWAY * bound**2:
            growth = now.energy / bound**2
            self.fail(*self.fastest(), f"energy is {growth:.3g} times what the run can have; ")
        self.root = max(self.rest, min(bound, math.sqrt(now.energy)))
        self.last, self.step, self.time = now, self.simulation.step, self.simulation.time
        if not self.warned:
            self.check_time_step()

    def blocks(self):
        """For each block of this process: Grid and Params, NumPy arrays in Patches, and its shape."""
        width, static = self.simulation.scheme.width, (self.simulation.grid, self.simulation.params)
        for fields, block in zip(self.transport.pieces(static, width + 1), self.transport.blocks, strict=True):
            yield *(as_patches(each, width) for each in fields), block.shape

    def wet(self) -> np.ndarray:
        """1 on water and 0 on land, NumPy array [y, x] of this process's part."""
        return self.transport.join([np.broadcast_to(grid.wet.on(shape), shape) for grid, _, shape in self.blocks()])

    def look(self) -> Measures:
        """The Measures of the whole domain; the energy per cell."""
        measured = self._measure(self.simulation.carry.state, self.static)
        found = np.stack(self.transport.pieces(measured)).astype(np.float64)
        worst = np.nan_to_num(found[:, :-1], nan=np.inf, posinf=np.inf, neginf=-np.inf).max(axis=0)
        largest = self.transport.reduce(worst, "max")
        energy = self.transport.broadcast(float(self.transport.reduce(found[:, -1].sum(keepdims=True), "sum")[0]))
        return Measures(*map(float, largest), energy / self.cells)

    def check_time_step(self) -> None:
        """Warn if the time step is above the largest one that is stable now."""
        rates, dt = (self.last.wave_rate, self.last.drag_rate), self.config.time.dt
        if all(now <= before for now, before in zip(rates, self.stable, strict=True)):
            return
        for margin in (1.05, 1.0):  # finding the limit takes 10 ms, so not anew with every small change
            largest, process = self.largest_dt(margin)
            if dt <= largest:
                self.stable = tuple(margin * rate for rate in rates)
                return
        self.warned = True
        if self.transport.rank == 0:
            log.warning(
                "step %d (day %.3f): the time step of %.6g s is above the largest stable one, %.4g s (%s); "
                "CFL %.3g; the run may blow up; time.dt = %.4g s would be stable",
                *(self.step, self.time / 86400, dt, largest, process, self.cfl(), SAFETY * largest),
            )

    def largest_dt(self, margin: float = 1.0) -> tuple[float, str]:
        """The largest stable time step, s, for `margin` times the rates at the last look, and the process behind it."""
        ranges = {name: (0.0, margin * getattr(self.last, name)) for name in ("wave_rate", "drag_rate")}
        return largest_dt(self.config, Extremes(ranges=ranges))

    def cfl(self) -> float:
        """(|u| + sqrt(g h)) dt sqrt(1/dx² + 1/dy²) at the last look, largest |u| and h."""
        grid, gravity = self.config.grid, self.config.physics.gravity
        return self.config.time.dt * (self.last.speed + math.sqrt(gravity * self.last.high)) * scale(grid)

    def unusable_value(self) -> tuple[str, float, int]:
        """The first cell that is not finite or has no thickness: field, value, index in the whole domain."""
        state = self.simulation.state
        bad = State(*(~np.isfinite(field) for field in state))
        with np.errstate(invalid="ignore"):
            bad = bad._replace(h=bad.h | ((state.h <= 0) & (self.wet() > 0)))
        return self.first(np.stack(bad))

    def fastest(self) -> tuple[str, float, int]:
        """The component of velocity largest in size: field, value, index in the whole domain."""
        state = self.simulation.state
        sizes = np.stack([np.zeros_like(state.h), np.abs(state.u), np.abs(state.v)])
        return self.first(sizes == self.transport.reduce(np.asarray(sizes.max()), "max"))

    def first(self, marked: np.ndarray) -> tuple[str, float, int]:
        """Field, value and index of the first cell of the whole domain that is marked anywhere, [field, y, x]."""
        block, nx, fields = self.simulation.block, self.config.grid.nx, len(PROGNOSTIC)
        everywhere = fields * nx * self.config.grid.ny
        places = np.argwhere(np.moveaxis(marked, 0, 2))  # row, column, field
        mine = everywhere
        if len(places):
            row, column, number = map(int, places[0])
            mine = ((block.y.start + row) * nx + block.x.start + column) * fields + number
        found = int(self.transport.reduce(np.asarray(mine, np.int64), "min"))
        value = 0.0
        if mine == found < everywhere:
            value = float(self.simulation.state[number][row, column])
        value = float(self.transport.reduce(np.asarray(value, np.float64), "sum"))
        return PROGNOSTIC[found % fields], value, found // fields

    def fail(self, name: str, value: float, index: int, why: str = ""):
        """Write blowup.nc and raise NumericalError."""
        simulation, dt = self.simulation, self.config.time.dt
        row, column = divmod(index, self.config.grid.nx)
        suggested = min(dt / 2, SAFETY * self.largest_dt()[0])
        raise NumericalError(
            f"the solution blew up by step {simulation.step} (day {simulation.time / 86400:.3f}): "
            f"{why}{name} is {value:.6g} {VARIABLES[name].units} at row {row}, column {column}; "
            f"CFL {self.cfl():.3g} at step {self.step}; "
            f"start anew with a smaller time step (time.dt = {suggested:.4g} s) or more friction{self.remains()}"
        )

    def remains(self) -> str:
        """Write blowup.nc; what the run leaves, in words."""
        if self.directory is None:
            return ""
        path = Path(self.directory) / BLOWUP
        config = self.config.model_copy(
            update={"output": self.config.output.model_copy(update={"fields": PROGNOSTIC, "means": ()})}
        )
        try:
            with Output(path, config, self.transport) as output:
                output.write(self.simulation.step, self.simulation.time, self.simulation.state._asdict())
            words = f"; the state is in {path}"
        except FilesError as error:
            words = f"; the state could not be written: {error}"
        restarts = self.transport.broadcast(candidates(self.directory))
        return words + (f"; last good restart: {restarts[0]}" if restarts else "")


def scale(grid) -> float:
    """sqrt(1/dx² + 1/dy²), m-1."""
    return math.hypot(1 / grid.dx, 1 / grid.dy)


def measure(config, transport, margin: int = 0):
    """The function (State, Static) -> [Measures] of a block, to be jitted; the energy is summed.

    Args:
        margin: cells around the block that the Static has.
    """
    grid, physics = config.grid, config.physics
    waves = 4 * physics.gravity * scale(grid) ** 2

    def measures(state: State, static: Static):
        h, u, v = state
        static = Static(*(Patch(field, (-margin, -margin)).on(h.shape) for field in static))
        wet = within(jnp.broadcast_to(static.wet > 0, h.shape), transport.extent())
        finite = jnp.isfinite(h) & jnp.isfinite(u) & jnp.isfinite(v)
        low = jnp.where(finite, jnp.where(wet, -h, -jnp.inf), jnp.inf)
        square = u * u + v * v
        rate = jnp.sqrt(jnp.maximum(h, 0) * waves) + jnp.abs(u) / grid.dx + jnp.abs(v) / grid.dy
        drag = static.linear_drag
        if physics.quadratic_drag > 0:
            drag = drag + 2 * physics.quadratic_drag * jnp.sqrt(square) / h
        eta = h - static.depth
        energy = 0.5 * h * square + 0.5 * physics.gravity * eta * eta
        found = Measures(
            low=low.max(),
            high=jnp.where(wet, h, 0).max(),
            speed=jnp.sqrt(square.max()),
            wave_rate=jnp.where(wet, rate, 0).max(),
            drag_rate=jnp.where(wet, drag, 0).max(),
            energy=jnp.where(wet, energy, 0).sum(),
        )
        return jnp.stack(found)

    return measures
