"""A coarse eddying flow learns from a fine one what its cells cannot hold: a closure, trained online.

    python examples/closure.py                     # some minutes on two cores; everything into outputs/closure
    python examples/closure.py --devices 8         # members of a batch spread over eight devices

The truth is decaying turbulence under rotation with cells of 5 km, filtered to cells of 20 km. A network sees the
velocity gradients in 3 x 3 coarse cells and gives a stress, whose divergence is added to the momentum equations: what
leaves a cell enters its neighbour. It is trained through the run itself: short forecasts from filtered states are
compared with what the truth did, and the gradient goes back through all their steps. Beside it stand no closure and
four of one constant, each with the constant that forecasts the same training data best. Compared are forecasts and
spectra from initial states of other seeds. docs/closures.md has what came of it.
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

LENGTH, COARSE_DT, FRICTION = 640e3, 2160.0, 5e8  # of the domain, m; s; biharmonic viscosity of the truth, m4 s-1
STRAIN, STRESS = 2e-5, 1e-2  # sizes of a velocity gradient, s-1, and of the stress of what is not resolved, m2 s-2
SNAPSHOT = 6 * 3600.0  # time between two states of the truth that are kept, s
SPECTRUM = 2.0  # weight of the spectra beside the forecasts, in what is made small


@dataclass(frozen=True)
class Setup:
    """Sizes of the experiment; those of the docs are the defaults."""

    fine: int = 128
    coarse: int = 32
    training: int = 8  # flows to train with
    held_out: int = 6  # others, to compare forecasts of
    spin_up: int = 16  # snapshots before the first that is used
    snapshots: int = 40  # of each flow
    hidden: int = 16
    stages: tuple = ((2, 80), (8, 80), (16, 20))  # (snapshots of a forecast, updates), one after the other
    batch: int = 8
    seed: int = 0


TINY = Setup(32, 16, 2, 2, 1, 4, 4, ((1, 2), (2, 2)), 2)


def options(cells, dt, **more):
    """Of a flow on so many cells: a layer with a deformation radius of 32 km."""
    grid = {"grid.nx": cells, "grid.ny": cells, "grid.dx": LENGTH / cells, "grid.dy": LENGTH / cells}
    layer = {"physics.gravity": 0.05, "physics.depth": 200.0, "case.wavenumber": 4.0, "physics.biharmonic_viscosity": 0}
    steps = {"time.stepper": "rk3", "time.dt": dt, "run.steps": 1, "run.dtype": "float32", "run.transport": "serial"}
    return grid | layer | steps | more


def truth(setup: Setup, seed: int) -> np.ndarray:
    """Thickness and velocity of a fine run, filtered to the coarse cells: [snapshots, 3, coarse, coarse]."""
    factor = setup.fine // setup.coarse
    more = {"case.seed": seed, "physics.biharmonic_viscosity": FRICTION}
    model, kept = swmodel.Simulation("turbulence", options(setup.fine, COARSE_DT / factor, **more)), []
    for number in range(setup.spin_up + setup.snapshots):
        model.advance(until=number * SNAPSHOT)
        if number >= setup.spin_up:
            kept.append(filtered(model.state, factor))
    return np.stack(kept)


def filtered(state, factor: int) -> np.ndarray:
    """h averaged over coarse cells, u and v over their east and north faces: the volume is that of the fine ones."""
    h, u, v = state[:3]

    def rows(field):
        return field.reshape(-1, factor, field.shape[1]).mean(1)

    def columns(field):
        return rows(field.T).T

    last = slice(factor - 1, None, factor)
    return np.stack([columns(rows(h)), rows(u)[:, last], columns(v)[last]])


def gradients(state, grid):
    """d_x u - d_y v, d_x v + d_y u and vorticity at centres, in units of STRAIN."""
    u, v = state.u, state.v
    stretching = op.dx_c(u) * grid.rdx.centre - op.dy_c(v) * grid.rdy.centre
    along_x, along_y = op.dx_f(v) * grid.rdx.corner, op.dy_f(u) * grid.rdy.corner
    shearing, vorticity = (op.mx_c(op.my_c(part)) for part in (along_x + along_y, along_x - along_y))
    return [part * (1 / STRAIN) for part in (stretching, shearing, vorticity)]


def divergence_of_stress(a, b, state, grid):
    """Of h ((a, b), (b, -a)), a and b at centres, m2 s-2, over the thickness at faces: momentum is conserved."""
    a, b = state.h * a, op.mx_f(op.my_f(state.h * b))
    return {
        "u": (op.dx_f(a) * grid.rdx.u + op.dy_c(b) * grid.rdy.u) / state.h_u,
        "v": (op.dx_c(b) * grid.rdx.v - op.dy_f(a) * grid.rdy.v) / state.h_v,
    }


def harmonic(state, grid, t, size):
    """div(nu grad u), nu = size dx² STRAIN."""
    nu = size * (grid.dx.centre**2 * STRAIN)
    return {"u": op.diffusion_u(state.u, nu, grid), "v": op.diffusion_v(state.v, nu, grid)}


def biharmonic(state, grid, t, size):
    """- L(nu4 L(u)), nu4 = size dx⁴ STRAIN."""
    nu4 = size * (grid.dx.centre**4 * STRAIN)
    return {
        "u": -op.diffusion_u(nu4 * op.diffusion_u(state.u, 1.0, grid), 1.0, grid),
        "v": -op.diffusion_v(nu4 * op.diffusion_v(state.v, 1.0, grid), 1.0, grid),
    }


def smagorinsky(state, grid, t, size):
    """div(nu grad u), nu = size dx² |D|, with D the rate of strain (Smagorinsky 1963)."""
    stretching, shearing, _ = gradients(state, grid)
    nu = size * (grid.dx.centre**2 * STRAIN) * np.sqrt(stretching**2 + shearing**2 + 1e-12)
    return {"u": op.diffusion_u(state.u, nu, grid), "v": op.diffusion_v(state.v, nu, grid)}


def leith(state, grid, t, size):
    """div(nu grad u), nu = size dx³ |grad zeta| (Leith 1996)."""
    zeta = op.curl(state.u, state.v, grid)
    slopes = op.mx_c(op.dx_f(op.my_c(op.mx_c(zeta)))), op.my_c(op.dy_f(op.my_c(op.mx_c(zeta))))
    nu = size * grid.dx.centre**2 * np.sqrt(slopes[0] ** 2 + slopes[1] ** 2 + (1e-6 * STRAIN) ** 2)
    return {"u": op.diffusion_u(state.u, nu, grid), "v": op.diffusion_v(state.v, nu, grid)}


def learned(state, grid, t, parameters):
    """The stress that a network makes of the gradients in 3 x 3 cells, beside biharmonic friction of a learned size."""
    a, b = op.cell_by_cell(parameters["net"], gradients(state, grid), 1)
    stress = divergence_of_stress(a * STRESS, b * STRESS, state, grid)
    friction = biharmonic(state, grid, t, parameters["biharmonic"])
    return {name: stress[name] + friction[name] for name in stress}


#: Closures of one constant, and the sizes that are tried.
CONSTANTS = {
    harmonic: np.geomspace(1e-4, 0.3, 12),
    biharmonic: np.geomspace(1e-4, 0.1, 12),
    smagorinsky: np.geomspace(1e-3, 0.3, 12),
    leith: np.geomspace(1e-3, 3, 12),
}


def first_network(setup: Setup, friction: float) -> dict:
    """Parameters of `learned` that are the best biharmonic friction alone: the last layer gives zero."""
    net = eqx.nn.MLP(27, 2, setup.hidden, 1, jax.nn.gelu, use_final_bias=False, key=jax.random.key(setup.seed))
    net = eqx.tree_at(lambda net: net.layers[-1].weight, net, replace_fn=jnp.zeros_like)
    return {"net": net, "biharmonic": jnp.float32(friction)}


class Forecast:
    """Forecasts on coarse cells with a closure.

    Args:
        closure: function of a term with parameters.
        parameters: of the form that it has.
    """

    def __init__(self, setup: Setup, closure, parameters):
        self.name, terms = closure.__name__, [swmodel.Parametric(closure, parameters)]
        self.carry, self.static, self.step = swmodel.functional(
            "turbulence", options(setup.coarse, COARSE_DT, **{"run.executor": "xla"}), terms=terms
        )

    def __call__(self, parameters, states, snapshots: int):
        """What states [members, 3, y, x] become: [snapshots, members, 3, y, x]."""
        static = self.step.with_values(self.static, **{self.name: parameters})
        steps = jnp.arange(round(SNAPSHOT / COARSE_DT))

        @jax.checkpoint
        def to_next(carry, _):
            carry, _ = jax.lax.scan(lambda carry, t: (self.step(carry, static, t), None), carry, steps)
            return carry, jnp.stack(carry.state)

        def of_member(state):
            start = self.carry._replace(state=self.carry.state._make(state))
            return jax.lax.scan(to_next, start, None, length=snapshots)[1]

        return jax.vmap(of_member, out_axes=1)(states)


def error(found, true):
    """Mean square of the velocity's error over that of the velocity, for each snapshot."""
    difference = jnp.mean((found - true)[:, :, 1:] ** 2, axis=(1, 2, 3, 4))
    return difference / jnp.mean(true[:, :, 1:] ** 2, axis=(1, 2, 3, 4))


