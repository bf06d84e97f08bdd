"""Numbers in two outputs are the same, however the weather and the clock divide a run into chunks.

The docs promise equal bits for `reference` and `native`, and for `xla` round-off between runs whose chunks differ.
"""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import xarray
from support.marks import night_params
from support.restarts import read_variables
from support.stormy_sea import NX, NY, STATIONS, STEPS, make_config, run

import swmodel
from swmodel.assimilation.interpolation import make_operator
from swmodel.assimilation.observations import Observations
from swmodel.errors import Stopped
from swmodel.gradients import Problem
from swmodel.gradients.quantities import parse_quantity
from swmodel.model import run as loop
from swmodel.setup.positions.cross_sections import make_cross_sections
from swmodel.setup.positions.gauges import make_gauges
from swmodel.setup.setup import setup_of
from swmodel.setup.tidal_analysis import harmonic_analysis

pytestmark = pytest.mark.slow

#: Steps between records, and the steps at which a run is interrupted; at the first of them a new record acts.
OUTPUT_INTERVAL_STEPS, INTERRUPTION_STEPS = 7, (13, 17)
FIELDS = ("eta", "u", "v", "h", "tracer", "speed", "zeta", "q", "kinetic_energy", "okubo_weiss")
MEANS = ("eta", "speed")
#: Executors and their weather.
VARIANTS = [("native", "recorded"), *night_params((("reference", "formula"),), (("xla", "recorded"),))]


def load_file(folder, name):
    return xarray.load_dataset(folder / name, decode_times=False)


@pytest.fixture(scope="module", params=VARIANTS, ids=" ".join)
def runs(request, tmp_path_factory):
    """A run with records of every step, one with few records, and what a function of `every` saw in the latter."""
    executor, forcing = request.param
    folder, seen = tmp_path_factory.mktemp("outputs"), {}

    def look(model):
        seen[model.step] = model.fields(["eta", "u", "zeta"]), model.dataset(["eta", "speed"]), model.diagnostics()

    def made(every, **more):
        given = {"run__executor": executor, "output__every_steps": every, "output__fields": FIELDS}
        return swmodel.Simulation(make_config(forcing, folder, **given | more))

    each, few = made(1), made(OUTPUT_INTERVAL_STEPS, output__means=MEANS)
    return SimpleNamespace(
        each=load_file(run(each, folder / "each", [1]), "output.nc"),
        folder=run(few, folder / "few", [50, 3, 17], {f"{OUTPUT_INTERVAL_STEPS} steps": look}),
        records=load_file(folder / "few", "output.nc"),
        config=few.config,
        made=made,
        seen=seen,
        tolerance={"rtol": 1e-9, "atol": 1e-10} if executor == "xla" else {"rtol": 0, "atol": 0},
    )


def values_at_points(fields, points):
    names = np.array(["h", "u", "v", "tracer"])[points.fields]
    columns = (fields[name][:, j, i] for name, j, i in zip(names, *points[1:3], strict=True))
    return np.nan_to_num(np.stack([*columns], axis=1), nan=1.0)


def field_values(dataset):
    return {name: dataset[name].values for name in FIELDS}


@pytest.mark.fault("a record of the weather cuts a chunk, and the series of a gauge or a section lacks values")
@pytest.mark.fault("gauges and largest speeds beside open boundaries show no current")
def test_gauges_and_sections_have_fields_of_every_step(runs):
    """Records have the values of their steps; a section has those of every second step."""
    each, records = runs.each, runs.records
    assert records.step.values.tolist() == [*range(0, STEPS, OUTPUT_INTERVAL_STEPS), STEPS]
    for name in FIELDS:
        np.testing.assert_allclose(records[name], each[name][records.step.values], **runs.tolerance, err_msg=name)
    found = load_file(runs.folder, "stations.nc")
    places = make_gauges(setup_of(runs.config))
    assert found.step.values.tolist() == list(range(STEPS + 1))
    every_step = (each, slice(None), runs.tolerance["rtol"] == 0)
    for fields, steps, exact in (every_step, (records, records.step.values, True)):
        truth = places.values(values_at_points(field_values(fields), places.points), fields.step.values)
        for name in ("eta", "u", "v", "tracer"):
            # NumPy computes the inflow through open boundaries for output.nc, the run's program that for the gauges.
            tolerance = {"rtol": 0, "atol": 0} if exact and name == "eta" else {"rtol": 1e-9, "atol": 1e-10}
            np.testing.assert_allclose(found[name][steps], truth[name], **tolerance, err_msg=name)
    np.testing.assert_array_equal(found.eta[records.step.values, 0], records.eta[:, 1, 3])  # on a centre
    assert float(found.eta.std("time").min()) > 1e-3
    assert float(abs(found.u[1:, 1]).max()) > 1e-3  # within a cell of the open boundary
    found = load_file(runs.folder, "sections.nc")
    places = make_cross_sections(setup_of(runs.config))
    assert found.step.values.tolist() == [*range(0, STEPS, 2), STEPS]
    truth = places.values(values_at_points(field_values(runs.each), places.points), runs.each.step.values)["transport"]
    np.testing.assert_allclose(found.transport, truth[found.step.values], rtol=runs.tolerance["rtol"])
    assert float(abs(found.transport).min()) > 0


