"""Barriers: flow over dikes, sills and gates, their lines in tables and files, and which barriers are refused."""

import json

import numpy as np
import pytest
from support.command import invoke_swmodel
from support.marks import night_params

import swmodel
from swmodel.errors import UsageError
from swmodel.gradients.quantities import parse_transport
from swmodel.ocean.barrier_faces import faces_of_barrier
from swmodel.ocean.coordinates import points
from swmodel.ocean.terms.barriers import BarrierOptions

GRAVITY, DEPTH, SIZE = 9.81, 5.0, 50.0
CHANNEL = {
    **{"grid.nx": 40, "grid.ny": 6, "grid.dx": SIZE, "grid.dy": SIZE, "grid.periodic_x": False, "run.dtype": "float64"},
    **{"physics.depth": DEPTH, "physics.gravity": GRAVITY, "time.dt": 1.0, "run.steps": 1},
}
#: A line across the channel through its middle, between columns 19 and 20.
ACROSS = [[1000.0, 0.0], [1000.0, 300.0]]


def channel(level_west, level_east=0.0, options=(), **barrier):
    """The Simulation of a channel with two levels, m, on the sides of a barrier."""
    settings = {**CHANNEL, **dict(options), "barriers.lines": [{"name": "dike", "line": ACROSS, **barrier}]}
    levels = {"eta": lambda at: np.where(at.x < 1000.0, level_west, level_east) + 0.0 * at.y}
    return swmodel.Simulation(swmodel.Case, settings, fields=levels)


def load_with_lines(path, options=CHANNEL):
    """The configuration of a channel with the barriers of a file."""
    return swmodel.load(swmodel.Case, options | {"barriers.lines": str(path)}, environ={})


def flow_in_first_step(sim):
    """Transport per length over the barrier in the first step, m2 s-1, from the rise of the water east of it."""
    before = sim.field("h")[0, 20]
    sim.advance(1)
    return float(sim.field("h")[0, 20] - before) * SIZE / sim.config.time.dt


def test_term_barriers_is_active_only_with_barriers():
    assert "barriers" in channel(0.0, crest=1.0).setup.scheme.term_names
    assert "barriers" not in swmodel.Simulation(swmodel.Case, CHANNEL).setup.scheme.term_names


@pytest.mark.promise("no water passes a barrier below its crest")
@pytest.mark.parametrize("executor", ["reference", *night_params("native", mark=pytest.mark.slow)])
@pytest.mark.parametrize("drying", [False, True])
def test_no_water_passes_below_the_crest(executor, drying):
    """A wall stops a wave, also a wall between the sea and dry ground."""
    options = {"run.executor": executor, "drying.active": drying}
    sim = channel(2.0, -6.0 if drying else 0.0, options, crest=10.0)
    sim.advance(60)
    h = sim.field("h")
    assert np.ptp(h[:, :20]) == np.ptp(h[:, 20:]) == 0
    assert h[0, 20] == (0.0 if drying else DEPTH)


def test_run_with_a_dike_of_many_points_is_resumed(tmp_path):
    """The configuration in the folder holds the dike in one line of 400 numbers."""
    line = [[1000.5 + 0.25 * (n % 2), 0.5 + 1.5 * n] for n in range(200)]
    channel(1.0, 0.0, {"run.executor": "reference"}, line=line, crest=2.5).run(tmp_path / "run")
    assert invoke_swmodel("resume", tmp_path / "run", "--steps", 2, "--quiet").exit_code == 0


@pytest.mark.parametrize("stepper", ["ab2", "gfb"])
@pytest.mark.parametrize(("level_east", "coefficient"), [(0.0, 1.0), (1.4, 0.8), (-2.0, 1.0)])
def test_overtopping_is_that_of_a_broad_crested_weir(stepper, level_east, coefficient):
    """q = C (2/3)^(3/2) sqrt(g) H^(3/2) with the head H above the crest, which is not drowned."""
    options = {"barriers.discharge_coefficient": coefficient, "time.stepper": stepper}
    q = flow_in_first_step(channel(2.0, level_east, options, crest=1.0))
    assert q == pytest.approx(coefficient * (2 / 3) ** 1.5 * GRAVITY**0.5, rel=1e-12)


def test_flow_with_backwater_loses_its_velocity_head_over_the_crest():
    """In steady flow over a drowned sill the levels differ by u² / (2 g), u the velocity over the crest."""
    options = {"open_boundaries.sides": ("west", "east"), "open_boundaries.transport_x": 2.0, "time.dt": 2.0}
    options |= {"physics.linear_drag": 0.0, "barriers.lines": [{"name": "sill", "line": ACROSS, "crest": -1.5}]}
    sim = swmodel.Simulation(swmodel.Case, CHANNEL | options, fields={"u": lambda at: 0.4 + 0.0 * at.x})
    sim.advance(4000)
    h, u = sim.field("h")[2], sim.field("u")[2]
    transports = u[1:38] * (h[1:38] + h[2:39]) / 2
    assert np.ptp(transports) < 1e-9
    velocity_over_crest = transports[0] / (h[20] - DEPTH + 1.5)
    assert velocity_over_crest > 0.5
    assert h[19] - h[20] == pytest.approx(velocity_over_crest**2 / (2 * GRAVITY), rel=1e-9)


