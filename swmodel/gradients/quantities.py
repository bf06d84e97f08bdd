"""Scalar quantities of the state whose derivatives are asked for: what the user writes, and what an observer computes.

What is written is checked with NumPy alone. An observer gives this process's share of a quantity: their sum over all
processes is its value.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ..config.errors import suggest
from ..errors import UsageError
from ..operators import mx_f, my_f
from ..state import State
from .places import Section, Station, section, station


class Quantity(NamedTuple):
    """A number that a state has.

    Attributes:
        name: of it, an identifier.
        units, long_name: of it.
        line: the positions (x, y) of its station, or of both ends of its section, m; () for the whole domain.
        observe: observe(view, k) -> this process's share; see `trajectory.View`.
    """

    name: str
    units: str
    long_name: str
    line: tuple[tuple[float, float], ...]
    observe: Callable


def parse(text: str, config) -> Quantity:
    """The quantity that is written as NAME or NAME:PLACE, with NAME one of QUANTITIES.

    Raises:
        UsageError: there is no such quantity, or its place cannot be read, is outside the domain or on land.
        InputError: the file of the mask cannot be read.
    """
    name, _, place = text.strip().partition(":")
    if name not in QUANTITIES:
        raise UsageError(f'--of {text}: no quantity "{name}"; {suggest(name, QUANTITIES)}\n{forms()}')
    try:
        return QUANTITIES[name].parse(name, place, config)
    except UsageError as error:
        raise UsageError(f"--of {text}: {error}") from None


def sea_level(name: str, place: str, config) -> Quantity:
    """Sea level at a station, "X,Y" in m: bilinear between the wet cells around it."""
    try:
        x, y = map(float, place.split(","))
    except ValueError:
        raise UsageError(f'"{place}" is no position; write x and y in m, sea_level:X,Y') from None
    at = station(config, x, y)
    return Quantity(
        name, "m", f"sea level at x = {metres(x)}, y = {metres(y)}", ((x, y),), partial(observe_station, at)
    )


def transport(name: str, place: str, config) -> Quantity:
    """Volume transport through a section, "x=X" or "y=Y", with "from=A,to=B" a part of it; all in m."""
    wrong = f'"{place}" is no section; write transport:x=X or transport:y=Y, in m, and for a part of it ,from=A,to=B'
    try:
        given = {key.strip(): float(value) for key, value in (part.split("=") for part in place.split(","))}
    except ValueError:
        raise UsageError(wrong) from None
    axis = next(iter(given))
    if axis not in ("x", "y") or not given.keys() <= {axis, "from", "to"} or len(given) != place.count("="):
        raise UsageError(wrong)
    cut = section(config, axis, given[axis], given.get("from"), given.get("to"))
    other = "y" if axis == "x" else "x"
    part = f", {other} from {metres(cut.start)} to {metres(cut.end)}" if len(given) > 1 else ""
    ends = tuple((cut.at, end) if axis == "x" else (end, cut.at) for end in (cut.start, cut.end))
    told = f"volume transport through {axis} = {metres(cut.at)}{part}"
    return Quantity(name, "m3 s-1", told, ends, partial(observe_section, cut))


def metres(position: float) -> str:
    """A position in m or km, in words."""
    return f"{position / 1e3:.10g} km" if abs(position) >= 1e4 else f"{position:.10g} m"


def integral(units: str, long_name: str, observe: Callable) -> Callable:
    """The parser of a quantity of the whole domain."""

    def parser(name: str, place: str, config) -> Quantity:
        if place:
            raise UsageError(f"{name} is one of the whole domain; leave out {place}")
        area = config.grid.dx * config.grid.dy
        factors = {"area": area, "mass": area * config.physics.density}
        return Quantity(name, units, long_name, (), partial(observe, **factors))

    return parser


def observe_station(at: Station, view, k):
    """Sum of the weights times h - depth over the station's cells in this process's block, m."""
    block = view.transport.block
    j, i = at.rows - block.y.start, at.columns - block.x.start
    ours = (j >= 0) & (j < block.y.length) & (i >= 0) & (i < block.x.length)
    eta = view.state.h - view.depth
    # One sum over the block would read it all at every step; four cells are gathered.
    values = eta[np.where(ours, j, 0), np.where(ours, i, 0)]
    return (values * np.where(ours, at.weights, 0.0).astype(eta.dtype)).sum()


def observe_section(cut: Section, view, k):
    """Sum of h^x u (or h^y v) times length over the section's faces in this process's block, m3 s-1."""
    block, state = view.transport.block, view.padded()
    if cut.axis == "x":
        flux, along, across = mx_f(state.h) * (view.grid.open_u * state.u), block.y, block.x
    else:
        flux, along, across = my_f(state.h) * (view.grid.open_v * state.v), block.x, block.y
    flux = flux.on(block.shape)
    lengths = cut.lengths[along.start : along.stop].astype(flux.dtype)
    here = (np.arange(across.start, across.stop) == cut.number).astype(flux.dtype)
    rows, columns = (lengths, here) if cut.axis == "x" else (here, lengths)
    return (flux * rows[:, None] * columns[None, :]).sum()


def contributions(view, gravity):
    """See `diagnostics.contributions`, of this block."""
    from ..diagnostics import contributions

    state = view.padded()
    state = State(state.h, view.grid.open_u * state.u, view.grid.open_v * state.v)
    return [field.on(view.transport.block.shape) for field in contributions(state, view.grid, gravity)]


def observe_mass(view, k, area, mass):
    """Sum of h on water, kg."""
    return mass * (view.grid.wet.on(view.transport.block.shape) * view.state.h).sum()


def observe_kinetic_energy(view, k, area, mass):
    """Sum of h^x u²/2 + h^y v²/2 on faces, J."""
    return mass * contributions(view, 0.0)[1].sum()


def observe_energy(view, k, area, mass):
    """Kinetic energy and the sum of g eta²/2 on water, J."""
    return mass * contributions(view, view.params.gravity)[1].sum()


def observe_potential_enstrophy(view, k, area, mass):
    """Sum of (f + zeta)²/(2 h_q) on the corners of wet cells, m s-2."""
    return area * contributions(view, 0.0)[2].sum()


class Entry(NamedTuple):
    """How a quantity is written, and the function (name, place, config) that makes a Quantity of it."""

    form: str
    parse: Callable


QUANTITIES = {
    "sea_level": Entry("sea_level:X,Y", sea_level),
    "transport": Entry("transport:x=X or transport:y=Y, with ,from=A,to=B a part of the section", transport),
    "kinetic_energy": Entry("kinetic_energy", integral("J", "kinetic energy", observe_kinetic_energy)),
    "energy": Entry("energy", integral("J", "kinetic and available potential energy", observe_energy)),
    "mass": Entry("mass", integral("kg", "mass of the layer", observe_mass)),
    "potential_enstrophy": Entry(
        "potential_enstrophy", integral("m s-2", "potential enstrophy", observe_potential_enstrophy)
    ),
}


def forms() -> str:
    """How quantities are written, in words."""
    return "write " + "; ".join(entry.form for entry in QUANTITIES.values())
