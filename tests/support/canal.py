"""A canal round the equator, in which a tide has an analytic solution."""

import numpy as np

from support.field_cases import case_with_fields
from swmodel.config import Config
from swmodel.ocean.constituents import constituents_at
from swmodel.ocean.terms.tide import EQUILIBRIUM

RADIUS, DEPTH, DATE = 6371e3, 4000.0, "2012-03-01"


def equatorial_canal(nx, beta=0.0, factor=1e-3, **options):
    """A canal of nx cells round the equator, with the wave that M2 forces; overrides are written section__key=value.

    With equilibrium tide eta_eq, frequency w and wavenumber k, eta = eta_eq/(1 - beta - (w/k)²/(gH)), u = -w eta/(kH).

    Returns:
        The configuration, for a quarter of a period; the amplitude of the wave, m; its ratio to the equilibrium tide.
    """
    (tide,) = constituents_at(("M2",), DATE)
    dx = 2 * np.pi * RADIUS / nx
    w, k = 2 * np.pi * tide.frequency, 2 / dx * np.sin(2 * np.pi / nx)  # rad/s; 2 / RADIUS on the grid, rad/m
    ratio = 1 / (1 - beta - (w / k) ** 2 / (9.81 * DEPTH))
    height = ratio * factor * tide.nodal_factor * EQUILIBRIUM["M2"].height

    def wave(shift):
        lon = 2 * np.pi * (np.arange(nx) + shift) / nx
        return height * np.cos(tide.phase + 2 * lon)[None, :]

    fields = {"eta": wave(0.5), "u": -w / (k * DEPTH) * wave(1.0)}
    sections = {
        "case": case_with_fields(fields, "Canal"),
        "grid": {"kind": "latlon", "nx": nx, "ny": 1, "south": -0.05, "north": 0.05, "radius": RADIUS, "rotation": 0.0},
        "physics": {"depth": DEPTH, "self_attraction": beta},
        "tide": {"constituents": ("M2",), "factor": factor},
        "time": {"stepper": "rk4", "dt": tide.period / 4 / (2 * nx), "start": DATE},
        "run": {"dtype": "float64", "steps": 2 * nx, "executor": "reference"},
    }
    for key, value in options.items():
        section, name = key.split("__")
        sections.setdefault(section, {})[name] = value
    return Config(**sections), height, ratio
