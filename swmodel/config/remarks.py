"""Remarks on valid settings that are probably mistakes: one line each, before the run starts."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..ocean.barrier_faces import barrier_label, faces_of_barriers
from ..ocean.coordinates import FULL_CIRCLE_DEGREES, has_lon_lat
from ..ocean.table import FORCING
from ..ocean.terms.boundary_data import CONSTITUENTS, has_source
from ..ocean.terms.tide import EQUILIBRIUM
from ..setup.checks import boundary_data
from ..setup.checks.stability import dividing_dt
from ..setup.fields import VECTOR_COMPONENTS, evaluate, source_of, varies_in_time
from ..setup.fields.field_sources import FormulaSource
from ..setup.positions.gauges import make_gauges
from ..setup.setup import setup_of
from .loading.merge import ConfigSources, add_layer
from .loading.sources import ConfigLayer
from .messages import format_length
from .options.grid import CORIOLIS_KEYS, EXTENT_KEYS, ROUND_OFF, ExtentKeys, GridOptions
from .options.model import Config

#: Largest number of gauges that a remark names.
MAX_NAMED_GAUGES = 5
#: Largest number of records whose times are checked.
MAX_CHECKED_RECORDS = 10_000


def remarks(config: Config, sources: ConfigSources, writes_records: bool = True) -> list[str]:
    """The remarks on a resolved configuration and its ConfigSources.

    `writes_records`: whether the run writes records at intervals.
    """
    lines = [
        *changed_domain_lengths(sources),
        *replaced_rotation(config),
        *missing_wind_components(config),
        *sponge_without_values(config),
        *forcing_from_time_zero(config),
        *boundary_data.remarks(config),
        *one_sided_constituents(config),
        *output_within_ramp(config),
        *gauges_above_sea_level(config),
        *barriers_on_land(config),
        *exchange_without_effect(config),
        *rounded_times(config),
        *wind_over_thin_layers(config),
    ]
    return [*lines, *late_records(config)] if writes_records else lines


def exchange_without_effect(config: Config) -> Iterator[str]:
    """A remark on `run.exchange` in a run that sends no MPI messages."""
    run = config.run
    if run.exchange != "auto" and (run.nproc == 1 or run.transport == "sharded"):
        where = "on one process" if run.nproc == 1 else 'where run.transport is "sharded"'
        yield f'run.exchange="{run.exchange}" has no effect {where}'


def gauges_above_sea_level(config: Config) -> Iterator[str]:
    """A remark on gauges in cells that are dry at rest, even if the interpolated depth there is positive."""
    gauges = make_gauges(setup_of(config)) if config.drying.active else None
    if not gauges:
        return
    depths = gauges.nearest_values(gauges.centre_depths)
    if heights := {name: -depth for name, depth in zip(gauges.names, depths, strict=True) if depth <= 0}:
        named = ", ".join(f'"{name}" by {height:.3g} m' for name, height in [*heights.items()][:MAX_NAMED_GAUGES])
        others = f" and {len(heights) - MAX_NAMED_GAUGES} more" if len(heights) > MAX_NAMED_GAUGES else ""
        yield f"stations in cells above the resting sea level, which have no eta while dry: {named}{others}"


def barriers_on_land(config: Config) -> Iterator[str]:
    """Remarks on barriers that have no effect, because none of their faces lies between two cells of water."""
    grid, barriers = config.grid, config.barriers.lines
    for barrier, faces in zip(barriers, faces_of_barriers(grid, barriers), strict=True):
        rows, columns = (faces.rows + ~faces.is_u) % grid.ny, (faces.columns + faces.is_u) % grid.nx
        if not (are_sea(config, faces.rows, faces.columns) & are_sea(config, rows, columns)).any():
            yield f"{barrier_label(barrier)} lies on land that never floods, where it has no effect"


def are_sea(config: Config, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Whether the mask has water in each of the cells (rows[n], columns[n]), [n]."""
    is_sea = np.zeros(len(rows), bool)
    for row in np.unique(rows):
        in_row = rows == row
        is_sea[in_row] = evaluate(config, "mask", np.array([row]), columns[in_row])[0] != 0
    return is_sea


