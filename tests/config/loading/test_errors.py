"""What is wrong with a configuration is said at once, with its place, in the words and units of the user."""

import os

import pytest

from swmodel import cases, errors, load
from swmodel.config import ConfigError
from swmodel.errors import LONGEST_LINE, LONGEST_QUOTE, MOST_LINES, as_line


def problems(source="jet", overrides=(), environ=None):
    """The lines of the ConfigError that `load` raises, as a user sees them."""
    with pytest.raises(ConfigError) as caught:
        load(source, overrides, environ or {})
    return str(caught.value).split("\n")


FILE = """\
# a comment
[case]
name = "jet"
sped = 3

[grid]
nx = -3
ny = "many"
dx = inf
'periodic_x' = 1

[grdi]
nx = 2
ny = 3

[time]
stepper = "ab4"
dt = 3
cfl = 0.2

[physics]
depth = 0
slip = true

[run]
layout = "2by3"
nproc = 2.5
days = -1

[output]
every = "6 lightyears"
fields = [
    "h",
    "vortictiy",
]
means = "h"

[[station]]
name = "harbour"
x = 1e3
y = 2e3

[[station]]
name = "buoy"
x = "far"

[[section]]
name = "strait"
start = [0, 0]
end = [1e4, 0]

[[station]]
depht = 3
"""


@pytest.mark.fault("a wrong configuration")
@pytest.mark.fault("an error in one of many stations has the line of another")
def test_everything_that_is_wrong_with_a_file_with_its_lines(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text(FILE)
    expected = {
        "4: case.sped": 'did you mean "speed"?',
        "7: grid.nx": "at least 1, not -3",
        "8: grid.ny": 'a whole number of cells, not "many"',
        "9: grid.dx": "a finite number in m, not inf",
        "10: grid.periodic_x": "true or false, not 1",
        "13: grdi.nx": 'did you mean "grid"?',
        "17: time.stepper": 'did you mean "ab3"?',
        "19: time.cfl": "dt or cfl, not both",
        "22: physics.depth": "above 0 m, not 0",
        "23: physics.slip": "known are free, no",
        "26: run.layout": 'like 2x3 (blocks in y by blocks in x), not "2by3"',
        "27: run.nproc": "a whole number of processes, not 2.5",
        "28: run.days": "at least 0 days, not -1",
        "31: output.every": 'seconds or a text such as "6 h"',
        "32: output.fields": 'no choice "vortictiy"; known are',
        "36: output.means": 'a list, not "h"',
        "43: [[station]], number 2, x": 'a number in m, not "far"',
        "52: [[station]], number 3, depht": "known are name, lon, lat, x, y",
        "52: [[station]], number 3, name": "must be given",
    }
    lines = {line.removeprefix(f"{path}:") for line in problems(path)}
    assert len(lines) == len(expected)
    for place, words in expected.items():
        assert any(line.startswith(f"{place}: ") and words in line for line in lines), place


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("grid.nx=", 'a whole number of cells, not ""'),
        ("grid.dx=5 km", 'a number in m, not "5 km"'),
        ("grid.dx=nan", "a finite number in m, not nan"),
        ("grid.origin=center", 'did you mean "centre"?'),
        ("grid.nxx=3", 'no such key; did you mean "nx"?'),
        ("gird.nx=3", 'no such section; did you mean "grid"?'),
        ("case.speed=fast", 'a number in m s-1, not "fast"'),
        ("case.name=jett", 'did you mean "jet"?'),
        ("time.dt=fortnight", "not a length of time"),
        ("time.robert_asselin=1", "below 1, not 1"),
        ("run.layout=0x3", "like 2x3"),
        ("output.fields=h,uu", 'did you mean "u"?'),
        ("output.fields=3", 'no choice "3"'),
        ("nx=90", 'did you mean "grid.nx"?'),
        ("grid.nx", "write it as section.key=value"),
    ],
)
def test_an_override_is_quoted_as_it_was_typed(override, words):
    (line,) = problems("jet", [override])
    assert line.startswith(f"-s {override}: ")
    assert words in line


def test_an_override_from_python_and_a_variable_of_the_environment_are_named():
    assert problems("jet", {"grid.nx": None}) == ["grid.nx: must be a whole number of cells, not none"]
    environ = {"SWMODEL_GRID_NX": "-3", "SWMODEL_GRID_NXX": "3", "SWMODEL_LAUNCHER": "1", "SWMODEL_OUTPUT": "x"}
    assert problems("jet", environ=environ) == [
        'SWMODEL_GRID_NXX: no such key; did you mean "nx"?',
        "SWMODEL_GRID_NX: must be at least 1, not -3",
    ]


@pytest.mark.fault("a date that the calendar does not have")
@pytest.mark.parametrize(
    ("start", "calendar", "words"),
    [
        ("1.3.2020", "standard", "is no date"),
        ("2021-02-29", "proleptic_gregorian", "the calendar proleptic_gregorian has no"),
        ("2020-02-29", "noleap", "the calendar noleap has no"),
    ],
)
def test_a_start_that_is_no_day_of_the_calendar_is_refused(start, calendar, words):
    (line,) = problems("jet", {"time.calendar": calendar, "time.start": start})
    assert line.startswith("time.start: ")
    assert words in line


