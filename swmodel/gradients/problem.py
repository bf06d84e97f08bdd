"""Derivatives of the observed quantities of a run: tangent-linear, adjoint, gradient and Hessian-vector product."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from ..config import Config, load
from ..config.loading.load import Source
from ..errors import UsageError, join_names
from ..executors.targets import TARGETS
from ..model.dataset import controls_dataset
from ..model.domain import make_domain
from ..model.pure import as_real_array
from ..model.validate import require_derivatives, require_length
from ..model.varying_params import VaryingParams
from ..ocean.parametric import is_parameter
from ..ocean.state import State
from ..ocean.table import CONTROLS
from ..parallel.fixed_point import inner_product
from . import corrections
from .controls import TermParameters, first_guess, scheme_factory
from .plan import Plan, fit_plan
from .sweeps import TrajectorySweeps, VaryingInputs, record_indices
from .trajectory import FixedInputs, View, make_trajectory, tangent_trajectory

if TYPE_CHECKING:
    from xarray import Dataset

#: Controls, or derivatives with respect to them, by name: arrays of the block, numbers or pytrees.
Controls: TypeAlias = dict[str, Any]
#: A function (series, *arguments) -> number.
ValueFunction: TypeAlias = Callable[..., Any]


class Problem:
    """The map M from controls x to observed quantities of their run, with exact derivatives.

    Under mpiexec all processes make the same Problem and call its methods together. A control that is a field is this
    process's block of it, [ny, nx]; on the sharded transport `transport.make_arrays` makes it and `transport.get` reads
    it. Numbers, and the pytree of a term's parameters, are the same on all processes. Inner products of controls are
    sums over all blocks, in which numbers and parameters count once. The run's executor computes all steps, or xla if
    the executor cannot compute these derivatives.

    Args:
        config: a Config, or the name of a case or file; it sets the number of steps.
        controls: one or more names of CONTROLS, tracers, and terms with parameters (`Parametric`). The terms of the
            equations through which they act become active.
        observe: observe(view, k) -> pytree of arrays, in jax.numpy: the block's share of the observed quantities in
            sample k, from a `trajectory.View`.
        every: steps between samples, from the initial state on; None: the first and the last state.
        memory: largest memory of this process during a derivative, bytes; None: the memory that it occupies now plus
            half of the free memory, shared by the processes of this machine; on GPUs, all that JAX may use. With less
            memory more steps are recomputed.
        alone: whether this process computes the whole grid by itself, even if there are others.

    Attributes:
        domain, transport, block: the resolved configuration, the exchange between blocks, and this process's block.
        steps, every, samples: number of steps, steps between samples, number of samples.

    Raises:
        UsageError: a control does not exist or does not fit the run, samples are less than a step apart, or the
            executor, a moving sea floor or substeps rule out derivatives. Methods raise it if the controls have other
            names or shapes, if a value J differs between blocks, or if memory is too small.
        ConfigError: the configuration contradicts itself, has no length, or its fields cannot be used.
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
        self._physical_controls = [*CONTROLS, *(each.name for each in config.physics.tracers)]
        known_names = [*self._physical_controls, *config.python._parameters]
        unknown = [name for name in controls if name not in known_names]
        if unknown:
            raise UsageError(f"unknown control {', '.join(unknown)}; the controls are {join_names(known_names)}")
        require_derivatives(config)
        require_length(config)
        if every is not None and every < 1:
            raise UsageError(f"every={every}: must be at least one step between samples")
        self.names, self.memory = controls, memory
        self.domain = make_domain(config, scheme_factory(controls), alone)
        self.config, self.transport = self.domain.config, self.domain.transport
        self._parameters = TermParameters(self.domain, controls)
        self.block = self.transport.block
        setup = self.domain.setup
        self.steps: int = self.config.run.steps
        self.every = every or max(1, self.steps)
        state = self.transport.make_arrays(setup.state)
        dt, jit = self.transport.put(np.asarray(setup.dt, setup.dtype)), self.transport.jit
        static_halo, adjoint_inputs, varying = setup.scheme.adjoint_static_halo, None, None
        if self.config.run.executor in TARGETS:
            adjoint_inputs = self.transport.make_arrays(lambda block: setup.static(block, static_halo), static_halo)
        fixed = FixedInputs(state, self.domain.grid, self.domain.params, adjoint_inputs, dt)
        if setup.scheme.varying:
            fixed = fixed._replace(
                record_numbers=record_indices(setup, self.transport, corrections.controls_with_records(controls), 0)
            )
            varying = VaryingInputs(VaryingParams(setup, self.transport), fixed, static_halo)
        trajectory = make_trajectory(self.domain, controls, observe)
        sweep_arguments = self.transport, self.steps, self.every, fixed, varying
        self._sweeps = TrajectorySweeps(trajectory, *sweep_arguments)
        self._tangent = TrajectorySweeps(tangent_trajectory(trajectory), *sweep_arguments)
        self.samples = self.steps // self.every + 1
        self._jit_value = jit(self._checked_value, static_argnums=0)
        self._jit_value_and_cotangents = jit(self._value_and_cotangents, static_argnums=0)
        self._jit_slope_and_cotangents = jit(self._slope_and_cotangents, static_argnums=0)
        self._plans: dict[TrajectorySweeps, Plan] = {}

    def split_into_pieces(self, max_steps: int, after_piece: Callable[..., None]) -> None:
        """Compute in pieces, as `TrajectorySweeps.split_into_pieces`; call this before the first derivative."""
        for sweeps in (self._sweeps, self._tangent):
            sweeps.split_into_pieces(max_steps, after_piece)

    def first_guess(self) -> Controls:
        """The values of the controls in the configuration, by name."""
        arrays = self.transport.make_arrays(lambda block: first_guess(self.domain.setup, self.names, block))
        return self._parameters.to_pytrees(arrays, derivative=False)

    def dataset(self, x: Controls) -> Dataset:
        """Controls, or derivatives with respect to them, as an xarray.Dataset of this process's block, NaN on land.

        Units are those of the controls; a derivative is per such unit. Parameters of terms and records are omitted.
        """
        fields = {
            name: self.transport.get(x[name])
            for name in x
            if name in self._physical_controls and np.ndim(x[name]) not in (1, 3)
        }
        return controls_dataset(self.config, self.block, fields)

    def prepare(self, x: Controls, curvature: bool = False) -> None:
        """Compile the programs of derivatives, with `curvature` also those of Hessians, and check their memory.

        Raises:
            UsageError: not enough memory.
        """
        x = self._to_program_arrays(x)
        for sweeps, controls in ((self._sweeps, x), (self._tangent, (x, x)))[: 1 + curvature]:
            self._plans[sweeps] = fit_plan(sweeps, controls, self.memory)

    def states(self, x: Controls, every: int) -> Iterator[State]:
        """Iterate over the states of the block at steps 0, every, 2 every, ... and at the last step."""
        carry, active = self._sweeps.start(self._to_program_arrays(x))
        yield carry[0]
        for first in range(0, self.steps, every):
            last = min(first + every, self.steps)
            carry = self._sweeps.advance(carry, active, first, last)
            yield carry[0]

    def series(self, x: Controls) -> Any:
        """The observed quantities of all samples, a pytree of arrays [samples, ...].

        Outside of `jax.jit`, `jax.grad` and `jax.vjp` of a loss that calls this method use `adjoint` and give the same
        bits. With MPI such a loss must sum over blocks with `transport.total`.
        """

        def run_and_adjoint(x: Controls) -> tuple[Any, Callable[[Any], Controls]]:
            return self._series(x), lambda bar: self.adjoint(x, bar)

        return differentiable(self._series, run_and_adjoint)(x)

    def tangent(self, x: Controls, dx: Controls) -> Any:
        """The series, and its derivative M'(x) dx along dx."""
        return self._tangent.series((self._to_program_arrays(x), self._to_program_arrays(dx)))

    def adjoint(self, x: Controls, series_bar: Any) -> Controls:
        """M'(x)ᵀ series_bar: <series_bar, M'(x) dx> = <adjoint, dx> for all dx, each summed over processes."""
        return self.value_and_adjoint(x, lambda series: (None, series_bar))[1]

    def value_and_adjoint(self, x: Controls, value_and_cotangents: Callable[[Any], Any]) -> tuple[Any, Controls]:
        """J and dJ/dx. `value_and_cotangents` gets the block's series, untraced, and returns J and dJ/dseries."""
        result, gradient = self._pull_back(self._sweeps, self._to_program_arrays(x), value_and_cotangents)
        return result, self._parameters.to_pytrees(gradient)

    def value(self, x: Controls, value: ValueFunction, *arguments: Any) -> Any:
        """J = `value(series, *arguments)` without its gradient; see `value_and_gradient`.

        Outside of `jax.jit`, `jax.grad` of a loss that calls this method uses that gradient and gives the same bits.
        With MPI all processes must compute the same loss. There are no derivatives with respect to `arguments`.
        """
        require_concrete(arguments, "differentiate with respect to the controls alone")

        def run(x: Controls) -> Any:
            return self._require_same_in_blocks(self._jit_value(value, self._series(x), *arguments))

        def run_and_adjoint(x: Controls) -> tuple[Any, Callable[[Any], Controls]]:
            result, gradient = self.value_and_gradient(x, value, *arguments)
            return result, lambda bar: jax.tree.map(lambda leaf: bar * leaf, gradient)

        return differentiable(run, run_and_adjoint)(x)

    def value_and_gradient(self, x: Controls, value: ValueFunction, *arguments: Any) -> tuple[Any, Controls]:
        """J = `value(series, *arguments)` and dJ/dx.

        `value` is a function of the block's share of the series, in jax.numpy. It must return the same number in all
        blocks, so it sums over them with `transport.sum`. `arguments` are arrays of the block, from `transport.put`.
        """
        result, gradient = self.value_and_adjoint(
            x, lambda series: self._jit_value_and_cotangents(value, series, *arguments)
        )
        return self._require_same_in_blocks(result), gradient

    def hessian_vector(self, x: Controls, dx: Controls, value: ValueFunction, *arguments: Any) -> Controls:
        """d²J/dx² dx: the gradient of J's slope along dx."""
        pair = self._to_program_arrays(x), self._to_program_arrays(dx)
        slope, gradients = self._pull_back(
            self._tangent, pair, lambda both: self._jit_slope_and_cotangents(value, both, *arguments)
        )
        self._require_same_in_blocks(slope)
        return self._parameters.to_pytrees(gradients[0])

    def dot(self, x: Controls, y: Controls) -> float:
        """<x, y>, summed over all blocks, the same bits on any layout; controls that are not fields count once."""

        def array(controls: Controls, name: str) -> Any:
            if name in self._parameters.layouts:
                return self._parameters.vector(name, controls[name])
            return self.transport.get(controls[name])

        return inner_product(self.transport, ((array(x, name), array(y, name)) for name in x))

    def _series(self, x: Controls) -> Any:
        return self._sweeps.series(self._to_program_arrays(x))

    def _to_program_arrays(self, x: Controls) -> dict[str, Any]:
        """Controls as the compiled programs take them. UsageError: their names are not those of this Problem."""
        if x.keys() != {*self.names}:
            raise UsageError(f"controls {', '.join(x) or 'none'}: this Problem needs exactly {', '.join(self.names)}")
        return self._parameters.to_vectors({name: self._with_control_shape(name, value) for name, value in x.items()})

    def _with_control_shape(self, name: str, value: Any) -> Any:
        """A control as an array of the right shape. UsageError: its shape is wrong, or its numbers are not real."""
        if name in self._parameters.layouts:
            return value
        is_float = isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jnp.floating)
        array = value if is_float else as_real_array(value, name, self.domain.setup.dtype)
        if array.shape == self._control_shapes[name]:
            return array
        is_coefficient = name not in self.domain.scheme.initial_fields and len(self._control_shapes[name]) in (0, 2)
        if array.size == 1 and is_coefficient:
            return array.reshape(())
        number = ", or a number" if is_coefficient else ""
        raise UsageError(f"control {name} has the shape {array.shape}, not {self._control_shapes[name]}{number}")

    @cached_property
    def _control_shapes(self) -> dict[str, tuple[int, ...]]:
        return {
            name: np.shape(value) for name, value in self.first_guess().items() if name not in self._parameters.layouts
        }

    def _require_same_in_blocks(self, result: Any) -> Any:
        """The result, J or its slope. UsageError: it differs between blocks by more than round-off."""
        numbers = np.array([np.asarray(shard.data) for shard in result.addressable_shards])
        is_finite = np.isfinite(numbers)
        all_finite, any_finite = (
            float(self.transport.reduce(getattr(is_finite * 1.0, name)(), name)) for name in ("min", "max")
        )
        remedy = "it must return a sum over all blocks, such as problem.transport.sum(...)"
        if all_finite != any_finite:
            raise UsageError(f"value is finite in some blocks only; {remedy}")
        if not any_finite:
            return result
        extremes = [float(self.transport.reduce(getattr(numbers, name)(), name)) for name in ("min", "max")]
        if extremes[1] - extremes[0] > np.sqrt(np.finfo(numbers.dtype).eps) * max(map(abs, extremes)):
            raise UsageError(f"value gives {extremes[0]:.6g} in one block and {extremes[1]:.6g} in another; {remedy}")
        return result

    def _pull_back(self, sweeps: TrajectorySweeps, x: Any, value_and_cotangents: Callable[[Any], Any]) -> Any:
        """The value, and the cotangents of the controls x; see `TrajectorySweeps.pull_back`."""
        for other in (self._sweeps, self._tangent):
            if other is not sweeps:
                other.release()
        self._plans[sweeps] = fit_plan(sweeps, x, self.memory, self._plans.get(sweeps))
        return sweeps.pull_back(self._plans[sweeps], x, value_and_cotangents)

    def _require_sum(self, value: ValueFunction, series: Any, *arguments: Any) -> None:
        """Raise UsageError if there are several blocks and the program of `value` does not sum with `transport.sum`."""
        if self.transport.size * self.config.run.devices == 1:
            return
        program = str(jax.make_jaxpr(lambda series: value(series, *arguments))(series))
        if "total_over_processes" in program:
            raise UsageError("value uses transport.total, which is for losses of `functional`; use transport.sum")
        if not re.search(r"sum_over_processes|\bpsum", program):
            raise UsageError("value must return a sum over all blocks, such as problem.transport.sum(...)")

    def _value_and_cotangents(self, value: ValueFunction, series: Any, *arguments: Any) -> Any:
        self._require_sum(value, series, *arguments)
        result, value_vjp = jax.vjp(lambda series: value(series, *arguments), series)
        return result, value_vjp(jnp.asarray(self.transport.is_first_block(), result.dtype))[0]

    def _checked_value(self, value: ValueFunction, series: Any, *arguments: Any) -> Any:
        self._require_sum(value, series, *arguments)
        return value(series, *arguments)

    def _slope_and_cotangents(self, value: ValueFunction, pair: Any, *arguments: Any) -> Any:
        def slope(pair: Any) -> Any:
            return jax.jvp(lambda series: value(series, *arguments), pair[:1], pair[1:])[1]

        return self._value_and_cotangents(slope, pair)


