"""The extremes of a run's fields, and values that it cannot use, from one sweep over bands of rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from ...ocean.coordinates import metrics
from ...ocean.table import variable_in_run
from ...ocean.terms import PROCESSES
from ...ocean.variable import Variable
from .. import fields
from ..setup import Setup
from .boundary_data import radiation_rate

#: Range of air pressures on the Earth, hPa.
TYPICAL_HECTOPASCALS = 870.0, 1085.0


@dataclass
class FieldExtremes:
    """Smallest and largest values on water and open faces, and problems with them.

    Attributes:
        ranges: {field, mask, rate of `process_rates`, dx or dy: (smallest, largest)}, SI units.
        problems: {field: message about its first unusable value}.
        fastest_cell: the cell with the largest `wave_rate`, in words; "" without water.
    """

    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    fastest_cell: str = ""

    @property
    def has_uneven_cells(self) -> bool:
        """Whether cells differ by more than a tenth, in thickness or length."""
        return any(largest > 1.1 * least for least, largest in (self.ranges[name] for name in ("h", "dx", "dy")))

    def max_abs(self, name: str) -> float:
        """Largest absolute value of a field; 0 if no point has a value."""
        return max(abs(value) for value in self.ranges.get(name, (0.0,)))

    def include(self, name: str, values, water: np.ndarray, first_row: int, variable: Variable | None = None) -> None:
        """Add a band's values where `water` is not zero; `variable` gives their limits (None for a rate)."""
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
    """Where values are not finite, or outside the limits of the variable."""
    bad = ~np.isfinite(values)
    if variable.min_value is not None:
        bad |= values <= variable.min_value if variable.exclusive_min else values < variable.min_value
    return bad if variable.max_value is None else bad | (values > variable.max_value)


def problem_line(variable: Variable, values: np.ndarray, water: np.ndarray, first_row: int) -> str:
    """The message about a field with unusable values, which names the first such cell."""
    comparison = "above" if variable.exclusive_min else "at least"
    bound = "finite" if variable.min_value is None else f"{comparison} {variable.min_value:g} {variable.units}"
    bound += "" if variable.max_value is None else f" and at most {variable.max_value:g}"
    values, water = np.broadcast_arrays(values, water)
    row, column = np.argwhere(is_unusable(variable, values) & (water > 0))[0]
    value = values[row, column]
    what = "initial thickness h = depth + eta" if variable.name == "h" else f"{variable.long_name} ({variable.name})"
    deviation = "is missing" if np.isnan(value) else f"is {value:.6g} {variable.units}"
    return f"{what}: must be {bound} on water, but {deviation} at row {first_row + row}, column {column}"


def pressure_unit_problem(name: str, least: float, largest: float) -> str:
    """The message about an air pressure whose values on the whole grid look like hPa, not Pa; "" for none."""
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
        extremes.ranges["radiation_rate"] = (0.0, radiation_rate(config, setup.scheme.forward_backward))
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
        thickness = thickness._replace(exclusive_min=False)
    values = {name: fields.evaluate(config, name, rows, columns) for name in variables}
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
    sizes = {name: places.centre for name, places in metrics(config.grid, rows).items() if name in ("dx", "dy")}
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


#: The forward-backward stepper in a current. CURRENT_RATIOS are advection rates over rates of the shortest waves.
#: DT_REDUCTIONS are the factors by which the largest time step is shorter than without a current
#: (`stability.stability_limit`, all wavelengths).
CURRENT_RATIOS = (0.0, 0.03, 0.04, 0.05, 0.1, 0.2, 0.4, 0.5, 0.7, 1.0, 4.0)
DT_REDUCTIONS = (1.0, 1.006, 1.033, 1.067, 1.235, 1.512, 1.997, 3.462, 4.686, 5.077, 10.17)


def effective_wave_rate(waves, advection, forward_backward: bool, xp):
    """The rate of waves without a current that have the largest time step of `waves` in a current, s-1, per cell.

    Waves of length 2 pi / k have sin(k dx / 2) times the rate of the shortest waves, and sin(k dx) times the rate of
    advection. For most steppers the largest sum of both counts; the forward-backward stepper has a limit of its own.
    """
    ratio = advection / xp.where(waves > 0, waves, xp.inf)
    factor_without_waves = DT_REDUCTIONS[-1] / CURRENT_RATIOS[-1] if forward_backward else 1.0  # advection alone
    if forward_backward:
        factor = xp.maximum(
            xp.interp(ratio, *(xp.asarray(column, dtype=ratio.dtype) for column in (CURRENT_RATIOS, DT_REDUCTIONS))),
            factor_without_waves * ratio,
        )
    else:
        positive_ratio = xp.maximum(ratio, 1e-6)
        cosine = (xp.sqrt(0.25 + 8 * positive_ratio**2) - 0.5) / (4 * positive_ratio)
        factor = xp.sqrt(1 - cosine**2) * (1 + 2 * ratio * cosine)
    return xp.where(waves > 0, waves * factor, factor_without_waves * advection)


def process_rates(scheme, values: dict, dx, dy) -> dict:
    """Rates of gravity waves in a current, and of the PROCESSES of terms, in each cell, s-1: {`wave_rate`: ...}.

    Each cell counts by itself, because currents may be fast where the layer is thin: in the published jet, the
    largest speed and the largest thickness together would forbid the published time step. `values`: h, |u|, |v|,
    gravity, coefficients and built fields.
    """
    h, terms = values["h"], scheme.active_terms
    xp = h.__array_namespace__()
    waves = xp.sqrt(xp.maximum(h, 0) * (4 * values["gravity"] * (1 / dx**2 + 1 / dy**2)))
    values = values | {"h": xp.where(h > 0, h, xp.inf)}
    # This is |u|/dx + |v|/dy for a diagonal current, and more for one along an axis: waves run in all directions.
    advection = xp.sqrt(2 * ((values["u"] / dx) ** 2 + (values["v"] / dy) ** 2))
    rates = {"wave_rate": effective_wave_rate(waves, advection, scheme.forward_backward, xp)}
    for process in PROCESSES:
        acting = [term for term in terms if term.rate and term.process == process]
        acting = [term for term in acting if not (scheme.drying and term.damping)]  # implicit where they are fast
        separate_rates = (term.rate(values, dx, dy) for term in acting if term.prognostic)  # of fields of their own
        summed_rate = sum(term.rate(values, dx, dy) for term in acting if not term.prognostic)
        rates[f"{process}_rate"] = summed_rate + reduce(xp.maximum, separate_rates, 0.0)
    return rates
