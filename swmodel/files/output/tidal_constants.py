"""harmonics.nc of a run: amplitude and phase lag of each constituent, and the mean, of its fields."""

from __future__ import annotations

import numpy as np

from ...ocean.constituents import DAY
from ...ocean.table import entry_of
from ...ocean.variable import Variable
from ...setup.tidal_analysis import analysis
from .maps import write_maps
from .metadata import define_variable

#: The dimension and coordinate of the constituents, by their names.
AXIS = "constituent"

#: A comment for readers of the file.
COMMENT = (
    "x(t) = mean + sum of f amplitude cos(2 pi (t - start) / period + V + u - phase), by least squares. f, V and u "
    "refer to the start of the run."
)


def write(path, config, transport, constants: dict[str, tuple], command_line: str = "") -> None:
    """Write the file of `Harmonics.constants`, whole or not at all; all processes call it together."""
    made, maps = analysis(config), []
    for name, (mean, pairs) in constants.items():
        entry = entry_of(name, config.physics)
        words = f"mean {entry.long_name} of the analysis"
        maps.append((Variable(f"{name}_mean", entry.location, entry.units, "", words, signed=entry.signed), mean))
        for what, words, units, values in (
            ("amplitude", "amplitude", entry.units, [amplitude for amplitude, _ in pairs]),
            ("phase", "phase lag behind Greenwich", "degrees", [phase for _, phase in pairs]),
        ):
            row = Variable(f"{name}_{what}", entry.location, units, "", f"{words} of {entry.long_name}", least=0.0)
            maps.append((row, np.stack(values)))
    numbers = {
        "period": ("period", "h", [each.period / 3600 for each in made.constituents]),
        "nodal_factor": ("nodal factor f", "1", [each.factor for each in made.constituents]),
        "argument": ("V + u at the start", "rad", [each.phase for each in made.constituents]),
    }

    def define(dataset) -> None:
        dataset.title = f"harmonic constants: {dataset.title}"
        days = [step * config.time.dt / DAY for step in (made.steps[0], made.steps[-1])]
        dataset.setncatts({"first_day": days[0], "last_day": days[1], "values": len(made.steps), "comment": COMMENT})
        dataset.createDimension(AXIS, len(made.constituents))
        names = np.array([each.name for each in made.constituents], object)
        define_variable(dataset, AXIS, (AXIS,), {"long_name": "constituent of the tide"}, names, str)
        for name, (words, units, values) in numbers.items():
            define_variable(dataset, name, (AXIS,), {"long_name": words, "units": units}, values)

    write_maps(path, config, transport, maps, define, command_line, axis=AXIS)
