"""The tsunami of Okushiri, 1993, in a narrow valley at Monai: the seventh benchmark problem of the NTHMP.

Physics: a laboratory model at 1:400. A wave enters from the west, first a trough, then a crest. It passes a small
island, rises against the coast and shoots up a narrow gully, where the real tsunami reached 32 m. The west is open, so
that the incident wave comes in and the reflected wave goes out. The other sides are walls.

Reference: Matsuyama, M. and H. Tanaka (2001), Proc. International Tsunami Symposium 2001, session 7, paper 7-21;
Synolakis and others (2007), NOAA Tech. Memo. OAR PMEL-135.

Cost: 7920 steps on 95 892 cells for 22.5 s: one to two minutes on two cores; with cells twice as large, an eighth.

Theme: Tsunamis

Command: swmodel run monai

Plot: swmodel plot outputs/monai
swmodel animate outputs/monai --field eta

Verification: the records of gauges 5, 7 and 9 (`load_records`), and the highest water in six experiments at three
places (RUN_UP_RANGES). Bed, incident wave and records are from the files of the benchmark (NTHMP, public).
"""

from functools import cache
from pathlib import Path

import numpy as np

from ..config.options.case import Case, option
from ..ocean.depth_table import DepthTable

#: The arrays of the file: `depth`, 1e-5 m, as differences along each row; `inflow`, the level of the incident wave, m,
#: and `gauges`, the levels at the gauges, 1e-5 m, every RECORD_INTERVAL.
DATA_FILE = Path(__file__).with_name("monai.npz")
#: Distance between the depths, m, and time between records, s.
BED_SPACING, RECORD_INTERVAL = 0.014, 0.05
#: {name: position (x, y), m}.
GAUGES = {"5": (4.521, 1.196), "7": (4.521, 1.696), "9": (4.521, 2.196)}
#: {position (x, y), m: smallest and largest value of the highest water in the experiments, m}.
RUN_UP_RANGES = {(5.1575, 1.88): (0.08, 0.10), (5.03, 2.2062): (0.0525, 0.0675), (4.9975, 2.32): (0.0525, 0.0575)}


class Monai(Case):
    height: float = option(1.0, "1", "height of the incident wave, as a fraction of that in the laboratory")
    eta_error: float = option(1e-3, "m", "standard deviation of the gauges' errors in `swmodel assimilate`", gt=0)
    seed: int = option(1, "", "seed of the gauges' errors", ge=0)

    grid_kinds = ("plane",)

    defaults = {
        "grid": {"nx": 393, "ny": 244, "dx": BED_SPACING, "dy": BED_SPACING, "periodic_x": False, "periodic_y": False,
                 "origin": "centre"},
        "physics": {"depth": 0.13535, "manning": 0.01},
        "drying": {"active": True, "thickness": 1e-4},
        "open_boundaries": {"sides": ("west",)},
        "forcing": {"every": RECORD_INTERVAL},
        "time": {"cfl": 0.4},
        "run": {"days": 22.5 / 86400},
        "output": {"every": 0.5, "fields": ("eta", "h", "speed"), "maxima": ("eta",),
                   "stations": tuple({"name": name, "x": x, "y": y} for name, (x, y) in GAUGES.items())},
        "assimilation": {"controls": ["incident_wave"], "every_steps": 6, "sigma_incident_wave": 0.02,
                         "correlation_time": 1.2, "outer": 8, "inner": 40},
    }  # fmt: skip

    def prior_config(self, config):
        """The configuration without the wave, which the first guess does not know."""
        return config.model_copy(update={"case": self.model_copy(update={"height": 0.0})})

    def depth(self, config, at):
        """The depth from the table, bilinear between its points; negative on land."""
        return sum(weight * depth for depth, weight in load_bed().neighbours(at.y / BED_SPACING, at.x / BED_SPACING))

    def boundary_level(self, config, at, t):
        return self.height * np.interp(t, *load_incident_wave()) + 0 * at.x

    def boundary_transport_x(self, config, at, t):
        """The transport of the incident wave, 2 h (sqrt(g h) - sqrt(g depth)); see `gradients.incident_wave`."""
        depth, g = config.physics.depth, config.physics.gravity
        h = depth + self.boundary_level(config, at, t)
        return 2 * h * (np.sqrt(g * h) - np.sqrt(g * depth))


@cache
def load_bed() -> DepthTable:
    """Depths, m, every BED_SPACING in y and x from the corner (0, 0) on."""
    with np.load(DATA_FILE) as file:
        return DepthTable(np.cumsum(file["depth"], axis=1, dtype=int) * 1e-5)


@cache
def load_incident_wave() -> tuple[np.ndarray, np.ndarray]:
    """Time, s, and sea level of the incident wave at x = 0, m."""
    with np.load(DATA_FILE) as file:
        level = file["inflow"].astype(float)
    return RECORD_INTERVAL * np.arange(level.size), level


def load_records() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Time, s, and sea level at each gauge, m."""
    with np.load(DATA_FILE) as file:
        levels = file["gauges"] * 1e-5
    return RECORD_INTERVAL * np.arange(levels.shape[1]), dict(zip(GAUGES, levels, strict=True))
