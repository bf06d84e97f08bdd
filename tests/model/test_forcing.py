"""Varying weather: calls and restarts give the bits of one undisturbed run; members and pure steps agree with it."""

import gc
import re
import signal
import threading
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray
from support.command import invoke_swmodel
from support.field_cases import case_with_fields
from support.netcdf import write_netcdf
from support.random_case import configuration, random_fields, random_weather
from support.stepping import assert_close, has_same_bits

import swmodel
from swmodel.errors import FilesError
from swmodel.model.ensemble.members import Members
from swmodel.model.ensemble.settings import check_ensemble, wind_factors
from swmodel.model.varying_params import VaryingParams
from swmodel.setup.fields import varying
from swmodel.setup.fields.netcdf_input import InputError

pytestmark = pytest.mark.slow

NY, NX, STEPS = 7, 11, 9


def make_config(**options):
    """A run with weather records every 33 s and steps of 20 s."""
    return configuration(NY, NX, has_weather=True, run__steps=STEPS, **{"run__executor": "native"} | options)


@pytest.fixture(scope="module")
def undisturbed_state():
    model = swmodel.Simulation(make_config())
    model.advance(STEPS)
    return model.state


@pytest.mark.fault("a case from Python whose wind varies is resumed without its class")
@pytest.mark.promise("varying weather does not depend on calls or restarts")
def test_any_division_into_calls_and_restarts_has_same_bits(tmp_path, undisturbed_state):
    model = swmodel.Simulation(make_config())
    for steps in (1, 3, 0, 2, 3):
        if model.step == 6:
            model.write_restart(tmp_path / "restart.nc")
        model.advance(steps)
    assert has_same_bits(model.state, undisturbed_state)
    restarted_model = swmodel.Simulation.from_restart(tmp_path / "restart.nc", case=type(model.config.case))
    restarted_model.advance(STEPS - 6)
    assert has_same_bits(restarted_model.state, undisturbed_state)
    with pytest.raises(FilesError, match="wind_x .*case=CLASS"):
        swmodel.Simulation.from_restart(tmp_path / "restart.nc")


@pytest.mark.fault("`output.nc` has zero for a wind that varies")
def test_records_contain_weather_of_their_steps(tmp_path):
    """A record contains the weather at the end of the last step; varying fields are written only if requested."""
    names, records = ("wind_x", "air_pressure"), random_weather(NY, NX)
    options = {"output__every_steps": 2, "run__executor": "reference"}
    for folder, fields in (("with", ("eta", *names)), ("without", ("eta",))):
        swmodel.Simulation(make_config(**options, output__fields=fields)).run(tmp_path / folder)
    with xarray.open_dataset(tmp_path / "with" / "output.nc") as output:
        wet = output.mask.values > 0
        for number, step in enumerate(output.step.values):
            before = int(max(step - 1, 0) * 20.0 / 33.0)
            fraction = min(1.0, step * 20.0 / 33.0 - before)
            for name in names:
                first, second = (records[name][(before + offset) % 3] for offset in (0, 1))
                expected = np.where(wet, first + fraction * (second - first), np.nan)
                np.testing.assert_allclose(output[name][number], expected, rtol=1e-12, atol=1e-12, err_msg=name)
    with xarray.open_dataset(tmp_path / "without" / "output.nc") as output:
        assert not {*names} & {*output.data_vars}


def test_changed_function_acts_after_renew_forcing():
    """The sea is flat and does not rotate. Until the forcing is renewed, the present record stays in effect."""
    flat = {"case.speed": 0.0, "physics.f0": 0.0, "grid.nx": 6, "grid.ny": 5, "time.dt": 60.0, "time.stepper": "rk3"}
    options = flat | {"run.dtype": "float64", "run.executor": "reference", "forcing.every": 86400.0}
    stress = [0.1]
    model = swmodel.Simulation("inertial", options, fields={"wind_x": lambda at, t: stress[0] + 0 * at.x})
    gain = 0.1 * 60.0 / (model.config.physics.density * model.config.physics.depth)
    for value, is_renewed, total in ((0.1, False, 1), (-0.2, False, 2), (-0.2, True, 0), (0.0, False, -2)):
        stress[0] = value
        if is_renewed:
            model.renew_forcing()
        model.advance(1)
        np.testing.assert_allclose(model.state.u, total * gain, atol=1e-16)


