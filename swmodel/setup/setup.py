"""The Setup of a run: a resolved configuration and its Scheme, from which the fields of any block are built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import UsageError
from ..ocean.barrier_faces import barrier_mask
from ..ocean.coordinates import has_lon_lat, has_rotated_axes, metrics, points
from ..ocean.grid import Grid
from ..ocean.masks import grid_masks
from ..ocean.patch import Patch, east, north
from ..ocean.records import CORRECTION_SUFFIX
from ..ocean.scheme import Scheme
from ..ocean.state import State
from ..ocean.terms import TERM_OF_COEFFICIENT, TERMS, Term
from ..ocean.terms.tracer import tracer_terms
from ..ocean.timestep import ForwardBackward, Method, method_of
from . import fields
from .fields.python_fields import user_terms_of
from .fields.rivers import tracers_in_rivers
from .fields.start_state import read_state_field
from .fields.varying import VaryingCoefficients

if TYPE_CHECKING:
    from ..config.options.model import Config


@dataclass(frozen=True)
class Setup:
    """The configuration and the scheme of a run, from which all its fields can be built; `setup_of` makes it."""

    config: Config
    scheme: Scheme

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns of the grid, (ny, nx)."""
        return self.config.grid.ny, self.config.grid.nx

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.config.run.dtype)

    @property
    def static_halo(self) -> int:
        """The width of the margin of Grid and Params around a block, cells."""
        return self.scheme.static_halo

    @cached_property
    def method(self) -> Method:
        return method_of_options(self.config.time)

    @property
    def dt(self) -> float:
        return self.config.time.dt

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """The parameter vectors of the user terms, by name of the term."""
        return self.config.python._parameters

    def with_config(self, config: Config) -> Setup:
        """The Setup of another configuration with the same terms, such as the resolved configuration."""
        return replace(self, config=config)

    def scheme_with_coefficients(self, coefficients) -> Scheme:
        """The Scheme with the terms of these coefficients (or of their corrections) active, whatever their values.

        UsageError: one of them is not a coefficient of a term, or has no effect in this run.
        """
        coefficient_of = {name: name.removesuffix(CORRECTION_SUFFIX) for name in sorted(coefficients)}
        if unknown := [name for name in coefficient_of if coefficient_of[name] not in TERM_OF_COEFFICIENT]:
            known = ", ".join(sorted(TERM_OF_COEFFICIENT))
            raise UsageError(f"unknown coefficient {', '.join(unknown)}; there are {known}")
        term_names = {name: TERM_OF_COEFFICIENT[coefficient] for name, coefficient in coefficient_of.items()}
        scheme = self.scheme.with_terms([owner for owner in term_names.values() if not TERMS[owner].is_active])
        unused = {
            name
            for term in scheme.active_terms
            if term.unused_coefficients
            for name in term.unused_coefficients(self.config)
        }
        for name, term_name in term_names.items():
            if term_name not in scheme.term_names or coefficient_of[name] in unused:
                raise UsageError(f"{name}: has no effect in this run; see the section [{term_name}]")
        return scheme

    def grid(self, block, halo: int | None = None) -> Grid:
        """The static fields of `block` and of `halo` cells around it (None: `Setup.static_halo`), as NumPy arrays."""
        config, (rows, columns) = self.config, rows_and_columns(block, self.static_halo if halo is None else halo)
        # One more row in the north and column in the east, so that faces and corners reach as far as centres.
        one_cell_more = [*rows, rows[-1] + 1], [*columns, columns[-1] + 1]
        wet = Patch(fields.wet_mask(config, *one_cell_more), (0, 0))
        west_east, south_north = fields.boundary_water_masks(config, *one_cell_more)
        boundary_cells = Patch(west_east, (0, 0)), Patch(south_north, (0, 0))
        barrier_u, barrier_v = (Patch(barrier_mask(config, axis, *one_cell_more), (0, 0)) for axis in ("x", "y"))
        masks: dict[str, Any] = grid_masks(wet, config.physics.slip, boundary_cells, (barrier_u, barrier_v))
        static = Grid(
            **metrics(config.grid, rows),
            f=coriolis(config, rows, columns),
            depth=fields.evaluate(config, "depth", rows, columns),
            **{name: mask[: len(rows), : len(columns)] for name, mask in masks.items()},
        )
        return cast_floats(static, self.dtype)

    def params(self, block, halo: int | None = None, varying: Callable | None = None) -> dict[str, np.ndarray]:
        """The coefficients of `block` by name, with `halo` cells around it (see `grid`), as NumPy arrays.

        Numbers have the shape [1, 1]; the parameters of a user term are a vector under its name. Besides gravity,
        density and the thickness for drying, only values that active terms need are included. `ocean.records` describes
        varying coefficients.

        Args:
            varying: function of (block, halo) that returns varying coefficients; None: their records at the start.
        """
        config, halo = self.config, self.static_halo if halo is None else halo
        rows, columns = rows_and_columns(block, halo)
        values = {name: np.full((1, 1), getattr(config.physics, name)) for name in ("gravity", "density")}
        if self.scheme.drying:
            values["drying_thickness"] = np.full((1, 1), config.drying.thickness)
        if "uplift" in self.scheme.varying:
            values["final_uplift"] = fields.final_uplift(config, rows, columns)
        for term in self.scheme.active_terms:
            constant_names = [row.name for row in term.coefficients if row.name not in self.scheme.varying]
            values |= {name: fields.evaluate(config, name, rows, columns) for name in constant_names}
            values |= term.build(config, rows, columns) if term.build else {}
            values |= {term.name: self.parameters[term.name]} if term.parameters else {}
        varying_values = (
            varying(block, halo) if varying else self.varying_params(self.varying_coefficients(), block, halo, 0)
        )
        return cast_floats(values, self.dtype) | varying_values

    def params_of_time_step(self, substeps: int) -> dict[str, np.ndarray]:
        """The numbers that terms build, [1, 1], for steps of dt / substeps, because some depend on the time step."""
        time = self.config.time.model_copy(update={"dt": self.dt / substeps})
        config = self.config.model_copy(update={"time": time})
        values: dict[str, np.ndarray] = {}
        for term in self.scheme.active_terms:
            if term.build is None:
                continue
            names = {row.name for row in term.fields if not row.location}
            built = term.build(config, np.arange(1), np.arange(1))
            values |= {name: value for name, value in built.items() if name in names}
        return cast_floats(values, self.dtype)

    def static(self, block, halo: int | None = None) -> tuple[Grid, dict[str, np.ndarray]]:
        """Grid and Params of `block`, for `transport.make_arrays`."""
        return self.grid(block, halo), self.params(block, halo)

    def varying_coefficients(self) -> VaryingCoefficients:
        return VaryingCoefficients(self.config, self.scheme.varying, self.dtype)

    def varying_params(self, coefficients: VaryingCoefficients, block, halo: int, step: int) -> dict[str, np.ndarray]:
        """The varying coefficients for the steps from `step` on, in the form of `params`."""
        return cast_floats(coefficients.params(step, *rows_and_columns(block, halo)), self.dtype)

    def state(self, block) -> State:
        """The initial state of `block` without a halo.

        Where `fields.wet_mask` is 0, h is the depth and all other fields at centres are 0. The velocity is 0 on the
        faces of such cells.
        """
        config, (rows, columns) = self.config, rows_and_columns(block, 0)
        wet_patch = Patch(fields.wet_mask(config, [*rows, rows[-1] + 1], [*columns, columns[-1] + 1]), (0, 0))
        wet, open_u, open_v = (
            each.values[: len(rows), : len(columns)] > 0
            for each in (wet_patch, wet_patch * east(wet_patch), wet_patch * north(wet_patch))
        )
        values = {name: fields.evaluate(config, name, rows, columns) for name in ("depth", *self.scheme.initial_fields)}
        state = {
            "h": np.where(wet, fields.initial_thickness(config, values["depth"], values["eta"]), values["depth"]),
            "u": np.where(open_u, values["u"], 0.0),
            "v": np.where(open_v, values["v"], 0.0),
        }
        for to_prognostic in (term.to_prognostic for term in self.scheme.active_terms if term.to_prognostic):
            prognostic = to_prognostic(values | {"h": state["h"]})
            state |= {name: np.where(wet, value, 0.0) for name, value in prognostic.items()}
        if config.input.state:  # the stored state is used unchanged, because h = depth + eta would round it
            is_open, land = {"u": open_u, "v": open_v}, {"h": values["depth"]}
            stored = {name: read_state_field(config, name, rows, columns) for name in self.scheme.state_type._fields}
            state = {name: np.where(is_open.get(name, wet), each, land.get(name, 0.0)) for name, each in stored.items()}
        whole_fields = {name: np.broadcast_to(field, block.shape).astype(self.dtype) for name, field in state.items()}
        return self.scheme.state_type(**{name: np.ascontiguousarray(field) for name, field in whole_fields.items()})


