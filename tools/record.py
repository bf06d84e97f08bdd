"""Record the SHA-256 of the results of small runs, before and after a change of the code that should change no bit.

    tools/record.py before.json                        all runs; write the table
    tools/record.py after.json --against before.json   also list differences; exit code 1 if there are any
    tools/record.py some.json --only storm members     some of RUNS

The table has an entry for each variable in the NetCDF files of each run (output, diagnostics, series, restart,
ensemble, maps of derivatives) and, for `check-gradient`, one for the gradient. Attributes, such as dates and versions,
are not in it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import netCDF4
import numpy as np

JET = "run published_jet -s grid.nx=37 -s grid.ny=29 --dtype float64"
XLA = f"{JET} --executor xla --reproducible --steps 20"
GYRE = "double_gyre -s grid.nx=25 -s grid.ny=41 -s grid.dx=40e3 -s grid.dy=40e3"
BOX = "-s grid.nx=24 -s grid.ny=20"
TIDES = "-s time.start=2012-03-01 -s tide.constituents=M2,K1 -s physics.self_attraction=0.1"

#: A configuration with many terms, a station and a section; in RUNS {many} is its file.
MANY_TERMS_CONFIG = """
case.name = "rest"
grid = {nx = 24, ny = 20, dx = 1e4, dy = 1e4}
physics = {linear_drag = 1e-6, quadratic_drag = 1e-3, manning = 0.02, viscosity = 50, biharmonic_viscosity = 1e9}
body_force = {x_amplitude = 1e-5, y = 2e-6, period = "12.42 h"}
sponge = {rate = 1e-4, width = 3e4}

[open_boundaries]
sides = ["west"]
constituents = ["M2", "S2"]
amplitude = [0.5, 0.1]
phase = [0, 20]
pressure = "none"

[output]
every_steps = 20
stations_every_steps = 3
sections_every_steps = 4

[[tracer]]
name = "dye"
initial = 1.5

[[station]]
name = "buoy"
x = 3e4
y = 1.2e5

