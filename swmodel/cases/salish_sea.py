"""The tide in the straits between Vancouver Island and the mainland: the Salish Sea.

Physics: the tide of the Pacific enters through the Strait of Juan de Fuca. It fills the Strait of Georgia through the
passages between the islands, which slow it down. The western boundary is open, and so is the part of the southern one
that lies in the ocean. Puget Sound is cut off at the southern boundary, the Strait of Georgia at the northern one.
Coasts, islands and depths come from the relief in the sample data of matplotlib; the cells of the model measure 1/30 by
1/45 degree. Drag is quadratic.

Reference: Foreman and others (1995), J. Geophys. Res. 100, 721-740, for the tide of these straits.

Cost: 21 600 steps of rk4 on 10 800 cells for four days: about ten seconds on two cores.

Theme: Tides and storms

Command: swmodel run salish_sea -s time.start=2012-03-01 -s open_boundaries.nodal=false -s output.harmonics=M2,K1
-s output.harmonics_from="2 days"

Plot: swmodel plot outputs/salish_sea/harmonics.nc

Verification: a rough comparison with observations. The semidiurnal tide has a minimum near Victoria, about half of its
height in the ocean. In the Strait of Georgia it is higher again, and hours later. The diurnal tide grows on its way in.
"""

import functools
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ..config.options.case import Case, option
from ..errors import ConfigError

#: Water in the southernmost row of the relief belongs to the ocean before this column, to Puget Sound from it on.
OCEAN_COLUMNS = 60

#: A cell is wet if the water (0 or 1 at points of the relief), interpolated to its centre, exceeds this; the limit is
#: low because some passages are narrower than a cell.
MIN_WATER_FRACTION = 0.3


class SalishSea(Case):
    min_depth: float = option(15.0, "m", "least depth of water", gt=0)
    max_depth: float = option(400.0, "m", "largest depth; deeper water gets this one, for a longer time step", gt=0)

    grid_kinds = ("latlon",)

    defaults = {
        "grid": {"kind": "latlon", "periodic_x": False, "nx": 120, "ny": 90, "west": 234.0, "east": 238.0,
                 "south": 48.0, "north": 50.0},
        "physics": {"quadratic_drag": 1e-3, "viscosity": 5.0},
        "open_boundaries": {"sides": ("west", "south"), "constituents": ("M2", "K1"), "amplitude": (0.8, 0.5)},
        "time": {"stepper": "rk4", "cfl": 0.6},
        "run": {"days": 4.0},
        "output": {"every": 3600.0},
    }  # fmt: skip

    def depth(self, config, at):
        return np.clip(-interpolate(load_relief()[2], at), config.case.min_depth, config.case.max_depth)

    def mask(self, config, at):
        return (interpolate(connected_water(), at) > MIN_WATER_FRACTION).astype(float)


@functools.cache
def load_relief():
    """Longitudes [x], latitudes [y], degrees, and heights [y, x], m, of the sample data. Does not import matplotlib."""
    spec = find_spec("matplotlib")
    if spec is None or spec.origin is None:
        raise ConfigError(["the case salish_sea needs matplotlib"])
    path = Path(spec.origin).parent / "mpl-data" / "sample_data" / "topobathy.npz"
    if not path.exists():
        raise ConfigError([f"the case salish_sea needs the sample data of matplotlib: there is no {path}"])
    with np.load(path) as data:
        return data["longitude"], data["latitude"], data["topo"].astype(float)


@functools.cache
def connected_water():
    """1 where the relief is water connected to the ocean in the south-west, 0 elsewhere."""
    from scipy import ndimage

    is_water = load_relief()[2] < 0
    is_water[0, OCEAN_COLUMNS:] = False
    basins, _ = ndimage.label(is_water)
    return (basins == basins[0, 0]).astype(float)


def interpolate(values, at):
    """Values [y, x] of the relief's points, interpolated bilinearly to Points; beyond the edge, values at the edge."""
    lon, lat, _ = load_relief()
    column, row = (
        np.interp(position, axis, np.arange(axis.size)) for position, axis in ((at.lon % 360, lon), (at.lat, lat))
    )
    i, j = np.minimum(column.astype(int), lon.size - 2), np.minimum(row.astype(int), lat.size - 2)
    column_weight, row_weight = column - i, row - j
    southern_values = (1 - column_weight) * values[j, i] + column_weight * values[j, i + 1]
    return (1 - row_weight) * southern_values + row_weight * (
        (1 - column_weight) * values[j + 1, i] + column_weight * values[j + 1, i + 1]
    )