def test_gate_opens_in_time_and_water_is_conserved():
    sim = channel(1.0, 0.0, gate=[["10 s", 3.0], ["20 s", -5.0]])
    volume = sim.field("h").sum()
    sim.advance(10)
    assert sim.field("h")[0, 20] == DEPTH
    sim.advance(1500)
    h = sim.field("h")
    assert h.sum() == pytest.approx(volume, rel=1e-13)
    assert abs(h[:, :20].mean() - h[:, 20:].mean()) < 0.1


def geojson(*barriers):
    """The text of a GeoJSON file with barriers (name, crest, line)."""
    features = []
    for name, crest, line in barriers:
        properties, geometry = {"name": name, "crest": crest}, {"type": "LineString", "coordinates": line}
        features.append({"type": "Feature", "properties": properties, "geometry": geometry})
    return json.dumps({"type": "FeatureCollection", "features": features})


SOUTHERN_LINE = [[200.0, 0.0], [200.0, 150.0]]
LINES = {
    "dikes.csv": "name;x;y;crest\nnorth;1000;0;1,5\nnorth;1000;300;1,5\nsouth;200;0;2\nsouth;200;150;2\n",
    "dikes.geojson": geojson(("north", 1.5, ACROSS), ("south", 2.0, SOUTHERN_LINE)),
}


@pytest.mark.parametrize("file", LINES)
def test_lines_are_read_from_files(file, tmp_path):
    if file.endswith("json"):
        pytest.importorskip("pyogrio")
    (tmp_path / file).write_text(LINES[file])
    tables = load_with_lines(tmp_path / file).barriers.lines
    heights = [{*(point[2:] or (each.crest,) for point in each.line)} for each in tables]
    assert [each.name for each in tables] == ["north", "south"]
    assert heights == [{(1.5,)}, {(2.0,)}]
    assert [point[:2] for point in tables[0].line] == [(1000.0, 0.0), (1000.0, 300.0)]


@pytest.mark.promise("files of other programs are read and written as they are")
@pytest.mark.parametrize("file", ["dikes.shp", "dikes.gpkg"])
def test_lines_from_gdal_have_their_crests_and_reference_system(file, tmp_path):
    """Attributes may have names in capitals; a line of two parts becomes two barriers."""
    write, shapely = pytest.importorskip("pyogrio.raw").write, pytest.importorskip("shapely")
    parts = shapely.MultiLineString([ACROSS, SOUTHERN_LINE])
    lines = np.array([shapely.to_wkb(shapely.LineString(ACROSS)), shapely.to_wkb(parts)], object)
    columns = [np.array(["north", "south"], object), np.array([1.5, 2.0])]
    write(tmp_path / file, lines, columns, ["NAME", "CREST"], geometry_type="MultiLineString", crs="EPSG:32633",
          promote_to_multi=True)  # fmt: skip
    grid = {"grid.crs": "EPSG:32633", "grid.easting": 0.0, "grid.northing": 5e6}
    tables = load_with_lines(tmp_path / file, CHANNEL | grid).barriers.lines
    assert [(each.name, each.crest) for each in tables] == [("north", 1.5), ("south", 2.0), ("south", 2.0)]
    assert [[*map(list, each.line)] for each in tables] == [ACROSS, ACROSS, SOUTHERN_LINE]
    assert {each.crs for each in tables} == {"EPSG:32633"}


def test_line_may_be_in_another_reference_system_than_the_grid():
    projection = pytest.importorskip("pyproj").Transformer.from_crs("EPSG:32633", "EPSG:4326", always_xy=True)
    corner = {"grid.crs": "EPSG:32633", "grid.easting": 4e5, "grid.northing": 5e6}
    grid = swmodel.load(swmodel.Case, CHANNEL | corner, environ={}).grid
    line = [(4e5 + x, 5e6 + y) for x, y in ACROSS]
    degrees = [projection.transform(*point) for point in line]
    faces, faces_of_degrees = (
        faces_of_barrier(grid, BarrierOptions(line=positions, crest=1.0, crs=crs))
        for positions, crs in ((line, ""), (degrees, "EPSG:4326"))
    )
    assert len(faces.rows) == 6
    for a, b in zip(faces, faces_of_degrees, strict=True):
        np.testing.assert_array_equal(a, b)


def test_face_is_as_low_as_the_lowest_point_within_it():
    line = [(1000.0, y, 0.5 if 110 < y < 130 else 3.0) for y in np.arange(0.0, 301.0, 5.0)]
    faces = faces_of_barrier(swmodel.load(swmodel.Case, CHANNEL, environ={}).grid, BarrierOptions(line=line))
    np.testing.assert_array_equal(faces.crest, [3.0, 3.0, 0.5, 3.0, 3.0, 3.0])


