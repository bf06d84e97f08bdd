"""A step as the graph that C++ and adjoint are made from, evaluated by NumPy: no compiler, milliseconds a step.

Fields beyond the declared halo, and static fields beyond the declared margin, are NaN, so that a step which reads them
has a wrong answer.
"""

import numpy as np

from swmodel.executors.native.graph import evaluate
from swmodel.executors.native.trace import MASKS, Tracing, kinds_of, lengths_of, numbers_of, weights_of
from swmodel.ocean.state import Carry
from swmodel.parallel.decomposition import block
from swmodel.setup.setup import rows_and_columns, setup_of


class Recorded:
    """The steps of a configuration on its whole domain."""

    def __init__(self, config):
        self.setup = setup_of(config)
        self.scheme, self.method = self.setup.scheme, self.setup.method
        self.here = block(0, (1, 1), *self.setup.shape)
        self.halo = self.scheme.width
        self.around = self.scheme.margin + 2  # cells around the domain
        self.records = self.setup.records()
        self.dt = np.asarray(self.setup.dt, self.setup.dtype)

    def leaves(self, step: int) -> dict:
        """What a step reads besides the state and its memory: fields [y, x] with their surroundings, and numbers."""
        grid = self.setup.grid(self.here, self.around)
        varying = self.setup.varying(self.records, self.here, self.around, step)
        params = self.setup.params(self.here, self.around, lambda *_: varying)
        self.kinds = kinds_of(grid, params)
        given = {"f": grid.f, "depth": grid.depth, **lengths_of(grid), **params}
        given |= weights_of(self.method, np.int32(step), self.dt)
        given |= {name: getattr(grid, name) for name in MASKS}
        return {name: self.poisoned(field, self.scheme.margin) for name, field in given.items()}

    def poisoned(self, field, width: int):
        """A field with NaN further away from the domain than `width` cells; numbers as they are."""
        beyond = self.around - width
        inner = tuple(slice(beyond, -beyond) if n > 1 else slice(None) for n in np.shape(field))
        if max(np.shape(field), default=1) == 1 or field.dtype.kind != "f":
            return field
        poisoned = np.full_like(field, np.nan)
        poisoned[inner] = field[inner]
        return poisoned

    def programs(self, step: int, given: dict):
        """The recorded passes of a step, and the values of its numbers."""
        numbers = {name: given[name] for name in numbers_of(self.kinds)}
        numbers |= {name: value for name, value in given.items() if name.startswith("weight")}
        tracing = Tracing(self.scheme, self.kinds, numbers, self.setup.dtype)
        return tracing.programs(self.method, np.asarray(step, np.int32)), tracing.graph.values

    def extended(self, field):
        """A field with its halo; the domain is a ring for all that masks do not close."""
        rows, columns = (
            at % n for at, n in zip(rows_and_columns(self.here, self.around), self.setup.shape, strict=True)
        )
        return self.poisoned(field[np.ix_(rows, columns)], self.halo)

    def start(self) -> Carry:
        """The carry before the first step."""
        state = self.setup.state(self.here)
        return Carry(state, self.method.remember(state), 0)

    def advance(self, carry: Carry, steps: int) -> Carry:
        """The carry after some steps."""
        inner = (slice(self.around, -self.around),) * 2
        prefixes = ("", *(f"memory{number}." for number in range(len(carry.memory))))
        for step in range(carry.step, carry.step + steps):
            groups = zip(prefixes, (carry.state, *carry.memory), strict=True)
            fields = {prefix + name: field for prefix, group in groups for name, field in group._asdict().items()}
            given = self.leaves(step)
            programs, values = self.programs(step, given)
            for program in programs:
                whole = {name: self.extended(field) for name, field in fields.items()}
                with np.errstate(all="ignore"):  # numbers on land, which no cell of water reads
                    found = evaluate(program.outputs, given | whole, values, np)
                shape = next(iter(whole.values())).shape
                fields |= {name: np.broadcast_to(field, shape)[inner] for name, field in found.items()}
            state, *memory = (type(carry.state)(*(fields[p + n] for n in carry.state._fields)) for p in prefixes)
            carry = Carry(state, tuple(memory), step + 1)
        return carry
