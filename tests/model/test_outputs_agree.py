"""Numbers that two outputs share are the same number, however the weather and the clock cut a run into chunks.

The docs promise bits for `reference` and `native`. For `xla` they promise round-off between runs whose chunks differ.
"""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import xarray
from support.restarts import data
from support.stormy_sea import NX, NY, STATIONS, STEPS, Uneven, run, sea

import swmodel
from swmodel.assimilation.interpolation import operator
from swmodel.assimilation.observations import Observations
from swmodel.errors import Stopped
from swmodel.gradients import Problem
from swmodel.gradients.quantities import parse
from swmodel.model import run as loop
from swmodel.model.ensemble.members import Members
from swmodel.model.ensemble.settings import check_ensemble
from swmodel.setup.positions.crossings import crossings
from swmodel.setup.positions.gauges import gauges
from swmodel.setup.setup import setup_of
from swmodel.setup.tidal_analysis import analysis

pytestmark = pytest.mark.slow

#: Steps between records, and the steps at which a run is interrupted: the weather is replaced at the first.
EVERY, STOPS = 7, (13, 17)
FIELDS = ("eta", "u", "v", "h", "tracer", "speed", "zeta", "q", "kinetic_energy", "okubo_weiss")
MEANS = ("eta", "speed")
#: Executors and their weather; the xla executor is compared at night.
VARIANTS = [
    ("reference", "formula"),
    ("native", "recorded"),
    pytest.param(("xla", "recorded"), marks=pytest.mark.night),
]


def opened(folder, name):
    return xarray.load_dataset(folder / name, decode_times=False)


@pytest.fixture(scope="module", params=VARIANTS, ids=" ".join)
def outputs(request, tmp_path_factory):
    """A run with its fields at each step, one with few records, and what a function of `every` saw of that."""
    executor, forcing = request.param
    folder, seen = tmp_path_factory.mktemp("outputs"), {}

    def look(model):
        seen[model.step] = model.fields(["eta", "u", "zeta"]), model.dataset(["eta", "speed"]), model.diagnostics()

    def made(every, **more):
        given = {"run__executor": executor, "output__every_steps": every, "output__fields": FIELDS}
        return swmodel.Simulation(sea(forcing, folder, **given | more))

    each, few = made(1), made(EVERY, output__means=MEANS)
    return SimpleNamespace(
        each=opened(run(each, folder / "each", [1]), "output.nc"),
        folder=run(few, folder / "few", [50, 3, 17], {f"{EVERY} steps": look}),
        records=opened(folder / "few", "output.nc"),
        config=few.config,
        made=made,
        seen=seen,
        # Between runs of different chunks.
        tolerance={"rtol": 1e-9, "atol": 1e-10} if executor == "xla" else {"rtol": 0, "atol": 0},
    )


def seen_at(fields, points):
    """What Points have of the fields of each record."""
    names = np.array(["h", "u", "v", "tracer"])[points.fields]
    columns = (fields[name][:, j, i] for name, j, i in zip(names, *points[1:3], strict=True))
    return np.nan_to_num(np.stack([*columns], axis=1), nan=1.0)


def values_of(dataset):
    return {name: dataset[name].values for name in FIELDS}


@pytest.mark.fault("a record of the weather cuts a chunk, and the series of a gauge or a section lacks values")
@pytest.mark.fault("gauges and largest speeds beside open sides show no current")
def test_gauges_and_sections_have_fields_of_every_step(outputs):
    """And records those of theirs; a section that of each second step."""
    each, records = outputs.each, outputs.records
    assert records.step.values.tolist() == [*range(0, STEPS, EVERY), STEPS]
    for name in FIELDS:
        np.testing.assert_allclose(records[name], each[name][records.step.values], **outputs.tolerance, err_msg=name)
    found, places = opened(outputs.folder, "stations.nc"), gauges(setup_of(outputs.config))
    assert found.step.values.tolist() == list(range(STEPS + 1))
    for fields, steps, exact in (
        (outputs.each, slice(None), outputs.tolerance["rtol"] == 0),
        (outputs.records, outputs.records.step.values, True),
    ):
        truth = places.values(seen_at(values_of(fields), places.points))
        for name in ("eta", "u", "v", "tracer"):
            # NumPy computes for output.nc what comes in through open sides, and the run's program for the gauges.
            tolerance = {"rtol": 0, "atol": 0} if exact and name == "eta" else {"rtol": 1e-9, "atol": 1e-10}
            np.testing.assert_allclose(found[name][steps], truth[name], **tolerance, err_msg=name)
    on_a_centre = outputs.records.eta[:, 1, 3]
    np.testing.assert_array_equal(found.eta[outputs.records.step.values, 0], on_a_centre)
    assert float(found.eta.std("time").min()) > 1e-3
    assert float(abs(found.u[1:, 1]).max()) > 1e-3  # within a cell of the open side
    found, places = opened(outputs.folder, "sections.nc"), crossings(setup_of(outputs.config))
    assert found.step.values.tolist() == [*range(0, STEPS, 2), STEPS]
    truth = places.values(seen_at(values_of(outputs.each), places.points))["transport"]
    np.testing.assert_allclose(found.transport, truth[found.step.values], rtol=outputs.tolerance["rtol"])
    assert float(abs(found.transport).min()) > 0


