"""Random configurations and command lines, valid or not: a run completes, or ends with an exit code and a reason.

It never ends with a traceback or hangs. `make fuzz` tries many more examples, different ones every time.
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

#: Exit codes that random runs may have: success, usage, a blow-up, files.
ALLOWED_EXIT_CODES = (0, 2, 4, 5)
#: A run, for tests that start the program in a new process.
RUN_COMMAND = ("run", "rest", "-s", "grid.nx=5", "-s", "grid.ny=4", "--steps", "1", "--executor", "reference")
RUN_COMMAND += ("--output", "separate", "--force")
#: Keys that would make a run long, or start processes.
RUN_LENGTH_AND_PROCESS_KEYS = ("days", "nproc", "layout", "transport", "walltime")


@pytest.fixture(scope="module")
def file_folder(tmp_path_factory):
    """The working folder of the tests, with files for the commands."""
    directory = tmp_path_factory.mktemp("fuzz")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        # Compile nothing for configurations that do not run.
        patch.setattr(availability, "unsupported_reason", lambda *arguments: "")
        fuzz.make_files()
        yield directory


def is_resolved_or_refused(*source):
    """Whether a configuration either passes all checks, or is refused with reasons."""
    try:
        with fuzz.time_limit():
            config = check_config(load(*source))
    except ConfigError as error:
        reasons = [str(problem).strip() for problem in error.problems]
        return bool(reasons) and all(reasons)
    return isinstance(config, Config)


@pytest.mark.promise("no input causes a traceback or a hang")
def test_any_configuration_is_resolved_or_refused(file_folder):
    def check(tables, source):
        name, texts = tables["case"]["name"], fuzz.override_texts(tables)
        if source == "file":
            Path("any.toml").write_text(fuzz.toml_file_text(tables), encoding="utf-8")
            assert is_resolved_or_refused("any.toml", (), {})
        elif source == "overrides":
            assert is_resolved_or_refused(name, [f"{key}={text}" for key, text in texts.items()], {})
        else:
            environ = {f"SWMODEL_{key}".replace(".", "_").upper(): text for key, text in texts.items()}
            assert is_resolved_or_refused(name, (), environ)

    check_examples(80, check, config_tables(), st.sampled_from(["file", "overrides", "environment"]))


@pytest.mark.promise("no input causes a traceback or a hang")
def test_any_configuration_runs_or_is_refused(file_folder):
    def check(tables, steps):
        tables.pop("input", None)
        run = {key: value for key, value in tables.get("run", {}).items() if key not in RUN_LENGTH_AND_PROCESS_KEYS}
        tables["run"] = run | {"steps": steps, "executor": "reference"}
        options = [word for key, text in fuzz.override_texts(tables).items() for word in ("-s", f"{key}={text}")]
        code, output = run_swmodel("run", tables["case"]["name"], *options, "--output", "any", "--force", "--quiet")
        assert code in ALLOWED_EXIT_CODES
        if code == 0:
            status = json.loads(Path("any/status.json").read_text())
            assert (status["state"], status["steps"]) == ("completed", steps)
            assert run_swmodel("info", "any")[0] == 0

    check_examples(8, check, config_tables(broken=False), st.integers(0, 3))


@pytest.mark.promise("no input causes a traceback or a hang")
def test_any_command_line_works_or_gives_a_reason(file_folder):
    check_examples(40, lambda line: run_swmodel(*line) and None, fuzz.command_lines())


@pytest.mark.fault("numbers at which formulas overflow or lose all digits")
@pytest.mark.night
def test_any_single_number_is_accepted_or_refused(file_folder):
    """All other values are valid, so that no other check refuses the configuration before."""
    for section, key in fuzz.numeric_keys("jet"):
        for value in fuzz.EXTREMES:
            assert is_resolved_or_refused("jet", {"grid.nx": 5, "grid.ny": 4} | {f"{section}.{key}": value}, {})


@pytest.mark.night
@pytest.mark.parametrize("name", cases.names())
def test_case_on_tiny_grids_runs_or_is_refused(file_folder, name):
    for ny, nx in ((1, 1), (1, 13), (2, 2), (11, 7)):
        grid = ("-s", f"grid.ny={ny}", "-s", f"grid.nx={nx}", "--output", "tiny-grid")
        code, output = run_swmodel("run", name, *grid, "--steps", 2, "--executor", "reference", "--force", "--quiet")
        assert code in (0, 2), output


def test_values_that_caused_failures_before_are_refused(file_folder):
    for options, message in (
        ("grid.dx=1e-40", "grid.dx=1e-40"),
        (f"case.name=turbulence case.seed={2**128}", "9007199254740992"),
        ("time.stepper=ab2 time.ab2_epsilon=1e20", "ab2_epsilon = 1e+20"),
        (f"input.u={'x' * 300}", "input.u: there is no file"),
    ):
        code, output = run_swmodel("run", "jet", *(word for override in options.split() for word in ("-s", override)))
        assert (code, message in output) == (2, True)


@pytest.mark.fault("environment variables that are wrong or belong to other programs")
@pytest.mark.parametrize(
    ("environ", "line", "code", "message"),
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
def test_odd_environment_has_no_effect_or_is_named(file_folder, environ, line, code, message):
    exit_code, output = run_swmodel_process(environ, *line)
    assert (exit_code, message in output) == (code, True)