def spectrum(states):
    """Kinetic energy by wavelengths in the domain, m2 s-2, of [snapshots, members, 3, y, x]: [snapshots, rings]."""
    cells = states.shape[-1]
    k = np.fft.fftfreq(cells, 1 / cells)
    rings = np.rint(np.hypot(k[:, None], k)) == np.arange(1, cells // 2)[:, None, None]
    waves = jnp.fft.fft2(states[:, :, 1:], norm="forward")
    energy = 0.5 * (waves.real**2 + waves.imag**2).sum(2).mean(1)
    return jnp.einsum("tyx,ryx->tr", energy, rings.astype(energy.dtype))


def score(found, true):
    """What closures are to make small: the error of forecasts, and that of their spectra in decades squared."""
    decades = jnp.log10(spectrum(found)) - jnp.log10(spectrum(true))
    return jnp.mean(error(found, true)) + SPECTRUM * jnp.mean(decades**2)


def train(setup: Setup, flows, forecast: Forecast, parameters, devices: int, tell):
    """Parameters that forecast the flows [flows, snapshots, 3, y, x] better; members of a batch lie on all devices."""
    mesh = jax.make_mesh((devices,), ("members",), axis_types=(AxisType.Auto,))
    whole = NamedSharding(mesh, PartitionSpec())
    members = NamedSharding(mesh, PartitionSpec("members")), NamedSharding(mesh, PartitionSpec(None, "members"))
    updates = sum(count for _, count in setup.stages)
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(optax.cosine_decay_schedule(5e-3, updates)))

    @eqx.filter_jit(donate="all")
    def update(parameters, memory, states, true):
        parameters, memory = eqx.filter_shard((parameters, memory), whole)

        def loss(parameters):
            return score(forecast(parameters, states, len(true)), true)

        value, slope = eqx.filter_value_and_grad(loss)(parameters)
        changes, memory = optimiser.update(slope, memory, eqx.filter(parameters, eqx.is_inexact_array))
        return eqx.filter_shard((eqx.apply_updates(parameters, changes), memory), whole), value

    draw, losses = np.random.default_rng(setup.seed), []
    memory = optimiser.init(eqx.filter(parameters, eqx.is_inexact_array))
    parameters, memory = eqx.filter_shard((parameters, memory), whole)
    for length, count in setup.stages:
        for _ in range(count):
            which = draw.integers(len(flows), size=setup.batch)
            first = draw.integers(flows.shape[1] - length, size=setup.batch)
            true = np.stack([flows[which, first + ahead] for ahead in range(length + 1)])
            batch = jax.device_put(true[0], members[0]), jax.device_put(true[1:], members[1])
            (parameters, memory), value = update(parameters, memory, *batch)
            losses.append(float(value))
            if len(losses) % 20 == 0:
                tell(f"update {len(losses)} of {updates}: loss {np.mean(losses[-20:]):.5f}")
    return parameters, losses


