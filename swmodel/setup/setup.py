"""The Setup of a run: a resolved configuration in the terms of the dynamics. It makes the fields of any block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import UsageError
from ..ocean.coordinates import metrics, on_sphere, points, turned
from ..ocean.grid import Grid
from ..ocean.masks import masks
from ..ocean.patch import Patch, east, north
from ..ocean.records import CORRECTION
from ..ocean.scheme import Scheme
from ..ocean.state import State
from ..ocean.terms import TERM_OF, TERMS, Term
from ..ocean.terms.tracer import terms_of
from ..ocean.timestep import ForwardBackward, Method, method_of
from . import fields
from .fields.field import python_terms
from .fields.varying import Records


@dataclass(frozen=True)
class Setup:
    """The configuration and the scheme of a run, for executors, files and all other parts; made by `setup_of`."""

    config: Any
    scheme: Scheme

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the grid, (ny, nx)."""
        return self.config.grid.ny, self.config.grid.nx

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.config.run.dtype)

    @property
    def margin(self) -> int:
        """Rows and columns of Grid and Params around a block."""
        return self.scheme.margin

    @cached_property
    def method(self) -> Method:
        """The time stepper."""
        return method_for(self.config.time)

    @property
    def dt(self) -> float:
        return self.config.time.dt

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """The vectors of parameters of the user-defined terms, by the terms' names."""
        return self.config.python._parameters

    def with_config(self, config) -> Setup:
        """The Setup of another configuration with the same terms, as a resolved one."""
        return replace(self, config=config)

    def scheme_with(self, coefficients) -> Scheme:
        """The Scheme with the terms of these coefficients, or of their corrections, also active, whatever their values.

        UsageError: one of them is no coefficient of a term, or has no effect in this run.
        """
        of = {name: name.removesuffix(CORRECTION) for name in sorted(coefficients)}
        if unknown := [name for name in of if of[name] not in TERM_OF]:
            raise UsageError(f"no coefficient {', '.join(unknown)}; there are {', '.join(sorted(TERM_OF))}")
        owners = {name: TERM_OF[of[name]] for name in of}
        scheme = self.scheme.with_terms([owner for owner in owners.values() if not TERMS[owner].active])
        with_unused = (term for term in scheme.acting if term.unused_coefficients)
        unused = {name for term in with_unused for name in term.unused_coefficients(self.config)}
        for name, owner in owners.items():
            if owner not in scheme.terms or of[name] in unused:
                raise UsageError(f"{name}: no effect in this run; see the section [{owner}]")
        return scheme

    def grid(self, block, margin: int | None = None) -> Grid:
        """The static fields of `block` with `margin` cells around it, NumPy arrays; None: `Setup.margin`."""
        config, (rows, columns) = self.config, rows_and_columns(block, self.margin if margin is None else margin)
        # One more cell on the north and east, so that faces and corners reach as far as centres.
        further = [*rows, rows[-1] + 1], [*columns, columns[-1] + 1]
        wet, *outside = (Patch(at, (0, 0)) for at in (fields.wet(config, *further), *fields.outside(config, *further)))
        static = Grid(
            **metrics(config.grid, rows),
            f=coriolis(config, rows, columns),
            depth=fields.evaluate(config, "depth", rows, columns),
            **{
                name: mask[: len(rows), : len(columns)]
                for name, mask in masks(wet, config.physics.slip, outside).items()
            },
        )
        return in_precision(static, self.dtype)

    def params(self, block, margin: int | None = None, varying: Callable | None = None) -> dict[str, np.ndarray]:
        """The coefficients of `block` by name, with `margin` cells around it, NumPy arrays; None: see `grid`.

        Numbers are [1, 1]; the parameters of a term are a vector under its name. Only terms of the scheme appear.
        `ocean.records` describes varying coefficients.

        Args:
            varying: function (block, margin) to the varying coefficients; None: those of the start.
        """
        config, margin = self.config, self.margin if margin is None else margin
        rows, columns = rows_and_columns(block, margin)
        values = {name: np.full((1, 1), getattr(config.physics, name)) for name in ("gravity", "density")}
        if self.scheme.drying:
            values["drying_thickness"] = np.full((1, 1), config.drying.thickness)
        for term in self.scheme.acting:
            steady = [row.name for row in term.coefficients if row.name not in self.scheme.varying]
            values |= {name: fields.evaluate(config, name, rows, columns) for name in steady}
            values |= term.build(config, rows, columns) if term.build else {}
            values |= {term.name: self.parameters[term.name]} if term.parameters else {}
        now = varying(block, margin) if varying else self.varying(self.records(), block, margin, 0)
        return in_precision(values, self.dtype) | now

    def numbers_of_time(self, substeps: int) -> dict[str, np.ndarray]:
        """The numbers among the `params` that depend on the time step, [1, 1], for steps of dt / substeps."""
        time = self.config.time.model_copy(update={"dt": self.dt / substeps})
        config, found = self.config.model_copy(update={"time": time}), {}
        for term in (term for term in self.scheme.acting if term.build):
            names = {row.name for row in term.fields if not row.location}
            built = term.build(config, np.arange(1), np.arange(1))
            found |= {name: value for name, value in built.items() if name in names}
        return in_precision(found, self.dtype)

    def static(self, block, margin: int | None = None) -> tuple[Grid, dict[str, np.ndarray]]:
        """Grid and Params of `block`, for `transport.make`."""
        return self.grid(block, margin), self.params(block, margin)

    def records(self) -> Records:
        """The records in time of the coefficients that vary."""
        return Records(self.config, self.scheme.varying, self.dtype)

    def varying(self, records: Records, block, margin: int, step: int) -> dict[str, np.ndarray]:
        """The varying coefficients from a step on, as in `params`."""
        return in_precision(records.params(step, *rows_and_columns(block, margin)), self.dtype)

    def state(self, block) -> State:
        """The initial state of `block`, interior only: zero velocity on closed faces, h = depth on land."""
        config, (rows, columns) = self.config, rows_and_columns(block, 0)
        around = Patch(fields.wet(config, [*rows, rows[-1] + 1], [*columns, columns[-1] + 1]), (0, 0))
        wet, open_u, open_v = (
            each.values[: len(rows), : len(columns)] > 0
            for each in (around, around * east(around), around * north(around))
        )
        values = {name: fields.evaluate(config, name, rows, columns) for name in ("depth", *self.scheme.initial)}
        state = {
            "h": np.where(wet, fields.thickness(config, values["depth"], values["eta"]), values["depth"]),
            "u": np.where(open_u, values["u"], 0.0),
            "v": np.where(open_v, values["v"], 0.0),
        }
        for start in (term.start for term in self.scheme.acting if term.start):
            state |= {name: np.where(wet, value, 0.0) for name, value in start(values | {"h": state["h"]}).items()}
        if config.input.state:  # as it is: h = depth + eta would round
            there, land = {"u": open_u, "v": open_v}, {"h": values["depth"]}
            found = {name: fields.stored_field(config, name, rows, columns) for name in self.scheme.state._fields}
            state = {name: np.where(there.get(name, wet), each, land.get(name, 0.0)) for name, each in found.items()}
        whole = {name: np.broadcast_to(field, block.shape).astype(self.dtype) for name, field in state.items()}
        return self.scheme.state(**{name: np.ascontiguousarray(field) for name, field in whole.items()})


