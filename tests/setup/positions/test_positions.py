"""Where gauges and sections lie: a stair beside its line, across the end of a ring, and what cannot be."""

import numpy as np
import pytest
from support.random_case import configuration, random_fields

import swmodel
from swmodel import ConfigError
from swmodel.setup.positions.crossings import path_of, section

NY, NX = 13, 17
FIELDS = random_fields(NY, NX, land=0.0) | {"mask": np.ones((NY, NX))}
FIELDS["mask"][4:7, 5:9] = 0.0


def test_a_slanting_section_is_a_stair_next_to_its_line():
    config = configuration(NY, NX, FIELDS)
    (line,) = swmodel.load(
        config, {"output.sections": [{"name": "a", "start": [8e3, 5e3], "end": [60e3, 50e3]}]}
    ).output.sections
    rows, columns = path_of(config, line)
    assert (rows[0], columns[0], rows[-1], columns[-1]) == (0, 1, 9, 14)
    assert set(np.abs(np.diff(rows)) + np.abs(np.diff(columns))) == {1}
    away = (rows - 0) * 13 - (columns - 1) * 9  # times the length of the line in cells
    assert np.abs(away).max() <= 0.5 * (13 + 9)


@pytest.mark.fault("a section goes the wrong way round a periodic axis, or beyond a wall")
@pytest.mark.parametrize(("start", "end"), [(56e3, 80e3), (-12e3, 12e3), (56e3, 12e3 + 136e3)])
def test_a_section_across_the_end_of_a_ring_is_that_to_the_end_and_that_from_there(start, end):
    """Wherever its ends are written, one at least beyond the domain; within it a section stays there."""
    names = {"whole": (start, end), "first": (56e3, 68e3), "second": (0.0, 12e3), "long": (12e3, 56e3)}
    lines = [{"name": name, "start": [x, 20e3], "end": [x1, 20e3]} for name, (x, x1) in names.items()]
    config = swmodel.load(configuration(NY, NX, FIELDS), {"output.sections": lines})
    whole, first, second, long = (section(config, line) for line in config.output.sections)
    for ours, *parts in zip(whole.faces, first.faces, second.faces, strict=True):
        np.testing.assert_array_equal(ours, np.concatenate(parts))
    assert len(whole.faces.axis) > 3
    assert np.ptp(whole.ends[:, 0]) == pytest.approx(24e3)
    assert set(long.faces.columns).isdisjoint(whole.faces.columns)


@pytest.mark.fault("a section goes the wrong way round a periodic axis, or beyond a wall")
def test_a_section_beyond_a_wall_is_refused():
    config = configuration(NY, NX, FIELDS, grid__periodic_x=False)
    config = swmodel.load(config, {"output.sections": [{"name": "a", "start": [56e3, 20e3], "end": [80e3, 20e3]}]})
    with pytest.raises(ConfigError, match='the section "a": x = 80000 m is outside the domain, 0 to 68000 m'):
        swmodel.Simulation(config)


@pytest.mark.fault("a gauge on land, outside, twice, or without a position")
@pytest.mark.parametrize(
    ("station", "words"),
    [
        ({"x": 27e3, "y": 27e3}, "on land; the nearest water is 9"),
        ({"x": -5e3, "y": 1.0}, "x = -5000 m is outside the domain, 0 to 68000 m"),
        ({"lon": 5.0, "lat": 1.0}, "needs x and y, in m, and no other position"),
    ],
)
def test_a_station_that_cannot_be_is_refused_in_one_line(station, words):
    config = swmodel.load(configuration(NY, NX, FIELDS), {"output.stations": [{"name": "buoy"} | station]})
    with pytest.raises(ConfigError) as caught:
        swmodel.Simulation(config)
    (line,) = caught.value.problems
    assert line.startswith("output.stations: ")
    assert "buoy" in line
    assert words in line
