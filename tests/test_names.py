"""Names on pages of the documentation exist in the package."""

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
#: A program for a new process: `import swmodel` must provide public names; names in other modules may need an import.
IMPORT_NAMES_PROGRAM = """
import pkgutil, sys, swmodel
for name in sys.argv[1:]:
    public = name.split(".")[0] in (*swmodel.__all__, *swmodel.MODULES)
    eval(f"swmodel.{name}") if public else pkgutil.resolve_name(f"swmodel.{name}")
"""


@pytest.mark.night
@pytest.mark.fault("a page contains a name that the package lacks")
def test_names_of_the_package_on_pages_exist():
    text = "\n".join(page.read_text() for page in PAGES)
    names = set(re.findall(r"\bswmodel\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)", text))
    command = [sys.executable, "-c", IMPORT_NAMES_PROGRAM, *sorted(names)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert process.returncode == 0, process.stderr


@pytest.mark.promise("stable names exist")
def test_stable_names_are_those_of_the_package():
    def text_below(heading):
        return (ROOT / "docs" / "stable.md").read_text().split(f"## {heading}\n")[1].split("\n## ")[0]

    public_names = {"bmi.Model", "gradients.Problem", "typing", "errors", *swmodel.__all__}
    assert sorted(re.findall(r"`swmodel\.([\w.]+)`", text_below("Python"))) == sorted(public_names)
    assert set(re.findall(r"`([a-z-]+)`", text_below("Command line").split("\n\n`-s")[0])) == {
        name for name, command in main.commands.items() if not command.hidden
    }
    sections = text_below("Configuration").split("Sections: ")[1].split(". ")[0]
    assert re.findall(r"`(\w+)`", sections) == list(Config.model_fields)
    files = set(re.findall(r"`([a-z]+\.(?:nc|toml|json))`", text_below("Files")))
    assert files == {*run_folder.RUN_FILES, run_folder.ENSEMBLE, run_folder.SENSITIVITY, run_folder.ANALYSIS}
