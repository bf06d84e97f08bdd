"""Who computes a block: one class for each, made from (config, transport, grid, params), in the registry EXECUTORS.

Fields are given as `transport.make` gives them, Grid and Params with a margin of width + 1 cells.

start(state) -> carry         the carry before the first step
resume(carry) -> carry        a carry of a restart file, as the executor keeps it
advance(carry, n) -> carry    n steps; the carry given is used up. The first call, also of no steps, compiles
"""

from __future__ import annotations

from .native.executor import Native
from .reference.executor import NumpyReference
from .xla import Xla

EXECUTORS = {executor.name: executor for executor in (Xla, Native, NumpyReference)}
