"""Makes the relief that the package ships, half a degree, from a finer one, and compares it with the file there.

python tools/relief.py FILE [--write]

Only with --write it replaces the relief in swmodel/.

Heights of ETOPO1 bedrock (NOAA NCEI; Amante and Eakins 2009, doi 10.7289/V5C8276M; public domain) on nodes every 0.1
degrees, with the share of sea of global-land-mask 1.0.0 (MIT licence; from NOAA's GLOBE, 30 arc seconds), in which
lakes are land. Each node of the half degree has the mean over the area of its cell. Where straits of the finer relief
connect seas through cells with less than half sea, such as Gibraltar, these are marked.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack

import netCDF4
import numpy as np

from swmodel.files.relief.average import is_sea, overlaps
from swmodel.files.relief.source import SHIPPED, STRAIT, open_relief
from swmodel.files.relief.straits import connected

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


def compare(height: np.ndarray, sea: np.ndarray, strait: np.ndarray) -> str:
    """How many heights, shares of sea and straits of the package differ from these."""
    with netCDF4.Dataset(SHIPPED) as data:
        kept = data["z"][...], data["sea"][...], data[STRAIT][...]
    made = height, 100 * sea, strait
    changed = [int((np.rint(new) != old).sum()) for new, old in zip(made, kept, strict=True)]
    heights, shares, straits = changed
    return f"{SHIPPED}: {heights} heights, {shares} shares of sea and {straits} straits of {height.size} differ"


def write(lon, lat, height: np.ndarray, sea: np.ndarray, strait: np.ndarray) -> None:
    """Write the relief into its place in the package."""
    with netCDF4.Dataset(SHIPPED, "w") as data:
        data.setncatts(
            {
                "Conventions": "CF-1.12",
                "title": "Relief of the Earth, half a degree",
                "source": __doc__.split("\n\n")[3],
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="of the finer relief")
    parser.add_argument("--write", action="store_true", help=f"replace {SHIPPED}")
    asked = parser.parse_args()
    made = coarse(asked.file)
    print(f"{compare(*made[2:])}; {'replaced' if asked.write else '--write replaces it'}")
    if asked.write:
        write(*made)
