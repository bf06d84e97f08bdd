"""The domain as a doubly periodic array of cells, padded by one row or column of neighbours on each side.

A wall is an explicit row (south of row 0) or column (west of column 0) of land. Because the array is periodic, the same
land is beyond the northern or eastern wall. Stencils treat coasts and walls alike.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ...ocean.barrier_faces import barrier_mask
from ...ocean.coordinates import points
from ...setup.fields import evaluate, source_of, varies_in_time
from ...setup.fields.varying import read_record
from .neighbours import c, e, n, ne, wrap
from .open_boundaries import BoundaryFaces

if TYPE_CHECKING:
    from ...setup.setup import Setup


def east(a):
    """The east neighbour of every point of an array without padding, [R or 1, C or 1]."""
    return np.roll(a, -1, axis=1)


def north(a):
    """The north neighbour of every point of an array without padding, [R or 1, C or 1]."""
    return np.roll(a, -1, axis=0)


class PeriodicDomain:
    """The static fields of the domain: masks as lists of exceptional points, depth, Coriolis parameter, coefficients.

    Masks are stored as flat indices into padded arrays, so they cost nothing in a domain without coasts.

    Attributes:
        shape: shape of a padded field, (R+2, C+2). R is ny, or ny + 1 with walls in the south and north; C likewise.
        depth: H at centres, m, broadcasts to [R, C].
        closed: land cells, closed u faces and closed v faces, flat indices into a padded [h, u, v]. The outermost cells
            at open boundaries count as land.
        barriers: whether each u face, and each v face, has a barrier, bool [R, C]; these faces are also in `closed`.
        always_closed: `closed` without the faces of barriers, which have a velocity in the state.
        land: land cells, flat indices into a padded field.
        resting_values: values of [h, u, v] at `always_closed`: H, 0 and 0.
        boundary_corners: corners with fewer than four wet cells or at barriers, flat indices into a padded field [n].
        corner_cells: the four cells around each boundary corner [4, n], flat indices into a padded field.
        corner_weights: for these cells, 1/(number of wet cells around the corner) if wet, 0 on land [4, n].
        is_coast: 0 for boundary corners at open boundaries and barriers, else 1 [n].
        open_boundaries: the faces of open boundaries.
        corner_dry: 1 m for each boundary corner without a wet cell, 0 m for the others [n].
    """

    def __init__(self, setup: Setup):
        grid = setup.config.grid
        self.config, self.scheme, self.dtype = setup.config, setup.scheme, setup.dtype
        self.walls = (0 if grid.periodic_y else 1, 0 if grid.periodic_x else 1)
        self.rows = np.arange(-self.walls[0], grid.ny)
        self.columns = np.arange(-self.walls[1], grid.nx)
        self.shape = (self.rows.size + 2, self.columns.size + 2)
        self.depth = self.field("depth")
        self.state = setup.scheme.state_type
        self._record_caches: list = []
        water = (self.rows >= 0)[:, None] & (self.columns >= 0) & (self.field("mask") != 0)
        sides = setup.config.open_boundaries.sides
        outermost_rows = (self.rows == 0) & ("south" in sides) | (self.rows == grid.ny - 1) & ("north" in sides)
        outermost = (self.columns == 0) & ("west" in sides) | (self.columns == grid.nx - 1) & ("east" in sides)
        wet = water & ~(outermost_rows[:, None] | outermost)
        self.barriers = [
            wet & beyond(wet) & (barrier_mask(setup.config, axis, self.rows, self.columns) > 0)
            for axis, beyond in (("x", east), ("y", north))
        ]
        self._find_closed(wet)
        self._find_boundary_corners(wet, water)
        self.open_boundaries = BoundaryFaces(self, wet, water)

    def field(self, name):
        """Values of a field of the case or of a file, which broadcast to [R, C]; those beyond walls are not used."""
        return evaluate(self.config, name, self.rows, self.columns).astype(self.dtype)

    def _find_closed(self, wet):
        is_open, barriers = np.stack([wet, wet & east(wet), wet & north(wet)]), np.stack([0 * wet, *self.barriers])
        which, row, column = np.nonzero(~is_open)
        self.always_closed = np.ravel_multi_index((which, row + 1, column + 1), (3, *self.shape))
        at_barriers = (axis + shift for axis, shift in zip(np.nonzero(barriers), (0, 1, 1), strict=True))
        self.closed = np.concatenate([self.always_closed, np.ravel_multi_index((*at_barriers,), (3, *self.shape))])
        self.land = self.always_closed[which == 0]
        resting_values = np.where(which == 0, np.broadcast_to(self.depth, wet.shape)[row, column], 0.0)
        self.resting_values = resting_values.astype(self.dtype)

    def _find_boundary_corners(self, wet, water):
        cells = np.stack([wet, east(wet), north(wet), east(north(wet))])
        outside = water & ~wet
        is_at_open_boundary = (outside | east(outside)) | north(outside | east(outside))
        barrier_u, barrier_v = (barrier_mask(self.config, axis, self.rows, self.columns) > 0 for axis in "xy")
        is_at_barrier = barrier_u | north(barrier_u) | barrier_v | east(barrier_v)
        row, column = np.nonzero(~cells.all(axis=0) | is_at_barrier)
        self.boundary_corners = np.ravel_multi_index((row + 1, column + 1), self.shape)
        self.corner_cells = self.boundary_corners + np.array([[0], [1], [self.shape[1]], [self.shape[1] + 1]])
        wet_cells = cells[:, row, column]
        n_wet = wet_cells.sum(axis=0)
        self.corner_weights = (wet_cells / np.maximum(n_wet, 1)).astype(self.dtype)
        self.corner_dry = (n_wet == 0).astype(self.dtype)
        self.is_coast = np.where((is_at_open_boundary | is_at_barrier)[row, column], 0, 1).astype(self.dtype)

    def is_open(self, dtype):
        """1 on water, on open u faces and on open v faces, else 0, [3, R, C]."""
        mask = np.ones((3, *self.shape), dtype)
        mask.reshape(-1)[self.closed] = 0
        return c(mask)

    def coriolis(self):
        """f at corners, s-1, an array or a number: f0 + beta y.

        If both are 0, it is 2 Omega sin(latitude) on a sphere or with `grid.crs`.
        """
        physics, grid = self.config.physics, self.config.grid
        if grid.crs and physics.f0 == physics.beta == 0:
            latitude = points(grid, "corner", self.rows, self.columns).lat
            return (2 * grid.rotation * np.sin(np.radians(latitude))).astype(self.dtype)
        if grid.kind == "latlon" and physics.f0 == physics.beta == 0:
            latitude = np.radians(grid.south + (self.rows[:, None] + 1) * grid.dlat)
            sine = np.sin(latitude)
            if grid.pole:  # law of cosines in the spherical triangle of the point and the poles of Earth and grid
                pole_latitude = np.radians(grid.pole[1])
                longitude = np.radians(grid.west + (self.columns + 1) * grid.dlon)
                sine = np.sin(pole_latitude) * sine + np.cos(pole_latitude) * np.cos(latitude) * np.cos(longitude)
            return (2 * grid.rotation * sine).astype(self.dtype)
        if not physics.beta:
            return physics.f0
        y = points(grid, "corner", self.rows, self.columns).y
        return (physics.f0 + physics.beta * y).astype(self.dtype)

    def at_faces(self, name):
        """A field at centres averaged to u faces and to v faces; a number if it is constant."""
        values = self.field(name)
        return self.to_u(values), self.to_v(values)

    def to_u(self, values):
        """Values at centres averaged to u faces; a number if they are constant."""
        return values.item() if values.size == 1 else 0.5 * (values + east(values))

    def to_v(self, values):
        """Values at centres averaged to v faces; a number if they are constant."""
        return values.item() if values.size == 1 else 0.5 * (values + north(values))

    def in_time(self, name, to_location=lambda values: values):
        """to_location(values) of a field, as a function of the start of a step and of a time in this step, s."""
        if not varies_in_time(self.config, name):
            values = to_location(self.field(name))
            return lambda step_start, time: values
        series, dt = source_of(self.config, name), self.config.time.dt

        @lru_cache(maxsize=1)
        def records(number):
            both = (read_record(self.config, name, number + k, self.rows, self.columns) for k in (0, 1))
            return [to_location(values.astype(self.dtype)) for values in both]

        self._record_caches.append(records)

        def at(step_start, time):
            first_record, (first_step, last_step) = series.record_at(math.floor(step_start / dt + 1e-6))
            before, after = records(first_record)
            return before + (after - before) * np.clip((time / dt - first_step) / (last_step - first_step), 0, 1)

        return at

    def last_record(self, name):
        """The last record of a field that varies in time, [R, C]."""
        source = source_of(self.config, name)
        return read_record(self.config, name, source.last_record, self.rows, self.columns).astype(self.dtype)

    def clear_records(self):
        """Discard all records in time, so that they are read again."""
        for records in self._record_caches:
            records.cache_clear()

    def at_corners(self, name):
        """A field at centres averaged over the wet cells around each corner; a number if it is constant."""
        values = self.field(name)
        return values.item() if values.size == 1 else self.to_corners(values)

    def to_corners(self, values):
        """Values at centres averaged over the wet cells around each corner."""
        padded, corners = np.zeros((2, *self.shape), self.dtype)
        c(padded)[...] = values
        wrap(padded)
        c(corners)[...] = 0.25 * (c(padded) + e(padded) + n(padded) + ne(padded))
        parts = self.corner_weights * padded.reshape(-1)[self.corner_cells]
        corners.reshape(-1)[self.boundary_corners] = parts.sum(axis=0)
        return c(corners)

    def embed(self, state, at_closed):
        """A padded copy of a State of [ny, nx] arrays, with the values `at_closed` at `always_closed`.

        Fields after h, u and v, such as tracers, are 0 on land.
        """
        x = np.zeros((len(state), *self.shape), self.dtype)
        for padded, values in zip(x, state, strict=True):
            self.inside(padded)[...] = values
        x.reshape(-1)[self.always_closed] = at_closed
        for further_field in x[3:]:
            further_field.reshape(-1)[self.land] = 0
        return x

    def inside(self, a):
        """The part [..., ny, nx] of a padded array, without padding and the land beyond walls."""
        return c(a)[..., self.walls[0] :, self.walls[1] :]

    def extract(self, x):
        """The State of [ny, nx] views of a padded [h, u, v, ...]."""
        return self.state(*self.inside(x))
