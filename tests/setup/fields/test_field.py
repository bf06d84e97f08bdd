"""Fields from Python: all kinds of input give the same field, and mistakes are refused before the first step."""

import hashlib

import cftime
import numpy as np
import pytest
import xarray as xr
from support.refusals import problems_of

from swmodel import Case, ConfigError, Simulation, load, local, resolve
from swmodel.config import from_toml, to_toml
from swmodel.config.loading.fixed_on_resume import differences
from swmodel.model.validate import check_config
from swmodel.setup import fields
from swmodel.setup.fields.varying import VaryingCoefficients

NY, NX = 6, 9
SMALL = {"grid.nx": NX, "grid.ny": NY, "grid.dx": 2e3, "grid.dy": 1e3, "grid.periodic_x": False, "time.dt": 5.0}
SMALL |= {"run.steps": 1, "run.executor": "reference"}
X, Y = (np.arange(NX) + 0.5) * 2e3, (np.arange(NY) + 0.5) * 1e3
VALUES = 100.0 + X / 1e3 + (Y / 1e3)[:, None] ** 2


def depth_function(at):
    return 100.0 + at.x / 1e3 + (at.y / 1e3) ** 2


def labelled_array(values=VALUES, y=Y, x=X, dims=("y", "x"), **attributes):
    return xr.DataArray(values, {"y": y, "x": x}, dims, attrs={"units": "m"} | attributes)


FIELD_VARIANTS = {
    **{"function": depth_function, "array": VALUES, "DataArray": labelled_array()},
    "masked array": np.ma.masked_array(VALUES, False),
    "rows from the north, exchanged axes": labelled_array(VALUES[::-1].T, Y[::-1], dims=("x", "y")),
    "exchanged axes, by their names": xr.DataArray(VALUES.T, dims=("x", "y")),
    "coordinates in km": labelled_array(x=xr.DataArray(X / 1e3, dims="x", attrs={"units": "km"})),
    "one record, no units": labelled_array().expand_dims(time=1).drop_attrs(),
}


def config_with_fields(**python_fields):
    return load(Case, SMALL, {}, fields=python_fields)


def whole_field(config, name):
    """A field on all cells, [NY, NX]."""
    values = fields.evaluate(config, name, range(NY), range(NX))
    return np.broadcast_to(values, (NY, NX))


def without_halo(model, name):
    """A field of the Grid, without the halo around the block."""
    static_halo = model.scheme.static_halo
    return np.asarray(getattr(model.grid, name))[static_halo:-static_halo, static_halo:-static_halo]


@pytest.mark.promise("fields and terms from Python equal those of the model")
@pytest.mark.parametrize("kind", FIELD_VARIANTS)
def test_field_is_the_same_for_every_kind_of_input(kind):
    config = config_with_fields(depth=FIELD_VARIANTS[kind])
    np.testing.assert_array_equal(whole_field(config, "depth"), VALUES)
    rows, columns = [NY - 1, NY, -1], [-1, 0, NX]  # beyond the grid the field continues from its opposite side
    actual = fields.evaluate(config, "depth", rows, columns)
    np.testing.assert_array_equal(actual, VALUES[np.ix_([-1, 0, -1], [-1, 0, 0])])
    assert np.array_equal(without_halo(Simulation(config), "depth"), VALUES.astype(np.float32))


