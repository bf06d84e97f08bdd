"""Executors made from a configuration on one process, and the fields they leave after some steps."""

import jax
import numpy as np

from swmodel.executors.registry import EXECUTORS
from swmodel.executors.xla import make_step
from swmodel.model.forcing import Forcing
from swmodel.ocean.dynamics import tendency
from swmodel.ocean.grid import as_patches
from swmodel.ocean.instant import Instant
from swmodel.ocean.patch import Patch
from swmodel.parallel.decomposition import block
from swmodel.parallel.transport.programs import jitted
from swmodel.parallel.transport.serial import Serial
from swmodel.setup.setup import Setup, setup_of

STEPPERS = ("ab2", "ab3", "rk3", "rk4", "leapfrog", "gfb")


def build(name, config, **options):
    """The executor called `name` on the whole domain, with its options, and its first carry."""
    here = Serial(block(0, (1, 1), config.grid.ny, config.grid.nx))
    setup = setup_of(config)
    model = EXECUTORS[name](setup, here, *setup.static(here.block), **options)
    return model, model.start(here.make(setup.state))


def rates(config, scheme, **fields):
    """The tendency of the initial state, in which `fields` are replaced, on the whole domain, with that State and Grid.

    All are NumPy arrays in Patches.
    """
    width, whole = scheme.width, block(0, (1, 1), config.grid.ny, config.grid.nx)
    setup = Setup(config, scheme)
    state = setup.state(whole)._replace(**fields)
    rows, columns = (np.arange(-width, cells + width) % cells for cells in setup.shape)
    padded = state._make(Patch(field[np.ix_(rows, columns)], (-width, -width)) for field in state)
    grid = as_patches(setup.grid(whole), setup.margin)
    params = as_patches(setup.params(whole), setup.margin)
    return tendency(padded, Instant(np.int32(0)), grid, params, scheme), padded, grid


def fields_of(carry):
    """State and memory of a carry, NumPy arrays in one list."""
    return [np.array(field) for field in jax.tree.leaves((carry.state, carry.memory))]


def after(name, config, *chunks, **options):
    """State and memory after the given numbers of steps, each taken in one call."""
    model, carry = build(name, config, **options)
    forcing = Forcing(setup_of(config), model.transport) if name != "reference" else None
    for steps in chunks:
        last = int(carry.step) + steps
        while forcing and int(carry.step) < last:
            exchange(model, forcing, int(carry.step))
            carry = model.advance(carry, forcing.until(last) - int(carry.step))
        carry = carry if forcing else model.advance(carry, steps)
    return fields_of(carry)


def exchange(model, forcing, step):
    """Let an executor take the coefficients that hold at a step."""
    if not forcing.holds(step):
        taken = forcing.take(step)
        model.exchange(model.static[1] | taken if model.name == "xla" else taken, forcing.of)


def step_by_step(name, config, steps):
    """State and memory after so many steps; xla compiles a single step, in a third of the time."""
    if name != "xla":
        return after(name, config, steps)
    model, carry = build(name, config)
    step = jitted(make_step, setup_of(config).scheme, model.method, model.transport)
    forcing = Forcing(setup_of(config), model.transport)
    for number in range(steps):
        exchange(model, forcing, number)
        carry = step(carry, *model.static, model.dt)
    return fields_of(carry)


def same_bits(ours, theirs):
    """Whether two lists of arrays hold the same numbers, signs of zeros included."""
    return all(a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in zip(ours, theirs, strict=True))
