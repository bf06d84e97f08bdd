"""Verification tests of input and exported files: elevation, coordinate reference systems, storm tracks, maps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from ..config import Case
from ..forcing.fixes import KNOT, NAUTICAL_MILE
from ..forcing.holland import ONE_TO_TEN_MINUTE_WIND
from ..forcing.track_formats import parse_track
from ..ocean import projection
from ..plotting.export import export
from .comparison import Comparison, grid_points, max_abs, simulate, verification_test

UTM_33 = "EPSG:32633"

#: The columns of HURDAT2 for wind radii, without values.
NO_RADII_OF_WINDS = ", ".join(["-999"] * 12)
#: A storm of 100 kt, 950 hPa and a radius of maximum wind of 20 nautical miles at 20 N 60 W, and six hours later at
#: 21 N 61 W, in four formats. Winds of the Japan Meteorological Agency (JMA) are means over ten minutes, those of the
#: other formats over one minute; the format of the JMA has no radius of maximum wind.
TRACKS = {
    "HURDAT2": f"""AL012020,               TEST,      2,
20200901, 0000,  , HU, 20.0N,  60.0W, 100, 950, {NO_RADII_OF_WINDS}, 20
20200901, 0600,  , HU, 21.0N,  61.0W, 100, 950, {NO_RADII_OF_WINDS}, 20
""",
    "ATCF": """\
AL, 01, 2020090100, , BEST, 0, 200N, 600W, 100, 950, HU, 34, NEQ, 50, 50, 50, 50, , , 20, , , , , , , , TEST
AL, 01, 2020090106, , BEST, 0, 210N, 610W, 100, 950, HU, 34, NEQ, 50, 50, 50, 50, , , 20, , , , , , , , TEST
""",
    "IBTrACS": """SID,SEASON,NUMBER,BASIN,NAME,ISO_TIME,LAT,LON,TRACK_TYPE,USA_WIND,USA_PRES,USA_RMW
 ,Year, , , , ,degrees_north,degrees_east, ,kts,mb,nmile
2020245N20300,2020,1,NA,TEST,2020-09-01 00:00:00,20,-60,main,100,950,20
2020245N20300,2020,1,NA,TEST,2020-09-01 06:00:00,21,-61,main,100,950,20
""",
    "JMA": f"""66666 2001  002 0001 2001 0 6                 TEST              20210101
