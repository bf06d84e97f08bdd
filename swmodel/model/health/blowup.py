"""The report of a run that blew up: where its state cannot be used, in words, and blowup.nc.

All functions are called by all processes together; `health` is the `verdict.Health` of the model.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...errors import FilesError
from ...files.gather import of_member
from ...files.output import Output
from ...files.restart.folder import candidates
from ...files.run_folder import BLOWUP
from ...ocean.state import State
from ...ocean.table import WRITABLE, row_of
from .measures import CELLS, blocks_of

#: XLA and NumPy round otherwise: what is just above a limit there need not be so here.
ALMOST = 0.999


def state_of(health, run: int) -> State:
    """The state of a run on this process's block, [y, x]; [0, x] if the process has no part of the run."""
    state = health.model.state
    return state._make(of_member(field, health.transport.block, run) for field in state)


def bad_cell(health, run: int) -> str:
    """The value in the domain's first cell with which the run cannot go on, in words."""
    state, domain, block, dt = state_of(health, run), health.domain, health.transport.block, health.config.time.dt
    parts = [
        tuple(np.broadcast_to(part.on(shape), shape) for part in (grid.wet, grid.dx.centre, grid.dy.centre))
        for grid, shape in blocks_of(domain)
    ]
    wet, dx, dy = (part[: len(state.h)] for part in domain.transport.join(parts))
    found = state._asdict()
    limits = {"u": ALMOST * CELLS * dx / dt, "v": ALMOST * CELLS * dy / dt}
    with np.errstate(all="ignore"):
        for name, field in state._asdict().items():
            if row_of(name).content:
                found[name] = np.where(wet > 0, field / state.h, 0)
                limits[name] = ALMOST * health.most[run]
        bad = {name: ~np.isfinite(field) | (np.abs(field) > limits.get(name, np.inf)) for name, field in found.items()}
        bad["h"] |= (state.h <= 0) & (wet > 0)
    cells = np.argwhere(np.stack(list(bad.values()), axis=-1))  # row, column, field
    nx, fields = health.config.grid.nx, len(state)
    mine = everywhere = fields * nx * health.config.grid.ny
    if len(cells):
        row, column, number = map(int, cells[0])
        mine = ((block.y.start + row) * nx + block.x.start + column) * fields + number
    first = int(health.transport.reduce(np.asarray(mine, np.int64), "min"))
    value = float(found[state._fields[number]][row, column]) if mine == first < everywhere else 0.0
    value = float(health.transport.reduce(np.asarray(value, np.float64), "sum"))
    (row, column), name = divmod(first // fields, nx), state._fields[first % fields]
    entry = row_of(row_of(name).content or name)
    return f"{entry.name} is {value:.6g} {entry.units}".removesuffix(" 1") + f" at row {row}, column {column}"


def remains(health, run: int) -> str:
    """Write blowup.nc, and say which files the run leaves."""
    if health.directory is None:
        return ""
    path = Path(health.directory) / BLOWUP
    try:
        save(health, path, run)
        words = f"; the state is in {path}"
    except FilesError as error:
        words = f"; the state could not be written: {error}"
    words, restarts = health.transport.broadcast((words, candidates(health.directory)))
    return words + (f"; last good restart: {restarts[0]}" if restarts else "")


def save(health, path, run: int) -> None:
    """Write the state of a run, as far as possible, as an output file of one record."""
    config, model, state = health.config, health.model, state_of(health, run)
    fields = {name: field for name, field in state._asdict().items() if name in WRITABLE}
    with np.errstate(all="ignore"):
        for term in health.domain.scheme.acting:
            fields |= {name: field(state) for name, field in term.derived.items()}
    options = config.output.model_copy(update={"fields": tuple(fields), "means": (), "maxima": (), "arrival": None})
    with Output(path, config.model_copy(update={"output": options}), health.transport) as output:
        output.write(model.step, model.time, fields, member=run)


def in_which(marked) -> str:
    """In which members of an ensemble, if any of [runs] are marked, in words."""
    found = [str(number) for number in np.flatnonzero(marked)] if len(marked) > 1 else []
    return f" in member{'s' * (len(found) > 1)} {', '.join(found)}" if found else ""
