"""Read observation files, which are NetCDF (CF-1.12, featureType "point") or text tables, and write NetCDF ones."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .. import text_table
from ..errors import FilesError, UsageError, translate_os_errors
from ..files.draft import atomic_write
from ..files.gauge_series import check_zone, parse_number, parse_time
from ..files.output.metadata import TIME_ATTRIBUTES, time_attributes
from ..files.output.static import FILL_VALUE
from ..ocean.coordinates import coordinate_names_and_unit, from_grid_axes, has_rotated_pole, to_grid_axes
from ..ocean.dates import have_same_days, start_date, time_units
from ..ocean.table import VARIABLES, variable_in_run, with_axis_names
from ..setup.fields.netcdf_input import InputError, conversion_factor
from ..setup.fields.netcdf_input.dataset import is_numeric, open_file, read_values
from ..setup.fields.netcdf_input.units import axis_of_degree_units
from ..setup.positions.stencils import OBSERVED_QUANTITIES

if TYPE_CHECKING:
    from ..config.options.model import Config

ONE_DAY = timedelta(days=1)

#: NetCDF attributes of the coordinate variables, by name.
COORDINATES = {
    "time": {"standard_name": TIME_ATTRIBUTES["standard_name"], "long_name": "time", "axis": "T"},
    **{
        axis: {
            "standard_name": f"projection_{axis}_coordinate",
            "long_name": f"position in {axis}",
            "units": "m",
            "axis": axis.upper(),
        }
        for axis in ("x", "y")
    },
    "lon": {"standard_name": "longitude", "long_name": "longitude", "units": "degrees_east", "axis": "X"},
    "lat": {"standard_name": "latitude", "long_name": "latitude", "units": "degrees_north", "axis": "Y"},
}

#: Suffixes of the files that are text tables, and the names of their columns that hold numbers.
TABLE_SUFFIXES = (".csv", ".tsv", ".txt")
NUMERIC_COLUMNS = (
    "lon",
    "lat",
    "x",
    "y",
    *(name + suffix for name in OBSERVED_QUANTITIES for suffix in ("", "_error")),
)
#: Date from which the times of a text table are counted.
TABLE_EPOCH = datetime(1970, 1, 1)

#: The axis of each coordinate that is in degrees.
AXIS_OF_DEGREE_COORDINATE = {"lon": "x", "lat": "y"}


class UnusableVariable(ValueError):
    """A variable cannot be used; the message says why."""


def position_names(grid) -> dict[str, str]:
    """{"x" or "y": name of the variable in a file that holds this coordinate}."""
    return dict(zip("xy", coordinate_names_and_unit(grid)[0], strict=True))


def load_columns(path, config: Config) -> tuple[dict[str, np.ma.MaskedArray], np.ndarray | None, list[str]]:
    """The variables of an observation file in SI units and degrees, and the problems found in the file.

    Returns:
        {name: float64 values [obs], masked where missing} of the usable variables, where x and y are positions along
        the grid's axes, and time is in s since the start of the run; the platforms as text [obs], or None; one message
        for each problem.
    """
    try:
        if str(path).lower().endswith(TABLE_SUFFIXES):
            return columns_of_dataset(dataset_of_table(path), path, config)
        with open_file(str(path)) as dataset:
            return columns_of_dataset(dataset.data, path, config)
    except (UsageError, FilesError) as error:
        return {}, None, [str(error)]
    except InputError as error:
        return {}, None, [f"{path}: {str(error).removeprefix(f'{path} ').removesuffix(f' {path}')}"]


def dataset_of_table(path):
    """The Dataset of a text table, in which `time` is a date in UTC, and an empty cell is a missing value.

    The name of a column may be followed by its units, as in "eta (m)". UsageError: two columns have the same name, the
    times have another zone than UTC, or a line or a cell cannot be read. FilesError: the file cannot be read.
    """
    import xarray

    with translate_os_errors(path, "read"):
        text = Path(path).read_bytes().decode("utf-8-sig", errors="replace")
    table = text_table.parse_table(text, str(path))
    cells_by_row = {file_and_line: table.row(file_and_line) for file_and_line in table.rows}
    data = xarray.Dataset()
    for column in filter(None, table.columns):
        name, units = text_table.split_column(column)
        if name in data:
            raise UsageError(f"{path}: two columns are called {name}; delete one")
        cells = {file_and_line: cells[column] for file_and_line, cells in cells_by_row.items()}
        if name == "time":
            parse_cell(check_zone, str(path), column)
            units = "seconds since 1970-01-01"
            values = [(parse_cell(parse_time, *cell) - TABLE_EPOCH).total_seconds() for cell in cells.items()]
        elif name in NUMERIC_COLUMNS:
            values = [parse_cell(parse_number, *cell) for cell in cells.items()]
            units = units or COORDINATES.get(name, {}).get("units") or VARIABLES[name.split("_")[0]].units
        else:
            values = [str(cell) for cell in cells.values()]
        data[name] = "obs", np.array(values, dtype=None if values else float), {"units": units} if units else {}
    return data


def parse_cell(parse, file_and_line: str, cell: str):
    """The value that `parse` reads from a cell. UsageError: it reads none; the message begins with `file_and_line`."""
    try:
        return parse(cell)
    except ValueError as error:
        raise UsageError(f"{file_and_line}: {error}") from None


def columns_of_dataset(data, path, config: Config) -> tuple[dict[str, np.ma.MaskedArray], np.ndarray | None, list[str]]:
    """As `load_columns`, for the Dataset of an open file or of a text table."""
    feature_type = str(data.attrs.get("featureType", "point"))
    problems = []
    if feature_type.lower() != "point":
        problems.append(f'{path}: the featureType is "{feature_type}"; it must be "point"')
    columns, variable_names = {}, position_names(config.grid)
    observed_names = [name for name in OBSERVED_QUANTITIES if name in data.variables]
    required = ["time", "x", "y", *(name + suffix for name in observed_names for suffix in ("", "_error"))]
    names_in_file = (variable_names.get(name, name) for name in required)
    observation_dims = next((data[name].dims for name in names_in_file if name in data.variables), ())
    for name in required:
        try:
            columns[name] = read_column(data, variable_names.get(name, name), observation_dims, config)
        except UnusableVariable as error:
            problems.append(f"{path}: {error}")
    if not observed_names:
        problems.append(f"{path}: has no observed quantity; it needs eta, u or v, with eta_error, u_error or v_error")
    try:
        platform = None if problems else read_platform(data, observation_dims)
    except UnusableVariable as error:
        platform, problems = None, [f"{path}: {error}"]
    if has_rotated_pole(config.grid) and {"x", "y"} <= columns.keys():
        no_position = np.ma.getmaskarray(columns["x"]) | np.ma.getmaskarray(columns["y"])
        grid_positions = to_grid_axes(config.grid, *(np.ma.filled(columns[name], 0.0) for name in "xy"))
        columns |= {
            name: np.ma.masked_array(values, no_position) for name, values in zip("xy", grid_positions, strict=True)
        }
    return columns, platform, problems


def read_column(data, name: str, dims: tuple, config: Config) -> np.ma.MaskedArray:
    """The values of a variable in SI units or degrees, float64 [obs], masked where missing.

    UnusableVariable: it is absent, has other dimensions than `dims`, or its values or units cannot be used.
    """
    physics, quantity = config.physics, name.split("_")[0]
    units = "any time since a date" if name == "time" else COORDINATES.get(name, {}).get("units")
    units = units or VARIABLES[quantity].units
    if name not in data.variables:
        meaning = f"standard deviation of the error of {quantity}" if "_error" in name else "coordinate"
        raise UnusableVariable(f"has no variable {name}, the {meaning}, in {units}")
    variable = data[name]
    require_dimensions(name, variable, dims)
    if not is_numeric(variable):
        raise UnusableVariable(f"{name} does not hold numbers")
    standard_name, file_units = variable.attrs.get("standard_name"), variable.attrs.get("units")
    if name == "eta" and physics.reduced_gravity and standard_name == VARIABLES["sea_level"].standard_name:
        raise UnusableVariable(
            f'eta has the standard_name "{standard_name}"; with physics.reduced_gravity eta is the '
            f"{variable_in_run(name, physics).long_name}: sea level times {physics.full_gravity / physics.gravity:.6g}"
        )
    if name == "time":
        return seconds_since_start(variable, config.time)
    factor = unit_factor(name, file_units, units) if file_units is not None else None
    if factor is None:
        actual = "has no units" if file_units is None else f'is in "{file_units}"'
        raise UnusableVariable(f'{name} {actual}; convert it to "{units}"')
    return masked_values(variable) * factor


def require_dimensions(name: str, variable, dims: tuple) -> None:
    """Raise UnusableVariable unless the variable has exactly one dimension, that of the observations, `dims`."""
    if variable.ndim != 1 or variable.dims != dims:
        actual = ", ".join(variable.dims)
        raise UnusableVariable(
            f"{name} has the dimensions ({actual}); every variable must have one, which counts the observations"
        )


def unit_factor(name: str, file_units: str, units: str) -> float | None:
    """The factor that converts a variable to `units`; None if it cannot or must not be converted.

    Only x and y on a plane are converted; all other variables must already be in `units`.
    """
    if name in AXIS_OF_DEGREE_COORDINATE:
        return 1.0 if axis_of_degree_units(file_units) in (AXIS_OF_DEGREE_COORDINATE[name], "") else None
    factor = conversion_factor(file_units, units)
    return factor if name in ("x", "y") or factor == 1.0 else None


def masked_values(variable) -> np.ma.MaskedArray:
    """The values of a variable as float64, masked where missing."""
    values = np.asarray(read_values(variable), np.float64)
    return np.ma.masked_array(values, np.isnan(values))


def seconds_since_start(variable, time) -> np.ma.MaskedArray:
    """Times in s since the start of the run; the file may count them from any date, in any CF units of time.

    UnusableVariable: its calendar has other days than that of the run, or its units are not units of time.
    """
    import cftime

    units, calendar = variable.attrs.get("units"), variable.attrs.get("calendar", "standard").lower()
    if not have_same_days(calendar, time.calendar):
        raise UnusableVariable(f'time has the calendar "{calendar}", but the run has {time.calendar}')
    run_start = start_date(time)
    try:
        dates = run_start, run_start + ONE_DAY
        start, next_day = (float(cftime.date2num(date, units or "", calendar)) for date in dates)
    except (ValueError, OverflowError) as error:
        actual = "has no units" if units is None else f'is in "{units}" ({error})'
        raise UnusableVariable(
            f'time {actual}; it needs seconds, minutes, hours or days since a date: "{time_units(time)}"'
        ) from None
    return (masked_values(variable) - start) * (ONE_DAY.total_seconds() / (next_day - start))


def read_platform(data, dims: tuple) -> np.ndarray | None:
    """The platform of each observation as text [obs]; None without a variable `platform` of one dimension.

    UnusableVariable: this dimension is not that of the observations.
    """
    if "platform" not in data.variables or data["platform"].ndim != 1:
        return None
    variable = data["platform"]
    require_dimensions("platform", variable, dims)
    if is_numeric(variable):
        values = masked_values(variable)
        return np.ma.filled(values.astype(variable.encoding["dtype"]).astype(object), "").astype(str)
    values = variable.values
    texts = np.char.decode(values, "utf-8", "replace") if values.dtype.kind == "S" else values.astype(str)
    return np.char.rstrip(texts)  # because Fortran programs pad texts with blanks


def save_columns(
    path, columns: dict[str, np.ndarray], platform: np.ndarray | None, attributes: dict, config: Config
) -> None:
    """Write an observation file; NaN is written as _FillValue. FilesError: writing failed; `path` stays as it was."""
    import xarray

    variable_names = position_names(config.grid)
    columns = columns | dict(zip("xy", from_grid_axes(config.grid, columns["x"], columns["y"]), strict=True))
    data = xarray.Dataset(attrs={"Conventions": "CF-1.12", "featureType": "point", **attributes})
    for name, values in ((variable_names.get(name, name), values) for name, values in columns.items()):
        calendar = time_attributes(config.time) if name == "time" else {}
        data[name] = "obs", values, (COORDINATES.get(name) or quantity_attributes(name, config)) | calendar
        data[name].encoding = {"_FillValue": None if name in COORDINATES else FILL_VALUE}
    if platform is not None:
        platform_attributes = {
            "long_name": "platform of the observation",
            "coordinates": f"time {' '.join(variable_names.values())}",
        }
        data["platform"] = "obs", platform.astype(object), platform_attributes
    with atomic_write(path) as draft:
        data.to_netcdf(draft, engine="netcdf4")


def quantity_attributes(name: str, config: Config) -> dict[str, str]:
    """The NetCDF attributes of an observed quantity ("eta") or of its error ("eta_error")."""
    quantity, _, error_suffix = name.partition("_")
    variable = with_axis_names(variable_in_run(quantity, config.physics), config.grid)
    attributes = {
        "long_name": f"standard deviation of the error of {quantity}"
        if error_suffix
        else f"observed {variable.long_name}",
        "units": variable.units,
        "coordinates": f"time {' '.join(position_names(config.grid).values())}",
    }
    if variable.standard_name:
        attributes["standard_name"] = variable.standard_name + (" standard_error" if error_suffix else "")
    return attributes if error_suffix else attributes | {"ancillary_variables": f"{quantity}_error"}
