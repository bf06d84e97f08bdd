"""The verdict on the states of runs.

A run continues while all numbers are finite, all water has a thickness above 0 (with drying: not below 0), no water
crosses more than MAX_CELLS_PER_STEP cells per step along x or y, and no concentration exceeds MAX_CONCENTRATION_GROWTH
times the largest one at the start. Concentrations have no limit if a term adds or removes water.

No stepper is stable where water crosses MAX_CELLS_PER_STEP cells in a step: the widest limit of an eigenvalue i |u|/dx
is that of rk4, 2.83 / dt, or 2.94 / dt with friction. Upwind differences keep concentrations within the initial range.
"""

from __future__ import annotations

import logging
import math
from pathlib import Path

import numpy as np

from ...errors import FilesError, NumericalError
from ...files.gather import local_member_field
from ...files.output import OutputFile
from ...files.restart.folder import list_restart_files
from ...files.run_folder import BLOWUP
from ...ocean.diagnostics import max_inverse_length
from ...ocean.state import State
from ...ocean.table import OUTPUT_FIELDS, variable_of
from ...ocean.terms.tracer import CONTENT_SUFFIX, concentration_of, tracers_in
from ...parallel.transport import gather_members
from ...parallel.transport.programs import cached_jit
from ...setup.checks.extremes import FieldExtremes, survey
from ...setup.checks.stability import max_stable_dt
from .measures import MAX_CELLS_PER_STEP, RATES, Measures, blocks_of, make_measures

log = logging.getLogger(__name__)

#: Growth of a concentration that discretisation and round-off may cause.
MAX_CONCENTRATION_GROWTH = 10.0
#: The recommended fraction of the largest stable time step.
RECOMMENDED_FRACTION = 0.8
#: Tolerance for the different rounding of XLA and NumPy near a limit.
ROUNDING_FACTOR = 0.999


