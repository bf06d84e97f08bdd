"""A model that runs: state, time and the steps between, on one process or as one of many."""

from __future__ import annotations

import time

import jax
import jax.numpy as jnp
import numpy as np

from .config import for_processes, load, resolve
from .decomposition import parse_layout
from .diagnostics import DERIVED, diagnose
from .environment import world
from .errors import NumericalError
from .executors import EXECUTORS
from .grid import as_patches, build_grid, build_params, build_state
from .means import Means
from .operators import Patch
from .run import run
from .scheme import scheme_of
from .state import State
from .transport import connect
from .transport.halo import pad


class Simulation:
    """A run of the model. Under mpiexec each process holds one block; alone, the process holds the whole domain.

    Args:
        config: a Config (`swmodel.load`), or the name of a case or file.

    Attributes:
        config: the resolved configuration.
        grid, params: static fields and coefficients of the block, NumPy arrays.
        transport, block: how this process reaches the others, and its part of the grid.
        carry: state, memory of the time stepper and step number, as the executor keeps them.
        step: steps taken.
        dt: time step, s.
        begun: when the construction began, on the clock time.perf_counter.
        compile_seconds, loop_seconds: time spent on compilation and on steps.

    Raises:
        ConfigError: the configuration contradicts itself.
    """

    def __init__(self, config):
        self.begun = time.perf_counter()
        config = load(config) if isinstance(config, str) else config
        place = world()
        if place is not None and place.size > 1:
            config = for_processes(config, place.size)
        self.config = config = resolve(config)
        if config.run.dtype == "float64":
            jax.config.update("jax_enable_x64", True)
        self.scheme = scheme_of(config)
        shape, dtype = (config.grid.ny, config.grid.nx), np.dtype(config.run.dtype)
        layout = parse_layout(config.run.layout, config.run.nproc, *shape, self.scheme.width)
        self.transport = connect(config.run.transport, layout, *shape)
        self.block = self.transport.block
        self.step, self.dt = 0, config.time.dt
        self.loop_seconds = 0.0
        self.grid, self.params = build_grid(config, self.block, dtype), build_params(config, self.block, dtype)
        self._patches = as_patches(self.grid, self.scheme.width)
        self._executor = EXECUTORS[config.run.executor](config, self.transport, self.grid, self.params)
        self.carry = self._executor.start(build_state(config, self.block, dtype))
        self._pad = jax.jit(lambda state: pad(state, self.scheme.width, self.transport.shift))
        self._lowest = jax.jit(_lowest)
        self._padded = None
        begin = time.perf_counter()
        self.carry = self._executor.advance(self.carry, 0)
        self.compile_seconds = time.perf_counter() - begin

    @property
    def time(self) -> float:
        """Model time, s."""
        return self.step * self.dt

    @property
    def state(self) -> State:
        """Thickness and velocities of this process's block, NumPy arrays [y, x]."""
        return jax.tree.map(np.asarray, self.carry.state)

    def advance(self, steps: int) -> None:
        """Compute `steps` time steps."""
        begin = time.perf_counter()
        self.carry = self._executor.advance(self.carry, steps)
        self.loop_seconds += time.perf_counter() - begin
        self.step += steps
        self._padded = None

    def fields(self, names) -> dict[str, np.ndarray]:
        """The fields called `names` (h, u, v, eta, zeta, q, speed) on this process's block, NumPy arrays [y, x].

        Every process must ask for the same ones: vorticity needs the neighbours.
        """
        padded = self.padded()
        return {name: DERIVED[name](padded, self._patches).on(self.block.shape) for name in names}

    def field(self, name: str) -> np.ndarray:
        """The field called `name` on this process's block."""
        return self.fields([name])[name]

    def diagnostics(self) -> dict[str, float]:
        """Mass, energy, potential enstrophy, largest speed, least thickness and CFL number of the whole domain."""
        return diagnose(self.padded(), self._patches, self.config, self.transport)

    def padded(self) -> State:
        """The state with its halo, NumPy arrays in Patches."""
        if self._padded is None:
            start = (-self.scheme.width, -self.scheme.width)
            self._padded = State(*(Patch(np.asarray(field), start) for field in self._pad(self.carry.state)))
        return self._padded

    def means(self, names) -> Means:
        """Running means of the fields called `names`."""
        width = self.scheme.width

        def evaluate(state: State, grid) -> dict:
            padded = State(*(Patch(field, (-width, -width)) for field in pad(state, width, self.transport.shift)))
            return {name: DERIVED[name](padded, as_patches(grid, width)).on(self.block.shape) for name in names}

        return Means(evaluate, self.grid)

    def run(self, directory, progress=None, command_line: str = "") -> None:
        """Run to the configured end, writing into the run folder `directory` (see `run.run`)."""
        run(self, directory, progress, command_line)

    def check(self) -> None:
        """Make sure, on all processes together, that the state is finite and thickness positive.

        Raises:
            NumericalError: it is not; the message says where, when, and what to change.
        """
        lowest, place = self._lowest(self.carry.state)
        if not self.transport.any(not lowest > 0):
            return
        row, column = divmod(int(place), self.block.shape[1])
        here = (self.block.y.start + row) * self.config.grid.nx + self.block.x.start + column
        everywhere = self.config.grid.nx * self.config.grid.ny
        first = int(self.transport.reduce(np.asarray(everywhere if lowest > 0 else here), "min"))
        row, column = divmod(first, self.config.grid.nx)
        raise NumericalError(
            f"the solution blew up before step {self.step} (day {self.time / 86400:.3f}): thickness or velocity is not "
            f"finite or thickness not positive at row {row}, column {column}; "
            f"try a smaller time step (time.dt = {self.dt / 2:.4g} s) or more friction"
        )


def _lowest(state: State):
    """Least thickness, minus infinity where anything is not finite, and the place of that cell in the block."""
    finite = jnp.isfinite(state.h) & jnp.isfinite(state.u) & jnp.isfinite(state.v)
    lowest = jnp.where(finite, state.h, -jnp.inf)
    return lowest.min(), lowest.argmin()
