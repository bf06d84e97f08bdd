"""The metadata of output files: CF-1.12 attributes and the SGRID-0.3 description of the C-grid."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import cases
from ...config import config_hash, to_toml
from ...config.loading.case_file import IDENTITY_KEYS
from ...ocean import projection
from ...ocean.coordinates import LOCATION_OFFSETS, axes, has_lon_lat, has_rotated_axes, has_rotated_pole, is_spherical
from ...ocean.dates import time_units
from ...ocean.table import with_axis_names
from ...parallel.environment import package_version
from ..gather import chunk_rows
from ..integrity import checksums

if TYPE_CHECKING:
    from ...config.options.model import Config
    from ...parallel.transport.transport import Transport

#: Dimensions (y, x) of each location, and its name in SGRID, which calls cells faces, and corners nodes. East faces of
#: cells have the dimension x_f, north faces y_f.
DIMENSIONS = {"centre": ("y_c", "x_c"), "u": ("y_c", "x_f"), "v": ("y_f", "x_c"), "corner": ("y_f", "x_f")}
SGRID_LOCATIONS = {"centre": "face", "u": "edge1", "v": "edge2", "corner": "node"}

TOPOLOGY_ATTRIBUTES = {
    "cf_role": "grid_topology",
    "long_name": "Arakawa C-grid",
    "topology_dimension": np.int32(2),
    "node_dimensions": "x_f y_f",
    "face_dimensions": "x_c: x_f (padding: low) y_c: y_f (padding: low)",
    "node_coordinates": "x_f y_f",
    "face_coordinates": "x_c y_c",
}

TIME_ATTRIBUTES = {
    "standard_name": "time",
    "long_name": "model time",
    "axis": "T",
    "units_metadata": "leap_seconds: none",
}

STEP_ATTRIBUTES = {"long_name": "number of time steps", "units": "1"}

#: The value that marks missing float32 and float64 values in NetCDF, and the compression of fields.
FILL_VALUE = 9.969209968386869e36
COMPRESSION = {"compression": "zlib", "complevel": 1, "shuffle": True}

BOUNDS_DIMENSION = "bounds"

#: The variable that describes the projection, or the figure of the Earth to which longitudes and latitudes refer.
GRID_MAPPING = "crs"

#: {axis: (standard name, description, units)} of the coordinates on each kind of grid.
COORDINATES_IN_METRES = {axis: (f"projection_{axis}_coordinate", axis, "m") for axis in "xy"}
PROJECTED_COORDINATES = {
    "x": ("projection_x_coordinate", "easting", "m"),
    "y": ("projection_y_coordinate", "northing", "m"),
}
COORDINATES_IN_DEGREES = {
    "x": ("longitude", "longitude", "degrees_east"),
    "y": ("latitude", "latitude", "degrees_north"),
}

ROTATED_COORDINATES = {
    "x": ("grid_longitude", "rotated longitude", "degrees"),
    "y": ("grid_latitude", "rotated latitude", "degrees"),
}

#: The suffixes of the names of longitudes and latitudes that vary along both axes, by location.
LOCATION_SUFFIXES = {"centre": "", "u": "_u", "v": "_v", "corner": "_f"}

#: Size of a chunk of checksums, bytes: that of a page of memory.
CHECKSUM_CHUNK_BYTES = 4096

#: Packages whose versions are recorded in files.
PACKAGES = ("swmodel", "numpy", "jax", "mpi4jax", "netCDF4")


def define_provenance(dataset, config: Config, transport: Transport, command_line: str) -> None:
    """Write the global attributes that say which case, configuration, program and processes produced the file."""
    title, references = title_and_references(config)
    packages = versions()
    dataset.setncatts(
        {
            "Conventions": "CF-1.12 SGRID-0.3",
            "title": title,
            "institution": config.output.institution or "not given",
            "source": " ".join(["swmodel", *packages.get("swmodel", "").split()])
            + ", shallow-water equations on an Arakawa C-grid",
            "references": references,
            "history": history_line(command_line),
            "configuration": to_toml(config),
            "configuration_sha256": config_hash(config),
            **({"case_file": config.case.file_text} if config.case.file_text else {}),
            "versions": ", ".join(f"{name} {number}" for name, number in packages.items()),
            "nproc": np.int32(transport.size),
            "devices": np.int32(config.run.devices),
            "layout": "x".join(map(str, transport.layout)),
            "executor": config.run.executor,
        }
    )


def history_line(command_line: str) -> str:
    """The present time (UTC) and the command line that creates or continues a file."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}: {command_line or 'swmodel.Simulation'}"


