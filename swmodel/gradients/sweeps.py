"""Forward sweeps over a trajectory, and backward sweeps according to a Plan that bounds their memory.

Sweeps call the compiled `SweepPrograms` for some steps at a time. In between they report progress, check for signals,
and replace coefficients that vary in time.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from checkpoint_schedules import Copy, Forward, Move, Reverse

from ..parallel.fixed_point import exact_sum
from . import corrections
from .plan import Plan
from .sweep_programs import SweepPrograms
from .trajectory import FixedInputs, Trajectory

if TYPE_CHECKING:
    from ..config.options.model import Config
    from ..parallel.transport.transport import Transport
    from ..setup.setup import Setup

#: Largest product of a piece's steps and a process's cells, which takes half a second of a backward sweep on one core;
#: largest number of steps in a piece.
CELL_STEPS_PER_PIECE, MAX_PIECE_STEPS = 4_000_000, 2000


def steps_per_piece(config: Config) -> int:
    """The number of steps in a piece, the same on all processes."""
    cells = config.grid.nx * config.grid.ny / config.run.nproc
    return max(1, min(MAX_PIECE_STEPS, int(CELL_STEPS_PER_PIECE / cells)))


class TrajectorySweeps:
    """Sweeps over a trajectory, in pieces of at most `piece_steps` steps; by default all steps are one piece.

    Pieces also end where coefficients are replaced. For the backward sweep the steps are recorded in a list of stacks,
    one for each piece, with the span (first, last) of its steps. A sample is observed every `steps_per_sample` steps.
    `fixed_inputs` are the inputs of the first step; `varying`, a VaryingInputs, has those of all steps if they differ.
    """

    def __init__(
        self,
        trajectory: Trajectory,
        transport: Transport,
        steps: int,
        steps_per_sample: int,
        fixed_inputs: FixedInputs,
        varying=None,
    ):
        self.transport, self.steps, self.fixed_inputs, self.varying = transport, steps, fixed_inputs, varying
        self.trajectory = trajectory
        self.programs = SweepPrograms(trajectory, transport, steps, steps_per_sample)
        self.piece_steps = max(1, steps)
        self._after_piece: Callable | None = None
        self._replacement_steps = varying.forcing.change_steps(steps) if varying else [0, steps]
        self._unused_stacks: list[Any] = []
        self._control_shapes: tuple | None = None
        self._stack_key: tuple | None = None  # (steps of a stack, shapes of the controls)
        self._estimated_bytes: dict[tuple, tuple[int, int, int, int]] = {}
        self._workspace_bytes: dict[tuple, int] = {}

    def split_into_pieces(self, max_steps: int, after_piece: Callable) -> None:
        """Compute in pieces of at most `max_steps` steps, the same on all processes.

        After each piece after_piece(kind, step, result, start_time) is called, which may raise. `kind` is "forward",
        "recompute" or "backward", `step` the step reached, `result` the carry there or, in the backward sweep, the
        Cotangents, `start_time` when the piece started (time.perf_counter).
        """
        self.piece_steps, self._after_piece = max_steps, after_piece

    def start(self, x, with_adjoint: bool = False):
        """The carry before the first step, and the active fields, from x; `with_adjoint`: adjoint steps will follow."""
        self._control_shapes = control_shapes(x)
        carry, active = self.programs.start(x, self.fixed_inputs)
        self.trajectory.agree_on_backend(active, self.fixed_inputs, with_adjoint)
        return carry, active

    def advance(self, carry, active, first: int, last: int, series=None):
        """The carry at step `last` from the one at `first`, and the series, if any, with the samples before `last`."""
        for span in self._piece_spans(first, last, self.piece_steps):
            start_time, fixed, bounds = time.perf_counter(), self._inputs_at(span), _int32_bounds(span)
            if series is None:
                carry = self.programs.advance(carry, active, *bounds, fixed)
            else:
                _, carry, series = self.programs.record(None, carry, active, series, *bounds, True, fixed)
            self._finish_piece("recompute" if series is None else "forward", span[1], carry, start_time)
        return carry if series is None else (carry, series)

    def series(self, x):
        """The observed quantities, a pytree [samples, ...], of the trajectory that starts from the controls x."""
        carry, active = self.start(x)
        series = self.programs.empty_series(carry, active, self.fixed_inputs)
        carry, series = self.advance(carry, active, 0, self.steps, series)
        return self.programs.observe_last(carry, active, series, self.fixed_inputs)

    def pull_back(self, plan: Plan, x, value_and_cotangents: Callable):
        """The value, and the cotangents of the controls x.

        value_and_cotangents(series) returns the value and the cotangents of the series.
        """
        carry, active = self.start(x, with_adjoint=True)
        series = self.programs.empty_series(carry, active, self.fixed_inputs)
        checkpoints, stacks, value = {}, [], None
        cotangents: Any = None
        for action in plan.actions():
            if isinstance(action, Forward):
                span, is_first_visit = (plan.first_step(action.n0), plan.first_step(action.n1)), cotangents is None
                if action.write_ics:
                    checkpoints[action.n0] = carry
                if action.write_adj_deps:
                    stacks, carry, series = self._record_segment(
                        carry, active, series, *span, is_first_visit, plan.segment_steps
                    )
                elif is_first_visit:
                    carry, series = self.advance(carry, active, *span, series)
                else:
                    carry = self.advance(carry, active, *span)
            elif isinstance(action, Copy | Move):
                carry = checkpoints[action.n] if isinstance(action, Copy) else checkpoints.pop(action.n)
            elif isinstance(action, Reverse):
                if cotangents is None:
                    series = self.programs.observe_last(carry, active, series, self.fixed_inputs)
                    value, series_bar = value_and_cotangents(series)
                    cotangents = self.programs.seed(carry, active, series_bar, self.fixed_inputs)
                cotangents = self._pull_back_segment(stacks, active, cotangents, series_bar)
        gradients = self.programs.control_cotangents(x, cotangents, self.fixed_inputs)
        return value, sum_per_cell_gradients(self.transport, gradients, cotangents.per_cell_gradients)

    def _record_segment(self, carry, active, series, first: int, last: int, with_samples: bool, segment_steps: int):
        """As `advance`, but record the steps in stacks, too; add samples to the series only if `with_samples`."""
        stacks, stack_steps = [], self._max_piece_steps(segment_steps)
        for span in self._piece_spans(first, last, stack_steps):
            start_time, fixed = time.perf_counter(), self._inputs_at(span)
            self._keep_stacks(stack_steps)
            if not self._unused_stacks:
                self._unused_stacks.append(self.programs.empty_stack(carry, active, fixed, stack_steps))
            stack, carry, series = self.programs.record(
                self._unused_stacks.pop(), carry, active, series, *_int32_bounds(span), with_samples, fixed
            )
            stacks.append((stack, span))
            self._finish_piece("forward" if with_samples else "recompute", span[1], carry, start_time)
        return stacks, carry, series

    def _pull_back_segment(self, stacks, active, cotangents, series_bar):
        """The Cotangents at the first recorded step, from those after the last; the stacks are kept for reuse."""
        while stacks:
            stack, span = stacks.pop()
            start_time, bounds = time.perf_counter(), _int32_bounds(span)
            stack, cotangents = self.programs.pull_back(
                stack, active, cotangents, series_bar, *bounds, self._inputs_at(span)
            )
            self._unused_stacks.append(stack)
            self._finish_piece("backward", span[0], cotangents, start_time)
        return cotangents

    def _finish_piece(self, kind: str, step: int, result, start_time: float) -> None:
        if self._after_piece:
            self._after_piece(kind, step, jax.block_until_ready(result), start_time)

    def _inputs_at(self, span) -> FixedInputs:
        return self.varying.inputs_at(span[0]) if self.varying else self.fixed_inputs

    def _piece_spans(self, first: int, last: int, max_steps: int) -> Iterator[tuple[int, int]]:
        while first < last:
            end = min(first + max_steps, last, self._replacement_steps[bisect_right(self._replacement_steps, first)])
            yield first, end
            first = end

    def _max_piece_steps(self, segment_steps: int) -> int:
        """The largest number of steps in a piece of a recorded segment; pieces are about equal, to save memory."""
        n_pieces = -(-segment_steps // self.piece_steps)
        max_span = max(np.diff(self._replacement_steps), default=segment_steps)
        return min(-(-segment_steps // n_pieces), max(1, int(max_span)))

    # The memory of a sweep; see `plan.fit_plan`.

    def estimate_bytes(self, x) -> tuple[int, int, int, int]:
        """Bytes of a carry, of a step in a stack, of the rest of a stack, and of everything else."""
        shapes = control_shapes(x)
        if shapes not in self._estimated_bytes:
            self._estimated_bytes[shapes] = self._estimate_bytes(x)
        return self._estimated_bytes[shapes]

    def _estimate_bytes(self, x) -> tuple[int, int, int, int]:
        held_bytes = self.transport.local_nbytes
        carry, active = jax.eval_shape(self.programs.start, x, self.fixed_inputs)
        self.trajectory.agree_on_backend(active, self.fixed_inputs, with_adjoint=True)
        series = jax.eval_shape(self.programs.empty_series, carry, active, self.fixed_inputs)
        stack = self.programs.empty_stack
        one_step, two_steps = (
            held_bytes(jax.eval_shape(partial(stack, length=n), carry, active, self.fixed_inputs)) for n in (1, 2)
        )
        n_numbers = sum(leaf.ndim == 0 for leaf in jax.tree.leaves(x))  # adjoints of numbers are kept per cell
        per_cell_bytes = n_numbers * self.fixed_inputs.dt.dtype.itemsize * math.prod(self.transport.shape)
        other_bytes = 3 * (held_bytes((active, series)) + per_cell_bytes)
        return held_bytes(carry), two_steps - one_step, 2 * one_step - two_steps, other_bytes

    def prepare(self, x, segment_steps: int) -> int:
        """Compile the programs for segments of `segment_steps` steps; returns the bytes needed besides those steps."""
        stack_steps = self._max_piece_steps(segment_steps)
        program_key = control_shapes(x), stack_steps, segment_steps < self.steps  # else nothing is recomputed
        if program_key not in self._workspace_bytes:
            self.release()
            self._workspace_bytes[program_key] = self.programs.prepare(x, self.fixed_inputs, *program_key[1:])
        starts = range(0, max(1, self.steps), segment_steps)
        max_pieces = max(
            sum(1 for _ in self._piece_spans(n, min(n + segment_steps, self.steps), stack_steps)) for n in starts
        )
        _, step_bytes, stack_bytes, _ = self.estimate_bytes(x)
        unused_bytes = max(0, max_pieces * stack_steps - segment_steps) * step_bytes
        return self._workspace_bytes[program_key] + unused_bytes + max(0, max_pieces - 1) * stack_bytes

    def release(self, segment_steps: int | None = None) -> None:
        """Drop the stacks, except those for segments of `segment_steps` steps."""
        self._keep_stacks(segment_steps and self._max_piece_steps(segment_steps))

    def unused_stack_bytes(self) -> int:
        return self.transport.local_nbytes(self._unused_stacks)

    def _keep_stacks(self, stack_steps: int | None) -> None:
        if stack_steps is None or (stack_steps, self._control_shapes) != self._stack_key:
            self._unused_stacks, self._stack_key = [], (stack_steps, self._control_shapes)


def control_shapes(x):
    """The shapes and types of controls x, on which compiled programs depend."""
    return tuple((leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(x))


class VaryingInputs:
    """The FixedInputs of a trajectory whose coefficients are replaced during the run.

    `forcing` are its VaryingParams; `static_halo` is the halo of `FixedInputs.adjoint_inputs`, in cells.
    """

    def __init__(self, forcing, fixed_inputs: FixedInputs, static_halo: int):
        self.forcing, self.fixed_inputs, self.static_halo = forcing, fixed_inputs, static_halo

    def inputs_at(self, step: int) -> FixedInputs:
        if not self.forcing.is_valid_at(step):
            fixed, inputs = self.fixed_inputs, self.fixed_inputs.adjoint_inputs
            params = fixed.params | self.forcing.load(step)
            inputs = inputs and (inputs[0], inputs[1] | self.forcing.load(step, self.static_halo))
            numbers = record_indices(self.forcing.setup, self.forcing.transport, fixed.record_numbers, step)
            self.fixed_inputs = fixed._replace(params=params, adjoint_inputs=inputs, record_numbers=numbers)
        return self.fixed_inputs


def record_indices(setup: Setup, transport: Transport, names, step: int) -> dict:
    """{control with records in time: index of its last record at or before the start of a step}."""
    return {name: transport.put(np.int32(corrections.record_number(setup, name, step))) for name in names}


def _int32_bounds(span: tuple[int, int]):
    return map(jnp.int32, span)


def sum_per_cell_gradients(transport: Transport, gradients, per_cell_gradients: dict):
    """The cotangents of controls, to which the sums of the `per_cell_gradients` of numbers are added."""
    parts = gradients if isinstance(gradients, tuple) else (gradients,)
    for name, field in per_cell_gradients.items():
        target, control = parts[name.startswith("d.")], name.removeprefix("d.")
        total = exact_sum(transport, transport.get_blocks(field))
        target[control] = target[control] + jnp.asarray(total, target[control].dtype)
    return gradients
