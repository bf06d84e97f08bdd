"""Sizes of cells for the tendencies, on a plane and, in spherical coordinates, on a sphere."""

from __future__ import annotations

import numpy as np

#: Smallest cosine of a latitude: rows of land beyond the walls may lie beyond a pole.
NO_WIDTH = 1e-6


class Sizes:
    """Numbers on a plane; on a sphere one number in each row, [R, 1], except those of dy.

    On a sphere the cosine of latitude weights transports in y, as it weights lengths in x: V = h^y v cos. Below, e is
    R dlon, the length of a cell at the equator; cos_c is at the middle of a row, cos_v at its northern edge.

    Attributes:
        per_x, per_y: 1/(e cos_c) and 1/dy, for slopes on faces.
        out_x, out_y: dy/A and e/A, for transports out of cells of the area A.
        round_x, round_y: dy/A and e/A, for the circulation around corners, with A the area around them.
        kinetic_x, kinetic_y: e cos_c dy/A and e dy/A: areas of a cell's faces divided by the area of the cell.
        turned: 1/cos_c, from the flux V to its effect on u.
        flat: e/dy.
        steep: dy/(e cos_c).
        friction_u, friction_v: (x, y) 1/(e cos)² and 1/(cos dy²), cos of u and of v.
        cos_c, cos_v: padded [R+2, 1]; None on a plane.
    """

    def __init__(self, ring):
        grid = ring.config.grid
        self.cos_c = self.cos_v = None
        if grid.kind == "plane":
            dx, dy = grid.dx, grid.dy
            self.per_x = self.out_x = self.round_x = 1 / dx
            self.per_y = self.out_y = self.round_y = 1 / dy
            self.kinetic_x = self.kinetic_y = self.turned = None
            self.flat, self.steep = dx / dy, dy / dx
            self.friction_u = self.friction_v = 1 / dx**2, 1 / dy**2
            return
        rows = ring.rows[:, None]
        south = np.clip(grid.south + rows * grid.dlat, -90, 90)
        middle, north, beyond = (np.clip(south + part * grid.dlat, -90, 90) for part in (0.5, 1.0, 1.5))
        south, middle, north, beyond = (np.radians(latitude) for latitude in (south, middle, north, beyond))
        e, dy = grid.radius * np.radians(grid.dlon), grid.radius * np.radians(grid.dlat)
        cos_c, cos_v = (np.maximum(np.cos(latitude), NO_WIDTH) for latitude in (middle, north))
        least = e * dy * NO_WIDTH
        A_c = np.maximum(e * grid.radius * (np.sin(north) - np.sin(south)), least)
        A_q = np.maximum(e * grid.radius * (np.sin(beyond) - np.sin(middle)), least)

        def kept(values):
            return np.asarray(values, ring.dtype)

        self.per_x, self.per_y = kept(1 / (e * cos_c)), 1 / dy
        self.out_x, self.out_y = kept(dy / A_c), kept(e / A_c)
        self.round_x, self.round_y = kept(dy / A_q), kept(e / A_q)
        self.kinetic_x, self.kinetic_y = kept(e * cos_c * dy / A_c), kept(e * dy / A_c)
        self.turned, self.flat, self.steep = kept(1 / cos_c), e / dy, kept(dy / (e * cos_c))
        self.friction_u = kept(1 / (e * cos_c) ** 2), kept(1 / (cos_c * dy**2))
        self.friction_v = kept(1 / (e * cos_v) ** 2), kept(1 / (cos_v * dy**2))
        self.cos_c, self.cos_v = (kept(np.pad(cos, ((1, 1), (0, 0)), mode="wrap")) for cos in (cos_c, cos_v))
