"""Check of a row: its state after five steps, compared with the reference.

The difference, relative to the largest thickness, speed or content of a tracer, may be at most MAX_ROUNDINGS roundings,
because sums in another order differ by a few roundings. In double precision, on the small grid, the limit is 1.4e-14.
The friction, which changes the jet by 1e-5 in five steps, is then correct to 1e-9.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..config import Config, load
from ..executors.reference import ReferenceModel
from ..setup.setup import setup_of
from .sweeps import BenchRow

CHECK_STEPS = 5
MAX_ROUNDINGS = 64
#: Columns and rows of the small grid of the check in double precision; both have many factors, for many layouts.
SMALL_GRID = (96, 48)
#: Islands, which cover a twentieth of the cells: x and y of the centre, and radius, as fractions of the domain.
ISLANDS = ((0.2, 0.3, 0.06), (0.6, 0.75, 0.1), (0.8, 0.2, 0.05), (0.45, 0.5, 0.03))


#: Fields of rows with `fields` (depth, m; mask; wind stress, Pa) as functions of x and y in fractions of the domain.
#: The time step of the jet is stable with this depth.
FIELD_FORMULAS = {
    "depth": lambda x, y: 100 + 40 * np.exp(-((x - 0.4) ** 2 + (y - 0.5) ** 2) / 0.02),
    "mask": lambda x, y: 1.0 - sum((x - x0) ** 2 + (y - y0) ** 2 < radius**2 for x0, y0, radius in ISLANDS),
    "wind_x": lambda x, y: 0.1 * np.cos(2 * np.pi * y) + 0.01 * np.sin(2 * np.pi * x),
    "wind_y": lambda x, y: 0.01 * np.cos(2 * np.pi * x) + 0 * y,
}


def make_config(row: BenchRow, **options) -> Config:
    """The published jet for a row, without options from the environment; `options`: overrides, such as grid__nx.

    With `fields` the jet is slow, because water next to a fast jet would be thin. A row with `dry` has
    the beach and the current of `beach_formulas` instead of the jet.
    """
    run = {name: getattr(row, name) for name in ("dtype", "executor", "nproc", "devices")}
    run |= {"transport": "auto" if row.transport == "mpi" else row.transport, "steps": 1}
    values = {"grid.nx": row.nx, "grid.ny": row.ny} | {f"run.{name}": value for name, value in run.items()}
    values |= {name.replace("__", "."): value for name, value in options.items()}
    formulas = {}
    if row.fields:
        values["case.speed"], formulas = 4.0, FIELD_FORMULAS
    elif row.dry:
        values |= {"case.speed": 0.0, "physics.f0": 0.0, "physics.beta": 0.0}
        formulas = beach_formulas(row.dry, "drying.active=true" in row.settings)
    overrides = [f"{name}={value}" for name, value in values.items()]
    fields = {name: partial(evaluate_formula, formula) for name, formula in formulas.items()} or None
    return load("published_jet", [*overrides, *row.settings], environ={}, fields=fields)


def beach_formulas(dry: float, drying: bool) -> dict:
    """Formulas of a sea 100 m deep with a beach over a tenth of the domain, north of which the fraction `dry` is land.

    The current is proportional to the depth, at most 4 m s-1. Without drying the mask ends the sea at a depth of 1 m.
    """

    def depth(x, y):
        return 100 * np.minimum(1.0, 10 * (1 - dry - y)) + 0 * x

    formulas = {"depth": depth, "u": lambda x, y: np.maximum(0.0, 0.04 * depth(x, y))}
    return formulas if drying else formulas | {"mask": lambda x, y: 1.0 * (depth(x, y) > 1)}


def evaluate_formula(formula, points):
    """The values of a formula of x and y (fractions of the domain) at the centres of cells."""
    return formula((points.i + 0.5) * points.dx / points.length_x, (points.j + 0.5) * points.dy / points.length_y)


def compute_reference(config: Config) -> np.ndarray:
    """The state of the reference after CHECK_STEPS steps, [field, y, x]."""
    model = ReferenceModel(setup_of(config))
    return np.stack(model.advance(model.start(), CHECK_STEPS, config.time.dt).state)


def check_state(simulation, reference_state: np.ndarray, context: str) -> tuple[dict[str, float], str]:
    """The differences between the states of a simulation and of the reference, and the `failure_reason`."""
    expected = values_of_block(reference_state, simulation.block)
    roundings = differences_in_roundings(simulation.state, expected, simulation.transport.reduce)
    return roundings, failure_reason(roundings, context)


def values_of_block(fields: np.ndarray, block) -> np.ndarray:
    """The part of fields [..., y, x] in a block."""
    return fields[..., block.y.start : block.y.stop, block.x.start : block.x.stop]


def differences_in_roundings(state, expected: np.ndarray, reduce) -> dict[str, float]:
    """Largest difference of each field from its `expected` values, in roundings of its largest value.

    u and v are both compared with the larger of their largest values. `reduce` is a function (values, "max") that
    returns the maxima over all processes.
    """
    computed = np.stack([np.asarray(field) for field in state])
    max_difference = np.abs(computed.astype(float) - expected).max(axis=(1, 2))
    max_difference = reduce(np.where(np.isfinite(max_difference), max_difference, np.inf), "max")
    max_size = reduce(np.abs(expected).max(axis=(1, 2)).astype(float), "max")
    speed = max(max_size[1:3])
    scale = np.array([max_size[0], speed, speed, *max_size[3:]]) * np.finfo(computed.dtype).eps
    return dict(zip(state._fields, (max_difference / np.where(scale > 0, scale, 1)).tolist(), strict=True))


def failure_reason(roundings_by_field: dict[str, float], context: str) -> str:
    """Why an answer is wrong; empty if it is right."""
    name = max(roundings_by_field, key=roundings_by_field.__getitem__)
    roundings = f"{roundings_by_field[name]:.3g} roundings (at most {MAX_ROUNDINGS} are allowed)"
    reason = f"wrong answer {context}: after {CHECK_STEPS} steps {name} differs from the reference by {roundings}"
    return "" if roundings_by_field[name] <= MAX_ROUNDINGS else reason
