"""A river puts water into a bay: two models coupled by the Basic Model Interface, with mass closed to round-off.

    python examples/river.py [PICTURE]

The river is a linear reservoir: rain fills its catchment, dS/dt = P A - S/k, and S/k runs out. The bay is a component
of the interface (river.toml). Every ten minutes the water that has run out is added to the thickness of the three
cells of the mouth. A tracer is the share of river water: where it comes in, the share is that of the mixture.
"""

import sys
from pathlib import Path

import numpy as np

from swmodel import bmi

DEPTH, SHARE = "sea_water__depth", "sea_water_river__concentration"
STRESS = "sea_surface_air_flow__y_component_of_shear_stress"
HOURS, EXCHANGE = 48, 600.0


class River:
    """A linear reservoir: its water, m3, after rain on its catchment, and what has run out since it was last asked.

    Its methods have the names of the interface; a river that has all of them takes its place.
    """

    def initialize(self, area: float = 3e8, residence: float = 6 * 3600.0) -> None:
        self.area, self.residence = area, residence
        self.water = self.rain = self.out = self.time = 0.0

    def update_until(self, time: float) -> None:
        """Exact in the mean over an interval with constant rain: 20 mm in the first six hours, then none."""
        interval = time - self.time
        rain = self.area * 0.02 / (6 * 3600) * interval if self.time < 6 * 3600 else 0.0
        left = (self.water + rain) * np.exp(-interval / self.residence)
        self.rain, self.out, self.water, self.time = self.rain + rain, self.water + rain - left, left, time

    def get_value(self, name: str, dest: np.ndarray) -> np.ndarray:
        dest[:] = {"channel_exit_water__volume": self.out}[name]
        return dest


def couple(hours: float = HOURS, tell=print):
    """Couple both models; returns the bay, and the error of the water balance as a part of the bay."""
    river, bay = River(), bmi.Model(forcings=["wind_y"])
    river.initialize()
    bay.initialize(str(Path(__file__).with_name("river.toml")))
    rows, columns = bay.get_grid_shape(0, np.empty(2, int))
    mouth = np.array([7, 8, 9]) * columns  # three cells of the western coast
    offshore = bay.get_grid_x(0, np.empty(columns))
    bay.set_value(STRESS, np.tile(0.1 * (1 - offshore / offshore.max()), rows))  # along the coast, weaker away from it
    depth, share = bay.get_value_ptr(DEPTH), bay.get_value_ptr(SHARE)
    area = bay.get_value("model_grid_cell__area", np.empty(rows * columns))
    begin = area @ depth
    for exchange in range(1, round(hours * 3600 / EXCHANGE) + 1):
        river.update_until(exchange * EXCHANGE)
        come = river.get_value("channel_exit_water__volume", np.empty(1)) / area[mouth].sum()
        share[mouth] = (share[mouth] * depth[mouth] + come) / (depth[mouth] + come)
        depth[mouth] += come
        bay.update_until(exchange * EXCHANGE)
        if exchange % 36 == 0:
            gained, fresh = area @ (depth - begin / area.sum()), area @ (share * depth)
            tell(f"hour {exchange // 6:2d}: {gained:.6e} m3 more in the bay, {fresh:.6e} m3 of it marked")
    error = (area @ depth - begin + river.water - river.rain) / begin
    tell(f"error of the balance of water: {error:.1e} of the bay")
    return bay, error


if __name__ == "__main__":
    bay, _ = couple()
    if sys.argv[1:]:
        bay.simulation.plot("river", arrows=True).savefig(sys.argv[1])
