"""Weather that varies: cuts into calls, restarts, members and pure steps have the bits of one undisturbed run."""

import gc
import re
import signal
import threading
import weakref

import jax
import jax.numpy as jnp
import netCDF4
import numpy as np
import pytest
import xarray
from click.testing import CliRunner
from support.made_cases import case_of
from support.random_case import configuration, random_fields, weather

import swmodel
from swmodel.cli import main
from swmodel.errors import FilesError
from swmodel.model.ensemble.members import Members
from swmodel.model.ensemble.settings import check_ensemble, wind_factors
from swmodel.model.forcing import Forcing
from swmodel.setup.fields.netcdf_input import InputError
from swmodel.setup.fields.noted import checksum_of

pytestmark = pytest.mark.slow

NY, NX, STEPS = 7, 11, 9


def configure(**options):
    """Records each 33 s, steps of 20 s."""
    return configuration(NY, NX, in_time=True, run__steps=STEPS, **{"run__executor": "native"} | options)


def same(ours, theirs):
    return all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.fixture(scope="module")
def undisturbed():
    model = swmodel.Simulation(configure())
    model.advance(STEPS)
    return model.state


@pytest.mark.promise("varying weather does not depend on calls or restarts")
@pytest.mark.slow
def test_any_cut_into_calls_and_any_restart_have_the_same_bits(tmp_path, undisturbed):
    model = swmodel.Simulation(configure())
    for steps in (1, 3, 0, 2, 3):
        if model.step == 6:
            model.write_restart(tmp_path / "restart.nc")
        model.advance(steps)
    assert same(model.state, undisturbed)
    again = swmodel.Simulation.from_restart(tmp_path / "restart.nc", case=type(model.config.case))
    again.advance(STEPS - 6)
    assert same(again.state, undisturbed)


@pytest.mark.fault("`output.nc` has zero for a wind that varies")
def test_a_record_has_the_weather_of_its_step_and_only_where_it_is_asked_for(tmp_path):
    """As the step that led there had it at its end; none that varies is there as a field that does not change."""
    names = "wind_x", "air_pressure", "linear_drag"
    options = {"output__every_steps": 2, "run__executor": "reference"}
    for folder, asked in (("with", ("eta", *names[:2])), ("without", ("eta",))):
        swmodel.Simulation(configure(**options, output__fields=asked)).run(tmp_path / folder)
    records = weather(NY, NX)
    with xarray.open_dataset(tmp_path / "with" / "output.nc") as found:
        wet = found.mask.values > 0
        for number, step in enumerate(found.step.values):
            before = int(max(step - 1, 0) * 20.0 / 33.0)
            part = min(1.0, step * 20.0 / 33.0 - before)
            for name in names[:2]:
                first, second = (records[name][(before + more) % 3] for more in (0, 1))
                expected = np.where(wet, first + part * (second - first), np.nan)
                np.testing.assert_allclose(found[name][number], expected, rtol=1e-12, atol=1e-12, err_msg=name)
        assert found.wind_x.attrs["units"] == "Pa"
        assert found.air_pressure.attrs["standard_name"] == "air_pressure_at_mean_sea_level"
    with xarray.open_dataset(tmp_path / "without" / "output.nc") as found:
        assert {*names} & {*found.data_vars} == {"linear_drag"}


@pytest.mark.parametrize("executor", ["reference", "native"])
def test_a_function_that_has_changed_acts_from_the_step_after_it_is_renewed(executor):
    """On a flat sea that does not turn, without renewal the record of the day still acts."""
    flat = {"case.speed": 0.0, "physics.f0": 0.0, "grid.nx": 6, "grid.ny": 5, "time.dt": 60.0, "time.stepper": "rk3"}
    options = flat | {"run.dtype": "float64", "run.executor": executor, "forcing.every": 86400.0}
    stress = [0.1]
    model = swmodel.Simulation("inertial", options, fields={"wind_x": lambda at, t: stress[0] + 0 * at.x})
    gain = 0.1 * 60.0 / (model.config.physics.density * model.config.physics.depth)
    for value, renewed, total in ((0.1, False, 1), (-0.2, False, 2), (-0.2, True, 0), (0.0, False, -2)):
        stress[0] = value
        if renewed:
            model.renew_forcing()
        model.advance(1)
        np.testing.assert_allclose(model.state.u, total * gain, atol=1e-16)


@pytest.mark.fault("a case from Python whose wind varies is resumed without its class")
def test_without_its_class_a_case_in_python_whose_wind_varies_does_not_go_on(tmp_path):
    model = swmodel.Simulation(configure(run__executor="reference"))
    model.write_restart(tmp_path / "restart.nc")
    with pytest.raises(FilesError, match=r"wind_x varies in time and comes from Python; .*case=CLASS"):
        swmodel.Simulation.from_restart(tmp_path / "restart.nc")


