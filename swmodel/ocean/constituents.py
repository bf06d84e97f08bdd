"""Tidal constituents: frequencies, phases at a date, and nodal corrections.

The tide of a constituent is f H cos(V + u - G), with amplitude H and Greenwich phase lag G. V grows linearly in time;
the nodal corrections f and u depend on the date.

Reference: Foreman, M. G. G. (1977), Manual for tidal heights analysis and prediction, Pac. Mar. Sci. Rep. 77-10;
Codiga, D. L. (2011), Unified tidal analysis and prediction using the UTide Matlab functions, URI/GSO 2011-01.
tools/constituents.py makes the table constituents.json from that of the package utide.
"""

from __future__ import annotations

import json
import math
import re
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

DAY_SECONDS = 86400.0

#: The time from which LONGITUDE_POLYNOMIALS count days.
EPOCH = datetime(1899, 12, 31, 12)
#: Polynomials for mean longitudes, degrees: the coefficients of 1, of the days since EPOCH, and of the square and cube
#: of days/10^4. Rows: the Moon s, the Sun h, the Moon's perigee p, minus its ascending node N', the Sun's perigee p'.
#: Reference: Explanatory Supplement to the Astronomical Ephemeris (1961), pages 98 and 107.
LONGITUDE_POLYNOMIALS = np.array(
    [
        [270.434164, 13.1763965268, -8.5e-5, 3.9e-8],
        [279.696678, 0.9856473354, 2.267e-5, 0.0],
        [334.329556, 0.1114040803, -7.739e-4, -2.6e-7],
        [-259.183275, 0.0529539222, -1.557e-4, -5.0e-8],
        [281.220844, 4.70684e-5, 3.39e-5, 7.0e-8],
    ]
)


class Constituent(NamedTuple):
    """A tidal constituent, with its phase and its nodal factor at a date."""

    name: str
    species: int  # cycles per day, rounded: 0 long-period, 1 diurnal, 2 semidiurnal, ...
    frequency: float  # cycles per second
    phase: float  # V + u, radians
    nodal_factor: float  # f

    @property
    def period(self) -> float:
        return 1 / self.frequency


@cache
def constituent_data() -> dict[str, dict]:
    return json.loads(Path(__file__).with_name("constituents.json").read_text())["constituents"]


def parse_date(text: str) -> datetime:
    """The date of a text such as "2020-03-01T06:00", UTC."""
    year, month, day, *clock = (float(part) for part in re.findall(r"[\d.]+", text))
    hour, minute, second = (*clock, 0.0, 0.0, 0.0)[:3]
    return datetime(int(year), int(month), int(day)) + timedelta(hours=hour, minutes=minute, seconds=second)


def constituents_at(names, start: str, nodal: bool = True) -> list[Constituent]:
    """The constituents `names` at a date; if not `nodal`, with f = 1 and u = 0."""
    longitudes, rates = astronomical_longitudes(parse_date(start))
    constituents = []
    for name in names:
        V, u, rate, f = argument_and_nodal_corrections(name, longitudes, rates)
        phase = 2 * math.pi * ((V + (u if nodal else 0.0)) % 1)
        constituents.append(Constituent(name, round(rate), rate / DAY_SECONDS, phase, f if nodal else 1.0))
    return constituents


def astronomical_longitudes(date: datetime) -> tuple[np.ndarray, np.ndarray]:
    """Lunar time tau and s, h, p, N', p' of LONGITUDE_POLYNOMIALS at a date, cycles [6]; their rates, per day [6]."""
    days = (date - EPOCH) / timedelta(days=1)
    ten_thousand_days = days / 1e4
    values = LONGITUDE_POLYNOMIALS @ [1.0, days, ten_thousand_days**2, ten_thousand_days**3] / 360
    rates = LONGITUDE_POLYNOMIALS @ [0.0, 1.0, 2e-4 * ten_thousand_days, 3e-4 * ten_thousand_days**2] / 360
    clock = (days + 0.5) % 1
    return np.array([clock + values[1] - values[0], *values]), np.array([1 + rates[1] - rates[0], *rates])


def argument_and_nodal_corrections(
    name: str, longitudes: np.ndarray, rates: np.ndarray
) -> tuple[float, float, float, float]:
    """V and u in cycles, the rate of V in cycles per day, and f.

    For a compound constituent, V, u and the rate are sums over its parts, and f is a product of powers of their f.
    """
    entry = constituent_data()[name]
    if "sum" in entry:
        parts = [
            (times, argument_and_nodal_corrections(part, longitudes, rates)) for part, times in entry["sum"].items()
        ]
        V, u, rate = (sum(times * part[k] for times, part in parts) for k in range(3))
        return V, u, rate, math.prod(part[3] ** abs(times) for times, part in parts)
    with_satellites = 1 + sum(
        size * np.exp(2j * np.pi * (np.dot(multiples, longitudes[3:]) + phase))
        for *multiples, phase, size in entry["satellites"]
    )
    V = float(np.dot(entry["doodson"], longitudes)) + entry["phase"]
    u = float(np.angle(with_satellites)) / (2 * math.pi)
    return V, u, float(np.dot(entry["doodson"], rates)), float(abs(with_satellites))
