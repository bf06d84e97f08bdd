"""Blocks on several devices of one process have the bits of one block, and send messages only to neighbours."""

import hashlib

import jax.numpy as jnp
import numpy as np
import pytest
from support.covering_array import configuration_of, rows_by_name
from support.layouts import with_layout
from support.marks import night_and_release_params, night_params
from support.quick_compilation import compile_quickly, count_collectives
from support.random_case import configuration
from support.rank_client import REPRODUCIBLE_ENVIRONMENT
from support.spectral_case import spectral_bits
from support.unchecked_config import resolve_without_checks

from swmodel.model.simulation import Simulation

pytestmark = pytest.mark.mpi  # the first rank has four devices

ONE_BLOCK, FOUR_BLOCKS = (1, 1), (2, 2)
LAYOUTS = (FOUR_BLOCKS, (3, 1), (1, 3))
SHARED_OPTIONS = {"sponge__rate": 1e-4, "sponge__width": 2e4, "sponge__sides": ("south", "north")}
SHARED_OPTIONS |= {"physics__slip": "no", "physics__biharmonic_viscosity": 1e8}


def sharded_config(ny, nx, layout, executor="native", **options):
    return with_layout(configuration(ny, nx, **SHARED_OPTIONS | options), layout, sharded=True, executor=executor)


def digest_after_steps(simulation):
    """A digest, after six steps, of the state, of the vorticity (which needs a halo) and of running means."""
    means = simulation.means(["eta", "q"])
    simulation.take_steps(4)
    for _ in range(2):
        simulation.take_steps(1)
        means.add_state(simulation.carry.state)
    arrays = [*simulation.state, simulation.field("zeta"), *means.values().values()]
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()


def digests_on_layouts(name, layouts, executor):
    compile_quickly(executor == "native")  # XLA's program around the native step has no effect on the bits
    configs = [with_layout(configuration_of(name), layout, True, executor=executor) for layout in layouts]
    return [digest_after_steps(Simulation(resolve_without_checks(config))) for config in configs]


CASES = [(name, LAYOUTS[number % 3], "native") for number, name in enumerate(rows_by_name())]
OTHER_CASES = [case for number, case in enumerate(CASES) if number % 7]
OTHER_CASES += [(name, layout, "xla") for name, layout, _ in CASES[10::8]]


@pytest.mark.promise("devices and hosts do not change the answer")
@pytest.mark.parametrize(("name", "layout", "executor"), [*CASES[::7], *night_and_release_params(OTHER_CASES, every=2)])
def test_layouts_of_devices_have_bits_of_one_block(ranks, name, layout, executor):
    """With xla, the process compiles as with `--reproducible`."""
    if executor == "xla":
        ranks = ranks.with_environment("reproducible", **REPRODUCIBLE_ENVIRONMENT)
    ((one_block, several_blocks),) = ranks(1, digests_on_layouts, name, [ONE_BLOCK, layout], executor)
    assert several_blocks == one_block


def digests_by_sweep_length():
    config = sharded_config(13, 17, FOUR_BLOCKS)
    return [digest_after_steps(Simulation(config, steps_per_sweep=steps)) for steps in (1, 3)]


def test_steps_per_sweep_change_no_bit_on_blocks_of_unequal_size(ranks):
    ((one, three),) = ranks(1, digests_by_sweep_length)
    assert one == three


def digests_of_spectra():
    sharded_options = {"run__transport": "sharded", "run__devices": 4, "run__layout": "2x2"}
    return [spectral_bits("periodic"), spectral_bits("periodic", **sharded_options)]


@pytest.mark.promise("spectra add up")
@pytest.mark.night
def test_spectra_on_devices_have_bits_of_one_process(ranks):
    ((one_process, devices),) = ranks(1, digests_of_spectra)
    assert len(one_process) == 8
    assert devices == one_process


def count_messages_and_aliases(ny, nx, executor):
    """The numbers of messages, by kind, in the compiled loop over steps, and of arrays that it updates in place."""
    compile_quickly(False)
    simulation = Simulation(sharded_config(ny, nx, FOUR_BLOCKS, executor))
    executor = simulation._executor
    text = executor._loop.lower(simulation.carry, executor.static, executor.dt, jnp.int32(3)).compile().as_text()
    return count_collectives(text), text.split("entry_computation_layout")[0].count("may-alias")


@pytest.mark.promise("devices and hosts do not change the answer")
@pytest.mark.parametrize(
    ("ny", "nx", "executor", "messages"),
    [(13, 17, "native", 4), *night_params((12, 16, "native", 4), (13, 17, "xla", 16), (12, 16, "xla", 16))],
)
def test_compiled_loop_sends_four_messages_per_tendency_and_updates_in_place(ranks, ny, nx, executor, messages):
    """The loop of xla contains four tendencies: an iteration of three steps and one of a single step."""
    ((messages_by_kind, n_in_place),) = ranks(1, count_messages_and_aliases, ny, nx, executor)
    assert messages_by_kind == {"collective-permute": messages}
    assert n_in_place >= 6
