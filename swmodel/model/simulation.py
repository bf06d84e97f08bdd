"""A model that runs: state, time and the steps between, on one process or as one of many."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ..config import Case
from ..config.loading.load import Source
from ..errors import UsageError
from ..executors.registry import EXECUTORS, Executor
from ..files.restart.read import Loaded, read
from ..files.restart.restarts import write_restart
from ..ocean.derived import POTENTIALS
from ..ocean.elliptic import require_rectangle
from ..ocean.evaluation import known
from ..ocean.state import Carry, State
from ..setup.fields.field import Field
from . import change
from .accumulators import NO_ACCUMULATORS, Accumulators, Mean
from .arguments import Fields, Overrides, Place, Progress, Terms, as_restarted, configured, steps_for
from .calls import Calls
from .dataset import dataset, drawn
from .domain import domain
from .forcing import Forcing
from .health import Health, unusable
from .present import Present
from .progress import reporter
from .results import Results, opened
from .run import Model, take_and_run

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

#: Calls of `advance(1)` on one process before it looks at the state, which takes about as long as a step.
LOOK_EVERY = 50


class Simulation(Model):
    """A run of the model. Under mpiexec each process holds one block; alone, the process holds the whole domain.

    What is computed follows from the configuration, so attributes cannot be set; for the state, `state` and `carry`
    can, and `set` sets its fields. Whatever uses the state raises NumericalError, once, if the solution has blown up.

    Args:
        config: a case, as class or object; the name of a case, or of a file with one or with a configuration; or a
            Config (`swmodel.load`).
        overrides: {"grid.nx": 128, ...}: what differs from it.
        restart: a restart file, of the same grid, precision and time stepping, to go on from; None: the initial state.
        fields: {"eta": ...}: functions of the points, numbers, arrays [ny, nx] or DataArrays in place of fields that
            the case or a file has, and of those that terms ask for; the same on all processes, or `local`.
        terms: functions of (state, grid, t, ...) to {"u": tendency, ...}, in Patches; or Terms.
        options: of the executor, as `steps_per_sweep` of `executors/native`; no result depends on them.

    Attributes:
        setup, config: what is computed; the resolved configuration.
        grid, params: static fields and coefficients on the devices (`domain.Domain`).
        transport, block: how this process reaches the others, and its part of the grid.
        carry: state, memory of the stepper and step number; another may be set; the next step donates it.
        step: steps taken; `first_step` of them before this object was made.
        dt: time step, s.
        begun, compile_seconds, loop_seconds: the start, by time.perf_counter; time spent on compilation and on steps.

    Raises:
        UsageError: `config` is none of these, or a term cannot be traced.
        ConfigError: the configuration contradicts itself, or a field or a term cannot be used.
        SetupError: there are not as many processes or devices as the configuration says, or they have other fields.
        FilesError: the restart file is damaged or does not fit.
    """

    _complete = False
    _carry: Carry

    def __init__(
        self,
        config: Source,
        overrides: Overrides = (),
        restart: Place | None = None,
        fields: Fields = None,
        terms: Terms = (),
        **options: Any,
    ) -> None:
        self.begun = time.perf_counter()
        parts = domain(lambda: configured(config, overrides, fields, terms, restart))
        self.setup, self.transport, self.grid, self._params = parts
        self.config, self.scheme, self.dt = parts.config, parts.scheme, parts.setup.dt
        self._forcing = Forcing(self.setup, self.transport)
        self.block, self._unseen = self.transport.block, 0
        self._calls, self._present = Calls(self.config.python.calls), Present(self)
        self._executor: Executor = EXECUTORS[self.config.run.executor](*parts, **options)
        self.restart: Loaded | None = None
        if restart is None:
            self.carry = self._executor.start(self.transport.make(self.setup.state))
        else:
            found = read(restart, self.setup, self.transport)
            self.carry = self._executor.resume(found.carry)
            self.restart = found._replace(carry=None)  # the first step uses it up
        self.first_step = self.step
        if not self._forcing.holds(self.step):
            self._exchange()
        begin = time.perf_counter()
        self._carry = self._executor.advance(self._carry, 0)
        self.compile_seconds = time.perf_counter() - begin
        self._complete = True

    def __setattr__(self, name: str, value: Any) -> None:
        if self._complete and name not in ("carry", "state") and not name.startswith("_"):
            if not hasattr(self, name):
                raise UsageError(f"Simulation has no attribute {name} that could be set; `state` and `carry` can be")
            raise UsageError(
                f"Simulation.{name} cannot be set: what is computed follows from the configuration; make a Simulation "
                'of another, as Simulation("jet", {"physics.viscosity": 200}); `state` and `carry` can be set'
            )
        super().__setattr__(name, value)

    @classmethod
    def from_restart(
        cls,
        source: Place,
        overrides: Overrides = (),
        case: type[Case] | None = None,
        terms: Terms = (),
        fields: Fields = None,
    ) -> Simulation:
        """The simulation in a restart file, or in the newest intact one of a run folder, as the run was configured.

        Also called `resume`: `Simulation.resume(folder).run(folder)` goes on with a run. The file holds the fields from
        Python, and a user's own case, which is executed.

        Args:
            overrides: {"run.days": 20, ...}: what differs from that.
            case: the class of the case, where it came from Python and has terms or fields that vary in time.
            terms: those that came from Python.
            fields: those from Python that vary in time.

        FilesError: there is no such file, or none that is intact. ConfigError: the case, a term or a field is not in
        it.
        """
        config, path = as_restarted(source, overrides, case, terms, fields)
        return cls(config, restart=path)

    resume = from_restart

    def write_restart(self, path: Place) -> None:
        """Write a restart file; called by all processes together. FilesError: it could not be written."""
        self._look()
        write_restart(path, self, self._calls.recorded(self.config), {})

    @property
    def params(self) -> dict:
        """Coefficients on the devices; of those that vary in time what `ocean.records` says, as it holds now."""
        return self._params

    @property
    def carry(self) -> Carry:
        """State, memory of the time stepper and step number, as the executor keeps them."""
        self._look()
        return self._carry

    @carry.setter
    def carry(self, carry: Carry) -> None:
        if self._complete:
            change.require_alike(carry, self._carry)
        self._carry, self._step = carry, int(carry.step)
        self._present.forget()

    @property
    def state(self) -> State:
        """Thickness and velocities of this process's block, NumPy arrays [y, x] that cannot be written.

        Another State may be set: its values are finite, and its thickness is above 0 m on water (UsageError).
        """
        state = jax.tree.map(lambda field: field.view(), self.get(self.carry.state))
        for field in state:
            field.flags.writeable = False
        return state

    @state.setter
    def state(self, state: State) -> None:
        self.carry = change.carry_with(self, self._executor, change.as_state(self, state))

    def set(self, **fields: Field) -> None:
        """Set initial fields, as eta, u, v, to what may be given as `fields`; called by all processes together.

        The others stay; where eta changes, so does the thickness on water. The time stepper keeps its memory, except
        before the first step. ConfigError: there is no such field that changes, or it cannot be used; nothing has
        changed then. SetupError: it is another one on some process.
        """
        self.carry = change.carry_with(self, self._executor, change.state_with(self, fields))

    def get(self, tree: Any) -> Any:
        """Fields of jitted programs as NumPy arrays of this process's block."""
        return self.transport.get(tree)

    def _advance(self, steps: int, accumulators: Accumulators = NO_ACCUMULATORS) -> None:
        self._carry = accumulators.advance(self._executor, self._carry, steps)
        self._present.forget()

    def _exchange(self) -> None:
        self._params |= self._forcing.take(self._step)
        self._executor.exchange(self._params, self._forcing.of)

    def every(self, interval: float | str, function: Callable[[Simulation], object]) -> None:
        """Have function(model) called after each interval of model time, by all processes together.

        Its times are multiples of the interval since the start of the run, whatever steps are asked for, and not the
        start itself; where it falls between two steps, the second. What the function sets goes on. A run records names
        and intervals: a model that goes on with it needs the same functions, in the same order, before its first step.

        UsageError: the interval is not one as "6 h", a number of seconds or "10 steps", or is shorter than a time step.
        """
        self._calls.add(interval, function, self.dt)

    def advance(self, steps: int | None = None, days: float | None = None, until: float | str | None = None) -> None:
        """Compute time steps, also beyond the end of the configuration; called by all processes together.

        One of three says how many: those of so many `days` from here, rounded, or up to the model time `until`.
        Functions of `every` are called on the way. The state is looked at in the end; where one process takes steps
        one by one, after LOOK_EVERY of them and when it is asked for. (Of several processes any may ask by itself.)

        Args:
            steps: a whole number, at least 0.
            until: "10 days", or seconds, since the start of the run; the first step at which it is reached.

        Raises:
            UsageError: these are no such numbers, the time has passed, or a function of the run is missing.
            SetupError: the processes have other functions to call.
            NumericalError: the solution blew up; raised once, so that the state can be examined then.
            Stopped: a function that was to be called has failed; the model can go on.
        """
        for stop in self._calls.stops(self, self._step + steps_for(self, steps, days, until)):
            some = stop - self._step
            self.take_steps(some)
            self._unseen += some
            if some > 1 or self._unseen >= LOOK_EVERY or self.transport.size > 1:
                self._look()

    def _look(self) -> None:
        """Raise NumericalError if the steps since the last look have made the state unusable; by all together."""
        unseen, self._unseen = self._unseen, 0
        if unseen and self.get(unusable(self._carry.state, self.grid.wet, self.scheme.margin, self.transport)):
            self.health()  # which says where, and raises

    def fields(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        """The fields called `names`, of `ocean.table.WRITABLE` or FORCING, NumPy arrays [y, x] of this process.

        All processes give the same names. UsageError: there is no such field, or none in a sea with land.
        """
        return self._present.fields(names)

    def field(self, name: str) -> np.ndarray:
        """The field called `name` on this process's block."""
        return self.fields([name])[name]

    def dataset(self, names: str | Iterable[str] | None = None) -> Dataset:
        """The present state as an xarray.Dataset: this process's part of fields, with coordinates, units and CF names.

        All processes give the same names, of fields that a run may write or that stay the same (`depth`, ...); None:
        those of `output.fields`. Points on land are NaN. UsageError: there is no such field.
        """
        return dataset(self, names)

    def plot(self, *fields: str, **how: Any) -> Figure:
        """Draw maps of the present state, and return the matplotlib Figure, which a notebook shows.

            model.plot("zeta", "eta")
            model.plot("speed", arrows=True, vmax=1.0).savefig("speed.png")

        Args:
            fields: names, as for `field`; without any, relative vorticity and sea level, or others if these are zero.
            how: vmin, vmax, range, arrows and contours of `swmodel.plot`.

        UsageError: there is no such field, or the domain is divided among processes: each has a part only.
        """
        return drawn(self, fields, how)

    def diagnostics(self) -> dict[str, float]:
        """The numbers of the whole domain: `ocean.diagnostics.quantities` (mass, energy, ...), SI units."""
        return self._present.diagnostics()

    def balanced(self) -> dict[str, np.ndarray]:
        """eta, u and v of this process that potential vorticity alone determines: see `ocean.elliptic`; float64.

        What else there is, is gravity waves, and currents with neither vorticity nor divergence. UsageError: there is
        land, beta, no rotation or an uneven depth, or there are more blocks than lines.
        """
        return self._present.balanced()

    def spectra(self) -> dict[str, np.ndarray]:
        """The spectra of the whole domain: see `ocean.spectra.measure`. UsageError: land, or more blocks than lines."""
        return self._present.spectra()

    def means(self, names: Iterable[str]) -> Mean:
        """Running means of fields. UsageError: there is no such field, or none in a sea with land."""
        names = known(names, self.scheme)
        if set(names) & set(POTENTIALS):
            require_rectangle("stream function and velocity potential are", self._present.blocks(), self.transport)
        return Mean(self, names)

    def health(self, directory: Place | None = None) -> Health:
        return Health(self, directory)

    def results(
        self, directory: Place, command_line: str = "", resume: bool = False
    ) -> AbstractContextManager[Results]:
        return opened(self, directory, command_line, resume)

    def run(self, directory: Place, progress: Progress = None, force: bool = False) -> None:
        """Run from the present step to the configured end, into a run folder; called by all processes together.

        A folder that holds something is refused, as by `swmodel run`, also if it was this Simulation that filled it.
        But a Simulation from a restart file of the folder, not advanced since, goes on with the run there, as `swmodel
        resume` does: records are added, and those behind the restart file dropped first. Where that run is at its end
        already, nothing is done. Into another folder its records begin at the present step.

        Args:
            directory: the run folder, made if need be.
            progress: True for a bar; or a function that rank 0 calls after each chunk of steps with a `run.event`.
            force: replace what is already in the folder; a run that goes on replaces nothing.

        Raises:
            UsageError: the folder is not empty, the present step beyond the end, or a function of `every` is missing.
            ConfigError: the run in the folder, which would go on, has another configuration.
            FilesError: another run is at work in the folder, or a file cannot be written.
            NumericalError: the solution blew up.
            Stopped: a signal, the wall-clock limit or a failed function of `every` ended the run, which can be resumed.
        """
        with reporter(quiet=progress is not True or self.transport.rank > 0) as report:
            take_and_run(self, directory, report if progress is True else progress, force, self._calls)
