"""Values in several outputs agree, however weather records and the clock divide a run into chunks.

The docs promise equal bits for `reference` and `native`, and agreement to round-off for `xla` if chunks differ.
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

#: Steps between records, and the steps at which a run is interrupted; the weather's record changes at step 13.
OUTPUT_INTERVAL_STEPS, INTERRUPTION_STEPS = 7, (13, 17)
FIELDS = ("eta", "u", "v", "h", "tracer", "speed", "zeta", "q", "kinetic_energy", "okubo_weiss")
MEANS = ("eta", "speed")
#: Executors and their weather.
VARIANTS = [("native", "recorded"), *night_params((("reference", "formula"),), (("xla", "recorded"),))]


def load_file(folder, name):
    return xarray.load_dataset(folder / name, decode_times=False)


@pytest.fixture(scope="module", params=VARIANTS, ids=" ".join)
def runs(request, tmp_path_factory):
    """A run with records of every step, and one with few records, in which a function of `every` notes values."""
    executor, forcing = request.param
    folder, noted_values = tmp_path_factory.mktemp("outputs"), {}

    def note_values(model):
        fields, dataset = model.fields(["eta", "u", "zeta"]), model.dataset(["eta", "speed"])
        noted_values[model.step] = fields, dataset, model.diagnostics()

    def simulation(interval, **options):
        options |= {"run__executor": executor, "output__every_steps": interval, "output__fields": FIELDS}
        return swmodel.Simulation(make_config(forcing, folder, **options))

    model = simulation(OUTPUT_INTERVAL_STEPS, output__means=MEANS)
    model.every(f"{OUTPUT_INTERVAL_STEPS} steps", note_values)
    return SimpleNamespace(
        all_steps=load_file(run(simulation(1), folder / "all_steps", [1]), "output.nc"),
        folder=run(model, folder / "run", [50, 3, 17]),
        records=load_file(folder / "run", "output.nc"),
        config=model.config,
        simulation=simulation,
        noted_values=noted_values,
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
    all_steps, records = runs.all_steps, runs.records
    assert records.step.values.tolist() == [*range(0, STEPS, OUTPUT_INTERVAL_STEPS), STEPS]
    for name in FIELDS:
        np.testing.assert_allclose(records[name], all_steps[name][records.step.values], **runs.tolerance, err_msg=name)
    stations, gauges = load_file(runs.folder, "stations.nc"), make_gauges(setup_of(runs.config))
    assert stations.step.values.tolist() == list(range(STEPS + 1))
    cases = (all_steps, slice(None), runs.tolerance["rtol"] == 0), (records, records.step.values, True)
    for fields, steps, is_exact in cases:
        expected = gauges.values(values_at_points(field_values(fields), gauges.points), fields.step.values)
        for name in ("eta", "u", "v", "tracer"):
            # NumPy computes the inflow through open boundaries for output.nc, and the run's program that for gauges.
            tolerance = {"rtol": 0, "atol": 0} if is_exact and name == "eta" else {"rtol": 1e-9, "atol": 1e-10}
            np.testing.assert_allclose(stations[name][steps], expected[name], **tolerance, err_msg=name)
    np.testing.assert_array_equal(stations.eta[records.step.values, 0], records.eta[:, 1, 3])  # at a cell's centre
    assert float(stations.eta.std("time").min()) > 1e-3
    assert float(abs(stations.u[1:, 1]).max()) > 1e-3  # within a cell of the open boundary
    series, sections = load_file(runs.folder, "sections.nc"), make_cross_sections(setup_of(runs.config))
    assert series.step.values.tolist() == [*range(0, STEPS, 2), STEPS]
    values = values_at_points(field_values(all_steps), sections.points)
    expected = sections.values(values, all_steps.step.values)["transport"]
    np.testing.assert_allclose(series.transport, expected[series.step.values], rtol=runs.tolerance["rtol"])
    assert float(abs(series.transport).min()) > 0


@pytest.mark.fault("values that nobody recorded are written as data")
def test_series_that_lacks_steps_is_refused(tmp_path):
    model = swmodel.Simulation(make_config("constant", tmp_path, run__executor="reference"))
    with model.results(tmp_path) as results:
        results.write()
        model.take_steps(2)
        with pytest.raises(RuntimeError, match="not recorded"):
            results.accumulators.collect()


@pytest.mark.fault("largest values, their times or arrivals miss a step")
def test_largest_values_and_arrivals_are_those_of_all_steps(runs):
    """Their times are those at which they were first reached. The speed, from another program, agrees to round-off."""
    dt = runs.config.time.dt
    for number, step in enumerate(runs.records.step.values):
        record = runs.records.isel(time=number)
        for name in ("eta", "speed"):
            tolerance = runs.tolerance if name == "eta" else {"rtol": 1e-9, "atol": 1e-10}
            values = runs.all_steps[name].values[: step + 1]
            largest = values.max(axis=0)
            np.testing.assert_allclose(record[f"{name}_max"], largest, **tolerance)
            wet = np.isfinite(largest)
            steps = np.rint(record[f"{name}_max_time"].values[wet] / dt).astype(int)
            np.testing.assert_allclose(values[:, wet][steps, np.arange(wet.sum())], largest[wet], **tolerance)
            if not tolerance["rtol"]:
                np.testing.assert_array_equal(steps, values[:, wet].argmax(axis=0))
        is_high = np.abs(runs.all_steps.eta.values[: step + 1]) >= runs.config.output.arrival
        expected = np.where(is_high.any(axis=0), is_high.argmax(axis=0) * dt, np.nan)
        np.testing.assert_array_equal(record.eta_arrival, expected)


@pytest.mark.fault("harmonic constants are not those of the fields")
def test_harmonic_constants_are_those_of_fields(runs):
    series, harmonics = harmonic_analysis(runs.config), load_file(runs.folder, "harmonics.nc")
    steps, (tide,) = np.array(series.steps), series.constituents
    phase = 2 * np.pi * steps * runs.config.time.dt / tide.period + tide.phase
    wave = tide.nodal_factor * np.exp(1j * phase)
    basis = np.stack([np.ones(len(steps)), wave.real, wave.imag], axis=1)
    for name in ("eta", "u", "v"):
        values = runs.all_steps[name].values[steps].reshape(len(steps), -1)
        mean, cosine, sine = np.linalg.lstsq(basis, np.nan_to_num(values))[0].reshape(3, NY, NX)
        (constants,) = (harmonics[f"{name}_amplitude"] * np.exp(1j * np.radians(harmonics[f"{name}_phase"]))).values
        is_wet = np.isfinite(constants)
        np.testing.assert_allclose(constants[is_wet], (cosine + 1j * sine)[is_wet], atol=1e-10)
        np.testing.assert_allclose(harmonics[f"{name}_mean"].values[is_wet], mean[is_wet], atol=1e-10)


@pytest.mark.fault("a function of `every`, or `dataset()`, gets other numbers than the files have")
def test_functions_called_at_intervals_get_the_written_fields(runs):
    series = load_file(runs.folder, "diagnostics.nc")
    assert sorted(runs.noted_values) == list(range(OUTPUT_INTERVAL_STEPS, STEPS, OUTPUT_INTERVAL_STEPS))
    for step, (fields, dataset, diagnostics) in runs.noted_values.items():
        record = runs.records.isel(time=step // OUTPUT_INTERVAL_STEPS)
        for name, values in fields.items():
            is_wet = np.isfinite(record[name].values)
            np.testing.assert_array_equal(values[is_wet], record[name].values[is_wet], err_msg=name)
        for name in ("eta", "speed"):
            np.testing.assert_array_equal(dataset[name], record[name], err_msg=name)
        for name, value in diagnostics.items():
            assert value == series[name].values[step // OUTPUT_INTERVAL_STEPS], name


def test_means_are_those_of_steps(runs):
    records = runs.records
    for name, number in itertools.product(MEANS, range(1, len(records.step))):
        first, last = records.step.values[number - 1 : number + 1]
        expected = runs.all_steps[name][first + 1 : last + 1].mean("time")
        np.testing.assert_allclose(records[f"{name}_mean"][number], expected, rtol=1e-9, atol=1e-10)


@pytest.mark.fault("a run that is interrupted while the weather varies has other series, sums or largest values")
@pytest.mark.fault("two runs differ because the clock cuts them into other chunks")
@pytest.mark.night
@pytest.mark.parametrize("stops", [(), INTERRUPTION_STEPS], ids=["other chunks", "interrupted"])
def test_other_chunks_and_interruptions_leave_same_values(runs, tmp_path, monkeypatch, stops):
    model, folder = runs.simulation(OUTPUT_INTERVAL_STEPS, output__means=MEANS), tmp_path / "run"
    for stop, chunks in zip(stops, ([50], [3]), strict=False):
        reason = lambda *_, model=model, stop=stop: "hand" if model.step >= stop else None  # noqa: E731
        with monkeypatch.context() as patch:
            patch.setattr(loop.StopRequests, "reason", reason)
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
    quantities = [parse_quantity(name, config) for name in names]
    fields, steps = (each.ravel() for each in np.mgrid[:3, : STEPS + 1])
    constants = (np.full(len(steps), value) for value in (lon, lat, np.nan, 1.0, ""))
    operator = make_operator(Observations(fields, steps * dt, *constants), config, model.block, 1)

    def observe(view, k):
        return [quantity.observe(view, k) for quantity in quantities], operator.observe(view, k)

    problem = Problem(config, "eta", observe, every=1)
    series, observations = problem.series(problem.first_guess())
    stations, sections = load_file(folder, "stations.nc"), load_file(folder, "sections.nc")
    np.testing.assert_allclose(np.stack(series[:4], axis=1), stations.eta, rtol=0, atol=1e-11)
    np.testing.assert_allclose(np.stack(series[4:], axis=1), sections.transport, rtol=1e-9)
    values = operator.collect(np.asarray(observations)).reshape(3, -1)
    for name, ours in zip(("eta", "u", "v"), values, strict=True):
        np.testing.assert_allclose(ours, stations[name][:, 2], rtol=0, atol=1e-11, err_msg=name)
