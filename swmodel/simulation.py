"""A model that runs: state, time and the steps between, on one process or as one of many."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from .config import for_processes, from_toml
from .diagnostics import DERIVED, diagnose
from .domain import domain
from .environment import world
from .executors import EXECUTORS
from .grid import as_patches, build_state
from .health import Health
from .means import Means
from .operators import Patch
from .restart.folder import choose
from .restart.read import read
from .restart.restarts import write_restart
from .results import opened
from .run import run
from .state import State
from .transport.halo import pad
from .transport.mesh import processes


class Simulation:
    """A run of the model. Under mpiexec each process holds one block; alone, the process holds the whole domain.

    Args:
        config: a Config (`swmodel.load`), or the name of a case or file.
        restart: a restart file, of the same grid, precision and time stepping, to go on from; None: the initial state.
        options: of the executor, as `levels` of the native step (`executors.py`); no result depends on them.

    Attributes:
        config: the resolved configuration.
        grid, params: static fields and coefficients on the devices (`domain.Domain`).
        transport, block: how this process reaches the others, and its part of the grid.
        carry: state, memory of the time stepper and step number, as the executor keeps them.
        step: steps taken; `first_step` of them before this object was made.
        dt: time step, s.
        begun: when the construction began, on the clock time.perf_counter.
        compile_seconds, loop_seconds: time spent on compilation and on steps.
        total: number of runs that are computed together.

    Raises:
        ConfigError: the configuration contradicts itself.
        FilesError: the restart file is damaged or does not fit.
    """

    total = 1

    def __init__(self, config, restart=None, **options):
        self.begun = time.perf_counter()
        self.config, self.scheme, self.transport, self.grid, self.params = domain(config)
        config, dtype = self.config, np.dtype(self.config.run.dtype)
        self.block = self.transport.block
        self.dt = config.time.dt
        self.loop_seconds = 0.0
        self._executor = EXECUTORS[config.run.executor](config, self.transport, self.grid, self.params, **options)
        self.restart = None if restart is None else read(restart, config, self.transport)
        if restart is None:
            self.carry = self._executor.start(self.transport.make(lambda block: build_state(config, block, dtype)))
        else:
            self.carry = self._executor.resume(self.restart.carry)
            self.restart = self.restart._replace(carry=None)  # the first step uses it up
        self.step = self.first_step = int(self.carry.step)
        self._pad = self.transport.jit(
            lambda state: pad(state, self.scheme.width, self.transport.shift, self.transport.extent())
        )
        self._padded = None
        begin = time.perf_counter()
        self.carry = self._executor.advance(self.carry, 0)
        self.compile_seconds = time.perf_counter() - begin

    @classmethod
    def from_restart(cls, source) -> Simulation:
        """The simulation in a restart file, or in the newest intact one of a run folder, as the run was configured.

        Raises:
            FilesError: there is no such file, or none that is intact.
        """
        source = Path(source)
        restart, _ = choose(source) if source.is_dir() else choose(source.parent, source)
        config, place = from_toml(restart.configuration), world()
        alone = processes(config.run.devices) if config.run.transport == "sharded" else 1
        return cls(for_processes(config, place.size if place else alone), restart=restart.path)

    def write_restart(self, path) -> None:
        """Write a restart file; called by all processes together.

        Raises:
            FilesError: it could not be written, on all processes.
        """
        write_restart(path, self)

    @property
    def time(self) -> float:
        """Model time, s."""
        return self.step * self.dt

    @property
    def state(self) -> State:
        """Thickness and velocities of this process's block, NumPy arrays [y, x]."""
        return self.get(self.carry.state)

    def get(self, tree):
        """Fields of jitted programs as NumPy arrays of this process's block."""
        return self.transport.get(tree)

    def advance(self, steps: int) -> None:
        """Compute `steps` time steps."""
        begin = time.perf_counter()
        self.carry = self._executor.advance(self.carry, steps)
        self.loop_seconds += time.perf_counter() - begin
        self.step += steps
        self._padded = None

    def fields(self, names) -> dict[str, np.ndarray]:
        """The fields called `names` (h, u, v, eta, sea_level, zeta, q, speed), NumPy arrays [y, x] of this process.

        Every process must ask for the same ones: vorticity needs the neighbours.
        """
        blocks, physics = self.blocks(), self.config.physics
        return self.transport.join(
            [{name: DERIVED[name](*fields, physics).on(shape) for name in names} for *fields, shape in blocks]
        )

    def field(self, name: str) -> np.ndarray:
        """The field called `name` on this process's block."""
        return self.fields([name])[name]

    def diagnostics(self) -> dict[str, float]:
        """Mass, energy, potential enstrophy, largest speed, least thickness and CFL number of the whole domain."""
        return diagnose(self.blocks(), self.config, self.transport)

    def blocks(self) -> list[tuple]:
        """State with its halo and Grid, NumPy arrays in Patches, and the shape of each block of this process."""
        if self._padded is None:
            self._padded = self.transport.pieces(self._pad(self.carry.state), self.scheme.width)
        width, grids = self.scheme.width, self.transport.pieces(self.grid, self.scheme.width + 1)
        return [
            (State(*(Patch(field, (-width, -width)) for field in state)), as_patches(grid, width), block.shape)
            for state, grid, block in zip(self._padded, grids, self.transport.blocks, strict=True)
        ]

    def means(self, names) -> Means:
        """Running means of the fields called `names`."""
        width, physics, shape = self.scheme.width, self.config.physics, self.transport.shape

        def evaluate(state: State, grid) -> dict:
            padded = pad(state, width, self.transport.shift, self.transport.extent())
            patches = State(*(Patch(field, (-width, -width)) for field in padded))
            return {name: DERIVED[name](patches, as_patches(grid, width), physics).on(shape) for name in names}

        return Means(evaluate, self.transport, self.grid)

    def health(self, directory=None) -> Health:
        """The Health of this run, for the time loop; `directory` is where a blow-up leaves its state."""
        return Health(self, directory)

    def results(self, directory, command_line: str = "", resume: bool = False):
        """A context with the Results of this run, for the time loop (see `results.opened`)."""
        return opened(self, directory, command_line, resume)

    def run(self, directory, progress=None, command_line: str = "", resume: bool = False) -> None:
        """Run to the configured end, writing into the run folder `directory` (see `run.run`)."""
        run(self, directory, progress, command_line, resume)
