"""Tidal atlases by name: constants at open boundaries are those of pyTMD, and wrong names say what there is."""

import numpy as np
import pytest
import xarray
from support.netcdf import write_netcdf

import swmodel
from swmodel import ConfigError, load
from swmodel.ocean.coordinates import points
from swmodel.parallel.decomposition import block_of_rank
from swmodel.setup import fields
from swmodel.setup.fields.netcdf_input import atlas
from swmodel.setup.setup import setup_of

LON, LAT, DEPTH = np.arange(0.5, 360.0), np.arange(20.5, 60.0), 4000.0
UNITS = {"lon": {"units": "degrees_east"}, "lat": {"units": "degrees_north"}}
SHAPE, RANDOM = (LAT.size, LON.size), np.random.default_rng(3)
OPTIONS = {
    "grid.kind": "latlon", "grid.nx": 9, "grid.ny": 8, "grid.west": -5.0, "grid.south": 34.0, "grid.dlon": 1.3,
    "grid.dlat": 0.7, "grid.periodic_x": False, "physics.depth": DEPTH, "time.start": "2015-03-01", "time.dt": 60.0,
    "run.dtype": "float64",
    "open_boundaries.sides": ["west", "south"],
}  # fmt: skip


def load_with_atlas(folder, name, options):
    atlas_options = {"open_boundaries.atlas": name, "open_boundaries.atlas_folder": folder}
    return load(swmodel.Case, OPTIONS | atlas_options | options, {})


def make_fes(folder, constituents):
    """FES2014 as downloaded: amplitudes in cm and cm/s, and lags in degrees."""
    for part, pair, units in (
        ("ocean_tide", ("amplitude", "phase"), "cm"),
        ("eastward_velocity", ("Ua", "Ug"), "cm/s"),
        ("northward_velocity", ("Va", "Vg"), "cm/s"),
    ):
        (folder / "fes2014" / part).mkdir(parents=True, exist_ok=True)
        for name in constituents:
            amplitude, lag = RANDOM.uniform(1, 90, SHAPE), RANDOM.uniform(1, 359, SHAPE)
            write_netcdf(folder / "fes2014" / part / f"{name}.nc", {
                "lon": ("lon", LON, UNITS["lon"]), "lat": ("lat", LAT, UNITS["lat"]),
                pair[0]: ("lat lon", amplitude, {"units": units}), pair[1]: ("lat lon", lag, {"units": "degrees"}),
            })  # fmt: skip


def make_tpxo(folder, constituents):
    """TPXO9-atlas-v5 as downloaded: complex parts, x first, u and v at their points of the C grid."""
    (folder / "TPXO9_atlas_v5").mkdir()
    places = {"z": (LON, LAT), "u": (LON - 0.5, LAT), "v": (LON, LAT - 0.5)}
    axes = {
        f"{name}_{group}": (along, values, UNITS[name])
        for group, at in places.items()
        for name, along, values in zip(("lon", "lat"), ("nx", "ny"), at, strict=True)
    }
    depth = {f"h{group}": ("nx ny", np.full(SHAPE[::-1], DEPTH), {"units": "meter"}) for group in "zuv"}
    write_netcdf(folder / "TPXO9_atlas_v5" / "grid_tpxo9_atlas_30_v5.nc", axes | depth)
    for name in constituents:
        con = {"con": ("nct", np.array([name.ljust(4)], "S4").view("S1"), {})}
        for file, groups, units in (("h", "z", "millimeter"), ("u", "uv", "centimeter^2/sec")):
            keys = [("h" if group == "z" else group) + part for group in groups for part in ("Re", "Im")]
            parts = {key: ("nx ny", RANDOM.uniform(-900, 900, SHAPE[::-1]), {"units": units}) for key in keys}
            coordinates = {key: axes[key] for group in groups for key in (f"lon_{group}", f"lat_{group}")}
            write_netcdf(folder / "TPXO9_atlas_v5" / f"{file}_{name}_tpxo9_atlas_30_v5.nc", con | coordinates | parts)


