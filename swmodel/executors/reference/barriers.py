"""Barriers, as lists of single faces. All other terms treat these faces as closed."""

from __future__ import annotations

import numpy as np

from ...ocean.barrier_faces import crest_heights
from .neighbours import wrap

#: Width of the range of ratios of the lower level above the crest to the higher one, in which flow with a backwater
#: becomes critical; the range ends at 2/3.
BLENDED_RATIOS = 0.1


class Barriers:
    """The flow over the barriers of a domain: du/dt = g (A - B) / dx - |u| u / (2 C² dx), transport min(A, B) u.

    A and B follow from the levels above the crest, see `levels`; C is the discharge coefficient.

    Attributes:
        faces: for each axis: flat indices, into padded fields, of the cells before the faces, which are also those of
            the faces, and of the cells beyond; rows and columns of the faces; 1 / dx or 1 / dy, m-1.
        velocities: for each axis, the velocities over the crests, which `take_velocities` takes out of x, m s-1.
        depth: depth of all cells, padded and flat, m.
    """

    def __init__(self, T):
        self.T, domain, self.config = T, T.domain, T.domain.config
        self.coefficient, self.faces, self.velocities = self.config.barriers.discharge_coefficient, {}, {}
        depth = np.pad(np.broadcast_to(domain.depth, T.work.shape), 1, mode="wrap").reshape(-1)
        for axis, mask, (north, east) in zip("xy", domain.barriers, ((0, 1), (1, 0)), strict=True):
            row, column = np.nonzero(mask)
            near = np.ravel_multi_index((row + 1, column + 1), domain.shape)
            beyond = (row + north) % mask.shape[0], (column + east) % mask.shape[1]
            far = np.ravel_multi_index((beyond[0] + 1, beyond[1] + 1), domain.shape)
            inverse_lengths = np.broadcast_to(T.sizes.inverse_dx if axis == "x" else T.sizes.inverse_dy, mask.shape)
            self.faces[axis] = near, far, row, column, inverse_lengths[row, column]
        self.depth = depth

    def take_velocities(self, x, F):
        """Close the barriers in x, and store the velocities over their crests."""
        for velocity, (axis, (face, *_)) in zip(x[1:3], self.faces.items(), strict=True):
            self.velocities[axis] = velocity.reshape(-1)[face]
            velocity.reshape(-1)[face] = 0
            wrap(velocity)

    def return_velocities(self, x):
        for velocity, (axis, (face, *_)) in zip(x[1:3], self.faces.items(), strict=True):
            velocity.reshape(-1)[face] = self.velocities[axis]
            wrap(velocity)

    def levels(self, axis, h):
        """A = max(a, 2/3 b), B = max(b, 2/3 a), and the higher and the lower one of a and b, m.

        a and b are the levels above the crest, or above the bed where that is higher, before and beyond each face, from
        the padded thickness h. They are at least zero.
        """
        near, far, row, column, _ = self.faces[axis]
        top = crest_heights(self.config, axis, self.T.time, self.T.domain.rows, self.T.domain.columns)[row, column]
        top = np.maximum(top, np.maximum(-self.depth[near], -self.depth[far]))
        a, b = (np.clip(h.reshape(-1)[cell] - self.depth[cell] - top, 0, None) for cell in (near, far))
        return np.maximum(a, 2 / 3 * b), np.maximum(b, 2 / 3 * a), np.maximum(a, b), np.minimum(a, b)

    def add_transport(self, x, F):
        """U = min(A, B) u; where the lower level falls below 2/3 of the higher, u changes to ± C sqrt(2 g |A - B|)."""
        T = self.T
        for flux, (axis, (face, *_)) in zip((T.U, T.V), self.faces.items(), strict=True):
            A, B, higher, lower = self.levels(axis, x[0])
            critical = self.coefficient * np.sign(A - B) * np.sqrt(2 * T.physics.gravity * abs(A - B))
            weight = np.clip((2 / 3 - lower / np.where(higher > 0, higher, 1)) / BLENDED_RATIOS, 0, 1)
            u = (1 - weight) * self.velocities[axis] + weight * critical
            transport = np.minimum(A, B) * u
            if axis == "y" and T.sizes.cos_v is not None:
                transport = transport * T.sizes.cos_v.reshape(-1)[face // flux.shape[1]]
            flux.reshape(-1)[face] = transport
            wrap(flux)

    def accelerate(self, h, F):
        """Write the accelerations over the crests into F, with the pressure of the padded thickness h."""
        for rate, (axis, (face, *_, inverse_lengths)) in zip(F[1:3], self.faces.items(), strict=True):
            A, B, *_ = self.levels(axis, h)
            u = self.velocities[axis]
            loss = abs(u) * u / (2 * self.coefficient**2)
            rate.reshape(-1)[face] = (self.T.physics.gravity * (A - B) - loss) * inverse_lengths
