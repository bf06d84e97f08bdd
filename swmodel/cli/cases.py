"""`swmodel cases` and `swmodel init`: the list of cases, and a configuration to start from."""

from __future__ import annotations

import click

from ..errors import translate_os_errors
from . import options


@click.command()
@click.argument("case", required=False)
def cases(case):
    """List the cases, or describe one. CASE is a name or a case file (.py).

    \b
    swmodel cases
    swmodel cases jet
    """
    from .. import cases as registry

    if case is not None:
        click.echo(describe_case(case))
        return
    width = max(map(len, registry.names()))
    for name in registry.names():
        click.echo(f"{name:<{width}}  {registry.docstring_of_file(name).splitlines()[0]}")
    click.echo("\nDescribe a case: swmodel cases CASE. Run it: swmodel run CASE")
    click.echo("You can write your own case as a Python file (docs/cases.md): swmodel run my_case.py")


def describe_case(source: str) -> str:
    """The description of a case, and the options that only this case has, as in a configuration file."""
    from .. import cases as registry
    from ..config.loading.load import gather_sources
    from ..config.loading.merge import merge
    from ..config.loading.toml import line_with_help
    from ..config.options.case import Case

    case = merge(gather_sources(source, ())).case
    own_keys = [key for key in type(case).model_fields if key not in Case.model_fields]
    table = ["", "[case]", *(line_with_help(case, key) for key in own_keys)] if own_keys else []
    return "\n".join([registry.docstring_of(case), *table])


@click.command()
@click.argument("case")
@options.settings
@click.option("--all", "all_keys", is_flag=True, help="Print all keys, including those that few runs change.")
@click.option("-o", "--output", type=options.PATH, metavar="FILE", help="Write to a new file instead.")
def init(case, settings, all_keys, output):
    """Print a configuration to start your own from. CASE is a name or a case file (.py).

    \b
    swmodel init jet -o my.toml
    swmodel run my.toml
    """
    from ..config import to_toml
    from ..config.loading.load import gather_sources
    from ..config.loading.merge import merge
    from ..config.loading.toml import template
    from ..config.remarks import changed_domain_lengths

    sources = gather_sources(case, settings)
    config = merge(sources)
    text = (to_toml(config, comments=True) if all_keys else template(config)).encode()  # TOML is UTF-8
    if output is None:
        click.echo(text, nl=False)
    else:
        with translate_os_errors(output, "written"), open(output, "xb") as file:
            file.write(text)
    for remark in changed_domain_lengths(sources):
        click.echo(remark, err=True)
