"""One self-contained HTML page of a run: maps to step through, time series, spectra, facts, configuration, provenance.

The file holds everything: it opens from a disk, without a server or a network. `page.js` draws it.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from html import escape
from importlib.resources import files
from pathlib import Path

import netCDF4
import numpy as np

from ...files.run_folder import CONFIG, DIAGNOSTICS, SECTIONS, STATIONS
from .. import series, style
from ..dataset import PlotError, field_names, find_record, integrals, numbers, open_data, seconds
from ..derived import derivable
from ..diagnostics import series_of
from ..files import written
from ..info import examine, facts, records_of
from ..shown import changes, chosen
from ..titles import case_of, titles
from .fields import Limits, packed, plain
from .spectra import spectra

#: The usual fields of the page, as far as the file has them.
PREFERRED = ("zeta", "eta", "speed", "eta_max")
#: Most bytes of all maps before compression, and most cells of a map along its longer side.
MOST_BYTES, MOST_CELLS = 40 * 10**6, 640
#: The files of which the page is made.
PARTS = ("html", "css", "js")
#: Most numbers of a time series.
MOST_POINTS = 2000


def view(path, fields=None, output=None) -> Path:
    """Write the page of a run, beside its data.

    Large fields are averaged over blocks of cells, and records are left out evenly, so that the page stays below about
    50 MB; the page says so.

    Args:
        path: run folder or NetCDF file.
        fields: names of fields; None: vorticity, sea level, speed and highest water, as far as the file has them.
        output: file to write; None: view.html in the run folder, or NAME.html beside NAME.nc.

    Returns:
        The file written.
    """
    path = Path(path)
    file = records_of(path)
    if file is None:
        raise PlotError(f"{path} holds no records yet")
    restarts = examine(path, file)
    with open_data(file) as data:
        find_record(data, 0)
        names = moving(data, fields)
        content = maps(data, names) | {"series": [*time_series(path)], "spectra": spectra(path)}
        words = {
            "title": case_of(data) or file.stem,
            "facts": table([("file", file.name), *facts(path, file, restarts)]),
            "configuration": escape(configuration_text(path, data)),
            "provenance": table(provenance(data)),
        }
    target = Path(output) if output else file.with_name("view.html" if path.is_dir() else f"{file.stem}.html")
    with written(target) as temporary:
        temporary.write_text(page(content, words), encoding="utf-8")
    return target


def moving(data: netCDF4.Dataset, fields) -> list[str]:
    """The fields that are asked for, or the usual ones."""
    names = list(fields) if fields else usual(data)
    for name in names:
        if not changes(data, name):
            raise PlotError(f"{name} in {data.filepath()} does not change with time; `swmodel plot` draws it")
    return names


def usual(data: netCDF4.Dataset) -> list[str]:
    """The file's fields of PREFERRED; if it has none, those that `swmodel plot` would draw."""
    there = {*field_names(data), *derivable(data)}
    found = [name for name in PREFERRED if name in there]
    return found or [name for name in chosen(data, None) if changes(data, name)]


def maps(data: netCDF4.Dataset, names: list[str]) -> dict:
    """The fields and the words above them, as page.js takes them."""
    times, limits = seconds(data), Limits(MOST_BYTES, MOST_CELLS)
    every = limits.every(data, names)
    records, title = range(0, times.size, every), titles(data)
    if records[-1] != times.size - 1:
        records = [*records, times.size - 1]
    return {
        "fields": [packed(data, name, records, limits) for name in names],
        "titles": [title(record) for record in records],
        "times": [float(times[record]) for record in records],
        "left_out": times.size - len(records),
        "land": style.LAND,
    }


def time_series(path: Path) -> Iterator[dict]:
    """Mass, energy, ..., sea level at gauges, transports: each with a label, times and values, thinned out evenly."""
    for name, of_file in SERIES.items():
        if not (path.is_dir() and (path / name).exists()):
            continue
        with open_data(path / name) as data:
            times = seconds(data)
            some = np.unique(np.linspace(0, times.size - 1, MOST_POINTS).round().astype(int)) if times.size else []
            for values, label in of_file(data):
                shown = [float(value) if np.isfinite(value) else None for value in values[some]]
                yield {"label": plain(label), "times": times[some].tolist(), "values": shown}


def of_domain(data: netCDF4.Dataset) -> Iterator[tuple[np.ndarray, str]]:
    """Values and label of each series of the whole domain."""
    return (series_of(data[name]) for name in [*integrals(data), *numbers(data)])


def of_places(dimension: str, field: str, data: netCDF4.Dataset) -> Iterator[tuple[np.ndarray, str]]:
    """Values and label of the series of a quantity at each place, of many at the first ones."""
    shown, total = series.chosen(data, dimension), len(data.dimensions[dimension])
    part = f" ({len(shown)} of {total} {dimension}s)" if len(shown) < total else ""
    columns = data[field][:, shown].T
    for column, title in zip(columns, series.titles(data, dimension, shown), strict=True):
        values, label = series.scaled(data[field], column)
        yield values, f"{title}: {label}{part}"


#: Files with series, and for each the function of the open file to the values and labels that are shown.
SERIES: dict[str, Callable] = {
    DIAGNOSTICS: of_domain,
    STATIONS: partial(of_places, "station", "eta"),
    SECTIONS: partial(of_places, "section", "transport"),
}


def configuration_text(path: Path, data: netCDF4.Dataset) -> str:
    """The configuration of the run, TOML."""
    if path.is_dir() and (path / CONFIG).is_file():
        return (path / CONFIG).read_text(encoding="utf-8")
    return getattr(data, "configuration", "none in this file")


def provenance(data: netCDF4.Dataset) -> list[tuple[str, str]]:
    """The global attributes of the file, without the configuration."""
    return [(name, str(data.getncattr(name))) for name in data.ncattrs() if name != "configuration"]


def table(pairs) -> str:
    """Rows of HTML."""
    return "\n".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in pairs)


def page(content: dict, words: dict[str, str]) -> str:
    """The HTML."""
    text, rules, program = (files(__package__).joinpath(f"page.{kind}").read_text("utf-8") for kind in PARTS)
    numbers = base64.b64encode(zlib.compress(json.dumps(content, allow_nan=False).encode(), 9)).decode()
    parts = words | {"title": escape(words["title"]), "style": rules, "program": program, "content": numbers}
    for name, part in parts.items():
        text = text.replace(f"<!--{name}-->", part)
    return text
