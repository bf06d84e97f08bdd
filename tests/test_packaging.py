"""The metadata of the package is right, and `make setup` reports what is missing before it changes anything."""

import ast
import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib

import pytest
import yaml
from conftest import ROOT

from swmodel.extras import EXTRAS

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
DEPENDENCIES, OPTIONAL_DEPENDENCIES = PROJECT["dependencies"], PROJECT["optional-dependencies"]

#: Packages with a different name in conda-forge.
CONDA = {"isal": "python-isal", "matplotlib": "matplotlib-base", "netCDF4": "netcdf4"}


def package_names(requirements) -> set[str]:
    """The package names, in lower case, of requirements such as "jax>=0.10"."""
    return {re.match(r"[\w.-]+", each)[0].lower().replace("_", "-") for each in requirements}


def imported_packages(folder: str) -> set[str]:
    paths = [*(ROOT / folder).rglob("*.py")]
    nodes = [node for path in paths for node in ast.walk(ast.parse(path.read_text()))]
    found = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    found |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    own = {"swmodel", "tools"} | {part for path in paths for part in path.relative_to(ROOT).with_suffix("").parts}
    names = {name.split(".")[0] for name in found} - set(sys.stdlib_module_names) - own
    of = importlib.metadata.packages_distributions()
    return package_names(package for name in names for package in of.get(name, [name]))


@pytest.mark.slow
def test_imported_packages_are_the_declared_ones():
    extras = "mpi", "animate", "bmi", "gis", "zarr"
    assert imported_packages("swmodel") == package_names(
        sum((OPTIONAL_DEPENDENCIES[name] for name in extras), DEPENDENCIES)
    )
    assert imported_packages("tests") <= package_names(sum(OPTIONAL_DEPENDENCIES.values(), DEPENDENCIES))
    assert all(package in package_names(OPTIONAL_DEPENDENCIES[extra]) for package, extra in EXTRAS.items())


def test_versions_agree():
    version = PROJECT["version"]
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == version
    assert all(version in (ROOT / page).read_text() for page in ("README.md", "CHANGELOG.md"))


def run_command(*line, **variables):
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(line, cwd=ROOT, env=environ | variables, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(("lacking", "named"), [("CC=no-such-compiler", "compiler"), ("PYTHON=", "Python 3.11")])
def test_set_up_without_compiler_or_python_installs_nothing(lacking, named, tmp_path):
    done = run_command("make", "setup", f"VENV={tmp_path}/venv", lacking)
    assert done.returncode != 0
    assert named in done.stderr.splitlines()[0]
    assert list(tmp_path.iterdir()) == []


def conda_requirements(requirements) -> set[str]:
    """Requirements as conda recipes write them: "jax>=0.10,<0.12" becomes "jax >=0.10,<0.12"."""
    found = (re.fullmatch(r"([\w.-]+)(.*)", each).groups() for each in requirements)
    return {f"{CONDA.get(name, name)} {bounds}" for name, bounds in found}


@pytest.mark.release
@pytest.mark.parametrize("system", ["linux-64", "osx-arm64"])
def test_conda_recipe_has_requirements_and_variant_per_mpi(system):
    build = pytest.importorskip("rattler_build")
    folder, platform = ROOT / "tools" / "conda", build.PlatformConfig(target_platform=system)
    options = build.VariantConfig.from_file_with_context(folder / "variants.yaml", build.JinjaConfig(platform=platform))
    recipe = build.Stage0Recipe.from_file(folder / "recipe.yaml")
    variants = [each.recipe.to_dict() for each in recipe.render(options, build.RenderConfig(platform=platform))]
    assert len({each["build"]["string"] for each in variants}) == len(variants)
    numbers = {"nompi": [], "mpich": [], "openmpi": []}
    for each in variants:
        needs, mpi = each["requirements"], each["build"]["string"].split("_py")[0].removeprefix("mpi_")
        numbers[mpi].append(each["build"]["number"])
        extra = {mpi, *conda_requirements(OPTIONAL_DEPENDENCIES["mpi"])} if mpi != "nompi" else set()
        assert set(needs["run"]) == {"python", *conda_requirements(DEPENDENCIES), *extra}
        assert set(needs["host"]) == {"python", "pip", *conda_requirements(PYPROJECT["build-system"]["requires"])}
        assert each["package"] == {"name": "swmodel", "version": PROJECT["version"]}
    assert min(numbers["nompi"]) > max(numbers["mpich"] + numbers["openmpi"])  # preferred
