"""The extremes of a run's fields and their errors, from one sweep over bands of rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from ...ocean.coordinates import metrics
from ...ocean.table import entry_of
from ...ocean.terms import PROCESSES
from ...ocean.variable import Variable
from .. import fields
from ..setup import Setup
from .outside import radiation

#: Air pressures on the Earth, hPa.
HECTOPASCALS = 870.0, 1085.0


@dataclass
class Extremes:
    """Least and largest values on water and open faces, and errors.

    Attributes:
        ranges: {field, rate of `rates_of`, dx or dy: (least, largest)}, SI units; with the mask where there is land.
        problems: {field: line with its first unusable value}.
        fastest: the cell with the largest `wave_rate`, in words; "" without water.
    """

    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    fastest: str = ""

    @property
    def uneven(self) -> bool:
        """Whether cells differ by more than a tenth, in thickness or length."""
        return any(largest > 1.1 * least for least, largest in (self.ranges[name] for name in ("h", "dx", "dy")))

    def largest(self, name: str) -> float:
        """Largest modulus of a field; 0 if no point has a value."""
        return max(abs(value) for value in self.ranges.get(name, (0.0,)))

    def include(self, name: str, values, water: np.ndarray, first_row: int, entry: Variable | None = None) -> None:
        """Add a band's values where `water` is not zero; `entry` has their limits, None for a rate."""
        values = np.atleast_2d(values)
        shape = np.broadcast_shapes(values.shape, water.shape)
        selected = values if water.all() else np.broadcast_to(values, shape)[np.broadcast_to(water > 0, shape)]
        if not selected.size:
            return
        least, largest = float(selected.min()), float(selected.max())
        before = self.ranges.get(name, (least, largest))
        self.ranges[name] = (min(least, before[0]), max(largest, before[1]))
        if entry and name not in self.problems and unfit(entry, np.array([least, largest])).any():
            self.problems[name] = complaint(entry, values, water, first_row)


def unfit(entry: Variable, values: np.ndarray) -> np.ndarray:
    """Where values are not finite, below the limit of the entry, or above it."""
    bad = ~np.isfinite(values)
    if entry.least is not None:
        bad |= values <= entry.least if entry.above else values < entry.least
    return bad if entry.most is None else bad | (values > entry.most)


def complaint(entry: Variable, values: np.ndarray, water: np.ndarray, first_row: int) -> str:
    """The line about a field beyond its limits, with the first such cell."""
    side = "above" if entry.above else "at least"
    bound = "finite" if entry.least is None else f"{side} {entry.least:g} {entry.units}"
    bound += "" if entry.most is None else f" and at most {entry.most:g}"
    values, water = np.broadcast_arrays(values, water)
    row, column = np.argwhere(unfit(entry, values) & (water > 0))[0]
    value = values[row, column]
    what = "initial thickness h = depth + eta" if entry.name == "h" else f"{entry.long_name} ({entry.name})"
    found = "is missing" if np.isnan(value) else f"is {value:.6g} {entry.units}"
    return f"{what}: must be {bound} on water, but {found} at row {first_row + row}, column {column}"


def in_hectopascals(name: str, least: float, largest: float) -> str:
    """The line about an air pressure all over the grid that is typical of hPa, not of Pa; "" for none."""
    if name != "air_pressure" or not HECTOPASCALS[0] <= least <= largest <= HECTOPASCALS[1]:
        return ""
    looks = f"is {least:g} to {largest:g} Pa, which look like hPa"
    return f"input.{name}: {looks}: write that unit, or multiply the values by 100"


def survey(setup: Setup) -> Extremes:
    """The extremes of depth, initial state, coefficients and rates over the whole grid."""
    config, found = setup.config, Extremes()
    for rows in fields.bands(config.grid):
        survey_band(setup, found, rows)
    for name, range_ in list(found.ranges.items()):
        if (line := in_hectopascals(name, *range_)) and name not in setup.scheme.varying:
            found.problems[name] = line
    if not found.problems:
        found.ranges["radiation_rate"] = (0.0, radiation(config, setup.scheme.forward))
    if "depth" not in found.ranges:
        found.problems["mask"] = "the domain has no water: the mask is 0 everywhere"
    elif "depth" in found.problems and config.input.depth:
        found.problems["depth"] += "; " + (
            'are they heights? then the variable needs the attribute positive = "up"'
            if found.ranges["depth"][1] < 0
            else "land is where the file has no value, or input.mask is 0; low land floods with drying.active=true"
        )
    return found


