"""A sea with tide, self-attraction, air pressure, wind, an open boundary and an island; its runs in given chunks."""

import datetime
import itertools
import os

import numpy as np
import pytest

from support.netcdf import write_netcdf
from support.random_case import configuration, random_fields, random_weather
from swmodel.files.output import metadata
from swmodel.files.restart import write
from swmodel.model import run as loop
from swmodel.ocean.table import VARIABLES

NY, NX, STEPS = 9, 13, 31  # the run is longer than the period of M8
FIELDS = random_fields(NY, NX, land=0.0, amplitude=0.1) | {"mask": np.ones((NY, NX))}
FIELDS["mask"][4:6, 5:8] = 0.0
WEATHER = random_weather(NY, NX, n_records=7)
#: Positions at the centre of a cell, in a cell at the open boundary, next to the island, and between points.
STATIONS = ((317.5, 17.5), (306.0, 33.0), (325.5, 29.0), (355.2, 50.1))
OPTIONS = {
    "sphere": True, "grid__periodic_x": False, "grid__radius": 1.5e6, "time__dt": 560.0,
    "time__start": "2020-03-01", "run__steps": STEPS, "tide__constituents": ("M2",),
    "physics__self_attraction": 0.1, "open_boundaries__sides": ("west",), "open_boundaries__constituents": ("M2",),
    "open_boundaries__amplitude": (0.3,), "open_boundaries__pressure": 0.0, "physics__tracers": ({"name": "tracer"},),
    "forcing__every": 3600.0,
    "output__stations": tuple({"name": f"gauge {n}", "lon": x, "lat": y} for n, (x, y) in enumerate(STATIONS)),
    "output__sections": (
        {"name": "slant", "start": (310.0, 10.0), "end": (350.0, 55.0)},
        {"name": "south", "start": (340.0, 10.0), "end": (340.0, 30.0)},
    ),
    "output__fields": ("eta", "u", "v", "h", "tracer", "speed", "zeta", "q"),
    "output__maxima": ("eta", "speed"), "output__arrival": 0.2, "output__harmonics": ("M8",),
    "output__harmonics_fields": ("eta", "u", "v"), "output__harmonics_every_steps": 5,
    "output__sections_every_steps": 2,
}  # fmt: skip


def make_config(forcing, folder, **options):
    options_of_run = OPTIONS | options
    if forcing == "constant":
        return configuration(NY, NX, FIELDS | {name: values[0] for name, values in WEATHER.items()}, **options_of_run)
    if forcing == "formula":
        return configuration(NY, NX, FIELDS | WEATHER, **options_of_run)
    path = folder / "weather.nc"
    if not path.exists():
        write_weather(path)
    inputs = {f"input__{name}": f"{path}:{name}" for name in WEATHER}
    fields = {name: values for name, values in FIELDS.items() if name not in WEATHER}
    return configuration(NY, NX, fields, **options_of_run | inputs)


def write_weather(path):
    """Write hourly records of the weather into a file that appears complete; several processes may write it at once."""
    draft = path.with_suffix(f".{os.getpid()}")
    times = {"time": ("time", np.arange(7.0), {"units": "hours since 2020-03-01"})}
    write_netcdf(draft, times | {k: ("time y x", v, {"units": VARIABLES[k].units}) for k, v in WEATHER.items()})
    draft.rename(path)


class FixedChunkLengths:
    """Replaces CHUNK_SECONDS: chunks have these numbers of steps in turn, however long a step takes."""

    def __init__(self, lengths):
        self.lengths = itertools.cycle(lengths)

    def __truediv__(self, seconds):
        return next(self.lengths)


class FrozenDatetime(datetime.datetime):
    """A datetime whose `now` never changes."""

    @classmethod
    def now(cls, zone=None):
        return cls(2020, 2, 29, tzinfo=zone)


def run(model, folder, chunks):
    """Run with chunks of these numbers of steps in turn, and with a fixed date; returns the folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "CHUNK_SECONDS", FixedChunkLengths(chunks))
        for module in (metadata, write):
            patch.setattr(module, "datetime", FrozenDatetime)
        model.run(folder)
    return folder
