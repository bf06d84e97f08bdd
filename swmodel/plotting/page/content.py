"""The content of the page of a run in the format of page.js: maps, time series and spectra, thinned out if large."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import netCDF4
import numpy as np

from ...files.run_folder import DIAGNOSTICS, SECTIONS, SPECTRA, STATIONS
from ...ocean.spectral_quantities import spectral_quantities_in, spectral_quantity
from .. import series, style
from ..barriers import BARRIER_LABEL, barrier_segments, read_barriers
from ..dataset import absolute_series_names, field_names, integral_names, open_data, record_times
from ..derived import read_displayed_field
from ..field_map import FieldMap
from ..ground import PERMANENT_LAND_HEIGHT, is_hidden_by_ground, max_floodable_height
from ..spectra_figure import MAX_DECADES
from ..titles import make_title_formatter
from ..tracks import drifters_file, read_tracks

#: Largest number of bytes of all maps together before compression, and of cells of a map along its longer axis.
MAX_BYTES, MAX_CELLS = 40 * 10**6, 640
#: Bytes from 0 to MAX_LEVEL stand for values between the ends of the colour scale, MISSING for land or dry ground.
MAX_LEVEL, MISSING = 253, 255
#: Largest number of values of a time series, and of all spectra together.
MAX_SERIES_POINTS, MAX_SPECTRA_VALUES = 2000, 10**6
#: {file of series at gauges or sections: (dimension of these, variable that is shown)}.
SITE_FILES = {STATIONS: ("station", "eta"), SECTIONS: ("section", "transport")}


def compress_bytes(content: bytes) -> str:
    """The bytes, compressed, as text that the function `inflate` of page.js decodes."""
    return base64.b64encode(zlib.compress(content, 9)).decode()


def encode_maps(data: netCDF4.Dataset, names: list[str]) -> dict:
    """The fields and their titles, for every n-th record and the last."""
    times, shape = record_times(data), data[field_names(data)[0]].shape[-2:]
    block = -(-max(shape) // MAX_CELLS)
    cells = int(np.prod([-(-length // block) for length in shape]))
    stride = max(1, -(-cells * len(names) * times.size // MAX_BYTES))
    records, title = sorted({*range(0, times.size, stride), times.size - 1}), make_title_formatter(data)
    return {
        "fields": [encode_field(data, name, records, block) for name in names],
        "titles": [title(record) for record in records],
        "times": [float(times[record]) for record in records],
        "left_out": times.size - len(records),
        "land": style.LAND_COLOUR,
        "ground": encode_ground(read_displayed_field(data, names[0], records[0]), block),
    }


def encode_field(data: netCDF4.Dataset, name: str, records: Sequence[int], block: int) -> dict:
    """One field in some records, averaged over square blocks of cells: style, position, bytes [record, y, x]."""
    field_style = style.make_style(read_displayed_field(data, name, record) for record in records)
    low, high = field_style.limits
    levels = [
        quantise(average_blocks(field_style.scaled_values(read_displayed_field(data, name, record)), block), low, high)
        for record in records
    ]
    colours = np.rint(255 * np.asarray(field_style.colormap(np.linspace(0, 1, MAX_LEVEL + 1)))[:, :3]).astype(np.uint8)
    first = read_displayed_field(data, name, records[0])
    (dx, dy), (size, unit) = first.spacing, first.axis_unit
    edges = first.x[0] - dx / 2, first.x[-1] + dx / 2, first.y[0] - dy / 2, first.y[-1] + dy / 2
    return {
        "name": name,
        "label": strip_math(field_style.label),
        "low": low,
        "high": high,
        "extend": field_style.extend,
        "ticks": field_style.ticks,
        "colours": colours.tobytes().hex(),
        "rows": levels[0].shape[0],
        "columns": levels[0].shape[1],
        "averaged": block,
        "coast": first.ground is not None and is_hidden_by_ground(name),
        "axes": {"edges": [float(edge / size) for edge in edges], "unit": unit, "names": first.axis_names},
        "bytes": compress_bytes(b"".join(level.tobytes() for level in levels)),
    }


def encode_ground(field: FieldMap, block: int) -> dict | None:
    """The colours of the ground, also under water, as three bytes per block [y, x]; None if the run has no drying."""
    if not field.ground:
        return None
    heights = average_blocks(np.ma.masked_array(np.ma.getdata(field.ground.values)), block)
    relative_heights = np.ma.filled(heights, PERMANENT_LAND_HEIGHT) / max_floodable_height(field.ground)
    colours = style.GROUND_COLOURMAP(relative_heights, bytes=True)[..., :3]
    return {"colours": compress_bytes(colours.tobytes())}


def encode_drifters(data: netCDF4.Dataset, name: str) -> dict | None:
    """Times and positions [time][drifter] on the axes of the map of a field; null after a track ends."""
    if not drifters_file(data).is_file():
        return None
    times, positions_by_time, count_text = read_tracks(data, read_displayed_field(data, name, 0))
    positions = [
        [[float(f"{x:.6g}"), float(f"{y:.6g}")] if np.isfinite(x) else None for x, y in positions_at_time]
        for positions_at_time in positions_by_time
    ]
    return {"times": times.tolist(), "positions": positions, "label": f"tracks of {count_text}"}


def encode_barriers(data: netCDF4.Dataset, name: str) -> dict | None:
    """Both ends [x, y] of each barrier face on the axes of the map of a field; None without barriers."""
    if not read_barriers(data):
        return None
    segments = barrier_segments(data, read_displayed_field(data, name, 0))
    faces = [[[float(f"{at:.8g}") for at in end] for end in face] for face in segments]
    return {"faces": faces, "colour": style.BARRIER_COLOUR, "label": BARRIER_LABEL}


def average_blocks(values: np.ma.MaskedArray, block: int) -> np.ma.MaskedArray:
    """Means over the unmasked cells of each block; the last blocks along each axis may be smaller."""
    rows, columns = (np.arange(0, length, block) for length in values.shape)

    def block_sums(array):
        return np.add.reduceat(np.add.reduceat(array, rows, 0), columns, 1)

    count = block_sums((~np.ma.getmaskarray(values)).astype(float))
    total = block_sums(np.ma.filled(values, 0).astype(float))
    return np.ma.masked_where(count == 0, total / np.maximum(count, 1))


def quantise(values: np.ma.MaskedArray, low: float, high: float) -> np.ndarray:
    """Each value as the number of the nearest of MAX_LEVEL + 1 levels from `low` to `high`; MISSING where masked."""
    level = np.clip(np.rint((np.ma.filled(values, low).astype(float) - low) / (high - low) * MAX_LEVEL), 0, MAX_LEVEL)
    return np.where(np.ma.getmaskarray(values), MISSING, level).astype(np.uint8)


def strip_math(label: str) -> str:
    return label.replace(r"$\zeta/f$", "ζ/f")


def encode_series(path: Path) -> Iterator[dict]:
    """The series of the whole domain, sea level at gauges and transports, each with a label, times (s) and values."""
    for name in (DIAGNOSTICS, *SITE_FILES):
        if not (path / name).is_file():
            continue
        with open_data(path / name) as data:
            times = record_times(data)
            if not times.size:
                continue
            indices = evenly_spaced_indices(times.size, MAX_SERIES_POINTS)
            if name in SITE_FILES:
                curves = site_curves(data, *SITE_FILES[name])
            else:
                names = [*integral_names(data), *absolute_series_names(data)]
                curves = (series.domain_curve(data[each]) for each in names)
            for values, label in curves:
                finite = [float(value) if np.isfinite(value) else None for value in values[indices]]
                yield {"label": strip_math(label), "times": times[indices].tolist(), "values": finite}


def evenly_spaced_indices(count: int, max_count: int) -> np.ndarray:
    """All integers below `count`, or `max_count` evenly spaced ones that include the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, max_count)).round().astype(int))