@pytest.mark.fault("values that nobody recorded are written as data")
def test_steps_without_record_are_no_values_of_gauges(tmp_path):
    model = swmodel.Simulation(make_config("constant", tmp_path, run__executor="reference"))
    with model.results(tmp_path) as results:
        results.write()
        model.take_steps(2)
        with pytest.raises(RuntimeError, match="not recorded"):
            results.accumulators.collect()


@pytest.mark.fault("largest values, their times or arrivals miss a step")
def test_largest_values_and_arrivals_are_those_of_all_steps(runs):
    """Their times are those at which they were reached first. The speed comes from another program."""
    dt = runs.config.time.dt
    for number, step in enumerate(runs.records.step.values):
        record = runs.records.isel(time=number)
        for name in ("eta", "speed"):
            tolerance = runs.tolerance if name == "eta" else {"rtol": 1e-9, "atol": 1e-10}
            there = runs.each[name].values[: step + 1]
            most = there.max(axis=0)
            np.testing.assert_allclose(record[f"{name}_max"], most, **tolerance)
            wet = np.isfinite(most)
            steps = np.rint(record[f"{name}_max_time"].values[wet] / dt).astype(int)
            np.testing.assert_allclose(there[:, wet][steps, np.arange(wet.sum())], most[wet], **tolerance)
            if not tolerance["rtol"]:
                np.testing.assert_array_equal(steps, there[:, wet].argmax(axis=0))
        high = np.abs(runs.each.eta.values[: step + 1]) >= runs.config.output.arrival
        expected = np.where(high.any(axis=0), high.argmax(axis=0) * dt, np.nan)
        np.testing.assert_array_equal(record.eta_arrival, expected)


@pytest.mark.fault("harmonic constants are not those of the fields")
def test_constants_of_tides_are_those_of_fields(runs):
    series = harmonic_analysis(runs.config)
    found = load_file(runs.folder, "harmonics.nc")
    steps, (tide,) = np.array(series.steps), series.constituents
    phase = 2 * np.pi * steps * runs.config.time.dt / tide.period + tide.phase
    wave = tide.nodal_factor * np.exp(1j * phase)
    basis = np.stack([np.ones(len(steps)), wave.real, wave.imag], axis=1)
    for name in ("eta", "u", "v"):
        values = runs.each[name].values[steps].reshape(len(steps), -1)
        mean, cosine, sine = np.linalg.lstsq(basis, np.nan_to_num(values))[0].reshape(3, NY, NX)
        (ours,) = (found[f"{name}_amplitude"] * np.exp(1j * np.radians(found[f"{name}_phase"]))).values
        there = np.isfinite(ours)
        np.testing.assert_allclose(ours[there], (cosine + 1j * sine)[there], atol=1e-10)
        np.testing.assert_allclose(found[f"{name}_mean"].values[there], mean[there], atol=1e-10)


