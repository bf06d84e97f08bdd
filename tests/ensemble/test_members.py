"""Members of an ensemble: those of runs alone, with perturbations of the size asked for, on any devices."""

from pathlib import Path

import numpy as np
import pytest
from support import random_case
from support.processes import python
from support.small_ensemble import STILL, alone, configuration, perturbations, same

import swmodel
from swmodel.model.domain import domain
from swmodel.model.ensemble import settings
from swmodel.model.ensemble.members import Members
from swmodel.model.ensemble.perturbations import Perturbations

pytestmark = pytest.mark.slow

NUMBERS = {"ensemble__initial_eta": 0.0, "ensemble__initial_eta_length": 0.0, "ensemble__wind_length": 0.0}


@pytest.mark.promise("a member of an ensemble equals a run alone")
@pytest.mark.fully_optimised
def test_member_has_the_bits_of_a_run_alone():
    config = configuration(run__dtype="float64", run__executor="native", ensemble__members=3)
    together = Members(config)
    together.take_steps(7)
    together.take_steps(5)
    for member, state in enumerate(alone(config, range(3), 12)):
        assert same(state, [field[member] for field in together.state])


@pytest.mark.fault("the current at an open side is zero in files, means, ensembles")
@pytest.mark.night
def test_member_has_the_inflow_of_a_run_through_open_sides():
    sides = {"open_sides__sides": ("west", "south"), "open_sides__constituents": ("M2",)}
    sides |= {"open_sides__amplitude": (0.5,), "run__executor": "native"}
    config = configuration(run__dtype="float64", ensemble__members=2, **NUMBERS, **sides)
    members, simulation = Members(config), swmodel.Simulation(settings.whole(config))
    members.take_steps(3)
    simulation.advance(3)
    fields, numbers = members.evaluate(0, ["u", "speed"])
    assert numbers == simulation.diagnostics()
    assert numbers["inflow_west"] != 0 != fields["u"][3, 0]
    for name, values in simulation.fields(["u", "speed"]).items():
        np.testing.assert_array_equal(fields[name], values)


@pytest.mark.promise("a member of an ensemble equals a run alone")
def test_member_is_the_run_with_its_viscosity_and_wind():
    config = configuration(run__dtype="float64", ensemble__members=3, **NUMBERS)
    members, states = Members(config), []
    members.take_steps(12)
    for member in range(3):
        one = settings.whole(config)
        viscosity = one.physics.viscosity * settings.viscosity_factors(config)[member]
        wind = one.case.wind * settings.wind_factors(config)[member]
        parts = {"physics": {"viscosity": viscosity}, "case": {"wind": wind}}
        parts = {name: getattr(one, name).model_copy(update=changes) for name, changes in parts.items()}
        simulation = swmodel.Simulation(one.model_copy(update=parts))
        simulation.advance(12)
        states.append(simulation.state)
        for ours, theirs in zip(members.state, simulation.state, strict=True):
            np.testing.assert_allclose(ours[member], theirs, rtol=0, atol=1e-12 * np.abs(theirs).max())
    assert np.abs(states[1].u - states[0].u).max() > 1e-6 * np.abs(states[0].u).max()


@pytest.mark.promise("a member of an ensemble equals a run alone")
@pytest.mark.night
def test_members_have_the_same_bits_on_any_devices():
    """However they advance, with reproducible instructions."""
    program = (Path(__file__).parent / "programs" / "devices.py").read_text()
    python(program, JAX_NUM_CPU_DEVICES="4", XLA_FLAGS="--xla_cpu_max_isa=AVX")


def test_perturbations_have_the_size_asked_for():
    many = configuration(run__dtype="float64", ensemble__members=400, ensemble__wind_length=0.0)
    numbers = np.log(settings.viscosity_factors(many))[1:] / 0.3, (settings.wind_factors(many)[1:] - 1) / 0.2
    for standard in numbers:
        assert abs(standard.mean()) < 4 / np.sqrt(399)
        assert abs(standard.std() - 1) < 4 / np.sqrt(2 * 399)
    perturbed = perturbations(configuration(run__dtype="float64", ensemble__members=200))
    eta = np.stack([perturbed.draw(member)[0].h - perturbed.base.h for member in range(1, 200)])
    independent = 5  # values in a field, at the least: it is 960 by 1280 km large, and their length 200 km
    assert abs(np.sqrt(np.mean(eta**2)) / 0.5 - 1) < 4 / np.sqrt(2 * 199 * independent)


def test_perturbed_wind_is_periodic_on_rings_alone():
    """Both components have the same factor."""
    basin = {"grid__periodic_x": True, "grid__periodic_y": False}
    config = random_case.configuration(12, 16, **basin, ensemble__wind=0.2, ensemble__wind_length=2e4)
    perturbed = Perturbations(domain(config))
    params, base, n = perturbed.draw(1)[1], perturbed.params, perturbed.margin
    factor = params["wind_x"] / base["wind_x"]
    inside = 1 + np.asarray(perturbed.background.draw(0, 1)["wind_x"])
    for found, expected in (
        (params["wind_y"] / base["wind_y"], factor),
        (factor[n:-n, n:-n], inside),
        (factor[:, :n], factor[:, -2 * n : -n]),
        (factor[:, -n:], factor[:, n : 2 * n]),
        (factor[:n], np.broadcast_to(factor[n], factor[:n].shape)),
        (factor[-n:], np.broadcast_to(factor[-n - 1], factor[-n:].shape)),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_perturbations_depend_on_seed_and_member_alone():
    drawn, fewer, other = (
        [made.draw(member) for member in range(3)]
        for made in (
            perturbations(configuration(run__dtype="float64", **changed))
            for changed in ({}, {"ensemble__members": 3}, {"ensemble__seed": 1})
        )
    )
    for member in range(3):
        for ours, theirs in zip(fewer[member], drawn[member], strict=True):
            assert same(ours, theirs)
    assert not np.array_equal(other[1][0].h, drawn[1][0].h)
    assert not np.array_equal(drawn[1][0].h, drawn[2][0].h)
    options = {"case__name": "rest", "time__stepper": "rk3", "run__dtype": "float64", "ensemble__members": 2}
    perturbed = perturbations(configuration(**options, **STILL))
    dry = perturbed.grid.wet[2:-2, 2:-2] == 0
    changed = perturbed.draw(1)[0].h != perturbed.draw(0)[0].h
    assert dry.any()
    np.testing.assert_array_equal(changed, ~dry)
