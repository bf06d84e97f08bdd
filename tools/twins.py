"""Run the twin experiments, and check that the errors of the analysis are as small as the documentation says.

    make twins
    python tools/twins.py [--seeds 1 2] [--nproc N] [--folder DIR]

From the start of the window to the end of the forecast (for LETKF, from the end of the window), the error of the
analysis must be at most a quarter of that of the first guess, both everywhere and far from every observation. For
surges that enter through an open boundary the limit applies to their level there and to sea level. For drag the limit
is a third, where the first guess is wrong. With corrections of an unknown wind, by 4D-Var or LETKF, errors at the end
of the window and of the forecast must be at most 0.6 of those of 4D-Var without corrections;
DIR/double_gyre_winds-SEED.png shows the errors. The exit code is 1 if a limit is exceeded.
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

MAX_STATE_RATIO, MAX_DRAG_RATIO, MAX_WEAK_CONSTRAINT_RATIO = 0.25, 1 / 3, 0.6
LETKF_OPTIONS = ("--method", "letkf")
LABELS = {"eta": "Rms error of the interface (m)", "current": "Rms error of the current (m s⁻¹)"}
#: 4D-Var that costs as much as LETKF: 19 sweeps, which take the time of about 95 runs.
SHORT_4DVAR_OPTIONS = ("-s", "assimilation.outer=2", "-s", "assimilation.inner=8")
#: The settings of an analysis that takes the wind of the first guess as true.
STRONG_CONSTRAINT_OPTIONS = ("-s", "assimilation.controls=eta,u,v")


def assimilate(case: str, seed: int, nproc: int, folder: Path, settings=()) -> dict:
    """The errors that `swmodel assimilate` writes; if it fails, this program exits with its exit code."""
    command = [sys.executable, "-m", "swmodel", "assimilate", case, "--nproc", str(nproc), "-s", f"case.seed={seed}"]
    command += settings
    process = subprocess.run([*command, "--output", str(folder), "--force", "--quiet"])
    if process.returncode:
        sys.exit(process.returncode)
    return json.loads((folder / "assimilation.json").read_text())["twin"]


def error_ratios(twin: dict, prefix="", first_day=0.0, names=("eta", "current")) -> Iterator[tuple[str, float, float]]:
    """(label, error of the analysis over that of the first guess from `first_day` on, largest allowed value)."""
    for name, errors_of_control in twin["controls"].items():
        if "where_wrong" in errors_of_control["background"]:
            errors = [errors_of_control[source]["where_wrong"] for source in ("analysis", "background")]
            yield f"{prefix}{name} where the first guess is wrong", errors[0] / errors[1], MAX_DRAG_RATIO
    forecast = twin["forecast"]
    for name in names:
        for region in ("everywhere", "unobserved"):
            background, analysis = (np.array(forecast[name][source][region]) for source in ("background", "analysis"))
            is_counted = background > 0  # a first guess that starts from the truth has no error at its start
            is_counted &= np.array(forecast["days"]) >= first_day
            yield (
                f"{prefix}{name} {region}, the worst of all days",
                float((analysis[is_counted] / background[is_counted]).max()),
                MAX_STATE_RATIO,
            )


def ratios_to_strong_constraint(prefix: str, weak: dict, strong: dict) -> Iterator[tuple[str, float, float]]:
    """(label, error with wind corrections over that without, largest allowed value), at ends of window and forecast."""
    window_end = weak["forecast"]["days"].index(weak["forecast"]["window_days"])
    for name in ("eta", "current"):
        for number, period in ((window_end, "window"), (-1, "forecast")):
            errors = [twin["forecast"][name]["analysis"]["everywhere"][number] for twin in (weak, strong)]
            yield (
                f"{prefix}: {name} at the end of the {period}, over that without corrections",
                errors[0] / errors[1],
                MAX_WEAK_CONSTRAINT_RATIO,
            )


def check_case(case: str, seed: int, nproc: int, folder: Path) -> Iterator[tuple[str, float, float]]:
    """(label, ratio, largest allowed value) for a case and a seed."""

    def assimilate_variant(name: str, *settings: str) -> dict:
        return assimilate(case, seed, nproc, folder.with_name(f"{folder.name}-{name}"), settings)

    twin = assimilate(case, seed, nproc, folder)
    if case == "double_gyre_winds":
        strong = assimilate_variant("strong", *STRONG_CONSTRAINT_OPTIONS)
        letkf, short = assimilate_variant("letkf", *LETKF_OPTIONS), assimilate_variant("short", *SHORT_4DVAR_OPTIONS)
        draw({"strong": strong, "weak, stopped early": short, "weak": twin, "LETKF": letkf}, folder.with_suffix(".png"))
        yield from ratios_to_strong_constraint("weak constraint", twin, strong)
        yield from ratios_to_strong_constraint("LETKF", letkf, strong)
        return
    if case == "gulf_surge":
        with netCDF4.Dataset(folder / "analysis.nc") as data:
            correction, true_correction = (
                data[f"boundary_level_correction_{source}"][:, :, -1] for source in ("analysis", "truth")
            )
        yield (
            "level at the mouth",
            float(np.sqrt(np.mean((correction - true_correction) ** 2) / np.mean(true_correction**2))),
            MAX_STATE_RATIO,
        )
        yield from error_ratios(twin, names=("eta",))
        return
    yield from error_ratios(twin)
    if case == "double_gyre_twin":
        yield from error_ratios(assimilate_variant("letkf", *LETKF_OPTIONS), "LETKF: ", twin["forecast"]["window_days"])


def draw(twins: dict[str, dict], path: Path) -> None:
    """Draw the errors of the analysis of each method, and of the first guess, over time."""
    figure = style.NotebookFigure(figsize=(8.4, 3.0), layout="constrained")
    for panel, (name, label) in zip(figure.subplots(1, 2), LABELS.items(), strict=True):
        forecasts = {method: twin["forecast"] for method, twin in twins.items()}
        first = next(iter(forecasts.values()))
        panel.axvspan(0, first["window_days"], color="0.93", lw=0)
        panel.plot(first["days"], first[name]["background"]["everywhere"], color=style.MID_GREY, label="first guess")
        for method, forecast in forecasts.items():
            panel.plot(forecast["days"], forecast[name]["analysis"]["everywhere"], label=method)
        panel.set(xlabel="Days (window shaded)", ylabel=label, xlim=(0, first["days"][-1]))
        panel.set_ylim(bottom=0)
        panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs="+", type=int, default=(1, 2), help="seeds of the observations")
    parser.add_argument("--nproc", type=int, default=2, help="number of processes")
    parser.add_argument("--folder", type=Path, default=Path("outputs/twins"), help="folder for the runs")
    args, all_within_limits = parser.parse_args(), True
    for case in ("gulf_surge", "double_gyre_twin", "double_gyre_drag", "double_gyre_winds"):
        for seed in args.seeds:
            for label, ratio, max_ratio in check_case(case, seed, args.nproc, args.folder / f"{case}-{seed}"):
                all_within_limits &= ratio <= max_ratio
                comparison = "" if ratio <= max_ratio else "  ABOVE THE LIMIT"
                print(f"{case}, seed {seed}: {label}: {ratio:.2f}, limit {max_ratio:.2f}{comparison}")
    sys.exit(not all_within_limits)


if __name__ == "__main__":
    main()
