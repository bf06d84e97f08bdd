"""Fields of analytic solutions, from the method `analytic_solution` of a case, at the time of a record."""

from __future__ import annotations

from functools import lru_cache

import netCDF4
import numpy as np

from ..config.loading.load import from_toml
from ..errors import ConfigError
from ..ocean.coordinates import points
from .dataset import PlotError, read_configuration, record_times

#: Suffix of the name of a field that is the difference of another field from its analytic solution.
ERROR_SUFFIX = "_error"


@lru_cache(2)
def load_configuration(text: str):
    """The Config from TOML text; None if the text is empty or is not valid in this version of the model."""
    try:
        return from_toml(text) if text else None
    except ConfigError:
        return None


def read_builtin_config(data: netCDF4.Dataset):
    """The Config of a run of a built-in case; None for a user-defined case, whose code would have to be executed.

    None also if the file has no valid configuration.
    """
    case_options = read_configuration(data).get("case", {})
    return None if case_options.get("file") else load_configuration(getattr(data, "configuration", ""))


def analytic_fields(data: netCDF4.Dataset, location: str, record: int) -> dict[str, np.ndarray]:
    """The analytic solutions {field: values} at a location (centre, u, v, corner) and the time of a record, if any."""
    config = read_builtin_config(data)
    if config is None or not record_times(data).size:
        return {}
    positions = points(config.grid, location, range(config.grid.ny), range(config.grid.nx))
    return config.case.analytic_solution(config, positions, float(record_times(data)[record]))


def analytic_field(data: netCDF4.Dataset, name: str, location: str, record: int) -> np.ndarray:
    """The analytic solution [y, x] of a field at a location and the time of a record. PlotError: there is none."""
    solutions = analytic_fields(data, location, record)
    if name not in solutions:
        available = f"; it has those of {', '.join(solutions)}" if solutions else ""
        raise PlotError(f"the case of {data.filepath()} has no analytic solution for {name}{available}")
    return np.broadcast_to(solutions[name], data["mask"].shape)