def setup_of(config) -> Setup:
    """The Setup of a configuration, which may be unresolved."""
    active = tuple(name for name in TERMS if is_active(config, TERMS[name]))
    options = config.scheme
    forward = isinstance(method_for(config.time), ForwardBackward)
    own, drying = python_terms(config), config.drying.active
    tracers = terms_of(config.physics.tracers, forward)
    scheme = Scheme(options.vorticity_flux, active, own, (), options.face_thickness, tracers, forward, drying)
    rows = {row.name for term in scheme.acting for row in term.coefficients}
    return Setup(config, replace(scheme, varying=tuple(sorted(name for name in rows if fields.varies(config, name)))))


def method_for(time) -> Method:
    """The time stepper of the options [time]."""
    return method_of(time.stepper, time.ab2_epsilon, time.robert_asselin)


def is_active(config, term: Term) -> bool:
    """Whether a term is switched on: by its own section, or by a coefficient that is a field or not zero."""
    if term.active:
        return term.active(getattr(config, term.name))
    return any(fields.given(config, row.name) or fields.constant(config, row.name) for row in term.coefficients)


def rows_and_columns(block, margin: int) -> tuple[np.ndarray, ...]:
    """Numbers of the rows and columns of a block with `margin` cells around it."""
    return tuple(np.arange(span.start - margin, span.stop + margin) for span in (block.y, block.x))


def coriolis(config, rows, columns) -> np.ndarray:
    """The Coriolis parameter at the corners in the given rows and columns, s-1, float64.

    f0 + beta y; on a sphere, where both are zero, 2 Omega sin(latitude). [rows, 1], or [rows, columns] where the
    latitude varies along rows.
    """
    grid, physics = config.grid, config.physics
    corner = points(grid, "corner", rows, columns if turned(grid) else [0])
    if on_sphere(grid) and not (physics.f0 or physics.beta):
        return 2 * grid.rotation * np.sin(np.radians(corner.lat))
    return physics.f0 + physics.beta * corner.y


def in_precision(fields, dtype):
    """A tree of arrays, the real ones converted to `dtype`."""
    if isinstance(fields, dict):
        return {name: in_precision(field, dtype) for name, field in fields.items()}
    if isinstance(fields, tuple):
        return fields._make(in_precision(field, dtype) for field in fields)
    return fields.astype(dtype) if fields.dtype.kind == "f" else fields