@pytest.mark.filterwarnings("ignore:You will likely lose important projection information:UserWarning")
@pytest.mark.fault("constants of an atlas are conjugate, in other units, or at the points of another variable")
@pytest.mark.parametrize(
    ("name", "database_name", "make", "groups"),
    [("FES2014", "FES2014", make_fes, "zuv"), ("TPXO9-atlas-v5", "TPXO9-atlas-v5-nc", make_tpxo, "zUV")],
)
def test_constants_are_those_of_pytmd(tmp_path, name, database_name, make, groups):
    """Levels, and transports: of FES2014 the currents times the depth of the grid."""
    import pyTMD.io

    make(tmp_path, ("m2", "k1"))
    config = load_with_atlas(tmp_path, name, {"open_boundaries.constituents": ["M2", "K1"]})
    model = pyTMD.io.model(tmp_path, verify=False).from_database(database_name)
    for group in "zuv":
        model[group].model_file = [file for file in model[group].model_file if file.exists()]
    rows, columns = np.arange(8), np.arange(9)
    for array, group, location in zip(
        ("level", "transport_x", "transport_y"), groups, ("centre", "u", "v"), strict=True
    ):
        at = points(config.grid, location, rows, columns)
        lon, lat = (xarray.DataArray(each, dims=("y", "x")) for each in np.broadcast_arrays(at.lon, at.lat))
        dataset = model.open_dataset(group=group)
        factor = DEPTH / 100 if group in "uv" else 1.0
        for constituent in ("M2", "K1"):
            wanted = factor * dataset.tmd.interp(lon, lat)[constituent.lower()].values
            for part, of_wanted in (("cosine", wanted.real), ("sine", -wanted.imag)):
                found = fields.evaluate(config, f"boundary_tide_{array}[{constituent},{part}]", rows, columns)
                np.testing.assert_allclose(found, of_wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())


def test_nodal_factors_at_the_boundary_are_those_of_the_potential(tmp_path):
    """f cos(V + u) and f sin(V + u) of the boundary, and those times a height of the potential, have one ratio."""
    make_fes(tmp_path, ("k1",))
    tides = {"open_boundaries.constituents": ["K1"], "tide.constituents": ["K1"]}
    config = load_with_atlas(tmp_path, "FES2014", tides)
    params = setup_of(config).params(block_of_rank(0, (1, 1), 8, 9), 0)
    found = [
        [float(np.squeeze(params[key])) for key in (f"{of}cosine]", f"{of}sine]")]
        for of in ("boundary_tide[K1,start_", "tide[K1,")
    ]
    assert found[0][0] / found[1][0] == pytest.approx(found[0][1] / found[1][1], rel=1e-12)


def test_wrong_atlases_say_what_there_is(tmp_path, monkeypatch):
    make_fes(tmp_path, ("m2",))
    for changes, words in (
        ({"open_boundaries.atlas": "FES2013"}, "FES2013.*FES2014, .*TPXO9-atlas-v5"),
        ({"open_boundaries.atlas_folder": tmp_path / "none"}, "none.*atlas_folder"),
        ({"open_boundaries.atlas_folder": ""}, "atlas_folder"),
        ({"open_boundaries.constituents": ["M2", "S2"]}, "fes2014/ocean_tide/s2.nc"),
        (
            {"open_boundaries.atlas": "GOT5.5", "open_boundaries.constituents": ["MF"]},
            "GOT5.5 has no MF; it has 2N2, .*M2",
        ),
        ({"open_boundaries.tide": "harmonics.nc"}, "open_boundaries.tide"),
    ):
        with pytest.raises(ConfigError, match=words):
            load_with_atlas(tmp_path, "FES2014", {"open_boundaries.constituents": ["M2"]} | changes)
    monkeypatch.setattr(atlas, "missing_package_reason", lambda *_: 'pip install "swmodel[tides]"')
    with pytest.raises(ConfigError, match="swmodel.tides"):
        load_with_atlas(tmp_path, "FES2014", {})


def test_folder_without_currents_gives_levels_alone(tmp_path, caplog):
    make_fes(tmp_path, ("m2",))
    for part in ("eastward", "northward"):
        (tmp_path / "fes2014" / f"{part}_velocity").rename(tmp_path / part)
    entries = atlas.read_atlas("FES2014", str(tmp_path), ["M2"])
    assert entries.keys() == {"constituents", "boundary_tide_level"}
    assert "eastward_velocity" in caplog.text
