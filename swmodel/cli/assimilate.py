"""`swmodel assimilate`: find the initial state, coefficients or forcing errors that explain observations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..errors import UsageError
from ..parallel.environment import RankInfo, get_rank_info
from . import options
from .start import start_task

if TYPE_CHECKING:
    from ..config.options.model import Config

#: An example of the section [assimilation], printed for a configuration without it; LETKF_TEMPLATE adds keys for letkf.
ASSIMILATION_TEMPLATE = """\
# Add these settings to my.toml, then run: swmodel assimilate my.toml
[assimilation]
observations = "observations.nc"  # your file; docs/assimilation.md describes its format
controls = ["eta"]                # or u, v, depth, wind_x, linear_drag, viscosity, ...
sigma_eta = {sigma_eta:g}  # m, standard deviation of the errors of the first guess
length = {length:g}  # m, correlation length of these errors
every_steps = {every_steps}  # steps between the states that observations are compared with
"""
LETKF_TEMPLATE = """\
localisation = {localisation:g}  # m, distance beyond which an observation has no influence
cycle_steps = {every_steps}  # steps between analyses, a multiple of every_steps
"""


@click.command()
@options.common_options
@options.memory
@options.walltime
@click.option("--method", metavar="4dvar|letkf", help="Variational fit, or ensemble Kalman filter.  [4dvar]")
@click.option("--members", metavar="M", help="Number of members of letkf.  [16, or that of the case]")
@click.option("--seed", metavar="N", help="Seed of the random numbers of letkf.  [0]")
@click.option("--resume", is_flag=True, help="Continue after the last iteration or cycle stored in the folder.")
def assimilate(force, memory, resume, **arguments):
    """Fit initial state, coefficients or forcing to observations: 4D-Var, or LETKF.

    \b
    swmodel assimilate double_gyre_twin
    swmodel assimilate my.toml -s assimilation.observations=track.nc --output outputs/analysis
    swmodel assimilate my.toml --output outputs/analysis --resume
    swmodel assimilate double_gyre_winds --method letkf

    The section [assimilation] of the configuration names the control variables, the observations and the errors of
    the first guess; if it is missing, the command prints an example. The run is the assimilation window; its initial
    state and coefficients are the first guess.

    With letkf, an ensemble Kalman filter, random members are drawn from the first guess and its errors. Every
    assimilation.cycle_steps steps they are corrected by the observations that are nearer than
    assimilation.localisation.

    Exit codes: 4, the cost could not be decreased; 75, stopped and resumable.
    """

    def task_options(config: Config):
        from ..assimilation.settings import check_assimilation, template_values
        from ..assimilation.synthetic import is_twin

        method = config.assimilation.method
        for name in ("members", "seed"):
            if arguments[name] is not None and method != "letkf":
                raise UsageError(f"--{name} is an option of letkf; add --method letkf, or leave --{name} out")
        is_first_rank = (get_rank_info() or RankInfo()).rank == 0
        if is_first_rank and config.assimilation == type(config.assimilation)(method=method) and not is_twin(config):
            click.echo((ASSIMILATION_TEMPLATE + LETKF_TEMPLATE * (method == "letkf")).format(**template_values(config)))
        check_assimilation(config)
        return {"memory": memory, "resume": resume}

    start_task("assimilate", force=force or resume, task_options=task_options, **arguments)
