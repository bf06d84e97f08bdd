"""Series of gauges, sections, tides and spectra are those of the fields, also after a restart."""

import shutil
import sys

import netCDF4
import numpy as np
import pytest
import xarray
from support import restarts
from support.canal import equatorial_canal
from support.cf_checker import assert_satisfies_cf
from support.command import invoke_swmodel
from support.random_case import configuration, random_fields
from support.restarts import assert_same_data, read_variables
from support.small_run import write_small_run
from support.unchecked_config import resolve_without_checks

import swmodel
from swmodel.errors import FilesError, UsageError
from swmodel.files.output import OutputFile
from swmodel.files.restart.folder import restart_path
from swmodel.files.verify import verdicts
from swmodel.model.validate import check_config
from swmodel.ocean.constituents import constituents_at
from swmodel.ocean.harmonics import basis_functions, harmonic_constants, normal_matrix
from swmodel.ocean.spectral_quantities import SPECTRUM_AXES
from swmodel.ocean.terms.tide import EQUILIBRIUM
from swmodel.parallel.transport import connect
from swmodel.plotting import ColourRange, PlotError, plot, spectra
from swmodel.plotting.info import describe_results

pytestmark = pytest.mark.slow

NY, NX, STEPS = 13, 17, 11
FIELDS = random_fields(NY, NX, land=0.0) | {"mask": np.ones((NY, NX))}
FIELDS["mask"][4:7, 5:9] = 0.0
#: In m: between points, next to the island, across the end of the periodic axis, at a corner of the domain.
STATIONS = ((31e3, 12e3), (19.9e3, 27e3), (67.9e3, 40e3), (0.0, 65e3))
SECTIONS = (((0.0, 10e3), (0.0, 60e3)), ((10e3, 5e3), (60e3, 64e3)))


def run(folder, fields=FIELDS, **options):
    """Run a random sea with an island on a periodic axis; returns the folder."""
    outputs = {
        "output__stations": tuple({"name": f"gauge {n}", "x": x, "y": y} for n, (x, y) in enumerate(STATIONS)),
        "output__sections": tuple({"name": f"line {n}", "start": a, "end": b} for n, (a, b) in enumerate(SECTIONS)),
        "output__every_steps": 1,
        "output__fields": ("eta", "u", "v", "h", "tracer"),
        "physics__tracers": ({"name": "tracer"},),
    }
    options = {"run__steps": STEPS, "run__executor": "reference", "grid__periodic_y": False} | outputs | options
    swmodel.Simulation(configuration(NY, NX, fields, **options)).run(folder)
    return folder


def open_file(folder, name):
    return xarray.open_dataset(folder / name, decode_times=False).load()


@pytest.mark.promise("gauges, sections and largest values see every step")
def test_series_of_a_resumed_run_are_those_of_an_uninterrupted_one(tmp_path):
    """The run stops between two values of its gauges; the series end with the last step."""
    options = {"output__stations_every_steps": 3, "output__maxima": ("eta", "speed"), "output__arrival": 0.4}
    whole_run = run(tmp_path / "whole", **options)
    resumed_run = run(tmp_path / "resumed", **options, run__steps=7)
    swmodel.Simulation.from_restart(resumed_run, {"run.steps": STEPS}).run(resumed_run)
    assert open_file(whole_run, "stations.nc").step.values.tolist() == [0, 3, 6, 9, 11]
    for name in ("stations.nc", "sections.nc", "output.nc"):
        xarray.testing.assert_equal(open_file(resumed_run, name), open_file(whole_run, name))
    with pytest.raises(swmodel.ConfigError, match="output.stations: "):
        swmodel.Simulation.from_restart(resumed_run, {"run.steps": 20, "output.stations": ()}).run(resumed_run)


