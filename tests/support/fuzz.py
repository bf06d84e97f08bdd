"""Hypothesis strategies for configurations and command lines, valid and broken, and checks of their results."""

import contextlib
import math
import os
import shutil
import signal
import subprocess
from pathlib import Path
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.command import invoke_swmodel
from support.faults import PROGRAM
from support.small_run import write_small_run
from swmodel import cases
from swmodel.cli import main
from swmodel.config import Config
from swmodel.config.loading.toml import toml_value as as_toml
from swmodel.config.messages import base_type, choices

SECTIONS = {name: field.annotation.model_fields for name, field in Config.model_fields.items() if name != "case"}
#: Seconds after which an example counts as hanging.
MAX_EXAMPLE_SECONDS = 60


def check_examples(n_examples, check, *strategies):
    """Call check(...) with `n_examples` values of the strategies, which are the same every time.

    With SWMODEL_FUZZ=N the values are random, and there are N times as many.
    """
    factor, setting_values = int(os.environ.get("SWMODEL_FUZZ", 0)), {"deadline": None, "database": None}
    setting_values |= {"suppress_health_check": list(HealthCheck), "derandomize": not factor}
    settings(max_examples=n_examples * max(1, factor), **setting_values)(given(*strategies)(check))()


#: Texts without the characters that no command line can contain: NUL, and halves of surrogate pairs.
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.one_of(
    st.sampled_from([0, -1, 1, 2, 0.5, -0.0, 1e-300, 5e-324, 1e150, 1e300, 1.7e308, 10**9, 2**31, 2**63, 10**400]),
    *(st.sampled_from([math.nan, math.inf, -math.inf]), st.floats(), st.integers()),
)
#: Numbers with which a formula overflows, loses all digits, or divides by zero.
EXTREMES = (0, -1, 1e-300, 1e-20, 1e10, 1e20, 1e300, 2**31 - 1, 2**53)
#: Values of every type of TOML except dates and times.
ANY_VALUES = st.one_of(
    *(NUMBERS, TEXTS, st.booleans(), st.just({"a": 1}), st.lists(st.one_of(st.integers(), TEXTS), max_size=3)),
    st.sampled_from(["none", "", "1 day", "6 h", "-1 h", "1e999 d", "ü", "🌊", "../..", "1x1", "0x1", "[", "'"]),
)


def plausible_values(key, field):
    """A strategy for values of the type of a key, some of which are outside its range."""
    base, _ = base_type(field.annotation)
    if words := choices(field.annotation):
        return st.lists(st.sampled_from(words), max_size=4) if base is tuple else st.sampled_from(words)
    if key in ("nx", "ny"):
        return st.sampled_from([1, 2, 3, 4, 5, 7, 8, 11, 13, 16])
    if base in (bool, str, int):
        return {bool: st.booleans(), str: TEXTS, int: st.integers(0, 5)}[base]
    sizes = st.sampled_from([0.0, 1e-3, 0.3, 1.0, 2.0, 30.0, 1e3])
    return st.lists(sizes, max_size=3) if base is tuple else sizes.map(lambda x: x * (field.get_default() or 1.0))


def case_keys(name):
    """(section, key, field) of all keys that a configuration of the case may have, except the name of the case."""
    sections = SECTIONS | {"case": cases.get(name).model_fields}
    keys = [(section, key, field) for section, fields in sections.items() for key, field in fields.items()]
    return [each for each in keys if each[:2] != ("case", "name")]


@st.composite
def config_tables(draw, broken=True):
    """Draw {section: {key: value}} of a configuration; with `broken`, some values, keys and sections are arbitrary."""
    name = draw(st.sampled_from(cases.names()))
    tables = {"case": {"name": name}, "grid": {"nx": draw(st.integers(1, 13)), "ny": draw(st.integers(1, 13))}}
    for section, key, field in draw(st.lists(st.sampled_from(case_keys(name)), max_size=8)):
        is_arbitrary = (broken and draw(st.integers(0, 4)) == 0) or section == "input"
        value = st.one_of(NUMBERS, ANY_VALUES) if is_arbitrary else plausible_values(key, field)
        tables.setdefault(section, {})[key] = draw(value)
    if broken and draw(st.integers(0, 9)) == 0:
        tables.setdefault(draw(st.one_of(TEXTS, st.sampled_from(list(SECTIONS)))), {})[draw(TEXTS)] = draw(ANY_VALUES)
    return tables


def numeric_keys(name):
    annotations = {(section, key): field.annotation for section, key, field in case_keys(name)}
    return [key for key, kind in annotations.items() if not choices(kind) and base_type(kind)[0] in (int, float)]


def toml_text(value):
    return "{a = 1}" if isinstance(value, dict) else as_toml(tuple(value) if isinstance(value, list) else value)


