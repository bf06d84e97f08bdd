"""What the terms of the equations share: the state on its faces, and transports through them."""

from __future__ import annotations

from .grid import Grid
from .operators import mx_c, mx_f, my_c, my_f, root
from .patch import Patch
from .state import State
from .table import VARIABLES


class Flow:
    """A state seen by the terms of the equations, in Patches.

    Attributes:
        state: the padded State, of all prognostic fields; those besides h, u and v are attributes, too.
        contents: names of those that are dissolved in the water: what they are in a cell goes with its volume.
        grid: the Grid.
        h: thickness at centres, m; h_u, h_v its means on faces.
        u, v: velocity on faces, m s-1, zero where they are closed.
        U, V: transports through the faces, m3 s-1.
    """

    def __init__(self, state: State, grid: Grid) -> None:
        self.state, self.grid = state, grid
        self.contents: list[str] = [name for name in state._fields if VARIABLES[name].content]
        self.h: Patch = state.h
        self.u: Patch = grid.open_u * state.u
        self.v: Patch = grid.open_v * state.v
        self.h_u, self.h_v = mx_f(self.h), my_f(self.h)
        self.U: Patch = grid.dy.u * (self.h_u * self.u)
        self.V: Patch = grid.dx.v * (self.h_v * self.v)

    def __getattr__(self, name: str) -> Patch:
        """Another prognostic field."""
        if name in self.__dict__["state"]._fields:
            return getattr(self.state, name)
        raise AttributeError(f"the state has no {name}")

    @property
    def eta(self) -> Patch:
        """Sea level, or where gravity is reduced the displacement of the interface, at centres, m."""
        return self.h - self.grid.depth

    def speed_u(self) -> Patch:
        """sqrt(u² + ((v^x)^y)²) on u faces, m s-1."""
        across = my_c(mx_f(self.v))
        return (self.u * self.u + across * across).map(root)

    def speed_v(self) -> Patch:
        """sqrt(v² + ((u^x)^y)²) on v faces, m s-1."""
        across = my_f(mx_c(self.u))
        return (self.v * self.v + across * across).map(root)
