"""What is wrong with a configuration is said at once, with its place, in the words and units of the user."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swmodel import cases, errors, load
from swmodel.config import Config, ConfigError, to_toml
from swmodel.config.loading.sources import LONGEST_FILE, MOST_DOTS
from swmodel.errors import LONGEST_LINE, LONGEST_QUOTE, MOST_LINES, as_line
from swmodel.ocean.table import FORCING, WRITABLE

MEANS, FIELDS = (", ".join(names) for names in (WRITABLE, (*WRITABLE, *FORCING)))


def problems(source="jet", overrides=(), environ=None):
    """The lines of the ConfigError that `load` raises."""
    with pytest.raises(ConfigError) as caught:
        load(source, overrides, environ or {})
    assert str(caught.value) == "\n".join(caught.value.problems)
    assert caught.value.exit_code == 2
    return list(caught.value.problems)


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
"""


def test_everything_that_is_wrong_with_a_file_with_its_lines(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text(FILE)
    expected = [
        '4: case.sped: no such key; did you mean "speed"?',
        "7: grid.nx: must be at least 1 cells, not -3",
        '8: grid.ny: must be a whole number of cells, not "many"',
        "9: grid.dx: must be a finite number in m, not inf",
        "10: grid.periodic_x: must be true or false, not 1",
        '12: [grdi]: no such section; did you mean "grid"?',
        '17: time.stepper: no choice "ab4"; did you mean "ab3"?',
        "19: time.cfl: give dt or cfl, not both",
        "22: physics.depth: must be above 0 m, not 0",
        "23: physics.slip: no choice true; known are free, no",
        '26: run.layout: must be like 2x3 (blocks in y by blocks in x), not "2by3"',
        "27: run.nproc: must be a whole number of processes, not 2.5",
        "28: run.days: must be at least 0 days, not -1",
        '31: output.every: "6 lightyears" is not a length of time; write seconds or a text such as "6 h" or "2 days"',
        f'32: output.fields: no choice "vortictiy"; known are {FIELDS}',
        '36: output.means: must be a list, not "h"',
    ]
    found = problems(path)
    assert sorted(found, key=lambda line: int(line.split(":")[1])) == [f"{path}:{line}" for line in expected]


STATIONS = """\
[[station]]
name = "harbour"
x = 1e3
y = 2e3

[[station]]
name = "buoy"
x = "far"
y = 3e3

[[section]]
name = "strait"
start = [0, 0]
end = [1e4, 0]

[[station]]
depht = 3
"""


def test_what_is_wrong_with_one_of_many_stations_has_the_line_of_that_one(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text(STATIONS)
    assert problems(path) == [
        f'{path}:6: [[station]], number 2, x: must be a number in m, not "far"',
        f"{path}:16: [[station]], number 3, name: must be given: of the station",
        f"{path}:16: [[station]], number 3, depht: there is no such key; known are name, lon, lat, x, y",
    ]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("grid.nx=-3", "must be at least 1 cells, not -3"),
        ("grid.nx=0.5", "must be a whole number of cells, not 0.5"),
        ("grid.nx=", 'must be a whole number of cells, not ""'),
        ("grid.dx=-5e3", "must be above 0 m, not -5000.0"),
        ("grid.dx=5 km", 'must be a number in m, not "5 km"'),
        ("grid.dx=nan", "must be a finite number in m, not nan"),
        ("grid.dy=[1]", "must be a number in m, not [1]"),
        ("grid.periodic_x=maybe", 'must be true or false, not "maybe"'),
        ("grid.origin=center", 'no choice "center"; did you mean "centre"?'),
        ("grid.nxx=3", 'no such key; did you mean "nx"?'),
        ("gird.nx=3", 'no such section; did you mean "grid"?'),
        ("case.speed=fast", 'must be a number in m s-1, not "fast"'),
        ("case.name=jett", 'no case "jett"; did you mean "jet"?'),
        ("scheme.vorticity_flux=energi", 'no choice "energi"; did you mean "energy"?'),
        ("time.dt=0", "must be above 0 s, not 0"),
        ("time.dt=fortnight", '"fortnight" is not a length of time; write seconds or a text such as "6 h" or "2 days"'),
        ("time.robert_asselin=1", "must be below 1, not 1"),
        ("time.cfl=true", "must be a number, not true"),
        ("run.steps=-1", "must be at least 0 steps, not -1"),
        ("run.layout=0x3", 'must be like 2x3 (blocks in y by blocks in x), not "0x3"'),
        ("output.fields=h,uu", 'no choice "uu"; did you mean "u"?'),
        ("output.fields=3", f'no choice "3"; known are {FIELDS}'),
        ("output.every_steps=0", "must be at least 1 steps, not 0"),
        ("nx=90", 'a key is written section.key; did you mean "grid.nx"?'),
        ("foo=90", "a key is written section.key, such as grid.nx"),
        ("grid.nx", "write it as section.key=value"),
    ],
)
def test_an_override_is_quoted_as_it_was_typed(override, message):
    assert problems("jet", [override]) == [f"-s {override}: {message}"]


