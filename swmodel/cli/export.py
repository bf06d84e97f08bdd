"""`swmodel export`: fields of a run for geographic information systems."""

from __future__ import annotations

import click

from .options import PATH, time_option
from .pictures import member_option


@click.command()
@click.argument("path", metavar="DIR|FILE", type=PATH)
@click.argument("target", metavar="FILE.tif|FILE.gpkg|FILE.kml|FILE.geojson", type=PATH)
@click.option("--field", "names", metavar="NAME", multiple=True, help="Field of a band; repeatable.  [largest values]")
@click.option("--record", type=int, default=-1, help="Number of the record; -1 is the last.")
@time_option()
@member_option
@click.option("--crs", metavar="EPSG:CODE", default="", help="Coordinate reference system of a plane without grid.crs.")
def export(path, target, names, record, time, member, crs):
    """Write fields as GeoTIFF, or the extent of a flood as GeoPackage, KML or GeoJSON.

    \b
    swmodel export outputs/flood depth.tif --field h_max
    swmodel export outputs/flood maxima.tif
    swmodel export outputs/flood extent.gpkg

    Without --field a GeoTIFF has all largest values and times of arrival of the run. If a run with drying has the
    largest h and speed, the hazard rating h (speed + 0.5 m/s) of flooded land is added. The extent is the land that
    was dry at the start and became wet.
    """
    from ..plotting.export import export as write_export

    click.echo(f"Wrote {write_export(path, target, names, record, time, crs, member)}")
