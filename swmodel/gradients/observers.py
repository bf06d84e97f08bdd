"""What the quantities of `quantities` are of a state: a block's share, whose sum over all blocks is the value."""

from __future__ import annotations

import jax.numpy as jnp

from ..config.places import Section, Station
from ..ocean.diagnostics import contributions as contributions_of
from ..ocean.operators import mx_f, my_f
from ..parallel.transport.halo import within


def elevation(view, at: Station):
    """eta at a station, m: sum of the weights times h - depth over the station's cells in the block, m."""
    (first_row, first_column), (rows, columns) = view.transport.offset(), view.transport.extent() or view.state.h.shape
    j, i = at.rows - first_row, at.columns - first_column
    ours = (j >= 0) & (j < rows) & (i >= 0) & (i < columns)
    eta = view.state.h - view.depth
    # One sum over the block would read it all at every step; four cells are gathered.
    values = eta[jnp.where(ours, j, 0), jnp.where(ours, i, 0)]
    return (values * jnp.where(ours, at.weights, 0.0).astype(eta.dtype)).sum()


def sea_level(view, at: Station, full_gravity: float | None = None):
    """Sea level at a station, m: eta, or eta g'/g with the `full_gravity` g where that of the run, g', is reduced."""
    eta = elevation(view, at)
    return eta if full_gravity is None else view.params["gravity"].values[0, 0] / full_gravity * eta


def section(view, cut: Section):
    """Sum of h^x u (or h^y v) times length over the section's faces in the block, m3 s-1."""
    transport, state = view.transport, view.padded()
    if cut.axis == "x":
        flux, along, across = mx_f(state.h) * (view.grid.open_u * state.u), 0, 1
    else:
        flux, along, across = my_f(state.h) * (view.grid.open_v * state.v), 1, 0
    flux = on_block(view, flux)
    numbers = [first + jnp.arange(length) for first, length in zip(transport.offset(), flux.shape, strict=True)]
    lengths = jnp.asarray(cut.lengths, flux.dtype).at[numbers[along]].get(mode="fill", fill_value=0)
    here = (numbers[across] == cut.number).astype(flux.dtype)
    rows, columns = (lengths, here) if cut.axis == "x" else (here, lengths)
    return (flux * rows[:, None] * columns[None, :]).sum()


def on_block(view, patch):
    """A Patch on the cells of the block, [ny, nx]; zero where a short block has none."""
    return within(patch.on(view.transport.shape), view.transport.extent())


def contributions(view, gravity):
    """See `diagnostics.contributions`, {name: field of the block}."""
    state = view.padded()
    state = state._replace(u=view.grid.open_u * state.u, v=view.grid.open_v * state.v)
    return {name: on_block(view, field) for name, field in contributions_of(state, view.grid, gravity).items()}


def mass(view, factor):
    """Sum of area times h on water times the factor: the density, for kg."""
    return factor * contributions(view, 0.0)["mass"].sum()


def kinetic_energy(view, factor):
    """Sum of area times h^x u²/2 + h^y v²/2 on faces times the factor: the density, for J."""
    return factor * contributions(view, 0.0)["energy"].sum()


def energy(view, factor):
    """Kinetic energy and the sum of area times g eta²/2 on water times the factor: the density, for J."""
    return factor * contributions(view, view.params["gravity"])["energy"].sum()


def potential_enstrophy(view, factor):
    """Sum of area times (f + zeta)²/(2 h_q) on the corners of wet cells times the factor: 1, for m s-2."""
    return factor * contributions(view, 0.0)["potential_enstrophy"].sum()


OBSERVERS = {
    "eta": elevation,
    "sea_level": sea_level,
    "transport": section,
    "mass": mass,
    "kinetic_energy": kinetic_energy,
    "energy": energy,
    "potential_enstrophy": potential_enstrophy,
}
