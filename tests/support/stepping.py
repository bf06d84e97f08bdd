"""Make executors from a configuration on one process, and compute the fields after some steps."""

import jax
import numpy as np
from jax.tree_util import keystr, tree_leaves_with_path

from swmodel.executors.registry import EXECUTORS
from swmodel.executors.xla import make_step
from swmodel.model.varying_params import VaryingParams
from swmodel.ocean.dynamics import tendency
from swmodel.ocean.grid import as_patches
from swmodel.ocean.instant import Instant
from swmodel.ocean.patch import Patch
from swmodel.parallel.decomposition import block_of_rank
from swmodel.parallel.transport.programs import cached_jit
from swmodel.parallel.transport.serial import SerialTransport
from swmodel.setup.setup import Setup, setup_of


def make_executor(name, config, **options):
    """The executor called `name` on the whole domain, and its initial carry."""
    transport = SerialTransport(block_of_rank(0, (1, 1), config.grid.ny, config.grid.nx))
    setup = setup_of(config)
    executor = EXECUTORS[name](setup, transport, *setup.static(transport.block), **options)
    return executor, executor.start(transport.make_arrays(setup.state))


def initial_tendency(config, scheme, **fields):
    """(tendency, State, Grid) of the initial state with other `fields`: NumPy arrays in Patches on the whole domain."""
    halo, block = scheme.halo_width, block_of_rank(0, (1, 1), config.grid.ny, config.grid.nx)
    setup = Setup(config, scheme)
    state = setup.state(block)._replace(**fields)
    rows, columns = (np.arange(-halo, cells + halo) % cells for cells in setup.shape)
    padded = state._make(Patch(field[np.ix_(rows, columns)], (-halo, -halo)) for field in state)
    grid = as_patches(setup.grid(block), setup.static_halo)
    params = as_patches(setup.params(block), setup.static_halo)
    return tendency(padded, Instant(np.int32(0)), grid, params, scheme), padded, grid


def arrays_of_carry(carry):
    return [np.array(field) for field in jax.tree.leaves((carry.state, carry.memory))]


def run_chunks(name, config, *chunks, **options):
    """State and memory after chunks of these numbers of steps, which changes of the forcing divide further."""
    executor, carry = make_executor(name, config, **options)
    forcing = VaryingParams(setup_of(config), executor.transport) if name != "reference" else None
    for steps in chunks:
        carry = advance(executor, carry, steps, forcing) if forcing else executor.advance(carry, steps)
    return arrays_of_carry(carry)


def advance(executor, carry, steps, forcing):
    """The carry after some steps; `forcing`, a VaryingParams, provides the coefficients of each step."""
    last = int(carry.step) + steps
    while (step := int(carry.step)) < last:
        update_params(executor, forcing, step)
        carry = executor.advance(carry, forcing.next_change(last) - step)
    return carry


def update_params(executor, forcing, step):
    """Give an executor the coefficients that are valid at a step."""
    if not forcing.is_valid_at(step):
        params = forcing.load(step)
        all_params = executor.static[1] | params if executor.name == "xla" else params
        executor.replace_params(all_params, forcing.params_of_block)


def run_single_steps(name, config, steps):
    """As `run_chunks` with one chunk, but xla compiles a single step, which takes a third of the time."""
    if name != "xla":
        return run_chunks(name, config, steps)
    executor, carry = make_executor(name, config)
    step = cached_jit(make_step, setup_of(config).scheme, executor.method, executor.transport)
    forcing = VaryingParams(setup_of(config), executor.transport)
    for number in range(steps):
        update_params(executor, forcing, number)
        carry = step(carry, *executor.static, executor.dt)
    return arrays_of_carry(carry)


def assert_close(ours, theirs, tolerance):
    """Assert that arrays of two trees agree to a tolerance relative to the largest value of each array of `theirs`."""
    for a, (path, b) in zip(jax.tree.leaves(ours), tree_leaves_with_path(theirs), strict=True):
        options = {"rtol": 0, "atol": tolerance * np.abs(b).max(), "err_msg": keystr(path)}
        np.testing.assert_allclose(a, b, equal_nan=False, **options)


def has_same_bits(ours, theirs):
    """Whether two lists of arrays have the same bits, including the signs of zeros."""
    return all(a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in zip(ours, theirs, strict=True))
