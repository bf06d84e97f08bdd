"""A script writes the same files on one process and on several; if processes act differently, all raise an error."""

import re

import jax
import jax.numpy as jnp
import netCDF4
import numpy as np
import pytest
import xarray as xr
from support.restarts import assert_same_data, assert_same_run
from support.stormy_sea import make_config
from support.unchecked_config import resolve_without_checks

import swmodel
from swmodel import operators
from swmodel.errors import exit_code

pytestmark = pytest.mark.mpi

NY, NX = 11, 23
SIZES = {"grid.nx": NX, "grid.ny": NY, "grid.dx": 1e4, "grid.dy": 1e4, "grid.periodic_x": False, "time.dt": 20.0}
OPTIONS = SIZES | {"run.executor": "native", "run.steps": 9, "restart.every_steps": 4, "output.every_steps": 3}
X, Y = (np.arange(NX) + 0.5) * 1e4, (np.arange(NY) + 0.5) * 1e4
DEPTH = xr.DataArray(100 + np.cos(X / 4e4) * np.sin(Y / 3e4)[:, None], {"y": Y, "x": X}, ("y", "x"))[::-1]
WIND = 0.1 * np.random.default_rng(4).standard_normal((NY, NX))


def bump(at):
    return 0.1 * np.exp(-((at.x - 9e4) ** 2 + (at.y - 5e4) ** 2) / 1e9)


def drag(state, grid, t, roughness):
    return {"u": -operators.mx_f(roughness) * state.speed_u() * state.u * np.cos(t / 500)}


def simulation(**replacements):
    """A model with a user term and fields of every kind, some of which `replacements` replace."""
    fields = {"depth": DEPTH, "wind_x": WIND, "eta": bump, "roughness": 1e-3} | replacements
    return swmodel.Simulation(swmodel.Case, OPTIONS, fields=fields, terms=[drag])


def change_state(model):
    """A callback that halves the velocity along x, and the sea level on this process's block."""
    model.state = model.state._replace(u=(0.5 * model.state.u).astype("float32"))
    model.set(eta=swmodel.local(0.5 * model.field("eta")))


def message_and_exit_code(function) -> tuple[str, int]:
    """Call a function on this rank; returns the message of its exception, and its exit code."""
    try:
        function()
    except Exception as error:
        return str(error), exit_code(error)
    return "no error", 0


def failing_function(model):
    if model.transport.rank == 1 and model.step == 4:
        raise ValueError("only on this rank")


def user_run(folder):
    """Run with fields from a function, a local array and a DataArray from north to south, a term, and callbacks."""
    block = simulation().block
    block_slices = slice(block.y.start, block.y.stop), slice(block.x.start, block.x.stop)
    model = simulation(wind_x=swmodel.local(WIND[block_slices]))
    model.every("3 steps", change_state)
    model.run(folder / "run")
    model_that_fails = simulation()
    model_that_fails.every("2 steps", failing_function)
    outcome = message_and_exit_code(lambda: model_that_fails.run(folder / "stopped"))
    resumed_model = swmodel.Simulation.resume(folder / "stopped", terms=[drag])
    resumed_model.every("2 steps", failing_function)
    resumed_model.run(folder / "stopped")
    return model.dataset("eta").eta.shape, block.shape, outcome


def user_run_on_one_process(folder):
    model = simulation()
    model.every("3 steps", change_state)
    model.run(folder / "run")
    simulation().run(folder / "stopped")


@pytest.mark.promise("fields and terms from Python equal those of the model")
@pytest.mark.fault("a function of `every` raises, on one process or on all")
@pytest.mark.night
def test_script_on_ranks_leaves_files_of_one_process(ranks, tmp_path):
    """One of the runs is resumed after a callback has failed on one rank, which stops all ranks."""
    (shape, block_shape, (message, code)), (_, _, on_rank_1) = ranks(2, user_run, tmp_path)
    assert shape == block_shape == (11, 12)
    ranks(1, user_run_on_one_process, tmp_path / "one")
    for name in ("run", "stopped"):
        assert_same_run(tmp_path / name, tmp_path / "one" / name, 9)
    assert on_rank_1 == (message, code) == (message, 75)
    pattern = r"test_user_fields.py:\d+: failing_function, .*ValueError: only on this rank.* \(on rank 1\) at step 4"
    assert re.search(pattern, message)


def run_stormy_sea(folder, name, every):
    options = {"run__executor": "native", "output__every_steps": every}
    swmodel.Simulation(make_config("recorded", folder, **options)).run(folder / name)