def differentiable(
    run: Callable[[Controls], Any], run_and_adjoint: Callable[[Controls], tuple[Any, Callable[[Any], Controls]]]
) -> Callable[[Controls], Any]:
    """A function of controls that compiles its own programs and whose reverse-mode derivative is an adjoint.

    Args:
        run: controls -> pytree of arrays.
        run_and_adjoint: controls -> (this pytree, the function from its cotangents to those of the controls).
    """

    def function(x: Controls) -> Any:
        leaves, structure = jax.tree.flatten(x)
        tree: Any = structure  # because JAX's type hints lack the methods of the structure
        leaf_indices = [index for index, leaf in enumerate(leaves) if is_parameter(leaf)]
        adjoint: Callable[[Any], Controls]

        def unflatten_controls(arrays: list[Any]) -> Controls:
            array_of_leaf = dict(zip(leaf_indices, arrays, strict=True))
            return jax.tree.unflatten(tree, [array_of_leaf.get(index, leaf) for index, leaf in enumerate(leaves)])

        def run_checked(arrays: list[Any]) -> Any:
            require_concrete(arrays, "call it outside of jax.jit, jax.vmap and jax.jvp")
            return run(unflatten_controls(arrays))

        def forward(arrays: list[Any]) -> tuple[Any, list[Any]]:
            nonlocal adjoint
            result, adjoint = run_and_adjoint(unflatten_controls(arrays))
            return result, arrays

        def backward(arrays: list[Any], bar: Any) -> tuple[list[Any]]:
            gradient_leaves = tree.flatten_up_to(adjoint(bar))
            parts = (gradient_leaves[index] for index in leaf_indices)
            return ([jnp.asarray(part, jnp.result_type(array)) for part, array in zip(parts, arrays, strict=True)],)

        with_adjoint = jax.custom_vjp(run_checked)
        with_adjoint.defvjp(forward, backward)
        return with_adjoint([leaves[index] for index in leaf_indices])

    return function


def require_concrete(tree: Any, remedy: str) -> None:
    """Raise UsageError, with a `remedy`, if a tree contains tracers of JAX in place of numbers and arrays."""
    if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(tree)):
        raise UsageError(f"a Problem compiles its own programs: {remedy}")
