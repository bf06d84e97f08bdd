"""A Setup as a table: grid, equations and fields of a run."""

from __future__ import annotations

from collections.abc import Iterator

from ..ocean.constituents import DAY_SECONDS
from ..ocean.coordinates import axes, is_spherical
from ..ocean.table import VARIABLES, variable_in_run
from ..ocean.terms.boundary_data import input_file_of, is_in_case
from . import fields
from .fields.field_sources import RestartSource
from .fields.rivers import rivers_of_field
from .setup import Setup


def describe_setup(setup: Setup) -> str:
    """Grid, equations, time step, fields with their origin, blocks and output of a resolved Setup, one line each."""
    return "\n".join(f"{name:<16} {text}" for name, text in description_lines(setup))


def description_lines(setup: Setup) -> Iterator[tuple[str, str]]:
    """Pairs of the name and the text of each line of `describe_setup`."""
    config, scheme = setup.config, setup.scheme
    run, time, (ny, nx) = config.run, config.time, setup.shape
    terms = ", ".join(term.name for term in scheme.active_terms) or "no further terms"
    yield "case", config.case.name
    yield "grid", f"{nx} columns by {ny} rows, {format_extent(config.grid)}"
    yield "equations", f"{config.scheme.vorticity_flux} flux of vorticity; {terms}"
    yield "state", ", ".join(scheme.state_type._fields)
    days = run.steps * setup.dt / DAY_SECONDS
    yield "time", f"{time.stepper}, dt {setup.dt:.6g} s, {run.steps} steps, {days:.6g} days"
    yield "executor", f"{run.executor}, {setup.dtype}, blocks {run.layout}, {run.transport}"
    yield "margins", f"{scheme.halo_width} rows of halo, {setup.static_halo} rows of static fields around a block"
    for name in fields_to_describe(setup):
        yield name, describe_source(config, name)
    yield "output", f"{', '.join(config.output.fields)}; {format_interval(config.output)}"
    yield "restart", format_interval(config.restart)


def format_extent(grid) -> str:
    x, y = axes(grid)
    if is_spherical(grid):
        return f"{x.describe_extent()}, {y.describe_extent()}"
    extent = f", {x.describe_extent()}, {y.describe_extent()} in {grid.crs}" if grid.crs else ""
    return f"{x.cells * x.spacing / 1e3:.6g} by {y.cells * y.spacing / 1e3:.6g} km{extent}"


def fields_to_describe(setup: Setup) -> list[str]:
    """Names of the depth, the mask, the initial fields, and all coefficients that are fields or nonzero numbers."""
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


def describe_source(config, name: str) -> str:
    """The source of a field in words, or its uniform value with the unit."""
    in_time = " in time" if fields.varies_in_time(config, name) else ""
    if name in config.python.names:
        return f"given in Python{in_time}"
    if isinstance(fields.source_of(config, name), RestartSource):
        return f"state {config.input.state}"
    if text := input_file_of(config, name):
        return f"file {text}{in_time}"
    if rivers := rivers_of_field(config, name):
        return f"[[river]] {', '.join(river.name for river in rivers)}{in_time}"
    if is_in_case(config, name):
        return f"formula of the case{in_time}"
    units = variable_in_run(name, config.physics).units if name in VARIABLES else ""
    return f"{fields.uniform_value(config, name):.6g}" + (f" {units}" if units not in ("", "1") else "")


def format_interval(options) -> str:
    """The interval at which a table of the configuration writes, in words."""
    if options.every is not None:
        return f"every {options.every:.6g} s"
    if options.every_steps:
        return f"every {options.every_steps} steps"
    wall = getattr(options, "every_wall", None)  # of restart files only
    return f"every {wall:.6g} s of wall-clock time, and at the end" if wall else "at the end"