def site_curves(data: netCDF4.Dataset, dimension: str, field: str) -> Iterator[series.Curve]:
    """The series of a quantity at each station or section, or at the first MAX_PANELS."""
    indices, total = series.choose_sites(data, dimension), len(data.dimensions[dimension])
    count_text = f" ({len(indices)} of {total} {dimension}s)" if len(indices) < total else ""
    columns, *name_and_units = series.read_sites(data[field], indices)
    for column, title in zip(columns.T, series.site_titles(data, dimension, indices), strict=True):
        values, label = series.scale_to_power_of_ten(column, *name_and_units)
        yield values, f"{title}: {label}{count_text}"


def encode_spectra(folder: Path) -> dict | None:
    """Times, s, wavenumbers, rad km-1, and label and density of each quantity; None if the run wrote no spectra."""
    file = folder / SPECTRA
    if not file.is_file():
        return None
    with open_data(file) as data:
        names, times = spectral_quantities_in(data.variables), record_times(data)
        if not names or not times.size:
            return None
        wavenumber = np.asarray(data["wavenumber"][1:], float)
        records = evenly_spaced_indices(times.size, max(1, MAX_SPECTRA_VALUES // (len(names) * wavenumber.size)))
        return {
            "times": times[records].tolist(),
            "wavenumbers": (1e3 * wavenumber).tolist(),
            "quantities": [encode_spectrum(data[name], records) for name in names],
        }


def encode_spectrum(variable, records) -> dict:
    """The label of a quantity and its density [record][wavenumber]; null if MAX_DECADES below the largest or less."""
    values = np.ma.filled(variable[:, 1:].astype(float), np.nan)[records]
    minimum = np.nanmax(values, initial=0.0) * 10.0**-MAX_DECADES
    return {
        "label": style.axis_label(f"{spectral_quantity(variable.name).long_name}, by wavenumber", variable.units),
        "values": [[float(v) if v > minimum else None for v in record] for record in values],
    }
