"""`swmodel ensemble`: compute many runs that differ by random perturbations."""

from __future__ import annotations

import click

from ..errors import UsageError, suggest
from . import options
from .start import start_task


@click.command()
@options.common_options
@click.option("--members", metavar="M", help="Number of members; member 0 is not perturbed.  [16]")
@click.option(
    "--perturb",
    "perturbations",
    metavar="NAME=SIZE[,LENGTH]",
    multiple=True,
    help="Perturb NAME; repeatable.  [initial.eta]",
)
@click.option("--seed", metavar="N", help="Seed of the random numbers.  [0]")
@click.option("--write-members", metavar="N,N,...", help="Members whose fields are written.  [0,1,2,3]")
@click.option("--devices", metavar="D", help="Number of JAX devices that share the members.  [1]")
@click.option("--reproducible", is_flag=True, help="Make xla give the same bits however members are shared; slower.")
@options.walltime
def ensemble(settings, perturbations, **arguments):
    """Run many members with random perturbations.

    \b
    swmodel ensemble double_gyre --members 16 --perturb initial.eta=0.5,1e5 --days 30
    swmodel ensemble double_gyre --members 32 --perturb wind=0.1 --perturb viscosity=0.3 --nproc 2
    swmodel ensemble double_gyre --from outputs/double_gyre --days 60
    swmodel resume outputs/double_gyre-ensemble

    \b
    NAME is            SIZE is the standard deviation of      LENGTH is the correlation length, m
      initial.eta        the sea level that is added, m         required
      wind               its relative change                    optional: without it, the change is uniform
      viscosity          the logarithm of its factor            not allowed

    Processes (--nproc) or devices (--devices) share the members. This changes neither the random numbers nor, with
    native, a single bit of the results. The command writes ensemble.nc with mean, spread, fields of some members, and
    time series of all members. With --from all members start from perturbations of the same state.

    Exit codes: 4, a member blew up; 75, stopped and resumable.
    """
    from ..model.ensemble.settings import check_ensemble

    start_task(
        "ensemble", settings=[*settings, *perturbation_overrides(perturbations)], check=check_ensemble, **arguments
    )


# The help does not list --layout, which `ensemble.settings.problems` refuses with a reason.
next(each for each in ensemble.params if isinstance(each, click.Option) and each.name == "layout").hidden = True


def is_zero(text: str) -> bool:
    """Whether a text is a number that is zero."""
    try:
        return float(text) == 0
    except ValueError:
        return False


def perturbation_overrides(texts) -> list[str]:
    """The overrides (`ensemble.key=value`) for texts "NAME=SIZE" or "NAME=SIZE,LENGTH"; a UsageError for others."""
    values: dict[str, str] = {}
    for text in texts:
        name, _, value = text.partition("=")
        numbers = value.split(",")
        if name not in options.PERTURBATION_KEYS:
            raise UsageError(f"--perturb {text}: no such perturbation; {suggest(name, options.PERTURBATION_KEYS)}")
        keys = options.PERTURBATION_KEYS[name]
        if not value or len(numbers) > len(keys):
            raise UsageError(f"--perturb {text}: write it as {name}=SIZE{',LENGTH' if len(keys) > 1 else ''}")
        if values.keys() & set(keys) or is_zero(numbers[0]):
            raise UsageError(f"--perturb {text}: {name} is repeated, or its SIZE is 0, which perturbs nothing")
        if name == "wind" and len(numbers) == 1:
            numbers.append("0")  # without LENGTH the change is uniform, even if the configuration has a length
        values |= zip(keys, numbers, strict=False)
    return [f"ensemble.{key}={number}" for key, number in values.items()]