def toml_file_text(tables):
    lines = []
    for section, table in tables.items():
        lines += [f"[{toml_text(section)}]", *(f"{toml_text(key)} = {toml_text(x)}" for key, x in table.items())]
    return "\n".join(lines) + "\n"


def override_texts(tables):
    """{"section.key": value as a user types it on the command line} of all keys except the name of the case."""
    values = {f"{section}.{key}": value for section, table in tables.items() for key, value in table.items()}
    return {key: x if isinstance(x, str) else toml_text(x) for key, x in values.items() if key != "case.name"}


#: Arguments of commands in the folder that `make_files` fills.
PATHS = (
    *("whole", "whole/output.nc", "whole/diagnostics.nc", "whole/config.toml", "whole/restart", "broken", "odd"),
    *("empty", "garbage.nc", "garbage.toml", "missing", "missing/x", "", "/", "/dev/null", "ü/🌊.nc", "~", "-", "--"),
    *("x" * 300, "x/" * 3000),
)
WORDS = st.one_of(
    *(st.sampled_from(PATHS), TEXTS),
    st.sampled_from(["0", "1", "-1", "nan", "inf", "1e400", "6 h", "h", "1x1", "=", "grid.nx", "grid.nx=3", "out.xyz"]),
    st.sampled_from(["eta", "speed", "nope", "run.steps=2", "case.name=rest", "out", "out.png", "xla", "reference"]),
)
#: Options that make every run short; they are the last ones of a command, so that they override others.
SHORT_RUN_OPTIONS = ("-s", "grid.nx=5", "-s", "grid.ny=4", "-s", "run.nproc=1")
SHORT_RUN_OPTIONS += ("--steps", "2", "--executor", "reference", "--quiet")


def make_files():
    """Make in the current folder a run folder, two damaged run folders, an empty folder and invalid files."""
    write_small_run("whole")
    for name in ("broken", "odd"):
        shutil.copytree("whole", name)
    output = Path("broken/output.nc")
    output.write_bytes(output.read_bytes()[:3000])
    Path("odd/status.json").write_text("{")
    Path("odd/config.toml").write_text("[")
    Path("empty").mkdir()
    Path("garbage.nc").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(range(256)) * 9)
    Path("garbage.toml").write_bytes(b"\xff\xfe[grid")


@st.composite
def command_lines(draw):
    """Draw a command with arguments and with existing and unknown options, most of which have a value."""
    name = draw(st.sampled_from(["run", "run", "resume", "plot", "info", "init", "cases", "bench report", "nope"]))
    command = main.commands.get(name)
    parameters = command.params if command else []
    options = {option: parameter for parameter in parameters for option in parameter.opts if option.startswith("-")}
    targets = st.sampled_from([*cases.names(), *PATHS] if name in ("run", "init") else PATHS)
    line = [*name.split(), *(draw(targets) for parameter in parameters if parameter.param_type_name == "argument")]
    for option in draw(st.lists(st.sampled_from([*options, "--help", "--nope", "-x", ""]), max_size=3)):
        has_value = option == "" or not getattr(options.get(option), "is_flag", False)
        line += [option, *([draw(WORDS)] if has_value else [])]
    return [*line, *(SHORT_RUN_OPTIONS if name == "run" else ())]


def check_exit(code, output, documented=(0, 2, 3, 4, 5)):
    """Assert that a command printed no traceback, and that it printed a reason if it failed; returns (code, output)."""
    assert "Traceback" not in output, output
    assert "Internal error" not in output, output
    assert code in documented, (code, output)
    assert code == 0 or "Error:" in output or "Usage:" in output, output
    return code, output


def run_swmodel_process(environ, *arguments):
    """Run `swmodel ARGUMENTS` as a program, with additions to the environment; returns (exit code, stderr)."""
    command = [*PROGRAM, *map(str, arguments)]
    process = subprocess.run(command, env=os.environ | environ, capture_output=True, timeout=MAX_EXAMPLE_SECONDS)
    encoding = "utf-16" if "utf-16" in environ.get("PYTHONIOENCODING", "") else "utf-8"
    return check_exit(process.returncode, process.stderr.decode(encoding, "replace"))


@contextlib.contextmanager
def time_limit(seconds=MAX_EXAMPLE_SECONDS):
    def raise_timeout(number, frame):
        raise TimeoutError(f"it hangs: it has not ended after {seconds} s")

    previous_handler = signal.signal(signal.SIGALRM, raise_timeout)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous_handler)


def run_swmodel(*arguments):
    """Run `swmodel ARGUMENTS` in this process; returns (exit code, output)."""
    with time_limit(), patch.dict(os.environ):  # a run sets flags of XLA in the environment
        result = invoke_swmodel(*arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    return check_exit(result.exit_code, result.output, (0, 2, 3, 4, 5, 75))
