"""The page of a run, and `swmodel info`: they show what the files hold; a browser needs nothing but the page."""

import base64
import json
import re
import shutil
import subprocess
import zlib

import netCDF4
import numpy as np
import pytest

from swmodel.errors import FilesError
from swmodel.plotting import PlotError, derived, view
from swmodel.plotting.dataset import open_data
from swmodel.plotting.info import describe_results
from swmodel.plotting.page import content

pytestmark = pytest.mark.slow

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
BROWSER_OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


def page_content(page):
    (text,) = re.findall(r'<script type="text/plain" id="content">(.*?)</script>', page.read_text("utf-8"))
    return json.loads(zlib.decompress(base64.b64decode(text)))


def decode_levels(field):
    numbers = np.frombuffer(zlib.decompress(base64.b64decode(field["bytes"])), np.uint8)
    return numbers.reshape(-1, field["rows"], field["columns"])


@pytest.mark.promise("the page of `swmodel view` shows the values in the files")
def test_page_has_values_of_records_to_half_a_level(run):
    encoded = page_content(view(run, ["eta", "speed"]))
    assert [field["name"] for field in encoded["fields"]] == ["eta", "speed"]
    with open_data(run / "output.nc") as data:
        for field in encoded["fields"]:
            step = (field["high"] - field["low"]) / content.MAX_LEVEL
            exponent = re.search(r"10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", field["label"])
            scale = 10.0 ** int(exponent[1].translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))) if exponent else 1.0
            for record, level in enumerate(decode_levels(field)):
                expected = derived.read_displayed_field(data, field["name"], record).values / scale
                assert np.array_equal(level == content.MISSING, np.ma.getmaskarray(expected))
                within = (expected >= field["low"]) & (expected <= field["high"])
                assert within.mean() > 0.9
                assert np.abs(field["low"] + step * level - expected)[within].max() <= 0.5001 * step


def test_averages_over_blocks_keep_the_sum_and_the_land():
    values = np.ma.masked_less(np.random.default_rng(1).normal(size=(7, 5)), -1.0)
    means = content.average_blocks(values, 3)
    counts = content.average_blocks(np.ma.array(~np.ma.getmaskarray(values), dtype=float), 3)
    sizes = np.outer([3, 3, 1], [3, 2])
    assert np.ma.sum(means * counts * sizes) == pytest.approx(values.sum(), rel=1e-12)
    assert np.array_equal(np.ma.getmaskarray(means), counts == 0)


@pytest.mark.fault("a page of a run that cannot be written, or would be too large")
def test_large_page_leaves_out_records_and_counts_them(run, monkeypatch):
    with open_data(run / "output.nc") as data:
        records, *shape = data["eta"].shape
        monkeypatch.setattr(content, "MAX_MAP_BYTES", 2 * np.prod(shape))
        monkeypatch.setattr(content, "MAX_VALUES_PER_AXIS", -(-max(shape) // 2))
        encoded = content.encode_maps(data, ["eta", "u", "v", "h", "zeta", "q", "speed", "sea_level", "eta_mean"])
        assert (encoded["times"][0], encoded["times"][-1]) == (0.0, data["time"][-1])
    assert len(encoded["titles"]) == len(encoded["times"]) == records - encoded["left_out"] < records
    assert decode_levels(encoded["fields"][0]).shape == (len(encoded["times"]), -(-shape[0] // 2), -(-shape[1] // 2))


def test_series_and_facts_are_those_of_the_run(run):
    """Text from the files is escaped."""
    with netCDF4.Dataset(run / "output.nc", "a") as data:
        data.institution = "</td><script>alert(1)</script>"
    page = view(run)
    encoded, text = page_content(page), page.read_text("utf-8")
    with netCDF4.Dataset(run / "diagnostics.nc") as data:
        speeds = next(series for series in encoded["series"] if series["label"].startswith("Largest speed"))
        assert speeds["values"] == pytest.approx(data["max_speed"][:].tolist())
        assert speeds["times"] == data["time"][:].tolist()
    for words in ("completed", 'vorticity_flux = "energy"', "CF-"):
        assert words in text.replace("&quot;", '"')
    assert "<script>alert" not in text


@pytest.mark.fault("a page of a run that cannot be written, or would be too large")
def test_refused_page_leaves_no_file(run):
    for name in ("nonsense", "depth"):  # unknown, and without records to step through
        with pytest.raises(PlotError, match=name):
            view(run, [name])
    assert not (run / "view.html").exists()
    (run / "view.html").mkdir()
    with pytest.raises(FilesError, match=r"view\.html"):
        view(run)
    assert not list(run.glob("*.writing*"))


@pytest.mark.promise("the page of `swmodel view` shows the values in the files")
@pytest.mark.night
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on PATH")
def test_browser_without_network_draws_the_chosen_record(run, tmp_path):
    page = view(run, ["eta", "speed"])
    options = f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=10000", "--dump-dom"
    command = [BROWSER, *BROWSER_OPTIONS, *options]
    command += ["--host-resolver-rules=MAP * ~NOTFOUND", f"{page.as_uri()}#field=speed&record=1"]
    html = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    assert 'data-drawn="speed 1"' in html
    assert f'<h1 id="caption">{page_content(page)["titles"][1]}</h1>' in html
    assert len(re.findall(r"<canvas[^>]*over time", html)) == len(page_content(page)["series"])
    assert not re.findall(r'(?:src|href)="', page.read_text("utf-8"))


def lines_by_first_column(path) -> dict[str, str]:
    """The second column of the lines with two columns, by the first one."""
    pairs = (line.split("  ", 1) for line in describe_results(path).splitlines() if "  " in line)
    return {name.strip(): rest.strip() for name, rest in pairs}


@pytest.mark.parametrize(("status", "words"), [('{"state": "failed", "exit_code": 70}', "70"), (None, "not finished")])
def test_info_shows_the_state_of_failed_and_unfinished_runs(run, status, words):
    (run / "status.json").write_text(status) if status else (run / "status.json").unlink()
    info = lines_by_first_column(run)
    assert (words in info["state"], info["case"]) == (True, "jet")
