"""The names of the package that the pages have are there, and those that stay are all of them."""

import ast
import re
import subprocess
import sys

import pytest
from conftest import ROOT

import swmodel
from swmodel.cli import main
from swmodel.config import Config
from swmodel.files import run_folder

PAGE = (ROOT / "docs" / "python.md").read_text()


#: In a new process: each public name must be there after `import swmodel`; other modules may have to be imported.
LOOK = """
import functools, pkgutil, sys, swmodel
for name in sys.argv[1:]:
    first, *rest = name.split(".")
    if first in (*swmodel.__all__, *swmodel.MODULES):
        functools.reduce(getattr, [first, *rest], swmodel)
    else:
        pkgutil.resolve_name(f"swmodel.{name}")
"""


@pytest.mark.fault("a page names something that the package lacks")
def test_every_name_of_the_package_that_the_pages_have_is_there():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    names = {
        name for page in pages for name in re.findall(r"\bswmodel\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)", page.read_text())
    }
    assert {"Simulation", "gradients.Problem", "errors.Stopped"} <= names
    done = subprocess.run([sys.executable, "-c", LOOK, *sorted(names)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_the_reference_lists_every_public_name():
    program = (ROOT / "docs" / "site" / "reference.py").read_text()
    (listed,) = re.findall(r"^PUBLIC = (\{.*?^\})", program, re.DOTALL | re.MULTILINE)
    names = [name for part in ast.literal_eval(listed).values() for name in part]
    assert sorted(names) == sorted([*swmodel.__all__, *swmodel.MODULES])


@pytest.mark.promise("stable names exist")
def test_the_stable_names_are_those_of_the_package():
    public = {"bmi.Model", "gradients.Problem", "typing", "errors", *swmodel.__all__}
    assert sorted(re.findall(r"`swmodel\.([\w.]+)`", part("Python"))) == sorted(public)
    assert set(re.findall(r"`([a-z-]+)`", part("Command line").split("\n\n`-s")[0])) == {
        name for name, command in main.commands.items() if not command.hidden
    }
    sections = part("Configuration").split("Sections: ")[1].split(". ")[0]
    assert re.findall(r"`(\w+)`", sections) == list(Config.model_fields)
    files = set(re.findall(r"`([a-z]+\.(?:nc|toml|json))`", part("Files")))
    assert files == {*run_folder.FILES, run_folder.ENSEMBLE, run_folder.SENSITIVITY, run_folder.ANALYSIS}


def part(name):
    """A part of the page of what stays."""
    return (ROOT / "docs" / "stable.md").read_text().split(f"## {name}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("path", re.findall(r"\]\(((?!http)[^)#]+)(?:#[^)]*)?\)", PAGE))
def test_links_lead_to_files(path):
    assert (ROOT / "docs" / path).is_file()
