"""`swmodel spectra`: spectra of a run's records, and their budgets."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from .pictures import model_time


@click.command()
@click.argument("path", metavar="DIR|FILE.nc", type=click.Path(path_type=Path))
@click.option("--of", "names", metavar="NAME", multiple=True, help="Quantity; may be repeated. Without it, all.")
@click.option("--record", type=int, help="Number of the one record whose spectra are wanted; -1 is the last.")
@click.option("--time", metavar="TIME", help='Model time instead of a record: seconds, "6 h" or "2 days".')
@click.option("--mean", is_flag=True, help="The mean over the records instead of each.")
@click.option("--budget", is_flag=True, help="How each part of the equations changes them, and the fluxes.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE.nc", help="File; a picture goes beside.")
def spectra(path, names, record, time, mean, budget, output):
    """Spectra of a run in a sea without land: of energy, enstrophy and tracer, by wavenumber and along x and y.

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

    words = shlex.join(["swmodel", *sys.argv[1:]])
    for written in compute(path, names, record, model_time(time), mean, budget, output, words):
        click.echo(f"Wrote {written}")
