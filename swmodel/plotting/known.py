"""Known answers: the fields that a case knows in closed form at any time, by its function `theory`."""

from __future__ import annotations

from functools import lru_cache

import netCDF4
import numpy as np

from ..config.loading.load import from_toml
from ..errors import ConfigError
from ..ocean.coordinates import points
from .dataset import PlotError, configuration, seconds

#: The ending of the name of a field that is the difference of another one from its known answer.
ERROR = "_error"


@lru_cache(2)
def configured(text: str, case_file: str | None):
    """The configuration in a file; None: another version has written it, or it has none."""
    try:
        return from_toml(text, case_file) if text else None
    except ConfigError:
        return None


def config_of(data: netCDF4.Dataset):
    """The configuration of a run of a case that ships; None for others: a user's own case is not executed."""
    case = configuration(data).get("case", {})
    return None if case.get("file") else configured(getattr(data, "configuration", ""), None)


def answers(data: netCDF4.Dataset, location: str, record: int) -> dict[str, np.ndarray]:
    """The known answers {field: values at the points of a location} at the time of a record; empty if there are none.

    `location`: centre, u, v or corner.
    """
    config = config_of(data)
    if config is None or not seconds(data).size:
        return {}
    at = points(config.grid, location, range(config.grid.ny), range(config.grid.nx))
    return config.case.theory(config, at, float(seconds(data)[record]))


def answer(data: netCDF4.Dataset, name: str, location: str, record: int) -> np.ndarray:
    """The known answer of a field [y, x]."""
    found = answers(data, location, record)
    if name not in found:
        known = f"; it knows {', '.join(found)}" if found else ""
        raise PlotError(f"the case of {data.filepath()} knows no answer for {name}{known}")
    return np.broadcast_to(found[name], data["mask"].shape)
