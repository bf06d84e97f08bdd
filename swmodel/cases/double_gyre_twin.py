"""A twin experiment: the eddies of a double gyre, found again from what an altimeter and a few moorings see of them.

Physics: the `double_gyre` on a grid of 20 km. The truth is one run, five years after its start from rest, when the
eddies have forgotten the start. The first guess is the same ocean a month earlier: it has the gyres and the jet, but
not today's eddies. For twenty days an altimeter crosses the basin on tracks 180 km apart, each every five days. Nine
moorings measure currents. All observations have errors. Gravity is reduced: the altimeter observes, and the
assimilation finds, `eta`, the displacement of the interface. 3.2 m of it correspond to a sea level of 1 cm.

Reference: Le Dimet, F.-X. and O. Talagrand (1986), Variational algorithms for analysis and assimilation of
meteorological observations: theoretical aspects, Tellus 38A, 97-110.

Cost: 144 000 steps of 5 000 cells before the window, and 1 600 steps within it, often: about two minutes on two cores.

Theme: Assimilation

Command: swmodel assimilate double_gyre_twin

Plot: swmodel plot outputs/double_gyre_twin-assimilate

Known answer: the truth. The errors of interface and currents are at most a quarter of those of the first guess. This
holds from the start of the window to a month after its end, and also farther than two cells from any observation.
"""

from ..config.options.case import option
from .double_gyre import DoubleGyre


class DoubleGyreTwin(DoubleGyre):
    spinup: float = option(1800.0, "days", "from rest to the first state of the truth", ge=0)
    lead: float = option(30.0, "days", "by which the state that is taken for the first guess is older", ge=0)
    forecast: float = option(30.0, "days", "after the window", ge=0)
    repeat: float = option(5.0, "days", "after which the altimeter sees the same tracks again", gt=0)
    separation: float = option(180e3, "m", "of parallel tracks in x", gt=0)
    spacing: float = option(20e3, "m", "of observations along a track", gt=0)
    eta_error: float = option(3.2, "m", "standard deviation of the altimeter's errors, of the interface", gt=0)
    moorings: int = option(3, "", "moorings in x and in y", ge=0, le=1000)
    velocity_error: float = option(0.05, "m s-1", "standard deviation of the errors of moorings", gt=0)
    seed: int = option(1, "", "seed of the tracks' order and of the errors", ge=0)

    kinds = ("plane",)

    defaults = {
        "grid": {"nx": 50, "ny": 100, "dx": 20e3, "dy": 20e3, "periodic_x": False, "periodic_y": False},
        "physics": DoubleGyre.defaults["physics"] | {"viscosity": 300.0},
        "time": {"stepper": "ab3", "dt": 1080.0},
        "run": {"days": 20.0},
        "output": {"every": 86400.0, "fields": ["eta", "u", "v"]},
        "assimilation": {"controls": ["eta", "u", "v"], "every_steps": 20, "length": 110e3, "balanced": True,
                         "sigma_eta": 40.0, "sigma_velocity": 0.01, "outer": 6, "inner": 40,
                         "cycle_steps": 80, "localisation": 300e3},
        "ensemble": {"members": 40},
    }  # fmt: skip
