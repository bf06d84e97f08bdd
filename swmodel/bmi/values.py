"""The variables of the interface: their properties and their values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..errors import UsageError, suggest
from ..files.output.static import evaluate_static
from ..model.domain import gather_field
from ..setup.fields.python_fields import local
from ..setup.setup import rows_and_columns
from .grids import LOCATIONS, GridFunctions, copy_into
from .names import InterfaceVariable


class Pointer(NamedTuple):
    """The memory that a caller holds, and its values when the model last read or wrote this memory."""

    memory: np.ndarray
    last_values: np.ndarray


class VariableFunctions(GridFunctions):
    """The methods of the interface about variables.

    Values are flat arrays of this process's block, with rows from south to north. On land the thickness h is the
    resting depth, and all other variables that depend on the state are zero. Methods raise a UsageError if there is no
    model yet or no such variable, if the variable to set is not an input, if an array has another size, or if an index
    is outside the grid.
    """

    _variables_of_run: dict[str, InterfaceVariable]  # by standard name
    _forcing_values: dict[str, np.ndarray]  # [y, x] of the whole grid, by name of the coefficient
    _pointers: dict[str, Pointer]

    @property
    def _variables(self) -> dict[str, InterfaceVariable]:
        """The variables of the run, by standard name; a UsageError if there is no model yet."""
        return self._variables_of_run if self.simulation else {}

    def _variable(self, name: str) -> InterfaceVariable:
        if name not in self._variables:
            raise UsageError(f"no variable {name!r:.80}; {suggest(str(name), self._variables)}")
        return self._variables[name]

    def get_input_item_count(self) -> int:
        return len(self.get_input_var_names())

    def get_output_item_count(self) -> int:
        return len(self.get_output_var_names())

    def get_input_var_names(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(name for name, variable in self._variables.items() if variable.is_input)

    def get_output_var_names(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(name for name, variable in self._variables.items() if variable.is_output)

    def get_var_grid(self, name: str) -> int:
        return LOCATIONS.index(self._variable(name).location)

    def get_var_location(self, name: str) -> str:
        self._variable(name)
        return "node"

    def get_var_type(self, name: str) -> str:
        return self._variable(name).dtype

    def get_var_units(self, name: str) -> str:
        return self._variable(name).units

    def get_var_itemsize(self, name: str) -> int:
        return np.dtype(self._variable(name).dtype).itemsize

    def get_var_nbytes(self, name: str) -> int:
        return self.get_var_itemsize(name) * self.get_grid_size(self.get_var_grid(name))

    def _values(self, name: str) -> np.ndarray:
        """The current values of a variable on this block, as a flat array."""
        variable, simulation = self._variable(name), self.simulation
        rows, columns = rows_and_columns(simulation.block, 0)
        if variable.kind == "forcing":
            values = self._forcing_values[variable.field][np.ix_(rows, columns)]
        elif variable.kind == "constant":
            sign = -1.0 if variable.field == "depth" else 1.0
            values = evaluate_static(simulation.config, variable.field, rows, columns) * sign
        else:
            values = simulation.field(variable.field)
        return np.broadcast_to(values, simulation.block.shape).astype(variable.dtype).ravel()

    def _set_field(self, name: str, values: np.ndarray) -> None:
        """Set an input variable to values [y, x] of this block."""
        field, simulation = self._variables_of_run[name].field, self.simulation
        if self._variables_of_run[name].kind == "forcing":
            self._forcing_values[field][...] = gather_field(values, name, simulation.transport)
            simulation.renew_forcing()
        elif field == "h":
            simulation.state = simulation.state._replace(h=values.astype(simulation.config.run.dtype))
        else:
            simulation.set(**{"eta" if field == "sea_level" else field: local(values)})

    def _read_pointers(self) -> None:
        """Set the input variables for which a caller on any process has changed the memory."""
        changed_here = [
            name
            for name, (memory, last_values) in self._pointers.items()
            if self._variables_of_run[name].is_input and not np.array_equal(memory, last_values, equal_nan=True)
        ]
        changed_by_rank = self.simulation.transport.allgather(changed_here) if self._pointers else []
        changed = {name: self._pointers[name].memory.copy() for names in changed_by_rank for name in names}
        for name, values in changed.items():
            self._set_field(name, values.reshape(self.simulation.block.shape))
        if changed:
            self._write_pointers()

    def _write_pointers(self) -> None:
        """Write the current values into the memory that callers hold."""
        for name, (memory, last_values) in self._pointers.items():
            memory[:] = last_values[:] = self._values(name)

    def get_value(self, name: str, dest: np.ndarray) -> np.ndarray:
        self._read_pointers()
        return copy_into(dest, self._values(name))

    def get_value_ptr(self, name: str) -> np.ndarray:
        """Memory that holds the current values of a variable after each call; read-only unless this is an input.

        The memory is a copy, because JAX owns the state. The model reads what a caller has written into it before the
        next step, and before reading or setting other values. Thickness and sea level are the same field, so write only
        one of them.
        """
        self._variable(name)
        if name not in self._pointers:
            self._read_pointers()
            values = self._values(name)
            self._pointers[name] = Pointer(values, values.copy())
        view = self._pointers[name].memory.view()
        view.flags.writeable = self._variables_of_run[name].is_input
        return view

    def get_value_at_indices(self, name: str, dest: np.ndarray, inds: np.ndarray) -> np.ndarray:
        self._read_pointers()
        return copy_into(dest, self._values(name)[self._checked_indices(name, inds)])

    def set_value(self, name: str, src: Any) -> None:
        if not self._variable(name).is_input:
            raise UsageError(f"{name} is not an input variable; these are {', '.join(self.get_input_var_names())}")
        self._read_pointers()
        values = copy_into(np.empty(self.simulation.block.shape), src)
        self._set_field(name, values)
        self._write_pointers()

    def set_value_at_indices(self, name: str, inds: np.ndarray, src: Any) -> None:
        self._read_pointers()
        values = self._values(name)
        checked_indices = self._checked_indices(name, inds)
        values[checked_indices] = copy_into(np.empty(checked_indices.shape, values.dtype), src)
        self.set_value(name, values)

    def _checked_indices(self, name: str, inds: Any) -> np.ndarray:
        """The indices as an array; a UsageError if an index is not a whole number or is outside the grid."""
        indices, size = np.asarray(inds), self.get_grid_size(self.get_var_grid(name))
        if indices.size and not (indices.dtype.kind in "iu" and indices.min() >= 0 and indices.max() < size):
            raise UsageError(f"{name}: indices must be whole numbers from 0 to {size - 1}")
        return indices.astype(int)
