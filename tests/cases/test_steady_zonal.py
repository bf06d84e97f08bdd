"""The zonal flow that turns with the sphere stays as it is, to second order, with every flux of vorticity."""

import numpy as np
import pytest

from swmodel.bench.known_answers.answer import order, simulate, whole

pytestmark = pytest.mark.night


def errors(degrees, **options):
    """Relative errors of h and of the velocity after five days, root mean squares by area."""
    grid = {"grid.nx": round(360 / degrees), "grid.ny": round(160 / degrees), "time.dt": 240 * degrees}
    simulation = simulate("steady_zonal", grid | options, 0.0)
    start = simulation.fields(["h", "u", "v"])
    simulation.advance(round(5 * 86400 / simulation.dt))
    end, weight = simulation.fields(["h", "u", "v"]), np.cos(np.radians(whole(simulation.config).lat))

    def size(*fields):
        return np.sqrt(sum((weight * field**2).sum() for field in fields))

    change = {name: end[name] - start[name] for name in start}
    return {
        "h": size(change["h"]) / size(start["h"] + 0 * weight),
        "u": size(change["u"], change["v"]) / size(start["u"], start["v"]),
    }


@pytest.mark.parametrize("flux", ["enstrophy", "arakawa_lamb"])
def test_other_fluxes_of_vorticity_are_of_second_order_too(flux):
    """As nothing varies along the parallels, few columns do."""
    few = {"scheme.vorticity_flux": flux, "run.executor": "reference", "grid.nx": 4, "time.dt": 600.0}
    coarse, fine = (errors(degrees, **few) for degrees in (2.5, 1.25))
    assert [order(coarse[name], fine[name]) for name in coarse] == pytest.approx([2, 2], abs=0.2)