[[section]]
name = "gate"
start = [6e4, 2e4]
end = [9e4, 1.5e5]
"""

#: The commands of each run, in order. {out} is its folder, {grid} a file next to that folder.
RUNS = {
    "jet": [f"{JET} --steps 40"],
    "jet_single": [f"{JET} --dtype float32 --steps 40"],
    "jet_four_ranks": [f"{JET} --steps 40 --nproc 4"],
    "jet_xla": [XLA],
    "jet_xla_four_ranks": [f"{XLA} --nproc 4"],
    "jet_xla_sharded": [f"{XLA} --transport sharded --devices 2"],
    "jet_reference": [f"{JET} --executor reference --steps 20"],
    "jet_restarted": [f"{JET} --steps 17", "resume {out} -s run.steps=40 --nproc 3"],
    "ab3": [f"run vortex {BOX} -s time.stepper=ab3 --steps 12"],
    "rk3": [f"run vortex {BOX} -s time.stepper=rk3 --steps 12"],
    "rk4": [f"run vortex {BOX} -s time.stepper=rk4 --steps 12"],
    "leapfrog": [f"run vortex {BOX} -s time.stepper=leapfrog --steps 12"],
    "enstrophy": [f"run turbulence {BOX} -s scheme.vorticity_flux=enstrophy --steps 15"],
    "arakawa_lamb": [f"run turbulence {BOX} -s scheme.vorticity_flux=arakawa_lamb --steps 15"],
    "gyre_accumulators": [
        f"run {GYRE} --steps 30 -s output.means=eta,u -s output.maxima=eta,speed -s output.arrival=1e-3"
    ],
    "stommel_reference": ["run stommel -s grid.nx=20 -s grid.ny=22 --steps 30 --executor reference"],
    "many_terms": ["run {many} --steps 50 --nproc 2"],
    "many_terms_reference": ["run {many} --steps 30 --executor reference"],
    "seamount": [f"run seamount {BOX} --steps 20"],
    "equatorial": [f"run equatorial {BOX} --steps 20"],
    "sphere": ["run galewsky -s grid.nx=48 -s grid.ny=24 --steps 20 --nproc 2"],
    "storm": [
        "run hurricane -s grid.nx=24 -s grid.ny=16 -s grid.dx=40e3 -s grid.dy=40e3 -s output.maxima=eta,speed"
        " --days 0.5 --nproc 2"
    ],
    "tsunami": ["run chile2010 -s output.maxima=eta -s output.arrival=0.01 --steps 40 --nproc 2"],
    "open_boundaries": ["run gulf_tide --steps 60 --nproc 4"],
    "tides": [
        "grid {grid} --region -70,-10,10,45 --resolution 2.5",
        f"run sea -s grid.file={{grid}} {TIDES} --steps 60 --nproc 2",
        "resume {out} -s run.steps=90",
    ],
    "global_tide": ["run global_m2 --steps 6 -s output.harmonics= -s output.stations_every_steps=2"],
    "members": [f"ensemble {GYRE} --members 3 --perturb initial.eta=0.5,1e5 --perturb wind=0.1 --steps 20 --nproc 2"],
    "gradient": [f"check-gradient {GYRE} --steps 12 --json {{out}}.json"],
    "gradient_four_ranks": [f"check-gradient {GYRE} --steps 12 --nproc 4 --json {{out}}.json"],
    "sensitivity": [f"sensitivity vortex {BOX} --steps 12 --of energy --wrt eta --wrt depth --nproc 2"],
}


def run_swmodel(line: str, folder: Path) -> None:
    """Run a swmodel command; if it fails, this program exits with the errors that it printed."""
    names = {"out": folder, "grid": folder.parent / "grid.nc", "many": folder.parent / "many.toml"}
    names["many"].write_text(MANY_TERMS_CONFIG)
    words = [word.format(**names) for word in line.split()]
    if words[0] in ("run", "ensemble", "sensitivity"):
        words += ["--output", str(folder), "--force"]
    process = subprocess.run([sys.executable, "-m", "swmodel", *words], capture_output=True, text=True)
    if process.returncode:
        sys.exit(f"{' '.join(words)}: exit code {process.returncode}\n{process.stderr}")


def digest(values) -> str:
    values = np.ascontiguousarray(np.ma.getdata(values))
    content = values.tobytes() if values.dtype.kind != "O" else str(values.tolist()).encode()
    return hashlib.sha256(f"{values.dtype.str}{values.shape}".encode() + content).hexdigest()


def digests_of_run(folder: Path) -> dict[str, str]:
    """The digests of the results in the folder of a run, by FILE:VARIABLE."""
    digests = {}
    for path in sorted(folder.rglob("*.nc")):
        with netCDF4.Dataset(path) as data:
            data.set_auto_maskandscale(False)
            file = path.relative_to(folder)
            digests |= {f"{file}:{name}": digest(variable[...]) for name, variable in data.variables.items()}
    if (path := folder.with_suffix(".json")).exists():
        digests["gradient"] = json.loads(path.read_text())["gradient_sha256"]
    return digests


def differences(before: dict, after: dict) -> list[str]:
    lines = []
    for run in after:
        old, new = before.get(run, {}), after[run]
        lines += [f"{run}: {name} is gone" for name in old.keys() - new.keys()]
        lines += [f"{run}: {name} is new" for name in new.keys() - old.keys()]
        lines += [f"{run}: {name} differs" for name in old.keys() & new.keys() if old[name] != new[name]]
    return sorted(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path, help="JSON file to write")
    parser.add_argument("--against", type=Path, help="an earlier table to compare with")
    parser.add_argument("--only", nargs="+", choices=RUNS, default=list(RUNS), metavar="RUN", help="default: all runs")
    args = parser.parse_args()
    table = {}
    for name in args.only:
        print(name, file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            for line in RUNS[name]:
                run_swmodel(line, Path(folder) / "run")
            table[name] = digests_of_run(Path(folder) / "run")
    args.table.write_text(json.dumps(table, indent=1) + "\n")
    if args.against:
        lines = differences(json.loads(args.against.read_text()), table)
        print("\n".join(lines) or "nothing differs")
        sys.exit(bool(lines))


if __name__ == "__main__":
    main()
