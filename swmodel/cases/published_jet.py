"""The published benchmark: the jet with the viscosity and the time step of the publication.

Physics: the case `jet` with a time step of 0.125 dx / sqrt(g depth) and a lateral viscosity of 5 m2 s-1, which is so
small that noise at the scale of the grid remains.

Reference: the shallow-water example of mpi4jax (Haefner and Vicentini 2021, J. Open Source Softw. 6, 3419), which
takes 770 s with NumPy and 16 s on 16 processes for 500 steps at 3600 x 1800. The friction of v in that code contains
an error: it takes differences of v - u. Here it takes differences of v.

Cost: 43 000 steps on 64 800 cells for the ten days: eight seconds of processor time. The published run is
`-s grid.nx=3600 -s grid.ny=1800 --steps 500`.

Theme: Eddies and gyres

Command: swmodel run published_jet

Plot: swmodel plot outputs/published_jet --field zeta --field eta

Verification: as in the case `jet`.
"""

import math

from .jet import Jet


class PublishedJet(Jet):
    defaults = Jet.defaults | {
        "physics": Jet.defaults["physics"] | {"viscosity": 5.0},
        "time": {"stepper": "ab2", "dt": 0.125 * 5e3 / math.sqrt(9.81 * 100.0)},
        "output": {"every_steps": 4330},  # a day and 4 s
    }
