"""The step of a model as a pure function, for user-defined programs in JAX."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.sharding import Mesh

from ..config import Config
from ..config.loading.load import Source
from ..errors import UsageError
from ..executors.xla import make_step
from ..ocean.grid import Grid
from ..ocean.state import Carry, State
from ..parallel.transport import Transport
from ..parallel.transport.sharded import spec
from ..setup.setup import Setup
from .arguments import Fields, Overrides, Terms, configured
from .domain import domain
from .forcing import Forcing
from .validate import require_equal_steps


class Memory(NamedTuple):
    """The variables of a step, real numbers only: the State, and the memory of the time stepper."""

    state: State
    memory: tuple[State, ...]


class Static(NamedTuple):
    """The constants of a step: Grid, coefficients by name, time step in s. Derivatives may refer to it."""

    grid: Grid
    params: dict[str, Any]
    dt: Any


@dataclass(frozen=True, eq=False)
class Step:
    """step(carry, static, t) -> the carry one step later: pure, of arrays of JAX.

    t is the number of earlier steps, an integer: model time over `dt`. So `jax.lax.scan` runs over `jnp.arange(n)`. On
    several devices call it inside `jax.shard_map` over `mesh` with `specs`; arrays are then those of one block.

    Attributes:
        setup: the Setup, with the resolved configuration.
        transport: the transport between the blocks.
        function: the function of one step.
    """

    setup: Setup
    transport: Transport
    function: Callable[..., Any]

    def __call__(self, carry: Memory, static: Static, t: Any) -> Memory:
        return Memory(
            *self.function(Carry(*carry, jnp.asarray(t, jnp.int32)), static.grid, static.params, static.dt)[:2]
        )

    def with_parameters(self, static: Static, **parameters: Any) -> Static:
        """`static` with other parameters of terms (`Parametric`), pytrees by the terms' names; differentiable.

        UsageError: no such term has parameters, or they have other shapes.
        """
        there = {term.name: term.parameters for term in self.setup.scheme.own if term.parameters}
        if unknown := parameters.keys() - there.keys():
            raise UsageError(f"no term {', '.join(unknown)} with parameters; there are {', '.join(there) or 'none'}")
        dtype = self.setup.dtype
        vectors = {name: there[name].vector(each, jnp, dtype) for name, each in parameters.items()}
        return static._replace(params=static.params | vectors)

    def at(self, static: Static, t: int) -> tuple[Static, int | None]:
        """`static` with the coefficients from step t on, and the step until which they hold; None: for ever.

        All processes call it together. InputError: a record is missing, or cannot be read.
        """
        if not self.setup.scheme.varying:
            return static, None
        return static._replace(params=static.params | self._forcing.take(t)), self._forcing.last

    @property
    def config(self) -> Config:
        """The resolved configuration."""
        return self.setup.config

    @cached_property
    def _forcing(self) -> Forcing:
        return Forcing(self.setup, self.transport)

    @property
    def mesh(self) -> Mesh | None:
        """The devices of the blocks, with the axes "y" and "x"; None with one block for each process."""
        return getattr(self.transport, "mesh", None)

    def specs(self, tree: Any) -> Any:
        """The PartitionSpecs of arrays, for `jax.shard_map`."""
        return jax.tree.map(lambda array: spec(jnp.ndim(array)), tree)


class Functional(NamedTuple):
    """See `functional`."""

    carry0: Memory
    static: Static
    step: Step


def functional(config: Source, overrides: Overrides = (), fields: Fields = None, terms: Terms = ()) -> Functional:
    """The model as (carry0, static, step): its start, its constants, and the pure function of a step.

        carry0, static, step = swmodel.functional("double_gyre", {"grid.nx": 64, "grid.ny": 128})
        carry, _ = jax.lax.scan(lambda carry, t: (step(carry, static, t), None), carry0, jnp.arange(100))

    It takes `jit`, `grad`, `jvp`, `vmap`, `scan` and `checkpoint`. With MPI each process has its block, and calls the
    same programs in the same order as all others; there it does not take `checkpoint`. `step.transport.sum(array)` sums
    over the domain. Steps are those of the executor `xla`, to rounding (the same bits with
    `XLA_FLAGS=--xla_cpu_max_isa=AVX`). In float64 `jax_enable_x64` is switched on.

    Args:
        config, overrides, fields, terms: as for a Simulation.

    Raises:
        UsageError, ConfigError, SetupError: see Simulation.
    """
    one = domain(lambda: configured(config, overrides, fields, terms))
    require_equal_steps(one.config)
    setup, state = one.setup, one.transport.make(one.setup.state)
    carry = Memory(state, jax.tree.map(jnp.array, setup.method.remember(state)))
    static = Static(one.grid, one.params, jnp.asarray(setup.dt, setup.dtype))
    return Functional(carry, static, Step(setup, one.transport, make_step(setup.scheme, setup.method, one.transport)))
