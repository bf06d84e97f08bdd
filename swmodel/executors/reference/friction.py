"""Drags, friction and sponge: each function of the Tendency T returns a function that adds the term to F."""

from __future__ import annotations

import numpy as np

from ...ocean.coordinates import points
from .neighbours import FACE_MEANS, c, difference, e, n, nw, s, se, w, wrap


def linear_drag(T):
    """du/dt = - r u."""
    rates = T.domain.at_faces("linear_drag")

    def add(x, F):
        for F_k, velocity, r in zip(c(F[1:3]), c(x[1:3]), rates, strict=True):
            F_k -= np.multiply(velocity, r, out=T.work)

    return add


def quadratic_drag(T):
    """du/dt = - C |u| u / h^x."""
    return speed_drag(T, T.domain.at_faces("quadratic_drag"), lambda h: h)


def manning(T):
    """du/dt = - g n² |u| u / (h^x)^(4/3), with Manning's roughness n."""
    coefficients = [T.physics.gravity * roughness**2 for roughness in T.domain.at_faces("manning")]
    return speed_drag(T, coefficients, lambda h: h * np.cbrt(h))


def speed_drag(T, coefficients, thickness_function):
    """du/dt = - coefficient |u| u / thickness_function(h^x)."""

    def add(x, F):
        for F_k, coefficient, (drag, own, h) in zip(c(F[1:3]), coefficients, speeds(T, x), strict=True):
            drag *= own
            drag *= coefficient
            drag /= thickness_function(h)
            F_k -= drag

    return add


def speeds(T, x):
    """Yield |u|, u and h on u faces, then |u|, v and h on v faces; the other component is a mean over four faces."""
    h, u, v = x[:3]
    for own, others, thickness in zip(
        (c(u), c(v)), ((c(v), e(v), s(v), se(v)), (c(u), n(u), w(u), nw(u))), FACE_MEANS, strict=True
    ):
        speed, square = T.work, c(T.padded)
        np.add(others[0], others[1], out=speed)
        speed += others[2]
        speed += others[3]
        speed *= 0.25
        speed *= speed
        speed += np.multiply(own, own, out=square)
        np.sqrt(speed, out=speed)
        yield speed, own, thickness(h, out=square)


def viscosity(T):
    """du/dt = L(u), see `laplacian`."""
    nu = np.broadcast_to(T.domain.field("viscosity"), T.work.shape), T.domain.at_corners("viscosity")
    return harmonic(T, lambda x: nu)


def harmonic(T, viscosities, sign=1):
    """du/dt = sign L(u); the function `viscosities` of x returns nu at centres and corners."""
    L = np.zeros((2, *T.domain.shape), T.domain.dtype)

    def add(x, F):
        nu = viscosities(x)
        interior = c(F[1:3])
        interior += sign * c(laplacian(T, x[1:3], nu, out=L))

    return add


def biharmonic_viscosity(T):
    """du/dt = - L(nu4^x L(u)), where L has a viscosity of one."""
    nu4 = T.domain.at_faces("biharmonic_viscosity")
    return biharmonic(T, lambda x: nu4)


def biharmonic(T, viscosities):
    """du/dt = - L(nu4 L(u)); the function `viscosities` of x returns nu4 on u and v faces."""
    LL = np.zeros((2, *T.domain.shape), T.domain.dtype)

    def add(x, F):
        L = open_laplacian(T, x[1:3])
        for L_k, nu4_k in zip(c(L), viscosities(x), strict=True):
            L_k *= nu4_k
        wrap(L)
        interior = c(F[1:3])
        interior -= c(laplacian(T, L, (1.0, 1.0), out=LL))

    return add


def open_laplacian(T, velocity):
    """L(u) and L(v) with a viscosity of one, 0 on closed faces, padded; the outer rows and columns are not filled."""
    L = laplacian(T, velocity, (1.0, 1.0), out=np.zeros((2, *T.domain.shape), T.domain.dtype))
    closed = T.domain.closed[T.domain.closed >= L[0].size] - L[0].size
    L.reshape(-1)[closed[closed < L.size]] = 0
    return L


