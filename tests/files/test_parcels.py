"""Particles of Parcels in output.nc follow currents with an analytic solution, and do not cross coasts."""

import numpy as np
import pytest
import xarray as xr
from support.snapshots import CLASS_OF_FILE

import swmodel
from swmodel.parallel.transport import connect

parcels = pytest.importorskip("parcels", minversion="4", reason='needs Parcels 4: pip install ".[parcels]"')

pytestmark = pytest.mark.slow

N_CELLS, CELL_SIZE, DAY = 81, 1e3, 86400.0
RATE = 2 * np.pi / DAY
OPTIONS = {"run.dtype": "float64", "run.executor": "reference", "output.fields": ["u", "v"]}
PLANE = OPTIONS | {"grid.dx": CELL_SIZE, "grid.dy": CELL_SIZE, "grid.periodic_x": False}


def open_fieldset(path):
    """The FieldSet of an output file or store, on a plane or on the sphere of the file."""
    ds = xr.open_dataset(path).drop_dims("checked", errors="ignore")
    mesh = parcels.SphericalMesh(radius=float(ds.crs.earth_radius)) if "crs" in ds else None
    ds = ds[["u", "v", "grid"]].sgrid.rename({"x_f": "lon", "y_f": "lat"})
    return parcels.FieldSet.from_sgrid_conventions(ds, vector_fields={"UV": ("u", "v")}, mesh=mesh)


def fieldset_of_steady_current(path, options, u, v):
    ny, nx = u.shape
    size = {"grid.nx": nx, "grid.ny": ny, "time.dt": 10.0}
    config = swmodel.resolve(swmodel.load("sea", options | size, environ={}))
    with CLASS_OF_FILE[path.name](path, config, connect("serial", (1, 1), ny, nx)) as output:
        for seconds in (0.0, DAY):
            output.write(round(seconds / config.time.dt), seconds, {"u": u, "v": v})
    return open_fieldset(path)


def fieldset_of_current(path, u, v):
    """The FieldSet of a file with the steady current u(x, y), v(x, y) about the middle of a square sea."""
    centres = (np.arange(N_CELLS) + 0.5 - N_CELLS / 2) * CELL_SIZE
    faces = centres + CELL_SIZE / 2
    options = PLANE | {"grid.kind": "plane", "grid.origin": "middle"}
    return fieldset_of_steady_current(path, options, u(*np.meshgrid(faces, centres)), v(*np.meshgrid(centres, faces)))


def positions_after(fieldset, x, y, time, dt):
    """The positions of particles, m, after a time, s, with time steps dt, s."""
    particles = parcels.ParticleSet(fieldset, pclass=parcels.Particle, x=x, y=y)
    steps = {"runtime": np.timedelta64(round(time), "s"), "dt": np.timedelta64(dt, "s")}
    particles.execute(parcels.kernels.AdvectionRK4, **steps, verbose_progress=False)
    return np.array(particles.x, float), np.array(particles.y, float)


@pytest.mark.promise("Parcels moves particles in the output")
@pytest.mark.parametrize("name", ["output.nc", "output.zarr"])
def test_particles_in_pure_strain_have_the_error_of_runge_kutta(tmp_path, name):
    """u = a x, v = - a y, a = RATE: x = x0 exp(a t), y = y0 exp(-a t). Interpolation is exact for linear velocities."""
    fieldset = fieldset_of_current(tmp_path / name, lambda x, y: RATE * x, lambda x, y: -RATE * y)
    x0, y0 = np.array([3.3, -6.2, 5.0]) * CELL_SIZE, np.array([30.0, -20.1, 10.0]) * CELL_SIZE
    errors = {}
    for dt in (3600, 1800):
        x, y = positions_after(fieldset, x0, y0, DAY / 4, dt)
        growth = np.exp(RATE * DAY / 4)
        errors[dt] = max(abs(x / (x0 * growth) - 1).max(), abs(y * growth / y0 - 1).max())
    assert errors[3600] < 1e-4
    assert 12 < errors[3600] / errors[1800] < 24


@pytest.mark.promise("Parcels moves particles in the output")
def test_particles_on_a_sphere_follow_a_zonal_flow(tmp_path):
    """They stay at the latitudes of cell centres, and their speed agrees with the radius in the file."""
    options = {"grid.west": 0.0, "grid.east": 60.0, "grid.south": 0.0, "grid.north": 60.0, "grid.radius": 3e6}
    u = 3e6 * RATE / 12 * np.cos(np.radians(np.arange(60) + 0.5))[:, None] * np.ones((60, 60))
    fieldset = fieldset_of_steady_current(tmp_path / "output.nc", OPTIONS | options, u, 0 * u)
    y0 = np.array([5.5, 30.5, 55.5])
    x, y = positions_after(fieldset, np.full(3, 10.0), y0, DAY / 2, 3600)
    np.testing.assert_allclose(x, 10.0 + 360 / 24, rtol=1e-5)
    np.testing.assert_allclose(y, y0, rtol=1e-5)


@pytest.mark.promise("Parcels moves particles in the output")
@pytest.mark.night
def test_particles_stay_in_the_water(tmp_path):
    """Currents of the model run against islands and a coast all around; particles move at most 0.05 cells per step."""
    nx, ny, rng = 23, 17, np.random.default_rng(3)
    wet = rng.random((ny, nx)) > 0.2
    wet[[0, -1]], wet[:, [0, -1]] = False, False
    options = PLANE | {"grid.nx": nx, "grid.ny": ny, "time.dt": 20.0, "run.steps": 1080, "output.every_steps": 36}
    fields = {name: rng.normal(0, 0.05, (ny, nx)) for name in ("u", "v")} | {"depth": np.where(wet, 50.0, np.nan)}
    swmodel.Simulation(swmodel.Case, options, fields=fields).run(tmp_path / "run")
    row, column = np.argwhere(wet).repeat(4, axis=0).T
    x0, y0 = ((index + rng.uniform(0.05, 0.95, row.size)) * CELL_SIZE for index in (column, row))
    x, y = positions_after(open_fieldset(tmp_path / "run" / "output.nc"), x0, y0, 6 * 3600, 300)
    assert np.hypot(x - x0, y - y0).max() > CELL_SIZE
    assert wet[np.floor(y / CELL_SIZE).astype(int), np.floor(x / CELL_SIZE).astype(int)].all()
