"""Analytic solutions: the fields that a case has in closed form at any time, by its function `theory`."""

from __future__ import annotations

from functools import lru_cache

import netCDF4
import numpy as np

from ..config.loading.load import from_toml
from ..errors import ConfigError
from ..ocean.coordinates import points
from .dataset import PlotError, read_configuration, record_times

#: The ending of the name of a field that is the difference of another one from its analytic solution.
ERROR_SUFFIX = "_error"


@lru_cache(2)
def parse_configuration(text: str, case_file: str | None):
    """The configuration in a file; None: another version has written it, or it has none."""
    try:
        return from_toml(text, case_file) if text else None
    except ConfigError:
        return None


def read_shipped_config(data: netCDF4.Dataset):
    """The configuration of a run of a case that ships; None for others: a user's own case is not executed."""
    case_options = read_configuration(data).get("case", {})
    return None if case_options.get("file") else parse_configuration(getattr(data, "configuration", ""), None)


def analytic_fields(data: netCDF4.Dataset, location: str, record: int) -> dict[str, np.ndarray]:
    """The analytic solutions {field: values at the points of a location} at the time of a record; empty if there are
    none.

    `location`: centre, u, v or corner.
    """
    config = read_shipped_config(data)
    if config is None or not record_times(data).size:
        return {}
    positions = points(config.grid, location, range(config.grid.ny), range(config.grid.nx))
    return config.case.analytic_solution(config, positions, float(record_times(data)[record]))


def analytic_field(data: netCDF4.Dataset, name: str, location: str, record: int) -> np.ndarray:
    """The analytic solution of a field [y, x]."""
    solutions = analytic_fields(data, location, record)
    if name not in solutions:
        available = f"; it has those of {', '.join(solutions)}" if solutions else ""
        raise PlotError(f"the case of {data.filepath()} has no analytic solution for {name}{available}")
    return np.broadcast_to(solutions[name], data["mask"].shape)
