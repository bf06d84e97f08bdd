"""Errors of a first guess: the change of variables x = x_b + L w, where w are independent standard normal numbers.

docs/assimilation.md gives L for each control. C^(1/2) = N F is normalised smoothing, by `diffusion` or `spectral`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..ocean.elliptic import require_rectangle
from ..ocean.grid import as_patches
from ..ocean.noise import normal_numbers, white_noise
from ..ocean.operators import dx_c, dx_f, dy_c, dy_f, mx_c, mx_f, my_c, my_f
from ..ocean.patch import Patch, south, west
from ..ocean.table import CONTROLS
from ..parallel.transport.halo import exchange_halos
from .diffusion import MASK_NAMES, Conductances, chebyshev_coefficients, conductances_of, smooth, stack_coefficients
from .spectral import SpectralFilters
from .spectral import variance as variance_of_spectrum
from .variance import LayerKind, smoothed_noise_variances

if TYPE_CHECKING:
    from ..config.options.model import Config
    from ..model.domain import Domain
    from ..parallel.transport import Transport

#: {control that is a field: its location}.
FIELD_LOCATIONS = {name: row.control_location for name, row in CONTROLS.items() if row.control_location}

#: Geostrophic balance fades out where |f| is below this fraction of its largest value in the domain.
BALANCE_FADE_FRACTION = 0.1


class ControlErrors(NamedTuple):
    """The errors of one control of a first guess.

    Attributes:
        sigma: the standard deviation in the unit of the control, a number or an array [ny, nx]. For numbers at records
            in time it is the symmetric root of their covariance, [n, n].
        length: the correlation length (Daley), m; None for numbers.
        time_root: the symmetric root of the correlation in time of fields at records, [n, n]; None for other controls.
    """

    sigma: Any
    length: float | None = None
    time_root: np.ndarray | None = None


class Smoothing(NamedTuple):
    """Parameters that set the accuracy of correlations by diffusion."""

    order: int = 10  # p of `diffusion`, with which correlations are nearly Gaussian
    tolerance: float = 1e-5  # half the largest error of the smoothing, in the operator norm
    samples: int = 256  # fields of white noise for the normalisation near land


DEFAULT_SMOOTHING = Smoothing()

#: Marks the attributes that are constants of compiled programs, for `jax.tree_util.register_dataclass`.
STATIC = {"static": True}


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class BackgroundErrors:
    """Errors of a first guess on this process's block, from `make_background_errors`; a pytree.

    All processes call its methods together.

    Attributes:
        names: all controls.
        number_sigmas: {name: sigma} of the controls that are numbers.
        roots: {name: symmetric root of the correlation in time, [n, n]} of the fields with n records.
        balance: the operator that adds currents in balance with eta to u and v, or None.
        scale: sigma N of all layers, [layers, ny, nx]; zero on land and closed faces. The layers are the fields, or
            their records. None without fields.
        coefficients, conductances: the Chebyshev coefficients and Conductances of the layers, for `diffusion.smooth`;
            None without fields or with `filters`.
        filters: the smoothing by spectrum that replaces diffusion, or None.
    """

    transport: Transport = field(metadata=STATIC)
    dtype: str = field(metadata=STATIC)
    names: tuple[str, ...] = field(metadata=STATIC)
    number_sigmas: dict[str, Any]
    roots: dict[str, Any]
    balance: GeostrophicBalance | None
    scale: Any = None
    coefficients: Any = None
    conductances: Conductances | None = None
    filters: SpectralFilters | None = field(default=None, metadata=STATIC)

    @property
    def field_names(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name in FIELD_LOCATIONS)

    def n_layers(self, name: str) -> int:
        """The number of records of a field; 1 for a field without records."""
        return len(self.roots[name]) if name in self.roots else 1

    def _stack_layers(self, x: dict):
        """All fields, and all records of those that have some, stacked to [layers, ny, nx]."""
        return jnp.concatenate([x[name] if name in self.roots else x[name][None] for name in self.field_names])

    def _unstack_layers(self, fields) -> dict:
        """The inverse of `_stack_layers`."""
        ends = np.cumsum([self.n_layers(name) for name in self.field_names])
        parts = zip(self.field_names, jnp.split(fields, ends[:-1]), strict=True)
        return {name: part if name in self.roots else part[0] for name, part in parts}

    def _apply_time_roots(self, x: dict) -> dict:
        """x, multiplied along the records by the symmetric root of the correlation in time."""
        # A matrix product would sum the records of a cell in an order that depends on the number of cells.
        return x | {name: (root[..., None, None] * x[name][None]).sum(axis=1) for name, root in self.roots.items()}

    def _smooth(self, fields):
        """F of each layer, [layers, ny, nx]."""
        if self.filters:
            return self.filters.smooth(fields, self.transport)
        assert self.conductances is not None  # Fields are smoothed by spectrum or by diffusion.
        return smooth(fields, self.coefficients, self.conductances, self.transport)

    def apply(self, w: dict) -> dict:
        """L w: fields [ny, nx] of this block or their records [n, ny, nx], zero on land and closed faces; numbers."""
        dx = {name: jnp.dot(sigma, w[name]) for name, sigma in self.number_sigmas.items()}
        if self.field_names:
            dx |= self._unstack_layers(self.scale * self._smooth(self._stack_layers(self._apply_time_roots(w))))
        if self.balance is not None:
            u, v = geostrophic(dx["eta"], self.balance, self.transport)
            dx |= {"u": dx["u"] + u, "v": dx["v"] + v}
        return {name: dx[name] for name in self.names}

    def transpose(self, x: dict) -> dict:
        """Lᵀ x: the derivative of a scalar with respect to w, from x, its derivative with respect to the controls.

        F is its own transpose. JAX's derivative of `apply` would take 3 times as long.
        """
        if self.balance is not None:
            x = x | {"eta": x["eta"] + geostrophic_transpose(x["u"], x["v"], self.balance, self.transport)}
        w = {name: jnp.dot(sigma, x[name]) for name, sigma in self.number_sigmas.items()}
        if self.field_names:
            w |= self._apply_time_roots(self._unstack_layers(self._smooth(self.scale * self._stack_layers(x))))
        return {name: w[name] for name in self.names}

    def noise(self, seed: int, member: int) -> dict:
        """A random w of standard normal numbers, the same on any layout."""
        block, fields = self.transport.block, {}
        for name in self.field_names:
            fields[name] = white_noise(seed, name, member, block)
            if name in self.roots:
                later_records = [white_noise(seed, f"{name} {k}", member, block) for k in range(1, self.n_layers(name))]
                fields[name] = np.stack([fields[name], *later_records])
        numbers = {
            name: normal_numbers(seed, name, member, np.shape(self.number_sigmas[name])[:1])
            for name in self.number_sigmas
        }
        return {name: jnp.asarray((fields | numbers)[name], self.dtype) for name in self.names}

    def draw(self, seed: int, member: int) -> dict:
        """A random error of the first guess: L w with the `noise` of an ensemble member."""
        return _jit_apply(self, self.noise(seed, member))


_jit_apply = jax.jit(BackgroundErrors.apply)


def make_background_errors(
    domain: Domain, controls: dict[str, ControlErrors], balanced: bool = False, smoothing: Smoothing = DEFAULT_SMOOTHING
) -> BackgroundErrors:
    """The BackgroundErrors of these controls; all processes of the Domain call this together.

    `balanced`: whether errors of eta include currents in geostrophic balance with them.

    UsageError: correlations are by spectrum, but the grid is on a sphere, or there are land, open boundaries or more
    blocks than lines of a Fourier transform.
    """
    config, transport = domain.config, domain.transport
    block, dtype = transport.block, config.run.dtype
    patches = as_patches(transport.get(domain.grid), domain.setup.static_halo)
    sigmas = {name: jnp.asarray(each.sigma, dtype) for name, each in controls.items() if name not in FIELD_LOCATIONS}
    lengths = {name: each.length for name, each in controls.items() if each.length is not None}
    roots = {name: jnp.asarray(each.time_root, dtype) for name, each in controls.items() if each.time_root is not None}
    balance = jax.tree.map(jnp.asarray, build_balance(config, transport, patches)) if balanced else None
    errors = BackgroundErrors(transport, dtype, tuple(controls), sigmas, roots, balance)
    if not errors.field_names:
        return errors
    layer_names = [name for name in errors.field_names for _ in range(errors.n_layers(name))]
    kinds = [LayerKind(FIELD_LOCATIONS[name], lengths[name], name.startswith("boundary_")) for name in layer_names]
    masks = {
        kind: (water_and_boundary_mask if kind.includes_boundary else water_mask)(patches, kind.location)
        for kind in kinds
    }
    if config.assimilation.correlation == "spectrum":
        require_rectangle("correlations by spectrum are", [(None, patches, block.shape)], transport)
        errors = replace(
            errors, filters=SpectralFilters(tuple((kind.location, kind.length) for kind in kinds), config.grid)
        )
        variances = {kind: variance_of_spectrum(kind.location, kind.length, config.grid, transport) for kind in masks}
    else:
        order, tolerance, samples = smoothing
        coefficients = {kind: chebyshev_coefficients(kind.length, config, order, tolerance) for kind in masks}
        variances = smoothed_noise_variances(config, transport, masks, coefficients, samples)
        conductances = {
            kind: conductances_of(mask, kind.location, config, block, dtype) for kind, mask in masks.items()
        }
        conductances_in_x_and_y = zip(*(conductances[kind] for kind in kinds), strict=True)
        errors = replace(
            errors,
            coefficients=jnp.asarray(stack_coefficients([coefficients[kind] for kind in kinds]), dtype),
            conductances=Conductances(*(jnp.concatenate(layers) for layers in conductances_in_x_and_y)),
        )
    scales = [
        controls[name].sigma * masks[kind].block_values(block.shape) / np.sqrt(variances[kind])
        for name, kind in zip(layer_names, kinds, strict=True)
    ]
    return replace(errors, scale=jnp.asarray(np.stack(scales), dtype))


def water_mask(grid, location: str) -> Patch:
    """1 in wet cells or on open faces, else 0."""
    return getattr(grid, MASK_NAMES[location]).map(np.float64)


def water_and_boundary_mask(grid, location: str) -> Patch:
    """As `water_mask`, and also 1 where there is boundary data: in the outermost cells and on open boundary faces."""
    if location != "centre":
        return water_mask(grid, location) + {"u": grid.open_boundary_u, "v": grid.open_boundary_v}[location].map(
            np.float64
        )
    n_boundary_faces = (
        grid.open_boundary_u + west(grid.open_boundary_u) + grid.open_boundary_v + south(grid.open_boundary_v)
    )
    return (water_mask(grid, location) + n_boundary_faces).map(lambda count: np.minimum(count, 1.0))


class GeostrophicBalance(NamedTuple):
    """The operator eta -> (u, v). Inverse lengths, [ny + 2, nx + 2], have a halo of one cell; the rest is [ny, nx]."""

    rdx_u: Any  # 1/dx on open east faces, else 0, m-1
    rdy_v: Any  # 1/dy on open north faces, else 0, m-1
    per_slope_u: Any  # u divided by the sum of the slopes on the four north faces around it, m s-1
    per_slope_v: Any  # v divided by the sum of the slopes on the four east faces around it, m s-1


def build_balance(config: Config, transport: Transport, grid) -> GeostrophicBalance:
    """The operator of this process's block, from a grid of Patches with a halo; all processes call this together."""
    shape, dtype, g = transport.block.shape, np.dtype(config.run.dtype), config.physics.gravity
    f = grid.f.map(np.float64)
    max_f = float(transport.reduce(np.asarray(np.abs(f.values).max()), "max"))
    open_u, open_v = (mask.map(np.float64) for mask in (grid.open_u, grid.open_v))
    n_v_faces, n_u_faces = 4 * mx_f(my_c(open_v)), 4 * my_f(mx_c(open_u))
    per_slope_u = (
        -g * open_u * inverse_away_from_equator(my_c(f), max_f) / n_v_faces.map(lambda count: np.maximum(count, 1))
    )
    per_slope_v = (
        g * open_v * inverse_away_from_equator(mx_c(f), max_f) / n_u_faces.map(lambda count: np.maximum(count, 1))
    )
    inverse_lengths = [
        np.broadcast_to(inverse.cut((-1, -1), (shape[0] + 1, shape[1] + 1)).values, (shape[0] + 2, shape[1] + 2))
        for inverse in (grid.rdx.u * open_u, grid.rdy.v * open_v)
    ]
    per_slope = [np.broadcast_to(field.block_values(shape), shape) for field in (per_slope_u, per_slope_v)]
    return GeostrophicBalance(*(np.asarray(field, dtype) for field in (*inverse_lengths, *per_slope)))


