"""`swmodel assimilate`: the initial state, or coefficients, that explain what was observed."""

from __future__ import annotations

import click

from . import options
from .start import begin


@click.command()
@options.common
@options.memory
@options.walltime
@click.option("--resume", is_flag=True, help="Go on from the iterations in the folder.")
def assimilate(force, memory, resume, **typed):
    """Fit the initial state, or coefficients, to observations: 4D-Var.

    What is found, from which observations and with which errors of the first guess stands in [assimilation] of the
    configuration. The run is the window; its initial state and coefficients are the first guess.

    \b
    swmodel assimilate double_gyre_twin --nproc 2
    swmodel assimilate my.toml -s assimilation.observations=track.nc --output outputs/analysis
    swmodel assimilate my.toml --output outputs/analysis --resume

    Exit codes: 4, the cost could not be decreased; 75, stopped and resumable.
    """

    def job_options(config):
        from ..assimilation.settings import check_assimilation

        check_assimilation(config)
        return {"memory": memory, "resume": resume}

    begin("assimilate", force=force or resume, job_options=job_options, **typed)
