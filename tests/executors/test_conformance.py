"""Every executor gives the reference's answer: random states, islands, every scheme, stepper and boundary."""

import numpy as np
import pytest
from support.random_case import configuration, random_fields
from support.stepping import STEPPERS, after

from swmodel.executors.reference import Reference
from swmodel.executors.registry import EXECUTORS

EVERY_EXECUTOR = pytest.mark.parametrize("executor", EXECUTORS)

OPTIONS = {
    "energy": {},
    "enstrophy": {"scheme__vorticity_flux": "enstrophy"},
    "arakawa_lamb": {"scheme__vorticity_flux": "arakawa_lamb"},
    "no slip": {"physics__slip": "no"},
    "biharmonic": {"physics__biharmonic_viscosity": 1e8},
    "biharmonic, no slip": {"physics__biharmonic_viscosity": 1e8, "physics__slip": "no"},
    "beta plane": {"physics__beta": 2e-11},
    "sponge": {"sponge__rate": 1e-4, "sponge__width": 2e4},
    "gravity 1, f 0": {"physics__gravity": 1.0, "physics__f0": 0.0},
}


def largest_difference(config, executor, steps=3):
    """Largest difference from the reference after `steps` steps, relative to the largest value of each field."""
    ours = after(executor, config, steps)[:3]
    reference = Reference(config)
    truth = reference.advance(reference.start(), steps, config.time.dt).state
    return max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(ours, truth, strict=True))


@EVERY_EXECUTOR
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("periodic", [(True, True), (True, False), (False, True), (False, False)], ids=str)
def test_every_term_and_boundary_agrees(executor, option, periodic):
    if option == "beta plane" and periodic[1]:
        periodic = (periodic[0], False)
    config = configuration(7, 11, grid__periodic_x=periodic[0], grid__periodic_y=periodic[1], **OPTIONS[option])
    assert largest_difference(config, executor) < 1e-12


@EVERY_EXECUTOR
@pytest.mark.parametrize("stepper", STEPPERS)
def test_every_stepper_agrees(executor, stepper):
    config = configuration(7, 11, time__stepper=stepper, grid__periodic_x=False)
    assert largest_difference(config, executor, steps=5) < 1e-12


@EVERY_EXECUTOR
@pytest.mark.parametrize("size", [(1, 5), (5, 1), (2, 3), (3, 2)])
def test_thin_domains_agree(executor, size):
    config = configuration(*size, random_fields(*size, land=0.0), grid__periodic_y=True)
    assert largest_difference(config, executor) < 1e-12
