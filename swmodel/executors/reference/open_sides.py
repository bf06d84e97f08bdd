"""Water outside open sides, at single faces: lists of them, as of all that is exceptional on the Ring."""

from __future__ import annotations

import numpy as np

from ...ocean.constituents import constituents

#: Of the tides outside.
NAMES = ("M2", "S2", "N2", "K2", "K1", "O1", "P1", "Q1", "MF", "MM", "M4")


class OpenSides:
    """The faces between outside water and the first cells inside.

    All places are flat indices into padded fields; faces of x are looked up in u, those of y in v.

    Attributes:
        faces: for x and y the faces, the cells outside, inside, and beyond these, the inward direction, +1 or -1, and
            the weight of the cell beyond: 1/2, or 0 where it is land.
    """

    def __init__(self, ring, wet, water):
        self.ring, self.config = ring, ring.config
        self.gravity = self.config.physics.gravity
        self.depth = self.padded("depth")
        ny, nx = (np.array(wet.shape) - 1).tolist()
        strides, first = {"x": 1, "y": ring.shape[1]}, ring.walls
        at = {"west": first[1], "east": nx, "south": first[0], "north": ny}
        self.faces = {"x": [], "y": []}
        for side in self.config.open_sides.sides:
            axis, inward = ("x" if side in ("west", "east") else "y"), (1 if side in ("west", "south") else -1)
            line = np.index_exp[:, at[side]] if axis == "x" else np.index_exp[at[side], :]
            for along in np.flatnonzero(water[line]):
                row, column = (along, at[side]) if axis == "x" else (at[side], along)
                outside, step = (row + 1) * ring.shape[1] + column + 1, inward * strides[axis]
                inside, beyond = outside + step, outside + 2 * step
                is_wet = np.pad(wet, 1, mode="wrap").reshape(-1)
                if is_wet[inside]:
                    face = outside if inward > 0 else inside
                    self.faces[axis].append((face, outside, inside, beyond, inward, 0.5 * is_wet[beyond]))
        self.faces = {axis: np.array(found).T for axis, found in self.faces.items() if found}

    def closed(self):
        """The faces in u, and those in v."""
        return [self.faces[axis][0].astype(int) if axis in self.faces else [] for axis in ("x", "y")]

    def padded(self, name):
        """A field on the whole padded ring, float64."""
        return np.pad(np.broadcast_to(self.ring.field(name), tuple(n - 2 for n in self.ring.shape)), 1, mode="wrap")

    def level(self, time):
        """Outside sea level at a time, s, padded."""
        found = self.padded("outside_level").astype(np.float64)
        start, nodal = self.config.time.start, self.config.open_sides.nodal
        for each in constituents(NAMES, start or "2000-01-01", nodal):
            phase = 2 * np.pi * each.frequency * time + (each.phase if start else 0.0)
            factor, name = each.factor if start else 1.0, each.name.lower()
            found += factor * self.padded(f"outside_{name}_cosine") * np.cos(phase)
            found += factor * self.padded(f"outside_{name}_sine") * np.sin(phase)
        return found.reshape(-1)

    def flows(self, x, time):
        """For x and y the open faces, the transports over their lengths, m2 s-1, and thicknesses there, m."""
        level, depth = self.level(time), self.depth.reshape(-1)
        eta = x[0].reshape(-1) - depth
        for axis, found in self.faces.items():
            face, outside, inside, beyond = found[:4].astype(int)
            inward, weight = found[4:]
            eta_b = eta[inside] + weight * (eta[inside] - eta[beyond])
            H, eta_ext = ((field[inside] + field[outside]) / 2 for field in (depth, level))
            given = self.padded(f"outside_transport_{axis}").reshape(-1)[face]
            yield axis, face, given + inward * np.sqrt(self.gravity * H) * (eta_ext - eta_b), H + eta_b
