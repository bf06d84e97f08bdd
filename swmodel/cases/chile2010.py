"""The tsunami of the earthquake off Chile on 27 February 2010 (magnitude 8.8), in the eastern South Pacific.

Physics: the earthquake lifts the sea floor and the water above it, by Okada's formula for slip on a rectangular fault.
Dry ground stays dry, but is raised or lowered. The wave crosses the ocean over the Earth's relief. The walls in the
west and in the south are so far away that no reflection returns from them within the run.

Reference: Okada, Y. (1985), Bull. Seismol. Soc. Am. 75, 1135-1154; one fault with uniform slip for the whole
earthquake, as in the example chile2010 of GeoClaw (Berger, George, LeVeque and Mandli 2011, Adv. Water Resour. 34,
1195-1206).

Cost: 576 steps on 14 040 cells for nine hours at half a degree: seconds. For a finer grid, from a relief with a
resolution of a tenth of a degree: `swmodel grid chile.nc --region=-120,-66,-60,5 --resolution 0.1 --relief FILE` and
`swmodel run chile2010 -s grid.file=chile.nc`.

Theme: Tsunamis

Command: swmodel run chile2010

Plot: swmodel plot outputs/chile2010 --vmax 0.5

Verification: the record of NOAA's buoy DART 32412 at 86.392 W 17.975 S, without the tide. At half a degree the time at
which sea level rises there is correct to 1 %. The time of the crest is correct to 4 %, and the crest is a quarter too
low. At a fifth of a degree, with a relief finer than that of the package, the crest is a fifth to a quarter too low,
and 2 % late. The volume of water in the crest is correct to 20 %. The crest is too low because one fault with uniform
slip makes a broader wave than the earthquake did.
"""

import hashlib
import logging
import math
import os
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from ..config.options.case import Case, option
from ..errors import ConfigError, UsageError
from ..forcing import fault_files
from ..forcing.earthquake import Earthquake
from ..forcing.finite_fault import Subfaults
from ..ocean.coordinates import (
    axes,
    azimuthal_projection,
    distances_between,
    edges,
    metres_per_unit,
    sample_centres,
    to_grid_axes,
)
from ..ocean.depth_table import DepthTable
from ..setup.fields import evaluate_unfilled, source_of
from ..setup.fields.netcdf_input.errors import log_once

#: Depths in m, 0 on land, at half a degree from 120 W 60 S to 66.5 W 4.5 N: those of `swmodel grid` with
#: `--region=-120.25,-66.25,-60.25,4.75 --resolution 0.5` from the relief of the package (ETOPO1, NOAA, public domain).
RELIEF_FILE = Path(__file__).with_name("chile2010.npz")
WEST, SOUTH, RELIEF_SPACING = -120.0, -60.0, 0.5
#: Rigidity of the Earth's crust, Pa.
RIGIDITY = 30e9
#: Horizontal width of the narrowest fault that the grid resolves, cells.
MIN_FAULT_CELLS = 1.5
#: Limits for the depth of the upper edge, m: a positive depth below the first limit is refused, because it must be in
#: km; a depth between the two limits may be in km, and a message says so.
MIN_DEPTH_IN_METRES, MIN_SURE_DEPTH_IN_METRES = 100.0, 700.0
#: Largest distance of a fault from the grid, in units of the sum of its length, width and depth. Farther away the
#: uplift is below 0.3 % of the slip.
MAX_FAULT_DISTANCE = 2.0

#: Largest number of uplifts of a rupture, which bounds the memory: each takes 0.1 MB per square
#: (`forcing.earthquake.SQUARE_CELLS`).
MAX_UPLIFTS = 1000

#: Time since the earthquake, s, and sea level without the tide, m, at the buoy: data of NOAA's National Data Buoy
#: Center, as published with GeoClaw's example.
RECORD_FILE = Path(__file__).with_name("chile2010_dart32412.txt")


