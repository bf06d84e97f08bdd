"""harmonics.nc of a run: means of fields, and amplitude and phase lag of each of their tidal constituents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...ocean.constituents import DAY_SECONDS
from ...ocean.table import variable_in_run
from ...ocean.variable import Variable
from ...setup.fields.netcdf_input.model_files import CONSTITUENT_DIMENSION
from ...setup.tidal_analysis import harmonic_analysis
from .maps import write_maps
from .metadata import define_variable

if TYPE_CHECKING:
    from ...config.options.model import Config
    from ...parallel.transport.transport import Transport

COMMENT = (
    "x(t) = mean + sum of f amplitude cos(2 pi (t - start) / period + V + u - phase), by least squares. f, V and u "
    "refer to the start of the run."
)


def write_harmonics(path, config: Config, transport: Transport, constants: dict[str, tuple], command_line: str) -> None:
    """Write the `HarmonicsAccumulator.constants` to a file atomically; all processes must call this together."""
    tides, maps = harmonic_analysis(config), []
    assert tides is not None  # `constants` are from this analysis
    for name, (mean, pairs) in constants.items():
        model_variable = variable_in_run(name, config.physics)
        amplitudes, phases = (np.stack(values) for values in zip(*pairs, strict=True))
        for suffix, long_name, units, values in (
            ("mean", f"mean {model_variable.long_name} of the analysis", model_variable.units, mean),
            ("amplitude", f"amplitude of {model_variable.long_name}", model_variable.units, amplitudes),
            ("phase", f"phase lag relative to Greenwich of {model_variable.long_name}", "degrees", phases),
        ):
            maps.append((Variable(f"{name}_{suffix}", model_variable.location, units, "", long_name), values))
    constituent_variables = {
        "period": ("period", "h", [tide.period / 3600 for tide in tides.constituents]),
        "nodal_factor": ("nodal factor f", "1", [tide.nodal_factor for tide in tides.constituents]),
        "argument": ("V + u at the start", "rad", [tide.phase for tide in tides.constituents]),
    }

    def define(dataset) -> None:
        dataset.title = f"harmonic constants: {dataset.title}"
        days = [step * config.time.dt / DAY_SECONDS for step in (tides.steps[0], tides.steps[-1])]
        dataset.setncatts({"first_day": days[0], "last_day": days[1], "values": len(tides.steps), "comment": COMMENT})
        dataset.createDimension(CONSTITUENT_DIMENSION, len(tides.constituents))
        names = np.array([tide.name for tide in tides.constituents], np.object_)
        attrs = {"long_name": "constituent of the tide"}
        define_variable(dataset, CONSTITUENT_DIMENSION, (CONSTITUENT_DIMENSION,), attrs, names, str)
        for name, (long_name, units, values) in constituent_variables.items():
            attrs = {"long_name": long_name, "units": units}
            define_variable(dataset, name, (CONSTITUENT_DIMENSION,), attrs, values)

    write_maps(path, config, transport, maps, define, command_line, leading_dimension=CONSTITUENT_DIMENSION)
