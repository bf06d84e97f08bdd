"""One self-contained HTML page of a run: maps to step through, time series, spectra, facts, configuration, provenance.

The file holds everything: it opens from a disk, without a server or a network. `page.js` draws it.
"""

from __future__ import annotations

import base64
import json
import zlib
from html import escape
from importlib.resources import files
from pathlib import Path

import netCDF4

from ...files.run_folder import CONFIG, is_folder
from ..dataset import PlotError, field_names, find_record, open_data
from ..derived import changes, chosen, derivable
from ..files import written
from ..info import examine, facts, records_of
from ..titles import run_name
from .content import drifters, maps, spectra, time_series

#: The usual fields of the page, as far as the file has them.
PREFERRED = ("zeta", "eta", "speed", "eta_max")
#: The files of which the page is made.
PARTS = ("html", "css", "js")


def view(path, fields=None, output=None) -> Path:
    """Write the page of a run, beside its data.

    The page of a large run holds means over blocks of cells, and leaves out records evenly, to stay below about 50 MB.
    It then reports this.

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
        names = list(fields) if fields else usual(data)
        if still := [name for name in names if not changes(data, name)]:
            raise PlotError(f"{still[0]} in {file} does not change with time; `swmodel plot` draws it")
        content = maps(data, names) | {"series": [*time_series(path)], "spectra": spectra(path)}
        content["drifters"] = drifters(data, names[0])
        config = path / CONFIG
        text = config.read_text("utf-8") if config.is_file() else getattr(data, "configuration", "none in this file")
        words = {
            "title": escape(run_name(data) or file.stem),
            "facts": table([("file", file.name), *facts(path, file, restarts)]),
            "configuration": escape(text),
            "provenance": table(
                (name, str(data.getncattr(name))) for name in data.ncattrs() if name != "configuration"
            ),
        }
    target = Path(output) if output else file.with_name("view.html" if is_folder(path) else f"{file.stem}.html")
    with written(target) as temporary:
        temporary.write_text(page(content, words), encoding="utf-8")
    return target


def usual(data: netCDF4.Dataset) -> list[str]:
    """The file's fields of PREFERRED; if it has none, those that `swmodel plot` would draw."""
    there = {*field_names(data), *derivable(data)}
    found = [name for name in PREFERRED if name in there]
    others = chosen(data, None)
    return found or [name for name in others if changes(data, name)] or others


def table(pairs) -> str:
    """Rows of HTML."""
    return "\n".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in pairs)


def page(content: dict, words: dict[str, str]) -> str:
    """The HTML."""
    text, rules, program = (files(__package__).joinpath(f"page.{kind}").read_text("utf-8") for kind in PARTS)
    numbers = base64.b64encode(zlib.compress(json.dumps(content, allow_nan=False).encode(), 9)).decode()
    for name, part in (words | {"style": rules, "program": program, "content": numbers}).items():
        text = text.replace(f"<!--{name}-->", part)
    return text
