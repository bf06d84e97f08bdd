"""A closure trained online: a coarse eddying flow learns from a fine one the effect of motion that it does not resolve.

    python examples/closure.py                     # a few minutes on two cores; writes into outputs/closure
    python examples/closure.py --devices 8         # members of a batch spread over eight devices

The truth is decaying turbulence under rotation with cells of 5 km, filtered to cells of 20 km. A network reads the
velocity gradients in 3 x 3 coarse cells and returns a stress, whose divergence is added to the momentum equations:
momentum that leaves a cell enters its neighbour. It is trained through the run itself: short forecasts from filtered
states are compared with the truth, and the gradient goes back through all their steps. The network is compared with no
closure and with four closures of one constant, each with the constant that forecasts the training data best. Forecasts
and spectra are compared in flows from other seeds. docs/closures.md has the results.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import swmodel
from swmodel import operators as op

DOMAIN_LENGTH, COARSE_DT, FINE_BIHARMONIC_VISCOSITY = 640e3, 2160.0, 5e8  # m; s; of the truth, m4 s-1
STRAIN_SCALE, STRESS_SCALE = 2e-5, 1e-2  # typical velocity gradient, s-1, and unresolved stress, m2 s-2
SNAPSHOT_SECONDS = 6 * 3600.0  # time between two stored states of the truth, s
SPECTRUM_WEIGHT = 2.0  # weight of the spectra in the loss, relative to the forecasts


@dataclass(frozen=True)
class TrainingSetup:
    """Sizes of the experiment; the defaults are those of the documentation."""

    fine_cells: int = 128  # in each direction
    coarse_cells: int = 32
    n_training_flows: int = 8  # flows to train with
    n_test_flows: int = 6  # other flows, in which forecasts are compared
    spin_up: int = 16  # snapshots before the first one that is used
    snapshots: int = 40  # of each flow
    hidden: int = 16
    stages: tuple = ((2, 80), (8, 80), (16, 20))  # (snapshots per forecast, updates) of each stage
    batch: int = 8
    seed: int = 0


TINY = TrainingSetup(32, 16, 2, 2, 1, 4, 4, ((1, 2), (2, 2)), 2)


def run_options(cells, dt, **overrides):
    """Options of a flow on `cells` x `cells` cells: a layer with a deformation radius of 32 km."""
    grid = {"grid.nx": cells, "grid.ny": cells, "grid.dx": DOMAIN_LENGTH / cells, "grid.dy": DOMAIN_LENGTH / cells}
    layer = {"physics.gravity": 0.05, "physics.depth": 200.0, "case.wavenumber": 4.0, "physics.biharmonic_viscosity": 0}
    steps = {"time.stepper": "rk3", "time.dt": dt, "run.steps": 1, "run.dtype": "float32", "run.transport": "serial"}
    return grid | layer | steps | overrides


def filtered_fine_run(setup: TrainingSetup, seed: int) -> np.ndarray:
    """Thickness and velocity of a fine run, filtered to the coarse cells: [snapshots, 3, coarse, coarse]."""
    factor = setup.fine_cells // setup.coarse_cells
    overrides = {"case.seed": seed, "physics.biharmonic_viscosity": FINE_BIHARMONIC_VISCOSITY}
    options = run_options(setup.fine_cells, COARSE_DT / factor, **overrides)
    model, snapshots = swmodel.Simulation("turbulence", options), []
    for number in range(setup.spin_up + setup.snapshots):
        model.advance(until=number * SNAPSHOT_SECONDS)
        if number >= setup.spin_up:
            snapshots.append(filter_to_coarse(model.state, factor))
    return np.stack(snapshots)


def filter_to_coarse(state, factor: int) -> np.ndarray:
    """h averaged over coarse cells, which conserves volume, u and v over their east and north faces."""
    h, u, v = state[:3]

    def rows(field):
        return field.reshape(-1, factor, field.shape[1]).mean(1)

    def columns(field):
        return rows(field.T).T

    last = slice(factor - 1, None, factor)
    return np.stack([columns(rows(h)), rows(u)[:, last], columns(v)[last]])


def velocity_gradients(state, grid):
    """d_x u - d_y v, d_x v + d_y u and vorticity at centres, in units of STRAIN_SCALE."""
    u, v = state.u, state.v
    stretching = op.dx_c(u) * grid.rdx.centre - op.dy_c(v) * grid.rdy.centre
    along_x, along_y = op.dx_f(v) * grid.rdx.corner, op.dy_f(u) * grid.rdy.corner
    shearing, vorticity = (op.mx_c(op.my_c(part)) for part in (along_x + along_y, along_x - along_y))
    return [part * (1 / STRAIN_SCALE) for part in (stretching, shearing, vorticity)]


def divergence_of_stress(a, b, state, grid):
    """Divergence of h ((a, b), (b, -a)), a and b at centres, m2 s-2, divided by h at faces; conserves momentum."""
    a, b = state.h * a, op.mx_f(op.my_f(state.h * b))
    return {
        "u": (op.dx_f(a) * grid.rdx.u + op.dy_c(b) * grid.rdy.u) / state.h_u,
        "v": (op.dx_c(b) * grid.rdx.v - op.dy_f(a) * grid.rdy.v) / state.h_v,
    }


def harmonic(state, grid, t, constant):
    """div(nu grad u), nu = constant dx² STRAIN_SCALE."""
    nu = constant * (grid.dx.centre**2 * STRAIN_SCALE)
    return {"u": op.diffusion_u(state.u, nu, grid), "v": op.diffusion_v(state.v, nu, grid)}


def biharmonic(state, grid, t, constant):
    """- L(nu4 L(u)) with the Laplacian L, nu4 = constant dx⁴ STRAIN_SCALE."""
    nu4 = constant * (grid.dx.centre**4 * STRAIN_SCALE)
    return {
        "u": -op.diffusion_u(nu4 * op.diffusion_u(state.u, 1.0, grid), 1.0, grid),
        "v": -op.diffusion_v(nu4 * op.diffusion_v(state.v, 1.0, grid), 1.0, grid),
    }


def smagorinsky(state, grid, t, constant):
    """div(nu grad u), nu = constant dx² |D|, with D the rate of strain (Smagorinsky 1963)."""
    stretching, shearing, _ = velocity_gradients(state, grid)
    nu = constant * (grid.dx.centre**2 * STRAIN_SCALE) * np.sqrt(stretching**2 + shearing**2 + 1e-12)
    return {"u": op.diffusion_u(state.u, nu, grid), "v": op.diffusion_v(state.v, nu, grid)}


def leith(state, grid, t, constant):
    """div(nu grad u), nu = constant dx³ |grad zeta| (Leith 1996)."""
    zeta = op.curl(state.u, state.v, grid)
    difference_x, difference_y = op.mx_c(op.dx_f(op.my_c(op.mx_c(zeta)))), op.my_c(op.dy_f(op.my_c(op.mx_c(zeta))))
    nu = constant * grid.dx.centre**2 * np.sqrt(difference_x**2 + difference_y**2 + (1e-6 * STRAIN_SCALE) ** 2)
    return {"u": op.diffusion_u(state.u, nu, grid), "v": op.diffusion_v(state.v, nu, grid)}


def learned(state, grid, t, parameters):
    """Divergence of a network's stress from the gradients in 3 x 3 cells, plus friction with a learned coefficient."""
    a, b = op.cell_by_cell(parameters["net"], velocity_gradients(state, grid), 1)
    stress = divergence_of_stress(a * STRESS_SCALE, b * STRESS_SCALE, state, grid)
    friction = biharmonic(state, grid, t, parameters["biharmonic"])
    return {name: stress[name] + friction[name] for name in stress}


