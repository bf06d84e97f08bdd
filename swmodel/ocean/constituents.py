"""The constituents of the tide: their periods."""

from __future__ import annotations

#: Degrees of phase in an hour. Reference: Doodson, A. T. (1921), Proc. R. Soc. A 100, 305-329.
SPEEDS = {
    "M2": 28.9841042,
    "S2": 30.0,
    "N2": 28.4397295,
    "K2": 30.0821373,
    "K1": 15.0410686,
    "O1": 13.9430356,
    "P1": 14.9589314,
    "Q1": 13.3986609,
    "Mf": 1.0980331,
    "Mm": 0.5443747,
    "M4": 57.9682084,
}

#: Periods, s.
PERIODS = {name: 360.0 / speed * 3600.0 for name, speed in SPEEDS.items()}
