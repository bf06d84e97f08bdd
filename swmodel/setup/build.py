"""What a configuration becomes in the words of the dynamics: Scheme, Grid, Params and the initial State of a block."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..ocean.coordinates import metrics, on_sphere, points, turned
from ..ocean.grid import Grid
from ..ocean.masks import masks
from ..ocean.patch import Patch, east, north
from ..ocean.scheme import Scheme
from ..ocean.state import State
from ..ocean.terms import TERMS
from . import fields
from .fields.own import own_terms
from .fields.series import varies
from .fields.varying import Records


def scheme_of(config) -> Scheme:
    """Which terms the configuration switches on."""
    active = tuple(name for name in TERMS if is_active(config, TERMS[name]))
    found = Scheme(config.scheme.vorticity_flux, active, own_terms(config))
    rows = {row.name for term in found.acting for row in term.coefficients}
    return replace(found, varying=tuple(sorted(name for name in rows if varies(config, name))))


def is_active(config, term) -> bool:
    """Whether a term is switched on: by its own section, or by a coefficient that is a field or not zero."""
    if term.active:
        return term.active(getattr(config, term.name))
    return any(fields.given(config, row.name) or fields.constant(config, row.name) for row in term.coefficients)


def rows_and_columns(block, margin: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the rows and columns of a block with `margin` cells around it."""
    y, x = (np.arange(span.start - margin, span.stop + margin) for span in (block.y, block.x))
    return y, x


def build_grid(config, block, dtype, margin: int | None = None) -> Grid:
    """The static fields of `block` with `margin` (width + 1) cells around it, as NumPy arrays of `dtype`."""
    rows, columns = rows_and_columns(block, scheme_of(config).width + 1 if margin is None else margin)
    # One cell more than asked for on the north and east, so that faces and corners reach as far as centres.
    further = [*rows, rows[-1] + 1], [*columns, columns[-1] + 1]
    wet, *outside = (Patch(at, (0, 0)) for at in (fields.wet(config, *further), *fields.outside(config, *further)))
    static = Grid(
        **metrics(config.grid, rows),
        f=coriolis(config, rows, columns),
        depth=fields.evaluate(config, "depth", rows, columns),
        **{name: trim(mask, rows, columns) for name, mask in masks(wet, config.physics.slip, outside).items()},
    )
    return in_precision(static, dtype)


def coriolis(config, rows, columns) -> np.ndarray:
    """The Coriolis parameter at the corners in the given rows and columns, s-1, float64.

    f0 + beta y; on a sphere, where both are zero, 2 Omega sin(latitude). [rows, 1], or [rows, columns] where the
    latitude varies along rows.
    """
    columns = columns if turned(config.grid) else [0]
    physics, corner = config.physics, points(config.grid, "corner", rows, columns)
    if on_sphere(config.grid) and not (physics.f0 or physics.beta):
        return 2 * config.grid.rotation * np.sin(np.radians(corner.lat))
    return physics.f0 + physics.beta * corner.y


def in_precision(fields, dtype):
    """A tree of arrays, the real ones converted to `dtype`."""
    if isinstance(fields, dict):
        return {name: in_precision(field, dtype) for name, field in fields.items()}
    if isinstance(fields, tuple):
        return fields._make(in_precision(field, dtype) for field in fields)
    return fields.astype(dtype) if fields.dtype.kind == "f" else fields


def trim(values, rows, columns):
    """The values in the given rows and columns, without what lies beyond them; axes of length one stay."""
    return values[: len(rows), : len(columns)]


def build_params(config, block, dtype, margin=None, scheme: Scheme | None = None, of=None) -> dict:
    """The coefficients of `block` by name, with `margin` (width + 1) cells around it, as NumPy arrays of `dtype`.

    Numbers are [1, 1]; the parameters of a term are a vector under its name. Terms that the scheme does not have are
    left out. Coefficients that vary are stored as `ocean.records` says.

    Args:
        of: function (block, margin) of those that vary; None: they are those of the start.
    """
    scheme = scheme or scheme_of(config)
    margin = scheme.width + 1 if margin is None else margin
    rows, columns = rows_and_columns(block, margin)
    values = {name: np.full((1, 1), getattr(config.physics, name)) for name in ("gravity", "density")}
    for term in scheme.acting:
        steady = [row.name for row in term.coefficients if row.name not in scheme.varying]
        values |= {name: fields.evaluate(config, name, rows, columns) for name in steady}
        values |= term.build(config, rows, columns) if term.build else {}
        values |= {term.name: config.own._parameters[term.name]} if term.parameters else {}
    varying = of(block, margin) if of else build_varying(Records(config, scheme.varying), block, dtype, margin, 0)
    return in_precision(values, dtype) | varying


def build_varying(records: Records, block, dtype, margin: int, step: int) -> dict:
    """Coefficients that vary, as `build_params` has them, from a step on."""
    return in_precision(records.params(step, *rows_and_columns(block, margin)), dtype)


def build_state(config, block, dtype) -> State:
    """The initial state of `block`, interior only: zero velocity on closed faces, h = depth on land."""
    scheme = scheme_of(config)
    rows, columns = rows_and_columns(block, 0)
    around = Patch(fields.wet(config, np.append(rows, rows[-1] + 1), np.append(columns, columns[-1] + 1)), (0, 0))
    wet, open_u, open_v = (
        trim(p.values, rows, columns) > 0 for p in (around, around * east(around), around * north(around))
    )
    terms, starts = scheme.acting, [term.start for term in scheme.acting if term.start]
    names = ("depth", "eta", "u", "v", *(row.name for term in terms for row in term.initial))
    values = {name: fields.evaluate(config, name, rows, columns) for name in names}
    state = {
        "h": values["depth"] + np.where(wet, values["eta"], 0.0),
        "u": np.where(open_u, values["u"], 0.0),
        "v": np.where(open_v, values["v"], 0.0),
    }
    for start in starts:
        state |= {name: np.where(wet, value, 0.0) for name, value in start(values | {"h": state["h"]}).items()}
    return scheme.state(
        **{
            name: np.ascontiguousarray(np.broadcast_to(field, block.shape).astype(dtype))
            for name, field in state.items()
        }
    )
