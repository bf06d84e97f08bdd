"""The documentation site builds without warnings, has no broken links, and covers the whole package."""

import re
import subprocess
import sys
from html import unescape
from urllib.parse import unquote, urlsplit

import pytest
from conftest import ROOT

import swmodel
from swmodel import cases
from swmodel.cli import main
from swmodel.config.options.model import Config

pytestmark = pytest.mark.night


def test_site_is_complete_without_broken_links(tmp_path):
    line = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "docs", str(tmp_path)]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")

    pages, broken = {path: path.read_text("utf-8") for path in tmp_path.rglob("*.html")}, []
    anchors = {path: {"", *re.findall(r'\bid="([^"]+)"', text)} for path, text in pages.items()}
    links = {(path, unescape(link)) for path in pages for link in re.findall(r'\b(?:href|src)="([^"]+)"', pages[path])}
    for path, link in links:
        parts = urlsplit(link)
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if parts.scheme or parts.netloc:
            good = not link.endswith((".js", ".css", ".png"))  # pages must not load files from other sites
        else:
            good = target.exists() and (target not in pages or unquote(parts.fragment) in anchors[target])
        broken += [] if good else [(path, link)]
    assert broken == []

    keys = {f"{name}.{key}" for name in Config.model_fields for key in type(getattr(Config(), name)).model_fields}
    written = re.findall(r'<span class="pre">(\w+\.\w+)</span>', pages[tmp_path / "reference/configuration.html"])
    assert keys <= set(written)
    assert {f"swmodel.{name}" for name in swmodel.__all__} <= anchors[tmp_path / "reference/python.html"]
    commands = {f"swmodel-{name}" for name, command in main.commands.items() if not command.hidden}
    assert commands <= anchors[tmp_path / "reference/commands.html"]
    assert {name.replace("_", "-") for name in cases.names()} <= anchors[tmp_path / "gallery.html"]
