"""Solitary waves of the laboratory run up a plane beach: the fourth benchmark problem of the NTHMP, for tsunamis.

Physics: as in the case `beach`, but with bottom friction, and the wave may break. Waves higher than 0.045 depths
steepen into a bore before they reach the shore, lose energy there, and climb the land as a thin sheet. Lower waves turn
without breaking.

Reference: Synolakis, C. E. (1987), J. Fluid Mech. 185, 523-545; Synolakis and others (2007), NOAA Tech. Memo.
OAR PMEL-135.

Cost: 2380 steps on 4000 cells for 70 sqrt(depth/g): seconds.

Theme: Tsunamis

Command: swmodel run laboratory_beach

Plot: swmodel plot outputs/laboratory_beach/stations.nc

Verification: profiles of waves of 0.0185 depths, which do not break, and of 0.3 depths, which do (`load_profiles`), and
the run-up of 77 waves (`load_run_up`), from the files of the benchmark (NTHMP, public). Without dispersion a high wave
breaks too early: on its way to the shore its crest is up to a third too low. The run-up is right to 6 % (tried for six
heights, near which 25 of the 77 lie).
"""

from pathlib import Path
from typing import ClassVar

import numpy as np

from ..config.options.case import option
from .beach import FAR_GAUGE, NEAR_GAUGE, TIME_UNIT, Beach

#: `profiles_H` [3, points] of the waves of H depths: times in sqrt(depth/g), distances east of the still-water line in
#: 1e-3 depths, levels in 1e-5 depths; `run_up` [2, waves]: heights of waves and of their run-up in 1e-3 depths.
DATA_FILE = Path(__file__).with_name("laboratory_beach.npz")
#: Heights of the waves with profiles, and height above which waves break, depths; duration of a run, sqrt(depth/g).
PROFILE_HEIGHTS, BREAKING_HEIGHT, DURATION = (0.0185, 0.3), 0.045, 70


class LaboratoryBeach(Beach):
    height: float = option(0.3, "1", "height of the wave as a fraction of the depth", gt=0)

    land_fraction: ClassVar[float] = 1 / 5  # for a run-up of one depth

    defaults = Beach.defaults | {
        "grid": Beach.defaults["grid"] | {"nx": 1000},
        "physics": {"depth": 1.0, "manning": 0.01},
        "run": {"days": DURATION * TIME_UNIT / 86400, "dtype": "float64"},
        "output": Beach.defaults["output"] | {
            "stations": tuple({"name": f"{x} off", "x": 20.0 + x, "y": 0.2} for x in (NEAR_GAUGE, FAR_GAUGE)),
        },
    }  # fmt: skip


def load_profiles(height: float) -> dict[float, tuple[np.ndarray, np.ndarray]]:
    """{time in sqrt(depth/g): (distance east of the still-water line, level)}, in depths, of a wave of this height."""
    with np.load(DATA_FILE) as file:
        times, x, level = file[f"profiles_{height:g}"]
    return {float(time): (x[times == time] * 1e-3, level[times == time] * 1e-5) for time in np.unique(times)}


def load_run_up() -> tuple[np.ndarray, np.ndarray]:
    """Heights of waves and of their run-up, in depths."""
    with np.load(DATA_FILE) as file:
        height, run_up = file["run_up"] * 1e-3
    return height, run_up
