"""The variables of the interface: CSDMS Standard Names, and the fields of the model that they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ..files.output.static import static_fields
from ..ocean.table import entry_of

DEPTH, LEVEL = "sea_water__depth", "sea_surface__elevation"
CURRENT = {"u": "sea_water_flow__x_component_of_velocity", "v": "sea_water_flow__y_component_of_velocity"}
AIR = "sea_surface_air"

#: The fields that follow from the state, and the constant ones.
DERIVED = {"zeta": "sea_water_flow__z_component_of_vorticity", "speed": "sea_water_flow__speed"}
CONSTANT = {
    "depth": "sea_bottom_surface__elevation",
    "mask": "earth_surface_ocean__area_fraction",
    "cell_area": "model_grid_cell__area",
}
#: The coefficients that a caller may change between steps.
WEATHER = {
    "wind_x": f"{AIR}_flow__x_component_of_shear_stress",
    "wind_y": f"{AIR}_flow__y_component_of_shear_stress",
    "u10": f"{AIR}_flow__x_component_of_velocity",
    "v10": f"{AIR}_flow__y_component_of_velocity",
    "air_pressure": f"{AIR}__pressure",
}


class Item(NamedTuple):
    """A variable of the interface.

    Attributes:
        field: the name of the field.
        location: its location on the C-grid.
        units: as in UDUNITS.
        dtype: the type of its values.
        kind: state, derived, constant or forcing.
        settable, readable: whether it is an input and an output variable.
    """

    field: str
    location: str
    units: str
    dtype: str
    kind: str
    settable: bool = False
    readable: bool = True


def items(config: Any, initial: Iterable[str], forcings: Iterable[str]) -> dict[str, Item]:
    """The variables of a run by standard name.

    Args:
        initial: the fields whose values `Simulation.set` takes: eta, u, v and tracers.
        forcings: the coefficients of WEATHER that are inputs.
    """
    dtype, constant = config.run.dtype, static_fields(config)
    tracers = {name: f"sea_water_{name}__concentration" for name in initial if name not in ("eta", "u", "v")}
    level = not config.physics.reduced_gravity

    def item(field: str, kind: str, settable: bool = False, readable: bool = True) -> Item:
        row = constant[field] if field in constant else entry_of(field, config.physics)
        there = dtype if kind in ("state", "derived") else "float64"
        return Item(field, row.location, row.units, there, kind, settable, readable)

    return {
        DEPTH: item("h", "state", True),
        LEVEL: item("sea_level", "state", level),
        **{name: item(field, "state", True) for field, name in (CURRENT | tracers).items()},
        **{name: item(field, "derived") for field, name in DERIVED.items()},
        **{name: item(field, "constant") for field, name in CONSTANT.items()},
        **{WEATHER[field]: item(field, "forcing", True, False) for field in forcings},
    }
