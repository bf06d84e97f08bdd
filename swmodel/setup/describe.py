"""A Setup in a table: grid, equations and fields of a run."""

from __future__ import annotations

from ..ocean.coordinates import axes, on_sphere
from ..ocean.table import VARIABLES, entry_of
from . import fields
from .setup import Setup


def describe(setup: Setup) -> str:
    """Grid, equations, time step, fields with their origin, blocks and output of a resolved Setup, one line each."""
    return "\n".join(f"{name:<16} {text}" for name, text in lines(setup))


def lines(setup: Setup):
    config, scheme = setup.config, setup.scheme
    run, time, (ny, nx) = config.run, config.time, setup.shape
    terms = ", ".join(term.name for term in scheme.acting) or "no further terms"
    yield "case", config.case.name
    yield "grid", f"{nx} columns by {ny} rows, {size(config.grid)}"
    yield "equations", f"{config.scheme.vorticity_flux} flux of vorticity; {terms}"
    yield "state", ", ".join(scheme.state._fields)
    yield "time", f"{time.stepper}, {setup.dt:.6g} s a step, {run.steps} steps, {run.steps * setup.dt / 86400:.6g} days"
    yield "executor", f"{run.executor}, {setup.dtype}, blocks {run.layout}, {run.transport}"
    yield "margins", f"{scheme.width} rows of halo, {setup.margin} rows of static fields around a block"
    for name in names(setup):
        yield name, origin(config, name)
    yield "output", f"{', '.join(config.output.fields)}; {interval(config.output)}"
    yield "restart", interval(config.restart)


def size(grid) -> str:
    """The extent of the grid, in words."""
    x, y = axes(grid)
    if on_sphere(grid):
        return f"{x.span()}, {y.span()}"
    return f"{x.cells * x.spacing / 1e3:.6g} by {y.cells * y.spacing / 1e3:.6g} km"


def names(setup: Setup) -> list[str]:
    """The depth, the mask, the initial fields, and the fields of coefficients."""
    terms, config = setup.scheme.acting, setup.config
    initial = [row.name for term in terms for row in term.initial]
    rows = [row for term in terms for row in term.coefficients]
    given = [row.name for row in rows if fields.given(config, row.name)]
    numbers = [row.name for row in rows if row.key and row.name not in given and fields.constant(config, row.name)]
    return ["depth", "mask", "eta", "u", "v", *initial, *given, *numbers]


def origin(config, name: str) -> str:
    """The source of a field, or its number with the unit."""
    in_time = " in time" if fields.varies(config, name) else ""
    if name in config.python.names:
        return f"given in Python{in_time}"
    if isinstance(fields.field_of(config, name), fields.Stored):
        return f"state {config.input.state}"
    if text := fields.file_of(config, name):
        return f"file {text}{in_time}"
    if fields.in_case(config, name):
        return f"formula of the case{in_time}"
    units = entry_of(name, config.physics).units if name in VARIABLES else ""
    return f"{fields.constant(config, name):.6g}" + (f" {units}" if units not in ("", "1") else "")


def interval(options) -> str:
    """The interval of a table of the configuration, in words."""
    if options.every is not None:
        return f"every {options.every:.6g} s"
    wall = getattr(options, "every_wall", None)
    rest = f"every {wall:.6g} s of wall-clock time, and at the end" if wall else "at the end"
    return f"every {options.every_steps} steps" if options.every_steps else rest
