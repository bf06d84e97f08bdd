"""The dynamics in jax.numpy, compiled by XLA: the step, the loop over steps, and the executor `xla`."""

from __future__ import annotations

import traceback
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import UsageError, failure
from ..ocean import timestep
from ..ocean.dynamics import tendency
from ..ocean.grid import Grid, as_patches
from ..ocean.instant import Instant
from ..ocean.own_term import place_of
from ..ocean.patch import Patch
from ..ocean.scheme import Scheme
from ..ocean.state import Carry, State
from ..ocean.timestep import Forward
from ..parallel.transport.halo import pad, within
from ..parallel.transport.programs import jitted
from ..setup.setup import Setup


def make_step(scheme: Scheme, method, transport):
    """The function step(carry, grid, params, dt) -> carry of one block; one halo exchange for each tendency.

    Grid and Params are arguments of the program, not constants: it compiles fast, and allows derivatives with respect
    to them.
    """
    width, margin, shape = scheme.width, scheme.margin, transport.shape

    def block_tendency(grid: Grid, params: dict, state: State, now: Instant, forward: Forward | None = None) -> State:
        begin = {name: getattr(forward.begin, name) for name in scheme.at_begin} if forward else {}
        fields, extent = pad((state, forward and forward.h, begin), width, transport), transport.extent()
        patches, level, begin = jax.tree.map(lambda field: Patch(field, (-width, -width)), fields)
        if forward:
            forward = forward._replace(h=level, begin=begin)
        try:
            result = tendency(patches, now, as_patches(grid, margin), as_patches(params, margin), scheme, forward)
        except Exception as error:
            raise blamed(error, scheme) from error
        return type(state)._make(within(jnp.broadcast_to(field.on(shape), shape), extent) for field in result)

    def step(carry: Carry, grid: Grid, params: dict, dt) -> Carry:
        return timestep.step(method, partial(block_tendency, grid, params), carry, dt)

    return step


def blamed(error: Exception, scheme: Scheme) -> Exception:
    """An error while a step is traced, as a UsageError with the line if a user-defined term raised it."""
    if isinstance(error, UsageError):
        return error
    lines = {frame.filename for frame in traceback.extract_tb(error.__traceback__)}
    for term in scheme.own:
        path = place_of(term.tendency).rpartition(":")[0]
        if path in lines:
            return UsageError(failure(error, path, f"{term.name} cannot be traced"))
    return error


def make_loop(scheme: Scheme, method, transport):
    """The function loop(carry, static, dt, n) -> carry n steps later, of one block; `static` is Grid and Params.

    loop(carry, static, dt, n, look, seen) returns the carry, and `seen` after look(seen, State, step) -> seen for each
    step. `look` may exchange halos.

    A turn of the loop takes as many steps as the stepper's memory needs to return to the same buffers, which saves
    copies: for ab2 at 3600 x 1800 a step takes 45 ms instead of 57.
    """
    step = make_step(scheme, method, transport)

    def loop(carry: Carry, static, dt, n, look=None, seen=()):
        period = len(carry.memory) + 1

        def turn(steps, now):
            carry, seen = now
            for _ in range(steps):
                carry = jax.lax.optimization_barrier(step(carry, *static, dt))
                seen = look(seen, carry.state, carry.step) if look else seen
            return carry, seen

        now = jax.lax.fori_loop(0, n // period, lambda _, now: turn(period, now), (carry, seen))
        if period > 1:  # avoids a second compilation of the step
            now = jax.lax.fori_loop(0, n % period, lambda _, now: turn(1, now), now)
        return now if look else now[0]

    return loop


def make_watched(loop: tuple, look: tuple, transport):
    """The function (carry, seen, given, static, dt, n) -> (carry n steps later, seen), of one block."""
    loop, look = (make(*parts, transport) for make, *parts in (loop, look))

    def watched(carry, seen, given, static, dt, n):
        return loop(carry, static, dt, n, lambda seen, state, step: look(seen, given, state, step), seen)

    return watched


def make_watched_at_times(loop: tuple, look: tuple, transport):
    """The function (carry, seen, given, static, dt, n, substeps) -> (carry n steps later, seen), of one block.

    It looks after each of the n steps, which has `substeps` steps of the loop.
    """
    loop, look = (make(*parts, transport) for make, *parts in (loop, look))

    def watched(carry, seen, given, static, dt, n, substeps):
        def one(_, now):
            carry, seen = now
            after = loop(carry._replace(step=carry.step * substeps), static, dt, substeps)
            carry = after._replace(step=carry.step + 1)
            return carry, look(seen, given, carry.state, carry.step)

        return jax.lax.fori_loop(0, n, one, (carry, seen))

    return watched


class Compiled:
    """Base of the executors with a loop over steps in a program of JAX, which other programs may call.

    Attributes:
        static: the constants of a run, made from a block's Grid and Params by `static_of`.
        loop: (make, *parts), hashable; make(*parts, transport) is the function `loop` of one block, see `make_loop`.
        watched: the `loop` for `watch`, which sees every step.
        dt: length of its steps, s, an array in the precision of the run.
        substeps: steps of the executor in a step of the run, each numbered and as long as another.
    """

    def __init__(self, setup: Setup, transport, static, loop: tuple):
        self.method, self.transport, self.static, self.loop = setup.method, transport, static, loop
        self.watched = loop
        self._whole, self._dtype = setup.dt, setup.dtype
        self.divide(1)
        self._loop = jitted(*loop, transport, donate_argnums=0)

    def start(self, state: State) -> Carry:
        memory = jax.tree.map(jnp.array, self.method.remember(state))
        # The step number starts on all devices, where the loop returns it: so the loop is compiled once.
        return Carry(state, memory, self.transport.put(np.int32(0)))

    def resume(self, carry: Carry) -> Carry:
        return carry

    def divide(self, substeps: int) -> None:
        self.substeps, self.dt = substeps, jnp.asarray(self._whole / substeps, self._dtype)

    def advance(self, carry: Carry, n: int) -> Carry:
        if self.substeps == 1:
            return jax.block_until_ready(self._loop(carry, self.static, self.dt, jnp.int32(n)))
        finer = carry._replace(step=carry.step * self.substeps)
        after = self._loop(finer, self.static, self.dt, jnp.int32(n * self.substeps))
        return jax.block_until_ready(after._replace(step=after.step // self.substeps))

    def watch(self, carry: Carry, n: int, look: tuple, seen, given) -> tuple:
        """The carry n steps later, and `seen` updated after every step; donates `carry` and `seen`.

        Args:
            look: (make, *parts), hashable; make(*parts, transport) is the traceable function (seen, given, State, step)
                -> seen of one block.
            seen, given: trees of arrays from `transport.make`; `given` is constant.
        """
        make, loop, numbers = make_watched, self.watched, (jnp.int32(n),)
        if self.substeps > 1:
            make, loop, numbers = make_watched_at_times, self.loop, (jnp.int32(n), jnp.int32(self.substeps))
        program = jitted(make, loop, look, self.transport, donate_argnums=(0, 1))
        return jax.block_until_ready(program(carry, seen, given, self.static, self.dt, *numbers))


class Xla(Compiled):
    """The dynamics in jax.numpy, compiled by XLA, on every transport."""

    name = "xla"

    def __init__(self, setup: Setup, transport, grid: Grid, params: dict):
        super().__init__(setup, transport, (grid, params), (make_loop, setup.scheme, setup.method))

    def static_of(self, grid: Grid, params: dict):
        return grid, params

    def exchange(self, params: dict, of) -> None:
        self.static = self.static[0], params
