"""Open boundaries, as lists of single faces, just as the PeriodicDomain stores all other exceptional points."""

from __future__ import annotations

import numpy as np

from ...ocean.constituents import constituents_at
from .forces import ramp

#: Constituents of boundary tides, in the order in which they are summed.
CONSTITUENTS = ("M2", "S2", "N2", "K2", "K1", "O1", "P1", "Q1", "MF", "MM", "M4")


class BoundaryFaces:
    """The faces of open boundaries, between the outermost cells and the first cells inside.

    `faces` has an array [6, faces] for the open u faces ("x"), and one for the open v faces ("y"). Four of its rows are
    flat indices into padded fields: of the face, the cell outside, the cell inside, and the next cell inwards. The
    others are the inward direction (+1 or -1) and the weight of that next cell (1/2, or 0 on land).
    """

    def __init__(self, domain, wet, water):
        self.domain, self.config, self.faces = domain, domain.config, {}
        if not self.config.open_boundaries.sides:
            return
        self.gravity, self.depth = self.config.physics.gravity, self.padded(domain.field("depth"))
        names = ("level", "transport_x", "transport_y", "current_x", "current_y")
        self.boundary_data = {name: domain.in_time(f"boundary_{name}", self.padded) for name in names}
        options, start, self.tides = self.config.open_boundaries, self.config.time.start, []
        self.air_pressure_head = lambda step_start, time: 0.0
        if options.pressure is not None and "air_pressure" in domain.scheme.term_names:
            self.air_pressure_head = domain.in_time("air_pressure", self._air_pressure_head)
        constituent_names = [name for name in CONSTITUENTS if name in options.constituents]
        for wave in constituents_at(constituent_names, start or "2000-01-01", options.nodal):
            for quantity in ("level", "transport_x", "transport_y"):
                parts = [domain.field(f"boundary_tide_{quantity}[{wave.name},{part}]") for part in ("cosine", "sine")]
                if any(part.any() for part in parts):
                    wave = wave if start else wave._replace(phase=0.0, nodal_factor=1.0)
                    self.tides.append((quantity, wave, *(self.padded(part) for part in parts)))
        self._find_faces(wet, water)

    def _find_faces(self, wet, water):
        domain, last = self.domain, np.array(wet.shape) - 1
        side_index = {"west": domain.walls[1], "east": last[1], "south": domain.walls[0], "north": last[0]}
        is_wet = np.pad(wet, 1, mode="wrap").reshape(-1)
        faces_by_axis: dict[str, list[tuple]] = {"x": [], "y": []}
        for side in self.config.open_boundaries.sides:
            axis, inward = ("x" if side in ("west", "east") else "y"), (1 if side in ("west", "south") else -1)
            across = 1 if axis == "x" else domain.shape[1]
            line = water[:, side_index[side]] if axis == "x" else water[side_index[side], :]
            for along in np.flatnonzero(line):
                row, column = (along, side_index[side]) if axis == "x" else (side_index[side], along)
                outside = (row + 1) * domain.shape[1] + column + 1
                inside, beyond = outside + inward * across, outside + 2 * inward * across
                if is_wet[inside]:
                    face = outside if inward > 0 else inside
                    faces_by_axis[axis].append((face, outside, inside, beyond, inward, 0.5 * is_wet[beyond]))
        self.faces = {axis: np.array(faces).T for axis, faces in faces_by_axis.items() if faces}

    def padded(self, values):
        """Values that broadcast to [R, C], expanded to the whole padded domain and flattened, float64."""
        whole = np.broadcast_to(values, tuple(n - 2 for n in self.domain.shape)).astype(np.float64)
        return np.pad(whole, 1, mode="wrap").reshape(-1)

    def _air_pressure_head(self, values):
        """(p - p_0) / (rho g), m, padded and flat."""
        config = self.config
        return self.padded((values - config.open_boundaries.pressure) / config.physics.density / self.gravity)

    def level_without_air_pressure(self, step_start, time):
        """Sea level, m, at `time`, s, in a step that began at `step_start`, without the effect of air pressure."""
        return self.boundary_data["level"](step_start, time) + self.tide("level", time)

    def level(self, step_start, time):
        """As `level_without_air_pressure`, but with the effect of air pressure."""
        return self.level_without_air_pressure(step_start, time) - self.air_pressure_head(step_start, time)

    def tide(self, quantity, time):
        """The tide of a quantity, "level", "transport_x" or "transport_y", padded and flat."""
        total = 0.0
        for tide_quantity, wave, cosine, sine in self.tides:
            if tide_quantity == quantity:
                phase = 2 * np.pi * wave.frequency * time + wave.phase
                total = total + wave.nodal_factor * (cosine * np.cos(phase) + sine * np.sin(phase))
        return total * ramp(self.config.tide.ramp, time)

    def transport(self, axis, level, step_start, time):
        """Transport of the boundary data along an axis, m2 s-1, padded, flat; undefined in the last row and column."""
        h = self.depth + level
        h = 0.5 * (h + np.roll(h, -1 if axis == "x" else -self.domain.shape[1]))
        total = self.boundary_data[f"transport_{axis}"](step_start, time) + self.tide(f"transport_{axis}", time)
        return total + self.boundary_data[f"current_{axis}"](step_start, time) * h

    def boundary_flows(self, x, step_start, time):
        """Yield each axis, its open faces, and on these faces the transports per length, m2 s-1, and thicknesses, m.

        The transport is U_ext + n sqrt(g H) (eta_ext - eta_b), with the inward direction n, the level eta_ext of the
        boundary data, and the level eta_b inside, extrapolated to the face, both without the effect of air pressure.
        """
        level = self.level_without_air_pressure(step_start, time)
        air = np.zeros(self.depth.shape) + self.air_pressure_head(step_start, time)
        eta = x[0].reshape(-1) - self.depth + air
        for axis, faces in self.faces.items():
            face, outside, inside, beyond = faces[:4].astype(int)
            inward, weight = faces[4:]
            eta_b = eta[inside] + weight * (eta[inside] - eta[beyond])
            H, eta_ext, p = ((field[inside] + field[outside]) / 2 for field in (self.depth, level, air))
            boundary_transport = self.transport(axis, level - air, step_start, time)[face]
            yield axis, face, boundary_transport + inward * np.sqrt(self.gravity * H) * (eta_ext - eta_b), H + eta_b - p