def inverse_away_from_equator(f: Patch, max_f: float) -> Patch:
    """(1 - exp(-(f/f_c)²)) / f with f_c = max_f/10: 1/f to within 2e-4 where |f| > 3 f_c, and 0 at the equator."""

    def function(f):
        if max_f == 0:
            return np.zeros_like(f)
        return -np.expm1(-((f / (BALANCE_FADE_FRACTION * max_f)) ** 2)) / np.where(f == 0, 1, f)

    return f.map(function)


def geostrophic(eta, balance: GeostrophicBalance, transport: Transport):
    """u = -(g/f) d_y eta on east faces and v = (g/f) d_x eta on north faces, m s-1, [ny, nx], from eta, m.

    The slope on a face is that between its two cells. u is computed from the mean slope on the open ones among the four
    north faces around it, and v from that on the east faces around it. Both are zero on closed faces, and where none of
    the four faces is open. The accuracy is of second order, next to a coast of first order.
    """
    shape = eta.shape
    padded = Patch(exchange_halos((eta,), 1, transport)[0], (-1, -1))
    rdx_u, rdy_v = Patch(balance.rdx_u, (-1, -1)), Patch(balance.rdy_v, (-1, -1))
    slopes_around_u = 4 * mx_f(my_c(rdy_v * dy_f(padded)))
    slopes_around_v = 4 * my_f(mx_c(rdx_u * dx_f(padded)))
    return balance.per_slope_u * slopes_around_u.block_values(
        shape
    ), balance.per_slope_v * slopes_around_v.block_values(shape)


def geostrophic_transpose(u, v, balance: GeostrophicBalance, transport: Transport):
    """The transpose of `geostrophic`: from u and v to eta, [ny, nx].

    JAX's transpose would send partial sums to the neighbours, and the rounding would depend on the layout.
    """
    padded = exchange_halos((balance.per_slope_u * u, balance.per_slope_v * v), 1, transport)
    around_u, around_v = (Patch(field, (-1, -1)) for field in padded)
    rdx_u, rdy_v = Patch(balance.rdx_u, (-1, -1)), Patch(balance.rdy_v, (-1, -1))
    eta = dy_c(rdy_v * my_f(mx_c(around_u))) + dx_c(rdx_u * mx_f(my_c(around_v)))
    return -4 * eta.block_values(u.shape)
