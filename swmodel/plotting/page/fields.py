"""Fields in the form of the page: each value in one byte, between the ends of the colours; compressed."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import netCDF4
import numpy as np

from .. import style
from ..dataset import field_names, seconds
from ..record import Map
from ..shown import read, read_all

#: Bytes from 0 to LEVELS are values between the ends of the colours; MISSING is land.
LEVELS, MISSING = 253, 255


@dataclass(frozen=True)
class Limits:
    """Limits of the size of a page's maps.

    Attributes:
        total: most bytes of all maps.
        side: most cells of a map along its longer side.
    """

    total: int
    side: int

    def block(self, shape: tuple[int, int]) -> int:
        """Rows and columns of the blocks of cells that are averaged."""
        return -(-max(shape) // self.side)

    def every(self, data: netCDF4.Dataset, names: Sequence[str]) -> int:
        """The interval of the records that are kept."""
        shape = data[field_names(data)[0]].shape[-2:]
        cells = np.prod([-(-length // self.block(shape)) for length in shape])
        return max(1, -(-int(cells) * len(names) * seconds(data).size // self.total))


def packed(data: netCDF4.Dataset, name: str, records: Sequence[int], limits: Limits) -> dict:
    """One field in all records, for page.js: its look, its position, its bytes [record, y, x]."""
    look = style.look(read_all(data, [name], records, [None]))
    first = read(data, name, records[0])
    block, (low, high) = limits.block(first.values.shape), look.limits
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
    (dx, dy), west, south = field.spacing, field.x[0], field.y[0]
    size, unit = field.unit
    edges = (west - dx / 2, west + (field.x.size - 0.5) * dx, south - dy / 2, south + (field.y.size - 0.5) * dy)
    names = field.names
    return {"edges": [float(edge / size) for edge in edges], "unit": unit, "names": names}


def averaged(values: np.ma.MaskedArray, block: int) -> np.ma.MaskedArray:
    """Means over blocks of cells that are not masked; the last blocks of rows and columns may be smaller."""
    if block == 1:
        return values
    starts = [np.arange(0, length, block) for length in values.shape]

    def sums(array):
        return np.add.reduceat(np.add.reduceat(array, starts[0], 0), starts[1], 1)

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