class Chile2010(Case):
    strike: float = option(16.0, "degrees", "direction of the fault's strike, clockwise from north")
    dip: float = option(14.0, "degrees", "angle of the fault below horizontal, to the right of the strike", gt=0, le=90)
    rake: float = option(104.0, "degrees", "direction of the slip in the fault plane, from the strike upwards")
    slip: float = option(15.0, "m", "slip of the block above the fault", ge=-100, le=100)
    length: float = option(450e3, "m", "length of the fault along its strike", ge=1e3)
    width: float = option(100e3, "m", "width of the fault up its dip", ge=1e3)
    top_lon: float = option(-72.668, "degrees", "longitude of the middle of the upper edge", ge=-360, le=360)
    top_lat: float = option(-35.826, "degrees", "latitude of the middle of the upper edge", ge=-90, le=90)
    top_depth: float = option(35e3, "m", "depth of the upper edge", ge=0, le=700e3)
    faults: str = option("", "file", "subfaults in place of this fault: a table, or a param or fsp file")
    faults_sha256: str = option("", "", "SHA-256 of that file, recorded by runs; a changed file is an error")
    kinematic: bool = option(True, "", "subfaults slip when and as long as their file says; false: all at the start")
    rupture_interval: float = option(10.0, "s", "time between uplifts of a rupture, at least a time step", gt=0)
    horizontal_motion: bool = option(False, "", "horizontal motion of slopes adds to the uplift")
    kajiura: bool = option(False, "", "the water smooths the uplift by the filter of Kajiura (1963)")

    grid_kinds = ("latlon", "projected")

    defaults = {
        "grid": {"kind": "latlon", "nx": 108, "ny": 130, "west": -120.25, "east": -66.25, "south": -60.25,
                 "north": 4.75, "periodic_x": False},
        "time": {"start": "2010-02-27T06:34:14"},
        "run": {"days": 0.375, "dtype": "float64"},
        "output": {"every_steps": 90, "fields": ("eta", "speed"), "maxima": ("eta",), "arrival": 0.01,
                   "stations": ({"name": "DART 32412", "lon": -86.392, "lat": -17.975},)},
    }  # fmt: skip

    def depth(self, config, at):
        return load_relief().depth(*relief_row_and_column(at))

    def mask(self, config, at):
        return load_relief().mask(*relief_row_and_column(at))

    def for_record(self):
        """The case with the SHA-256 of its file of subfaults, so that a run can continue only with this file."""
        if not self.faults:
            return self
        self.subfaults()  # refuses a file that cannot be read
        return self.model_copy(update={"faults_sha256": file_sha256(self)})

    def uplift(self, config, at):
        """The uplift at the end of the earthquake, m."""
        return compute_uplift(earthquake_of(self, config), HashablePoints(at), -1)

    def uplift_times(self, config):
        """Times at which the uplift is computed, s after the start; none if all subfaults slip at once."""
        earthquake = earthquake_of(self, config) if self.faults else None
        return earthquake.times if earthquake and earthquake.moves_in_time else ()

    def uplift_at(self, config, at, t):
        """The uplift at one of `uplift_times`, m."""
        earthquake = earthquake_of(self, config)
        return compute_uplift(earthquake, HashablePoints(at), earthquake.times.index(t))

    def subfaults(self) -> Subfaults:
        """The subfaults of the file, or the one fault of the options."""
        if self.faults:
            return read_faults(self, modification_time(self))
        position = self.top_lon, self.top_lat, 0.0, self.top_depth
        plane = self.strike, self.dip, self.rake, self.slip, self.length, self.width
        return Subfaults(*(np.array([value]) for value in (*position, *plane, 0.0, 0.0, 0.0)))

    def moment(self) -> float:
        """The seismic moment, rigidity times area times slip, N m."""
        return RIGIDITY * self.subfaults().area_times_slip()

    def check_fault(self, grid):
        """Log the moment, the magnitude, and a width or depth that is probably a mistake.

        ConfigError: the depth must be in km, or the fault is far from the grid.
        """
        if 0 < self.top_depth < MIN_DEPTH_IN_METRES:
            raise ConfigError([f"case.top_depth: {self.top_depth:g} m; is it in km? For a fault at the surface give 0"])
        if MIN_DEPTH_IN_METRES <= self.top_depth <= MIN_SURE_DEPTH_IN_METRES:
            log_once(f"case.top_depth: {self.top_depth:g} m; if it is in km, write {self.top_depth:g}e3")
        if self.slip:
            max_distance = MAX_FAULT_DISTANCE * (self.length + self.width + self.top_depth)
            if (distance := distance_from_grid(grid, self.top_lon, self.top_lat)) > max_distance:
                raise ConfigError(
                    [
                        f"case.top_lon, case.top_lat: the fault at {self.top_lon:g}, {self.top_lat:g} is "
                        f"{distance / 1e3:.0f} km away from the grid, too far to move the sea there; are longitude and "
                        "latitude exchanged, or is a sign missing?"
                    ]
                )
            slip_and_area = f"{self.slip:g} m on {self.length / 1e3:g} km x {self.width / 1e3:g} km"
            log_once(f"the slip of {slip_and_area} has {self.moment_text()}", logging.INFO)
        cell_size = max(
            metres_per_unit(grid, letter, self.top_lat) * axis.spacing
            for letter, axis in zip("xy", axes(grid), strict=True)
        )
        if (horizontal_width := self.width * math.cos(math.radians(self.dip))) < MIN_FAULT_CELLS * cell_size:
            log_once(
                f"the cells of {cell_size / 1e3:.3g} km are too coarse for a fault whose horizontal width is "
                f"{horizontal_width / 1e3:.3g} km"
            )

    def check_subfaults(self, grid):
        """Log the number of subfaults, their moment and magnitude. ConfigError: all of them are far from the grid."""
        faults = self.subfaults()
        if not faults.slip.any():
            return
        max_distance = MAX_FAULT_DISTANCE * (faults.length + faults.width + faults.top_depth)
        distances = [distance_from_grid(grid, lon, lat) for lon, lat in zip(faults.lon, faults.lat, strict=True)]
        if (np.array(distances) > max_distance).all():
            raise ConfigError(
                [
                    f"case.faults: {self.faults}: its subfaults are {min(distances) / 1e3:.0f} km or more away from "
                    "the grid, too far to move the sea there; are longitude and latitude exchanged, or is a sign "
                    "missing?"
                ]
            )
        duration = f", in {faults.end:.3g} s" if self.kinematic and faults.end else ""
        log_once(f"case.faults: {faults.count} subfaults with {self.moment_text()}{duration}", logging.INFO)

    def moment_text(self) -> str:
        """The moment and the magnitude, as text for messages."""
        moment = self.moment()
        return f"a moment of {moment:.3g} N m, magnitude {(math.log10(moment) - 9.1) / 1.5:.1f}"