@pytest.mark.fault("several processes or devices have other series while the weather varies")
@pytest.mark.night
def test_series_on_ranks_do_not_depend_on_forcing_records(ranks, tmp_path):
    """The series equal those of one process that writes each step."""
    ranks(1, run_stormy_sea, tmp_path, "one", 1)
    ranks(2, run_stormy_sea, tmp_path, "two", 7)
    assert_same_data(tmp_path / "two", tmp_path / "one", "stations.nc", "sections.nc", "harmonics.nc")


SMALL = {"grid.nx": NX, "grid.ny": NY, "run.steps": 6, "output.every_steps": 3, "run.executor": "native"}


def continue_runs(folder):
    """Try to overwrite a run; continue it at its end and beyond; advance an unstable run."""
    model = swmodel.Simulation(swmodel.load("jet", SMALL, environ={}))
    model.run(folder, lambda event: None)
    overwriting = message_and_exit_code(lambda: model.run(folder))
    swmodel.Simulation.from_restart(folder).run(folder)
    config = swmodel.load("jet", SMALL | {"run.steps": 9}, environ={})
    swmodel.Simulation(config, restart=folder / "restart/step-0000000006.nc").run(folder)
    config = swmodel.load("jet", SMALL | {"time.dt": 4000.0, "run.nproc": 2}, environ={})
    return overwriting, message_and_exit_code(lambda: swmodel.Simulation(resolve_without_checks(config)).advance(60))


@pytest.mark.promise("a blow-up stops the run, or the ensemble, and keeps the last good state")
@pytest.mark.fault("a run from Python into a folder that has files or is in use")
def test_ranks_continue_run_but_do_not_overwrite_it(ranks, tmp_path):
    on_rank_0, on_rank_1 = ranks(2, continue_runs, tmp_path / "plain")
    (overwrite_message, overwrite_code), (blow_up_message, blow_up_code) = on_rank_0
    assert on_rank_0 == on_rank_1
    assert (overwrite_code, blow_up_code) == (2, 4)
    assert "plain holds a run" in overwrite_message
    assert "step 60" in blow_up_message
    with netCDF4.Dataset(tmp_path / "plain" / "output.nc") as file:
        assert file["step"][...].tolist() == [0, 3, 6, 9]
    assert not (tmp_path / "plain" / "run.lock").exists()


def loss_and_gradient(layout_options=(), depth=0.0, viscosity=0.0):
    """A loss, and its derivatives with respect to initial thickness, depth, viscosity and an amplitude.

    The loss and the numbers are the same on all processes; fields are this process's part. `depth` and `viscosity` are
    added to those of the run.
    """
    options = SIZES | {"run.dtype": "float64", "time.stepper": "ab2", "physics.viscosity": 500.0}
    fields = {"eta": bump, "depth": DEPTH}
    carry, static, step = swmodel.functional(swmodel.Case, options | dict(layout_options), fields=fields)
    transport, block = step.transport, step.transport.block
    block_depth = (DEPTH.values[::-1] + depth)[block.y.start : block.y.stop, block.x.start : block.x.stop]
    values = {"depth": transport.put(block_depth), "viscosity": static.params["viscosity"] + viscosity}
    values["amplitude"] = jnp.ones_like(values["viscosity"])

    def loss(carry, static, values):
        amplitude = step.shared(values["amplitude"])
        static = step.with_values(static, depth=amplitude * values["depth"], viscosity=values["viscosity"])
        carry, _ = jax.lax.scan(lambda carry, t: (step(carry, static, t), None), carry, jnp.arange(3))
        h, u, v = carry.state
        return step.total(h * (u**2 + v**2)) ** 2

    if step.mesh is not None:
        specs = step.specs((carry, static, values))
        loss = jax.shard_map(loss, mesh=step.mesh, in_specs=specs, out_specs=jax.sharding.PartitionSpec())
    value, (d_carry, d_values) = jax.jit(jax.value_and_grad(loss, argnums=(0, 2)))(carry, static, values)
    numbers = d_values["viscosity"], d_values["amplitude"]
    return float(value), transport.get(d_carry.state.h), transport.get(d_values["depth"]), *map(float, numbers)


def second_derivative():
    """The second derivative of a loss with respect to a number, by reverse over reverse mode, and the loss, at 1."""
    carry, _, step = swmodel.functional("double_gyre", {"grid.nx": 8, "grid.ny": 8, "run.dtype": "float64"})

    def loss(number):
        return step.total((step.shared(number) * carry.state.h) ** 2) ** 2

    return float(jax.grad(jax.grad(loss))(jnp.float64(1.0))), float(loss(jnp.float64(1.0)))


