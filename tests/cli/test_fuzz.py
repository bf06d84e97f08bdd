"""Configurations and command lines of any kind, valid and broken: a run that completes, or one exit code and a reason.

Never a traceback, never a hang. `make fuzz` tries many more of them, other ones every time.
"""

import json
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fuzz import (
    EXTREMES,
    as_environment,
    as_file,
    as_overrides,
    environments,
    lines,
    make_files,
    numbers_of,
    patience,
    profile,
    swmodel,
    swmodel_in,
    tables,
)

from swmodel import cases, load
from swmodel.config import Config, ConfigError, to_toml
from swmodel.model import resolve, validate
from swmodel.model.validate import check_config

pytestmark = pytest.mark.slow

#: Of `swmodel run`, beside 0: usage, a blow-up, files.
DOCUMENTED = (2, 4, 5)
#: A run as a program of its own.
RUN = ("run", "rest", "-s", "grid.nx=5", "-s", "grid.ny=4", "--steps", "1", "--executor", "reference")
RUN += ("--output", "apart", "--force")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with files to point commands at, made the current one for the tests."""
    directory = tmp_path_factory.mktemp("fuzz")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        for module in (resolve, validate):  # nothing is compiled for configurations that do not run
            patch.setattr(module, "unable", lambda config: "")
        make_files()
        yield directory


def refused_or_resolved(*source):
    """Whether the configuration is complete, or refused with reasons."""
    try:
        with patience():
            config = check_config(load(*source))
    except ConfigError as error:
        reasons = [str(problem).strip() for problem in error.problems]
        return bool(reasons) and all(reasons)
    return isinstance(config, Config)


@pytest.mark.promise("no input causes a traceback or a hang")
@profile(200)
@given(tables(), st.sampled_from(["file", "overrides", "environment"]))
def test_any_configuration_is_complete_or_refused_with_reasons(folder, found, how):
    name = found["case"]["name"]
    if how == "file":
        Path("any.toml").write_text(as_file(found), encoding="utf-8")
        assert refused_or_resolved("any.toml", (), {})
    elif how == "overrides":
        assert refused_or_resolved(name, as_overrides(found), {})
    else:
        assert refused_or_resolved(name, (), as_environment(found))


@pytest.mark.promise("no input causes a traceback or a hang")
@pytest.mark.night
@profile(100)
@given(st.sampled_from(cases.names()), st.data())
def test_any_slip_of_the_pen_in_a_file_is_accepted_or_refused_with_reasons(folder, name, data):
    """Characters deleted, changed and put into a valid file."""
    text = list(to_toml(load(name, {}, {}), comments=data.draw(st.booleans())))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(text) - 1))
        text[place : place + data.draw(st.integers(0, 2))] = data.draw(
            st.text(string.printable + "ü\ufeff", max_size=2)
        )
    Path("any.toml").write_text("".join(text), encoding="utf-8")
    assert refused_or_resolved("any.toml", (), {})


@pytest.mark.fault("numbers at which formulas overflow or lose all digits")
@pytest.mark.night
@pytest.mark.parametrize("name", ["jet", "double_gyre"])
def test_any_number_alone_is_taken_or_refused_with_reasons(folder, name):
    """All else is right, so that nothing else is refused first, and every check sees it."""
    for section, key in numbers_of(name):
        for value in EXTREMES:
            assert refused_or_resolved(name, {"grid.nx": 5, "grid.ny": 4} | {f"{section}.{key}": value}, {})


@pytest.mark.promise("no input causes a traceback or a hang")
@pytest.mark.night
@profile(30)
@given(tables(broken=False), st.integers(0, 3))
def test_any_configuration_runs_to_its_end_or_is_refused(folder, found, steps):
    found.pop("input", None)
    for section, key in (
        ("run", "days"),
        ("run", "nproc"),
        ("run", "layout"),
        ("run", "transport"),
        ("run", "walltime"),
    ):
        found.get(section, {}).pop(key, None)
    found["run"] = found.get("run", {}) | {"steps": steps, "executor": "reference"}
    options = [word for text in as_overrides(found) for word in ("-s", text)]
    code, said = swmodel("run", found["case"]["name"], *options, "--output", "any", "--force", "--quiet")
    assert code == 0 or code in DOCUMENTED
    if code == 0:
        status = json.loads(Path("any/status.json").read_text())
        assert (status["state"], status["steps"]) == ("completed", steps)
        assert swmodel("info", "any")[0] == 0


@pytest.mark.promise("no input causes a traceback or a hang")
@pytest.mark.night
@profile(150)
@given(lines())
def test_any_command_line_does_its_work_or_says_why_not(folder, line):
    swmodel(*line)


@pytest.mark.night
@pytest.mark.parametrize("size", [(1, 1), (1, 13), (13, 1), (2, 2), (11, 7)])
@pytest.mark.parametrize("name", cases.names())
def test_every_case_on_odd_grids_runs_or_is_refused(folder, name, size):
    grid = ("-s", f"grid.ny={size[0]}", "-s", f"grid.nx={size[1]}")
    line = ("run", name, *grid, "--steps", 2, "--executor", "reference", "--output", "odd-grid", "--force", "--quiet")
    code, said = swmodel(*line)
    assert code in (0, 2), said


@pytest.mark.night
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["grid.dx=1e-40"], "grid.dx=1e-40: must be 0 or between 1e-30 and 1e+30 in size, not 1e-40"),
        (["case.name=turbulence", f"case.seed={2**128}"], "must be at most 9007199254740992 in size"),
        (
            ["time.stepper=ab2", "time.ab2_epsilon=1e20"],
            "no time step of ab2 with ab2_epsilon = 1e+20 is stable (gravity waves",
        ),
        ([f"input.u={'x' * 300}"], "input.u: there is no file"),
    ],
)
def test_what_such_tests_have_found_is_refused_in_words(folder, options, reason):
    code, said = swmodel("run", "jet", *(word for option in options for word in ("-s", option)))
    assert code == 2
    assert reason in said


@pytest.mark.fault("environment variables that are wrong or belong to other programs")
@pytest.mark.night
@profile(4)
@given(environments(), st.sampled_from([RUN, ("info", "whole"), ("plot", "whole", "--output", "out.png"), ("cases",)]))
def test_any_environment_is_worked_in_or_refused_with_a_reason(folder, environ, line):
    swmodel_in(environ, *line)


@pytest.mark.fault("environment variables that are wrong or belong to other programs")
@pytest.mark.night
@pytest.mark.parametrize(
    ("environ", "line", "code", "reason"),
    [
        (
            {"JAX_ENABLE_X64": "junk"},
            RUN,
            3,
            "Error: JAX cannot be used: invalid truth value 'junk' for environment 'JAX_ENABLE_X64'",
        ),
        ({"XLA_FLAGS": "--garbage"}, RUN, 3, "Error: XLA does not take XLA_FLAGS=--garbage: Unknown flag in XLA_FLAGS"),
        ({"MPLBACKEND": "module://missing", "PYTHONWARNINGS": "error"}, ("plot", "whole"), 0, ""),
    ],
)
def test_what_others_have_set_is_without_effect_or_refused_in_words(folder, environ, line, code, reason):
    found, said = swmodel_in(environ, *line)
    assert (found, reason in said) == (code, True)
