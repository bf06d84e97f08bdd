"""Fields in the form of the page: each value in one byte, between the ends of the colours; compressed."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence

import netCDF4
import numpy as np

from .. import style
from ..dataset import field_names, seconds
from ..record import Map
from ..shown import read, read_all
from ..titles import titles

#: Most bytes of all maps before compression, and most cells of a map along its longer side.
MOST_BYTES, MOST_CELLS = 40 * 10**6, 640
#: Bytes from 0 to LEVELS are values between the ends of the colours; MISSING is land.
LEVELS, MISSING = 253, 255


def maps(data: netCDF4.Dataset, names: list[str]) -> dict:
    """The fields and the words above them, as page.js takes them; every n-th record, and the last."""
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
    }


def packed(data: netCDF4.Dataset, name: str, records: Sequence[int], block: int) -> dict:
    """One field in some records, averaged over blocks: its look, its position, its bytes [record, y, x]."""
    look = style.look(read_all(data, [name], records, [None]))
    first, (low, high) = read(data, name, records[0]), look.limits
    levels = [quantised(averaged(look.scaled(read(data, name, record)), block), low, high) for record in records]
    rows, columns = levels[0].shape
    return {
        "name": name,
        "label": plain(look.label),
        "low": low,
        "high": high,
        "extend": look.extend,
        "colours": colours(look.colormap),
        "rows": rows,
        "columns": columns,
        "averaged": block,
        "axes": axes(first),
        "bytes": base64.b64encode(zlib.compress(b"".join(level.tobytes() for level in levels), 9)).decode(),
    }


def axes(field: Map) -> dict:
    """Edges of the cells around the points of a field, in a suitable unit, and the names of the axes."""
    (dx, dy), (size, unit) = field.spacing, field.unit
    edges = field.x[0] - dx / 2, field.x[-1] + dx / 2, field.y[0] - dy / 2, field.y[-1] + dy / 2
    return {"edges": [float(edge / size) for edge in edges], "unit": unit, "names": field.names}


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


def colours(colormap) -> str:
    """The colours of the levels, six hexadecimal digits each."""
    numbers = np.rint(255 * np.asarray(colormap(np.linspace(0, 1, LEVELS + 1)))[:, :3]).astype(np.uint8)
    return numbers.tobytes().hex()


def plain(label: str) -> str:
    """A label without matplotlib's marks of mathematics."""
    return label.replace(r"$\zeta/f$", "ζ/f")
