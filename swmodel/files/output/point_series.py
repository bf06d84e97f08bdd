"""Time series at places: stations.nc, sections.nc and drifters.nc, to which many records are appended at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...ocean.coordinates import coordinate_names_and_unit, has_lon_lat
from ...ocean.table import variable_in_run, with_eastward_names
from ...setup.positions.cross_sections import make_cross_sections
from ...setup.positions.drifters import start_positions
from ...setup.positions.gauges import make_gauges
from ...setup.setup import setup_of
from .metadata import define_variable, place_coordinate_descriptions
from .record_file import RecordFile

if TYPE_CHECKING:
    from ...config.options.model import Config

#: Records per chunk, and the largest number of values in a chunk: with many places a chunk has fewer records.
RECORDS_PER_CHUNK, MAX_CHUNK_VALUES = 1024, 2**20


class PointSeriesFile(RecordFile):
    """A file of time series at places; see `RecordFile`."""

    has_fields, records_per_chunk = False, RECORDS_PER_CHUNK
    dimension = ""

    def write(self, steps: np.ndarray, seconds: np.ndarray, values: dict[str, np.ndarray]) -> None:
        """Append values [time, places] at `steps` and times `seconds`, s; all processes must call this together."""
        if len(steps):
            self.append({"step": np.asarray(steps), "time": np.asarray(seconds), **values})

    def define_names(self, dataset, names: list[str], **attrs: str) -> None:
        """Define the dimension of the places, and write a variable of their names in UTF-8, with further `attrs`."""
        encoded_names = [name.encode() for name in names]
        n_bytes = max(map(len, encoded_names))
        dataset.createDimension(self.dimension, len(names))
        dataset.createDimension("name_length", n_bytes)
        attrs = {"long_name": f"name of the {self.dimension}", "_Encoding": "utf-8"} | attrs
        name, dimensions = f"{self.dimension}_name", (self.dimension, "name_length")
        bytes_of_names = np.array([list(name.ljust(n_bytes, b"\0")) for name in encoded_names], np.uint8).view("S1")
        variable = define_variable(dataset, name, dimensions, attrs, datatype="S1", fill_value=None)
        variable.set_auto_chartostring(False)
        variable[:] = bytes_of_names

    def define_numbers(self, dataset, name: str, values: np.ndarray, attrs: dict) -> None:
        """Define a variable with one number per place, and write its `values`."""
        define_variable(dataset, name, (self.dimension,), attrs, values)

    def define_series(
        self, dataset, name: str, attrs: dict, coordinates: str, fill_value: float | bool = False
    ) -> None:
        """Define a variable [time, places]; `coordinates`: the names of its coordinate variables."""
        attrs = attrs | {"coordinates": coordinates, "cell_methods": "time: point"}
        self.define_in_time(dataset, name, attrs, fill_value)

    def define_in_time(self, dataset, name: str, attrs: dict, fill_value: float | bool) -> None:
        """Define a variable [time, places] without coordinates."""
        n_places = len(dataset.dimensions[self.dimension])
        chunk = max(1, min(RECORDS_PER_CHUNK, MAX_CHUNK_VALUES // n_places)), n_places
        define_variable(dataset, name, ("time", self.dimension), attrs, fill_value=fill_value, chunksizes=chunk)

    def define_positions(
        self, dataset, config: Config, positions, name_prefix: str = "", description_suffix: str = ""
    ) -> str:
        """Define the coordinates of places, write their `positions`, x and y [place], and return their names.

        `name_prefix` is put before these names, and `description_suffix` after the long names.
        """
        descriptions, names = place_coordinate_descriptions(config.grid), []
        for axis, coordinate, values in zip("xy", coordinate_names_and_unit(config.grid)[0], positions, strict=True):
            standard_name, description, units = descriptions[axis]
            attrs = {"standard_name": standard_name, "long_name": description + description_suffix, "units": units}
            names.append(name_prefix + coordinate)
            self.define_numbers(dataset, name_prefix + coordinate, values, attrs)
        return " ".join(names)


class StationsFile(PointSeriesFile):
    """The file stations.nc: time series at gauges, a CF discrete sampling geometry of featureType timeSeries."""

    dimension = "station"

    def define_contents(self, dataset, config: Config) -> None:
        gauges = make_gauges(setup_of(config))
        assert gauges is not None  # the run has stations
        dataset.featureType = "timeSeries"
        self.define_names(dataset, gauges.names, cf_role="timeseries_id")
        names = self.define_positions(dataset, config, gauges.positions)
        self.define_numbers(
            dataset, "depth", gauges.depth, {**quantity_attributes("depth", config), "coordinates": names}
        )
        attrs = {"long_name": "distance to the centre of the nearest water cell", "units": "m", "coordinates": names}
        self.define_numbers(dataset, "distance", gauges.distance_to_water, attrs)
        for name in gauges.prognostic_names:
            may_be_missing = gauges.wet_thickness is not None and name not in ("h", "u", "v")
            self.define_series(
                dataset, name, quantity_attributes(name, config), names, np.nan if may_be_missing else False
            )
        dataset.comment = "Values are interpolated bilinearly between the points of the C-grid around a station."
        if gauges.wet_thickness is not None:
            dataset.comment += " While a station is dry, h, u and v are 0; other values are missing."


class SectionsFile(PointSeriesFile):
    """The file sections.nc: volume transports through sections, m3 s-1."""

    dimension = "section"

    def define_contents(self, dataset, config: Config) -> None:
        sections = make_cross_sections(setup_of(config))
        assert sections is not None  # the run has sections
        self.define_names(dataset, sections.names)
        names = " ".join(
            self.define_positions(
                dataset, config, sections.ends.T[column : column + 2], f"{end}_", f", {end} of the section"
            )
            for column, end in ((0, "start"), (2, "end"))
        )
        attrs = {
            "standard_name": "ocean_volume_transport_across_line",
            "long_name": "volume transport",
            "units": "m3 s-1",
            "comment": "positive to the right of the direction from start to end",
        }
        self.define_series(dataset, "transport", attrs, names)


class DriftersFile(PointSeriesFile):
    """The file drifters.nc: the tracks of drifters, a CF discrete sampling geometry of featureType trajectory."""

    dimension = "trajectory"

    def define_contents(self, dataset, config: Config) -> None:
        n_drifters = len(start_positions(config)[0])
        dataset.featureType = "trajectory"
        dataset.createDimension(self.dimension, n_drifters)
        attrs = {"long_name": "number of the drifter", "cf_role": "trajectory_id"}
        define_variable(dataset, self.dimension, (self.dimension,), attrs, np.arange(1, n_drifters + 1), "i4")
        descriptions = place_coordinate_descriptions(config.grid)
        for axis, coordinate in zip("xy", coordinate_names_and_unit(config.grid)[0], strict=True):
            attrs = dict(zip(("standard_name", "long_name", "units"), descriptions[axis], strict=True))
            self.define_in_time(dataset, coordinate, attrs, np.nan)
        dataset.comment = "Positions are missing after a drifter has left through an open boundary."


def quantity_attributes(name: str, config: Config) -> dict[str, str]:
    """The attributes of a quantity at a place, without empty ones."""
    model_variable = variable_in_run(name, config.physics)
    if has_lon_lat(config.grid):
        model_variable = with_eastward_names(model_variable)
    attrs = {
        "standard_name": model_variable.standard_name,
        "long_name": model_variable.long_name,
        "units": model_variable.units,
    }
    return {key: text for key, text in attrs.items() if text}
