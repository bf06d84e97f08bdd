"""The file of the derivatives of a quantity: a map for each field, and numbers."""

from __future__ import annotations

import re
from fractions import Fraction

from ..ocean.table import CONTROLS, INITIAL, entry_of
from ..ocean.variable import Variable
from .quantities import Quantity

#: The fields and numbers with respect to which derivatives are taken.
FIELDS = tuple(name for name, row in CONTROLS.items() if row.control_location)
NUMBERS = tuple(name for name, row in CONTROLS.items() if not row.control_location)

#: A comment for readers of the file.
COMMENT = (
    "Each map gives the change of the quantity for a change of the field by one unit in one cell alone; divided by "
    "cell_area it does not depend on the size of the cells. A change of depth keeps the initial eta and velocity."
)


def write(path, config, transport, quantity: Quantity, value: float, gradient: dict, options, command_line):
    """Write the file; returns the Largest of each map, by name, on rank 0."""
    from ..files.output.maps import write_maps  # imported here, as it needs JAX
    from ..files.output.metadata import define_variable

    when = f"mean over the states after steps 1 to {config.run.steps}" if options["mean"] else "at the end of the run"
    about = {"long_name": f"{quantity.long_name}, {when}", "definition": options["of"]}
    numbers = {quantity.name: (value, about | {"units": quantity.units})}
    maps, given = [], []
    for name, derivative in gradient.items():
        entry = derivative_of(quantity, name, config.physics)
        if name in FIELDS:
            maps.append((entry, transport.get(derivative)))
            given += [] if name in INITIAL else [entry.name]
        else:
            numbers[entry.name] = float(derivative), {"long_name": entry.long_name, "units": entry.units}
    about = {
        "quantity": options["of"],
        "quantity_long_name": about["long_name"],
        "quantity_value": value,
        "quantity_units": quantity.units,
        "comment": COMMENT,
    }
    if quantity.line:
        about |= {"quantity_x": [x for x, _ in quantity.line], "quantity_y": [y for _, y in quantity.line]}

    def define(dataset) -> None:
        dataset.setncatts(about)
        for name, (number, meaning) in numbers.items():
            define_variable(dataset, name, (), meaning, number)

    return write_maps(path, config, transport, maps, define, command_line, given)


def derivative_of(quantity: Quantity, name: str, physics) -> Variable:
    """The variable of the derivative with respect to a field or number."""
    entry = entry_of(name, physics)
    long_name = f"initial {entry.long_name}" if name in INITIAL else entry.long_name
    told, units = f"derivative of {quantity.long_name} with respect to {long_name}", inverse(entry.units)
    return Variable(
        f"d_{quantity.name}_d_{name}", entry.control_location, f"{quantity.units} {units}".strip(), "", told
    )


def inverse(units: str) -> str:
    """The inverse of units like "m2 s-1": "m-2 s"; powers may be fractions, as in "s m-1/3"."""
    factors = (re.fullmatch(r"([A-Za-z]+)(-?[\d/]*)", factor) for factor in units.split() if factor != "1")
    powers = [(factor[1], -Fraction(factor[2] or 1)) for factor in factors]
    return " ".join(unit if power == 1 else f"{unit}{power}" for unit, power in powers)
