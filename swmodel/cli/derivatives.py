"""`swmodel check-gradient` and `swmodel sensitivity`: are derivatives exact, and what does a number depend on?"""

from __future__ import annotations

from pathlib import Path

import click

from . import options
from .start import begin

#: Steps that are checked if the command line does not say how many: so few that the run is not yet chaotic.
STEPS = 50


@click.command("check-gradient")
@options.common
@options.distributed
@options.memory
@click.option(
    "--json",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the results to this file.",
)
def check_gradient(memory, file, **typed):
    """Check the derivatives of a case or a configuration.

    The derivatives of a random function of the last state, with respect to the initial state and to every field and
    coefficient that the run depends on: Taylor's remainder, tangent against adjoint, symmetry of the Hessian. In double
    precision, over the first 50 steps, unless told otherwise.

    \b
    swmodel check-gradient double_gyre --nproc 2
    swmodel check-gradient my.toml -s grid.nx=60 --steps 200 --json check.json

    Exit code 4: a derivative is not exact.
    """
    typed["dtype"] = typed["dtype"] or "float64"
    if not (typed["steps"] or typed["days"]):
        typed["steps"] = str(STEPS)
    typed["force"] = typed["force"] or typed["output"] is None  # without --output, replace the last check

    def job_options(config):
        from ..errors import FilesError
        from ..model.validate import require_derivatives

        require_derivatives(config)
        if file and not file.absolute().parent.is_dir():
            raise FilesError(f"--json {file}: there is no folder {file.parent}")
        return {"memory": memory, "json": str(file.absolute()) if file else None}

    begin("check-gradient", job_options=job_options, **typed)


@click.command()
@options.common
@options.distributed
@click.option("--of", metavar="QUANTITY", required=True, help="What is differentiated: see above.")
@click.option("--to", metavar="FIELD", multiple=True, required=True, help="By what; may be repeated: see above.")
@click.option("--mean", is_flag=True, help="Its mean over the states after each step instead of the last state's.")
@options.memory
@click.option("--walltime", metavar="TIME", help='Give up in time: "2 h", "90 min", or seconds.')
def sensitivity(of, to, mean, memory, **typed):
    """Map the derivatives of a quantity, by the adjoint of the run.

    \b
    QUANTITY is one of          FIELD is one of
      sea_level:X,Y, eta:X,Y      eta, u, v              the initial state
      transport:x=X               depth                  resting depth
      transport:y=Y,from=A,to=B   wind_x, wind_y         wind stress
      kinetic_energy, energy      linear_drag, manning   coefficients of bottom drag
      mass, potential_enstrophy   gravity, viscosity, biharmonic_viscosity, quadratic_drag (numbers)

    Positions are in m; transport is positive eastward (x=) and northward (y=). Writes sensitivity.nc and, with a panel
    for each field, sensitivity.png. The precision is that of the run, run.dtype.

    \b
    swmodel sensitivity double_gyre --of sea_level:2.5e5,1.1e6 --to depth --to wind_x --days 30
    swmodel sensitivity jet --of transport:x=4e5 --to eta --to u --days 1 --mean --nproc 2
    """

    def job_options(config):
        from ..gradients.sensitivity import check_request

        names = list(dict.fromkeys(to))
        check_request(config, of, names)
        return {"of": of, "to": names, "mean": mean, "memory": memory}

    begin("sensitivity", job_options=job_options, **typed)