def modification_time(case: Chile2010) -> float:
    """When the file of subfaults was last changed, s; a part of the keys of caches, so that a changed file is read."""
    return os.path.getmtime(case.faults) if os.path.exists(case.faults) else 0.0


@lru_cache(maxsize=4)
def read_faults(case: Chile2010, modified_time: float) -> Subfaults:
    """The subfaults in the file of a case. ConfigError: it cannot be read, or has changed since the run began."""
    try:
        faults = fault_files.read_faults(case.faults)
    except UsageError as error:
        raise ConfigError([f"case.faults: {error}"]) from None
    if case.faults_sha256 and case.faults_sha256 != file_sha256(case):
        raise ConfigError([f"case.faults: {case.faults} differs from the file with which the run began"])
    return faults


def file_sha256(case: Chile2010) -> str:
    """The SHA-256 of the file of the subfaults, as hexadecimal digits."""
    return hashlib.sha256(Path(case.faults).read_bytes()).hexdigest()


class HashableDepth:
    """The depth before the earthquake, m, NaN where unknown, as a key of a cache: equal if the sources are equal."""

    def __init__(self, config):
        self.config = config
        self.key = config.input.depth, config.physics.depth, config.python._sources.get("depth")

    def __call__(self, rows, columns):
        return evaluate_unfilled(self.config, "depth", rows, columns, source=source_of(self.config, "depth"))

    def __eq__(self, other):
        return self.key == other.key

    def __hash__(self):
        return hash(self.key)


