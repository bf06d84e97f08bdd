"""The variables of the interface: CSDMS Standard Names, and the fields of the model that they name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ..files.output.static import static_fields
from ..ocean.table import variable_in_run

if TYPE_CHECKING:
    from ..config.options.model import Config

THICKNESS_NAME, SEA_LEVEL_NAME = "sea_water__depth", "sea_surface__elevation"
VELOCITY_NAMES = {"u": "sea_water_flow__x_component_of_velocity", "v": "sea_water_flow__y_component_of_velocity"}
AIR_PREFIX = "sea_surface_air"

#: {field: standard name} of the fields that are computed from the state, and of the fields that are constant in a run.
DERIVED_NAMES = {"zeta": "sea_water_flow__z_component_of_vorticity", "speed": "sea_water_flow__speed"}
CONSTANT_NAMES = {
    "depth": "sea_bottom_surface__elevation",
    "mask": "earth_surface_ocean__area_fraction",
    "cell_area": "model_grid_cell__area",
}
#: {coefficient: standard name} of the coefficients that a caller may change between steps.
FORCING_NAMES = {
    "wind_x": f"{AIR_PREFIX}_flow__x_component_of_shear_stress",
    "wind_y": f"{AIR_PREFIX}_flow__y_component_of_shear_stress",
    "u10": f"{AIR_PREFIX}_flow__x_component_of_velocity",
    "v10": f"{AIR_PREFIX}_flow__y_component_of_velocity",
    "air_pressure": f"{AIR_PREFIX}__pressure",
}


class InterfaceVariable(NamedTuple):
    """A variable of the interface.

    Attributes:
        field: the name of the field.
        location: its location on the C-grid.
        units: units in the notation of UDUNITS.
        dtype: the type of the values.
        kind: state, derived, constant or forcing.
        is_input, is_output: whether the variable is an input, which callers may set, and whether it is an output.
    """

    field: str
    location: str
    units: str
    dtype: str
    kind: str
    is_input: bool = False
    is_output: bool = True


def variables_of_run(config: Config, initial: Iterable[str], forcings: Iterable[str]) -> dict[str, InterfaceVariable]:
    """The variables of a run, by standard name.

    Args:
        initial: names of the fields that `Simulation.set` accepts: eta, u, v and tracers.
        forcings: the keys of FORCING_NAMES that are inputs.
    """
    dtype, constant_fields = config.run.dtype, static_fields(config)
    tracers = {name: f"sea_water_{name}__concentration" for name in initial if name not in ("eta", "u", "v")}
    is_level_input = not config.physics.reduced_gravity

    def make_variable(field: str, kind: str, is_input: bool = False, is_output: bool = True) -> InterfaceVariable:
        entry = constant_fields[field] if field in constant_fields else variable_in_run(field, config.physics)
        variable_dtype = dtype if kind in ("state", "derived") else "float64"
        return InterfaceVariable(field, entry.location, entry.units, variable_dtype, kind, is_input, is_output)

    return {
        THICKNESS_NAME: make_variable("h", "state", True),
        SEA_LEVEL_NAME: make_variable("sea_level", "state", is_level_input),
        **{name: make_variable(field, "state", True) for field, name in (VELOCITY_NAMES | tracers).items()},
        **{name: make_variable(field, "derived") for field, name in DERIVED_NAMES.items()},
        **{name: make_variable(field, "constant") for field, name in CONSTANT_NAMES.items()},
        **{FORCING_NAMES[field]: make_variable(field, "forcing", True, False) for field in forcings},
    }