def wind_over_thin_layers(config: Config) -> Iterator[str]:
    """A remark on wind over coasts that flood in a run without bottom drag, because only gravity slows thin water."""
    scheme = setup_of(config).scheme
    if config.drying.active and {"wind", "wind_drag"} & {*scheme.term_names} and not scheme.damping_terms:
        yield (
            "without bottom drag, wind drives thin water over coasts that flood at up to tens of metres per second; "
            "physics.manning=0.025 or physics.quadratic_drag=0.003 is common"
        )


def rounded_times(config: Config) -> Iterator[str]:
    """A remark on user terms in a run that is so long that two steps may have the same time in single precision."""
    run_seconds, user_terms = config.run.steps * config.time.dt, setup_of(config).scheme.user_terms
    if (
        user_terms
        and config.run.dtype == "float32"
        and (time_resolution := float(np.spacing(np.float32(run_seconds)))) > config.time.dt
    ):
        names = ", ".join(term.name for term in user_terms)
        yield (
            f"t in {names} is rounded to {time_resolution:g} s at the end of the run, which is more than a step; "
            'run.dtype="float64" keeps it exact'
        )


def changed_domain_lengths(sources: ConfigSources) -> Iterator[str]:
    """Remarks on lengths of the domain that change because a source sets only the number or only the size of cells."""
    merged: ConfigLayer = {}
    remark_of: dict[ExtentKeys, str] = {}
    length_of: dict[ExtentKeys, float | None] = {}
    for layer_index, layer in enumerate(sources.layers):
        add_layer(merged, layer, sources.classes)
        extents = EXTENT_KEYS.get(merged_value(merged, "kind"), ())
        remark_of = {extent: remark for extent, remark in remark_of.items() if extent in extents}
        for extent in extents:
            keys_in_layer = [key for key in (extent.cells, extent.size, extent.end) if ("grid", key) in layer]
            old, new = length_of.get(extent), domain_length(merged, extent)
            length_of[extent] = new
            if keys_in_layer:
                remark_of.pop(extent, None)
            changes_one_key = layer_index and len(keys_in_layer) == 1 and keys_in_layer != [extent.end]
            if changes_one_key and old is not None and new is not None and not is_equal(new, old):
                start = merged_value(merged, extent.start) or 0.0
                remark_of[extent] = changed_length_remark(
                    extent, keys_in_layer[0], merged_value(merged, keys_in_layer[0]), start, old, new
                )
    yield from remark_of.values()


def merged_value(merged: ConfigLayer, key: str):
    """The value of a key of [grid] in the merged sources, or its default; None if `key` is empty."""
    if not key:
        return None
    return merged["grid", key].value if ("grid", key) in merged else GridOptions.model_fields[key].default


def domain_length(merged: ConfigLayer, extent: ExtentKeys) -> float | None:
    """Length of the domain along an axis, m or degrees, according to the merged sources; None: unknown."""
    n_cells, size, end, start = values = [merged_value(merged, key) for key in extent]
    if not all(isinstance(each, int | float | None) for each in values):  # a wrong value that a later source replaces
        return None
    if end is not None:
        return end - (start or 0.0)
    if size is None:
        return FULL_CIRCLE_DEGREES if extent.size == "dlon" else None
    return n_cells * size


def is_equal(one: float, other: float) -> bool:
    """Whether two numbers differ by no more than round-off."""
    return math.isclose(one, other, rel_tol=ROUND_OFF)


def changed_length_remark(extent: ExtentKeys, key: str, key_value: float, start: float, old: float, new: float) -> str:
    """The remark on a domain length that a key has changed, with the key that keeps the length."""
    format_size = "{:.10g} degrees".format if extent.start else format_length
    n_cells = round(old / key_value) if key == extent.size and key_value > 0 else 0
    if n_cells and is_equal(n_cells * key_value, old):
        remedy = f"grid.{extent.cells}={n_cells}"
    else:
        remedy = f"grid.{extent.end}={old + start!r}".removesuffix(".0")
        remedy += " instead" if key == extent.size else ""
    direction = "wide" if extent.cells == "nx" else "high"
    return (
        f"grid.{key}={key_value:.12g} makes the domain {format_size(new)} {direction} instead of "
        f"{format_size(old)}; {remedy} keeps it"
    )


