"""Write the files of docs/flood-map.md, which are like those of real studies: elevation, storm, dike, river and rain.

The bay, the storm and all heights are invented. Coordinates are those of UTM zone 17 north, EPSG:32617.
"""

import csv
import json

import numpy as np
import pyproj
import rasterio
import xarray as xr

CRS, WEST, SOUTH, CELL, COLUMNS, ROWS = "EPSG:32617", 480_000.0, 3_420_000.0, 50.0, 800, 600
COAST, RIVER = WEST + 15_000.0, SOUTH + 15_000.0  # easting of the coast, northing of the river
HOURS = np.arange(31)
TIMES = np.datetime64("2026-09-10T00:00", "ns") + HOURS * np.timedelta64(3600, "s")


def height(x, y):
    """Height of ground and sea floor, m: low land with a hill and the valley of the river, higher land in the west."""
    inland = COAST - x
    hill = 6.0 * np.exp(-(((inland - 6e3) / 1500) ** 2) - ((y - SOUTH - 6e3) / 2500) ** 2)
    land = 0.5 + inland / 1500 + 4e-7 * np.maximum(inland - 9e3, 0.0) ** 2 + hill
    valley = np.exp(-(((y - RIVER) / 400) ** 2))
    river_bed = np.minimum(land, inland / 8000 - 1.5)
    shelf = -np.minimum(0.5 + (x - COAST) / 2000, 12.0)
    return np.where(inland > 0, land + valley * (river_bed - land), shelf)


def write_elevation(path):
    x = WEST + CELL * (np.arange(COLUMNS) + 0.5)
    y = SOUTH + CELL * (np.arange(ROWS)[::-1, None] + 0.5)
    transform = rasterio.transform.from_origin(WEST, SOUTH + ROWS * CELL, CELL, CELL)
    shape = {"height": ROWS, "width": COLUMNS, "count": 1, "dtype": "float32"}
    with rasterio.open(path, "w", driver="GTiff", crs=CRS, transform=transform, nodata=-9999, **shape) as file:
        file.write(height(x, y).astype("float32"), 1)


def write_storm(path):
    """Write a best track with the columns of IBTrACS and a row of units; the storm moves westward south of the bay."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["SID", "SEASON", "NAME", "ISO_TIME", "LAT", "LON", "USA_WIND", "USA_PRES", "USA_RMW"])
        rows.writerow([" ", "Year", " ", " ", "degrees_north", "degrees_east", "kts", "mb", "nmile"])
        for hour, time in zip(HOURS[::3], TIMES[::3], strict=True):
            lat_lon = f"{30.72 + 0.004 * hour:.3f}", f"{-79.6 - 0.085 * hour:.3f}"
            rows.writerow(["2026250N20300", 2026, "INVENTED", str(time)[:19].replace("T", " "), *lat_lon, 80, 968, 20])


def write_dike(path):
    """Write the dike around the low land south of the river, with the height of its crest."""
    line = [[COAST - 600, SOUTH], [COAST - 600, RIVER - 2000], [COAST - 9000, RIVER - 2000]]
    dike = {
        "type": "Feature",
        "properties": {"name": "south dike", "crest": 2.6},
        "geometry": {"type": "LineString", "coordinates": line},
    }
    system = {"type": "name", "properties": {"name": f"urn:ogc:def:crs:{CRS.replace(':', '::')}"}}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"type": "FeatureCollection", "crs": system, "features": [dike]}, file)


def write_river(path):
    with open(path, "w", encoding="utf-8") as file:
        file.write("time;discharge\n2026-09-10 00:00;50\n2026-09-10 12:00;150\n2026-09-11 06:00;300\n")


def write_rain(path):
    """Write rain on longitudes and latitudes, mm per hour, which is heaviest at noon of the first day."""
    to_degrees = pyproj.Transformer.from_crs(CRS, "EPSG:4326", always_xy=True)
    corners = to_degrees.transform([WEST, WEST + 40e3], [SOUTH, SOUTH + 30e3])
    lon, lat = (np.linspace(first - 0.1, last + 0.1, 6) for first, last in corners)
    rate = np.broadcast_to(2.0 * np.exp(-(((HOURS - 12) / 4) ** 2))[:, None, None], (31, 6, 6))
    rain = ("time", "lat", "lon"), rate, {"standard_name": "lwe_precipitation_rate", "units": "mm h-1"}
    axes = {"lat": ("lat", lat, {"units": "degrees_north"}), "lon": ("lon", lon, {"units": "degrees_east"})}
    xr.Dataset({"rain": rain}, {"time": TIMES, **axes}).to_netcdf(path)


if __name__ == "__main__":
    write_elevation("elevation.tif")
    write_storm("storm.csv")
    write_dike("dikes.geojson")
    write_river("river.csv")
    write_rain("rain.nc")
