"""What the page of a run shows, as page.js takes it: maps, time series, spectra; evenly thinned out where large."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import netCDF4
import numpy as np

from ...files.run_folder import DIAGNOSTICS, SECTIONS, SPECTRA, STATIONS
from ...ocean.squares import quantities_in, square_of
from .. import series, style
from ..dataset import field_names, integrals, numbers, open_data, seconds
from ..derived import shown
from ..ground import BEYOND, covers, top_of
from ..record import Map
from ..spectrum import DECADES
from ..titles import titles
from ..tracks import file_beside, tracks

#: Most bytes of all maps before compression, and most cells of a map along its longer side.
MOST_BYTES, MOST_CELLS = 40 * 10**6, 640
#: Bytes from 0 to LEVELS are values between the ends of the colours; MISSING is land.
LEVELS, MISSING = 253, 255
#: Most numbers of a time series, and of all spectra together.
MOST_POINTS, MOST_NUMBERS = 2000, 10**6
#: The files of series at places: the dimension of the places, and the variable that is shown.
PLACES = {STATIONS: ("station", "eta"), SECTIONS: ("section", "transport")}


def maps(data: netCDF4.Dataset, names: list[str]) -> dict:
    """The fields and the words above them; every n-th record, and the last."""
    times, shape = seconds(data), data[field_names(data)[0]].shape[-2:]
    block = -(-max(shape) // MOST_CELLS)
    cells = int(np.prod([-(-length // block) for length in shape]))
    every = max(1, -(-cells * len(names) * times.size // MOST_BYTES))
    records, title = sorted({*range(0, times.size, every), times.size - 1}), titles(data)
    return {
        "fields": [packed(data, name, records, block) for name in names],
        "titles": [title(record) for record in records],
        "times": [float(times[record]) for record in records],
        "left_out": times.size - len(records),
        "land": style.LAND,
        "ground": ground(shown(data, names[0], records[0]), block),
    }


def packed(data: netCDF4.Dataset, name: str, records: Sequence[int], block: int) -> dict:
    """One field in some records, averaged over blocks: its look, its position, its bytes [record, y, x]."""
    look = style.look(shown(data, name, record) for record in records)
    low, high = look.limits
    levels = [quantised(averaged(look.scaled(shown(data, name, record)), block), low, high) for record in records]
    colours = np.rint(255 * np.asarray(look.colormap(np.linspace(0, 1, LEVELS + 1)))[:, :3]).astype(np.uint8)
    first = shown(data, name, records[0])
    (dx, dy), (size, unit) = first.spacing, first.unit
    edges = first.x[0] - dx / 2, first.x[-1] + dx / 2, first.y[0] - dy / 2, first.y[-1] + dy / 2
    return {
        "name": name,
        "label": plain(look.label),
        "low": low,
        "high": high,
        "extend": look.extend,
        "ticks": look.ticks,
        "colours": colours.tobytes().hex(),
        "rows": levels[0].shape[0],
        "columns": levels[0].shape[1],
        "averaged": block,
        "coast": first.ground is not None and covers(name),
        "axes": {"edges": [float(edge / size) for edge in edges], "unit": unit, "names": first.names},
        "bytes": base64.b64encode(zlib.compress(b"".join(level.tobytes() for level in levels), 9)).decode(),
    }


def ground(field: Map, block: int) -> dict | None:
    """The colours of ground, dry or not, [y, x] as three bytes; None: none floods."""
    if not field.ground:
        return None
    heights = averaged(np.ma.masked_array(np.ma.getdata(field.ground.values)), block)
    colours = style.GROUND(np.ma.filled(heights, BEYOND) / top_of(field.ground), bytes=True)[..., :3]
    return {"colours": base64.b64encode(zlib.compress(colours.tobytes(), 9)).decode()}


def drifters(data: netCDF4.Dataset, name: str) -> dict | None:
    """Times and positions [time][drifter] on the axes of a field's map; null after the end. None: no drifters."""
    if not file_beside(data).is_file():
        return None
    times, places, words = tracks(data, shown(data, name, 0))
    positions = [
        [[float(f"{at:.6g}") for at in place] if place[0] == place[0] else None for place in now] for now in places
    ]
    return {"times": times.tolist(), "places": positions, "label": words}


def averaged(values: np.ma.MaskedArray, block: int) -> np.ma.MaskedArray:
    """Means over blocks of cells that are not masked; the last blocks of rows and columns may be smaller."""
    rows, columns = (np.arange(0, length, block) for length in values.shape)

    def sums(array):
        return np.add.reduceat(np.add.reduceat(array, rows, 0), columns, 1)

    count = sums((~np.ma.getmaskarray(values)).astype(float))
    total = sums(np.ma.filled(values, 0).astype(float))
    return np.ma.masked_where(count == 0, total / np.maximum(count, 1))


def quantised(values: np.ma.MaskedArray, low: float, high: float) -> np.ndarray:
    """Bytes: the nearest of LEVELS + 1 values from `low` to `high`; values beyond are put at the ends."""
    level = np.clip(np.rint((np.ma.filled(values, low).astype(float) - low) / (high - low) * LEVELS), 0, LEVELS)
    return np.where(np.ma.getmaskarray(values), MISSING, level).astype(np.uint8)


def plain(label: str) -> str:
    """A label without matplotlib's marks of mathematics."""
    return label.replace(r"$\zeta/f$", "ζ/f")


def time_series(path: Path) -> Iterator[dict]:
    """Mass, energy, ..., sea level at gauges, transports: each with a label, times and values."""
    for name in (DIAGNOSTICS, *PLACES):
        if not (path / name).is_file():
            continue
        with open_data(path / name) as data:
            times = seconds(data)
            if not times.size:
                continue
            some = thinned(times.size, MOST_POINTS)
            if name in PLACES:
                curves = of_places(data, *PLACES[name])
            else:
                curves = (series.of_domain(data[each]) for each in [*integrals(data), *numbers(data)])
            for values, label in curves:
                finite = [float(value) if np.isfinite(value) else None for value in values[some]]
                yield {"label": plain(label), "times": times[some].tolist(), "values": finite}


def thinned(count: int, most: int) -> np.ndarray:
    """The numbers below `count`, or evenly fewer: the first and the last are among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def of_places(data: netCDF4.Dataset, dimension: str, field: str) -> Iterator[series.Curve]:
    """The series of a quantity at each place, of many at the first ones."""
    places, total = series.chosen(data, dimension), len(data.dimensions[dimension])
    part = f" ({len(places)} of {total} {dimension}s)" if len(places) < total else ""
    columns, *words = series.at_places(data[field], places)
    for column, title in zip(columns.T, series.place_titles(data, dimension, places), strict=True):
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
