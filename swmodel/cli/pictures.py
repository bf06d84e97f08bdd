"""`swmodel plot`, `swmodel animate`, `swmodel view` and `swmodel spectra`: pictures of a run."""

from __future__ import annotations

import os
import sys
import webbrowser

import click

from ..files.run_folder import (
    DIAGNOSTICS,
    DRIFTERS,
    HARMONICS,
    SECTIONS,
    SNAPSHOT_FILES,
    SPECTRA,
    STATIONS,
    is_run_folder,
    read_config_tables,
)
from .options import PATH, combine_options, get_command_line, output_option, renamed_options, time_option

path_argument = click.argument("path", metavar="DIR|FILE", type=PATH)
field_option = click.option("--field", "fields", metavar="NAME", multiple=True, help="Field to draw; repeatable.")
member_option = click.option("--member", type=int, metavar="N", help="Member of an ensemble whose fields are shown.")


def map_options(default_range: str):
    """A decorator that adds the options for drawing maps to a command; `default_range` is the default of --range."""
    return combine_options(
        click.option("--vmin", type=float, metavar="X", help="Value at the lower end of the colour scale."),
        click.option("--vmax", type=float, metavar="X", help="Value at the upper end of the colour scale."),
        click.option(
            "--range",
            "range_",
            type=click.Choice(["record", "run", "shared"]),
            default=default_range,
            show_default=True,
            help="Values that the colour scale spans.",
        ),
        click.option("--arrows", is_flag=True, help="Draw arrows of the current over each map."),
        click.option("--wind", is_flag=True, help="Draw arrows of the wind, if u10 and v10 are in the file."),
        click.option("--drifters", is_flag=True, help="Draw the tracks of the drifters over each map."),
        click.option("--contours", metavar="NAME", help="Draw contours of field NAME over each map."),
    )