@pytest.mark.fault("values that nobody recorded are written as data")
def test_steps_without_record_are_no_values_of_gauges(tmp_path):
    model = swmodel.Simulation(sea("constant", tmp_path, run__executor="reference"))
    with model.results(tmp_path) as results:
        results.write()
        model.take_steps(2)
        with pytest.raises(RuntimeError, match="not recorded"):
            results.accumulators.collect()


@pytest.mark.fault("largest values, their times or arrivals miss a step")
def test_largest_values_and_arrivals_are_those_of_all_steps(outputs):
    """Their times are the first at which they were reached. The speed is that of another program."""
    dt = outputs.config.time.dt
    for number, step in enumerate(outputs.records.step.values):
        record = outputs.records.isel(time=number)
        for name in ("eta", "speed"):
            tolerance = outputs.tolerance if name == "eta" else {"rtol": 1e-9, "atol": 1e-10}
            there = outputs.each[name].values[: step + 1]
            most = there.max(axis=0)
            np.testing.assert_allclose(record[f"{name}_max"], most, **tolerance)
            wet = np.isfinite(most)
            steps = np.rint(record[f"{name}_max_time"].values[wet] / dt).astype(int)
            np.testing.assert_allclose(there[:, wet][steps, np.arange(wet.sum())], most[wet], **tolerance)
            if not tolerance["rtol"]:
                np.testing.assert_array_equal(steps, there[:, wet].argmax(axis=0))
        high = np.abs(outputs.each.eta.values[: step + 1]) >= outputs.config.output.arrival
        expected = np.where(high.any(axis=0), high.argmax(axis=0) * dt, np.nan)
        np.testing.assert_array_equal(record.eta_arrival, expected)


@pytest.mark.fault("harmonic constants are not those of the fields")
def test_constants_of_tides_are_those_of_fields(outputs):
    """By least squares."""
    series, found = analysis(outputs.config), opened(outputs.folder, "harmonics.nc")
    steps, (tide,) = np.array(series.steps), series.constituents
    phase = 2 * np.pi * steps * outputs.config.time.dt / tide.period + tide.phase
    basis = np.stack([np.ones(len(steps)), tide.factor * np.cos(phase), tide.factor * np.sin(phase)], axis=1)
    for name in ("eta", "u", "v"):
        values = outputs.each[name].values[steps].reshape(len(steps), -1)
        mean, cosine, sine = np.linalg.lstsq(basis, np.nan_to_num(values))[0].reshape(3, NY, NX)
        (ours,) = (found[f"{name}_amplitude"] * np.exp(1j * np.radians(found[f"{name}_phase"]))).values
        there = np.isfinite(ours)
        np.testing.assert_allclose(ours[there], (cosine + 1j * sine)[there], atol=1e-10)
        np.testing.assert_allclose(found[f"{name}_mean"].values[there], mean[there], atol=1e-10)


