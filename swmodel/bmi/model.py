"""The component `Model`: its control functions, its time, and the Simulation that it drives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import swmodel

from ..errors import UsageError
from ..setup import fields
from .names import FORCING_NAMES, variables_of_run
from .values import VariableFunctions


class Model(VariableFunctions):
    """A run with the Basic Model Interface 2.0: `initialize`, `update`, access to values by standard names, `finalize`.

        model = swmodel.bmi.Model(forcings=["wind_x", "wind_y"])
        model.initialize("config.toml")
        model.set_value("sea_surface_air_flow__x_component_of_shear_stress", stress)
        model.update()

    Under mpiexec each process has the block of its Simulation, and all processes call each method together. The Model
    writes no files, but `simulation` can, by `write_restart` or `dataset().to_netcdf`.

    Args:
        forcings: the inputs among wind_x, wind_y, u10, v10 and air_pressure. They start with the values of the
            configuration, or with zero if these vary in time, and keep the values that the caller set last.

    Attributes:
        simulation: the `swmodel.Simulation`; to read it before `initialize` or after `finalize` is a UsageError.
    """

    def __init__(self, forcings: Iterable[str] = ()):
        self.forcings = tuple(forcings)
        self._simulation: swmodel.Simulation | None = None
        if unknown := [name for name in self.forcings if name not in FORCING_NAMES]:
            raise UsageError(f"forcings: unknown {unknown[0]}; choose from {', '.join(FORCING_NAMES)}")

    @property
    def simulation(self) -> swmodel.Simulation:
        if self._simulation is None:
            raise UsageError("there is no model yet: call initialize first")
        return self._simulation

    def initialize(self, config_file: str) -> None:
        """Create the model from a configuration file or the name of a case; a ConfigError if it is invalid."""
        config = swmodel.load(config_file)
        run_config = config.model_copy(
            update={"input": config.input.model_copy(update=dict.fromkeys(self.forcings, ""))}
        )
        shape = config.grid.ny, config.grid.nx
        rows, columns = map(np.arange, shape)
        self._forcing_values = {
            name: np.broadcast_to(fields.evaluate(config, name, rows, columns), shape).copy() for name in self.forcings
        }
        functions = {name: constant_in_time(values) for name, values in self._forcing_values.items()}
        self._simulation = swmodel.Simulation(run_config, fields=functions)
        initial_fields = self._simulation.scheme.initial_fields
        self._variables_of_run = variables_of_run(self._simulation.config, initial_fields, self.forcings)
        self._pointers = {}

    def update(self) -> None:
        """Take a time step; a NumericalError if the solution blew up, at once or later, as in `Simulation.advance`."""
        self._advance(steps=1)

    def update_until(self, time: float) -> None:
        """Take time steps until a time, s, is reached or passed; a UsageError if the time is in the past."""
        self._advance(until=float(time))

    def _advance(self, **duration: Any) -> None:
        """Advance by `steps` or `until` a time, after reading what callers wrote into memory of `get_value_ptr`."""
        simulation = self.simulation
        self._read_pointers()
        simulation.advance(**duration)
        self._write_pointers()

    def finalize(self) -> None:
        self._simulation = None

    def get_component_name(self) -> str:
        return "swmodel"

    def get_current_time(self) -> float:
        return float(self.simulation.time)

    def get_start_time(self) -> float:
        return 0.0

    def get_end_time(self) -> float:
        """The end time of the configuration, s, or 0 if it has none; the model can be run beyond it."""
        return float((self.simulation.config.run.steps or 0) * self.simulation.dt)

    def get_time_units(self) -> str:
        return "s"

    def get_time_step(self) -> float:
        return float(self.simulation.dt)


def constant_in_time(values: np.ndarray) -> Callable[[Any, Any], np.ndarray]:
    """A function of points and time that returns, at any time, the values [y, x] of the whole grid at the points."""
    return lambda at, t: values[at.j, at.i]  # the parameter `t` marks a field that varies in time
