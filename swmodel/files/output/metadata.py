"""The metadata of files: CF-1.12 attributes and the SGRID-0.3 description of the C-grid."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np

from ... import cases
from ...config import config_hash, to_toml
from ...config.loading.case_file import IDENTITY
from ...ocean.coordinates import OFFSETS, axes, on_sphere, turned
from ...ocean.dates import units_of
from ...ocean.table import on_grid
from ...parallel.environment import version_of
from ..gather import chunk_rows
from ..integrity import checksums

#: Dimensions (y, x) of each location, and its name in SGRID; nodes are x_f and y_f, the east and north faces.
DIMENSIONS = {"centre": ("y_c", "x_c"), "u": ("y_c", "x_f"), "v": ("y_f", "x_c"), "corner": ("y_f", "x_f")}
SGRID_LOCATIONS = {"centre": "face", "u": "edge1", "v": "edge2", "corner": "node"}

TOPOLOGY = {
    "cf_role": "grid_topology",
    "long_name": "Arakawa C-grid",
    "topology_dimension": np.int32(2),
    "node_dimensions": "x_f y_f",
    "face_dimensions": "x_c: x_f (padding: low) y_c: y_f (padding: low)",
    "node_coordinates": "x_f y_f",
    "face_coordinates": "x_c y_c",
}

TIME = {
    "standard_name": "time",
    "long_name": "model time",
    "axis": "T",
    "units_metadata": "leap_seconds: none",
}

STEP = {"long_name": "number of time steps", "units": "1"}

#: The fill value of netCDF, for float32 and float64; how fields are compressed.
FILL = 9.969209968386869e36
PACKED = {"compression": "zlib", "complevel": 1, "shuffle": True}

#: The dimension of the two ends of an interval.
BOUNDS = "bounds"

#: The variable that describes the figure of the Earth for longitudes and latitudes.
MAPPING = "crs"

#: Standard names and units of the coordinates.
IN_METRES = {axis: (f"projection_{axis}_coordinate", axis, "m") for axis in "xy"}
IN_DEGREES = {"x": ("longitude", "longitude", "degrees_east"), "y": ("latitude", "latitude", "degrees_north")}

ABOUT_A_POLE = {
    "x": ("grid_longitude", "longitude about the pole of the grid", "degrees"),
    "y": ("grid_latitude", "latitude about the pole of the grid", "degrees"),
}

#: The endings of the names of longitudes and latitudes that vary along both axes, by location.
END = {"centre": "", "u": "_u", "v": "_v", "corner": "_f"}

#: Size of a chunk of checksums: a page.
CHECKSUM_BYTES = 4096

#: Packages whose versions are recorded.
PACKAGES = ("swmodel", "numpy", "jax", "mpi4jax", "netCDF4")


def define_provenance(dataset, config, transport, command_line: str) -> None:
    """Set the global attributes: title, references, and origin of the file."""
    title, references = of_case(config)
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
    """Date (UTC) and command line that made or continued a file."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}: {command_line or 'swmodel.Simulation'}"


def of_case(config) -> tuple[str, str]:
    """Title and references of a case, from its docstring; the title of a run with other data names what was changed."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in cases.about(config.case).split("\n\n")]
    found = [words.partition(":")[2].strip() for words in paragraphs if words.startswith("Reference")]
    title, case = paragraphs[0], config.case
    other = ["grid.file"] if config.grid.file else []
    other += [f"input.{key}" for key, files in config.input if files]
    fields = type(case).model_fields.items()
    other += [f"case.{key}" for key, field in fields if key not in IDENTITY and getattr(case, key) != field.default]
    if other:
        title = f"The case {case.name} with other {', '.join(other)}"
    return title, " ".join(found) or "Sadourny (1975), J. Atmos. Sci. 32, 680-689"


def versions() -> dict[str, str]:
    """Versions of Python and of the PACKAGES that are installed."""
    found = {"Python": platform.python_version()} | {name: version_of(name) for name in PACKAGES}
    return {name: version for name, version in found.items() if version}


def times_of(time) -> dict[str, str]:
    """Units and calendar of the times of a run; `time` is the section of its configuration."""
    return {"units": units_of(time), "calendar": time.calendar}


def define_variable(dataset, name: str, dimensions, about: dict, values=None, kind="f8", fill=False, **storage):
    """Make a variable of a netCDF4.Dataset with its attributes `about`, and its values if known.

    `fill`: its fill value; False: none, as all values are written.
    """
    variable = dataset.createVariable(name, kind, dimensions, fill_value=fill, **storage)
    variable.setncatts(about)
    if values is not None:
        variable[...] = values
    return variable


def define_field(dataset, row, config, before=(), name: str = "", kind=None, fill=FILL, **about) -> None:
    """Make the compressed variable of a field on the grid from its row in the table, in chunks of rows.

    `before`: the dimensions before those of the grid, with one index in a chunk.
    """
    name, dtype, columns = name or row.name, np.dtype(config.run.dtype), config.grid.nx
    chunk = *(1 for _ in before), chunk_rows((config.grid.ny, columns), dtype.itemsize), columns
    dimensions, found = (*before, *DIMENSIONS[row.location]), attributes(row, config.grid, name, **about)
    found |= flags(row, kind or dtype) if name == row.name else {}
    define_variable(dataset, name, dimensions, found, None, kind or dtype, fill, chunksizes=chunk, **PACKED)


def flags(row, kind) -> dict:
    """CF's attributes of a flag, whose values are 0 and 1 of a type; none of other fields."""
    return {"flag_values": np.array([0, 1], kind), "flag_meanings": row.flags} if row.flags else {}


