"""The short form of `make soak`: killed once, and several times."""

import pytest
from support.soak import RESTART_STEPS, soak

pytestmark = [pytest.mark.mpi, pytest.mark.usefixtures("quickly_compiled")]


@pytest.mark.promise("a run survives a kill at any moment")
@pytest.mark.fault("a rank is killed while it writes its part of a record of a store")
@pytest.mark.parametrize(
    ("cycles", "seed", "store"), [(1, 1, "netcdf"), (4, 5, "netcdf"), (1, 2, "zarr"), (4, 3, "zarr")]
)
def test_a_run_killed_and_resumed_at_random_moments_has_the_bits_of_an_undisturbed_one(tmp_path, cycles, seed, store):
    assert soak(tmp_path, cycles, seed, store=store) > cycles * RESTART_STEPS // 2
