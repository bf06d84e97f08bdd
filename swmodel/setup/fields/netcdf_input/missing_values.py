"""Numbers that stand for missing values although a file does not say so."""

from __future__ import annotations

import numpy as np

from .errors import InputError

#: Numbers that programs write for missing values. Such a number counts as a mark only if no other value is close to it.
MISSING_VALUE_MARKS = (
    -99.0,
    -99.9,
    -99.99,
    -999.0,
    999.0,
    -9999.0,
    9999.0,
    -32767.0,
    -32768.0,
    32767.0,
    -99999.0,
    99999.0,
)
#: Largest difference of a value that is close to a mark, and of a value that equals it in single precision, relative to
#: the mark.
NEIGHBOUR_TOLERANCE, EQUAL_TOLERANCE = 0.02, 1e-6
#: Larger values mark missing ones, because no field of the Earth has them.
MAX_FIELD_VALUE = 1e15


def check_missing_values(values: np.ndarray, context: str, row: int = 0, column: int = 0) -> None:
    """Raise InputError if some of the values, in the units of the file, mark missing ones without a `_FillValue`.

    These are values in MISSING_VALUE_MARKS to which no other value is close, and values beyond MAX_FIELD_VALUE.
    `row` and `column` are the position of the first value in the file.
    """
    if np.fmax.reduce(np.abs(values), axis=None, initial=0.0) < abs(MISSING_VALUE_MARKS[0]):
        return
    for mark in (*MISSING_VALUE_MARKS, None):
        wrong = (
            np.abs(values) > MAX_FIELD_VALUE if mark is None else np.abs(values - mark) <= EQUAL_TOLERANCE * abs(mark)
        )
        if not wrong.any() or (mark is not None and has_neighbours(values, wrong, mark)):
            continue
        j, i = np.argwhere(wrong)[0]
        raise InputError(
            f"{context}: {wrong.sum()} of {wrong.size} values are {values[j, i]:g}, which marks missing values, the "
            f"first at row {row + j}, column {column + i} of the file; name the mark in the file: in NetCDF as the "
            "attribute _FillValue, in a raster with gdal_translate -a_nodata"
        )


def are_marks(values: np.ndarray, marks: tuple[float, ...] = MISSING_VALUE_MARKS) -> np.ndarray:
    """Whether each value marks a missing one: it is a mark far from all other values, or beyond MAX_FIELD_VALUE."""
    marks_missing = np.abs(values) > MAX_FIELD_VALUE
    for mark in marks:
        equals_mark = np.abs(values - mark) <= EQUAL_TOLERANCE * abs(mark)
        marks_missing |= equals_mark & (not has_neighbours(values, equals_mark, mark))
    return marks_missing


def has_neighbours(values: np.ndarray, equals_mark: np.ndarray, mark: float) -> bool:
    """Whether other values are close to a mark, or all values equal this mark and it is positive."""
    near = np.abs(values - mark) <= NEIGHBOUR_TOLERANCE * abs(mark)
    return bool(near.sum() > equals_mark.sum() or (equals_mark.all() and mark > 0))
