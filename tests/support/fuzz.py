"""Strategies for configurations and command lines, valid and broken, and checks that hold for all of them."""

import contextlib
import json
import math
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

from click.testing import CliRunner
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from support.small_run import make_run
from swmodel import cases
from swmodel.cli import main
from swmodel.config import Config
from swmodel.config.messages import choices, kind

ROOT = Path(__file__).parents[2]
SECTIONS = tuple(name for name in Config.model_fields if name != "case")
#: Seconds after which an example counts as hanging.
PATIENCE = 60


def profile(examples):
    """A profile with the same examples every time; with SWMODEL_FUZZ=N random ones, N times as many."""
    factor = int(os.environ.get("SWMODEL_FUZZ", 0))
    return settings(
        max_examples=examples * max(1, factor),
        derandomize=not factor,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


#: Texts without characters that no command line can hold: NUL, and halves of surrogate pairs.
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.one_of(
    st.sampled_from([0, -1, 1, 2, 0.5, -0.0, 1e-300, 5e-324, 1e150, 1e300, 1.7e308, 10**9, 2**31, 2**63, 10**400]),
    st.sampled_from([math.nan, math.inf, -math.inf]),
    st.floats(),
    st.integers(),
)
#: Sizes at which a formula overflows, loses all digits, or divides by zero.
EXTREMES = (0, -1, 1e-300, 1e-20, 1e10, 1e20, 1e300, 2**31 - 1, 2**53)
#: Values of any kind that TOML can write.
JUNK = st.one_of(
    NUMBERS,
    TEXTS,
    st.booleans(),
    st.sampled_from(["none", "", "1 day", "6 h", "-1 h", "1e999 d", "ü", "🌊", "../..", "1x1", "0x1", "[", "'"]),
    st.lists(st.one_of(st.integers(), TEXTS), max_size=3),
    st.just({"a": 1}),
)


def sensible(section, key, field):
    """Values of the key's kind, not all of them in its range."""
    base, _ = kind(field.annotation)
    if words := choices(field.annotation):
        return st.lists(st.sampled_from(words), max_size=4) if base is tuple else st.sampled_from(words)
    if (section, key) in (("grid", "nx"), ("grid", "ny")):
        return st.sampled_from([1, 2, 3, 4, 5, 7, 8, 11, 13, 16])
    if base is bool:
        return st.booleans()
    if base is str:
        return TEXTS
    default = field.get_default()
    if base is int:
        return st.integers(0, 5)
    sizes = st.sampled_from([0.0, 1e-3, 0.3, 1.0, 2.0, 30.0, 1e3])
    return st.lists(sizes, max_size=3) if base is tuple else sizes.map(lambda x: x * (default or 1.0))


@st.composite
def tables(draw, broken=True):
    """{section: {key: value}} of a configuration; with `broken`, some values, keys and sections may be anything."""
    name = draw(st.sampled_from(cases.names()))
    found = {"case": {"name": name}, "grid": {"nx": draw(st.integers(1, 13)), "ny": draw(st.integers(1, 13))}}
    known = [(section, key, field) for section in SECTIONS for key, field in fields_of(section).items()]
    known += [("case", key, field) for key, field in cases.get(name).model_fields.items() if key != "name"]
    for section, key, field in draw(st.lists(st.sampled_from(known), max_size=8)):
        anything = broken and draw(st.integers(0, 4)) == 0
        value = st.one_of(NUMBERS, JUNK) if anything or section == "input" else sensible(section, key, field)
        found.setdefault(section, {})[key] = draw(value)
    if broken and draw(st.integers(0, 9)) == 0:
        found.setdefault(draw(st.one_of(TEXTS, st.sampled_from(SECTIONS))), {})[draw(TEXTS)] = draw(JUNK)
    return found


def numbers_of(name):
    """(section, key) of all numbers that a configuration of the case holds."""
    sections = {section: fields_of(section) for section in SECTIONS} | {"case": cases.get(name).model_fields}
    found = [(section, key, field.annotation) for section, fields in sections.items() for key, field in fields.items()]
    return [
        (section, key)
        for section, key, annotation in found
        if not choices(annotation) and kind(annotation)[0] in (int, float)
    ]


def fields_of(section):
    """The keys of a section."""
    return Config.model_fields[section].annotation.model_fields


def toml(value):
    """A value as TOML text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{toml(str(key))} = {toml(item)}' for key, item in value.items())}}}"
    return repr(value)


def as_file(found):
    """The text of a TOML file with these tables."""
    return "".join(
        f"[{toml(section)}]\n" + "".join(f"{toml(key)} = {toml(value)}\n" for key, value in table.items())
        for section, table in found.items()
    )


def as_overrides(found):
    """The tables as overrides "section.key=value"."""
    return [f"{section}.{key}={text}" for section, key, text in as_texts(found)]


def as_environment(found):
    """The tables as variables of the environment."""
    return {f"SWMODEL_{section}_{key}".upper(): text for section, key, text in as_texts(found)}


def as_texts(found):
    """(section, key, value as typed) of all keys except the name of the case."""
    for section, table in found.items():
        for key, value in table.items():
            if (section, key) != ("case", "name"):
                yield section, key, value if isinstance(value, str) else toml(value)


#: Arguments of commands in the folder that `make_files` fills.
PATHS = (
    *("whole", "whole/output.nc", "whole/diagnostics.nc", "whole/config.toml", "whole/restart", "broken", "odd"),
    *("empty", "garbage.nc", "garbage.toml", "missing", "missing/x", "", "/", "/dev/null", "ü/🌊.nc", "~", "-", "--"),
    *("x" * 300, "x/" * 3000),
)
WORDS = st.one_of(
    st.sampled_from(PATHS),
    TEXTS,
    st.sampled_from(
        ["0", "1", "-1", "nan", "inf", "1e400", "6 h", "h", "eta", "speed", "nope", "grid.nx=3", "grid.nx"]
    ),
    st.sampled_from(["=", "run.steps=2", "case.name=rest", "out", "out.png", "out.xyz", "xla", "reference", "1x1"]),
)
#: Options that make every run short; they come last, so that they hold.
SHORT = (
    "-s",
    "grid.nx=5",
    "-s",
    "grid.ny=4",
    "--steps",
    "2",
    "--executor",
    "reference",
    "-s",
    "run.nproc=1",
    "--quiet",
)


def make_files():
    """A run folder, two damaged ones, an empty one, and files of rubbish, in the current folder."""
    make_run("whole")
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
def lines(draw):
    """A command with arguments and options, its own and others', most of them with a value."""
    name = draw(st.sampled_from(["run", "run", "resume", "plot", "info", "init", "cases", "bench report", "nope"]))
    command = main.commands.get(name)
    parameters = command.params if command else []
    own = {option: parameter for parameter in parameters for option in parameter.opts if option.startswith("-")}
    targets = st.sampled_from([*cases.names(), *PATHS] if name in ("run", "init") else PATHS)
    line = [*name.split(), *(draw(targets) for parameter in parameters if parameter.param_type_name == "argument")]
    for option in draw(st.lists(st.sampled_from([*own, "--help", "--nope", "-x", ""]), max_size=3)):
        if option == "" or not getattr(own.get(option), "is_flag", False):
            line.append(option)
            line.append(draw(WORDS))
        else:
            line.append(option)
    return [*line, *(SHORT if name == "run" else ())]


#: Variables of the environment that this program or its packages read, and values for them.
ENVIRONMENT = {
    **dict.fromkeys(("JAX_ENABLE_X64", "JAX_PLATFORMS", "JAX_NUM_CPU_DEVICES"), ["junk", "", "-1"]),
    **dict.fromkeys(("HOME", "TMPDIR", "MPLCONFIGDIR", "XDG_CACHE_HOME"), ["", "/proc/nope", "missing", "garbage.nc"]),
    **dict.fromkeys(("COLUMNS", "LINES", "OMP_NUM_THREADS", "NPROC", "PYTHONOPTIMIZE"), ["junk", "", "-1", "0"]),
    **dict.fromkeys(("TERM", "TZ", "LC_ALL", "LANG", "HDF5_USE_FILE_LOCKING"), ["junk", "", "C", "ü"]),
    **dict.fromkeys(("NO_COLOR", "FORCE_COLOR", "SWMODEL_NOPE", "SWMODEL_DEBUG_", "SWMODEL_GRID_"), ["1", "", "junk"]),
    "XLA_FLAGS": ["", "--xla_cpu_max_isa=AVX"],
    "MPLBACKEND": ["module://matplotlib_inline.backend_inline", "junk", "", "TkAgg"],
    "PYTHONIOENCODING": ["ascii", "ascii:strict", "latin-1", "utf-16"],
    "PYTHONWARNINGS": ["error", "junk", "ignore"],
    "SWMODEL_TIME_DT": ["junk", "1e9", "", "nan"],
}


@st.composite
def environments(draw):
    """One to three variables of the environment."""
    names = draw(st.lists(st.sampled_from(sorted(ENVIRONMENT)), min_size=1, max_size=3, unique=True))
    return {name: draw(st.sampled_from(ENVIRONMENT[name])) for name in names}


def swmodel_in(environ, *arguments):
    """`swmodel ARGUMENTS` as a program in the environment with these additions: (exit code, stderr).

    It checks that there is no traceback, and a reason for failures.
    """
    line = [sys.executable, ROOT / "cli.py", *map(str, arguments)]
    done = subprocess.run(line, env=os.environ | environ, capture_output=True, timeout=PATIENCE)
    said = done.stderr.decode("utf-16" if "utf-16" in environ.get("PYTHONIOENCODING", "") else "utf-8", "replace")
    assert "Traceback" not in said, said
    assert "Internal error" not in said, said
    assert done.returncode in (0, 2, 3, 4, 5), (done.returncode, said)
    assert done.returncode == 0 or "Error:" in said, said
    return done.returncode, said


@contextlib.contextmanager
def patience(seconds=PATIENCE):
    """A context that raises TimeoutError if it lasts longer."""

    def give_up(number, frame):
        raise TimeoutError(f"it hangs: {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def swmodel(*arguments):
    """`swmodel ARGUMENTS` in this process: (exit code, output); checks for no traceback, and a reason for failures."""
    with patience(), patch.dict(os.environ):  # a run leaves flags for XLA there
        done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    said = done.output
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    assert "Traceback" not in said, said
    assert "Internal error" not in said, said
    assert done.exit_code in (0, 2, 3, 4, 5, 75), (done.exit_code, said)
    if done.exit_code:
        assert "Error:" in said or "Usage:" in said, said
    return done.exit_code, said