#: Closures with one constant, and the values to try.
CONSTANTS_TO_TRY = {
    harmonic: np.geomspace(1e-4, 0.3, 12),
    biharmonic: np.geomspace(1e-4, 0.1, 12),
    smagorinsky: np.geomspace(1e-3, 0.3, 12),
    leith: np.geomspace(1e-3, 3, 12),
}


def initial_network(setup: TrainingSetup, biharmonic_constant: float) -> dict:
    """Parameters of `learned` that give the best biharmonic friction alone, because the last layer is zero."""
    net = eqx.nn.MLP(27, 2, setup.hidden, 1, jax.nn.gelu, use_final_bias=False, key=jax.random.key(setup.seed))
    net = eqx.tree_at(lambda net: net.layers[-1].weight, net, replace_fn=jnp.zeros_like)
    return {"net": net, "biharmonic": jnp.float32(biharmonic_constant)}


class Forecast:
    """Forecasts on coarse cells with a closure.

    Args:
        closure: the function of a `swmodel.Parametric` term.
        parameters: an example that defines their structure.
    """

    def __init__(self, setup: TrainingSetup, closure, parameters):
        self.name, terms = closure.__name__, [swmodel.Parametric(closure, parameters)]
        self.carry, self.static, self.step = swmodel.functional(
            "turbulence", run_options(setup.coarse_cells, COARSE_DT, **{"run.executor": "xla"}), terms=terms
        )

    def __call__(self, parameters, states, snapshots: int):
        """The forecasts from states [members, 3, y, x]: [snapshots, members, 3, y, x]."""
        static = self.step.with_values(self.static, **{self.name: parameters})
        steps = jnp.arange(round(SNAPSHOT_SECONDS / COARSE_DT))

        @jax.checkpoint
        def advance_to_snapshot(carry, _):
            carry, _ = jax.lax.scan(lambda carry, t: (self.step(carry, static, t), None), carry, steps)
            return carry, jnp.stack(carry.state)

        def forecast_member(state):
            start = self.carry._replace(state=self.carry.state._make(state))
            return jax.lax.scan(advance_to_snapshot, start, None, length=snapshots)[1]

        return jax.vmap(forecast_member, out_axes=1)(states)


