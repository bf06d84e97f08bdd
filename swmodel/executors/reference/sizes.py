"""Cell sizes that the tendencies need, on a plane or in spherical coordinates."""

from __future__ import annotations

import numpy as np

#: Smallest cosine of a latitude, because rows of land beyond the walls may lie at or beyond a pole.
MIN_COSINE = 1e-6


class CellSizes:
    """Sizes of cells: numbers; on a sphere, except inverse_dy and dx_over_dy, arrays with one number per row, [R, 1].

    On a plane kinetic_x, kinetic_y, inverse_cos_c, cos_c and cos_v are None.

    On a sphere transports in y are multiplied by the cosine of latitude, as lengths in x are: V = h^y v cos. Below, e
    is radius dlon, the length of a cell at the equator, and A is an area; cos_c is the cosine of latitude in the middle
    of a row, cos_v that at its northern edge.

    Attributes:
        inverse_dx, inverse_dy: 1/(e cos_c) and 1/dy, for slopes on faces.
        outflow_x, outflow_y: dy/A and e/A, for transports out of cells of the area A.
        circulation_x, circulation_y: dy/A and e/A, for the circulation around corners, with A the area around them.
        kinetic_x, kinetic_y: e cos_c dy/A and e dy/A: weights of u² and cos_v v² in the kinetic energy of a cell.
        inverse_cos_c: 1/cos_c, which converts a flux by V to its effect on u.
        dx_over_dy: e/dy.
        dy_over_dx: dy/(e cos_c).
        friction_u, friction_v: pairs (x, y) of 1/(e cos)² and 1/(cos dy²), with cos_c for u and cos_v for v.
        cos_c, cos_v: the cosines, padded [R+2, 1].
    """

    def __init__(self, domain):
        grid = domain.config.grid
        self.cos_c = self.cos_v = None
        if grid.kind == "plane":
            dx, dy = grid.dx, grid.dy
            self.inverse_dx = self.outflow_x = self.circulation_x = 1 / dx
            self.inverse_dy = self.outflow_y = self.circulation_y = 1 / dy
            self.kinetic_x = self.kinetic_y = self.inverse_cos_c = None
            self.dx_over_dy, self.dy_over_dx = dx / dy, dy / dx
            self.friction_u = self.friction_v = 1 / dx**2, 1 / dy**2
            return
        rows = domain.rows[:, None]
        south = np.clip(grid.south + rows * grid.dlat, -90, 90)
        middle, north, beyond = (np.clip(south + cells * grid.dlat, -90, 90) for cells in (0.5, 1.0, 1.5))
        south, middle, north, beyond = (np.radians(latitude) for latitude in (south, middle, north, beyond))
        e, dy = grid.radius * np.radians(grid.dlon), grid.radius * np.radians(grid.dlat)
        cos_c, cos_v = (np.maximum(np.cos(latitude), MIN_COSINE) for latitude in (middle, north))
        min_area = e * dy * MIN_COSINE
        A_c = np.maximum(e * grid.radius * (np.sin(north) - np.sin(south)), min_area)
        A_q = np.maximum(e * grid.radius * (np.sin(beyond) - np.sin(middle)), min_area)

        def in_precision(values):
            return np.asarray(values, domain.dtype)

        self.inverse_dx, self.inverse_dy = in_precision(1 / (e * cos_c)), 1 / dy
        self.outflow_x, self.outflow_y = in_precision(dy / A_c), in_precision(e / A_c)
        self.circulation_x, self.circulation_y = in_precision(dy / A_q), in_precision(e / A_q)
        self.kinetic_x, self.kinetic_y = in_precision(e * cos_c * dy / A_c), in_precision(e * dy / A_c)
        self.inverse_cos_c = in_precision(1 / cos_c)
        self.dx_over_dy, self.dy_over_dx = e / dy, in_precision(dy / (e * cos_c))
        self.friction_u = in_precision(1 / (e * cos_c) ** 2), in_precision(1 / (cos_c * dy**2))
        self.friction_v = in_precision(1 / (e * cos_v) ** 2), in_precision(1 / (cos_v * dy**2))
        self.cos_c, self.cos_v = (in_precision(np.pad(cos, ((1, 1), (0, 0)), mode="wrap")) for cos in (cos_c, cos_v))

    def as_force_on_u(self, flux):
        """Convert a flux by V in place to its effect on u: on a sphere divide by a cosine, because V contains one."""
        if self.inverse_cos_c is not None:
            flux *= self.inverse_cos_c
        return flux