@click.command()
@path_argument
@field_option
@click.option("--record", type=int, default=-1, help="Number of the record; -1 is the last.")
@time_option()
@member_option
@map_options("record")
@click.option("--station", "names", metavar="NAME", multiple=True, help="Gauge to draw; repeatable.")
@click.option(
    "--observed",
    metavar="[NAME=]FILE",
    multiple=True,
    help="Observed sea level of a gauge: a table, or a file of UHSLC, CO-OPS or DART; repeatable.",
)
@output_option("FILE", "Picture: PNG, PDF or SVG.")
@click.option("--maxima", "kind", flag_value="maxima", help="Draw the highest water and the times of arrival.")
@click.pass_context
def plot(context, path, fields, record, time, member, names, observed, output, kind, **style):
    """Draw a picture of a run, an ensemble, a sensitivity or an assimilation.

    \b
    swmodel plot outputs/jet
    swmodel plot outputs/jet --field speed --time "5 days" --arrows --output speed.png
    swmodel plot outputs/jet --field u --field v --range shared --contours eta
    swmodel plot outputs/jet/diagnostics.nc
    swmodel plot outputs/chile2010/stations.nc --field u --station "DART 32412"
    swmodel plot outputs/chile2010/stations.nc --observed "DART 32412=dart32412.txt"

    \b
    Without options the picture of a folder shows
      tides           amplitude and phase, if the run has analysed them
      highest water   and times of arrival, if the run has recorded them
      ensembles       mean and spread
      sensitivities   all maps
      assimilations   maps and curves of the result
      other runs      relative vorticity and sea level in the last record, with the tracks of drifters

    Each kind of FILE has its own picture: fields (output.nc, output.zarr), time series (diagnostics.nc), gauges
    (stations.nc), transports (sections.nc), tracks (drifters.nc), spectra (spectra.nc), tides (harmonics.nc). The field
    "current" of gauges is drawn as a hodograph.

    Speed, vorticity and similar fields are computed from u, v and h if the file does not hold them. NAME_error is the
    difference between a field and the analytic solution of its case.

    \b
    With --range the colour scale spans
      record    the values of each field in the record that is drawn
      run       the values in all records, so that pictures of several records compare
      shared    the same values for all fields with the same units, and for all members
    --vmin and --vmax are in the units of the label without its power of ten.
    """
    from .. import plotting

    typed_options = {
        parameter.name: parameter.opts[-1]
        for parameter in context.command.params
        if parameter.name not in ("path", "output", "kind")
        and context.get_parameter_source(parameter.name) is click.core.ParameterSource.COMMANDLINE
    }
    kind = kind or (STATIONS if names or observed else default_picture(path, typed_options))
    allowed = OPTIONS_OF_PICTURE.get(kind, typed_options)
    if refused := sorted(option for name, option in typed_options.items() if name not in allowed):
        raise click.UsageError(f"the picture of {kind} does not take these options; leave out {', '.join(refused)}")
    if kind == STATIONS and len(fields) > 1:
        raise click.UsageError("the picture of stations.nc shows one field; use --field once")
    colour_range, overlays = colour_range_and_overlays(**style | ({"drifters": True} if kind == DRIFTERS else {}))
    if kind == DIAGNOSTICS:
        picture = plotting.plot_diagnostics(path, output)
    elif kind == STATIONS:
        picture = plotting.plot_stations(path, next(iter(fields), None), output, names, observed)
    elif kind == SECTIONS:
        picture = plotting.plot_sections(path, output)
    elif kind == MAXIMA:
        picture = plotting.plot_maxima(path, output, record, time, colour_range, overlays)
    elif kind == DRIFTERS and not is_run_folder(path):
        target = output or path.with_suffix(".png")
        picture = plotting.plot(path.parent, fields or None, record, time, target, None, colour_range, overlays)
    else:
        file = path / HARMONICS if kind == HARMONICS and is_run_folder(path) else path
        picture = plotting.plot(file, fields or None, record, time, output, member, colour_range, overlays)
    click.echo(f"Wrote {picture}")
    drawn_files = {kind} if kind else {*SNAPSHOT_FILES}
    other_files = [name for name in PICTURE_FILES if name not in drawn_files and (path / name).exists()]
    if other_files and not typed_options:
        click.echo(f"For more pictures: swmodel plot {path}/FILE, with FILE one of {', '.join(other_files)}")


#: The kind of picture that shows the highest water and the times of arrival.
MAXIMA = "maxima"
#: {kind of picture: the parameters of `plot` that it takes}; other kinds take all parameters.
OPTIONS_OF_PICTURE = {
    DIAGNOSTICS: (),
    STATIONS: ("fields", "names", "observed"),
    SECTIONS: (),
    MAXIMA: ("record", "time", "vmin", "vmax", "range_", "arrows", "wind", "drifters", "contours"),
    DRIFTERS: ("fields", "record", "time", "vmin", "vmax", "range_", "arrows", "wind", "drifters", "contours"),
}
#: Parameters for a map of one record; if the user types one of them, the picture of a folder does not show tides.
RECORD_OPTIONS = {"record", "time", "arrows", "wind", "drifters", "contours"}
#: The files of a run folder that `plot` can draw.
PICTURE_FILES = (*SNAPSHOT_FILES, HARMONICS, STATIONS, SECTIONS, DRIFTERS, SPECTRA, DIAGNOSTICS)


def default_picture(path, typed_options) -> str:
    """The kind of picture for a path: the name of a file, MAXIMA, or "" for the fields in a folder."""
    if not is_run_folder(path):
        return path.name
    if typed_options.keys() & {"fields", "member"}:
        return ""
    if (path / HARMONICS).is_file() and not typed_options.keys() & RECORD_OPTIONS:
        return HARMONICS
    output_options = read_config_tables(path).get("output", {})
    has_maxima = output_options.get("maxima") or output_options.get("arrival", "none") != "none"
    if has_maxima and any((path / name).exists() for name in SNAPSHOT_FILES):
        return MAXIMA
    return DRIFTERS if (path / DRIFTERS).is_file() and not typed_options else ""


