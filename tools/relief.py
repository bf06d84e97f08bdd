"""Make the half-degree relief of the package from a finer one, and compare it with the existing file.

python tools/relief.py FILE [--write]

With --write it replaces the relief in swmodel/.

Heights of ETOPO1 bedrock (NOAA NCEI; Amante and Eakins 2009, doi 10.7289/V5C8276M; public domain) on nodes every 0.1
degrees, with the share of sea from global-land-mask 1.0.0 (MIT licence; from NOAA's GLOBE, 30 arc seconds), in which
lakes are land. The value at each node of the half-degree relief is the mean over the area of its cell. Cells that are
less than half sea, but in which straits of the finer relief connect seas, such as Gibraltar, are marked.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack

import netCDF4
import numpy as np

from swmodel.files.relief.average import at_nearest_points, overlap_weights
from swmodel.files.relief.source import PACKAGE_RELIEF, STRAIT_NAME, open_relief
from swmodel.files.relief.straits import connect_seas

STEP_DEGREES = 0.5

#: Number of samples of the finer relief along each edge of a cell, to find straits.
SAMPLES_PER_SIDE = 5
FLAG_VALUES = np.array([0, 1], "u1")
SEA_FRACTION_ATTRIBUTES = {
    "units": "percent",
    "standard_name": "sea_area_fraction",
    "long_name": "share of the cell that is sea",
}


def coarsen_relief(source: str) -> tuple[np.ndarray, ...]:
    """Longitudes, latitudes, heights (m), shares of sea and straits on the nodes of the half-degree relief."""
    lon, lat = np.arange(-180, 180, STEP_DEGREES), np.arange(-90, 90 + STEP_DEGREES / 2, STEP_DEGREES)
    edges = [
        np.append(lon - STEP_DEGREES / 2, lon[-1] + STEP_DEGREES / 2),
        np.clip(np.append(lat - STEP_DEGREES / 2, 90.25), -90, 90),
    ]
    with ExitStack() as stack:
        relief = open_relief(source, stack)
        (x_overlaps, columns), (y_overlaps, rows) = (
            overlap_weights(relief, *pair) for pair in zip("xy", edges, strict=True)
        )
        fields = [relief.metres_per_unit * relief.read(relief.height, rows, columns), relief.window(rows, columns)[1]]
        sample_offsets = STEP_DEGREES * (np.arange(SAMPLES_PER_SIDE) - (SAMPLES_PER_SIDE - 1) / 2) / SAMPLES_PER_SIDE
        x, y = (np.add.outer(nodes, sample_offsets).ravel() for nodes in (lon, lat))
        sea_samples = at_nearest_points(relief.is_sea, relief, x, np.clip(y, -90, 90)[:, None])
    area = y_overlaps @ np.ones_like(fields[0]) @ x_overlaps.T
    height, sea = (y_overlaps @ values @ x_overlaps.T / area for values in fields)
    wet, _ = connect_seas(
        sea >= 0.5, sea, sea_samples.reshape(len(lat), SAMPLES_PER_SIDE, len(lon), SAMPLES_PER_SIDE), True
    )
    return lon, lat, height, sea, wet & (sea < 0.5)


def compare(height: np.ndarray, sea: np.ndarray, strait: np.ndarray) -> str:
    """A message that says how many heights, shares of sea and straits of the package differ from these."""
    with netCDF4.Dataset(PACKAGE_RELIEF) as data:
        old_fields = data["z"][...], data["sea"][...], data[STRAIT_NAME][...]
    new_fields = height, 100 * sea, strait
    n_changed = [int((np.rint(new) != old).sum()) for new, old in zip(new_fields, old_fields, strict=True)]
    heights, shares, straits = n_changed
    return f"{PACKAGE_RELIEF}: {heights} heights, {shares} shares of sea and {straits} straits of {height.size} differ"


def write_relief(lon, lat, height: np.ndarray, sea: np.ndarray, strait: np.ndarray) -> None:
    with netCDF4.Dataset(PACKAGE_RELIEF, "w") as data:
        data.setncatts(
            {
                "Conventions": "CF-1.12",
                "title": "Relief of the Earth, half a degree",
                "source": __doc__.split("\n\n")[3],
            }
        )
        for name, values, axis in (("lat", lat, "latitude"), ("lon", lon, "longitude")):
            data.createDimension(name, len(values))
            variable = data.createVariable(name, "f4", (name,), fill_value=False)
            variable.setncatts({"standard_name": axis, "units": f"degrees_{'north' if name == 'lat' else 'east'}"})
            variable[:] = values
        packed = {"zlib": True, "complevel": 9, "shuffle": True, "fill_value": False}
        variable = data.createVariable("z", "i2", ("lat", "lon"), **packed)
        variable.setncatts(
            {"standard_name": "surface_altitude", "units": "m", "positive": "up", "long_name": "height of the bedrock"}
        )
        variable[:] = np.rint(height)
        variable = data.createVariable("sea", "u1", ("lat", "lon"), **packed)
        variable.setncatts(SEA_FRACTION_ATTRIBUTES)
        variable[:] = np.rint(100 * sea)
        variable = data.createVariable(STRAIT_NAME, "u1", ("lat", "lon"), **packed)
        variable.setncatts(
            {
                "long_name": "less than half sea, but connects seas",
                "flag_values": FLAG_VALUES,
                "flag_meanings": "no yes",
            }
        )
        variable[:] = strait


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="file of the finer relief")
    parser.add_argument("--write", action="store_true", help=f"replace {PACKAGE_RELIEF}")
    args = parser.parse_args()
    relief = coarsen_relief(args.file)
    print(f"{compare(*relief[2:])}; {'replaced' if args.write else '--write replaces it'}")
    if args.write:
        write_relief(*relief)
