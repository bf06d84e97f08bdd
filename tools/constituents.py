"""Make the table of tidal constituents from that of the package utide, and compare it with the existing file.

    python tools/constituents.py [--write]

With --write it replaces swmodel/ocean/constituents.json.

The table of utide (MIT, https://github.com/wesleybowman/UTide) comes from Foreman (1977) by way of t_tide and UTide.
This program leaves out satellites of the third degree of the potential, whose size depends on latitude, and the
constant Z0. It adds satellites of MF and MM, for which utide has none: with those of Doodson (1921) the nodal factors
are 1.04 + 0.41 cos N and 1 - 0.13 cos N, as in Schureman (1958), table 14.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import utide

TABLE_FILE = Path(__file__).parents[1] / "swmodel" / "ocean" / "constituents.json"
FORMAT_TEXT = (
    "doodson: multiples of tau, s, h, p, N', p'; phase: cycles; satellites: multiples of p, N', p' by which they "
    "differ, phase in cycles, relative size; sum: multiples of other constituents"
)

ADDED_SATELLITES = {
    "MF": [[0, 1, 0, 0, 0.4143], [0, 2, 0, 0, 0.0387]],
    "MM": [[0, -1, 0, 0.5, 0.0657], [0, 1, 0, 0.5, 0.0649]],
}


def simplify_numbers(numbers) -> list:
    """The numbers as int where they are whole, and else as float."""
    return [int(x) if float(x).is_integer() else float(x) for x in numbers]


def potential_entry(number: int) -> dict:
    """The entry of a constituent of the potential."""
    const, sat = utide.ut_constants.const, utide.ut_constants.sat
    satellites = np.flatnonzero((sat.iconst == number + 1) & (sat.ilatfac == 0))
    rows = [[*sat.deldood[i], sat.phcorr[i], sat.amprat[i]] for i in satellites] + ADDED_SATELLITES.get(
        const.name[number], []
    )
    entry = {"doodson": simplify_numbers(const.doodson[number]), "phase": simplify_numbers([const.semi[number]])[0]}
    return entry | {"satellites": [simplify_numbers(row) for row in rows]}


def shallow_water_entry(number: int) -> dict:
    """The entry of a shallow-water constituent, a sum of others."""
    const, shallow = utide.ut_constants.const, utide.ut_constants.shallow
    first = int(const.ishallow[number]) - 1
    parts = range(first, first + int(const.nshallow[number]))
    return {"sum": {str(const.name[shallow.iname[i] - 1]): simplify_numbers([shallow.coef[i]])[0] for i in parts}}


def make_table() -> dict[str, dict]:
    const = utide.ut_constants.const
    entries = {}
    for number, name in enumerate(const.name):
        if np.isfinite(const.nshallow[number]):
            entries[str(name)] = shallow_water_entry(number)
        elif const.freq[number] > 0 and np.isfinite(const.doodson[number]).all():
            entries[str(name)] = potential_entry(number)
    return entries


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"replace {TABLE_FILE}")
    args = parser.parse_args()
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in make_table().items())
    table = f'{{"source": "utide {utide.__version__}; {FORMAT_TEXT}",\n "constituents": {{\n{lines}\n}}}}\n'
    comparison = "is the same" if TABLE_FILE.read_text() == table else "differs"
    print(f"{TABLE_FILE}: {comparison}; {'replaced' if args.write else '--write replaces it'}")
    if args.write:
        TABLE_FILE.write_text(table)