def survey_band(setup: Setup, found: Extremes, rows: np.ndarray) -> None:
    """Include one band of rows."""
    config, terms, columns = setup.config, setup.scheme.acting, np.arange(setup.shape[1])
    # One row and column more, for the faces on the north and east sides.
    wet = fields.wet(config, [*rows, rows[-1] + 1], [*columns, len(columns)])
    here_y, here_x = (slice(0, -1) if length > 1 else slice(None) for length in wet.shape)
    across_y, across_x = (slice(1, None) if length > 1 else slice(None) for length in wet.shape)
    centre = wet[here_y, here_x]
    found.include("mask", centre, np.ones((1, 1)), rows[0])
    water = {"u": centre * wet[here_y, across_x], "v": centre * wet[across_y, here_x]}
    entries = {name: entry_of(name, config.physics) for name in ("depth", "eta", "u", "v")}
    entries |= {row.name: row for term in terms for row in (*term.coefficients, *term.initial)}
    thickness = entry_of("h", config.physics)
    if setup.scheme.drying:
        entries["depth"], thickness = entries["depth"]._replace(least=None), thickness._replace(above=False)
    values = {name: fields.evaluate(config, name, rows, columns) for name in entries}
    for name, value in values.items():
        found.include(name, value, water.get(name, centre), rows[0], entries[name])
    if not {"depth", "eta"} & found.problems.keys():
        values["h"] = fields.thickness(config, values["depth"], values["eta"])
        found.include("h", values["h"], centre, rows[0], thickness)
    if found.problems:
        return
    for term in terms:
        if term.build and term.rate:
            values |= term.build(config, rows, columns)
    values |= {name: np.where(water[name] > 0, np.abs(values[name]), 0.0) for name in ("u", "v")}
    values["gravity"] = config.physics.gravity
    sizes = {name: places.centre for name, places in metrics(config.grid, rows).items() if name in ("dx", "dy")}
    rates, before = rates_of(setup.scheme, values, **sizes), found.largest("wave_rate")
    for name, rate in (sizes | rates).items():
        found.include(name, rate, centre, rows[0])
    if centre.any() and (not found.fastest or found.largest("wave_rate") > before):
        rate, there, *of_cell = np.broadcast_arrays(rates["wave_rate"], centre, values["h"], *sizes.values())
        row, column = np.unravel_index(np.argmax(np.where(there > 0, rate, -1.0)), rate.shape)
        h, dx, dy = (each[row, column] for each in of_cell)
        place = f"row {rows[0] + row}, column {column}"
        found.fastest = f"{place}, {h:.4g} m of water in a cell of {dx:.4g} by {dy:.4g} m"


#: The forward-backward stepper in a current. CURRENTS are rates of advection over those of the shortest waves.
#: SHORTER is by how much the largest time step is shorter than for waves at rest (`stability.limit`, all wavelengths).
CURRENTS = (0.0, 0.03, 0.04, 0.05, 0.1, 0.2, 0.4, 0.5, 0.7, 1.0, 4.0)
SHORTER = (1.0, 1.006, 1.033, 1.067, 1.235, 1.512, 1.997, 3.462, 4.686, 5.077, 10.17)


def slowed(waves, advection, forward: bool, xp):
    """The rate of waves at rest, s-1, whose largest time step is that of `waves` in a current, cell by cell.

    Waves of length 2 pi / k have the rate sin(k dx / 2) of the shortest waves, and sin(k dx) of advection. For most
    steppers the largest sum of both counts. The forward-backward stepper has a limit of its own for waves.
    """
    ratio = advection / xp.where(waves > 0, waves, xp.inf)
    alone = SHORTER[-1] / CURRENTS[-1] if forward else 1.0  # for advection without waves
    if forward:
        factor = xp.maximum(
            xp.interp(ratio, *(xp.asarray(column, dtype=ratio.dtype) for column in (CURRENTS, SHORTER))), alone * ratio
        )
    else:
        steep = xp.maximum(ratio, 1e-6)
        cosine = (xp.sqrt(0.25 + 8 * steep**2) - 0.5) / (4 * steep)
        factor = xp.sqrt(1 - cosine**2) * (1 + 2 * ratio * cosine)
    return xp.where(waves > 0, waves * factor, alone * advection)


def rates_of(scheme, values: dict, dx, dy) -> dict:
    """Rates of gravity waves in a current, and of the PROCESSES of terms, in each cell, s-1: {`wave_rate`: ...}.

    The current may be fast where the layer is thin. In the published jet, the largest speed and the largest thickness
    together would forbid the published time step. `values`: h, |u|, |v|, gravity, coefficients and built fields.
    """
    h, terms = values["h"], scheme.acting
    xp = h.__array_namespace__()
    waves = xp.sqrt(xp.maximum(h, 0) * (4 * values["gravity"] * (1 / dx**2 + 1 / dy**2)))
    values = values | {"h": xp.where(h > 0, h, xp.inf)}
    # Along the diagonal |u|/dx + |v|/dy; more where the current runs along an axis, and waves in all directions.
    advection = xp.sqrt(2 * ((values["u"] / dx) ** 2 + (values["v"] / dy) ** 2))
    found = {"wave_rate": slowed(waves, advection, scheme.forward, xp)}
    for process in PROCESSES:
        acting = [term for term in terms if term.rate and term.process == process]
        acting = [term for term in acting if not (scheme.drying and term.damping)]  # implicit where it is fast
        alone = (term.rate(values, dx, dy) for term in acting if term.prognostic)  # of a separate field
        together = sum(term.rate(values, dx, dy) for term in acting if not term.prognostic)
        found[f"{process}_rate"] = together + reduce(xp.maximum, alone, 0.0)
    return found
