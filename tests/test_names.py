"""Names in the documentation exist in the package."""

import re
import subprocess
import sys

import pytest
from conftest import ROOT

import swmodel
from swmodel.cli import main
from swmodel.config import Config
from swmodel.files import run_folder

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

#: Runs in a new process: public names must exist after `import swmodel`; other modules may have to be imported.
IMPORT_NAMES_PROGRAM = """
import pkgutil, sys, swmodel
for name in sys.argv[1:]:
    public = name.split(".")[0] in (*swmodel.__all__, *swmodel.MODULES)
    eval(f"swmodel.{name}") if public else pkgutil.resolve_name(f"swmodel.{name}")
"""


@pytest.mark.night
@pytest.mark.fault("a page names something that the package lacks")
def test_names_of_the_package_on_pages_exist():
    written = "\n".join(page.read_text() for page in PAGES)
    names = set(re.findall(r"\bswmodel\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)", written))
    line = [sys.executable, "-c", IMPORT_NAMES_PROGRAM, *sorted(names)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.promise("stable names exist")
def test_stable_names_are_those_of_the_package():
    def part(name):
        return (ROOT / "docs" / "stable.md").read_text().split(f"## {name}\n")[1].split("\n## ")[0]

    public = {"bmi.Model", "gradients.Problem", "typing", "errors", *swmodel.__all__}
    assert sorted(re.findall(r"`swmodel\.([\w.]+)`", part("Python"))) == sorted(public)
    assert set(re.findall(r"`([a-z-]+)`", part("Command line").split("\n\n`-s")[0])) == {
        name for name, command in main.commands.items() if not command.hidden
    }
    sections = part("Configuration").split("Sections: ")[1].split(". ")[0]
    assert re.findall(r"`(\w+)`", sections) == list(Config.model_fields)
    files = set(re.findall(r"`([a-z]+\.(?:nc|toml|json))`", part("Files")))
    assert files == {*run_folder.RUN_FILES, run_folder.ENSEMBLE, run_folder.SENSITIVITY, run_folder.ANALYSIS}