@pytest.mark.fault("a function of `every`, or `dataset()`, gets other numbers than the files have")
def test_functions_of_every_see_what_is_written(outputs):
    numbers = opened(outputs.folder, "diagnostics.nc")
    assert sorted(outputs.seen) == list(range(EVERY, STEPS, EVERY))
    for step, (fields, dataset, diagnostics) in outputs.seen.items():
        record = outputs.records.isel(time=step // EVERY)
        for name, values in fields.items():
            there = np.isfinite(record[name].values)
            np.testing.assert_array_equal(values[there], record[name].values[there], err_msg=name)
        for name in ("eta", "speed"):
            np.testing.assert_array_equal(dataset[name], record[name], err_msg=name)
        for name, number in diagnostics.items():
            assert number == numbers[name].values[step // EVERY], name


def test_means_are_those_of_steps(outputs):
    found = outputs.records
    for name, number in itertools.product(MEANS, range(1, len(found.step))):
        first, last = found.step.values[number - 1 : number + 1]
        expected = outputs.each[name][first + 1 : last + 1].mean("time")
        np.testing.assert_allclose(found[f"{name}_mean"][number], expected, rtol=1e-9, atol=1e-10)


@pytest.mark.fault("a run that is interrupted while the weather varies has other series, sums or largest values")
@pytest.mark.fault("two runs differ because the clock cuts them into other chunks")
@pytest.mark.night
@pytest.mark.parametrize("stops", [(), STOPS], ids=["other chunks", "interrupted"])
def test_other_chunks_and_interruptions_leave_same_values(outputs, tmp_path, monkeypatch, stops):
    model, folder = outputs.made(EVERY, output__means=MEANS), tmp_path / "run"
    for stop, chunks in zip(stops, ([50], [3]), strict=False):
        late = lambda self, transport, failed, now=model, stop=stop: "hand" if now.step >= stop else None  # noqa: E731
        with monkeypatch.context() as patch:
            patch.setattr(loop.Stop, "reason", late)
            with pytest.raises(Stopped):
                run(model, folder, chunks)
        assert stop <= model.step < STEPS
        model = swmodel.Simulation.from_restart(folder, case=type(model.config.case))
    run(model, folder, [2, 11])
    paths = [*outputs.folder.glob("*.nc"), outputs.folder / f"restart/step-{STEPS:010d}.nc"]
    assert len(paths) == 6
    for path in paths:
        ours, theirs = data(folder / path.relative_to(outputs.folder)), data(path)
        assert ours.keys() == theirs.keys()
        for name in (name for name, values in theirs.items() if values.dtype.kind == "f"):
            np.testing.assert_allclose(ours[name], theirs[name], **outputs.tolerance, err_msg=f"{path.name} {name}")


@pytest.mark.fault("an ensemble with a tracer among its fields cannot be written")
@pytest.mark.night
def test_member_has_fields_and_diagnostics_of_run(tmp_path):
    """Number 0 is that run; the sea has no places, which an ensemble does not write."""
    none = {f"output__{name}": () for name in ("stations", "sections", "maxima", "harmonics")}
    none |= {"output__arrival": None, "run__executor": "native", "output__every_steps": EVERY, "output__fields": FIELDS}
    config = sea("recorded", tmp_path, **none, ensemble__members=2, ensemble__wind=0.3)
    run(swmodel.Simulation(config), tmp_path / "run", [50])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "CHUNK_SECONDS", Uneven([4, 1, 23]))
        loop.run(Members(check_ensemble(config)), tmp_path / "members")
    alone, numbers = (opened(tmp_path / "run", name) for name in ("output.nc", "diagnostics.nc"))
    members = opened(tmp_path / "members", "ensemble.nc")
    assert members.step.values.tolist() == alone.step.values.tolist()
    for name in FIELDS:
        np.testing.assert_array_equal(members[name][:, 0], alone[name], err_msg=name)
        np.testing.assert_allclose(members[f"{name}_mean"], members[name].mean("member"), rtol=1e-12, err_msg=name)
    for name in numbers.data_vars.keys() - {"step", "crc32"}:
        ours = members["tracer_content" if name == "tracer" else name]
        np.testing.assert_array_equal(ours[:, 0], numbers[name], err_msg=name)


@pytest.mark.fault("a gauge and a derivative or observation at its place differ")
@pytest.mark.night
def test_derivatives_and_assimilation_observe_the_series(tmp_path):
    """Level at each gauge and transport through each section; the current at a gauge away from the open side."""
    config = sea("recorded", tmp_path, run__executor="native", output__sections_every_steps=1)
    model = swmodel.Simulation(config)
    folder, config, (lon, lat), dt = run(model, tmp_path / "run", [50]), model.config, STATIONS[2], model.dt
    names = [*(f"eta:gauge {n}" for n in range(len(STATIONS))), "transport:slant", "transport:south"]
    sought = [parse(name, config) for name in names]
    numbers, steps = (each.ravel() for each in np.mgrid[:3, : STEPS + 1])
    constant = (np.full(len(steps), value) for value in (lon, lat, np.nan, 1.0, ""))
    observed = operator(Observations(numbers, steps * dt, *constant), config, model.block, 1)

    def observe(view, k):
        return [each.observe(view, k) for each in sought], observed.observe(view, k)

    problem = Problem(config, "eta", observe, every=1)
    places, points = problem.series(problem.first_guess())
    stations, sections = opened(folder, "stations.nc"), opened(folder, "sections.nc")
    np.testing.assert_allclose(np.stack(places[:4], axis=1), stations.eta, rtol=0, atol=1e-11)
    np.testing.assert_allclose(np.stack(places[4:], axis=1), sections.transport, rtol=1e-9)
    values = observed.collect(np.asarray(points)).reshape(3, -1)
    for name, ours in zip(("eta", "u", "v"), values, strict=True):
        np.testing.assert_allclose(ours, stations[name][:, 2], rtol=0, atol=1e-11, err_msg=name)
