"""`swmodel check-gradient`: are the derivatives of a configuration exact?"""

from __future__ import annotations

from pathlib import Path

import click

from .run import MEMORY, begin, common, distributed, overrides_of

#: Steps that are checked if the command line does not say how many: so few that the run is not yet chaotic.
STEPS = 50


@click.command("check-gradient")
@common
@distributed
@click.option("--memory", type=MEMORY, metavar="SIZE", help='Most memory of each process: "4GB".  [half of the free]')
@click.option(
    "--json",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the results to this file.",
)
def check_gradient(source, settings, output, force, quiet, memory, file, **options):
    """Check the derivatives of a case, or of the configuration in a TOML file.

    The derivatives of a random function of the last state, with respect to the initial state and to every field and
    coefficient that the run depends on: Taylor's remainder, tangent against adjoint, symmetry of the Hessian. In double
    precision, over the first 50 steps, unless told otherwise.

    \b
    swmodel check-gradient double_gyre --nproc 2
    swmodel check-gradient my.toml -s grid.nx=60 --steps 200 --json check.json

    Exit code 4: a derivative is not exact.
    """
    options["dtype"] = options["dtype"] or "float64"
    if not (options["steps"] or options["days"]):
        options["steps"] = str(STEPS)

    def task(config):
        from ..errors import FilesError
        from ..model.validate import require_derivatives

        require_derivatives(config)
        if file and not file.absolute().parent.is_dir():
            raise FilesError(f"--json {file}: there is no folder {file.parent}")
        return {"memory": memory, "json": str(file.absolute()) if file else None}

    replace = force or output is None  # without --output, replace the last check
    begin(source, overrides_of(settings, options), output, replace, quiet, "check-gradient", task)