@pytest.mark.slow
def test_a_member_is_the_run_with_its_wind_times_a_factor(undisturbed):
    """Number 0 is the run itself."""
    records, winds, plain = weather(NY, NX), ("wind_x", "wind_y"), configure()
    config = check_ensemble(configure(ensemble__members=3, ensemble__wind=0.3))
    members = Members(config)
    members.take_steps(4)
    members.take_steps(STEPS - 4)
    assert same([field[0] for field in members.state], undisturbed)
    winds_now = [members.evaluate(member, ["eta", "wind_x"])[0]["wind_x"] for member in (0, 2)]
    np.testing.assert_allclose(winds_now[1], wind_factors(config)[2] * winds_now[0], rtol=1e-12)
    scaled = records | {name: wind_factors(config)[2] * records[name] for name in winds}
    alone = swmodel.Simulation(plain.model_copy(update={"case": case_of(random_fields(NY, NX) | scaled, "Random")}))
    alone.advance(STEPS)
    for ours, theirs in zip(members.state, alone.state, strict=True):
        np.testing.assert_allclose(ours[2], theirs, rtol=0, atol=1e-12 * np.abs(theirs).max())
    assert not same([field[1] for field in members.state], undisturbed)


@pytest.mark.slow
def test_a_pure_step_takes_what_holds_at_its_time(undisturbed):
    carry, static, step = swmodel.functional(configure())
    scan = jax.jit(lambda carry, static, t: jax.lax.scan(lambda c, n: (step(c, static, n), None), carry, t)[0])
    t = 0
    while t < STEPS:
        static, until = step.at(static, t)
        last = min(until, STEPS)
        carry = scan(carry, static, jnp.arange(t, last))
        t = last
    for ours, theirs in zip(carry.state, undisturbed, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12 * np.abs(theirs).max())


@pytest.fixture
def read(monkeypatch):
    """The (name, number) of each record that is read from here on, with the name of the thread that reads it."""
    from swmodel.setup.fields import varying

    found, record = [], varying.record

    def noted(config, name, number, *window):
        found.append((name, number, threading.current_thread().name))
        return record(config, name, number, *window)

    monkeypatch.setattr(varying, "record", noted)
    return found


def forcing_of(**options):
    model = swmodel.Simulation(configure(run__executor="reference", **options))
    return model.block, Forcing(model.setup, model.transport)


@pytest.mark.fault("a record is read twice, or on the main thread without need")
def test_each_record_is_read_once(read):
    """And once more where more cells around a block are asked for than before; those of the past go."""
    block, forcing = forcing_of()
    read.clear()
    for step in (0, 2, 4):
        forcing.take(step)
        forcing.of(block, margin=9)
    winds = [number for name, number, _ in read if name == "wind_x"]
    assert winds == [0, 1, 0, 1, 2, 3]
    forcing.take(2)
    assert [number for name, number, _ in read if name == "wind_x"][len(winds) :] == [1]


@pytest.mark.fault("a record is read twice, or on the main thread without need")
def test_what_comes_next_is_read_by_a_thread_while_steps_are_computed(read):
    _, forcing = forcing_of()
    forcing.take(0)
    read.clear()
    for _ in range(2):
        with forcing.ahead():
            pass
    assert {(number, thread) for _, number, thread in read} == {(2, "records")}
    before = len(read)
    taken = forcing.take(2)
    assert len(read) == before
    _, other = forcing_of()
    for name, values in other.take(2).items():
        np.testing.assert_array_equal(taken[name], values)


@pytest.mark.fault("a NetCDF file that Python closes crashes the thread that reads the weather")
@pytest.mark.night
def test_no_garbage_is_collected_while_a_thread_reads():
    """It may hold an open NetCDF file of the user's, whose closing would crash the thread."""
    _, forcing = forcing_of()
    forcing.take(0)
    circle = [threading.Event()]
    circle.append(circle)
    alive = weakref.ref(circle[0])
    with forcing.ahead():
        del circle
        list(map(list, [()] * 10**6))  # so many objects that Python collects garbage
        assert alive()
    gc.collect()
    assert not alive()


@pytest.mark.fault("a record cannot be read ahead")
def test_what_cannot_be_read_ahead_is_said_when_its_step_is_there(monkeypatch):
    from swmodel.setup.fields import varying

    _, forcing = forcing_of()
    taken, last = forcing.take(0), forcing.last

    def fails(*_):
        raise InputError("the disk has gone")

    with monkeypatch.context() as patched:
        patched.setattr(varying, "record", fails)
        with forcing.ahead():
            pass
        for _ in range(2):
            with pytest.raises(InputError, match="the disk has gone"):
                forcing.take(last)
            assert forcing.holds(last - 1)
            assert not forcing.holds(last)
    np.testing.assert_array_equal(forcing.take(last)["wind_x_before"], taken["wind_x_after"])


