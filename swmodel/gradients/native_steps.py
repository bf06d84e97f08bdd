"""The steps of a trajectory, computed by the native step and its derivatives: adjoint, tangent, adjoint of the tangent.

The memory of the native calls (the stack) records a trajectory: it has a slot for the state before each step and one
for the last state. Further planes hold the stepper's memory in the forward sweep, which with `gfb` is in the slots, and
adjoints in the backward sweep. A forward step reads one slot and writes the next, so recording needs no copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..executors.availability import AVAILABILITY
from ..executors.native.calls import Edges, NativeCalls, PlaneRotation
from ..executors.native.generated_step import GeneratedStep
from ..executors.native.trace import kinds_of
from ..executors.targets import TARGETS
from ..model.resolve import log_slower_executor
from ..parallel.transport.halo import exchange_named_halos, zero_beyond
from .controls import replace_fields
from .jax_steps import Cotangents

if TYPE_CHECKING:
    from ..ocean.grid import Grid
    from ..parallel.transport.transport import Transport


class NativeDerivatives:
    """The native step and its adjoint, or, for pairs, its tangent and the adjoint of the tangent.

    In derivatives a control that is a number becomes a column, and its adjoint is summed over the steps in each cell.

    Args:
        generated_step: the GeneratedStep of the forward step.
        transport: exchanges halos.
        controls: sorted names of the fields of Grid and Params that the controls replace.
        executor: the executor whose machine code computes the steps, "native" or "cuda".
        has_tangents: whether carry and active fields are pairs of a value and its tangent.
    """

    def __init__(
        self,
        generated_step: GeneratedStep,
        transport: Transport,
        controls: tuple[str, ...],
        executor: str,
        has_tangents: bool = False,
    ):
        self.target, self.executor = TARGETS[executor], executor
        self.target.register()
        self.generated_step, self.transport = generated_step, transport
        self.controls, self.has_tangents, scheme = controls, has_tangents, generated_step.scheme
        self.static_halo, self.adjoint_static_halo = scheme.static_halo, scheme.adjoint_static_halo
        self.block_slices = tuple(slice(self.static_halo, self.static_halo + length) for length in transport.shape)
        self.forward_step = generated_step
        if has_tangents:
            self.forward_step = generated_step._replace(derivative=("tangent",), controls=controls)
        derivative = (*self.forward_step.derivative, "adjoint")
        self.backward_step = self.forward_step._replace(
            static_halo=self.adjoint_static_halo, derivative=derivative, controls=controls
        )
        self._available: dict[tuple, bool] = {}
        self._agreed: set[tuple] = set()

    def tangent(self) -> NativeDerivatives:
        """The NativeDerivatives of pairs of a value and its tangent."""
        return NativeDerivatives(self.generated_step, self.transport, self.controls, self.executor, has_tangents=True)

    def agree_on_backend(self, active, fixed, with_adjoint: bool) -> None:
        """Agree with all processes, before tracing, on native steps and, if `with_adjoint`, on native adjoint steps."""
        leaves, structure = jax.tree.flatten((active, fixed))
        shapes = structure, tuple(map(np.shape, leaves)), with_adjoint
        if shapes in self._agreed:
            return
        steps_and_kinds: list[tuple[GeneratedStep, tuple]] = []

        def trace_kinds(active, fixed):  # traced, because only a program sees the arrays of one block
            steps_and_kinds.extend(self._steps_and_kinds(active, fixed))
            return fixed.dt

        jax.eval_shape(self.transport.jit(trace_kinds), active, fixed)
        for key in steps_and_kinds[: 1 + with_adjoint]:
            if key not in self._available:
                unsupported_reason = self._unsupported_reason(*key, fixed.dt.dtype)
                self._available[key] = not self.transport.any(bool(unsupported_reason))
                if not self._available[key]:
                    log_slower_executor(unsupported_reason or "another process cannot use it for these derivatives")
        self._agreed.add(shapes)

    def is_available(self, active, fixed, with_adjoint: bool) -> bool:
        """Whether all processes have native steps, and if `with_adjoint` native adjoint steps."""
        return all(self._available[key] for key in self._steps_and_kinds(active, fixed)[: 1 + with_adjoint])

    def fields_by_name(self, active) -> dict:
        """The active fields by name, and their tangents by "d." + name, in the order of the pytree's leaves."""
        parts = zip(("", "d."), active, strict=True) if self.has_tangents else [("", active)]
        return {prefix + name: field for prefix, fields in parts for name, field in sorted(fields.items())}

    def make_steps(self, active, fixed, with_record: bool, with_adjoint: bool) -> NativeSteps:
        """The forward steps; they can record if `with_record`, and be followed by adjoint steps if `with_adjoint`."""
        active_fields, min_row_padding, backward_calls = self.fields_by_name(active), 0, None
        if with_record or with_adjoint:  # forward and adjoint steps share the memory, so their rows are equally long
            steps_and_kinds = self._steps_and_kinds(active, fixed)
            min_row_padding = max(
                step.row_padding(step.step_code(kinds, fixed.dt.dtype)) for step, kinds in steps_and_kinds
            )
        if with_adjoint:
            fields = {name: field[self.block_slices] for name, field in active_fields.items() if field.shape != (1, 1)}
            row_statics = {
                name: self._as_row_static(field, self.adjoint_static_halo) for name, field in active_fields.items()
            }
            adjoint_fields = row_statics | exchange_named_halos(fields, self.adjoint_static_halo, self.transport)
            adjoint_grid, adjoint_params = fixed.adjoint_inputs
            adjoint_static = replace_fields(adjoint_grid, adjoint_params, adjoint_fields)
            backward_calls = self._make_calls(self.backward_step, min_row_padding, adjoint_static, fixed.dt)
        if self.has_tangents:
            active_fields = {
                name: self._as_row_static(field, self.static_halo) for name, field in active_fields.items()
            }
        forward_calls = self._make_calls(
            self.forward_step, min_row_padding, replace_fields(fixed.grid, fixed.params, active_fields), fixed.dt
        )
        return NativeSteps(self, active, forward_calls, backward_calls)

    def _make_calls(
        self, generated_step: GeneratedStep, min_row_padding: int, static: tuple[Grid, dict], dt
    ) -> NativeCalls:
        generated_step = generated_step._replace(min_row_padding=min_row_padding)
        inputs = generated_step.static_of(*static, self.transport.shape, jnp)
        return self.target.calls_class(generated_step, inputs, dt, self.transport)

    def _as_row_static(self, field, halo: int):
        """A number [1, 1] as a column with one value per row; other fields unchanged."""
        return jnp.broadcast_to(field, (self.transport.shape[0] + 2 * halo, 1)) if field.shape == (1, 1) else field

    def _steps_and_kinds(self, active, fixed) -> list[tuple[GeneratedStep, tuple]]:
        """The forward and the adjoint step, each with the kinds of its static fields."""

        def kinds(as_row_statics: bool):
            active_fields = {
                name: self._as_row_static(field, 1) if as_row_statics else field
                for name, field in self.fields_by_name(active).items()
            }
            return kinds_of(*replace_fields(fixed.grid, fixed.params, active_fields))

        return [(self.forward_step, kinds(self.has_tangents)), (self.backward_step, kinds(True))]

    def _unsupported_reason(self, generated_step: GeneratedStep, kinds, dtype) -> str:
        """Why this native step cannot be used on this machine or with such small blocks; empty if it can."""
        if reason := AVAILABILITY[self.executor].step_unsupported_reason(generated_step.request(kinds, dtype)):
            return reason
        code, min_block_size = generated_step.step_code(kinds, dtype), min(self.transport.min_block_shape)
        if code.halo <= min_block_size and code.static_halo <= generated_step.static_halo:
            return ""
        direction = "adjoint" if "adjoint" in generated_step.derivative else "forward"
        return f"the {direction} step reads {code.halo} cells away, but a block has {min_block_size} rows or columns"


