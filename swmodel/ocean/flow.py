"""The state as the terms of the equations use it: with values on faces and transports through them."""

from __future__ import annotations

from typing import Any, Self

from .grid import Grid
from .operators import mx_c, mx_f, my_c, my_f, root, where
from .patch import Patch
from .state import State
from .table import variable_of
from .timestep import ForwardBackwardInputs


class Flow:
    """A state as the terms of the equations use it, in Patches.

    Attributes:
        state: the padded State; its fields besides h, u and v are attributes, too.
        content_names: names of the prognostic fields that are contents of tracers.
        grid: the Grid.
        h: thickness at centres, m; h_u, h_v that on faces.
        open_u, open_v: 1 on open faces, else 0.
        u, v: velocity on faces, m s-1, zero where they are closed.
        U, V: transports through the faces, m3 s-1.
        crossed_u, crossed_v: 1 on the faces inside the domain that water crosses: open ones, and those over barriers.
        has_barriers: whether there are barriers.
        has_open_boundaries: whether the domain has open boundaries.
        breaking_fraction: with `drying`, how much the water of a cell breaks or is thin, from 0 to 1.
        min_mobile_thickness: with `drying`, the thickness below which water stays in its cell, m.
    """

    state: State
    grid: Grid
    content_names: list[str]
    h: Patch
    h_u: Patch
    h_v: Patch
    open_u: Any
    open_v: Any
    u: Patch
    v: Patch
    U: Patch
    V: Patch
    crossed_u: Any
    crossed_v: Any
    has_barriers: bool = False
    has_open_boundaries: bool
    breaking_fraction: Any = 0.0
    min_mobile_thickness: Any = None

    def __init__(self, state: State, grid: Grid) -> None:
        self.state, self.grid, self.has_open_boundaries = state, grid, False
        self.content_names = [name for name in state._fields if variable_of(name).concentration_name]
        self.h = state.h
        self.open_u, self.open_v = self.crossed_u, self.crossed_v = grid.open_u, grid.open_v
        self.u = self.open_u * state.u
        self.v = self.open_v * state.v
        self.h_u, self.h_v = mx_f(self.h), my_f(self.h)
        self.U = grid.dy.u * (self.h_u * self.u)
        self.V = grid.dx.v * (self.h_v * self.v)

    def set_boundary_flux(self, at_u: tuple[Patch, Patch], at_v: tuple[Patch, Patch]) -> None:
        """Set velocity and transport on the faces of open boundaries in x and in y.

        Args:
            at_u, at_v: transport per length of the face, m2 s-1, and thickness at the face, m.
        """
        grid, self.has_open_boundaries = self.grid, True
        (flux_u, h_u), (flux_v, h_v) = at_u, at_v
        self.u = where(grid.open_boundary_u > 0, flux_u / where(grid.open_boundary_u > 0, h_u, 1.0), self.u)
        self.v = where(grid.open_boundary_v > 0, flux_v / where(grid.open_boundary_v > 0, h_v, 1.0), self.v)
        self.U = where(grid.open_boundary_u > 0, grid.dy.u * flux_u, self.U)
        self.V = where(grid.open_boundary_v > 0, grid.dx.v * flux_v, self.V)

    def add_barrier_flux(self, U: Patch, V: Patch) -> None:
        """Add transports over the barriers on u and on v faces, m3 s-1."""
        self.has_barriers = True
        self.crossed_u, self.crossed_v = where(U != 0, 1.0, self.open_u), where(V != 0, 1.0, self.open_v)
        self.U, self.V = self.U + U, self.V + V

    def flow_for_pressure(self, rate: Patch, gfb_inputs: ForwardBackwardInputs | None) -> Flow:
        """The Flow with the same currents and the thickness whose pressure drives them; `rate` is dh/dt, m s-1."""
        if gfb_inputs is None:
            return self
        return self.with_thickness(gfb_inputs.pressure_h + rate * gfb_inputs.pressure_dt)

    def with_thickness(self, h: Patch) -> Self:
        """The Flow with the same currents and another thickness at centres."""
        flow = object.__new__(type(self))
        flow.__dict__.update(self.__dict__, h=h)
        return flow

    def __getattr__(self, name: str) -> Patch:
        if name in self.__dict__["state"]._fields:
            return getattr(self.state, name)
        raise AttributeError(f"the state has no {name}")

    @property
    def eta(self) -> Patch:
        """Sea level, or with reduced gravity the displacement of the interface, at centres, m."""
        return self.h - self.grid.depth

    def speed_u(self) -> Patch:
        """sqrt(u² + ((v^x)^y)²) on u faces, m s-1, where (v^x)^y is the mean of v in x and y."""
        across = my_c(mx_f(self.v))
        return (self.u * self.u + across * across).map(root)

    def speed_v(self) -> Patch:
        """sqrt(v² + ((u^x)^y)²) on v faces, m s-1, where (u^x)^y is the mean of u in x and y."""
        across = my_f(mx_c(self.u))
        return (self.v * self.v + across * across).map(root)
