"""`swmodel plot` and `swmodel animate`: pictures of a run."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("path", metavar="DIR|FILE.nc", type=click.Path(path_type=Path))
@click.option("--field", "fields", metavar="NAME", multiple=True, help="Field to draw; may be repeated.")
@click.option("--record", type=int, default=-1, help="Number of the record; -1 is the last.")
@click.option("--time", metavar="TIME", help='Model time instead of a record: seconds, "6 h" or "2 days".')
@click.option("--member", type=int, metavar="N", help="Of an ensemble, whose fields are drawn.")
@click.option("--diagnostics", is_flag=True, help="Time series of mass, energy, ... instead of maps.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Picture: PNG, PDF or SVG.")
def plot(path, fields, record, time, member, diagnostics, output):
    """Draw maps of a run: vorticity and eta, or the fields named; of an ensemble, mean and spread.

    \b
    swmodel plot outputs/jet
    swmodel plot outputs/jet --field speed --time "5 days" --output speed.png
    """
    from ..config.duration import parse_duration
    from ..plotting import plot as draw
    from ..plotting import plot_diagnostics

    if diagnostics and (fields or time is not None or member is not None):
        raise click.UsageError("--diagnostics draws all time series; give no field, no time and no member")
    try:
        seconds = None if time is None else float(parse_duration(time))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--time") from None
    if diagnostics:
        written = plot_diagnostics(path, output=output)
    else:
        written = draw(path, fields=fields or None, record=record, time=seconds, output=output, member=member)
    click.echo(f"Wrote {written}")


@click.command()
@click.argument("path", metavar="DIR|FILE.nc", type=click.Path(path_type=Path))
@click.option("--field", metavar="NAME", help="Field to show; without it, vorticity.")
@click.option("--member", type=int, metavar="N", help="Of an ensemble, whose field is shown.")
@click.option(
    "--fps", type=click.FloatRange(min=0, min_open=True), default=12, show_default=True, help="Frames a second."
)
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="FILE.mp4 or FILE.gif.")
def animate(path, field, member, fps, output):
    """Make a film of one field from all records of a run.

    \b
    swmodel animate outputs/jet
    swmodel animate outputs/jet --field speed --output speed.gif
    """
    from ..plotting import animate as film

    click.echo(f"Wrote {film(path, field=field, fps=fps, output=output, member=member)}")