def setup_of(config: Config) -> Setup:
    """The Setup of a configuration, which may be unresolved."""
    active = tuple(name for name in TERMS if is_active(config, TERMS[name]))
    is_forward_backward = isinstance(method_of_options(config.time), ForwardBackward)
    user_terms, drying = user_terms_of(config), config.drying.active
    tracers = tracer_terms(config.physics.tracers, is_forward_backward, tracers_in_rivers(config))
    scheme = Scheme(config.scheme.vorticity_flux, active, user_terms, (), tracers, is_forward_backward, drying)
    coefficient_names = {row.name for term in scheme.active_terms for row in term.coefficients}
    varying = tuple(sorted(name for name in coefficient_names if fields.varies_in_time(config, name)))
    return Setup(config, replace(scheme, varying=varying))


def method_of_options(time) -> Method:
    """The time stepper that the section [time] selects."""
    return method_of(time.stepper, time.ab2_epsilon, time.robert_asselin)


def is_active(config: Config, term: Term) -> bool:
    """Whether a term is switched on by its own section or by a coefficient.

    A coefficient switches its term on if it is a field or not zero, or, for a term that acts only in time, if it
    varies in time.
    """
    if term.is_active:
        return term.is_active(getattr(config, term.name))
    if term.acts_only_in_time:
        return any(fields.varies_in_time(config, row.name) for row in term.coefficients)
    return any(
        fields.has_field_source(config, row.name) or fields.uniform_value(config, row.name) for row in term.coefficients
    )


