"""Time series and spectra of a run in the form of the page, evenly thinned out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import netCDF4
import numpy as np

from ...files.run_folder import DIAGNOSTICS, SECTIONS, SPECTRA, STATIONS
from ...ocean.squares import quantities_in, square_of
from .. import series, style
from ..dataset import integrals, numbers, open_data, seconds
from ..spectrum import DECADES
from .fields import plain

#: Most numbers of a time series, and of all spectra together.
MOST_POINTS, MOST_NUMBERS = 2000, 10**6
#: The files of series at places: the dimension of the places, and the variable that is shown.
PLACES = {STATIONS: ("station", "eta"), SECTIONS: ("section", "transport")}


def time_series(path: Path) -> Iterator[dict]:
    """Mass, energy, ..., sea level at gauges, transports: each with a label, times and values."""
    for name in (DIAGNOSTICS, *PLACES):
        if not (path / name).is_file():
            continue
        with open_data(path / name) as data:
            times = seconds(data)
            some = thinned(times.size, MOST_POINTS)
            for values, label in of_places(data, *PLACES[name]) if name in PLACES else of_domain(data):
                shown = [float(value) if np.isfinite(value) else None for value in values[some]]
                yield {"label": plain(label), "times": times[some].tolist(), "values": shown}


def thinned(count: int, most: int) -> np.ndarray:
    """The numbers below `count`, or evenly fewer: the first and the last are among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def of_domain(data: netCDF4.Dataset) -> Iterator[series.Curve]:
    """The series of the whole domain."""
    return (series.of_domain(data[name]) for name in [*integrals(data), *numbers(data)])


def of_places(data: netCDF4.Dataset, dimension: str, field: str) -> Iterator[series.Curve]:
    """The series of a quantity at each place, of many at the first ones."""
    shown, total = series.chosen(data, dimension), len(data.dimensions[dimension])
    part = f" ({len(shown)} of {total} {dimension}s)" if len(shown) < total else ""
    columns, *words = series.at_places(data[field], shown)
    for column, title in zip(columns.T, series.place_titles(data, dimension, shown), strict=True):
        values, label = series.scaled(column, *words)
        yield values, f"{title}: {label}{part}"


def spectra(folder: Path) -> dict | None:
    """Times, wavenumbers in rad km-1, and for each quantity its label and its density; None if there are no spectra."""
    file = folder / SPECTRA
    if not file.is_file():
        return None
    with open_data(file) as data:
        names, times = quantities_in(data.variables), seconds(data)
        if not names or not times.size:
            return None
        wavenumber = np.asarray(data["wavenumber"][1:], float)
        records = thinned(times.size, max(1, MOST_NUMBERS // (len(names) * wavenumber.size)))
        return {
            "times": times[records].tolist(),
            "wavenumbers": (1e3 * wavenumber).tolist(),
            "quantities": [quantity(data[name], records) for name in names],
        }


def quantity(variable, records) -> dict:
    """A quantity's label and density [record][wavenumber]; null beyond what a logarithmic axis shows."""
    values = np.ma.filled(variable[:, 1:].astype(float), np.nan)[records]
    least = np.nanmax(values, initial=0.0) * 10.0**-DECADES
    return {
        "label": style.label(f"{square_of(variable.name).long_name}, by wavenumber", variable.units),
        "values": [[float(v) if v > least else None for v in record] for record in values],
    }
