"""The prognostic state, what a run carries from step to step, and the table of all variables."""

from __future__ import annotations

from typing import Any, NamedTuple


class State(NamedTuple):
    """Thickness h (m, centres), velocity u (m s-1, east faces) and v (m s-1, north faces), each [y, x]."""

    h: Any
    u: Any
    v: Any


class Carry(NamedTuple):
    """State, the memory of the time stepper (a tuple of States) and the number of steps taken (int32)."""

    state: State
    memory: tuple[State, ...]
    step: Any


class Variable(NamedTuple):
    """How a field is named, where it sits on the C-grid, and what CF calls it."""

    name: str
    location: str  # centre, u, v or corner
    units: str
    standard_name: str
    long_name: str


VARIABLES = {
    variable.name: variable
    for variable in (
        Variable("h", "centre", "m", "cell_thickness", "thickness of the layer"),
        Variable("u", "u", "m s-1", "sea_water_x_velocity", "velocity in x"),
        Variable("v", "v", "m s-1", "sea_water_y_velocity", "velocity in y"),
        Variable("eta", "centre", "m", "sea_surface_height_above_geoid", "sea level"),
        Variable("sea_level", "centre", "m", "sea_surface_height_above_geoid", "sea level"),
        Variable("zeta", "corner", "s-1", "ocean_relative_vorticity", "relative vorticity"),
        Variable("q", "corner", "m-1 s-1", "potential_vorticity_of_ocean_layer", "potential vorticity"),
        Variable("speed", "centre", "m s-1", "sea_water_speed", "speed of the current"),
        Variable("depth", "centre", "m", "sea_floor_depth_below_geoid", "resting depth"),
        Variable("mask", "centre", "1", "sea_binary_mask", "1 water, 0 land"),
        Variable("f", "corner", "s-1", "coriolis_parameter", "Coriolis parameter"),
        Variable("wind_x", "centre", "Pa", "surface_downward_x_stress", "wind stress in x"),
        Variable("wind_y", "centre", "Pa", "surface_downward_y_stress", "wind stress in y"),
        Variable("linear_drag", "centre", "s-1", "", "rate of linear bottom drag"),
    )
}

#: What some of them are where gravity is reduced: the layer lies over a deep one at rest, and has no sea floor.
REDUCED = {
    variable.name: variable
    for variable in (
        Variable("eta", "centre", "m", "", "downward displacement of the interface"),
        Variable("depth", "centre", "m", "", "resting thickness of the layer"),
    )
}


def entry_of(name: str, physics) -> Variable:
    """The entry of a variable in a run with these `config.physics`."""
    return (REDUCED if physics.reduced_gravity else {}).get(name, VARIABLES[name])


#: The prognostic fields, in the order of State.
PROGNOSTIC = State._fields
