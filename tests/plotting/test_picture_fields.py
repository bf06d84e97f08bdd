"""Fields that pictures compute: they are those that the model would have written, at every coast, wall and ring."""

import shutil

import netCDF4
import numpy as np
import pytest
from support.random_case import configuration, random_fields
from support.restarts import resealed

import swmodel
from swmodel.ocean.derived import DERIVED, POTENTIALS
from swmodel.plotting import PlotError, derived
from swmodel.plotting.dataset import open_data

pytestmark = pytest.mark.slow

NY, NX = 7, 9

#: There is land: all fields but the potentials.
STORED = tuple(name for name in DERIVED if name not in (*POTENTIALS, "wet"))

#: Fields that pictures compute here.
COMPUTED = ("zeta", "q", "speed", "eta", "kinetic_energy", "okubo_weiss")

#: Rings in x and y, slip along walls and coasts, precision, open sides.
RUNS = [(True, True, "free", "float64"), (True, False, "no", "float32")]
RUNS += [(False, False, "no", "float64", ("west", "north")), (True, False, "free", "float64", ("south",))]
RUNS += [(False, True, "no", "float64"), (False, False, "free", "float32")]


def write(folder, periodic_x, periodic_y, slip, dtype, sides=()):
    """The file of a run with islands, everything random and every field stored."""
    values = random_fields(NY, NX, seed=5, amplitude=0.3)
    values["mask"][6, 0] = values["mask"][2:4, 3] = 0.0
    rings = {"grid__periodic_x": periodic_x, "grid__periodic_y": periodic_y}
    rings |= {"open_sides__sides": sides, "open_sides__level": 0.4 if sides else 0.0}
    run = {"run__executor": "reference", "run__steps": 2, "run__dtype": dtype, "output__fields": STORED}
    config = configuration(NY, NX, values, physics__slip=slip, **rings, **run)
    swmodel.Simulation(config).run(folder)
    return folder / "output.nc"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return write(tmp_path_factory.mktemp("random") / "run", True, False, "no", "float64")


def without(file, folder, *names):
    """A copy of a file, in a folder, in which these fields have other names, kept_..."""
    copy = shutil.copy(file, folder / "part.nc")
    with netCDF4.Dataset(copy, "a") as data:
        for name in names:
            data.renameVariable(name, f"kept_{name}")
    resealed(copy)
    return copy


@pytest.mark.fault("a picture shows a coast along an open side, or other fields than the run's")
@pytest.mark.parametrize("run", RUNS)
def test_what_is_computed_is_what_the_model_writes(tmp_path, run):
    file = write(tmp_path / "run", *run)
    with open_data(without(file, tmp_path, *COMPUTED)) as data:
        assert set(derived.derivable(data)) == set(COMPUTED)
        for name in derived.derivable(data):
            computed, kept = derived.read(data, name), data[f"kept_{name}"]
            rows, columns = inside(run[4:])
            values = kept[-1, rows, columns]
            np.testing.assert_array_equal(np.ma.getmaskarray(computed.values), np.ma.getmaskarray(values))
            off = np.abs(computed.values - values).max() / np.abs(values).max()
            assert off < 4 * np.finfo(run[3]).eps, name
            for what in ("long_name", "units", "location"):
                assert getattr(computed, what) == getattr(kept, what)
            along = zip((computed.y, computed.x), kept.dimensions[-2:], (rows, columns), strict=True)
            for positions, dimension, numbers in along:
                np.testing.assert_array_equal(positions, data[dimension][numbers])


def inside(sides):
    """Rows and columns of a map: those that are no outside water."""
    sides = sides[0] if sides else ()
    return slice("south" in sides, NY - ("north" in sides)), slice("west" in sides, NX - ("east" in sides))


@pytest.mark.fault("a picture shows a coast along an open side, or other fields than the run's")
def test_the_file_has_depth_and_mask_of_outside_water_and_pictures_leave_it_out(tmp_path):
    """So that they may be those of another run; a picture would show a coast where sea level has no value."""
    with open_data(write(tmp_path / "run", *RUNS[2])) as data:
        mask, depth = data["mask"][:], data["depth"][:]
        assert mask[:, 0].sum() > 2
        np.testing.assert_array_equal(np.ma.getmaskarray(depth), mask == 0)
        assert np.ma.getmaskarray(data["eta"][-1, :, 0]).all()
        eta, u = (derived.read(data, name) for name in ("eta", "u"))
        assert eta.values.shape == (NY - 1, NX - 1)
        assert eta.domain == u.domain
        np.testing.assert_array_equal(np.ma.getmaskarray(eta.values), mask[: NY - 1, 1:] == 0)


def test_the_thickness_is_that_of_sea_level_and_depth(file, tmp_path):
    with open_data(without(file, tmp_path, "h", "q")) as data:
        for name in ("h", "q"):
            np.testing.assert_allclose(derived.read(data, name).values, data[f"kept_{name}"][-1], rtol=1e-12)


@pytest.mark.parametrize(
    ("gone", "name"),
    [("u speed", "speed"), ("h eta q", "q"), ("", "streamfunction"), ("f zeta", "zeta"), ("", "nonsense")],
)
def test_what_cannot_be_computed_is_said(file, tmp_path, gone, name):
    part = without(file, tmp_path, *gone.split())
    with open_data(part) as data, pytest.raises(PlotError, match=f'no field "{name}"'):
        derived.read(data, name)


def test_a_file_of_another_version_is_read(file, tmp_path):
    """Of one without reduced gravity, whose double gyre calls sea level what is none; and with constants of a later."""
    copy = without(file, tmp_path, "zeta", "sea_level")
    with netCDF4.Dataset(copy, "a") as data:
        words = data.configuration.replace("reduced_gravity = false\n", "")
        data.configuration = words.replace("[physics]", "[physics]\ntides = 3.0")
    resealed(copy)
    with open_data(copy) as data:
        assert set(derived.derivable(data)) == {"zeta"}
        np.testing.assert_allclose(derived.read(data, "zeta").values, data["kept_zeta"][-1], rtol=1e-12)
        with pytest.raises(PlotError, match="sea_level"):
            derived.read(data, "sea_level")


def test_arrows_are_the_means_of_the_velocities_on_both_sides_of_a_cell(file):
    with open_data(file) as data:
        u, v = derived.current(data)
        faces_u, faces_v = (np.ma.filled(data[name][-1], 0.0) for name in "uv")
    west, south = np.roll(faces_u, 1, axis=1), np.vstack([np.zeros(NX), faces_v[:-1]])
    water = ~np.ma.getmaskarray(u.values)
    np.testing.assert_allclose(u.values[water], ((faces_u + west) / 2)[water])
    np.testing.assert_allclose(v.values[water], ((faces_v + south) / 2)[water])
