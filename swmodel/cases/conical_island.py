"""A solitary wave wraps round a conical island: the sixth benchmark problem of the NTHMP, for tsunamis.

Physics: the wave runs up in front of the island and bends round both flanks. Its halves collide behind the island and
run up there, too. It starts where a row of gauges measured it, half its length before the toe of the island. All sides
are walls, whose reflections reach the island only after the run.

Reference: Briggs, M. J., C. E. Synolakis, G. S. Harkins and D. R. Green (1995), Pure Appl. Geophys. 144, 569-593; Liu
and others (1995), J. Fluid Mech. 302, 259-285; Ma and others (2019), doi:10.1080/19942060.2019.1642960.

Cost: 650 steps on 75 000 cells for 13 s: seconds.

Theme: Tsunamis

Command: swmodel run conical_island

Plot: swmodel plot outputs/conical_island
swmodel animate outputs/conical_island --field eta

Verification: records of four gauges and the highest water round the island, as measured in the laboratory
(`load_record`, from the files of the benchmark, NTHMP, public). The mean error of the highest water round the island is
a tenth of its largest value for waves B and C, and a fifth for A. Without dispersion the front of wave C becomes a
bore.
"""

from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from ..config.options.case import Case, option

#: Levels above still water in 1e-5 m, [row of gauges before the island, then each gauge; time]. Highest water in 1e-4 m
#: at `angles`, degrees clockwise from the +y axis; 270 is in front.
RECORDS_FILE = Path(__file__).with_name("conical_island.npz")
FIRST_TIME, RECORD_INTERVAL = 24.0, 0.04  # s, in the time of the laboratory
#: Nominal heights of the waves, m, and the highest water of the same experiments in another publication (Liu and others
#: 1995), divided by these heights, at 0, 22.5, ..., 180 degrees from the front (tables 4 to 6 of Ma and others 2019).
NOMINAL_HEIGHTS = {"A": 0.016, "B": 0.032, "C": 0.064}
RUN_UP_RATIOS = {
    "A": (2.60, 2.58, 2.52, 2.15, 1.98, 1.59, 1.53, 1.25, 2.00),
    "B": (2.70, 2.65, 2.55, 2.10, 2.00, 1.80, 1.70, 1.54, 3.18),
    "C": (2.85, 2.75, 2.58, 2.25, 1.78, 1.20, 0.81, 0.65, 1.84),
}

CENTRE = (12.96, 13.80)  # m
TOE, CREST, SLOPE = 3.6, 1.1, 4.0  # radii, m; horizontal distance over which the island rises by 1
#: {name: position (x, y), m}.
GAUGES = {"6": (9.36, 13.80), "9": (10.36, 13.80), "16": (12.96, 11.22), "22": (15.56, 13.80)}
#: {wave: (height as a fraction of the depth, x of the row of gauges, m)}.
WAVES = {"A": (0.045, 5.76), "B": (0.096, 6.82), "C": (0.181, 7.56)}


class ConicalIsland(Case):
    wave: Literal["A", "B", "C"] = option("B", "", "wave of the laboratory: heights of 0.045, 0.096 and 0.181 depths")

    grid_kinds = ("plane",)

    defaults = {
        "grid": {"nx": 250, "ny": 300, "dx": 0.1, "dy": 0.1, "periodic_x": False, "periodic_y": False},
        "physics": {"depth": 0.32, "manning": 0.01},
        "drying": {"active": True, "thickness": 2e-4},
        "time": {"cfl": 0.6},
        "run": {"days": 13.0 / 86400},
        "output": {"every": 0.5, "fields": ("eta", "h", "speed"), "maxima": ("eta",),
                   "stations": tuple({"name": name, "x": x, "y": y} for name, (x, y) in GAUGES.items())},
    }  # fmt: skip

    def depth(self, config, at):
        """`physics.depth` over the flat floor, less on the island, where it is negative above still water."""
        distance = np.hypot(at.x - CENTRE[0], at.y - CENTRE[1])
        return config.physics.depth - (TOE - np.clip(distance, CREST, TOE)) / SLOPE

    def eta(self, config, at):
        height, start = WAVES[self.wave]
        k = np.sqrt(0.75 * height) / config.physics.depth
        return height * config.physics.depth / np.cosh(k * (at.x - start)) ** 2

    def u(self, config, at):
        """The current of the solitary wave: c eta/(depth + eta), with c² = g (depth + height of the wave)."""
        height, eta, depth = WAVES[self.wave][0], self.eta(config, at), config.physics.depth
        return np.sqrt(config.physics.gravity * depth * (1 + height)) * eta / (depth + eta)


class LaboratoryRecord(NamedTuple):
    """What the laboratory measured for a wave."""

    time: np.ndarray  # s since the crest passed the row of gauges before the island
    levels: dict[str, np.ndarray]  # m, at each gauge
    angles: np.ndarray  # degrees clockwise from the +y axis
    run_up: np.ndarray  # m, height of the highest water at the angles


@cache
def load_record(wave: str) -> LaboratoryRecord:
    with np.load(RECORDS_FILE) as file:
        row, *levels = file[f"gauges_{wave}"] * 1e-5
        time = FIRST_TIME + RECORD_INTERVAL * np.arange(row.size)
        return LaboratoryRecord(
            time - time[row.argmax()],
            dict(zip(GAUGES, levels, strict=True)),
            file["angles"].astype(float),
            file[f"runup_{wave}"] * 1e-4,
        )


def liu_run_up(wave: str) -> tuple[np.ndarray, np.ndarray]:
    """Angles, degrees clockwise from the +y axis, and the highest water there of Liu and others (1995), m."""
    return 270.0 - 22.5 * np.arange(9), NOMINAL_HEIGHTS[wave] * np.array(RUN_UP_RATIOS[wave])


def run_up(config, at, max_level) -> np.ndarray:
    """The highest water at the angles of the record, m: that of the uppermost wet cell on a ray down the island.

    Args:
        max_level: the highest water in each cell, m, [y, x] at the Points of all centres; NaN where it stayed dry.
    """
    radius = np.arange(CREST, TOE, 0.25 * config.grid.dx)[:, None]
    angle = np.radians(load_record(config.case.wave).angles)
    column = np.rint((CENTRE[0] + radius * np.sin(angle) - at.x[0, 0]) / config.grid.dx).astype(int)
    row = np.rint((CENTRE[1] + radius * np.cos(angle) - at.y[0, 0]) / config.grid.dy).astype(int)
    levels_on_rays = max_level[row, column]
    return levels_on_rays[np.isfinite(levels_on_rays).argmax(axis=0), np.arange(angle.size)]
