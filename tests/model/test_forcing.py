"""Varying weather: several calls, restarts, members and pure steps have the same bits as one undisturbed run."""

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
    """Records every 33 s, steps of 20 s."""
    return configuration(NY, NX, in_time=True, run__steps=STEPS, **{"run__executor": "native"} | options)


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
    again = swmodel.Simulation.from_restart(tmp_path / "restart.nc", case=type(model.config.case))
    again.advance(STEPS - 6)
    assert has_same_bits(again.state, undisturbed_state)
    with pytest.raises(FilesError, match="wind_x .*case=CLASS"):
        swmodel.Simulation.from_restart(tmp_path / "restart.nc")


@pytest.mark.fault("`output.nc` has zero for a wind that varies")
def test_output_has_weather_of_its_step(tmp_path):
    """A record has the weather at the end of the last step; varying fields are written only if requested."""
    names, records = ("wind_x", "air_pressure"), random_weather(NY, NX)
    options = {"output__every_steps": 2, "run__executor": "reference"}
    for folder, asked in (("with", ("eta", *names)), ("without", ("eta",))):
        swmodel.Simulation(make_config(**options, output__fields=asked)).run(tmp_path / folder)
    with xarray.open_dataset(tmp_path / "with" / "output.nc") as found:
        wet = found.mask.values > 0
        for number, step in enumerate(found.step.values):
            before = int(max(step - 1, 0) * 20.0 / 33.0)
            part = min(1.0, step * 20.0 / 33.0 - before)
            for name in names:
                first, second = (records[name][(before + more) % 3] for more in (0, 1))
                expected = np.where(wet, first + part * (second - first), np.nan)
                np.testing.assert_allclose(found[name][number], expected, rtol=1e-12, atol=1e-12, err_msg=name)
    with xarray.open_dataset(tmp_path / "without" / "output.nc") as found:
        assert not {*names} & {*found.data_vars}


def test_changed_function_acts_after_renew_forcing():
    """On a flat sea without rotation; until the forcing is renewed, the present record acts on."""
    flat = {"case.speed": 0.0, "physics.f0": 0.0, "grid.nx": 6, "grid.ny": 5, "time.dt": 60.0, "time.stepper": "rk3"}
    options = flat | {"run.dtype": "float64", "run.executor": "reference", "forcing.every": 86400.0}
    stress = [0.1]
    model = swmodel.Simulation("inertial", options, fields={"wind_x": lambda at, t: stress[0] + 0 * at.x})
    gain = 0.1 * 60.0 / (model.config.physics.density * model.config.physics.depth)
    for value, renewed, total in ((0.1, False, 1), (-0.2, False, 2), (-0.2, True, 0), (0.0, False, -2)):
        stress[0] = value
        if renewed:
            model.renew_forcing()
        model.advance(1)
        np.testing.assert_allclose(model.state.u, total * gain, atol=1e-16)


def test_member_is_run_with_its_wind_times_factor(undisturbed_state):
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
    read, record = [], varying.read_record

    def noted(config, name, number, *window):
        read.append((name, number, threading.current_thread().name))
        return record(config, name, number, *window)

    monkeypatch.setattr(varying, "read_record", noted)
    block, forcing = block_and_forcing()
    read.clear()
    for step in (0, 2, 4):
        forcing.load(step)
        forcing.params_of_block(block, halo=9)
    winds = [number for name, number, _ in read if name == "wind_x"]
    assert winds == [0, 1, 0, 1, 2, 3]
    taken = forcing.load(2)
    assert [number for name, number, _ in read if name == "wind_x"][len(winds) :] == [1]
    _, other = block_and_forcing()
    other.load(0)
    read.clear()
    for _ in range(2):
        with other.prefetch():
            pass
    assert {(number, thread) for _, number, thread in read} == {(2, "records")}
    before = len(read)
    for name, values in other.load(2).items():
        np.testing.assert_array_equal(taken[name], values)
    assert len(read) == before


@pytest.mark.fault("a NetCDF file that Python closes crashes the thread that reads the weather")
@pytest.mark.night
def test_no_garbage_is_collected_while_thread_reads():
    """Garbage may include an open NetCDF file of the user; closing it would crash the thread."""
    _, forcing = block_and_forcing()
    forcing.load(0)
    circle = [threading.Event()]
    circle.append(circle)
    alive = weakref.ref(circle[0])
    with forcing.prefetch():
        del circle
        list(map(list, [()] * 10**6))  # enough objects to trigger a garbage collection
        assert alive()
    gc.collect()
    assert not alive()


