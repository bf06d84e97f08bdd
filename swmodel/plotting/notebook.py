"""Pictures for notebooks: figures of a run, of its files, or of a Dataset of xarray."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib as mpl
import netCDF4
from matplotlib.figure import Figure

from ..files.integrity import checksums
from .dataset import PlotError, find_data_file, open_data, open_netcdf_or_zarr
from .derived import GRID_FIELDS
from .maps import DRAWABLE_FILES, make_figure
from .overlays import Overlays
from .style import RC_PARAMS, ColourRange


def plot(
    source,
    *fields: str,
    record: int = -1,
    time: float | None = None,
    member: int | None = None,
    vmin: float | None = None,
    vmax: float | None = None,
    range: str = "record",
    **overlays,
) -> Figure:
    """Draw maps as `swmodel plot` does, and return the matplotlib Figure, which a notebook shows.

    The figure does not belong to pyplot: `figure.savefig("eta.png")` writes it, and `figure.axes` can be changed first.

        swmodel.plot("outputs/jet", "speed", arrows=True)
        swmodel.plot(xarray.open_dataset("outputs/jet/output.nc"), "eta", record=3)

    Args:
        source: run folder, NetCDF file or Zarr store, or xarray.Dataset of an output file or of `Simulation.dataset`.
        fields: names of fields. Default: relative vorticity and sea level, or others if these are zero or missing; for
            tides, the first amplitude with lines of equal phase; for an ensemble, mean and spread; for other files see
            `maps.plot`.
        record: number of the record; negative ones count from the last.
        time: model time, s; the nearest record is drawn.
        member: the member of an ensemble whose fields are drawn.
        vmin, vmax: values at the ends of the colours, in the units of the label without its power of ten.
        range: "record", "run" or "shared": the values that the colour scale spans (`swmodel plot --help`).
        overlays: `arrows=True` for the current, `wind=True` for the wind, `contours="depth"` for lines of equal value
            of a field, `drifters=True` for tracks.

    Raises:
        PlotError: the source does not exist or lacks the field, or an option is invalid; it is a ValueError.
        FilesError: the source is damaged.
    """
    if hasattr(source, "to_netcdf") and overlays.get("drifters"):
        raise PlotError("drifters: a Dataset has no tracks; give the run folder")
    colour_range = ColourRange(range, vmin, vmax)
    if hasattr(source, "to_netcdf") and "time" in source.dims and range != "run" and time is None:
        n_records = source.sizes["time"]
        if not -n_records <= record < n_records:
            raise PlotError(f"no record {record} in the Dataset, which has {n_records}")
        source, record = source.isel(time=[record]), -1
    with open_source(source) as data, mpl.rc_context(RC_PARAMS):
        return make_figure(data, fields or None, record, time, member, colour_range, Overlays(**overlays))


@contextmanager
def open_source(source) -> Iterator[netCDF4.Dataset]:
    """The open file of a source of `plot`; a Dataset of xarray is first written to a temporary file."""
    if not hasattr(source, "to_netcdf"):
        with open_data(find_data_file(source, *DRAWABLE_FILES)) as data:
            yield data
        return
    # Values may have changed since their checksums were written. The copy leaves the caller's Dataset unchanged.
    dataset = source.drop_vars(checksums.VARIABLE, errors="ignore").copy()
    for variable in dataset.variables.values():
        variable.attrs.pop(checksums.ATTRIBUTE, None)
    if "time" in dataset.coords and not dataset["time"].ndim:
        dataset = dataset.assign(
            {name: each.expand_dims("time") for name, each in dataset.items() if name not in GRID_FIELDS}
        )
    with TemporaryDirectory() as folder:
        dataset.to_netcdf(path := Path(folder) / "dataset.nc", engine="netcdf4")
        with open_netcdf_or_zarr(path) as data:
            yield data
