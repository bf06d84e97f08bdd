"""The verdict on the states of runs.

A run continues while all numbers are finite and all water has thickness. No water may cross more than CELLS cells in a
step along x or y. No concentration may exceed RUNAWAY times the largest one at the start.

No stepper is stable where water crosses CELLS cells in a step: rk4 has the widest limit of an eigenvalue i |u|/dx,
2.83 / dt, with friction 2.95 / dt. Upwind differences keep concentrations between the values at the start.
"""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np

from ...errors import FilesError, NumericalError
from ...files.gather import of_member
from ...files.output import Output
from ...files.restart.folder import candidates
from ...files.run_folder import BLOWUP
from ...ocean.diagnostics import per_length
from ...ocean.state import State
from ...ocean.table import WRITABLE, row_of
from ...ocean.terms.tracer import CONTENT, concentration_of, tracers_in
from ...parallel.transport import of_all_members
from ...parallel.transport.programs import jitted
from ...setup.checks.extremes import Extremes, survey
from ...setup.checks.stability import largest_dt
from .measures import CELLS, RATES, Measures, blocks_of, make_measure

log = logging.getLogger(__name__)

#: Growth of a concentration that discretisation and round-off may cause.
RUNAWAY = 10.0
#: The recommended fraction of the largest stable time step.
SAFETY = 0.8
#: Tolerance for the different rounding of XLA and NumPy near a limit.
ALMOST = 0.999


class Health:
    """The health of a run: `check` between chunks of steps, one jitted pass over the state and a few small messages.

    All ranks reach the same verdict. Numbers are arrays [runs], for ensembles (`HealthOfMembers`).
    NumericalError: the present state has values that are not finite, or water without thickness.

    Args:
        directory: the run folder, for blowup.nc; None: a blow-up leaves no file.
        domain: scheme, transport, grid and params of one run; None: the model.
        params: coefficients by name, at values that need the smallest time step; None: those of the domain.

    Attributes:
        last: Measures of the last check, at step `step`.
        most: the largest concentrations that are healthy.
    """

    #: Advice besides a smaller time step, and for an unusable state at the start, in words.
    remedy, remedy_at_start = " or more friction", ""

    def __init__(self, model, directory=None, domain=None, params=None):
        self.model, self.directory, self.transport = model, directory, model.transport
        self.domain = domain = domain or model
        self.config, self.last, self.step = domain.config, None, model.step
        scale = max(per_length(grid, shape, grid.wet.on(shape) > 0) for grid, shape in blocks_of(domain))
        self.scale = float(domain.transport.reduce(np.asarray(scale), "max"))
        self.static = domain.grid, domain.params if params is None else params
        self.measuring = make_measure, domain.scheme, domain.scheme.margin, domain.transport
        self.stable = (0.0,) * len(RATES)  # rates with a stable time step
        self.warned = False
        self.begin()

    @property
    def dt(self) -> float:
        """The length of the last steps, s."""
        return self.config.time.dt / self.model.substeps

    def begin(self) -> None:
        """Use the present states as those of the start; all processes call it together."""
        now = self.look()
        own = self.domain.scheme.own  # user-defined terms may have sources
        self.most = np.full_like(now.concentration, np.inf) if own else RUNAWAY * now.concentration
        if (bad := ~(now.neg_min_h < 0)).any():
            self.fail(bad, now)
        self.last, self.step = now, self.model.step

    def check(self) -> None:
        """Check the states; all processes call it together. Warns once if the time step is above the stable one.

        NumericalError: a solution blew up; the message has the place, the time and advice.
        """
        now = self.look()
        bad = ~(now.neg_min_h < 0) | (now.crossing * self.dt > CELLS) | (now.concentration > self.most)
        if bad.any():
            self.fail(bad, now)
        self.last, self.step = now, self.model.step
        if not self.warned:
            self.check_time_step()

    def look(self) -> Measures:
        """The Measures of the whole domain, arrays [runs]."""
        found = np.nan_to_num(self.measure().astype(np.float64), nan=np.inf, posinf=np.inf, neginf=-np.inf)
        return Measures(*of_all_members(self.transport, found.max(axis=1), "max", -np.inf).T)

    def measure(self) -> np.ndarray:
        """The Measures of the blocks of this process, [runs here, blocks, Measures]."""
        found = jitted(*self.measuring)(self.model.carry.state, self.static)
        return np.stack(self.transport.pieces(found))[None]

    def check_time_step(self) -> None:
        """Warn if the time step is above the largest stable one of the present state, and will not be halved."""
        halvings = self.config.time.halvings
        if self.model.substeps < 2**halvings:
            return
        rates, dt = [getattr(self.last, name).max() for name in RATES], self.dt
        if all(now <= before for now, before in zip(rates, self.stable, strict=True)):
            return
        for margin in (1.05, 1.0):  # the limit takes 10 ms, so a margin avoids it for small changes
            largest, process = self.largest_dt(self.last, margin)
            if dt <= largest:
                self.stable = tuple(margin * rate for rate in rates)
                return
        self.warned = True
        remedy = f"time.halvings = {halvings + 1}" if halvings else f"time.dt = {SAFETY * largest:.4g} s"
        if self.transport.rank == 0:
            log.warning(
                f"step {self.step} (day {self.model.time / 86400:.3f}): the time step of {dt:.6g} s is above the "
                f"largest stable one, {largest:.4g} s ({process}); CFL {self.cfl().max():.3g}; the run may blow up; "
                f"{remedy} would be stable"
            )

    def largest_dt(self, at: Measures, margin: float = 1.0) -> tuple[float, str]:
        """The largest time step stable in all runs at `margin` times these rates, s; the process that sets it."""
        ranges = {name: (0.0, margin * getattr(at, name).max()) for name in RATES}
        return largest_dt(self.config, Extremes(ranges))

    def cfl(self) -> np.ndarray:
        """(|u| + sqrt(g h)) dt sqrt(1/dx² + 1/dy²) at the last check, with the largest |u| and h; [runs]."""
        gravity = self.config.physics.gravity
        return self.dt * (self.last.speed + np.sqrt(gravity * self.last.max_h)) * self.scale

    def fail(self, bad: np.ndarray, now: Measures):
        """Write blowup.nc of the first of the bad runs, [runs], whose Measures are `now`, and raise NumericalError."""
        model, dt, run, which = self.model, self.dt, int(np.argmax(bad)), in_which(bad)
        place, left = bad_cell(self, run), remains(self, run)
        when = f"by step {model.step} (day {model.time / 86400:.3f})"
        names = ", ".join(term.name for term in self.domain.scheme.own)
        own = f", or check {names}" if names else ""
        if self.last is None and model.step == model.first_step:
            raise NumericalError(
                f"the state at step {model.step} cannot be used{which}: {place}{self.remedy_at_start}{left}"
            )
        dry = np.isfinite(now.neg_min_h[bad]) & (now.neg_min_h[bad] >= 0)
        if dry.all() and dt <= self.largest_dt(now)[0]:
            raise NumericalError(
                f"the water fell dry {when}{which}: {place}; set drying.active = true, or choose a larger least "
                f"depth (physics.depth, input.depth; swmodel grid --min-depth){own}{left}"
            )
        if self.last is None:
            largest = largest_dt(self.config, survey(self.domain.setup))[0]
        else:
            largest, place = self.largest_dt(self.last)[0], f"{place}; CFL {self.cfl()[run]:.3g} at step {self.step}"
        raise NumericalError(
            f"the solution blew up {when}{which}: {place}; start again with a smaller time step "
            f"(time.dt = {min(dt / 2, SAFETY * largest):.4g} s){self.remedy}{own}{left}"
        )