def title_and_references(config: Config) -> tuple[str, str]:
    """The title and references from the docstring of the case.

    If the configuration replaces data or options of the case, the title instead names the case and the replaced keys.
    """
    paragraphs = [" ".join(text.split()) for text in cases.docstring_of(config.case).split("\n\n")]
    references_of_case = [
        paragraph.partition(":")[2].strip() for paragraph in paragraphs if paragraph.startswith("Reference")
    ]
    title, case = paragraphs[0], config.case
    changed_keys = ["grid.file"] if config.grid.file else []
    changed_keys += [f"input.{key}" for key, files in config.input if files]
    fields = type(case).model_fields.items()
    changed_keys += [
        f"case.{key}" for key, field in fields if key not in IDENTITY_KEYS and getattr(case, key) != field.default
    ]
    if changed_keys:
        title = f"The case {case.name} with other {', '.join(changed_keys)}"
    return title, " ".join(references_of_case) or "Sadourny (1975), J. Atmos. Sci. 32, 680-689"


def versions() -> dict[str, str]:
    """{package: version} of Python and of the PACKAGES that are installed."""
    version_by_package = {"Python": platform.python_version()} | {name: package_version(name) for name in PACKAGES}
    return {name: version for name, version in version_by_package.items() if version}


def time_attributes(time) -> dict[str, str]:
    """The units and calendar of the times of a run; `time` is the section [time] of its configuration."""
    return {"units": time_units(time), "calendar": time.calendar}


def define_variable(
    dataset, name: str, dimensions, attrs: dict, values=None, datatype="f8", fill_value=False, **storage
):
    """Define a variable of a netCDF4.Dataset, write its `values` unless they are None, and return it.

    `fill_value`: the value of missing entries; False: there is none, because all values will be written.
    """
    variable = dataset.createVariable(name, datatype, dimensions, fill_value=fill_value, **storage)
    variable.setncatts(attrs)
    if values is not None:
        variable[...] = values
    return variable


def define_field(
    dataset,
    model_variable,
    config: Config,
    leading_dimensions=(),
    name: str = "",
    datatype=None,
    fill_value=FILL_VALUE,
    **extra_attrs,
) -> None:
    """Define the compressed variable of a field on the grid.

    A chunk covers one index along each of the `leading_dimensions`. `extra_attrs` replace attributes of the same name.
    """
    name, dtype, columns = name or model_variable.name, np.dtype(config.run.dtype), config.grid.nx
    chunk = *(1 for _ in leading_dimensions), chunk_rows((config.grid.ny, columns), dtype.itemsize), columns
    dimensions = *leading_dimensions, *DIMENSIONS[model_variable.location]
    attrs = field_attributes(model_variable, config.grid, **extra_attrs)
    attrs |= flag_attributes(model_variable, datatype or dtype) if name == model_variable.name else {}
    define_variable(
        dataset, name, dimensions, attrs, None, datatype or dtype, fill_value, chunksizes=chunk, **COMPRESSION
    )


def flag_attributes(model_variable, datatype) -> dict:
    """The CF attributes of a flag with values 0 and 1 of type `datatype`; {} for a field that is not a flag."""
    if not model_variable.flag_meanings:
        return {}
    return {"flag_values": np.array([0, 1], datatype), "flag_meanings": model_variable.flag_meanings}


def define_time(
    dataset, time_attrs: dict[str, str], with_bounds: bool = False, records_per_chunk: int | None = None
) -> None:
    """Define the unlimited dimension time, and the variables time, step and, for means, time_bounds."""
    dataset.createDimension("time")
    storage = {"chunksizes": (records_per_chunk,)} if records_per_chunk else {}
    define_variable(dataset, "time", ("time",), TIME_ATTRIBUTES | time_attrs, **storage)
    define_variable(dataset, "step", ("time",), STEP_ATTRIBUTES, datatype="i8", **storage)
    if with_bounds:
        define_bounds(dataset, "time")


def define_bounds(dataset, name: str, values=None) -> None:
    """Define the bounds of the coordinate `name`, and write their `values` [n, 2] unless they are None."""
    if BOUNDS_DIMENSION not in dataset.dimensions:
        dataset.createDimension(BOUNDS_DIMENSION, 2)
    dataset[name].bounds = f"{name}_bounds"
    define_variable(dataset, f"{name}_bounds", (name, BOUNDS_DIMENSION), {}, values)


