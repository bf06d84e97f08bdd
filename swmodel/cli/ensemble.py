"""`swmodel ensemble`: many runs that differ by random perturbations, computed together."""

from __future__ import annotations

import click

from .run import begin, common, overrides_of


@click.command()
@common
@click.option("--members", metavar="M", help="Number of members; number 0 is not perturbed.  [16]")
@click.option("--perturb", "perturbations", metavar="NAME=SIZE[,LENGTH]", multiple=True, help="Repeatable: see above.")
@click.option("--seed", metavar="N", help="Of the random numbers.  [0]")
@click.option("--write-members", metavar="N,N,...", help="Members whose fields are written.  [the first four]")
@click.option("--devices", metavar="D", help="Devices of JAX in one process, to spread the members over.")
@click.option("--reproducible", is_flag=True, help="The same bits with all ways to advance; somewhat slower.")
@click.option("--walltime", metavar="TIME", help='Stop in time, resumable: "2 h", "90 min", or seconds.')
def ensemble(source, settings, output, force, quiet, perturbations, **options):
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
    swmodel resume outputs/double_gyre-ensemble

    Exit codes: 4, a member blew up; 75, stopped and resumable.
    """
    from ..ensemble import settings as checks
    from ..ensemble.words import overrides as perturbed

    overrides = [*overrides_of(settings, options), *perturbed(perturbations)]
    begin(source, overrides, output, force, quiet, "ensemble", check=checks.check_ensemble)


# Blocks are refused in words (`ensemble.settings.distribution`): nobody needs to read of the option.
next(option for option in ensemble.params if option.name == "layout").hidden = True