def missing_wind_components(config: Config) -> Iterator[str]:
    """Remarks on winds of which a file gives one component, while the other has no source."""
    for name, other in (
        pair for wind in (VECTOR_COMPONENTS["wind_x"], VECTOR_COMPONENTS["u10"]) for pair in (wind, wind[::-1])
    ):
        if getattr(config.input, name, "") and not has_source(config, other):
            yield f"input.{name} is given, but input.{other} is not: that component is 0 everywhere"


def sponge_without_values(config: Config) -> Iterator[str]:
    """Remarks on cells in the sponge that relax to zero, because boundary data have no value there."""
    for name, n_missing, n_cells in boundary_data.missing_in_sponge(config):
        yield (
            f"input.{name}: has no value in {n_missing} of the {n_cells} cells of the sponge, which relaxes to zero "
            "there"
        )


def forcing_from_time_zero(config: Config) -> Iterator[str]:
    """A remark on forcing that starts again at time 0 in a run that begins with the state of another run.

    Such forcing is a function of t, or a tide without a date.
    """
    names = [
        name for name in FORCING if varies_in_time(config, name) and isinstance(source_of(config, name), FormulaSource)
    ]
    names += [] if config.time.start else config.open_boundaries.constituents
    if config.input.state and names:
        yield f"input.state: {', '.join(names)} depend on the time since the start of this run, and restart"


def one_sided_constituents(config: Config) -> Iterator[str]:
    """Remarks on constituents that act only inside the domain or only at open boundaries, though both are possible."""
    constituents_inside, constituents_at_boundaries = config.tide.constituents, config.open_boundaries.constituents
    possible_on_both = [
        name for name in CONSTITUENTS if name in EQUILIBRIUM and constituents_inside and config.open_boundaries.sides
    ]
    if only_inside := ", ".join(
        name for name in possible_on_both if name in constituents_inside and name not in constituents_at_boundaries
    ):
        yield (
            f"tide.constituents: nothing of {only_inside} enters through open boundaries; give it in "
            "open_boundaries.constituents, too"
        )
    if only_at_boundaries := ", ".join(
        name for name in possible_on_both if name in constituents_at_boundaries and name not in constituents_inside
    ):
        yield (
            f"open_boundaries.constituents: {only_at_boundaries} enters, but is not forced inside the domain; give it "
            "in tide.constituents, too"
        )


def output_within_ramp(config: Config) -> Iterator[str]:
    """Remarks on a harmonic analysis that starts, or a run that ends, within the ramp of a tide."""
    ramp, output = config.tide.ramp, config.output
    if ramp and ramp > config.run.steps * config.time.dt:
        yield f"tide.ramp: the run ends before {ramp:g} s, while the tide still grows"
    if ramp and output.harmonics and (output.harmonics_from or 0.0) < ramp:
        yield f'output.harmonics starts within tide.ramp, {ramp:g} s; output.harmonics_from="{ramp:g} s" avoids it'


def replaced_rotation(config: Config) -> Iterator[str]:
    """Remarks on keys of a plane's Coriolis parameter that replace the rotation of the planet."""
    planet = "planet" if config.grid.crs else "sphere"
    for key in CORIOLIS_KEYS if has_lon_lat(config.grid) else ():
        if coriolis_value := getattr(config.physics, key):
            yield (
                f"physics.{key} = {coriolis_value:g} replaces the rotation of the {planet}; physics.{key}=0 gives "
                "f = 2 rotation sin(latitude)"
            )


def late_records(config: Config) -> Iterator[str]:
    """A remark on a time step that does not divide the interval of the records, with one that does."""
    every, dt, run_seconds = config.output.every, config.time.dt, config.run.steps * config.time.dt
    if every is None or run_seconds < every or is_equal(max(1, round(every / dt)) * dt, every):
        return
    better_dt, n_steps = dividing_dt(every, dt, min(MAX_CHECKED_RECORDS, int(run_seconds / every)))
    yield (
        f"time.dt = {dt:.6g} s does not divide output.every = {every:.12g} s: records are up to a step late; "
        f"time.dt={better_dt!r} divides it into {n_steps} steps"
    )