def relative_squared_error(forecast, true):
    """Mean square error of the velocity over the mean square velocity, for each snapshot."""
    difference = jnp.mean((forecast - true)[:, :, 1:] ** 2, axis=(1, 2, 3, 4))
    return difference / jnp.mean(true[:, :, 1:] ** 2, axis=(1, 2, 3, 4))


def spectrum(states):
    """Kinetic energy by number of waves in the domain, m2 s-2, of [snapshots, members, 3, y, x]: [snapshots, waves]."""
    cells = states.shape[-1]
    k = np.fft.fftfreq(cells, 1 / cells)
    rings = np.rint(np.hypot(k[:, None], k)) == np.arange(1, cells // 2)[:, None, None]
    waves = jnp.fft.fft2(states[:, :, 1:], norm="forward")
    energy = 0.5 * (waves.real**2 + waves.imag**2).sum(2).mean(1)
    return jnp.einsum("tyx,ryx->tr", energy, rings.astype(energy.dtype))


def forecast_loss(forecast, true):
    """The loss: the squared error of forecasts plus the weighted squared error of their spectra in decades."""
    decades = jnp.log10(spectrum(forecast)) - jnp.log10(spectrum(true))
    return jnp.mean(relative_squared_error(forecast, true)) + SPECTRUM_WEIGHT * jnp.mean(decades**2)


def train(setup: TrainingSetup, flows, forecast: Forecast, parameters, devices: int, log):
    """Train parameters to forecast the flows [flows, snapshots, 3, y, x]; each device gets some members of a batch."""
    mesh = jax.make_mesh((devices,), ("members",), axis_types=(AxisType.Auto,))
    replicated = NamedSharding(mesh, PartitionSpec())
    over_members = NamedSharding(mesh, PartitionSpec("members")), NamedSharding(mesh, PartitionSpec(None, "members"))
    updates = sum(count for _, count in setup.stages)
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(optax.cosine_decay_schedule(5e-3, updates)))

    @eqx.filter_jit(donate="all")
    def update(parameters, optimiser_state, states, true):
        parameters, optimiser_state = eqx.filter_shard((parameters, optimiser_state), replicated)

        def loss(parameters):
            return forecast_loss(forecast(parameters, states, len(true)), true)

        value, gradient = eqx.filter_value_and_grad(loss)(parameters)
        changes, optimiser_state = optimiser.update(
            gradient, optimiser_state, eqx.filter(parameters, eqx.is_inexact_array)
        )
        return eqx.filter_shard((eqx.apply_updates(parameters, changes), optimiser_state), replicated), value

    rng, losses = np.random.default_rng(setup.seed), []
    optimiser_state = optimiser.init(eqx.filter(parameters, eqx.is_inexact_array))
    parameters, optimiser_state = eqx.filter_shard((parameters, optimiser_state), replicated)
    for length, count in setup.stages:
        for _ in range(count):
            chosen_flows = rng.integers(len(flows), size=setup.batch)
            first = rng.integers(flows.shape[1] - length, size=setup.batch)
            true = np.stack([flows[chosen_flows, first + ahead] for ahead in range(length + 1)])
            batch = jax.device_put(true[0], over_members[0]), jax.device_put(true[1:], over_members[1])
            (parameters, optimiser_state), value = update(parameters, optimiser_state, *batch)
            losses.append(float(value))
            if len(losses) % 20 == 0:
                log(f"update {len(losses)} of {updates}: loss {np.mean(losses[-20:]):.5f}")
    return parameters, losses