@partial(jax.tree_util.register_dataclass, meta_fields=("field_names", "n_slots"), data_fields=("memory",))
@dataclass
class Tape:
    """The native memory in which a trajectory is recorded, with `n_slots` slots of the fields `field_names`."""

    field_names: tuple[str, ...]
    n_slots: int
    memory: Any = None

    def planes(self, fields, other_planes: PlaneRotation, steps_since_first, pass_number: int, slots):
        """The planes [3, fields] that a pass reads, writes, and sends to the neighbours.

        Args:
            other_planes: the planes of the fields that are not recorded.
            steps_since_first: number of steps since the first step of the sweep.
            slots: the slots from which recorded fields are read, written and sent.
        """
        is_recorded = np.array([[name in self.field_names for name in fields]])
        index_of_field = np.array(
            [[self.field_names.index(name) if name in self.field_names else 0 for name in fields]], np.int32
        )
        slots = jnp.stack([jnp.asarray(slot, jnp.int32) for slot in slots])[:, None]
        n_recorded_planes = self.n_slots * len(self.field_names)
        unrecorded_planes = n_recorded_planes + other_planes.planes_at(steps_since_first, pass_number)
        return jnp.where(is_recorded, index_of_field + slots * len(self.field_names), unrecorded_planes)

    def planes_of_slot(self, slot):
        """The planes [fields] of the recorded fields in a slot."""
        return jnp.arange(len(self.field_names), dtype=jnp.int32) + slot * len(self.field_names)