def rows_and_columns(block, halo: int) -> tuple[np.ndarray, ...]:
    """Indices of the rows and columns of a block with `halo` cells around it."""
    return tuple(np.arange(span.start - halo, span.stop + halo) for span in (block.y, block.x))


def coriolis(config: Config, rows, columns) -> np.ndarray:
    """The Coriolis parameter at the corners in these rows and columns, s-1, float64.

    It is f0 + beta y, or 2 Omega sin(latitude) if both numbers are zero and points have latitudes. The shape is
    [rows, 1], or [rows, columns] for latitudes on grids with rotated axes.
    """
    grid, physics = config.grid, config.physics
    corner = points(grid, "corner", rows, columns if has_rotated_axes(grid) else [0])
    if has_lon_lat(grid) and not (physics.f0 or physics.beta):
        return 2 * grid.rotation * np.sin(np.radians(corner.lat))
    return physics.f0 + physics.beta * corner.y


def cast_floats(tree, dtype):
    """A tree of dicts, named tuples and arrays, with its floating-point arrays converted to `dtype`."""
    if isinstance(tree, dict):
        return {name: cast_floats(branch, dtype) for name, branch in tree.items()}
    if isinstance(tree, tuple):
        return type(tree)(*(cast_floats(branch, dtype) for branch in tree))
    return tree.astype(dtype) if tree.dtype.kind == "f" else tree
