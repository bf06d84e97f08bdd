"""The bound on the energy of runs, the verdict on their states, and what the user is told.

Energy: let e be the kinetic and available potential energy per area and density (m3 s-2). Wind stress tau does no more
work than tau |u|, a force per mass F no more than h F |u|, so d sqrt(e)/dt <= w = (max tau / density) / sqrt(2 min h) +
F sqrt(max h / 2). Waves from outside bring no more than p per area through open sides
(`config.checks.outside.power`), by all records since the last look, and through a sponge that relaxes to what is given
there (`relaxation`). Everything else only takes energy away.
So sqrt(e) never exceeds the r that follows from the least energy since the start by
r <- min(sqrt(r² + p dt) + w dt, sqrt(e)). More than RUNAWAY times r² comes from an instability, in spin-up from rest as
well.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ...config import Config
from ...config.checks.extremes import Extremes, survey
from ...config.checks.outside import power
from ...config.checks.stability import largest_dt
from ...errors import FilesError, NumericalError
from ...files.gather import of_member
from ...files.output import Output
from ...files.restart.folder import candidates
from ...files.run_folder import BLOWUP
from ...ocean.diagnostics import per_length
from ...ocean.state import State
from ...ocean.table import VARIABLES, WRITABLE
from ...parallel.transport import of_all_members
from .measures import RATES, Measures, Static, make_measure
from .one import Forces, One, blocks_of

log = logging.getLogger(__name__)

#: Growth of energy that is left to discretisation and round-off. An instability is past it within tens of steps.
RUNAWAY = 10.0
#: Sea level over depth whose energy counts as none: round-off of a state of rest is far below.
REST = 1e-4
#: Part of the largest stable time step that is recommended.
SAFETY = 0.8


class Runs(Protocol):
    """The runs of a model as Health looks at them: one, or the members of an ensemble.

    Attributes:
        domain: scheme, transport, grid and params of the fields of a run.
        config: of a run.
        params: coefficients by name, those that ask for the smallest time step.
        remedy: what helps besides a smaller time step, in words.
        remedy_at_start: what helps where the state at the start cannot be used.
    """

    domain: Any
    config: Config
    params: dict
    remedy: str
    remedy_at_start: str

    def forces(self) -> Forces:
        """The largest Forces so far on this process's part of its runs."""

    def compile(self, make: Callable, *parts) -> Callable:
        """The function make(*parts) of State and Static on a block, jitted; to be given to `measure`."""

    def measure(self, program: Callable, static: Static) -> np.ndarray:
        """What the program finds in the blocks of this process, [runs here, blocks, Measures]."""


