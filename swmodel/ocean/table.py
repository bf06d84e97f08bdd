"""The table of all fields and coefficients of the model: those of the core equations, and those of the terms."""

from __future__ import annotations

from .coordinates import on_sphere, turned
from .derived import DERIVED, POSITIVE
from .records import CORRECTION
from .state import State
from .terms import TERMS, tracer
from .variable import Variable, table

DEPTH = POSITIVE | {"key": "physics.depth", "control": "field", "downward": True}
RECORDS = {"control": "records", "small": 1e-3, "dimension": (0, 1, 0, 0)}
EQUATIONS = (
    *DERIVED.values(),
    Variable("depth", "centre", "m", "sea_floor_depth_below_geoid", "resting depth", **DEPTH),
    Variable("uplift", "centre", "m", "", "uplift of the sea floor at the start", dimension=(0, 1, 0, 0), signed=True),
    Variable("mask", "centre", "1", "sea_binary_mask", "1 water, 0 land", dimension=(0, 0, 0, 0), flags="land sea"),
    Variable("f", "corner", "s-1", "coriolis_parameter", "Coriolis parameter", dimension=(0, 0, -1, 0)),
    Variable("incident_wave", "", "m", "", "sea level of the incident wave at records", **RECORDS),
    Variable("gravity", "", "m s-2", "", "acceleration of gravity", control="number", dimension=(2, -1, -2, 0)),
)

#: Coefficients of terms: a configuration gives them as a number or, if they have a location, as a field.
COEFFICIENTS = table(*(row for term in TERMS.values() for row in term.coefficients))

#: Corrections of the weather and of the water outside, the errors of a model that vary in time.
CORRECTIONS = table(
    *(
        Variable(
            *(name + CORRECTION, row.location, row.units, "", f"correction of {row.long_name}"),
            **{"control": "fields", "dimension": row.dimension, "signed": True, "small": row.small},
        )
        for name, row in COEFFICIENTS.items()
        if row.varies
    )
)

#: All variables by name, without those of tracers.
VARIABLES = table(*EQUATIONS, *(row for term in TERMS.values() for row in term.prognostic)) | COEFFICIENTS | CORRECTIONS

#: The entries that differ with reduced gravity, where the layer lies over a deep one at rest.
REDUCED = table(
    VARIABLES["eta"]._replace(standard_name="", long_name="downward displacement of the interface"),
    VARIABLES["depth"]._replace(standard_name="", long_name="resting thickness of the layer"),
)

#: The vectors among the controls; errors of both components have one standard deviation.
PAIRS = {"velocity": ("u", "v"), "wind": ("wind_x", "wind_y")}
PAIRS |= {f"wind{CORRECTION}": tuple(name + CORRECTION for name in PAIRS["wind"])}

#: Standard names if x is eastward and y northward, as on a sphere.
EASTWARD = {
    "sea_water_x_velocity": "eastward_sea_water_velocity",
    "sea_water_y_velocity": "northward_sea_water_velocity",
    "surface_downward_x_stress": "surface_downward_eastward_stress",
    "surface_downward_y_stress": "surface_downward_northward_stress",
    "x_wind": "eastward_wind",
    "y_wind": "northward_wind",
}

#: The ending of the name of a field's mean over the steps since a record; the name of the number of these steps.
MEAN, MEAN_STEPS = "_mean", "mean_steps"

#: The ending of the names of a field's sums with the basis functions of a harmonic analysis; a number follows.
HARMONIC = "_harmonic"

#: The initial fields of a run, without those of tracers.
INITIAL = ("eta", *State._fields[1:])

#: Fields that a case or an input file may give.
GIVEN = ("depth", "mask", "uplift", *(name for name, row in COEFFICIENTS.items() if row.location), *INITIAL)

#: Fields that a run may write, besides its tracers.
WRITABLE = (*DERIVED, *(row.content or row.name for term in TERMS.values() for row in term.prognostic))

#: Coefficients that drive the sea from above and may vary in time; a run may write them in each record.
FORCING = tuple(name for name, row in COEFFICIENTS.items() if row.varies and not name.startswith("outside_"))

#: Endings of names: a field's largest value over a run, its time, and the first time of a sea level.
MAXIMUM, TIME_OF_MAXIMUM, ARRIVAL = "_max", "_max_time", "_arrival"
#: The name of the first time that water covers ground which was dry at the start.
INUNDATION = f"wet{ARRIVAL}"

#: The beginning of the names of the series of inflow through a side.
INFLOW = "inflow_"

#: The variables that derivatives may refer to; tracers are left out, as no quantity and no observation depends on them.
CONTROLS = {name: row for name, row in VARIABLES.items() if row.control}


def row_of(name: str) -> Variable:
    """The row of a field of a run; names that the table lacks are tracers."""
    return VARIABLES[name] if name in VARIABLES else tracer.row_of(name)


def location_of(name: str) -> str:
    """The location of a field; tracers and user-defined coefficients are at centres."""
    return VARIABLES[name].location if name in VARIABLES else "centre"


def on_grid(row: Variable, grid) -> Variable:
    """The entry of a variable on a grid: with names for eastward and northward if these are the axes."""
    return row if not on_sphere(grid) or turned(grid) else eastward(row)


def eastward(row: Variable) -> Variable:
    """The entry of a variable with x eastward and y northward."""
    if row.standard_name not in EASTWARD:
        return row
    name = EASTWARD[row.standard_name]
    what = row.long_name.removesuffix(" in x").removesuffix(" in y")
    return row._replace(standard_name=name, long_name=f"{'north' if 'northward' in name else 'east'}ward {what}")


def entry_of(name: str, physics) -> Variable:
    """The entry of a variable in a run with this section [physics]."""
    return REDUCED[name] if physics.reduced_gravity and name in REDUCED else row_of(name)


def maxima_of(options) -> dict[str, Variable]:
    """The rows of the largest values and first times of `config.output`, by name."""
    found: dict[str, Variable] = {}
    for name in options.maxima:
        row = row_of(name)
        largest = row._replace(name=name + MAXIMUM, long_name=f"largest {row.long_name} so far")
        when = Variable(name + TIME_OF_MAXIMUM, row.location, "s", "", f"time of the largest {row.long_name} so far")
        found |= table(largest, when)
    if options.arrival is not None:
        words = f"first time that sea level is {options.arrival:g} m above or below its rest"
        found |= table(Variable(f"eta{ARRIVAL}", "centre", "s", "", words, least=0.0))
    if options.inundation:
        words = "first time that water covers ground that was dry at the start"
        found |= table(Variable(INUNDATION, "centre", "s", "", words, least=0.0))
    return found
