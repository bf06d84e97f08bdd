"""Water outside open sides, on lists of single faces, as for all exceptional points of the Ring."""

from __future__ import annotations

import numpy as np

from ...ocean.constituents import constituents
from .forces import ramp

#: Constituents of the tides outside.
NAMES = ("M2", "S2", "N2", "K2", "K1", "O1", "P1", "Q1", "MF", "MM", "M4")


class OpenSides:
    """The faces between the water outside and the first cells inside.

    All places are flat indices into padded fields, of u for faces in x, of v in y. `faces` has an array [6, faces] for
    x, and for y. Its rows are the faces, the cells outside, inside, and beyond these, the inward direction (+1 or -1),
    and the weight of the cell beyond (1/2, or 0 on land).
    """

    def __init__(self, ring, wet, water):
        self.ring, self.config, self.faces = ring, ring.config, {}
        if not self.config.open_sides.sides:
            return
        self.gravity, self.depth = self.config.physics.gravity, self.padded(ring.field("depth"))
        mean = ("level", "transport_x", "transport_y", "current_x", "current_y")
        self.given = {name: ring.in_time(f"outside_{name}", self.padded) for name in mean}
        pressed = self.config.open_sides.pressure is not None and "air_pressure" in ring.scheme.terms
        self.air = ring.in_time("air_pressure", self._head_of_air) if pressed else lambda begin, time: 0.0
        start, nodal = self.config.time.start, self.config.open_sides.nodal
        self.tides = []
        there = [name for name in NAMES if name in self.config.open_sides.constituents]
        for each in constituents(there, start or "2000-01-01", nodal):
            for of in ("level", "transport_x", "transport_y"):
                parts = [ring.field(f"outside_tide_{of}[{each.name},{part}]") for part in ("cosine", "sine")]
                if any(part.any() for part in parts):
                    each = each if start else each._replace(phase=0.0, factor=1.0)
                    self.tides.append((of, each, *(self.padded(part) for part in parts)))
        self._find_faces(wet, water)

    def _find_faces(self, wet, water):
        ring, last = self.ring, np.array(wet.shape) - 1
        at = {"west": ring.walls[1], "east": last[1], "south": ring.walls[0], "north": last[0]}
        is_wet, found = np.pad(wet, 1, mode="wrap").reshape(-1), {"x": [], "y": []}
        for side in self.config.open_sides.sides:
            axis, inward = ("x" if side in ("west", "east") else "y"), (1 if side in ("west", "south") else -1)
            across = 1 if axis == "x" else ring.shape[1]
            line = water[:, at[side]] if axis == "x" else water[at[side], :]
            for along in np.flatnonzero(line):
                row, column = (along, at[side]) if axis == "x" else (at[side], along)
                outside = (row + 1) * ring.shape[1] + column + 1
                inside, beyond = outside + inward * across, outside + 2 * inward * across
                if is_wet[inside]:
                    face = outside if inward > 0 else inside
                    found[axis].append((face, outside, inside, beyond, inward, 0.5 * is_wet[beyond]))
        self.faces = {axis: np.array(faces).T for axis, faces in found.items() if faces}

    def padded(self, values):
        """Values [R, C] or fewer on the whole padded ring, flat, float64."""
        whole = np.broadcast_to(values, tuple(n - 2 for n in self.ring.shape)).astype(np.float64)
        return np.pad(whole, 1, mode="wrap").reshape(-1)

    def _head_of_air(self, values):
        """(p - p_0) / (rho g), m, padded and flat."""
        config = self.config
        return self.padded((values - config.open_sides.pressure) / config.physics.density / self.gravity)

    def without_air(self, begin, time):
        """Sea level at `time`, s, in a step that began at `begin`, without the effect of air pressure."""
        return self.given["level"](begin, time) + self.tide("level", time)

    def level(self, begin, time):
        """The same with the effect of air pressure; padded and flat."""
        return self.without_air(begin, time) - self.air(begin, time)

    def tide(self, wanted, time):
        """The tide of sea level, or of the transport, for "level", "transport_x" or "transport_y", padded and flat."""
        found = 0.0
        for of, each, cosine, sine in self.tides:
            if of == wanted:
                phase = 2 * np.pi * each.frequency * time + each.phase
                found = found + each.factor * (cosine * np.cos(phase) + sine * np.sin(phase))
        return found * ramp(self.config.tide.ramp, time)

    def transport(self, axis, level, begin, time):
        """Transport outside along an axis, m2 s-1, padded and flat; the last row or column is arbitrary."""
        h = self.depth + level
        h = 0.5 * (h + np.roll(h, -1 if axis == "x" else -self.ring.shape[1]))
        given = self.given[f"transport_{axis}"](begin, time) + self.tide(f"transport_{axis}", time)
        return given + self.given[f"current_{axis}"](begin, time) * h

    def flows(self, x, begin, time):
        """For x and y the open faces, the transports per length, m2 s-1, and the thicknesses there, m."""
        level, air = self.without_air(begin, time), np.zeros(self.depth.shape) + self.air(begin, time)
        eta = x[0].reshape(-1) - self.depth + air
        for axis, found in self.faces.items():
            face, outside, inside, beyond = found[:4].astype(int)
            inward, weight = found[4:]
            eta_b = eta[inside] + weight * (eta[inside] - eta[beyond])
            H, eta_ext, p = ((field[inside] + field[outside]) / 2 for field in (self.depth, level, air))
            given = self.transport(axis, level - air, begin, time)[face]
            yield axis, face, given + inward * np.sqrt(self.gravity * H) * (eta_ext - eta_b), H + eta_b - p
