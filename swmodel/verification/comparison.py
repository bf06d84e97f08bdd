"""Comparisons with expected values, the registry of verification tests, and common helpers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..config import Config, load
from ..model.simulation import Simulation
from ..ocean.coordinates import points


@dataclass(frozen=True)
class Comparison:
    """A number computed by the model, and its expected value.

    Attributes:
        quantity: the description of the number, with its unit.
        measured, expected: the value computed by the model, and the expected one.
        tolerance: the largest difference that passes, in the same unit.
    """

    quantity: str
    measured: float
    expected: float
    tolerance: float

    @property
    def passed(self) -> bool:
        """Whether the difference is within the tolerance; a value that is not finite fails."""
        return bool(abs(self.measured - self.expected) <= self.tolerance)

    @property
    def fraction_of_tolerance(self) -> float:
        return abs(self.measured - self.expected) / self.tolerance


@dataclass(frozen=True)
class VerificationTest:
    """A registered test of the model against an analytic solution, an invariant, a measurement or a published table.

    Attributes:
        name: the NAME of `swmodel verify NAME`.
        summary: what the test shows, in one line.
        source: the publication or theorem that gives the expected values.
        quick: whether `swmodel verify --quick` runs it.
        needs: the optional package that the test needs, or "".
        compute: the function that runs the test and yields its Comparisons.
    """

    name: str
    summary: str
    source: str
    quick: bool
    needs: str
    compute: Callable[[], Iterator[Comparison]]


#: All tests by name, in the order in which they are registered.
VERIFICATION_TESTS: dict[str, VerificationTest] = {}


def verification_test(source: str, quick: bool = True, needs: str = "") -> Callable:
    """A decorator that adds a function to VERIFICATION_TESTS; the first line of its docstring is the summary."""

    def register(function: Callable) -> Callable:
        name = function.__name__
        VERIFICATION_TESTS[name] = VerificationTest(
            name, (function.__doc__ or "").splitlines()[0].rstrip("."), source, quick, needs, function
        )
        return function

    return register


def simulate(case: Any, overrides: dict | None = None, seconds: float = 0.0, fields: dict | None = None) -> Simulation:
    """A Simulation of a case in double precision, advanced to the first step at or after `seconds` of model time."""
    config = load(case, {"run.dtype": "float64", **(overrides or {})}, environ={}, fields=fields)
    simulation = Simulation(config)
    simulation.advance(math.ceil(seconds / simulation.dt - 1e-6))
    return simulation


def simulate_flat_bottom(nx: int, ny: int, dx: float, fields: dict, seconds: float = 0.0, **overrides) -> Simulation:
    """A Simulation on a plane with square cells, by default doubly periodic, with a flat floor, and without rotation.

    Args:
        dx: size of the cells, m.
        fields: {name: function of the points, and of the time, s, if it varies} of initial state, depth and forcing.
        seconds: model time to advance to, s.
        overrides: changes of the configuration, section__key=value.
    """
    grid = {"grid.nx": nx, "grid.ny": ny, "grid.dx": dx, "grid.dy": dx, "case.speed": 0.0, "physics.f0": 0.0}
    options = {name.replace("__", "."): value for name, value in overrides.items()}
    time_step = {} if "time.dt" in options else {"time.cfl": 0.5}
    return simulate("inertial", {**grid, **time_step, **options}, seconds, fields)


def grid_points(config: Config, location: str = "centre") -> Any:
    return points(config.grid, location, range(config.grid.ny), range(config.grid.nx))


def refine_grid(grid: dict, factor: int) -> dict:
    """Overrides of the configuration for a grid of the same domain with `factor` times the cells along each axis."""
    cells = {f"grid.{key}": grid[key] * factor for key in ("nx", "ny")}
    return cells | {f"grid.{key}": grid[key] / factor for key in ("dx", "dy")}


def convergence_order(coarse: float, fine: float) -> float:
    """The order of an error that falls from `coarse` to `fine` when the spacing is halved."""
    return math.log2(coarse / fine)


def max_abs(field: Any) -> float:
    return float(np.abs(field).max())


def root_mean_square(field: Any) -> float:
    return float(np.sqrt(np.mean(np.square(field))))