def test_python_field_replaces_that_of_the_case_and_earlier_ones():
    """Numbers, rows and columns fill all cells with their values at the time of the call; `load` accepts a Config."""
    viscosity = np.arange(NX)[None].copy()
    config = config_with_fields(eta=0.25, wind_x=(Y / 1e5)[:, None], viscosity=viscosity)
    viscosity[...] = -1
    for name, values in {"eta": 0.25, "wind_x": (Y / 1e5)[:, None], "viscosity": np.arange(NX)}.items():
        np.testing.assert_array_equal(whole_field(config, name), np.broadcast_to(values, (NY, NX)))
    assert Simulation(config).scheme.term_names == ("wind", "viscosity")
    gyre = load("double_gyre", {"grid.nx": NX, "grid.ny": NY}, {}, fields={"eta": 1.0, "u": 2.0})
    changed = load(gyre, {"physics.depth": 30.0}, fields={"eta": 3.0})
    assert [float(np.max(fields.evaluate(changed, name, [2], [3]))) for name in ("eta", "u", "depth")] == [3, 2, 30]
    assert np.ptp(fields.evaluate(changed, "wind_x", range(NY), [0])) > 0.1
    config = config_with_fields(depth=depth_function, eta=0.1)
    smaller = load(config, {"grid.ny": 3, "run.steps": 7})
    assert (smaller.grid.nx, smaller.grid.dy, smaller.grid.ny, smaller.run.steps) == (NX, 1e3, 3, 7)
    np.testing.assert_array_equal(fields.evaluate(smaller, "depth", range(3), range(NX)), VALUES[:3])
    assert load(config) == config


def test_land_is_where_an_array_of_depths_has_no_value():
    depth, eta = VALUES.copy(), np.zeros((NY, NX))
    depth[2:4, 3] = eta[2:4, 3] = np.nan
    for values in (depth, labelled_array(depth), np.ma.masked_invalid(depth)):
        model = Simulation(Case, SMALL, fields={"depth": values, "eta": eta})
        wet = without_halo(model, "wet")
        assert (wet == 0).sum() == 2
        assert not wet[2:4, 3].any()
        assert np.isfinite(model.state.h).all()
    with_mask = config_with_fields(depth=depth, mask=lambda at: (at.i != 3) | (at.j > 3) | (at.j < 2))
    assert whole_field(with_mask, "mask").sum() == NY * NX - 2


@pytest.mark.fault("a field from Python with wrong shape, units, type or name, NaN, `local`, or a function that fails")
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("eta", VALUES.T, "fields: eta has shape (9, 6)"),
        ("etta", 0.0, 'fields: no field etta; did you mean "eta"?'),
        ("eta", "bump.nc", "fields: eta: 'bump.nc'"), ("eta", local(labelled_array()), "fields: eta: local"),
        ("eta", xr.Dataset({"eta": labelled_array()}), "fields: eta: <xarray.Dataset>"),
        ("eta", labelled_array(units="feet"), 'fields: eta is in "feet"; convert it to "m"'),
        ("eta", labelled_array(x=2 * X), "fields: eta: x"),
        ("eta", labelled_array().expand_dims(time=2), "fields: eta has time"),
        ("eta", labelled_array(VALUES.astype(str)), "fields: eta: "),
        ("eta", np.where(VALUES > 120, np.nan, 0), "sea level (eta): "),
        ("depth", -VALUES, "resting depth (depth): "), ("mask", VALUES, "fields: mask: "),
        ("eta", lambda at: at.z, ": fields: eta: AttributeError: "),
        ("eta", lambda at: at.x - at.x.mean(), "fields: eta: is 0 at row 0, column 0 alone"),
    ],
)  # fmt: skip
def test_wrong_field_is_refused_before_the_first_step(name, value, words):
    (problem,) = problems_of(Simulation, Case, SMALL, fields={name: value})
    assert problem.startswith(f"{__file__}:" if words.startswith(": ") else words)
    assert words in problem


def test_all_problems_of_fields_are_reported_at_once():
    assert len(problems_of(Simulation, Case, SMALL, fields={"eta": VALUES.T, "etta": 0.0, "depth": "deep"})) == 3
    with pytest.raises(ConfigError, match=r"^fields: .*input\.eta"):
        load(Case, SMALL | {"input.eta": "x.nc"}, {}, fields={"eta": 0.0})