def test_member_equals_run_with_wind_times_its_factor(undisturbed_state):
    config = check_ensemble(make_config(ensemble__members=3, ensemble__wind=0.3))
    members, factor = Members(config), wind_factors(config)[2]
    members.take_steps(4)
    members.take_steps(STEPS - 4)
    assert has_same_bits([field[0] for field in members.state], undisturbed_state)
    assert not has_same_bits([field[1] for field in members.state], undisturbed_state)
    winds = [members.evaluate(member, ["eta", "wind_x"])[0]["wind_x"] for member in (0, 2)]
    np.testing.assert_allclose(winds[1], factor * winds[0], rtol=1e-12)
    records = random_weather(NY, NX)
    scaled = random_fields(NY, NX) | records | {name: factor * records[name] for name in ("wind_x", "wind_y")}
    alone = swmodel.Simulation(make_config().model_copy(update={"case": case_with_fields(scaled, "Random")}))
    alone.advance(STEPS)
    assert_close([field[2] for field in members.state], alone.state, 1e-12)


def test_pure_step_takes_weather_of_its_time(undisturbed_state):
    carry, static, step = swmodel.functional(make_config())
    scan = jax.jit(lambda carry, static, t: jax.lax.scan(lambda c, n: (step(c, static, n), None), carry, t)[0])
    t = 0
    while t < STEPS:
        static, until = step.at(static, t)
        t, first = min(until, STEPS), t
        carry = scan(carry, static, jnp.arange(first, t))
    assert_close(carry.state, undisturbed_state, 1e-12)


def block_and_forcing(**options):
    model = swmodel.Simulation(make_config(run__executor="reference", **options))
    return model.block, VaryingParams(model.setup, model.transport)


@pytest.mark.fault("a record is read twice, or on the main thread without need")
def test_each_record_is_read_once_and_in_advance(monkeypatch):
    """It is read again if a wider halo is needed than before; past records are discarded."""
    reads, read_record = [], varying.read_record

    def read_and_note(config, name, number, *window):
        reads.append((name, number, threading.current_thread().name))
        return read_record(config, name, number, *window)

    monkeypatch.setattr(varying, "read_record", read_and_note)
    block, forcing = block_and_forcing()
    reads.clear()
    for step in (0, 2, 4):
        forcing.load(step)
        forcing.params_of_block(block, halo=9)
    winds = [number for name, number, _ in reads if name == "wind_x"]
    assert winds == [0, 1, 0, 1, 2, 3]
    params = forcing.load(2)
    assert [number for name, number, _ in reads if name == "wind_x"][len(winds) :] == [1]
    _, forcing = block_and_forcing()
    forcing.load(0)
    reads.clear()
    for _ in range(2):
        with forcing.prefetch():
            pass
    assert {(number, thread) for _, number, thread in reads} == {(2, "records")}
    n_reads = len(reads)
    for name, values in forcing.load(2).items():
        np.testing.assert_array_equal(params[name], values)
    assert len(reads) == n_reads


@pytest.mark.fault("a NetCDF file that Python closes crashes the thread that reads the weather")
@pytest.mark.night
def test_no_garbage_is_collected_while_thread_reads():
    """Garbage may include an open NetCDF file of the user; closing it would crash the thread."""
    _, forcing = block_and_forcing()
    forcing.load(0)
    cycle = [threading.Event()]
    cycle.append(cycle)
    reference = weakref.ref(cycle[0])
    with forcing.prefetch():
        del cycle
        list(map(list, [()] * 10**6))  # enough objects to trigger a garbage collection
        assert reference()
    gc.collect()
    assert not reference()