def best_constant(forecast: Forecast, constants, flows):
    """The constant with the least loss in forecasts of the flows over two days, and that loss."""
    run = eqx.filter_jit(lambda constant: forecast(constant, flows[:, 0], true.shape[0]))
    true = jnp.asarray(np.moveaxis(flows[:, 1 : 1 + min(8, flows.shape[1] - 1)], 0, 1))
    losses = [float(forecast_loss(run(jnp.float32(constant)), true)) for constant in constants]
    best = int(np.nanargmin(losses))
    return constants[best], losses[best]


def compare_forecasts(forecasts: dict, flows) -> dict:
    """Forecasts from the first snapshots: {name: (states, relative errors, spectra)}, with one entry per snapshot."""
    true, results = np.moveaxis(flows[:, 1:], 0, 1), {}
    for name, (forecast, parameters) in forecasts.items():
        states = np.asarray(eqx.filter_jit(forecast)(parameters, flows[:, 0], len(true)))
        results[name] = states, np.sqrt(relative_squared_error(states, true)), np.asarray(spectrum(states))
    return {"truth": (true, np.zeros(len(true)), np.asarray(spectrum(true)))} | results


def table_rows(results: dict, constants: dict) -> list[str]:
    """The table: errors of the velocity; errors of spectra, in decades; energy at the end over that of the truth."""
    days = SNAPSHOT_SECONDS / 86400
    snapshot_numbers = [min(len(results["truth"][1]), round(day / days)) for day in (1, 2, 4)]
    rows = [
        "| closure | constant | error after 1 day | 2 days | 4 days | of spectrum after 4 days | at the end | energy |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    true = results["truth"]
    for name, (states, errors, spectra) in list(results.items())[1:]:
        spectrum_errors = np.sqrt(np.mean(np.log10(spectra / true[2]) ** 2, axis=1))
        energy = np.mean(states[-1][:, 1:] ** 2) / np.mean(true[0][-1][:, 1:] ** 2)
        numbers = [f"{errors[number - 1]:.3f}" for number in snapshot_numbers]
        constant = f"{constants[name]:.3g}" if name in constants else ""
        numbers += [f"{spectrum_errors[snapshot_numbers[-1] - 1]:.3f}", f"{spectrum_errors[-1]:.3f}", f"{energy:.3f}"]
        rows.append(f"| {name} | {constant} | {' | '.join(numbers)} |")
    return rows


def draw(path: Path, results: dict, best: str, losses) -> None:
    """Draw spectra, errors and vorticity of the truth, of no closure, of the best constant and of the network."""
    import cmocean
    import matplotlib.pyplot as plt

    drawn_names = ["truth", "none", best, "learned"]
    days = SNAPSHOT_SECONDS / 86400
    snapshot_after_4_days = min(round(4 / days), len(results["truth"][1])) - 1
    figure, axes = plt.subplots(2, 4, figsize=(13, 6.4), layout="constrained")
    for name, colour in zip(drawn_names, ("k", "tab:blue", "tab:orange", "tab:red"), strict=True):
        states, errors, spectra = results[name]
        axes[0, 0].loglog(1 + np.arange(spectra.shape[1]), spectra[snapshot_after_4_days], color=colour, label=name)
        if name != "truth":
            axes[0, 1].plot(np.arange(len(errors) + 1) * days, [0, *errors], color=colour, label=name)
    for name, style in zip([name for name in results if name not in drawn_names], (":", "--", "-."), strict=False):
        spectrum_of_closure = results[name][2][snapshot_after_4_days]
        axes[0, 0].loglog(
            1 + np.arange(len(spectrum_of_closure)), spectrum_of_closure, style, color="tab:grey", lw=1, label=name
        )
    axes[0, 0].set(xlabel="wavelengths in the domain", ylabel="kinetic energy (m² s⁻²)", title="spectra after 4 days")
    axes[0, 1].set(xlabel="days", ylabel="relative error of the velocity", title="forecasts")
    axes[0, 2].semilogy(losses, color="tab:red")
    axes[0, 2].set(xlabel="update", ylabel="loss", title="training")
    for name in (name for name in results if name != "truth"):
        axes[0, 3].barh(
            name, results[name][1][snapshot_after_4_days], color="tab:red" if name == "learned" else "tab:grey"
        )
    axes[0, 3].set(xlabel="error after 4 days", title="all closures")
    axes[0, 0].legend(frameon=False, fontsize="small")
    axes[0, 1].legend(frameon=False)
    snapshot_number = min(15, len(results["truth"][0]) - 1)
    for panel, name in zip(axes[1], drawn_names, strict=True):
        _, u, v = results[name][0][snapshot_number][0]
        spacing = DOMAIN_LENGTH / len(u)
        zeta = (np.roll(v, -1, 1) - v - np.roll(u, -1, 0) + u) / spacing * 1e5
        picture = panel.imshow(zeta, origin="lower", cmap=cmocean.cm.balance, vmin=-6, vmax=6, extent=[0, 640, 0, 640])
        panel.set(title=name, xlabel="x (km)")
    axes[1, 0].set_ylabel("y (km)")
    figure.colorbar(picture, ax=axes[1], label=f"vorticity, day {(snapshot_number + 1) * days:g} (10⁻⁵ s⁻¹)")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(setup: TrainingSetup, devices: int, folder: Path, log=print) -> dict:
    """Run the experiment and write its files into the folder; returns {name of a closure: see `compare_forecasts`}."""
    start_time = time.perf_counter()

    def log_with_time(message):
        log(f"{time.perf_counter() - start_time:5.0f} s  {message}")

    folder.mkdir(parents=True, exist_ok=True)
    flows = np.stack([filtered_fine_run(setup, 1 + seed) for seed in range(setup.n_training_flows)])
    test_flows = np.stack([filtered_fine_run(setup, 1001 + seed) for seed in range(setup.n_test_flows)])
    cells = setup.coarse_cells
    log_with_time(f"{len(flows)} training and {len(test_flows)} test flows on {cells} x {cells} cells")
    forecasts, constants, least_losses = {}, {}, {}
    for closure, constants_to_try in CONSTANTS_TO_TRY.items():
        name, forecast = closure.__name__, Forecast(setup, closure, jnp.float32(0))
        constants[name], least_losses[name] = best_constant(forecast, constants_to_try, flows)
        forecasts[name] = forecast, jnp.float32(constants[name])
        log_with_time(f"{name}: best with {constants[name]:.3g}, loss {least_losses[name]:.4f}")
    best = min(least_losses, key=least_losses.get)
    initial_parameters = initial_network(setup, constants["biharmonic"])
    forecast = Forecast(setup, learned, initial_parameters)
    parameters, losses = train(setup, flows, forecast, initial_parameters, devices, log_with_time)
    eqx.tree_serialise_leaves(folder / "learned.eqx", parameters)
    no_closure = {"none": (forecasts["harmonic"][0], jnp.float32(0))}
    results = compare_forecasts(no_closure | forecasts | {"learned": (forecast, parameters)}, test_flows)
    np.savez(folder / "forecasts.npz", losses=losses, **{name: part[0] for name, part in results.items()})
    (folder / "table.md").write_text("\n".join(table_rows(results, constants)) + "\n")
    draw(folder / "closure.png", results, best, losses)
    log_with_time(f"done: {folder}/table.md, closure.png, forecasts.npz, learned.eqx")
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, default=1, help="number of devices for the members of a batch")
    parser.add_argument("--output", type=Path, default=Path("outputs/closure"), help="folder of the results")
    parser.add_argument("--tiny", action="store_true", help="make a few updates on a few cells, as a test")
    args = parser.parse_args()
    jax.config.update("jax_num_cpu_devices", args.devices)
    main(TINY if args.tiny else TrainingSetup(), args.devices, args.output)
    sys.stdout.write((args.output / "table.md").read_text())
