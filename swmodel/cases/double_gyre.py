"""A wind-driven double gyre: two basin-wide gyres and, between them, an eastward jet that sheds eddies.

Physics: the layer above the thermocline of a mid-latitude ocean, 500 m thick, over a deep layer at rest. Gravity is
reduced, so that the Rossby radius is realistic, 40 to 80 km. The wind blows to the west in the south and the
north, and to the east in between. It drives an anticyclonic gyre in the south and a cyclonic one in the north. Their
western boundary currents meet in a jet, which meanders and breaks up. The run starts from rest, except for a small wave
on the interface that makes the two gyres differ from the first day on. `eta` is the downward displacement of the
interface; 316 m of it correspond to 1 m of sea level.

Reference: Jiang, S., F.-F. Jin and M. Ghil (1995), Multiple equilibria, periodic, and aperiodic solutions in a
wind-driven, double-gyre, shallow-water model, J. Phys. Oceanogr. 25, 764-786; similar, but here with less viscosity.

Cost: 175 000 steps on 20 000 cells for five years: about half a minute on two cores. A grid of 20 km, `-s grid.nx=50
-s grid.ny=100 -s grid.dx=20e3 -s grid.dy=20e3 -s physics.viscosity=300`, takes a third of that.

Theme: Eddies and gyres

Command: swmodel run double_gyre

Plot: swmodel plot outputs/double_gyre --field eta --field speed
swmodel animate outputs/double_gyre --field zeta

Verification: eta is positive on average in the southern gyre and negative in the northern one. With a wind so weak that
the gyres become steady (0.005 Pa), they are antisymmetric, and the transport in their interior is Sverdrup's
(`sverdrup_gyres` of `swmodel verify`). The work of the wind equals the change in energy plus the losses to drag and
friction (`energy_budget_of_a_gyre`).
"""

import numpy as np

from ..config.options.case import Case, option


class DoubleGyre(Case):
    wind: float = option(0.1, "Pa", "amplitude of the wind stress")
    perturbation: float = option(1.0, "m", "amplitude of the initial wave on the interface")

    defaults = {
        "grid": {"nx": 100, "ny": 200, "dx": 10e3, "dy": 10e3, "periodic_x": False, "periodic_y": False},
        "physics": {"gravity": 0.031, "reduced_gravity": True, "depth": 500.0, "f0": 5e-5, "beta": 2e-11,
                    "viscosity": 100.0, "linear_drag": 5e-8},
        "run": {"days": 1825.0},
        "output": {"every": 30 * 86400.0, "fields": ["h", "u", "v", "eta", "zeta"]},
    }  # fmt: skip

    def wind_x(self, config, at):
        return -self.wind * np.cos(2 * np.pi * at.from_south / at.length_y)

    def eta(self, config, at):
        shape = np.sin(2 * np.pi * at.from_west / at.length_x) * np.sin(np.pi * at.from_south / at.length_y)
        return self.perturbation * shape
