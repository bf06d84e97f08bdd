"""The same script on one process and on several: the same files; what one of them does otherwise, all are told."""

import json
import re

import netCDF4
import numpy as np
import pytest
from support.own_run import gradient_of_energy, nudge, simulation
from support.restarts import assert_same_data, assert_same_run
from support.stormy_sea import sea

import swmodel

pytestmark = [pytest.mark.mpi, pytest.mark.night]


@pytest.fixture(scope="module")
def made(mpiexec, quickly_compiled, tmp_path_factory):
    """The folder, and what the ranks of one start were told."""
    folder = tmp_path_factory.mktemp("own")
    return folder, json.loads(mpiexec("own_fields.py", 2, folder, timeout=200).stdout.splitlines()[-1])


@pytest.mark.promise("fields and terms from Python equal those of the model")
def test_two_processes_leave_the_files_of_one(made, tmp_path):
    """Functions, a part of an array, a DataArray that runs from north to south; a term; what is set on the way."""
    folder, told = made
    assert told["run"] == [["done", 0]] * 2
    model = simulation()
    model.every("3 steps", nudge)
    model.run(tmp_path / "one")
    assert_same_run(folder / "run", tmp_path / "one", 9)
    assert told["dataset"] == [[*shape, *shape] for shape in ([11, 12], [11, 11])]


@pytest.mark.fault(
    "several processes or devices have other series while the weather varies; harmonic constants fail on several devices"
)
def test_the_weather_cuts_no_series_of_two_processes(made, tmp_path):
    """They are those of one process that writes each step."""
    folder, told = made
    assert told["weather"] == [["done", 0]] * 2
    swmodel.Simulation(sea("recorded", folder, run__executor="native", output__every_steps=1)).run(tmp_path / "one")
    for name in ("stations.nc", "sections.nc", "harmonics.nc"):
        assert_same_data(folder / "weather" / name, tmp_path / "one" / name)


@pytest.mark.fault("a run from Python into a folder that has files or is in use")
def test_all_processes_are_told_the_same_and_a_run_is_gone_on_with_but_not_overwritten(made):
    folder, told = made
    assert told["overwriting"][0][1] == 2
    assert "plain holds a run (completed); give force=True" in told["overwriting"][0][0]
    assert told["at its end"] == told["longer"] == [["done", 0]] * 2
    assert told["unstable"][0][1] == 4
    assert "the solution blew up by step 60 " in told["unstable"][0][0]
    assert all(told[name][0] == told[name][1] for name in ("overwriting", "unstable"))
    with netCDF4.Dataset(folder / "plain" / "output.nc") as file:
        assert file["step"][...].tolist() == [0, 3, 6, 9]
    assert not (folder / "plain" / "run.lock").exists()


@pytest.mark.fault("a function of `every` raises, on one process or on all")
def test_a_function_that_fails_on_one_process_stops_all_and_the_run_goes_on(made, tmp_path):
    folder, told = made
    (first, code), second = told["failing"]
    assert second == [first, code]
    assert code == 75
    where = (
        r"own_fields.py:\d+: failing, called every 2 steps: ValueError: only here, in: raise ValueError\(.only here.\)"
    )
    assert re.search(rf"^stopped by .*{where} \(on rank 1\) at step 4 .*; continue with Simulation.resume", first)
    assert told["goes on"] == [["done", 0]] * 2
    simulation().run(tmp_path / "one")
    assert_same_run(folder / "stopped", tmp_path / "one", 9)


def test_the_pure_step_has_the_gradient_of_one_process_and_takes_no_checkpoint(made):
    """Each process has its part of the gradient of what all of them add up to."""
    expected, parts = gradient_of_energy(), made[1]["gradient"]
    np.testing.assert_allclose(np.hstack(parts), expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    assert [code for _, code in made[1]["checkpoint"]] == [70, 70]
    assert all("Effects not supported" in words for words, _ in made[1]["checkpoint"])


@pytest.mark.fault("functions of `every` differ between processes, or one waits for the other processes")
def test_a_function_in_which_one_process_waits_for_others_ends_with_a_line(mpiexec):
    with pytest.raises(pytest.fail.Exception) as caught:
        mpiexec("waits_in_function.py", 2)
    said = str(caught.value)
    assert "exit code 70" in said
    assert "Traceback" not in said
    assert len(re.findall(r"Error: no answer for 2 s .* rank \d waits .* lonely, called every 2 steps", said)) == 1


DIFFER = r"the processes differ: {} is .* on rank 0 and .* on rank 1; give all processes the same"


@pytest.mark.fault("fields or options that differ between processes")
@pytest.mark.fault("functions of `every` differ between processes, or one waits for the other processes")
@pytest.mark.parametrize(
    ("what", "first", "second"),
    [
        ("differs", DIFFER.format("the input from Python eta"), None),
        ("options", DIFFER.format(r"time\.dt"), None),
        (
            "part",
            r"fields: eta has shape \(3, 3\), but the part of this process \(11, 12\): rows 0 to 10 and columns 0 to",
            "",
        ),
        ("part of one", "fields: eta must be local on all processes", None),
        ("shape", r"rank 1: fields: eta has shape \(3, 3\), the grid needs \(11, 23\)", "fields: eta has shape"),
        ("raises", r"rank 1: .*own_fields.py:\d+: fields: eta: IndexError: list index out of range", ".*IndexError"),
        ("set differs", "set: eta differs between ranks 0 and 1; .*same", None),
        ("called by one", r"the processes differ: .* nudge every 2 steps, rank 1 nothing", None),
        ("asked for by one", r"the processes differ: .* every 2 steps, nudge every 5 steps, rank 1 <lambda>", None),
    ],
)
def test_what_one_process_does_otherwise_all_are_told_before_a_step(made, what, first, second):
    (ours, code), (theirs, other) = made[1][what]
    assert re.match(first, ours), ours
    assert re.match(first if second is None else second, theirs), theirs
    assert code in (2, 3)
    assert other in (2, 3)