def test_configuration_file_records_the_checksums_of_the_values():
    """They show which fields of two runs differ; without the fields, the configuration file of a run is refused."""

    class Deep(Case):
        def depth(self, config, at):
            return depth_function(at)

    first, second = (resolve(config_with_fields(depth=depth, eta=0.1)) for depth in (depth_function, VALUES + 1))
    expected = hashlib.sha256(VALUES.astype("<f8").tobytes()).hexdigest()
    assert first.python.fields[0] == f"depth {expected}"
    for config in (first, config_with_fields(depth=labelled_array(), eta=0.1)):
        assert resolve(config).python.fields == first.python.fields
    from_case, from_function = load(Deep, SMALL, {}), config_with_fields(depth=depth_function)
    assert resolve(from_case).python.fields == resolve(from_function).python.fields
    (difference,) = differences(to_toml(first), to_toml(second))
    assert difference.startswith(f"python.depth: SHA-256 {expected[:12]}")
    for config in (from_toml(to_toml(first), Case), load("jet", {"python.fields": "depth 0.0"}, environ={})):
        assert "depth" in config.python.names
        with pytest.raises(ConfigError, match="python.fields: depth"):
            check_config(config)


HOURS = 6 * np.arange(3)
RECORDS = 0.01 * np.random.default_rng(4).random((3, NY, NX))
TIME_DEPENDENT = SMALL | {"run.steps": 5000, "time.start": "2020-02-28"}


def wind_records(first="2020-02-28", calendar=None, hours=HOURS, **attributes):
    """Records of a wind stress; their dates are those of NumPy or, with a calendar, of cftime."""
    if calendar:
        times = cftime.num2date(hours, f"hours since {first}", calendar)
    else:
        times = np.datetime64(first, "ns") + hours.astype("timedelta64[h]")
    return xr.DataArray(RECORDS, {"time": times, "y": Y, "x": X}, ("time", "y", "x"), attrs=attributes)


RECORD_VARIANTS = {
    "dates of NumPy": (wind_records(units="Pa"), {}),
    "rows from the north, exchanged axes": (wind_records()[:, ::-1].transpose("x", "time", "y"), {}),
    "cftime": (wind_records("2020-02-30", "360_day"), {"time.start": "2020-02-30", "time.calendar": "360_day"}),
    "numbers": (wind_records().assign_coords(time=("time", HOURS, {"units": "hours since 2020-02-28"})), {}),
}


@pytest.mark.parametrize("kind", RECORD_VARIANTS)
def test_records_in_time_are_those_of_a_data_array(kind):
    array, options = RECORD_VARIANTS[kind]
    config = resolve(load(Case, TIME_DEPENDENT | options, {}, fields={"wind_x": array}))
    records, window = VaryingCoefficients(config, ["wind_x"]), (range(-1, NY), range(NX + 1))
    for step, (before, after) in {0: (0, 1), 4319: (0, 1), 4320: (1, 2)}.items():  # a step takes 5 s
        params = records.params(step, *window)
        for name, number in ("wind_x_before", before), ("wind_x_after", after):
            np.testing.assert_array_equal(params[name], RECORDS[number][np.ix_(np.arange(-1, NY), [*range(NX), 0])])
    assert records.valid_until(0) == 4320


@pytest.mark.fault("time-dependent values from Python cannot be used")
@pytest.mark.parametrize(
    ("fields", "options", "message"),
    [
        ({"wind_x": wind_records()}, {"time.start": ""}, 'time.start = "2020-02-28T00:00:00"'),
        ({"wind_x": wind_records(calendar="noleap")}, {}, 'fields: wind_x has the calendar "noleap"'),
        ({"wind_x": wind_records("2020-02-29")}, {}, "fields: wind_x: its records begin at 2020-02-29T00:00:00"),
        ({"depth": lambda at, t: 100.0}, {}, "fields: depth: "), ({"wind_x": lambda at, t: at.z}, {}, "at t = 0 s"),
    ],
)  # fmt: skip
def test_unusable_time_dependent_field_is_refused(fields, options, message):
    (problem,) = problems_of(Simulation, Case, TIME_DEPENDENT | options, fields=fields)
    assert message in problem
