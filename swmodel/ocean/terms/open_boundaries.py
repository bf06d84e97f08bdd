"""Open boundaries: waves leave through them, superposed on the sea level and transport of boundary data.

The outermost row of cells at an open boundary is outside the model; its values are boundary data. At each stage of a
step, the transport through the face between this row and the first cell inside follows from the sea level inside,

    U = U_ext + n sqrt(g H) (eta_ext - eta_b),    n the direction inward, +1 or -1,

where H and the boundary data are averages over the two cells, and eta_b is extrapolated to the face from the two cells
inside (from the first alone if the second is land). At normal incidence a fraction of order dx⁴ of a wave's energy is
reflected. The face needs no memory. With air pressure, both levels are reduced to `open_boundaries.pressure`,
eta + (p - pressure) / (rho g), so that a storm that crosses the boundary pumps no water through it.

Reference: Flather, R. A. (1976), Mém. Soc. R. Sci. Liège, 6e série, 10, 141-164.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..constituents import Constituent, constituents_at
from ..instant import phase_cosine_and_sine, phase_increment
from ..operators import maximum, mx_f, my_f
from ..patch import Patch, east, north, south, west
from . import boundary_data
from .boundary_data import (
    PRESSURE_PARAM,
    RAMP_PARAM,
    TIDE_ARRAYS,
    TIDE_LEVEL,
    TIDE_TRANSPORTS,
    OpenBoundaryOptions,
    has_values,
    phase_params,
    tide_names,
    transports_param,
)
from .term import Term
from .tide import ramp_factor, ramp_params

if TYPE_CHECKING:
    from ...config.options.model import Config

#: Smallest depth for the speed of waves, m. It counts on land only, where the root needs a finite derivative.
MIN_WAVE_DEPTH = 1e-6


class BoundaryData(NamedTuple):
    """Boundary data at one time: sea level, m, and transports on u and v faces, m2 s-1."""

    level: Patch
    transport_x: Patch
    transport_y: Patch


def build(config: Config, rows, columns):
    """For each constituent, its PhaseIncrement, f cos(V + u) and f sin(V + u) at the start; ramp and air pressure."""
    params = {}
    if boundary_data.uses_air_pressure(config):
        params[PRESSURE_PARAM] = np.full((1, 1), config.open_boundaries.pressure)
    params |= ramp_params(config, RAMP_PARAM) if tide_names(config) else {}
    for tide in boundary_constituents(tide_names(config), config.time.start, config.open_boundaries.nodal):
        start = (np.full((1, 1), tide.nodal_factor * function(tide.phase)) for function in boundary_data.PARTS.values())
        values = *phase_increment(config.time.dt, tide.period), *start
        params |= dict(zip(phase_params(tide.name), values, strict=True))
        params |= (
            {transports_param(tide.name): np.ones((1, 1))} if has_values(config, tide.name, *TIDE_TRANSPORTS) else {}
        )
    return params


def boundary_constituents(names, start: str, nodal: bool = True) -> list[Constituent]:
    """The constituents `names` at the date of the start; without a date, with f = 1 and V + u = 0."""
    if start:
        return constituents_at(names, start, nodal)
    return [each._replace(phase=0.0, nodal_factor=1.0) for each in constituents_at(names, boundary_data.DEFAULT_DATE)]


def boundary_data_at(flow, params, now) -> BoundaryData:
    """Boundary data at an Instant: the mean, and f (cosine cos(wt + V + u) + sine sin(wt + V + u)) per constituent.

    The tide grows with `tide.ramp`. The level includes the effect of air pressure. Transports include currents times
    the sum of depth and sea level.
    """
    *means, u, v = (params[row.name] for row in boundary_data.MEAN_VARIABLES)
    values_by_array = dict(zip(TIDE_ARRAYS, means, strict=True))
    ramp = ramp_factor(RAMP_PARAM, params, now, flow.h.values.dtype)
    for name in (name for name in boundary_data.CONSTITUENTS if phase_params(name)[0] in params):
        high, low, cosine, sine = (params[word] for word in phase_params(name))
        c, s = phase_cosine_and_sine(high, low, now, flow.h.values.dtype)
        c, s = ramp * c, ramp * s
        for array in TIDE_ARRAYS if transports_param(name) in params else (TIDE_LEVEL,):
            cosines, sines = (params[part] for part in boundary_data.part_names(name, array))
            values_by_array[array] = values_by_array[array] + cosines * (cosine * c - sine * s)
            values_by_array[array] = values_by_array[array] + sines * (cosine * s + sine * c)
    level, x, y = values_by_array.values()
    level = level - inverse_barometer(params) if has_inverse_barometer(params) else level
    h = flow.grid.depth + level
    return BoundaryData(level, x + u * mx_f(h), y + v * my_f(h))


def has_inverse_barometer(params) -> bool:
    """Whether the boundary level is corrected for air pressure."""
    return PRESSURE_PARAM in params and "air_pressure" in params


def inverse_barometer(params):
    """The fall of sea level that balances the excess of air pressure over `open_boundaries.pressure`, m."""
    return (params["air_pressure"] - params[PRESSURE_PARAM]) / (params["density"] * params["gravity"])


def boundary_flux(flow, params, now):
    """Transport per length, m2 s-1, and thickness, m, on the faces of open boundaries in x and in y."""
    if not has_inverse_barometer(params):
        return radiation_flux(flow, params, flow.eta, boundary_data_at(flow, params, now))
    barometer, boundary = inverse_barometer(params), boundary_data_at(flow, params, now)
    (x, h_x), (y, h_y) = radiation_flux(
        flow, params, flow.eta + barometer, boundary._replace(level=boundary.level + barometer)
    )
    return (x, h_x - mx_f(barometer)), (y, h_y - my_f(barometer))


def radiation_flux(flow, params, eta, boundary: BoundaryData):
    """As `boundary_flux`, from the sea level inside and the boundary data."""
    grid, g, wet = flow.grid, params["gravity"], flow.grid.wet
    from_west = wet * (eta + 0.5 * (west(grid.open_u) * (eta - west(eta))))
    from_east = wet * (eta + 0.5 * (grid.open_u * (eta - east(eta))))
    from_south = wet * (eta + 0.5 * (south(grid.open_v) * (eta - south(eta))))
    from_north = wet * (eta + 0.5 * (grid.open_v * (eta - north(eta))))

    def flux(eta_b: Patch, inward: Patch, mean: Callable, transport: Patch) -> tuple[Patch, Patch]:
        """U_ext + n sqrt(g H) (eta_ext - eta_b), m2 s-1, and H + eta_b, m, with H and eta_ext by `mean` on faces."""
        depth = mean(grid.depth)
        speed = (g * maximum(depth, MIN_WAVE_DEPTH)).map(lambda squares: squares.__array_namespace__().sqrt(squares))
        return transport + inward * (speed * (mean(boundary.level) - eta_b)), depth + eta_b

    return (
        flux(from_west + east(from_east), east(wet) - wet, mx_f, boundary.transport_x),
        flux(from_south + north(from_north), north(wet) - wet, my_f, boundary.transport_y),
    )


OPEN_BOUNDARIES = Term(
    "open_boundaries",
    coefficients=(*boundary_data.MEAN_VARIABLES, *boundary_data.TIDE_VARIABLES),
    options=OpenBoundaryOptions,
    is_active=lambda options: bool(options.sides),
    problems=boundary_data.problems,
    fields=boundary_data.SCALAR_VARIABLES,
    build=build,
    boundary_flux=boundary_flux,
    unused_coefficients=boundary_data.unused_coefficients,
)
