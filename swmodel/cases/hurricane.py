"""A hurricane over a shelf: the surge that its wind and its low pressure drive against a coast.

Physics: a vortex of Holland (1980) moves northward over a closed basin whose shelf rises to the coast in the north. Its
wind piles up water on the shelf, to the right of its track (in the northern hemisphere), and sea level rises under its
low pressure. Sea level starts in balance with the pressure. Wind and pressure are functions of time, evaluated every
`forcing.every`. With `case.beach` and `drying.active` the coast floods. With `case.track` the storm comes from a file:
IBTrACS, HURDAT2, a best track of ATCF or the JMA, or a table (docs/weather.md). Then the grid needs longitudes and
latitudes (grid.kind = "latlon", or grid.crs), and depth and land come from `input.depth`. The default of `time.start`
is the first time of the track, and no run may reach beyond the track.

Reference: Holland, G. J. (1980), Mon. Wea. Rev. 108, 1212-1218; Pugh, D. and Woodworth, P. (2014), Sea-Level Science,
Cambridge, chapter 7.

Cost: 4 320 steps on 9600 cells: about five seconds on two cores.

Theme: Tides and storms

Command: swmodel run hurricane

Plot: swmodel plot outputs/hurricane --wind --time "24 h"

Verification: under a storm that stands still and has no wind, sea level is higher by (outer pressure - p) / (density
gravity), 9.95 mm per hPa, and nothing moves. Under a slow storm, without the Earth's rotation, the surge at the coast
follows from a steady balance along the line of the strongest wind:
`d eta/dy = tau_y / (density gravity (H + eta)) - d/dy p / (density gravity)`, with the resting depth H, integrated from
deep water (`surge_of_a_slow_storm` of `swmodel verify`).
"""

import functools
import math
import os
from datetime import timedelta

import numpy as np

from ..config.options.case import Case, option
from ..errors import ConfigError, UsageError
from ..forcing import holland, storm_tracks, track_formats
from ..forcing.storm_tracks import DATE_FORMAT
from ..ocean.constituents import parse_date
from ..ocean.coordinates import has_lon_lat, points, sample_centres
from ..setup.fields.netcdf_input.errors import log_once

#: Depth at the edge of the shelf as a fraction of that of the deep water.
SHELF_EDGE_FRACTION = 0.1
#: Largest distance, m, of a track from a grid.
MAX_TRACK_DISTANCE = 2e6


