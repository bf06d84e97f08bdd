"""The site of the documentation: built without a warning, no link into nothing, all of the package in it."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
from conftest import ROOT

import swmodel
from swmodel import cases
from swmodel.cli import main
from swmodel.config.options.model import Config

pytestmark = pytest.mark.night


class Page(HTMLParser):
    """What a page links to, and what in it can be linked to."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors.add(given.get("id"))
        self.links += [given[name] for name in ("href", "src") if given.get(name)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    line = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "docs", str(folder)]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path.read_text("utf-8")) for path in site.rglob("*.html")}


def test_every_link_leads_to_something(site, pages):
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = pages[target].anchors if target in pages else set()
            if not target.exists() or (parts.fragment and target in pages and unquote(parts.fragment) not in anchors):
                broken.append((path.relative_to(site), link))
    assert broken == []


def test_nothing_is_fetched_from_elsewhere(pages):
    for page in pages.values():
        assert not [link for link in page.links if link.endswith((".js", ".css", ".png")) and urlsplit(link).netloc]


def test_every_key_of_the_configuration_is_there(site):
    text = (site / "reference" / "configuration.html").read_text("utf-8")
    found = set(re.findall(r'<span class="pre">(\w+\.\w+)</span>', text))
    default = Config()
    keys = {f"{name}.{key}" for name in Config.model_fields for key in type(getattr(default, name)).model_fields}
    assert len(keys) > 80
    assert keys <= found


def test_every_public_name_every_command_and_every_case_is_there(site, pages):
    python, commands, gallery = (
        pages[site / page].anchors for page in ("reference/python.html", "reference/commands.html", "gallery.html")
    )
    assert {f"swmodel.{name}" for name in swmodel.__all__} <= python
    assert {f"swmodel-{name}" for name, command in main.commands.items() if not command.hidden} <= commands
    assert {name.replace("_", "-") for name in cases.names()} <= gallery
