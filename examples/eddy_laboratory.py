"""Compare the closures in a double gyre: which one gives a coarse grid the sea of a fine grid?

    python examples/eddy_laboratory.py             # takes some hours on one core; writes into outputs/eddy_laboratory
    python examples/eddy_laboratory.py --nproc 2   # trains the network on two ranks
    python examples/eddy_laboratory.py --tiny      # takes some seconds, as a test

The truth has cells of 3.1 km. Coarse seas have cells of 25, 12.5 and 6.25 km, with the wind and the drag of the truth.
Each closure runs from five initial states with cells of 25 and of 12.5 km (`learned` only with 25 km), and a few run
from two with 6.25 km.
The mean interface, the energy of eddies and the spectrum of kinetic energy, averaged over the years after the spin-up,
are compared with those of the truth. `learned` is the network of examples/closure.py. It is trained here, through runs
of the coarse sea on several ranks, towards daily states of the truth. This needs the packages of `swmodel[learn]`.
docs/eddies.md has the results.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from closure import TrainingSetup, filter_to_coarse, initial_network, learned

import swmodel
from swmodel.gradients import Problem
from swmodel.model.launch import find_mpiexec

BASIN = (1000e3, 2000e3)  # m
DAY = 86400.0
BETA = 2e-11  # gradient of the Coriolis parameter in the case, m-1 s-1
START_TIME = time.perf_counter()


def log(message: str) -> None:
    print(f"{time.perf_counter() - START_TIME:5.0f} s  {message}", flush=True)


@dataclass(frozen=True)
class LaboratorySetup:
    """Sizes of the experiment; the defaults are those of the documentation. Cells are counted across the basin."""

    coarse_cells: tuple[int, ...] = (40, 80, 160)
    fine_cells: int = 320
    spin_up: float = 3.0  # years
    years: float = 3.0  # years after the spin-up, over which states are averaged
    sample_days: float = 5.0  # days between averaged states
    members: tuple[int, ...] = (5, 5, 2)  # number of runs of a closure on each coarse grid
    animation_days: float = 180.0  # last days, which the animation shows
    n_updates: int = 120  # updates of the training


TINY = LaboratorySetup((10, 20), 40, 0.02, 0.05, 1.0, (2, 1), 10.0, 2)


def run_options(cells: int, **overrides) -> dict:
    """Options of a basin with `cells` cells across."""
    spacing = BASIN[0] / cells
    size = {"grid.nx": cells, "grid.ny": 2 * cells, "grid.dx": spacing, "grid.dy": spacing}
    return size | {"scheme.vorticity_flux": "energy", "run.dtype": "float32"} | overrides


def refine(fields, factor: int) -> list[np.ndarray]:
    """h, u, v on cells that are `factor` times smaller, with zero velocity on the walls."""
    h, u, v = (np.repeat(np.repeat(field, factor, 0), factor, 1) for field in fields)
    u[:, -1], v[-1] = 0, 0
    return [h, u, v]


def velocity_at_centres(fields) -> tuple[np.ndarray, np.ndarray]:
    """u and v at centres; the western and southern faces of the basin are walls."""
    _, u, v = fields
    return (u + np.roll(u, 1, 1)) / 2, (v + np.roll(v, 1, 0)) / 2


def spectrum(fields) -> np.ndarray:
    """Kinetic energy by number of waves in the width of the basin, m2 s-2, with a Hann window: [waves]."""
    ny, nx = fields[0].shape
    window = np.hanning(ny)[:, None] * np.hanning(nx)
    k = np.hypot(np.fft.fftfreq(ny, 1 / ny)[:, None] / 2, np.fft.fftfreq(nx, 1 / nx))
    waves = [np.abs(np.fft.fft2(part * window, norm="forward")) ** 2 for part in velocity_at_centres(fields)]
    energy = 0.5 * (waves[0] + waves[1]) / np.mean(window**2)
    ring = np.rint(k).astype(int)
    return np.bincount(ring.ravel(), energy.ravel())[1 : nx // 2]


class RunningAverages:
    """Averages over states: the thickness and the energy of eddies on the coarsest cells, and the spectrum."""

    def __init__(self, coarsest: int):
        self.coarsest, self.count, self.sums = coarsest, 0, None

    def add(self, fields) -> None:
        h = fields[0]
        u, v = velocity_at_centres(fields)
        parts = [np.asarray(part, np.float64) for part in (h, u, v, 0.5 * (u**2 + v**2), spectrum(fields))]
        self.sums = parts if self.sums is None else [a + b for a, b in zip(self.sums, parts, strict=True)]
        self.count += 1

    def averages(self) -> dict[str, np.ndarray]:
        h, u, v, energy, rings = (total / self.count for total in self.sums)

        def on_coarsest(field):
            n = field.shape[1] // self.coarsest
            return field.reshape(field.shape[0] // n, n, -1, n).mean((1, 3))

        eddy_energy = energy - 0.5 * (u**2 + v**2)
        return {"h": on_coarsest(h), "eddy_energy": on_coarsest(eddy_energy), "spectrum": rings}


def make_truth(cells: int, fields: dict | None = None):
    """A sea with biharmonic viscosity that starts at rest, or from fields."""
    friction = {"physics.biharmonic_viscosity": 0.05 * (BASIN[0] / cells) ** 3}
    return swmodel.Simulation("eddy_laboratory", run_options(cells, **friction), fields=fields)


def run_truth(setup: LaboratorySetup, folder: Path) -> Path:
    """The file of the truth, made if it is missing: statistics, daily states on coarse cells, vorticity at the end."""
    path = folder / "truth.npz"
    if path.exists():
        return path
    coarse = make_truth(setup.fine_cells // 2)
    coarse.advance(days=setup.spin_up * 365)
    log(f"spun up with {setup.fine_cells // 2} cells across")
    h, u, v = refine(fields_of(coarse), 2)
    model = make_truth(setup.fine_cells, {"eta": h - 500.0, "u": u, "v": v})
    model.advance(days=setup.spin_up * 365 / 6)
    daily = {cells: [] for cells in setup.coarse_cells[:-1]}

    def store_daily_state(day, fields):
        for cells, states in daily.items():
            states.append(filter_to_coarse(fields, setup.fine_cells // cells).astype(np.float32))
        if day % 73 == 0:
            log(f"truth: day {day}")

    averages = average_run(setup, model, store_daily_state)
    np.savez(path, **averages, **{f"daily_{cells}": np.stack(states) for cells, states in daily.items()})
    return path


def average_run(setup: LaboratorySetup, model, callback=lambda day, fields: None) -> dict:
    """Statistics of the next years, and vorticity every second day at their end, float16 [days, ny, nx].

    `callback` gets the number of each day, and its fields.
    """
    statistics, frames = RunningAverages(setup.coarse_cells[0]), []
    start, days = model.step * model.dt / DAY, round(setup.years * 365)
    for day in range(days + 1):
        model.advance(until=(start + day) * DAY)
        fields = fields_of(model)
        callback(day, fields)
        if day % setup.sample_days == 0:
            statistics.add(fields)
        if day > days - setup.animation_days and day % 2 == 0:
            frames.append(model.field("zeta").astype(np.float16))
    return statistics.averages() | {"frames": np.stack(frames)}


def fields_of(model) -> list[np.ndarray]:
    return [np.array(field) for field in model.state[:3]]


def munk_viscosity(power: int):
    """The viscosity beta dx³, or biharmonic viscosity beta dx⁵, that makes a western boundary current one cell wide."""
    return lambda cells: BETA * (BASIN[0] / cells) ** power


#: The options of each closure; functions give a coefficient for a number of cells across.
BIHARMONIC = {"physics.biharmonic_viscosity": munk_viscosity(5)}
CLOSURES: dict[str, dict] = {
    "none": {},
    "viscosity": {"physics.viscosity": munk_viscosity(3)},
    "biharmonic": BIHARMONIC,
    "smagorinsky": {"physics.smagorinsky": 0.15},
    "biharmonic_smagorinsky": {"physics.biharmonic_smagorinsky": 0.06},
    "leith": {"physics.leith": 1.0},
    "leith_e": {"physics.leith_e": 8.0},
    "zanna_bolton": {"physics.zanna_bolton": 1.0, "physics.biharmonic_smagorinsky": 0.06},
    "backscatter": BIHARMONIC | {"physics.backscatter": 0.2},
    "weno5": {"scheme.vorticity_flux": "weno5"},
    "weno7": {"scheme.vorticity_flux": "weno7"},
}
#: The closures that also run on the finest of the coarse grids.
FINEST_GRID_CLOSURES = ("biharmonic", "weno5")
#: The height of the small initial wave of each member, m.
PERTURBATIONS = (1.0, -1.0, 2.0, -2.0, 0.5)


def make_model(closure: str, cells: int, network, perturbation: float = 1.0):
    """A coarse sea with a closure; `network` has the parameters of `learned`."""
    options = {"run.executor": "xla"} if closure == "learned" else CLOSURES[closure]
    overrides = {key: value(cells) if callable(value) else value for key, value in options.items()}
    overrides["case.perturbation"] = perturbation
    terms = [swmodel.Parametric(learned, network)] if closure == "learned" else []
    return swmodel.Simulation("eddy_laboratory", run_options(cells, **overrides), terms=terms)


def load_or_compute_averages(
    setup: LaboratorySetup, folder: Path, closure: str, cells: int, network, perturbation: float
) -> dict | None:
    """The statistics of a run and the vorticity at its end, from its file if there is one; None if it blew up."""
    path = folder / f"{closure}-{cells}-{perturbation:g}.npz"
    if not path.exists():
        model, averages = make_model(closure, cells, network, perturbation), {}
        with contextlib.suppress(swmodel.errors.NumericalError):
            model.advance(days=setup.spin_up * 365)
            averages = average_run(setup, model)
        np.savez(path, **averages)
    return dict(np.load(path)) or None


def errors_against_truth(averages: dict, true: dict, cells: int) -> np.ndarray:
    """Errors of a run against the truth: mean thickness, eddy energy (as a ratio, and its map), spectrum in decades.

    Errors of maps are rms errors over the standard deviation of the truth. The error of the spectrum is that of waves
    at least four cells long.
    """

    def relative(name):
        return np.sqrt(np.mean((averages[name] - true[name]) ** 2) / np.mean((true[name] - np.mean(true[name])) ** 2))

    rings = slice(0, cells // 4)
    decades = np.log10(averages["spectrum"][rings] / true["spectrum"][rings])
    ratio = averages["eddy_energy"].mean() / true["eddy_energy"].mean()
    return np.array([relative("h"), ratio, relative("eddy_energy"), np.sqrt(np.mean(decades**2))])


def load_or_train_network(folder: Path, nproc: int):
    """The parameters of `learned`, from their file if there is one; else they are trained on `nproc` ranks."""
    path = folder / "learned.eqx"
    if not path.exists():
        subprocess.run([find_mpiexec(), "-n", str(nproc), sys.executable, *sys.argv, "--train"], check=True)
    return eqx.tree_deserialise_leaves(path, initial_network(TrainingSetup(), 0.005))


def train(setup: LaboratorySetup, folder: Path) -> None:
    """Train `learned` through runs of five days from states of the truth, on all ranks; rank 0 writes it."""
    daily = np.load(folder / "truth.npz")[f"daily_{setup.coarse_cells[0]}"]
    days, cells = min(5, len(daily) - 2), setup.coarse_cells[0]
    initial_parameters = initial_network(TrainingSetup(), 0.005)
    overrides = run_options(cells, **{"run.executor": "xla", "run.days": days})
    config = swmodel.load("eddy_laboratory", overrides, terms=[swmodel.Parametric(learned, initial_parameters)])
    per_day = round(DAY / swmodel.Simulation(config).dt)
    problem = Problem(config, ["eta", "u", "v", "learned"], lambda view, k: (view.state.u, view.state.v), every=per_day)
    sum_over_ranks, block = problem.transport.sum, problem.transport.block
    daily = daily[..., block.y.start : block.y.stop, block.x.start : block.x.stop]

    def loss(series, true_u, true_v):
        """The error of the velocity, and of the kinetic energy, relative to the truth."""
        squares = sum_over_ranks(jnp.sum(true_u**2) + jnp.sum(true_v**2))
        squared_error = sum_over_ranks(jnp.sum((series[0][1:] - true_u) ** 2) + jnp.sum((series[1][1:] - true_v) ** 2))
        energy = sum_over_ranks(jnp.sum(series[0][1:] ** 2) + jnp.sum(series[1][1:] ** 2))
        return squared_error / squares + (energy / squares - 1) ** 2

    x, rng, losses = problem.first_guess(), np.random.default_rng(0), []
    learning_rate = optax.cosine_decay_schedule(5e-3, setup.n_updates)
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(learning_rate))
    optimiser_state = optimiser.init(eqx.filter(x["learned"], eqx.is_inexact_array))
    for update in range(setup.n_updates):
        start_day = rng.integers(len(daily) - days)
        h, u, v = daily[start_day]
        x |= problem.transport.put({"eta": h - 500, "u": u, "v": v})
        true = problem.transport.put([daily[start_day + 1 : start_day + days + 1, part] for part in (1, 2)])
        value, gradient = problem.value_and_gradient(x, loss, *true)
        changes, optimiser_state = optimiser.update(gradient["learned"], optimiser_state)
        x["learned"] = eqx.apply_updates(x["learned"], changes)
        losses.append(float(value))
        if update % 20 == 19 and problem.transport.rank == 0:
            log(f"update {update + 1} of {setup.n_updates}: loss {np.mean(losses[-20:]):.4f}")
    if problem.transport.rank == 0:
        eqx.tree_serialise_leaves(folder / "learned.eqx", jax.device_get(x["learned"]))


def relative_costs(cells: int, names, network) -> dict[str, float]:
    """The time of a model day with each closure over that without closure; both runs alternate."""
    model_without_closure = make_model("none", cells, network)

    def seconds(model):
        begin = time.perf_counter()
        model.advance(days=5)
        return time.perf_counter() - begin

    cost_of_closure = {}
    for name in names:
        model = make_model(name, cells, network)
        seconds(model), seconds(model_without_closure)
        cost_of_closure[name] = float(np.median([seconds(model) / seconds(model_without_closure) for _ in range(7)]))
    return cost_of_closure


def table_rows(errors: dict, cost: dict) -> list[str]:
    """Rows of means over members, with half the range between them."""
    lines = [
        "| cells, km | closure | error of the mean | eddy energy | error of its map | spectrum, decades | cost |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for (cells, name), members in errors.items():
        stable, label, words = [member for member in members if member is not None], name, ["blew up"] * 4
        if stable:
            words = [f"{a:.2f} ± {b:.2f}" for a, b in zip(np.mean(stable, 0), np.ptp(stable, 0) / 2, strict=True)]
        if 0 < len(stable) < len(members):
            label = f"{name} ({len(members) - len(stable)} of {len(members)} blew up)"
        lines.append(f"| {BASIN[0] / cells / 1e3:g} | {label} | {' | '.join(words)} | {cost[cells, name]:.2f} |")
    return lines


def main(setup: LaboratorySetup, nproc: int, folder: Path) -> None:
    from laboratory_pictures import draw, write_animation  # imported here because ranks that train do not need it

    folder.mkdir(parents=True, exist_ok=True)
    true = dict(np.load(run_truth(setup, folder)))
    network = load_or_train_network(folder, nproc)
    results, errors, cost = {}, {}, {}
    for cells, members in zip(setup.coarse_cells, setup.members, strict=True):
        names = list(FINEST_GRID_CLOSURES if cells == setup.coarse_cells[-1] else CLOSURES)
        if cells == setup.coarse_cells[0]:
            names.append("learned")
        for name in names:
            results[cells, name] = [
                load_or_compute_averages(setup, folder, name, cells, network, perturbation)
                for perturbation in PERTURBATIONS[:members]
            ]
            errors[cells, name] = [run and errors_against_truth(run, true, cells) for run in results[cells, name]]
            log(f"{cells} cells across: {name}")
        cost |= {(cells, name): value for name, value in relative_costs(cells, names, network).items()}
    lines = table_rows(errors, cost)
    (folder / "table.md").write_text("\n".join(lines) + "\n")
    draw(folder / "eddy_laboratory.png", true, results, errors)
    frames_of = {"truth": true["frames"]}
    for name in ("none", "biharmonic", "weno5", "learned"):
        if first_run := results[setup.coarse_cells[0], name][0]:
            frames_of[name] = first_run["frames"]
    write_animation(folder / "eddy_laboratory.mp4", frames_of)
    log(f"done: {folder}/table.md, eddy_laboratory.png, eddy_laboratory.mp4")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nproc", type=int, default=1, help="number of ranks for the training")
    parser.add_argument("--train", action="store_true", help="only train the network under mpiexec; needs the truth")
    parser.add_argument("--output", type=Path, help="folder of the results; runs in it are reused")
    parser.add_argument("--tiny", action="store_true", help="run a few days on a few cells, as a test")
    args = parser.parse_args()
    folder = args.output or Path("outputs/eddy_laboratory" + "_tiny" * args.tiny)
    setup = TINY if args.tiny else LaboratorySetup()
    if args.train:
        train(setup, folder)
    else:
        main(setup, args.nproc, folder)
        sys.stdout.write((folder / "table.md").read_text())