class Hurricane(Case):
    track: str = option("", "file", "track of the storm, FILE or FILE:STORM; empty: it moves northward")
    storm: tuple[str, ...] = option((), "", "lines of a table with the track, which a run records in place of the file")
    wind: float = option(45.0, "m s-1", "largest wind, a one-minute mean at 10 m", gt=0)
    deficit: float = option(6000.0, "Pa", "pressure around the storm minus that in its centre", gt=0)
    radius: float = option(40e3, "m", "radius of the largest wind", gt=0)
    speed: float = option(6.0, "m s-1", "northward velocity of the storm", ge=0)
    landfall: float = option(86400.0, "s", "time at which the centre reaches the coast; without effect if speed is 0")
    coast: float = option(10.0, "m", "depth at the coast", gt=0)
    shelf: float = option(120e3, "m", "width of the shelf", gt=0)
    beach: float = option(0.0, "m", "height of land north of the coast that can flood; 0: a wall", ge=0)
    plain: float = option(64e3, "m", "width of the land that floods", gt=0)

    defaults = {
        "grid": {"nx": 120, "ny": 80, "dx": 8e3, "dy": 8e3, "periodic_x": False, "periodic_y": False,
                 "origin": "middle"},
        "physics": {"depth": 1000.0, "f0": 6e-5, "quadratic_drag": 2.5e-3, "viscosity": 500.0},
        "wind_drag": {"law": "garratt"},
        "forcing": {"every": "15 min"},
        "run": {"days": 1.5},
        "output": {"every": "3 h", "fields": ("h", "u", "v", "eta", "speed", "u10", "v10"), "maxima": ("eta",)},
    }  # fmt: skip

    def for_record(self):
        """The case with the track itself in place of its file, so that a run can continue only with this track."""
        if not self.track:
            return self
        return self.model_copy(update={"track": "", "storm": storm_tracks.track_table(read_track(*track_source(self)))})

    def start_date(self):
        """The first time of the track, if there is one."""
        return read_track(*track_source(self)).dates[0].isoformat() if self.track or self.storm else ""

    def depth(self, config, at):
        """Depth from `coast` to SHELF_EDGE_FRACTION of the deep water on the shelf, then to deep water on a slope.

        The slope is half as wide as the shelf. With a beach the depth is 0 at the coast and negative on the land.
        """
        if self.beach and not config.drying.active:
            raise ConfigError(["case.beach: land floods only with drying.active=true"])
        distance, deep_water = distance_from_north(at) - self._land_width(), config.physics.depth
        coast = 0.0 if self.beach else self.coast
        sea = np.interp(
            distance / self.shelf, [0.0, 1.0, 1.5], [coast, max(coast, SHELF_EDGE_FRACTION * deep_water), deep_water]
        )
        return np.where(distance < 0, self.beach * distance / self.plain, sea)

    def _land_width(self):
        """Distance from the coast to the northern side, m."""
        return self.plain if self.beach else 0.0

    def eta(self, config, at):
        """Sea level in balance with the initial pressure, m; zero where this pressure equals the outer one."""
        sides, pressure = config.open_boundaries.sides, config.open_boundaries.pressure
        outer_pressure = pressure if sides and pressure is not None else self._storm(config, 0.0).outer_pressure
        pressure_deficit = outer_pressure - self.air_pressure(config, at, 0.0)
        return pressure_deficit / (config.physics.density * config.physics.gravity)

    def air_pressure(self, config, at, t):
        storm = self._storm(config, t)
        return holland.pressure(storm, np.hypot(*offset_from_storm(config, at, storm)))

    def u10(self, config, at, t):
        return self._wind(config, at, t)[0]

    def v10(self, config, at, t):
        return self._wind(config, at, t)[1]

    def centre(self, config, t):
        """Position of the storm's centre, m or degrees."""
        storm = self._storm(config, t)
        return storm.x, storm.y

    def _wind(self, config, at, t):
        storm = self._storm(config, t)
        east, north = offset_from_storm(config, at, storm)
        return holland.wind(storm, east, north, coriolis(config, at))

    def _storm(self, config, t: float) -> holland.Storm:
        """The storm at a time, s since the start of the run."""
        if self.track or self.storm:
            return storm_of(self, config, t)
        if has_lon_lat(config.grid):
            where = "with grid.crs" if config.grid.crs else "on a sphere"
            raise ConfigError([f"case.track: {where} the case hurricane needs a file with a track"])
        north = points(config.grid, "centre", [config.grid.ny - 1], [0])
        coast = north.y.item() + 0.5 * north.dy - self._land_width()
        y = coast - self.speed * (self.landfall - t) if self.speed else 0.0
        outer = storm_tracks.DEFAULT_OUTER_PRESSURE
        return holland.Storm(0.0, y, self.wind, outer - self.deficit, outer, self.radius, 0.0, self.speed)


def distance_from_north(at):
    """Distance of Points from the northern side of the domain, m."""
    return at.origin[1] - 0.5 * at.dy + at.length_y - at.y


def offset_from_storm(config, at, storm):
    """Distances of points to the east and to the north of a storm's centre, m."""
    if not has_lon_lat(config.grid):
        return at.x - storm.x, at.y - storm.y
    east = (at.lon - storm.x + 180.0) % 360.0 - 180.0
    cosine = np.cos(np.radians(0.5 * (at.lat + storm.y)))
    return config.grid.radius * cosine * np.radians(east), config.grid.radius * np.radians(at.lat - storm.y)


def coriolis(config, at):
    """The Coriolis parameter at points, s-1."""
    if has_lon_lat(config.grid):
        return 2 * config.grid.rotation * np.sin(np.radians(at.lat))
    return config.physics.f0 + config.physics.beta * at.y


