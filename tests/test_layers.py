"""The architecture: modules import from lower layers, and few modules import a library."""

import ast
import graphlib
from functools import cache

import pytest
from conftest import ROOT
from support.processes import run_python

pytestmark = pytest.mark.slow

#: The layers of packages, from the lowest: a file may import from its own layer and from lower ones. Some packages are
#: listed in parts that belong to different layers.
LAYERS = (
    "errors extras text_table | parallel | ocean forcing | config.messages config.options | setup | cases | "
    "config.loading | config.remarks | config typing | files | executors | model | plotting | gradients | "
    "assimilation.background assimilation.diffusion assimilation.spectral assimilation.variance | "
    "model.ensemble | assimilation | bmi | "
    "bench verification | cli | __main__"
)
LAYER_OF_PACKAGE = {name: number for number, names in enumerate(LAYERS.split("|")) for name in names.split()}
#: The modules and packages that may import a library.
IMPORTERS_OF_LIBRARY = {
    "jax": "ocean parallel executors model gradients assimilation cli.doctor cli.rank_checks bench",
    "mpi4jax": "parallel.transport.mpi4jax_messages bench.process_measures cli.rank_checks",
    "mpi4py": "parallel.transport cli.doctor.exchange bench.process_measures",
    "xarray": "setup.fields.netcdf_input setup.fields.python_fields model.dataset model.simulation gradients.problem "
    "assimilation.observation_file",
    "cf_xarray": "setup.fields.netcdf_input",
    "netCDF4": "setup.fields.netcdf_input files plotting forcing.ibtracs",
    "pyTMD": "setup.fields.netcdf_input.atlas",
    "zarr": "files.store",
    "matplotlib": "plotting bench.figures model.simulation",
    "cmocean": "plotting",
    "bmipy": "bmi",
}
#: All that the NumPy reference imports from other packages: little, because it tests their dynamics independently.
SHARED_WITH_REFERENCE = (
    "errors.UsageError ocean.barrier_faces.crest_heights ocean.barrier_faces.barrier_mask "
    "ocean.constituents.constituents_at ocean.coordinates.points ocean.state.Carry ocean.state.State "
    "ocean.terms.tide.EQUILIBRIUM setup.fields.evaluate setup.fields.source_of setup.fields.varies_in_time "
    "setup.fields.varying.read_record"
)


def enclosing_packages(name: str) -> list[str]:
    """The name of a module, and the names of its enclosing packages, from the innermost to the outermost."""
    parts = name.split(".")
    return [".".join(parts[:n]) for n in range(len(parts), 0, -1)]


@cache
def imports_of_modules() -> dict[str, set[str]]:
    """{module of swmodel: names that it imports anywhere in its file, except in `if TYPE_CHECKING`}."""
    imports = {}
    for path in sorted((ROOT / "swmodel").rglob("*.py")):
        *package, name = path.relative_to(ROOT).with_suffix("").parts
        names = imports[".".join([*package[1:], name]).removesuffix(".__init__")] = set()
        tree = ast.parse(path.read_text())
        tree.body = [node for node in tree.body if getattr(getattr(node, "test", None), "id", "") != "TYPE_CHECKING"]
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                origin = package[: len(package) + 1 - node.level] if node.level else ()
                base = ".".join([*origin, *filter(None, [node.module])])
                names |= {f"{base}.{alias.name}" for alias in node.names}
    del imports["__init__"]  # it imports public names only when they are used
    return imports


def imported_modules(name: str) -> set[str]:
    """The modules of swmodel that a module imports."""
    modules = imports_of_modules()
    names = [full.removeprefix("swmodel.") for full in modules[name] if full.startswith("swmodel.")]
    return {next(prefix for prefix in enclosing_packages(full) if prefix in modules) for full in names} - {name}


def test_modules_import_from_lower_layers_without_cycles():
    layer = {}
    for name in imports_of_modules():
        layer[name] = next(LAYER_OF_PACKAGE[each] for each in enclosing_packages(name) if each in LAYER_OF_PACKAGE)
    pairs = [(name, other) for name in imports_of_modules() for other in imported_modules(name)]
    assert [(name, other) for name, other in pairs if layer[other] > layer[name]] == []
    graphlib.TopologicalSorter({name: imported_modules(name) for name in imports_of_modules()}).prepare()


def test_dynamics_import_no_configuration():
    packages = {"setup", "executors", "model.health", "model.varying_params", "parallel", "ocean"}
    modules = [name for name in imports_of_modules() if packages & set(enclosing_packages(name))]
    pairs = [(name, other) for name in modules for other in imported_modules(name)]
    assert [(name, other) for name, other in pairs if "config" in enclosing_packages(other)] == []


def test_libraries_are_imported_by_few_modules():
    for library, importers in IMPORTERS_OF_LIBRARY.items():
        modules = imports_of_modules().items()
        users = {name for name, imports in modules if library in {full.split(".")[0] for full in imports}}
        assert [name for name in users if not set(enclosing_packages(name)) & set(importers.split())] == [], library


def test_reference_imports_only_listed_names_of_the_package():
    reference = [name for name in imports_of_modules() if "executors.reference" in enclosing_packages(name)]
    names = set().union(*(imports_of_modules()[name] for name in reference))
    imports = {full.removeprefix("swmodel.") for full in names if full.startswith("swmodel.")}
    shared = {full for full in imports if "executors.reference" not in enclosing_packages(full)}
    assert shared == {*SHARED_WITH_REFERENCE.split()}


def test_launcher_loads_neither_jax_nor_mpi_nor_netcdf():
    """A simulation without input files does not load xarray either."""
    program = """
import sys, swmodel.cli, swmodel.model.launch, swmodel.model.validate, swmodel.cli.doctor
import swmodel.model.ensemble.task, swmodel.bench.session
swmodel.model.validate.check_config(swmodel.load("jet"))
print(*sys.modules.keys() & {"jax", "jaxlib", "mpi4py", "mpi4jax", "netCDF4", "xarray", "matplotlib"})
swmodel.Simulation("jet", {"run.executor": "reference"}).advance(1)
print(*sys.modules.keys() & {"xarray", "pandas"})
"""
    assert run_python(program) == []
