"""Draw docs/images/peers.png, the times of the published benchmark and of swmodel.

The times are those of benchmarks/published.toml and of benchmarks/results/xeon-2-cores/table.
"""

import json
import tomllib
from pathlib import Path
from statistics import median

import matplotlib as mpl

mpl.use("agg")
import matplotlib.pyplot as plt  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
#: The labels of executors and platforms in the picture.
LABELS = {
    "reference": "NumPy",
    "xla": "JAX",
    "native": "generated C++",
    "numpy": "NumPy",
    "cpu": "JAX, {n} cores",
}
LABELS["gpu"] = "JAX, {n} Tesla P100"


def published_times() -> dict[str, float]:
    """{label: seconds for 500 steps} of the published rows."""
    table = tomllib.loads((ROOT / "benchmarks" / "published.toml").read_text(encoding="utf-8"))["row"]
    rows = [row for row in table if row["platform"] != "cpu" or row["processes"] in (1, 16)]
    return {
        LABELS[row["platform"]].format(n=row["processes"]).replace("1 cores", "1 core"): row["seconds"] for row in rows
    }


def swmodel_times() -> dict[str, float]:
    """{label: seconds for 500 steps} of swmodel on two cores, from the rows of one process with two threads."""
    path = ROOT / "benchmarks" / "results" / "xeon-2-cores" / "table" / "results.json"
    rows = [row for row in json.loads(path.read_text(encoding="utf-8"))["rows"] if row["row"]["nproc"] == 1]
    times = {
        row["row"]["executor"]: median(500 / sample["steps"] * sample["seconds"] for sample in row["samples"])
        for row in rows
        if row["row"]["threads"] is None
    }
    return {f"{LABELS[name]}, 2 cores": times[name] for name in ("reference", "xla", "native")}


def main() -> None:
    figure, axes = plt.subplots(figsize=(7.5, 3.2), layout="constrained")
    bars = [(f"published: {label}", seconds, "0.7") for label, seconds in published_times().items()]
    bars += [(f"swmodel: {label}", seconds, "tab:blue") for label, seconds in swmodel_times().items()]
    for y, (_, seconds, colour) in enumerate(bars):
        axes.barh(y, seconds, color=colour)
        axes.text(seconds * 1.1, y, f"{seconds:.3g} s", va="center")
    axes.set_yticks(range(len(bars)), [name for name, _, _ in bars])
    axes.invert_yaxis()
    axes.set(xscale="log", xlim=(1, 3000), xlabel="seconds for 500 steps of 3600 x 1800 cells, single precision")
    axes.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1000"])
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(ROOT / "docs" / "images" / "peers.png", dpi=150)


if __name__ == "__main__":
    main()
