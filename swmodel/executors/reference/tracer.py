"""The term of a tracer that is stored as its content: a function of the Tendency T, as in `forces`."""

from __future__ import annotations

import numpy as np

from ...errors import UsageError
from .neighbours import FACE_MEANS, c, difference, e, n, s, w, wrap


def tracer(T, options):
    """dC/dt = - d_x (U c) - d_y (V c) + div(kappa h grad c) + source from rivers, c = C/h.

    Args:
        options: the tracer's table [[tracer]].
    """
    domain, sizes, index = T.domain, T.sizes, T.domain.state._fields.index(f"{options.name}_content")
    concentration, flux_x, flux_y = np.zeros((3, *domain.shape), domain.dtype)
    source = source_of(T, options)
    kappa_x, kappa_y = (options.diffusivity * faces for faces in domain.is_open(domain.dtype)[1:])
    kappa_x, kappa_y = kappa_x * sizes.inverse_dx, kappa_y * sizes.inverse_dy
    if sizes.cos_v is not None:
        kappa_y = kappa_y * c(np.broadcast_to(sizes.cos_v, domain.shape))

    def add(x, F):
        np.divide(x[index], x[0], out=concentration, where=x[0] != 0)
        advective_fluxes(T, concentration, flux_x, flux_y)
        own_concentration = c(concentration)
        if options.diffusivity:
            for flux, kappa, thickness, beyond in zip(
                (flux_x, flux_y), (kappa_x, kappa_y), FACE_MEANS, (e, n), strict=True
            ):
                c(flux)[...] -= kappa * thickness(x[0], out=T.work) * (beyond(concentration) - own_concentration)
        add_convergence(T, flux_x, flux_y, c(F[index]))
        c(F[index])[...] += source(c(x[0]), own_concentration)

    return add


def source_of(T, options):
    """The function (h, c) -> source of the content by rivers, m s-1: inflow Q/A times the concentration in rivers.

    UsageError: the tracer has further fields or coefficients, which the reference lacks.
    """
    (term,) = (each for each in T.domain.scheme.tracers if each.name == options.name)
    names, in_rivers = {row.name for row in (*term.fields, *term.coefficients)}, f"{options.name}_in_rivers"
    if missing := names - {in_rivers, f"{options.name}_diffusivity"}:
        raise UsageError(f"run.executor: the reference does not have {', '.join(missing)}; choose xla")
    if in_rivers not in names:
        return lambda h, concentration: 0.0
    river_concentration, inflow = T.domain.field(in_rivers), T.domain.in_time("river_inflow")
    return lambda h, concentration: river_concentration * inflow(T.step_start, T.time)


def advective_fluxes(T, concentration, flux_x, flux_y):
    """Write U c and V c into padded fluxes, with c of the upwind cell; at open boundaries, of the cell inside."""
    for _, outside, inside, *_ in T.domain.open_boundaries.faces.values():
        concentration.reshape(-1)[outside.astype(int)] = concentration.reshape(-1)[inside.astype(int)]
    for flux, transport, beyond in ((flux_x, T.U, e), (flux_y, T.V, n)):
        upwind = np.where(c(transport) > 0, c(concentration), beyond(concentration))
        np.multiply(c(transport), upwind, out=c(flux))


def add_convergence(T, flux_x, flux_y, rate):
    """Add the convergence of padded fluxes to a rate [R, C]."""
    wrap(flux_x, flux_y)
    rate += difference(w(flux_x), c(flux_x), T.sizes.outflow_x, out=T.work)
    rate += difference(s(flux_y), c(flux_y), T.sizes.outflow_y, out=T.work)
