"""Tidal atlases by name: constants at open boundaries are those of pyTMD, and refusals name what an atlas has."""

import netCDF4
import numpy as np
import pytest
import xarray
from support.netcdf import write_netcdf

from swmodel import Case, ConfigError, load
from swmodel.ocean.coordinates import points
from swmodel.parallel.decomposition import block_of_rank
from swmodel.setup import fields
from swmodel.setup.fields.netcdf_input import atlas
from swmodel.setup.setup import setup_of

LON, LAT, DEPTH = np.arange(0.5, 360.0), np.arange(20.5, 60.0), 4000.0
UNITS = {"lon": {"units": "degrees_east"}, "lat": {"units": "degrees_north"}}
SHAPE, RANDOM = (LAT.size, LON.size), np.random.default_rng(3)
#: {letter of a group in an atlas: (array of the tide without its prefix, its location)}.
ARRAYS_AND_LOCATIONS = {"z": ("level", "centre"), "u": ("transport_x", "u"), "v": ("transport_y", "v")}
OPTIONS = {
    "grid.kind": "latlon", "grid.nx": 9, "grid.ny": 8, "grid.west": -5.0, "grid.south": 34.0, "grid.dlon": 1.3,
    "grid.dlat": 0.7, "grid.periodic_x": False, "physics.depth": DEPTH, "time.start": "2015-03-01", "time.dt": 60.0,
    "run.dtype": "float64", "open_boundaries.sides": ["west", "south"],
}  # fmt: skip


def load_with_atlas(folder, atlas, **options):
    """The configuration with an atlas; `options` are keys of [open_boundaries]."""
    options = {"atlas": atlas, "atlas_folder": folder} | options
    return load(Case, OPTIONS | {f"open_boundaries.{key}": value for key, value in options.items()}, {})


def write_got_or_fes(folder, constituents, name="FES2014"):
    """Write an atlas like the files of GOT or FES: amplitudes in cm and cm/s, and lags in degrees."""
    entry = atlas.atlases()[name]
    names = ("longitude", "latitude") if name.startswith("GOT") else ("lon", "lat")
    axes = {key: (key[:3], values, UNITS[key[:3]]) for key, values in zip(names, (LON, LAT), strict=True)}
    for group in entry.keys() & {*"zuv"}:
        files, pairs = atlas.files_of_constituents(entry, group), atlas.VARIABLE_PAIRS[entry["format"]][group]
        for each in constituents:
            (folder / files[each.upper()]).parent.mkdir(parents=True, exist_ok=True)
            parts = zip(pairs[0].split(","), (90, 359), (entry[group]["units"], "degrees"), strict=True)
            pair = {key: ("lat lon", RANDOM.uniform(1, high, SHAPE), {"units": units}) for key, high, units in parts}
            path = write_netcdf(folder / files[each.upper()], axes | pair)
            with netCDF4.Dataset(path, "a") as file:
                file.Constituent = each


def write_tpxo(folder, constituents, name):
    """Write an atlas like the files of TPXO9 or TPXO10: complex parts, x first, u and v at their points of a C-grid."""
    entry = atlas.atlases()[name]
    positions = {"z": (LON, LAT), "u": (LON - 0.5, LAT), "v": (LON, LAT - 0.5)}
    axes = {
        f"{axis}_{group}": (dimension, values, UNITS[axis])
        for group, lon_lat in positions.items()
        for axis, dimension, values in zip(("lon", "lat"), ("nx", "ny"), lon_lat, strict=True)
    }
    depth = {f"h{group}": ("nx ny", np.full(SHAPE[::-1], DEPTH), {"units": "meter"}) for group in "zuv"}
    (folder / entry["z"]["grid_file"]).parent.mkdir()
    write_netcdf(folder / entry["z"]["grid_file"], axes | depth)
    for each in constituents:
        constituent = {"con": ("nct", np.array([each.ljust(4)], "S4").view("S1"), {})}
        for groups, units in (("z", "millimeter"), ("uv", "centimeter^2/sec")):
            keys = [("h" if group == "z" else group) + part for group in groups for part in ("Re", "Im")]
            parts = {key: ("nx ny", RANDOM.uniform(-900, 900, SHAPE[::-1]), {"units": units}) for key in keys}
            coordinates = {key: axes[key] for group in groups for key in (f"lon_{group}", f"lat_{group}")}
            file = atlas.files_of_constituents(entry, groups[0])[each.upper()]
            write_netcdf(folder / file, constituent | coordinates | parts)


