"""A twin experiment: the eddies of a double gyre, reconstructed from observations by an altimeter and a few moorings.

Physics: the `double_gyre` on a grid of 20 km. The truth is a run five years after its start from rest, when the eddies
no longer depend on the start. The first guess is the same ocean a month earlier: it has the gyres and the jet, but not
the current eddies. For twenty days an altimeter crosses the basin along tracks 180 km apart, each once in five days.
Nine moorings measure currents. All observations have errors. Gravity is reduced: the altimeter observes, and the
assimilation finds, `eta`, the displacement of the interface, of which 3.2 m correspond to 1 cm of sea level.

Reference: Le Dimet, F.-X. and O. Talagrand (1986), Variational algorithms for analysis and assimilation of
meteorological observations: theoretical aspects, Tellus 38A, 97-110.

Cost: 144 000 steps on 5 000 cells before the window, then many runs of 1 600 steps: about two minutes on two cores.

Theme: Assimilation

Command: swmodel assimilate double_gyre_twin

Plot: swmodel plot outputs/double_gyre_twin-assimilate

Verification: the truth. The errors of interface and currents are about a quarter of those of the first guess or less,
from the start of the window to a month after its end, and also in cells more than two cells away from any observation.
"""

from ..config.options.case import option
from .double_gyre import DoubleGyre


class DoubleGyreTwin(DoubleGyre):
    spinup: float = option(1800.0, "days", "time from rest to the start of the window", ge=0)
    lead: float = option(30.0, "days", "age of the state that is taken as first guess", ge=0)
    forecast: float = option(30.0, "days", "length of the forecast after the window", ge=0)
    repeat: float = option(5.0, "days", "repeat period of the altimeter's tracks", gt=0)
    separation: float = option(180e3, "m", "separation of parallel tracks in x", gt=0)
    spacing: float = option(20e3, "m", "spacing of observations along a track", gt=0)
    eta_error: float = option(3.2, "m", "standard deviation of the altimeter's errors in the interface", gt=0)
    moorings: int = option(3, "", "number of moorings along x and along y", ge=0, le=1000)
    velocity_error: float = option(0.05, "m s-1", "standard deviation of the moorings' errors", gt=0)
    seed: int = option(1, "", "seed of the order of tracks and of the errors", ge=0)

    grid_kinds = ("plane",)

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
