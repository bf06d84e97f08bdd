"""The positions of gauges and sections."""

import numpy as np
import pytest
from support.random_case import configuration, random_fields
from support.refusals import problems_of

from swmodel import Simulation, load
from swmodel.ocean.staircase import stair_corners
from swmodel.setup.positions.cross_sections import cross_section

NY, NX = 13, 17
FIELDS = random_fields(NY, NX, land=0.0) | {"mask": np.ones((NY, NX))}
FIELDS["mask"][4:7, 5:9] = 0.0


def test_slanting_section_follows_cell_faces_near_its_line():
    place = {"name": "a", "start": [8e3, 5e3], "end": [60e3, 50e3]}
    config = load(configuration(NY, NX, FIELDS), {"output.sections": [place]})
    (line,) = config.output.sections
    rows, columns = stair_corners(config.grid, line.name, line.start, line.end)
    assert (rows[0], columns[0], rows[-1], columns[-1]) == (0, 1, 9, 14)
    assert set(np.abs(np.diff(rows)) + np.abs(np.diff(columns))) == {1}
    away = (rows - 0) * 13 - (columns - 1) * 9  # times the length of the line in cells
    assert np.abs(away).max() <= 0.5 * (13 + 9)


@pytest.mark.fault("a section goes the wrong way round a periodic axis, or beyond a wall")
@pytest.mark.parametrize(("start", "end"), [(56e3, 80e3), (-12e3, 12e3), (56e3, 12e3 + 136e3)])
def test_section_across_the_end_of_a_periodic_axis_has_two_parts(start, end):
    """At least one of its ends is written beyond the domain; with both inside, a section stays inside."""
    names = {"whole": (start, end), "first": (56e3, 68e3), "second": (0.0, 12e3), "long": (12e3, 56e3)}
    lines = [{"name": name, "start": [x, 20e3], "end": [x1, 20e3]} for name, (x, x1) in names.items()]
    config = load(configuration(NY, NX, FIELDS), {"output.sections": lines})
    whole, first, second, long = (cross_section(config, line) for line in config.output.sections)
    for ours, *parts in zip(whole.faces, first.faces, second.faces, strict=True):
        np.testing.assert_array_equal(ours, np.concatenate(parts))
    assert len(whole.faces.axis) > 3
    assert np.ptp(whole.ends[:, 0]) == pytest.approx(24e3)
    assert set(long.faces.columns).isdisjoint(whole.faces.columns)


@pytest.mark.fault("a gauge on land, outside, twice, or without a position")
@pytest.mark.parametrize(
    ("key", "place", "words"),
    [
        ("stations", {"x": 27e3, "y": 27e3}, "on land"), ("stations", {"x": -5e3, "y": 1.0}, "x = -5000 m is outside"),
        ("stations", {"lon": 5.0, "lat": 1.0}, "needs x and y"),
        ("sections", {"start": [56e3, 20e3], "end": [80e3, 20e3]}, "x = 80000 m is outside"),
    ],
)  # fmt: skip
def test_positions_outside_or_on_land_are_refused(key, place, words):
    config = configuration(NY, NX, FIELDS, grid__periodic_x=False)
    (line,) = problems_of(lambda: Simulation(load(config, {f"output.{key}": [{"name": "buoy"} | place]})))
    assert "buoy" in line
    assert words in line
