"""The observation file: reading and writing of the CF-1.12 discrete sampling geometry "point"."""

from __future__ import annotations

from datetime import timedelta

import numpy as np

from ..files.draft import replacing
from ..files.output.metadata import TIME, times_of
from ..files.output.static import FILL
from ..ocean.coordinates import along_axes, positions, turned
from ..ocean.dates import alike, start_of, units_of
from ..ocean.rotated import to_earth
from ..ocean.table import VARIABLES, entry_of, on_grid
from ..setup.fields.netcdf_input import InputError, conversion
from ..setup.fields.netcdf_input.dataset import numeric, open_file, values_of
from ..setup.fields.netcdf_input.units import axis_of_degrees
from ..setup.positions.stencils import QUANTITIES

DAY = timedelta(days=1)

COORDINATES = {
    "time": {"standard_name": TIME["standard_name"], "long_name": "time", "axis": "T"},
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

#: The axes of positions in degrees.
AXES_OF_DEGREES = {"lon": "x", "lat": "y"}


class Unfit(ValueError):
    """A variable cannot be used; the message has the reason."""


def position_names(grid) -> dict[str, str]:
    """{name of a position here: name of its variable in a file}."""
    return dict(zip("xy", positions(grid)[0], strict=True))


def load(path, config) -> tuple[dict[str, np.ma.MaskedArray], np.ndarray | None, list[str]]:
    """The variables of an observation file in SI units, and the problems with its form.

    Returns:
        {name: float64 values [obs], masked where missing} of the usable variables, with time in s since the start.
        Then the platforms as text [obs], or None. Then one line for each problem.
    """
    try:
        with open_file(str(path)) as dataset:
            return columns_of(dataset.data, path, config)
    except InputError as error:
        return {}, None, [f"{path}: {str(error).removeprefix(f'{path} ').removesuffix(f' {path}')}"]


def columns_of(data, path, config) -> tuple[dict[str, np.ma.MaskedArray], np.ndarray | None, list[str]]:
    """See `load`, for the Dataset of a file."""
    feature = str(data.attrs.get("featureType", "point"))
    problems = [] if feature.lower() == "point" else [f'{path}: its featureType is "{feature}"; it needs "point"']
    columns, names = {}, position_names(config.grid)
    there = [name for name in QUANTITIES if name in data.variables]
    wanted = ["time", "x", "y", *(name + end for name in there for end in ("", "_error"))]
    dims = next((data[names.get(name, name)].dims for name in wanted if names.get(name, name) in data.variables), ())
    for name in wanted:
        try:
            columns[name] = read_column(data, names.get(name, name), dims, config)
        except Unfit as error:
            problems.append(f"{path}: {error}")
    if not there:
        problems.append(f"{path}: observes nothing; it needs eta, u or v with eta_error, u_error or v_error")
    if turned(config.grid) and {"x", "y"} <= columns.keys():
        missing = np.ma.getmaskarray(columns["x"]) | np.ma.getmaskarray(columns["y"])
        found = along_axes(config.grid, *(np.ma.filled(columns[name], 0.0) for name in "xy"))
        columns |= {name: np.ma.masked_array(values, missing) for name, values in zip("xy", found, strict=True)}
    return columns, None if problems else read_platform(data), problems


def read_column(data, name: str, dims: tuple, config) -> np.ma.MaskedArray:
    """The values of a variable in SI units, float64 [obs]."""
    physics, quantity = config.physics, name.split("_")[0]
    units = "any time since a date" if name == "time" else COORDINATES.get(name, {}).get("units")
    units = units or VARIABLES[quantity].units
    if name not in data.variables:
        what = f"standard deviation of the error of {quantity}" if "_error" in name else "coordinate"
        raise Unfit(f"has no variable {name}, the {what}, in {units}")
    variable = data[name]
    if variable.ndim != 1 or variable.dims != dims:
        have = ", ".join(variable.dims)
        raise Unfit(f"{name} has the dimensions ({have}); all variables need one, the dimension of observations")
    if not numeric(variable):
        raise Unfit(f"{name} does not hold numbers")
    standard_name, found = variable.attrs.get("standard_name"), variable.attrs.get("units")
    if name == "eta" and physics.reduced_gravity and standard_name == VARIABLES["sea_level"].standard_name:
        raise Unfit(
            f'eta has the standard_name "{standard_name}"; with physics.reduced_gravity it is the '
            f"{entry_of(name, physics).long_name}: sea level times {physics.full_gravity / physics.gravity:.6g}"
        )
    if name == "time":
        return seconds_since_start(variable, config.time)
    factor = factor_of(name, found, units) if found is not None else None
    if factor is None:
        have = "has no units" if found is None else f'is in "{found}"'
        raise Unfit(f'{name} {have}; convert it to "{units}"')
    return masked(variable) * factor


def factor_of(name: str, found: str, units: str) -> float | None:
    """The factor from the units of a variable to those needed; None: there is none. Values and errors need these."""
    if name in AXES_OF_DEGREES:
        return 1.0 if axis_of_degrees(found) in (AXES_OF_DEGREES[name], "") else None
    factor = conversion(found, units)
    return factor if name in ("x", "y") or factor == 1.0 else None


def masked(variable) -> np.ma.MaskedArray:
    """The values of a variable, float64, masked where missing."""
    values = np.asarray(values_of(variable), np.float64)
    return np.ma.masked_array(values, np.isnan(values))


def seconds_since_start(variable, time) -> np.ma.MaskedArray:
    """The times in s since the start of the run, from any units and reference date of CF in the run's calendar."""
    import cftime

    units, calendar = variable.attrs.get("units"), variable.attrs.get("calendar", "standard").lower()
    if not alike(calendar, time.calendar):
        raise Unfit(f'time has the calendar "{calendar}"; that of the run is {time.calendar}')
    begin = start_of(time)
    try:
        start, later = (float(cftime.date2num(date, units or "", calendar)) for date in (begin, begin + DAY))
    except (ValueError, OverflowError) as error:
        have = "has no units" if units is None else f'is in "{units}" ({error})'
        raise Unfit(f'time {have}; it needs seconds, minutes, hours or days since a date: "{units_of(time)}"') from None
    return (masked(variable) - start) * (DAY.total_seconds() / (later - start))


def read_platform(data) -> np.ndarray | None:
    """The platform of each observation, as text [obs], or None."""
    if "platform" not in data.variables or data["platform"].ndim != 1:
        return None
    variable = data["platform"]
    if numeric(variable):
        values = masked(variable)
        return values.astype(variable.encoding["dtype"]).astype(object).filled("").astype(str)
    values = variable.values
    texts = np.char.decode(values, "utf-8", "replace") if values.dtype.kind == "S" else values.astype(str)
    return np.char.rstrip(texts)  # programs in Fortran fill up with blanks


def save(path, columns: dict[str, np.ndarray], platform: np.ndarray | None, attributes: dict, config) -> None:
    """Write an observation file, whole or not at all; NaN becomes _FillValue."""
    import xarray

    names = position_names(config.grid)
    if turned(config.grid):
        columns |= zip("xy", to_earth(config.grid.pole, columns["x"], columns["y"]), strict=True)
    data = xarray.Dataset(attrs={"Conventions": "CF-1.12", "featureType": "point", **attributes})
    for name, values in ((names.get(name, name), values) for name, values in columns.items()):
        of_time = times_of(config.time) if name == "time" else {}
        data[name] = "obs", values, (COORDINATES.get(name) or attributes_of(name, config)) | of_time
        data[name].encoding = {"_FillValue": None if name in COORDINATES else FILL}
    if platform is not None:
        where = {"long_name": "platform of the observation", "coordinates": f"time {' '.join(names.values())}"}
        data["platform"] = "obs", platform.astype(object), where
    with replacing(path) as part:
        data.to_netcdf(part, engine="netcdf4")


def attributes_of(name: str, config) -> dict[str, str]:
    """Attributes of an observed quantity or of its error."""
    quantity, _, error = name.partition("_")
    entry = on_grid(entry_of(quantity, config.physics), config.grid)
    found = {
        "long_name": f"standard deviation of the error of {quantity}" if error else f"observed {entry.long_name}",
        "units": entry.units,
        "coordinates": f"time {' '.join(position_names(config.grid).values())}",
    }
    if entry.standard_name:
        found["standard_name"] = entry.standard_name + (" standard_error" if error else "")
    return found if error else found | {"ancillary_variables": f"{quantity}_error"}
