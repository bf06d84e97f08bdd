"""`swmodel plot`, `swmodel animate`, `swmodel view` and `swmodel spectra`: pictures of a run."""

from __future__ import annotations

import click

from .options import PATH, combined, command_line, model_time, output

path = click.argument("path", metavar="DIR|FILE.nc", type=PATH)
fields = click.option("--field", "fields", metavar="NAME", multiple=True, help="Field to draw; may be repeated.")
member = click.option("--member", type=int, metavar="N", help="Of an ensemble, whose fields are drawn.")


def drawn(usual: str):
    """A decorator with the options for drawing fields; `usual` is the default range."""
    return combined(
        click.option("--vmin", type=float, metavar="X", help="Value at the lower end of the colours."),
        click.option("--vmax", type=float, metavar="X", help="Value at the upper end of the colours."),
        click.option(
            "--range",
            "range_",
            type=click.Choice(["record", "run", "shared"]),
            default=usual,
            show_default=True,
            help="Whose values the colours span: see above.",
        ),
        click.option("--arrows", is_flag=True, help="Arrows of the current over each map."),
        click.option("--wind", is_flag=True, help="Arrows of the wind, if u10 and v10 are in the file."),
        click.option("--contours", metavar="NAME", help="Lines of equal value of this field over each map."),
    )


@click.command()
@path
@fields
@click.option("--record", type=int, default=-1, help="Number of the record; -1 is the last.")
@model_time()
@member
@drawn("record")
@click.option("--diagnostics", is_flag=True, help="Time series of mass, energy, ... instead of maps.")
@click.option(
    "--stations",
    is_flag=True,
    help="Series of the gauges instead of maps: eta, or the field named; of many the first 40. The field current: the "
    "way of its tip.",
)
@click.option("--station", "names", metavar="NAME", multiple=True, help="A gauge to draw; may be repeated.")
@click.option("--sections", is_flag=True, help="Series of the transports through sections instead of maps.")
@click.option("--maxima", is_flag=True, help="Largest values of the run, with isochrones of the arrival.")
@output("FILE", "Picture: PNG, PDF or SVG.")
@click.pass_context
def plot(context, path, fields, record, time, member, names, output, **how):
    """Draw maps of a run, an ensemble, a sensitivity or an assimilation.

    Vorticity, speed and the like are computed from u, v (and
    h) where the file does not hold them. NAME_error is the difference of a field from the known answer of the case.

    \b
    The colours span, with --range,
      record    the values of each field in the record that is drawn
      run       those in all records, so that pictures of several records compare
      shared    the same for all fields with the same units, and for all members
    --vmin and --vmax are in the units of the label without its power of ten.

    \b
    swmodel plot outputs/jet
    swmodel plot outputs/jet --field speed --time "5 days" --arrows --output speed.png
    swmodel plot outputs/jet --field u --field v --range shared --contours eta
    swmodel plot outputs/chile2010 --maxima
    swmodel plot outputs/chile2010 --stations
    """
    from .. import plotting

    given = [name for name in OPTIONS_OF if how.pop(name)] or (["stations"] if names else [])
    for name in given:
        ours = {name, "path", "output", *OPTIONS_OF[name]}
        typed = [p for p in context.command.params if context.get_parameter_source(p.name).name == "COMMANDLINE"]
        if others := [p.opts[-1] for p in typed if p.name not in ours]:
            raise click.UsageError(f"--{name} draws a picture of its own; leave out {', '.join(sorted(others))}")
    if given == ["diagnostics"]:
        written = plotting.plot_diagnostics(path, output=output)
    elif given == ["stations"]:
        written = plotting.plot_stations(path, next(iter(fields), None), output, names)
    elif given == ["sections"]:
        written = plotting.plot_sections(path, output)
    elif given == ["maxima"]:
        written = plotting.plot_maxima(path, output, record, time, *styles(**how))
    else:
        written = plotting.plot(path, fields or None, record, time, output, member, *styles(**how))
    click.echo(f"Wrote {written}")


#: The options that draw pictures of their own, and the further options that each takes.
OPTIONS_OF = {
    "diagnostics": (),
    "stations": ("fields", "names"),
    "sections": (),
    "maxima": ("record", "time", "vmin", "vmax", "range_", "arrows", "wind", "contours"),
}


def styles(vmin, vmax, range_, arrows, wind, contours):
    """How fields are drawn: their Scale, and what is drawn Over them."""
    from ..plotting import Over, Scale

    return Scale(range_, vmin, vmax), Over(arrows, contours, wind)


@click.command()
@path
@click.option("--field", metavar="NAME", help="Field to show; without it, vorticity.")
@member
@drawn("run")
@click.option(
    "--fps", type=click.FloatRange(min=0, min_open=True), default=12, show_default=True, help="Frames a second."
)
@output("FILE", "FILE.mp4 or FILE.gif.")
def animate(path, field, member, fps, output, **how):
    """Make a film of one field of a run.

    \b
    The colours span, with --range,
      record    the values of each record, so that the colours change their meaning
      run       those of all records
      shared    those of all records and all members, so that films of several members compare
    --vmin and --vmax are in the units of the label without its power of ten.

    \b
    swmodel animate outputs/jet
    swmodel animate outputs/jet --field speed --arrows --output speed.gif
    """
    from ..plotting import animate as film

    click.echo(f"Wrote {film(path, field, fps, output, member, *styles(**how))}")


@click.command()
@path
@fields
@output("FILE", "Page: FILE.html.")
def view(path, fields, output):
    """Make a page for the browser: maps, time series, configuration.

    The page is one file that needs neither a server nor a network: send it to a colleague. Without --field it shows
    vorticity, eta and speed.

    \b
    swmodel view outputs/jet
    swmodel view outputs/jet --field q --field v --output jet.html
    """
    from ..plotting import view as write

    click.echo(f"Wrote {write(path, fields or None, output)}")


@click.command()
@path
@click.option("--of", "names", metavar="NAME", multiple=True, help="Quantity; may be repeated. Without it, all.")
@click.option("--record", type=int, help="Number of the one record whose spectra are wanted; -1 is the last.")
@model_time()
@click.option("--mean", is_flag=True, help="The mean over the records instead of each.")
@click.option("--budget", is_flag=True, help="How each part of the equations changes them, and the fluxes.")
@output("FILE.nc", "File; a picture goes beside.")
def spectra(path, names, record, time, mean, budget, output):
    """Compute spectra and budgets of a run in a sea without land.

    They are computed from the records in output.nc, written to output-spectra.nc beside it, and drawn. Their sums over
    wavenumbers are the means over the domain. NAME is kinetic_energy, potential_energy, enstrophy or tracer_variance.
    With --budget a user's own case is executed, as by `swmodel resume`.

    A run writes spectra.nc while it computes with `-s output.spectra="6 h"`; `swmodel plot DIR/spectra.nc` draws it.

    \b
    swmodel spectra outputs/turbulence
    swmodel spectra outputs/turbulence --time "10 days" --budget
    swmodel spectra outputs/turbulence --mean --of kinetic_energy --output mean.nc
    """
    from ..plotting import spectra as compute

    for written in compute(path, names, record, time, mean, budget, output, command_line()):
        click.echo(f"Wrote {written}")
