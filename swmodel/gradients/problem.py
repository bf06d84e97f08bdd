"""Derivatives of observed quantities of a run: tangent linear, adjoint, gradient and Hessian-vector product."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import jax
import jax.numpy as jnp
import numpy as np

from ..config import Config, load
from ..config.loading.load import Source
from ..errors import UsageError, listed
from ..executors.targets import TARGETS
from ..model.dataset import dataset_of
from ..model.domain import domain
from ..model.forcing import Forcing
from ..model.pure import real
from ..model.validate import require_derivatives, require_length
from ..ocean.parametric import is_parameter
from ..ocean.state import State
from ..ocean.table import CONTROLS
from ..parallel.fixed_point import inner_product
from . import corrections
from .controls import Parameters, first_guess, scheme_for
from .native_steps import reach_back
from .plan import Plan, fit
from .sweeps import Sweeps, VaryingFixed, records_at
from .trajectory import Fixed, View, tangent, trajectory_of

if TYPE_CHECKING:
    from xarray import Dataset

#: Controls, or derivatives with respect to them, by name: arrays of the block, numbers, pytrees.
Controls: TypeAlias = dict[str, Any]
#: A function of a series and further arguments to a number.
Value: TypeAlias = Callable[..., Any]


class Problem:
    """The map from controls x to observed quantities of their run, with exact derivatives.

    Under mpiexec all processes make the same Problem and call its methods together. A field among the controls is this
    process's part [ny, nx]; on the sharded transport `transport.make` makes it and `transport.get` reads it. Numbers,
    and the pytree of parameters of a term, are the same on all processes. Inner products of controls are sums over all
    blocks, in which the latter count once. The executor computes steps forward and back; see `native_steps`.

    Args:
        config: a Config, or the name of a case or file; it sets the number of steps.
        controls: a name or names of CONTROLS, of tracers, and of terms with parameters (`Parametric`). The terms of
            the equations through which they act become active.
        observe: observe(view, k) -> pytree of arrays, in jax.numpy: the block's share of the observed quantities of
            sample k, a `trajectory.View`.
        every: steps between samples, from the first state on; None: the first and the last state.
        memory: most memory of this process during a derivative, bytes; None: half of the free memory, shared by the
            processes of this machine. Less memory takes more steps.
        alone: whether this process has the whole grid, despite other processes.

    Attributes:
        domain, transport, block: the resolved configuration, and this process's part of the grid.
        steps, every, samples: number of steps, steps between samples, number of samples.

    Raises:
        UsageError: a control does not exist, samples are less than a step apart, or the executor has no derivatives.
            In methods: controls have other names, or J differs between blocks.
        ConfigError: the configuration contradicts itself, or its fields cannot be used.
    """

    def __init__(
        self,
        config: Source,
        controls: str | Iterable[str],
        observe: Callable[[View, Any], Any],
        every: int | None = None,
        memory: int | None = None,
        alone: bool = False,
    ) -> None:
        config = config if isinstance(config, Config) else load(config)
        controls = (controls,) if isinstance(controls, str) else tuple(controls)
        self._physical = [*CONTROLS, *(each.name for each in config.physics.tracers)]
        known = [*self._physical, *config.python._parameters]
        unknown = [name for name in controls if name not in known]
        if unknown:
            raise UsageError(f"no control {', '.join(unknown)}; there are {listed(known)}")
        require_derivatives(config)
        require_length(config)
        if every is not None and every < 1:
            raise UsageError(f"every={every}: must be at least one step between samples")
        self.names, self.memory = controls, memory
        self.domain = domain(config, scheme_for(controls), alone)
        self.config, self.transport = self.domain.config, self.domain.transport
        self._parameters = Parameters(self.domain, controls)
        self.block = self.transport.block
        setup = self.domain.setup
        self.steps = cast(int, self.config.run.steps)  # resolved
        self.every = every or max(1, self.steps)
        state = self.transport.make(setup.state)
        dt, jit = self.transport.put(np.asarray(setup.dt, setup.dtype)), self.transport.jit
        margin, wide, varying = reach_back(setup.scheme), None, None
        if self.config.run.executor in TARGETS:
            wide = self.transport.make(lambda block: setup.static(block, margin), margin)
        fixed = Fixed(state, self.domain.grid, self.domain.params, wide, dt)
        if setup.scheme.varying:
            fixed = fixed._replace(records=records_at(setup, self.transport, corrections.with_records(controls), 0))
            varying = VaryingFixed(Forcing(setup, self.transport), fixed, margin)
        trajectory = trajectory_of(self.domain, controls, observe)
        parts = self.transport, self.steps, self.every, fixed, varying
        self._sweeps, self._tangent = Sweeps(trajectory, *parts), Sweeps(tangent(trajectory), *parts)
        self.samples = self.steps // self.every + 1
        self._value = jit(self._valued, static_argnums=0)
        self._respond = jit(self._value_and_cotangents, static_argnums=0)
        self._respond_tangent = jit(self._slope_and_cotangents, static_argnums=0)
        self._plans: dict[Sweeps, Plan] = {}

    def in_pieces(self, length: int, after_piece: Callable[..., None]) -> None:
        """Compute everything in pieces; call it before the first derivative. See `Sweeps.in_pieces`."""
        for sweeps in (self._sweeps, self._tangent):
            sweeps.in_pieces(length, after_piece)

    def first_guess(self) -> Controls:
        """The values of the controls in the configuration, by name."""
        found = self.transport.make(lambda block: first_guess(self.domain.setup, self.names, block))
        return self._parameters.outside(found, derivative=False)

    def dataset(self, x: Controls) -> Dataset:
        """Controls, or a derivative with respect to them, as an xarray.Dataset: this process's part, NaN on land.

        Units are those of the controls; a derivative is per unit. Parameters of terms and records are omitted.
        """
        found = {
            name: self.transport.get(x[name]) for name in x if name in self._physical and np.ndim(x[name]) not in (1, 3)
        }
        return dataset_of(self.config, self.block, found)

    def prepare(self, x: Controls, curvature: bool = False) -> None:
        """Compile the programs of derivatives, with `curvature` also of Hessians, and check their memory.

        Raises:
            UsageError: not enough memory.
        """
        x = self._inside(x)
        for sweeps, at in ((self._sweeps, x), (self._tangent, (x, x)))[: 1 + curvature]:
            self._plans[sweeps] = fit(sweeps, at, self.memory)

    def states(self, x: Controls, every: int) -> Iterator[State]:
        """Iterate over the states of the block at steps 0, every, 2 every, ... and at the last step."""
        carry, active = self._sweeps.start(self._inside(x))
        yield carry[0]
        for first in range(0, self.steps, every):
            last = min(first + every, self.steps)
            carry = self._sweeps.advance(carry, active, first, last)
            yield carry[0]

    def series(self, x: Controls) -> Any:
        """The observed quantities of all samples, a pytree of arrays [samples, ...].

        `jax.grad` and `jax.vjp` of a larger loss that calls it, outside of `jax.jit`, use `adjoint`, with the same
        bits. With MPI the loss sums over blocks by `transport.total`.
        """

        def run_and_adjoint(x: Controls) -> tuple[Any, Callable[[Any], Controls]]:
            return self._series(x), lambda bar: self.adjoint(x, bar)

        return differentiable(self._series, run_and_adjoint)(x)

    def tangent(self, x: Controls, dx: Controls) -> Any:
        """The series, and its derivative along dx: M'(x) dx."""
        return self._tangent.series((self._inside(x), self._inside(dx)))

    def adjoint(self, x: Controls, series_bar: Any) -> Controls:
        """M'(x)ᵀ series_bar: <series_bar, M'(x) dx> = <adjoint, dx> for all dx, both sides summed over processes."""
        return self.value_and_adjoint(x, lambda series: (None, series_bar))[1]

    def value_and_adjoint(self, x: Controls, respond: Callable[[Any], Any]) -> tuple[Any, Controls]:
        """J and dJ/dx, from respond(series) -> J, dJ/dseries, a function of arrays of the block outside of JAX."""
        answer, found = self._pull_back(self._sweeps, self._inside(x), respond)
        return answer, self._parameters.outside(found)

    def value(self, x: Controls, value: Value, *arguments: Any) -> Any:
        """J = `value(series, *arguments)` without its gradient; see `value_and_gradient`.

        `jax.grad` of a larger loss that calls it, outside of `jax.jit`, uses that gradient, with the same bits. With
        MPI all processes compute the same loss. It does not differentiate with respect to `arguments`.
        """
        require_values(arguments, "differentiate with respect to the controls alone")

        def run(x: Controls) -> Any:
            return self._same_everywhere(self._value(value, self._series(x), *arguments))

        def run_and_adjoint(x: Controls) -> tuple[Any, Callable[[Any], Controls]]:
            answer, gradient = self.value_and_gradient(x, value, *arguments)
            return answer, lambda bar: jax.tree.map(lambda leaf: bar * leaf, gradient)

        return differentiable(run, run_and_adjoint)(x)

    def value_and_gradient(self, x: Controls, value: Value, *arguments: Any) -> tuple[Any, Controls]:
        """J = `value(series, *arguments)` and dJ/dx.

        `value` is a function of a block's share of the series, in jax.numpy. It returns a number that is the same in
        all blocks, from sums over them, `transport.sum`. `arguments` are arrays of the block, from `transport.put`.
        """
        answer, gradient = self.value_and_adjoint(x, lambda series: self._respond(value, series, *arguments))
        return self._same_everywhere(answer), gradient

    def hessian_vector(self, x: Controls, dx: Controls, value: Value, *arguments: Any) -> Controls:
        """d²J/dx² dx: the gradient of J's slope along dx."""
        pair = self._inside(x), self._inside(dx)
        slope, found = self._pull_back(self._tangent, pair, lambda both: self._respond_tangent(value, both, *arguments))
        self._same_everywhere(slope)
        return self._parameters.outside(found[0])

    def dot(self, x: Controls, y: Controls) -> float:
        """<x, y>: a sum over all blocks, with the same bits on any layout; numbers, records, parameters count once."""

        def array(of: Controls, name: str) -> Any:
            known = name in self._parameters.forms
            return self._parameters.vector(name, of[name]) if known else self.transport.get(of[name])

        return inner_product(self.transport, ((array(x, name), array(y, name)) for name in x))

    def _series(self, x: Controls) -> Any:
        return self._sweeps.series(self._inside(x))

    def _inside(self, x: Controls) -> dict[str, Any]:
        """Controls in the form of programs. UsageError: their names are not those of this Problem."""
        if x.keys() != {*self.names}:
            raise UsageError(
                f"controls {', '.join(x) or 'none'}: this Problem was made for {', '.join(self.names)}, and needs all"
            )
        return self._parameters.inside({name: self._fitting(name, value) for name, value in x.items()})

    def _fitting(self, name: str, value: Any) -> Any:
        """A control in its shape. UsageError: it has another one, or is no array of real numbers."""
        if name in self._parameters.forms:
            return value
        array = value if isinstance(value, jax.Array) else real(value, name, self.domain.setup.dtype)
        if array.shape == self._shapes[name]:
            return array
        if array.size == 1 and name not in self.domain.scheme.initial:
            return array.reshape(())
        number = "" if name in self.domain.scheme.initial else ", or a number"
        raise UsageError(f"control {name} has shape {array.shape}; needs {self._shapes[name]}{number}")

    @cached_property
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the controls in the configuration."""
        return {
            name: np.shape(value) for name, value in self.first_guess().items() if name not in self._parameters.forms
        }

    def _same_everywhere(self, answer: Any) -> Any:
        """J, or its slope. UsageError: it differs between blocks, beyond round-off, or is not a number in some."""
        numbers = np.array([np.asarray(shard.data) for shard in answer.addressable_shards])
        ends = [float(self.transport.reduce(getattr(numbers, name)(), name)) for name in ("min", "max")]
        if (
            not ends[1] - ends[0] <= np.sqrt(np.finfo(numbers.dtype).eps) * max(map(abs, ends))
            and np.isfinite(ends).any()
        ):
            raise UsageError(
                f"value gives {ends[0]:.6g} in one block and {ends[1]:.6g} in another; it must return a sum over all "
                "blocks, as problem.transport.sum(...)"
            )
        return answer

    def _pull_back(self, sweeps: Sweeps, x: Any, respond: Callable[[Any], Any]) -> Any:
        """The answer of `respond` to the series, and the cotangents of the controls x; see `Sweeps.pull_back`."""
        for other in (self._sweeps, self._tangent):
            if other is not sweeps:
                other.release()
        self._plans[sweeps] = fit(sweeps, x, self.memory, self._plans.get(sweeps))
        return sweeps.pull_back(self._plans[sweeps], x, respond)

    def _require_sum(self, value: Value, series: Any, *arguments: Any) -> None:
        """Raise UsageError unless a function of a block's series sums over the blocks, by its traced program."""
        if self.transport.size * self.config.run.devices == 1:
            return
        program = str(jax.make_jaxpr(lambda series: value(series, *arguments))(series))
        if "total_over_processes" in program:
            raise UsageError("value takes transport.total, which is for losses of `functional`; use transport.sum")
        if not re.search(r"sum_over_processes|\bpsum", program):
            raise UsageError("value must return a sum over all blocks, as problem.transport.sum(...)")

    def _value_and_cotangents(self, value: Value, series: Any, *arguments: Any) -> Any:
        self._require_sum(value, series, *arguments)
        answer, back = jax.vjp(lambda series: value(series, *arguments), series)
        return answer, back(jnp.asarray(self.transport.first(), answer.dtype))[0]

    def _valued(self, value: Value, series: Any, *arguments: Any) -> Any:
        self._require_sum(value, series, *arguments)
        return value(series, *arguments)

    def _slope_and_cotangents(self, value: Value, pair: Any, *arguments: Any) -> Any:
        def slope(pair: Any) -> Any:
            return jax.jvp(lambda series: value(series, *arguments), pair[:1], pair[1:])[1]

        return self._value_and_cotangents(slope, pair)


