"""`swmodel ensemble`: many runs that differ by random perturbations, computed together."""

from __future__ import annotations

from typing import NamedTuple

import click

from ..errors import UsageError, suggest
from . import options
from .start import begin


@click.command()
@options.common
@click.option("--members", metavar="M", help="Number of members; number 0 is not perturbed.  [16]")
@click.option("--perturb", "perturbations", metavar="NAME=SIZE[,LENGTH]", multiple=True, help="Repeatable: see above.")
@click.option("--seed", metavar="N", help="Of the random numbers.  [0]")
@click.option("--write-members", metavar="N,N,...", help="Members whose fields are written.  [the first four]")
@click.option("--devices", metavar="D", help="Devices of JAX in one process, to spread the members over.")
@click.option("--reproducible", is_flag=True, help="The same bits with all ways to advance; somewhat slower.")
@options.walltime
def ensemble(settings, perturbations, **typed):
    """Run many members with random perturbations.

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
    from ..model.ensemble.settings import check_ensemble

    begin("ensemble", settings=[*settings, *overrides_of_perturbations(perturbations)], check=check_ensemble, **typed)


# The option for blocks is hidden: `ensemble.settings.distribution` refuses blocks, and says why.
next(option for option in ensemble.params if option.name == "layout").hidden = True


class Perturbation(NamedTuple):
    """The keys of [ensemble] for a name on the command line.

    Attributes:
        size: key of the standard deviation.
        length: key of the length of correlation; "": the perturbation is one number for the whole domain.
        may_be_number: whether it is one number if no length is given.
        unit: unit of the standard deviation, in words.
    """

    size: str
    length: str
    may_be_number: bool
    unit: str


PERTURBATIONS = {
    "initial.eta": Perturbation("initial_eta", "initial_eta_length", False, "in m"),
    "wind": Perturbation("wind", "wind_length", True, "a relative change"),
    "viscosity": Perturbation("viscosity", "", True, "of the logarithm of a factor"),
}


def overrides_of_perturbations(texts) -> list[str]:
    """The overrides (`ensemble.key=value`) for texts "NAME=SIZE" or "NAME=SIZE,LENGTH", each name once."""
    found = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name not in PERTURBATIONS:
            raise UsageError(f"--perturb {text}: no such perturbation; {suggest(name, PERTURBATIONS)}")
        if name in found:
            raise UsageError(f"--perturb {text}: {name} is given twice")
        found[name] = keys_of(text, PERTURBATIONS[name], value.split(","))
    return [f"ensemble.{key}={number}" for keys in found.values() for key, number in keys.items()]


def keys_of(text: str, perturbation: Perturbation, numbers: list[str]) -> dict[str, str]:
    """The keys of [ensemble] with their values; see `overrides_of_perturbations`."""
    keys = [key for key in perturbation[:2] if key]
    try:
        size = [float(number) for number in numbers][0]
    except ValueError:
        size = None
    if size is None or len(numbers) > len(keys):
        name = text.partition("=")[0]
        form = f"{name}=SIZE" + (f" or {name}=SIZE,LENGTH" if perturbation.length else "")
        length = ", LENGTH in m" if perturbation.length else ""
        raise UsageError(f"--perturb {text}: write it as {form}, with numbers: SIZE {perturbation.unit}{length}")
    if size == 0:
        raise UsageError(f"--perturb {text}: a SIZE of 0 perturbs nothing; leave it out")
    if perturbation.may_be_number and len(numbers) < len(keys):
        numbers = [*numbers, "0"]
    return dict(zip(keys, numbers, strict=False))
