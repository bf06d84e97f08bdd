"""A river that flows into a bay: two models, coupled by the Basic Model Interface, that conserve mass to round-off.

    python examples/river.py [PICTURE]

The river is a linear reservoir. Rain P on the area A of its catchment fills it, and its water S runs out with the
residence time k: dS/dt = P A - S/k. The bay is this model, configured by river.toml, behind the interface. Every ten
minutes the water that has run out is added to the thickness of three cells at the mouth. A tracer is the fraction of
river water; in these cells it becomes that of the mixture.
"""

import sys
from pathlib import Path

import numpy as np

from swmodel import bmi

THICKNESS_NAME, RIVER_TRACER_NAME = "sea_water__depth", "sea_water_river__concentration"
WIND_STRESS_NAME = "sea_surface_air_flow__y_component_of_shear_stress"
HOURS, EXCHANGE_SECONDS = 48, 600.0


class River:
    """A linear reservoir: its water after rain on its catchment, and the outflow of the last update, m3.

    Its methods have the names of the interface, so that a river with the full interface can replace it.
    """

    def initialize(self, area: float = 3e8, residence: float = 6 * 3600.0) -> None:
        self.area, self.residence = area, residence
        self.water = self.total_rain = self.outflow = self.time = 0.0

    def update_until(self, time: float) -> None:
        """Advance with 20 mm of rain in the first six hours, then none; the rain of an interval falls at its start."""
        interval = time - self.time
        rain = self.area * 0.02 / (6 * 3600) * interval if self.time < 6 * 3600 else 0.0
        remaining = (self.water + rain) * np.exp(-interval / self.residence)
        self.total_rain, self.outflow, self.water, self.time = (
            self.total_rain + rain,
            self.water + rain - remaining,
            remaining,
            time,
        )

    def get_value(self, name: str, dest: np.ndarray) -> np.ndarray:
        dest[:] = {"channel_exit_water__volume": self.outflow}[name]
        return dest


def couple(hours: float = HOURS, log=print):
    """Couple both models; returns the bay, and the error of the water balance as a fraction of the bay's volume."""
    river, bay = River(), bmi.Model(forcings=["wind_y"])
    river.initialize()
    bay.initialize(str(Path(__file__).with_name("river.toml")))
    rows, columns = bay.get_grid_shape(0, np.empty(2, int))
    mouth = np.array([7, 8, 9]) * columns  # three cells of the western coast
    offshore = bay.get_grid_x(0, np.empty(columns))
    bay.set_value(
        WIND_STRESS_NAME, np.tile(0.1 * (1 - offshore / offshore.max()), rows)
    )  # wind along the coast, weaker away from it
    depth, river_fraction = bay.get_value_ptr(THICKNESS_NAME), bay.get_value_ptr(RIVER_TRACER_NAME)
    area = bay.get_value("model_grid_cell__area", np.empty(rows * columns))
    initial_volume = area @ depth
    for exchange_number in range(1, round(hours * 3600 / EXCHANGE_SECONDS) + 1):
        river.update_until(exchange_number * EXCHANGE_SECONDS)
        added_thickness = river.get_value("channel_exit_water__volume", np.empty(1)) / area[mouth].sum()
        river_fraction[mouth] = (river_fraction[mouth] * depth[mouth] + added_thickness) / (
            depth[mouth] + added_thickness
        )
        depth[mouth] += added_thickness
        bay.update_until(exchange_number * EXCHANGE_SECONDS)
        if exchange_number % 36 == 0:
            volume_gain, river_volume = area @ (depth - initial_volume / area.sum()), area @ (river_fraction * depth)
            log(
                f"hour {exchange_number // 6:2d}: {volume_gain:.6e} m3 more in the bay, {river_volume:.6e} m3 of "
                "river water"
            )
    error = (area @ depth - initial_volume + river.water - river.total_rain) / initial_volume
    log(f"error of the water balance: {error:.1e} of the bay's volume")
    return bay, error


if __name__ == "__main__":
    bay, _ = couple()
    if sys.argv[1:]:
        bay.simulation.plot("river", arrows=True).savefig(sys.argv[1])