@pytest.mark.promise("the derivative of a loss by the pure step is that of one process")
def test_gradient_of_pure_step_is_that_of_one_process(ranks):
    """Each process has its part of the derivative with respect to a field, and all of that with respect to a number."""
    (alone,) = ranks(1, loss_and_gradient)
    direction = 1e-5 * np.random.default_rng(3).standard_normal(alone[2].shape)
    slopes = np.vdot(direction, alone[2]), 100.0 * alone[3]
    up, down = (ranks(1, loss_and_gradient, (), sign * direction, sign * 100.0)[0][0] for sign in (1, -1))
    np.testing.assert_allclose((up - down) / 2, sum(slopes), rtol=1e-4)
    assert min(np.abs(slopes)) > 0.1 * max(np.abs(slopes))
    on_ranks = ranks(2, loss_and_gradient, {"run.layout": "1x2"})
    on_devices = ranks(1, loss_and_gradient, {"run.devices": 4, "run.layout": "2x2"})
    for results, columns in (on_ranks, 2), (on_devices, 1):
        for number, expected in enumerate(alone):
            parts = [part[number] for part in results]
            rows = [np.hstack(parts[n : n + columns]) for n in range(0, len(parts), columns)]
            whole = np.vstack(rows) if np.ndim(expected) else np.array(parts)
            np.testing.assert_allclose(whole, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    for curvature, value in ranks(2, second_derivative):
        assert curvature == pytest.approx(12.0 * value, rel=1e-12)


def advance_with_functions(*functions):
    """Advance a model that calls one function on rank 0 and another on rank 1; None: no function."""
    model = simulation()
    if function := functions[model.transport.rank]:
        model.every("2 steps", function)
    model.advance(4)


def register_on_rank_0(model):
    if model.transport.rank == 0:
        model.every("5 steps", change_state)


def simulation_with_options_by_rank(rank):
    swmodel.Simulation("rest", {"grid.nx": 20, "grid.ny": 10, "time.dt": 1.0 + rank})


def simulation_with_local_field_by_rank(rank):
    block = simulation().block
    simulation(eta=swmodel.local(np.zeros(block.shape)) if rank else 0.0)


#: {name: (function of the rank that differs between ranks, patterns of the error on each rank)}
DIFFERENCES_BETWEEN_RANKS = {
    "formula": (lambda rank: simulation(eta=lambda at: 0.01 * rank + 0 * at.x), ["eta .*rank 1"] * 2),
    "options": (simulation_with_options_by_rank, [r"time\.dt .*rank 1"] * 2),
    "shape": (lambda rank: simulation(eta=np.zeros((3, 3)) if rank else 0.0), [r"rank 1: .*eta.*\(11, 23\)", "eta"]),
    "exception": (lambda rank: simulation(eta=lambda at: [0.0][rank]), ["rank 1: .*eta: Inde", "eta: IndexError"]),
    "local": (lambda rank: simulation(eta=swmodel.local(np.zeros((3, 3)))), [r"eta .*\(11, 12\)", r"eta .*\(11, 11\)"]),
    "local on one rank": (simulation_with_local_field_by_rank, ["eta .*local"] * 2),
    "set": (lambda rank: simulation().set(eta=0.01 * rank), ["eta .*ranks 0 and 1"] * 2),
    "function on rank 0": (lambda rank: advance_with_functions(change_state, None), ["but on rank 1 nothing"] * 2),
    "function added on rank 0": (lambda rank: advance_with_functions(*[register_on_rank_0] * 2), ["change_state"] * 2),
}


def message_for_difference(name):
    from mpi4py import MPI

    return message_and_exit_code(lambda: DIFFERENCES_BETWEEN_RANKS[name][0](MPI.COMM_WORLD.rank))


@pytest.mark.fault("fields or options that differ between processes")
@pytest.mark.fault("functions of `every` differ between processes, or one waits for the other processes")
@pytest.mark.parametrize("name", DIFFERENCES_BETWEEN_RANKS)
def test_ranks_refuse_differences_between_them(ranks, name):
    messages, (_, patterns) = ranks(2, message_for_difference, name), DIFFERENCES_BETWEEN_RANKS[name]
    for (words, code), expected in zip(messages, patterns, strict=True):
        assert code in (2, 3), words
        assert re.search(expected, words), words
