"""The step of a model as a pure function, for user-defined programs in JAX."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ..config import Config
from ..config.loading.load import Source
from ..errors import UsageError
from ..executors.xla import make_step
from ..ocean.grid import Grid
from ..ocean.parametric import Form
from ..ocean.state import Carry, State
from ..ocean.table import location_of
from ..parallel.transport import Transport
from ..parallel.transport.halo import surround_named, within
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
    """The constants of a step: Grid, coefficients by name, time step in s. Derivatives may refer to it.

    A number is an array without axes. Fields have the margin of the scheme around the block: [ny + 2 margin,
    nx + 2 margin], of which an axis of length one has the same value everywhere. `Step.with_values` changes them.
    """

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
        names: the names of `static.params`.
    """

    setup: Setup
    transport: Transport
    function: Callable[..., Any]
    names: frozenset[str]

    def __call__(self, carry: Memory, static: Static, t: Any) -> Memory:
        """The carry one step later.

        UsageError: on devices, outside `jax.shard_map` or with `check_vma=False`; `static` has other names or shapes; t
            is no integer.
        """
        self.transport.require_block(carry.state.h)
        self.transport.require_block(static.grid.wet)
        self._check(static)
        if not jnp.issubdtype(jnp.result_type(t), jnp.integer):
            raise UsageError(f"t={t}: needs the number of the step, an integer")
        grid, params, dt = shared(static, self.transport)
        grid, params = jax.tree.map(lambda leaf: leaf.reshape(1, 1) if leaf.ndim == 0 else leaf, (grid, params))
        return Memory(*self.function(Carry(*carry, jnp.asarray(t, jnp.int32)), grid, params, dt)[:2])

    def trajectory(
        self,
        carry: Memory,
        static: Static,
        steps: int,
        every: int | None = None,
        observe: Callable[[Memory], Any] = lambda carry: carry.state,
        first: int = 0,
        segment: int | None = None,
    ) -> tuple[Memory, Any]:
        """The carry after some steps, and samples on the way; derivatives keep about 2 sqrt(steps) carries.

        A derivative keeps the carries at the starts of segments, and recomputes the steps of one segment at a time, so
        it takes one more run forward. It also works with MPI, where `jax.checkpoint` does not.

        Args:
            carry, static: as for a step.
            steps: number of steps, a constant.
            every: steps between samples; they must divide `steps`. None: no samples.
            observe: function of a carry to a sample, a pytree of arrays; by default its State.
            first: number of the first step.
            segment: steps of a segment; None: about the square root of their number.

        Returns:
            The carry; the samples at steps every, 2 every, ..., steps, stacked along a first axis, or None.

        Raises:
            UsageError: `every` does not divide `steps`; a segment without steps; as for a step.
        """
        if steps < 0 or (every is not None and (every < 1 or steps % every)):
            raise UsageError(f"steps={steps}, every={every}: every must be at least 1 and divide steps")
        if segment is not None and segment < 1:
            raise UsageError(f"segment={segment}: must be at least one step")
        length = segment or max(1, math.isqrt(steps))

        def run(n: int, carry: Memory, static: Static, start: Any) -> Memory:
            times = start + jnp.arange(n, dtype=jnp.int32)
            return jax.lax.scan(lambda carry, t: (self(carry, static, t), None), carry, times)[0]

        def advance(n: int, carry: Memory, static: Static, start: Any) -> Memory:
            """n steps in segments, and the rest of them in a shorter one."""
            if n >= length:
                starts = start + length * jnp.arange(n // length, dtype=jnp.int32)
                advanced = recomputed(partial(run, length))
                carry = jax.lax.scan(lambda carry, at: (advanced(carry, static, at), None), carry, starts)[0]
            rest = n % length
            return recomputed(partial(run, rest))(carry, static, start + n - rest) if rest else carry

        start = jnp.asarray(first, jnp.int32)
        if every is None:
            return advance(steps, carry, static, start), None

        def sample(carry: Memory, at: Any) -> tuple[Memory, Any]:
            carry = advance(every, carry, static, at)
            return carry, observe(carry)

        return jax.lax.scan(sample, carry, start + every * jnp.arange(steps // every, dtype=jnp.int32))

    def replace(self, carry: Memory, static: Static, **values: Any) -> Functional:
        """The model with another depth or other coefficients, also those of terms that are off: they become active.

            carry, static, step = step.replace(carry, static, depth=depth, wind_x=wind_x)

        Sea level, currents and all other coefficients stay those of `carry` and `static`; masks and cell sizes are
        those of the configuration. With another depth, the carry must be that before the first step. The result is
        differentiable with respect to all of them.

        Args:
            carry, static: as for a step.
            values: fields [ny, nx] of the block, or numbers, by name; see `with_values`.

        Raises:
            UsageError: there is no such coefficient, it has no effect in this run, or its term has a field in the
                state; a wrong shape.
        """
        scheme, margin = self.setup.scheme_with(values.keys() - self.names - {"depth"}), self.setup.margin
        if more := [name for name in scheme.state._fields if name not in self.setup.scheme.state._fields]:
            raise UsageError(f"{', '.join(values)} needs {', '.join(more)} in the state: set it in the configuration")
        setup = dataclasses.replace(self.setup, scheme=scheme)
        new, step = static_and_step(setup, self.transport, *self.transport.make(setup.static, setup.margin))
        fields = static.params | {"depth": static.grid.depth}
        if step.setup.margin != margin:
            blocks = {name: self._interior(leaf) for name, leaf in fields.items() if leaf.ndim == 2}
            fields |= surround_named(blocks, step.setup.margin, self.transport)
        grid = new.grid._replace(depth=fields.pop("depth"))
        new = step.with_values(Static(grid, new.params | fields, static.dt), **values)
        if "depth" in values:
            before, after = self.values(static)["depth"], step.values(new)["depth"]
            h = carry.state.h + (after - before)
            state = carry.state._replace(h=jnp.maximum(h, 0) if scheme.drying else h)
            carry = Memory(state, jax.tree.map(jnp.asarray, self.setup.method.remember(state)))
        return Functional(carry, new, step)

    def total(self, array: Any) -> Any:
        """The sum of an array's numbers over the whole domain, the same on all processes: the last step of a loss.

        `jax.grad` of a loss that each process computes from totals is the derivative of that one loss with respect to
        the process's block, or to a number of `with_values` or `shared`. A sum that enters a field again is
        `transport.sum`. Where the number of devices does not divide the grid, their arrays [..., ny, nx] have cells
        beyond the block, which do not count.

        UsageError: as for a step.
        """
        self.transport.require_block(array)
        extent = self.transport.extent() if jnp.shape(array)[-2:] == self.transport.shape else None
        return self.transport.total(jnp.sum(within(array, extent)))

    def shared(self, tree: Any) -> Any:
        """Numbers and arrays that all processes have alike: derivatives with respect to them are then the whole ones.

        With MPI it is needed where they act outside of the step, for example as the amplitude of a wind, in an initial
        state or as the weights of a network. Numbers given to `with_values` need it not.
        """

        def one(leaf: Any) -> Any:
            real = jnp.issubdtype(jnp.result_type(leaf), jnp.floating)
            return self.transport.shared(jnp.asarray(leaf)) if real else leaf

        return jax.tree.map(one, tree)

    def values(self, static: Static) -> dict[str, Any]:
        """The depth and the coefficients of `static`: fields [ny, nx] of the block, numbers, pytrees of parameters."""
        self.transport.require_block(static.grid.wet)
        leaves = static.params | {"depth": static.grid.depth}
        found = {name: self._interior(leaf) if leaf.ndim == 2 else leaf for name, leaf in leaves.items()}
        return found | {name: form.pytree(found[name]) for name, form in self._forms.items()}

    def _interior(self, leaf: Any) -> Any:
        """The block [ny, nx] of a field with its margin."""
        margin = self.setup.margin
        index = tuple(slice(margin, -margin) if length > 1 else slice(None) for length in leaf.shape)
        return within(jnp.broadcast_to(leaf[index], self.transport.shape), self.transport.extent())

    def with_values(self, static: Static, **values: Any) -> Static:
        """`static` with another depth, other coefficients or other parameters of terms, by name; differentiable.

        A field is [ny, nx] of the block; its margin comes from the neighbours. A number stands for a uniform field. The
        parameters of a term (`Parametric`) are its pytree. The thickness of `carry` does not change with the depth.

        Raises:
            UsageError: the run has no such coefficient, for example because its term is off; a wrong shape.
        """
        there, forms, dtype = self.names | {"depth"}, self._forms, self.setup.dtype
        if varying := [name for name in values if f"{name}_before" in there]:
            raise UsageError(
                f"{', '.join(varying)} varies in time in this run: call step.at first, then change its records, "
                f"{varying[0]}_before and {varying[0]}_after"
            )
        if unknown := sorted(values.keys() - there):
            raise UsageError(
                f"no coefficient {', '.join(unknown)} in this run, whose terms have {', '.join(sorted(there))}; switch "
                "a term on in the configuration"
            )
        new, fields = {name: forms[name].vector(values.pop(name), jnp, dtype) for name in forms if name in values}, {}
        for name, value in values.items():
            array = real(value, name, dtype)
            if array.size == 1:
                new[name] = array.reshape(())
            elif array.shape == self.transport.shape and location_of(name):
                fields[name] = array
            else:
                wanted = f"or {self.transport.shape} (ny, nx)" if location_of(name) else "only"
                raise UsageError(f"{name} has shape {array.shape}; needs a number {wanted}")
        new |= surround_named(fields, self.setup.margin, self.transport)
        grid = static.grid._replace(depth=new.pop("depth")) if "depth" in new else static.grid
        return static._replace(grid=grid, params=static.params | new)

    def at(self, static: Static, t: int) -> tuple[Static, int | None]:
        """`static` with the coefficients from step t on, and the step until which they hold; None: for ever.

        All processes call it together. InputError: a record is missing, or cannot be read.
        """
        if not self.setup.scheme.varying:
            return static, None
        now = once(self._forcing.take(t), self.mesh)
        return static._replace(params=static.params | now), self._forcing.last

    @property
    def config(self) -> Config:
        """The resolved configuration."""
        return self.setup.config

    @cached_property
    def _forcing(self) -> Forcing:
        return Forcing(self.setup, self.transport)

    @property
    def _forms(self) -> dict[str, Form]:
        return {term.name: term.parameters for term in self.setup.scheme.own if term.parameters}

    @property
    def mesh(self) -> Mesh | None:
        """The devices of the blocks, with the axes "y" and "x"; None with one block for each process."""
        return getattr(self.transport, "mesh", None)

    def specs(self, tree: Any) -> Any:
        """The PartitionSpecs of arrays, for `jax.shard_map`: blocks of fields; all devices have numbers and vectors."""
        return jax.tree.map(lambda array: spec(jnp.ndim(array)) if jnp.ndim(array) > 1 else PartitionSpec(), tree)

    def _check(self, static: Static) -> None:
        """UsageError: coefficients that no term takes are missing or too many, or a field lacks its margin."""
        if wrong := static.params.keys() ^ self.names:
            raise UsageError(f"static.params: {', '.join(sorted(wrong))} is missing or unknown; use step.with_values")
        whole = [length + 2 * self.setup.margin for length in self.transport.shape]
        for name, leaf in (static.params | {"depth": static.grid.depth}).items():
            if leaf.ndim > 1 and any(n not in (1, m) for n, m in zip(leaf.shape, whole, strict=True)):
                raise UsageError(
                    f"static: {name} has shape {leaf.shape}, needs {tuple(whole)}: step.with_values(static, "
                    f"{name}=...) takes {self.transport.shape} and gets the margin from the neighbours"
                )


def once(tree: Any, mesh: Mesh | None) -> Any:
    """Arrays of programs in which numbers, [1, 1] in each block, are without axes, and vectors are kept once."""

    def one(leaf: Any) -> Any:
        shape = leaf.sharding.shard_shape(leaf.shape)
        if shape != (1, 1) and leaf.ndim != 1:
            return leaf
        mine = np.asarray(leaf.addressable_shards[0].data)
        mine = mine.reshape(()) if shape == (1, 1) else mine
        if mesh is None:
            return jnp.asarray(mine)
        return jax.make_array_from_process_local_data(NamedSharding(mesh, PartitionSpec()), mine, mine.shape)

    return jax.tree.map(one, tree)


def real(value: Any, name: str, dtype: Any) -> Any:
    """A number or an array of real numbers as an array of JAX. UsageError: it is something else."""
    try:
        array = jnp.asarray(value)
    except (TypeError, ValueError):
        array = None
    if array is None or not (jnp.issubdtype(array.dtype, jnp.floating) or jnp.issubdtype(array.dtype, jnp.integer)):
        raise UsageError(f"{name}={value!r:.40}: needs a real number, or an array of them")
    return array.astype(dtype)


def shared(static: Static, transport: Transport) -> Static:
    """`static`, whose derivatives with respect to real numbers and vectors are the sums of those of all blocks."""
    leaves, tree = jax.tree.flatten(static)
    numbers = [n for n, leaf in enumerate(leaves) if leaf.ndim < 2 and leaf.dtype == static.dt.dtype]
    whole = transport.shared(jnp.concatenate([leaves[n].reshape(-1) for n in numbers]))
    parts = jnp.split(whole, np.cumsum([leaves[n].size for n in numbers])[:-1])
    for n, part in zip(numbers, parts, strict=True):
        leaves[n] = part.reshape(leaves[n].shape)
    return cast(Static, jax.tree.unflatten(tree, leaves))


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
    same programs in the same order as all others; there it does not take `checkpoint`. `step.total(array)` sums over
    the domain, for losses. `step.with_values(static, linear_drag=...)` changes coefficients. Steps are those of the
    executor `xla`, to rounding (the same bits with `XLA_FLAGS=--xla_cpu_max_isa=AVX`). In float64 `jax_enable_x64` is
    switched on.

    Args:
        config, overrides, fields, terms: as for a Simulation.

    Raises:
        UsageError, ConfigError, SetupError: see Simulation.
    """
    one = domain(lambda: configured(config, overrides, fields, terms))
    require_equal_steps(one.config)
    state = one.transport.make(one.setup.state)
    carry = Memory(state, jax.tree.map(jnp.array, one.setup.method.remember(state)))
    return Functional(carry, *static_and_step(one.setup, one.transport, one.grid, one.params))


def static_and_step(setup: Setup, transport: Transport, grid: Grid, params: dict[str, Any]) -> tuple[Static, Step]:
    """The constants and the step of a Setup, from its Grid and params on the devices."""
    grid, params = once((grid, params), getattr(transport, "mesh", None))
    static = Static(grid, params, jnp.asarray(setup.dt, setup.dtype))
    function = make_step(setup.scheme, setup.method, transport)
    return static, Step(setup, transport, function, frozenset(static.params))


def recomputed(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function (carry, static, step number) -> carry; derivatives recompute its values instead of keeping them."""

    def forward(carry: Memory, static: Static, at: Any) -> tuple[Memory, tuple[Memory, Static, Any]]:
        return function(carry, static, at), (carry, static, at)

    def backward(inputs: tuple[Memory, Static, Any], bar: Memory) -> tuple[Any, Any, None]:
        carry, static, at = inputs
        return (*jax.vjp(lambda carry, static: function(carry, static, at), carry, static)[1](bar), None)

    found = jax.custom_vjp(function)
    found.defvjp(forward, backward)
    return found
