"""A Setup as a table: grid, equations and fields of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..ocean.constituents import DAY_SECONDS
from ..ocean.coordinates import axes, is_spherical
from ..ocean.table import VARIABLES, variable_in_run
from ..ocean.terms.boundary_data import input_file_of, is_in_case
from . import fields
from .fields.field_sources import RestartSource
from .fields.rivers import rivers_of_field
from .setup import Setup

if TYPE_CHECKING:
    from ..config.options.model import Config


def describe_setup(setup: Setup) -> str:
    """Case, grid, equations, state, time steps, executor, halo, fields, and output of a resolved Setup, as lines."""
    return "\n".join(f"{name:<16} {text}" for name, text in description_lines(setup))


def description_lines(setup: Setup) -> Iterator[tuple[str, str]]:
    """Pairs of the name and the text of each line of `describe_setup`."""
    config, scheme = setup.config, setup.scheme
    run, time, (ny, nx) = config.run, config.time, setup.shape
    terms = ", ".join(term.name for term in scheme.active_terms) or "none"
    yield "case", config.case.name
    yield "grid", f"{nx} columns by {ny} rows, {format_extent(config.grid)}"
    yield "equations", f"vorticity flux: {config.scheme.vorticity_flux}; terms: {terms}"
    yield "state", ", ".join(scheme.state_type._fields)
    days = run.steps * setup.dt / DAY_SECONDS
    yield "time", f"{time.stepper}, dt {setup.dt:.6g} s, {run.steps} steps, {days:.6g} days"
    yield "executor", f"{run.executor}, {setup.dtype}, layout {run.layout}, transport {run.transport}"
    yield "halo", f"{scheme.halo_width} cells around a block, {setup.static_halo} for static fields"
    for name in fields_to_describe(setup):
        yield name, describe_source(config, name)
    yield "output", f"{', '.join(config.output.fields)}; at the start, {format_intervals(config.output)}"
    yield "restart", format_intervals(config.restart)


def format_extent(grid) -> str:
    x, y = axes(grid)
    if is_spherical(grid):
        return f"{x.describe_extent()}, {y.describe_extent()}"
    extent = f", {x.describe_extent()}, {y.describe_extent()} in {grid.crs}" if grid.crs else ""
    return f"{x.n_cells * x.spacing / 1e3:.6g} by {y.n_cells * y.spacing / 1e3:.6g} km{extent}"


def fields_to_describe(setup: Setup) -> list[str]:
    """Names of the depth, the mask, the initial fields, and the coefficients that are fields or nonzero numbers.

    Crests of barriers are left out.
    """
    terms, config = setup.scheme.active_terms, setup.config
    initial = [row.name for term in terms for row in term.initial]
    coefficients = [row for term in terms for row in term.coefficients]
    fields_with_source = [row.name for row in coefficients if fields.has_field_source(config, row.name)]
    uniform_coefficients = [
        row.name
        for row in coefficients
        if row.key and row.name not in fields_with_source and fields.uniform_value(config, row.name)
    ]
    return ["depth", "mask", "eta", "u", "v", *initial, *fields_with_source, *uniform_coefficients]


def describe_source(config: Config, name: str) -> str:
    """The source of a field in words, or its uniform value with the unit."""
    variation = ", varying in time" if fields.varies_in_time(config, name) else ""
    if name in config.python.names:
        return f"given in Python{variation}"
    if isinstance(fields.source_of(config, name), RestartSource):
        return f"state {config.input.state}"
    if entry := input_file_of(config, name):
        return f"file {entry}{variation}"
    if rivers := rivers_of_field(config, name):
        return f"[[river]] {', '.join(river.name for river in rivers)}{variation}"
    if is_in_case(config, name):
        return f"formula of the case{variation}"
    units = variable_in_run(name, config.physics).units if name in VARIABLES else ""
    return f"{fields.uniform_value(config, name):.6g}" + (f" {units}" if units not in ("", "1") else "")


def format_intervals(options) -> str:
    """The intervals of [output] or [restart], and the end of the run, in words."""
    intervals = []
    if options.every is not None:
        intervals.append(f"every {options.every:.6g} s")
    elif options.every_steps:
        intervals.append(f"every {options.every_steps} steps")
    if wall_seconds := getattr(options, "every_wall", None):  # of restart files only
        intervals.append(f"every {wall_seconds:.6g} s of wall-clock time")
    return ", ".join([*intervals, "at the end"])