def best_constant(forecast: Forecast, sizes, flows):
    """The size with which the flows are forecast best over two days, and its score."""
    run = eqx.filter_jit(lambda size: forecast(size, flows[:, 0], true.shape[0]))
    true = jnp.asarray(np.moveaxis(flows[:, 1 : 1 + min(8, flows.shape[1] - 1)], 0, 1))
    scores = [float(score(run(jnp.float32(size)), true)) for size in sizes]
    best = int(np.nanargmin(scores))
    return sizes[best], scores[best]


def compare(forecasts: dict, flows) -> dict:
    """What forecasts from the first snapshots are: {name: (states, relative errors, spectra)}, one a snapshot."""
    true, found = np.moveaxis(flows[:, 1:], 0, 1), {}
    for name, (forecast, parameters) in forecasts.items():
        states = np.asarray(eqx.filter_jit(forecast)(parameters, flows[:, 0], len(true)))
        found[name] = states, np.sqrt(error(states, true)), np.asarray(spectrum(states))
    return {"truth": (true, np.zeros(len(true)), np.asarray(spectrum(true)))} | found


def rows_of(found: dict, sizes: dict) -> list[str]:
    """The table: errors of the velocity; in decades, of spectra; energy at the end over that of the truth."""
    days = SNAPSHOT / 86400
    at = [min(len(found["truth"][1]), round(day / days)) for day in (1, 2, 4)]
    rows = [
        "| closure | its constant | error after 1 day | 2 days | 4 days | of the spectrum then | at the end | energy |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    true = found["truth"]
    for name, (states, errors, spectra) in list(found.items())[1:]:
        wrong = np.sqrt(np.mean(np.log10(spectra / true[2]) ** 2, axis=1))
        energy = np.mean(states[-1][:, 1:] ** 2) / np.mean(true[0][-1][:, 1:] ** 2)
        numbers = [f"{errors[number - 1]:.3f}" for number in at]
        size = f"{sizes[name]:.3g}" if name in sizes else ""
        numbers += [f"{wrong[at[-1] - 1]:.3f}", f"{wrong[-1]:.3f}", f"{energy:.3f}"]
        rows.append(f"| {name} | {size} | {' | '.join(numbers)} |")
    return rows


def draw(path: Path, found: dict, best: str, losses) -> None:
    """The picture: spectra, errors and vorticity of truth, no closure, the best constant, and what was learned."""
    import cmocean
    import matplotlib.pyplot as plt

    shown = ["truth", "none", best, "learned"]
    days = SNAPSHOT / 86400
    after = min(round(4 / days), len(found["truth"][1])) - 1
    figure, axes = plt.subplots(2, 4, figsize=(13, 6.4), layout="constrained")
    for name, colour in zip(shown, ("k", "tab:blue", "tab:orange", "tab:red"), strict=True):
        states, errors, spectra = found[name]
        axes[0, 0].loglog(1 + np.arange(spectra.shape[1]), spectra[after], color=colour, label=name)
        if name != "truth":
            axes[0, 1].plot(np.arange(len(errors) + 1) * days, [0, *errors], color=colour, label=name)
    for name, style in zip([name for name in found if name not in shown], (":", "--", "-."), strict=False):
        of_rings = found[name][2][after]
        axes[0, 0].loglog(1 + np.arange(len(of_rings)), of_rings, style, color="tab:grey", lw=1, label=name)
    axes[0, 0].set(xlabel="wavelengths in the domain", ylabel="kinetic energy (m² s⁻²)", title="spectra after 4 days")
    axes[0, 1].set(xlabel="days", ylabel="error of the velocity / velocity", title="forecasts")
    axes[0, 2].semilogy(losses, color="tab:red")
    axes[0, 2].set(xlabel="update", ylabel="loss", title="training")
    for name in (name for name in found if name != "truth"):
        axes[0, 3].barh(name, found[name][1][after], color="tab:red" if name == "learned" else "tab:grey")
    axes[0, 3].set(xlabel="error after 4 days", title="all closures")
    axes[0, 0].legend(frameon=False, fontsize="small")
    axes[0, 1].legend(frameon=False)
    moment = min(15, len(found["truth"][0]) - 1)
    for panel, name in zip(axes[1], shown, strict=True):
        _, u, v = found[name][0][moment][0]
        spacing = LENGTH / len(u)
        zeta = (np.roll(v, -1, 1) - v - np.roll(u, -1, 0) + u) / spacing * 1e5
        picture = panel.imshow(zeta, origin="lower", cmap=cmocean.cm.balance, vmin=-6, vmax=6, extent=[0, 640, 0, 640])
        panel.set(title=name, xlabel="x (km)")
    axes[1, 0].set_ylabel("y (km)")
    figure.colorbar(picture, ax=axes[1], label=f"vorticity, day {(moment + 1) * days:g} (10⁻⁵ s⁻¹)")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(setup: Setup, devices: int, folder: Path, tell=print) -> dict:
    """The experiment: {name of a closure: see `compare`}; its files into the folder."""
    begin = time.perf_counter()

    def told(words):
        tell(f"{time.perf_counter() - begin:5.0f} s  {words}")

    folder.mkdir(parents=True, exist_ok=True)
    flows = np.stack([truth(setup, 1 + seed) for seed in range(setup.training)])
    held_out = np.stack([truth(setup, 1001 + seed) for seed in range(setup.held_out)])
    told(f"{len(flows)} flows to train with and {len(held_out)} held out, filtered to {setup.coarse} x {setup.coarse}")
    forecasts, sizes, scores = {}, {}, {}
    for closure, tried in CONSTANTS.items():
        name, forecast = closure.__name__, Forecast(setup, closure, jnp.float32(0))
        sizes[name], scores[name] = best_constant(forecast, tried, flows)
        forecasts[name] = forecast, jnp.float32(sizes[name])
        told(f"{name}: best with {sizes[name]:.3g}, score {scores[name]:.4f}")
    best = min(scores, key=scores.get)
    first = first_network(setup, sizes["biharmonic"])
    forecast = Forecast(setup, learned, first)
    parameters, losses = train(setup, flows, forecast, first, devices, told)
    eqx.tree_serialise_leaves(folder / "learned.eqx", parameters)
    none = {"none": (forecasts["harmonic"][0], jnp.float32(0))}
    found = compare(none | forecasts | {"learned": (forecast, parameters)}, held_out)
    np.savez(folder / "forecasts.npz", losses=losses, **{name: part[0] for name, part in found.items()})
    (folder / "table.md").write_text("\n".join(rows_of(found, sizes)) + "\n")
    draw(folder / "closure.png", found, best, losses)
    told(f"done: {folder}/table.md, closure.png, forecasts.npz, learned.eqx")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, default=1, help="that members of a batch are spread over")
    parser.add_argument("--output", type=Path, default=Path("outputs/closure"))
    parser.add_argument("--tiny", action="store_true", help="a few updates of a few cells, to see that it works")
    given = parser.parse_args()
    jax.config.update("jax_num_cpu_devices", given.devices)
    main(TINY if given.tiny else Setup(), given.devices, given.output)
    sys.stdout.write((given.output / "table.md").read_text())