@pytest.mark.promise("tides are those of the Moon and the Sun")
@pytest.mark.parametrize("first_step", [0, 10**9])
def test_harmonic_constants_of_a_synthetic_series_are_found(first_step):
    """The mean and amplitudes are found to 1e-10 from sums alone, after 10^9 steps as well as at the start."""
    constituents, dt = constituents_at(("M2", "S2", "K1", "O1", "M4"), "2012-03-01"), 600.0
    H, G = np.array([1.2, 0.4, 0.3, 0.2, 0.05]), np.array([10.0, 359.0, 180.0, 77.0, 300.0])
    steps, series = range(first_step + 1, first_step + 30 * 144, 3), 0.7
    times = np.array(steps, dtype=np.longdouble) * dt
    for constituent, h, g in zip(constituents, H, G, strict=True):
        cycles = times * np.longdouble(constituent.frequency) % 1
        series = series + constituent.nodal_factor * h * np.cos(2 * np.pi * cycles + constituent.phase - np.radians(g))
    sums = basis_functions(constituents, dt, steps) @ series.astype(float)
    mean, pairs = harmonic_constants(normal_matrix(constituents, dt, steps), sums)
    assert mean == pytest.approx(0.7, abs=1e-10)
    np.testing.assert_allclose([h for h, _ in pairs], H, rtol=0, atol=1e-10)
    np.testing.assert_allclose([g for _, g in pairs], G, atol=1e-7 if first_step else 1e-8)


def canal_config(**options):
    """A configuration of the canal over a period of M2, with a tidal analysis, and Airy's ratio.

    It is not checked, because the time-step limit includes waves across the canal, which the walls prevent.
    """
    analysis = {"run__steps": 4 * 48, "output__harmonics": ("M2",), "output__harmonics_every_steps": 4}
    config, _, ratio = equatorial_canal(24, **analysis | options)
    return resolve_without_checks(config), ratio


def max_phase_difference(phases, expected):
    return np.abs((phases - expected + 180) % 360 - 180).max()


def test_harmonic_constants_of_a_canal_are_those_of_its_forced_wave(tmp_path):
    """The amplitude is the equilibrium tide times Airy's ratio; low water is under the Moon, G = 180 - 2 lon."""
    config, ratio = canal_config(output__harmonics_fields=("eta", "u"))
    swmodel.Simulation(config).run(tmp_path)
    with xarray.open_dataset(tmp_path / "harmonics.nc") as harmonics:
        amplitude = -ratio * 1e-3 * EQUILIBRIUM["M2"].height
        np.testing.assert_allclose(harmonics["eta_amplitude"][0], amplitude, rtol=1e-5)
        assert max_phase_difference(harmonics["eta_phase"].values[0, 0], 180 - 2 * (np.arange(24) + 0.5) * 15) < 1e-3
        assert max_phase_difference(harmonics["u_phase"].values[0, 0], -2 * (np.arange(24) + 1) * 15) < 1e-3
        assert np.abs(harmonics["eta_mean"]).max() < 1e-5 * amplitude
        assert harmonics["period"][0] == pytest.approx(12.4206, rel=1e-5)
        assert harmonics["constituent"].values.tolist() == ["M2"]
    for colours in ("run", "shared"):
        assert plot(tmp_path / "harmonics.nc", colour_range=ColourRange(colours)).is_file()


@pytest.mark.promise("tides are those of the Moon and the Sun")
def test_resumed_run_has_the_same_tidal_constants(tmp_path):
    """The run stops between two values and continues with the sums in its restart file, which must contain them."""
    config, _ = canal_config(restart__every_steps=101)
    swmodel.Simulation(config).run(tmp_path / "whole")
    swmodel.Simulation(config, restart=restart_path(tmp_path / "whole", 101)).run(tmp_path / "resumed")
    assert_same_data(*(tmp_path / name / "harmonics.nc" for name in ("whole", "resumed")))
    config_without_sums, _ = canal_config(restart__every_steps=101, output__harmonics=(), run__steps=101)
    swmodel.Simulation(config_without_sums).run(tmp_path / "without_sums")
    with pytest.raises(UsageError, match=r"^output.harmonics: .* 101"):
        swmodel.Simulation(config, restart=restart_path(tmp_path / "without_sums", 101)).run(tmp_path / "refused")