def test_a_case_that_does_not_exist():
    assert problems("jett") == ['jett: there is no case or file of this name; did you mean "jet"?']
    (line,) = problems("zzz")
    assert line.endswith(f"known are {', '.join(cases.names())}")


@pytest.mark.fault("a file that is no configuration: huge, a device, a pipe, not TOML, names of thousands of parts")
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, ": there is no such file"),
        (b"", ": is empty; `swmodel init CASE"),
        (b'[case]\nname = "\xe9"\n', ": cannot be read: it is not text in UTF-8"),
        (b"[grid]\nnx = \n", ":2: not valid TOML: Invalid value"),
        (b"[grid]\nnx = 3\nnx = 4\n", ":3: not valid TOML: Cannot overwrite a value"),
        (b"[grid\nnx = 3\n", ":1: not valid TOML: Expected ']'"),
        (b"[grid]\n\nnx = " + b"[" * 40_000, ":3: not valid TOML: maximum recursion depth"),
        (b"nx = 3\n", ':1: "nx" stands outside a section'),
        (b"[[grid]]\nnx = 3\n", ':1: "grid" stands outside a section'),
        (b"[grdi]\nnx = 2\nny = 3\n", ':2: grdi.nx: no such section; did you mean "grid"?'),
        (b"[grid]\nnx = 0x" + b"f" * 9000, ":2: grid.nx: must be at most 1000000000 cells, not a number of 36000 bits"),
    ],
    ids=lambda each: "" if isinstance(each, bytes) else each,
)
def test_a_file_that_holds_no_configuration_is_refused_in_one_line(tmp_path, content, words):
    path = tmp_path / "my.toml"
    if content is not None:
        path.write_bytes(content)
    (line,) = problems(path)
    assert line.startswith(f"{path}{words}")


@pytest.mark.fault("a file that is no configuration: huge, a device, a pipe, not TOML, names of thousands of parts")
def test_names_of_thousands_of_parts_are_refused_before_they_are_read(tmp_path):
    """The time that tomllib takes for a name grows with the square of its parts: minutes for this one."""
    path, name = tmp_path / "my.toml", "nx" + ".a" * 40_000
    for text in (f"[grid]\n{name} = 1\n", f"[grid]\n[{name}]\n"):
        path.write_text(text)
        (line,) = problems(path)
        assert line.startswith(f"{path}:2: not valid TOML: more than ")
    (line,) = problems("jet", ["grid.nx={" + name + "=1}"])
    assert "must be a whole number of cells, not" in line


@pytest.mark.fault("a file that is no configuration: huge, a device, a pipe, not TOML, names of thousands of parts")
def test_what_is_no_configuration_is_not_read(tmp_path):
    huge, pipe = tmp_path / "huge.toml", tmp_path / "pipe.toml"
    with open(huge, "wb") as file:
        file.truncate(10**12)
    os.mkfifo(pipe)
    for path, words in ((huge, "is no configuration"), (pipe, "not a file"), ("/dev/zero", "not a file")):
        (line,) = problems(path)
        assert words in line


@pytest.mark.fault("thousands of problems in a configuration, megabytes and control characters in a message")
def test_of_many_problems_the_first_are_shown_and_looked_up(tmp_path, monkeypatch):
    """A suggestion costs a comparison with all that is known: it is not made where it is not shown."""
    suggested = []
    original = errors.suggest
    monkeypatch.setattr(errors, "suggest", lambda *given: suggested.append(given) or original(*given))
    path = tmp_path / "many.toml"
    path.write_text("[grid]\n" + "".join(f"k{n}=1\n" for n in range(9000)))
    lines = problems(path)
    assert len(lines) == MOST_LINES + 1
    assert all("no such key; known are" in line for line in lines[:-1])
    assert lines[-1] == f"... and {9000 - MOST_LINES} more"
    assert len(suggested) == MOST_LINES


@pytest.mark.fault("thousands of problems in a configuration, megabytes and control characters in a message")
def test_a_long_value_is_shown_by_its_ends():
    (line,) = problems("jet", [f"grid.nx={'a' * 90_000}"])
    assert line.startswith("-s grid.nx=aaa")
    assert 'a: must be a whole number of cells, not "aaa' in line
    assert line.endswith(" characters ...] " + LONGEST_QUOTE // 2 * "a" + '"')
    assert len(line) < 3 * LONGEST_QUOTE


@pytest.mark.parametrize("text", ["a" * 10**6, "\x1b[2J" * 10**4, "a" * (LONGEST_LINE + 30), "short"])
def test_a_line_that_was_made_for_a_terminal_stays_as_it_is(text):
    assert as_line(as_line(text)) == as_line(text)
    assert as_line(text).isprintable()


@pytest.mark.fault("thousands of problems in a configuration, megabytes and control characters in a message")
def test_signs_that_command_a_terminal_are_shown_as_text(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text('[grid]\n"a\\u001b[31mb\\nc" = 1\n["x\\u0007\\u009by"]\nk = 1\n')
    assert {line.removeprefix(str(path)).split(": no such")[0] for line in problems(path)} == {
        ":1: grid.a\\x1b[31mb\\nc",
        ":1: x\\x07\\x9by.k",
    }
