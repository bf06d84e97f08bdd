"""Smagorinsky's viscosity from the rate of strain |D|: harmonic nu = (C Delta)² |D|, biharmonic nu4 = C4 Delta⁴ |D|.

|D|² = (d_x u - d_y v)² + (d_x v + d_y u)² is zero in solid rotation. Delta² is `friction.squared_width`.
The biharmonic form is that of MOM6.

Reference: Smagorinsky (1963); Griffies and Hallberg (2000).
"""

from ..derived import shear, tension
from ..operators import mx_c, my_c, root
from ..variable import coefficient
from .friction import biharmonic, harmonic, one_cell_gradients, squared_width
from .term import Term

COEFFICIENT = coefficient("smagorinsky", "1", "Smagorinsky's coefficient, usually 0.15", "number", (0, 0, 0, 0))
BIHARMONIC_COEFFICIENT = coefficient(
    "biharmonic_smagorinsky", "1", "biharmonic Smagorinsky coefficient, usually 0.06", "number", (0, 0, 0, 0)
)


def strain(flow):
    """|D| at centres, s-1."""
    D, S = tension(flow.u, flow.v, flow.grid), shear(flow.u, flow.v, flow.grid)
    return (D * D + mx_c(my_c(S * S))).map(root)


def viscosity(flow, params):
    """nu = (C Delta)² |D| at centres, m2 s-1."""
    C = params["smagorinsky"]
    return C * C * squared_width(flow.grid) * strain(flow)


def biharmonic_viscosity(flow, params):
    """nu4 = C4 Delta⁴ |D| at centres, m4 s-1."""
    width = squared_width(flow.grid)
    return params["biharmonic_smagorinsky"] * width * width * strain(flow)


def rate(values, dx, dy):
    """4 nu (1/dx² + 1/dy²) = 8 C² |D|."""
    return 8 * values["smagorinsky"] ** 2 * sum(each**2 for each in one_cell_gradients(values, dx, dy)) ** 0.5


def biharmonic_rate(values, dx, dy):
    """16 nu4 (1/dx² + 1/dy²)² = 64 C4 |D|."""
    return 64 * values["biharmonic_smagorinsky"] * sum(each**2 for each in one_cell_gradients(values, dx, dy)) ** 0.5


SMAGORINSKY = Term(
    "smagorinsky",
    lambda flow, params, now: harmonic(flow, viscosity(flow, params)),
    (COEFFICIENT,),
    rate=rate,
    process="friction",
)
BIHARMONIC_SMAGORINSKY = Term(
    "biharmonic_smagorinsky",
    lambda flow, params, now: biharmonic(flow, biharmonic_viscosity(flow, params)),
    (BIHARMONIC_COEFFICIENT,),
    rate=biharmonic_rate,
    process="friction",
)