@pytest.mark.fault("a run too short for a tidal analysis, an unknown constituent")
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"output__harmonics": ("M22",)}, 'output.harmonics: no .* "M22"; .*"M2"'),
        ({"output__harmonics": ("M2", "m2")}, 'output.harmonics: "M2" is listed 2 times'),
        ({"run__steps": 100}, "output.harmonics: M2 and the mean cannot be separated in 0.2695 days"),
        ({"output__harmonics_from": 20000.0}, "output.harmonics: M2 .* in 0.286 days from output.harmonics_from on"),
        ({"output__harmonics": ("M2", "S2")}, "output.harmonics: S2 and M2 cannot be separated in 0.5175 days"),
        ({"output__harmonics_every_steps": 96}, "output.harmonics_every_steps: M2 has a period of 44714.2 s"),
        ({"time__start": "", "tide__constituents": ()}, "time.start: must be given"),
    ],
)
def test_impossible_tidal_analysis_is_refused(options, problem):
    with pytest.raises(swmodel.ConfigError, match=problem):
        check_config(canal_config(**options)[0])


@pytest.fixture(scope="module")
def run_with_spectra(tmp_path_factory):
    options = {"output__spectra_every_steps": 5, "physics__tracers": ({"name": "tracer", "initial": 1.0},)}
    options |= {"output__fields": ["h", "u", "v", "tracer"], "run__dtype": "float64", "output__means": []}
    return write_small_run(tmp_path_factory.mktemp("spectra") / "run", **options)


@pytest.mark.fault("a run with `spectra.nc` stops and resumes")
def test_spectra_of_a_resumed_run_are_those_of_an_uninterrupted_one(tmp_path, run_folder):
    """They can also be switched on when a run is resumed."""
    whole_run, resumed_run, options = tmp_path / "whole", tmp_path / "resumed", {"output__spectra_every_steps": 3}
    restarts.simulation(**options).run(whole_run)
    restarts.simulation(run__steps=7, restart__every_steps=5, **options).run(resumed_run)
    restarts.resume_run(resumed_run, **options)
    assert list(read_variables(whole_run / "spectra.nc")["step"]) == [0, 3, 6, 9, 11]
    assert_same_data(resumed_run / "spectra.nc", whole_run / "spectra.nc")
    assert verdicts(resumed_run)["spectra.nc"] == "intact"
    restarts.resume_run(run_folder, **options)
    assert list(read_variables(run_folder / "spectra.nc")["step"]) == [9, 11]


@pytest.fixture
def without_drawing(monkeypatch):
    monkeypatch.setattr(sys.modules[spectra.__module__], "save_figure", lambda figure, path: path)


def test_spectra_are_of_one_record_or_the_mean_of_all(run_with_spectra, tmp_path, without_drawing):
    def compute(**options):
        return read_variables(spectra(run_with_spectra, ["enstrophy"], output=tmp_path / "spectra.nc", **options)[0])

    records = read_variables(run_with_spectra / "spectra.nc")
    second, nearest, mean = compute(record=1), compute(time=float(records["time"][1]) + 1.0), compute(mean=True)
    assert "kinetic_energy" not in second
    np.testing.assert_allclose(second["enstrophy"], records["enstrophy"][1:2], rtol=1e-9)
    np.testing.assert_array_equal(nearest["enstrophy"], second["enstrophy"])
    np.testing.assert_allclose(mean["enstrophy"][0], records["enstrophy"].mean(0), rtol=1e-9)
    np.testing.assert_array_equal(mean["time_bounds"], [records["time"][[0, -1]]])


