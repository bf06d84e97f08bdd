"""Pictures of floods: fields have no value on dry ground, whose height and edge are those of the record."""

import json
import zlib
from base64 import b64decode

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from support.flooding import NX, NY, sea

import swmodel
from swmodel import plotting
from swmodel.plotting import derived, ground, maps, maxima
from swmodel.plotting.dataset import open_data
from swmodel.plotting.page import content
from swmodel.plotting.panels import coasts

pytestmark = pytest.mark.slow

RECORD = 4


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flood") / "run"
    options = {"output__every_steps": 8, "output__means": ("wet",), "output__fields": ("eta", "h", "u", "v", "wet")}
    swmodel.Simulation(sea(**options, run__dtype="float32")).run(folder)
    return folder


@pytest.fixture(scope="module")
def data(run):
    with open_data(run / "output.nc") as data:
        yield data


def wet_in(data, record=RECORD):
    return np.ma.filled(data["wet"][record], 0) == 1


def edges_of(water):
    """The number of faces between water and no water."""
    return int((water[1:] != water[:-1]).sum() + (water[:, 1:] != water[:, :-1]).sum())


def inside(lines):
    """The number of lines in the domain."""
    x, y = np.mean(lines, axis=1).T
    return int(((x > 0) & (x < 200 * NX) & (y > 0) & (y < 250 * NY)).sum())


@pytest.mark.parametrize("name", ["eta", "h", "speed", "wet", "kinetic_energy"])
def test_fields_have_values_where_it_is_wet(data, name):
    shown = derived.shown(data, name, RECORD)
    np.testing.assert_array_equal(~np.ma.getmaskarray(shown.values), wet_in(data))
    heights = np.ma.getdata(shown.ground.values)
    land = np.ma.getmaskarray(data["depth"][:])
    np.testing.assert_array_equal(heights[~land], -data["depth"][:].compressed())
    assert (heights[land] == ground.BEYOND).all()
    np.testing.assert_array_equal(np.ma.getmaskarray(shown.ground.values), wet_in(data))
    assert inside(coasts(shown.ground)) == edges_of(wet_in(data))


def test_faces_and_corners_have_values_beside_a_wet_cell(data):
    wet = np.pad(wet_in(data), ((0, 1), (0, 1)))
    beside = {"u": wet[:-1, :-1] | wet[:-1, 1:], "v": wet[:-1, :-1] | wet[1:, :-1]}
    for name, there in beside.items():
        np.testing.assert_array_equal(~np.ma.getmaskarray(derived.shown(data, name, RECORD).values), there)


def test_the_file_without_wet_tells_it_by_the_thickness_and_the_depth_has_none_on_land(data):
    depth, film = np.ma.filled(data["depth"][:], -ground.BEYOND), ground.film_of(data)
    assert film == 0.02
    np.testing.assert_array_equal(np.ma.filled(data["h"][RECORD], 0) > np.float32(film), wet_in(data))
    resting = derived.shown(data, "depth", RECORD)
    np.testing.assert_array_equal(~np.ma.getmaskarray(resting.values), depth > 0)


def test_the_coast_of_each_record_is_drawn(data):
    figure = maps.picture(data, ["eta"], RECORD)
    (panel,) = (axes for axes in figure.axes if axes.images)
    (lines,) = (each for each in panel.collections if isinstance(each, LineCollection))
    assert inside(lines.get_segments()) == edges_of(wet_in(data))
    assert f"to {ground.top_of(derived.shown(data, 'eta', 0).ground):.3g} m" in figure.texts[0].get_text()


def test_maxima_lie_over_the_coast_of_the_start_and_floods_on_what_was_dry(data):
    start, last = wet_in(data, 0), len(data["time"]) - 1
    shown = [maxima.on_land(derived.shown(data, f"{name}", last)) for name in ("h_max", "eta_max", "wet_arrival")]
    for each in shown:
        np.testing.assert_array_equal(np.ma.getmaskarray(each.ground.values), start)
    flooded = ~np.ma.getmaskarray(shown[0].values)
    assert flooded.any()
    assert not (flooded & start).any()
    np.testing.assert_array_equal(~np.ma.getmaskarray(shown[2].values), flooded)
    np.testing.assert_array_equal(~np.ma.getmaskarray(shown[1].values) & ~start, flooded)
    assert len([axes for axes in maxima.largest(data, last).axes if axes.images]) == 4


def test_the_page_has_the_ground_and_a_film_shows_each_coast(run, data, tmp_path):
    found = content.maps(data, ["eta"])
    assert len(zlib.decompress(b64decode(found["ground"]["colours"]))) == 3 * NY * NX
    (field,) = found["fields"]
    levels = np.frombuffer(zlib.decompress(b64decode(field["bytes"])), np.uint8).reshape(-1, NY, NX)
    np.testing.assert_array_equal(levels[RECORD] != content.MISSING, wet_in(data))
    assert field["coast"]
    json.dumps(found)
    assert plotting.animate(run, "speed", output=tmp_path / "film.gif").stat().st_size > 10_000