def define_time(dataset, times: dict[str, str], bounds: bool = False, chunk: int | None = None) -> None:
    """Make the unlimited dimension time with its variable, the number of steps, and (with means) the bounds.

    `chunk`: records of a chunk; None: netCDF's choice.
    """
    dataset.createDimension("time")
    storage = {"chunksizes": (chunk,)} if chunk else {}
    define_variable(dataset, "time", ("time",), TIME | times, **storage)
    define_variable(dataset, "step", ("time",), STEP, kind="i8", **storage)
    if bounds:
        define_bounds(dataset, "time")


def define_bounds(dataset, name: str, values=None) -> None:
    """Make the bounds of the intervals around the values of a coordinate."""
    if BOUNDS not in dataset.dimensions:
        dataset.createDimension(BOUNDS, 2)
    dataset[name].bounds = f"{name}_bounds"
    define_variable(dataset, f"{name}_bounds", (name, BOUNDS), {}, values)


def define_checksums(dataset) -> None:
    """Make the variable with the checksums of each record, after all other variables."""
    names = [name for name, variable in dataset.variables.items() if "time" in variable.dimensions]
    size = len(names) + 1
    dataset.createDimension(checksums.DIMENSION, size)
    about = {
        "long_name": "CRC-32 of each variable in the record, and of these checksums",
        checksums.COLUMNS: " ".join(names),
    }
    chunk, dimensions = (max(1, CHECKSUM_BYTES // (4 * size)), size), ("time", checksums.DIMENSION)
    define_variable(dataset, checksums.VARIABLE, dimensions, about, kind="u4", chunksizes=chunk)


def define_grid(dataset, grid) -> None:
    """Make the dimensions of the grid and their coordinates, its topology, and on a sphere a grid mapping."""
    for name, values, about in along_axes(grid):
        dataset.createDimension(name, len(values))
        define_variable(dataset, name, (name,), about, values)
        if on_sphere(grid):
            half = 0.5 * axes(grid)["xy".index(name[0])].spacing
            define_bounds(dataset, name, values[:, None] + half * np.array([-1, 1]))
    define_variable(dataset, "grid", (), TOPOLOGY, 0, "i4")
    if on_sphere(grid):
        define_variable(dataset, MAPPING, (), mapping_of(grid) | {"earth_radius": np.float64(grid.radius)}, 0, "i4")


def mapping_of(grid) -> dict:
    """The grid mapping: the kind of longitudes and latitudes along the axes."""
    if not turned(grid):
        return {"grid_mapping_name": "latitude_longitude"}
    return {
        "grid_mapping_name": "rotated_latitude_longitude",
        "grid_north_pole_longitude": np.float64(grid.pole[0]),
        "grid_north_pole_latitude": np.float64(grid.pole[1]),
        "north_pole_grid_longitude": np.float64(0),
    }


def coordinates_of(grid) -> dict:
    """{axis: (standard name, description, units)} of the coordinates."""
    return ABOUT_A_POLE if turned(grid) else IN_DEGREES if on_sphere(grid) else IN_METRES


def along_axes(grid) -> Iterator[tuple[str, np.ndarray, dict]]:
    """The coordinates of the grid: name, values and attributes of each."""
    for axis in "xy":
        standard_name, what, units = coordinates_of(grid)[axis]
        for end, where in (("c", "centres"), ("f", "east faces" if axis == "x" else "north faces")):
            about = {
                "standard_name": standard_name,
                "long_name": f"{what} of the cells' {where}",
                "units": units,
                "axis": axis.upper(),
            }
            about |= {"c_grid_axis_shift": np.float64(0.5)} if end == "f" else {}
            yield f"{axis}_{end}", positions(grid, axis, "centre" if end == "c" else "corner"), about


def positions(grid, axis: str, location: str) -> np.ndarray:
    """The coordinates of all points of a location along x or y, in the units of the axis."""
    along, shift = axes(grid)["xy".index(axis)], OFFSETS[location]["yx".index(axis)]
    return along.first + (np.arange(along.cells) + shift) * along.spacing


def attributes(variable, grid, /, name: str | None = None, **more) -> dict[str, str]:
    """Attributes of a field; units with fractional powers, which UDUNITS lacks, follow the long name."""
    broken, variable = "/" in variable.units, on_grid(variable, grid)
    found = {
        "standard_name": variable.standard_name,
        "long_name": variable.long_name + (f" ({variable.units})" if broken else ""),
        "units": "" if broken else variable.units,
        "grid": "grid",
        "location": SGRID_LOCATIONS[variable.location],
        "cell_measures": "area: cell_area" if variable.location == "centre" and name != "cell_area" else "",
        "grid_mapping": MAPPING if on_sphere(grid) else "",
        "coordinates": "lon{0} lat{0}".format(END[variable.location]) if turned(grid) else "",
    }
    return {key: text for key, text in (found | more).items() if text}