def test_budget_holds_all_active_terms_and_fluxes(run_with_spectra, tmp_path, without_drawing):
    file, _ = spectra(run_with_spectra, record=-1, budget=True, output=tmp_path / "budget.nc")
    budget, prefix = read_variables(file), "kinetic_energy_by_"
    terms = {name.removeprefix(prefix) for name in budget if name.startswith(prefix) and name[-2:] not in SPECTRUM_AXES}
    assert terms == {"advection", "coriolis", "pressure", "viscosity"}
    assert "tracer_variance_by_viscosity" not in budget
    flux = -budget["wavenumber"][1] * np.cumsum(budget["kinetic_energy_by_advection"], axis=1)
    np.testing.assert_allclose(budget["kinetic_energy_flux"], flux, rtol=1e-12, atol=1e-15 * np.abs(flux).max())
    assert np.all(budget["kinetic_energy_by_viscosity"].sum(1) < 0)
    assert "enstrophy_flux" in describe_results(file)


@pytest.mark.night
def test_series_and_spectra_satisfy_cf_checker(run_with_spectra, tmp_path):
    run(tmp_path)
    swmodel.Simulation(canal_config()[0]).run(tmp_path / "canal")
    budget, _ = spectra(run_with_spectra, record=-1, budget=True, output=tmp_path / "budget.nc")
    for path in (tmp_path / "stations.nc", tmp_path / "sections.nc", tmp_path / "canal" / "harmonics.nc", budget):
        assert_satisfies_cf(path, on_sphere=True)


@pytest.mark.fault("spectra of a file without the fields, of an unknown quantity or record, of an empty file")
def test_spectra_that_cannot_be_computed_are_refused(run_with_spectra, tmp_path):
    without_currents = write_small_run(tmp_path / "without_currents", output__fields=["zeta"], output__means=[])
    with_land = write_small_run(tmp_path / "land", "rest", output__means=[], run__steps=1)
    empty_file, without_records, other_file = tmp_path / "empty.nc", tmp_path / "output.nc", tmp_path / "other.nc"
    netCDF4.Dataset(empty_file, "w").close()
    OutputFile(without_records, restarts.config(), connect("serial", (1, 1), 9, 14)).close()
    shutil.copy(run_with_spectra / "diagnostics.nc", other_file)
    before = (run_with_spectra / "output.nc").read_bytes(), other_file.read_bytes()
    for words, path, options in (
        ("kinetic_energy needs h and u and v", without_currents, {}), ("without land", with_land, {}),
        ("empty.nc", empty_file, {}), ("no record yet", without_records, {}), ("nowhere", tmp_path / "nowhere", {}),
        ("heat", run_with_spectra, {"names": ["heat"]}),
        ("no record 7", run_with_spectra, {"record": 7}), ("not both", run_with_spectra, {"record": 1, "time": 0.0}),
        ("output.nc is not a file of spectra", run_with_spectra, {"output": run_with_spectra / "output.nc"}),
        ("other.nc is not a file of spectra", run_with_spectra, {"output": other_file}),
        ("spectra.png", run_with_spectra, {"output": tmp_path / "spectra.png"}),
    ):  # fmt: skip
        with pytest.raises((PlotError, UsageError, FilesError), match=words):
            spectra(path, **options)
    assert ((run_with_spectra / "output.nc").read_bytes(), other_file.read_bytes()) == before


def test_command_writes_spectra_beside_the_output(run_with_spectra):
    result = invoke_swmodel("spectra", run_with_spectra, "--record", "-1")
    paths = [run_with_spectra / f"output-spectra.{ending}" for ending in ("nc", "png")]
    assert (result.exit_code, result.output.split()) == (0, ["Wrote", str(paths[0]), "Wrote", str(paths[1])])
    with netCDF4.Dataset(paths[0]) as file:
        assert file["kinetic_energy"].units == "m3 s-2"
    assert paths[1].stat().st_size > 10_000
    assert invoke_swmodel("spectra", run_with_spectra, "--field", "heat").exit_code == 2
