"""x and y are treated alike: an f plane turned by 90 degrees, stepped and turned back is the f plane stepped.

Turned clockwise, x' = y and y' = -x: u' = v and v' = -u. East faces become south faces, which the grid counts as north
faces of the cell below, hence the shift by one; nx and ny, dx and dy, walls and sponges change places.

Every term adds and multiplies the same numbers, but not in the same order: means of four are added first along x, and a
product is contracted with a sum along x or along y, whichever comes first in the formula (native writes these
contractions out, xla leaves them to the compiler). So the answers agree to round-off: BOUNDS.

Not turned here: a sponge at one side only of a ring. The face where the ring closes counts as its east or north end.
"""

import numpy as np
import pytest
from support.random_case import configuration, random_fields
from support.stepping import EVERY_SCHEME, step_by_step

pytestmark = pytest.mark.slow

NY, NX = 7, 10

#: Largest difference after four steps in units in the last place of each field's largest value. Measured, over all
#: fluxes and steppers: native 9.0, reference 3.9, xla 8.3.
BOUNDS = {"native": 16.0, "reference": 4.0, "xla": 16.0}

#: Where each side of the domain goes.
TURNED_SIDES = {"west": "north", "north": "east", "east": "south", "south": "west"}

TERMS = {
    "grid__periodic_x": False,
    "grid__periodic_y": True,
    "physics__slip": "no",
    "physics__biharmonic_viscosity": 1e8,
    "sponge__rate": 1e-4,
    "sponge__width": 1.6e4,  # sponges of opposite sides do not meet: the sum of three rates depends on their order
    "sponge__sides": ("west", "south", "north"),
}


def turned(a):
    """Values at centres, turned."""
    return np.ascontiguousarray(a.T[::-1])


def turned_state(h, u, v):
    """A group of h, u, v, turned."""
    return [turned(h), turned(v), -turned(np.roll(u, 1, axis=1))]


def turned_fields(fields):
    """The fields of a case, turned."""
    eta, u, v = turned_state(fields["eta"], fields["u"], fields["v"])
    centres = {name: turned(fields[name]) for name in ("depth", "mask", "linear_drag")}
    wind = {"wind_x": turned(fields["wind_y"]), "wind_y": -turned(fields["wind_x"])}
    return centres | wind | {"eta": eta, "u": u, "v": v}


def turned_options(options):
    """The options of a configuration, turned."""
    straight = configuration(NY, NX, **options)
    return options | {
        "grid__periodic_x": straight.grid.periodic_y,
        "grid__periodic_y": straight.grid.periodic_x,
        "grid__dx": straight.grid.dy,
        "grid__dy": straight.grid.dx,
        "sponge__sides": tuple(TURNED_SIDES[side] for side in straight.sponge.sides),
    }


@pytest.mark.promise("the model is isotropic on an f plane")
@pytest.mark.parametrize(("executor", "flux", "stepper", "dtype"), EVERY_SCHEME)
def test_a_turned_domain_gives_the_turned_answer_to_round_off(executor, flux, stepper, dtype):
    options = TERMS | {"scheme__vorticity_flux": flux, "time__stepper": stepper, "run__dtype": dtype}
    fields = random_fields(NY, NX, land=0.15)
    straight = step_by_step(executor, configuration(NY, NX, fields, **options), 4)
    ours = step_by_step(executor, configuration(NX, NY, turned_fields(fields), **turned_options(options)), 4)
    expected = [field for n in range(0, len(straight), 3) for field in turned_state(*straight[n : n + 3])]
    for a, b in zip(ours, expected, strict=True):
        assert np.abs(a - b).max() / np.spacing(np.abs(b).max()) <= BOUNDS[executor]
        assert np.abs(b).max() > 0
