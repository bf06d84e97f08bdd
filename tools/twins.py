"""The twin experiments against the truth: does the analysis keep what the documentation says of it?

    make twins
    python tools/twins.py [--seeds 1 2] [--nproc N] [--folder DIR]

Everywhere and far from every observation, the analysis is off by at most a quarter of what the first guess is off by,
from the start of the window to the end of the forecast, that of LETKF from the end of the window on. Of surges that
enter through an open side this holds of their level there and of sea level. Drag is off by at most a third, where the
first guess is wrong. With corrections
of an unknown wind, by 4D-Var and by LETKF, errors at the end of the window and of the forecast are at most 0.6 of those
of 4D-Var without; DIR/double_gyre_winds-SEED.png shows them. Ends with exit code 1 if it is not so.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import netCDF4
import numpy as np

from swmodel.plotting import style

STATE, DRAG, WEAK = 0.25, 1 / 3, 0.6
LETKF = ("--method", "letkf")
LABELS = {"eta": "Rms error of the interface (m)", "current": "Rms error of the current (m s⁻¹)"}
#: 4D-Var of the cost of LETKF: 19 sweeps, as long as about 95 runs.
SHORT = ("-s", "assimilation.outer=2", "-s", "assimilation.inner=8")
#: The settings of an analysis that takes the wind of the first guess for the true one.
STRONG = ("-s", "assimilation.controls=eta,u,v")


def assimilate(case: str, seed: int, nproc: int, folder: Path, settings=()) -> dict:
    """The errors that `swmodel assimilate` finds; ends this program with its exit code where that is not 0."""
    line = [sys.executable, "-m", "swmodel", "assimilate", case, "--nproc", str(nproc), "-s", f"case.seed={seed}"]
    line += settings
    done = subprocess.run([*line, "--output", str(folder), "--force", "--quiet"])
    if done.returncode:
        sys.exit(done.returncode)
    return json.loads((folder / "assimilation.json").read_text())["twin"]


def ratios(twin: dict, what="", begin=0.0, names=("eta", "current")) -> Iterator[tuple[str, float, float]]:
    """(what, error of the analysis over that of the first guess from a day on, at most)."""
    for name, of in twin["controls"].items():
        if "where_wrong" in of["background"]:
            errors = [of[who]["where_wrong"] for who in ("analysis", "background")]
            yield f"{what}{name} where it is wrong", errors[0] / errors[1], DRAG
    forecast = twin["forecast"]
    for name in names:
        for where in ("everywhere", "unobserved"):
            before, after = (np.array(forecast[name][who][where]) for who in ("background", "analysis"))
            known = before > 0  # a first guess that starts from the truth is not off there
            known &= np.array(forecast["days"]) >= begin
            yield f"{what}{name} {where}, the worst of all days", float((after[known] / before[known]).max()), STATE


def over_strong(what: str, weak: dict, strong: dict) -> Iterator[tuple[str, float, float]]:
    """(what, error with corrections of the wind over that without, at most), at the ends of window and forecast."""
    window = weak["forecast"]["days"].index(weak["forecast"]["window_days"])
    for name in ("eta", "current"):
        for number, when in ((window, "window"), (-1, "forecast")):
            errors = [of["forecast"][name]["analysis"]["everywhere"][number] for of in (weak, strong)]
            yield f"{what}: {name} at the end of the {when}, over that without corrections", errors[0] / errors[1], WEAK


def findings(case: str, seed: int, nproc: int, folder: Path) -> Iterator[tuple[str, float, float]]:
    """(what, ratio, at most) of a case and a seed."""

    def other(name: str, *settings: str) -> dict:
        return assimilate(case, seed, nproc, folder.with_name(f"{folder.name}-{name}"), settings)

    twin = assimilate(case, seed, nproc, folder)
    if case == "double_gyre_winds":
        strong = other("strong", *STRONG)
        letkf, short = other("letkf", *LETKF), other("short", *SHORT)
        draw({"strong": strong, "weak, stopped early": short, "weak": twin, "LETKF": letkf}, folder.with_suffix(".png"))
        yield from over_strong("weak constraint", twin, strong)
        yield from over_strong("LETKF", letkf, strong)
        return
    if case == "gulf_surge":
        with netCDF4.Dataset(folder / "analysis.nc") as data:
            found, true = (data[f"outside_level_correction_{who}"][:, :, -1] for who in ("analysis", "truth"))
        yield "level at the mouth", float(np.sqrt(np.mean((found - true) ** 2) / np.mean(true**2))), STATE
        yield from ratios(twin, names=("eta",))
        return
    yield from ratios(twin)
    if case == "double_gyre_twin":
        yield from ratios(other("letkf", *LETKF), "LETKF: ", twin["forecast"]["window_days"])


def draw(twins: dict[str, dict], path: Path) -> None:
    """Draw the errors of analyses over time, by method, and of their first guess."""
    figure = style.Picture(figsize=(8.4, 3.0), layout="constrained")
    for panel, (name, label) in zip(figure.subplots(1, 2), LABELS.items(), strict=True):
        forecasts = {what: twin["forecast"] for what, twin in twins.items()}
        first = next(iter(forecasts.values()))
        panel.axvspan(0, first["window_days"], color="0.93", lw=0)
        panel.plot(first["days"], first[name]["background"]["everywhere"], color=style.QUIET, label="first guess")
        for what, forecast in forecasts.items():
            panel.plot(forecast["days"], forecast[name]["analysis"]["everywhere"], label=what)
        panel.set(xlabel="Days (window shaded)", ylabel=label, xlim=(0, first["days"][-1]))
        panel.set_ylim(bottom=0)
        panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Print the ratios; exit code 1 if one is too large."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs="+", type=int, default=(1, 2), help="of the observations' places and errors")
    parser.add_argument("--nproc", type=int, default=2, help="processes")
    parser.add_argument("--folder", type=Path, default=Path("outputs/twins"), help="for the runs")
    asked, right = parser.parse_args(), True
    for case in ("gulf_surge", "double_gyre_twin", "double_gyre_drag", "double_gyre_winds"):
        for seed in asked.seeds:
            for what, ratio, most in findings(case, seed, asked.nproc, asked.folder / f"{case}-{seed}"):
                right &= ratio <= most
                print(
                    f"{case}, seed {seed}: {what}: {ratio:.2f}, at most {most:.2f}{'' if ratio <= most else '  WRONG'}"
                )
    sys.exit(not right)


if __name__ == "__main__":
    main()
