"""The spectra of a run for its page: by wavenumber in all directions, of all records or evenly fewer."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...files.run_folder import SPECTRA
from ...ocean.squares import quantities_in, square_of
from .. import style
from ..dataset import open_data, seconds
from ..spectrum import DECADES

#: Most numbers of all spectra together.
MOST_NUMBERS = 10**6


def spectra(folder: Path) -> dict | None:
    """Times, wavenumbers in rad km-1, and for each quantity its label and its density; None if there are no spectra."""
    file = folder / SPECTRA
    if not file.is_file():
        return None
    with open_data(file) as data:
        names, times = quantities_in(data.variables), seconds(data)
        if not names or not times.size:
            return None
        wavenumber = np.asarray(data["wavenumber"][1:], float)
        each = max(1, MOST_NUMBERS // (len(names) * wavenumber.size))
        records = np.unique(np.linspace(0, times.size - 1, min(each, times.size)).round().astype(int))
        return {
            "times": times[records].tolist(),
            "wavenumbers": (1e3 * wavenumber).tolist(),
            "quantities": [quantity(data[name], records) for name in names],
        }


def quantity(variable, records) -> dict:
    """A quantity's label and density [record][wavenumber]; null beyond what a logarithmic axis shows."""
    values = np.ma.filled(variable[:, 1:].astype(float), np.nan)[records]
    least = np.nanmax(values, initial=0.0) * 10.0**-DECADES
    return {
        "label": style.label(f"{square_of(variable.name).long_name}, by wavenumber", variable.units),
        "values": [[float(v) if v > least else None for v in record] for record in values],
    }
