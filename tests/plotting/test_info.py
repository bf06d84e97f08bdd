"""`describe_results`: every number that it prints is one of the files'."""

import json

import pytest
from support.small_run import make_run

from swmodel.plotting.dataset import open_data
from swmodel.plotting.info import describe_results, duration

pytestmark = pytest.mark.slow


def lines(path) -> dict[str, str]:
    """The lines of two columns by their first one."""
    pairs = (line.split("  ", 1) for line in describe_results(path).splitlines() if "  " in line)
    return {name.strip(): rest.strip() for name, rest in pairs}


def test_a_run_tells_case_grid_scheme_state_fields_and_conservation(run):
    shown = lines(run)
    status = json.loads((run / "status.json").read_text())
    assert shown["state"] == "completed"
    assert shown["case"] == "jet"
    assert shown["steps"] == str(status["steps"])
    assert shown["grid"] == "14 columns by 9 rows, 70 by 45 km"
    assert shown["scheme"] == "gfb, dt = 18 s, vorticity flux energy"
    assert shown["computed by"] == "reference, float32, serial, 1 process"
    assert shown["wall time"].startswith(duration(status["wall_seconds"]))
    assert shown["records"] == "3, model time 0 to 3 minutes"
    assert shown["eta"].split("  ")[0] == "m"
    assert "y_f x_f" in shown["zeta"]
    file = lines(run / "output.nc")  # alone it tells the same
    assert all(file[name] == shown[name] for name in ("case", "grid", "scheme", "records", "eta", "u"))
    with open_data(run / "diagnostics.nc") as data:
        first, last = data["energy"][0], data["energy"][-1]
    assert shown["energy"] == f"{last:.6g} J, relative change {(last - first) / first:+.2e}"


def test_a_run_that_failed_before_its_first_step_tells_why_and_one_that_has_not_ended_says_so(run):
    (run / "status.json").write_text('{"state": "failed", "exit_code": 70, "message": "rank 1 ended"}')
    shown = lines(run)
    assert (shown["state"], shown["reason"]) == ("failed (exit code 70)", "rank 1 ended")
    assert shown["case"] == "jet"
    assert "steps" not in shown
    (run / "status.json").unlink()
    (run / "output.nc").unlink()
    shown = lines(run)
    assert (shown["state"], shown["case"]) == ("not finished (no status.json)", "jet")


def test_options_that_differ_from_the_case_are_listed(run, tmp_path):
    """What the model decided for itself, such as the executor, is not."""
    files = {f"input__{name}": f"{run}/output.nc:{name}@0" for name in ("eta", "u")}
    shown = describe_results(make_run(tmp_path / "next", **files, output__institution="a ship"))
    changed = shown[shown.index("changed") :].split("\n\n")[0]
    for name in ("eta", "u"):
        assert f"input.{name}={run}/output.nc:{name}@0" in "".join(changed.split())  # long lines are broken
    assert "output.institution = a ship (the case has none)" in changed
    assert "grid.nx = 14 (the case has 360)" in changed
    assert not any(f"{name} = " in changed for name in ("time.dt", "run.steps", "run.layout", "physics.gravity"))


def test_wall_time_is_written_in_units_that_can_be_read():
    assert [duration(wall) for wall in (59.9, 75.3, 12000)] == ["59.9 s", "1 min 15 s", "3 h 20 min"]
