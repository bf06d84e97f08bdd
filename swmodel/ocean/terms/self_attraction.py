"""Self-attraction and loading in the scalar approximation: du/dt = + d_x (g beta eta).

The water of a tide attracts itself and presses the sea floor down: together about beta eta, beta near 0.09. Waves are
as with a gravity of (1 - beta) g. The energy of the diagnostics, without this term, stays within 1 / (1 - beta).

Reference: Accad, Y. and Pekeris, C. L. (1978), Phil. Trans. R. Soc. A 290, 235-266.
"""

from ..variable import coefficient
from .term import Term

BETA = coefficient(
    "self_attraction", "1", "part of sea level by which it attracts and loads", "number", (0, 0, 0, 0), small=1e-2
)._replace(most=0.5)


def bernoulli_potential(flow, params, now):
    """- g beta (h - H)."""
    return -(params["gravity"] * params["self_attraction"] * flow.eta)


SELF_ATTRACTION = Term(
    "self_attraction",
    coefficients=(BETA,),
    bernoulli_potential=bernoulli_potential,
    acceleration=lambda config: 0.0,  # it only returns to the motion energy that it has taken from it
    energy=1,
)
