"""Displacement of the sea floor by an earthquake on many subfaults, at once or as the rupture spreads.

Each subfault displaces the surface as Okada's rectangle does (`okada`), about the subfault itself in the azimuthal
equidistant projection. Its slip grows from 0 to 1 of its final value by the asymmetric cosine of Ji and others (2002):

    ds/dt = (1 - cos(pi t / rise)) / (rise + fall)                for 0 <= t < rise after its start
    ds/dt = (1 + cos(pi (t - rise) / fall)) / (rise + fall)       for rise <= t < rise + fall

Away from a subfault its displacement is smooth. So it is computed at N_NODES x N_NODES cells of a square of the grid
that is farther away than MIN_DISTANCE_RATIO times the size of the square, and interpolated by a polynomial; a square
that is nearer is divided into four. The cost of a subfault grows with the logarithm of the number of cells. In the
tests, the sum of the displacements by 60 subfaults differs from the exact one by less than 1e-7 of the largest slip.
Fewer than MIN_INTERPOLATED subfaults are added without interpolation.

References: Okada (1985), Bull. Seismol. Soc. Am. 75, 1135-1154; Ji, Wald and Helmberger (2002), Bull. Seismol. Soc. Am.
92, 1192-1207; Berrut and Trefethen (2004), SIAM Rev. 46, 501-517.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..ocean.coordinates import Points, azimuthal_projection
from ..ocean.rotated_pole import unit_vectors
from ..parallel.environment import n_cores_per_process
from .okada import Fault, displacement

#: Number of cells in each direction of a square at which a displacement is computed for interpolation.
N_NODES = 10
#: Smallest distance of a far subfault from the centre of a square, over that of the square's corners.
MIN_DISTANCE_RATIO = 2.0
#: Squares with fewer cells in a direction are computed without interpolation, as are sums of few subfaults.
MIN_SQUARE_CELLS, MIN_INTERPOLATED = 20, 8
#: Size of a block that is allocated and freed at once, so that the C library reuses the memory of temporary arrays.
FREED_BYTES = 31 * 2**20
#: Largest number of displacements that are computed at once, which bounds the memory.
MAX_VALUES = 2**17


@dataclass(frozen=True, eq=False)
class Subfaults:
    """Rectangles on which an earthquake slips; arrays [n], one value per subfault, in m, s and degrees.

    Strike, dip and rake are those of Aki and Richards: clockwise from north, downward to the right of the strike, and
    from the strike upwards.
    """

    lon: np.ndarray  # of the reference point: the middle of the rectangle's width and length, or of its upper edge
    lat: np.ndarray
    width_above: np.ndarray  # width between the reference point and the upper edge, over the whole width: 0 or 0.5
    top_depth: np.ndarray  # depth of the upper edge
    strike: np.ndarray
    dip: np.ndarray
    rake: np.ndarray
    slip: np.ndarray
    length: np.ndarray  # along the strike
    width: np.ndarray  # along the dip
    start: np.ndarray  # time at which the slip begins, after the origin time
    rise: np.ndarray  # duration of the phase in which the slip becomes faster
    fall: np.ndarray  # duration of the phase after it, in which the slip becomes slower

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(vars(self).values())

    def __getitem__(self, index) -> Subfaults:
        """The subfaults that an index, a slice or a mask selects."""
        return Subfaults(*(np.asarray(values)[index] for values in self))

    @property
    def count(self) -> int:
        return len(self.lon)

    @property
    def end(self) -> float:
        """The time after which no subfault slips, s."""
        return float((self.start + self.rise + self.fall).max())

    def area_times_slip(self) -> float:
        """The sum of length, width and the size of the slip, m3; times the rigidity it is the seismic moment."""
        return float((self.length * self.width * np.abs(self.slip)).sum())


def slip_fraction(faults: Subfaults, t) -> np.ndarray:
    """The slip at the times t, s, as a fraction of the final slip, [n, times]."""
    after = np.asarray(t, np.float64)[None, :] - faults.start[:, None]
    rise, fall = faults.rise[:, None], faults.fall[:, None]
    rising, falling = np.clip(after, 0.0, rise), np.clip(after - rise, 0.0, fall)
    slip = rising - sine_part(rising, rise) + falling + sine_part(falling, fall)
    total = rise + fall
    return np.where(after >= total, 1.0, slip / np.where(total > 0, total, 1.0))


def sine_part(t, duration):
    """duration/pi sin(pi t / duration); 0 if the duration is 0."""
    return duration / np.pi * np.sin(np.pi * t / np.where(duration > 0, duration, 1.0))


def sum_of_displacements(faults: Subfaults, weights, at: Points, grid, has_horizontal: bool = False) -> np.ndarray:
    """Sums of the displacements by all subfaults, m.

    Args:
        weights: factor of the slip of each subfault in each sum, [n, sums].
        at: Points with longitudes and latitudes. If there are MIN_INTERPOLATED subfaults or more, the last digits of
            results depend on which points are computed together.
        has_horizontal: whether horizontal displacements are needed, too. Their axes are those at the subfault, which
            turn by the convergence of meridians.

    Returns:
        [sums, components, rows, columns]: upwards, and then eastwards and northwards if `has_horizontal`.
    """
    moving = np.flatnonzero(faults.slip)
    faults, weights = faults[moving], np.asarray(weights, np.float64)[moving]
    shape = np.broadcast_shapes(at.lon.shape, at.lat.shape)
    sums = np.zeros((weights.shape[1], 3 if has_horizontal else 1, *shape))
    if faults.count < MIN_INTERPOLATED:
        for n, weight in enumerate(weights):
            reference_point = float(faults.lon[n]), float(faults.lat[n])
            components = along_earth_axes(faults[n], *azimuthal_projection(grid, reference_point, at), has_horizontal)
            for total, factor in zip(sums, weight, strict=True):
                total += factor * np.array(components)
        return sums
    vectors = np.broadcast_to(unit_vectors(at.lon, at.lat), (*shape, 3))
    # The C library of Linux returns freed memory to the system beyond a threshold that grows with the largest block
    # freed so far, up to 32 MB. Without this line, page faults take as long as the displacements.
    np.empty(FREED_BYTES, np.uint8)
    squares = [(sums, vectors, faults, weights)]
    with ThreadPoolExecutor(n_cores_per_process()) as threads:
        while squares:  # these do not overlap, so no two threads add to the same sums
            quarters = threads.map(lambda square: add_square(grid.radius, *square), squares)
            squares = [quarter for four in quarters for quarter in four]
    return sums


def along_earth_axes(fault: Subfaults, east, north, has_horizontal: bool) -> tuple:
    """The displacement by a subfault at distances from its reference point, m.

    It is upwards and, if `has_horizontal`, also eastwards and northwards.
    """
    strike, dip, rake = np.radians((fault.strike, fault.dip, fault.rake))
    sine, cosine = np.sin(strike), np.cos(strike)
    along, right = sine * east + cosine * north, cosine * east - sine * north
    rectangle = Fault(
        depth=fault.top_depth + fault.width * np.sin(dip),
        dip=dip,
        length=fault.length,
        width=fault.width,
        strike_slip=fault.slip * np.cos(rake),
        dip_slip=fault.slip * np.sin(rake),
    )
    up_dip = fault.width * np.cos(dip) * (1.0 - fault.width_above) - right
    *horizontal, z = displacement(rectangle, along + fault.length / 2, up_dip, is_vertical_only=not has_horizontal)
    if not horizontal:
        return (z,)
    x, y = horizontal
    return z, sine * x - cosine * y, cosine * x + sine * y


def add_square(radius: float, sums, vectors, faults: Subfaults, weights) -> list[tuple]:
    """Add to `sums` the displacements in a square by the subfaults that are far from it, computed at nodes.

    `vectors` [rows, columns, 3] are the unit vectors of its cells. Returns the arguments after `radius` for the four
    quarters of the square, with the subfaults that are near. In a small square near subfaults are added, too, without
    interpolation, and no quarters remain.
    """
    rows, columns = vectors.shape[:2]
    is_small = min(rows, columns) < MIN_SQUARE_CELLS
    far = np.zeros(faults.count, bool) if is_small else is_far(vectors, faults, radius)
    if far.any():
        (row_nodes, along_rows), (column_nodes, along_columns) = interpolation(rows), interpolation(columns)
        nodes = vectors[np.ix_(row_nodes, column_nodes)].reshape(-1, 3)
        at_nodes = weighted_sums(nodes, faults[far], weights[far], radius, sums.shape[1])
        at_nodes = at_nodes.reshape(*sums.shape[:2], len(row_nodes), len(column_nodes))
        sums += along_rows @ at_nodes @ along_columns.T
    near, weights = faults[~far], weights[~far]
    if not near.count:
        return []
    if is_small:
        sums += weighted_sums(vectors.reshape(-1, 3), near, weights, radius, sums.shape[1]).reshape(sums.shape)
        return []
    halves = ((slice(0, cells // 2), slice(cells // 2, cells)) for cells in (rows, columns))
    return [(sums[..., y, x], vectors[y, x], near, weights) for y, x in itertools.product(*halves)]


def is_far(vectors, faults: Subfaults, radius: float) -> np.ndarray:
    """Whether each subfault is farther than MIN_DISTANCE_RATIO times the size of a square from its centre, [n]."""
    corners = vectors[[0, 0, -1, -1], [0, -1, 0, -1]]
    centre = corners.mean(axis=0)
    size = np.linalg.norm(corners - centre, axis=-1).max() * radius
    dip = np.radians(faults.dip)
    depth = faults.top_depth + 0.5 * faults.width * np.sin(dip)
    places = unit_vectors(faults.lon, faults.lat) * (radius - depth)[:, None]
    # The extent around the reference point, which may be half a width away from the middle of the rectangle.
    extent = np.hypot(0.5 * faults.length, faults.width)
    return np.linalg.norm(places - centre * radius, axis=-1) - extent > MIN_DISTANCE_RATIO * size


def weighted_sums(vectors, faults: Subfaults, weights, radius: float, n_components: int) -> np.ndarray:
    """The sums of displacements by subfaults at unit vectors [points, 3], without interpolation, m.

    The shape is [sums, components, points]; `weights` are those of `sum_of_displacements`.
    """
    sums = np.zeros((weights.shape[1], n_components, len(vectors)))
    chunk_size = max(1, MAX_VALUES // len(vectors))
    for first in range(0, faults.count, chunk_size):
        chunk, chunk_weights = faults[first : first + chunk_size], weights[first : first + chunk_size]
        column = Subfaults(*(values[:, None] for values in chunk))
        components = along_earth_axes(column, *project(chunk, vectors, radius), n_components > 1)
        sums += np.stack([np.einsum("ns,np->sp", chunk_weights, component) for component in components], axis=1)
    return sums


def project(faults: Subfaults, vectors, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """`coordinates.azimuthal_projection` of unit vectors [points, 3] about each subfault: [n, points]."""
    lon, lat = np.radians(faults.lon), np.radians(faults.lat)
    zero = np.zeros_like(lon)
    axes = (
        (-np.sin(lon), np.cos(lon), zero),
        (-np.sin(lat) * np.cos(lon), -np.sin(lat) * np.sin(lon), np.cos(lat)),
        (np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)),
    )
    east, north, up = (np.einsum("an,pa->np", np.array(axis), vectors) for axis in axes)
    sine = np.hypot(east, north)
    metres = radius * np.where(sine > 0, np.arctan2(sine, up) / np.where(sine > 0, sine, 1.0), 1.0)
    return metres * east, metres * north


@lru_cache(maxsize=64)
def interpolation(cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of cells near N_NODES Chebyshev nodes in a row of cells, and the interpolation matrix [cells, nodes]."""
    angles = (np.arange(N_NODES) + 0.5) * np.pi / N_NODES
    nodes = np.unique(np.rint(0.5 * (cells - 1) * (1 - np.cos(angles))).astype(int))
    scaled = nodes / (cells - 1)
    offsets = scaled[:, None] - scaled[None, :]
    np.fill_diagonal(offsets, 0.25)  # a quarter: products stay of order 1
    barycentric = 1 / offsets.prod(axis=1)
    away = np.arange(cells)[:, None] / (cells - 1) - scaled[None, :]
    matrix = barycentric / np.where(away == 0, 1.0, away)
    matrix /= matrix.sum(axis=1, keepdims=True)
    matrix[nodes] = np.eye(len(nodes))
    return nodes, matrix
