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
    return str(caught.value)


@pytest.mark.fault("the configuration of a run with many gauges cannot be read again")
def test_a_file_gives_the_stations_of_the_tables(folder, tmp_path):
    """And so does the configuration of a run, which has them all."""
    tables = [{"name": "old harbour", "x": 2e5, "y": 1e5}, {"name": "buoy", "x": 3e5, "y": 1.5e5}]
    wanted = load("rest", {"output.stations": tables}, {})
    config = load(folder(GOOD), {}, {})
    assert config.output == load("rest", [f"output.stations={tmp_path / 'gauges.csv'}"], {}).output == wanted.output
    again = tmp_path / "config.toml"
    again.write_text(to_toml(config))
    assert load(again, {}, {}).output == wanted.output


@pytest.mark.fault("a bad line in a file of gauges is ignored")
@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (GOOD.replace("3e5", "3e5 m"), ":5, x", 'must be a number in m, not "3e5 m"'),
        (GOOD.replace("3e5", "nan"), ":5, x", "must be a finite number"),
        (GOOD.replace("buoy,", ""), ":5", "3 values for 4 columns"),
        (GOOD.replace("buoy", ""), ":5, name", "1 to 64 letters"),
        (GOOD.replace(" x,", " lon,"), "", "must name the columns name, lon, lat"),
        ("", "", "must name the columns"),
        ("name,x,y\n", "", "has 0 stations"),
        ("name,x,y\n" + "".join(f"g{k},1,1\n" for k in range(30_000)), "", "30000 stations"),
    ],
    ids=lambda each: each if len(each) < 40 else "",
)
def test_a_bad_line_is_refused_with_its_number(folder, text, place, words):
    line = refused(folder(text))
    assert f"gauges.csv{place}: " in line
    assert words in line


@pytest.mark.fault("gauges from tables and from a file: one of both is lost")
def test_stations_from_nowhere_or_from_both_a_file_and_tables_are_refused(folder):
    assert "none.csv: there is no such file" in refused(folder(GOOD), ["output.stations=none.csv"])
    assert "not both" in refused(folder(GOOD, '[[station]]\nname = "a"\nx = 1e5\ny = 1e5\n'))


@pytest.mark.fault("each gauge opens the files of the grid again")
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