def storm_of(case: Hurricane, config, t: float) -> holland.Storm:
    """The storm of a track at a time, s since the start of the run. ConfigError: the track does not fit run or grid."""
    track, name = read_track(*track_source(case)), case.track or "the track"
    if not has_lon_lat(config.grid):
        raise ConfigError(
            ["case.track: a track is in degrees, so it needs a grid on a sphere, grid.kind=latlon, or grid.crs"]
        )
    start = parse_date(config.time.start) if config.time.start else track.dates[0]
    run, dt = config.run, config.time.dt or 0.0
    length = run.days * 86400.0 if run.days is not None else (run.steps or 0) * dt
    last = track.seconds(start)[-1]
    # Near its end a run needs the weather at up to two records after the last step.
    if start < track.dates[0] or max(length - dt, t - dt - 2 * config.forcing.every) > last:
        end = start + timedelta(seconds=max(length, t))
        raise ConfigError(
            [
                f"case.track: {name} covers {track.dates[0]:{DATE_FORMAT}} to {track.dates[-1]:{DATE_FORMAT}}, "
                f"but the run is from {start:{DATE_FORMAT}} to {end:{DATE_FORMAT}}; give another time.start or "
                "run.days, or add times to the track"
            ]
        )
    if (distance := distance_to_track(config.grid, *track_source(case))) > MAX_TRACK_DISTANCE:
        raise ConfigError(
            [
                f"case.track: {name} stays {distance / 1e3:.0f} km or more away from the grid; are longitude and "
                "latitude exchanged, or is a sign missing?"
            ]
        )
    return storm_tracks.storm_at(track.seconds(start), track.values, t, config.grid.radius * math.radians(1.0))


def track_source(case: Hurricane) -> tuple[str, tuple[str, ...], float]:
    """The file of a track, the lines that were recorded in its place, and the file's modification time."""
    file = storm_tracks.split_file_and_storm(case.track)[0]
    return case.track, case.storm, os.path.getmtime(file) if os.path.exists(file) else 0.0


@functools.lru_cache(maxsize=4)
def distance_to_track(grid, path: str, lines: tuple[str, ...], modified_time: float) -> float:
    """The smallest distance of the fixes of a track from a sample of cells all over a grid, m."""
    at, (lon, lat) = sample_centres(grid), read_track(path, lines, modified_time).values[:, :2].T
    lon, lat = lon[:, None, None], lat[:, None, None]
    return float(storm_tracks.distance(lon, lat, at.lon, at.lat).min())


@functools.lru_cache(maxsize=4)
def read_track(path: str, lines: tuple[str, ...], modified_time: float) -> storm_tracks.Track:
    """The track in a file, or in `lines` if `path` is empty. Logs estimates, fixes that are left out, and long gaps."""
    source = f"case.track: {path}" if path else "case.storm"
    try:
        track = track_formats.read_track(path) if path else track_formats.parse_track(lines, "case.storm")
    except UsageError as error:
        raise ConfigError([f"case.track: {error}" if path else str(error)]) from None
    if track.n_estimated:
        missing = (f"the {name} at {count} of {len(track.dates)} times" for name, count in track.n_estimated.items())
        log_once(f"{source} lacks {', '.join(missing)}; these are estimated (docs/weather.md)")
    if track.left_out:
        count = f"{len(track.left_out)} of {len(track.left_out) + len(track.dates)} fixes left out"
        log_once(f"{source}: {count}: {storm_tracks.describe_left_out(track.left_out)}")
    times = track.seconds(track.dates[0])
    if path and (gaps := np.diff(times)).max() > storm_tracks.REMARKABLE_GAP_SECONDS:
        n = int(gaps.argmax())
        log_once(
            f"{source} has no fix in the {gaps[n] / 3600:.3g} h after "
            f"{track.dates[n]:{DATE_FORMAT}}; the storm moves straight and steadily to the next one "
            f"({(gaps > storm_tracks.REMARKABLE_GAP_SECONDS).sum()} of {len(gaps)} gaps are longer than a day)"
        )
    return track