@pytest.mark.fault("a function of `every`, or `dataset()`, gets other numbers than the files have")
def test_functions_called_at_intervals_get_the_written_fields(runs):
    numbers = load_file(runs.folder, "diagnostics.nc")
    assert sorted(runs.seen) == list(range(OUTPUT_INTERVAL_STEPS, STEPS, OUTPUT_INTERVAL_STEPS))
    for step, (fields, dataset, diagnostics) in runs.seen.items():
        record = runs.records.isel(time=step // OUTPUT_INTERVAL_STEPS)
        for name, values in fields.items():
            there = np.isfinite(record[name].values)
            np.testing.assert_array_equal(values[there], record[name].values[there], err_msg=name)
        for name in ("eta", "speed"):
            np.testing.assert_array_equal(dataset[name], record[name], err_msg=name)
        for name, number in diagnostics.items():
            assert number == numbers[name].values[step // OUTPUT_INTERVAL_STEPS], name


def test_means_are_those_of_steps(runs):
    found = runs.records
    for name, number in itertools.product(MEANS, range(1, len(found.step))):
        first, last = found.step.values[number - 1 : number + 1]
        expected = runs.each[name][first + 1 : last + 1].mean("time")
        np.testing.assert_allclose(found[f"{name}_mean"][number], expected, rtol=1e-9, atol=1e-10)


@pytest.mark.fault("a run that is interrupted while the weather varies has other series, sums or largest values")
@pytest.mark.fault("two runs differ because the clock cuts them into other chunks")
@pytest.mark.night
@pytest.mark.parametrize("stops", [(), INTERRUPTION_STEPS], ids=["other chunks", "interrupted"])
def test_other_chunks_and_interruptions_leave_same_values(runs, tmp_path, monkeypatch, stops):
    model, folder = runs.made(OUTPUT_INTERVAL_STEPS, output__means=MEANS), tmp_path / "run"
    for stop, chunks in zip(stops, ([50], [3]), strict=False):
        late = lambda self, transport, failed, now=model, stop=stop: "hand" if now.step >= stop else None  # noqa: E731
        with monkeypatch.context() as patch:
            patch.setattr(loop.StopRequests, "reason", late)
            with pytest.raises(Stopped):
                run(model, folder, chunks)
        assert stop <= model.step < STEPS
        model = swmodel.Simulation.from_restart(folder, case=type(model.config.case))
    run(model, folder, [2, 11])
    paths = [*runs.folder.glob("*.nc"), runs.folder / f"restart/step-{STEPS:010d}.nc"]
    assert len(paths) == 6
    for path in paths:
        ours, theirs = read_variables(folder / path.relative_to(runs.folder)), read_variables(path)
        assert ours.keys() == theirs.keys()
        for name in (name for name, values in theirs.items() if values.dtype.kind == "f"):
            np.testing.assert_allclose(ours[name], theirs[name], **runs.tolerance, err_msg=f"{path.name} {name}")


@pytest.mark.fault("a gauge and a derivative or observation at its place differ")
@pytest.mark.night
def test_derivatives_and_assimilation_observe_the_series(tmp_path):
    """Sea level at gauges, transport through sections, and the current at a gauge away from the open boundary."""
    config = make_config("recorded", tmp_path, run__executor="native", output__sections_every_steps=1)
    model = swmodel.Simulation(config)
    folder, config, (lon, lat), dt = run(model, tmp_path / "run", [50]), model.config, STATIONS[2], model.dt
    names = [*(f"eta:gauge {n}" for n in range(len(STATIONS))), "transport:slant", "transport:south"]
    sought = [parse_quantity(name, config) for name in names]
    numbers, steps = (each.ravel() for each in np.mgrid[:3, : STEPS + 1])
    constant = (np.full(len(steps), value) for value in (lon, lat, np.nan, 1.0, ""))
    observed = make_operator(Observations(numbers, steps * dt, *constant), config, model.block, 1)

    def observe(view, k):
        return [each.observe(view, k) for each in sought], observed.observe(view, k)

    problem = Problem(config, "eta", observe, every=1)
    places, points = problem.series(problem.first_guess())
    stations, sections = load_file(folder, "stations.nc"), load_file(folder, "sections.nc")
    np.testing.assert_allclose(np.stack(places[:4], axis=1), stations.eta, rtol=0, atol=1e-11)
    np.testing.assert_allclose(np.stack(places[4:], axis=1), sections.transport, rtol=1e-9)
    values = observed.collect(np.asarray(points)).reshape(3, -1)
    for name, ours in zip(("eta", "u", "v"), values, strict=True):
        np.testing.assert_allclose(ours, stations[name][:, 2], rtol=0, atol=1e-11, err_msg=name)
