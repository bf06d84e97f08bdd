"""The architecture, read off the imports: they go down the layers, and each library has its own door."""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: From the lowest layer up. A name stands for a module or for a package with all that is in it.
LAYERS = (
    "errors",
    "environment decomposition journal json_text progress schedule state coordinates linear noise",
    "neighbours config.decisive config.duration config.errors config.messages config.model config.sources lock status "
    "netcdf_input streams interrupt xla_flags spawn",
    "operators watchdog integrity",
    "cases run_folder stop stability friction vorticity_flux timestep means transport",
    "fields",
    "extremes scheme reference",
    "dynamics kernels",
    "grid diagnostics",
    "config executors",
    "domain validate output plotting",
    "restart",
    "health results",
    "run",
    "occupy",
    "simulation gradients",
    "assimilation",
    "ensemble",
    "launch",
    "info verify doctor",
    "bench",
    "cli",
    "__main__",
)
LAYER = {name: number for number, names in enumerate(LAYERS) for name in names.split()}

#: The modules and packages that may import a library.
DOORS = {
    "jax": (
        "executors domain linear neighbours gradients assimilation ensemble kernels.native kernels.derivative health "
        "simulation means dynamics friction timestep transport doctor cli.ranks bench.stepping bench.exchange "
        "bench.device"
    ),
    "mpi4jax": "transport.messages doctor.exchange bench.traffic cli.ranks",
    "mpi4py": "transport.mpi transport.messages transport.rendezvous doctor.exchange bench.device",
    "netCDF4": (
        "netcdf_input integrity output restart plotting info bench.forcing assimilation.observation_file "
        "assimilation.known assimilation.analysis_file"
    ),
    "matplotlib": "plotting bench.figures",
    "cmocean": "plotting",
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


def layer(name: str) -> int:
    """The number of the layer of a module within swmodel."""
    return next(LAYER[prefix] for prefix in enclosing(name) if prefix in LAYER)


MODULES = dict(read(path) for path in sorted((ROOT / "swmodel").rglob("*.py")))
del MODULES[""]  # the public names, imported from their modules when they are used


def below(name: str) -> set[str]:
    """The modules of swmodel that a module imports."""
    inside = [within(full) for full in MODULES[name] if full.startswith("swmodel.")]
    return {next(prefix for prefix in enclosing(full) if prefix in MODULES) for full in inside} - {name}


@pytest.mark.parametrize("name", MODULES)
def test_every_module_has_a_layer(name):
    assert any(prefix in LAYER for prefix in enclosing(name)), f"{name} is in no layer of this table"


@pytest.mark.parametrize("name", MODULES)
def test_imports_go_down_the_layers(name):
    package = name.split(".")[0]
    upwards = {
        other
        for other in below(name)
        if layer(other) > layer(name) or (layer(other) == layer(name) and other.split(".")[0] != package)
    }
    assert not upwards, f"{name} imports {sorted(upwards)}"


def test_imports_make_no_ring():
    graphlib.TopologicalSorter({name: below(name) for name in MODULES}).prepare()


@pytest.mark.parametrize("library", DOORS)
def test_each_library_has_its_doors(library):
    doors = DOORS[library].split()
    users = {name for name, imported in MODULES.items() if any(full.split(".")[0] == library for full in imported)}
    others = {name for name in users if not set(enclosing(name)) & set(doors)}
    assert not others, f"{library} is imported by {sorted(others)}"


def test_the_reference_shares_no_code_with_the_dynamics():
    seen, todo = set(), {name for name in MODULES if name.split(".")[0] == "reference"}
    while todo:
        seen |= todo
        todo = set().union(*map(below, todo)) - seen
    assert not {name for name in seen if layer(name) >= layer("grid")} - {n for n in seen if n.startswith("reference")}
    assert not seen & {"operators", "dynamics", "friction", "vorticity_flux", "timestep", "grid"}


def test_the_launcher_loads_neither_jax_nor_mpi_nor_netcdf():
    heavy = ["jax", "jaxlib", "mpi4py", "mpi4jax", "netCDF4", "matplotlib"]
    program = (
        "import sys, swmodel.cli, swmodel.model.launch, swmodel.model.validate, swmodel.cli.doctor, swmodel.ensemble.task\n"
        "import swmodel.bench.session\n"
        "swmodel.model.validate.check(swmodel.load('jet'))\n"
        f"print(*(name for name in {heavy} if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
