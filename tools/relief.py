"""Makes the relief that the package ships, half a degree, from a finer one, and compares it with the file there.

python tools/relief.py FILE [--write]

Only with --write it replaces the relief in swmodel/.

Heights of ETOPO1 bedrock (NOAA NCEI; Amante and Eakins 2009, doi 10.7289/V5C8276M; public domain) on nodes every 0.1
degrees, with the share of sea of global-land-mask 1.0.0 (MIT licence; from NOAA's GLOBE, 30 arc seconds), in which
lakes are land. Each node of the half degree has the mean over the area of its cell.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack

import netCDF4
import numpy as np

from swmodel.cli.relief.average import overlaps
from swmodel.cli.relief.source import SHIPPED, open_relief

STEP = 0.5
LAND = {"units": "percent", "standard_name": "sea_area_fraction", "long_name": "share of the cell that is sea"}


def coarse(source: str) -> tuple[np.ndarray, ...]:
    """Longitudes, latitudes, heights and shares of sea on the nodes of the half degree."""
    lon, lat = np.arange(-180, 180, STEP), np.arange(-90, 90 + STEP / 2, STEP)
    edges = [np.append(lon - STEP / 2, lon[-1] + STEP / 2), np.clip(np.append(lat - STEP / 2, 90.25), -90, 90)]
    with ExitStack() as stack:
        relief = open_relief(source, stack)
        (of_x, columns), (of_y, rows) = (overlaps(relief, *pair) for pair in zip(("lon", "lat"), edges, strict=True))
        fields = [relief.factor * relief.read(relief.height, rows, columns), relief.window(rows, columns)[1]]
    area = of_y @ np.ones_like(fields[0]) @ of_x.T
    return lon, lat, *(of_y @ values @ of_x.T / area for values in fields)


def compare(height: np.ndarray, sea: np.ndarray) -> str:
    """How many heights and shares of sea of the package differ from these."""
    with netCDF4.Dataset(SHIPPED) as data:
        kept = data["z"][...], data["sea"][...]
    changed = [int((np.rint(made) != old).sum()) for made, old in zip((height, 100 * sea), kept, strict=True)]
    return f"{SHIPPED}: {changed[0]} heights and {changed[1]} shares of sea of {height.size} differ"


def write(lon, lat, height: np.ndarray, sea: np.ndarray) -> None:
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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="of the finer relief")
    parser.add_argument("--write", action="store_true", help=f"replace {SHIPPED}")
    asked = parser.parse_args()
    made = coarse(asked.file)
    print(f"{compare(*made[2:])}; {'replaced' if asked.write else '--write replaces it'}")
    if asked.write:
        write(*made)
