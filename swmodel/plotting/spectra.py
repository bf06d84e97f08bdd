"""Spectra of the records of a run, computed from its file, and their budgets: how each term changes them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import matplotlib as mpl
import netCDF4
import numpy as np

from ..config.loading.load import from_toml
from ..files.output.domain_series import define_spectra, define_wavenumbers
from ..files.output.metadata import define_time, history_line
from ..files.run_folder import SNAPSHOT_FILES
from ..ocean.spectral_quantities import spectral_quantities_of, spectral_quantity
from ..ocean.state import State, state_type
from ..ocean.terms.tracer import CONTENT_SUFFIX
from ..setup.setup import setup_of
from . import derived, spectra_figure, style
from .dataset import (
    PlotError,
    field_names,
    find_data_file,
    find_record,
    open_data,
    read_configuration,
    read_field,
    record_times,
    tracer_names,
)
from .files import save_figure, write_output

log = logging.getLogger(__name__)

#: Default name of a file of spectra: this suffix follows the stem of the run's file.
FILE_SUFFIX = "-spectra.nc"
#: The attribute by which a file of spectra is recognised.
SOURCE_ATTRIBUTE = "spectra_of"
#: Changes of a quantity below this fraction of its largest change count as rounding errors.
ROUNDING_FRACTION = 1e-12
#: Attributes that are copied from the run's file to the file of spectra.
PROVENANCE_ATTRIBUTES = (
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
    """Write the spectra of a run into a NetCDF file next to its output, and draw them.

    Args:
        path: run folder, or its output file.
        names: keys of `spectral_quantities_of`; empty: all quantities for which the file has the fields.
        record: number of the only record to use; negative ones count from the last. None: each record.
        time: model time, s: only the nearest record is used.
        mean: whether to write the mean over the records.
        budget: whether to write how each part of the tendency changes the spectra. The configuration in the file
            defines the parts; a user-defined case is executed for this.
        output: file to write; the picture has the same name with the ending .png.
        command_line: the command, for the `history` of the file.

    Returns:
        The path of the file, and of the picture if there is something to draw.
    """
    file = find_data_file(path, *SNAPSHOT_FILES)
    target = Path(output) if output else file.with_name(file.stem + FILE_SUFFIX)
    if target.suffix != ".nc":
        raise PlotError(f"cannot write {target}: the file of spectra is a NetCDF file, with a name like spectra.nc")
    if record is not None and time is not None:
        raise PlotError("give a record or a time, not both")
    with open_data(file) as data:
        check_overwritable(target)
        names = choose_quantities(data, list(dict.fromkeys(names)))
        records = [*range(record_times(data).size)]
        if record is not None or time is not None or not records:
            records = [find_record(data, -1 if record is None else record, time)]
        spectra_of_records = [compute_record_spectra(data, number, names, budget) for number in records]
        with write_output(target) as draft, netCDF4.Dataset(draft, "w") as dataset:
            write_spectra(dataset, data, records, spectra_of_records, names, mean, command_line)
    with open_data(target) as dataset, mpl.rc_context(style.RC_PARAMS):
        try:
            return target, save_figure(spectra_figure.draw_spectra(dataset), target.with_suffix(".png"))
        except PlotError as error:
            log.warning("no picture: %s", error)
            return (target,)


def check_overwritable(target: Path) -> None:
    """Raise a PlotError if `target` exists and is not a file of spectra."""
    if not target.exists():
        return
    with suppress(OSError), netCDF4.Dataset(target) as dataset:
        if SOURCE_ATTRIBUTE in dataset.ncattrs():
            return
    raise PlotError(f"{target} is not a file of spectra and is not replaced; choose another name with --output")


def choose_quantities(data: netCDF4.Dataset, names: Sequence[str]) -> list[str]:
    """The quantities `names`, or all that the file allows. PlotError: one of them cannot be computed, or none can."""
    if "member" in data.variables:
        raise PlotError(f"{data.filepath()} is of an ensemble, for which no spectra are computed")
    quantities = spectral_quantities_of([*State._fields, *tracer_names(data)])
    if unknown := [name for name in names if name not in quantities]:
        raise PlotError(f"no spectra of {', '.join(unknown)}; there are those of {', '.join(quantities)}")
    if not derived.can_derive(data):
        raise PlotError(f"{data.filepath()} is not the file of a run: spectra need its grid and its configuration")
    available = derived.available_fields(data)
    missing = {
        name: [each for each in quantities[name].sources if each not in available] for name in names or quantities
    }
    computable = [name for name, fields in missing.items() if not fields]
    if (names and len(computable) < len(names)) or not computable:
        reasons = (f"{name} needs {' and '.join(fields)}" for name, fields in missing.items() if fields)
        raise PlotError(f"{data.filepath()} lacks fields for spectra: {'; '.join(reasons)} in output.fields")
    return computable


def compute_record_spectra(
    data: netCDF4.Dataset, record: int, names: Sequence[str], budget: bool
) -> dict[str, np.ndarray]:
    """{name of a spectrum: densities} of one record, and with `budget` the changes of the densities."""
    from ..ocean.spectra import SpectralDomain, compute_spectra  # imports JAX
    from ..parallel.transport import connect

    config = read_configuration(data)
    grid, gravity = derived.read_grid_options(config), config["physics"]["gravity"]
    domain = SpectralDomain(grid, connect("serial", (1, 1), grid.ny, grid.nx))
    state, static, *rates = read_state_and_rates(data, record) if budget else read_state_with_tracers(data, record)
    return compute_spectra([(state, static, (grid.ny, grid.nx))], gravity, domain, names, rates)


def read_state_with_tracers(data: netCDF4.Dataset, record: int) -> tuple:
    """State and Grid of a record, with the concentrations of the tracers that are in the file."""
    from ..ocean.patch import Patch

    state, static = derived.read_state_and_grid(data, record, None)
    names = [name for name in tracer_names(data) if name in field_names(data)]
    concentrations = [np.ma.filled(read_field(data, name, record, None), 0) for name in names]
    fields = [Patch(derived.add_halo(data, c, 1), (-1, -1)) for c in concentrations]
    return state_type((*state._fields, *names))(*state, *fields), static


def read_state_and_rates(data: netCDF4.Dataset, record: int) -> tuple:
    """State and Grid of a record, and {part of the tendency: rates of change of the State}, in double precision."""
    from ..ocean.dynamics import budget
    from ..ocean.grid import as_patches
    from ..ocean.instant import Instant
    from ..ocean.patch import Patch
    from ..parallel.decomposition import block_of_rank

    config = from_toml(data.configuration, getattr(data, "case_file", None))
    setup = setup_of(config.model_copy(update={"run": config.run.model_copy(update={"dtype": "float64"})}))
    if setup.scheme.drying:
        raise PlotError(f"{data.filepath()} is of a run with drying, for which there is no budget")
    scheme, whole_block = setup.scheme, block_of_rank(0, (1, 1), *setup.shape)
    halo, static_halo = scheme.halo_width + 1, setup.static_halo + 1  # rates are also needed one cell beyond the block
    available = set(field_names(data))
    needed = ["h" if "h" in available else "eta", "u", "v", *(term.name for term in scheme.tracers)]
    if missing := [name for name in needed if name not in available]:
        raise PlotError(f"{data.filepath()} holds no {' and no '.join(missing)}: a budget needs the complete state")
    fields = [np.ma.filled(read_field(data, name, record, None), 0).astype(np.float64) for name in needed]
    static, params = (as_patches(each, static_halo) for each in setup.static(whole_block, static_halo))
    if needed[0] == "eta":
        fields[0] = fields[0] + static.depth.block_values(whole_block.shape)
    state_names: tuple[str, ...] = scheme.state_type._fields
    named_fields = zip(state_names[3:], fields[3:], strict=True)
    fields[3:] = [c * fields[0] if name.endswith(CONTENT_SUFFIX) else c for name, c in named_fields]
    state = scheme.state_type(*(Patch(np.pad(field, halo, mode="wrap"), (-halo, -halo)) for field in fields))
    return state, static, budget(state, Instant(np.int32(data["step"][record])), static, params, scheme)


def contributing_terms(spectra_of_records: list[dict], names: Sequence[str]) -> dict[str, list[str]]:
    """{quantity: the parts of the tendency that change it in any record, and always its advection}."""
    terms_by_quantity = {}
    for name in names:
        prefix, advection = f"{name}_by_", spectral_quantity(name).transfer_part
        max_change = {
            each.removeprefix(prefix): max(np.abs(record[each]).max(initial=0.0) for record in spectra_of_records)
            for each in spectra_of_records[0]
            if each.startswith(prefix) and not each.endswith(("_x", "_y"))
        }
        threshold = ROUNDING_FRACTION * max(max_change.values(), default=0.0)
        # Advection is kept even if its fluxes are small.
        terms_by_quantity[name] = [
            term for term, change in max_change.items() if change > threshold or term == advection
        ]
    return terms_by_quantity


def write_spectra(
    dataset,
    data,
    records: list[int],
    spectra_of_records: list[dict],
    names: Sequence[str],
    mean: bool,
    command_line: str,
):
    """Write the spectra of records of a run's file, or the mean of several over time, into a new netCDF4.Dataset.

    `spectra_of_records`: {name of a spectrum: density} of each record.
    """
    dataset.setncatts({name: data.getncattr(name) for name in data.ncattrs() if name in PROVENANCE_ATTRIBUTES})
    dataset.setncattr(SOURCE_ATTRIBUTE, Path(data.filepath()).name)
    dataset.history = "\n".join([*getattr(data, "history", "").splitlines(), history_line(command_line)])
    define_time(dataset, {name: data["time"].getncattr(name) for name in ("units", "calendar")}, with_bounds=mean)
    define_wavenumbers(dataset, derived.read_grid_options(read_configuration(data)))
    cell_methods = {"cell_methods": "time: mean"} if mean else {}
    define_spectra(dataset, names, contributing_terms(spectra_of_records, names), **cell_methods)
    times, steps = record_times(data), np.ma.filled(data["step"][:], 0)
    if mean:
        spectra_of_records = [
            {name: np.mean([each[name] for each in spectra_of_records], axis=0) for name in spectra_of_records[0]}
        ]
        dataset["time_bounds"][0] = times[records[0]], times[records[-1]]
        records = records[-1:]
    for index, (record, spectra) in enumerate(zip(records, spectra_of_records, strict=True)):
        dataset["time"][index], dataset["step"][index] = times[record], steps[record]
        for name in (name for name in spectra if name in dataset.variables):
            dataset[name][index] = spectra[name]