@pytest.mark.fault("Ctrl-C while a thread hangs in a file")
def test_an_interrupt_does_not_wait_for_a_thread_that_hangs(monkeypatch):
    from swmodel.setup.fields import varying

    _, forcing = forcing_of()
    forcing.take(0)
    began, go_on = threading.Event(), threading.Event()

    def hangs(config, name, number, rows, columns, of):
        began.set()
        assert go_on.wait(60)
        return np.zeros((len(rows), len(columns)))

    def interrupt():
        began.wait(60)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    monkeypatch.setattr(varying, "record", hangs)
    other = threading.Thread(target=interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background of a shell
    other.start()
    try:
        with pytest.raises(KeyboardInterrupt), forcing.ahead():
            pass
    finally:
        signal.signal(signal.SIGINT, before)
        go_on.set()
        other.join()


DATE = {"time.start": "2020-02-28", "time.dt": 300.0, "grid.nx": NX, "grid.ny": NY, "grid.dx": 1e5, "grid.dy": 1e5}
HOURS = 7


def written(path, values, start="2020-02-28"):
    """A file with hourly records of the wind at 10 m."""
    with netCDF4.Dataset(path, "w") as dataset:
        for dimension, size in (("time", None), ("y", NY), ("x", NX)):
            dataset.createDimension(dimension, size)
        dataset.createVariable("time", "f8", ("time",))[:] = np.arange(len(values))
        dataset["time"].units = f"hours since {start}"
        wind = dataset.createVariable("wind", "f8", ("time", "y", "x"))
        wind.setncatts({"standard_name": "eastward_wind", "units": "m s-1"})
        wind[:] = values
    return path


def windy(path, **options):
    given = {name.replace("__", "."): value for name, value in options.items()}
    return swmodel.load("rest", DATE | {"input.u10": f"{path}:wind", "run.executor": "reference"} | given, {})


WINDS = 5 * np.random.default_rng(6).standard_normal((HOURS, NY, NX))


@pytest.fixture
def stopped(tmp_path):
    """The file of weather, and the folder of a run that has used the records up to 04:00."""
    path = written(tmp_path / "wind.nc", WINDS)
    swmodel.Simulation(windy(path, run__steps=41)).run(tmp_path / "run")
    return path, tmp_path / "run"


def doubled_from(number):
    return np.where(np.arange(HOURS)[:, None, None] >= number, 2 * WINDS, WINDS)


@pytest.mark.fault("a run continues with other weather in a file of the same name")
@pytest.mark.parametrize(
    ("values", "start", "words"),
    [
        (2 * WINDS, "2020-02-28", r"input.u10: .* the record of 2020-02-28T03:00:00 has other values"),
        (doubled_from(4), "2020-02-28", r"input.u10: .* the record of 2020-02-28T04:00:00 has other values"),
        (WINDS, "2020-02-27T23:30", r"input.u10: .* other dates"),
    ],
)
def test_a_run_does_not_go_on_with_other_weather_of_the_same_name(stopped, values, start, words):
    """Neither by the command nor from Python; into another folder a script may take a branch."""
    path, folder = stopped
    written(path, values, start)
    done = CliRunner().invoke(main, ["resume", str(folder), "--steps", "60"])
    assert done.exit_code == 2
    assert re.search(words, done.output), done.output
    branch = swmodel.Simulation.resume(folder, {"run.steps": 42})
    with pytest.raises(swmodel.ConfigError, match=words):
        branch.run(folder)
    branch.run(folder.with_name("branch"))


@pytest.mark.fault("a run continues with other weather in a file of the same name")
@pytest.mark.night
def test_a_run_goes_on_with_weather_to_which_records_were_added(stopped, tmp_path):
    path, folder = stopped
    written(path, np.concatenate([WINDS, WINDS]))
    assert CliRunner().invoke(main, ["resume", str(folder), "--steps", "80"]).exit_code == 0
    swmodel.Simulation(windy(path, run__steps=80)).run(tmp_path / "whole")
    with xarray.open_dataset(folder / "output.nc") as ours, xarray.open_dataset(tmp_path / "whole/output.nc") as theirs:
        np.testing.assert_array_equal(ours.u[-1], theirs.u[-1])


def test_the_blocks_of_a_record_add_up_to_its_checksum():
    values = WINDS[0]
    parts = [(np.arange(*rows), np.arange(*columns)) for rows in ((0, 3), (3, NY)) for columns in ((0, 5), (5, NX))]
    total = sum(checksum_of(values[np.ix_(*part)], *part, NX) for part in parts)
    whole = checksum_of(values, np.arange(NY), np.arange(NX), NX)
    assert total % 2**64 == whole != checksum_of(np.roll(values, 1), np.arange(NY), np.arange(NX), NX)
