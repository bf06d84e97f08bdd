"""`swmodel sensitivity`: what a number of the run depends on, and where."""

from __future__ import annotations

import click

from .run import MEMORY, begin, common, distributed, overrides_of


@click.command()
@common
@distributed
@click.option("--of", metavar="QUANTITY", required=True, help="What is differentiated: see above.")
@click.option("--to", metavar="FIELD", multiple=True, required=True, help="By what; may be repeated: see above.")
@click.option("--mean", is_flag=True, help="Its mean over the states after each step instead of the last state's.")
@click.option("--memory", type=MEMORY, metavar="SIZE", help='Most memory of each process: "4GB".  [half of the free]')
@click.option("--walltime", metavar="TIME", help='Give up in time: "2 h", "90 min", or seconds.')
def sensitivity(source, settings, output, force, quiet, of, to, mean, memory, **options):
    """Map the derivatives of a quantity with respect to fields, by the adjoint of the run.

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

    def task(config):
        """The options of the task, checked without JAX."""
        from ..gradients.sensitivity import check_request

        names = list(dict.fromkeys(to))
        check_request(config, of, names)
        return {"of": of, "to": names, "mean": mean, "memory": memory}

    begin(source, overrides_of(settings, options), output, force, quiet, "sensitivity", task)