20090100 002 5 200 3000  950     {100 * ONE_TO_TEN_MINUTE_WIND:03.0f}
20090106 002 5 210 2990  950     {100 * ONE_TO_TEN_MINUTE_WIND:03.0f}
""",
}


def height_of_plane(lon, lat):
    """The height of a plane, m: a whole number at every half degree."""
    return -2000.0 + 8.0 * (lon % 360) + 4.0 * lat


@verification_test("linear interpolation of a plane is exact", needs="rioxarray")
def plane_of_elevation() -> Iterator[Comparison]:
    """A plane of elevations in a raster is interpolated exactly to cell centres, for each convention of longitudes."""
    grid = {"grid.kind": "latlon", "grid.nx": 31, "grid.ny": 23, "grid.west": 173.3, "grid.east": 186.7}
    grid |= {"grid.south": -6.1, "grid.north": 5.9, "grid.periodic_x": False}
    depths = []
    for name, west in {"0 to 360": 170.0, "-360 to 0": -190.0}.items():
        lon, lat = west + 0.5 * np.arange(41), 8.0 - 0.5 * np.arange(33)
        header = f"ncols {lon.size}\nnrows {lat.size}\nxllcenter {west}\nyllcenter {lat[-1]}\ncellsize 0.5\n"
        rows = [" ".join(map("{:.0f}".format, row)) for row in height_of_plane(lon, lat[:, None])]
        with TemporaryDirectory() as folder:
            path = Path(folder, "plane.asc")
            path.write_text(header + "\n".join(rows))
            simulation = simulate(Case, grid | {"input.depth": f"{path}:-band_1"})
            depths.append(simulation.field("h"))  # at rest
        at = grid_points(simulation.config)
        error = max_abs(depths[-1] + height_of_plane(at.lon, at.lat))
        yield Comparison(f"largest error of the depth, m, longitudes {name}", error, 0.0, 1e-9)
    yield Comparison("largest difference between the conventions, m", max_abs(depths[0] - depths[1]), 0.0, 1e-9)


@verification_test("length of the meridian from the equator to 45 N, 4 984 944.378 m (WGS 84)", needs="pyproj")
def projected_grid() -> Iterator[Comparison]:
    """UTM eastings and northings are converted to the right longitudes and latitudes, and back."""
    northing = 0.9996 * 4_984_944.378
    lon, lat = projection.lon_lat(UTM_33, 500e3, northing)
    yield Comparison("longitude on the central meridian of UTM 33, degrees", float(lon), 15.0, 1e-9)
    yield Comparison("latitude, degrees", float(lat), 45.0, 1e-8)
    x, y = projection.eastings_northings(UTM_33, lon + 2.0, lat + 1.0)
    lon_lat = projection.lon_lat(UTM_33, x, y)
    yield Comparison("longitude after a projection and its inverse, degrees", float(lon_lat[0]), float(lon) + 2.0, 1e-9)
    yield Comparison("latitude after a projection and its inverse, degrees", float(lon_lat[1]), float(lat) + 1.0, 1e-9)


@verification_test("formats of HURDAT2, ATCF, IBTrACS and of the Japan Meteorological Agency")
def tracks_of_storms() -> Iterator[Comparison]:
    """The track of a storm is the same in each format; winds of the JMA are rounded to whole knots."""
    for name, text in TRACKS.items():
        track = parse_track(text.splitlines(keepends=True), name)
        lon, lat, wind, pressure, _, radius = track.values[-1]
        tolerance = 0.6 if name == "JMA" else 1e-6
        hours = (track.dates[1] - track.dates[0]).total_seconds() / 3600
        yield Comparison(f"{name}: hours between fixes", hours, 6.0, 1e-6)
        yield Comparison(f"{name}: longitude, degrees east", lon % 360, 299.0, 1e-6)
        yield Comparison(f"{name}: latitude, degrees north", lat, 21.0, 1e-6)
        yield Comparison(f"{name}: one-minute wind, kt", wind / KNOT, 100.0, tolerance)
        yield Comparison(f"{name}: pressure, hPa", pressure / 100.0, 950.0, 1e-6)
        if name != "JMA":
            yield Comparison(f"{name}: radius of maximum wind, nautical miles", radius / NAUTICAL_MILE, 20.0, 1e-6)


@verification_test("GDAL reads the file", needs="rasterio")
def exported_map() -> Iterator[Comparison]:
    """An exported GeoTIFF has the values of the field at the cells' positions in the reference system of the grid."""
    import rasterio

    grid = {"grid.nx": 7, "grid.ny": 5, "grid.dx": 250.0, "grid.dy": 200.0, "grid.crs": UTM_33}
    grid |= {"grid.easting": 400e3, "grid.northing": 5000e3, "grid.periodic_x": False, "grid.periodic_y": False}

    def level(at):
        return 1e-3 * at.lon + 2e-3 * at.lat

    simulation = simulate(Case, grid | {"run.steps": 1, "time.dt": 1e-3}, fields={"eta": level})
    with TemporaryDirectory() as folder:
        simulation.run(Path(folder, "run"))
        export(Path(folder, "run"), Path(folder, "eta.tif"), ["eta"], record=0)
        with rasterio.open(Path(folder, "eta.tif")) as raster:
            values, (x, y), code = raster.read(1), raster.xy(0, 6), raster.crs.to_epsg()
    at = grid_points(simulation.config)
    yield Comparison("EPSG code of the reference system", code, 32633, 0.5)
    yield Comparison("easting of the north-easternmost cell centre, m", x, 400e3 + 6.5 * 250, 1e-6)
    yield Comparison("northing of the north-easternmost cell centre, m", y, 5000e3 + 4.5 * 200, 1e-6)
    yield Comparison("largest difference from the field, m", max_abs(values[::-1] - level(at)), 0.0, 1e-8)
