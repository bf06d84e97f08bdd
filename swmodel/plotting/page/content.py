"""The content of the page of a run in the format that page.js reads: maps, series and spectra, thinned out if large."""

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
from ..dataset import absolute_series_names, integral_names, open_data, record_times
from ..derived import read_displayed_field
from ..field_map import FieldMap
from ..ground import PERMANENT_LAND_HEIGHT, is_hidden_by_ground, max_floodable_height
from ..spectra_figure import MAX_DECADES
from ..titles import make_title_formatter
from ..tracks import drifters_file, read_tracks

#: Largest number of bytes of all maps together before compression, and of values of a map along its longer axis.
MAX_MAP_BYTES, MAX_VALUES_PER_AXIS = 40 * 10**6, 640
#: Bytes from 0 to MAX_LEVEL stand for values between the ends of the colour scale, MISSING for land or dry ground.
MAX_LEVEL, MISSING = 253, 255
#: Largest number of values of a time series, and of all spectra together.
MAX_SERIES_POINTS, MAX_SPECTRA_VALUES = 2000, 10**6
#: {file of series at gauges or sections: (the dimension that counts them, the variable that the page shows)}.
SITE_FILES = {STATIONS: ("station", "eta"), SECTIONS: ("section", "transport")}


def compress_bytes(content: bytes) -> str:
    """The bytes, compressed, as text that the function `inflate` of page.js decodes."""
    return base64.b64encode(zlib.compress(content, 9)).decode()


def encode_maps(data: netCDF4.Dataset, names: list[str]) -> dict:
    """The maps of the fields in every n-th record and the last, titles and times of these records, and the ground."""
    times, shape = record_times(data), read_displayed_field(data, names[0], 0).values.shape
    block_size = -(-max(shape) // MAX_VALUES_PER_AXIS)
    n_blocks = int(np.prod([-(-length // block_size) for length in shape]))
    stride = max(1, -(-n_blocks * len(names) * times.size // MAX_MAP_BYTES))
    records, format_title = sorted({*range(0, times.size, stride), times.size - 1}), make_title_formatter(data)
    return {
        "fields": [encode_field(data, name, records, block_size) for name in names],
        "titles": [format_title(record) for record in records],
        "times": [float(times[record]) for record in records],
        "left_out": times.size - len(records),
        "land": style.LAND_COLOUR,
        "ground": encode_ground(read_displayed_field(data, names[0], records[0]), block_size),
    }


def encode_field(data: netCDF4.Dataset, name: str, records: Sequence[int], block_size: int) -> dict:
    """One field in some records, as means over blocks of block_size² cells: style, axes, and bytes [record, y, x]."""
    field_style = style.make_style(read_displayed_field(data, name, record) for record in records)
    low, high = field_style.limits
    scaled_records = (field_style.scaled_values(read_displayed_field(data, name, record)) for record in records)
    levels = [quantise(average_blocks(values, block_size), low, high) for values in scaled_records]
    colours = np.rint(255 * np.asarray(field_style.colormap(np.linspace(0, 1, MAX_LEVEL + 1)))[:, :3]).astype(np.uint8)
    first_map = read_displayed_field(data, name, records[0])
    (dx, dy), (scale, unit), x, y = first_map.spacing, first_map.axis_unit, first_map.x, first_map.y
    edges = x[0] - dx / 2, x[-1] + dx / 2, y[0] - dy / 2, y[-1] + dy / 2
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
        "averaged": block_size,
        "coast": first_map.ground is not None and is_hidden_by_ground(name),
        "axes": {"edges": [float(edge / scale) for edge in edges], "unit": unit, "names": first_map.axis_names},
        "bytes": compress_bytes(b"".join(level.tobytes() for level in levels)),
    }


def encode_ground(field: FieldMap, block_size: int) -> dict | None:
    """The colours of the ground, also under water, as three bytes per block [y, x]; None without drying."""
    if not field.ground:
        return None
    heights = average_blocks(np.ma.masked_array(np.ma.getdata(field.ground.values)), block_size)
    relative_heights = np.ma.filled(heights, PERMANENT_LAND_HEIGHT) / max_floodable_height(field.ground)
    colours = style.GROUND_COLOURMAP(relative_heights, bytes=True)[..., :3]
    return {"colours": compress_bytes(colours.tobytes())}


def encode_drifters(data: netCDF4.Dataset, name: str) -> dict | None:
    """Times (s) and positions [time][drifter] on a field's map, null after a track's end; None without drifters."""
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
    faces = [[[float(f"{coordinate:.8g}") for coordinate in end] for end in face] for face in segments]
    return {"faces": faces, "colour": style.BARRIER_COLOUR, "label": BARRIER_LABEL}


def average_blocks(values: np.ma.MaskedArray, block_size: int) -> np.ma.MaskedArray:
    """Means over the unmasked cells of each block; the last blocks along each axis may be smaller."""
    first_rows, first_columns = (np.arange(0, length, block_size) for length in values.shape)

    def block_sums(array):
        return np.add.reduceat(np.add.reduceat(array, first_rows, 0), first_columns, 1)

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
    """The series of the domain, of sea level at gauges and of transports, each with label, times (s) and values."""
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
                json_values = [float(value) if np.isfinite(value) else None for value in values[indices]]
                yield {"label": strip_math(label), "times": times[indices].tolist(), "values": json_values}


def evenly_spaced_indices(count: int, max_count: int) -> np.ndarray:
    """All integers below `count`, or `max_count` evenly spaced ones that include the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, max_count)).round().astype(int))


def site_curves(data: netCDF4.Dataset, dimension: str, name: str) -> Iterator[series.Curve]:
    """The curves of a variable at each station or section, or at the first MAX_PANELS."""
    indices, total = series.choose_sites(data, dimension), len(data.dimensions[dimension])
    count_text = f" ({len(indices)} of {total} {dimension}s)" if len(indices) < total else ""
    columns, *name_and_units = series.read_sites(data[name], indices)
    for column, title in zip(columns.T, series.site_titles(data, dimension, indices), strict=True):
        values, label = series.scale_to_power_of_ten(column, *name_and_units)
        yield values, f"{title}: {label}{count_text}"


def encode_spectra(folder: Path) -> dict | None:
    """Times (s), wavenumbers (rad km-1), label and density of each quantity; None if the run wrote no spectra."""
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
    """The label of a quantity and its density [record][wavenumber], null at least MAX_DECADES below the largest."""
    values = np.ma.filled(variable[:, 1:].astype(float), np.nan)[records]
    minimum = np.nanmax(values, initial=0.0) * 10.0**-MAX_DECADES
    return {
        "label": style.axis_label(f"{spectral_quantity(variable.name).long_name}, by wavenumber", variable.units),
        "values": [[float(value) if value > minimum else None for value in record] for record in values],
    }