def test_an_override_from_python_is_named_by_its_key():
    assert problems("jet", {"grid.nx": -3}) == ["grid.nx: must be at least 1 cells, not -3"]
    assert problems("jet", {"grid.nx": None}) == ["grid.nx: must be a whole number of cells, not none"]


def test_an_environment_variable_is_named():
    environ = {"SWMODEL_GRID_NX": "-3", "SWMODEL_GRID_NXX": "3", "SWMODEL_LAUNCHER": "1", "SWMODEL_OUTPUT": "x"}
    assert problems("jet", environ=environ) == [
        'SWMODEL_GRID_NXX: no such key; did you mean "nx"?',
        "SWMODEL_GRID_NX: must be at least 1 cells, not -3",
    ]


@pytest.mark.parametrize(
    ("section", "first", "second"),
    [("run", "steps", "days"), ("time", "dt", "cfl"), ("output", "every", "every_steps")],
)
def test_two_alternatives_at_once(section, first, second):
    expected = f"-s {section}.{second}=1: give {first} or {second}, not both"
    assert problems("jet", [f"{section}.{first}=1", f"{section}.{second}=1"]) == [expected]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("[grid]\nnx = \n", 2, "not valid TOML: Invalid value"),
        ("[grid]\nnx = 3\nnx = 4\n", 3, "not valid TOML: Cannot overwrite a value"),
        ("[grid\nnx = 3\n", 1, "not valid TOML: Expected ']' at the end of a table declaration"),
        ("nx = 3\n", 1, '"nx" stands outside a section such as [grid]'),
        ('case = "jet"\n', 1, '"case" is a section: write its keys below [case]'),
        ("[[grid]]\nnx = 3\n", 1, '"grid" is a section: write its keys below [grid]'),
    ],
)
def test_toml_that_is_not_valid(tmp_path, text, line, message):
    path = tmp_path / "my.toml"
    path.write_text(text)
    assert problems(path) == [f"{path}:{line}: {message}"]


def test_files_that_cannot_be_read(tmp_path):
    assert problems(tmp_path / "none.toml") == [f"{tmp_path}/none.toml: there is no such file"]
    assert problems(tmp_path) == [f"{tmp_path}: is a folder, not a file"]
    (tmp_path / "latin.toml").write_bytes(b'[case]\nname = "\xe9"\n')
    assert problems(tmp_path / "latin.toml") == [f"{tmp_path}/latin.toml: cannot be read: it is not text in UTF-8"]


def test_a_case_that_does_not_exist():
    assert problems("jett") == ['jett: there is no case or file of this name; did you mean "jet"?']
    found = problems("zzz")
    assert found == [f"zzz: there is no case or file of this name; known are {', '.join(cases.names())}"]


def test_an_empty_file_says_how_to_fill_it(tmp_path):
    (tmp_path / "my.toml").write_text("")
    with pytest.raises(ConfigError, match=r"my.toml: is empty; `swmodel init CASE"):
        load(tmp_path / "my.toml", environ={})


def test_one_mistake_in_a_section_name_is_one_line(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text("[grdi]\nnx = 2\nny = 3\n")
    assert problems(path) == [f'{path}:1: [grdi]: no such section; did you mean "grid"?']


def message(source, overrides=()) -> list[str]:
    """The lines that a user sees, of an error with any number of problems."""
    with pytest.raises(ConfigError) as caught:
        load(source, overrides, {})
    return str(caught.value).split("\n")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[grid]\n" + "".join(f"k{n}=1\n" for n in range(9000)), "key"),
        ("".join(f"[t{n}]\n" for n in range(9000)), "section"),
    ],
)
def test_of_many_problems_the_first_are_shown_and_looked_up(tmp_path, monkeypatch, text, kind):
    """A suggestion costs a comparison with all that is known: it is not made where it is not shown."""
    suggested = []
    original = errors.suggest
    monkeypatch.setattr(errors, "suggest", lambda *given: suggested.append(given) or original(*given))
    path = tmp_path / "many.toml"
    path.write_text(text)
    lines = message(path)
    assert len(lines) == MOST_LINES + 1
    assert all(f"no such {kind}; known are" in line for line in lines[:-1])
    assert lines[-1] == f"... and {9000 - MOST_LINES} more"
    assert len(suggested) == MOST_LINES


