"""Draw docs/images/peers.png, the times of the published benchmark and those of swmodel.

The published times are from benchmarks/published.toml, those of swmodel from benchmarks/results/xeon-2-cores/table.
"""

import json
import tomllib
from pathlib import Path
from statistics import median

import matplotlib as mpl

mpl.use("agg")
import matplotlib.pyplot as plt  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
#: The names of executors and platforms in the picture.
WORDS = {
    "reference": "NumPy",
    "xla": "JAX",
    "native": "generated C++",
    "numpy": "NumPy",
    "cpu": "JAX, {n} cores",
}
WORDS["gpu"] = "JAX, {n} Tesla P100"


def published() -> dict[str, float]:
    """{label: seconds for 500 steps} of the published rows."""
    table = tomllib.loads((ROOT / "benchmarks" / "published.toml").read_text(encoding="utf-8"))["row"]
    rows = [row for row in table if row["platform"] != "cpu" or row["processes"] in (1, 16)]
    return {
        WORDS[row["platform"]].format(n=row["processes"]).replace("1 cores", "1 core"): row["seconds"] for row in rows
    }


def ours() -> dict[str, float]:
    """{label: seconds for 500 steps} of this model on two cores, from the rows of one process with two threads."""
    path = ROOT / "benchmarks" / "results" / "xeon-2-cores" / "table" / "results.json"
    rows = [row for row in json.loads(path.read_text(encoding="utf-8"))["rows"] if row["row"]["nproc"] == 1]
    times = {
        row["row"]["executor"]: median(500 / sample["steps"] * sample["seconds"] for sample in row["samples"])
        for row in rows
        if row["row"]["threads"] is None
    }
    return {f"{WORDS[name]}, 2 cores": times[name] for name in ("reference", "xla", "native")}


def main() -> None:
    figure, axes = plt.subplots(figsize=(7.5, 3.2), layout="constrained")
    bars = [(f"published: {name}", seconds, "0.7") for name, seconds in published().items()]
    bars += [(f"swmodel: {name}", seconds, "tab:blue") for name, seconds in ours().items()]
    for place, (_, seconds, colour) in enumerate(bars):
        axes.barh(place, seconds, color=colour)
        axes.text(seconds * 1.1, place, f"{seconds:.3g} s", va="center")
    axes.set_yticks(range(len(bars)), [name for name, _, _ in bars])
    axes.invert_yaxis()
    axes.set(xscale="log", xlim=(1, 3000), xlabel="seconds for 500 steps of 3600 x 1800 cells, single precision")
    axes.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1000"])
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(ROOT / "docs" / "images" / "peers.png", dpi=150)


if __name__ == "__main__":
    main()
