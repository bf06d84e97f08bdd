"""harmonics.nc of a run: amplitude and phase lag of each constituent of its fields, and their means."""

from __future__ import annotations

import numpy as np

from ...ocean.constituents import DAY_SECONDS
from ...ocean.table import variable_in_run
from ...ocean.variable import Variable
from ...setup.tidal_analysis import harmonic_analysis
from .maps import write_maps
from .metadata import define_variable

#: The dimension and coordinate of the constituents, by their names.
CONSTITUENT_DIMENSION = "constituent"

COMMENT = (
    "x(t) = mean + sum of f amplitude cos(2 pi (t - start) / period + V + u - phase), by least squares. f, V and u "
    "refer to the start of the run."
)


def write_harmonics(path, config, transport, constants: dict[str, tuple], command_line: str = "") -> None:
    """Write the file of `HarmonicsAccumulator.constants` atomically; all processes call it together."""
    tides, maps = harmonic_analysis(config), []
    for name, (mean, pairs) in constants.items():
        model_variable = variable_in_run(name, config.physics)
        words = f"mean {model_variable.long_name} of the analysis"
        maps.append(
            (
                Variable(
                    f"{name}_mean",
                    model_variable.location,
                    model_variable.units,
                    "",
                    words,
                    is_signed=model_variable.is_signed,
                ),
                mean,
            )
        )
        for what, words, units, values in (
            ("amplitude", "amplitude", model_variable.units, [amplitude for amplitude, _ in pairs]),
            ("phase", "phase lag relative to Greenwich", "degrees", [phase for _, phase in pairs]),
        ):
            map_variable = Variable(
                f"{name}_{what}",
                model_variable.location,
                units,
                "",
                f"{words} of {model_variable.long_name}",
                min_value=0.0,
            )
            maps.append((map_variable, np.stack(values)))
    constituent_variables = {
        "period": ("period", "h", [each.period / 3600 for each in tides.constituents]),
        "nodal_factor": ("nodal factor f", "1", [each.nodal_factor for each in tides.constituents]),
        "argument": ("V + u at the start", "rad", [each.phase for each in tides.constituents]),
    }

    def define(dataset) -> None:
        dataset.title = f"harmonic constants: {dataset.title}"
        days = [step * config.time.dt / DAY_SECONDS for step in (tides.steps[0], tides.steps[-1])]
        dataset.setncatts({"first_day": days[0], "last_day": days[1], "values": len(tides.steps), "comment": COMMENT})
        dataset.createDimension(CONSTITUENT_DIMENSION, len(tides.constituents))
        names = np.array([each.name for each in tides.constituents], object)
        define_variable(
            dataset,
            CONSTITUENT_DIMENSION,
            (CONSTITUENT_DIMENSION,),
            {"long_name": "constituent of the tide"},
            names,
            str,
        )
        for name, (words, units, values) in constituent_variables.items():
            define_variable(dataset, name, (CONSTITUENT_DIMENSION,), {"long_name": words, "units": units}, values)

    write_maps(path, config, transport, maps, define, command_line, leading_dimension=CONSTITUENT_DIMENSION)
