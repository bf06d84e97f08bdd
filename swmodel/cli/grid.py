"""`swmodel grid`: make depth and mask of a region from a relief of the Earth."""

from __future__ import annotations

import click

from .options import PATH, get_command_line, number_list_type


@click.command()
@click.argument("target", metavar="NAME.nc", type=PATH)
@click.option(
    "--region",
    metavar="W,E,S,N",
    type=number_list_type("W,E,S,N"),
    required=True,
    help="Edges of the region, degrees, or m with --crs.",
)
@click.option(
    "--resolution", metavar="SIZE", type=float, required=True, help="Size of the cells, degrees, or m with --crs."
)
@click.option(
    "--relief",
    metavar="FILE[:[-]NAME]",
    multiple=True,
    help="File of heights or depths; -NAME changes the sign; repeatable, finest first.  [half a degree, built in]",
)
@click.option("--min-depth", metavar="M", type=click.FloatRange(min=0, min_open=True),
              help="Least depth, m; shallower water is deepened.  [10; 0 with --land-up-to]")  # fmt: skip
@click.option("--land-up-to", metavar="M", type=click.FloatRange(min=0),
              help="Keep coastal land up to this height, m, so that it can flood.")  # fmt: skip
@click.option(
    "--smooth", metavar="TIMES", type=click.IntRange(min=0), default=0, help="Smoothing passes of the depth of the sea."
)
@click.option(
    "--pole", metavar="LON,LAT", type=number_list_type("LON,LAT"), help="North pole of the grid.  [that of the Earth]"
)
@click.option("--crs", metavar="EPSG:CODE", help="Projected coordinate reference system of the grid, in m.  [degrees]")
@click.option("--keep", metavar="LON,LAT", type=number_list_type("LON,LAT"), multiple=True,
              help="Keep the sea at this position although it is cut off (X,Y with --crs); repeatable.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace an existing grid file and its picture.")
def grid(target, relief, force, **request):
    """Make depth and mask of a region from a relief of the Earth.

    \b
    swmodel grid salish.nc --region -126,-122,48,50 --resolution 0.05 --relief topography.nc
    swmodel grid atlantic.nc --region -100,20,-70,70 --resolution 1 --keep -80,25
    swmodel grid delta.nc --region -94,-87,28,31.5 --resolution 0.1 --land-up-to 20 --relief topography.nc
    swmodel grid earth.nc --region -180,180,-90,90 --resolution 1 --pole -42,76
    swmodel grid bay.nc --crs EPSG:32610 --region 480000,520000,5340000,5380000 --resolution 200 --relief survey.tif
    swmodel run sea -s grid.file=earth.nc

    The command writes a file for `grid.file`, and a picture of it. A cell is water if at least half of it is sea; its
    depth is the mean over that sea. The grid keeps straits and isthmuses that are narrower than a cell. Small seas that
    are cut off, and bays of one cell, become land; the command lists them. With --land-up-to, low land connected with
    the sea has a negative depth, for runs with drying.active. With --pole, the longitudes and latitudes of the region
    are relative to that pole: -42,76 and its antipode are on land, so the grid covers all oceans. A region may end at a
    pole that is on land. With --crs the cells are squares on the plane of that projection.
    """
    from ..files.relief import GridRequest, make_grid
    from ..plotting import plot_grid

    generated = make_grid(target, GridRequest(**request), relief, get_command_line(), force)
    for line in generated.describe():
        click.echo(line)
    click.echo(f"Wrote {target}")
    click.echo(f"Wrote {plot_grid(target)}")