class Health:
    """The health of a run: `check` between chunks of steps costs one jitted pass over the state and a few messages.

    All ranks reach the same verdict. Numbers are arrays [runs], of the members of an ensemble (`EnsembleHealth`) or of
    a single run. NumericalError: the state has values that are not finite, or water without thickness.

    Args:
        directory: the run folder, for blowup.nc; None: a blow-up leaves no file.
        domain: the `Domain` of one run; None: the model itself.
        params: coefficients by name, with the values that need the smallest time step; None: those of the domain.

    Attributes:
        last_measures: Measures of the last check, or of the start, at step `last_step`.
        max_concentration: the largest concentrations that are considered healthy.
    """

    #: Advice in messages: after a blow-up, besides a smaller time step; and about an unusable state at the start.
    remedy, remedy_at_start = " or more friction", ""

    def __init__(self, model, directory=None, domain=None, params=None):
        self.model, self.directory, self.transport = model, directory, model.transport
        self.domain = domain = domain or model
        self.config, self.last_step = domain.config, model.step
        self.last_measures: Measures | None = None
        local_scale = max(
            max_inverse_length(grid, shape, grid.wet.block_values(shape) > 0) for grid, shape in blocks_of(domain)
        )
        self.inverse_cell_size = float(domain.transport.reduce(np.asarray(local_scale), "max"))
        self.static = domain.grid, domain.params if params is None else params
        self.measure_program = make_measures, domain.scheme, domain.scheme.static_halo, domain.transport
        self.stable_rates = (0.0,) * len(RATES)  # rates for which the time step is stable
        self.has_warned = False
        self.set_start()

    @property
    def dt(self) -> float:
        """The length of the last step or, with substeps, of its substeps, s."""
        return self.config.time.dt / self.model.substeps

    def set_start(self) -> None:
        """Use the present states as those at the start; all processes call it together."""
        measures = self.measure_domain()
        has_sources = any(term.acts_at_rest for term in self.domain.scheme.active_terms)
        self.max_concentration = MAX_CONCENTRATION_GROWTH * measures.concentration
        if has_sources:
            self.max_concentration[:] = np.inf
        if (bad := ~(measures.neg_min_h < 0)).any():
            self.raise_blow_up(bad, measures)
        self.last_measures, self.last_step = measures, self.model.step

    def check(self) -> None:
        """Check the states; all processes call it together. Warns once of a time step above the largest stable one.

        NumericalError: a solution blew up; the message has the cell, the time and advice.
        """
        measures = self.measure_domain()
        bad = (
            ~(measures.neg_min_h < 0)
            | (measures.crossing * self.dt > MAX_CELLS_PER_STEP)
            | (measures.concentration > self.max_concentration)
        )
        if bad.any():
            self.raise_blow_up(bad, measures)
        self.last_measures, self.last_step = measures, self.model.step
        if not self.has_warned:
            self.check_time_step()

    def measure_domain(self) -> Measures:
        """The Measures of the whole domain, arrays [runs]."""
        values = np.nan_to_num(self.measure_blocks().astype(np.float64), nan=np.inf, posinf=np.inf, neginf=-np.inf)
        return Measures(*gather_members(self.transport, values.max(axis=1), "max", -np.inf).T)

    def measure_blocks(self) -> np.ndarray:
        """The Measures of the blocks of this process, [local runs, blocks, Measures]."""
        measures = cached_jit(*self.measure_program)(self.model.carry.state, self.static)
        return np.stack(self.transport.get_blocks(measures))[None]

    def check_time_step(self) -> None:
        """Warn if even the shortest allowed substep was above the largest stable time step at the last check."""
        measures, max_substeps = self.last_measures, self.config.time.max_substeps
        if measures is None or self.model.substeps < max_substeps:
            return
        rates, dt = [getattr(measures, name).max() for name in RATES], self.dt
        if all(now <= before for now, before in zip(rates, self.stable_rates, strict=True)):
            return
        for margin in (1.05, 1.0):  # computing the limit takes 10 ms; after small changes the margin saves this
            largest_dt, process = self.largest_dt(measures, margin)
            if dt <= largest_dt:
                self.stable_rates = tuple(margin * rate for rate in rates)
                return
        self.has_warned = True
        recommended_dt = RECOMMENDED_FRACTION * largest_dt
        remedy = f"time.dt = {max_substeps * recommended_dt:.4g} s"
        if max_substeps > 1:
            n_halvings = math.ceil(math.log2(self.config.time.dt / recommended_dt))
            remedy = f"time.max_substeps = {2**n_halvings} or {remedy}"
        if self.transport.rank == 0:
            log.warning(
                f"step {self.last_step} (day {self.model.time / 86400:.3f}): the time step of {dt:.6g} s is above the "
                f"largest stable one, {largest_dt:.4g} s ({process}); CFL {self.cfl(measures).max():.3g}; the run "
                f"may blow up; {remedy} would be stable"
            )

    def largest_dt(self, measures: Measures, margin: float = 1.0) -> tuple[float, str]:
        """The largest time step, s, that is stable at `margin` times the measured rates, and what limits it."""
        ranges = {name: (0.0, margin * getattr(measures, name).max()) for name in RATES}
        return max_stable_dt(self.config, FieldExtremes(ranges))

    def cfl(self, measures: Measures) -> np.ndarray:
        """(|u| + sqrt(g h)) dt sqrt(1/dx² + 1/dy²) with the largest |u| and h of the `measures`; [runs]."""
        wave_speed = np.sqrt(self.config.physics.gravity * measures.max_h)
        return self.dt * (measures.speed + wave_speed) * self.inverse_cell_size

    def raise_blow_up(self, bad: np.ndarray, measures: Measures):
        """Write blowup.nc for the first run that is marked in `bad` [runs], and raise NumericalError."""
        model, dt, run, members_words = self.model, self.dt, int(np.argmax(bad)), describe_members(bad)
        location, files_words = describe_bad_cell(self, run), write_blow_up(self, run)
        when = f"by step {model.step} (day {model.time / 86400:.3f})"
        names = ", ".join(term.name for term in self.domain.scheme.user_terms)
        user_terms_advice = f", or check {names}" if names else ""
        if self.last_measures is None and model.step == model.first_step:
            raise NumericalError(
                f"the state at step {model.step} cannot be used{members_words}: "
                f"{location}{self.remedy_at_start}{files_words}"
            )
        is_dry = np.isfinite(measures.neg_min_h[bad]) & (measures.neg_min_h[bad] >= 0)
        if is_dry.all() and dt <= self.largest_dt(measures)[0]:
            raise NumericalError(
                f"a cell fell dry {when}{members_words}: {location}; set drying.active = true, or choose a larger "
                f"minimum depth (physics.depth, input.depth; swmodel grid --min-depth){user_terms_advice}{files_words}"
            )
        if self.last_measures is None:
            largest_dt = max_stable_dt(self.config, survey(self.domain.setup))[0]
        else:
            largest_dt = self.largest_dt(self.last_measures)[0]
            location = f"{location}; CFL {self.cfl(self.last_measures)[run]:.3g} at step {self.last_step}"
        raise NumericalError(
            f"the solution blew up {when}{members_words}: {location}; start again with a smaller time step "
            f"(time.dt = {model.substeps * min(dt / 2, RECOMMENDED_FRACTION * largest_dt):.4g} "
            f"s){self.remedy}{user_terms_advice}{files_words}"
        )


