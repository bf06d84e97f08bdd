"""Makes the relief that the package ships, half a degree, from a finer one.

python tools/relief.py FILE

Heights of ETOPO1 bedrock (NOAA NCEI; Amante and Eakins 2009, doi 10.7289/V5C8276M; public domain) on nodes every 0.1
degrees, with the share of sea of global-land-mask 1.0.0 (MIT licence; from NOAA's GLOBE, 30 arc seconds), in which
lakes are land. Each node of the half degree has the mean over the area of its cell. Where straits of the finer relief
connect seas through cells with less than half sea, such as Gibraltar, these are marked.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack

import netCDF4
import numpy as np

from swmodel.cli.relief.average import is_sea, overlaps
from swmodel.cli.relief.source import SHIPPED, STRAIT, open_relief
from swmodel.cli.relief.straits import connected

STEP = 0.5

#: Places along each side of a cell, at which the finer relief is asked for straits.
PLACES = 5
FLAGS = np.array([0, 1], "u1")
LAND = {"units": "percent", "standard_name": "sea_area_fraction", "long_name": "share of the cell that is sea"}


def coarse(source: str) -> tuple[np.ndarray, ...]:
    """Longitudes, latitudes, heights, shares of sea and straits on the nodes of the half degree."""
    lon, lat = np.arange(-180, 180, STEP), np.arange(-90, 90 + STEP / 2, STEP)
    edges = [np.append(lon - STEP / 2, lon[-1] + STEP / 2), np.clip(np.append(lat - STEP / 2, 90.25), -90, 90)]
    with ExitStack() as stack:
        relief = open_relief(source, stack)
        (of_x, columns), (of_y, rows) = (overlaps(relief, *pair) for pair in zip(("lon", "lat"), edges, strict=True))
        fields = [relief.factor * relief.read(relief.height, rows, columns), relief.window(rows, columns)[1]]
        within = STEP * (np.arange(PLACES) - (PLACES - 1) / 2) / PLACES
        x, y = (np.add.outer(nodes, within).ravel() for nodes in (lon, lat))
        places = is_sea(relief, *np.broadcast_arrays(x, np.clip(y, -90, 90)[:, None]))
    area = of_y @ np.ones_like(fields[0]) @ of_x.T
    height, sea = (of_y @ values @ of_x.T / area for values in fields)
    wet, _ = connected(sea >= 0.5, sea, places.reshape(len(lat), PLACES, len(lon), PLACES), True)
    return lon, lat, height, sea, wet & (sea < 0.5)


def write(source: str) -> None:
    """Write the relief into its place in the package."""
    lon, lat, height, sea, strait = coarse(source)
    with netCDF4.Dataset(SHIPPED, "w") as data:
        data.setncatts(
            {
                "Conventions": "CF-1.12",
                "title": "Relief of the Earth, half a degree",
                "source": __doc__.split("\n\n")[2],
            }
        )
        for name, values, axis in (("lat", lat, "latitude"), ("lon", lon, "longitude")):
            data.createDimension(name, len(values))
            made = data.createVariable(name, "f4", (name,), fill_value=False)
            made.setncatts({"standard_name": axis, "units": f"degrees_{'north' if name == 'lat' else 'east'}"})
            made[:] = values
        packed = {"zlib": True, "complevel": 9, "shuffle": True, "fill_value": False}
        made = data.createVariable("z", "i2", ("lat", "lon"), **packed)
        made.setncatts(
            {"standard_name": "surface_altitude", "units": "m", "positive": "up", "long_name": "height of the bedrock"}
        )
        made[:] = np.rint(height)
        made = data.createVariable("sea", "u1", ("lat", "lon"), **packed)
        made.setncatts(LAND)
        made[:] = np.rint(100 * sea)
        made = data.createVariable(STRAIT, "u1", ("lat", "lon"), **packed)
        made.setncatts(
            {"long_name": "less than half sea, but connects seas", "flag_values": FLAGS, "flag_meanings": "no yes"}
        )
        made[:] = strait


if __name__ == "__main__":
    write(sys.argv[1])