@pytest.mark.fault("a record cannot be read ahead")
def test_unreadable_record_is_an_error_at_its_step(monkeypatch):
    _, forcing = block_and_forcing()
    taken, last = forcing.load(0), forcing.valid_until

    def fails(*_):
        raise InputError("the disk has gone")

    with monkeypatch.context() as patched:
        patched.setattr(varying, "read_record", fails)
        with forcing.prefetch():
            pass
        for _ in range(2):
            with pytest.raises(InputError, match="the disk has gone"):
                forcing.load(last)
            assert forcing.is_valid_at(last - 1)
            assert not forcing.is_valid_at(last)
    np.testing.assert_array_equal(forcing.load(last)["wind_x_before"], taken["wind_x_after"])


@pytest.mark.fault("Ctrl-C while a thread hangs in a file")
def test_interrupt_does_not_wait_for_hanging_thread(monkeypatch):
    _, forcing = block_and_forcing()
    forcing.load(0)
    began, go_on = threading.Event(), threading.Event()

    def hangs(config, name, number, rows, columns, of):
        began.set()
        assert go_on.wait(60)
        return np.zeros((len(rows), len(columns)))

    def interrupt():
        began.wait(60)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    monkeypatch.setattr(varying, "read_record", hangs)
    other = threading.Thread(target=interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore SIGINT in background jobs
    other.start()
    try:
        with pytest.raises(KeyboardInterrupt), forcing.prefetch():
            pass
    finally:
        signal.signal(signal.SIGINT, before)
        go_on.set()
        other.join()


def write_wind_file(path, values, start="2020-02-28"):
    time = {"units": f"hours since {start}"}
    wind = {"standard_name": "eastward_wind", "units": "m s-1"}
    hours = np.arange(len(values), dtype="f8")
    return write_netcdf(path, {"time": ("time", hours, time), "wind": ("time y x", values, wind)})


def windy_config(path, steps):
    options = {"grid.nx": NX, "grid.ny": NY, "grid.dx": 1e5, "grid.dy": 1e5, "run.steps": steps, "time.dt": 300.0}
    options |= {"input.u10": f"{path}:wind", "time.start": "2020-02-28", "run.executor": "reference"}
    return swmodel.load("rest", options, environ={})


HOURS = 7
WINDS = 5 * np.random.default_rng(6).standard_normal((HOURS, NY, NX))


@pytest.mark.fault("a run continues with other weather in a file of the same name")
def test_run_refuses_other_weather_and_takes_more_records(tmp_path):
    """Neither the command nor Python continues it; a script may branch into another folder."""
    path, folder = tmp_path / "wind.nc", tmp_path / "run"
    write_wind_file(path, WINDS)
    swmodel.Simulation(windy_config(path, 41)).run(folder)  # uses the records up to 04:00
    doubled = np.where(np.arange(HOURS)[:, None, None] >= 4, 2 * WINDS, WINDS)
    for values, start, words in ((doubled, "2020-02-28", "2020-02-28T04:00:00"), (WINDS, "2020-02-27T23:30", "dates")):
        words = f"input.u10: .*{words}"
        write_wind_file(path, values, start)
        done = invoke_swmodel("resume", folder, "--steps", "60")
        assert (done.exit_code, bool(re.search(words, done.output))) == (2, True), done.output
        branch = swmodel.Simulation.resume(folder, {"run.steps": 42})
        with pytest.raises(swmodel.ConfigError, match=words):
            branch.run(folder)
        branch.run(folder.with_name("branch"), force=True)
    write_wind_file(path, np.concatenate([WINDS, WINDS]))
    assert invoke_swmodel("resume", folder, "--steps", "80").exit_code == 0
    swmodel.Simulation(windy_config(path, 80)).run(tmp_path / "whole")
    with xarray.open_dataset(folder / "output.nc") as ours, xarray.open_dataset(tmp_path / "whole/output.nc") as theirs:
        np.testing.assert_array_equal(ours.u[-1], theirs.u[-1])
