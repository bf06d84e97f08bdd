"""Rivers, drains and other sinks: volume and dye add up, no thickness is negative, messages name wrong tables."""

import re

import numpy as np
import pytest
from support.command import invoke_swmodel
from support.netcdf import write_netcdf

import swmodel
from swmodel.model.validate import check_config
from swmodel.ocean.projection import lon_lat
from swmodel.setup import fields
from swmodel.setup.fields.varying import value_at
from swmodel.setup.setup import setup_of

NY, NX, DX = 8, 9, 100.0
DISCHARGE = {"2020-03-01": 20.0, "2020-03-01 00:10": 60.0, "2020-03-01T00:40:00Z": -15.0, "2020-03-02": 5.0}
CSV = "\ufefftime;discharge;remark\n" + "".join(f"{at};{str(q).replace('.', ',')};\n" for at, q in DISCHARGE.items())
COMMON_OPTIONS = {
    **{"grid.nx": NX, "grid.ny": NY, "grid.dx": DX, "grid.dy": DX, "grid.periodic_x": False, "physics.depth": 5.0},
    **{"time.start": "2020-03-01", "time.dt": 5.0, "time.stepper": "gfb", "run.dtype": "float64", "run.steps": 300},
    **{"run.executor": "reference", "case.island": 0.0},
}
DYE = {"name": "dye", "initial": 0.5}
#: The west is water, the east is land at 1 m.
SHELF = {"depth": lambda at: np.where(at.x < 500.0, 5.0, -1.0) + 0 * at.y, "eta": lambda at: 0 * at.x}


def make_config(*rivers, case_fields=None, **options):
    overrides = {name.replace("__", "."): value for name, value in options.items()}
    return swmodel.load("rest", COMMON_OPTIONS | {"forcing.rivers": rivers} | overrides, {}, fields=case_fields)


def river(name="Elbe", x=250.0, y=350.0, **options):
    return {"name": name, "x": x, "y": y} | options


def write_series(folder, text=CSV):
    """The path of a file with the discharge of the Elbe."""
    path = folder / "elbe.csv"
    path.write_text(text)
    return str(path)


def volume(model):
    return float(model.field("h").sum()) * DX**2


@pytest.mark.promise("water and dye add up to what rivers bring")
@pytest.mark.parametrize("stepper", ["gfb", "rk4", "drying"])
@pytest.mark.slow
def test_volume_and_dye_equal_supply_of_rivers(tmp_path, stepper):
    """Until the row at ten minutes Q = 20 + t/15; the other rivers are constant, and one enters several cells."""
    elbe = river(series=write_series(tmp_path), tracers={"dye": 2.0})
    on_land = river("land", x=750.0, discharge=8.0, radius=120.0)
    drain = river("drain", x=150.0, y=150.0, discharge=-3.0)
    options = {"drying__active": True, "case_fields": SHELF} if stepper == "drying" else {"time__stepper": stepper}
    options |= {"physics__tracers": [DYE | {"initial": 0.0}]}
    model = swmodel.Simulation(make_config(elbe, on_land, drain, **options))
    before = volume(model)
    model.advance(120)
    supply = 600 * (20 + 60) / 2
    assert volume(model) - before == pytest.approx(supply + 600 * (8.0 - 3.0), rel=1e-9)
    model = swmodel.Simulation(make_config(elbe, on_land, **options))
    model.advance(120)
    assert float((model.field("dye") * model.field("h")).sum()) * DX**2 == pytest.approx(2 * supply, rel=1e-9)


@pytest.mark.promise("a sink takes no more water than there is")
def test_sinks_cause_no_negative_thickness_and_take_dye():
    """Three strong sinks drain a sloping basin together; without drying, sinks leave the concentration unchanged."""
    bowl = {"depth": lambda at: 0.5 - at.x / 1e3 + 0 * at.y, "eta": lambda at: -0.1 + 0 * at.x}
    sinks = {name: lambda at: 1e-3 + 0 * at.x for name in ("infiltration", "evaporation")}
    pump = river("pump", x=50.0, discharge=-50.0)
    model = swmodel.Simulation(make_config(pump, case_fields=bowl | sinks, drying__active=True))
    before = volume(model)
    for _ in range(10):
        model.advance(30)
        assert model.field("h").min() >= 0
    assert volume(model) < 1e-3 * before
    for stepper in ("gfb", "rk4"):
        sinks = {"infiltration": lambda at: 1e-3 * (at.x < 500) + 0 * at.y}
        options = {"time__stepper": stepper, "physics__tracers": [DYE]}
        model = swmodel.Simulation(make_config(river("pump", discharge=-9.0), case_fields=sinks, **options))
        model.advance(40)
        np.testing.assert_allclose(model.field("dye"), 0.5, rtol=1e-12)


