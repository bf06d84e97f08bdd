"""Background errors of every kind of control variable on a small grid with islands, the same on every layout."""

import numpy as np

from support.random_case import configuration
from swmodel.assimilation.background import ControlErrors, Smoothing, make_background_errors
from swmodel.model.domain import Domain
from swmodel.parallel.transport import connect
from swmodel.setup.setup import setup_of

DX, DY = 4e3, 5e3
#: The ControlErrors by name, as (sigma, length in m): fields with several lengths, and a number, which has no length.
CONTROLS = {"eta": (0.3, 3.2 * DX), "u": (0.1, 3.2 * DX), "v": (0.2, 2.5 * DX)}
CONTROLS |= {"wind_x": (0.05, 5.1 * DX), "gravity": (0.02, None)}


def island_mask(ny, nx):
    """A mask whose land is a block, a single cell, and a cell in a corner of the domain."""
    mask = np.ones((ny, nx))
    mask[ny // 3 : ny // 3 + 2, nx // 2 : nx // 2 + 3] = 0
    mask[-2 % ny, 1 % nx] = mask[0, 0] = 0
    return mask


def background_case(layout, ny, nx, *, land=True, name=None, controls=CONTROLS, balanced=True, samples=16, **options):
    """(BackgroundErrors, config, transport, grid) of the block of this process, on a beta plane.

    `land` is a mask, or whether there are islands; `name` is that of the transport. `options` contains overrides of the
    configuration, section__key=value, parts of Smoothing, and `sphere`, which replaces the plane.
    """
    fields = {"mask": island_mask(ny, nx) if land is True else land} if land is not False else {}
    config_overrides = {"physics__beta": 2e-11} | {k: v for k, v in options.items() if "__" in k}
    config = configuration(ny, nx, fields, options.pop("sphere", False), **config_overrides)
    transport = connect(name or ("serial" if layout == (1, 1) else "mpi"), layout, ny, nx)
    grid = setup_of(config).grid(transport.block)
    smoothing = Smoothing(samples=samples, **{k: v for k, v in options.items() if "__" not in k})
    errors = {control: ControlErrors(*each) for control, each in controls.items()}
    domain = Domain(setup_of(config), transport, grid, {})
    return make_background_errors(domain, errors, balanced, smoothing), config, transport, grid
