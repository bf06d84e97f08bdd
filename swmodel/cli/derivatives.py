"""`swmodel check-gradient` and `swmodel sensitivity`: check that derivatives are exact, and map them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import options
from .start import start_task

if TYPE_CHECKING:
    from ..config.options.model import Config

#: Default number of steps of a check, so small that the run has not yet become chaotic.
DEFAULT_STEPS = 50


@click.command("check-gradient")
@options.common_options
@options.distributed_options
@options.memory
@click.option(
    "--json",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the results to this file.",
)
def check_gradient(memory, file, **arguments):
    """Check the derivatives of a case or a configuration.

    \b
    swmodel check-gradient double_gyre --nproc 2
    swmodel check-gradient my.toml -s grid.nx=60 --steps 200 --json check.json

    The command differentiates a random function of the last state with respect to the initial state and to every field
    and coefficient of the run. It checks Taylor's remainder, compares tangent with adjoint, and tests the symmetry of
    the Hessian. By default the run has 50 steps in double precision.

    Exit code 4: a derivative is not exact.
    """
    set_keys = {text.partition("=")[0].strip() for text in arguments["settings"]}
    if "run.dtype" not in set_keys:
        arguments["dtype"] = arguments["dtype"] or "float64"
    if not (arguments["steps"] or arguments["days"] or set_keys & {"run.steps", "run.days"}):
        arguments["steps"] = str(DEFAULT_STEPS)
    arguments["force"] = arguments["force"] or arguments["output"] is None  # replaces the default folder

    def task_options(config: Config):
        from ..errors import FilesError
        from ..model.validate import require_derivatives

        require_derivatives(config)
        if file and not file.absolute().parent.is_dir():
            raise FilesError(f"--json {file}: the folder {file.parent} does not exist")
        return {"memory": memory, "json": str(file.absolute()) if file else None}

    start_task("check-gradient", task_options=task_options, **arguments)


@click.command(context_settings=options.renamed_options(to="wrt"))
@options.common_options
@options.distributed_options
@click.option("--of", metavar="QUANTITY", required=True, help="Quantity to differentiate.")
@click.option("--wrt", metavar="FIELD", multiple=True, required=True, help="Control variable FIELD; repeatable.")
@click.option("--mean", is_flag=True, help="Use the mean of the quantity over all steps, not its last value.")
@options.memory
@click.option("--walltime", metavar="TIME", help='Give up after this wall-clock time: "2 h", "90 min".')
def sensitivity(of, wrt, mean, memory, **arguments):
    """Map the derivatives of a quantity, computed by the adjoint of the run.

    \b
    swmodel sensitivity double_gyre --of sea_level:2.5e5,1.1e6 --wrt depth --wrt wind_x --days 30
    swmodel sensitivity jet --of transport:x=4e5 --wrt eta --wrt u --days 1 --mean
    swmodel sensitivity double_gyre --from outputs/double_gyre --of kinetic_energy --wrt eta --days 5

    \b
    QUANTITY is, for example,   FIELD is, for example,
      sea_level:X,Y, eta:X,Y      eta, u, v              the initial state
      transport:x=X               depth                  resting depth
      transport:y=Y,from=A,to=B   wind_x, wind_y         wind stress
      kinetic_energy, energy      linear_drag, manning   coefficients of bottom drag
      mass, potential_enstrophy   gravity, viscosity, biharmonic_viscosity, quadratic_drag (numbers)

    Positions are in m or, on a sphere (transport:lon=X), in degrees. Transport is positive eastward (x=) and
    northward (y=). The command writes sensitivity.nc and sensitivity.png, which has a panel for each field. With --from
    the derivatives with respect to eta, u and v are taken at that state.
    """

    def task_options(config: Config):
        from ..gradients.sensitivity import check_request

        names = list(dict.fromkeys(wrt))
        check_request(config, of, names)
        return {"of": of, "wrt": names, "mean": mean, "memory": memory}

    start_task("sensitivity", task_options=task_options, **arguments)