@pytest.mark.fault("a record cannot be read ahead")
def test_unreadable_record_is_an_error_at_its_step(monkeypatch):
    _, forcing = block_and_forcing()
    params, change_step = forcing.load(0), forcing.valid_until

    def raise_error(*_):
        raise InputError("the disk is missing")

    with monkeypatch.context() as patch:
        patch.setattr(varying, "read_record", raise_error)
        with forcing.prefetch():
            pass
        for _ in range(2):
            with pytest.raises(InputError, match="the disk is missing"):
                forcing.load(change_step)
            assert forcing.is_valid_at(change_step - 1)
            assert not forcing.is_valid_at(change_step)
    np.testing.assert_array_equal(forcing.load(change_step)["wind_x_before"], params["wind_x_after"])


@pytest.mark.fault("Ctrl-C while a thread hangs in a file")
def test_interrupt_does_not_wait_for_hanging_thread(monkeypatch):
    _, forcing = block_and_forcing()
    forcing.load(0)
    has_started, may_continue = threading.Event(), threading.Event()

    def hang(config, name, number, rows, columns, source):
        has_started.set()
        assert may_continue.wait(60)
        return np.zeros((len(rows), len(columns)))

    def interrupt():
        has_started.wait(60)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    monkeypatch.setattr(varying, "read_record", hang)
    interrupter = threading.Thread(target=interrupt)
    old_handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore SIGINT in background jobs
    interrupter.start()
    try:
        with pytest.raises(KeyboardInterrupt), forcing.prefetch():
            pass
    finally:
        signal.signal(signal.SIGINT, old_handler)
        may_continue.set()
        interrupter.join()


def write_wind_file(path, values, start="2020-02-28"):
    time = "time", np.arange(len(values), dtype="f8"), {"units": f"hours since {start}"}
    wind = "time y x", values, {"standard_name": "eastward_wind", "units": "m s-1"}
    return write_netcdf(path, {"time": time, "wind": wind})


def windy_config(path, steps):
    options = {"grid.nx": NX, "grid.ny": NY, "grid.dx": 1e5, "grid.dy": 1e5, "run.steps": steps, "time.dt": 300.0}
    options |= {"input.u10": f"{path}:wind", "time.start": "2020-02-28", "run.executor": "reference"}
    return swmodel.load("rest", options, environ={})


#: Hourly records of wind.
WINDS = 5 * np.random.default_rng(6).standard_normal((7, NY, NX))


@pytest.mark.fault("a run continues with other weather in a file of the same name")
def test_run_refuses_other_weather_and_takes_more_records(tmp_path):
    """Neither the command nor Python continues the run; a script may branch into another folder."""
    path, folder = tmp_path / "wind.nc", tmp_path / "run"
    write_wind_file(path, WINDS)
    swmodel.Simulation(windy_config(path, 41)).run(folder)  # uses the records up to 04:00
    new_values = np.concatenate([WINDS[:4], 2 * WINDS[4:]])
    files = (new_values, "2020-02-28", "2020-02-28T04:00:00"), (WINDS, "2020-02-27T23:30", "dates")
    for values, start, words in files:
        pattern = f"input.u10: .*{words}"
        write_wind_file(path, values, start)
        result = invoke_swmodel("resume", folder, "--steps", "60")
        assert (result.exit_code, bool(re.search(pattern, result.output))) == (2, True), result.output
        branch = swmodel.Simulation.resume(folder, {"run.steps": 42})
        with pytest.raises(swmodel.ConfigError, match=pattern):
            branch.run(folder)
        branch.run(folder.with_name("branch"), force=True)
    write_wind_file(path, np.concatenate([WINDS, WINDS]))
    assert invoke_swmodel("resume", folder, "--steps", "80").exit_code == 0
    swmodel.Simulation(windy_config(path, 80)).run(tmp_path / "whole")
    with xarray.open_dataset(folder / "output.nc") as ours, xarray.open_dataset(tmp_path / "whole/output.nc") as theirs:
        np.testing.assert_array_equal(ours.u[-1], theirs.u[-1])
