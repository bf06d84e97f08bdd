"""`swmodel cases` and `swmodel init`: the list of cases, and a configuration to start from."""

from __future__ import annotations

import click

from . import options


@click.command()
def cases():
    """List the cases."""
    from .. import cases as registry

    width = max(map(len, registry.names()))
    for name in registry.names():
        click.echo(f"{name:<{width}}  {registry.about(registry.get(name)()).splitlines()[0]}")
    click.echo("\nRun one with: swmodel run CASE, or your own, a Python file (docs/cases.md): swmodel run my_case.py")


@click.command()
@click.argument("case")
@options.settings
def init(case, settings):
    """Print a configuration of CASE, a name or a case file (.py), to start your own from.

    swmodel init jet > my.toml, then swmodel run my.toml
    """
    from ..config import to_toml
    from ..config.loading.load import gather
    from ..config.loading.merge import merge
    from ..config.remarks import domain

    sources = gather(case, settings)
    text = to_toml(merge(sources), comments=True)
    click.echo(text.encode(), nl=False)  # TOML is UTF-8, whatever the terminal's encoding
    for remark in domain(sources):
        click.echo(remark, err=True)
