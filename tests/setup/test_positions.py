"""Positions of gauges, and faces of sections."""

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
    options = {"name": "a", "start": [8e3, 5e3], "end": [60e3, 50e3]}
    config = load(configuration(NY, NX, FIELDS), {"output.sections": [options]})
    (section,) = config.output.sections
    rows, columns = stair_corners(config.grid, section.name, section.start, section.end)
    assert (rows[0], columns[0], rows[-1], columns[-1]) == (0, 1, 9, 14)
    assert set(np.abs(np.diff(rows)) + np.abs(np.diff(columns))) == {1}
    distance_times_length = (rows - 0) * 13 - (columns - 1) * 9  # from the line, of the line; both in cells
    assert np.abs(distance_times_length).max() <= 0.5 * (13 + 9)


@pytest.mark.fault("a section goes the wrong way round a periodic axis, or beyond a wall")
@pytest.mark.parametrize(("start", "end"), [(56e3, 80e3), (-12e3, 12e3), (56e3, 12e3 + 136e3)])
def test_section_across_the_end_of_a_periodic_axis_has_two_parts(start, end):
    """Such a section has an end beyond the domain; a section whose two ends are inside stays inside."""
    ends = {"whole": (start, end), "first": (56e3, 68e3), "second": (0.0, 12e3), "inside": (12e3, 56e3)}
    sections = [{"name": name, "start": [x, 20e3], "end": [x1, 20e3]} for name, (x, x1) in ends.items()]
    config = load(configuration(NY, NX, FIELDS), {"output.sections": sections})
    whole, first, second, inside = (cross_section(config, section) for section in config.output.sections)
    for all_faces, *parts in zip(whole.faces, first.faces, second.faces, strict=True):
        np.testing.assert_array_equal(all_faces, np.concatenate(parts))
    assert len(whole.faces.axis) > 3
    assert np.ptp(whole.ends[:, 0]) == pytest.approx(24e3)
    assert set(inside.faces.columns).isdisjoint(whole.faces.columns)


@pytest.mark.fault("a gauge is on land or has no x and y, or a gauge or a section is outside the domain")
@pytest.mark.parametrize(
    ("key", "position", "words"),
    [
        ("stations", {"x": 27e3, "y": 27e3}, "on land"), ("stations", {"x": -5e3, "y": 1.0}, "x = -5000 m is outside"),
        ("stations", {"lon": 5.0, "lat": 1.0}, "needs x and y"),
        ("sections", {"start": [56e3, 20e3], "end": [80e3, 20e3]}, "x = 80000 m is outside"),
    ],
)  # fmt: skip
def test_positions_outside_or_on_land_are_refused(key, position, words):
    config = configuration(NY, NX, FIELDS, grid__periodic_x=False)
    (problem,) = problems_of(lambda: Simulation(load(config, {f"output.{key}": [{"name": "buoy"} | position]})))
    assert "buoy" in problem
    assert words in problem
