"""The functions that observe the quantities of `quantities`. Each returns the share of a block in a sum over blocks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax.numpy as jnp

from ..ocean.diagnostics import contributions
from ..ocean.operators import mx_f, my_f
from ..parallel.transport.halo import zero_beyond
from ..setup.positions.cross_sections import SectionFaces
from ..setup.positions.gauges import Station


def elevation(view, station: Station):
    """eta at a station, m: the sum of weights times h - depth over the station's cells in the block."""
    return weighted_sum(view, view.state.h - view.depth, station.rows, station.columns, station.weights)


def weighted_sum(view, field, rows, columns, weights):
    """The sum of weights times values of a field over those of the cells (rows, columns) that are in the block."""
    (first_row, first_column), (height, width) = view.transport.offset(), view.transport.extent() or field.shape
    j, i = rows - first_row, columns - first_column
    in_block = (j >= 0) & (j < height) & (i >= 0) & (i < width)
    # Only these cells are gathered: a sum over the block would read all of it at every step.
    values = field[jnp.where(in_block, j, 0), jnp.where(in_block, i, 0)]
    return (values * jnp.where(in_block, weights, 0.0).astype(field.dtype)).sum()


def sea_level(view, station: Station, full_gravity: float | None = None):
    """Sea level at a station, m: eta, or eta g'/g with the `full_gravity` g for a reduced gravity g'."""
    eta = elevation(view, station)
    return eta if full_gravity is None else view.params["gravity"].values[0, 0] / full_gravity * eta


def section_transport(view, faces: SectionFaces):
    """The sum of h^x u (or h^y v) times length over the section's faces in the block, m3 s-1."""
    state, total = view.padded(), 0.0
    for axis, mean, is_open, velocity in ((0, my_f, view.grid.open_v, state.v), (1, mx_f, view.grid.open_u, state.u)):
        if (on_axis := faces.axis == axis).any():
            flux = on_block(view, mean(state.h) * (is_open * velocity))
            total = total + weighted_sum(
                view, flux, faces.rows[on_axis], faces.columns[on_axis], faces.lengths[on_axis]
            )
    return total


def on_block(view, patch):
    """The values of a Patch on the block, [ny, nx]; zero beyond the cells of a short block."""
    return zero_beyond(patch.block_values(view.transport.shape), view.transport.extent())


def integral(view, factor, name, without_gravity=False):
    """The sum of a quantity over the block, times a factor: the density, for a result in J or kg.

    mass                  area times h on water
    energy                area times h^x u²/2 + h^y v²/2 on faces, and g eta²/2 on water unless `without_gravity`
    potential_enstrophy   area times (f + zeta)²/(2 h_q), a quarter at each corner of a wet cell; factor 1, in m s-2
    """
    state = view.padded()
    state = state._replace(u=view.grid.open_u * state.u, v=view.grid.open_v * state.v)
    cell_values = contributions(state, view.grid, 0.0 if without_gravity else view.params["gravity"])
    return factor * on_block(view, cell_values[name]).sum()


OBSERVERS: dict[str, Callable[..., Any]] = {
    "eta": elevation,
    "sea_level": sea_level,
    "transport": section_transport,
    "mass": partial(integral, name="mass", without_gravity=True),
    "kinetic_energy": partial(integral, name="energy", without_gravity=True),
    "energy": partial(integral, name="energy"),
    "potential_enstrophy": partial(integral, name="potential_enstrophy", without_gravity=True),
}