class Health:
    """The health of a run, or of all members of an ensemble: `check` between chunks of steps.

    One jitted pass over the states and a few small messages; all ranks reach the same verdict. Numbers that belong to a
    run are arrays [runs].

    Args:
        model: as the time loop has it (`run.Model`).
        directory: the run folder, for blowup.nc; None: a blow-up leaves no file.
        view: function of the model that gives its Runs.

    Raises:
        NumericalError: the state that the model has now is not finite or without thickness somewhere.
    """

    def __init__(self, model, directory=None, view: Callable[[Any], Runs] = One):
        self.model, self.directory, self.runs = model, directory, view(model)
        domain, self.transport = self.runs.domain, model.transport
        self.config = self.runs.config
        grids = [(grid, shape) for grid, _, shape in blocks_of(domain)]
        depth = max(np.abs(grid.depth.on(shape)).max() for grid, shape in grids)
        scale = max(per_length(grid, shape, grid.wet.on(shape) > 0) for grid, shape in grids)
        depth, self.scale = domain.transport.reduce(np.array([depth, scale], np.float64), "max")
        area = sum(np.broadcast_to((grid.area.centre * grid.wet).on(s), s).sum(dtype=np.float64) for grid, s in grids)
        self.area = float(domain.transport.reduce(np.asarray(area), "sum")) or 1.0
        self.find_forces(model.step, model.step)
        self.rest = math.sqrt(0.5 * self.config.physics.gravity) * REST * float(depth)
        self.static = Static(domain.grid, self.runs.params)
        parts = self.config.physics.gravity, domain.scheme.acting, domain.scheme.width + 1, domain.transport
        self._measure = self.runs.compile(make_measure, *parts)
        self.last, self.step, self.time = self.look(), model.step, model.time
        if (bad := ~(self.last.low < 0)).any():
            self.refuse(bad)
        self.root = np.maximum(self.rest, np.sqrt(np.maximum(0.0, self.last.energy)))
        self.stable = (0.0,) * len(RATES)  # with which the time step is known to be stable
        self.warned = False

    def check(self) -> None:
        """Look at the states; called by all processes together. Warns once if the time step is above the stable one.

        Raises:
            NumericalError: a solution blew up; the message says where, when, and what to change.
        """
        now = self.look()
        broken = ~(now.low < 0)
        least = np.where(broken, 1.0, np.minimum(-now.low, -self.last.low))
        thickest = np.where(broken, 0.0, np.maximum(now.high, 0.0))
        bound = np.full_like(self.root, np.inf)
        if self.runs.domain.scheme.varying:
            self.find_forces(self.step, self.model.step)
        if np.isfinite(self.acceleration):  # else nobody knows what terms of the user's own may add
            push = self.wind / np.sqrt(2 * least) + self.acceleration * np.sqrt(thickest / 2)
            passed = self.model.time - self.time
            bound = np.sqrt(self.root**2 + self.power * passed) + push * passed
        runaway = ~(now.energy <= RUNAWAY * bound**2)
        if (broken | runaway).any():
            with np.errstate(all="ignore"):
                self.fail(broken, broken | runaway, now.energy / bound**2)
        self.root = np.maximum(self.rest, np.minimum(bound, np.sqrt(now.energy)))
        self.last, self.step, self.time = now, self.model.step, self.model.time
        if not self.warned:
            self.check_time_step()

    def find_forces(self, first: int, last: int) -> None:
        """Find the largest forces so far, and what the water outside brings in the steps from `first` to `last`.

        `wind` is the stress over the density, m2 s-2 [runs], `acceleration` that by other forces, m s-2, and `power`
        that of the water outside per area, over density, m3 s-3.
        """
        found, among = self.runs.forces(), self.runs.domain.transport
        self.wind = of_all_members(self.transport, found.stress, "max", -np.inf) / self.config.physics.density
        self.acceleration = float(self.transport.reduce(np.asarray(found.acceleration, np.float64), "max"))
        relaxed = float(among.reduce(np.asarray(found.relaxation, np.float64), "sum"))
        self.power = (power(self.config, first, last) + relaxed) / self.area

    def wet(self) -> np.ndarray:
        """1 on water and 0 on land, NumPy array [y, x] of this process's part."""
        domain = self.runs.domain
        wet = [np.broadcast_to(grid.wet.on(shape), shape) for grid, _, shape in blocks_of(domain)]
        return domain.transport.join(wet)

    def look(self) -> Measures:
        """The Measures of the whole domain, arrays [runs]; the energy per area."""
        found = self.runs.measure(self._measure, self.static).astype(np.float64)
        worst = np.nan_to_num(found[..., :-1], nan=np.inf, posinf=np.inf, neginf=-np.inf).max(axis=1)
        largest = of_all_members(self.transport, worst, "max", -np.inf)
        energy = self.transport.broadcast(of_all_members(self.transport, found[..., -1].sum(axis=1)))
        return Measures(*largest.T, energy / self.area)

    def check_time_step(self) -> None:
        """Warn if the time step is above the largest one that is stable now."""
        rates, dt = [getattr(self.last, name).max() for name in RATES], self.config.time.dt
        if all(now <= before for now, before in zip(rates, self.stable, strict=True)):
            return
        for margin in (1.05, 1.0):  # finding the limit takes 10 ms, so not anew with every small change
            largest, process = self.largest_dt(margin)
            if dt <= largest:
                self.stable = tuple(margin * rate for rate in rates)
                return
        self.warned = True
        if self.transport.rank == 0:
            what = f"above the largest stable one, {largest:.4g} s ({process}); CFL {self.cfl().max():.3g}; "
            what += f"the run may blow up; time.dt = {SAFETY * largest:.4g} s would be stable"
            if largest == 0:
                what = f"not known to be stable: the rates of {process} are beyond {self.config.run.dtype}; "
                what += "take larger cells"
            log.warning("step %d (day %.3f): the time step of %.6g s is %s", self.step, self.time / 86400, dt, what)

    def largest_dt(self, margin: float = 1.0) -> tuple[float, str]:
        """The largest time step stable in all runs with `margin` times their last rates, s; what process sets it."""
        ranges = {name: (0.0, margin * getattr(self.last, name).max()) for name in RATES}
        return largest_dt(self.config, Extremes(self.config.physics, ranges))

    def cfl(self) -> np.ndarray:
        """(|u| + sqrt(g h)) dt sqrt(1/dx² + 1/dy²) at the last look, largest |u| and h; [runs]."""
        gravity = self.config.physics.gravity
        return self.config.time.dt * (self.last.speed + np.sqrt(gravity * self.last.high)) * self.scale

    def state(self, run: int) -> State:
        """The state of a run on this process's block, [y, x]; [0, x] where the process has nothing of it."""
        state = self.model.state
        return state._make(of_member(field, self.transport.block, run) for field in state)

    def unusable_value(self, run: int) -> tuple[str, float, int]:
        """The first cell that is not finite or has no thickness: field, value, index in the whole domain."""
        state = self.state(run)
        bad = type(state)._make(~np.isfinite(field) for field in state)
        with np.errstate(invalid="ignore"):
            bad = bad._replace(h=bad.h | ((state.h <= 0) & (self.wet()[: len(state.h)] > 0)))
        return self.first(state, np.stack(bad))

    def fastest(self, run: int) -> tuple[str, float, int]:
        """The component of velocity largest in size: field, value, index in the whole domain."""
        state = self.state(run)
        nothing = dict.fromkeys(state._fields, np.zeros_like(state.h))
        sizes = np.stack(list((nothing | {"u": np.abs(state.u), "v": np.abs(state.v)}).values()))
        return self.first(state, sizes == self.transport.reduce(np.asarray(sizes.max(initial=0)), "max"))

    def first(self, state: State, marked: np.ndarray) -> tuple[str, float, int]:
        """Field, value and index of the first cell of the whole domain that is marked anywhere.

        Args:
            state: of a run.
            marked: [field, y, x] on this process.
        """
        block, nx, fields = self.transport.block, self.config.grid.nx, len(state)
        everywhere = fields * nx * self.config.grid.ny
        cells = np.argwhere(np.moveaxis(marked, 0, 2))  # row, column, field
        mine = everywhere
        if len(cells):
            row, column, number = map(int, cells[0])
            mine = ((block.y.start + row) * nx + block.x.start + column) * fields + number
        found = int(self.transport.reduce(np.asarray(mine, np.int64), "min"))
        value = 0.0
        if mine == found < everywhere:
            value = float(state[number][row, column])
        value = float(self.transport.reduce(np.asarray(value, np.float64), "sum"))
        return state._fields[found % fields], value, found // fields

    def fail(self, broken: np.ndarray, bad: np.ndarray, growth: np.ndarray):
        """Write blowup.nc of the first bad run and raise NumericalError.

        Args:
            broken, bad: the runs that cannot be used, and those, or whose energy is too large, [runs].
            growth: energy over what it can be, [runs].
        """
        run, of = int(np.argmax(bad)), of_which(bad)
        if broken[run]:
            what = self.told(*self.unusable_value(run), of)
        else:
            what = f"energy{of} is {growth[run]:.3g} times what the run can have; {self.told(*self.fastest(run))}"
        what += f"; CFL {self.cfl()[run]:.3g} at step {self.step}"
        self.blame_steps(bad, what, self.largest_dt()[0])

    def refuse(self, bad: np.ndarray):
        """Raise NumericalError for the runs whose state now, at the first look, cannot be used."""
        run, of = int(np.argmax(bad)), of_which(bad)
        what = self.told(*self.unusable_value(run), of)
        if self.model.step > self.model.first_step:
            self.blame_steps(bad, what, largest_dt(self.config, survey(self.config))[0])
        raise NumericalError(
            f"the state at step {self.model.step} cannot be used{in_which(bad)}: {what}"
            f"{self.runs.remedy_at_start}{self.remains(run, of)}"
        )

    def blame_steps(self, bad: np.ndarray, what: str, largest: float):
        """Raise NumericalError for the runs that steps have made unusable.

        Args:
            what: is wrong, in words.
            largest: time step that is known to be stable, s.
        """
        run, model, dt = int(np.argmax(bad)), self.model, self.config.time.dt
        raise NumericalError(
            f"the solution blew up by step {model.step} (day {model.time / 86400:.3f}){in_which(bad)}: "
            f"{what}; start anew with a smaller time step (time.dt = {min(dt / 2, SAFETY * largest) or dt / 2:.4g} s)"
            f"{self.runs.remedy}{self.own()}{self.remains(run, of_which(bad))}"
        )

    def own(self) -> str:
        """The terms that are not of the model, which may have done it, in words."""
        names = ", ".join(term.name for term in self.runs.domain.scheme.own)
        return f", or see what {names} gives" if names else ""

    def told(self, name: str, value: float, index: int, of: str = "") -> str:
        """What a field is in a cell of the whole domain, and `of` which run, in words."""
        row, column = divmod(index, self.config.grid.nx)
        return f"{name}{of} is {value:.6g} {VARIABLES[name].units} at row {row}, column {column}"

    def remains(self, run: int, of: str) -> str:
        """Write blowup.nc; what the run leaves, in words."""
        if self.directory is None:
            return ""
        path = Path(self.directory) / BLOWUP
        try:
            self.save(path, run)
            words = f"; the state{of} is in {path}"
        except FilesError as error:
            words = f"; the state could not be written: {error}"
        words, restarts = self.transport.broadcast((words, candidates(self.directory)))
        return words + (f"; last good restart: {restarts[0]}" if restarts else "")

    def save(self, path, run: int) -> None:
        """Write the state of a run, what can be, as a file of output with one record; called by all processes together.

        Raises:
            FilesError: it cannot be written.
        """
        config = self.runs.domain.config
        state, terms = self.state(run), self.runs.domain.scheme.acting
        fields = {name: field for name, field in state._asdict().items() if name in WRITABLE}
        with np.errstate(all="ignore"):
            fields |= {name: field(state, None, None) for term in terms for name, field in term.derived.items()}
        options = config.output.model_copy(update={"fields": tuple(fields), "means": ()})
        with Output(path, config.model_copy(update={"output": options}), self.transport) as output:
            output.write(self.model.step, self.model.time, fields, member=run)


def in_which(marked) -> str:
    """In which members of an ensemble, where some are marked, [runs], in words."""
    found = [str(number) for number in np.flatnonzero(marked)] if len(marked) > 1 else []
    if not found:
        return ""
    return f" in member {found[0]}" if len(found) == 1 else f" in members {', '.join(found[:-1])} and {found[-1]}"


def of_which(marked) -> str:
    """Of which member, the first of several that are marked, in words."""
    return f" of member {np.argmax(marked)}" if marked.sum() > 1 else ""
