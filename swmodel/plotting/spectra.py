"""Spectra of the records of a run, computed from its file, and how each part of the tendency changes them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import matplotlib as mpl
import netCDF4
import numpy as np

from ..config.loading.load import from_toml
from ..files.output.metadata import define_time, history_line
from ..files.output.series import define_spectra, define_wavenumbers
from ..files.run_folder import SNAPSHOTS
from ..ocean.squares import square_of, squares_of
from ..ocean.state import State, state_type
from ..ocean.terms.tracer import CONTENT
from ..setup.setup import setup_of
from . import derived, spectrum, style
from .dataset import (
    PlotError,
    configuration,
    data_file,
    field_names,
    find_record,
    open_data,
    seconds,
    stored,
    tracers_of,
)
from .files import save, written

log = logging.getLogger(__name__)

#: The ending of the name of a file of spectra, after that of the run's file.
SUFFIX = "-spectra.nc"
#: The attribute by which a file of spectra is recognised.
SIGN = "spectra_of"
#: Fraction of the largest change of a quantity below which another change is rounding.
ROUNDING = 1e-12
#: Attributes of the run's file that the file of spectra also has.
PROVENANCE = (
    *("Conventions", "title", "institution", "source", "references", "configuration", "configuration_sha256"),
    *("case_file", "versions", "nproc", "devices", "layout", "executor"),
)


def spectra(
    path,
    names: Sequence[str] = (),
    record: int | None = None,
    time: float | None = None,
    mean: bool = False,
    budget: bool = False,
    output=None,
    command_line: str = "",
) -> tuple[Path, ...]:
    """Write the spectra of a run into a NetCDF file beside its output, and draw them.

    Args:
        path: run folder, or its output file.
        names: quantities of `squares.squares_of` the run; none: all for which the file has the fields.
        record: number of the only record to take; negative ones count from the last. None: each record.
        time: model time, s: only the nearest record is taken.
        mean: whether to write the mean over the records.
        budget: whether to write how each part of the tendency changes the spectra. The configuration in the file
            defines the parts; a user's own case is executed for it.
        output: file to write; the picture has the same name with the ending .png.

    Returns:
        The file and the picture, if there is something to draw.
    """
    file = data_file(path, *SNAPSHOTS)
    target = Path(output) if output else file.with_name(file.stem + SUFFIX)
    if target.suffix != ".nc":
        raise PlotError(f"cannot write {target}: the file of spectra is a NetCDF file, with a name like spectra.nc")
    if record is not None and time is not None:
        raise PlotError("give a record or a time, not both")
    with open_data(file) as data:
        see_that_free(target)
        names = require(data, list(dict.fromkeys(names)))
        records = [*range(seconds(data).size)]
        if record is not None or time is not None or not records:
            records = [find_record(data, -1 if record is None else record, time)]
        found = [of_record(data, number, names, budget) for number in records]
        with written(target) as temporary, netCDF4.Dataset(temporary, "w") as made:
            write(made, data, records, found, names, mean, command_line)
    with open_data(target) as made, mpl.rc_context(style.RC):
        try:
            return target, save(spectrum.picture(made), target.with_suffix(".png"))
        except PlotError as error:
            log.warning("no picture: %s", error)
            return (target,)


def see_that_free(target: Path) -> None:
    """Make sure that only a file of spectra computed from a file is replaced."""
    if not target.exists():
        return
    with suppress(OSError), netCDF4.Dataset(target) as made:
        if SIGN in made.ncattrs():
            return
    raise PlotError(f"{target} is another file, which is not replaced; give another name with --output")


def require(data: netCDF4.Dataset, names: Sequence[str]) -> list[str]:
    """The names of the quantities to compute."""
    if "member" in data.variables:
        raise PlotError(f"{data.filepath()} is of an ensemble, of which there are no spectra")
    squares = squares_of([*State._fields, *tracers_of(data)])
    if unknown := [name for name in names if name not in squares]:
        raise PlotError(f"no spectra of {', '.join(unknown)}; there are those of {', '.join(squares)}")
    if not derived.is_run(data):
        raise PlotError(f"{data.filepath()} is no file of a run: spectra need its grid and its configuration")
    held = derived.held_in(data)
    lacking = {name: [source for source in squares[name].sources if source not in held] for name in names or squares}
    found = [name for name, missing in lacking.items() if not missing]
    if (names and len(found) < len(names)) or not found:
        words = (f"{name} needs {' and '.join(missing)}" for name, missing in lacking.items() if missing)
        raise PlotError(f"{data.filepath()} holds no fields for spectra: {'; '.join(words)}, among output.fields")
    return found


def of_record(data: netCDF4.Dataset, record: int, names: Sequence[str], budget: bool) -> dict[str, np.ndarray]:
    """The spectra of a record: `ocean.spectra.measure`."""
    from ..ocean.spectra import Sea, measure  # it loads JAX
    from ..parallel.transport import connect

    grid, gravity = derived.grid_of(configuration(data)), configuration(data)["physics"]["gravity"]
    sea, shape = Sea(grid, connect("serial", (1, 1), grid.ny, grid.nx)), (grid.ny, grid.nx)
    state, static, *rates = with_rates(data, record) if budget else with_tracers(data, record)
    return measure([(state, static, shape)], gravity, sea, names, rates)


def with_tracers(data: netCDF4.Dataset, record: int) -> tuple:
    """State and Grid of a record, with the concentrations of the tracers that are in the file."""
    from ..ocean.patch import Patch

    state, static = derived.padded(data, record, None)
    names = [name for name in tracers_of(data) if name in field_names(data)]
    filled = [np.ma.filled(stored(data, name, record, None), 0) for name in names]
    fields = [Patch(derived.surround(data, c, 1), (-1, -1)) for c in filled]
    return state_type((*state._fields, *names))(*state, *fields), static


def with_rates(data: netCDF4.Dataset, record: int) -> tuple:
    """State and Grid of a record, and {part of the tendency: the State's d/dt}, in double precision."""
    from ..ocean.dynamics import budget
    from ..ocean.grid import as_patches
    from ..ocean.instant import Instant
    from ..ocean.patch import Patch
    from ..parallel.decomposition import block

    config = from_toml(data.configuration, getattr(data, "case_file", None))
    setup = setup_of(config.model_copy(update={"run": config.run.model_copy(update={"dtype": "float64"})}))
    if setup.scheme.drying:
        raise PlotError(f"{data.filepath()} is of a run with drying, which has no budget")
    scheme, whole = setup.scheme, block(0, (1, 1), *setup.shape)
    width, margin = scheme.width + 1, setup.margin + 1  # rates are needed one cell around, too
    held = set(field_names(data))
    needed = ["h" if "h" in held else "eta", "u", "v", *(term.name for term in scheme.tracers)]
    if missing := [name for name in needed if name not in held]:
        raise PlotError(f"{data.filepath()} holds no {' and no '.join(missing)}: a budget needs all of a state")
    fields = [np.ma.filled(stored(data, name, record, None), 0).astype(np.float64) for name in needed]
    static, params = (as_patches(each, margin) for each in setup.static(whole, margin))
    if needed[0] == "eta":
        fields[0] = fields[0] + static.depth.on(whole.shape)
    there = zip(scheme.state._fields[3:], fields[3:], strict=True)
    fields[3:] = [c * fields[0] if name.endswith(CONTENT) else c for name, c in there]
    state = scheme.state(*(Patch(np.pad(field, width, mode="wrap"), (-width, -width)) for field in fields))
    return state, static, budget(state, Instant(np.int32(data["step"][record])), static, params, scheme)


def acting(found: list[dict], names: Sequence[str]) -> dict[str, list[str]]:
    """The parts that change each quantity at any time, and the part by which the current carries it."""
    parts = {}
    for name in names:
        of = [each for each in found[0] if each.startswith(f"{name}_by_") and not each.endswith(("_x", "_y"))]
        size = {each: max(np.abs(record[each]).max(initial=0.0) for record in found) for each in of}
        carries = f"{name}_by_{square_of(name).carried}"  # its fluxes are written, however small
        acts = [each for each in of if size[each] > ROUNDING * max(size.values()) or each == carries]
        parts[name] = [each.removeprefix(f"{name}_by_") for each in acts]
    return parts


def write(made, data, records: list[int], found: list[dict], names: Sequence[str], mean: bool, command_line: str):
    """Write the spectra of records of a run's file, or the mean of several over time, into a new netCDF4.Dataset.

    Args:
        found: {name of a spectrum: density} of each record.
    """
    made.setncatts({name: data.getncattr(name) for name in data.ncattrs() if name in PROVENANCE})
    made.setncattr(SIGN, Path(data.filepath()).name)
    made.history = "\n".join([*getattr(data, "history", "").splitlines(), history_line(command_line)])
    define_time(made, {name: data["time"].getncattr(name) for name in ("units", "calendar")}, bounds=mean)
    define_wavenumbers(made, derived.grid_of(configuration(data)))
    define_spectra(made, names, acting(found, names), **({"cell_methods": "time: mean"} if mean else {}))
    times, steps = seconds(data), np.ma.filled(data["step"][:], 0)
    if mean:
        found = [{name: np.mean([each[name] for each in found], axis=0) for name in found[0]}]
        made["time_bounds"][0] = times[records[0]], times[records[-1]]
        records = records[-1:]
    for place, (record, spectra) in enumerate(zip(records, found, strict=True)):
        made["time"][place], made["step"][place] = times[record], steps[record]
        for name in (name for name in spectra if name in made.variables):
            made[name][place] = spectra[name]
