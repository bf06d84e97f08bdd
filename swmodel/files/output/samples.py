"""Series at places, with many records written at a time: stations.nc and sections.nc of a run."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from ...ocean.coordinates import on_sphere, positions
from ...ocean.table import eastward, entry_of
from ...setup.positions.crossings import crossings
from ...setup.positions.gauges import gauges
from ...setup.setup import setup_of
from .metadata import IN_DEGREES, IN_METRES, define_checksums, define_provenance, define_time, times_of
from .record_file import RecordFile

#: Records of a chunk, fewer where there are so many places that it would have more values than MOST.
CHUNK, MOST = 1024, 2**20


class Samples(RecordFile):
    """A file of series at places; see `RecordFile`."""

    on_grid = False
    #: The name of the dimension of the places.
    dimension = ""

    def write(self, steps: np.ndarray, seconds: np.ndarray, values: dict[str, np.ndarray]) -> None:
        """Append the values [k, places] at k times; called by all processes together.

        Raises:
            FilesError: these records or one before could not be written, on all processes.
        """
        if len(steps):
            self._file.append({"step": np.asarray(steps), "time": np.asarray(seconds), **values})
        self._file.agree()

    def define(self, dataset, config, transport, command_line: str) -> None:
        """See `RecordFile.define`."""
        define_provenance(dataset, config, transport, command_line)
        define_time(dataset, times_of(config.time), bounds=False, chunk=CHUNK)
        self.define_places(dataset, config)
        define_checksums(dataset)

    @abstractmethod
    def define_places(self, dataset, config) -> None:
        """Define the places, with their values, and the variables with time."""

    def define_names(self, dataset, names: list[str], **told: str) -> None:
        """Make the dimension of the places, and the variable of their names."""
        dataset.createDimension(self.dimension, len(names))
        encoded = [name.encode() for name in names]
        dataset.createDimension("name_length", max(map(len, encoded)))
        variable = dataset.createVariable(f"{self.dimension}_name", "S1", (self.dimension, "name_length"))
        variable.setncatts({"long_name": f"name of the {self.dimension}", "_Encoding": "utf-8"} | told)
        variable.set_auto_chartostring(False)
        for number, name in enumerate(encoded):
            variable[number, : len(name)] = [bytes([letter]) for letter in name]

    def define_series(self, dataset, name: str, told: dict, coordinates: str) -> None:
        """Make a variable with time for all places."""
        places = len(dataset.dimensions[self.dimension])
        shape = max(1, min(CHUNK, MOST // places)), places
        variable = dataset.createVariable(name, "f8", ("time", self.dimension), fill_value=False, chunksizes=shape)
        variable.setncatts(told | {"coordinates": coordinates, "cell_methods": "time: point"})

    def define_numbers(self, dataset, name: str, values: np.ndarray, told: dict) -> None:
        """Make a variable with a number for each place."""
        variable = dataset.createVariable(name, "f8", (self.dimension,), fill_value=False)
        variable.setncatts(told)
        variable[:] = values


class Stations(Samples):
    """stations.nc of a run: series at its gauges, a CF discrete sampling geometry (featureType timeSeries)."""

    dimension = "station"

    def define_places(self, dataset, config) -> None:
        """See `Samples.define_places`."""
        found = gauges(setup_of(config))
        dataset.featureType = "timeSeries"
        self.define_names(dataset, found.names, cf_role="timeseries_id")
        names = define_positions(self, dataset, config, found.places, ("", ""))
        self.define_numbers(dataset, "depth", found.depth, {**described("depth", config), "coordinates": names})
        told = {"long_name": "distance of the nearest centre of a cell with water", "units": "m", "coordinates": names}
        self.define_numbers(dataset, "distance", found.distance, told)
        for name in found.of:
            self.define_series(dataset, name, described(name, config), names)
        dataset.comment = "Values are interpolated bilinearly between the points of the C-grid around a station."


class Sections(Samples):
    """sections.nc of a run: volume transport through its sections."""

    dimension = "section"

    def define_places(self, dataset, config) -> None:
        """See `Samples.define_places`."""
        found = crossings(setup_of(config))
        self.define_names(dataset, found.names)
        names = " ".join(
            define_positions(self, dataset, config, found.ends.T[at : at + 2], (f"{end}_", f", {end} of the section"))
            for at, end in ((0, "start"), (2, "end"))
        )
        told = {
            "standard_name": "ocean_volume_transport_across_line",
            "long_name": "volume transport",
            "units": "m3 s-1",
            "comment": "positive to the right of the way from start to end",
        }
        self.define_series(dataset, "transport", told, names)


def define_positions(file: Samples, dataset, config, places, words: tuple[str, str]) -> str:
    """Make the coordinates of places; returns their names.

    Args:
        words: what is put before each name, and after each long name.
    """
    table, names = IN_DEGREES if on_sphere(config.grid) else IN_METRES, []
    for letter, key, values in zip("xy", positions(config.grid)[0], places, strict=True):
        standard_name, what, units = table[letter]
        name = words[0] + key
        file.define_numbers(
            dataset, name, values, {"standard_name": standard_name, "long_name": what + words[1], "units": units}
        )
        names.append(name)
    return " ".join(names)


def described(name: str, config) -> dict[str, str]:
    """Attributes of a quantity at a place from its entry in VARIABLES; empty ones are left out."""
    entry = eastward(entry_of(name, config.physics)) if on_sphere(config.grid) else entry_of(name, config.physics)
    told = {"standard_name": entry.standard_name, "long_name": entry.long_name, "units": entry.units}
    return {key: text for key, text in told.items() if text}
