"""The page of a run: what a browser shows is what the files hold, and it needs nothing else."""

import base64
import re
import shutil
import subprocess
import zlib

import netCDF4
import numpy as np
import pytest
from support.pages import content_of
from support.small_run import make_run

from swmodel.errors import FilesError
from swmodel.plotting import PlotError, derived, view
from swmodel.plotting.dataset import open_data
from swmodel.plotting.page import content

pytestmark = pytest.mark.slow

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIETLY = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


def levels(field):
    numbers = np.frombuffer(zlib.decompress(base64.b64decode(field["bytes"])), np.uint8)
    return numbers.reshape(-1, field["rows"], field["columns"])


@pytest.mark.promise("the page of `swmodel view` shows the values in the files")
def test_values_are_those_of_the_records_to_half_a_level(run):
    found = content_of(view(run, ["eta", "speed"]))
    assert [field["name"] for field in found["fields"]] == ["eta", "speed"]
    with open_data(run / "output.nc") as data:
        for field in found["fields"]:
            step = (field["high"] - field["low"]) / content.LEVELS
            exponent = re.search(r"10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", field["label"])
            scale = 10.0 ** int(exponent[1].translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))) if exponent else 1.0
            for record, level in enumerate(levels(field)):
                truth = derived.shown(data, field["name"], record).values / scale
                assert np.array_equal(level == content.MISSING, np.ma.getmaskarray(truth))
                within = (truth >= field["low"]) & (truth <= field["high"])
                assert within.mean() > 0.9
                assert np.abs(field["low"] + step * level - truth)[within].max() <= 0.5001 * step


def test_averages_over_blocks_keep_the_sum_and_leave_land_out():
    values = np.ma.masked_less(np.random.default_rng(1).normal(size=(7, 5)), -1.0)
    means = content.averaged(values, 3)
    counts = content.averaged(np.ma.array(~np.ma.getmaskarray(values), dtype=float), 3)
    sizes = np.outer([3, 3, 1], [3, 2])
    assert np.ma.sum(means * counts * sizes) == pytest.approx(values.sum(), rel=1e-12)
    assert np.array_equal(np.ma.getmaskarray(means), counts == 0)


@pytest.mark.fault("a page of a run that cannot be written, or would be too large")
@pytest.mark.night
def test_a_page_that_would_be_too_large_leaves_records_out_and_says_so(run, monkeypatch):
    with open_data(run / "output.nc") as data:
        shape = data["eta"].shape
        monkeypatch.setattr("swmodel.plotting.page.content.MOST_BYTES", 2 * shape[1] * shape[2])
        monkeypatch.setattr("swmodel.plotting.page.content.MOST_CELLS", -(-max(shape[1:]) // 2))
        found = content.maps(data, ["eta", "u", "v", "h", "zeta", "q", "speed", "sea_level", "eta_mean"])
        assert (found["times"][0], found["times"][-1]) == (0.0, data["time"][-1])
    assert found["fields"][0]["averaged"] == 2
    assert len(found["titles"]) == len(found["times"]) == shape[0] - found["left_out"] < shape[0]
    assert levels(found["fields"][0]).shape == (len(found["times"]), -(-shape[1] // 2), -(-shape[2] // 2))


def test_series_and_facts_are_those_of_the_run_and_its_words_are_no_program(run):
    with netCDF4.Dataset(run / "output.nc", "a") as data:
        data.institution = "</td><script>alert(1)</script>"
    page = view(run)
    found, text = content_of(page), page.read_text("utf-8")
    with netCDF4.Dataset(run / "diagnostics.nc") as data:
        speeds = next(series for series in found["series"] if series["label"].startswith("Largest speed"))
        assert speeds["values"] == pytest.approx(data["max_speed"][:].tolist())
        assert speeds["times"] == data["time"][:].tolist()
    assert "<th>state</th><td>completed</td>" in text
    assert 'vorticity_flux = "energy"' in text.replace("&quot;", '"')
    assert "<th>Conventions</th><td>CF-" in text
    assert "<script>alert" not in text


@pytest.mark.parametrize("name", ["nonsense", "depth"])
def test_fields_that_cannot_be_stepped_through_are_named(run, name):
    with pytest.raises(PlotError, match=name):
        view(run, [name])
    assert not (run / "view.html").exists()


@pytest.mark.fault("a page of a run that cannot be written, or would be too large")
def test_a_page_that_cannot_be_written_leaves_nothing(run):
    (run / "view.html").mkdir()
    with pytest.raises(FilesError, match="view.html cannot be written"):
        view(run)
    assert not list(run.glob("*.writing*"))


def shown(page, folder, fragment):
    """The elements of the page after its program has run, in a browser that has no network."""
    line = [BROWSER, *QUIETLY, f"--user-data-dir={folder}", "--virtual-time-budget=10000", "--dump-dom"]
    line += ["--host-resolver-rules=MAP * ~NOTFOUND", f"{page.as_uri()}#{fragment}"]
    return subprocess.run(line, capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.mark.promise("the page of `swmodel view` shows the values in the files")
@pytest.mark.night
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on PATH")
def test_a_browser_without_a_network_draws_the_record_that_is_asked_for(run, tmp_path):
    page = view(run, ["eta", "speed"])
    title = content_of(page)["titles"][1]
    found = shown(page, tmp_path / "profile", "field=speed&record=1")
    assert 'data-drawn="speed 1"' in found
    assert f'<h1 id="caption">{title}</h1>' in found
    assert '<span id="number">2 of 3</span>' in found
    assert len(re.findall(r"<canvas[^>]*over time", found)) == len(content_of(page)["series"])
    assert not re.findall(r'(?:src|href)="', page.read_text("utf-8"))


@pytest.fixture(scope="module")
def with_spectra(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("spectra") / "run", output__spectra_every_steps=5)


def test_spectra_are_those_of_the_file_down_to_what_an_axis_shows(with_spectra):
    found = content_of(view(with_spectra, ["eta"]))["spectra"]
    with netCDF4.Dataset(with_spectra / "spectra.nc") as data:
        assert found["times"] == data["time"][:].tolist()
        np.testing.assert_allclose(found["wavenumbers"], 1e3 * data["wavenumber"][1:])
        names = ("kinetic_energy", "potential_energy", "enstrophy")
        for name, of in zip(names, found["quantities"], strict=True):
            stored = np.array(data[name][:, 1:], float)
            shown = stored > 1e-9 * stored.max()
            assert shown.any()
            np.testing.assert_array_equal(of["values"], np.where(shown, stored, None))