def differentiable(
    run: Callable[[Controls], Any], run_and_adjoint: Callable[[Controls], tuple[Any, Callable[[Any], Controls]]]
) -> Callable[[Controls], Any]:
    """A function of controls that compiles its own programs, and whose reverse-mode derivative is an adjoint.

    Args:
        run: function of the controls to a pytree of arrays.
        run_and_adjoint: function of the controls to this pytree, and to the function of its cotangents to those of the
            controls.
    """

    def function(x: Controls) -> Any:
        leaves, structure = jax.tree.flatten(x)
        tree = cast(Any, structure)
        places = [place for place, leaf in enumerate(leaves) if is_parameter(leaf)]
        adjoint: Callable[[Any], Controls]

        def with_numbers(numbers: list[Any]) -> Controls:
            found = dict(zip(places, numbers, strict=True))
            return cast(Controls, tree.unflatten(found.get(place, leaf) for place, leaf in enumerate(leaves)))

        def called(numbers: list[Any]) -> Any:
            require_values(numbers, "call it outside of jax.jit, jax.vmap and jax.jvp")
            return run(with_numbers(numbers))

        def forward(numbers: list[Any]) -> tuple[Any, list[Any]]:
            nonlocal adjoint
            result, adjoint = run_and_adjoint(with_numbers(numbers))
            return result, numbers

        def backward(numbers: list[Any], bar: Any) -> tuple[list[Any]]:
            found = tree.flatten_up_to(adjoint(bar))
            parts = (found[place] for place in places)
            return ([jnp.asarray(part, jnp.result_type(n)) for part, n in zip(parts, numbers, strict=True)],)

        differentiable = jax.custom_vjp(called)
        differentiable.defvjp(forward, backward)
        return differentiable([leaves[place] for place in places])

    return function


def require_values(tree: Any, remedy: str) -> None:
    """Raise UsageError unless a tree has numbers and arrays, not the tracers of a transformation of JAX."""
    if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(tree)):
        raise UsageError(f"a Problem compiles its own programs: {remedy}")
