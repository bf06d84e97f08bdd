"""Gauges and sections: series that are what the fields have there, whoever computes, however the run is cut."""

import netCDF4
import numpy as np
import pytest
import xarray
from support.cf_checker import checked
from support.random_case import configuration, random_fields

import swmodel
from swmodel import ConfigError
from swmodel.executors.reference import Reference
from swmodel.ocean.coordinates import metrics
from swmodel.ocean.state import State
from swmodel.setup.positions.crossings import open_faces
from swmodel.setup.positions.stencils import QUANTITIES, stencils
from swmodel.setup.setup import setup_of

pytestmark = pytest.mark.slow

NY, NX, STEPS = 13, 17, 11
FIELDS = random_fields(NY, NX, land=0.0) | {"mask": np.ones((NY, NX))}
FIELDS["mask"][4:7, 5:9] = 0.0
#: In m: between points, next to the island, across the end of the ring, on a corner of the domain.
STATIONS = ((31e3, 12e3), (19.9e3, 27e3), (67.9e3, 40e3), (0.0, 65e3))
SECTIONS = (((0.0, 10e3), (0.0, 60e3)), ((10e3, 5e3), (60e3, 64e3)))


def run(folder, fields=FIELDS, **options):
    """A run of a random sea with an island on a ring; its folder."""
    places = {
        "output__stations": tuple({"name": f"gauge {n}", "x": x, "y": y} for n, (x, y) in enumerate(STATIONS)),
        "output__sections": tuple({"name": f"line {n}", "start": a, "end": b} for n, (a, b) in enumerate(SECTIONS)),
        "output__every_steps": 1,
        "output__fields": ("eta", "u", "v", "h", "tracer"),
        "physics__tracers": ({"name": "tracer"},),
    }
    given = {"run__steps": STEPS, "run__executor": "reference", "grid__periodic_y": False} | places | options
    swmodel.Simulation(configuration(NY, NX, fields, **given)).run(folder)
    return folder


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    return run(tmp_path_factory.mktemp("samples") / "run")


def opened(folder, name):
    return xarray.open_dataset(folder / name, decode_times=False).load()


def test_series_are_the_fields_of_every_step_interpolated(done):
    found, fields = opened(done, "stations.nc"), opened(done, "output.nc")
    config = configuration(NY, NX, FIELDS, grid__periodic_y=False)
    assert found.step.values.tolist() == list(range(STEPS + 1))
    assert found.station_name.values.astype(str).tolist() == [f"gauge {n}" for n in range(len(STATIONS))]
    x, y = np.array(STATIONS).T
    for name in ("eta", "u", "v", "tracer"):
        at = stencils(config, np.full(4, QUANTITIES.index(name if name in QUANTITIES else "eta")), x, y)
        values = fields[name].fillna(0).values[:, at.rows, at.columns]
        np.testing.assert_allclose(found[name], (values * at.weights).sum(-1), atol=1e-13)
    assert float(abs(found.eta).min()) > 1e-3


@pytest.mark.promise("gauges, sections and largest values see every step")
def test_a_transport_is_that_through_the_faces_and_all_ways_round_agree(done):
    """Two ways from one corner to another differ by what the volume between them changes."""
    found, fields = opened(done, "sections.nc").transport, opened(done, "output.nc").fillna(0)
    straight = (fields.u[:, :, -1] * (0.5 * (fields.h[:, :, -1] + fields.h[:, :, 0])))[:, 2:12].sum("y_c") * 5e3
    np.testing.assert_allclose(found[:, 0], straight, rtol=1e-13)
    config = configuration(NY, NX, FIELDS, grid__periodic_y=False)
    reference, state = Reference(setup_of(config)), State(*swmodel.Simulation.from_restart(done).state[:3])
    growth = reference.tendency(state).h * metrics(config.grid, range(NY))["area"].centre

    def through(*corners):
        rows, columns = np.array(corners).T
        faces = open_faces(config, rows, columns)
        u, v, h = state.u, state.v, state.h
        beyond = h[(faces.rows + (faces.axis == 0)) % NY, (faces.columns + faces.axis) % NX]
        velocity = np.where(faces.axis == 1, u[faces.rows, faces.columns], v[faces.rows, faces.columns])
        return (faces.lengths * velocity * 0.5 * (h[faces.rows, faces.columns] + beyond)).sum()

    # Round cells (2..4, 3..6) from the south-west corner: north, east, south, west; out of it is to the left.
    ring = [(1 + k, 2) for k in range(4)] + [(4, 3 + k) for k in range(4)]
    ring += [(3 - k, 6) for k in range(3)] + [(1, 5 - k) for k in range(4)]
    assert through(*ring) == pytest.approx((growth[2:5, 3:7] * FIELDS["mask"][2:5, 3:7]).sum(), rel=1e-10)


@pytest.mark.promise("gauges, sections and largest values see every step")
@pytest.mark.parametrize(("executor", "stepper"), [("native", "ab2"), ("native", "rk3"), ("xla", "ab2")])
def test_within_the_loop_each_step_is_seen_as_when_taken_alone(tmp_path, executor, stepper):
    """The native step writes into the memory that is looked at."""
    options = {"time__stepper": stepper, "output__every_steps": STEPS, "output__maxima": ("eta",)}
    options |= {"output__arrival": 0.5}
    together = run(tmp_path / "together", **options, run__executor=executor)
    reference = run(tmp_path / "reference", **options)
    alone = run(tmp_path / "alone", **options, run__executor=executor, run__check_every_steps=1)
    for name in ("stations.nc", "sections.nc", "output.nc"):
        ours, theirs, truth = (opened(folder, name) for folder in (together, alone, reference))
        for key in set(truth.data_vars) - {"crc32"}:
            if executor == "native":
                np.testing.assert_array_equal(ours[key], theirs[key], err_msg=key)
            if truth[key].dtype.kind == "f":
                np.testing.assert_allclose(ours[key], truth[key], rtol=1e-11, atol=1e-11, err_msg=key)


@pytest.mark.promise("gauges, sections and largest values see every step")
def test_a_run_that_was_stopped_and_goes_on_leaves_the_files_of_one_that_was_not(tmp_path):
    """It was stopped between two values, and began again from a file of before."""
    options = {"output__stations_every_steps": 3, "output__maxima": ("eta", "speed"), "output__arrival": 0.4}
    once = run(tmp_path / "once", **options)
    twice = run(tmp_path / "twice", **options, run__steps=7)
    swmodel.Simulation.from_restart(twice, {"run.steps": STEPS}).run(twice)
    for name in ("stations.nc", "sections.nc", "output.nc"):
        xarray.testing.assert_equal(opened(twice, name), opened(once, name))
    with pytest.raises(ConfigError, match="output.stations: "):
        swmodel.Simulation.from_restart(twice, {"run.steps": 20, "output.stations": ()}).run(twice)


@pytest.mark.night
def test_the_files_satisfy_the_cf_checker(done):
    for name in ("stations.nc", "sections.nc"):
        errors, report = checked(done / name)
        assert not errors, report
    with netCDF4.Dataset(done / "stations.nc") as file:
        assert file.featureType == "timeSeries"
        assert file["station_name"].cf_role == "timeseries_id"
