"""`swmodel assimilate`: the initial state, or coefficients, that explain what was observed."""

from __future__ import annotations

import click

from .run import MEMORY, begin, common, overrides_of


@click.command()
@common
@click.option("--memory", type=MEMORY, metavar="SIZE", help='Most memory of each process: "4GB".  [half of the free]')
@click.option("--walltime", metavar="TIME", help='Stop in time, resumable: "2 h", "90 min", or seconds.')
@click.option("--resume", is_flag=True, help="Go on from the iterations in the folder.")
def assimilate(source, settings, output, force, quiet, memory, resume, **options):
    """Find the initial state, or coefficients, with which a run explains observations: 4D-Var.

    What is found, from which observations and with which errors of the first guess stands in [assimilation] of the
    configuration. The run is the window; its initial state and coefficients are the first guess.

    \b
    swmodel assimilate double_gyre_twin --nproc 2
    swmodel assimilate my.toml -s assimilation.observations=track.nc --output outputs/analysis
    swmodel assimilate my.toml --output outputs/analysis --resume

    Exit codes: 4, the cost could not be decreased; 75, stopped and resumable.
    """

    def task(config):
        from ..assimilation.settings import check_assimilation

        check_assimilation(config)
        return {"memory": memory, "resume": resume}

    begin(source, overrides_of(settings, options), output, force or resume, quiet, "assimilate", task)
