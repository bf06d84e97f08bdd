"""The extremes of the fields of a run, and values that the run cannot use, from one pass over bands of rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ocean.coordinates import metrics
from ...ocean.table import variable_in_run
from ...ocean.terms import PROCESSES
from ...ocean.variable import Variable
from .. import fields
from ..setup import Setup
from .boundary_data import radiation_rate

if TYPE_CHECKING:
    from ...ocean.scheme import Scheme

#: Range of air pressures on the Earth, hPa.
TYPICAL_HECTOPASCALS = 870.0, 1085.0


@dataclass
class FieldExtremes:
    """Smallest and largest values on water and open faces, and problems with them.

    Attributes:
        ranges: {field, mask, rate of `process_rates`, radiation_rate, dx or dy: (smallest, largest)}, SI units.
        problems: {field: message about its first unusable value, its unit, or (mask) a domain without water}.
        fastest_cell: the cell with the largest `wave_rate`, in words; "" without water.
    """

    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    fastest_cell: str = ""

    @property
    def has_uneven_cells(self) -> bool:
        """Whether the thickness or the size of wet cells varies by more than a tenth."""
        return any(largest > 1.1 * least for least, largest in (self.ranges[name] for name in ("h", "dx", "dy")))

    def max_abs(self, name: str) -> float:
        """Largest absolute value of a field; 0 if no point has a value."""
        return max(abs(value) for value in self.ranges.get(name, (0.0,)))

    def include(self, name: str, values, water: np.ndarray, first_row: int, variable: Variable | None = None) -> None:
        """Include the values of a band where `water` is not zero; `variable` has their limits (None: no limits)."""
        values = np.atleast_2d(values)
        shape = np.broadcast_shapes(values.shape, water.shape)
        selected = values if water.all() else np.broadcast_to(values, shape)[np.broadcast_to(water > 0, shape)]
        if not selected.size:
            return
        least, largest = float(selected.min()), float(selected.max())
        before = self.ranges.get(name, (least, largest))
        self.ranges[name] = (min(least, before[0]), max(largest, before[1]))
        if variable and name not in self.problems and is_unusable(variable, np.array([least, largest])).any():
            self.problems[name] = problem_line(variable, values, water, first_row)


def is_unusable(variable: Variable, values: np.ndarray) -> np.ndarray:
    """Whether each value is not finite, or outside the limits of the variable."""
    bad = ~np.isfinite(values)
    if variable.min_value is not None:
        bad |= values <= variable.min_value if variable.is_min_exclusive else values < variable.min_value
    return bad if variable.max_value is None else bad | (values > variable.max_value)


def problem_line(variable: Variable, values: np.ndarray, water: np.ndarray, first_row: int) -> str:
    """The message about a field with unusable values, which names the first cell that has one."""
    comparison = "above" if variable.is_min_exclusive else "at least"
    bound = "finite" if variable.min_value is None else f"{comparison} {variable.min_value:g} {variable.units}"
    bound += "" if variable.max_value is None else f" and at most {variable.max_value:g}"
    values, water = np.broadcast_arrays(values, water)
    row, column = np.argwhere(is_unusable(variable, values) & (water > 0))[0]
    value = values[row, column]
    what = "initial thickness h = depth + eta" if variable.name == "h" else f"{variable.long_name} ({variable.name})"
    deviation = "is missing" if np.isnan(value) else f"is {value:.6g} {variable.units}"
    return f"{what}: must be {bound} on water, but {deviation} at row {first_row + row}, column {column}"


def pressure_unit_problem(name: str, least: float, largest: float) -> str:
    """The message about an air pressure whose values on all water look like hPa, not Pa; "" for none."""
    if name != "air_pressure" or not TYPICAL_HECTOPASCALS[0] <= least <= largest <= TYPICAL_HECTOPASCALS[1]:
        return ""
    statement = f"is {least:g} to {largest:g} Pa, which looks like hPa"
    return f"input.{name}: {statement}: correct the unit, or multiply the values by 100"


def survey(setup: Setup) -> FieldExtremes:
    """The extremes of depth, initial state, coefficients and rates over the whole grid."""
    config, extremes = setup.config, FieldExtremes()
    for rows in fields.row_bands(config.grid):
        survey_band(setup, extremes, rows)
    for name, range_ in list(extremes.ranges.items()):
        if (line := pressure_unit_problem(name, *range_)) and name not in setup.scheme.varying:
            extremes.problems[name] = line
    if not extremes.problems:
        extremes.ranges["radiation_rate"] = (0.0, radiation_rate(config, setup.scheme.is_forward_backward))
    if "depth" not in extremes.ranges:
        extremes.problems["mask"] = "the domain has no water: the mask is 0 everywhere"
    elif "depth" in extremes.problems and config.input.depth:
        extremes.problems["depth"] += "; " + (
            'are they heights? then the variable needs the attribute positive = "up"'
            if extremes.ranges["depth"][1] < 0
            else "mark land by missing values or by input.mask = 0; with drying.active=true low land can flood"
        )
    return extremes


def survey_band(setup: Setup, extremes: FieldExtremes, rows: np.ndarray) -> None:
    config, terms, columns = setup.config, setup.scheme.active_terms, np.arange(setup.shape[1])
    # One row and column more, for the faces on the north and east sides.
    wet = fields.wet_mask(config, [*rows, rows[-1] + 1], [*columns, len(columns)])
    lower_y, lower_x = (slice(0, -1) if length > 1 else slice(None) for length in wet.shape)
    upper_y, upper_x = (slice(1, None) if length > 1 else slice(None) for length in wet.shape)
    wet_centres = wet[lower_y, lower_x]
    extremes.include("mask", wet_centres, np.ones((1, 1)), rows[0])
    water = {"u": wet_centres * wet[lower_y, upper_x], "v": wet_centres * wet[upper_y, lower_x]}
    variables = {name: variable_in_run(name, config.physics) for name in ("depth", "eta", "u", "v")}
    variables |= {row.name: row for term in terms for row in (*term.coefficients, *term.initial)}
    thickness = variable_in_run("h", config.physics)
    if setup.scheme.drying:
        variables["depth"] = variables["depth"]._replace(min_value=None)
        thickness = thickness._replace(is_min_exclusive=False)
    values: dict[str, Any] = {name: fields.evaluate(config, name, rows, columns) for name in variables}
    for name, value in values.items():
        extremes.include(name, value, water.get(name, wet_centres), rows[0], variables[name])
    if not {"depth", "eta"} & extremes.problems.keys():
        values["h"] = fields.initial_thickness(config, values["depth"], values["eta"])
        extremes.include("h", values["h"], wet_centres, rows[0], thickness)
    if extremes.problems:
        return
    for term in terms:
        if term.build and term.rate:
            values |= term.build(config, rows, columns)
    values |= {name: np.where(water[name] > 0, np.abs(values[name]), 0.0) for name in ("u", "v")}
    values["gravity"] = config.physics.gravity
    sizes = {name: metric.centre for name, metric in metrics(config.grid, rows).items() if name in ("dx", "dy")}
    rates, max_rate_before = process_rates(setup.scheme, values, **sizes), extremes.max_abs("wave_rate")
    for name, rate in (sizes | rates).items():
        extremes.include(name, rate, wet_centres, rows[0])
    if wet_centres.any() and (not extremes.fastest_cell or extremes.max_abs("wave_rate") > max_rate_before):
        rate, is_wet, *values_of_cells = np.broadcast_arrays(
            rates["wave_rate"], wet_centres, values["h"], *sizes.values()
        )
        row, column = np.unravel_index(np.argmax(np.where(is_wet > 0, rate, -1.0)), rate.shape)
        h, dx, dy = (each[row, column] for each in values_of_cells)
        place = f"row {rows[0] + row}, column {column}"
        extremes.fastest_cell = f"{place}, {h:.4g} m of water in a cell of {dx:.4g} by {dy:.4g} m"


#: The largest stable time step of the forward-backward stepper in a current, from `stability.stability_limit` for waves
#: of all lengths. CURRENT_RATIOS are the rate of advection divided by the rate of the shortest waves, DT_REDUCTIONS the
#: time step without a current divided by that in the current.
CURRENT_RATIOS = (0.0, 0.03, 0.04, 0.05, 0.1, 0.2, 0.4, 0.5, 0.7, 1.0, 4.0)
DT_REDUCTIONS = (1.0, 1.006, 1.033, 1.067, 1.235, 1.512, 1.997, 3.462, 4.686, 5.077, 10.17)


def effective_wave_rate(waves, advection, is_forward_backward: bool, xp):
    """The rate of waves without a current that limit the time step as much as `waves` do in the current, s-1.

    Waves of length 2 pi / k have sin(k dx / 2) times the rate of the shortest waves, and sin(k dx) times the rate of
    advection. For most steppers the largest sum of both over all k counts; the limit of the forward-backward stepper
    follows from DT_REDUCTIONS.

    Args:
        waves, advection: rates of the shortest waves and of advection in each cell, s-1.
        xp: array module.
    """
    ratio = advection / xp.where(waves > 0, waves, xp.inf)
    factor_without_waves = DT_REDUCTIONS[-1] / CURRENT_RATIOS[-1] if is_forward_backward else 1.0  # advection alone
    if is_forward_backward:
        factor = xp.maximum(
            xp.interp(ratio, *(xp.asarray(column, dtype=ratio.dtype) for column in (CURRENT_RATIOS, DT_REDUCTIONS))),
            factor_without_waves * ratio,
        )
    else:
        positive_ratio = xp.maximum(ratio, 1e-6)
        cosine = (xp.sqrt(0.25 + 8 * positive_ratio**2) - 0.5) / (4 * positive_ratio)
        factor = xp.sqrt(1 - cosine**2) * (1 + 2 * ratio * cosine)
    return xp.where(waves > 0, waves * factor, factor_without_waves * advection)


def process_rates(scheme: Scheme, values: dict, dx, dy) -> dict:
    """Rates of gravity waves in a current, and of the PROCESSES of terms, in each cell, s-1: {"wave_rate": ...}.

    Rates are computed cell by cell, because currents may be fast where the layer is thin: in the published jet, the
    largest speed and the largest thickness together would forbid the published time step.

    Args:
        values: h, |u|, |v|, gravity, coefficients and the fields that terms build from them, SI units.
        dx, dy: sizes of the cells, m.
    """
    h, terms = values["h"], scheme.active_terms
    xp = h.__array_namespace__()
    waves = xp.sqrt(xp.maximum(h, 0) * (4 * values["gravity"] * (1 / dx**2 + 1 / dy**2)))
    values = values | {"h": xp.where(h > 0, h, xp.inf)}
    # This is |u|/dx + |v|/dy for a diagonal current. It is larger than that for a current along an axis, because waves
    # run in all directions.
    advection = xp.sqrt(2 * ((values["u"] / dx) ** 2 + (values["v"] / dy) ** 2))
    rates = {"wave_rate": effective_wave_rate(waves, advection, scheme.is_forward_backward, xp)}
    for process in PROCESSES:
        terms_of_process = [term for term in terms if term.process == process]
        if scheme.drying:  # damping terms are then implicit where they are fast
            terms_of_process = [term for term in terms_of_process if not term.damping]
        # Terms with prognostic fields of their own act on different fields, so that their rates do not add up.
        separate_rates = (term.rate(values, dx, dy) for term in terms_of_process if term.rate and term.prognostic)
        summed_rate = sum(term.rate(values, dx, dy) for term in terms_of_process if term.rate and not term.prognostic)
        rates[f"{process}_rate"] = summed_rate + reduce(xp.maximum, separate_rates, 0.0)
    return rates