def laplacian(T, velocity, nu, out):
    """L(u), L(v): d_x (nu d_x u) + d_y (nu s d_y u) and d_x (nu s d_x v) + d_y (nu d_y v) of a padded [u, v].

    s is 1, or at boundary corners `Tendency.slip`. nu is a pair: at centres and at corners, arrays [R, C] or numbers.
    """
    (u, v), strain, (nu_c, nu_q), sizes = velocity, T.padded, nu, T.sizes
    (u_x, u_y), (v_x, v_y) = sizes.friction_u, sizes.friction_v
    for a, L, (ahead, behind, along, cos_c), (left, right, across, cos_q) in (
        (u, c(out[0]), (e, w, u_x, None), (n, s, u_y, sizes.cos_v)),
        (v, c(out[1]), (n, s, v_y, sizes.cos_c), (e, w, v_x, None)),
    ):
        np.subtract(left(a), c(a), out=c(strain))
        strain.reshape(-1)[T.domain.boundary_corners] *= T.slip
        np.multiply(c(strain), nu_q, out=c(strain))
        if cos_q is not None:
            strain *= cos_q
        wrap(strain)
        difference(c(strain), right(strain), across, out=L)
        np.subtract(c(a), behind(a), out=c(strain))
        np.multiply(c(strain), nu_c, out=c(strain))
        if cos_c is not None:
            strain *= cos_c
        wrap(strain)
        L += difference(ahead(strain), c(strain), along, out=T.work)
    return out


def sponge(T):
    """dh/dt = - s (h - H), du/dt = - s u, with s at the points of each field.

    With open boundaries, h - H - eta_ext and u - U_ext/h relax to zero. In runs with drying, thin and breaking water
    keeps its thickness. The water that leaves takes its tracers along.
    """
    contents = [k for k, name in enumerate(T.domain.state._fields) if name.endswith("_content")]
    h_rate, u_rate, v_rate = (sponge_rate(T.domain, location) for location in ("centre", "u", "v"))

    def add(x, F):
        Fh, Fu, Fv = c(F[:3])
        u, v = c(x[1:3])
        outflow = difference(c(x[0]), T.domain.depth, h_rate, out=T.work)
        if (boundary := T.domain.open_boundaries).faces:
            level = boundary.level(T.step_start, T.time)
            flows = [boundary.transport(axis, level, T.step_start, T.time).reshape(T.domain.shape) for axis in "xy"]
            outflow -= h_rate * c(level.reshape(T.domain.shape))
            u = u - c(flows[0]) / FACE_MEANS[0](x[0], out=c(T.padded))
            v = v - c(flows[1]) / FACE_MEANS[1](x[0], out=c(T.padded))
        if T.drying:
            outflow *= 1 - T.drying.breaking_fraction
        Fh -= outflow
        for content, F_k in zip(c(x[contents]), (c(F[k]) for k in contents), strict=True):
            F_k -= outflow * content / c(x[0])
        Fu -= np.multiply(u, u_rate, out=T.work)
        Fv -= np.multiply(v, v_rate, out=T.work)

    return add


def sponge_rate(domain, location):
    """The sum over the sides of rate (1 - d/width)², where the distance d from the side is below width, s-1 [R, C]."""
    sponge, positions = domain.config.sponge, points(domain.config.grid, location, domain.rows, domain.columns)
    west, south = positions.origin[0] - 0.5 * positions.dx, positions.origin[1] - 0.5 * positions.dy
    distance = {
        "west": positions.x - west,
        "east": west + positions.length_x - positions.x,
        "south": positions.y - south,
        "north": south + positions.length_y - positions.y,
    }
    total = sum(sponge.rate * np.maximum(1 - distance[side] / sponge.width, 0) ** 2 for side in sponge.sides)
    return np.asarray(total, dtype=domain.dtype)


TERMS = {
    "linear_drag": linear_drag,
    "quadratic_drag": quadratic_drag,
    "manning": manning,
    "viscosity": viscosity,
    "biharmonic_viscosity": biharmonic_viscosity,
    "sponge": sponge,
}

#: Rates of drag, s-1: functions of the coefficient, the speed, m s-1, the thickness, m, and gravity, m s-2.
DAMPING_RATES = {
    "linear_drag": lambda r, speed, h, gravity: r,
    "quadratic_drag": lambda C, speed, h, gravity: C * speed / h,
    "manning": lambda n, speed, h, gravity: gravity * n**2 * speed / (h * np.cbrt(h)),
}