def test_a_long_value_is_shown_by_its_ends(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text(f'[grid]\nnx = "{"a" * 90_000}"\n')
    (line,) = message(path)
    assert line.startswith(f'{path}:2: grid.nx: must be a whole number of cells, not "aaa')
    assert line.endswith(" characters ...] " + LONGEST_QUOTE // 2 * "a" + '"')
    (line,) = message("jet", [f"grid.nx={'a' * 90_000}"])
    assert line.startswith("-s grid.nx=aaa")
    assert "characters ...] aaa" in line
    assert 'a: must be a whole number of cells, not "aaa' in line
    assert len(line) < 3 * LONGEST_QUOTE


@pytest.mark.parametrize("text", ["a" * 10**6, "\x1b[2J" * 10**4, "a" * (LONGEST_LINE + 30), "short"])
def test_a_line_that_was_made_for_a_terminal_stays_as_it_is(text):
    assert as_line(as_line(text)) == as_line(text)
    assert as_line(text).isprintable()


def test_signs_that_command_a_terminal_are_shown_as_text(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text('[grid]\n"a\\u001b[31mb\\nc" = 1\n["x\\u0007\\u009by"]\n')
    assert sorted(line.removeprefix(str(path)) for line in message(path)) == [
        ": [x\\x07\\x9by]: no such section; known are " + ", ".join(Config.model_fields),
        ":1: grid.a\\x1b[31mb\\nc: no such key; known are kind, file, nx, ny, dx, dy, lx, ly, "
        "west, south, dlon, dlat, east, north, pole, radius, rotation, periodic_x, periodic_y, origin",
    ]


def test_numbers_of_any_length_are_refused_in_words(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text("[grid]\nnx = 0x" + "f" * 9000)
    assert message(path) == [f"{path}:2: grid.nx: must be at most 1000000000 cells, not a number of 36000 bits"]
    (line,) = message("jet", [f"run.layout={'9' * 5000}x1"])
    assert "must be like 2x3" in line


def test_what_is_no_configuration_is_not_read(tmp_path):
    huge = tmp_path / "huge.toml"
    with open(huge, "wb") as file:
        file.truncate(10**12)
    (line,) = message(huge)
    assert line.startswith(f"{huge}: is no configuration: it has more than {LONGEST_FILE} bytes")
    assert "gauges" in line
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    for path in (pipe, "/dev/zero"):
        assert message(path) == [f"{path}: is a device or a pipe; write the configuration into a file"]


def test_names_of_thousands_of_parts_are_refused_before_they_are_read(tmp_path):
    """The time that tomllib takes for a name grows with the square of its parts: minutes for this one."""
    path, name = tmp_path / "my.toml", "nx" + ".a" * 40_000
    for text in (f"[grid]\n{name} = 1\n", f"[grid]\n[{name}]\n"):
        path.write_text(text)
        assert message(path) == [f"{path}:2: not valid TOML: more than {MOST_DOTS} dots"]
    path.write_text(f"[grid]\n# {'.' * 200}\nnx = {'[' * 40_000}")
    assert message(path) == [f"{path}:3: not valid TOML: maximum recursion depth exceeded"]
    (line,) = message("jet", ["grid.nx={" + name + "=1}"])
    assert "must be a whole number of cells, not" in line


def loads_or_explains(path, source):
    """Load, write as TOML and load that; a ConfigError must have lines, none in the words of the validation library."""
    try:
        config = load(source, (), {})
    except ConfigError as error:
        lines = error.problems
        return bool(lines) and not any("pydantic" in line or "Input should" in line for line in lines)
    path.write_text(to_toml(config))
    return load(path, environ={}) == config


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("any") / "any.toml"


@settings(max_examples=150, deadline=None)
@given(text=st.text(alphabet="[]=.\"'{}#\n abgridnx123-", max_size=40))
def test_any_text_of_a_file_either_loads_or_is_a_configuration_error(path, text):
    path.write_text(text)
    assert loads_or_explains(path.with_name("again.toml"), path)


@pytest.mark.parametrize(
    ("start", "calendar", "words"),
    [
        ("1.3.2020", "standard", 'is no date; write it as "2020-03-01" or "2020-03-01T06:00"'),
        ("2021-02-29", "proleptic_gregorian", "the calendar proleptic_gregorian has no"),
        ("2020-02-29", "noleap", "the calendar noleap has no"),
    ],
)
def test_a_start_that_is_no_day_of_the_calendar_is_refused(start, calendar, words):
    (line,) = problems("jet", {"time.calendar": calendar, "time.start": start})
    assert line.startswith("time.start: ")
    assert f'"{start}"' in line
    assert words in line