@pytest.mark.filterwarnings("ignore:You will likely lose important projection information:UserWarning")
@pytest.mark.fault("constants of an atlas are conjugate, in other units, or at the points of another variable")
@pytest.mark.parametrize(
    ("write", "name", "groups"),
    [
        *((write_got_or_fes, "FES2014", "zuv"), (write_got_or_fes, "FES2022", "z"), (write_got_or_fes, "GOT5.5", "z")),
        *((write_tpxo, "TPXO9-atlas-v5", "zUV"), (write_tpxo, "TPXO10-atlas-v2", "zUV")),
    ],
)
def test_constants_are_those_of_pytmd(tmp_path, write, name, groups):
    """Constants of levels and of transports, which for FES2014 are the currents times the depth of the grid."""
    import pyTMD.io

    write(tmp_path, ("m2", "k1"), name)
    config = load_with_atlas(tmp_path, name, constituents=["M2", "K1"])
    model = pyTMD.io.model(tmp_path, verify=False).from_database(name + "-nc" * (write is write_tpxo))
    for group in groups.lower():
        model[group].model_file = [file for file in model[group].model_file if file.exists()]
    rows, columns = np.arange(8), np.arange(9)
    for group in groups:
        array, location = ARRAYS_AND_LOCATIONS[group.lower()]
        at = points(config.grid, location, rows, columns)
        lon, lat = (xarray.DataArray(each, dims=("y", "x")) for each in np.broadcast_arrays(at.lon, at.lat))
        dataset = model.open_dataset(group=group)
        factor = DEPTH / 100 if group in "uv" else 1.0
        for constituent in ("M2", "K1"):
            constants = factor * dataset.tmd.interp(lon, lat)[constituent.lower()].values
            for part, expected in (("cosine", constants.real), ("sine", -constants.imag)):
                actual = fields.evaluate(config, f"boundary_tide_{array}[{constituent},{part}]", rows, columns)
                np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12 * np.abs(constants).max())


def test_nodal_factors_at_the_boundary_are_those_of_the_potential(tmp_path):
    """The boundary has f cos(V + u) and f sin(V + u); in the potential both are multiplied by the same height."""
    write_got_or_fes(tmp_path, ("k1",))
    config = load(load_with_atlas(tmp_path, "FES2014", constituents=["K1"]), {"tide.constituents": ["K1"]}, {})
    params = setup_of(config).params(block_of_rank(0, (1, 1), 8, 9), 0)
    ratios = [params[f"boundary_tide[K1,start_{part}]"] / params[f"tide[K1,{part}]"] for part in ("cosine", "sine")]
    assert ratios[0] == pytest.approx(ratios[1], rel=1e-12)


def test_refusal_of_an_atlas_names_what_is_missing_or_wrong(tmp_path, monkeypatch):
    write_got_or_fes(tmp_path, ("m2",))
    (tmp_path / "fes2014/ocean_tide/k1.nc").hardlink_to(tmp_path / "fes2014/ocean_tide/m2.nc")
    for changes, words in (
        ({"atlas": "FES2013"}, "FES2013.*FES2014, .*TPXO9-atlas-v5"),
        ({"atlas_folder": tmp_path / "none"}, "none.*atlas_folder"),
        ({"atlas_folder": ""}, "atlas_folder"),
        ({"constituents": ["M2", "S2"]}, "fes2014/ocean_tide/s2.nc"),
        ({"atlas": "GOT5.5", "constituents": ["MF"]}, "GOT5.5 has no MF; it has 2N2, .*M2"),
        ({"tide": "harmonics.nc"}, "open_boundaries.tide"),
        ({"constituents": ["K1"]}, "k1.nc: has the constituent M2; its name says K1"),
    ):
        with pytest.raises(ConfigError, match=words):
            load_with_atlas(tmp_path, **{"atlas": "FES2014", "constituents": ["M2"]} | changes)
    monkeypatch.setattr(atlas, "missing_package_reason", lambda *_: 'pip install "swmodel[tides]"')
    with pytest.raises(ConfigError, match="swmodel.tides"):
        load_with_atlas(tmp_path, "FES2014")


def test_folder_without_currents_gives_levels_alone(tmp_path, caplog):
    write_got_or_fes(tmp_path, ("m2",))
    for part in ("eastward", "northward"):
        (tmp_path / "fes2014" / f"{part}_velocity").rename(tmp_path / part)
    entries = atlas.read_atlas("FES2014", str(tmp_path), ["M2"])
    assert entries.keys() == {"constituents", "boundary_tide_level"}
    assert "eastward_velocity" in caplog.text
