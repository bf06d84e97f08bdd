"""A run as `Health` looks at it. `ensemble.health.Many` has the same methods, for the members that a process has."""

from __future__ import annotations

import numpy as np

from ...config.extremes import damping
from ...files.output import Output
from ...ocean.grid import as_patches
from ...ocean.state import State
from ...ocean.table import WRITABLE
from ...ocean.terms import TERMS
from ...parallel.transport.programs import jitted


class One:
    """The run of a Simulation.

    Attributes:
        here: which of all runs the process has a part of, a slice.
        domain: scheme, transport, grid and params of the fields of a run.
        config: of a run, with the coefficients that ask for the smallest time step.
        remedy: what helps besides a smaller time step, in words.
        remedy_at_start: what helps where the state at the start cannot be used.
    """

    here = slice(0, 1)
    remedy = " or more friction"
    remedy_at_start = ""

    def __init__(self, simulation):
        self.simulation = self.domain = simulation
        self.config, self.transport = simulation.config, simulation.transport

    def stress(self) -> np.ndarray:
        """The largest wind stress on this process's part of its runs, Pa, [runs here]."""
        return np.array([max(largest_stress(params, shape) for _, params, shape in blocks_of(self.domain))])

    def acceleration(self) -> float:
        """The largest acceleration by forces that act on all water alike, m s-2."""
        return largest_acceleration(self.domain)

    def friction(self) -> float:
        """The largest rate at which the terms that smooth damp the shortest waves on this process's part, s-1."""
        return largest_friction(self.domain)

    def compile(self, make, *parts):
        """The function make(*parts) of State and Static on a block, jitted; to be given to `measure`."""
        return jitted(make, *parts)

    def measure(self, program, static) -> np.ndarray:
        """What the program finds in the blocks of this process, [runs here, blocks, Measures]."""
        return np.stack(self.transport.pieces(program(self.simulation.carry.state, static)))[None]

    def state(self, run: int) -> State:
        """The state of a run on this process's block, [1, y, x]; [0, y, x] where the process has nothing of it."""
        return self.simulation.state._make(field[None] for field in self.simulation.state)

    def save(self, path, run: int) -> None:
        """Write the state of a run as a file of output; called by all processes together.

        Raises:
            FilesError: it cannot be written, on rank 0.
        """
        write_state(path, self.domain, self.simulation, self.simulation.state._asdict())

    def among(self, marked) -> str:
        """In which runs, where some are marked, [runs], in words: there is one only."""
        return ""

    def of(self, marked) -> str:
        """Of which run, the first that is marked, in words, where that is not said by `among`."""
        return ""


def blocks_of(domain):
    """For each block of this process: Grid and Params, NumPy arrays in Patches, and its shape."""
    width = domain.scheme.width
    pieces = domain.transport.pieces((domain.grid, domain.params), width + 1)
    for fields, block in zip(pieces, domain.transport.blocks, strict=True):
        yield *(as_patches(each, width) for each in fields), block.shape


def largest_stress(params, shape: tuple[int, int]) -> float:
    """The largest wind stress of Params in Patches on a block of this shape, Pa."""
    if "wind_x" not in params:
        return 0.0
    return float(np.hypot(params["wind_x"].on(shape), params["wind_y"].on(shape)).max())


def largest_acceleration(domain) -> float:
    """See `One.acceleration`."""
    found = [TERMS[name].acceleration for name in domain.scheme.terms if TERMS[name].acceleration]
    return sum(acceleration(domain.config) for acceleration in found)


def largest_friction(domain, factors=None) -> float:
    """See `One.friction`.

    Args:
        factors: {name: what a coefficient is multiplied by}.
    """
    terms, found = [TERMS[name] for name in domain.scheme.terms], 0.0
    for _, params, shape in blocks_of(domain):
        values = {name: value.on(shape) * (factors or {}).get(name, 1) for name, value in params.items()}
        found = max(found, float(np.max(damping(terms, values, domain.config.grid, smooths=True))))
    return found


def write_state(path, domain, model, fields: dict) -> None:
    """Write the fields of a State, of those that can be, as a file of output with one record, at the model's step.

    Raises:
        FilesError: it cannot be written.
    """
    fields = {name: field for name, field in fields.items() if name in WRITABLE}
    options = domain.config.output.model_copy(update={"fields": tuple(fields), "means": ()})
    with Output(path, domain.config.model_copy(update={"output": options}), domain.transport) as output:
        output.write(model.step, model.time, fields)
