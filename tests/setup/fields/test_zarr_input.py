"""Stores of Zarr as input: what a NetCDF file of the same content gives, to the last bit, and what is refused."""

import shutil
import sys

import numpy as np
import pytest
import xarray as xr
from support.netcdf import write_netcdf

import swmodel
from swmodel import load
from swmodel.extras import lacking
from swmodel.model.validate import check_config
from swmodel.setup.fields import evaluate, field_of
from swmodel.setup.fields.varying import Records

NY, NX = 4, 5
ROWS, COLUMNS = np.arange(-1, NY + 1), np.arange(-1, NX)
VALUES = 0.01 * np.random.default_rng(3).random((3, NY, NX))
SMALL = {
    **{"grid.nx": NX, "grid.ny": NY, "grid.dx": 1e5, "grid.dy": 1e5, "run.executor": "reference"},
    **{"run.dtype": "float64", "time.dt": 60.0, "run.days": 0.5},
    **{"time.start": "2020-02-29", "time.calendar": "360_day"},
}
PACKED = {"scale_factor": 1.7e-6, "add_offset": 0.02, "_FillValue": np.int16(-32767)}
WIND = {"standard_name": "surface_downward_x_stress", "units": "N m-2"}
DEPTH = {"units": "m", "positive": "up", "_FillValue": np.float32(1e20)}


def content(path, values=VALUES, first=0):
    """A NetCDF file of packed records of the wind stress, whose rows run southward, with land in a corner."""
    y, x = (100 * np.arange(0.5, size, dtype="f4") for size in (NY, NX))
    times = 6 * np.arange(first, first + len(values), dtype="i4")
    stress = np.rint((values - PACKED["add_offset"]) / PACKED["scale_factor"]).astype("i2")
    depth = np.ma.array(-4000.0 - 1e5 * values[0], "f4")
    depth[0, 0] = np.ma.masked
    return write_netcdf(path, {
        "time": ("time", times, {"units": "hours since 2020-02-29", "calendar": "360_day"}),
        "y": ("y", y[::-1], {"units": "km"}), "x": ("x", x, {"units": "km"}),
        "ustress": ("time y x", stress, WIND | PACKED), "bottom": ("y x", depth, DEPTH),
    })  # fmt: skip


@pytest.fixture(params=[2, 3], ids=["format 2", "format 3"])
def stored(request, tmp_path):
    """stored(name, ...): a NetCDF file, and the store of the same content, arrays as they are packed."""

    def write(name="winds", store=None, **given):
        file = content(tmp_path / f"{name}.nc", **given)
        store = tmp_path / (store or f"{name}.zarr")
        with xr.open_dataset(file, decode_times=False) as dataset:
            dataset.to_zarr(store, zarr_format=request.param, consolidated=False)
        return str(file), str(store)

    return write


def configuration(**inputs):
    return load(swmodel.Case, SMALL | {f"input.{name}": text for name, text in inputs.items()}, {})


def refused(**inputs) -> str:
    with pytest.raises(swmodel.ConfigError) as caught:
        check_config(configuration(**inputs))
    (line,) = caught.value.problems
    return line


@pytest.mark.fault("a store gives other bits than the NetCDF file")
def test_records_in_time_and_fields_have_the_bits_of_a_netcdf_file(stored):
    file, store = stored()
    ours, theirs = (configuration(wind_x=f"{path}:ustress", depth=f"{path}:bottom") for path in (store, file))
    check_config(ours)
    for step in (0, 500):
        found, expected = (Records(each, ["wind_x"]).params(step, ROWS, COLUMNS) for each in (ours, theirs))
        assert found.keys() == expected.keys()
        assert all(np.array_equal(found[name], expected[name]) for name in expected)
    assert np.ptp(found["wind_x_before"]) > 0.005
    for name in ("depth", "mask"):
        np.testing.assert_array_equal(*(evaluate(each, name, ROWS, COLUMNS) for each in (ours, theirs)))
    assert evaluate(ours, "mask", [NY - 1], [0]) == 0
    chosen = [configuration(wind_x=f"{path}@2020-02-29T06:00") for path in (store, file)]
    np.testing.assert_array_equal(*(evaluate(each, "wind_x", ROWS, COLUMNS) for each in chosen))


def test_several_stores_and_files_are_one_series(stored, tmp_path):
    stored("a", values=VALUES[:1])
    stored("b", store="b.nc.store", values=VALUES[1:], first=1)
    whole, _ = stored("c")
    for name in ("a.nc", "b.nc"):
        (tmp_path / name).unlink()
    ours, theirs = configuration(wind_x=f"{tmp_path}/[ab].*:ustress"), configuration(wind_x=f"{whole}:ustress")
    assert field_of(ours, "wind_x").records.seconds.tolist() == [0.0, 21600.0, 43200.0]
    found, expected = (Records(each, ["wind_x"]).params(400, ROWS, COLUMNS) for each in (ours, theirs))
    assert all(np.array_equal(found[name], expected[name]) for name in expected)


@pytest.mark.fault("a store is rewritten within a process")
def test_a_store_that_is_written_anew_is_read_anew(stored, tmp_path):
    _, store = stored()
    assert evaluate(configuration(depth=f"{store}:bottom"), "depth", [0], [0]) > 4000
    file, _ = stored("other", values=VALUES + 0.01)
    with xr.open_dataset(file, decode_times=False) as dataset:
        dataset.to_zarr(store, mode="w", consolidated=False)
    ours, theirs = (configuration(depth=f"{path}:bottom") for path in (store, file))
    np.testing.assert_array_equal(*(evaluate(each, "depth", ROWS, COLUMNS) for each in (ours, theirs)))


@pytest.mark.fault("zarr is not installed; a folder that is no store; no such store or variable")
@pytest.mark.fault("a chunk of a store is damaged")
def test_missing_and_damaged_stores_are_refused(stored, tmp_path, monkeypatch):
    _, store = stored()
    assert refused(wind_x=f"{store}:vstress").startswith(f'input.wind_x: {store} has no variable "vstress"')
    assert refused(wind_x=f"{store}x:ustress").endswith(f"{store}x")
    (tmp_path / "empty").mkdir()
    assert "empty is a folder" in refused(wind_x=f"{tmp_path}/empty:ustress")
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "zarr", None)
        other = shutil.copytree(store, tmp_path / "other.zarr")  # which nothing has opened yet
        assert refused(wind_x=f"{other}:ustress") == f"input.wind_x: {lacking(other, 'zarr')}"
    for path in (tmp_path / "winds.zarr" / "ustress").rglob("*"):
        if path.is_file() and path.name not in ("zarr.json", ".zarray", ".zattrs"):
            path.write_bytes(bytes(len(path.read_bytes())))
    assert refused(wind_x=f"{store}:ustress").startswith(f"input.wind_x: {store} cannot be read as Zarr (")
