"""The picture and the animation of examples/eddy_laboratory.py."""

from __future__ import annotations

from pathlib import Path

import cmocean
import matplotlib.pyplot as plt
import numpy as np
from imageio_ffmpeg import get_ffmpeg_exe
from matplotlib.animation import FFMpegWriter, FuncAnimation

EXTENT = [0, 1000, 0, 2000]  # western, eastern, southern and northern end of the basin, km


def draw(path: Path, true: dict, results: dict, errors: dict) -> None:
    """Draw eddy energy of the truth and of closures on the coarsest grid, spectra, and errors of all closures.

    `results` and `errors` are those of the members, by number of cells across the basin and name of the closure.
    """
    coarsest = min(cells for cells, _ in results)
    stable = {name: [r for r in results[coarsest, name] if r] for cells, name in results if cells == coarsest}
    stable = {name: members for name, members in stable.items() if members}
    mean_errors = {name: np.mean([m for m in errors[coarsest, name] if m is not None], axis=0) for name in stable}
    order = sorted(stable, key=lambda name: np.mean(mean_errors[name][[0, 2, 3]]))
    drawn_names = ["truth", *order[:3], *(["none"] if "none" in stable else []), order[-1]]
    figure = plt.figure(figsize=(13, 8), layout="constrained")
    above, below = figure.subfigures(2, 1)
    axes, max_energy = above.subplots(1, len(drawn_names), sharey=True), float(np.quantile(true["eddy_energy"], 0.99))
    style = {"origin": "lower", "extent": EXTENT, "cmap": cmocean.cm.amp, "vmin": 0, "vmax": max_energy}
    for panel, name in zip(axes, drawn_names, strict=True):
        field = true if name == "truth" else stable[name][0]
        picture = panel.imshow(field["eddy_energy"], **style)
        panel.contour(field["h"] - 500, np.arange(-200, 201, 25), colors="k", linewidths=0.5, extent=EXTENT)
        panel.set(title=name, xlabel="x (km)")
    axes[0].set_ylabel("y (km)")
    above.colorbar(picture, ax=axes, label="eddy energy (m² s⁻²)")
    spectra, error_axes = below.subplots(1, 2, width_ratios=(1, 1.4))
    spectra.loglog(1 + np.arange(len(true["spectrum"])), true["spectrum"], "k", lw=2, label="truth")
    for name in drawn_names[1:]:
        rings = np.mean([member["spectrum"] for member in stable[name]], axis=0)
        spectra.loglog(1 + np.arange(len(rings)), rings, label=name)
    spectra.set(xlabel="waves in the width of the basin", ylabel="kinetic energy (m² s⁻²)", ylim=(1e-7, None))
    spectra.legend(frameon=False)
    for number, (column, label) in enumerate(((0, "mean"), (2, "map of eddy energy"), (3, "spectrum, decades"))):
        values = [mean_errors[name][column] for name in order]
        error_axes.bar(np.arange(len(order)) + 0.27 * (number - 1), values, 0.25, label=label)
    error_axes.set_xticks(range(len(order)), order, rotation=30, ha="right")
    error_axes.set(title=f"errors with cells of {EXTENT[1] / coarsest:g} km")
    error_axes.legend(frameon=False, ncols=3, loc="upper left")
    error_axes.margins(y=0.2)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def write_animation(path: Path, frames_of: dict) -> None:
    """Write an animation of the vorticity of several seas side by side, every second day."""
    n_frames = min(len(frames) for frames in frames_of.values())
    figure, axes = plt.subplots(1, len(frames_of), figsize=(2.2 * len(frames_of), 4.6), layout="constrained")
    style = {"origin": "lower", "extent": EXTENT, "cmap": cmocean.cm.balance, "vmin": -1.5e-5, "vmax": 1.5e-5}
    pictures = {}
    for panel, (name, frames) in zip(axes, frames_of.items(), strict=True):
        pictures[name] = panel.imshow(frames[0].astype(float), **style)
        panel.set(title=name, xticks=[], yticks=[])

    def show(number):
        for name, picture in pictures.items():
            picture.set_data(frames_of[name][number].astype(float))

    with plt.rc_context({"animation.ffmpeg_path": get_ffmpeg_exe()}):
        writer = FFMpegWriter(fps=12, codec="libx264", extra_args=["-crf", "30", "-pix_fmt", "yuv420p"])
        FuncAnimation(figure, show, n_frames).save(path, writer, dpi=70)
    plt.close(figure)