def test_table_of_longitudes_needs_a_grid_with_longitudes(tmp_path):
    table = tmp_path / "dikes.csv"
    table.write_text("name,lon,lat,crest\na,13.74,45.1442,2\na,13.74,45.16,2\n")
    projected = {"grid.crs": "EPSG:32633", "grid.easting": 4e5, "grid.northing": 4.99e6, "grid.ny": 400, "grid.nx": 100}
    sphere = {"grid.kind": "latlon", "grid.west": 13.0, "grid.south": 45.0, "grid.dlon": 0.02, "grid.dlat": 0.005}
    sphere |= {key: value for key, value in CHANNEL.items() if key not in ("grid.dx", "grid.dy")} | {"grid.ny": 40}
    for options in (CHANNEL | projected, sphere, sphere | {"grid.west": 373.0}):
        config = load_with_lines(table, options)
        faces = faces_of_barrier(config.grid, *config.barriers.lines)
        corner = points(config.grid, "corner", faces.rows[:1] - 1, faces.columns[:1])
        assert float(corner.lat.item()) == pytest.approx(45.1442, abs=0.005)
        assert float(corner.lon.item()) % 360 == pytest.approx(13.74, abs=0.01)
    with pytest.raises(swmodel.ConfigError, match="plane"):
        swmodel.Simulation(load_with_lines(table))
    table.write_text("name,x,y,crest\na,13.74,45.1442,2\na,13.74,45.16,2\n")
    with pytest.raises(swmodel.ConfigError, match="dikes.csv: .* x and y are in m"):
        load_with_lines(table, sphere)


def test_heights_of_points_are_used_where_the_crest_is_empty(tmp_path):
    """The file is GeoJSON in m, whose coordinates GDAL takes for longitude, latitude and height."""
    pytest.importorskip("pyogrio")
    (tmp_path / "dikes.geojson").write_text(geojson(("a", None, [[1000, 0, 2], [1000, 300, 3]])))
    (barrier,) = load_with_lines(tmp_path / "dikes.geojson").barriers.lines
    assert (barrier.crs, barrier.line) == ("", ((1000, 0, 2), (1000, 300, 3)))


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("dikes.csv", "name,x,y,crest\n", "dikes.csv: has no rows"),
        ("dikes.csv", "name,x,y,crest\na,0,0,\na,0,100,1\n", "dikes.csv:2: crest"),
        ("dikes.csv", "name,x,y,crest\na,0,0,3\na,0,100,-9999\n", "dikes.csv:3: the crest is -9999"),
        ("dikes.geojson", geojson(("a", 3.0, ACROSS), ("b", -999.0, ACROSS)), "feature 2: the crest is -999"),
        ("dikes.geojson", geojson(("a", "3 m", ACROSS)), 'feature 1: crest .* "3 m"'),
        ("dikes.geojson", geojson(("a", None, ACROSS)), "feature 1 has no height"),
        ("dikes.geojson", geojson(("a", 1.0, [])), "feature 1 has no points"),
        ("dikes.geojson", geojson(("a", None, [[1000, 0, 0], [1000, 300, 0]])), "third coordinates are 0; .* crest"),
    ],
)
def test_wrong_files_of_barriers_are_named(file, text, words, tmp_path):
    if file.endswith("json"):
        pytest.importorskip("pyogrio")
    (tmp_path / file).write_text(text)
    with pytest.raises(swmodel.ConfigError, match=words):
        load_with_lines(tmp_path / file)


def test_derivative_of_a_transport_along_a_barrier_is_refused():
    config = channel(2.0, crest=1.0).config
    with pytest.raises(UsageError, match="barrier"):
        parse_transport("transport:x=1000", "x=1000", config)
    assert parse_transport("transport:x=500", "x=500", config).units == "m3 s-1"


@pytest.mark.parametrize(
    ("barrier", "words"),
    [
        ({"line": ACROSS}, "crest"),
        ({"line": ACROSS, "crest": 1.0, "gate": [[0, 1.0]]}, "crest"),
        ({"line": [[0.0, 0.0]], "crest": 1.0}, "two points"),
        ({"line": [[0.0, 0.0], [9e3, 0.0]], "crest": 1.0}, "outside"),
        ({"line": [[10.0, 10.0], [11.0, 10.0]], "crest": 1.0}, "same corner"),
        ({"line": ACROSS, "gate": [[5, 1.0], [5, 2.0]]}, "increase"),
        ({"line": ACROSS, "crest": 1e6}, "10000"),
    ],
)
def test_wrong_barrier_is_refused(barrier, words):
    with pytest.raises(swmodel.ConfigError, match=words):
        swmodel.Simulation(swmodel.Case, CHANNEL | {"barriers.lines": [{"name": "dike", **barrier}]})
