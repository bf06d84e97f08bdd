"""The double gyre as a laboratory for closures: a coarse grid next to a truth with cells eight times smaller.

Physics: that of the case `double_gyre`, a wind-driven layer over a deep layer at rest, with eddies of 40 to 80 km. The
default grid has cells of 25 km, about a quarter of a degree, which barely resolve the eddies. The truth has cells of
3.1 km. Vorticity is advected by `weno5`, so no viscosity is needed.

Reference: Klöwer and others (2018), Ocean Modelling 132, 1-11, who compare closures in such a basin.

Cost: 137 000 steps on 3200 cells for ten years: about 15 s. The truth, `-s grid.nx=320 -s grid.ny=640 -s grid.dx=3125
-s grid.dy=3125`, takes some minutes for a year.

Theme: Eddies and gyres

Command: swmodel run eddy_laboratory

Plot: swmodel plot outputs/eddy_laboratory --field eta --field zeta
swmodel animate outputs/eddy_laboratory --field zeta

Verification: a run on a finer grid, the truth, with which `examples/eddy_laboratory.py` compares closures.
"""

from .double_gyre import DoubleGyre


class EddyLaboratory(DoubleGyre):
    defaults = DoubleGyre.defaults | {
        "grid": DoubleGyre.defaults["grid"] | {"nx": 40, "ny": 80, "dx": 25e3, "dy": 25e3},
        "physics": DoubleGyre.defaults["physics"] | {"viscosity": 0.0},
        "scheme": {"vorticity_flux": "weno5"},
        "run": {"days": 3650.0},
    }
