"""A sea with a coast that floods: a beach with pools and a hill, under a wind of changing direction."""

import numpy as np

from support.random_case import configuration

NY, NX, STEPS = 9, 13, 40
#: Positions at the centre of a sea cell and of a beach cell, between points near the hill, and on land that stays dry.
STATIONS = ((300.0, 375.0), (1900.0, 375.0), (2050.0, 1300.0), (2100.0, 1875.0))


def beach_fields(seed=0):
    """The fields of the case: depth from 2 m in the west to -0.8 m in the east, random sea level, wind records."""
    rng = np.random.default_rng(seed)
    x, y = np.arange(NX) / (NX - 1), np.arange(NY)[:, None] / (NY - 1)
    depth = 2.0 - 2.8 * x + 0.15 * rng.standard_normal((NY, NX))
    depth = depth - 1.5 * np.exp(-(((x - 0.8) / 0.1) ** 2) - ((y - 0.8) / 0.2) ** 2)
    mask = np.ones((NY, NX))
    mask[2:4, 5] = 0.0
    wind = np.stack([3.0 * np.cos(0.7 * k) * np.ones((NY, NX)) for k in range(8)])
    return {"depth": depth, "mask": mask, "eta": 0.3 * rng.standard_normal((NY, NX)), "wind_x": wind}


def make_config(**options):
    options_of_run = {
        "grid__periodic_x": False, "drying__active": True, "drying__thickness": 0.01, "physics__manning": 0.03,
        "physics__quadratic_drag": 0.0, "physics__viscosity": 5.0, "grid__dx": 200.0, "grid__dy": 250.0,
        "forcing__every": 200.0, "time__dt": 20.0, "run__steps": STEPS, "run__executor": "native",
        "output__stations": tuple({"name": f"gauge {n}", "x": x, "y": y} for n, (x, y) in enumerate(STATIONS)),
        "output__fields": ("eta", "h", "u", "v", "speed", "wet"), "output__maxima": ("eta", "h", "speed"),
        "output__inundation": True, "output__every_steps": 1,
    }  # fmt: skip
    return configuration(NY, NX, beach_fields(), **options_of_run | options)