def define_checksums(dataset) -> None:
    """Define the variable with the checksums of each record; all other variables must already be defined."""
    names = [name for name, variable in dataset.variables.items() if "time" in variable.dimensions]
    n_checksums = len(names) + 1  # the last one is the checksum of the others
    dataset.createDimension(checksums.DIMENSION, n_checksums)
    attrs = {
        "long_name": "CRC-32 of each variable in the record, and of these checksums",
        checksums.NAMES_ATTRIBUTE: " ".join(names),
    }
    chunk, dimensions = (max(1, CHECKSUM_CHUNK_BYTES // (4 * n_checksums)), n_checksums), ("time", checksums.DIMENSION)
    define_variable(dataset, checksums.VARIABLE, dimensions, attrs, datatype="u4", chunksizes=chunk)


def define_grid(dataset, grid) -> None:
    """Define the dimensions and coordinates of the grid, its topology and, if it has longitudes, its grid mapping."""
    for name, values, attrs in grid_coordinates(grid):
        dataset.createDimension(name, len(values))
        define_variable(dataset, name, (name,), attrs, values)
        if is_spherical(grid):
            half_spacing = 0.5 * axes(grid)["xy".index(name[0])].spacing
            define_bounds(dataset, name, values[:, None] + half_spacing * np.array([-1, 1]))
    define_variable(dataset, "grid", (), TOPOLOGY_ATTRIBUTES, 0, "i4")
    if has_lon_lat(grid):
        define_variable(dataset, GRID_MAPPING, (), grid_mapping_attributes(grid), 0, "i4")


def grid_mapping_attributes(grid) -> dict:
    if grid.crs:
        return projection.cf_attributes(grid.crs)
    mapping: dict[str, Any] = {"grid_mapping_name": "latitude_longitude"}
    if has_rotated_pole(grid):
        mapping = {
            "grid_mapping_name": "rotated_latitude_longitude",
            "grid_north_pole_longitude": np.float64(grid.pole[0]),
            "grid_north_pole_latitude": np.float64(grid.pole[1]),
            "north_pole_grid_longitude": np.float64(0),
        }
    return mapping | {"earth_radius": np.float64(grid.radius)}


def coordinate_descriptions(grid) -> dict:
    """{axis: (standard name, description, units)} of the coordinates along the axes of the grid."""
    return ROTATED_COORDINATES if has_rotated_pole(grid) else place_coordinate_descriptions(grid)


def place_coordinate_descriptions(grid) -> dict:
    """Like `coordinate_descriptions`, but for places such as gauges: geographic also on a rotated-pole grid."""
    if is_spherical(grid):
        return COORDINATES_IN_DEGREES
    return PROJECTED_COORDINATES if grid.crs else COORDINATES_IN_METRES


def grid_coordinates(grid) -> Iterator[tuple[str, np.ndarray, dict]]:
    """The name, values and attributes of each coordinate of the grid."""
    for axis in "xy":
        standard_name, description, units = coordinate_descriptions(grid)[axis]
        for suffix, points_name in (("c", "centres"), ("f", "east faces" if axis == "x" else "north faces")):
            attrs = {
                "standard_name": standard_name,
                "long_name": f"{description} of the cells' {points_name}",
                "units": units,
                "axis": axis.upper(),
            }
            attrs |= {"c_grid_axis_shift": np.float64(0.5)} if suffix == "f" else {}
            yield f"{axis}_{suffix}", coordinate_values(grid, axis, "centre" if suffix == "c" else "corner"), attrs


def coordinate_values(grid, axis: str, location: str) -> np.ndarray:
    """The positions along x or y of all points of a location ("centre", "corner", ...), in the unit of the axis."""
    grid_axis, offset = axes(grid)["xy".index(axis)], LOCATION_OFFSETS[location]["yx".index(axis)]
    return grid_axis.first + (np.arange(grid_axis.n_cells) + offset) * grid_axis.spacing


def field_attributes(variable, grid, /, **extra_attrs) -> dict[str, str]:
    """The attributes of a field, without empty ones; `extra_attrs` replace attributes of the same name.

    Units with fractional powers are written after the long name, because UDUNITS does not support them.
    """
    has_fractional_powers, variable = "/" in variable.units, with_axis_names(variable, grid)
    attrs = {
        "standard_name": variable.standard_name,
        "long_name": variable.long_name + (f" ({variable.units})" if has_fractional_powers else ""),
        "units": "" if has_fractional_powers else variable.units,
        "grid": "grid",
        "location": SGRID_LOCATIONS[variable.location],
        "cell_measures": "area: cell_area" if variable.location == "centre" and variable.name != "cell_area" else "",
        "grid_mapping": GRID_MAPPING if has_lon_lat(grid) else "",
        "coordinates": "lon{0} lat{0}".format(LOCATION_SUFFIXES[variable.location]) if has_rotated_axes(grid) else "",
    }
    return {key: text for key, text in (attrs | extra_attrs).items() if text}
