"""Random configurations and command lines, valid and broken: a run completes, or gives an exit code and a reason.

There is never a traceback or a hang. `make fuzz` tries many more examples, different ones every time.
"""

import json
from pathlib import Path

import pytest
from hypothesis import strategies as st
from support import fuzz
from support.fuzz import check_examples, config_tables, run_swmodel, run_swmodel_process
from support.marks import night_params

from swmodel import Config, ConfigError, cases, load
from swmodel.executors import availability
from swmodel.model.validate import check_config

pytestmark = pytest.mark.slow

#: Exit codes of `swmodel run` besides 0: usage, a blow-up, files.
DOCUMENTED_EXIT_CODES = (2, 4, 5)
#: A run that is started as a separate program.
RUN_COMMAND = ("run", "rest", "-s", "grid.nx=5", "-s", "grid.ny=4", "--steps", "1", "--executor", "reference")
RUN_COMMAND += ("--output", "apart", "--force")
#: Keys that would make a run long, or start processes.
RUN_LENGTH_AND_PROCESS_KEYS = ("days", "nproc", "layout", "transport", "walltime")


@pytest.fixture(scope="module")
def file_folder(tmp_path_factory):
    """A folder with files for the commands, which is the working folder of the tests."""
    directory = tmp_path_factory.mktemp("fuzz")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        # Compile nothing for configurations that do not run.
        patch.setattr(availability, "unsupported_reason", lambda *given: "")
        fuzz.make_files()
        yield directory


def is_resolved(*source):
    """Whether the configuration is either resolved, or refused with reasons."""
    try:
        with fuzz.time_limit():
            config = check_config(load(*source))
    except ConfigError as error:
        reasons = [str(problem).strip() for problem in error.problems]
        return bool(reasons) and all(reasons)
    return isinstance(config, Config)


@pytest.mark.promise("no input causes a traceback or a hang")
def test_any_configuration_is_complete_or_refused(file_folder):
    def check(found, how):
        name, texts = found["case"]["name"], fuzz.override_texts(found)
        if how == "file":
            Path("any.toml").write_text(fuzz.toml_file_text(found), encoding="utf-8")
            assert is_resolved("any.toml", (), {})
        elif how == "overrides":
            assert is_resolved(name, [f"{key}={text}" for key, text in texts.items()], {})
        else:
            environ = {f"SWMODEL_{key}".replace(".", "_").upper(): text for key, text in texts.items()}
            assert is_resolved(name, (), environ)

    check_examples(80, check, config_tables(), st.sampled_from(["file", "overrides", "environment"]))


@pytest.mark.promise("no input causes a traceback or a hang")
def test_any_configuration_runs_or_is_refused(file_folder):
    def check(found, steps):
        found.pop("input", None)
        run = {key: value for key, value in found.get("run", {}).items() if key not in RUN_LENGTH_AND_PROCESS_KEYS}
        found["run"] = run | {"steps": steps, "executor": "reference"}
        options = [word for key, text in fuzz.override_texts(found).items() for word in ("-s", f"{key}={text}")]
        code, said = run_swmodel("run", found["case"]["name"], *options, "--output", "any", "--force", "--quiet")
        assert code == 0 or code in DOCUMENTED_EXIT_CODES
        if code == 0:
            status = json.loads(Path("any/status.json").read_text())
            assert (status["state"], status["steps"]) == ("completed", steps)
            assert run_swmodel("info", "any")[0] == 0

    check_examples(8, check, config_tables(broken=False), st.integers(0, 3))


@pytest.mark.promise("no input causes a traceback or a hang")
def test_any_command_line_works_or_gives_reason(file_folder):
    check_examples(40, lambda line: run_swmodel(*line) and None, fuzz.command_lines())


@pytest.mark.fault("numbers at which formulas overflow or lose all digits")
@pytest.mark.night
def test_any_single_number_is_accepted_or_refused(file_folder):
    """All other values are valid, so that the number reaches every check."""
    for section, key in fuzz.numeric_keys("jet"):
        for value in fuzz.EXTREMES:
            assert is_resolved("jet", {"grid.nx": 5, "grid.ny": 4} | {f"{section}.{key}": value}, {})


@pytest.mark.night
@pytest.mark.parametrize("name", cases.names())
def test_case_on_odd_grids_runs_or_is_refused(file_folder, name):
    for ny, nx in ((1, 1), (1, 13), (2, 2), (11, 7)):
        grid = ("-s", f"grid.ny={ny}", "-s", f"grid.nx={nx}", "--output", "odd-grid")
        code, said = run_swmodel("run", name, *grid, "--steps", 2, "--executor", "reference", "--force", "--quiet")
        assert code in (0, 2), said


def test_numbers_that_fuzzing_has_found_are_refused(file_folder):
    for options, words in (
        ("grid.dx=1e-40", "grid.dx=1e-40"),
        (f"case.name=turbulence case.seed={2**128}", "9007199254740992"),
        ("time.stepper=ab2 time.ab2_epsilon=1e20", "ab2_epsilon = 1e+20"),
        (f"input.u={'x' * 300}", "input.u: there is no file"),
    ):
        code, said = run_swmodel("run", "jet", *(word for option in options.split() for word in ("-s", option)))
        assert (code, words in said) == (2, True)


@pytest.mark.fault("environment variables that are wrong or belong to other programs")
@pytest.mark.parametrize(
    ("environ", "line", "code", "words"),
    [
        ({"JAX_ENABLE_X64": "junk"}, RUN_COMMAND, 3, "JAX_ENABLE_X64"),
        *night_params(
            ({"MPLBACKEND": "module://missing", "PYTHONWARNINGS": "error"}, ("plot", "whole"), 0, ""),
            ({"HOME": "/proc/nope", "MPLCONFIGDIR": "garbage.nc", "TZ": "junk"}, ("plot", "whole"), 0, ""),
            ({"PYTHONIOENCODING": "utf-16", "TERM": "", "COLUMNS": "-1"}, ("info", "whole"), 0, ""),
            ({"XLA_FLAGS": "", "OMP_NUM_THREADS": "junk", "NPROC": "-1"}, RUN_COMMAND, 0, ""),
            ({"SWMODEL_TIME_DT": "nan", "NO_COLOR": "junk"}, RUN_COMMAND, 2, "SWMODEL_TIME_DT"),
            ({"TMPDIR": "missing", "LC_ALL": "ü", "SWMODEL_GRID_N": "1"}, RUN_COMMAND, 2, "SWMODEL_GRID_N"),
        ),
    ],
)
def test_odd_environment_has_no_effect_or_is_named(file_folder, environ, line, code, words):
    found, said = run_swmodel_process(environ, *line)
    assert (found, words in said) == (code, True)