class NativeSteps(NamedTuple):
    """As `jax_steps.JaxSteps`, but `forward_calls` and `backward_calls` compute the steps, and the stack is a Tape."""

    native_derivatives: NativeDerivatives
    active: Any
    forward_calls: NativeCalls
    backward_calls: NativeCalls | None

    def run(self, carry, first, last):
        fields, tree = jax.tree.flatten(carry)
        return jax.tree.unflatten(tree, self.forward_calls.run(fields, first, last - first)[0])

    def empty_stack(self, carry, length: int) -> Tape:
        code, calls = self.forward_calls.step_code, [self.forward_calls, self._adjoint_calls()]
        tape = Tape(code.programs[0].halo_fields, length + 1)
        n_other_planes = max(call.plane_rotation(tape.field_names).n_planes for call in calls)
        n_planes = tape.n_slots * len(tape.field_names) + n_other_planes
        return Tape(tape.field_names, tape.n_slots, self.forward_calls.put((), (), n_planes=n_planes))

    def record(self, stack: Tape, carry, first, last, stack_start):
        calls, fields = self.forward_calls, carry_by_name(self.forward_calls, carry)
        carry_indices = jnp.array(calls.field_indices(calls.names))
        other_planes, flags = calls.plane_rotation(stack.field_names), calls.flags()

        def planes_at(n, pass_number=0, steps_later=0):
            slot, steps_since_first = n - stack_start, n - first
            return stack.planes(
                calls.step_code.fields, other_planes, steps_since_first, pass_number, (slot, slot + 1, slot + 1)
            )

        memory = calls.put(planes_at(first)[0][carry_indices], list(fields.values()), stack.memory)
        edges = Edges.from_fields(
            [fields[name] for name in calls.step_code.programs[0].halo_fields], calls.halo, calls.extent
        )

        def step(n, loop_state):
            memory, edges = loop_state
            return calls.advance_memory(memory, edges, n, flags, 1, partial(planes_at, n))

        memory, _ = jax.lax.fori_loop(first, last, step, (memory, edges))
        last_carry = jax.tree.unflatten(jax.tree.structure(carry), calls.get(memory, planes_at(last)[0][carry_indices]))
        return Tape(stack.field_names, stack.n_slots, memory), last_carry

    def read_carry(self, stack: Tape, template, slot):
        fields = self.forward_calls.get(stack.memory, stack.planes_of_slot(slot))
        fields_by_name = carry_by_name(self.forward_calls, jax.tree.map(jnp.zeros_like, template))
        fields_by_name |= zip(stack.field_names, fields, strict=True)
        fields = [fields_by_name[name] for name in self.forward_calls.names]
        return jax.tree.unflatten(jax.tree.structure(template), fields)

    def zero_cotangents(self, carry) -> Cotangents:
        number_names = [
            name for name, field in self.native_derivatives.fields_by_name(self.active).items() if field.shape == (1, 1)
        ]
        per_cell_gradients = {
            name: jnp.zeros(self.native_derivatives.transport.shape, self.forward_calls.dt.dtype)
            for name in number_names
        }
        carry_bar, active_bar = jax.tree.map(jnp.zeros_like, (carry, self.active))
        return Cotangents(carry_bar, active_bar, per_cell_gradients)

    def pull_back(self, stack: Tape, cotangents: Cotangents, first, last, stack_start):
        calls = self._adjoint_calls()
        code = calls.step_code
        block_slices, per_cell_gradients = self.native_derivatives.block_slices, cotangents.per_cell_gradients
        active_bars = self.native_derivatives.fields_by_name(cotangents.active)
        gradient_sums = {
            name: bar[block_slices] for name, bar in active_bars.items() if name not in per_cell_gradients
        } | per_cell_gradients
        fields_by_name = {f"bar.{name}": field for name, field in carry_by_name(calls, cotangents.carry).items()}
        fields_by_name |= {f"grad.{name}": field for name, field in gradient_sums.items()}
        # Adjoint steps do not change the other fields.
        step_fields = {name: field for name, field in fields_by_name.items() if name in code.fields}
        step_indices = jnp.array(calls.field_indices(step_fields))
        read_indices = jnp.array(calls.field_indices(code.programs[0].halo_fields))
        other_planes, last_pass = calls.plane_rotation(stack.field_names), len(code.programs) - 1

        def planes_at(n, steps_since_first, pass_number=0, steps_later=0):
            slot = n - stack_start  # the last pass sends the slot that the next adjoint step, of step n - 1, reads
            sent_slot = jnp.maximum(slot - int(pass_number == last_pass), 0)
            return stack.planes(code.fields, other_planes, steps_since_first, pass_number, (slot, slot, sent_slot))

        memory = calls.put(planes_at(last, 0)[0][step_indices], list(step_fields.values()), stack.memory)
        flags = calls.flags()
        edges = Edges.from_fields(calls.get(memory, planes_at(last - 1, 0)[0][read_indices]), calls.halo, calls.extent)

        def step(i, loop_state):
            n, (memory, edges) = last - 1 - i, loop_state
            return calls.advance_memory(memory, edges, n, flags, 1, partial(planes_at, n, i))

        memory, _ = jax.lax.fori_loop(0, last - first, step, (memory, edges))
        fields_by_name |= zip(
            step_fields, calls.get(memory, planes_at(last, last - first)[0][step_indices]), strict=True
        )
        carry_bars = [fields_by_name[f"bar.{name}"] for name in calls.names]
        carry = jax.tree.unflatten(jax.tree.structure(cotangents.carry), carry_bars)
        in_block = zero_beyond(jnp.ones(calls.shape), calls.extent) > 0  # a short block has unused cells
        for name in [name for name in gradient_sums if name not in per_cell_gradients]:
            bar = active_bars[name]
            active_bars[name] = bar.at[block_slices].set(
                jnp.where(in_block, fields_by_name[f"grad.{name}"], bar[block_slices])
            )
        active = jax.tree.unflatten(jax.tree.structure(cotangents.active), list(active_bars.values()))
        per_cell_gradients = {name: fields_by_name[f"grad.{name}"] for name in per_cell_gradients}
        return Tape(stack.field_names, stack.n_slots, memory), Cotangents(carry, active, per_cell_gradients)

    def _adjoint_calls(self) -> NativeCalls:
        assert self.backward_calls is not None  # the steps were made with `with_adjoint`
        return self.backward_calls


def carry_by_name(calls: NativeCalls, carry) -> dict:
    return dict(zip(calls.names, jax.tree.leaves(carry), strict=True))