def colour_range_and_overlays(vmin, vmax, range_, arrows, wind, drifters, contours):
    """The arguments for `plotting` from the values of `map_options`."""
    from ..plotting import ColourRange, Overlays

    return ColourRange(range_, vmin, vmax), Overlays(arrows, contours, wind, drifters)


@click.command()
@path_argument
@click.option("--field", metavar="NAME", help="Field to show.  [relative vorticity]")
@member_option
@map_options("run")
@click.option(
    "--fps",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="Frames per second.  [12, or fewer so that the animation lasts 4 s]",
)
@output_option("FILE", "Animation: FILE.mp4 or FILE.gif.")
def animate(path, field, member, fps, output, **style):
    """Make an animation of one field of a run.

    \b
    swmodel animate outputs/jet
    swmodel animate outputs/jet --field speed --arrows --output speed.gif

    \b
    With --range the colour scale spans
      record    the values of each record, so that the scale changes
      run       the values of all records
      shared    the values of all records and all members, so that animations of several members compare
    --vmin and --vmax are in the units of the label without its power of ten.
    """
    from ..plotting import animate as make_animation

    click.echo(f"Wrote {make_animation(path, field, fps, output, member, *colour_range_and_overlays(**style))}")


@click.command()
@path_argument
@field_option
@output_option("FILE", "Page: FILE.html.")
@click.option("--open/--no-open", "open_browser", default=True, help="Open the page in the browser.  [if there is one]")
def view(path, fields, output, open_browser):
    """Make a web page of a run, with maps, time series and configuration, and open it in the browser.

    \b
    swmodel view outputs/jet
    swmodel view outputs/jet --field q --field v --output jet.html --no-open

    The page is one file that needs neither a server nor a network. Without --field it shows vorticity, eta, speed and
    the highest water, as far as the run has them.
    Without a terminal or a screen, for example over ssh, the command does not open the page.
    """
    from ..plotting import view as write_page

    page = write_page(path, fields or None, output)
    click.echo(f"Wrote {page}")
    if open_browser and has_screen():
        webbrowser.open(page.absolute().as_uri())


def has_screen() -> bool:
    """Whether the user works at a terminal of this machine and can see windows that this program opens."""
    has_display = sys.platform in ("darwin", "win32") or bool({"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys())
    return has_display and sys.stdout.isatty() and not {"SSH_CONNECTION", "SSH_TTY"} & os.environ.keys()


@click.command(context_settings=renamed_options(of="field"))
@path_argument
@click.option("--field", "names", metavar="NAME", multiple=True, help="Quantity NAME; repeatable.  [all]")
@click.option("--record", type=int, help="Number of the record to use; -1 is the last.  [all]")
@time_option()
@click.option("--mean", is_flag=True, help="Average over the records.")
@click.option("--budget", is_flag=True, help="Add the budget: how each term of the equations changes the spectra.")
@output_option("FILE.nc", "File for the spectra; the picture is FILE.png.")
def spectra(path, names, record, time, mean, budget, output):
    """Compute spectra and budgets of a run on a plane without land and open boundaries.

    \b
    swmodel spectra outputs/turbulence
    swmodel spectra outputs/turbulence --time "10 days" --budget
    swmodel spectra outputs/turbulence --mean --field kinetic_energy --output mean.nc

    NAME is kinetic_energy, potential_energy, enstrophy, or dye_variance for a tracer dye. The command reads the
    snapshots, writes output-spectra.nc next to them, and draws it. The sum of a spectrum over wavenumbers is the mean
    over the domain. With --budget the command executes user-defined cases, as `swmodel resume` does.

    A run with `-s output.spectra="6 h"` writes spectra.nc while it computes; `swmodel plot DIR/spectra.nc` draws it.
    """
    from ..plotting import spectra as compute
    from .rank_checks import check_devices

    check_devices()
    for output_file in compute(path, names, record, time, mean, budget, output, get_command_line()):
        click.echo(f"Wrote {output_file}")