def earthquake_of(case: Chile2010, config) -> Earthquake:
    """The Earthquake of a case. ConfigError: see `check_fault`, `check_subfaults` and `make_earthquake`."""
    if not case.faults:
        case.check_fault(config.grid)
    dt = config.time.dt or case.rupture_interval
    # The interval is a whole number of steps, so that each uplift is that of a step.
    interval = dt * max(1, round(case.rupture_interval / dt)) if case.kinematic else 0.0
    return make_earthquake(case, config.grid, HashableDepth(config), modification_time(case), interval)


@lru_cache(maxsize=4)
def make_earthquake(case: Chile2010, grid, depth: HashableDepth, modified_time: float, interval: float) -> Earthquake:
    """As `earthquake_of`; cached, because an Earthquake keeps the sums over its subfaults.

    ConfigError: a rupture would have more than MAX_UPLIFTS uplifts.
    """
    faults = case.subfaults()
    if case.faults:
        case.check_subfaults(grid)
    if interval and faults.end > MAX_UPLIFTS * interval:
        raise ConfigError(
            [
                f"case.rupture_interval: {interval:g} s gives {faults.end / interval:.0f} uplifts in {faults.end:g} s "
                f"of rupture; must be at least {faults.end / MAX_UPLIFTS:.3g} s, for {MAX_UPLIFTS} uplifts"
            ]
        )
    return Earthquake(faults, grid, depth, interval, case.horizontal_motion, case.kajiura)


def distance_from_grid(grid, lon: float, lat: float) -> float:
    """Distance of a position from a grid, m; 0 inside, but on a projected grid the distance to sampled cell centres."""
    if grid.crs:
        return float(np.hypot(*azimuthal_projection(grid, (lon, lat), sample_centres(grid))).min())
    west, east, south, north = edges(grid)
    x, y = to_grid_axes(grid, lon, lat)
    middle = 0.5 * (west + east)
    x = middle + (x - middle + 180.0) % 360.0 - 180.0
    return float(distances_between(grid, (x, y), (np.clip(x, west, east), np.clip(y, south, north))))


class HashablePoints:
    """Points that a cache can compare; they are equal if their longitudes and latitudes are equal."""

    def __init__(self, at):
        self.at, coordinates = at, (np.asarray(at.lon), np.asarray(at.lat))
        self.key = tuple((each.shape, each.tobytes()) for each in coordinates)

    def __eq__(self, other):
        return self.key == other.key

    def __hash__(self):
        return hash(self.key)


@lru_cache(maxsize=8)
def compute_uplift(earthquake: Earthquake, points: HashablePoints, time_index: int) -> np.ndarray:
    """The uplift at one of the earthquake's times, m; cached, because the computation takes microseconds per point."""
    return earthquake.uplift(points.at.j[:, 0], points.at.i[0], time_index)


@cache
def load_relief() -> DepthTable:
    return DepthTable.load(RELIEF_FILE)


def relief_row_and_column(at):
    """The fractional rows and columns of Points in the file of the relief."""
    return (at.lat - SOUTH) / RELIEF_SPACING, (at.lon - WEST) / RELIEF_SPACING


def load_record() -> tuple[np.ndarray, np.ndarray]:
    """Time since the earthquake, s, and sea level without the tide, m, at buoy DART 32412."""
    return tuple(np.loadtxt(RECORD_FILE).T)
