"""Pictures of floods: fields have no value on dry ground, whose height and edge are those of the record."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from support.flooding import NX, NY, make_config

import swmodel
from swmodel.plotting import derived, ground, maps, maxima
from swmodel.plotting.dataset import open_data
from swmodel.plotting.panels import coast_lines

pytestmark = pytest.mark.slow

RECORD = 4


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flood") / "run"
    options = {"output__every_steps": 8, "output__means": ("wet",), "output__fields": ("eta", "h", "u", "v", "wet")}
    swmodel.Simulation(make_config(**options, run__dtype="float32", run__executor="reference")).run(folder)
    with open_data(folder / "output.nc") as data:
        yield data


def wet_in(data, record=RECORD):
    return np.ma.filled(data["wet"][record], 0) == 1


def n_coast_faces(water):
    return int((water[1:] != water[:-1]).sum() + (water[:, 1:] != water[:, :-1]).sum())


def n_inner_lines(lines):
    x, y = np.nanmean(lines, axis=1).T
    return int(((x > 0) & (x < 200 * NX) & (y > 0) & (y < 250 * NY)).sum())


def test_fields_have_values_in_wet_cells_only(data):
    wet = wet_in(data)
    for name in ("eta", "h", "speed", "wet", "kinetic_energy"):
        field = derived.read_displayed_field(data, name, RECORD)
        np.testing.assert_array_equal(~np.ma.getmaskarray(field.values), wet)
        heights = np.ma.getdata(field.ground.values)
        land = np.ma.getmaskarray(data["depth"][:])
        np.testing.assert_array_equal(heights[~land], -data["depth"][:].compressed())
        assert (heights[land] == ground.PERMANENT_LAND_HEIGHT).all()
        np.testing.assert_array_equal(np.ma.getmaskarray(field.ground.values), wet)
        assert n_inner_lines(coast_lines(field.ground)) == n_coast_faces(wet)
    wet = np.pad(wet, ((0, 1), (0, 1)))  # faces next to a wet cell have values
    beside_water = {"u": wet[:-1, :-1] | wet[:-1, 1:], "v": wet[:-1, :-1] | wet[1:, :-1]}
    for name, has_values in beside_water.items():
        values = derived.read_displayed_field(data, name, RECORD).values
        np.testing.assert_array_equal(~np.ma.getmaskarray(values), has_values)


def test_coast_of_the_record_is_drawn(data):
    figure = maps.draw_fields(data, ["eta"], RECORD)
    (panel,) = (axes for axes in figure.axes if axes.images)
    (lines,) = (collection for collection in panel.collections if isinstance(collection, LineCollection))
    drawn_lines = np.concatenate([path.vertices for path in lines.get_paths()]).reshape(-1, 3, 2)
    assert n_inner_lines(drawn_lines) == n_coast_faces(wet_in(data))
    highest = ground.max_floodable_height(derived.read_displayed_field(data, "eta", 0).ground)
    assert f"to {highest:.3g} m" in figure.texts[0].get_text()


def test_floods_are_drawn_on_ground_that_is_dry_at_the_start(data):
    wet_at_start, last = wet_in(data, 0), len(data["time"]) - 1
    names = ("h_max", "eta_max", "wet_arrival")
    floods = [maxima.to_flood_map(derived.read_displayed_field(data, name, last)) for name in names]
    for each in floods:
        np.testing.assert_array_equal(np.ma.getmaskarray(each.ground.values), wet_at_start)
    flooded = ~np.ma.getmaskarray(floods[0].values)
    assert flooded.any()
    assert not (flooded & wet_at_start).any()
    np.testing.assert_array_equal(~np.ma.getmaskarray(floods[2].values), flooded)
    np.testing.assert_array_equal(~np.ma.getmaskarray(floods[1].values) & ~wet_at_start, flooded)
    assert len([axes for axes in maxima.draw_maxima(data, last).axes if axes.images]) == 4
    no_ground = replace(floods[0].ground, values=np.ma.masked_all_like(floods[0].ground.values))
    legends = [ground.ground_legend([replace(floods[0], ground=each)]) for each in (floods[0].ground, no_ground)]
    assert list(map(len, legends)) == [1, 0]
