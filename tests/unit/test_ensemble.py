"""Members of an ensemble: those of runs alone, their perturbations, their health."""

import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT
from support.small_ensemble import alone, configuration, same

from swmodel.ensemble import settings
from swmodel.ensemble.members import Members
from swmodel.ensemble.perturbations import Perturbations
from swmodel.ensemble.records import Moments
from swmodel.grid import build_state


@pytest.fixture(scope="module")
def members():
    return Members(configuration(run__dtype="float64", run__executor="native"))


@pytest.fixture(scope="module")
def drawn(members):
    perturbations = Perturbations(members.domain)
    return [perturbations.draw(member) for member in range(5)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_member_has_the_bits_of_a_run_alone(dtype):
    config = configuration(run__dtype=dtype, run__executor="native", ensemble__members=3)
    together = Members(config)
    together.advance(7)
    together.advance(5)
    for member, state in enumerate(alone(config, range(3), 12)):
        assert same(state, [field[member] for field in together.state])


def test_with_reproducible_bits_depend_neither_on_devices_nor_on_the_way_to_advance():
    environment = {
        "JAX_NUM_CPU_DEVICES": "4",
        "XLA_FLAGS": "--xla_cpu_max_isa=AVX",
        "PYTHONPATH": f"{ROOT}:{ROOT}/tests",
    }
    program = [sys.executable, "-m", "support.ensemble_devices"]
    done = subprocess.run(program, env=os.environ | environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr


def test_member_0_is_the_run_as_configured(members, drawn):
    one, (state, params) = members.domain, drawn[0]
    assert same(state, build_state(one.config, one.transport.block, np.float64))
    assert all(np.array_equal(*np.broadcast_arrays(*pair)) for pair in zip(params, one.params, strict=True))


def test_perturbations_have_the_size_that_was_asked_for():
    many = configuration(run__dtype="float64", ensemble__members=400, ensemble__wind_length=0.0)
    numbers = np.log(settings.viscosity_factors(many))[1:] / 0.3, (settings.wind_factors(many)[1:] - 1) / 0.2
    for standard in numbers:
        assert abs(standard.mean()) < 4 / np.sqrt(399)
        assert abs(standard.std() - 1) < 4 / np.sqrt(2 * 399)


def test_the_initial_sea_level_has_the_standard_deviation_that_was_asked_for(members):
    background = Perturbations(members.domain).background
    eta = np.stack([np.asarray(background.draw(0, member)["eta"]) for member in range(1, 200)])
    independent = 5  # values in a field, at the least: it is 960 by 1280 km large, and their length 200 km
    assert abs(np.sqrt(np.mean(eta**2)) / 0.5 - 1) < 4 / np.sqrt(2 * 199 * independent)


def test_random_numbers_belong_to_seed_and_member_alone(drawn):
    fewer = configuration(run__dtype="float64", ensemble__members=3)
    other = configuration(run__dtype="float64", ensemble__seed=1)
    perturbations = Perturbations(Members(fewer).domain)
    for member in range(3):
        for ours, theirs in zip(perturbations.draw(member), drawn[member], strict=True):
            assert same(ours, theirs)
    assert not np.array_equal(Perturbations(Members(other).domain).draw(1)[0].h, drawn[1][0].h)
    assert not np.array_equal(drawn[1][0].h, drawn[2][0].h)


def test_nothing_is_perturbed_on_land():
    still = {
        "time__stepper": "rk3",
        "ensemble__wind": 0.0,
        "ensemble__wind_length": 0.0,
        "ensemble__viscosity": 0.0,
        "ensemble__members": 2,
    }
    perturbations = Perturbations(Members(configuration(case__name="rest", run__dtype="float64", **still)).domain)
    dry = perturbations.grid.wet[2:-2, 2:-2] == 0
    changed = perturbations.draw(1)[0].h != perturbations.draw(0)[0].h
    assert dry.any()
    assert changed[~dry].all()
    assert not changed[dry].any()


def test_mean_and_spread_are_those_of_numpy():
    fields = np.random.default_rng(0).standard_normal((7, 5, 4)) + 100
    moments = Moments((5, 4))
    for field in fields:
        moments.add(field)
    np.testing.assert_allclose(moments.mean, fields.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(moments.spread, fields.std(axis=0, ddof=1), rtol=1e-12)