def state_of_run(health, run: int) -> State:
    """The state of a run on this process's block, [y, x]; [0, x] on processes that do not compute the run."""
    state = health.model.state
    return state._make(local_member_field(field, health.transport.block, run) for field in state)


def describe_bad_cell(health, run: int) -> str:
    """The value and the position of the domain's first unusable cell, in words."""
    state, domain, block, dt = state_of_run(health, run), health.domain, health.transport.block, health.dt
    parts = [
        tuple(np.broadcast_to(part.block_values(shape), shape) for part in (grid.wet, grid.dx.centre, grid.dy.centre))
        for grid, shape in blocks_of(domain)
    ]
    wet, dx, dy = (part[: len(state.h)] for part in domain.transport.join_blocks(parts))
    fields_by_name = state._asdict()
    limits = {"u": ROUNDING_FACTOR * MAX_CELLS_PER_STEP * dx / dt, "v": ROUNDING_FACTOR * MAX_CELLS_PER_STEP * dy / dt}
    with np.errstate(all="ignore"):
        for name in tracers_in(state._fields):
            field = name if name in fields_by_name else name + CONTENT_SUFFIX
            fields_by_name[field] = np.where(wet > 0, concentration_of(name, state), 0)
            limits[field] = ROUNDING_FACTOR * health.max_concentration[run]
        bad = {
            name: ~np.isfinite(field) | (np.abs(field) > limits.get(name, np.inf))
            for name, field in fields_by_name.items()
        }
        bad["h"] |= (state.h < 0 if domain.scheme.drying else state.h <= 0) & (wet > 0)
    cells = np.argwhere(np.stack(list(bad.values()), axis=-1))  # row, column, field
    nx, n_fields = health.config.grid.nx, len(state)
    local_first = none_found = n_fields * nx * health.config.grid.ny
    if len(cells):
        row, column, number = map(int, cells[0])
        local_first = ((block.y.start + row) * nx + block.x.start + column) * n_fields + number
    first = int(health.transport.reduce(np.asarray(local_first, np.int64), "min"))
    value = float(fields_by_name[state._fields[number]][row, column]) if local_first == first < none_found else 0.0
    value = float(health.transport.reduce(np.asarray(value, np.float64), "sum"))
    (row, column), name = divmod(first // n_fields, nx), state._fields[first % n_fields]
    entry = variable_of(variable_of(name).concentration_name or name)
    return f"{entry.name} is {value:.6g} {entry.units}".removesuffix(" 1") + f" at row {row}, column {column}"


def write_blow_up(health, run: int) -> str:
    """Write blowup.nc; returns the part of the error message that names this file and the latest restart file."""
    if health.directory is None:
        return ""
    path = Path(health.directory) / BLOWUP
    try:
        write_blow_up_file(health, path, run)
        message = f"; the state is in {path}"
    except FilesError as error:
        message = f"; the state could not be written: {error}"
    message, restarts = health.transport.broadcast((message, list_restart_files(health.directory)))
    return message + (f"; last good restart: {restarts[0]}" if restarts else "")


def write_blow_up_file(health, path, run: int) -> None:
    config, model, state = health.config, health.model, state_of_run(health, run)
    fields = {name: field for name, field in state._asdict().items() if name in OUTPUT_FIELDS}
    with np.errstate(all="ignore"):
        fields |= {name: concentration_of(name, state) for name in health.domain.scheme.output_fields}
    options = config.output.model_copy(update={"fields": tuple(fields), "means": (), "maxima": (), "arrival": None})
    with OutputFile(path, config.model_copy(update={"output": options}), health.transport) as output:
        output.write(model.step, model.time, fields, member=run)


def describe_members(is_bad) -> str:
    """The marked members of an ensemble, in words; "" for a single run."""
    numbers = [str(number) for number in np.flatnonzero(is_bad)] if len(is_bad) > 1 else []
    return f" in member{'s' * (len(numbers) > 1)} {', '.join(numbers)}" if numbers else ""
