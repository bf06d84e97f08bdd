"""The variables of the interface: what they are, and their values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..errors import UsageError, suggest
from ..files.output.static import evaluate
from ..model.dataset import indices
from ..model.domain import whole
from ..setup.fields.field import local
from .grids import LOCATIONS, Grids, filled
from .names import Item


class Pointer(NamedTuple):
    """The memory that a caller has, and its values when the model last read or wrote it."""

    memory: np.ndarray
    known: np.ndarray


class Values(Grids):
    """The methods about variables, whose values are flat arrays, rows from south to north.

    Values are those of this process's block. On land h is the resting depth, and all else is zero.

    UsageError: there is no such variable, it is no input, or an array has another size.
    """

    _items: dict[str, Item]
    _held: dict[str, np.ndarray]
    _pointers: dict[str, Pointer]

    @property
    def _variables(self) -> dict[str, Item]:
        """The variables of the run. UsageError: there is none yet."""
        return self._items if self.simulation else {}

    def _item(self, name: str) -> Item:
        if name not in self._variables:
            raise UsageError(f"no variable {name!r:.80}; {suggest(str(name), self._variables)}")
        return self._variables[name]

    def get_input_item_count(self) -> int:
        return len(self.get_input_var_names())

    def get_output_item_count(self) -> int:
        return len(self.get_output_var_names())

    def get_input_var_names(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(name for name, item in self._variables.items() if item.settable)

    def get_output_var_names(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(name for name, item in self._variables.items() if item.readable)

    def get_var_grid(self, name: str) -> int:
        return LOCATIONS.index(self._item(name).location)

    def get_var_location(self, name: str) -> str:
        self._item(name)
        return "node"

    def get_var_type(self, name: str) -> str:
        return self._item(name).dtype

    def get_var_units(self, name: str) -> str:
        return self._item(name).units

    def get_var_itemsize(self, name: str) -> int:
        return np.dtype(self._item(name).dtype).itemsize

    def get_var_nbytes(self, name: str) -> int:
        return self.get_var_itemsize(name) * self.get_grid_size(self.get_var_grid(name))

    def _values(self, name: str) -> np.ndarray:
        """The values of a variable, flat."""
        item, model = self._item(name), self.simulation
        rows, columns = indices(model.block)
        if item.kind == "forcing":
            values = self._held[item.field][np.ix_(rows, columns)]
        elif item.kind == "constant":
            values = evaluate(model.config, item.field, rows, columns) * (-1.0 if item.field == "depth" else 1.0)
        else:
            values = model.field(item.field)
        return np.broadcast_to(values, model.block.shape).astype(item.dtype).ravel()

    def _set(self, name: str, values: np.ndarray) -> None:
        """Set an input variable to values [y, x] of this block."""
        field, model = self._items[name].field, self.simulation
        if self._items[name].kind == "forcing":
            self._held[field][...] = whole(values, name, model.transport)
            model.renew_forcing()
        elif field == "h":
            model.state = model.state._replace(h=values.astype(model.config.run.dtype))
        else:
            model.set(**{"eta" if field == "sea_level" else field: local(values)})

    def _take_pointers(self) -> None:
        """Set the input variables whose memory a caller has changed, on any process."""
        mine = [
            name
            for name, (memory, known) in self._pointers.items()
            if self._items[name].settable and not np.array_equal(memory, known)
        ]
        everyone = self.simulation.transport.allgather(mine) if self._pointers else []
        changed = {name: self._pointers[name].memory.copy() for names in everyone for name in names}
        for name, values in changed.items():
            self._set(name, values.reshape(self.simulation.block.shape))
        if changed:
            self._refresh_pointers()

    def _refresh_pointers(self) -> None:
        """Write the present values into the memory that callers have."""
        for name, (memory, known) in self._pointers.items():
            memory[:] = known[:] = self._values(name)

    def get_value(self, name: str, dest: np.ndarray) -> np.ndarray:
        self._take_pointers()
        return filled(dest, self._values(name))

    def get_value_ptr(self, name: str) -> np.ndarray:
        """Memory that has the present values of a variable after each call; that of outputs is read-only.

        The state itself lies where JAX has it. Before the next step, or another value is read, the model takes what the
        caller has written here. The thickness and the level of the water are one field: write one of both.
        """
        self._item(name)
        if name not in self._pointers:
            self._take_pointers()
            values = self._values(name)
            self._pointers[name] = Pointer(values, values.copy())
        found = self._pointers[name].memory.view()
        found.flags.writeable = self._items[name].settable
        return found

    def get_value_at_indices(self, name: str, dest: np.ndarray, inds: np.ndarray) -> np.ndarray:
        self._take_pointers()
        return filled(dest, self._values(name)[self._within(name, inds)])

    def set_value(self, name: str, src: Any) -> None:
        if not self._item(name).settable:
            raise UsageError(f"{name} is no input variable; they are {', '.join(self.get_input_var_names())}")
        self._take_pointers()
        values = filled(np.empty(self.simulation.block.shape), src)
        self._set(name, values)
        self._refresh_pointers()

    def set_value_at_indices(self, name: str, inds: np.ndarray, src: Any) -> None:
        self._take_pointers()
        values = self._values(name)
        places = self._within(name, inds)
        values[places] = filled(np.empty(places.shape, values.dtype), src)
        self.set_value(name, values)

    def _within(self, name: str, inds: Any) -> np.ndarray:
        """The indices. UsageError: one is outside the grid."""
        places, size = np.asarray(inds), self.get_grid_size(self.get_var_grid(name))
        if places.size and not (places.min() >= 0 and places.max() < size):
            raise UsageError(f"{name}: an index is outside 0 to {size - 1}")
        return places
