"""The report of a run that blew up: where its state cannot be used, in words, and blowup.nc."""

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
from .measures import blocks_of


class Blowup:
    """The present states of runs, one of which has blown up; each method is called by all processes together.

    Args:
        runs: the `verdict.Runs` of the model.
        directory: the run folder; None: no file is written.
    """

    def __init__(self, model, runs, directory):
        self.model, self.runs, self.directory = model, runs, directory
        self.transport, self.grid = model.transport, runs.config.grid

    def state(self, run: int) -> State:
        """The state of a run on this process's block, [y, x]; [0, x] if the process has no part of the run."""
        state = self.model.state
        return state._make(of_member(field, self.transport.block, run) for field in state)

    def unusable_value(self, run: int, of: str = "") -> str:
        """The value in the first cell that is not finite or has no thickness, and `of` which run, in words."""
        state = self.state(run)
        bad = type(state)._make(~np.isfinite(field) for field in state)
        with np.errstate(invalid="ignore"):
            bad = bad._replace(h=bad.h | ((state.h <= 0) & (self.wet()[: len(state.h)] > 0)))
        return self.describe(*self.first(state, np.stack(bad)), of)

    def fastest(self, run: int) -> str:
        """The velocity component that is largest in size, in words."""
        state = self.state(run)
        nothing = dict.fromkeys(state._fields, np.zeros_like(state.h))
        sizes = np.stack(list((nothing | {"u": np.abs(state.u), "v": np.abs(state.v)}).values()))
        largest = self.transport.reduce(np.asarray(sizes.max(initial=0)), "max")
        return self.describe(*self.first(state, sizes == largest))

    def densest(self, run: int, of: str = "") -> str:
        """The concentration that is largest in size, and `of` which run, in words."""
        state, wet = self.state(run), self.wet()
        contents = {name: row_of(name).content for name in state._fields if row_of(name).content}
        found = {name: np.where(wet[: len(state.h)] > 0, getattr(state, name) / state.h, 0) for name in contents}
        sizes = [np.abs(found.get(name, np.zeros_like(state.h))) for name in state._fields]
        largest = self.transport.reduce(np.asarray(np.max(sizes, initial=0)), "max")
        name, value, index = self.first(state._replace(**found), np.stack(sizes) == largest)
        return self.describe(contents[name], value, index, of)

    def first(self, state: State, marked: np.ndarray) -> tuple[str, float, int]:
        """Field, value and index of the domain's first marked cell; `marked`: [field, y, x] on this process."""
        block, nx, fields = self.transport.block, self.grid.nx, len(state)
        everywhere = fields * nx * self.grid.ny
        cells = np.argwhere(np.moveaxis(marked, 0, 2))  # row, column, field
        mine = everywhere
        if len(cells):
            row, column, number = map(int, cells[0])
            mine = ((block.y.start + row) * nx + block.x.start + column) * fields + number
        found = int(self.transport.reduce(np.asarray(mine, np.int64), "min"))
        value = 0.0
        if mine == found < everywhere:
            value = float(state[number][row, column])
        value = float(self.transport.reduce(np.asarray(value, np.float64), "sum"))
        return state._fields[found % fields], value, found // fields

    def wet(self) -> np.ndarray:
        """1 on water and 0 on land, NumPy array [y, x] of this process's part."""
        domain = self.runs.domain
        wet = [np.broadcast_to(grid.wet.on(shape), shape) for grid, _, shape in blocks_of(domain)]
        return domain.transport.join(wet)

    def own(self) -> str:
        """A hint at the user's own terms, which may have caused it, in words."""
        names = ", ".join(term.name for term in self.runs.domain.scheme.own)
        return f", or see what {names} gives" if names else ""

    def describe(self, name: str, value: float, index: int, of: str = "") -> str:
        """The value of a field in a cell of the whole domain, and `of` which run, in words."""
        row, column = divmod(index, self.grid.nx)
        units = f" {row_of(name).units}".removesuffix(" 1")
        return f"{name}{of} is {value:.6g}{units} at row {row}, column {column}"

    def remains(self, run: int, of: str) -> str:
        """Write blowup.nc, and say which files the run leaves."""
        if self.directory is None:
            return ""
        path = Path(self.directory) / BLOWUP
        try:
            self.save(path, run)
            words = f"; the state{of} is in {path}"
        except FilesError as error:
            words = f"; the state could not be written: {error}"
        words, restarts = self.transport.broadcast((words, candidates(self.directory)))
        return words + (f"; last good restart: {restarts[0]}" if restarts else "")

    def save(self, path, run: int) -> None:
        """Write the state of a run, as far as possible, as an output file of one record."""
        config = self.runs.domain.config
        state, terms = self.state(run), self.runs.domain.scheme.acting
        fields = {name: field for name, field in state._asdict().items() if name in WRITABLE}
        with np.errstate(all="ignore"):
            fields |= {name: field(state) for term in terms for name, field in term.derived.items()}
        options = config.output.model_copy(update={"fields": tuple(fields), "means": (), "maxima": (), "arrival": None})
        with Output(path, config.model_copy(update={"output": options}), self.transport) as output:
            output.write(self.model.step, self.model.time, fields, member=run)


def in_which(marked) -> str:
    """In which members of an ensemble, if any of [runs] are marked, in words."""
    found = [str(number) for number in np.flatnonzero(marked)] if len(marked) > 1 else []
    if not found:
        return ""
    return f" in member {found[0]}" if len(found) == 1 else f" in members {', '.join(found[:-1])} and {found[-1]}"


def of_which(marked) -> str:
    """Of which member, if several are marked: the first of them, in words."""
    return f" of member {np.argmax(marked)}" if marked.sum() > 1 else ""
