"""Series at places, with many records in each write: stations.nc, sections.nc and drifters.nc of a run."""

from __future__ import annotations

import numpy as np

from ...ocean.coordinates import on_sphere, positions
from ...ocean.table import eastward, entry_of
from ...setup.positions.crossings import crossings
from ...setup.positions.drifters import start
from ...setup.positions.gauges import gauges
from ...setup.setup import setup_of
from .metadata import IN_DEGREES, IN_METRES, define_variable
from .record_file import RecordFile

#: Records of a chunk, and its most values, which limit the records for many places.
CHUNK, MOST = 1024, 2**20


class Samples(RecordFile):
    """A file of series at places; see `RecordFile`."""

    on_grid, chunk = False, CHUNK
    #: The name of the dimension of the places.
    dimension = ""

    def write(self, steps: np.ndarray, seconds: np.ndarray, values: dict[str, np.ndarray]) -> None:
        """Append the values [k, places] at k times; all processes call it together."""
        if len(steps):
            self.append({"step": np.asarray(steps), "time": np.asarray(seconds), **values})

    def define_names(self, dataset, names: list[str], **about: str) -> None:
        """Make the dimension of the places, and the variable of their names."""
        encoded = [name.encode() for name in names]
        size = max(map(len, encoded))
        dataset.createDimension(self.dimension, len(names))
        dataset.createDimension("name_length", size)
        about = {"long_name": f"name of the {self.dimension}", "_Encoding": "utf-8"} | about
        name, dimensions = f"{self.dimension}_name", (self.dimension, "name_length")
        letters = np.array([list(name.ljust(size, b"\0")) for name in encoded], np.uint8).view("S1")
        variable = define_variable(dataset, name, dimensions, about, kind="S1", fill=None)
        variable.set_auto_chartostring(False)
        variable[:] = letters

    def define_numbers(self, dataset, name: str, values: np.ndarray, about: dict) -> None:
        """Make a variable with a number for each place."""
        define_variable(dataset, name, (self.dimension,), about, values)

    def define_series(self, dataset, name: str, about: dict, coordinates: str, fill: float | bool = False) -> None:
        """Make a variable with time for all places."""
        places = len(dataset.dimensions[self.dimension])
        about = about | {"coordinates": coordinates, "cell_methods": "time: point"}
        chunk = max(1, min(CHUNK, MOST // places)), places
        define_variable(dataset, name, ("time", self.dimension), about, fill=fill, chunksizes=chunk)

    def define_positions(self, dataset, config, places, before: str = "", after: str = "") -> str:
        """Make the coordinates of places; returns their names. `before` precedes names, `after` follows long names."""
        table, names = IN_DEGREES if on_sphere(config.grid) else IN_METRES, []
        for letter, key, values in zip("xy", positions(config.grid)[0], places, strict=True):
            standard_name, what, units = table[letter]
            about = {"standard_name": standard_name, "long_name": what + after, "units": units}
            names.append(before + key)
            self.define_numbers(dataset, before + key, values, about)
        return " ".join(names)


class Stations(Samples):
    """stations.nc of a run: series at its gauges, a CF discrete sampling geometry (featureType timeSeries)."""

    dimension = "station"

    def define_contents(self, dataset, config) -> None:
        found = gauges(setup_of(config))
        dataset.featureType = "timeSeries"
        self.define_names(dataset, found.names, cf_role="timeseries_id")
        names = self.define_positions(dataset, config, found.places)
        self.define_numbers(dataset, "depth", found.depth, {**described("depth", config), "coordinates": names})
        about = {"long_name": "distance of the nearest centre of a cell with water", "units": "m", "coordinates": names}
        self.define_numbers(dataset, "distance", found.distance, about)
        for name in found.of:
            may_lack = found.film is not None and name not in ("h", "u", "v")
            self.define_series(dataset, name, described(name, config), names, np.nan if may_lack else False)
        dataset.comment = "Values are interpolated bilinearly between the points of the C-grid around a station."
        if found.film is not None:
            dataset.comment += " While a station is dry h, u and v are 0, and other values are missing."


class Sections(Samples):
    """sections.nc of a run: volume transport through its sections."""

    dimension = "section"

    def define_contents(self, dataset, config) -> None:
        found = crossings(setup_of(config))
        self.define_names(dataset, found.names)
        names = " ".join(
            self.define_positions(dataset, config, found.ends.T[at : at + 2], f"{end}_", f", {end} of the section")
            for at, end in ((0, "start"), (2, "end"))
        )
        about = {
            "standard_name": "ocean_volume_transport_across_line",
            "long_name": "volume transport",
            "units": "m3 s-1",
            "comment": "positive to the right of the way from start to end",
        }
        self.define_series(dataset, "transport", about, names)


class Drifters(Samples):
    """drifters.nc of a run: the tracks of its drifters, a CF discrete sampling geometry (featureType trajectory)."""

    dimension = "trajectory"

    def define_contents(self, dataset, config) -> None:
        count = len(start(config)[0])
        dataset.featureType = "trajectory"
        dataset.createDimension(self.dimension, count)
        about = {"long_name": "number of the drifter", "cf_role": "trajectory_id"}
        define_variable(dataset, self.dimension, (self.dimension,), about, np.arange(1, count + 1), "i4")
        table, chunk = IN_DEGREES if on_sphere(config.grid) else IN_METRES, (max(1, min(CHUNK, MOST // count)), count)
        for letter, key in zip("xy", positions(config.grid)[0], strict=True):
            about = dict(zip(("standard_name", "long_name", "units"), table[letter], strict=True))
            define_variable(dataset, key, ("time", self.dimension), about, fill=np.nan, chunksizes=chunk)
        dataset.comment = "Positions are missing after a drifter left through an open side."


def described(name: str, config) -> dict[str, str]:
    """Attributes of a quantity at a place from its entry in VARIABLES; empty ones are left out."""
    entry = eastward(entry_of(name, config.physics)) if on_sphere(config.grid) else entry_of(name, config.physics)
    about = {"standard_name": entry.standard_name, "long_name": entry.long_name, "units": entry.units}
    return {key: text for key, text in about.items() if text}
