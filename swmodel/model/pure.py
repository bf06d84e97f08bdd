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
from ..ocean.parametric import ParameterLayout
from ..ocean.state import Carry, State
from ..ocean.table import location_of
from ..ocean.terms.tracer import CONTENT_SUFFIX
from ..parallel.transport import Transport
from ..parallel.transport.halo import exchange_named_halos, zero_beyond
from ..parallel.transport.sharded import partition_spec
from ..setup.setup import Setup
from .arguments import Fields, Overrides, Terms, build_config
from .domain import make_domain
from .validate import require_equal_steps
from .varying_params import VaryingParams


class StepCarry(NamedTuple):
    """The variables of a step, all of them real numbers: the State, and the memory of the time stepper."""

    state: State
    memory: tuple[State, ...]


class Static(NamedTuple):
    """The constants of a step: Grid, coefficients by name, time step in s. Derivatives with respect to them exist.

    A number is an array without axes, and the parameters of a term are a vector. Fields have the halo of the scheme
    around the block, [ny + 2 static_halo, nx + 2 static_halo], or an axis of length one along which they do not vary.
    `Step.with_values` changes depth and coefficients.
    """

    grid: Grid
    params: dict[str, Any]
    dt: Any


@dataclass(frozen=True, eq=False)
class Step:
    """step(carry, static, t) -> the carry one step later: a pure function of JAX arrays.

    t, an integer, is the number of earlier steps, that is, model time divided by `dt`; so `jax.lax.scan` runs over
    `jnp.arange(n)`. On several devices call the step inside `jax.shard_map` over `mesh` with `specs`; its arrays are
    then those of one block.

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

    def __call__(self, carry: StepCarry, static: Static, t: Any) -> StepCarry:
        """The carry one step later.

        UsageError: the call is on several devices outside `jax.shard_map` or with `check_vma=False`; `static` has other
            names or shapes; t is not an integer.
        """
        self.transport.require_block(carry.state.h)
        self.transport.require_block(static.grid.wet)
        self._check_static(static)
        if not jnp.issubdtype(jnp.result_type(t), jnp.integer):
            raise UsageError(f"t={t}: must be the number of the step, an integer")
        grid, params, dt = sum_cotangents_of_blocks(static, self.transport)
        grid, params = jax.tree.map(lambda leaf: leaf.reshape(1, 1) if leaf.ndim == 0 else leaf, (grid, params))
        return StepCarry(*self.function(Carry(*carry, jnp.asarray(t, jnp.int32)), grid, params, dt)[:2])

    def trajectory(
        self,
        carry: StepCarry,
        static: Static,
        steps: int,
        every: int | None = None,
        observe: Callable[[StepCarry], Any] = lambda carry: carry.state,
        first: int = 0,
        segment: int | None = None,
    ) -> tuple[StepCarry, Any]:
        """The carry after some steps, and samples on the way; derivatives keep about 2 sqrt(steps) carries.

        A derivative keeps the carries at the starts of segments, and recomputes the steps of one segment at a time,
        which costs one more forward run. Segments also end at samples: if `every` is below sqrt(steps), the derivative
        keeps about steps / every carries. It also works with MPI, where `jax.checkpoint` does not.

        Args:
            carry, static: as for a step.
            steps: number of steps, a constant.
            every: steps between samples; they must divide `steps`. None: no samples.
            observe: function of a carry that returns a sample, a pytree of arrays; by default the State.
            first: number of the first step.
            segment: steps per segment; None: about the square root of `steps`.

        Returns:
            The carry, and the samples after every, 2 every, ..., steps steps, stacked along a first axis, or None.

        Raises:
            UsageError: `steps` is negative, `every` does not divide it, a segment has no steps, or as for a step.
        """
        if steps < 0 or (every is not None and (every < 1 or steps % every)):
            raise UsageError(f"steps={steps}, every={every}: every must be at least 1 and divide steps")
        if segment is not None and segment < 1:
            raise UsageError(f"segment={segment}: must be at least 1 step")
        segment_length = segment or max(1, math.isqrt(steps))

        def run_segment(n: int, carry: StepCarry, static: Static, start: Any) -> StepCarry:
            times = start + jnp.arange(n, dtype=jnp.int32)
            return jax.lax.scan(lambda carry, t: (self(carry, static, t), None), carry, times)[0]

        def advance(n: int, carry: StepCarry, static: Static, start: Any) -> StepCarry:
            """Take n steps in segments, of which the last may be shorter."""
            if n >= segment_length:
                starts = start + segment_length * jnp.arange(n // segment_length, dtype=jnp.int32)
                run_checkpointed = checkpoint_function(partial(run_segment, segment_length))
                carry = jax.lax.scan(lambda carry, t: (run_checkpointed(carry, static, t), None), carry, starts)[0]
            rest = n % segment_length
            return checkpoint_function(partial(run_segment, rest))(carry, static, start + n - rest) if rest else carry

        start = jnp.asarray(first, jnp.int32)
        if every is None:
            return advance(steps, carry, static, start), None

        def advance_to_sample(carry: StepCarry, t: Any) -> tuple[StepCarry, Any]:
            carry = advance(every, carry, static, t)
            return carry, observe(carry)

        return jax.lax.scan(advance_to_sample, carry, start + every * jnp.arange(steps // every, dtype=jnp.int32))

    def replace(self, carry: StepCarry, static: Static, **values: Any) -> FunctionalModel:
        """The model with another depth or other coefficients; coefficients of inactive terms make these active.

            carry, static, step = step.replace(carry, static, depth=depth, wind_x=wind_x)

        Sea level, currents, concentrations and all other coefficients stay those of `carry` and `static`; masks, cell
        sizes and the Coriolis parameter are those of the configuration. If the depth changes, the carry must be that
        before the first step. The result is differentiable with respect to all arguments.

        Args:
            carry, static: as for a step.
            values: fields [ny, nx] of the block, or numbers, by name; see `with_values`.

        Raises:
            UsageError: there is no such coefficient, it varies in time or has no effect in this run, its term adds a
                field to the state, or a shape is wrong.
        """
        scheme = self.setup.scheme_with_coefficients(values.keys() - self.names - {"depth"})
        present_fields = self.setup.scheme.state_type._fields
        if new_state_fields := [name for name in scheme.state_type._fields if name not in present_fields]:
            raise UsageError(
                f"{', '.join(values)} needs {', '.join(new_state_fields)} in the state: switch the term on in the "
                "configuration"
            )
        setup = dataclasses.replace(self.setup, scheme=scheme)
        arrays = self.transport.make_arrays(setup.static, setup.static_halo)
        new, step = make_static_and_step(setup, self.transport, *arrays)
        fields = static.params | {"depth": static.grid.depth}
        if step.setup.static_halo != self.setup.static_halo:
            blocks = {name: self._interior(leaf) for name, leaf in fields.items() if leaf.ndim == 2}
            fields |= exchange_named_halos(blocks, step.setup.static_halo, self.transport)
        grid = new.grid._replace(depth=fields.pop("depth"))
        new = step.with_values(Static(grid, new.params | fields, static.dt), **values)
        if "depth" in values:
            old_depth, new_depth = self.values(static)["depth"], step.values(new)["depth"]
            h = carry.state.h + (new_depth - old_depth)
            h = jnp.maximum(h, 0) if scheme.drying else h
            old_h = jnp.where(carry.state.h > 0, carry.state.h, 1)
            contents = {name: field for name, field in carry.state._asdict().items() if name.endswith(CONTENT_SUFFIX)}
            state = carry.state._replace(h=h, **{name: field * (h / old_h) for name, field in contents.items()})
            carry = StepCarry(state, jax.tree.map(jnp.asarray, self.setup.method.initial_memory(state)))
        return FunctionalModel(carry, new, step)

    def total(self, array: Any) -> Any:
        """The sum of an array over the whole domain, the same on all processes; for the end of a loss function.

        All processes compute the same loss from totals. Its `jax.grad` is the derivative with respect to the process's
        block, or to a number of `with_values` or `shared`. For a sum from which fields are computed use `transport.sum`
        instead. Where the devices do not divide the grid evenly, arrays [..., ny, nx] have cells beyond the block,
        which do not count.

        UsageError: as for a step.
        """
        self.transport.require_block(array)
        extent = self.transport.extent() if jnp.shape(array)[-2:] == self.transport.shape else None
        return self.transport.total(jnp.sum(zero_beyond(array, extent)))

    def shared(self, tree: Any) -> Any:
        """Mark values that are the same on all processes, so that derivatives with respect to them include all blocks.

        With MPI this is needed for values that act outside the step, such as the amplitude of a wind, a parameter of an
        initial state or the weights of a network. Numbers that are passed to `with_values` do not need it.
        """

        def share_leaf(leaf: Any) -> Any:
            real = jnp.issubdtype(jnp.result_type(leaf), jnp.floating)
            return self.transport.shared(jnp.asarray(leaf)) if real else leaf

        return jax.tree.map(share_leaf, tree)

    def values(self, static: Static) -> dict[str, Any]:
        """Depth and coefficients of `static` by name: fields [ny, nx] of the block, numbers, pytrees of parameters."""
        self.transport.require_block(static.grid.wet)
        leaves = static.params | {"depth": static.grid.depth}
        values_by_name = {name: self._interior(leaf) if leaf.ndim == 2 else leaf for name, leaf in leaves.items()}
        layouts = self._parameter_layouts
        return values_by_name | {name: layout.to_pytree(values_by_name[name]) for name, layout in layouts.items()}

    def _interior(self, leaf: Any) -> Any:
        """The block [ny, nx] of a field with its halo."""
        halo = self.setup.static_halo
        index = tuple(slice(halo, -halo) if length > 1 else slice(None) for length in leaf.shape)
        return zero_beyond(jnp.broadcast_to(leaf[index], self.transport.shape), self.transport.extent())

    def with_values(self, static: Static, **values: Any) -> Static:
        """`static` with another depth, other coefficients or other parameters of terms, by name; differentiable.

        A field is [ny, nx] of the block; its halo comes from the neighbours. A number stands for a uniform field. The
        parameters of a term (`Parametric`) are its pytree. The thickness in the carry does not change with the depth.

        Raises:
            UsageError: the run has no such coefficient, for example because its term is off; the coefficient varies in
                time; or a shape is wrong.
        """
        names, layouts, dtype = self.names | {"depth"}, self._parameter_layouts, self.setup.dtype
        if varying := [name for name in values if f"{name}_before" in names]:
            raise UsageError(
                f"{', '.join(varying)} varies in time in this run: call step.at first, then change the records "
                f"{varying[0]}_before and {varying[0]}_after"
            )
        if unknown := sorted(values.keys() - names):
            raise UsageError(
                f"no coefficient {', '.join(unknown)} in this run, whose terms have {', '.join(sorted(names))}; switch "
                "its term on in the configuration"
            )
        new = {name: layouts[name].to_vector(name, values.pop(name), jnp, dtype) for name in layouts if name in values}
        fields = {}
        for name, value in values.items():
            array = as_real_array(value, name, dtype)
            if array.size == 1:
                new[name] = array.reshape(())
            elif array.shape == self.transport.shape and location_of(name):
                fields[name] = array
            else:
                shape_words = f"or {self.transport.shape} (ny, nx)" if location_of(name) else "only"
                raise UsageError(f"{name} has shape {array.shape}; needs a number {shape_words}")
        new |= exchange_named_halos(fields, self.setup.static_halo, self.transport)
        grid = static.grid._replace(depth=new.pop("depth")) if "depth" in new else static.grid
        return static._replace(grid=grid, params=static.params | new)

    def at(self, static: Static, t: int) -> tuple[Static, int | None]:
        """`static` with the coefficients of step t, and the first step at which they change; None: they never change.

        All processes call it together. InputError: a record is missing or cannot be read.
        """
        if not self.setup.scheme.varying:
            return static, None
        params = without_block_axes(self._forcing.load(t), self.mesh)
        return static._replace(params=static.params | params), self._forcing.valid_until

    @property
    def config(self) -> Config:
        return self.setup.config

    @cached_property
    def _forcing(self) -> VaryingParams:
        return VaryingParams(self.setup, self.transport)

    @property
    def _parameter_layouts(self) -> dict[str, ParameterLayout]:
        return {term.name: term.parameters for term in self.setup.scheme.user_terms if term.parameters}

    @property
    def mesh(self) -> Mesh | None:
        """The devices of the blocks, with the axes "y" and "x"; None unless the transport is `sharded`."""
        return getattr(self.transport, "mesh", None)

    def specs(self, tree: Any) -> Any:
        """The PartitionSpecs of arrays for `jax.shard_map`: fields are divided, numbers and vectors are replicated."""
        return jax.tree.map(
            lambda array: partition_spec(jnp.ndim(array)) if jnp.ndim(array) > 1 else PartitionSpec(), tree
        )

    def _check_static(self, static: Static) -> None:
        """Raise UsageError if coefficients are missing or unknown, or if a field lacks its halo."""
        if differing_names := static.params.keys() ^ self.names:
            raise UsageError(
                f"static.params: {', '.join(sorted(differing_names))} is missing or unknown; use step.with_values"
            )
        padded_shape = [length + 2 * self.setup.static_halo for length in self.transport.shape]
        for name, leaf in (static.params | {"depth": static.grid.depth}).items():
            if leaf.ndim > 1 and any(n not in (1, m) for n, m in zip(leaf.shape, padded_shape, strict=True)):
                raise UsageError(
                    f"static: {name} has shape {leaf.shape}, needs {tuple(padded_shape)}: step.with_values(static, "
                    f"{name}=...) takes {self.transport.shape} and adds the halo from the neighbours"
                )


def without_block_axes(tree: Any, mesh: Mesh | None) -> Any:
    """The arrays of a tree; numbers, [1, 1] in each block, become arrays without axes, and vectors are kept once."""

    def drop_block_axes(leaf: Any) -> Any:
        shape = leaf.sharding.shard_shape(leaf.shape)
        if shape != (1, 1) and leaf.ndim != 1:
            return leaf
        local_data = np.asarray(leaf.addressable_shards[0].data)
        local_data = local_data.reshape(()) if shape == (1, 1) else local_data
        if mesh is None:
            return jnp.asarray(local_data)
        sharding = NamedSharding(mesh, PartitionSpec())
        return jax.make_array_from_process_local_data(sharding, local_data, local_data.shape)

    return jax.tree.map(drop_block_axes, tree)


def as_real_array(value: Any, name: str, dtype: Any) -> Any:
    """A real number, or an array of real numbers, as a JAX array of `dtype`. UsageError: it is something else."""
    try:
        array = jnp.asarray(value)
    except (TypeError, ValueError):
        array = None
    if array is None or not (jnp.issubdtype(array.dtype, jnp.floating) or jnp.issubdtype(array.dtype, jnp.integer)):
        raise UsageError(f"{name}={value!r:.40}: must be a real number, or an array of them")
    return array.astype(dtype)


def sum_cotangents_of_blocks(static: Static, transport: Transport) -> Static:
    """`static` unchanged; derivatives with respect to its real numbers and vectors are summed over all blocks."""
    leaves, tree = jax.tree.flatten(static)
    indices = [index for index, leaf in enumerate(leaves) if leaf.ndim < 2 and leaf.dtype == static.dt.dtype]
    shared_numbers = transport.shared(jnp.concatenate([leaves[index].reshape(-1) for index in indices]))
    parts = jnp.split(shared_numbers, np.cumsum([leaves[index].size for index in indices])[:-1])
    for index, part in zip(indices, parts, strict=True):
        leaves[index] = part.reshape(leaves[index].shape)
    return cast(Static, jax.tree.unflatten(tree, leaves))


class FunctionalModel(NamedTuple):
    """The model as returned by `functional`: its first carry, its constants, and the pure function of a step."""

    carry0: StepCarry
    static: Static
    step: Step


def functional(config: Source, overrides: Overrides = (), fields: Fields = None, terms: Terms = ()) -> FunctionalModel:
    """The model as (carry0, static, step): its first carry, its constants, and the pure function of a step.

        carry0, static, step = swmodel.functional("double_gyre", {"grid.nx": 64, "grid.ny": 128})
        carry, _ = jax.lax.scan(lambda carry, t: (step(carry, static, t), None), carry0, jnp.arange(100))

    The step can be transformed by `jit`, `grad`, `jvp`, `vmap`, `scan` and, without MPI, `checkpoint`. With MPI each
    process has its own block, and must call the same programs in the same order as all others. `step.total(array)` sums
    over the domain, for losses. `step.with_values(static, linear_drag=...)` changes coefficients. Steps equal those of
    the executor `xla` to round-off (bit for bit with `XLA_FLAGS=--xla_cpu_max_isa=AVX`). For float64, this function
    switches `jax_enable_x64` on.

    Args:
        config, overrides, fields, terms: as for a Simulation.

    Raises:
        UsageError: `time.max_substeps` is above 1, or see Simulation.
        ConfigError, SetupError: see Simulation.
    """
    run_domain = make_domain(lambda: build_config(config, overrides, fields, terms))
    require_equal_steps(run_domain.config)
    state = run_domain.transport.make_arrays(run_domain.setup.state)
    carry = StepCarry(state, jax.tree.map(jnp.array, run_domain.setup.method.initial_memory(state)))
    return FunctionalModel(carry, *make_static_and_step(*run_domain))


def make_static_and_step(setup: Setup, transport: Transport, grid: Grid, params: dict[str, Any]) -> tuple[Static, Step]:
    """The constants and the step of a Setup, from its Grid and params on the devices."""
    grid, params = without_block_axes((grid, params), getattr(transport, "mesh", None))
    static = Static(grid, params, jnp.asarray(setup.dt, setup.dtype))
    function = make_step(setup.scheme, setup.method, transport)
    return static, Step(setup, transport, function, frozenset(static.params))


def checkpoint_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function (carry, static, step number) -> carry, whose derivatives keep only its arguments."""

    def forward(carry: StepCarry, static: Static, t: Any) -> tuple[StepCarry, tuple[StepCarry, Static, Any]]:
        return function(carry, static, t), (carry, static, t)

    def backward(inputs: tuple[StepCarry, Static, Any], bar: StepCarry) -> tuple[Any, Any, None]:
        carry, static, t = inputs
        return (*jax.vjp(lambda carry, static: function(carry, static, t), carry, static)[1](bar), None)

    checkpointed = jax.custom_vjp(function)
    checkpointed.defvjp(forward, backward)
    return checkpointed
