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
    """The function step(carry, grid, params, dt) -> carry of one block; one exchange of halos for each tendency.

    Grid and Params are arguments of the program rather than constants: it compiles fast, and can be differentiated
    with respect to them.
    """
    width, margin, shape = scheme.width, scheme.margin, transport.shape

    def block_tendency(grid: Grid, params: dict, state: State, now: Instant, forward: Forward | None = None) -> State:
        (padded, level), extent = pad((state, forward and forward.h), width, transport), transport.extent()
        patches = type(state)._make(Patch(field, (-width, -width)) for field in padded)
        if forward:
            forward = forward._replace(h=Patch(level, (-width, -width)))
        try:
            result = tendency(patches, now, as_patches(grid, margin), as_patches(params, margin), scheme, forward)
        except Exception as error:
            raise blamed(error, scheme) from error
        return type(state)._make(within(jnp.broadcast_to(field.on(shape), shape), extent) for field in result)

    def step(carry: Carry, grid: Grid, params: dict, dt) -> Carry:
        return timestep.step(method, partial(block_tendency, grid, params), carry, dt)

    return step


def blamed(error: Exception, scheme: Scheme) -> Exception:
    """An error while a step is traced; if a term of the user's own raised it, as a UsageError that names the line."""
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

    loop(carry, static, dt, n, look, seen) returns the carry, and what look(seen, State, step) -> seen has made of the
    states after each step. `look` may ask the transport for neighbours.

    A turn of the loop takes as many steps as the stepper's memory needs to return to the same buffers, so that XLA
    need not copy it: for ab2 at 3600 x 1800 a step takes 45 ms instead of 57.
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
        if period > 1:  # so that no step is compiled twice
            now = jax.lax.fori_loop(0, n % period, lambda _, now: turn(1, now), now)
        return now if look else now[0]

    return loop


def make_watched(loop: tuple, look: tuple, transport):
    """The function (carry, seen, given, static, dt, n) -> (carry n steps later, what was seen), of one block."""
    loop, look = (make(*parts, transport) for make, *parts in (loop, look))

    def watched(carry, seen, given, static, dt, n):
        return loop(carry, static, dt, n, lambda seen, state, step: look(seen, given, state, step), seen)

    return watched


class Compiled:
    """Base of the executors whose loop over steps is compiled by JAX. Other programs may call it, as ensembles do.

    Attributes:
        static: what stays the same during a run, made of a block's Grid and Params by `static_of`.
        loop: (make, *parts), hashable; make(*parts, transport) is the function `loop` of one block, see `make_loop`.
        watched: the `loop` in which every step can be looked at.
        dt: time step, s, an array in the precision of the run.
    """

    def __init__(self, setup: Setup, transport, static, loop: tuple):
        self.method, self.transport, self.static, self.loop = setup.method, transport, static, loop
        self.watched, self.dt = loop, jnp.asarray(setup.dt, setup.dtype)
        self._loop = jitted(*loop, transport, donate_argnums=0)

    def start(self, state: State) -> Carry:
        memory = jax.tree.map(jnp.array, self.method.remember(state))
        # On all devices from the start, as it comes back: the loop is compiled once.
        return Carry(state, memory, self.transport.put(np.int32(0)))

    def resume(self, carry: Carry) -> Carry:
        return carry

    def advance(self, carry: Carry, n: int) -> Carry:
        return jax.block_until_ready(self._loop(carry, self.static, self.dt, jnp.int32(n)))

    def watch(self, carry: Carry, n: int, look: tuple, seen, given) -> tuple:
        """The carry n steps later, and what was seen of every step on the way; donates `carry` and `seen`.

        Args:
            look: (make, *parts), hashable; make(*parts, transport) is a function (seen, given, State, step) -> seen
                after this step as well, of one block, to be traced.
            seen, given: trees of arrays as `transport.make` makes them; `given` stays as it is.
        """
        program = jitted(make_watched, self.watched, look, self.transport, donate_argnums=(0, 1))
        return jax.block_until_ready(program(carry, seen, given, self.static, self.dt, jnp.int32(n)))


class Xla(Compiled):
    """The dynamics in jax.numpy, compiled by XLA, on every transport."""

    name = "xla"

    def __init__(self, setup: Setup, transport, grid: Grid, params: dict):
        super().__init__(setup, transport, (grid, params), (make_loop, setup.scheme, setup.method))

    def static_of(self, grid: Grid, params: dict):
        return grid, params

    def exchange(self, params: dict, of) -> None:
        self.static = self.static[0], params
