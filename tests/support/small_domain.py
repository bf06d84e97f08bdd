"""Small domains with odd sizes, islands and random states for the NumPy reference; neighbours on periodic axes."""

from itertools import product

import numpy as np

from support.field_cases import case_with_fields
from swmodel.config.options.model import Config
from swmodel.executors.reference import ReferenceModel
from swmodel.ocean.state import State
from swmodel.setup.setup import setup_of

NY, NX = 9, 11
PERIODICITY_OPTIONS = [{"periodic_y": y, "periodic_x": x} for y, x in product((True, False), repeat=2)]


def make_reference(fields=None, **sections):
    """The NumPy reference of a case with these fields (arrays [ny, nx]) and sections of the configuration."""
    sections["case"] = case_with_fields(fields or {})
    sections["grid"] = {"ny": NY, "nx": NX, "dy": 0.7, "dx": 0.9} | sections.get("grid", {})
    sections["run"] = {"dtype": "float64"} | sections.get("run", {})
    return ReferenceModel(setup_of(Config(**sections)))


def random_seabed(rng, islands=True):
    """A rough sea floor, with an island of several cells, one of a single cell, and one across the periodic edges."""
    mask = np.ones((NY, NX))
    if islands:
        mask[3:5, 4:7] = mask[5, 4] = mask[7, 1] = mask[-1, -2:] = mask[0, -1] = mask[0, 0] = 0
    return {"depth": 5 + rng.random((NY, NX)), "mask": mask}


def random_state(rng, shape=(NY, NX)):
    return State(5 + rng.random(shape), *(rng.standard_normal((2, *shape))))


def east(a):
    return np.roll(a, -1, 1)


def north(a):
    return np.roll(a, -1, 0)
