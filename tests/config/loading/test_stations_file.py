"""`output.stations = "gauges.csv"`: the same gauges as tables [[station]]; bad lines are refused with their numbers."""

import pytest

from swmodel import ConfigError, load
from swmodel.config import to_toml
from swmodel.model.validate import check_config
from swmodel.setup.fields.netcdf_input import read
from swmodel.setup.positions.gauges import gauges
from swmodel.setup.setup import setup_of

GOOD = "name, x, y, note\n# the first one\nold harbour, 2e5, 1e5, steep\n\nbuoy,3e5,1.5e5,\n"


@pytest.fixture
def folder(tmp_path):
    def write(stations, more=""):
        (tmp_path / "gauges.csv").write_text(stations)
        path = tmp_path / "my.toml"
        path.write_text(f'[case]\nname = "rest"\n[output]\nstations = "gauges.csv"\n{more}')
        return path

    return write


def refused(path, overrides=()):
    with pytest.raises(ConfigError) as caught:
        load(path, overrides, {})
    return list(caught.value.problems)


def test_a_file_gives_the_stations_of_the_tables(folder, tmp_path):
    tables = [{"name": "old harbour", "x": 2e5, "y": 1e5}, {"name": "buoy", "x": 3e5, "y": 1.5e5}]
    wanted = load("rest", {"output.stations": tables}, {})
    assert load(folder(GOOD), {}, {}).output == wanted.output
    given = load("rest", [f"output.stations={tmp_path / 'gauges.csv'}"], {})
    assert given.output == wanted.output


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD.replace("3e5", "3e5 m"), ("gauges.csv:5", 'x must be a number, not "3e5 m"')),
        (GOOD.replace("3e5", "nan"), ("gauges.csv:5", "x: must be a finite number in m")),
        (GOOD.replace("buoy,", ""), ("gauges.csv:5", "3 values for 4 columns")),
        (GOOD.replace("buoy", "old harbour"), ("gauges.csv:5", '"old harbour" is there already, in line 3')),
        (GOOD.replace("buoy", ""), ("gauges.csv:5", "name: must be a name")),
        (GOOD.replace(" x,", " lon,"), ("gauges.csv", "must name the columns name, lon, lat")),
        (GOOD.replace("buoy", '"buoy'), ("gauges.csv:5", "1 values for 4 columns")),
        ("", ("gauges.csv", "must name the columns")),
        ("name,x,y\n", ("gauges.csv", "has no station")),
        ("name,x,y\n" + "".join(f"g{k},1,1\n" for k in range(30_000)), ("30000 stations", "20000 at most")),
    ],
)
def test_a_bad_line_is_refused_with_its_number(folder, text, words):
    (line,) = refused(folder(text))
    for each in words:
        assert each in line


def test_a_file_that_is_not_there_is_named(folder):
    (line,) = refused(folder(GOOD), ["output.stations=none.csv"])
    assert "none.csv: there is no such file" in line


def test_stations_from_both_a_file_and_tables_are_refused(folder):
    (line,) = refused(folder(GOOD, '[[station]]\nname = "a"\nx = 1e5\ny = 1e5\n'))
    assert "not both" in line


def test_the_configuration_of_a_run_with_many_stations_is_one_again(tmp_path):
    """On lines of their own: a line of many dots is refused."""
    many = [{"name": f"g{k}", "x": 1e5 + 0.5 * k, "y": 1e5} for k in range(100)]
    config = load("rest", {"output.stations": many}, {})
    path = tmp_path / "config.toml"
    path.write_text(to_toml(config))
    assert load(path, {}, {}).output == config.output


def test_files_are_opened_as_often_for_many_stations_as_for_one(tmp_path, monkeypatch):
    """A thousand gauges took half a minute before the first step."""
    from swmodel.files.relief import Wish, make_grid

    make_grid(tmp_path / "sea.nc", Wish((-40.0, -20.0, 30.0, 40.0), 1.0))
    opened, count = read.open_file, []
    monkeypatch.setattr(read, "open_file", lambda *given: count.append(given) or opened(*given))

    def times(number):
        places = [{"name": f"g{k}", "lon": -39.0 + 0.02 * k, "lat": 35.0} for k in range(number)]
        config = load("sea", {"grid.file": str(tmp_path / "sea.nc"), "output.stations": places}, {})
        count.clear()
        gauges(setup_of(check_config(config)))
        return len(count)

    assert times(500) == times(1)
