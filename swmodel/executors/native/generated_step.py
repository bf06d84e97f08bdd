"""What native calls compute: scheme, stepper and static fields; how many steps one sweep takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import numpy as np

from ...ocean.scheme import Scheme
from ...ocean.timestep import Method, RungeKutta
from ...parallel import ffi_libraries
from . import library_unsupported_reason, load_foreign_calls
from .generate import round_up
from .graph import evaluate, leaf_names
from .step_library import StepRequest
from .trace import MASKS_ON_WATER, kinds_of, lengths_of, scalar_names

#: Columns per flag, as in pass_arguments.h: as many as the longest vector has numbers; the row padding is a multiple.
GROUP_COLUMNS = 16
#: The mask bits of a cell without land around it, as in `GeneratedStep.static_of` and in pass_arguments.h (ALL_WATER).
ALL_WATER_BITS = 1 + 2 + 4 + 8 * 4
#: Size above which the fields of a block do not stay in the cache, bytes.
CACHE_BYTES = 32 * 2**20
#: Steps per sweep where several are faster than one, that is, where the fields do not stay in the cache.
MAX_STEPS_PER_SWEEP = 4


def register() -> None:
    """Register the foreign calls with JAX. ImportError: they cannot be used."""
    if reason := library_unsupported_reason():
        raise ImportError(
            f"the native step cannot be used: {reason}; {ffi_libraries.BUILD_COMMANDS}, or choose the executor xla"
        )
    library = load_foreign_calls().library
    for name in ("swmodel_run_pass", "swmodel_put", "swmodel_get", "swmodel_land_flags", "swmodel_drying_flags"):
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(library, name)), platform="cpu")


def has_several_passes(method, drying: bool) -> bool:
    """Whether a step passes over memory more than once, so that a sweep cannot take several steps."""
    return drying or isinstance(method, RungeKutta)


def choose_steps_per_sweep(min_block_shape, halo_width: int, method, itemsize: int, drying: bool) -> int:
    """Steps per sweep: four if the smallest block exceeds the cache and has room for the halo of four steps; or fewer.

    That block decides, so that all ranks agree. Times per step, ms, with one and four steps per sweep (ab2, float32):
    at 3600 x 1800 6.63 and 6.18 on one rank of two threads, 7.18 and 6.01 on two ranks; at 1800 x 900 1.44 and 1.40; at
    720 x 360 0.251 and 0.259. Six steps are no faster than four. Each stage of a Runge-Kutta method is a separate call.
    With drying each step must first find out where the sea is smooth.
    """
    ny, nx = min_block_shape
    n_bytes = 3 * (1 + method.weight_and_state_counts[1]) * ny * nx * itemsize
    if has_several_passes(method, drying) or n_bytes <= CACHE_BYTES:
        return 1
    return max(1, min(MAX_STEPS_PER_SWEEP, min(ny, nx) // halo_width))


@jax.tree_util.register_dataclass
@dataclass
class StaticInputs:
    """The constant inputs of the calls during a run; `kinds` (`trace.kinds_of`) is compiled into the step."""

    kinds: tuple = field(metadata={"static": True})
    scalars: dict[str, Any]
    slip: Any
    row_statics: Any
    statics: Any
    mask_bits: Any
    depth: Any = None  # m, padded like `statics`; only with drying


class GeneratedStep(NamedTuple):
    """The generated step of one scheme and stepper, and how it is called."""

    scheme: Scheme
    method: Method
    static_halo: int  # rows and columns of the static fields around the block
    #: Steps per call; in the native step more than one only if a step has a single pass.
    steps_per_sweep: int = 1
    threads: int = 0  # largest number of threads; 0: all of XLA's pool
    derivative: tuple[str, ...] = ()  # this and the next: see `generate.generate`
    controls: tuple[str, ...] = ()
    rotates_planes: bool = True  # whether fields may change their planes from step to step: `Program.planes_after`
    min_row_padding: int = 0  # smallest `row_padding`, for steps that share a memory

    def static_of(self, grid, params, shape, xp=np) -> StaticInputs:
        """The Grid and the Params of a block for the calls; masks are packed into one byte per cell.

        Args:
            grid, params: their fields have a halo of `static_halo` cells.
            shape: rows and columns of the block.
            xp: numpy, or jax.numpy for traced arrays.
        """
        kinds, dtype = kinds_of(grid, params), grid.depth.dtype
        code = self.step_code(kinds, dtype)
        fields_by_name = {"f": grid.f, "depth": grid.depth, **lengths_of(grid), **params}
        scalars = {name: fields_by_name[name] for name in scalar_names(kinds)}
        values = {name: fields_by_name[name] for name, kind in kinds if kind != "number"}
        values |= {name: getattr(grid, name) for name in MASKS_ON_WATER}
        rows, columns = size = [length + 2 * self.static_halo for length in shape]
        parts = evaluate(code.static_refs, values, scalars, xp)
        has_water = grid.corner_weight > 0
        corner_kind = xp.where(has_water, xp.rint(4 / xp.where(has_water, grid.corner_weight, 1)), 0)
        corner_kind = xp.where((grid.slip == 0) & (corner_kind > 0) & (corner_kind < 4), corner_kind + 4, corner_kind)
        mask_bits = grid.wet + 2 * grid.open_u + 4 * grid.open_v + 8 * corner_kind
        mask_bits = (mask_bits + 64 * grid.open_boundary_u + 128 * grid.open_boundary_v).astype(np.uint8)
        # The slip of coasts is the largest at corners that are not interior, because slip is 0 beside open boundaries.
        boundary_slip = xp.max(xp.where(grid.corner_weight != 1, grid.slip, 0))
        padding = self._static_padding(code)
        depth = {"depth": grid.depth}
        return StaticInputs(
            kinds,
            scalars,
            boundary_slip.reshape(1).astype(dtype),
            stack_fields(parts, code.row_statics, (rows, 1), ((0, 0), (0, 0)), dtype, xp),
            stack_fields(parts, code.statics, size, padding, dtype, xp),
            xp.pad(xp.broadcast_to(mask_bits, (rows, columns)), padding, mode="edge"),
            stack_fields(depth, ["depth"], size, padding, dtype, xp)[0] if self.scheme.drying else None,
        )

    def static_indices_of(self, kinds, dtype, fields) -> tuple[int, ...] | None:
        """Indices of the `statics` that depend on the Params `fields`.

        None: one of these statics also depends on other fields, or a row static depends on these Params.
        """
        code, fields = self.step_code(kinds, dtype), set(fields)
        leaves_by_static = {name: leaf_names(code.static_refs[name]) for name in (*code.statics, *code.row_statics)}
        affected = [name for name, leaves in leaves_by_static.items() if leaves & fields]
        if any(leaves_by_static[name] - fields or name in code.row_statics for name in affected):
            return None
        return tuple(code.statics.index(name) for name in affected)

    def static_fields_at(self, indices, kinds, params: dict, shape):
        """The static fields at the `indices` of `static_indices_of`, from varying Params: [n, rows, columns], NumPy."""
        dtype = next(field.dtype for field in params.values() if field.dtype.kind == "f")
        code = self.step_code(kinds, dtype)
        names, size = [code.statics[index] for index in indices], [length + 2 * self.static_halo for length in shape]
        parts = evaluate({name: code.static_refs[name] for name in names}, params, {}, np)
        return stack_fields(parts, names, size, self._static_padding(code), dtype, np)

    def request(self, kinds, dtype) -> StepRequest:
        return StepRequest(
            self.scheme, self.method, kinds, str(dtype), self.derivative, self.controls, self.rotates_planes
        )

    def step_code(self, kinds, dtype):
        return self.request(kinds, dtype).step_code

    def row_padding(self, code) -> int:
        """Columns on either side of each row, for halos and for vectors that extend beyond the block."""
        columns_beyond = max((s.east_vectors + 3) * GROUP_COLUMNS + s.west_reach for s in code.schedules)
        return max(self.min_row_padding, round_up(self.static_halo + columns_beyond, GROUP_COLUMNS))

    def _static_padding(self, code):
        return (0, 0), (self.row_padding(code) - self.static_halo,) * 2


def stack_fields(parts: dict, names, size, padding, dtype, xp):
    """Parts by name as one array [n, rows, columns], each broadcast to `size` and padded; removes them from `parts`.

    Without names the array has one element, 0.
    """
    if not names:
        return xp.zeros((1, 1, 1), dtype)
    padded_fields = (xp.pad(xp.broadcast_to(parts.pop(name), tuple(size)), padding, mode="edge") for name in names)
    if xp is not np:
        return xp.stack(list(padded_fields)).astype(dtype)
    shape = (length + sum(more) for length, more in zip(size, padding, strict=True))
    stacked = np.empty((len(names), *shape), dtype)  # filled one by one, which needs less memory than a list of all
    for number, values in enumerate(padded_fields):
        stacked[number] = values
    return stacked
