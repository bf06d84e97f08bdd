"""A case file of a twin experiment: gauges determine the initial sea level of a tsunami that floods a flat coast."""

import numpy as np

from swmodel.config.options.case import Case, option

GAUGES = tuple({"name": f"{x}-{y}", "x": 1e3 * x, "y": 1e3 * y} for x in (6, 8, 9.5) for y in (1, 3, 5))


class FloodedCoast(Case):
    height: float = option(2.0, "m", "height of the initial sea level")
    eta_error: float = option(0.01, "m", "standard deviation of the errors of the gauges")
    seed: int = option(1, "", "seed of the errors of the gauges")

    defaults = {
        "grid": {"nx": 30, "ny": 13, "dx": 500.0, "dy": 500.0, "periodic_x": False, "periodic_y": False},
        "physics": {"depth": 40.0, "manning": 0.02},
        "drying": {"active": True, "thickness": 0.01},
        "run": {"days": 900 / 86400, "dtype": "float64"},
        "output": {"every": 300.0, "stations": GAUGES},
        "assimilation": {"controls": ["eta"], "sigma_eta": 1.0, "length": 2000.0, "outer": 2, "inner": 8},
    }  # fmt: skip

    def depth(self, config, at):
        return np.interp(at.x, (5e3, 10e3, 15e3), (config.physics.depth, 2.0, -3.0)) + 0 * at.y

    def eta(self, config, at):
        squared_distance = (at.x - 4e3) ** 2 + (at.y - 3e3) ** 2
        return np.maximum(self.height * np.exp(-squared_distance / (2 * 1.5e3**2)), -self.depth(config, at))

    def prior_config(self, config):
        return config.model_copy(update={"case": self.model_copy(update={"height": 0.0})})