def state_of(health, run: int) -> State:
    """The state of a run on this process's block, [y, x]; [0, x] on processes without a part of the run."""
    state = health.model.state
    return state._make(of_member(field, health.transport.block, run) for field in state)


def bad_cell(health, run: int) -> str:
    """The value in the domain's first unusable cell, in words."""
    state, domain, block, dt = state_of(health, run), health.domain, health.transport.block, health.dt
    parts = [
        tuple(np.broadcast_to(part.on(shape), shape) for part in (grid.wet, grid.dx.centre, grid.dy.centre))
        for grid, shape in blocks_of(domain)
    ]
    wet, dx, dy = (part[: len(state.h)] for part in domain.transport.join(parts))
    found = state._asdict()
    limits = {"u": ALMOST * CELLS * dx / dt, "v": ALMOST * CELLS * dy / dt}
    with np.errstate(all="ignore"):
        for name in tracers_in(state._fields):
            field = name if name in found else name + CONTENT
            found[field] = np.where(wet > 0, concentration_of(name, state), 0)
            limits[field] = ALMOST * health.most[run]
        bad = {name: ~np.isfinite(field) | (np.abs(field) > limits.get(name, np.inf)) for name, field in found.items()}
        bad["h"] |= (state.h < 0 if domain.scheme.drying else state.h <= 0) & (wet > 0)
    cells = np.argwhere(np.stack(list(bad.values()), axis=-1))  # row, column, field
    nx, fields = health.config.grid.nx, len(state)
    mine = everywhere = fields * nx * health.config.grid.ny
    if len(cells):
        row, column, number = map(int, cells[0])
        mine = ((block.y.start + row) * nx + block.x.start + column) * fields + number
    first = int(health.transport.reduce(np.asarray(mine, np.int64), "min"))
    value = float(found[state._fields[number]][row, column]) if mine == first < everywhere else 0.0
    value = float(health.transport.reduce(np.asarray(value, np.float64), "sum"))
    (row, column), name = divmod(first // fields, nx), state._fields[first % fields]
    entry = row_of(row_of(name).content or name)
    return f"{entry.name} is {value:.6g} {entry.units}".removesuffix(" 1") + f" at row {row}, column {column}"


def remains(health, run: int) -> str:
    """Write blowup.nc; returns words about the files of the run."""
    if health.directory is None:
        return ""
    path = Path(health.directory) / BLOWUP
    try:
        save(health, path, run)
        words = f"; the state is in {path}"
    except FilesError as error:
        words = f"; the state could not be written: {error}"
    words, restarts = health.transport.broadcast((words, candidates(health.directory)))
    return words + (f"; last good restart: {restarts[0]}" if restarts else "")


def save(health, path, run: int) -> None:
    """Write the state of a run, as far as possible, as an output file of one record."""
    config, model, state = health.config, health.model, state_of(health, run)
    fields = {name: field for name, field in state._asdict().items() if name in WRITABLE}
    with np.errstate(all="ignore"):
        fields |= {name: concentration_of(name, state) for name in health.domain.scheme.written}
    options = config.output.model_copy(update={"fields": tuple(fields), "means": (), "maxima": (), "arrival": None})
    with Output(path, config.model_copy(update={"output": options}), health.transport) as output:
        output.write(model.step, model.time, fields, member=run)


def in_which(marked) -> str:
    """The marked members of an ensemble, in words; "" for none."""
    found = [str(number) for number in np.flatnonzero(marked)] if len(marked) > 1 else []
    return f" in member{'s' * (len(found) > 1)} {', '.join(found)}" if found else ""
