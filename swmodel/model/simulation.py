"""The class Simulation: state, time and steps of a model, on one or several processes."""

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
from ..files.restart.read import LoadedRestart, read
from ..files.restart.restarts import write_restart
from ..ocean.derived import POTENTIALS
from ..ocean.elliptic import require_rectangle
from ..ocean.evaluation import require_fields
from ..ocean.state import Carry, State
from ..setup.fields.python_fields import Field
from . import change
from .accumulators import NO_ACCUMULATORS, Accumulators, MeanAccumulator
from .arguments import Fields, Overrides, PathLike, Progress, Terms, build_config, config_of_restart, count_steps
from .calls import ScheduledCalls
from .dataset import dataset, plot_fields
from .domain import make_domain
from .health import Health, count_unusable_cells
from .present import PresentState
from .progress import make_reporter
from .results import Results, open_results
from .run import TimeLoopModel, run_in_folder
from .substeps import ONE_SUBSTEP, SubstepChooser, rescale_memory
from .varying_params import VaryingParams

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

#: Number of `advance(1)` calls on one process between checks of the state; a check takes about as long as a step.
CHECK_EVERY_STEPS = 50


class Simulation(TimeLoopModel):
    """A run of the model. Under mpiexec each process holds a part of the domain, `block`; a single process holds all.

    Only the state can be set, by `state`, `carry` and `set`; all other attributes follow from the configuration.
    Methods that use the state raise NumericalError, once, if the solution has blown up.

    Args:
        config: a case (class or object), the name of a case or file, or a Config (`swmodel.load`).
        overrides: {"grid.nx": 128, ...} replaces values of the configuration.
        restart: a restart file with the same grid, precision and time stepping; None: the initial state.
        fields: fields by name, such as "eta": functions of position, numbers, arrays [ny, nx] or DataArrays. They
            replace those of the case or of files, and provide the fields that terms read. They must be the same on all
            processes, unless `swmodel.local` marks them as the part of one process.
        terms: functions (state, grid, t, ...) -> {"u": tendency, ...} that compute with Patches; Terms; or Parametric.
        options: options of the executor, such as `steps_per_sweep` of `executors/native`; they do not change results.

    Attributes:
        setup, config: the Setup and the resolved configuration.
        grid, params: static fields and coefficients on the devices (`domain.Domain`).
        transport, block: the connection to other processes, and this process's part of the grid.
        carry: state, memory of the stepper and step number; can be set. The next step may reuse its memory.
        step: number of steps, of which `first_step` were taken before this object was created.
        dt: time step, s.
        construction_start_time: start of the construction, by time.perf_counter.
        compile_seconds, loop_seconds: time spent on compilation and on steps, s.

    Raises:
        UsageError: `config` has another type, or a term cannot be traced.
        ConfigError: the configuration contradicts itself, or a field or a term cannot be used.
        SetupError: the number of processes or devices is not the configured one, or fields differ between processes.
        FilesError: the restart file is damaged or does not fit.
    """

    _is_complete = False
    _carry: Carry

    def __init__(
        self,
        config: Source,
        overrides: Overrides = (),
        restart: PathLike | None = None,
        fields: Fields = None,
        terms: Terms = (),
        **options: Any,
    ) -> None:
        self.construction_start_time = time.perf_counter()
        domain = make_domain(lambda: build_config(config, overrides, fields, terms, restart))
        self.setup, self.transport, self.grid, self._params = domain
        self.config, self.scheme, self.dt = domain.config, domain.scheme, domain.setup.dt
        self._forcing = VaryingParams(self.setup, self.transport)
        self.block, self._unchecked_steps = self.transport.block, 0
        self._calls, self._present = ScheduledCalls(self.config.python.calls), PresentState(self)
        self._executor: Executor = EXECUTORS[self.config.run.executor](*domain, **options)
        self.restart: LoadedRestart | None = None
        if restart is None:
            self.carry = self._executor.start(self.transport.make_arrays(self.setup.state))
        else:
            loaded = read(restart, self.setup, self.transport)
            self.carry = self._executor.resume(loaded.carry)
            self.restart = loaded._replace(carry=None)  # because the first step may reuse its memory
        self.first_step = self.step
        if not self._forcing.is_valid_at(self.step):
            self._load_coefficients()
        if self.config.time.max_substeps > 1:
            self._substep_chooser = SubstepChooser(self, self.restart.substeps if self.restart else 1)
            self._substep_chooser.apply_to_executor(self._executor, self._forcing)
        start_time = time.perf_counter()
        self._carry = self._executor.advance(self._carry, 0)
        self.compile_seconds = time.perf_counter() - start_time
        self._is_complete = True

    def __setattr__(self, name: str, value: Any) -> None:
        if self._is_complete and name not in ("carry", "state") and not name.startswith("_"):
            if not hasattr(self, name):
                raise UsageError(f"Simulation.{name}: no such attribute; only `state` and `carry` can be set")
            raise UsageError(
                f"Simulation.{name} cannot be set, because it follows from the configuration; create a new object, "
                'such as Simulation("jet", {"physics.viscosity": 200}); only `state` and `carry` can be set'
            )
        super().__setattr__(name, value)

    @classmethod
    def from_restart(
        cls,
        source: PathLike,
        overrides: Overrides = (),
        case: type[Case] | None = None,
        terms: Terms = (),
        fields: Fields = None,
    ) -> Simulation:
        """The simulation in a restart file, or in the newest intact one of a run folder, with its configuration.

        `resume` is another name for it: `Simulation.resume(folder).run(folder)` continues a run. The file contains the
        fields from Python and a user-defined case, whose code is executed.

        Args:
            overrides: {"run.days": 20, ...} replaces values of the configuration.
            case: the class of a case from Python, needed if it has terms, or fields that vary in time.
            terms: the terms from Python.
            fields: the fields from Python that vary in time.

        FilesError: no intact restart file exists, or a field that varies in time is missing. ConfigError: the case or a
        term is missing.
        """
        config, path = config_of_restart(source, overrides, case, terms, fields)
        return cls(config, restart=path)

    resume = from_restart

    def write_restart(self, path: PathLike) -> None:
        """Write a restart file; all processes call it together. FilesError: it could not be written."""
        self._require_usable_state()
        write_restart(path, self, self._calls.config_with_calls(self.config), {})

    @property
    def params(self) -> dict:
        """Coefficients on the devices; of those that vary in time, the present records (`ocean.records`)."""
        return self._params

    @property
    def carry(self) -> Carry:
        """State, memory of the time stepper and step number, in the form of the executor."""
        self._require_usable_state()
        return self._carry

    @carry.setter
    def carry(self, carry: Carry) -> None:
        if self._is_complete:
            change.require_same_shapes(carry, self._carry)
        self._carry, self._step = carry, int(carry.step)
        self._present.clear()

    @property
    def state(self) -> State:
        """The State of this process's block, read-only NumPy arrays [y, x].

        It can be set. UsageError: fields, shapes or precision are not those of the run, values are not finite, or
        thickness on water is not above 0 m (with drying: is below 0 m).
        """
        state = jax.tree.map(lambda field: field.view(), self.get(self.carry.state))
        for field in state:
            field.flags.writeable = False
        return state

    @state.setter
    def state(self, state: State) -> None:
        self.carry = change.carry_with_state(self, self._executor, change.state_from_arrays(self, state))

    def set(self, **fields: Field) -> None:
        """Set eta, u, v or concentrations of tracers, in any form of `fields`; all processes call it together.

        Where eta changes, so does the thickness on water, h = depth + eta; concentrations do not change. The steppers
        `ab2` and `ab3` keep their old tendencies, except before the first step. Earlier states in the memory of
        `leapfrog` and `gfb` change by as much as the present one.

        ConfigError: the run has no such field, the field is constant during a run, or its values cannot be used; the
        state does not change. SetupError: a field differs between processes.
        """
        self.carry = change.carry_with_state(self, self._executor, change.state_with_fields(self, fields))

    def get(self, tree: Any) -> Any:
        """Fields on the devices as NumPy arrays of this process's block."""
        return self.transport.get(tree)

    def _advance(self, steps: int, accumulators: Accumulators = NO_ACCUMULATORS) -> None:
        self._carry = accumulators.advance(self._executor, self._carry, steps)
        self._present.clear()

    def _load_coefficients(self) -> None:
        if not self._forcing.is_valid_at(self._step):
            self._params |= self._forcing.load(self._step)
        if self._substep_chooser is ONE_SUBSTEP:
            self._executor.replace_params(self._params, self._forcing.params_of_block)
            return
        if not self._substep_chooser.is_valid_at(self._step):
            self._carry = rescale_memory(self._carry, self._substep_chooser.choose())
        self._substep_chooser.apply_to_executor(self._executor, self._forcing)

    def renew_forcing(self) -> None:
        """Evaluate fields that vary in time again before the next step; needed if their functions have changed."""
        self._forcing.clear()

    def every(self, interval: float | str, function: Callable[[Simulation], object]) -> None:
        """Call function(model) after each interval of model time; all processes call it together.

        The function is called at multiples of the interval since the start of the run, but not at the start itself; if
        such a time lies between two steps, it is called after the second. At a step the model writes records, calls the
        functions and then writes the restart file, which thus contains what a function has set. A run records the names
        and intervals of its functions, and a model that continues the run needs the same ones before its first step.

        UsageError: the interval is not of the form "6 h", "10 steps" or seconds, or is shorter than a time step; or the
        function cannot be called.
        """
        self._calls.add(interval, function, self.dt)

    def advance(self, steps: int | None = None, days: float | None = None, until: float | str | None = None) -> None:
        """Compute time steps, even beyond the configured end of the run; all processes call it together.

        Give one of the three arguments. Functions of `every` are called on the way. The health of the state is checked
        at the end and before these calls. After a single step on one process it is checked only every CHECK_EVERY_STEPS
        steps and when the state is accessed.

        Args:
            steps: a whole number, at least 0.
            days: model days from the present time, rounded to whole steps.
            until: model time since the start of the run, as "10 days" or in s; the last step is the first to reach it.

        Raises:
            UsageError: an argument is invalid, `until` has passed, or a function that the run needs is missing.
            SetupError: functions of `every` differ between processes.
            NumericalError: the solution blew up; raised once, so that the state can be examined afterwards.
            Stopped: a function of `every` failed; the model can continue.
        """
        for stop_step in self._calls.stop_steps(self, self._step + count_steps(self, steps, days, until)):
            n_steps = stop_step - self._step
            self.take_steps(n_steps)
            self._unchecked_steps += n_steps
            if n_steps > 1 or self._unchecked_steps >= CHECK_EVERY_STEPS or self.transport.size > 1:
                self._require_usable_state()

    def _require_usable_state(self) -> None:
        """Raise NumericalError if the state is unusable; all processes call it together."""
        n_unchecked, self._unchecked_steps = self._unchecked_steps, 0
        if not n_unchecked:
            return
        if self.get(count_unusable_cells(self._carry.state, self.grid.wet, self.scheme, self.transport)):
            self.health()  # raises an error that names the cell

    def fields(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        """The fields `names`, NumPy arrays [y, x] of this process: `ocean.table.OUTPUT_FIELDS`, tracers or FORCING.

        All processes give the same names. UsageError: a field does not exist, or needs a plane without land and open
        boundaries.
        """
        return self._present.fields(names)

    def field(self, name: str) -> np.ndarray:
        """The field `name` on this process's block, [y, x]; see `fields`."""
        return self.fields([name])[name]

    def dataset(self, names: str | Iterable[str] | None = None) -> Dataset:
        """The present state as an xarray.Dataset: this process's part of fields, with coordinates, units and CF names.

        All processes give the same names, as for `fields` or of constant fields (`depth`, ...); None: `output.fields`.
        Points on land are NaN, except in `mask`, `f`, `cell_area` and coordinates. UsageError: as for `fields`.
        """
        return dataset(self, names)

    def plot(self, *fields: str, **options: Any) -> Figure:
        """Draw maps of the present state and return the matplotlib Figure, which a notebook displays.

            model.plot("zeta", "eta")
            model.plot("speed", arrows=True, vmax=1.0).savefig("speed.png")

        Args:
            fields: names, as for `field`; by default relative vorticity and sea level, or others if these are zero.
            options: vmin, vmax, range, arrows and contours of `swmodel.plot`.

        UsageError: there is no such field, or the domain is divided among several processes. PlotError: an option is
        invalid.
        """
        return plot_fields(self, fields, options)

    def diagnostics(self) -> dict[str, float]:
        """Integrals and extremes of the whole domain, SI units: `ocean.diagnostics.diagnostics_of_run`."""
        return self._present.diagnostics()

    def balanced(self) -> dict[str, np.ndarray]:
        """eta, u and v that balance the potential vorticity (`ocean.elliptic`), on this process's part, float64.

        The rest of the state consists of gravity waves, and of currents with neither vorticity nor divergence.
        UsageError: the run is on a sphere, or has land, open boundaries, beta, no rotation, variable depth, or more
        blocks than lines of a transform.
        """
        return self._present.balanced()

    def spectra(self) -> dict[str, np.ndarray]:
        """The spectra of the whole domain: `ocean.spectra.compute_spectra`.

        UsageError: the run is on a sphere, or has land, open boundaries or too many blocks.
        """
        return self._present.spectra()

    def means(self, names: Iterable[str]) -> MeanAccumulator:
        """Running means of fields from the state, none of FORCING. UsageError: as for `fields`."""
        names = require_fields(names, self.scheme)
        if set(names) & set(POTENTIALS):
            require_rectangle("stream function and velocity potential are", self._present.blocks(), self.transport)
        return MeanAccumulator(self, names)

    def health(self, directory: PathLike | None = None) -> Health:
        return Health(self, directory)

    def results(
        self, directory: PathLike, command_line: str = "", resume: bool = False
    ) -> AbstractContextManager[Results]:
        return open_results(self, directory, command_line, resume)

    def run(self, directory: PathLike, progress: Progress = None, force: bool = False) -> None:
        """Run from the present step to the configured end, into a run folder; all processes call it together.

        Records start at the present step. But a Simulation that was created from a restart file of the folder, and has
        not been advanced, continues the run there: it removes later records and appends new ones, or only logs a
        message if the run is already at its end.

        Args:
            directory: the run folder, created if missing.
            progress: True for a bar on a terminal, and for lines of text elsewhere; or a function that rank 0 calls
                with a `run.progress_event` at the start and after each chunk of steps.
            force: whether to write into a folder that is not empty; files of an earlier run are removed, others stay.

        Raises:
            UsageError: the folder is not empty, the step is beyond the end, a function of `every` is missing, or
                `force` is given for the run that this Simulation continues.
            ConfigError: the run has no length, or the run in the folder has another configuration.
            SetupError: functions of `every` differ between processes.
            FilesError: another run uses the folder, or a file cannot be written.
            NumericalError: the solution blew up.
            Stopped: a signal, the wall-clock limit or a failed function of `every` ended the run, which can be resumed.
        """
        with make_reporter(quiet=progress is not True or self.transport.rank > 0) as report:
            run_in_folder(self, directory, report if progress is True else progress, force, self._calls)
