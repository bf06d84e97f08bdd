"""The table of all fields and coefficients of the model: those of the core equations, and those of the terms."""

from __future__ import annotations

from typing import Any

from .coordinates import has_rotated_pole, is_spherical
from .derived import DERIVED, THICKNESS
from .records import CORRECTION_SUFFIX
from .state import State
from .terms import TERMS, tracer
from .variable import Variable, variables_by_name

#: Attributes of two of CORE_VARIABLES.
DEPTH = THICKNESS | {"key": "physics.depth", "control": "field", "is_positive_down": True}
INCIDENT_WAVE: dict[str, Any] = {"control": "records", "small_change": 1e-3, "dimension": (0, 1, 0, 0)}
CORE_VARIABLES = (
    *DERIVED.values(),
    Variable("depth", "centre", "m", "sea_floor_depth_below_geoid", "resting depth", **DEPTH),
    Variable(
        "mask", "centre", "1", "sea_binary_mask", "1 water, 0 land", dimension=(0, 0, 0, 0), flag_meanings="land sea"
    ),
    Variable("f", "corner", "s-1", "coriolis_parameter", "Coriolis parameter", dimension=(0, 0, -1, 0)),
    Variable("incident_wave", "", "m", "", "sea level of the incident wave at records", **INCIDENT_WAVE),
    Variable("gravity", "", "m s-2", "", "acceleration of gravity", control="number", dimension=(2, -1, -2, 0)),
)

#: Coefficients of terms: a configuration gives them as a number or, if they have a location, as a field.
COEFFICIENTS = variables_by_name(*(row for term in TERMS.values() for row in term.coefficients))

#: Corrections of forcing and boundary data, for errors that vary in time.
CORRECTIONS = variables_by_name(
    *(
        Variable(
            *(name + CORRECTION_SUFFIX, row.location, row.units, "", f"correction of {row.long_name}"),
            control="fields",
            dimension=row.dimension,
            is_signed=True,
            small_change=row.small_change,
        )
        for name, row in COEFFICIENTS.items()
        if row.varies_in_time and row.is_input and row.control
    )
)

#: All variables by name, without those of tracers.
VARIABLES = (
    variables_by_name(*CORE_VARIABLES, *(row for term in TERMS.values() for row in term.prognostic))
    | COEFFICIENTS
    | CORRECTIONS
)

#: The variables that differ with reduced gravity, where the layer lies above a deep one at rest.
REDUCED_GRAVITY_VARIABLES = variables_by_name(
    VARIABLES["eta"]._replace(standard_name="", long_name="downward displacement of the interface"),
    VARIABLES["depth"]._replace(standard_name="", long_name="resting thickness of the layer"),
)

#: The vectors among the controls; the errors of both components have the same standard deviation.
CONTROL_VECTORS: dict[str, tuple[str, ...]] = {"velocity": ("u", "v"), "wind": ("wind_x", "wind_y")}
CONTROL_VECTORS |= {f"wind{CORRECTION_SUFFIX}": tuple(name + CORRECTION_SUFFIX for name in CONTROL_VECTORS["wind"])}

#: Standard names if x is eastward and y northward, as on a sphere.
EASTWARD_NAMES = {
    "sea_water_x_velocity": "eastward_sea_water_velocity",
    "sea_water_y_velocity": "northward_sea_water_velocity",
    "surface_downward_x_stress": "surface_downward_eastward_stress",
    "surface_downward_y_stress": "surface_downward_northward_stress",
    "x_wind": "eastward_wind",
    "y_wind": "northward_wind",
}

#: Suffix of the name of a field's mean over the steps since the last record; the name of the number of these steps.
MEAN_SUFFIX, MEAN_STEPS = "_mean", "mean_steps"

#: Suffix of the names of a field's sums with the basis functions of a harmonic analysis; a number follows.
HARMONIC_SUFFIX = "_harmonic"

#: The initial fields of a run, without those of tracers.
INITIAL_FIELDS = ("eta", *State._fields[1:])

#: Fields that a case or an input file may give.
INPUT_FIELDS = (
    "depth",
    "mask",
    *(name for name, row in COEFFICIENTS.items() if row.location and row.is_input),
    *INITIAL_FIELDS,
)

#: Fields that a run may write, besides its tracers.
OUTPUT_FIELDS = (*DERIVED, *(row.concentration_name or row.name for term in TERMS.values() for row in term.prognostic))

#: Forcing fields: coefficients that may vary in time, except boundary data and crests of barriers; a run may write them
#: in each record.
FORCING = tuple(
    name
    for name, row in COEFFICIENTS.items()
    if row.varies_in_time and row.is_input and not name.startswith("boundary_")
)

#: Suffixes of names: a field's largest value over a run, its time, and the arrival of a sea level.
MAXIMUM_SUFFIX, TIME_OF_MAXIMUM_SUFFIX, ARRIVAL_SUFFIX = "_max", "_max_time", "_arrival"
#: The name of the first time that water covers ground which was dry at the start.
INUNDATION = f"wet{ARRIVAL_SUFFIX}"

#: Prefix of the names of the series of inflow through a side.
INFLOW_PREFIX = "inflow_"

#: The variables with respect to which derivatives exist, without the tracers of a run and the parameters of its terms.
CONTROLS = {name: row for name, row in VARIABLES.items() if row.control}


def variable_of(name: str) -> Variable:
    """The Variable of a field of a run; names that are not in the table are tracers."""
    return VARIABLES[name] if name in VARIABLES else tracer.tracer_variable(name)


def location_of(name: str) -> str:
    """The location of a field; tracers and user-defined coefficients are at centres."""
    return variable_of(name).location


def with_axis_names(row: Variable, grid) -> Variable:
    """A variable as it is called on a grid: eastward or northward if these are the directions of its axes."""
    return row if not is_spherical(grid) or has_rotated_pole(grid) else with_eastward_names(row)


def with_eastward_names(row: Variable) -> Variable:
    """A variable as it is called if x is eastward and y northward."""
    if row.standard_name not in EASTWARD_NAMES:
        return row
    name = EASTWARD_NAMES[row.standard_name]
    quantity = row.long_name.removesuffix(" in x").removesuffix(" in y")
    return row._replace(standard_name=name, long_name=f"{'north' if 'northward' in name else 'east'}ward {quantity}")


def variable_in_run(name: str, physics) -> Variable:
    """The Variable of this name in a run with this section [physics]."""
    if physics.reduced_gravity and name in REDUCED_GRAVITY_VARIABLES:
        return REDUCED_GRAVITY_VARIABLES[name]
    return variable_of(name)


def maxima_variables(options) -> dict[str, Variable]:
    """The Variables, by name, of the largest values and first times that the section [output] asks for."""
    variables: dict[str, Variable] = {}
    for name in options.maxima:
        row = variable_of(name)
        largest = row._replace(name=name + MAXIMUM_SUFFIX, long_name=f"largest {row.long_name} so far")
        time_of_largest = Variable(
            name + TIME_OF_MAXIMUM_SUFFIX, row.location, "s", "", f"time of the largest {row.long_name} so far"
        )
        variables |= variables_by_name(largest, time_of_largest)
    if options.arrival is not None:
        long_name = f"first time that sea level is {options.arrival:g} m above or below rest"
        variables |= variables_by_name(Variable(f"eta{ARRIVAL_SUFFIX}", "centre", "s", "", long_name, min_value=0.0))
    if options.inundation:
        long_name = "first time that water covers ground that was dry at the start"
        variables |= variables_by_name(Variable(INUNDATION, "centre", "s", "", long_name, min_value=0.0))
    return variables
