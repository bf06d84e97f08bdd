"""The HTML page of a run: maps of its records, time series, spectra, facts, configuration and provenance.

The page is one file that a browser opens without a server or a network. `page.js` draws its content.
"""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from pathlib import Path

import netCDF4

from ...files.run_folder import CONFIG, is_run_folder
from ..dataset import PlotError, field_names, find_record, open_data
from ..derived import choose_fields, derivable_fields, has_records
from ..files import write_output
from ..info import examine_run_files, find_records_file, list_facts
from ..titles import run_name
from .content import (
    compress_bytes,
    encode_barriers,
    encode_drifters,
    encode_maps,
    encode_series,
    encode_spectra,
)

#: The default fields of the page, as far as the file has them or they can be computed.
PREFERRED_FIELDS = ("zeta", "eta", "speed", "eta_max")


def view(path, fields=None, output=None) -> Path:
    """Write the page of a run next to its data.

    To stay below about 50 MB, the page of a large run holds means over blocks of cells and leaves out records at
    regular intervals. The page then says so.

    Args:
        path: run folder or NetCDF file.
        fields: names of fields; None: vorticity, sea level, speed and highest water, as far as the file gives them.
        output: file to write; None: view.html in the run folder, or NAME.html next to NAME.nc.

    Returns:
        The path of the written file.
    """
    path = Path(path)
    file = find_records_file(path)
    if file is None:
        raise PlotError(f"{path} holds no records yet")
    restarts = examine_run_files(path, file)
    with open_data(file) as data:
        find_record(data, 0)  # raises a PlotError if there is no record
        names = choose_fields(data, fields) if fields else default_fields(data)
        if constant_fields := [name for name in names if not has_records(data, name)]:
            raise PlotError(f"{constant_fields[0]} in {file} does not change with time; `swmodel plot` draws it")
        content = encode_maps(data, names) | {"series": [*encode_series(path)], "spectra": encode_spectra(path)}
        content |= {"barriers": encode_barriers(data, names[0]), "drifters": encode_drifters(data, names[0])}
        config = path / CONFIG
        config_text = (
            config.read_text("utf-8") if config.is_file() else getattr(data, "configuration", "none in this file")
        )
        texts = {
            "title": escape(run_name(data) or file.stem),
            "facts": format_html_rows([("file", file.name), *list_facts(path, file, restarts)]),
            "configuration": escape(config_text),
            "provenance": format_html_rows(
                (name, str(data.getncattr(name))) for name in data.ncattrs() if name != "configuration"
            ),
        }
    target = Path(output) if output else file.with_name("view.html" if is_run_folder(path) else f"{file.stem}.html")
    with write_output(target) as draft:
        draft.write_text(fill_template(content, texts), encoding="utf-8")
    return target


def default_fields(data: netCDF4.Dataset) -> list[str]:
    """The fields of PREFERRED_FIELDS that the file gives; if there are none, those that `swmodel plot` would draw."""
    available = {*field_names(data), *derivable_fields(data)}
    preferred = [name for name in PREFERRED_FIELDS if name in available]
    names = choose_fields(data, None)
    return preferred or [name for name in names if has_records(data, name)] or names


def format_html_rows(pairs) -> str:
    return "\n".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in pairs)


def fill_template(content: dict, texts: dict[str, str]) -> str:
    """The page: page.html with `content` (JSON values) for page.js and `texts` in place of comments <!--name-->."""
    html, css, script = (files(__package__).joinpath(f"page.{end}").read_text("utf-8") for end in ("html", "css", "js"))
    encoded = compress_bytes(json.dumps(content, allow_nan=False).encode())
    for name, part in (texts | {"style": css, "program": script, "content": encoded}).items():
        html = html.replace(f"<!--{name}-->", part)
    return html