def test_series_are_same_from_text_and_netcdf(tmp_path):
    """They also agree between rows, and where the sign of the discharge changes, so that the river becomes a drain."""
    time = ("time", np.array([0.0, 1 / 6, 2 / 3, 24.0]), {"units": "hours since 2020-03-01"})
    mass_flow = ("time", 1e3 * np.array([*DISCHARGE.values()]), {"units": "kg s-1"})
    daily_volume = ("time", np.array([*DISCHARGE.values()]) * 86400, {"units": "m3 day-1"})
    netcdf = write_netcdf(tmp_path / "elbe.nc", {"time": time, "mass": mass_flow, "Q": daily_volume})
    (tmp_path / "minutes.csv").write_text("time (minutes),discharge (m3/s)\n0,20\n10,60\n40,-15\n1440,5\n")
    for step in (0, 60, 300, 450.5, 480, 9000):
        values = []
        for name in (write_series(tmp_path), netcdf, f"{netcdf}:Q", str(tmp_path / "minutes.csv")):
            elbe = make_config(river(series=name))
            sources = (value_at(elbe, field, step, range(NY), range(NX)) for field in ("river_inflow", "drainage"))
            values.append([source[3, 2] * DX**2 for source in sources])
        expected = np.interp(5 * step, (0, 600, 2400, 86400), [*DISCHARGE.values()])
        np.testing.assert_allclose(values, [(max(expected, 0), max(-expected, 0))] * len(values), rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.promise("a restart changes nothing, also of an ensemble")
def test_run_with_river_continues_with_same_bits(tmp_path):
    series = write_series(tmp_path)
    for folder, steps in (("whole", 300), ("run", 200)):
        run_config = make_config(river(series=series, tracers={"dye": 2.0}), physics__tracers=[DYE], run__steps=steps)
        swmodel.Simulation(run_config).run(tmp_path / folder)
    with open(series, "a", encoding="utf-8") as file:
        file.write("2020-03-03;9;later rows may come\n")
    assert invoke_swmodel("resume", tmp_path / "run", "--steps", "300").exit_code == 0
    states = [swmodel.Simulation.resume(tmp_path / folder).state for folder in ("whole", "run")]
    assert all(np.array_equal(a, b) for a, b in zip(*states, strict=True))
    write_series(tmp_path, CSV.replace("60,0", "70,0"))
    result = invoke_swmodel("resume", tmp_path / "run", "--steps", "310")
    assert result.exit_code == 2
    assert re.search(r"forcing.rivers: Elbe.* the run used", result.output)


@pytest.mark.parametrize(
    ("rivers", "words"),
    [
        ([river()], ["Elbe", "discharge", "series"]),
        ([river(discharge=1.0, series="x.csv")], ["Elbe", "discharge", "series"]),
        ([river(discharge=1.0), river(discharge=2.0)], ["2 tables", '"Elbe"']),
        ([river(x=5000.0, discharge=1.0)], ["Elbe", "5000", "outside", "0 to 900"]),
        ([river(x=850.0, discharge=1.0)], ["Elbe", "850", "on land", "km away"]),
        ([{"name": "Elbe", "lon": 8.0, "lat": 54.0, "discharge": 1.0}], ["Elbe", "x and y"]),
        ([river(discharge=1.0, tracers={"salt": 1.0})], ["Elbe", "no tracer salt", "dye"]),
        ([river(discharge=-1.0, tracers={"dye": 1.0})], ["Elbe", "no effect"]),
        (
            [river(discharge=1.0, tracers={"dye": 1.0}), river("Rhine", discharge=1.0)],
            ["Elbe", "Rhine", "row 3, column 2"],
        ),
        ([river(series="time,discharge\n0,1\n")], ["Elbe", "one row"]),
        ([river(series="time,discharge\n0,1\n9,1\n9,2\n")], ["Elbe", "9 follows 9"]),
        ([river(series="time,discharge\n0,1\n9,much\n")], ["elbe.csv:3", '"much"', "m3 s-1"]),
        ([river(series="time,discharge\n0,1\n1.3.2020,2\n")], ["elbe.csv:3", '"1.3.2020"', "2020-03-01T06:00"]),
        ([river(series="time,discharge\n0,1\n9,nan\n")], ["Elbe", "9 is missing"]),
        ([river(series="time,discharge (m3/day)\n0,1\n9,-9999\n")], ["Elbe", "9 is -9999"]),
        ([river(series="time,discharge\n0,10\n9,-15\n20,-999\n40,9\n")], ["Elbe", "20 is -999"]),
        ([river(series="time,discharge\n0,1\ninf,2\n")], ["elbe.csv:3", '"inf"']),
        ([river(series="time,flow\n0,1\n")], ["Elbe", "discharge"]),
        ([river(series="time,discharge (ft)\n0,1\n9,2\n")], ["Elbe", '"ft"', "m3 s-1"]),
        ([river(series="time,discharge\n0,1\n1000,2\n")], ["Elbe", "begin at 0", "end at 1000", "2020-03-01T00:24:55"]),
        ([river(series="")], ["Elbe", "series"]),
    ],
)
def test_wrong_rivers_are_named(rivers, words, tmp_path):
    """One line names the river or the row of its file, and what is wrong."""
    for each in rivers:
        if "\n" in each.get("series", ""):
            each["series"] = write_series(tmp_path, each["series"])
    land = {"mask": lambda at: 1.0 * (at.x < 800) + 0 * at.y}
    with pytest.raises(swmodel.ConfigError) as error:
        check_config(make_config(*rivers, case_fields=land, physics__tracers=[DYE]))
    (line,) = error.value.problems
    assert all(word in line for word in words), line


@pytest.mark.parametrize("ending", [":flow", "@1"])
def test_variable_or_record_of_text_series_is_refused(ending, tmp_path):
    series = write_series(tmp_path, "time,discharge,flow\n0,1,2\n1e6,1,2\n")
    with pytest.raises(swmodel.ConfigError, match=f"leave out {ending}"):
        check_config(make_config(river(series=series + ending)))


def test_river_inflow_from_two_sources_is_refused():
    with pytest.raises(swmodel.ConfigError, match="river_inflow also comes from"):
        check_config(make_config(river(discharge=1.0), case_fields={"river_inflow": lambda at: 0 * at.x}))


def test_file_of_series_is_relative_to_configuration_file(tmp_path):
    """A drain alone does not switch on the term `rivers`, because it is not a source."""
    (tmp_path / "q.csv").write_text("time,discharge\n0,1\n9999,2\n")
    (tmp_path / "run.toml").write_text(
        '[case]\nname = "rest"\n[[river]]\nname = "Elbe"\nx = 9.0\ny = 9.0\nseries = "q.csv"\n'
    )
    loaded = swmodel.load(tmp_path / "run.toml", environ={})
    assert loaded.forcing.rivers[0].series == str(tmp_path / "q.csv")
    assert setup_of(loaded).scheme.term_names[-1:] == ("rivers",)
    assert fields.varies_in_time(loaded, "river_inflow")
    assert "rivers" not in setup_of(make_config(river(discharge=-1.0))).scheme.term_names


def test_river_at_a_longitude_enters_a_projected_grid():
    pytest.importorskip("pyproj")
    corner = {"grid__crs": "EPSG:32633", "grid__easting": 4e5, "grid__northing": 5e6, "grid__nx": 300, "grid__ny": 300}
    place = {"x": 404_960.0, "y": 5_006_960.0}
    by_metres = make_config(river(discharge=9.0, **place), **corner)
    lon, lat = (float(at) for at in lon_lat("EPSG:32633", *place.values()))
    by_degrees = make_config({"name": "Elbe", "lon": lon, "lat": lat, "discharge": 9.0}, **corner)
    inflows = [fields.evaluate(each, "river_inflow", range(300), range(300)) for each in (by_metres, by_degrees)]
    np.testing.assert_array_equal(*inflows)
    assert inflows[0].sum() * DX**2 == pytest.approx(9.0)
