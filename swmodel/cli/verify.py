"""`swmodel verify`: known answers on this machine."""

from __future__ import annotations

import click

from .options import output


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--quick", is_flag=True, help="Compute those that take seconds: a minute in all.")
@click.option("--list", "listed", is_flag=True, help="List the known answers, and compute none.")
@output("DIR", "Write verify.png and verify.json into this folder.")
def verify(names, quick, listed, output):
    """Compute known answers on this machine, beside what theory and records say.

    \b
    swmodel verify --quick
    swmodel verify kelvin_wave munk_gyre -o outputs/verify

    Without names all are computed, which takes some minutes. Exit code 6: an answer is wrong.
    """
    from ..bench.known_answers import KNOWN
    from ..bench.verify import verify as compute
    from .rank_checks import check_device

    if listed:
        width = max(map(len, KNOWN))
        for known in KNOWN.values():
            click.echo(f"{known.name:<{width}}  {known.about}{'' if known.quick else ' (not quick)'}")
        return
    check_device()
    compute(names, quick, output)
