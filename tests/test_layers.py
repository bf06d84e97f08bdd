"""The architecture, read off the imports: they go down the layers, and each library has its own door."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]

#: The rooms, from the ground up: a file imports from its own room and from lower ones. A room whose files have
#: an order of their own is listed in parts.
ROOMS = (
    "errors extras",
    "parallel",
    "ocean",
    "setup",
    "config.messages config.options",
    "cases",
    "config.loading",
    "config.remarks",
    "config typing",
    "files",
    "executors",
    "model",
    "plotting",
    "gradients",
    "assimilation.background assimilation.diffusion assimilation.spectral assimilation.variance",
    "model.ensemble",
    "assimilation",
    "bmi",
    "bench",
    "cli",
    "__main__",
)
LEVEL = {name: number for number, names in enumerate(ROOMS) for name in names.split()}

#: The modules and packages that may import a library.
DOORS = {
    "jax": "ocean parallel executors model gradients assimilation cli.doctor cli.rank_checks bench",
    "mpi4jax": "parallel.transport.by_mpi4jax bench.device cli.rank_checks",
    "mpi4py": "parallel.transport cli.doctor.exchange bench.device",
    "xarray": "setup.fields.netcdf_input setup.fields.field model.dataset model.simulation gradients.problem "
    "assimilation.observation_file",
    "cf_xarray": "setup.fields.netcdf_input",
    "netCDF4": "setup.fields.netcdf_input files plotting",
    "zarr": "files.store",
    "matplotlib": "plotting bench.figures model.simulation",
    "cmocean": "plotting",
    "bmipy": "bmi",
}


def read(path: Path) -> tuple[str, set[str]]:
    """The name of a module within swmodel ("" is swmodel itself), and all names it imports, wherever in it."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    package = parts[:-1]
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            origin = package[: len(package) + 1 - node.level] if node.level else ()
            base = ".".join([*origin, *filter(None, [node.module])])
            names |= {f"{base}.{alias.name}" for alias in node.names}
    return within(".".join(parts).removesuffix(".__init__")), names


def within(name: str) -> str:
    """The name below swmodel."""
    return name.removeprefix("swmodel").removeprefix(".")


def enclosing(name: str) -> list[str]:
    """A module's name and those of the packages around it, the longest first."""
    parts = name.split(".")
    return [".".join(parts[:n]) for n in range(len(parts), 0, -1)]


def level(name: str) -> int:
    """The number of the room of a module within swmodel."""
    return next(LEVEL[prefix] for prefix in enclosing(name) if prefix in LEVEL)


@cache
def modules() -> dict[str, set[str]]:
    """What each module of swmodel imports; the public names are imported from their modules when they are used."""
    return {name: names for name, names in map(read, sorted((ROOT / "swmodel").rglob("*.py"))) if name}


def below(name: str) -> set[str]:
    """The modules of swmodel that a module imports."""
    inside = [within(full) for full in modules()[name] if full.startswith("swmodel.")]
    return {next(prefix for prefix in enclosing(full) if prefix in modules()) for full in inside} - {name}


def test_every_module_has_a_room():
    assert [name for name in modules() if not set(enclosing(name)) & LEVEL.keys()] == []


def test_imports_go_down_the_rooms():
    upwards = [f"{name} imports {other}" for name in modules() for other in below(name) if level(other) > level(name)]
    assert upwards == []


@pytest.mark.parametrize("room", ["setup", "executors", "model.health", "model.forcing", "parallel", "ocean"])
def test_these_rooms_know_of_a_configuration_what_a_setup_holds(room):
    knowing = {
        name for name in modules() if room in enclosing(name) and any("config" in enclosing(o) for o in below(name))
    }
    assert not knowing


def test_imports_make_no_ring():
    graphlib.TopologicalSorter({name: below(name) for name in modules()}).prepare()


@pytest.mark.parametrize("library", DOORS)
def test_each_library_has_its_doors(library):
    doors = DOORS[library].split()
    users = {name for name, imported in modules().items() if any(full.split(".")[0] == library for full in imported)}
    others = {name for name in users if not set(enclosing(name)) & set(doors)}
    assert not others, f"{library} is imported by {sorted(others)}"


def test_the_reference_shares_no_code_with_the_dynamics():
    shared = {"setup.fields.evaluate", "errors.UsageError", "ocean.coordinates.points"}
    shared |= {"ocean.state.Carry", "ocean.state.State"}
    shared |= {"setup.fields.field_of", "setup.fields.varies", "setup.fields.varying.record"}
    shared |= {"ocean.constituents.constituents", "ocean.terms.tide.EQUILIBRIUM"}
    reference = {name for name in modules() if "executors.reference" in enclosing(name)}
    used = {within(full) for name in reference for full in modules()[name] if full.startswith("swmodel.")}
    assert {full for full in used if "executors.reference" not in enclosing(full)} == shared


def test_the_launcher_loads_neither_jax_nor_mpi_nor_netcdf():
    """And a run without input files no xarray."""
    heavy = ["jax", "jaxlib", "mpi4py", "mpi4jax", "netCDF4", "xarray", "matplotlib"]
    program = (
        "import sys, swmodel.cli, swmodel.model.launch, swmodel.model.validate, swmodel.cli.doctor\n"
        "import swmodel.model.ensemble.task, swmodel.bench.session\n"
        "swmodel.model.validate.check_config(swmodel.load('jet'))\n"
        f"print(*(name for name in {heavy} if name in sys.modules))\n"
        "swmodel.Simulation('jet', {'run.executor': 'reference'}).advance(1)\n"
        "print(*(name for name in ['xarray', 'pandas'] if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_what_the_page_on_the_architecture_names_is_there():
    """Each `room/file.py`, or `file.py:name` with this name in it."""
    files = [path for folder in ("swmodel", "tests") for path in (ROOT / folder).rglob("*") if path.is_file()]
    page = (ROOT / "docs" / "architecture.md").read_text()
    named = re.findall(r"`([\w/]+\.(?:py|h))(?::(\w+))?`", page)
    assert len(named) > 60
    for path, name in named:
        found = [file for file in files if f"/{file.relative_to(ROOT)}".endswith(f"/{path}")]
        assert any(re.search(rf"\b{name}\b", file.read_text()) for file in found), f"{path}:{name}"
