"""What other sites read of the project agrees with it: the recipe of conda-forge, Zenodo, and the actions."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml

pytestmark = pytest.mark.night

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())
GITHUB = ROOT / ".github"

#: Packages whose name in conda-forge is not that of the Python package index.
CONDA = {"isal": "python-isal", "matplotlib": "matplotlib-base", "netCDF4": "netcdf4"}


def conda(requirements) -> set[str]:
    """Requirements as the recipe writes them: "jax>=0.10,<0.12" is "jax >=0.10,<0.12"."""
    found = (re.fullmatch(r"([\w.-]+)(.*)", each).groups() for each in requirements)
    return {f"{CONDA.get(name, name)} {bounds}" for name, bounds in found}


@pytest.fixture(scope="module", params=["linux-64", "osx-arm64"])
def variants(request):
    """The rendered recipe for each MPI and Python, on a platform."""
    build = pytest.importorskip("rattler_build", reason="needs rattler-build: pip install py-rattler-build")
    folder, platform = ROOT / "tools" / "conda", build.PlatformConfig(target_platform=request.param)
    jinja = build.JinjaConfig(platform=platform)
    options = build.VariantConfig.from_file_with_context(folder / "variants.yaml", jinja)
    recipe = build.Stage0Recipe.from_file(folder / "recipe.yaml")
    return [each.recipe.to_dict() for each in recipe.render(options, build.RenderConfig(platform=platform))]


def test_the_recipe_has_a_variant_for_each_mpi(variants):
    mpi = {each["build"]["string"].split("_py")[0] for each in variants}
    assert mpi == {"nompi", "mpi_mpich", "mpi_openmpi"}
    assert len({each["build"]["string"] for each in variants}) == len(variants)
    numbers = {mpi: {each["build"]["number"] for each in variants if mpi in each["build"]["string"]} for mpi in mpi}
    assert min(numbers["nompi"]) > max(numbers["mpi_mpich"] | numbers["mpi_openmpi"])  # preferred


def test_the_recipe_needs_what_the_package_needs(variants):
    for each in variants:
        needs, mpi = each["requirements"], each["build"]["string"].split("_py")[0].removeprefix("mpi_")
        extra = {mpi, *conda(PROJECT["project"]["optional-dependencies"]["mpi"])} if mpi != "nompi" else set()
        assert set(needs["run"]) == {"python", *conda(PROJECT["project"]["dependencies"]), *extra}
        assert set(needs["host"]) == {"python", "pip", *conda(PROJECT["build-system"]["requires"])}
        assert each["package"] == {"name": "swmodel", "version": PROJECT["project"]["version"]}


def test_zenodo_has_what_the_citation_has():
    found = json.loads((ROOT / ".zenodo.json").read_text())
    assert found["title"] == CITATION["title"]
    assert found["license"] == CITATION["license"] == PROJECT["project"]["license"]
    assert found["keywords"] == CITATION["keywords"]
    assert [each["name"] for each in found["creators"]] == [each["name"] for each in CITATION["authors"]]
    cited = {each["identifier"] for each in found["related_identifiers"]}
    resolved = {each["url"].partition("doi.org/")[2] for each in CITATION["references"] if "url" in each}
    assert cited == {each["doi"] for each in CITATION["references"] if "doi" in each} | {*map(unquote, resolved)}


def test_an_action_runs_the_tests_on_linux_and_macos():
    jobs = yaml.safe_load((GITHUB / "workflows" / "tests.yml").read_text())["jobs"]
    commands = {name: [step["run"] for step in job["steps"] if "run" in step] for name, job in jobs.items()}
    assert {line.split()[1] for lines in commands.values() for line in lines} == {"test", "lint", "test-all"}
    systems = {system.split("-")[0] for system in jobs["test"]["strategy"]["matrix"]["os"]}
    assert systems == {"ubuntu", "macos"}
    oldest = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert oldest in jobs["test"]["strategy"]["matrix"]["python"]


def test_wheels_are_built_for_linux_and_macos_and_tried():
    job = yaml.safe_load((GITHUB / "workflows" / "wheels.yml").read_text())["jobs"]["wheel"]
    assert {system.split("-")[0] for system in job["strategy"]["matrix"]["os"]} == {"ubuntu", "macos"}
    (settings,) = (step["env"] for step in job["steps"] if "cibuildwheel" in step.get("uses", ""))
    assert settings["CIBW_TEST_COMMAND"].startswith("swmodel run")


@pytest.mark.parametrize("form", ["bug_report", "feature_request", "question"])
def test_forms_of_issues_can_be_filled_in(form):
    found = yaml.safe_load((GITHUB / "ISSUE_TEMPLATE" / f"{form}.yml").read_text())
    assert {"name", "description", "body"} <= set(found)
    names = [each["id"] for each in found["body"]]
    assert len(set(names)) == len(names) > 0
    assert any(each.get("validations", {}).get("required") for each in found["body"])
