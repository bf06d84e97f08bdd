"""All problems of a configuration are reported at once, with their places and with values as they were typed."""

import os

import pytest
from support.config_file import write_toml

from swmodel import ConfigError, errors, load
from swmodel.errors import MAX_MESSAGE_LINES, MAX_QUOTE_LENGTH, as_line


def problems(source="jet", overrides=(), environ=None):
    """The messages of the ConfigError that `load` raises."""
    with pytest.raises(ConfigError) as error:
        load(source, overrides, environ or {})
    return str(error.value).split("\n")


FILE_WITH_ERRORS = """\
# a comment
[case]
name = "jet"
sped = 3
[grid]
nx = -3
ny = "many"
'periodic_x' = 1
[grdi]
nx = 2
[time]
dt = 3
cfl = 0.2
[output]
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


@pytest.mark.fault("a wrong configuration, for example one of many stations")
def test_all_problems_of_a_file_are_reported_with_their_lines(tmp_path):
    path = write_toml(tmp_path, FILE_WITH_ERRORS)
    expected = {
        "4: case.sped": '"speed"', "6: grid.nx": "-3", "7: grid.ny": '"many"', "8: grid.periodic_x": "true or false",
        "10: grdi.nx": '"grid"', "13: time.cfl": "dt or cfl", "15: output.fields": '"vortictiy"',
        "19: output.means": '"h"', "24: [[station]], number 2, x": '"far"',
        "31: [[station]], number 3, depht": "name, lon, lat, x, y", "31: [[station]], number 3, name": "",
    }  # fmt: skip
    lines = {line.removeprefix(f"{path}:") for line in problems(path)}
    assert len(lines) == len(expected)
    for place, words in expected.items():
        assert any(line.startswith(f"{place}: ") and words in line for line in lines), place


@pytest.mark.fault("a date that the calendar does not have")
@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("grid.dx=5 km", '"5 km"'), ("grid.origin=center", '"centre"'), ("gird.nx=3", '"grid"'),
        ("case.speed=fast", '"fast"'), ("time.dt=fortnight", "length of time"), ("time.robert_asselin=1", "below 1"),
        ("output.fields=h,uu", '"u"'), ("nx=90", '"grid.nx"'), ("grid.nx", "section.key=value"),
        ("output.institution=\udcff", "UTF-8"),
        # Keys of earlier versions, and the keys that replace them.
        ("own.fields=[]", "[python]"), ("tracer.transport='upwind'", "[[tracer]]"), ("time.halvings=3", "max_substeps"),
        ("open_sides.sides='west'", "open_boundaries.sides"), ("input.outside_level=1", "boundary_level"),
        ("open_sides.m2_amplitude=1", "open_boundaries.constituents"),
        ("input.outside_k1_sine='a.nc'", "boundary_tide_level"),
        ("time.start=1.3.2020", ""), ("time.start=2021-02-29", ""), ("time.start=2020-02-29", ""),
    ],
)  # fmt: skip
def test_override_is_quoted_as_typed(override, words):
    (line,) = problems("jet", [*(["time.calendar=noleap"] if "2020-02-29" in override else []), override])
    assert line.startswith(f"-s {as_line(override)}: ")
    assert words in line


def test_message_names_the_source_of_a_value():
    (line,) = problems("jet", {"grid.nx": None})
    assert line.startswith("grid.nx: ")
    wrong_variables = {"SWMODEL_GIRD_NX": "3", "SWMODEL_GRID_NXX": "3", "SWMODEL_GRID_NX": "-3"}
    environ = wrong_variables | {"SWMODEL_LAUNCHER": "1", "SWMODEL_OUTPUT": "x"}
    assert [line.split(":")[0] for line in problems("jet", environ=environ)] == list(wrong_variables)
    assert '"jet"' in problems("jett")[0]


@pytest.mark.fault("a file that is no configuration: huge, a device, a pipe, not TOML, names of thousands of parts")
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, ": there is no such file"), (b"", ": is empty"),
        (b'[case]\nname = "\xe9"\n', ": cannot be read: it is not text in UTF-8"),
        (b"[grid]\nnx = \n", ":2: not valid TOML"), (b"[grid]\nnx = 3\nnx = 4\n", ":3: not valid TOML"),
        (b"[grid\nnx = 3\n", ":1: not valid TOML"),
        (b"[grid]\n\nnx = " + b"[" * 40_000, ":3: not valid TOML"),
        (b"nx = 3\n", ':1: "nx"'), (b"[[grid]]\nnx = 3\n", ':1: "grid"'),
        (b"[grid]\nnx = 0x" + b"f" * 9000, ":2: grid.nx: must be at most 1000000000 cells"),
    ],
    ids=lambda argument: "" if isinstance(argument, bytes) else argument,
)  # fmt: skip
def test_file_without_configuration_is_refused_in_one_line(tmp_path, content, words):
    path = tmp_path / "my.toml"
    if content is not None:
        path.write_bytes(content)
    (line,) = problems(path)
    assert line.startswith(f"{path}{words}")


def test_huge_names_files_and_pipes_are_refused_at_once(tmp_path):
    """The time that tomllib takes for a name grows as the square of the number of its parts, here to minutes."""
    name = "nx" + ".a" * 40_000
    for text in (f"[grid]\n{name} = 1\n", f"[grid]\n[{name}]\n"):
        path = write_toml(tmp_path, text)
        (line,) = problems(path)
        assert line.startswith(f"{path}:2: not valid TOML: more than ")
    assert len(problems("jet", ["grid.nx={" + name + "=1}"])) == 1
    huge, pipe = tmp_path / "huge.toml", tmp_path / "pipe.toml"
    with open(huge, "wb") as file:
        file.truncate(10**12)
    os.mkfifo(pipe)
    for path in (huge, pipe, "/dev/zero"):
        (line,) = problems(path)
        assert line.startswith(str(path))


@pytest.mark.fault("thousands of problems in a configuration, megabytes and control characters in a message")
def test_only_the_first_of_many_problems_are_shown(tmp_path, monkeypatch):
    """The model searches for similar names only for the problems shown, because each search tries every known name."""
    searches, suggest = [], errors.suggest
    monkeypatch.setattr(errors, "suggest", lambda *args: searches.append(args) or suggest(*args))
    lines = problems(write_toml(tmp_path, "[grid]\n" + "".join(f"k{n}=1\n" for n in range(9000))))
    assert len(lines) == MAX_MESSAGE_LINES + 1
    assert str(9000 - MAX_MESSAGE_LINES) in lines[-1]
    assert len(searches) == MAX_MESSAGE_LINES


def test_long_values_are_shortened_and_control_characters_escaped(tmp_path):
    (line,) = problems("jet", [f"grid.nx={'a' * 90_000}"])
    assert line.endswith(MAX_QUOTE_LENGTH // 2 * "a" + '"')
    assert len(line) < 3 * MAX_QUOTE_LENGTH
    path = write_toml(tmp_path, '[grid]\n"a\\u001b[31mb\\nc" = 1\n["x\\u0007\\u009by"]\nk = 1\n')
    lines = {line.removeprefix(str(path)).split(": no such")[0] for line in problems(path)}
    assert lines == {":1: grid.a\\x1b[31mb\\nc", ":1: x\\x07\\x9by.k"}
