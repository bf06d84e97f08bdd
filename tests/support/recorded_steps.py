"""The graph of a step, from which C++ and adjoint are generated, evaluated by NumPy in milliseconds per step.

Fields beyond the declared halo, and static fields beyond the declared margin, are NaN, so that a step that reads them
gives a wrong result.
"""

import numpy as np

from swmodel.executors.native.graph import evaluate
from swmodel.executors.native.trace import MASKS_ON_WATER, Tracing, kinds_of, lengths_of, scalar_names, stepper_weights
from swmodel.ocean.state import Carry
from swmodel.parallel.decomposition import block_of_rank
from swmodel.setup.setup import rows_and_columns, setup_of


class RecordedSteps:
    def __init__(self, config):
        self.setup = setup_of(config)
        self.scheme, self.method = self.setup.scheme, self.setup.method
        self.block = block_of_rank(0, (1, 1), *self.setup.shape)
        self.halo = self.scheme.halo_width
        self.padding = self.scheme.margin + 2  # cells around the domain
        self.records = self.setup.varying_coefficients()
        self.dt = np.asarray(self.setup.dt, self.setup.dtype)

    def step_inputs(self, step: int) -> dict:
        """The inputs of a step besides state and memory: fields [y, x] padded on all sides, and numbers."""
        grid = self.setup.grid(self.block, self.padding)
        varying = self.setup.varying_params(self.records, self.block, self.padding, step)
        params = self.setup.params(self.block, self.padding, lambda *_: varying)
        self.kinds = kinds_of(grid, params)
        given = {"f": grid.f, "depth": grid.depth, **lengths_of(grid), **params}
        given |= stepper_weights(self.method, np.int32(step), self.dt)
        given |= {name: getattr(grid, name) for name in MASKS_ON_WATER}
        return {name: self.with_nan_beyond(field, self.scheme.margin) for name, field in given.items()}

    def with_nan_beyond(self, field, width: int):
        """A field with NaN farther than `width` cells from the domain; numbers are unchanged."""
        beyond = self.padding - width
        inner = tuple(slice(beyond, -beyond) if n > 1 else slice(None) for n in np.shape(field))
        if max(np.shape(field), default=1) == 1 or field.dtype.kind != "f":
            return field
        poisoned = np.full_like(field, np.nan)
        poisoned[inner] = field[inner]
        return poisoned

    def programs(self, step: int, given: dict):
        """The recorded passes of a step, and the values of its numbers."""
        numbers = {name: given[name] for name in scalar_names(self.kinds)}
        numbers |= {name: value for name, value in given.items() if name.startswith("weight")}
        tracing = Tracing(self.scheme, self.kinds, numbers, self.setup.dtype)
        return tracing.programs(self.method, np.asarray(step, np.int32)), tracing.graph.values

    def with_halo(self, field):
        """A field with its halo; both axes are periodic, as masks close those that are not."""
        around = zip(rows_and_columns(self.block, self.padding), self.setup.shape, strict=True)
        rows, columns = (at % cells for at, cells in around)
        return self.with_nan_beyond(field[np.ix_(rows, columns)], self.halo)

    def start(self) -> Carry:
        state = self.setup.state(self.block)
        return Carry(state, self.method.initial_memory(state), 0)

    def advance(self, carry: Carry, steps: int) -> Carry:
        inner = (slice(self.padding, -self.padding),) * 2
        prefixes = ("", *(f"memory{number}." for number in range(len(carry.memory))))
        for step in range(carry.step, carry.step + steps):
            groups = zip(prefixes, (carry.state, *carry.memory), strict=True)
            fields = {prefix + name: field for prefix, group in groups for name, field in group._asdict().items()}
            given = self.step_inputs(step)
            programs, values = self.programs(step, given)
            for program in programs:
                whole = {name: self.with_halo(field) for name, field in fields.items()}
                with np.errstate(all="ignore"):  # values on land, which no cell of water reads, may be invalid
                    found = evaluate(program.outputs, given | whole, values, np)
                shape = next(iter(whole.values())).shape
                fields |= {name: np.broadcast_to(field, shape)[inner] for name, field in found.items()}
            state, *memory = (type(carry.state)(*(fields[p + n] for n in carry.state._fields)) for p in prefixes)
            carry = Carry(state, tuple(memory), step + 1)
        return carry
