"""`swmodel ensemble`: many runs that differ by random perturbations, computed together."""

from __future__ import annotations

import click

from .resume import NothingToDo
from .run import begin, common, overrides_of


def find_restart(directory, config):
    """Make sure that the ensemble in a folder can be gone on with.

    Raises:
        UsageError: it holds none, or another.
        NothingToDo: it has reached its end.
    """
    from ..ensemble.restart import NAME, examine
    from ..errors import UsageError

    if directory is None or not (directory / NAME).is_file():
        where = f"{directory} holds no {NAME}" if directory else "give the folder with --output"
        raise UsageError(f"--resume: there is nothing to go on from: {where}")
    step, _ = examine(directory / NAME, config)
    if step >= config.run.steps:
        raise NothingToDo(f"{directory}: step {step} is reached already; --days or --steps prolongs the ensemble")


@click.command()
@common
@click.option("--members", metavar="M", help="Number of members; number 0 is not perturbed.  [16]")
@click.option("--perturb", "perturbations", metavar="NAME=SIZE[,LENGTH]", multiple=True, help="Repeatable: see above.")
@click.option("--seed", metavar="N", help="Of the random numbers.  [0]")
@click.option("--write-members", metavar="N,N,...", help="Members whose fields are written.  [the first four]")
@click.option("--devices", metavar="D", help="Devices of JAX in one process, to spread the members over.")
@click.option("--reproducible", is_flag=True, help="The same bits with all ways to advance; somewhat slower.")
@click.option("--walltime", metavar="TIME", help='Stop in time, resumable: "2 h", "90 min", or seconds.')
@click.option("--resume", is_flag=True, help="Go on from the restart file in the folder.")
def ensemble(source, settings, output, force, quiet, perturbations, resume, **options):
    """Run a case, or the configuration in a TOML file, many times with random perturbations.

    \b
    NAME is            SIZE is the standard deviation of      LENGTH, m, of the correlation
      initial.eta        what is added to it, m                 always
      wind               its relative change                    for a field; without it one number
      viscosity          the logarithm of its factor            never

    Members are spread over processes (--nproc) or devices (--devices); their random numbers, and with native every
    bit of them, do not depend on that. Writes ensemble.nc with mean, spread, some members and time series of all.

    \b
    swmodel ensemble double_gyre --members 16 --perturb initial.eta=0.5,1e5 --days 30
    swmodel ensemble double_gyre --members 32 --perturb wind=0.1 --perturb viscosity=0.3 --nproc 2
    swmodel ensemble my.toml --output outputs/mine --resume

    Exit codes: 4, a member blew up; 75, stopped and resumable.
    """
    from ..ensemble import settings as checks
    from ..ensemble.words import overrides as perturbed

    def task(config):
        """The options of the task, checked without JAX."""
        if resume:
            find_restart(output, config)
        return {"resume": resume}

    overrides = [*overrides_of(settings, options), *perturbed(perturbations)]
    begin(source, overrides, output, force or resume, quiet, "ensemble", task, checks.check)


# Blocks are refused in words (`ensemble.settings.distribution`): nobody needs to read of the option.
next(option for option in ensemble.params if option.name == "layout").hidden = True
